/* Addresses of machines: one form each, and nothing that is not one machine's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/address.h"
#include "base/own.h"
#include "base/status.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static void test_parsed(void **state)
{
    static const struct {
        const char *text, *address;
        bool ipv6, only_here;
    } rows[] = {
        {"10.20.1.21", "10.20.1.21", false, false},
        {"192.0.2.7", "192.0.2.7", false, false},
        {"223.255.255.254", "223.255.255.254", false, false},
        {"2001:db8::7", "2001:db8::7", true, false},
        {"2001:0DB8:0:0:0:0:0:7", "2001:db8::7", true, false},
        {"fd00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fd00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true, false},
        {"::ffff:192.0.2.7", "192.0.2.7", false, false},
        {"127.0.0.1", "127.0.0.1", false, true},
        {"127.3.2.1", "127.3.2.1", false, true},
        {"169.254.10.1", "169.254.10.1", false, true},
        {"::1", "::1", true, true},
        {"fe80::1", "fe80::1", true, true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char address[ADDRESS_TEXT_MAX], again[ADDRESS_TEXT_MAX];
        if (address_parse(rows[i].text, address) != 0)
            fail_msg("%s", rows[i].text);
        assert_string_equal(address, rows[i].address);
        assert_int_equal(address_is_ipv6(address), rows[i].ipv6);
        assert_int_equal(address_is_only_here(address), rows[i].only_here);
        assert_int_equal(address_parse(address, again), 0);
        assert_string_equal(again, address);
    }
    assert_true(address_is_only_here(""));
}

static void test_refused(void **state)
{
    static const char *const rows[] = {"",
                                       " ",
                                       "gpu-1",
                                       "localhost",
                                       "10.1",
                                       "10.0.0.1 ",
                                       " 10.0.0.1",
                                       "10.0.0.01",
                                       "010.0.0.1",
                                       "10.0.0.256",
                                       "10.0.0.1:22",
                                       "10.0.0.1/8",
                                       "0x0a.0.0.1",
                                       "167772161",
                                       "0.0.0.0",
                                       "0.1.2.3",
                                       "224.0.0.1",
                                       "239.255.255.255",
                                       "255.255.255.255",
                                       "::",
                                       "ff02::1",
                                       "::ffff:0.0.0.0",
                                       "::ffff:224.0.0.1",
                                       "fe80::1%eth0",
                                       "[2001:db8::7]",
                                       "2001:db8::7::1",
                                       "2001:db8:0:0:0:0:0:0:7",
                                       "12345::"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char address[ADDRESS_TEXT_MAX] = "before";
        if (address_parse(rows[i], address) != STATUS_INVALID)
            fail_msg("%s was taken", rows[i]);
        assert_string_equal(address, "before");
    }
}

static void test_of_a_socket(void **state)
{
    static const struct {
        int family;
        const char *address, *text;
    } rows[] = {{AF_INET, "192.0.2.7", "192.0.2.7"},
                {AF_INET6, "2001:db8::7", "2001:db8::7"},
                {AF_INET6, "::ffff:192.0.2.7", "192.0.2.7"},
                {AF_INET6, "::1", "::1"},
                {AF_UNIX, NULL, ""}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct sockaddr_storage peer = {.ss_family = (sa_family_t)rows[i].family};
        char text[ADDRESS_TEXT_MAX] = "before";
        if (rows[i].family == AF_INET)
            assert_int_equal(inet_pton(AF_INET, rows[i].address, &((struct sockaddr_in *)&peer)->sin_addr), 1);
        if (rows[i].family == AF_INET6)
            assert_int_equal(inet_pton(AF_INET6, rows[i].address, &((struct sockaddr_in6 *)&peer)->sin6_addr), 1);
        address_of((const struct sockaddr *)&peer, text);
        assert_string_equal(text, rows[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parsed),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_of_a_socket),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
