/* Replies, whole and in every split, and what must not pass for one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/own.h"
#include "base/status.h"
#include "base/wire_http.h"

#include <stdio.h>
#include <string.h>

#define BODY_MAX 100

static void test_taken_in_any_split(void **state)
{
    static const struct {
        const char *bytes, *body;
        int status;
        bool close;
    } cases[] = {
        {"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "{}", 200, false},
        {"HTTP/1.1 200\r\ncontent-length:2\r\n\r\n{}", "{}", 200, false},
        {"HTTP/1.1 409 No\r\nContent-Length:  3 \r\nConnection: Keep-Alive, Close\r\n\r\nabc", "abc", 409, true},
        {"HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n", "", 200, true},
        {"HTTP/1.1 204 None\r\nX-Y: z\r\n\r\n", "", 204, false},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\n1\r\na\r\nA;ext=1\r\n0123456789\r\n0\r\n\r\n",
         "a0123456789", 200, false},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nTrailer: x\r\n\r\n", "", 200, false},
        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 503 X\r\nContent-Length: "
         "1\r\n\r\nq",
         "q", 503, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t len = strlen(cases[i].bytes);
        for (size_t cut = 0; cut <= len; cut++) {
            struct wire_http http = {0};
            wire_http_start(&http, BODY_MAX);
            if (wire_http_feed(&http, cases[i].bytes, cut) != 0 ||
                wire_http_feed(&http, cases[i].bytes + cut, len - cut) != 0)
                fail_msg("%s: %s", cases[i].bytes, http.why);
            assert_int_equal(http.state, WIRE_HTTP_DONE);
            assert_int_equal(http.status, cases[i].status);
            assert_string_equal(text_get(&http.body), cases[i].body);
            assert_int_equal(http.close, cases[i].close);
            wire_http_free(&http);
        }
    }
}

#define OK_LINE "HTTP/1.1 200 OK\r\n"
#define INTERIM "HTTP/1.1 100 A\r\n\r\n"

static void test_refused(void **state)
{
    static const char *const cases[] = {
        "\r\n",
        "SSH-2.0-OpenSSH_9.2\r\n",
        "HTTP/2 200\r\n",
        "HTTP/1.2 200 OK\r\n",
        "HTTP/1.1  200 OK\r\n",
        "HTTP/1.1 20x OK\r\n",
        "HTTP/1.1 2000 OK\r\n",
        "HTTP/1.1 099 OK\r\n",
        "HTTP/1.1 600 OK\r\n",
        "HTTP/1.1 200 OK\n",
        OK_LINE "Content-Length: 2\n\r\n{}",
        OK_LINE "\r\n",
        OK_LINE "Content-Length: x\r\n",
        OK_LINE "Content-Length: -1\r\n",
        OK_LINE "Content-Length: +1\r\n",
        OK_LINE "Content-Length: 1,1\r\n",
        OK_LINE "Content-Length: 0x2\r\n",
        OK_LINE "Content-Length:\r\n",
        OK_LINE "Content-Length: 101\r\n",
        OK_LINE "Content-Length: 99999999999999999999\r\n",
        OK_LINE "Content-Length: 2\r\nContent-Length: 2\r\n",
        OK_LINE "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n",
        OK_LINE "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n",
        OK_LINE "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        OK_LINE "Transfer-Encoding: gzip, chunked\r\n",
        OK_LINE "Content-Length : 2\r\n",
        OK_LINE ": 2\r\n",
        OK_LINE "no colon\r\n",
        OK_LINE " folded: x\r\n",
        OK_LINE "A: b\r\n folded\r\n",
        OK_LINE "Content-Length: 2\r\n\r\n{}x",
        OK_LINE "Content-Length: 0\r\n\r\nx",
        OK_LINE "Transfer-Encoding: chunked\r\n\r\n\r\n",
        OK_LINE "Transfer-Encoding: chunked\r\n\r\nx\r\n",
        OK_LINE "Transfer-Encoding: chunked\r\n\r\n-1\r\n",
        OK_LINE "Transfer-Encoding: chunked\r\n\r\n1 x\r\n",
        OK_LINE "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n",
        OK_LINE "Transfer-Encoding: chunked\r\n\r\n65\r\n",
        OK_LINE "Transfer-Encoding: chunked\r\n\r\nFFFFFFFFFFFFFFFF1\r\n",
        OK_LINE "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nx",
        "HTTP/1.1 101 Switching\r\n\r\n",
        "HTTP/1.1 100 A\r\nContent-Length: 1\r\n\r\n",
        INTERIM INTERIM INTERIM INTERIM INTERIM,
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct wire_http http = {0};
        wire_http_start(&http, BODY_MAX);
        if (wire_http_feed(&http, cases[i], strlen(cases[i])) != STATUS_BACKEND)
            fail_msg("taken: %s", cases[i]);
        assert_non_null(http.why);
        wire_http_free(&http);
    }
}

static void test_a_zero_byte_in_the_head(void **state)
{
    static const char bytes[] = OK_LINE "Content-Length: 2\0\r\n\r\n{}";
    struct wire_http http = {0};
    (void)state;
    wire_http_start(&http, BODY_MAX);
    assert_int_equal(wire_http_feed(&http, bytes, sizeof(bytes) - 1), STATUS_BACKEND);
    wire_http_free(&http);
}

/* A head, a line, or chunks of one byte without end: memory stays bounded and it ends. */
static void test_endless(void **state)
{
    static const struct {
        const char *start, *again;
    } cases[] = {
        {"HTTP/1.1 200 ", "x"},
        {OK_LINE, "X-Header: y\r\n"},
        {OK_LINE "Transfer-Encoding: chunked\r\n\r\n", "1\r\na\r\n"},
        {OK_LINE "Transfer-Encoding: chunked\r\n\r\n1;", "extension"},
        {OK_LINE "Transfer-Encoding: chunked\r\n\r\n0\r\n", "Trailer: x\r\n"},
        {OK_LINE "Transfer-Encoding: chunked\r\n\r\n0000", "0"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct wire_http http = {0};
        int status, rounds = 0;
        wire_http_start(&http, BODY_MAX);
        status = wire_http_feed(&http, cases[i].start, strlen(cases[i].start));
        while (status == 0 && rounds++ < 10000)
            status = wire_http_feed(&http, cases[i].again, strlen(cases[i].again));
        assert_int_equal(status, STATUS_BACKEND);
        assert_true(http.line.capacity + http.body.capacity <= 4 * WIRE_HEAD_BYTES_MAX);
        wire_http_free(&http);
    }
}

static void test_used_again(void **state)
{
    static const char reply[] = OK_LINE "Content-Length: 3\r\n\r\nabc";
    struct wire_http http = {0};
    (void)state;
    for (int i = 0; i < 3; i++) {
        wire_http_start(&http, BODY_MAX);
        const char *memory = http.body.data;
        assert_int_equal(wire_http_feed(&http, reply, strlen(reply)), 0);
        assert_string_equal(http.body.data, "abc");
        if (i > 0)
            assert_ptr_equal(http.body.data, memory);
    }
    wire_http_free(&http);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken_in_any_split),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_a_zero_byte_in_the_head),
        cmocka_unit_test(test_endless),
        cmocka_unit_test(test_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
