/* An instance on disk: what is written comes back, what is broken is refused, and which reboots are done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "server/provider/lab/instance.h"
#include "server/provider/lab/template.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ID "i-0123456789abcdef0"

static int setup(void **state)
{
    char *dir = own_strdup("/tmp/holdfast-instance.XXXXXX");
    *state = dir;
    return mkdtemp(dir) != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    int status = file_remove_tree(*state);
    free(*state);
    return status;
}

static void put(const char *dir, const char *name, const char *content)
{
    autofree char *path = instance_path(dir, name);
    assert_int_equal(file_write(path, content, strlen(content), 0600), 0);
}

static void test_spec_comes_back(void **state)
{
    const char *dir = *state;
    struct instance_spec spec = {.id = ID, .key = "launch/1", .node = "gpu-1", .boot_delay_ms = 7, .service_count = 2};
    struct instance_spec back = {0};
    char error[PROVIDER_ERROR_MAX] = "";
    assert_int_equal(instance_spec_read(dir, &back, error), STATUS_NOT_FOUND);
    for (size_t i = 0; i < spec.service_count; i++) {
        snprintf(spec.services[i].name, sizeof(spec.services[i].name), "s%zu", i);
        spec.services[i].argv = own_calloc(LOCAL_ARGS_MAX + 1, sizeof(char *));
        spec.services[i].argv[0] = own_strdup("sh");
        spec.services[i].argv[1] = own_strdup("");
        spec.services[i].argv[2] = own_strdup("line\n\"quoted\" \\ \xc3\xa4");
    }
    assert_int_equal(instance_spec_write(dir, &spec), 0);
    assert_int_equal(instance_spec_read(dir, &back, error), 0);
    assert_string_equal(back.id, spec.id);
    assert_string_equal(back.key, spec.key);
    assert_string_equal(back.node, "gpu-1");
    assert_string_equal(back.cluster, "");
    assert_int_equal(back.boot_delay_ms, 7);
    assert_int_equal(back.service_count, 2);
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(back.services[i].name, spec.services[i].name);
        for (size_t k = 0; k < 3; k++)
            assert_string_equal(back.services[i].argv[k], spec.services[i].argv[k]);
        assert_null(back.services[i].argv[3]);
    }
    instance_spec_free(&spec);
    instance_spec_free(&back);
    instance_spec_free(&back);
}

#define HEAD "{\"version\": 1, \"id\": \"" ID "\", \"key\": \"k\", "

static void test_broken_specs(void **state)
{
    static const char *const broken[] = {
        "",
        "[]",
        "{}",
        HEAD "\"bootDelayMs\": 1}",
        HEAD "\"bootDelayMs\": -1, \"services\": []}",
        HEAD "\"bootDelayMs\": 1, \"services\": {}}",
        HEAD "\"bootDelayMs\": 1, \"services\": [], \"more\": 1}",
        HEAD "\"bootDelayMs\": 1, \"services\": [{\"name\": \"a\"}]}",
        HEAD "\"bootDelayMs\": 1, \"services\": [{\"name\": \"a\", \"command\": []}]}",
        HEAD "\"bootDelayMs\": 1, \"services\": [{\"name\": \"a\", \"command\": [\"x\", 1]}]}",
        HEAD "\"bootDelayMs\": 1, \"services\": [{\"name\": \"../a\", \"command\": [\"x\"]}]}",
        HEAD "\"bootDelayMs\": 1, \"services\": [{\"name\": \"a\", \"command\": [\"x\"]}, 7]}",
        "{\"version\": 2, \"id\": \"" ID "\", \"key\": \"k\", \"bootDelayMs\": 1, \"services\": []}",
        "{\"version\": 1, \"id\": \"../..\", \"key\": \"k\", \"bootDelayMs\": 1, \"services\": []}",
        "{\"version\": 1, \"id\": \"" ID "\", \"key\": \"a\\nb\", \"bootDelayMs\": 1, \"services\": []}",
    };
    const char *dir = *state;
    struct instance_spec spec;
    char error[PROVIDER_ERROR_MAX];
    put(dir, "instance.json", HEAD "\"bootDelayMs\": 1, \"services\": []}");
    assert_int_equal(instance_spec_read(dir, &spec, error), 0);
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        error[0] = '\0';
        put(dir, "instance.json", broken[i]);
        assert_int_not_equal(instance_spec_read(dir, &spec, error), 0);
        assert_true(strlen(error) > 0);
    }
}

static void test_reboots(void **state)
{
    const char *dir = *state;
    char key[KEY_MAX_BYTES] = "", name[KEY_MAX_BYTES];
    assert_int_equal(instance_reboot_pending(dir, key), STATUS_NOT_FOUND);
    assert_false(instance_reboot_is_done(dir, "reboot/1"));
    assert_int_equal(instance_reboot_ask(dir, "reboot/1"), 0);
    assert_int_equal(instance_reboot_pending(dir, key), 0);
    assert_string_equal(key, "reboot/1");
    assert_int_equal(instance_reboot_done(dir, "reboot/1"), 0);
    assert_int_equal(instance_reboot_pending(dir, key), STATUS_NOT_FOUND);
    assert_true(instance_reboot_is_done(dir, "reboot/1"));
    /* neither a part nor more than a key is that key */
    static const char *const others[] = {"reboot/", "reboot/11", "eboot/1", ""};
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        assert_false(instance_reboot_is_done(dir, others[i]));
    /* the list keeps the last ones and stays small, also with the longest keys */
    for (int i = 0; i < 40; i++) {
        snprintf(name, sizeof(name), "%0*d", KEY_MAX_BYTES - 1, i);
        assert_int_equal(instance_reboot_done(dir, name), 0);
        assert_true(instance_reboot_is_done(dir, name));
        snprintf(name, sizeof(name), "%0*d", KEY_MAX_BYTES - 1, i - 15);
        assert_true(i < 15 || instance_reboot_is_done(dir, name));
        snprintf(name, sizeof(name), "%0*d", KEY_MAX_BYTES - 1, i - 16);
        assert_false(i >= 16 && instance_reboot_is_done(dir, name));
    }
}

static void test_broken_requests(void **state)
{
    static const char *const broken[] = {"", "\n", "a b\n", "\x01\n"};
    const char *dir = *state;
    char key[KEY_MAX_BYTES], long_key[KEY_MAX_BYTES + 1];
    for (size_t i = 0; i < ARRAY_LEN(broken); i++) {
        put(dir, "reboot", broken[i]);
        assert_int_not_equal(instance_reboot_pending(dir, key), 0);
    }
    memset(long_key, 'k', sizeof(long_key));
    long_key[KEY_MAX_BYTES] = '\0';
    put(dir, "reboot", long_key);
    assert_int_not_equal(instance_reboot_pending(dir, key), 0);
    long_key[KEY_MAX_BYTES - 1] = '\0';
    assert_int_equal(instance_reboot_ask(dir, long_key), 0);
    assert_int_equal(instance_reboot_pending(dir, key), 0);
    assert_string_equal(key, long_key);
}

static void test_end(void **state)
{
    const char *dir = *state;
    autofree char *agent = instance_path(dir, "agent/spool"), *token = instance_path(dir, "token"),
                  *agent_dir = instance_path(dir, "agent");
    assert_int_equal(file_make_dirs(agent, 0700), 0);
    assert_int_equal(instance_token_write(dir, "hfe_secret"), 0);
    put(dir, "agent/credential", "hfn_secret");
    assert_false(instance_is_ending(dir));
    assert_int_equal(instance_end_begin(dir, "terminate/1"), 0);
    assert_true(instance_is_ending(dir));
    assert_false(instance_is_terminated(dir));
    assert_true(file_exists(token));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(instance_end_finish(dir, "terminate/1"), 0);
        assert_true(instance_is_ending(dir));
        assert_true(instance_is_terminated(dir));
        assert_false(file_exists(token));
        assert_false(file_exists(agent_dir));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_spec_comes_back, setup, teardown),
        cmocka_unit_test_setup_teardown(test_broken_specs, setup, teardown),
        cmocka_unit_test_setup_teardown(test_reboots, setup, teardown),
        cmocka_unit_test_setup_teardown(test_broken_requests, setup, teardown),
        cmocka_unit_test_setup_teardown(test_end, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
