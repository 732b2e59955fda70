/* What a job's step is answered about its nodes: nothing that is not known, and nothing that was not decided. */
#include "tests/support/service_world.h"

#include "db/attempt.h"
#include "db/job_run.h"
#include "server/service/job/job.h"

#define NEVER_SEEN "gpu-9"

static struct world world;
static int64_t node_ids[2];
static char broken[128];

static void open_two(void)
{
    world_open(&world, DB_INLINE);
    world_cluster(&world, "ml", "gpu", 2, ORCHESTRATOR_SLURM);
    node_ids[0] = world_ready(&world, "ml", "gpu-1", "i-1", NULL);
    node_ids[1] = world_ready(&world, "ml", "gpu-2", "i-2", NULL);
}

static void add_broken(const char *node, const char *state, const char *why, void *arg)
{
    size_t len = strlen(broken);
    (void)why;
    (void)arg;
    snprintf(broken + len, sizeof(broken) - len, "%s=%s ", node, state);
}

static int64_t step = ATTEMPT_STEP_NONE;

static struct job_attempt attempt_of(int64_t number, enum attempt_state state)
{
    struct job_attempt attempt = {.job = "82", .attempt = number, .state = state, .nodes = "gpu-[1-2]," NEVER_SEEN};
    attempt.step = step;
    attempt.exit_code = state == ATTEMPT_STATE_RUNNING ? 0 : 1;
    return attempt;
}

static void answers(int64_t number, enum attempt_state state, enum resume_action wanted, const char *nodes)
{
    const struct job_attempt attempt = attempt_of(number, state);
    enum resume_action action;
    broken[0] = '\0';
    if (service_job_diagnose(&world.service, "ml", &attempt, add_broken, NULL, &action, &world.problem) != 0)
        fail_msg("%s", world.problem.detail);
    assert_string_equal(resume_action_text(action), resume_action_text(wanted));
    assert_string_equal(broken, nodes);
}

static void beat_all(int64_t seq)
{
    assert_int_equal(world_beat(&world, node_ids[0], "i-1", WORLD_BOOT, seq), 0);
    assert_int_equal(world_beat(&world, node_ids[1], "i-2", WORLD_BOOT, seq), 0);
}

static void test_none_only_when_all_were_heard(void **state)
{
    (void)state;
    open_two();
    beat_all(1);
    answers(0, ATTEMPT_STATE_RUNNING, RESUME_ACTION_NONE, "");
    clock_fake_advance(&world.clock, MS_PER_S);
    answers(0, ATTEMPT_STATE_FAILED, RESUME_ACTION_WAIT, "");
    clock_fake_advance(&world.clock, MS_PER_S);
    assert_int_equal(world_beat(&world, node_ids[0], "i-1", WORLD_BOOT, 2), 0);
    answers(0, ATTEMPT_STATE_FAILED, RESUME_ACTION_WAIT, "");
    assert_int_equal(world_beat(&world, node_ids[1], "i-2", WORLD_BOOT, 2), 0);
    answers(0, ATTEMPT_STATE_FAILED, RESUME_ACTION_NONE, "");
    world_close(&world);
}

/* A program often crashes some seconds before its kernel says why. */
static void test_none_only_after_a_while(void **state)
{
    (void)state;
    open_two();
    world.service.diagnosis_settle_ms = 10 * MS_PER_S;
    beat_all(1);
    answers(0, ATTEMPT_STATE_RUNNING, RESUME_ACTION_NONE, "");
    answers(0, ATTEMPT_STATE_FAILED, RESUME_ACTION_WAIT, "");
    clock_fake_advance(&world.clock, 3 * MS_PER_S);
    beat_all(2);
    answers(0, ATTEMPT_STATE_FAILED, RESUME_ACTION_WAIT, "");
    clock_fake_advance(&world.clock, 7 * MS_PER_S);
    answers(0, ATTEMPT_STATE_FAILED, RESUME_ACTION_NONE, "");
    answers(1, ATTEMPT_STATE_RUNNING, RESUME_ACTION_NONE, "");
    answers(1, ATTEMPT_STATE_FAILED, RESUME_ACTION_WAIT, "");
    world_node_set(&world, "ml", "gpu-2", NODE_STATE_HELD, HEALTH_UNHEALTHY);
    answers(1, ATTEMPT_STATE_FAILED, RESUME_ACTION_RETRYSTEP, "gpu-2=held ");
    world_close(&world);
}

static void test_a_node_out_of_service_is_broken_when_the_step_failed(void **state)
{
    (void)state;
    open_two();
    beat_all(1);
    world_node_set(&world, "ml", "gpu-2", NODE_STATE_HELD, HEALTH_UNHEALTHY);
    answers(0, ATTEMPT_STATE_RUNNING, RESUME_ACTION_NONE, "");
    answers(0, ATTEMPT_STATE_FAILED, RESUME_ACTION_RETRYSTEP, "gpu-2=held ");
    world_close(&world);
}

static void operate(enum operation_kind kind)
{
    struct operation operation;
    if (service_node_operate(&world.service, &world_operator, "ml", "gpu-2", kind, URGENCY_AFTER_JOBS, "", "",
                             &operation, &world.problem) < 0)
        fail_msg("%s", world.problem.detail);
}

static void test_a_repair_that_waits_for_jobs_leaves_a_step_alone(void **state)
{
    (void)state;
    open_two();
    beat_all(1);
    operate(OPERATION_KIND_REBOOT);
    answers(0, ATTEMPT_STATE_RUNNING, RESUME_ACTION_NONE, "");
    answers(0, ATTEMPT_STATE_FAILED, RESUME_ACTION_RETRYSTEP, "gpu-2=repairing ");
    world_close(&world);
}

static int ask_stop(struct db_tx *tx, void *arg)
{
    int64_t count = 0;
    const int64_t *since = arg;
    struct node node;
    int status = db_node_get_row(tx, node_ids[0], &node);
    if (status == 0)
        status = db_attempt_ask_stop(tx, node.cluster_id, "82", *since, *since, &count);
    assert_int_equal(count, 1);
    return status;
}

static void test_a_step_that_was_asked_makes_way(void **state)
{
    (void)state;
    int64_t now;
    open_two();
    beat_all(1);
    operate(OPERATION_KIND_REPLACE);
    answers(0, ATTEMPT_STATE_RUNNING, RESUME_ACTION_NONE, "");
    now = clock_wall_ms(&world.clock);
    world_write(&world, ask_stop, &now);
    answers(0, ATTEMPT_STATE_RUNNING, RESUME_ACTION_RETRYSTEP, "gpu-2=repairing ");
    world_operation_end(&world, "ml", "gpu-2", OPERATION_STATE_CANCELLED);
    world_node_set(&world, "ml", "gpu-2", NODE_STATE_READY, HEALTH_HEALTHY);
    answers(0, ATTEMPT_STATE_RUNNING, RESUME_ACTION_NONE, "");
    world_close(&world);
}

/* --- what is kept ---------------------------------------------------------------------------------------- */

struct kept {
    char text[512];
    int64_t cluster_id;
};

static int add_kept(const void *row, void *arg)
{
    const struct job_attempt *attempt = row;
    struct kept *kept = arg;
    size_t len = strlen(kept->text);
    snprintf(kept->text + len, sizeof(kept->text) - len, "%" PRId64 ".%" PRId64 " %s %" PRId64 "ms; ", attempt->restart,
             attempt->attempt, attempt_state_text(attempt->state),
             attempt->ended_at > 0 ? attempt->ended_at - attempt->started_at : -1);
    return 0;
}

static int list_kept(struct db_tx *tx, void *arg)
{
    struct kept *kept = arg;
    return db_attempt_list(tx, kept->cluster_id, "82", add_kept, kept);
}

static void keeps(const char *text)
{
    struct kept kept = {.cluster_id = world_node_get(&world, "ml", "gpu-1").cluster_id};
    world_write(&world, list_kept, &kept);
    assert_string_equal(kept.text, text);
}

static void test_attempts_are_kept(void **state)
{
    (void)state;
    step = 3;
    open_two();
    beat_all(1);
    world_node_set(&world, "ml", "gpu-2", NODE_STATE_FAILED, HEALTH_UNHEALTHY);
    answers(0, ATTEMPT_STATE_RUNNING, RESUME_ACTION_NONE, "");
    clock_fake_advance(&world.clock, 700);
    answers(0, ATTEMPT_STATE_FAILED, RESUME_ACTION_RETRYSTEP, "gpu-2=failed ");
    clock_fake_advance(&world.clock, 700);
    answers(0, ATTEMPT_STATE_FAILED, RESUME_ACTION_RETRYSTEP, "gpu-2=failed ");
    keeps("0.0 failed 700ms; ");
    answers(1, ATTEMPT_STATE_RUNNING, RESUME_ACTION_NONE, "");
    clock_fake_advance(&world.clock, 50);
    answers(1, ATTEMPT_STATE_ENDED, RESUME_ACTION_NONE, "");
    keeps("0.0 failed 700ms; 0.1 ended 50ms; ");
    answers(1, ATTEMPT_STATE_RUNNING, RESUME_ACTION_NONE, ""); /* a word that came late */
    keeps("0.0 failed 700ms; 0.1 ended 50ms; ");
    clock_fake_advance(&world.clock, 11 * MS_PER_MIN);
    answers(1, ATTEMPT_STATE_RUNNING, RESUME_ACTION_NONE, ""); /* Slurm gave the number to another job */
    keeps("0.1 running -1ms; ");
    step = 4; /* another step of the same job has its own */
    answers(0, ATTEMPT_STATE_RUNNING, RESUME_ACTION_NONE, "");
    keeps("0.1 running -1ms; 0.0 running -1ms; ");
    step = ATTEMPT_STEP_NONE;
    world_close(&world);
}

static int read_only(const void *row, void *arg)
{
    *(struct job_attempt *)arg = *(const struct job_attempt *)row;
    return 0;
}

static int read_kept(struct db_tx *tx, void *arg)
{
    struct job_attempt *attempt = arg;
    return db_attempt_list(tx, attempt->cluster_id, "82", read_only, attempt);
}

static struct job_attempt kept_one(void)
{
    struct job_attempt attempt = {.cluster_id = world_node_get(&world, "ml", "gpu-1").cluster_id};
    world_write(&world, read_kept, &attempt);
    return attempt;
}

/* It runs nothing, and says so: since when, and that its node is at fault stays as it was answered. */
static void test_a_job_that_waits_for_a_node(void **state)
{
    (void)state;
    open_two();
    beat_all(1);
    answers(0, ATTEMPT_STATE_RUNNING, RESUME_ACTION_NONE, "");
    clock_fake_advance(&world.clock, 5000);
    int64_t seen_ill_at = clock_wall_ms(&world.clock);
    world_node_set(&world, "ml", "gpu-2", NODE_STATE_FAILED, HEALTH_UNHEALTHY);
    clock_fake_advance(&world.clock, 300);
    answers(0, ATTEMPT_STATE_FAILED, RESUME_ACTION_RETRYSTEP, "gpu-2=failed ");
    int64_t failed_at = clock_wall_ms(&world.clock);
    clock_fake_advance(&world.clock, 1000);
    answers(0, ATTEMPT_STATE_WAITING, RESUME_ACTION_RETRYSTEP, "");
    clock_fake_advance(&world.clock, 1000);
    answers(0, ATTEMPT_STATE_WAITING, RESUME_ACTION_RETRYSTEP, "");
    struct job_attempt attempt = kept_one();
    assert_int_equal(attempt.state, ATTEMPT_STATE_WAITING);
    assert_int_equal(attempt.ended_at, failed_at);
    assert_int_equal(attempt.waits_since, failed_at + 1000);
    assert_int_equal(attempt.seen_at, failed_at + 2000);
    assert_int_equal(attempt.node_count, 3);
    assert_true(attempt.fault_at > 0 && attempt.fault_at <= seen_ill_at);
    assert_non_null(strstr(attempt.reason, "gpu-2: "));
    world_close(&world);
}

static void earlier_is(int64_t restart, int64_t of_step, int64_t runs, int64_t futile)
{
    struct job_attempt key = attempt_of(0, ATTEMPT_STATE_RUNNING), earlier;
    key.restart = restart;
    key.step = of_step;
    assert_int_equal(service_job_earlier(&world.service, "ml", &key, &earlier, &world.problem), 0);
    assert_int_equal(earlier.runs, runs);
    assert_int_equal(earlier.futile, futile);
}

static void tell_totals(int64_t restart, int64_t number, int64_t runs, int64_t futile)
{
    enum resume_action action;
    struct job_attempt attempt = attempt_of(number, ATTEMPT_STATE_ENDED);
    attempt.restart = restart;
    attempt.step = 0;
    attempt.runs = runs;
    attempt.futile = futile;
    assert_int_equal(service_job_diagnose(&world.service, "ml", &attempt, add_broken, NULL, &action, &world.problem),
                     0);
}

/* What was counted before a requeue is there after it: of the last attempt at that step before. */
static void test_limits_hold_over_a_requeue(void **state)
{
    (void)state;
    open_two();
    earlier_is(1, 0, 0, 0);
    tell_totals(0, 0, 1, 1);
    tell_totals(0, 1, 2, 2);
    earlier_is(0, 0, 0, 0); /* its own start is none before it */
    earlier_is(1, 0, 2, 2);
    tell_totals(1, 0, 3, 0);
    earlier_is(2, 0, 3, 0);
    earlier_is(1, 0, 2, 2);
    earlier_is(2, 1, 0, 0); /* another step */
    struct job_attempt key = attempt_of(0, ATTEMPT_STATE_RUNNING), found;
    assert_int_equal(service_job_earlier(&world.service, "nothing", &key, &found, &world.problem), STATUS_NOT_FOUND);
    world_close(&world);
}

/* --- what the scheduler knows better ---------------------------------------------------------------------- */

static void show(const char *state, const char *nodes, int64_t restarts)
{
    struct job_snapshot *snapshot = job_snapshot_new();
    snapshot->jobs = own_calloc(1, sizeof(*snapshot->jobs));
    snapshot->jobs[snapshot->count++] = (struct cluster_job){.id = "82",
                                                             .name = "train",
                                                             .user = "ann",
                                                             .account = "",
                                                             .partition = "dev",
                                                             .state = state_of_job(state),
                                                             .reason = "",
                                                             .nodes = nodes,
                                                             .tasks = 1,
                                                             .node_count = 2,
                                                             .restarts = restarts,
                                                             .started_at = WORLD_T0 - 1000,
                                                             .ends_at = WORLD_T0 + 60000};
    snapshot->metrics = own_strdup("");
    snapshot->at = clock_wall_ms(&world.clock);
    snapshot->stale_at = snapshot->at + MS_PER_DAY;
    assert_int_equal(service_job_follow(&world.service, NULL, snapshot), 0);
    service_scheduler_show(world.service.schedulers[0], snapshot, "");
}

static void denied(const char *why)
{
    const struct job_attempt attempt = attempt_of(0, ATTEMPT_STATE_RUNNING);
    enum resume_action action;
    assert_int_equal(service_job_diagnose(&world.service, "ml", &attempt, add_broken, NULL, &action, &world.problem),
                     STATUS_NOT_FOUND);
    assert_non_null(strstr(world.problem.detail, why));
}

static void test_what_is_told_must_not_be_untrue(void **state)
{
    (void)state;
    open_two();
    beat_all(1);
    world.service.schedulers[world.service.scheduler_count++] = service_scheduler_new("", "slurm");
    const struct service_scheduler_status up = {.state = SCHEDULER_STATE_UP};
    service_scheduler_set(world.service.schedulers[0], &up);
    show("CANCELLED", "gpu-[1-2]", 0);
    denied("is over: CANCELLED");
    show("RUNNING", "other-[1-4]", 0);
    denied("runs on none of these nodes");
    show("RUNNING", "other-[1-4]", 1); /* it was requeued since: it may have run elsewhere */
    answers(0, ATTEMPT_STATE_RUNNING, RESUME_ACTION_NONE, "");
    show("CANCELLED", "gpu-[1-2]", 0); /* what was begun may end */
    answers(0, ATTEMPT_STATE_ENDED, RESUME_ACTION_NONE, "");
    service_scheduler_free(world.service.schedulers[--world.service.scheduler_count]);
    world_close(&world);
}

static bool unheard; /* by the scheduler: gpu-2 */

static void show_node(void)
{
    struct job_snapshot *snapshot = job_snapshot_new();
    snapshot->nodes = own_calloc(1, sizeof(*snapshot->nodes));
    snapshot->nodes[snapshot->node_count++] = (struct job_node){
        .name = "gpu-2", .state = "ALLOCATED", .partitions = "", .features = "", .gres = "", .unheard = unheard};
    snapshot->metrics = own_strdup("");
    snapshot->at = clock_wall_ms(&world.clock);
    snapshot->stale_at = snapshot->at + MS_PER_DAY;
    service_scheduler_show(world.service.schedulers[0], snapshot, "");
}

static void ignore_silent(int64_t node_id, int64_t last_heartbeat_at, void *arg)
{
    (void)node_id;
    (void)last_heartbeat_at;
    (void)arg;
}

/* The policy reboots it after ten minutes; a job that has failed goes on without it. */
static void test_two_that_hear_nothing_are_believed(void **state)
{
    (void)state;
    open_two();
    beat_all(1);
    world.service.schedulers[world.service.scheduler_count++] = service_scheduler_new("", "slurm");
    const struct service_scheduler_status up = {.state = SCHEDULER_STATE_UP};
    service_scheduler_set(world.service.schedulers[0], &up);
    answers(0, ATTEMPT_STATE_RUNNING, RESUME_ACTION_NONE, "");
    clock_fake_advance(&world.clock, 90 * MS_PER_S);
    assert_int_equal(world_beat(&world, node_ids[0], "i-1", WORLD_BOOT, 2), 0);
    fleet_sweep(world.service.fleet, clock_wall_ms(&world.clock), MS_PER_MIN, ignore_silent, NULL);
    unheard = true;
    show_node();
    answers(0, ATTEMPT_STATE_RUNNING, RESUME_ACTION_NONE, "");
    unheard = false; /* its agent may have died alone */
    show_node();
    answers(0, ATTEMPT_STATE_FAILED, RESUME_ACTION_WAIT, "");
    unheard = true;
    show_node();
    answers(0, ATTEMPT_STATE_FAILED, RESUME_ACTION_RETRYSTEP, "gpu-2=ready ");
    service_scheduler_free(world.service.schedulers[--world.service.scheduler_count]);
    world_close(&world);
}

static int add_start(const void *row, void *arg)
{
    const struct job_run *run = row;
    struct kept *kept = arg;
    size_t len = strlen(kept->text);
    snprintf(kept->text + len, sizeof(kept->text) - len, "%" PRId64 " %s %s %" PRId64 "; ", run->restart, run->user,
             job_run_state_text(run), run->ended_at > 0 ? run->ended_at - WORLD_T0 : -1);
    return 0;
}

static int list_starts(struct db_tx *tx, void *arg)
{
    struct kept *kept = arg;
    return db_job_run_list(tx, kept->cluster_id, "82", add_start, kept);
}

static void starts(const char *text)
{
    struct kept kept = {.cluster_id = world_node_get(&world, "ml", "gpu-1").cluster_id};
    world_write(&world, list_starts, &kept);
    assert_string_equal(kept.text, text);
}

static void tell_restart(int64_t restart, enum attempt_state state)
{
    struct job_attempt attempt = attempt_of(0, state);
    enum resume_action action;
    attempt.restart = restart;
    assert_int_equal(service_job_diagnose(&world.service, "ml", &attempt, add_broken, NULL, &action, &world.problem),
                     0);
}

static void test_starts_of_the_job_are_kept(void **state)
{
    (void)state;
    open_two();
    beat_all(1);
    world.service.schedulers[world.service.scheduler_count++] = service_scheduler_new("", "slurm");
    const struct service_scheduler_status up = {.state = SCHEDULER_STATE_UP};
    service_scheduler_set(world.service.schedulers[0], &up);
    tell_restart(0, ATTEMPT_STATE_RUNNING);
    starts("0   -1; ");
    show("RUNNING", "gpu-[1-2]", 0);
    starts("0 ann RUNNING -1; ");
    clock_fake_advance(&world.clock, 500);
    tell_restart(0, ATTEMPT_STATE_FAILED);
    clock_fake_advance(&world.clock, 500);
    show("PENDING", "", 1);
    starts("0 ann REQUEUED 500; ");
    tell_restart(1, ATTEMPT_STATE_RUNNING);
    show("PENDING", "", 1); /* asked for before it began */
    starts("0 ann REQUEUED 500; 1  REQUEUED 1000; ");
    tell_restart(1, ATTEMPT_STATE_RUNNING);
    starts("0 ann REQUEUED 500; 1   -1; ");
    show("RUNNING", "gpu-[1-2]", 1);
    starts("0 ann REQUEUED 500; 1 ann RUNNING -1; ");
    show("COMPLETED", "gpu-[1-2]", 1);
    starts("0 ann REQUEUED 500; 1 ann COMPLETED 60000; ");
    service_scheduler_free(world.service.schedulers[--world.service.scheduler_count]);
    world_close(&world);
}

static void test_a_job_may_begin_anew_after_its_end(void **state)
{
    (void)state;
    open_two();
    beat_all(1);
    world.service.schedulers[world.service.scheduler_count++] = service_scheduler_new("", "slurm");
    const struct service_scheduler_status up = {.state = SCHEDULER_STATE_UP};
    service_scheduler_set(world.service.schedulers[0], &up);
    show("COMPLETED", "gpu-[1-2]", 0);
    denied("is over: COMPLETED");
    tell_restart(1, ATTEMPT_STATE_RUNNING); /* the snapshot does not have that yet */
    starts("1   -1; ");
    service_scheduler_free(world.service.schedulers[--world.service.scheduler_count]);
    world_close(&world);
}

/* A step counts from 0 again, and may fail before it was ever one: then nobody was heard since, either. */
static void test_the_next_step_of_a_job(void **state)
{
    (void)state;
    open_two();
    beat_all(1);
    answers(0, ATTEMPT_STATE_RUNNING, RESUME_ACTION_NONE, "");
    answers(0, ATTEMPT_STATE_ENDED, RESUME_ACTION_NONE, "");
    clock_fake_advance(&world.clock, 10 * MS_PER_S);
    beat_all(2);
    clock_fake_advance(&world.clock, MS_PER_S);
    answers(0, ATTEMPT_STATE_FAILED, RESUME_ACTION_WAIT, "");
    keeps("0.0 failed 0ms; ");
    clock_fake_advance(&world.clock, MS_PER_S);
    answers(1, ATTEMPT_STATE_RUNNING, RESUME_ACTION_NONE, "");
    answers(0, ATTEMPT_STATE_RUNNING, RESUME_ACTION_NONE, "");
    keeps("0.0 running -1ms; ");
    world_close(&world);
}

static void find_stored(const char *node, const char *state, const char *why, void *arg)
{
    struct kept kept = {.cluster_id = *(const int64_t *)arg};
    struct db_tx *tx = NULL;
    assert_int_equal(db_read_begin(world.service.db, &tx), 0);
    assert_int_equal(list_kept(tx, &kept), 0);
    db_read_end(world.service.db, tx);
    assert_string_equal(kept.text, "0.0 failed 0ms; ");
    add_broken(node, state, why, NULL);
}

/* A write that runs again would tell of a node twice. */
static void test_nodes_are_told_once_they_are_stored(void **state)
{
    (void)state;
    open_two();
    beat_all(1);
    world_node_set(&world, "ml", "gpu-2", NODE_STATE_FAILED, HEALTH_UNHEALTHY);
    int64_t cluster_id = world_node_get(&world, "ml", "gpu-1").cluster_id;
    const struct job_attempt attempt = attempt_of(0, ATTEMPT_STATE_FAILED);
    enum resume_action action;
    broken[0] = '\0';
    assert_int_equal(
        service_job_diagnose(&world.service, "ml", &attempt, find_stored, &cluster_id, &action, &world.problem), 0);
    assert_string_equal(broken, "gpu-2=failed ");
    world_close(&world);
}

static void refused(struct job_attempt attempt, const char *cluster, int status)
{
    enum resume_action action;
    assert_int_equal(service_job_diagnose(&world.service, cluster, &attempt, add_broken, NULL, &action, &world.problem),
                     status);
}

static void test_refused(void **state)
{
    (void)state;
    open_two();
    struct job_attempt attempt = attempt_of(0, ATTEMPT_STATE_FAILED);
    refused(attempt, "nothing", STATUS_NOT_FOUND);
    snprintf(attempt.nodes, sizeof(attempt.nodes), "gpu-[1-99999]");
    refused(attempt, "ml", STATUS_INVALID);
    snprintf(attempt.nodes, sizeof(attempt.nodes), "gpu-[1-");
    refused(attempt, "ml", STATUS_INVALID);
    keeps("");
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_none_only_when_all_were_heard),
        cmocka_unit_test(test_none_only_after_a_while),
        cmocka_unit_test(test_a_node_out_of_service_is_broken_when_the_step_failed),
        cmocka_unit_test(test_a_repair_that_waits_for_jobs_leaves_a_step_alone),
        cmocka_unit_test(test_a_step_that_was_asked_makes_way),
        cmocka_unit_test(test_attempts_are_kept),
        cmocka_unit_test(test_a_job_that_waits_for_a_node),
        cmocka_unit_test(test_limits_hold_over_a_requeue),
        cmocka_unit_test(test_what_is_told_must_not_be_untrue),
        cmocka_unit_test(test_two_that_hear_nothing_are_believed),
        cmocka_unit_test(test_starts_of_the_job_are_kept),
        cmocka_unit_test(test_a_job_may_begin_anew_after_its_end),
        cmocka_unit_test(test_the_next_step_of_a_job),
        cmocka_unit_test(test_nodes_are_told_once_they_are_stored),
        cmocka_unit_test(test_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
