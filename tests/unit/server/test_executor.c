/* The executor: inline runs at once, threads run everything once, the bound holds, freeing waits for what runs. */
#include "server/reconcile/base/executor.h"

#include "base/own.h"
#include "base/status.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* A door that jobs stand before until the test opens it, and a count of those that came. */
struct door {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;
    int arrived, passed;
};

static void door_init(struct door *door)
{
    *door = (struct door){.open = false};
    pthread_mutex_init(&door->lock, NULL);
    pthread_cond_init(&door->changed, NULL);
}

static void door_open(struct door *door)
{
    pthread_mutex_lock(&door->lock);
    door->open = true;
    pthread_cond_broadcast(&door->changed);
    pthread_mutex_unlock(&door->lock);
}

static void door_wait_arrived(struct door *door, int count)
{
    pthread_mutex_lock(&door->lock);
    while (door->arrived < count)
        pthread_cond_wait(&door->changed, &door->lock);
    pthread_mutex_unlock(&door->lock);
}

static void door_wait_passed(struct door *door, int count)
{
    pthread_mutex_lock(&door->lock);
    while (door->passed < count)
        pthread_cond_wait(&door->changed, &door->lock);
    pthread_mutex_unlock(&door->lock);
}

static void go_through(void *arg)
{
    struct door *door = arg;
    pthread_mutex_lock(&door->lock);
    door->arrived++;
    pthread_cond_broadcast(&door->changed);
    while (!door->open)
        pthread_cond_wait(&door->changed, &door->lock);
    door->passed++;
    pthread_cond_broadcast(&door->changed);
    pthread_mutex_unlock(&door->lock);
}

static void count_up(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void test_inline_runs_in_the_caller(void **state)
{
    (void)state;
    struct executor *executor = executor_inline_new();
    atomic_int count = 0;
    assert_int_equal(executor_submit(executor, count_up, &count), 0);
    assert_int_equal(count, 1);
    executor_free(executor);
}

static void test_threads_run_every_job_once(void **state)
{
    (void)state;
    struct executor *executor = executor_threads_new(3, 1000);
    struct door doors[500];
    for (size_t i = 0; i < ARRAY_LEN(doors); i++) {
        door_init(&doors[i]);
        doors[i].open = true;
        assert_int_equal(executor_submit(executor, go_through, &doors[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(doors); i++)
        door_wait_passed(&doors[i], 1);
    executor_free(executor);
    for (size_t i = 0; i < ARRAY_LEN(doors); i++)
        assert_int_equal(doors[i].passed, 1);
}

static void test_full_queue_is_refused_and_recovers(void **state)
{
    (void)state;
    struct executor *executor = executor_threads_new(1, 2);
    struct door door;
    atomic_int count = 0;
    door_init(&door);
    assert_int_equal(executor_submit(executor, go_through, &door), 0);
    door_wait_arrived(&door, 1); /* the only thread is taken, so the next two must wait */
    assert_int_equal(executor_submit(executor, count_up, &count), 0);
    assert_int_equal(executor_submit(executor, go_through, &door), 0);
    assert_int_equal(executor_submit(executor, count_up, &count), STATUS_FULL);
    door_open(&door);
    door_wait_passed(&door, 2);
    assert_int_equal(count, 1);
    assert_int_equal(executor_submit(executor, go_through, &door), 0);
    door_wait_passed(&door, 3);
    executor_free(executor);
}

static void *open_later(void *arg)
{
    struct door *door = arg;
    door_wait_arrived(door, 1);
    door_open(door);
    return NULL;
}

static void test_free_waits_for_what_runs_and_drops_what_waits(void **state)
{
    (void)state;
    struct executor *executor = executor_threads_new(1, 8);
    struct door door;
    pthread_t opener;
    atomic_int count = 0;
    door_init(&door);
    assert_int_equal(executor_submit(executor, go_through, &door), 0);
    door_wait_arrived(&door, 1);
    assert_int_equal(executor_submit(executor, count_up, &count), 0);
    assert_int_equal(pthread_create(&opener, NULL, open_later, &door), 0);
    executor_free(executor);
    assert_int_equal(door.passed, 1);
    assert_true(count <= 1); /* dropped, or run when the door opened before the stop was seen */
    pthread_join(opener, NULL);
}

static void test_free_accepts_null(void **state)
{
    (void)state;
    executor_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_inline_runs_in_the_caller),
        cmocka_unit_test(test_threads_run_every_job_once),
        cmocka_unit_test(test_full_queue_is_refused_and_recovers),
        cmocka_unit_test(test_free_waits_for_what_runs_and_drops_what_waits),
        cmocka_unit_test(test_free_accepts_null),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
