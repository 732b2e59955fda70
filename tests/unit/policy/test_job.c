/* A training job under the policy: what follows each fault, told in a small world. The laws are test_job_law.c's. */
#include "job_world.h"

static struct world *world_new(int replicas, int spares)
{
    return world_new_sets(&(struct job_set){.name = "pods", .replicas = replicas, .spares = spares}, NULL);
}

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

/* Ranks go across the sets in their order; a spare stands in for its own set alone. */
static void test_sets_have_their_own_spares(void **state)
{
    (void)state;
    AUTO(world)
    struct world *w = world_new_sets(&(struct job_set){.name = "head", .replicas = 1, .spares = 1},
                                     &(struct job_set){.name = "workers", .replicas = 2, .spares = 1});
    reach(w, JOB_RUNNING);
    steps(w, 2);
    assert_int_equal(w->record->rank_count, 3);
    for (int rank = 0; rank < 3; rank++) {
        int number, pod = w->record->ranks[rank];
        assert_string_equal(job_pod_set(&w->spec, pod, &number)->name, rank == 0 ? "head" : "workers");
    }
    for (int i = 0; i < 5; i++)
        assert_int_equal(w->pods[i].agent, job_rank_of(w->record, i) >= 0 ? JOB_AGENT_RUNNING : JOB_AGENT_READY);
    int lost = w->record->ranks[2], kept = w->record->ranks[1];
    for (int i = 5; i < NODES; i++)
        w->nodes[i] = JOB_NODE_HELD; /* there is no other node */
    w->nodes[w->pods[lost].node[1] - '0'] = JOB_NODE_FAULTY;
    step(w);
    reach(w, JOB_RUNNING);
    assert_int_equal(w->record->ranks[1], kept);
    assert_int_equal(w->record->ranks[2], 2 + 3 + 4 - kept - lost); /* the workers' third pod */
    lost = w->record->ranks[2];
    w->nodes[w->pods[lost].node[1] - '0'] = JOB_NODE_FAULTY;
    steps(w, 30);
    assert_int_equal(w->record->state, JOB_GATHERING); /* the spare of the head is no worker */
    w->nodes[7] = JOB_NODE_WELL;
    reach(w, JOB_RUNNING);
    assert_int_equal(w->record->rank_count, 3);
    assert_int_equal(w->record->restarts, 0);
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

static struct world *elastic_world(int least, int most, int step)
{
    struct world *w = world_new(most, 0);
    w->spec.elastic = (struct job_elastic){
        .on = true, .least = least, .step = step, .scaling_ms = 10 * S, .fault_ms = 5 * S, .graceful_ms = 20 * S};
    return w;
}

static void hold_nodes_from(struct world *w, int first)
{
    for (int i = first; i < NODES; i++)
        w->nodes[i] = JOB_NODE_HELD;
}

static void test_elastic_starts_with_what_is_there(void **state)
{
    (void)state;
    AUTO(world) struct world *w = elastic_world(2, 6, 2);
    hold_nodes_from(w, 5); /* five: one more than four, one less than six */
    steps(w, 8);
    assert_int_equal(w->record->state, JOB_GATHERING); /* it waits for the rest first */
    reach(w, JOB_RUNNING);
    assert_int_equal(w->record->rank_count, 4);
    steps(w, 20);
    assert_int_equal(w->record->rank_count, 4);
    for (int i = 0; i < NODES; i++)
        w->nodes[i] = JOB_NODE_WELL;
    step(w);
    step(w);
    assert_true(w->record->growing && w->plan->graceful_ms == 0);
    step(w);
    reach(w, JOB_RUNNING);
    assert_int_equal(w->record->rank_count, 6);
    assert_int_equal(w->record->restarts + w->record->node_restarts, 0);
}

static void test_elastic_shrinks_after_a_fault_and_grows_back(void **state)
{
    (void)state;
    AUTO(world) struct world *w = elastic_world(1, 3, 1);
    hold_nodes_from(w, 3);
    reach(w, JOB_RUNNING);
    assert_int_equal(w->record->rank_count, 3);
    w->nodes[1] = JOB_NODE_FAULTY;
    step(w);
    steps(w, 4);
    assert_int_equal(w->record->state, JOB_GATHERING); /* another pod is waited for */
    reach(w, JOB_RUNNING);
    assert_int_equal(w->record->rank_count, 2);
    w->nodes[1] = JOB_NODE_WELL;
    steps(w, 12);
    reach(w, JOB_RUNNING);
    assert_int_equal(w->record->rank_count, 3);
    assert_int_equal(w->record->node_restarts, 1);
}

static void test_elastic_snoozes(void **state)
{
    (void)state;
    AUTO(world) struct world *w = elastic_world(1, 2, 1);
    w->spec.elastic.snooze_ms = 100 * S;
    hold_nodes_from(w, 1);
    steps(w, 15);
    assert_int_equal(w->record->rank_count, 1);
    w->nodes[1] = JOB_NODE_WELL;
    steps(w, 90);
    assert_int_equal(w->record->rank_count, 1);
    steps(w, 20);
    assert_int_equal(w->record->rank_count, 2);
}

static void test_elastic_sizes(void **state)
{
    static const struct {
        int least, most, step, sizes[3], pods, size;
    } cases[] = {
        {1, 8, 1, {0}, 5, 5},       {2, 8, 2, {0}, 5, 4}, {2, 8, 2, {0}, 1, 0},       {3, 8, 2, {0}, 8, 8},
        {1, 8, 0, {2, 4, 8}, 7, 4}, {1, 8, 0, {2}, 8, 8}, {4, 8, 0, {2, 4, 8}, 3, 0}, {1, 8, 1, {0}, 100, 8},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(world) struct world *w = elastic_world(cases[i].least, cases[i].most, cases[i].step);
        for (size_t k = 0; k < 3 && cases[i].sizes[k] > 0; k++)
            w->spec.elastic.sizes[w->spec.elastic.size_count++] = cases[i].sizes[k];
        assert_int_equal(job_size_for(&w->spec, cases[i].pods), cases[i].size);
    }
}

static int pods_there(const struct world *w)
{
    int count = 0;
    for (int i = 0; i < job_pod_count(&w->spec); i++)
        count += w->pods[i].exists && !w->pods[i].deleting;
    return count;
}

static void test_a_person_scales_it(void **state)
{
    (void)state;
    AUTO(world) struct world *w = elastic_world(2, 6, 2);
    reach(w, JOB_RUNNING);
    assert_int_equal(w->record->rank_count, 6);
    w->spec.elastic.most = 5; /* four is the next size below */
    step(w);
    assert_true(noted(w, "ScaleDown") && w->record->growing);
    step(w);
    assert_int_equal(w->plan->graceful_ms, 20 * S);
    reach(w, JOB_RUNNING);
    steps(w, 20);
    assert_int_equal(w->record->rank_count, 4);
    assert_int_equal(pods_there(w), 4); /* the others hold no node */
    w->spec.elastic.most = 1;           /* it cannot have fewer than two */
    steps(w, 2);
    reach(w, JOB_RUNNING);
    assert_int_equal(w->record->rank_count, 2);
    w->spec.elastic.most = 0;
    steps(w, 20);
    reach(w, JOB_RUNNING);
    assert_int_equal(w->record->rank_count, 6);
    assert_int_equal(w->record->restarts + w->record->node_restarts, 0);
}

/* One answer that is missing is no reason to delete a pod whose workers save. */
static void test_a_pod_that_saves_is_not_deleted(void **state)
{
    (void)state;
    AUTO(world) struct world *w = elastic_world(1, 3, 1);
    reach(w, JOB_RUNNING);
    w->spec.elastic.most = 2;
    step(w);
    assert_int_equal(w->record->state, JOB_GATHERING);
    for (int i = 0; i < 3; i++)
        w->pods[i].agent = JOB_AGENT_STOPPING;
    w->pods[2].agent = JOB_AGENT_UNKNOWN;
    w->pods[2].agent_silent_ms = S;
    step(w);
    assert_true(w->pods[2].exists);
    for (int i = 0; i < 3; i++)
        w->pods[i].agent = JOB_AGENT_READY;
    w->pods[2].agent_silent_ms = 0;
    step(w);
    assert_false(w->pods[2].exists);
    reach(w, JOB_RUNNING);
    assert_int_equal(w->record->rank_count, 2);
}

static void test_a_smaller_size_at_the_start(void **state)
{
    (void)state;
    AUTO(world) struct world *w = elastic_world(1, 4, 1);
    w->spec.elastic.most = 3;
    reach(w, JOB_RUNNING); /* and does not wait for a fourth pod */
    assert_int_equal(w->record->rank_count, 3);
    assert_int_equal(pods_there(w), 3);
    assert_int_equal(job_size_most(&w->spec), 3);
}

static void test_a_person_restarts_it(void **state)
{
    (void)state;
    AUTO(world) struct world *w = world_new(2, 0);
    w->spec.retries_max = 0;
    reach(w, JOB_RUNNING);
    text_copy_cut(w->spec.asked, sizeof(w->spec.asked), "restart 7 by ann");
    step(w);
    assert_int_equal(w->record->state, JOB_GATHERING);
    assert_true(noted(w, "RestartAsked"));
    reach(w, JOB_RUNNING);
    assert_int_equal(w->pods[0].incarnation, 0);
    steps(w, 5);
    assert_int_equal(w->record->attempt, 2); /* once for each time it was asked for */
    text_copy_cut(w->spec.asked, sizeof(w->spec.asked), "another 8 by ann");
    w->spec.remakes = true;
    step(w);
    reach(w, JOB_RUNNING);
    assert_int_equal(w->pods[0].incarnation, 1);
    assert_int_equal(w->pods[1].incarnation, 1);
    assert_int_equal(w->record->restarts, 0);
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
        cmocka_unit_test(test_sets_have_their_own_spares),
        cmocka_unit_test(test_evicted_and_ended_pods),
        cmocka_unit_test(test_launcher_that_is_not_heard),
        cmocka_unit_test(test_workers_that_do_not_stop),
        cmocka_unit_test(test_repeat_offenders),
        cmocka_unit_test(test_suspend),
        cmocka_unit_test(test_deadlines),
        cmocka_unit_test(test_clean_up),
        cmocka_unit_test(test_elastic_starts_with_what_is_there),
        cmocka_unit_test(test_elastic_shrinks_after_a_fault_and_grows_back),
        cmocka_unit_test(test_elastic_snoozes),
        cmocka_unit_test(test_elastic_sizes),
        cmocka_unit_test(test_a_person_scales_it),
        cmocka_unit_test(test_a_pod_that_saves_is_not_deleted),
        cmocka_unit_test(test_a_smaller_size_at_the_start),
        cmocka_unit_test(test_a_person_restarts_it),
        cmocka_unit_test(test_a_record_of_another_shape),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
