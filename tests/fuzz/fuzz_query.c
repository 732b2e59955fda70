/*
 * Queries and the headers with a meaning, as a client could write them: a query in the first line, an If-Match in the second, an
 * Idempotency-Key in the third. What is taken lies within its limits; what is refused is refused once, in one clean sentence.
 *
 * The HTTP server's part is played here: it splits at '&' and '=' and decodes nothing, as libmicrohttpd does for hpd.
 */
// ROOMS: base model policy db server api
#include "tests/fuzz/fuzz.h"

#include "api/audit.h"
#include "api/choose.h"
#include "api/page.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <stdarg.h>

#define TEXT_BYTES 64

struct http_request {
    char *query; /* cut up by walking it once */
    const char *if_match, *idempotency_key;
    int problems;
};

/* --- the server's part -------------------------------------------------------------------------------- */

int http_query_each(const struct http_request *r, int (*fn)(const char *name, const char *value, void *arg), void *arg)
{
    int rc = 0;
    for (char *at = r->query; rc == 0 && *at != '\0';) {
        size_t len = strcspn(at, "&");
        char *next = at + len + (at[len] == '&');
        at[len] = '\0';
        char *equals = strchr(at, '=');
        if (equals != NULL)
            *equals = '\0';
        rc = fn(at, equals != NULL ? equals + 1 : "", arg);
        at = next;
    }
    return rc;
}

const char *http_header(const struct http_request *r, const char *name)
{
    return strcmp(name, "If-Match") == 0          ? r->if_match
           : strcmp(name, "Idempotency-Key") == 0 ? r->idempotency_key
                                                  : NULL;
}

void audit_body(struct api_call *call, const json_t *body)
{
    (void)call, (void)body;
}

void api_reply_json(struct api_call *call, unsigned status, json_t *json)
{
    (void)call, (void)status;
    json_decref(json);
}

void api_problem_printf(struct api_call *call, enum problem_code code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *detail = own_vprintf(fmt, ap);
    va_end(ap);
    size_t len = strlen(detail);
    REQUIRE(code == PROBLEM_INVALID_VALUE || code == PROBLEM_PRECONDITION_FAILED);
    REQUIRE(len > 0 && len < PROBLEM_DETAIL_MAX && text_is_utf8(detail, len));
    for (size_t i = 0; i < len; i++)
        REQUIRE((unsigned char)detail[i] >= 0x20 && detail[i] != 0x7f);
    call->http->problems++;
}

/* --- what every list reads ------------------------------------------------------------------------------ */

CHOOSE(node_state)

static void require_page(struct api_call *call, struct page *page)
{
    char again[PAGE_CURSOR_MAX];
    REQUIRE(page->limit >= 1 && page->limit <= PAGE_SIZE_MAX);
    if (page_begin(call, page, true) < 0) {
        REQUIRE(page->body.len == 0 && page->cursor[0] != '\0');
        return;
    }
    REQUIRE(page_rows(page) == page->limit + 1);
    REQUIRE((page->key_id > 0) == (page->cursor[0] != '\0'));
    if (page->cursor[0] != '\0') {
        cursor_encode(page->list, page->key, again);
        REQUIRE(strcmp(again, page->cursor) == 0);
    }
    page_free(page);
}

static void read_query(struct api_call *call)
{
    struct page page;
    char text[TEXT_BYTES] = "";
    int64_t number = -1;
    int state = -1, before = call->http->problems;
    const struct api_query fields[] = {
        PAGE_QUERY(page),
        {.name = "name", .type = API_QUERY_TEXT, .target = text, .size = sizeof text},
        {.name = "since", .type = API_QUERY_I64, .target = &number, .min = 0, .max = INT64_MAX},
        {.name = "state", .type = API_QUERY_CHOICE, .target = &state, .choose = choose_node_state, .rule = "a state"},
    };
    page_init(&page, 'n');
    int rc = api_query(call, fields, ARRAY_LEN(fields));
    REQUIRE((rc != 0) == (call->http->problems == before + 1));
    REQUIRE(strnlen(text, sizeof text) < sizeof text && text_is_utf8(text, strlen(text)));
    REQUIRE(number >= -1 && state >= -1 && (state < 0 || node_state_text((enum node_state)state) != NULL));
    if (rc == 0)
        require_page(call, &page);
}

static void read_headers(struct api_call *call)
{
    char key[KEY_MAX_BYTES];
    int64_t revision = -1;
    int before = call->http->problems;
    if (api_if_match(call, &revision) == 0)
        REQUIRE(revision >= 0);
    else
        REQUIRE(call->http->problems == before + 1);
    before = call->http->problems;
    if (api_idempotency_key(call, key) != 0)
        REQUIRE(call->http->problems == before + 1);
    else if (call->http->idempotency_key != NULL)
        REQUIRE(strcmp(key, call->http->idempotency_key) == 0 && key[0] != '\0');
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autofree char *text = fuzz_text(data, size);
    struct http_request http = {.query = text};
    struct api_call call = {.http = &http};
    char *at = strchr(text, '\n');
    if (at != NULL) {
        *at++ = '\0';
        http.if_match = at;
        at = strchr(at, '\n');
    }
    if (at != NULL) {
        *at++ = '\0';
        http.idempotency_key = at;
    }
    read_headers(&call);
    read_query(&call);
    return 0;
}
