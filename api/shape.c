/*
 * The shape of what comes in: JSON bodies, query parameters and the few headers with a meaning, each read by
 * a spec, each refused with the member, the value and the rule.
 */
#include "api/audit.h"
#include "api/call.h"
#include "api/choose.h"

#include "base/nearest.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define QUERY_NAME_SHOWN_MAX 64
#define QUERY_VALUE_MAX 520 /* the longest is a tag's key: 128 characters of four bytes */

/* --- bodies --------------------------------------------------------------------------------------- */

/* "application/json", with a charset of UTF-8 or none. */
static bool is_json(const char *type)
{
    static const char json[] = "application/json";
    if (type == NULL || strncasecmp(type, json, sizeof json - 1) != 0)
        return false;
    const char *rest = type + sizeof json - 1 + strspn(type + sizeof json - 1, " ");
    if (*rest == '\0')
        return true;
    if (*rest++ != ';')
        return false;
    rest += strspn(rest, " ");
    return strcasecmp(rest, "charset=utf-8") == 0 || strcasecmp(rest, "charset=\"utf-8\"") == 0;
}

int api_check_line(const char *text)
{
    return text_is_line(text) ? 0 : STATUS_INVALID;
}

int api_media_check(struct api_call *call)
{
    if (is_json(http_header(call->http, "Content-Type")) && http_header(call->http, "Content-Encoding") == NULL)
        return 0;
    api_problem_printf(call, PROBLEM_UNSUPPORTED_MEDIA,
                       "Send the body as \"Content-Type: application/json\" in UTF-8, not compressed.");
    return STATUS_UNSUPPORTED;
}

int api_json(struct api_call *call, json_t **ret_json)
{
    char error[JSON_ERROR_MAX];
    if (call->body_len == 0) { /* no body is an object without members */
        *ret_json = json_object();
        return 0;
    }
    if (api_media_check(call) != 0)
        return STATUS_UNSUPPORTED;
    int rc = json_parse(call->body, call->body_len, call->route->body_bytes_max, ret_json, error);
    if (rc != 0)
        api_problem_printf(call, PROBLEM_BAD_REQUEST, "The body is not the JSON that is wanted: %s.", error);
    else
        audit_body(call, *ret_json);
    return rc;
}

int api_body(struct api_call *call, const struct json_field *fields, size_t count, json_t **ret_json)
{
    char error[JSON_ERROR_MAX];
    json_t *json = NULL;
    int rc = api_json(call, &json);
    if (rc != 0)
        return rc;
    rc = json_read(json, fields, count, error);
    if (rc != 0) {
        json_decref(json);
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "The body breaks a rule: %s.", error);
        return rc;
    }
    *ret_json = json;
    return 0;
}

/* --- queries -------------------------------------------------------------------------------------- */

struct query_read {
    const struct api_query *fields;
    size_t count;
    unsigned seen;
    char why[PROBLEM_DETAIL_MAX];
};

static int query_store(const struct api_query *field, const char *value)
{
    if (field->type == API_QUERY_TEXT) {
        size_t len = strlen(value);
        return len >= 1 && text_is_line(value) ? text_copy(field->target, field->size, value) : STATUS_INVALID;
    }
    if (field->type == API_QUERY_I64)
        return text_parse_i64(value, field->min, field->max, field->target);
    return field->choose(value, field->target);
}

static int query_refuse(struct query_read *q, const char *name, const char *what)
{
    snprintf(q->why, sizeof q->why, "The query parameter \"%s\" %s.", name, what);
    return STATUS_INVALID;
}

/* A name that nobody declared is repeated only when nothing in it can be cut in half or steer a terminal. */
static bool is_plain(const char *name)
{
    size_t len = 0;
    while (name[len] > ' ' && name[len] < 0x7f)
        len++;
    return name[len] == '\0' && len <= QUERY_NAME_SHOWN_MAX;
}

static int query_one(const char *name, const char *sent, void *arg)
{
    struct query_read *q = arg;
    char value[QUERY_VALUE_MAX];
    size_t i = 0;
    struct nearest nearest = {.word = name};
    for (; i < q->count && strcmp(q->fields[i].name, name) != 0; i++)
        nearest_see(&nearest, q->fields[i].name);
    if (i == q->count) {
        char hint[NEAREST_HINT_MAX], what[NEAREST_HINT_MAX + 32];
        snprintf(what, sizeof what, "is not one of this path's%s", nearest_hint(&nearest, hint));
        return query_refuse(q, is_plain(name) ? name : "?", what);
    }
    if (q->seen & (1u << i))
        return query_refuse(q, name, "was given more than once");
    q->seen |= 1u << i;
    if (text_percent_decode(sent, strlen(sent), value, sizeof value) != 0 || query_store(&q->fields[i], value) != 0) {
        char rule[128];
        const struct api_query *field = &q->fields[i];
        if (field->type == API_QUERY_I64)
            snprintf(rule, sizeof rule, "must be a number from %lld to %lld", (long long)field->min,
                     (long long)field->max);
        else
            snprintf(rule, sizeof rule, "must be %s", field->rule != NULL ? field->rule : "a short text in one line");
        return query_refuse(q, name, rule);
    }
    return 0;
}

int api_query(struct api_call *call, const struct api_query *fields, size_t count)
{
    struct query_read q = {.fields = fields, .count = count};
    int rc = http_query_each(call->http, query_one, &q);
    if (rc != 0)
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "%s", q.why);
    return rc;
}

/* --- headers -------------------------------------------------------------------------------------- */

int api_if_match(struct api_call *call, int64_t *ret_revision)
{
    const char *header = http_header(call->http, "If-Match");
    char number[24];
    *ret_revision = 0;
    if (header == NULL || strcmp(header, "*") == 0)
        return 0;
    size_t len = strlen(header);
    if (len > 2 && header[0] == '"' && header[len - 1] == '"' &&
        text_copy_bytes(number, sizeof number, header + 1, len - 2) == 0 &&
        text_parse_i64(number, 1, INT64_MAX, ret_revision) == 0)
        return 0;
    api_problem_printf(call, PROBLEM_PRECONDITION_FAILED,
                       "If-Match must be an ETag as this server gave it, for example \"3\" with its quotes.");
    return STATUS_INVALID;
}

int api_idempotency_key(struct api_call *call, char ret_key[KEY_MAX_BYTES])
{
    const char *header = http_header(call->http, "Idempotency-Key");
    ret_key[0] = '\0';
    if (header == NULL)
        return 0;
    size_t len = strlen(header);
    bool fine = len >= 1 && text_copy(ret_key, API_IDEMPOTENCY_KEY_MAX, header) == 0;
    for (size_t i = 0; fine && i < len; i++)
        fine = header[i] > ' ' && header[i] < 0x7f;
    if (fine)
        return 0;
    api_problem_printf(call, PROBLEM_INVALID_VALUE,
                       "Idempotency-Key must be 1 to %d printable ASCII characters without spaces.",
                       API_IDEMPOTENCY_KEY_MAX - 1);
    return STATUS_INVALID;
}

int api_choose_bool(const char *text, int *ret_choice)
{
    *ret_choice = text_equal(text, "true");
    return *ret_choice != 0 || text_equal(text, "false") ? 0 : STATUS_INVALID;
}
