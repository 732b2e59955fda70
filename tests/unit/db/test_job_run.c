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

static int add_id(const void *row, void *arg)
{
    text_printf(arg, "%s ", (const char *)row);
    return 0;
}

static void test_the_jobs_that_go_on(void **state)
{
    struct world *w = *state;
    static const struct {
        const char *job;
        int64_t restart, ended_at;
    } rows[] = {{"1", 0, WORLD_NOW}, {"2", 0, WORLD_NOW}, {"2", 1, 0}, {"3", 0, 0}, {"3", 1, 0}, {"4", 0, 0}};
    struct text AUTO(text) jobs = {0};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct job_run run = {.cluster_id = w->cluster.id, .restart = rows[i].restart, .ended_at = rows[i].ended_at};
        snprintf(run.job, sizeof(run.job), "%s", rows[i].job);
        MUST(db_job_run_put(w->tx, &run));
    }
    MUST(db_job_run_running(w->tx, w->cluster.id, 100, add_id, &jobs));
    assert_string_equal(text_get(&jobs), "2 3 4 ");
    text_free(&jobs);
    MUST(db_job_run_running(w->tx, w->cluster.id, 2, add_id, &jobs));
    assert_string_equal(text_get(&jobs), "2 3 ");
    text_free(&jobs);
    MUST(db_job_run_running(w->tx, w->cluster.id + 1, 100, add_id, &jobs));
    assert_string_equal(text_get(&jobs), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_the_oldest_makes_room),
        WORLD_TEST(test_the_jobs_that_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
