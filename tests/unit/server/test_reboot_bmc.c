/* What is read of a BMC and of the files beside it: addresses, credentials, answers, and their hostile twins. */
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/reboot/bmc.h"
#include "server/reboot/redfish.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct reboot_target machine = {.node = "gpu-1",
                                             .instance_id = "i-0a",
                                             .ref = "rack1.u4",
                                             .address = "10.0.0.7",
                                             .bmc = "",
                                             .boot_id = "b",
                                             .key = "o/1"};

static void a_pattern_is_expanded(void **state)
{
    (void)state;
    char text[64];
    assert_int_equal(reboot_expand("https://bmc-%n.example", &machine, text, sizeof(text)), 0);
    assert_string_equal(text, "https://bmc-gpu-1.example");
    assert_int_equal(reboot_expand("%r/%i/%a/100%%", &machine, text, sizeof(text)), 0);
    assert_string_equal(text, "rack1.u4/i-0a/10.0.0.7/100%");
    assert_int_equal(reboot_expand("%x", &machine, text, sizeof(text)), STATUS_INVALID);
    assert_int_equal(reboot_expand("a%", &machine, text, sizeof(text)), STATUS_INVALID);
    assert_int_equal(reboot_expand("%n%n%n", &machine, text, 10), STATUS_TOO_LARGE);
    struct reboot_target odd = machine;
    static const char *const values[] = {"", "a b", "x;id", "$(id)", "a/../b", "-oProxyCommand=id", "a\nb", "ü"};
    for (size_t i = 0; i < ARRAY_LEN(values); i++) {
        odd.address = values[i];
        assert_int_equal(reboot_expand("%a", &odd, text, sizeof(text)), STATUS_NOT_FOUND);
    }
    odd.ref = "";
    assert_int_equal(reboot_expand("%r", &odd, text, sizeof(text)), 0);
    assert_string_equal(text, "i-0a");
}

static void what_people_write_for_a_bmc_is_located(void **state)
{
    (void)state;
    static const struct {
        const char *bmc, *address, *path;
    } good[] = {
        {"10.1.0.7", "https://10.1.0.7", ""},
        {"bmc-7.example:8443", "https://bmc-7.example:8443", ""},
        {"[fd00::7]", "https://[fd00::7]", ""},
        {"https://bmc-7.example", "https://bmc-7.example", ""},
        {"https://bmc-7.example/", "https://bmc-7.example", ""},
        {"https://bmc-7.example/redfish/v1/", "https://bmc-7.example", ""},
        {"https://10.1.0.7/redfish/v1/Systems/1", "https://10.1.0.7", "/redfish/v1/Systems/1"},
        {"10.1.0.7/redfish/v1/Systems/1", "https://10.1.0.7", "/redfish/v1/Systems/1"},
    };
    static const char *const bad[] = {"",
                                      "http://10.1.0.7",
                                      "ftp://10.1.0.7",
                                      "https://",
                                      "https://10.1.0.7/v1/audit",
                                      "https://10.1.0.7/redfish/v1/../x",
                                      "https://user:pw@10.1.0.7",
                                      "a b"};
    char address[BMC_ADDRESS_MAX_BYTES], path[BMC_ADDRESS_MAX_BYTES];
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        assert_int_equal(bmc_locate(good[i].bmc, address, path), 0);
        assert_string_equal(address, good[i].address);
        assert_string_equal(path, good[i].path);
    }
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(bmc_locate(bad[i], address, path), STATUS_INVALID);
    char *longest = own_calloc(1, 400);
    memset(longest, 'a', 399);
    assert_int_equal(bmc_locate(longest, address, path), STATUS_INVALID);
    free(longest);
}

static void credentials_are_those_of_the_address_or_the_default(void **state)
{
    (void)state;
    static const char file[] = "default: {user: root, password: \"a: b\"}\n"
                               "https://bmc-gpu-1.example: {user: admin, password: x, fingerprint: \"sha256:abc\"}\n";
    struct bmc_credentials read;
    char error[REBOOT_ERROR_MAX];
    assert_int_equal(bmc_credentials_read(file, strlen(file), "https://bmc-gpu-1.example", &read, error), 0);
    assert_string_equal(read.user, "admin");
    assert_string_equal(read.fingerprint, "sha256:abc");
    assert_false(read.for_all);
    assert_int_equal(bmc_credentials_read(file, strlen(file), "https://bmc-gpu-2.example", &read, error), 0);
    assert_string_equal(read.user, "root");
    assert_string_equal(read.password, "a: b");
    assert_string_equal(read.fingerprint, "");
    assert_true(read.for_all);
    static const char none[] = "other: {user: root, password: x}\n";
    assert_int_equal(bmc_credentials_read(none, strlen(none), "https://a", &read, error), STATUS_NOT_FOUND);
    static const char *const bad[] = {"default: {user: 7, password: x}\n",
                                      "default: {user: \"a:b\", password: x}\n",
                                      "default: {user: \"a\\nX-Evil: 1\", password: x}\n",
                                      "default: {user: a, password: \"x\\r\\ny\"}\n",
                                      "default: {password: x}\n",
                                      "default: root\n",
                                      "{{{"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(bmc_credentials_read(bad[i], strlen(bad[i]), "https://a", &read, error), STATUS_INVALID);
}

static int systems(const char *body, char path[REDFISH_PATH_MAX_BYTES])
{
    char why[REDFISH_SAID_MAX_BYTES] = "";
    int status = redfish_read_systems(body, strlen(body), path, why);
    assert_true(status == 0 || why[0] != '\0');
    return status;
}

static void the_only_system_is_found(void **state)
{
    (void)state;
    char path[REDFISH_PATH_MAX_BYTES];
    assert_int_equal(systems("{\"Members\":[{\"@odata.id\":\"/redfish/v1/Systems/437XR1138R2\"}]}", path), 0);
    assert_string_equal(path, "/redfish/v1/Systems/437XR1138R2");
    assert_int_equal(systems("{\"Members\":[{\"@odata.id\":\"/redfish/v1/Systems/1\"},{}]}", path), STATUS_CONFLICT);
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"Members\":{}}",
        "{\"Members\":[]}",
        "{\"Members\":[7]}",
        "{\"Members\":[{\"@odata.id\":7}]}",
        "{\"Members\":[{\"@odata.id\":\"http://evil.example/redfish/v1/Systems/1\"}]}",
        "{\"Members\":[{\"@odata.id\":\"@evil.example/\"}]}",
        "{\"Members\":[{\"@odata.id\":\"/redfish/v1/../../etc\"}]}",
        "{\"Members\":[{\"@odata.id\":\"/redfish/v1/Systems/1\\r\\nX: y\"}]}",
        "{\"Members\":[{\"@odata.id\":\"/redfish/v1/Systems/1?x=#\"}]}",
        "{\"Members\":[{\"@odata.id\":\"/redfish/v1/Sys",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(systems(bad[i], path), STATUS_INVALID);
}

static void a_system_says_how_it_is_reset(void **state)
{
    (void)state;
    static const char body[] =
        "{\"PowerState\":\"Off\",\"Actions\":{\"#ComputerSystem.Reset\":{\"target\":\"/redfish/v1/Systems/1/Actions/"
        "ComputerSystem.Reset\",\"ResetType@Redfish.AllowableValues\":[\"On\",\"ForceRestart\",\"Nmi\",7]}}}";
    struct redfish_system system;
    char why[REDFISH_SAID_MAX_BYTES] = "";
    assert_int_equal(redfish_read_system(body, strlen(body), &system, why), 0);
    assert_true(system.is_off && system.resets_known);
    assert_int_equal(system.resets, 1u << REDFISH_RESET_ON | 1u << REDFISH_RESET_FORCE_RESTART);
    assert_string_equal(system.reset_path, "/redfish/v1/Systems/1/Actions/ComputerSystem.Reset");
    static const char short_one[] = "{\"Actions\":{\"#ComputerSystem.Reset\":{\"target\":\"/redfish/v1/x\"}}}";
    assert_int_equal(redfish_read_system(short_one, strlen(short_one), &system, why), 0);
    assert_false(system.is_off || system.resets_known);
    static const char *const bad[] = {
        "",
        "null",
        "{}",
        "{\"Actions\":{\"#ComputerSystem.Reset\":{}}}",
        "{\"Actions\":{\"#ComputerSystem.Reset\":{\"target\":\"https://evil.example/\"}}}",
        "{\"Actions\":{\"#ComputerSystem.Reset\":{\"target\":\"/v1/audit\"}}}"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        why[0] = '\0';
        assert_int_equal(redfish_read_system(bad[i], strlen(bad[i]), &system, why), STATUS_INVALID);
        assert_string_not_equal(why, "");
    }
}

static void an_error_is_one_printable_line(void **state)
{
    (void)state;
    char said[REDFISH_SAID_MAX_BYTES];
    static const char extended[] =
        "{\"error\":{\"message\":\"See ExtendedInfo.\",\"@Message.ExtendedInfo\":[{\"Message\":"
        "\"The system\\nis in \\u001b[31mPOST.\"}]}}";
    redfish_read_error(extended, strlen(extended), said);
    assert_string_equal(said, "The system?is in ?[31mPOST.");
    static const char plain[] = "{\"error\":{\"message\":\"No such system\"}}";
    redfish_read_error(plain, strlen(plain), said);
    assert_string_equal(said, "No such system");
    redfish_read_error("<html>", 6, said);
    assert_string_equal(said, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pattern_is_expanded),
        cmocka_unit_test(what_people_write_for_a_bmc_is_located),
        cmocka_unit_test(credentials_are_those_of_the_address_or_the_default),
        cmocka_unit_test(the_only_system_is_found),
        cmocka_unit_test(a_system_says_how_it_is_reset),
        cmocka_unit_test(an_error_is_one_printable_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
