/* Where messages end, read strictly: whole, byte by byte, and cut in two at each place the answer is the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/strict.h"
#include "base/own.h"

#include <string.h>

#define HEAD "POST /v1/x HTTP/1.1\r\nHost: x\r\n"

struct sample {
    const char *bytes;
    size_t len;
};
#define S(text)                \
    {                          \
        text, sizeof(text) - 1 \
    }

/* Returns how many heads were read; *ret_good: all of it is good, and ends with a message. */
static uint64_t read_in_parts(const struct sample *sample, size_t first, size_t step, bool *ret_good)
{
    struct strict strict = {0};
    size_t at = 0, whole = 0, last_whole = 0;
    while (at < sample->len) {
        size_t len = at == 0 && first > 0 ? first : step;
        len = len > sample->len - at ? sample->len - at : len;
        if (strict_take(&strict, sample->bytes + at, len, &whole) != len)
            break;
        last_whole = whole > 0 ? at + whole : last_whole;
        at += len;
    }
    *ret_good = at == sample->len && strict.state != STRICT_BAD && last_whole == sample->len;
    return strict.heads;
}

static void assert_reads(const struct sample *sample, bool good, uint64_t heads)
{
    for (size_t first = 0; first <= sample->len; first++) {
        bool is_good = false;
        uint64_t seen = read_in_parts(sample, first, first == 0 ? 1 : sample->len, &is_good);
        if (is_good != good || (good && seen != heads))
            fail_msg("%s: cut at %zu: good %d, %zu heads", sample->bytes, first, is_good, (size_t)seen);
    }
}

static void test_what_is_good(void **state)
{
    static const struct {
        struct sample sample;
        uint64_t heads;
    } cases[] = {
        {S("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), 1},
        {S("\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"), 1},
        {S("GET / HTTP/1.0\r\n\r\nGET / HTTP/1.1\r\nHost:x\r\nEmpty:\r\n\r\n"), 2},
        {S(HEAD "Content-Length: 4\r\n\r\nG\n\r\0GET / HTTP/1.1\r\nHost: x\r\n\r\n"), 2},
        {S(HEAD "content-length:\t0 \r\n\r\n"), 1},
        {S(HEAD "Transfer-Encoding: Chunked\r\n\r\n3;a=b\r\nab\n\r\n0\r\n\r\n"), 1},
        {S(HEAD "Transfer-Encoding: chunked\r\n\r\nA\r\n0123456789\r\n00\r\nX-Sum: 1\r\n\r\nGET / HTTP/1.1\r\nHost: "
                "x\r\n\r\n"),
         2},
        {S(HEAD "X-A-Name-That-Is-Longer-Than-Any-That-Counts: \x80\xff\t\"\\\r\n\r\n"), 1},
        {S(HEAD "Hos: a\r\nHostt: b\r\nContent-Lengthy: 7\r\n\r\n"), 1},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_reads(&cases[i].sample, true, cases[i].heads);
}

static void test_what_is_bad(void **state)
{
    static const struct sample cases[] = {
        S(HEAD "Content-Length: 2\r\nContent-Length: 7\r\n\r\n{}"),
        S(HEAD "Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}"),
        S(HEAD "Content-Length: 2, 2\r\n\r\n{}"),
        S(HEAD "Content-Length: +2\r\n\r\n{}"),
        S(HEAD "Content-Length: 99999999999999999999\r\n\r\n{}"),
        S(HEAD "Content-Length: 0x2\r\n\r\n{}"),
        S(HEAD "Content-Length:\r\n\r\n"),
        S(HEAD "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        S(HEAD "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"),
        S(HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        S(HEAD "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n"),
        S(HEAD "Transfer-Encoding: chunked\0\r\n\r\n0\r\n\r\n"),
        S(HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"),
        S(HEAD "Transfer-Encoding: identity\r\n\r\n"),
        S("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        S(HEAD "X: a\0b\r\n\r\n"),
        S(HEAD "X: a\x7f\r\n\r\n"),
        S(HEAD "Host: y\r\n\r\n"),
        S("GET / HTTP/1.1\r\n\r\n"),
        S("GET / HTTP/1.1\r\nHostt: x\r\n\r\n"),
        S("GET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n\r\n"),
        S(HEAD "X: a\n\r\n"),
        S(HEAD "X: a\n\n"),
        S("GET / HTTP/1.1\nHost: x\n\n"),
        S(HEAD "X: a\rb\r\n\r\n"),
        S(HEAD "X: a\r\n folded\r\n\r\n"),
        S(HEAD ": a\r\n\r\n"),
        S(HEAD "X\r\n\r\n"),
        S("GET /\0 HTTP/1.1\r\nHost: x\r\n\r\n"),
        S("\nGET / HTTP/1.1\r\nHost: x\r\n\r\n"),
        S("\x16\x03\x01\x02"),
        S(HEAD "Transfer-Encoding: chunked\r\n\r\n\r\n\r\n"),
        S(HEAD "Transfer-Encoding: chunked\r\n\r\n-1\r\n\r\n"),
        S(HEAD "Transfer-Encoding: chunked\r\n\r\n3\nabc\r\n0\r\n\r\n"),
        S(HEAD "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n0\r\n\r\n"),
        S(HEAD "Transfer-Encoding: chunked\r\n\r\n10000000000000003\r\nabc\r\n0\r\n\r\n"),
        S(HEAD "Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 3\r\n\r\n"),
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_reads(&cases[i], false, 0);
}

/* The requests before it are whole, and where they end is said. */
static void test_what_came_before_is_kept(void **state)
{
    static const char first[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";
    autofree char *bytes = own_printf("%s%s", first, "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n");
    struct strict strict = {0};
    size_t whole = 0;
    (void)state;
    assert_true(strict_take(&strict, bytes, strlen(bytes), &whole) < strlen(bytes));
    assert_int_equal(whole, strlen(first));
    assert_int_equal(strict.state, STRICT_BAD);
    assert_int_equal(strict_take(&strict, first, strlen(first), &whole), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_good),
        cmocka_unit_test(test_what_is_bad),
        cmocka_unit_test(test_what_came_before_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
