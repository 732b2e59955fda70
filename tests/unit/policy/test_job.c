/*
 * A training job under the policy: what follows each fault, told in a small world that does what the policy asks for. Random worlds are held
 * to laws; between any two steps hpd may be killed, so the record goes through its JSON each time.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "policy/job/job.h"
#include "server/scheduler/kubernetes/job_record.h"

#include <stdio.h>
#include <string.h>

#define S INT64_C(1000)
#define NODES 8
#define PODS 8

struct world {
    struct job_spec spec;
    struct job_record *record;
    struct job_plan *plan;
    struct job_pod pods[PODS];
    enum job_node_state nodes[NODES];
    int64_t now;
    int ends_in; /* steps until the workers end well; 0: never */
};

static enum job_node_state node_state(const char *name, const void *arg, const char **ret_why)
{
    const struct world *w = arg;
    int number = name[1] - '0';
    *ret_why = "Xid 79";
    return number >= 0 && number < NODES ? w->nodes[number] : JOB_NODE_GONE;
}

static struct world *world_new(int replicas, int spares)
{
    struct world *w = own_calloc(1, sizeof(*w));
    w->spec = (struct job_spec){.set_count = 1,
                                .retries_max = JOB_NO_LIMIT,
                                .restarts_before_full = JOB_NO_LIMIT,
                                .full_restarts_max = JOB_NO_LIMIT,
                                .ttl_ms = JOB_NO_LIMIT,
                                .eval_ms = 3600 * S};
    w->spec.sets[0] = (struct job_set){.name = "pods", .replicas = replicas, .spares = spares};
    w->record = job_record_new(&w->spec);
    w->plan = job_plan_new(&w->spec);
    w->now = 1000 * S;
    for (int i = 0; i < PODS; i++)
        w->pods[i].progress = -1;
    return w;
}

static void world_free(struct world *w)
{
    job_record_free(w->record);
    job_plan_free(w->plan);
    free(w);
}
AUTO_DEFINE(struct world *, world, world_free)

/* --- the world does what it is asked for ------------------------------------------------------------- */

static bool is_free(const struct world *w, int node)
{
    char name[3] = {'n', (char)('0' + node), '\0'};
    for (int i = 0; i < job_pod_count(&w->spec); i++)
        if (w->pods[i].exists && strcmp(w->pods[i].node, name) == 0)
            return false;
    return w->nodes[node] == JOB_NODE_WELL && !job_is_excluded(w->record, name);
}

static void schedule(struct world *w)
{
    for (int i = 0; i < job_pod_count(&w->spec); i++) {
        struct job_pod *pod = &w->pods[i];
        if (!pod->exists || pod->finished || pod->deleting)
            continue;
        for (int node = 0; node < NODES && pod->node[0] == '\0'; node++)
            if (is_free(w, node))
                snprintf(pod->node, sizeof(pod->node), "n%d", node);
        if (pod->node[0] != '\0' && !pod->running) {
            pod->running = pod->agent_heard = true;
            pod->agent = JOB_AGENT_READY;
        }
    }
}

static void do_act(struct world *w, int i)
{
    struct job_pod *pod = &w->pods[i];
    switch (w->plan->acts[i]) {
    case JOB_ACT_NONE:
        break;
    case JOB_ACT_CREATE:
        assert_false(pod->exists);
        *pod = (struct job_pod){.exists = true, .incarnation = w->record->incarnations[i], .progress = -1};
        break;
    case JOB_ACT_DELETE:
        assert_true(pod->exists);
        *pod = (struct job_pod){.progress = -1};
        break;
    case JOB_ACT_START:
        assert_int_equal(pod->agent, JOB_AGENT_READY);
        assert_true(job_rank_of(w->record, i) >= 0);
        assert_false(job_is_excluded(w->record, pod->node));
        pod->agent = JOB_AGENT_RUNNING;
        break;
    case JOB_ACT_STOP:
        assert_true(pod->agent == JOB_AGENT_RUNNING || pod->agent == JOB_AGENT_COMPLETED ||
                    pod->agent == JOB_AGENT_FAULTED);
        pod->agent = JOB_AGENT_READY;
        pod->agent_reason[0] = '\0';
        break;
    case JOB_ACT_SHUTDOWN:
        pod->succeeded = pod->agent == JOB_AGENT_COMPLETED;
        pod->agent = JOB_AGENT_UNKNOWN;
        pod->finished = true;
        break;
    }
}

/* As stored and read again by another hpd. */
static void restart_hpd(struct world *w)
{
    auto_json json_t *json = kube_job_record_json(w->record);
    job_record_free(w->record);
    w->record = kube_job_record_read(json, &w->spec);
}

static void step(struct world *w)
{
    const struct job_seen seen = {.now = w->now, .pods = w->pods, .node = node_state, .arg = w};
    auto_json json_t *before = kube_job_record_json(w->record);
    job_plan_free(w->plan);
    w->plan = job_plan_new(&w->spec);
    job_next(&w->spec, &seen, w->record, w->plan);
    auto_json json_t *after = kube_job_record_json(w->record);
    if (!w->plan->changed && !json_equal(before, after))
        fail_msg("a change that is not stored");
    for (int i = 0; i < job_pod_count(&w->spec); i++)
        do_act(w, i);
    schedule(w);
    restart_hpd(w);
    w->now += S;
}

static void steps(struct world *w, int count)
{
    while (count-- > 0)
        step(w);
}

/* Until it stands so, within 20 steps. */
static void reach(struct world *w, enum job_state state)
{
    for (int i = 0; i < 20 && w->record->state != state; i++)
        step(w);
    assert_string_equal(job_state_text(w->record->state), job_state_text(state));
}

static void fail_rank(struct world *w, int rank, const char *reason)
{
    struct job_pod *pod = &w->pods[w->record->ranks[rank]];
    pod->agent = JOB_AGENT_FAULTED;
    snprintf(pod->agent_reason, sizeof(pod->agent_reason), "%s", reason);
}

static void make_progress(struct world *w, int64_t progress)
{
    for (int i = 0; i < job_pod_count(&w->spec); i++)
        w->pods[i].progress = progress;
}

static bool noted(const struct world *w, const char *reason)
{
    for (size_t i = 0; i < w->plan->note_count; i++)
        if (strcmp(w->plan->notes[i].reason, reason) == 0)
            return true;
    return false;
}

/* The next fault of this rank is answered on this level. */
static void expect_level(struct world *w, int rank, enum job_level level)
{
    fail_rank(w, rank, "WorkerCrash");
    step(w);
    assert_int_equal(w->record->state, JOB_GATHERING);
    assert_string_equal(job_level_text(w->record->fault.level), job_level_text(level));
    assert_int_equal(w->record->excluded_count, 0);
    reach(w, JOB_RUNNING);
}

/* --- stories ------------------------------------------------------------------------------------------ */

static void test_runs_and_ends(void **state)
{
    (void)state;
    AUTO(world) struct world *w = world_new(2, 0);
    reach(w, JOB_RUNNING);
    assert_int_equal(w->record->attempt, 1);
    assert_true(noted(w, "Running"));
    w->pods[0].agent = JOB_AGENT_COMPLETED;
    steps(w, 3);
    assert_int_equal(w->record->state, JOB_RUNNING);
    w->pods[1].agent = JOB_AGENT_COMPLETED;
    reach(w, JOB_COMPLETED);
    step(w);
    assert_false(w->pods[0].exists || w->pods[1].exists);
    assert_int_equal(w->record->restarts, 0);
}

static void test_levels_without_progress(void **state)
{
    (void)state;
    AUTO(world) struct world *w = world_new(3, 0);
    reach(w, JOB_RUNNING);
    expect_level(w, 1, JOB_LEVEL_PROCESS);
    assert_int_equal(w->pods[1].incarnation, 0);
    expect_level(w, 1, JOB_LEVEL_POD);
    assert_int_equal(w->pods[1].incarnation, 1);
    assert_int_equal(w->pods[0].incarnation, 0);
    expect_level(w, 1, JOB_LEVEL_JOB);
    assert_int_equal(w->pods[0].incarnation, 1);
    fail_rank(w, 1, "WorkerCrash");
    reach(w, JOB_FAILED);
    assert_string_equal(w->record->reason, "NoProgress");
    assert_int_equal(w->record->restarts, 3);
}

static void test_progress_begins_anew(void **state)
{
    (void)state;
    AUTO(world) struct world *w = world_new(2, 0);
    reach(w, JOB_RUNNING);
    for (int i = 1; i <= 10; i++) {
        make_progress(w, i);
        expect_level(w, i % 2, JOB_LEVEL_PROCESS);
    }
    assert_int_equal(w->record->restarts, 10);
}

static void test_long_runs_are_progress_where_nothing_is_told(void **state)
{
    (void)state;
    AUTO(world) struct world *w = world_new(2, 0);
    reach(w, JOB_RUNNING);
    for (int i = 0; i < 6; i++) {
        w->now += 601 * S;
        expect_level(w, 0, JOB_LEVEL_PROCESS);
    }
}

static void test_limits(void **state)
{
    static const struct {
        int64_t retries, before_full, full;
        int faults; /* that it survives */
        const char *reason;
    } cases[] = {
        {0, JOB_NO_LIMIT, JOB_NO_LIMIT, 0, "RetryLimit"},
        {4, JOB_NO_LIMIT, JOB_NO_LIMIT, 4, "RetryLimit"},
        {10, 3, 1, 7, "RestartLimit"}, /* three, a full one, three more */
        {JOB_NO_LIMIT, 0, 2, 2, "RestartLimit"},
        {2, 3, 1, 2, "RetryLimit"},
    };
    (void)state;
    for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
        AUTO(world) struct world *w = world_new(2, 0);
        w->spec.retries_max = cases[c].retries;
        w->spec.restarts_before_full = cases[c].before_full;
        w->spec.full_restarts_max = cases[c].full;
        reach(w, JOB_RUNNING);
        for (int i = 0; i < cases[c].faults; i++) {
            make_progress(w, i + 1);
            fail_rank(w, i % 2, "LogHang_R");
            step(w);
            reach(w, JOB_RUNNING);
        }
        make_progress(w, 100);
        fail_rank(w, 0, "LogHang_R");
        reach(w, JOB_FAILED);
        assert_string_equal(w->record->reason, cases[c].reason);
    }
}

static void test_window_ends(void **state)
{
    (void)state;
    AUTO(world) struct world *w = world_new(1, 0);
    w->spec.restarts_before_full = 1;
    w->spec.full_restarts_max = 0;
    reach(w, JOB_RUNNING);
    for (int i = 0; i < 5; i++) { /* one in each hour is within the limit for ever */
        make_progress(w, i + 1);
        expect_level(w, 0, JOB_LEVEL_PROCESS);
        w->now += 3601 * S;
    }
    assert_int_equal(w->record->window, 4);
}

static void test_node_fault(void **state)
{
    (void)state;
    AUTO(world) struct world *w = world_new(2, 0);
    w->spec.retries_max = 0; /* no fault of its own is allowed */
    reach(w, JOB_RUNNING);
    w->nodes[1] = JOB_NODE_FAULTY;
    fail_rank(w, 0, "WorkerCrash"); /* what follows from it elsewhere explains nothing */
    step(w);
    assert_true(noted(w, "NodeFault"));
    reach(w, JOB_RUNNING);
    assert_true(job_is_excluded(w->record, "n1"));
    assert_string_equal(w->pods[0].node, "n0");
    assert_string_equal(w->pods[1].node, "n2");
    assert_int_equal(w->record->restarts, 0);
    assert_int_equal(w->record->node_restarts, 1);
    w->nodes[1] = JOB_NODE_HELD;
    steps(w, 2);
    assert_true(job_is_excluded(w->record, "n1"));
    w->nodes[1] = JOB_NODE_WELL;
    step(w);
    assert_int_equal(w->record->excluded_count, 0);
    assert_int_equal(w->record->state, JOB_RUNNING);
}

static void test_node_shows_its_fault_late(void **state)
{
    (void)state;
    AUTO(world) struct world *w = world_new(2, 0);
    w->spec.retries_max = 1;
    reach(w, JOB_RUNNING);
    fail_rank(w, 0, "WorkerCrash"); /* its peer was gone, which nobody knows yet */
    w->pods[1].agent = JOB_AGENT_UNKNOWN;
    step(w);
    assert_int_equal(w->record->restarts, 1);
    steps(w, 5);
    assert_int_equal(w->record->state, JOB_GATHERING);
    w->nodes[1] = JOB_NODE_LOST;
    reach(w, JOB_RUNNING);
    assert_int_equal(w->record->restarts, 0);
    assert_int_equal(w->record->node_restarts, 1);
    assert_string_equal(job_cause_text(w->record->fault.cause), "node");
    assert_string_equal(w->pods[1].node, "n2");
}

static void test_lost_node_that_still_trains(void **state)
{
    (void)state;
    AUTO(world) struct world *w = world_new(2, 0);
    reach(w, JOB_RUNNING);
    w->nodes[1] = JOB_NODE_LOST; /* kubelet is away, the launcher is not */
    steps(w, 50);
    assert_int_equal(w->record->state, JOB_RUNNING);
    assert_int_equal(w->record->attempt, 1);
}

static void test_spare(void **state)
{
    (void)state;
    AUTO(world) struct world *w = world_new(2, 1);
    reach(w, JOB_RUNNING);
    steps(w, 2);
    assert_true(w->pods[2].exists);
    assert_int_equal(w->pods[2].agent, JOB_AGENT_READY);
    for (int i = 3; i < NODES; i++)
        w->nodes[i] = JOB_NODE_HELD; /* there is no other node */
    w->nodes[0] = JOB_NODE_FAULTY;
    step(w);
    reach(w, JOB_RUNNING);
    assert_int_equal(w->record->ranks[0], 2);
    assert_int_equal(w->record->ranks[1], 1);
    assert_true(w->pods[0].exists && w->pods[0].node[0] == '\0'); /* it waits to be the next spare */
}

static void test_evicted_and_ended_pods(void **state)
{
    (void)state;
    AUTO(world) struct world *w = world_new(2, 0);
    reach(w, JOB_RUNNING);
    w->pods[0] = (struct job_pod){.progress = -1};
    step(w);
    assert_string_equal(job_cause_text(w->record->fault.cause), "evicted");
    reach(w, JOB_RUNNING);
    assert_int_equal(w->record->restarts, 0);
    w->pods[1].finished = true;
    snprintf(w->pods[1].ended_as, sizeof(w->pods[1].ended_as), "OOMKilled");
    step(w);
    assert_string_equal(job_cause_text(w->record->fault.cause), "pod");
    assert_string_equal(w->record->fault.message, "OOMKilled");
    reach(w, JOB_RUNNING);
    assert_int_equal(w->record->restarts, 1);
    assert_int_equal(w->record->excluded_count, 0);
}

static void test_launcher_that_is_not_heard(void **state)
{
    (void)state;
    AUTO(world) struct world *w = world_new(2, 0);
    reach(w, JOB_RUNNING);
    w->pods[1].agent = JOB_AGENT_UNKNOWN;
    w->pods[1].agent_silent_ms = 59 * S;
    step(w);
    assert_int_equal(w->record->state, JOB_RUNNING);
    w->pods[1].agent_silent_ms = 61 * S;
    step(w);
    assert_string_equal(w->record->fault.reason, "LauncherNotHeard");
    reach(w, JOB_RUNNING);
    assert_int_equal(w->pods[1].incarnation, 1);
    w->pods[0].agent = JOB_AGENT_READY;
    step(w);
    assert_string_equal(w->record->fault.reason, "LauncherRestarted");
}

static void test_workers_that_do_not_stop(void **state)
{
    (void)state;
    AUTO(world) struct world *w = world_new(2, 0);
    reach(w, JOB_RUNNING);
    fail_rank(w, 0, "WorkerCrash");
    step(w);
    w->pods[1].agent = JOB_AGENT_STOPPING;
    steps(w, 60);
    assert_int_equal(w->record->state, JOB_GATHERING);
    reach(w, JOB_RUNNING);
    assert_int_equal(w->pods[1].incarnation, 1);
    assert_int_equal(w->pods[0].incarnation, 0);
}

static void test_repeat_offenders(void **state)
{
    (void)state;
    AUTO(world) struct world *w = world_new(3, 0);
    w->spec.restarts_before_full = 3;
    w->spec.offenders_max = 1;
    reach(w, JOB_RUNNING);
    static const int ranks[] = {1, 1, 2, 1};
    for (size_t i = 0; i < ARRAY_LEN(ranks); i++) {
        make_progress(w, (int64_t)i + 1);
        fail_rank(w, ranks[i], "LogSlow_R");
        step(w);
        reach(w, JOB_RUNNING);
    }
    assert_int_equal(w->record->full_restarts, 1);
    assert_int_equal(w->record->excluded_count, 1);
    assert_true(job_is_excluded(w->record, "n1"));
    steps(w, 3);
    assert_true(job_is_excluded(w->record, "n1")); /* its node is well; it is this job that leaves it out */
}

static void test_suspend(void **state)
{
    (void)state;
    AUTO(world) struct world *w = world_new(2, 0);
    reach(w, JOB_RUNNING);
    w->spec.suspend = true;
    steps(w, 2);
    assert_int_equal(w->record->state, JOB_SUSPENDED);
    assert_false(w->pods[0].exists || w->pods[1].exists);
    w->spec.suspend = false;
    reach(w, JOB_RUNNING);
    assert_int_equal(w->record->restarts, 0);
}

static void test_deadlines(void **state)
{
    static const char *const reasons[] = {"DeadlineExceeded", "StartupDeadlineExceeded", "FaultDeadlineExceeded"};
    (void)state;
    for (size_t c = 0; c < ARRAY_LEN(reasons); c++) {
        AUTO(world) struct world *w = world_new(2, 0);
        w->spec.active_deadline_ms = c == 0 ? 30 * S : 0;
        w->spec.startup_deadline_ms = c == 1 ? 30 * S : 0;
        w->spec.fault_deadline_ms = c == 2 ? 30 * S : 0;
        if (c == 1) /* no node takes its pods */
            for (int i = 0; i < NODES; i++)
                w->nodes[i] = JOB_NODE_HELD;
        else
            reach(w, JOB_RUNNING);
        if (c == 2) {
            fail_rank(w, 0, "WorkerCrash");
            step(w);
            w->pods[1].agent = JOB_AGENT_STOPPING;
        }
        steps(w, 29 - (c == 0 ? 4 : 0));
        assert_false(job_is_over(w->record->state));
        steps(w, 5);
        assert_string_equal(w->record->reason, reasons[c]);
    }
}

static void test_clean_up(void **state)
{
    static const struct {
        enum job_clean clean;
        bool first, second; /* which pods stay */
    } cases[] = {{JOB_CLEAN_ALL, false, false}, {JOB_CLEAN_ONLY_COMPLETE, false, true}, {JOB_CLEAN_NONE, true, true}};
    (void)state;
    for (size_t c = 0; c < ARRAY_LEN(cases); c++) {
        AUTO(world) struct world *w = world_new(2, 0);
        w->spec.clean = cases[c].clean;
        w->spec.retries_max = 0;
        w->spec.ttl_ms = 10 * S;
        reach(w, JOB_RUNNING);
        w->pods[0].agent = JOB_AGENT_COMPLETED;
        fail_rank(w, 1, "WorkerCrash");
        reach(w, JOB_FAILED);
        steps(w, 3);
        assert_int_equal(w->pods[0].exists, cases[c].first);
        assert_int_equal(w->pods[1].exists, cases[c].second);
        assert_true(!w->pods[1].exists || w->pods[1].finished); /* it holds no GPU */
        assert_false(w->plan->expired);
        steps(w, 10);
        assert_true(w->plan->expired);
    }
}

static void test_a_record_of_another_shape(void **state)
{
    (void)state;
    AUTO(world) struct world *w = world_new(2, 0);
    reach(w, JOB_RUNNING);
    job_record_rank(w->record, NULL, 0); /* somebody edited the status */
    step(w);
    assert_int_equal(w->record->state, JOB_LAUNCHING + (w->record->state == JOB_GATHERING ? -1 : 0));
    reach(w, JOB_RUNNING);
}

/* --- laws --------------------------------------------------------------------------------------------- */

static uint64_t chance;
static int roll(int below)
{
    chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int)((chance >> 33) % (uint64_t)below);
}

static void hurt(struct world *w)
{
    struct job_pod *pod = &w->pods[roll(job_pod_count(&w->spec))];
    int node = roll(NODES);
    switch (roll(8)) {
    case 0:
        if (pod->agent == JOB_AGENT_RUNNING)
            pod->agent = JOB_AGENT_FAULTED;
        break;
    case 1:
        *pod = (struct job_pod){.progress = -1};
        break;
    case 2:
        pod->finished = pod->exists;
        break;
    case 3:
        pod->agent = JOB_AGENT_UNKNOWN;
        pod->agent_silent_ms = roll(2) * 100 * S;
        break;
    case 4:
        w->nodes[node] = (enum job_node_state)roll(5);
        break;
    case 5:
        if (pod->agent == JOB_AGENT_UNKNOWN && pod->running)
            pod->agent = JOB_AGENT_READY;
        break;
    case 6:
        make_progress(w, roll(100));
        break;
    default:
        w->now += roll(400) * S;
        break;
    }
}

static bool may_follow(enum job_state from, enum job_state to)
{
    if (from == to)
        return true;
    if (job_is_over(from))
        return false;
    if (to == JOB_FAILED || to == JOB_SUSPENDED)
        return true;
    return (to == JOB_GATHERING && from != JOB_COMPLETED) || (from == JOB_GATHERING && to == JOB_LAUNCHING) ||
           (from == JOB_LAUNCHING && to == JOB_RUNNING) || (from == JOB_RUNNING && to == JOB_COMPLETED);
}

/* Only a fault of the node's own excludes it, or the job's word on repeat offenders. */
static void check_excluded(const struct world *w, const struct job_record *before)
{
    for (size_t i = 0; i < w->record->excluded_count; i++) {
        const struct job_excluded *excluded = &w->record->excluded[i];
        if (!job_is_excluded(before, excluded->node))
            assert_true(excluded->offender || w->nodes[excluded->node[1] - '0'] > JOB_NODE_HELD);
        assert_true(!excluded->offender || w->spec.offenders_max > 0);
    }
}

static void check_laws(const struct world *w, enum job_state before)
{
    const struct job_record *r = w->record;
    assert_true(may_follow(before, r->state));
    if (w->spec.retries_max != JOB_NO_LIMIT)
        assert_true(r->restarts <= w->spec.retries_max);
    if (w->spec.full_restarts_max != JOB_NO_LIMIT)
        assert_true(r->full_restarts <= w->spec.full_restarts_max);
    assert_true(r->fruitless <= JOB_FRUITLESS_MAX + 1);
    assert_true(r->attempt <= r->restarts + r->node_restarts + 1 + 4); /* each start follows a fault, or a suspension */
    if (r->state == JOB_LAUNCHING || r->state == JOB_RUNNING) {
        assert_int_equal(r->rank_count, job_rank_count(&w->spec));
        for (int i = 0; i < r->rank_count; i++)
            assert_true(!w->pods[r->ranks[i]].exists || !job_is_excluded(r, w->pods[r->ranks[i]].node));
        for (int i = 0; i < r->rank_count; i++)
            for (int k = 0; k < i; k++)
                assert_int_not_equal(r->ranks[i], r->ranks[k]);
    }
}

static void let_it_end(struct world *w)
{
    for (int i = 0; i < NODES; i++)
        w->nodes[i] = JOB_NODE_WELL;
    w->spec.suspend = false;
    for (int i = 0; i < 200 && !job_is_over(w->record->state); i++) {
        enum job_state before = w->record->state;
        for (int p = 0; p < PODS; p++) {
            struct job_pod *pod = &w->pods[p];
            if (pod->agent == JOB_AGENT_UNKNOWN && pod->running && !pod->finished)
                pod->agent = JOB_AGENT_READY; /* it is heard again, and has begun anew */
            if (before == JOB_RUNNING && pod->agent == JOB_AGENT_RUNNING)
                pod->agent = JOB_AGENT_COMPLETED;
        }
        step(w);
        check_laws(w, before);
    }
    assert_true(job_is_over(w->record->state));
}

static void test_random_worlds(void **state)
{
    int completed = 0, failed = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        chance = seed;
        AUTO(world) struct world *w = world_new(1 + roll(4), roll(3));
        w->spec.retries_max = roll(3) == 0 ? JOB_NO_LIMIT : roll(8);
        w->spec.restarts_before_full = roll(3) == 0 ? JOB_NO_LIMIT : roll(4);
        w->spec.full_restarts_max = roll(3) == 0 ? JOB_NO_LIMIT : roll(3);
        w->spec.offenders_max = roll(3);
        w->spec.eval_ms = (60 + roll(3600)) * S;
        int suspensions = 0;
        for (int i = 0; i < 150; i++) {
            enum job_state before = w->record->state;
            auto_json json_t *stored = kube_job_record_json(w->record);
            AUTO(job_record) struct job_record *earlier = kube_job_record_read(stored, &w->spec);
            if (roll(4) == 0)
                hurt(w);
            if (suspensions < 4 && roll(60) == 0)
                w->spec.suspend = !w->spec.suspend;
            else if (roll(10) == 0)
                w->spec.suspend = false;
            step(w);
            suspensions += before != JOB_SUSPENDED && w->record->state == JOB_SUSPENDED;
            check_laws(w, before);
            check_excluded(w, earlier);
        }
        let_it_end(w);
        completed += w->record->state == JOB_COMPLETED;
        failed += w->record->state == JOB_FAILED;
    }
    assert_true(completed > 100 && failed > 100); /* else the worlds show one thing only */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs_and_ends),
        cmocka_unit_test(test_levels_without_progress),
        cmocka_unit_test(test_progress_begins_anew),
        cmocka_unit_test(test_long_runs_are_progress_where_nothing_is_told),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_window_ends),
        cmocka_unit_test(test_node_fault),
        cmocka_unit_test(test_node_shows_its_fault_late),
        cmocka_unit_test(test_lost_node_that_still_trains),
        cmocka_unit_test(test_spare),
        cmocka_unit_test(test_evicted_and_ended_pods),
        cmocka_unit_test(test_launcher_that_is_not_heard),
        cmocka_unit_test(test_workers_that_do_not_stop),
        cmocka_unit_test(test_repeat_offenders),
        cmocka_unit_test(test_suspend),
        cmocka_unit_test(test_deadlines),
        cmocka_unit_test(test_clean_up),
        cmocka_unit_test(test_a_record_of_another_shape),
        cmocka_unit_test(test_random_worlds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
