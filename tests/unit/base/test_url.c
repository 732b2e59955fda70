/* Addresses: what is taken apart, what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/own.h"
#include "base/status.h"
#include "base/url.h"

#include <string.h>

static void test_taken(void **state)
{
    static const struct {
        const char *text, *host, *port;
        bool tls, is_ipv6;
    } cases[] = {
        {"http://127.0.0.1:8700", "127.0.0.1", "8700", false, false},
        {"http://127.9.9.9", "127.9.9.9", "80", false, false},
        {"http://localhost:1/", "localhost", "1", false, false},
        {"http://LOCALHOST", "LOCALHOST", "80", false, false},
        {"http://[::1]:65535", "::1", "65535", false, true},
        {"https://hpd.example.org", "hpd.example.org", "443", true, false},
        {"https://hpd-1:08700/", "hpd-1", "8700", true, false},
        {"https://[2001:db8::1]:8700", "2001:db8::1", "8700", true, true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct url url;
        const char *why = "";
        if (url_parse(cases[i].text, &url, &why) != 0)
            fail_msg("%s: %s", cases[i].text, why);
        assert_string_equal(url.host, cases[i].host);
        assert_string_equal(url.port, cases[i].port);
        assert_int_equal(url.port_number, strtol(cases[i].port, NULL, 10));
        assert_int_equal(url.tls, cases[i].tls);
        assert_int_equal(url.is_ipv6, cases[i].is_ipv6);
    }
}

static void test_refused(void **state)
{
    static const char *const cases[] = {
        "",
        "127.0.0.1:8700",
        "ftp://x",
        "HTTP://localhost",
        "http:/localhost",
        "http://",
        "http://:80",
        "http://localhost:",
        "http://localhost:0",
        "http://localhost:65536",
        "http://localhost:123456789012345678901",
        "http://localhost:80x",
        "http://localhost:-1",
        "http://localhost/path",
        "http://localhost//",
        "http://localhost?x",
        "http://localhost#x",
        "http://user@localhost",
        "http://user:pw@localhost",
        "http://local host",
        "http://localhost\r\nX: y",
        "http://[::1",
        "http://[]",
        "http://[127.0.0.1]",
        "http://[::1]x",
        "http://[::g]",
        /* plain, and not the loopback */
        "http://10.0.0.1:8700",
        "http://128.0.0.1",
        "http://0.0.0.0",
        "http://hpd.example.org",
        "http://[::2]",
        "http://localhost.example.org",
        "http://127.0.0.1.example.org",
        "http://127.1",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct url url = {.port_number = 7};
        const char *why = NULL;
        if (url_parse(cases[i], &url, &why) != STATUS_INVALID)
            fail_msg("taken: %s", cases[i]);
        assert_non_null(why);
        assert_int_equal(url.port_number, 7);
    }
    char text[1024] = "https://";
    memset(text + 8, 'a', 600);
    struct url url;
    const char *why;
    assert_int_equal(url_parse(text, &url, &why), STATUS_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
