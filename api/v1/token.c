/* Tokens: people's, with a role, and agents' to enrol with. The secret is shown once and never stored. */
#include "api/intern.h"
#include "api/page.h"
#include "api/render.h"
#include "api/stream.h"
#include "api/v1/v1.h"
#include "server/service/access/access.h"

#include <stdio.h>
#include <string.h>

#define TOKEN_TTL_MIN_MS MS_PER_S
#define TOKEN_TTL_MAX_MS (3650 * MS_PER_DAY)
#define TTL_TEXT_MAX 16

struct list {
    struct token *rows;
    size_t count, capacity;
};

static int list_row(const void *row, void *arg)
{
    const struct token *token = row;
    struct list *list = arg;
    /* A large cluster's launches make thousands that nobody made or could use. */
    if (token->instance_id[0] != '\0')
        return 0;
    if (list->count == list->capacity) {
        list->capacity = list->capacity * 2 + 16;
        list->rows = own_realloc(list->rows, list->capacity, sizeof *list->rows);
    }
    list->rows[list->count++] = *token;
    return 0;
}

static json_t *render_named(struct api_call *call, const struct token *token)
{
    struct service_names names = {0};
    if (token->cluster_id != 0)
        (void)service_names(call->service, token->cluster_id, token->node_id, 0, &names); /* no name is shown as none */
    return render_token(token, names.cluster, names.node);
}

void api_token_list(struct api_call *call)
{
    struct list list = {0};
    struct problem problem;
    if (service_token_list(call->service, list_row, &list, &problem) != 0) {
        api_problem(call, &problem);
    } else {
        json_t *json = json_object(), *items = json_array();
        for (size_t i = 0; i < list.count; i++)
            json_array_append_new(items, render_named(call, &list.rows[i]));
        json_put(json, "items", items);
        api_reply_json(call, 200, json);
    }
    free(list.rows);
}

/* --- create ------------------------------------------------------------------------------------------ */

struct token_body {
    enum token_kind kind;
    char name[NAME_MAX_BYTES], cluster[NAME_MAX_BYTES], node[NODE_NAME_MAX_BYTES];
    enum role role;
    int64_t ttl_ms;
};

static int check_kind(const char *text)
{
    enum token_kind kind;
    return token_kind_parse(text, &kind);
}

static int check_role(const char *text)
{
    enum role role;
    return role_parse(text, &role);
}

static int check_ttl(const char *text)
{
    int64_t ttl;
    int rc = clock_parse_duration(text, &ttl);
    return rc == 0 && (ttl < TOKEN_TTL_MIN_MS || ttl > TOKEN_TTL_MAX_MS) ? STATUS_INVALID : rc;
}

/* Which members go together is more than a spec can say. False: it has answered. */
static bool check_members(struct api_call *call, const struct token_body *body, bool has_role)
{
    if (body->kind == TOKEN_KIND_API) {
        if (body->name[0] != '\0' && has_role && body->cluster[0] == '\0' && body->node[0] == '\0')
            return true;
        api_problem_printf(call, PROBLEM_INVALID_VALUE,
                           "A token of kind \"api\" has name and role, and no cluster or node.");
        return false;
    }
    if (body->kind == TOKEN_KIND_MACHINES) {
        if (body->name[0] == '\0' && !has_role && body->cluster[0] == '\0' && body->node[0] == '\0')
            return true;
        api_problem_printf(call, PROBLEM_INVALID_VALUE,
                           "A token of kind \"machines\" has no name, role, cluster or node.");
        return false;
    }
    if (body->cluster[0] != '\0' && body->name[0] == '\0' && !has_role)
        return true;
    api_problem_printf(call, PROBLEM_INVALID_VALUE,
                       "A token of kind \"enrollment\" has cluster, maybe node, and no name or role.");
    return false;
}

static bool read_body(struct api_call *call, struct token_body *ret_body)
{
    struct token_body b = {0};
    char kind[16] = "", role[16] = "", ttl[TTL_TEXT_MAX] = "";
    bool has_role = false;
    auto_json json_t *json = NULL;
    const struct json_field fields[] = {
        {.name = "kind",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = kind,
         .size = sizeof kind,
         .check = check_kind,
         .rule = "api, enrollment or machines"},
        {.name = "name", .type = JSON_FIELD_TEXT, .target = b.name, .size = sizeof b.name, .min = 1},
        {.name = "role",
         .type = JSON_FIELD_TEXT,
         .target = role,
         .size = sizeof role,
         .ret_present = &has_role,
         .check = check_role,
         .rule = "reporter, job, viewer, operator or admin"},
        {.name = "cluster", .type = JSON_FIELD_TEXT, .target = b.cluster, .size = sizeof b.cluster, .min = 1},
        {.name = "node", .type = JSON_FIELD_TEXT, .target = b.node, .size = sizeof b.node, .min = 1},
        {.name = "ttl",
         .type = JSON_FIELD_TEXT,
         .target = ttl,
         .size = sizeof ttl,
         .check = check_ttl,
         .rule = "a duration such as 90d, 1h or 30m, at least 1s and at most 3650d"},
    };
    if (api_body(call, fields, ARRAY_LEN(fields), &json) != 0)
        return false;
    (void)token_kind_parse(kind, &b.kind);
    if (has_role)
        (void)role_parse(role, &b.role);
    b.ttl_ms = b.kind == TOKEN_KIND_API ? 90 * MS_PER_DAY : MS_PER_HOUR;
    if (ttl[0] != '\0')
        (void)clock_parse_duration(ttl, &b.ttl_ms);
    if (!check_members(call, &b, has_role))
        return false;
    *ret_body = b;
    return true;
}

void api_token_create(struct api_call *call)
{
    struct service *s = call->service;
    struct problem problem;
    struct token_body body;
    struct token token = {0};
    char secret[SERVICE_TOKEN_TEXT_MAX];
    if (!read_body(call, &body))
        return;
    int rc;
    if (body.kind == TOKEN_KIND_API)
        rc = service_token_create_api(s, &call->actor, body.name, body.role, body.ttl_ms, &token, secret, &problem);
    else if (body.kind == TOKEN_KIND_MACHINES)
        rc = service_token_create_machines(s, &call->actor, body.ttl_ms, &token, secret, &problem);
    else
        rc = service_token_create_enrollment(s, &call->actor, body.cluster, body.node, body.ttl_ms, &token, secret,
                                             &problem);
    if (rc != 0) {
        api_problem(call, &problem);
        return;
    }
    json_t *json = render_token(&token, body.cluster, body.node);
    json_put_text(json, "secret", secret);
    json_put_text(json, "serverUrl", s->server_url);
    json_put_text(json, "fingerprint", s->fingerprint);
    api_reply_json(call, 201, json);
}

void api_token_delete(struct api_call *call)
{
    struct problem problem;
    if (service_token_delete(call->service, &call->actor, call->params[0], &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    stream_hub_recheck(call->api->hub);
    api_reply_empty(call, 204);
}
