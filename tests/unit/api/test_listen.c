/* Addresses: what may be plain, what cannot be read, and that a port in use is never shared in silence. */
#include "api_world.h"

#include "api/listen.h"

#include <arpa/inet.h>

static void test_loopback_is_told_from_the_world(void **state)
{
    static const struct {
        const char *address;
        bool loopback;
    } cases[] = {
        {"127.0.0.1:80", true},   {"127.1.2.3:80", true}, {"[::1]:80", true},       {"localhost:80", true},
        {"0.0.0.0:80", false},    {"[::]:80", false},     {"192.0.2.1:80", false},  {"[2001:db8::1]:80", false},
        {"127.0.0.1", false},     {":80", false},         {"127.0.0.1:", false},    {"127.0.0.1:65536", false},
        {"::1:80", false},        {"[]:80", false},       {"not a host:80", false}, {"", false},
        {"127.0.0.1:+80", false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (listen_is_loopback(cases[i].address) != cases[i].loopback)
            fail_msg("\"%s\"", cases[i].address);
}

static void test_sockets_share_one_port(void **state)
{
    int fds[4];
    uint16_t port = 0;
    char error[128];
    (void)state;
    assert_int_equal(listen_open("127.0.0.1:0", 4, fds, &port, error, sizeof error), 0);
    assert_int_not_equal(port, 0);
    autofree char *again = own_printf("127.0.0.1:%d", port);
    int more[1];
    uint16_t other;
    assert_int_equal(listen_open(again, 1, more, &other, error, sizeof error), STATUS_UNAVAILABLE);
    assert_non_null(strstr(error, again));
    assert_non_null(strstr(error, "another process does"));
    for (int i = 0; i < 4; i++)
        close(fds[i]);
    assert_int_equal(listen_open("nonsense", 1, more, &other, error, sizeof error), STATUS_INVALID);
}

static void test_without_a_certificate_only_loopback(void **state)
{
    struct world world;
    struct api *api = NULL;
    char error[API_ERROR_MAX] = "";
    (void)state;
    world_open(&world, DB_INLINE);
    const struct api_options options = {.listen = "0.0.0.0:0", .version = "1"};
    assert_int_equal(api_start(&options, &world.service, &api, error), STATUS_INVALID);
    assert_non_null(strstr(error, "TLS"));
    assert_null(api);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_loopback_is_told_from_the_world),
        cmocka_unit_test(test_sockets_share_one_port),
        cmocka_unit_test(test_without_a_certificate_only_loopback),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
