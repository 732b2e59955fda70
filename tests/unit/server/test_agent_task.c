/* Agent tasks: asked for until the last word was said, of one order and one instance at a time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/live/fleet.h"

#include <pthread.h>
#include <string.h>

#define NODE 7
#define INSTANCE "i-1"

static struct lifecycle_job job_of(const char *key)
{
    struct lifecycle_job job = {.instance_id = INSTANCE, .attempts_max = 3};
    text_copy_cut(job.key, sizeof(job.key), key);
    return job;
}

static int report(struct agent_tasks *agent_tasks, const char *key, enum script_state state, bool final)
{
    struct lifecycle_report said = {.state = state, .final = final};
    text_copy_cut(said.key, sizeof(said.key), key);
    return agent_tasks_report(agent_tasks, NODE, &said);
}

static void test_an_agent_task(void **state)
{
    struct agent_tasks *agent_tasks = agent_tasks_new();
    struct lifecycle_job job = job_of("k1"), got;
    struct lifecycle_report last;
    char key[KEY_MAX_BYTES];
    bool asked;
    (void)state;
    assert_false(agent_tasks_key(agent_tasks, NODE, INSTANCE, key));
    assert_int_equal(agent_tasks_get(agent_tasks, NODE, &got), STATUS_NOT_FOUND);
    assert_int_equal(report(agent_tasks, "k1", SCRIPT_STATE_STARTED, false), STATUS_STALE);
    agent_tasks_put(agent_tasks, NODE, &job);
    assert_true(agent_tasks_key(agent_tasks, NODE, INSTANCE, key));
    assert_string_equal(key, "k1");
    assert_false(agent_tasks_key(agent_tasks, NODE, "i-2", key)); /* it is not that machine's */
    assert_false(agent_tasks_key(agent_tasks, NODE + 1, INSTANCE, key));
    assert_int_equal(agent_tasks_get(agent_tasks, NODE, &got), 0);
    assert_int_equal(got.attempts_max, 3);
    assert_false(agent_tasks_last(agent_tasks, NODE, "k1", &last, &asked));
    assert_true(asked);
    assert_false(agent_tasks_last(agent_tasks, NODE, "k2", &last, &asked));
    assert_false(asked);
    agent_tasks_drop(agent_tasks, NODE);
    agent_tasks_drop(agent_tasks, NODE);
    assert_false(agent_tasks_key(agent_tasks, NODE, INSTANCE, key));
    agent_tasks_free(agent_tasks);
    agent_tasks_free(NULL);
}

static void test_a_reset(void **state)
{
    struct agent_tasks *agent_tasks = agent_tasks_new();
    struct reset_job job = {.key = "k1", .instance_id = INSTANCE, .device = "0000:b9:00", .time_limit_ms = 1}, got;
    struct lifecycle_job scripts = job_of("k2");
    struct lifecycle_report last;
    char key[KEY_MAX_BYTES];
    bool asked;
    (void)state;
    agent_tasks_put_reset(agent_tasks, NODE, &job);
    assert_int_equal(agent_tasks_key(agent_tasks, NODE, INSTANCE, key), AGENT_TASK_RESET);
    assert_string_equal(key, "k1");
    assert_int_equal(agent_tasks_key(agent_tasks, NODE, "i-2", key), AGENT_TASK_NONE);
    assert_int_equal(agent_tasks_get(agent_tasks, NODE, &scripts), STATUS_NOT_FOUND);
    assert_int_equal(agent_tasks_get_reset(agent_tasks, NODE, &got), 0);
    assert_string_equal(got.device, "0000:b9:00");
    assert_int_equal(report(agent_tasks, "k2", SCRIPT_STATE_SUCCEEDED, true), STATUS_STALE);
    assert_int_equal(report(agent_tasks, "k1", SCRIPT_STATE_FAILED, true), 0);
    assert_int_equal(agent_tasks_key(agent_tasks, NODE, INSTANCE, key), AGENT_TASK_NONE);
    assert_int_equal(report(agent_tasks, "k1", SCRIPT_STATE_SUCCEEDED, true), 0); /* the last word stands */
    assert_true(agent_tasks_last(agent_tasks, NODE, "k1", &last, &asked));
    assert_int_equal(last.state, SCRIPT_STATE_FAILED);
    scripts = job_of("k2");
    agent_tasks_put(agent_tasks, NODE, &scripts); /* what it is asked to do next begins anew */
    assert_false(agent_tasks_last(agent_tasks, NODE, "k2", &last, &asked));
    assert_int_equal(agent_tasks_get_reset(agent_tasks, NODE, &got), STATUS_NOT_FOUND);
    agent_tasks_free(agent_tasks);
}

static void test_the_last_word_stands(void **state)
{
    struct agent_tasks *agent_tasks = agent_tasks_new();
    struct lifecycle_job job = job_of("k1"), next = job_of("k2");
    struct lifecycle_report last;
    char key[KEY_MAX_BYTES];
    bool asked;
    (void)state;
    agent_tasks_put(agent_tasks, NODE, &job);
    assert_int_equal(report(agent_tasks, "k2", SCRIPT_STATE_SUCCEEDED, true), STATUS_STALE);
    assert_int_equal(report(agent_tasks, "k1", SCRIPT_STATE_FAILED, false), 0);
    assert_true(agent_tasks_key(agent_tasks, NODE, INSTANCE, key));
    assert_int_equal(report(agent_tasks, "k1", SCRIPT_STATE_SUCCEEDED, true), 0);
    assert_false(agent_tasks_key(agent_tasks, NODE, INSTANCE, key)); /* it need not be asked again */
    assert_int_equal(report(agent_tasks, "k1", SCRIPT_STATE_FAILED, true), 0);
    agent_tasks_put(agent_tasks, NODE, &job); /* the loop asks once more */
    assert_true(agent_tasks_last(agent_tasks, NODE, "k1", &last, &asked));
    assert_int_equal(last.state, SCRIPT_STATE_SUCCEEDED);
    agent_tasks_put(agent_tasks, NODE, &next);
    assert_false(agent_tasks_last(agent_tasks, NODE, "k2", &last, &asked));
    assert_true(asked);
    agent_tasks_free(agent_tasks);
}

static void test_they_go_with_their_node(void **state)
{
    struct fleet *fleet = fleet_new();
    struct fleet_slot slot = {.node_id = NODE, .instance_id = INSTANCE};
    struct lifecycle_job job = job_of("k1");
    char key[KEY_MAX_BYTES];
    (void)state;
    fleet_put(fleet, &slot);
    agent_tasks_put(fleet_agent_tasks(fleet), NODE, &job);
    fleet_remove(fleet, NODE);
    assert_false(agent_tasks_key(fleet_agent_tasks(fleet), NODE, INSTANCE, key));
    agent_tasks_put(fleet_agent_tasks(fleet), NODE, &job); /* freed with the fleet */
    fleet_free(fleet);
}

static void *ask_and_drop(void *arg)
{
    struct agent_tasks *agent_tasks = arg;
    struct lifecycle_job job = job_of("k1");
    char key[KEY_MAX_BYTES];
    for (int i = 0; i < 2000; i++) {
        agent_tasks_put(agent_tasks, NODE, &job);
        if (agent_tasks_key(agent_tasks, NODE, INSTANCE, key))
            (void)report(agent_tasks, key, SCRIPT_STATE_STARTED, false);
        agent_tasks_drop(agent_tasks, NODE);
    }
    return NULL;
}

static void test_many_hands(void **state)
{
    struct agent_tasks *agent_tasks = agent_tasks_new();
    pthread_t threads[4];
    char key[KEY_MAX_BYTES];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_and_drop, agent_tasks), 0);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        pthread_join(threads[i], NULL);
    assert_false(agent_tasks_key(agent_tasks, NODE, INSTANCE, key));
    agent_tasks_free(agent_tasks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_agent_task),        cmocka_unit_test(test_a_reset),
        cmocka_unit_test(test_the_last_word_stands), cmocka_unit_test(test_they_go_with_their_node),
        cmocka_unit_test(test_many_hands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
