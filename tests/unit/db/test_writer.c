/*
 * The writer: one failing write among a hundred, the order of callbacks, the bounded queue, closing with work queued,
 * many threads at once. A batch is made on purpose: a first write holds the writer until the rest has queued.
 */
#include "db_world.h"

#include <semaphore.h>

/* --- holding the writer ------------------------------------------------------------------------------------ */

struct hold {
    sem_t entered, open, passed;
};

static int hold_write(struct db_tx *tx, void *arg)
{
    (void)tx;
    struct hold *gate = arg;
    sem_post(&gate->entered);
    sem_wait(&gate->open);
    return 0;
}

static void hold_done(int status, void *arg)
{
    if (status == 0)
        sem_post(&((struct hold *)arg)->passed);
}

/* Returns when the writer stands inside the gate's write. */
static void hold_writer(struct world *w, struct hold *gate)
{
    sem_init(&gate->entered, 0, 0);
    sem_init(&gate->open, 0, 0);
    sem_init(&gate->passed, 0, 0);
    MUST(db_write_async(w->db, "gate", hold_write, hold_done, gate));
    sem_wait(&gate->entered);
}

static void hold_release(struct hold *gate)
{
    sem_post(&gate->open);
    sem_wait(&gate->passed);
}

/* --- writes that fail as they are told ----------------------------------------------------------- */

#define BATCH 100

enum outcome { OUTCOME_GOOD, OUTCOME_FAILS_BEFORE, OUTCOME_FAILS_AFTER };

struct job {
    struct world *w;
    int number;
    enum outcome outcome;
    int runs, status;
    sem_t *done;
    int *order, *order_count;
};

static int say(struct db_tx *tx, int number)
{
    struct event event = {.kind = EVENT_KIND_JOBS, .operation_id = number + 1};
    return db_event_insert(tx, &event);
}

static int job_write(struct db_tx *tx, void *arg)
{
    struct job *job = arg;
    job->runs++;
    if (job->outcome == OUTCOME_FAILS_BEFORE)
        return STATUS_CONFLICT;
    int status = say(tx, job->number);
    return status < 0 ? status : job->outcome == OUTCOME_FAILS_AFTER ? STATUS_DENIED : 0;
}

static void job_done(int status, void *arg)
{
    struct job *job = arg;
    job->status = status;
    job->order[(*job->order_count)++] = job->number;
    sem_post(job->done);
}

static const int outcome_status[] = {0, STATUS_CONFLICT, STATUS_DENIED};

/* One batch in which the writes named in outcomes have that outcome. runs: how often a good write may have run. */
static void one_batch(struct world *w, const enum outcome outcomes[BATCH], int runs)
{
    static struct job jobs[BATCH];
    static int order[BATCH];
    int order_count = 0;
    sem_t done;
    struct hold gate;
    struct db_stats before, after;
    sem_init(&done, 0, 0);
    hold_writer(w, &gate);
    for (int i = 0; i < BATCH; i++) {
        jobs[i] = (struct job){w, i, outcomes[i], 0, 1, &done, order, &order_count};
        MUST(db_write_async(w->db, "job", job_write, job_done, &jobs[i]));
    }
    db_stats(w->db, &before);
    assert_int_equal(before.queue_now, BATCH);
    hold_release(&gate);
    for (int i = 0; i < BATCH; i++)
        sem_wait(&done);
    db_stats(w->db, &after);
    assert_int_equal(after.commits - before.commits, 2); /* the gate's own, and one for all of them */
    int errors = 0;
    for (int i = 0; i < BATCH; i++) {
        assert_int_equal(order[i], i);
        assert_int_equal(jobs[i].status, outcome_status[outcomes[i]]);
        assert_in_range(jobs[i].runs, 1, runs);
        assert_int_equal(events_of(w, i), outcomes[i] == OUTCOME_GOOD);
        errors += outcomes[i] != OUTCOME_GOOD;
    }
    assert_int_equal(after.write_errors - before.write_errors, errors);
    assert_int_equal(after.batch_max, BATCH);
}

static void test_a_batch_without_failures(void **state)
{
    enum outcome outcomes[BATCH] = {OUTCOME_GOOD};
    one_batch(*state, outcomes, 1);
}

static void test_a_failure_that_changed_nothing_costs_nobody_a_second_run(void **state)
{
    enum outcome outcomes[BATCH] = {
        [0] = OUTCOME_FAILS_BEFORE, [50] = OUTCOME_FAILS_BEFORE, [99] = OUTCOME_FAILS_BEFORE};
    one_batch(*state, outcomes, 1);
}

static void test_a_failure_after_changes_is_undone_alone(void **state)
{
    enum outcome outcomes[BATCH] = {[50] = OUTCOME_FAILS_AFTER};
    one_batch(*state, outcomes, 2);
}

static void test_many_failures_of_both_kinds(void **state)
{
    enum outcome outcomes[BATCH];
    for (int i = 0; i < BATCH; i++)
        outcomes[i] = (enum outcome)(i % 3);
    one_batch(*state, outcomes, 2);
}

static void test_a_batch_of_nothing_but_failures(void **state)
{
    enum outcome outcomes[BATCH];
    for (int i = 0; i < BATCH; i++)
        outcomes[i] = OUTCOME_FAILS_AFTER;
    one_batch(*state, outcomes, 2);
}

/* --- one write at a time ------------------------------------------------------------------------- */

static int write_node(struct db_tx *tx, void *arg)
{
    struct node *node = arg;
    return db_node_insert(tx, node);
}

static void test_a_write_answers_with_its_own_status_and_results(void **state)
{
    struct world *w = *state;
    struct node node = a_node(&w->group, "gpu-9"), twin = a_node(&w->group, "gpu-9");
    MUST(db_write(w->db, "node", write_node, &node));
    assert_true(node.id > 0);
    assert_int_equal(db_write(w->db, "node", write_node, &twin), STATUS_EXISTS);
    struct db_stats stats;
    db_stats(w->db, &stats);
    assert_int_equal(stats.writes, 3); /* populate and these two */
    assert_int_equal(stats.write_errors, 1);
    assert_true(stats.commit_us_total >= stats.commit_us_max);
}

static int write_both(struct db_tx *tx, void *arg)
{
    struct world *w = arg;
    struct node good = a_node(&w->group, "gpu-good"), bad = a_node(&w->group, "gpu-1");
    int status = db_node_insert(tx, &good);
    return status < 0 ? status : db_node_insert(tx, &bad);
}

static void lone_failure(struct world *w)
{
    struct db_tx *tx = NULL;
    struct node out;
    assert_int_equal(db_write(w->db, "both", write_both, w), STATUS_EXISTS);
    MUST(db_read_begin(w->db, &tx));
    assert_int_equal(db_node_get(tx, w->cluster.id, "gpu-good", &out), STATUS_NOT_FOUND);
    db_read_end(w->db, tx);
}

static void test_a_failing_write_alone_leaves_nothing_behind(void **state)
{
    struct world *w = *state;
    lone_failure(w);
    world_close(w);
    MUST(world_open(w, DB_INLINE));
    lone_failure(w);
}

/* --- a node that is not there after all ---------------------------------------------------------- */

struct short_life {
    struct world *w;
    struct node node;
    int status; /* what the write ends with */
};

static int node_with_verdict(struct db_tx *tx, void *arg)
{
    struct short_life *life = arg;
    life->node = a_node(&life->w->group, "short-lived");
    MUST(db_node_insert(tx, &life->node));
    struct verdict verdict = a_verdict(life->node.id, "while it was there");
    enum db_verdict_change change;
    MUST(db_verdict_put(tx, &verdict, &change));
    return life->status;
}

static int late_verdict(struct db_tx *tx, void *arg)
{
    const struct short_life *life = arg;
    struct verdict verdict = a_verdict(life->node.id, "too late");
    enum db_verdict_change change;
    return db_verdict_put(tx, &verdict, &change);
}

static int node_goes(struct db_tx *tx, void *arg)
{
    const struct short_life *life = arg;
    return db_node_delete(tx, life->node.id);
}

struct outcomes_seen {
    sem_t came;
    int status;
};

static void note_outcome(int status, void *arg)
{
    struct outcomes_seen *outcome = arg;
    outcome->status = status;
    sem_post(&outcome->came);
}

/* A call and what came of it: the write's argument is the first member. */
struct late {
    struct short_life *life;
    struct outcomes_seen outcome;
};

static int late_in_batch(struct db_tx *tx, void *arg)
{
    return late_verdict(tx, ((struct late *)arg)->life);
}

static int undone_in_batch(struct db_tx *tx, void *arg)
{
    return node_with_verdict(tx, ((struct late *)arg)->life);
}

static void late_done(int status, void *arg)
{
    note_outcome(status, &((struct late *)arg)->outcome);
}

static void test_a_node_that_went_takes_no_verdicts(void **state)
{
    struct world *w = *state;
    struct short_life life = {.w = w};
    MUST(db_write(w->db, "made", node_with_verdict, &life));
    MUST(db_write(w->db, "late", late_verdict, &life));
    MUST(db_write(w->db, "goes", node_goes, &life));
    assert_int_equal(db_write(w->db, "late", late_verdict, &life), STATUS_NOT_FOUND);
}

static void test_nor_does_one_that_was_not_made_after_all(void **state)
{
    struct world *w = *state;
    struct short_life life = {.w = w, .status = STATUS_CONFLICT};
    assert_int_equal(db_write(w->db, "undone", node_with_verdict, &life), STATUS_CONFLICT);
    assert_int_equal(db_write(w->db, "late", late_verdict, &life), STATUS_NOT_FOUND);
    /* In one batch, where only a savepoint is undone. */
    struct hold gate;
    struct late writes[2] = {{.life = &life}, {.life = &life}};
    for (int i = 0; i < 2; i++)
        sem_init(&writes[i].outcome.came, 0, 0);
    hold_writer(w, &gate);
    MUST(db_write_async(w->db, "undone", undone_in_batch, late_done, &writes[0]));
    MUST(db_write_async(w->db, "late", late_in_batch, late_done, &writes[1]));
    hold_release(&gate);
    for (int i = 0; i < 2; i++)
        sem_wait(&writes[i].outcome.came);
    assert_int_equal(writes[0].outcome.status, STATUS_CONFLICT);
    assert_int_equal(writes[1].outcome.status, STATUS_NOT_FOUND);
}

static void test_inline_runs_at_once(void **state)
{
    struct world *w = *state;
    world_close(w);
    MUST(world_open(w, DB_INLINE));
    int order[2], order_count = 0;
    sem_t done;
    sem_init(&done, 0, 0);
    struct job job = {w, 1, OUTCOME_GOOD, 0, 1, &done, order, &order_count};
    MUST(db_write_async(w->db, "job", job_write, job_done, &job));
    assert_int_equal(order_count, 1);
    assert_int_equal(job.runs, 1);
    assert_int_equal(events_of(w, 1), 1);
    job.outcome = OUTCOME_FAILS_AFTER;
    MUST(db_write_async(w->db, "job", job_write, job_done, &job));
    assert_int_equal(order_count, 2);
    assert_int_equal(job.status, STATUS_DENIED);
    assert_int_equal(job.runs, 2); /* one each: alone, a failing write needs no second run */
    assert_int_equal(events_of(w, 1), 1);
}

/* --- the queue ----------------------------------------------------------------------------------- */

static int write_nothing(struct db_tx *tx, void *arg)
{
    (void)tx;
    (void)arg;
    return 0;
}

static void post_done(int status, void *arg)
{
    if (status == 0)
        sem_post(arg);
}

static void test_a_full_queue_refuses_and_recovers(void **state)
{
    struct world *w = *state;
    struct hold gate;
    sem_t done;
    sem_init(&done, 0, 0);
    hold_writer(w, &gate);
    for (int i = 0; i < DB_WRITE_QUEUE_MAX; i++)
        MUST(db_write_async(w->db, "nothing", write_nothing, post_done, &done));
    assert_int_equal(db_write_async(w->db, "nothing", write_nothing, post_done, &done), STATUS_FULL);
    assert_int_equal(db_write(w->db, "nothing", write_nothing, NULL), STATUS_FULL);
    hold_release(&gate);
    for (int i = 0; i < DB_WRITE_QUEUE_MAX; i++)
        sem_wait(&done);
    MUST(db_write(w->db, "nothing", write_nothing, NULL));
    assert_int_equal(sem_trywait(&done), -1); /* nobody was told twice, nor the refused one at all */
    struct db_stats stats;
    db_stats(w->db, &stats);
    assert_int_equal(stats.batch_max, DB_BATCH_MAX);
}

static void test_closing_commits_what_waits(void **state)
{
    struct world *w = *state;
    static struct job jobs[BATCH];
    static int order[BATCH];
    int order_count = 0;
    sem_t done;
    struct hold gate;
    sem_init(&done, 0, 0);
    hold_writer(w, &gate);
    for (int i = 0; i < BATCH; i++) {
        jobs[i] = (struct job){w, i, OUTCOME_GOOD, 0, 1, &done, order, &order_count};
        MUST(db_write_async(w->db, "job", job_write, job_done, &jobs[i]));
    }
    sem_post(&gate.open);
    world_close(w);
    assert_int_equal(order_count, BATCH);
    MUST(world_open(w, 0));
    for (int i = 0; i < BATCH; i++) {
        assert_int_equal(jobs[i].status, 0);
        assert_int_equal(events_of(w, i), 1);
    }
}

/* What a callback hears is already on disk and visible to every reader. */
struct witness {
    struct world *w;
    int seen;
    sem_t done;
};

static int witness_write(struct db_tx *tx, void *arg)
{
    (void)arg;
    return say(tx, 4711);
}

static void witness_done(int status, void *arg)
{
    struct witness *witness = arg;
    witness->seen = status == 0 ? events_of(witness->w, 4711) : -1;
    sem_post(&witness->done);
}

static void test_a_callback_comes_after_the_commit(void **state)
{
    struct witness witness = {.w = *state};
    sem_init(&witness.done, 0, 0);
    MUST(db_write_async(witness.w->db, "witness", witness_write, witness_done, &witness));
    sem_wait(&witness.done);
    assert_int_equal(witness.seen, 1);
}

/* --- many threads -------------------------------------------------------------------------------- */

#define THREADS 6
#define THREAD_WRITES 60

struct worker {
    struct world *w;
    int number, wrong;
    pthread_t thread;
};

static int worker_write(struct db_tx *tx, void *arg)
{
    const struct job *job = arg;
    int status = say(tx, job->number);
    return status < 0 ? status : job->number % 7 == 3 ? STATUS_CONFLICT : 0;
}

static void *worker_main(void *arg)
{
    struct worker *worker = arg;
    for (int i = 0; i < THREAD_WRITES; i++) {
        struct job job = {.number = worker->number * THREAD_WRITES + i};
        int status = db_write(worker->w->db, "worker", worker_write, &job);
        int want = job.number % 7 == 3 ? STATUS_CONFLICT : 0;
        worker->wrong += status != want || events_of(worker->w, job.number) != (want == 0);
    }
    return NULL;
}

static void test_many_threads_write_and_read_what_they_wrote(void **state)
{
    struct worker workers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){.w = *state, .number = i};
        assert_int_equal(pthread_create(&workers[i].thread, NULL, worker_main, &workers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        assert_int_equal(workers[i].wrong, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        THREADED_TEST(test_a_batch_without_failures),
        THREADED_TEST(test_a_failure_that_changed_nothing_costs_nobody_a_second_run),
        THREADED_TEST(test_a_failure_after_changes_is_undone_alone),
        THREADED_TEST(test_many_failures_of_both_kinds),
        THREADED_TEST(test_a_batch_of_nothing_but_failures),
        THREADED_TEST(test_a_write_answers_with_its_own_status_and_results),
        THREADED_TEST(test_a_failing_write_alone_leaves_nothing_behind),
        THREADED_TEST(test_inline_runs_at_once),
        THREADED_TEST(test_a_full_queue_refuses_and_recovers),
        THREADED_TEST(test_closing_commits_what_waits),
        THREADED_TEST(test_a_callback_comes_after_the_commit),
        THREADED_TEST(test_many_threads_write_and_read_what_they_wrote),
        THREADED_TEST(test_a_node_that_went_takes_no_verdicts),
        THREADED_TEST(test_nor_does_one_that_was_not_made_after_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
