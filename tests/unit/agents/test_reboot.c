/*
 * The runner of reboots against a scripted server: what is run, how often, who is told before, what is said of it, and what is remembered
 * when the runner or its machine is gone in the middle.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/node/reboot.h"
#include "agents/node/runner.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "tests/support/fake_server.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define INSTANCE "i-0123456789abcdef0"
#define BOOT "b1-of-this-machine"
#define PATIENCE_MS 60000

struct world {
    char dir[64];
    char *state_dir, *tools, *boot_id_file;
    struct fake_server *server;
    pthread_mutex_t lock;
    const char *key;        /* of the order; "": nothing is asked for */
    int orders_max, orders; /* so many are answered; 0: all */
    int post_status;        /* what reports are answered with */
    bool forbidden;         /* hp-agent runs without --allow-reboot */
    struct text said;       /* "started failed!", final ones with a "!" */
    char detail[SENTENCE_MAX_BYTES];
    int64_t attempt;
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
    world->attempt = json_integer_value(json_object_get(body, "attempt"));
    text_copy_cut(world->detail, sizeof(world->detail), detail != NULL ? detail : "");
    fake_answer_json(answer, world->server, world->post_status, "{}");
}

static void serve(const char *request, size_t len, struct fake_answer *answer, void *arg)
{
    struct world *world = arg;
    (void)len;
    pthread_mutex_lock(&world->lock);
    autofree char *order = own_printf("{\"key\":\"%s\",\"instanceId\":\"" INSTANCE "\",\"bootId\":\"" BOOT
                                      "\",\"reason\":\"xid.79 on 0000:b9:00\",\"delayMs\":1,\"attempt\":2}",
                                      world->key);
    bool asks = text_starts_with(request, "GET /v1/agent/work ");
    world->orders += asks;
    bool none = world->key[0] == '\0' || (world->orders_max > 0 && world->orders > world->orders_max);
    if (asks)
        fake_answer_json(answer, world->server, none ? 404 : 200, none ? "{}" : order);
    else
        serve_report(world, request, answer);
    pthread_mutex_unlock(&world->lock);
}

static int make_world(void **state)
{
    struct world *world = own_calloc(1, sizeof(*world));
    text_copy_cut(world->dir, sizeof(world->dir), "/tmp/holdfast-reboot-XXXXXX");
    if (mkdtemp(world->dir) == NULL)
        return -1;
    world->state_dir = own_printf("%s/state", world->dir);
    world->tools = own_printf("%s/tools", world->dir);
    world->boot_id_file = own_printf("%s/boot_id", world->dir);
    autofree char *reboot = own_printf("%s/reboot", world->state_dir);
    autofree char *credential = own_printf("%s/credential", world->state_dir);
    autofree char *wall = own_printf("%s/wall", world->tools);
    autofree char *tell = own_printf("#!/bin/sh\necho \"$*\" >>%s/told\n", world->dir);
    const char *text = "hfn_1.x " INSTANCE " 5000\n";
    assert_int_equal(file_make_dirs(reboot, 0700) + file_make_dirs(world->tools, 0700), 0);
    assert_int_equal(file_write(credential, text, strlen(text), 0600), 0);
    assert_int_equal(file_write(wall, tell, strlen(tell), 0755), 0);
    assert_int_equal(file_write(world->boot_id_file, BOOT "\n", strlen(BOOT "\n"), 0600), 0);
    pthread_mutex_init(&world->lock, NULL);
    world->key = "o/2";
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

/* The command leaves a mark each time it runs, and then does that. */
static int run(struct world *world, const char *key, const char *then)
{
    autofree char *command = own_printf("printf x >>%s/ran; %s", world->dir, then);
    const struct runner_options options = {.url = fake_server_url(world->server),
                                           .state_dir = world->state_dir,
                                           .instance_id = INSTANCE,
                                           .boot_id_file = world->boot_id_file,
                                           .path = world->tools,
                                           .allow_reboot = !world->forbidden,
                                           .reboot_command = command,
                                           .times = {.timeout_ms = PATIENCE_MS, .pause_ms = 1, .grace_ms = 50}};
    pthread_mutex_lock(&world->lock); /* a runner that was a process of its own may have spoken last */
    text_clear(&world->said);
    pthread_mutex_unlock(&world->lock);
    world->detail[0] = '\0';
    return reboot_runner.run(&options, key);
}

static char *left(const struct world *world, const char *name)
{
    autofree char *path = own_printf("%s/%s", world->dir, name);
    char *text = NULL;
    return file_read(path, 65536, &text, NULL) == 0 ? text : own_strdup("");
}

static void assert_ran(const struct world *world, size_t times)
{
    autofree char *ran = left(world, "ran");
    assert_int_equal(strlen(ran), times);
}

static void a_machine_is_rebooted_once_for_one_order(void **state)
{
    struct world *world = *state;
    assert_int_equal(run(world, "o/2", "exit 0"), 0);
    assert_string_equal(text_get(&world->said), "started succeeded!");
    assert_int_equal(world->attempt, 2);
    autofree char *told = left(world, "told");
    assert_non_null(strstr(told, "Holdfast reboots this machine in "));
    assert_non_null(strstr(told, ": xid.79 on 0000:b9:00\n"));
    assert_int_equal(run(world, "o/2", "exit 0"), 0); /* asked again, it says what it said */
    assert_string_equal(text_get(&world->said), "succeeded!");
    assert_ran(world, 1);
    world->key = "o/3";
    assert_int_equal(run(world, "o/3", "exit 0"), 0); /* another try is another reboot */
    assert_ran(world, 2);
}

static void an_agent_that_may_not_does_not(void **state)
{
    struct world *world = *state;
    world->forbidden = true;
    assert_int_equal(run(world, "o/2", "exit 0"), 0);
    assert_string_equal(text_get(&world->said), "failed!");
    assert_string_equal(world->detail, "hp-agent runs without --allow-reboot");
    assert_ran(world, 0);
}

static void an_order_of_another_boot_was_carried_out(void **state)
{
    struct world *world = *state;
    assert_int_equal(file_write(world->boot_id_file, "b2\n", 3, 0600), 0);
    assert_int_equal(run(world, "o/2", "exit 0"), 0);
    assert_string_equal(text_get(&world->said), "");
    assert_ran(world, 0);
}

static void what_is_withdrawn_while_it_waits_is_not_done(void **state)
{
    struct world *world = *state;
    world->orders_max = 1; /* the second look, after the pause, finds nothing */
    assert_int_equal(run(world, "o/2", "exit 0"), 0);
    assert_string_equal(text_get(&world->said), "started");
    assert_ran(world, 0);
    world->orders_max = 0;
    world->post_status = 409; /* its operation has ended */
    assert_int_equal(run(world, "o/2", "exit 0"), 0);
    assert_ran(world, 0);
}

static void a_command_that_fails_says_why(void **state)
{
    struct world *world = *state;
    assert_int_equal(run(world, "o/2", "echo 'Interactive authentication required.' >&2; exit 1"), 0);
    assert_string_equal(text_get(&world->said), "started failed!");
    assert_non_null(strstr(world->detail, "ended with exit code 1: Interactive authentication required."));
    assert_int_equal(run(world, "o/2", "exit 0"), 0);
    assert_string_equal(text_get(&world->said), "failed!");
    assert_ran(world, 1);
}

/* The machine goes down while the command runs: whoever comes after it reboots nothing, and the server waits for the new boot. */
static void a_runner_that_is_killed_in_the_middle_does_not_begin_again(void **state)
{
    struct world *world = *state;
    pid_t pid = fork();
    if (pid == 0)
        _exit(run(world, "o/2", "kill -KILL $PPID"));
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    assert_int_equal(run(world, "o/2", "exit 0"), 0);
    assert_string_equal(text_get(&world->said), "succeeded!");
    assert_ran(world, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_machine_is_rebooted_once_for_one_order, make_world, remove_world),
        cmocka_unit_test_setup_teardown(an_agent_that_may_not_does_not, make_world, remove_world),
        cmocka_unit_test_setup_teardown(an_order_of_another_boot_was_carried_out, make_world, remove_world),
        cmocka_unit_test_setup_teardown(what_is_withdrawn_while_it_waits_is_not_done, make_world, remove_world),
        cmocka_unit_test_setup_teardown(a_command_that_fails_says_why, make_world, remove_world),
        cmocka_unit_test_setup_teardown(a_runner_that_is_killed_in_the_middle_does_not_begin_again, make_world,
                                        remove_world),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
