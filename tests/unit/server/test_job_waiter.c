/* Jobs that wait for nodes on behalf of a job that is over: which are found, and who is told. */
#include "db/attempt.h"
#include "tests/support/service_world.h"

static struct cluster_job job(const char *id, const char *name, const char *state)
{
    return (struct cluster_job){.id = id,
                                .name = name,
                                .user = "ann",
                                .account = "",
                                .partition = "dev",
                                .state = state_of_job(state),
                                .reason = "",
                                .nodes = ""};
}

static struct job_snapshot *snapshot_of(const struct cluster_job *jobs, size_t count)
{
    struct job_snapshot *snapshot = job_snapshot_new();
    snapshot->jobs = own_calloc(count, sizeof(*jobs));
    memcpy(snapshot->jobs, jobs, count * sizeof(*jobs));
    snapshot->count = count;
    snapshot->metrics = own_strdup("");
    return snapshot;
}

static void tell_attempt(struct db_tx *tx, const char *job_id)
{
    struct job_attempt attempt = {.cluster_id = 1, .state = ATTEMPT_STATE_WAITING, .started_at = WORLD_T0};
    text_copy_cut(attempt.job, sizeof(attempt.job), job_id);
    assert_int_equal(db_attempt_put(tx, &attempt), 0);
}

static int tell_attempts(struct db_tx *tx, void *arg)
{
    (void)arg;
    tell_attempt(tx, "12");
    tell_attempt(tx, "20_3");
    return 0;
}

static int count_told(const void *row, void *arg)
{
    const struct event *event = row;
    *(int *)arg += event->kind == EVENT_KIND_JOBS;
    return 0;
}

static int told(struct world *world)
{
    int count = 0;
    struct db_tx *tx = NULL;
    const struct db_event_filter all = {.limit = 1000};
    assert_int_equal(db_read_begin(world->service.db, &tx), 0);
    assert_true(db_event_list(tx, &all, count_told, &count) >= 0);
    db_read_end(world->service.db, tx);
    return count;
}

/* "17 of 12, 18 of 12": those that are found when the first snapshot is followed by the second. */
static void finds(struct world *world, struct job_snapshot *before, struct job_snapshot *snapshot, const char *wanted)
{
    struct job_waiter *waiters = NULL;
    size_t count = 0;
    AUTO(text) struct text text = {0};
    assert_int_equal(service_job_waiters(&world->service, before, snapshot, &waiters, &count), 0);
    for (size_t i = 0; i < count; i++)
        text_printf(&text, "%s%s of %s", i > 0 ? ", " : "", waiters[i].id, waiters[i].job);
    assert_string_equal(text_get(&text), wanted);
    free(waiters);
}

static void open_slurm(struct world *world)
{
    world_open(world, DB_INLINE);
    world_cluster(world, "ml", "gpu", 2, ORCHESTRATOR_SLURM);
    assert_int_equal(db_write(world->service.db, "test", tell_attempts, NULL), 0);
}

#define WAITER "auto-resume-12.0-4711-1"

/* How the job that it waits for is shown; NULL: not at all. */
static const char *found_beside(struct world *world, const char *first, const char *second)
{
    struct job_waiter *waiters = NULL;
    size_t count = 0;
    struct cluster_job before[] = {job("17", WAITER, "PENDING"), job("12", "train", text_or_empty(first))};
    struct cluster_job after[] = {job("17", WAITER, "RUNNING"), job("12", "train", text_or_empty(second))};
    struct job_snapshot *a = snapshot_of(before, first == NULL ? 1 : 2),
                        *b = snapshot_of(after, second == NULL ? 1 : 2);
    assert_int_equal(service_job_waiters(&world->service, a, b, &waiters, &count), 0);
    const char *found = count == 0 ? "" : "17";
    if (count > 0) {
        assert_string_equal(waiters[0].id, "17");
        assert_string_equal(waiters[0].name, WAITER);
    }
    free(waiters);
    job_snapshot_free(a);
    job_snapshot_free(b);
    return found;
}

static void test_only_where_its_job_has_no_nodes_twice(void **state)
{
    (void)state;
    struct world world;
    open_slurm(&world);
    assert_string_equal(found_beside(&world, "RUNNING", "RUNNING"), "");
    assert_string_equal(found_beside(&world, "RUNNING", "CANCELLED"), "");
    assert_string_equal(found_beside(&world, "CANCELLED", "RUNNING"), "");
    assert_string_equal(found_beside(&world, "COMPLETING", "COMPLETING"), "");
    assert_string_equal(found_beside(&world, "SUSPENDED", "SUSPENDED"), "");
    assert_int_equal(told(&world), 0);
    assert_string_equal(found_beside(&world, "CANCELLED", "CANCELLED"), "17");
    assert_int_equal(told(&world), 1);
    assert_string_equal(found_beside(&world, NULL, NULL), "17");
    assert_string_equal(found_beside(&world, "PENDING", "PENDING"), "17"); /* it was requeued */
    assert_string_equal(found_beside(&world, "NODE_FAIL", NULL), "17");
    assert_int_equal(told(&world), 1); /* said once in a while, asked as long as it is there */
    world_close(&world);
}

static void test_names(void **state)
{
    (void)state;
    struct world world;
    open_slurm(&world);
    const struct cluster_job jobs[] = {
        job("17", WAITER, "PENDING"),
        job("18", "auto-resume-20_3.1-9-0", "PENDING"),
        job("19", "auto-resume-20_4.1-9-0", "PENDING"), /* nobody told of attempts of that one */
        job("30", "auto-resume-12.0-4711-1x", "PENDING"),
        job("31", "auto-resume-12.0-4711", "PENDING"),
        job("32", "auto-resume-12-0-4711-1", "PENDING"),
        job("33", "auto-resume-.0-4711-1", "PENDING"),
        job("34", "auto-resume-12_.0-4711-1", "PENDING"),
        job("35", "auto-resume-12", "PENDING"),
        job("36", "xauto-resume-12.0-4711-1", "PENDING"),
        job("37", "auto-resume-00000000000000000000000000000000000000000000000000000000000000000012.0-4711-1",
            "PENDING"),
        job("38", "auto-resume-12.0-4711-2", "COMPLETING"),
        job("39", "auto-resume-12.0-4711-3", "CANCELLED"),
    };
    struct job_snapshot *snapshot = snapshot_of(jobs, ARRAY_LEN(jobs));
    finds(&world, snapshot, snapshot, "17 of 12, 18 of 20_3");
    finds(&world, NULL, snapshot, "");
    /* The number was given to another job meanwhile. */
    const struct cluster_job other[] = {job("17", "train", "PENDING")};
    struct job_snapshot *before = snapshot_of(other, 1);
    finds(&world, before, snapshot, "");
    job_snapshot_free(before);
    job_snapshot_free(snapshot);
    world_close(&world);
}

static void test_a_job_of_somebody_else_is_not_its(void **state)
{
    (void)state;
    struct world world;
    open_slurm(&world);
    struct cluster_job jobs[] = {job("17", WAITER, "PENDING"), job("12", "train", "RUNNING")};
    jobs[1].user = "bob";
    struct job_snapshot *snapshot = snapshot_of(jobs, ARRAY_LEN(jobs));
    finds(&world, snapshot, snapshot, "17 of 12");
    job_snapshot_free(snapshot);
    world_close(&world);
}

/* Any user may submit jobs of such names: many that no cluster knows do not hide one that is ours. */
static void test_many_that_nobody_knows_hide_none(void **state)
{
    enum { STRANGERS = 4000, LOOKS_MAX = 100 };
    (void)state;
    struct world world;
    open_slurm(&world);
    autofree struct cluster_job *jobs = own_calloc(STRANGERS + 1, sizeof(*jobs));
    autofree char **ids = own_calloc(STRANGERS, sizeof(char *));
    for (int i = 0; i < STRANGERS; i++) {
        ids[i] = own_printf("%d", 100 + i);
        jobs[i] = job(ids[i], "auto-resume-77.0-1-1", "PENDING");
    }
    jobs[STRANGERS] = job("17", WAITER, "PENDING");
    struct job_snapshot *snapshot = snapshot_of(jobs, STRANGERS + 1);
    size_t found = 0;
    for (int look = 0; look < LOOKS_MAX && found == 0; look++) {
        struct job_waiter *waiters = NULL;
        clock_fake_advance(&world.clock, 15 * MS_PER_S);
        assert_int_equal(service_job_waiters(&world.service, snapshot, snapshot, &waiters, &found), 0);
        if (found > 0)
            assert_string_equal(waiters[0].id, "17");
        free(waiters);
    }
    assert_int_equal(found, 1);
    job_snapshot_free(snapshot);
    for (int i = 0; i < STRANGERS; i++)
        free(ids[i]);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_only_where_its_job_has_no_nodes_twice),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_a_job_of_somebody_else_is_not_its),
        cmocka_unit_test(test_many_that_nobody_knows_hide_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
