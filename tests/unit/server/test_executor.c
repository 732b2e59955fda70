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

/* A gate that jobs stand before until the test opens it, and a count of those that came. */
struct gate {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;
    int arrived, passed;
};

static void gate_init(struct gate *gate)
{
    *gate = (struct gate){.open = false};
    pthread_mutex_init(&gate->lock, NULL);
    pthread_cond_init(&gate->changed, NULL);
}

static void gate_open(struct gate *gate)
{
    pthread_mutex_lock(&gate->lock);
    gate->open = true;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
}

static void gate_wait_arrived(struct gate *gate, int count)
{
    pthread_mutex_lock(&gate->lock);
    while (gate->arrived < count)
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

static void gate_wait_passed(struct gate *gate, int count)
{
    pthread_mutex_lock(&gate->lock);
    while (gate->passed < count)
        pthread_cond_wait(&gate->changed, &gate->lock);
    pthread_mutex_unlock(&gate->lock);
}

static void go_through(void *arg)
{
    struct gate *gate = arg;
    pthread_mutex_lock(&gate->lock);
    gate->arrived++;
    pthread_cond_broadcast(&gate->changed);
    while (!gate->open)
        pthread_cond_wait(&gate->changed, &gate->lock);
    gate->passed++;
    pthread_cond_broadcast(&gate->changed);
    pthread_mutex_unlock(&gate->lock);
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
    struct gate gates[500];
    for (size_t i = 0; i < ARRAY_LEN(gates); i++) {
        gate_init(&gates[i]);
        gates[i].open = true;
        assert_int_equal(executor_submit(executor, go_through, &gates[i]), 0);
    }
    for (size_t i = 0; i < ARRAY_LEN(gates); i++)
        gate_wait_passed(&gates[i], 1);
    executor_free(executor);
    for (size_t i = 0; i < ARRAY_LEN(gates); i++)
        assert_int_equal(gates[i].passed, 1);
}

static void test_full_queue_is_refused_and_recovers(void **state)
{
    (void)state;
    struct executor *executor = executor_threads_new(1, 2);
    struct gate gate;
    atomic_int count = 0;
    gate_init(&gate);
    assert_int_equal(executor_submit(executor, go_through, &gate), 0);
    gate_wait_arrived(&gate, 1); /* the only thread is taken, so the next two must wait */
    assert_int_equal(executor_submit(executor, count_up, &count), 0);
    assert_int_equal(executor_submit(executor, go_through, &gate), 0);
    assert_int_equal(executor_submit(executor, count_up, &count), STATUS_FULL);
    gate_open(&gate);
    gate_wait_passed(&gate, 2);
    assert_int_equal(count, 1);
    assert_int_equal(executor_submit(executor, go_through, &gate), 0);
    gate_wait_passed(&gate, 3);
    executor_free(executor);
}

static void *open_later(void *arg)
{
    struct gate *gate = arg;
    gate_wait_arrived(gate, 1);
    gate_open(gate);
    return NULL;
}

static void test_free_waits_for_what_runs_and_drops_what_waits(void **state)
{
    (void)state;
    struct executor *executor = executor_threads_new(1, 8);
    struct gate gate;
    pthread_t opener;
    atomic_int count = 0;
    gate_init(&gate);
    assert_int_equal(executor_submit(executor, go_through, &gate), 0);
    gate_wait_arrived(&gate, 1);
    assert_int_equal(executor_submit(executor, count_up, &count), 0);
    assert_int_equal(pthread_create(&opener, NULL, open_later, &gate), 0);
    executor_free(executor);
    assert_int_equal(gate.passed, 1);
    assert_true(count <= 1); /* dropped, or run when the gate opened before the stop was seen */
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
