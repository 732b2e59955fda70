/* Commands on nodes: in order, so many of one node, what is remembered, and an end while one hangs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/live/node_commands.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PAUSE_US 1000
#define TRIES 60000

/* What the command says: "hang" runs until it is stopped, "fail" fails. */
static int run(struct node_command *command, const atomic_bool *stop, void *arg)
{
    atomic_int *count = arg;
    atomic_fetch_add(count, 1);
    while (text_equal(command->text, "hang") && !atomic_load(stop))
        usleep(PAUSE_US);
    if (text_equal(command->text, "fail")) {
        snprintf(command->error, sizeof(command->error), "nobody answers");
        return STATUS_UNAVAILABLE;
    }
    command->exit_code = 3;
    command->out = own_printf("%s of %s", command->text, command->node);
    command->err = own_strdup("");
    return 0;
}

static int add(struct node_commands *commands, int64_t node_id, const char *id, const char *text)
{
    struct node_command command = {.node_id = node_id, .timeout_ms = 1000};
    snprintf(command.id, sizeof(command.id), "%s", id);
    snprintf(command.node, sizeof(command.node), "gpu-%lld", (long long)node_id);
    snprintf(command.text, sizeof(command.text), "%s", text);
    return node_commands_add(commands, &command);
}

static void await(struct node_commands *commands, const char *id, enum node_command_state state,
                  struct node_command *ret_command)
{
    for (int i = 0; i < TRIES; i++) {
        assert_int_equal(node_commands_get(commands, id, ret_command), 0);
        if (ret_command->state == state)
            return;
        node_command_release(ret_command);
        usleep(PAUSE_US);
    }
    fail_msg("%s is not %s", id, node_command_state_text(state));
}

static void test_runs_and_remembers(void **state)
{
    (void)state;
    atomic_int count = 0;
    struct node_command command;
    struct node_commands *commands = node_commands_new(run, &count, clock_system(), 2);
    assert_int_equal(add(commands, 1, "a", "uptime"), 0);
    assert_int_equal(node_commands_get(commands, "a", &command), 0);
    assert_int_equal(command.state, NODE_COMMAND_STATE_WAITING); /* until it is said to go */
    assert_int_equal(command.started_at, 0);
    node_command_release(&command);
    node_commands_go(commands, "a");
    await(commands, "a", NODE_COMMAND_STATE_ENDED, &command);
    assert_string_equal(command.out, "uptime of gpu-1");
    assert_int_equal(command.exit_code, 3);
    assert_true(command.started_at >= command.asked_at && command.ended_at >= command.started_at);
    node_command_release(&command);
    node_commands_drop(commands, "a"); /* it has gone: nothing to take back */
    assert_int_equal(add(commands, 1, "b", "fail"), 0);
    node_commands_go(commands, "b");
    await(commands, "b", NODE_COMMAND_STATE_FAILED, &command);
    assert_string_equal(command.error, "nobody answers");
    node_command_release(&command);
    assert_int_equal(add(commands, 1, "c", "never"), 0);
    node_commands_drop(commands, "c");
    assert_int_equal(node_commands_get(commands, "c", &command), STATUS_NOT_FOUND);
    await(commands, "a", NODE_COMMAND_STATE_ENDED, &command);
    node_command_release(&command);
    assert_int_equal(atomic_load(&count), 2);
    node_commands_free(commands);
}

static void test_a_node_that_hangs_holds_two(void **state)
{
    (void)state;
    atomic_int count = 0;
    struct node_command command;
    struct node_commands *commands = node_commands_new(run, &count, clock_system(), 3);
    for (const char *const *id = (const char *const[]){"a", "b", NULL}; *id != NULL; id++) {
        assert_int_equal(add(commands, 1, *id, "hang"), 0);
        node_commands_go(commands, *id);
        await(commands, *id, NODE_COMMAND_STATE_RUNNING, &command);
        node_command_release(&command);
    }
    assert_int_equal(add(commands, 1, "c", "true"), STATUS_FULL);
    assert_int_equal(add(commands, 2, "d", "true"), 0);
    node_commands_go(commands, "d");
    await(commands, "d", NODE_COMMAND_STATE_ENDED, &command);
    node_command_release(&command);
    assert_int_equal(add(commands, 2, "e", "true"), 0); /* asked for, and never said to go */
    node_commands_free(commands);                       /* ends both that hang */
}

static void test_the_oldest_is_forgotten(void **state)
{
    (void)state;
    char id[ID_UUID_MAX];
    atomic_int count = 0;
    struct node_command command;
    struct node_commands *commands = node_commands_new(run, &count, clock_system(), 2);
    for (int i = 0; i <= NODE_COMMANDS_MAX; i++) {
        snprintf(id, sizeof(id), "%d", i);
        assert_int_equal(add(commands, i, id, "true"), 0);
        node_commands_go(commands, id);
        await(commands, id, NODE_COMMAND_STATE_ENDED, &command);
        node_command_release(&command);
    }
    assert_int_equal(node_commands_get(commands, "0", &command), STATUS_NOT_FOUND);
    await(commands, "1", NODE_COMMAND_STATE_ENDED, &command);
    node_command_release(&command);
    for (int i = 0; i < NODE_COMMANDS_MAX; i++) { /* that wait: none of them may be forgotten */
        snprintf(id, sizeof(id), "w%d", i);
        assert_int_equal(add(commands, i, id, "true"), 0);
    }
    assert_int_equal(add(commands, 1000, "more", "true"), STATUS_FULL);
    node_commands_free(commands);
}

static void test_what_waited_too_long_does_not_run(void **state)
{
    (void)state;
    atomic_int count = 0;
    struct clock clock;
    struct node_command command;
    clock_fake_init(&clock, 1000);
    struct node_commands *commands = node_commands_new(run, &count, &clock, 1);
    assert_int_equal(add(commands, 1, "late", "reboot"), 0);
    assert_int_equal(add(commands, 1, "due", "uptime"), 0);
    clock_fake_advance(&clock, NODE_COMMAND_WAIT_MAX_MS);
    node_commands_go(commands, "due");
    await(commands, "due", NODE_COMMAND_STATE_ENDED, &command);
    node_command_release(&command);
    clock_fake_advance(&clock, 1);
    node_commands_go(commands, "late");
    await(commands, "late", NODE_COMMAND_STATE_FAILED, &command);
    assert_non_null(strstr(command.error, "did not run"));
    assert_int_equal(command.started_at, 0);
    node_command_release(&command);
    assert_int_equal(atomic_load(&count), 1);
    node_commands_free(commands);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_and_remembers),
        cmocka_unit_test(test_a_node_that_hangs_holds_two),
        cmocka_unit_test(test_the_oldest_is_forgotten),
        cmocka_unit_test(test_what_waited_too_long_does_not_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
