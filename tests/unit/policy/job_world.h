/*
 * A small world that does what the policy of training jobs asks for. Between any two steps hpd may be killed, so the record goes through its
 * JSON each time.
 */
#ifndef HOLDFAST_TESTS_JOB_WORLD_H
#define HOLDFAST_TESTS_JOB_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/text.h"
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

/* second: NULL for one set alone. */
static struct world *world_new_sets(const struct job_set *first, const struct job_set *second)
{
    struct world *w = own_calloc(1, sizeof(*w));
    w->spec = (struct job_spec){.set_count = second == NULL ? 1 : 2,
                                .retries_max = JOB_NO_LIMIT,
                                .restarts_before_full = JOB_NO_LIMIT,
                                .full_restarts_max = JOB_NO_LIMIT,
                                .ttl_ms = JOB_NO_LIMIT,
                                .eval_ms = 3600 * S};
    w->spec.sets[0] = *first;
    if (second != NULL)
        w->spec.sets[1] = *second;
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

static inline void steps(struct world *w, int count)
{
    while (count-- > 0)
        step(w);
}

/* Until it stands so, within 20 steps. */
static inline void reach(struct world *w, enum job_state state)
{
    for (int i = 0; i < 20 && w->record->state != state; i++)
        step(w);
    assert_string_equal(job_state_text(w->record->state), job_state_text(state));
}

static inline void fail_rank(struct world *w, int rank, const char *reason)
{
    struct job_pod *pod = &w->pods[w->record->ranks[rank]];
    pod->agent = JOB_AGENT_FAULTED;
    snprintf(pod->agent_reason, sizeof(pod->agent_reason), "%s", reason);
}

static inline void make_progress(struct world *w, int64_t progress)
{
    for (int i = 0; i < job_pod_count(&w->spec); i++)
        w->pods[i].progress = progress;
}

static inline bool noted(const struct world *w, const char *reason)
{
    for (size_t i = 0; i < w->plan->note_count; i++)
        if (strcmp(w->plan->notes[i].reason, reason) == 0)
            return true;
    return false;
}

/* The next fault of this rank is answered on this level. */
static inline void expect_level(struct world *w, int rank, enum job_level level)
{
    fail_rank(w, rank, "WorkerCrash");
    step(w);
    assert_int_equal(w->record->state, JOB_GATHERING);
    assert_string_equal(job_level_text(w->record->fault.level), job_level_text(level));
    assert_int_equal(w->record->excluded_count, 0);
    reach(w, JOB_RUNNING);
}

#endif
