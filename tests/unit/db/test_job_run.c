/* Starts of jobs: no more of them are kept than there may be, and the oldest goes first. */
#include "db/job_run.h"
#include "db_world.h"

static int add_job(const void *row, void *arg)
{
    text_printf(arg, "%s ", ((const struct job_run *)row)->job);
    return 0;
}

static void test_the_oldest_makes_room(void **state)
{
    struct world *w = *state;
    struct text AUTO(text) jobs = {0};
    for (int i = 0; i < 4; i++) {
        struct job_run run = {.cluster_id = w->cluster.id, .started_at = WORLD_NOW - i, .ended_at = i % 2 * WORLD_NOW};
        snprintf(run.job, sizeof(run.job), "%d", i);
        MUST(db_job_run_put(w->tx, &run));
    }
    MUST(db_job_run_limit(w->tx, w->cluster.id, 5));
    MUST(db_job_run_limit(w->tx, w->cluster.id + 1, 1));
    MUST(db_job_run_list(w->tx, w->cluster.id, "", add_job, &jobs));
    assert_string_equal(text_get(&jobs), "0 1 2 3 ");
    text_free(&jobs);
    MUST(db_job_run_limit(w->tx, w->cluster.id, 3));
    MUST(db_job_run_list(w->tx, w->cluster.id, "", add_job, &jobs));
    assert_string_equal(text_get(&jobs), "0 1 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_the_oldest_makes_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
