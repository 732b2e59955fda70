/* The policy document and its versions: read, tried, made new, and gone back to. */
#include "api/call.h"
#include "api/page.h"
#include "api/v1/v1.h"
#include "base/own.h"
#include "server/service/policy/policy.h"

static json_t *render(const struct policy_version *version)
{
    json_t *json = json_object();
    json_put_i64(json, "version", version->version);
    json_put_text(json, "document", version->text);
    json_put_text(json, "sha256", version->sha256);
    json_put_text(json, "comment", version->comment);
    json_put_text(json, "author", version->author);
    if (version->restores != 0)
        json_put_i64(json, "restores", version->restores);
    json_put_time(json, "createdAt", version->created_at);
    return json;
}

static void describe(struct api_call *call, int64_t number)
{
    struct problem problem;
    autofree struct policy_version *version = own_calloc(1, sizeof *version);
    if (service_policy_get(call->service, number, version, &problem) != 0)
        api_problem(call, &problem);
    else
        api_reply_json(call, 200, render(version));
}

void api_policy_document_describe(struct api_call *call)
{
    describe(call, 0);
}

void api_policy_document_describe_version(struct api_call *call)
{
    int64_t number;
    if (text_parse_i64(call->params[0], 1, INT64_MAX, &number) == 0)
        describe(call, number);
    else
        api_problem_printf(call, PROBLEM_NOT_FOUND, "The policy has no version \"%s\".", call->params[0]);
}

static int list_row(const void *row, void *arg)
{
    const struct policy_version *version = row;
    struct page *page = arg;
    if (page_wants(page))
        page_add_id(page, render(version), version->version);
    return 0;
}

void api_policy_document_list_versions(struct api_call *call)
{
    struct page page;
    struct problem problem;
    page_init(&page, 'p');
    const struct api_query query[] = {PAGE_QUERY(page)};
    if (api_query(call, query, ARRAY_LEN(query)) != 0 || page_begin(call, &page, true) != 0)
        return;
    if (service_policy_versions(call->service, page.key_id, page_rows(&page), list_row, &page, &problem) == 0) {
        page_reply(call, &page);
        return;
    }
    page_free(&page);
    api_problem(call, &problem);
}

static void add_warning(const char *sentence, void *arg)
{
    json_array_append_new(arg, json_string(sentence));
}

/* Shown only where there are some. */
static json_t *with_warnings(struct api_call *call, json_t *json, const char *text)
{
    auto_json json_t *warnings = json_array();
    service_policy_warn(call->service, text, add_warning, warnings);
    if (json_array_size(warnings) > 0)
        json_put(json, "warnings", TAKE(warnings));
    return json;
}

void api_policy_document_validate(struct api_call *call)
{
    struct problem problem;
    auto_json json_t *body = NULL;
    autofree char *text = own_calloc(1, API_TEXT_READ_BYTES(POLICY_TEXT_MAX_BYTES));
    const struct json_field fields[] = {{.name = "document",
                                         .type = JSON_FIELD_TEXT,
                                         .required = true,
                                         .target = text,
                                         .size = API_TEXT_READ_BYTES(POLICY_TEXT_MAX_BYTES)}};
    if (api_body(call, fields, ARRAY_LEN(fields), &body) != 0)
        return;
    if (service_policy_validate(text, &problem) != 0)
        api_problem(call, &problem);
    else
        api_reply_json(call, 200, with_warnings(call, json_pack("{s:b}", "valid", 1), text));
}

static void apply(struct api_call *call, const struct service_policy_change *change)
{
    struct problem problem;
    autofree struct policy_version *version = own_calloc(1, sizeof *version);
    if (service_policy_apply(call->service, &call->actor, change, version, &problem) != 0)
        api_problem(call, &problem);
    else
        api_reply_json(call, 200, with_warnings(call, render(version), version->text));
}

#define CHANGE_FIELDS(change, comment)                                                                              \
    {.name = "comment", .type = JSON_FIELD_TEXT, .target = (comment), .size = sizeof(comment), API_LINE},           \
    {                                                                                                               \
        .name = "expectedVersion", .type = JSON_FIELD_I64, .target = &(change).expected, .max = INT64_MAX, .min = 0 \
    }

void api_policy_document_apply(struct api_call *call)
{
    struct service_policy_change change = {.expected = -1};
    char comment[REASON_MAX_BYTES] = "";
    auto_json json_t *body = NULL;
    autofree char *text = own_calloc(1, API_TEXT_READ_BYTES(POLICY_TEXT_MAX_BYTES));
    const struct json_field fields[] = {{.name = "document",
                                         .type = JSON_FIELD_TEXT,
                                         .required = true,
                                         .target = text,
                                         .size = API_TEXT_READ_BYTES(POLICY_TEXT_MAX_BYTES)},
                                        CHANGE_FIELDS(change, comment)};
    if (api_body(call, fields, ARRAY_LEN(fields), &body) != 0)
        return;
    change.text = text;
    change.comment = comment;
    apply(call, &change);
}

void api_policy_document_rollback(struct api_call *call)
{
    struct service_policy_change change = {.expected = -1};
    char comment[REASON_MAX_BYTES] = "";
    auto_json json_t *body = NULL;
    const struct json_field fields[] = {{.name = "version",
                                         .type = JSON_FIELD_I64,
                                         .required = true,
                                         .target = &change.restores,
                                         .min = 1,
                                         .max = INT64_MAX},
                                        CHANGE_FIELDS(change, comment)};
    if (api_body(call, fields, ARRAY_LEN(fields), &body) != 0)
        return;
    change.comment = comment;
    apply(call, &change);
}
