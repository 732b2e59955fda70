/*
 * The runner of resets against a scripted server, with a stand-in for nvidia-smi: what is run, how often, what is said of it, and what
 * is remembered when it comes again.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/node/reset.h"
#include "agents/node/runner.h"
#include "agents/node/single.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "tests/support/fake_server.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define INSTANCE "i-0123456789abcdef0"
#define BOOT "b1-of-this-machine"
#define PATIENCE_MS 60000

struct world {
    char dir[64];
    char *state_dir, *tools, *boot_id_file;
    struct fake_server *server;
    pthread_mutex_t lock;
    const char *key, *device; /* of the order; key "": nothing is asked for */
    int64_t time_limit_ms, try_ms;
    int orders_max, orders; /* so many are answered; 0: all */
    int post_status;        /* what reports are answered with */
    struct text said;       /* "started failed!", final ones with a "!" */
    char detail[SENTENCE_MAX_BYTES];
    int64_t ended_at, sent_at;
};

static void serve_report(struct world *world, const char *request, struct fake_answer *answer)
{
    auto_json json_t *body = json_loads(strstr(request, "\r\n\r\n") + 4, JSON_REJECT_DUPLICATES, NULL);
    if (body == NULL)
        abort(); /* an assertion of cmocka belongs to the test's own thread */
    const char *detail = json_string_value(json_object_get(body, "detail"));
    text_printf(&world->said, "%s%s%s", world->said.len > 0 ? " " : "",
                json_string_value(json_object_get(body, "state")),
                json_is_true(json_object_get(body, "final")) ? "!" : "");
    world->ended_at = json_integer_value(json_object_get(body, "endedAtMs"));
    world->sent_at = json_integer_value(json_object_get(body, "sentAtMs"));
    text_copy_cut(world->detail, sizeof(world->detail), detail != NULL ? detail : "");
    fake_answer_json(answer, world->server, world->post_status, "{}");
}

static void serve(const char *request, size_t len, struct fake_answer *answer, void *arg)
{
    struct world *world = arg;
    (void)len;
    pthread_mutex_lock(&world->lock);
    autofree char *order = own_printf("{\"key\":\"%s\",\"instanceId\":\"" INSTANCE "\",\"bootId\":\"" BOOT
                                      "\",\"device\":\"%s\",\"timeLimitMs\":%d}",
                                      world->key, world->device, (int)world->time_limit_ms);
    bool asks = text_starts_with(request, "GET /v1/agent/work ");
    world->orders += asks;
    bool none = world->key[0] == '\0' || (world->orders_max > 0 && world->orders > world->orders_max);
    if (asks)
        fake_answer_json(answer, world->server, none ? 404 : 200, none ? "{}" : order);
    else if (text_starts_with(request, "POST /v1/agent/work "))
        serve_report(world, request, answer);
    else
        abort();
    pthread_mutex_unlock(&world->lock);
}

/* Leaves its arguments in the world's "ran" and then does that. */
static void put_tool(const struct world *world, const char *body)
{
    autofree char *path = own_printf("%s/nvidia-smi", world->tools);
    autofree char *text = own_printf("#!/bin/sh\necho \"$*\" >>%s/ran\n%s\n", world->dir, body);
    assert_int_equal(file_write(path, text, strlen(text), 0755), 0);
}

static int make_world(void **state)
{
    struct world *world = own_calloc(1, sizeof(*world));
    text_copy_cut(world->dir, sizeof(world->dir), "/tmp/holdfast-reset-XXXXXX");
    if (mkdtemp(world->dir) == NULL)
        return -1;
    world->state_dir = own_printf("%s/state", world->dir);
    world->tools = own_printf("%s/tools", world->dir);
    world->boot_id_file = own_printf("%s/boot_id", world->dir);
    autofree char *reset = own_printf("%s/reset", world->state_dir);
    autofree char *credential = own_printf("%s/credential", world->state_dir);
    const char *text = "hfn_1.x " INSTANCE " 5000\n";
    assert_int_equal(file_make_dirs(reset, 0700) + file_make_dirs(world->tools, 0700), 0);
    assert_int_equal(file_write(credential, text, strlen(text), 0600), 0);
    assert_int_equal(file_write(world->boot_id_file, BOOT "\n", strlen(BOOT "\n"), 0600), 0);
    pthread_mutex_init(&world->lock, NULL);
    world->key = "k1";
    world->device = "0000:b9:00";
    world->time_limit_ms = PATIENCE_MS;
    world->post_status = 200;
    log_set_level(LOG_LEVEL_ERROR + 1);
    pthread_mutex_lock(&world->lock);
    world->server = fake_server_start(NULL, 0, NULL, NULL, serve, world);
    pthread_mutex_unlock(&world->lock);
    *state = world;
    return 0;
}

static int remove_world(void **state)
{
    struct world *world = *state;
    fake_server_stop(world->server);
    int status = file_remove_tree(world->dir);
    text_free(&world->said);
    free(world->state_dir);
    free(world->tools);
    free(world->boot_id_file);
    free(world);
    return status;
}

static int run(struct world *world, const char *key)
{
    const struct runner_options options = {
        .url = fake_server_url(world->server),
        .state_dir = world->state_dir,
        .instance_id = INSTANCE,
        .boot_id_file = world->boot_id_file,
        .path = world->tools,
        .times = {
            .timeout_ms = PATIENCE_MS, .pause_ms = 1, .grace_ms = 50, .busy_pause_ms = 1, .try_ms = world->try_ms}};
    text_clear(&world->said);
    return reset_runner.run(&options, key);
}

static void assert_ran(const struct world *world, const char *wanted)
{
    autofree char *path = own_printf("%s/ran", world->dir), *ran = NULL;
    bool known = file_read(path, 65536, &ran, NULL) == 0;
    assert_string_equal(known ? ran : "", wanted);
}

static void a_device_is_reset_once(void **state)
{
    struct world *world = *state;
    put_tool(world, "echo 'GPU 00000000:B9:00.0 was successfully reset.'");
    assert_int_equal(run(world, "k1"), 0);
    assert_string_equal(text_get(&world->said), "started succeeded!");
    assert_ran(world, "--gpu-reset -i 0000:b9:00.0\n");
    int64_t ended_at = world->ended_at;
    assert_true(ended_at > 0 && ended_at <= world->sent_at);
    assert_int_equal(run(world, "k1"), 0); /* asked again, it says what it said */
    assert_string_equal(text_get(&world->said), "succeeded!");
    assert_true(world->ended_at == ended_at);
    assert_ran(world, "--gpu-reset -i 0000:b9:00.0\n");
    world->key = "k2";
    assert_int_equal(run(world, "k2"), 0); /* another operation is another reset */
    assert_ran(world, "--gpu-reset -i 0000:b9:00.0\n--gpu-reset -i 0000:b9:00.0\n");
}

static void who_has_it_open_is_waited_for(void **state)
{
    struct world *world = *state;
    autofree char *body =
        own_printf("test $(wc -l <%s/ran) -ge 3 || { echo 'GPU 0: In use by another client'; exit 1; }", world->dir);
    put_tool(world, body);
    assert_int_equal(run(world, "k1"), 0);
    assert_string_equal(text_get(&world->said), "started succeeded!");
}

/* As drivers of later versions word it: the line that says so is not the last one. */
static void who_has_it_open_is_told_by_a_sentence_too(void **state)
{
    struct world *world = *state;
    autofree char *body = own_printf(
        "test $(wc -l <%s/ran) -ge 2 || { printf 'The following GPUs could not be reset:\\n  GPU 0: In use by another "
        "client\\n\\n1 device is in use by others.\\nEnd the processes that have it open.\\n'; exit 1; }",
        world->dir);
    put_tool(world, body);
    assert_int_equal(run(world, "k1"), 0);
    assert_string_equal(text_get(&world->said), "started succeeded!");
    assert_ran(world, "--gpu-reset -i 0000:b9:00.0\n--gpu-reset -i 0000:b9:00.0\n");
}

static void it_is_not_tried_again_where_it_is_wanted_no_more(void **state)
{
    struct world *world = *state;
    world->orders_max = 1; /* its operation ends while the GPU is open: the node may be a job's by now */
    put_tool(world, "echo 'GPU 0: In use by another client'; exit 1");
    assert_int_equal(run(world, "k1"), 0);
    assert_string_equal(text_get(&world->said), "started");
    assert_ran(world, "--gpu-reset -i 0000:b9:00.0\n");
    world->orders_max = 0;
    put_tool(world, "exit 0"); /* nothing was done so far: a runner that comes again may */
    assert_int_equal(run(world, "k1"), 0);
    assert_string_equal(text_get(&world->said), "started succeeded!");
}

/* After a boot an address on the bus may be another GPU's. */
static void an_order_of_another_boot_is_not_carried_out(void **state)
{
    struct world *world = *state;
    put_tool(world, "exit 0");
    assert_int_equal(file_write(world->boot_id_file, "b2\n", 3, 0600), 0);
    assert_int_equal(run(world, "k1"), 0);
    assert_string_equal(text_get(&world->said), "");
    assert_ran(world, "");
}

static void but_not_for_ever(void **state)
{
    struct world *world = *state;
    world->time_limit_ms = 300;
    put_tool(world,
             "echo 'The following GPUs could not be reset:'; echo '  GPU 0: In use by another client'; echo; exit 1");
    assert_int_equal(run(world, "k1"), 0);
    assert_string_equal(text_get(&world->said), "started failed!");
    assert_non_null(strstr(world->detail, "In use by another client"));
}

/* What is left of the time would end nvidia-smi in the middle of it. */
static void it_is_not_begun_again_too_late(void **state)
{
    struct world *world = *state;
    world->try_ms = world->time_limit_ms;
    put_tool(world, "echo 'GPU 0: In use by another client'; exit 1");
    assert_int_equal(run(world, "k1"), 0);
    assert_string_equal(text_get(&world->said), "started failed!");
    assert_non_null(strstr(world->detail, "In use by another client"));
    assert_ran(world, "--gpu-reset -i 0000:b9:00.0\n");
}

static void another_refusal_is_final(void **state)
{
    struct world *world = *state;
    put_tool(world, "echo 'Insufficient Permissions'; exit 4");
    assert_int_equal(run(world, "k1"), 0);
    assert_string_equal(text_get(&world->said), "started failed!");
    assert_string_equal(world->detail,
                        "nvidia-smi --gpu-reset -i 0000:b9:00.0 ended with exit code 4: Insufficient Permissions");
    assert_ran(world, "--gpu-reset -i 0000:b9:00.0\n");
}

static void one_that_hangs_is_ended(void **state)
{
    struct world *world = *state;
    world->time_limit_ms = 200;
    put_tool(world, "exec sleep 600");
    assert_int_equal(run(world, "k1"), 0);
    assert_string_equal(text_get(&world->said), "started failed!");
    assert_non_null(strstr(world->detail, "did not end within"));
}

/* Whoever was to do it died in the middle of it. */
static void an_interrupted_one_is_not_done_again(void **state)
{
    struct world *world = *state;
    AUTO(text) struct text memory = {0};
    struct work_state left = {.instance_id = INSTANCE, .key = "k1", .attempts = 1, .pid = INT32_MAX, .exit_code = -1};
    autofree char *path = own_printf("%s/reset/state", world->state_dir);
    work_write_state(&memory, &left);
    assert_int_equal(file_write(path, memory.data, memory.len, 0600), 0);
    put_tool(world, "exit 0");
    assert_int_equal(run(world, "k1"), 0);
    assert_string_equal(text_get(&world->said), "failed!");
    assert_non_null(strstr(world->detail, "was interrupted"));
    assert_ran(world, "");
}

static void what_is_wanted_no_more_is_not_done(void **state)
{
    struct world *world = *state;
    put_tool(world, "exit 0");
    world->post_status = 409; /* its operation has ended */
    assert_int_equal(run(world, "k1"), 0);
    world->post_status = 200;
    world->key = "";
    assert_int_equal(run(world, "k1"), 0);
    world->key = "k2"; /* another one is asked for by now */
    assert_int_equal(run(world, "k1"), 0);
    assert_ran(world, "");
}

static void without_a_tool_or_a_device_it_fails(void **state)
{
    struct world *world = *state;
    assert_false(reset_is_offered(world->tools));
    assert_int_equal(run(world, "k1"), 0);
    assert_string_equal(world->detail, "nvidia-smi is not there");
    put_tool(world, "exit 0");
    assert_true(reset_is_offered(world->tools));
    world->key = "k2";
    world->device = "all of them";
    assert_int_equal(run(world, "k2"), 0);
    assert_string_equal(text_get(&world->said), "failed!");
    assert_ran(world, "");
}

static void devices_are_named_as_nvidia_smi_takes_them(void **state)
{
    static const struct {
        const char *device, *name;
    } told[] = {{"0000:b9:00", "0000:b9:00.0"},
                {"00000000:B9:00.0", "00000000:B9:00.0"},
                {"GPU-8f6a1c2e-1111-2222-3333-444455556666", "GPU-8f6a1c2e-1111-2222-3333-444455556666"}};
    static const char *const refused[] = {"",        "0",         "0000:b9:00.9", "0000:b9:00.0,0",
                                          "b9:00.0", "GPU-",      "GPU-1,GPU-2",  "-1",
                                          "mlx5_0",  "0000:b9:0", "0000:b9:00 ",  "GPU-12 34"};
    char name[DEVICE_MAX_BYTES + 2];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(told); i++) {
        assert_int_equal(reset_device(told[i].device, name), 0);
        assert_string_equal(name, told[i].name);
    }
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        assert_int_equal(reset_device(refused[i], name), STATUS_INVALID);
}

static void the_last_line_is_told(void **state)
{
    char line[16];
    (void)state;
    single_last_line("one\ntwo\n\n", 9, line, sizeof(line));
    assert_string_equal(line, "two");
    single_last_line("a\x01\xff b", 5, line, sizeof(line));
    assert_string_equal(line, "a?? b");
    single_last_line(" \n\n", 3, line, sizeof(line));
    assert_string_equal(line, "");
    single_last_line("much longer than the buffer", 27, line, sizeof(line));
    assert_string_equal(line, "much longer tha");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_device_is_reset_once, make_world, remove_world),
        cmocka_unit_test_setup_teardown(who_has_it_open_is_waited_for, make_world, remove_world),
        cmocka_unit_test_setup_teardown(who_has_it_open_is_told_by_a_sentence_too, make_world, remove_world),
        cmocka_unit_test_setup_teardown(it_is_not_tried_again_where_it_is_wanted_no_more, make_world, remove_world),
        cmocka_unit_test_setup_teardown(an_order_of_another_boot_is_not_carried_out, make_world, remove_world),
        cmocka_unit_test_setup_teardown(but_not_for_ever, make_world, remove_world),
        cmocka_unit_test_setup_teardown(it_is_not_begun_again_too_late, make_world, remove_world),
        cmocka_unit_test_setup_teardown(another_refusal_is_final, make_world, remove_world),
        cmocka_unit_test_setup_teardown(one_that_hangs_is_ended, make_world, remove_world),
        cmocka_unit_test_setup_teardown(an_interrupted_one_is_not_done_again, make_world, remove_world),
        cmocka_unit_test_setup_teardown(what_is_wanted_no_more_is_not_done, make_world, remove_world),
        cmocka_unit_test_setup_teardown(without_a_tool_or_a_device_it_fails, make_world, remove_world),
        cmocka_unit_test(devices_are_named_as_nvidia_smi_takes_them),
        cmocka_unit_test(the_last_line_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
