/* Access keys: what clients of the AWS API sign with. The secret is in one reply and nowhere else. */
#include "api/page.h"
#include "api/render.h"
#include "api/v1/v1.h"
#include "server/service/access/access.h"

static json_t *render(const struct access_key *key)
{
    json_t *json = json_object();
    json_put_text(json, "accessKeyId", key->access_key);
    json_put_text(json, "name", key->name);
    json_put_text(json, "role", role_text(key->role));
    json_put_time(json, "createdAt", key->created_at);
    json_put_time(json, "usedAt", key->used_at);
    return json;
}

static int list_row(const void *row, void *arg)
{
    json_array_append_new(arg, render(row));
    return 0;
}

void api_access_key_list(struct api_call *call)
{
    struct problem problem;
    json_t *json = json_object(), *items = json_array();
    json_put(json, "items", items);
    if (service_access_key_list(call->service, list_row, items, &problem) == 0) {
        api_reply_json(call, 200, json);
        return;
    }
    json_decref(json);
    api_problem(call, &problem);
}

static int check_role(const char *text)
{
    enum role role;
    return role_parse(text, &role);
}

void api_access_key_create(struct api_call *call)
{
    struct problem problem;
    struct access_key key;
    char name[NAME_MAX_BYTES] = "", role_word[16] = "", secret[SERVICE_SECRET_MAX];
    enum role role = ROLE_VIEWER;
    auto_json json_t *body = NULL;
    const struct json_field fields[] = {
        {.name = "name", .type = JSON_FIELD_TEXT, .required = true, .target = name, .size = sizeof name, .min = 1},
        {.name = "role",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = role_word,
         .size = sizeof role_word,
         .check = check_role,
         .rule = "reporter, job, viewer, operator or admin"},
    };
    if (api_body(call, fields, ARRAY_LEN(fields), &body) != 0)
        return;
    (void)role_parse(role_word, &role);
    if (service_access_key_create(call->service, &call->actor, name, role, &key, secret, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    json_t *json = render(&key);
    json_put_text(json, "secretAccessKey", secret);
    json_put_text(json, "endpoint", call->service->server_url);
    api_reply_json(call, 201, json);
}

void api_access_key_delete(struct api_call *call)
{
    struct problem problem;
    if (service_access_key_delete(call->service, &call->actor, call->params[0], &problem) != 0)
        api_problem(call, &problem);
    else
        api_reply_empty(call, 204);
}
