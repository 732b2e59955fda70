/* Jobs for people: which are a cluster's, in which order, what hit their nodes while they ran, and when nothing is shown. */
#include "tests/support/service_world.h"

#include "db/job.h"
#include "db/verdict.h"
#include "server/service/job/job_start.h"

#define NOW WORLD_T0
#define STARTED (NOW - 60 * 60 * INT64_C(1000))

static struct cluster_job job(const char *id, const char *state, const char *nodes)
{
    return (struct cluster_job){.id = id,
                                .name = "train",
                                .user = "ann",
                                .account = "",
                                .partition = "dev,other",
                                .state = state_of_job(state),
                                .reason = "",
                                .nodes = nodes,
                                .tasks = 1,
                                .started_at = nodes[0] == '\0' ? 0 : STARTED};
}

/* Two nodes are the cluster's, of partition dev; what is another cluster's is there, too. */
static struct job_snapshot *snapshot_new(int64_t stale_at)
{
    const struct cluster_job jobs[] = {
        job("9", "RUNNING", "gpu-[1-2]"),  job("10_2", "RUNNING", "gpu-2,far-1"), job("11", "PENDING", ""),
        job("12", "RUNNING", "far-[1-9]"), job("10_11", "FAILED", "gpu-1"),       job("13", "RUNNING", "gpu-["),
    };
    static const struct job_node nodes[] = {{.name = "gpu-1", .state = "IDLE", .partitions = "dev"},
                                            {.name = "gpu-2", .state = "IDLE", .partitions = "dev,prod"},
                                            {.name = "far-1", .state = "IDLE", .partitions = "far"}};
    struct job_snapshot *snapshot = job_snapshot_new();
    snapshot->jobs = own_calloc(ARRAY_LEN(jobs) + 1, sizeof(*snapshot->jobs));
    memcpy(snapshot->jobs, jobs, sizeof(jobs));
    snapshot->count = ARRAY_LEN(jobs);
    snapshot->jobs[snapshot->count] = job("14", "PENDING", "");
    snapshot->jobs[snapshot->count++].partition = "far";
    snapshot->nodes = own_calloc(ARRAY_LEN(nodes), sizeof(*snapshot->nodes));
    memcpy(snapshot->nodes, nodes, sizeof(nodes));
    snapshot->node_count = ARRAY_LEN(nodes);
    snapshot->metrics = own_strdup("");
    snapshot->at = NOW;
    snapshot->stale_at = stale_at;
    return snapshot;
}

static void open_slurm(struct world *world)
{
    world_open(world, DB_INLINE);
    world_cluster(world, "ml", "gpu", 2, ORCHESTRATOR_SLURM);
    world_cluster(world, "bare", "cpu", 1, ORCHESTRATOR_NONE);
    world->service.schedulers[world->service.scheduler_count++] = service_scheduler_new("", "slurm");
    const struct service_scheduler_status up = {.state = SCHEDULER_STATE_UP};
    service_scheduler_set(world->service.schedulers[0], &up);
    service_scheduler_show(world->service.schedulers[0], snapshot_new(NOW), "");
}

static void close_slurm(struct world *world)
{
    service_scheduler_free(world->service.schedulers[--world->service.scheduler_count]);
    world_close(world);
}

static int add_id(const void *row, void *arg)
{
    text_printf(arg, "%s ", ((const struct service_job *)row)->job->id);
    return 0;
}

static void lists(struct world *world, const char *cluster, const char *before, int limit, const char *ids)
{
    AUTO(text) struct text text = {0};
    assert_int_equal(service_job_list(&world->service, cluster, before, limit, add_id, &text, &world->problem), 0);
    assert_string_equal(text_get(&text), ids);
}

static void test_the_clusters_own_newest_first(void **state)
{
    (void)state;
    struct world world;
    open_slurm(&world);
    lists(&world, "ml", "", 100, "11 10_11 10_2 9 ");
    lists(&world, "ml", "", 2, "11 10_11 ");
    lists(&world, "ml", "10_11", 2, "10_2 9 ");
    lists(&world, "ml", "9", 2, "");
    lists(&world, "bare", "", 100, "");
    AUTO(text) struct text none = {0};
    assert_int_equal(service_job_list(&world.service, "nothing", "", 1, add_id, &none, &world.problem),
                     STATUS_NOT_FOUND);
    close_slurm(&world);
}

static void is_unknown(struct world *world, const char *why)
{
    AUTO(text) struct text none = {0};
    assert_int_equal(service_job_list(&world->service, "ml", "", 1, add_id, &none, &world->problem),
                     STATUS_UNAVAILABLE);
    assert_non_null(strstr(world->problem.detail, why));
    lists(world, "bare", "", 100, "");
}

static void test_nothing_old_is_shown(void **state)
{
    (void)state;
    struct world world;
    open_slurm(&world);
    service_scheduler_show(world.service.schedulers[0], snapshot_new(NOW - 1), "");
    is_unknown(&world, "not answered lately");
    service_scheduler_show(world.service.schedulers[0], NULL, "squeue failed");
    is_unknown(&world, "squeue failed");
    service_scheduler_show(world.service.schedulers[0], NULL, "");
    is_unknown(&world, "not asked for its jobs yet");
    service_scheduler_show(world.service.schedulers[0], snapshot_new(NOW), "");
    const struct service_scheduler_status down = {.state = SCHEDULER_STATE_DOWN, .error = "connect failure"};
    service_scheduler_set(world.service.schedulers[0], &down);
    is_unknown(&world, "connect failure");
    close_slurm(&world);
}

/* --- what hit its nodes ---------------------------------------------------------------------------- */

static int put_write(struct db_tx *tx, void *arg)
{
    enum db_verdict_change change;
    struct verdict *verdict = arg;
    int status = db_verdict_put(tx, verdict, &change);
    return status == 0 && verdict->node_fault ? db_verdict_set_fault(tx, verdict->id) : status;
}

static void put_verdict(struct world *world, const char *node, const char *code, bool fault, int64_t at)
{
    struct verdict verdict = {.node_id = world_node_get(world, "ml", node).id,
                              .severity = SEVERITY_CRITICAL,
                              .state = VERDICT_STATE_OPEN,
                              .first_at = at,
                              .last_at = at,
                              .received_at = at,
                              .count = 1,
                              .node_fault = fault};
    snprintf(verdict.key, sizeof(verdict.key), "%s-%s", node, code);
    snprintf(verdict.code, sizeof(verdict.code), "%s", code);
    snprintf(verdict.source, sizeof(verdict.source), "kmsg");
    snprintf(verdict.boot_id, sizeof(verdict.boot_id), WORLD_BOOT);
    world_write(world, put_write, &verdict);
}

static int add_job(const struct service_job *seen, void *arg)
{
    text_printf(arg, "job %s:", seen->job->id);
    if (seen->goodput != NULL)
        text_printf(arg, " %" PRId64 "/%" PRId64 " lost %" PRId64, seen->goodput->productive_ms / MS_PER_S,
                    seen->goodput->allocated_ms / MS_PER_S, seen->goodput->lost_ms / MS_PER_S);
    return 0;
}

static int add_attempt(const struct job_attempt *attempt, const struct attempt_cost *cost, void *arg)
{
    text_printf(arg, " [%" PRId64 ".%" PRId64 " %s %" PRId64 "+%" PRId64 "]", attempt->restart, attempt->attempt,
                attempt_state_text(cost->state), cost->productive_ms / MS_PER_S, cost->lost_ms / MS_PER_S);
    return 0;
}

static int add_run(const struct job_run *run, const struct run_cost *cost, void *arg)
{
    text_printf(arg, " {%" PRId64 " %s %s %" PRId64 "+%" PRId64 ": %s}", run->restart, run->nodes,
                job_run_state_text(run), cost->lost_max_ms / MS_PER_S, cost->waited_ms / MS_PER_S, run->why);
    return 0;
}

static int add_fault(const char *node, const struct verdict *verdict, void *arg)
{
    text_printf(arg, " %s %s", node, verdict->code);
    return 0;
}

static int add_repair(const char *node, const struct operation *operation, void *arg)
{
    text_printf(arg, " %s %s", node, operation_kind_text(operation->kind));
    return 0;
}

static int describe(struct world *world, const char *id, struct text *text)
{
    const struct service_job_readers readers = {
        .job = add_job, .fault = add_fault, .repair = add_repair, .attempt = add_attempt, .arg = text};
    return service_job_get(&world->service, "ml", id, &readers, &world->problem);
}

static void test_what_hit_its_nodes(void **state)
{
    (void)state;
    struct world world;
    open_slurm(&world);
    put_verdict(&world, "gpu-1", "xid.79", true, STARTED + 1);
    put_verdict(&world, "gpu-1", "xid.48", true, STARTED - 1);  /* before it */
    put_verdict(&world, "gpu-2", "xid.13", false, STARTED + 1); /* a program's */
    put_verdict(&world, "gpu-2", "xid.95", true, NOW);
    world_ready(&world, "ml", "gpu-2", "i-2", NULL);
    struct operation operation;
    assert_int_equal(service_node_operate(&world.service, &world_operator, "ml", "gpu-2", OPERATION_KIND_REBOOT,
                                          URGENCY_NOW, "", "", &operation, &world.problem),
                     0);
    AUTO(text) struct text text = {0}, other = {0}, waits = {0};
    assert_int_equal(describe(&world, "9", &text), 0);
    assert_string_equal(text_get(&text), "job 9: gpu-1 xid.79 gpu-2 xid.95 gpu-2 reboot");
    assert_int_equal(describe(&world, "10_2", &other), 0); /* the other of its nodes is not this cluster's */
    assert_string_equal(text_get(&other), "job 10_2: gpu-2 xid.95 gpu-2 reboot");
    assert_int_equal(describe(&world, "11", &waits), 0);
    assert_string_equal(text_get(&waits), "job 11:");
    assert_int_equal(describe(&world, "12", &waits), STATUS_NOT_FOUND);
    assert_int_equal(describe(&world, "", &waits), STATUS_NOT_FOUND);
    close_slurm(&world);
}

/* --- a job that told of attempts ------------------------------------------------------------------- */

static void ignore_broken(const char *node, const char *state, const char *why, void *arg)
{
    (void)node, (void)state, (void)why, (void)arg;
}

static void tell(struct world *world, const char *job, struct job_attempt attempt)
{
    enum resume_action action;
    snprintf(attempt.job, sizeof(attempt.job), "%s", job);
    assert_int_equal(
        service_job_diagnose(&world->service, "ml", &attempt, ignore_broken, NULL, &action, &world->problem), 0);
}

static void show_without_jobs(struct world *world)
{
    struct job_snapshot *snapshot = snapshot_new(clock_wall_ms(&world->clock) + MS_PER_DAY);
    snapshot->count = 0;
    snapshot->at = clock_wall_ms(&world->clock);
    assert_int_equal(service_job_follow(&world->service, NULL, snapshot), 0);
    service_scheduler_show(world->service.schedulers[0], snapshot, "");
}

static void goodput_is(struct world *world, int64_t jobs, int64_t productive_s, int64_t allocated_s, int64_t lost_s)
{
    struct job_goodput goodput;
    int64_t counted;
    assert_int_equal(service_job_goodput(&world->service, "ml", &goodput, &counted, &world->problem), 0);
    assert_int_equal(counted, jobs);
    assert_int_equal(goodput.productive_ms / MS_PER_S, productive_s);
    assert_int_equal(goodput.allocated_ms / MS_PER_S, allocated_s);
    assert_int_equal(goodput.lost_ms / MS_PER_S, lost_s);
}

/* gpu-2 was the job's, and was dropped; Slurm has forgotten all of it. */
static void test_what_slurm_forgot_is_remembered(void **state)
{
    (void)state;
    struct world world;
    open_slurm(&world);
    tell(&world, "20", (struct job_attempt){.state = ATTEMPT_STATE_RUNNING, .nodes = "gpu-[1-2]"});
    clock_fake_advance(&world.clock, 100 * MS_PER_S);
    put_verdict(&world, "gpu-2", "xid.95", true, NOW + 100 * MS_PER_S);
    struct job_attempt failed = {.state = ATTEMPT_STATE_FAILED, .nodes = "gpu-[1-2]", .exit_code = 1};
    failed.progress_at = NOW + 90 * MS_PER_S;
    tell(&world, "20", failed);
    failed.state = ATTEMPT_STATE_WAITING;
    tell(&world, "20", failed);
    clock_fake_advance(&world.clock, 30 * MS_PER_S);
    tell(&world, "20", (struct job_attempt){.attempt = 1, .state = ATTEMPT_STATE_RUNNING, .nodes = "gpu-1,far-1"});
    clock_fake_advance(&world.clock, 70 * MS_PER_S);
    goodput_is(&world, 1, 320, 400, 80);
    tell(&world, "20", (struct job_attempt){.attempt = 1, .state = ATTEMPT_STATE_ENDED, .nodes = "gpu-1,far-1"});
    clock_fake_advance(&world.clock, MS_PER_S);
    put_verdict(&world, "gpu-2", "xid.48", true, NOW + 201 * MS_PER_S); /* after it was dropped */
    show_without_jobs(&world);
    AUTO(text) struct text text = {0};
    assert_int_equal(describe(&world, "20", &text), 0);
    goodput_is(&world, 0, 0, 0, 0); /* it runs no more */
    assert_string_equal(text_get(&text), "job 20: 320/400 lost 80 [0.0 failed 90+40] [0.1 ended 70+0] gpu-2 xid.95");
    lists(&world, "ml", "", 100, "20 ");
    lists(&world, "ml", "20", 100, "");
    close_slurm(&world);
}

/* --- a job that tells of nothing ------------------------------------------------------------------- */

/* The job alone, as Slurm shows it so many seconds after NOW; gpu-2 as it is said to be. */
static struct job_snapshot *show_job(struct world *world, struct job_snapshot *before, int64_t at_s,
                                     struct cluster_job job, const char *gpu_2)
{
    struct job_snapshot *snapshot = snapshot_new(NOW + MS_PER_DAY);
    snapshot->count = 1;
    snapshot->jobs[0] = job;
    snapshot->nodes[1].state = gpu_2;
    snapshot->nodes[1].down = text_starts_with(gpu_2, "DOWN");
    snapshot->nodes[0].state = snapshot->nodes[2].state = "IDLE+POWERED_DOWN";
    snapshot->at = NOW + at_s * MS_PER_S;
    assert_int_equal(service_job_follow(&world->service, before, snapshot), 0);
    job_snapshot_free(before);
    service_scheduler_show(world->service.schedulers[0], job_snapshot_use(snapshot), "");
    return snapshot;
}

static struct cluster_job start(int64_t restarts, const char *state, const char *nodes, int64_t at_s)
{
    struct cluster_job shown = job("30", state, nodes);
    shown.restarts = restarts;
    shown.node_count = 1;
    shown.started_at = nodes[0] == '\0' ? 0 : NOW + at_s * MS_PER_S;
    shown.ends_at = NOW + 1000 * MS_PER_S;
    return shown;
}

static void tells_starts(struct world *world, const char *text)
{
    AUTO(text) struct text got = {0};
    const struct service_job_readers readers = {
        .job = add_job, .fault = add_fault, .repair = add_repair, .run = add_run, .attempt = add_attempt, .arg = &got};
    assert_int_equal(service_job_get(&world->service, "ml", "30", &readers, &world->problem), 0);
    assert_string_equal(text_get(&got), text);
}

static void test_slurm_requeued_it_for_a_node(void **state)
{
    (void)state;
    struct world world;
    open_slurm(&world);
    struct job_snapshot *last = show_job(&world, NULL, 0, start(0, "RUNNING", "gpu-2", 0), "ALLOCATED");
    tells_starts(&world, "job 30:"); /* nothing happened: nothing is kept */
    last = show_job(&world, last, 100, start(1, "PENDING", "", 0), "DOWN*");
    clock_fake_advance(&world.clock, 120 * MS_PER_S);
    tells_starts(&world,
                 "job 30: 0/100 lost 20 {0 gpu-2 REQUEUED 100+20: the scheduler requeued it: node failure of gpu-2}");
    last = show_job(&world, last, 130, start(1, "RUNNING", "gpu-1", 130), "DOWN*");
    last = show_job(&world, last, 140, start(1, "RUNNING", "gpu-1", 130), "DOWN*");
    clock_fake_advance(&world.clock, 80 * MS_PER_S);
    tells_starts(&world,
                 "job 30: 70/170 lost 30 {0 gpu-2 REQUEUED 100+30: the scheduler requeued it: node failure of gpu-2} "
                 "{1 gpu-1 RUNNING 0+0: }");
    last = show_job(&world, last, 1000, start(1, "NODE_FAIL", "gpu-1", 130), "IDLE");
    tells_starts(&world,
                 "job 30: 0/970 lost 30 {0 gpu-2 REQUEUED 100+30: the scheduler requeued it: node failure of gpu-2} "
                 "{1 gpu-1 NODE_FAIL 870+0: the scheduler ended it: node failure}");
    job_snapshot_free(last);
    close_slurm(&world);
}

struct eviction {
    const struct job_snapshot *snapshot;
    int64_t cluster_id, at;
};

static int evict(struct db_tx *tx, void *arg)
{
    const struct eviction *e = arg;
    return service_job_evicted(tx, e->snapshot, e->cluster_id, "30", e->at, "because of the reboot of gpu-2");
}

static void evicted(struct world *world, const struct job_snapshot *snapshot, int64_t at_s)
{
    struct eviction eviction = {snapshot, world_node_get(world, "ml", "gpu-1").cluster_id, NOW + at_s * MS_PER_S};
    world_write(world, evict, &eviction);
}

static void test_we_requeued_it(void **state)
{
    (void)state;
    struct world world;
    open_slurm(&world);
    struct job_snapshot *last = show_job(&world, NULL, 0, start(0, "RUNNING", "gpu-2", 0), "ALLOCATED");
    evicted(&world, last, 50);
    last = show_job(&world, last, 60, start(1, "PENDING", "", 0), "DOWN");
    clock_fake_advance(&world.clock, 80 * MS_PER_S);
    tells_starts(&world,
                 "job 30: 0/50 lost 30 {0 gpu-2 REQUEUED 50+30: requeued by Holdfast because of the reboot of gpu-2}");
    last = show_job(&world, last, 80, start(1, "RUNNING", "gpu-2", 80), "IDLE");
    evicted(&world, last, 90);
    last = show_job(&world, last, 100, start(1, "CANCELLED", "gpu-2", 80), "IDLE");
    tells_starts(&world,
                 "job 30: 0/970 lost 30 {0 gpu-2 REQUEUED 50+30: requeued by Holdfast because of the reboot of gpu-2} "
                 "{1 gpu-2 CANCELLED 920+0: ended by Holdfast because of the reboot of gpu-2}");
    job_snapshot_free(last);
    close_slurm(&world);
}

static int add_signal(const struct job_signalled *signalled, void *arg)
{
    text_printf(arg, " %s for %s at %" PRId64, job_asked_text(signalled->asked), signalled->node,
                (signalled->asked_at - NOW) / MS_PER_S);
    return 0;
}

struct asking {
    struct job_snapshot *snapshot;
    struct operation operation;
};

static int ask(struct db_tx *tx, void *arg)
{
    const struct asking *asking = arg;
    const struct operation_job job = {.job = "30", .user = "ann", .asked_at = NOW + 40 * MS_PER_S};
    int status = db_operation_job_ask(tx, asking->operation.id, &job);
    if (status == 0)
        status = db_operation_job_answer(tx, asking->operation.id, "30", JOB_ASKED_SENT);
    return status != 0 ? status : service_job_signalled(tx, asking->snapshot, asking->operation.cluster_id, "30");
}

static void test_it_was_asked_to_checkpoint(void **state)
{
    (void)state;
    struct world world;
    open_slurm(&world);
    world_ready(&world, "ml", "gpu-2", "i-2", NULL);
    struct asking asking = {.snapshot = show_job(&world, NULL, 0, start(0, "RUNNING", "gpu-2", 0), "ALLOCATED")};
    assert_int_equal(service_node_operate(&world.service, &world_operator, "ml", "gpu-2", OPERATION_KIND_REBOOT,
                                          URGENCY_NOW, "", "", &asking.operation, &world.problem),
                     0);
    world_write(&world, ask, &asking);
    evicted(&world, asking.snapshot, 50);
    struct job_snapshot *last = show_job(&world, asking.snapshot, 60, start(1, "RUNNING", "gpu-1", 60), "DOWN");
    clock_fake_advance(&world.clock, 60 * MS_PER_S);
    AUTO(text) struct text got = {0};
    const struct service_job_readers readers = {.job = add_job,
                                                .fault = add_fault,
                                                .repair = add_repair,
                                                .run = add_run,
                                                .signal = add_signal,
                                                .attempt = add_attempt,
                                                .arg = &got};
    assert_int_equal(service_job_get(&world.service, "ml", "30", &readers, &world.problem), 0);
    assert_string_equal(text_get(&got),
                        "job 30: 40/50 lost 10 {0 gpu-2 REQUEUED 10+10: requeued by Holdfast because of the "
                        "reboot of gpu-2} {1 gpu-1 RUNNING 0+0: } sent for gpu-2 at 40 gpu-2 reboot");
    job_snapshot_free(last);
    close_slurm(&world);
}

/* The snapshot that shows it requeued came before the word that we did it. */
static void test_the_snapshot_was_faster(void **state)
{
    (void)state;
    struct world world;
    open_slurm(&world);
    struct job_snapshot *last = show_job(&world, NULL, 0, start(0, "RUNNING", "gpu-2", 0), "ALLOCATED");
    last = show_job(&world, last, 60, start(1, "PENDING", "", 0), "ALLOCATED");
    tells_starts(&world,
                 "job 30: 0/60 lost 0 {0 gpu-2 REQUEUED 60+0: requeued in the scheduler, by whom is not known}");
    evicted(&world, last, 60);
    tells_starts(&world,
                 "job 30: 0/60 lost 0 {0 gpu-2 REQUEUED 60+0: requeued by Holdfast because of the reboot of gpu-2}");
    job_snapshot_free(last);
    close_slurm(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_clusters_own_newest_first),
        cmocka_unit_test(test_nothing_old_is_shown),
        cmocka_unit_test(test_what_hit_its_nodes),
        cmocka_unit_test(test_what_slurm_forgot_is_remembered),
        cmocka_unit_test(test_slurm_requeued_it_for_a_node),
        cmocka_unit_test(test_we_requeued_it),
        cmocka_unit_test(test_it_was_asked_to_checkpoint),
        cmocka_unit_test(test_the_snapshot_was_faster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
