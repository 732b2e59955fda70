/*
 * What follows a fault: on which level the job is restarted, and when it is not. The limits are those of HyperPod's runPolicy, counted
 * in windows of evalPeriodSeconds, and one of ours: three restarts in a row that brought nothing, each a level higher, are enough.
 */
#include "base/text.h"
#include "policy/job/private.h"

#include <string.h>

#define RUN_IS_PROGRESS_MS 600000 /* of a job whose workers tell of no step and no checkpoint */

/* --- nodes ----------------------------------------------------------------------------------------- */

static void forget_excluded(struct job_record *record, size_t at)
{
    memmove(&record->excluded[at], &record->excluded[at + 1],
            (record->excluded_count - at - 1) * sizeof(record->excluded[0]));
    record->excluded_count--;
}

static void exclude_node(struct job_turn *turn, const char *node, const char *why, bool offender)
{
    struct job_record *record = turn->record;
    if (node[0] == '\0' || job_is_excluded(record, node))
        return;
    if (record->excluded_count == JOB_EXCLUDED_MAX)
        forget_excluded(record, 0);
    struct job_excluded *excluded = &record->excluded[record->excluded_count++];
    *excluded = (struct job_excluded){.at = turn->seen->now, .offender = offender};
    text_copy_cut(excluded->node, sizeof(excluded->node), node);
    text_copy_cut(excluded->why, sizeof(excluded->why), why);
    turn->plan->changed = true;
}

/* A pod of the job shows that it is not. */
static bool is_seen_failing(const struct job_turn *turn, const char *node)
{
    for (int i = 0; i < job_pod_count(turn->spec); i++)
        if (strcmp(turn->seen->pods[i].node, node) == 0 && job_pod_node_failed(turn, &turn->seen->pods[i]))
            return true;
    return false;
}

void job_exclude(struct job_turn *turn)
{
    struct job_record *record = turn->record;
    for (size_t i = record->excluded_count; i-- > 0;) {
        const struct job_excluded *excluded = &record->excluded[i];
        const char *why;
        if (excluded->offender || turn->seen->node == NULL)
            continue;
        enum job_node_state state = turn->seen->node(excluded->node, turn->seen->arg, &why);
        if ((state != JOB_NODE_WELL && state != JOB_NODE_GONE) || is_seen_failing(turn, excluded->node))
            continue;
        forget_excluded(record, i);
        turn->plan->changed = true;
    }
    for (int i = 0; i < job_pod_count(turn->spec); i++) {
        const struct job_pod *pod = &turn->seen->pods[i];
        const char *why;
        if (pod->exists && job_node_failed(turn, pod->node, pod->agent, &why))
            exclude_node(turn, pod->node, why, false);
    }
}

/* --- repeat offenders ------------------------------------------------------------------------------ */

static void count_offence(struct job_record *record, const char *node)
{
    if (node[0] == '\0')
        return;
    for (size_t i = 0; i < record->offender_count; i++)
        if (strcmp(record->offenders[i].node, node) == 0) {
            record->offenders[i].faults++;
            return;
        }
    if (record->offender_count == JOB_OFFENDERS_MAX)
        return;
    struct job_offender *offender = &record->offenders[record->offender_count++];
    offender->faults = 1;
    text_copy_cut(offender->node, sizeof(offender->node), node);
}

/* The worst ones, as many as the job's policy allows. */
static void exclude_offenders(struct job_turn *turn)
{
    struct job_record *record = turn->record;
    for (int64_t n = 0; n < turn->spec->offenders_max; n++) {
        struct job_offender *worst = NULL;
        for (size_t i = 0; i < record->offender_count; i++)
            if (record->offenders[i].faults >= JOB_OFFENCES_MIN &&
                !job_is_excluded(record, record->offenders[i].node) &&
                (worst == NULL || record->offenders[i].faults > worst->faults))
                worst = &record->offenders[i];
        if (worst == NULL)
            return;
        exclude_node(turn, worst->node, "RepeatOffender", true);
        job_note(turn, true, "RepeatOffender", "%lld faults of ranks on %s: the job leaves this node out",
                 (long long)worst->faults, worst->node);
    }
}

/* --- counting -------------------------------------------------------------------------------------- */

static void roll_window(struct job_turn *turn)
{
    struct job_record *record = turn->record;
    int64_t now = turn->seen->now;
    if (record->window_at > 0 && (turn->spec->eval_ms <= 0 || now - record->window_at < turn->spec->eval_ms))
        return;
    record->window += record->window_at > 0;
    record->window_at = now;
    record->window_restarts = record->full_restarts = 0;
    record->offender_count = 0;
}

/* By what the workers tell, or, where they tell nothing, by how long they ran. */
static bool take_progress(struct job_turn *turn)
{
    struct job_record *record = turn->record;
    int64_t most = -1;
    for (int rank = 0; rank < record->rank_count; rank++) {
        int64_t one = turn->seen->pods[record->ranks[rank]].progress;
        most = one > most ? one : most;
    }
    if (most < 0 && record->progress < 0)
        return record->ran_at > 0 && turn->seen->now - record->ran_at >= RUN_IS_PROGRESS_MS;
    bool further = most > record->progress;
    if (further)
        record->progress = most;
    return further;
}

/* --- the level ------------------------------------------------------------------------------------- */

static enum job_level level_of(const struct job_turn *turn, bool same_pod)
{
    const struct job_spec *spec = turn->spec;
    const struct job_record *record = turn->record;
    bool full_left = spec->full_restarts_max == JOB_NO_LIMIT || record->full_restarts < spec->full_restarts_max;
    if (spec->restarts_before_full != JOB_NO_LIMIT && record->window_restarts >= spec->restarts_before_full)
        return JOB_LEVEL_JOB;
    if (record->fruitless >= JOB_FRUITLESS_MAX && full_left)
        return JOB_LEVEL_JOB;
    return record->fruitless >= 2 || same_pod ? JOB_LEVEL_POD : JOB_LEVEL_PROCESS;
}

/* True: the job failed of a limit. */
static bool is_at_limit(struct job_turn *turn, const struct job_fault *fault, enum job_level level)
{
    const struct job_spec *spec = turn->spec;
    const struct job_record *record = turn->record;
    if (spec->retries_max != JOB_NO_LIMIT && record->restarts >= spec->retries_max)
        job_fail(turn, "RetryLimit", "%s; all %lld restarts of jobMaxRetryCount are used", fault->reason,
                 (long long)spec->retries_max);
    else if (record->fruitless > JOB_FRUITLESS_MAX)
        job_fail(turn, "NoProgress", "%s; %d restarts in a row brought no progress", fault->reason, JOB_FRUITLESS_MAX);
    else if (level == JOB_LEVEL_JOB && spec->full_restarts_max != JOB_NO_LIMIT &&
             record->full_restarts >= spec->full_restarts_max)
        job_fail(turn, "RestartLimit", "%s; all %lld restarts of maxFullJobRestarts are used in this evalPeriodSeconds",
                 fault->reason, (long long)spec->full_restarts_max);
    return job_is_over(record->state);
}

static void remake_pods(struct job_turn *turn, const struct job_fault *fault)
{
    struct job_record *record = turn->record;
    if (record->fault.level == JOB_LEVEL_JOB)
        for (int i = 0; i < record->pod_count; i++)
            record->incarnations[i]++;
    else if (record->fault.level == JOB_LEVEL_POD && fault->pod >= 0 && fault->pod < record->pod_count)
        record->incarnations[fault->pod]++;
}

static void tell_fault(struct job_turn *turn, const struct job_fault *fault)
{
    if (fault->cause == JOB_CAUSE_NODE)
        job_note(turn, true, "NodeFault", "Found unhealthy node %s%s%s", fault->node,
                 fault->message[0] != '\0' ? ": " : "", fault->message);
    else
        job_note(turn, true, fault->reason, "Rank %d on %s: %s", fault->rank,
                 fault->node[0] != '\0' ? fault->node : "no node",
                 fault->message[0] != '\0' ? fault->message : fault->reason);
}

/* A fault of the application or the pod. */
static void count(struct job_turn *turn, const struct job_fault *fault)
{
    struct job_record *record = turn->record;
    bool same_pod = record->attempt > 1 && record->fault.cause == JOB_CAUSE_APPLICATION &&
                    fault->cause == JOB_CAUSE_APPLICATION && record->fault.pod == fault->pod && record->fruitless > 1;
    enum job_level level = fault->cause == JOB_CAUSE_POD ? JOB_LEVEL_POD : JOB_LEVEL_PROCESS;
    enum job_level asked = level_of(turn, same_pod);
    level = asked > level ? asked : level;
    record->fault = *fault;
    record->fault.counted = true;
    record->fault.level = level;
    if (fault->cause == JOB_CAUSE_APPLICATION)
        count_offence(record, fault->node);
    if (is_at_limit(turn, fault, level))
        return;
    record->restarts++;
    if (level == JOB_LEVEL_JOB) {
        record->full_restarts++;
        record->window_restarts = 0;
        exclude_offenders(turn);
    } else {
        record->window_restarts++;
    }
}

void job_restart(struct job_turn *turn, const struct job_fault *fault)
{
    struct job_record *record = turn->record;
    bool own = fault->cause == JOB_CAUSE_APPLICATION || fault->cause == JOB_CAUSE_POD;
    roll_window(turn);
    tell_fault(turn, fault);
    if (take_progress(turn))
        record->fruitless = 0;
    if (own) {
        record->fruitless++;
        count(turn, fault);
        if (job_is_over(record->state))
            return;
    } else {
        record->fault = *fault;
        record->fault.level = JOB_LEVEL_POD; /* what has lost its node is made anew, the others keep their pods */
        record->node_restarts++;
        if (fault->cause == JOB_CAUSE_NODE)
            exclude_node(turn, fault->node, fault->message, false);
    }
    if (own)
        remake_pods(turn, fault);
    record->faulty = true;
    record->growing = false;
    record->ran_at = 0;
    job_move(turn, JOB_GATHERING);
}
