/* Bytes that no good client would send, over raw sockets: each gets an error or an end, and the server goes on. */
#include "api_world.h"

#include "api/http.h"

#define SIXTY_THREE "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz0123456789-"

static struct api_world aw;

static int setup(void **state)
{
    /* Short deadlines: a slow client is slow soon. */
    const struct api_options options = {
        .first_request_ms = 400, .idle_ms = 600, .body_ms = 400, .reply_ms = 700, .tick_ms = 50};
    (void)state;
    api_world_open(&aw, &options);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    api_world_close(&aw);
    return 0;
}

static void assert_alive(void)
{
    struct reply reply = client_ask(&aw, "GET", "/healthz", NULL, NULL, NULL);
    assert_int_equal(reply.status, 200);
    reply_free(&reply);
}

/* Sends and reads until the server closes or, when it keeps the connection, one reply. */
static struct reply send_raw(const char *bytes, size_t len)
{
    int fd = client_connect(&aw);
    (void)client_send_bytes(fd, bytes, len);
    shutdown(fd, SHUT_WR);
    struct reply reply = client_read_all(fd);
    close(fd);
    return reply;
}

/* --- what is not HTTP ------------------------------------------------------------------------------------- */

static void test_what_is_not_http(void **state)
{
    static const struct {
        const char *bytes;
        int status; /* 0: closed without a word, which is fine for what is not HTTP */
    } cases[] = {
        {"", 0},
        {"\r\n\r\n\r\n", 0},
        {"GARBAGE\r\n\r\n", 400},
        {"GET /healthz\r\n\r\n", 400},
        {"GET /healthz HTTP/9.9\r\nHost: x\r\n\r\n", 505},
        {"GET /healthz HTTP/1.1\r\n\r\n", 400}, /* no Host */
        {"GET /healthz HTTP/1.1\r\nHost x\r\n\r\n", 400},
        {"POST /v1/clusters HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n", 400},
        {"POST /v1/clusters HTTP/1.1\r\nHost: x\r\nContent-Length: 1x\r\n\r\n", 400},
        {"POST /v1/clusters HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n", 400},
        {"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 0}, /* TLS to a plain port */
        {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct reply reply = send_raw(cases[i].bytes, strlen(cases[i].bytes));
        if (reply.status != cases[i].status)
            fail_msg("case %zu: %d, wanted %d: %s", i, reply.status, cases[i].status, reply.text);
        reply_free(&reply);
        assert_alive();
    }
}

static void test_http_1_0_and_pipelining(void **state)
{
    (void)state;
    static const char old[] = "GET /healthz HTTP/1.0\r\n\r\n";
    struct reply reply = send_raw(old, sizeof old - 1);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.body, "{\"status\":\"ok\"}");
    reply_free(&reply);

    struct text many = {0};
    for (int i = 0; i < 50; i++)
        text_printf(&many, "GET /%s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n",
                    i % 3 == 0   ? "healthz"
                    : i % 3 == 1 ? "v1/version"
                                 : "nowhere",
                    aw.viewer);
    int fd = client_connect(&aw);
    client_send(fd, text_get(&many));
    for (int i = 0; i < 50; i++) {
        reply = client_read_reply(fd, false);
        assert_int_equal(reply.status, i % 3 == 2 ? 404 : 200);
        reply_free(&reply);
    }
    close(fd);
    text_free(&many);
}

static void test_head_and_methods(void **state)
{
    char value[128];
    (void)state;
    struct reply reply = client_ask(&aw, "HEAD", "/openapi.yaml", NULL, NULL, NULL);
    assert_int_equal(reply.status, 200);
    assert_true(strtol(reply_header(&reply, "Content-Length", value, sizeof value), NULL, 10) > 10000);
    reply_free(&reply);
    reply = client_ask(&aw, "PUT", "/v1/clusters", aw.admin, NULL, "{}");
    assert_reply_problem(&reply, 405, "method-not-allowed");
    assert_string_equal(reply_header(&reply, "Allow", value, sizeof value), "GET, HEAD, POST");
    reply_free(&reply);
    reply = client_ask(&aw, "HEAD", "/v1/events/stream", aw.viewer, NULL, NULL);
    assert_int_equal(reply.status, 200);
    reply_free(&reply);
    assert_alive();
}

/* --- limits ------------------------------------------------------------------------------------------------ */

static void test_headers_too_large(void **state)
{
    static const size_t sizes[] = {3500, 4500, 6500, 7500, 9000, 100000};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        autofree char *filler = own_calloc(sizes[i] + 1, 1);
        memset(filler, 'x', sizes[i]);
        autofree char *request = own_printf("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Filler: %s\r\n\r\n", filler);
        int fd = client_connect(&aw);
        (void)client_send_bytes(fd, request, strlen(request));
        struct reply reply = client_read_reply(fd, false);
        if (sizes[i] < HTTP_HEADER_BYTES_MAX - 200)
            assert_int_equal(reply.status, 200);
        else if (reply.status != 431 && !(reply.status == 0 && reply.closed))
            fail_msg("%zu bytes of header: %s", sizes[i], reply.text);
        if (sizes[i] == 4500)
            assert_reply_problem(&reply, 431, "header-too-large");
        reply_free(&reply);
        close(fd);
    }
    autofree char *path = own_calloc(20001, 1);
    memset(path, 'a', 20000);
    autofree char *request = own_printf("GET /%s HTTP/1.1\r\nHost: x\r\n\r\n", path);
    int fd = client_connect(&aw);
    (void)client_send_bytes(fd, request, strlen(request));
    struct reply reply = client_read_reply(fd, false);
    assert_true(reply.status == 414 || reply.status == 431 || reply.closed);
    reply_free(&reply);
    close(fd);
    assert_alive();
}

static void test_bodies_too_large(void **state)
{
    /* Declared, declared far beyond what is read and dropped, and chunked without a declaration. */
    static const size_t sizes[] = {20000, 6u << 20};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        autofree char *body = own_calloc(sizes[i] + 1, 1);
        memset(body, ' ', sizes[i]);
        autofree char *request = client_request("POST", "/v1/tokens", aw.admin, NULL, body);
        int fd = client_connect(&aw);
        (void)client_send_bytes(fd, request, strlen(request));
        struct reply reply = client_read_reply(fd, false);
        assert_reply_problem(&reply, 413, "too-large");
        reply_free(&reply);
        close(fd);
    }
    autofree char *head = client_request("POST", "/v1/tokens", aw.admin,
                                         "Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n", NULL);
    char chunk[4096 + 16];
    memset(chunk, ' ', sizeof chunk);
    memcpy(chunk, "1000\r\n", 6);
    memcpy(chunk + 6 + 4096, "\r\n", 2);
    int fd = client_connect(&aw);
    client_send(fd, head);
    for (int i = 0; i < 8; i++)
        assert_true(client_send_bytes(fd, chunk, 6 + 4096 + 2));
    client_send(fd, "0\r\n\r\n");
    struct reply reply = client_read_reply(fd, false);
    assert_reply_problem(&reply, 413, "too-large");
    reply_free(&reply);
    /* The connection lives: the rest was read, so the next request is where it should be. */
    client_send(fd, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
    reply = client_read_reply(fd, false);
    assert_int_equal(reply.status, 200);
    reply_free(&reply);
    close(fd);
}

/* A refused body without an end is not read for ever. */
static void test_a_chunked_body_without_end(void **state)
{
    (void)state;
    autofree char *head = client_request("POST", "/v1/agent/verdicts", aw.agent,
                                         "Transfer-Encoding: chunked\r\nContent-Type: application/json\r\n", NULL);
    autofree char *chunk = own_calloc(1, 65536 + 16);
    int len = snprintf(chunk, 16, "10000\r\n");
    memset(chunk + len, 'x', 65536);
    memcpy(chunk + len + 65536, "\r\n", 2);
    int fd = client_connect(&aw);
    client_send(fd, head);
    size_t sent = 0;
    while (sent < 64u << 20 && client_send_bytes(fd, chunk, (size_t)len + 65536 + 2))
        sent += 65536;
    assert_true(sent < 32u << 20);
    close(fd);
    assert_alive();
}

static void test_bad_chunking(void **state)
{
    static const char *const chunks[] = {"zz\r\n", "5\r\nhelloXX\r\n",        "-1\r\n\r\n",
                                         "\r\n",   "fffffffffffffffffff\r\n", "5;\r\nhello5\r\n"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(chunks); i++) {
        autofree char *request = own_printf("POST /v1/clusters HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n"
                                            "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n%s",
                                            aw.admin, chunks[i]);
        struct reply reply = send_raw(request, strlen(request));
        if (reply.status != 400 && reply.status != 413 && reply.status != 0)
            fail_msg("chunk %zu: %s", i, reply.text);
        reply_free(&reply);
    }
    assert_alive();
}

/* --- slow on purpose ----------------------------------------------------------------------------------------- */

/* Sends a byte at a time until the server has enough; returns how long that took. */
static int64_t trickle(int fd, const char *bytes, size_t len)
{
    int64_t start = clock_mono_ms(clock_system());
    for (size_t i = 0; clock_mono_ms(clock_system()) - start < HTTP_IDLE_MS; i++) {
        char c = i < len ? bytes[i] : 'x';
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (send(fd, &c, 1, MSG_NOSIGNAL) <= 0)
            break;
        if (poll(&p, 1, 20) > 0 && recv(fd, &c, 1, 0) <= 0)
            break;
    }
    return clock_mono_ms(clock_system()) - start;
}

static void test_slow_loris(void **state)
{
    (void)state;
    /* In the first header: however alive it looks, it has 400 ms, not what servers usually give. */
    int fd = client_connect(&aw);
    int64_t took = trickle(fd, "GET /healthz HTTP/1.1\r\nX: ", 26);
    assert_in_range(took, 300, HTTP_FIRST_REQUEST_MS - 1);
    close(fd);
    /* In the body. */
    autofree char *head = client_request("POST", "/v1/tokens", aw.admin,
                                         "Content-Type: application/json\r\nContent-Length: 5000\r\n", NULL);
    fd = client_connect(&aw);
    client_send(fd, head);
    took = trickle(fd, "", 0);
    assert_in_range(took, 300, HTTP_BODY_MS - 1);
    close(fd);
    /* In the header of a later request, and with nothing at all. */
    for (int i = 0; i < 2; i++) {
        fd = client_connect(&aw);
        client_send(fd, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
        struct reply reply = client_read_reply(fd, false);
        assert_int_equal(reply.status, 200);
        reply_free(&reply);
        char c;
        int64_t start = clock_mono_ms(clock_system());
        took = i == 0 ? trickle(fd, "GET /", 5) : recv(fd, &c, 1, 0) == 0 ? clock_mono_ms(clock_system()) - start : -1;
        assert_in_range(took, 400, HTTP_IDLE_MS - 1);
        close(fd);
    }
    assert_alive();
}

/* Asks for much and takes nothing. */
static void test_a_client_that_does_not_read(void **state)
{
    (void)state;
    int fd = client_connect(&aw), small = 4096;
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
    int64_t start = clock_mono_ms(clock_system());
    bool closed = false;
    while (!closed && clock_mono_ms(clock_system()) - start < 10000) {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        if (poll(&p, 1, 50) > 0)
            closed = (p.revents & (POLLERR | POLLHUP)) != 0 ||
                     send(fd, "GET /openapi.yaml HTTP/1.1\r\nHost: x\r\n\r\n", 40, MSG_NOSIGNAL | MSG_DONTWAIT) == 0 ||
                     errno == EPIPE || errno == ECONNRESET;
        errno = 0;
    }
    assert_true(closed);
    close(fd);
    assert_alive();
}

/* --- JSON and queries ------------------------------------------------------------------------------------------ */

struct body_case {
    const char *more, *body;
    int status;
    const char *code;
};

static void test_bodies_that_are_refused(void **state)
{
    static const struct body_case cases[] = {
        {NULL, "{", 400, "bad-request"},
        {NULL, "[]", 400, "invalid-value"},
        {NULL, "nonsense", 400, "bad-request"},
        {NULL, "{}{}", 400, "bad-request"},
        {NULL, "{\"kind\":\"api\",\"kind\":\"api\",\"name\":\"x\",\"role\":\"viewer\"}", 400, "bad-request"},
        {NULL, "{\"kind\":\"api\",\"name\":\"\xff\",\"role\":\"viewer\"}", 400, "bad-request"},
        {NULL, "{\"kind\":\"api\",\"name\":\"a\\u0000b\",\"role\":\"viewer\"}", 400, "bad-request"},
        {NULL, "{\"kind\":\"api\",\"name\":\"x\",\"role\":\"viewer\",\"colour\":1}", 400, "invalid-value"},
        {NULL, "{\"kind\":\"api\",\"name\":\"x\"}", 400, "invalid-value"},
        {NULL, "{\"kind\":\"api\",\"name\":\"x\",\"role\":\"king\"}", 400, "invalid-value"},
        {NULL, "{\"kind\":\"api\",\"name\":7,\"role\":\"viewer\"}", 400, "invalid-value"},
        {NULL, "{\"kind\":\"api\",\"name\":null,\"role\":\"viewer\"}", 400, "invalid-value"},
        {NULL, "{\"kind\":\"api\",\"name\":\"x\",\"role\":\"viewer\",\"ttl\":\"soon\"}", 400, "invalid-value"},
        {NULL, "{\"kind\":\"api\",\"name\":\"x\",\"role\":\"viewer\",\"ttl\":\"0s\"}", 400, "invalid-value"},
        {NULL, "{\"kind\":\"api\",\"name\":\"x\",\"role\":\"viewer\",\"cluster\":\"train\"}", 400, "invalid-value"},
        {NULL, "{\"kind\":\"enrollment\",\"name\":\"x\",\"cluster\":\"train\"}", 400, "invalid-value"},
        {NULL, "{\"kind\":\"enrollment\"}", 400, "invalid-value"},
        {NULL, "{\"kind\":\"enrollment\",\"cluster\":\"nothing\"}", 404, "not-found"},
        {"Content-Type: text/plain\r\n", "{}", 415, "unsupported-media-type"},
        {"Content-Type: application/json; charset=latin1\r\n", "{}", 415, "unsupported-media-type"},
        {"Content-Type: application/json\r\nContent-Encoding: gzip\r\n", "{}", 415, "unsupported-media-type"},
        {"Content-Type: application/jsonp\r\n", "{}", 415, "unsupported-media-type"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct reply reply = client_ask(&aw, "POST", "/v1/tokens", aw.admin, cases[i].more, cases[i].body);
        if (reply.status != cases[i].status)
            fail_msg("%s: %s", cases[i].body, reply.text);
        assert_reply_problem(&reply, cases[i].status, cases[i].code);
        reply_free(&reply);
    }
    struct text deep = {0};
    for (int i = 0; i < 5000; i++)
        text_add(&deep, "[");
    struct reply reply = client_ask(&aw, "POST", "/v1/tokens", aw.admin, NULL, text_get(&deep));
    assert_reply_problem(&reply, 400, "bad-request");
    reply_free(&reply);
    text_free(&deep);
}

static void test_bodies_where_none_belongs(void **state)
{
    (void)state;
    struct reply reply = client_ask(&aw, "GET", "/v1/clusters", aw.viewer, NULL, "{}");
    assert_reply_problem(&reply, 400, "bad-request");
    reply_free(&reply);
    reply = client_ask(&aw, "DELETE", "/v1/tokens/x", aw.admin, NULL, "{}");
    assert_reply_problem(&reply, 400, "bad-request");
    reply_free(&reply);
}

/* What people write is shown as one line of many. */
static void test_words_that_are_no_line(void **state)
{
    static const char *const words[] = {"fine\\nready: true", "\\u001b[2J", "\\u202e", "\\u2066x", "\\u2028"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        autofree char *body = own_printf("{\"reason\":\"%s\"}", words[i]);
        struct reply reply = client_ask(&aw, "POST", "/v1/clusters/train/pause", aw.admin, NULL, body);
        assert_reply_problem(&reply, 400, "invalid-value");
        reply_free(&reply);
    }
    struct reply reply =
        client_ask(&aw, "PATCH", "/v1/clusters/train/nodes/gpu-1", aw.admin, NULL, "{\"topology\":{\"rack\":\"r 1\"}}");
    assert_reply_problem(&reply, 400, "invalid-value");
    reply_free(&reply);
    reply = client_ask(&aw, "PATCH", "/v1/clusters/train/nodes/gpu-1", aw.admin, NULL,
                       "{\"topology\":{\"chasis\":\"c1\"}}");
    assert_reply_problem(&reply, 400, "invalid-value");
    assert_non_null(strstr(reply.text, "\\\"chasis\\\" is not known here (the nearest is \\\"chassis\\\")"));
    reply_free(&reply);
}

static void test_queries_and_paths_that_are_refused(void **state)
{
    static const struct {
        const char *path;
        int status;
        const char *code;
    } cases[] = {
        {"/v1/clusters?colour=red", 400, "invalid-value"},
        {"/v1/version?limit=1", 400, "invalid-value"},
        {"/v1/clusters?limit=0", 400, "invalid-value"},
        {"/v1/clusters?limit=1001", 400, "invalid-value"},
        {"/v1/clusters?limit=1&limit=1", 400, "invalid-value"},
        {"/v1/clusters?limit=0x10", 400, "invalid-value"},
        {"/v1/clusters?limit=%31%", 400, "invalid-value"},
        {"/v1/clusters?" SIXTY_THREE "\xc3\xa9=1", 400, "invalid-value"}, /* cut at 64 it would be no text any more */
        {"/v1/clusters?limit", 400, "invalid-value"},
        {"/v1/clusters?cursor=nonsense", 400, "invalid-value"},
        {"/v1/clusters?cursor=", 400, "invalid-value"},
        {"/v1/clusters?cursor=bmE", 400, "invalid-value"},   /* of the list of nodes */
        {"/v1/operations?cursor=b2E", 400, "invalid-value"}, /* of operations, but "a" is no id */
        {"/v1/clusters/train/nodes?state=tired", 400, "invalid-value"},
        {"/v1/clusters/train/nodes?health=%ff", 400, "invalid-value"},
        {"/v1/events?after=-1", 400, "invalid-value"},
        {"/v1/events/stream?limit=5", 400, "invalid-value"},
        {"/v1/clusters/%ff", 400, "bad-request"},
        {"/v1/clusters/a%2", 400, "bad-request"},
        {"/v1/clusters/a%00b", 400, "bad-request"},
        {"/v1/clusters/train%2fnodes", 404, "not-found"},
        {"/v1/clusters/xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 404,
         "not-found"},
        {"/v1/clusters/../tokens", 404, "not-found"},
        {"/v1/nowhere", 404, "not-found"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct reply reply = client_ask(&aw, "GET", cases[i].path, aw.viewer, NULL, NULL);
        if (reply.status != cases[i].status)
            fail_msg("%s: %s", cases[i].path, reply.text);
        assert_reply_problem(&reply, cases[i].status, cases[i].code);
        reply_free(&reply);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_not_http),
        cmocka_unit_test(test_http_1_0_and_pipelining),
        cmocka_unit_test(test_head_and_methods),
        cmocka_unit_test(test_headers_too_large),
        cmocka_unit_test(test_bodies_too_large),
        cmocka_unit_test(test_a_chunked_body_without_end),
        cmocka_unit_test(test_bad_chunking),
        cmocka_unit_test(test_slow_loris),
        cmocka_unit_test(test_a_client_that_does_not_read),
        cmocka_unit_test(test_bodies_that_are_refused),
        cmocka_unit_test(test_bodies_where_none_belongs),
        cmocka_unit_test(test_words_that_are_no_line),
        cmocka_unit_test(test_queries_and_paths_that_are_refused),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
