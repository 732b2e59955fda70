/* Laws that hold for each training job, of one set of pods or two, in each of 300 random worlds: limits, nodes that are left out, an end. */
#include "job_world.h"

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
    if (!w->spec.elastic.on) /* each start follows a fault or a suspension; else growth, too */
        assert_true(r->attempt <= r->restarts + r->node_restarts + 1 + 4);
    if (r->state == JOB_LAUNCHING || r->state == JOB_RUNNING) {
        assert_true(job_is_size(&w->spec, r->rank_count));
        assert_true(r->rank_count > 0 && (w->spec.elastic.on || r->rank_count == job_rank_count(&w->spec)));
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
    for (uint64_t seed = 1; seed <= 300; seed++) {
        chance = seed;
        const struct job_set first = {.name = "pods", .replicas = 1 + roll(4), .spares = roll(3)};
        const struct job_set second = {.name = "more", .replicas = 1, .spares = roll(2)};
        bool two = roll(3) == 0;
        AUTO(world) struct world *w = world_new_sets(&first, two ? &second : NULL);
        w->spec.retries_max = roll(3) == 0 ? JOB_NO_LIMIT : roll(8);
        w->spec.restarts_before_full = roll(3) == 0 ? JOB_NO_LIMIT : roll(4);
        w->spec.full_restarts_max = roll(3) == 0 ? JOB_NO_LIMIT : roll(3);
        w->spec.offenders_max = roll(3);
        w->spec.eval_ms = (60 + roll(3600)) * S;
        if (!two && roll(3) == 0)
            w->spec.elastic = (struct job_elastic){.on = true,
                                                   .least = 1 + roll(2),
                                                   .step = 1 + roll(2),
                                                   .most = roll(5),
                                                   .scaling_ms = roll(20) * S,
                                                   .fault_ms = roll(20) * S,
                                                   .graceful_ms = 20 * S};
        int suspensions = 0;
        for (int i = 0; i < 150; i++) {
            enum job_state before = w->record->state;
            auto_json json_t *stored = kube_job_record_json(w->record);
            AUTO(job_record) struct job_record *earlier = kube_job_record_read(stored, &w->spec);
            if (roll(4) == 0)
                hurt(w);
            if (roll(20) == 0)
                w->spec.elastic.most = roll(6);
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
    assert_true(completed > 20 && failed > 20); /* else the worlds show one thing only */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_worlds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
