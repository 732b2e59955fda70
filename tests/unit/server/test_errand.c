/* Errands: asked for until the last word was said, of one order and one instance at a time. */
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

static int report(struct errands *errands, const char *key, enum script_state state, bool final)
{
    struct lifecycle_report said = {.state = state, .final = final};
    text_copy_cut(said.key, sizeof(said.key), key);
    return errands_report(errands, NODE, &said);
}

static void test_an_errand(void **state)
{
    struct errands *errands = errands_new();
    struct lifecycle_job job = job_of("k1"), got;
    struct lifecycle_report last;
    char key[KEY_MAX_BYTES];
    bool asked;
    (void)state;
    assert_false(errands_key(errands, NODE, INSTANCE, key));
    assert_int_equal(errands_get(errands, NODE, &got), STATUS_NOT_FOUND);
    assert_int_equal(report(errands, "k1", SCRIPT_STATE_STARTED, false), STATUS_STALE);
    errands_put(errands, NODE, &job);
    assert_true(errands_key(errands, NODE, INSTANCE, key));
    assert_string_equal(key, "k1");
    assert_false(errands_key(errands, NODE, "i-2", key)); /* it is not that machine's */
    assert_false(errands_key(errands, NODE + 1, INSTANCE, key));
    assert_int_equal(errands_get(errands, NODE, &got), 0);
    assert_int_equal(got.attempts_max, 3);
    assert_false(errands_last(errands, NODE, "k1", &last, &asked));
    assert_true(asked);
    assert_false(errands_last(errands, NODE, "k2", &last, &asked));
    assert_false(asked);
    errands_drop(errands, NODE);
    errands_drop(errands, NODE);
    assert_false(errands_key(errands, NODE, INSTANCE, key));
    errands_free(errands);
    errands_free(NULL);
}

static void test_a_reset(void **state)
{
    struct errands *errands = errands_new();
    struct reset_job job = {.key = "k1", .instance_id = INSTANCE, .device = "0000:b9:00", .time_limit_ms = 1}, got;
    struct lifecycle_job scripts = job_of("k2");
    struct lifecycle_report last;
    char key[KEY_MAX_BYTES];
    bool asked;
    (void)state;
    errands_put_reset(errands, NODE, &job);
    assert_int_equal(errands_key(errands, NODE, INSTANCE, key), ERRAND_RESET);
    assert_string_equal(key, "k1");
    assert_int_equal(errands_key(errands, NODE, "i-2", key), ERRAND_NONE);
    assert_int_equal(errands_get(errands, NODE, &scripts), STATUS_NOT_FOUND);
    assert_int_equal(errands_get_reset(errands, NODE, &got), 0);
    assert_string_equal(got.device, "0000:b9:00");
    assert_int_equal(report(errands, "k2", SCRIPT_STATE_SUCCEEDED, true), STATUS_STALE);
    assert_int_equal(report(errands, "k1", SCRIPT_STATE_FAILED, true), 0);
    assert_int_equal(errands_key(errands, NODE, INSTANCE, key), ERRAND_NONE);
    assert_int_equal(report(errands, "k1", SCRIPT_STATE_SUCCEEDED, true), 0); /* the last word stands */
    assert_true(errands_last(errands, NODE, "k1", &last, &asked));
    assert_int_equal(last.state, SCRIPT_STATE_FAILED);
    scripts = job_of("k2");
    errands_put(errands, NODE, &scripts); /* what it is asked to do next begins anew */
    assert_false(errands_last(errands, NODE, "k2", &last, &asked));
    assert_int_equal(errands_get_reset(errands, NODE, &got), STATUS_NOT_FOUND);
    errands_free(errands);
}

static void test_the_last_word_stands(void **state)
{
    struct errands *errands = errands_new();
    struct lifecycle_job job = job_of("k1"), next = job_of("k2");
    struct lifecycle_report last;
    char key[KEY_MAX_BYTES];
    bool asked;
    (void)state;
    errands_put(errands, NODE, &job);
    assert_int_equal(report(errands, "k2", SCRIPT_STATE_SUCCEEDED, true), STATUS_STALE);
    assert_int_equal(report(errands, "k1", SCRIPT_STATE_FAILED, false), 0);
    assert_true(errands_key(errands, NODE, INSTANCE, key));
    assert_int_equal(report(errands, "k1", SCRIPT_STATE_SUCCEEDED, true), 0);
    assert_false(errands_key(errands, NODE, INSTANCE, key)); /* it need not be asked again */
    assert_int_equal(report(errands, "k1", SCRIPT_STATE_FAILED, true), 0);
    errands_put(errands, NODE, &job); /* the loop asks once more */
    assert_true(errands_last(errands, NODE, "k1", &last, &asked));
    assert_int_equal(last.state, SCRIPT_STATE_SUCCEEDED);
    errands_put(errands, NODE, &next);
    assert_false(errands_last(errands, NODE, "k2", &last, &asked));
    assert_true(asked);
    errands_free(errands);
}

static void test_they_go_with_their_node(void **state)
{
    struct fleet *fleet = fleet_new();
    struct fleet_slot slot = {.node_id = NODE, .instance_id = INSTANCE};
    struct lifecycle_job job = job_of("k1");
    char key[KEY_MAX_BYTES];
    (void)state;
    fleet_put(fleet, &slot);
    errands_put(fleet_errands(fleet), NODE, &job);
    fleet_remove(fleet, NODE);
    assert_false(errands_key(fleet_errands(fleet), NODE, INSTANCE, key));
    errands_put(fleet_errands(fleet), NODE, &job); /* freed with the fleet */
    fleet_free(fleet);
}

static void *ask_and_drop(void *arg)
{
    struct errands *errands = arg;
    struct lifecycle_job job = job_of("k1");
    char key[KEY_MAX_BYTES];
    for (int i = 0; i < 2000; i++) {
        errands_put(errands, NODE, &job);
        if (errands_key(errands, NODE, INSTANCE, key))
            (void)report(errands, key, SCRIPT_STATE_STARTED, false);
        errands_drop(errands, NODE);
    }
    return NULL;
}

static void test_many_hands(void **state)
{
    struct errands *errands = errands_new();
    pthread_t threads[4];
    char key[KEY_MAX_BYTES];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        assert_int_equal(pthread_create(&threads[i], NULL, ask_and_drop, errands), 0);
    for (size_t i = 0; i < ARRAY_LEN(threads); i++)
        pthread_join(threads[i], NULL);
    assert_false(errands_key(errands, NODE, INSTANCE, key));
    errands_free(errands);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_errand),
        cmocka_unit_test(test_a_reset),
        cmocka_unit_test(test_the_last_word_stands),
        cmocka_unit_test(test_they_go_with_their_node),
        cmocka_unit_test(test_many_hands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
