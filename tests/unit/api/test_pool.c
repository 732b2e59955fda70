/* The request threads: bounded, nothing lost, and ending runs what was taken. */
#include "api_world.h"

#include "api/pool.h"

#include <semaphore.h>

struct job {
    struct pool_job job; /* first */
    atomic_int *ran;
    sem_t *gate; /* waits here when it has one */
};

static void run(struct pool_job *pool_job)
{
    struct job *job = (struct job *)pool_job;
    if (job->gate != NULL)
        sem_wait(job->gate);
    atomic_fetch_add(job->ran, 1);
}

static void test_bounded_and_nothing_lost(void **state)
{
    atomic_int ran = 0;
    sem_t gate;
    (void)state;
    assert_int_equal(sem_init(&gate, 0, 0), 0);
    struct pool *pool = pool_new(1);
    autofree struct job *jobs = own_calloc(POOL_QUEUE_MAX + 2, sizeof *jobs);
    int taken = 0;
    for (int i = 0; i < POOL_QUEUE_MAX + 2; i++) {
        jobs[i] = (struct job){.job = {.run = run}, .ran = &ran, .gate = i == 0 ? &gate : NULL};
        taken += pool_submit(pool, &jobs[i].job) ? 1 : 0;
    }
    /* The first may have left the queue for the thread already, or not. */
    assert_in_range(taken, POOL_QUEUE_MAX, POOL_QUEUE_MAX + 1);
    assert_int_equal(atomic_load(&ran), 0);
    sem_post(&gate);
    pool_free(pool); /* runs what waits before it ends */
    assert_int_equal(atomic_load(&ran), taken);
    sem_destroy(&gate);
}

static void test_many_threads(void **state)
{
    enum { JOBS = 2000 };
    atomic_int ran = 0;
    (void)state;
    struct pool *pool = pool_new(8);
    autofree struct job *jobs = own_calloc(JOBS, sizeof *jobs);
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (struct job){.job = {.run = run}, .ran = &ran};
        assert_true(pool_submit(pool, &jobs[i].job));
    }
    pool_free(pool);
    assert_int_equal(atomic_load(&ran), JOBS);
    pool_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bounded_and_nothing_lost),
        cmocka_unit_test(test_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
