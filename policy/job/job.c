/* The way of a job through its states: see job.h. What follows a fault is restart.c's. */
#include "policy/job/job.h"

#include "base/text.h"
#include "policy/job/private.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MS_PER_S 1000
#define STUCK_MS 60000 /* a launcher that was heard before answers, or has stopped its workers, within this */
#define MUTE_MS 600000 /* one that was never heard may have much to do first */

ENUM_DEFINE(job_state, JOB_STATE_LIST)
ENUM_DEFINE(job_clean, JOB_CLEAN_LIST)
ENUM_DEFINE(job_cause, JOB_CAUSE_LIST)
ENUM_DEFINE(job_level, JOB_LEVEL_LIST)
ENUM_DEFINE(job_agent, JOB_AGENT_LIST)
ENUM_DEFINE(job_act, JOB_ACT_LIST)

bool job_is_over(enum job_state state)
{
    return state == JOB_COMPLETED || state == JOB_FAILED;
}

/* --- what the turn says ---------------------------------------------------------------------------- */

void job_note(struct job_turn *turn, bool warning, const char *reason, const char *format, ...)
{
    struct job_plan *plan = turn->plan;
    if (plan->note_count == JOB_NOTES_MAX)
        return;
    struct job_note *note = &plan->notes[plan->note_count++];
    va_list ap;
    va_start(ap, format);
    autofree char *message = own_vprintf(format, ap);
    va_end(ap);
    note->warning = warning;
    text_copy_cut(note->reason, sizeof(note->reason), reason);
    text_copy_cut(note->message, sizeof(note->message), message);
}

void job_move(struct job_turn *turn, enum job_state state)
{
    turn->record->state = state;
    turn->record->since = turn->seen->now;
    turn->plan->changed = true;
}

static void finish(struct job_turn *turn, enum job_state state, const char *reason, const char *message)
{
    struct job_record *record = turn->record;
    job_move(turn, state);
    record->completed_at = turn->seen->now;
    record->faulty = false;
    text_copy_cut(record->reason, sizeof(record->reason), reason);
    text_copy_cut(record->message, sizeof(record->message), message);
    job_note(turn, state == JOB_FAILED, reason, "%s", message);
}

void job_fail(struct job_turn *turn, const char *reason, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    autofree char *message = own_vprintf(format, ap);
    va_end(ap);
    finish(turn, JOB_FAILED, reason, message);
}

/* --- nodes ----------------------------------------------------------------------------------------- */

bool job_node_failed(const struct job_turn *turn, const char *node, enum job_agent agent, const char **ret_why)
{
    *ret_why = "";
    if (node[0] == '\0' || turn->seen->node == NULL)
        return false;
    enum job_node_state state = turn->seen->node(node, turn->seen->arg, ret_why);
    return state == JOB_NODE_FAULTY || state == JOB_NODE_GONE || (state == JOB_NODE_LOST && agent == JOB_AGENT_UNKNOWN);
}

bool job_pod_node_failed(const struct job_turn *turn, const struct job_pod *pod)
{
    const char *why;
    return pod->exists && job_node_failed(turn, pod->node, pod->agent, &why);
}

/* --- pods ------------------------------------------------------------------------------------------ */

static enum job_act *act_of(struct job_turn *turn, int pod)
{
    return &turn->plan->acts[pod];
}

static bool is_of_now(const struct job_record *record, const struct job_pod *pod, int number)
{
    return pod->exists && !pod->deleting && !pod->finished && pod->incarnation == record->incarnations[number] &&
           !job_is_excluded(record, pod->node);
}

/* Pods that are missing are made, and those that may not stay are deleted. True: the pod may be used. */
static bool keep_pod(struct job_turn *turn, int number)
{
    const struct job_pod *pod = &turn->seen->pods[number];
    if (!pod->exists)
        *act_of(turn, number) = JOB_ACT_CREATE;
    else if (!is_of_now(turn->record, pod, number) && !pod->deleting)
        *act_of(turn, number) = JOB_ACT_DELETE;
    else if (pod->deleting && pod->agent == JOB_AGENT_UNKNOWN && job_pod_node_failed(turn, pod))
        *act_of(turn, number) = JOB_ACT_DELETE; /* nobody on that node will say that it has ended */
    return is_of_now(turn->record, pod, number);
}

/* Of a pod that runs: the container of a first start may take as long as startupDeadlineSeconds allows. */
static bool is_mute(const struct job_turn *turn, const struct job_pod *pod)
{
    return pod->agent == JOB_AGENT_UNKNOWN && turn->record->attempt > 0 &&
           pod->agent_silent_ms > (pod->agent_heard ? STUCK_MS : MUTE_MS);
}

/* Its launcher has been told to stop its workers. */
static bool has_to_stop(const struct job_pod *pod)
{
    return pod->agent != JOB_AGENT_UNKNOWN && pod->agent != JOB_AGENT_INIT && pod->agent != JOB_AGENT_READY;
}

static bool is_stuck(const struct job_turn *turn, const struct job_pod *pod)
{
    int64_t graceful_ms = turn->record->growing ? turn->spec->elastic.graceful_ms : 0;
    return is_mute(turn, pod) || (has_to_stop(pod) && turn->seen->now - turn->record->since > STUCK_MS + graceful_ms);
}

/* A pod that the size leaves no work for goes when its workers have ended. */
static void let_go(struct job_turn *turn, int number)
{
    const struct job_pod *pod = &turn->seen->pods[number];
    bool nobody_ends_it = pod->agent == JOB_AGENT_UNKNOWN && job_pod_node_failed(turn, pod);
    if (pod->exists && (!pod->deleting || nobody_ends_it))
        *act_of(turn, number) = JOB_ACT_DELETE;
}

enum readiness { READY, COMES, STOPS, LOST };

static enum readiness gather_pod(struct job_turn *turn, int number)
{
    const struct job_pod *pod = &turn->seen->pods[number];
    bool works = has_to_stop(pod) || (pod->agent == JOB_AGENT_UNKNOWN && pod->agent_heard && !pod->finished);
    if (!job_wants_pod(turn->spec, number) && (!pod->exists || !works || is_stuck(turn, pod))) {
        let_go(turn, number);
        return LOST;
    }
    if (!keep_pod(turn, number))
        return LOST;
    if (pod->agent == JOB_AGENT_READY)
        return READY;
    if (is_stuck(turn, pod)) {
        turn->record->incarnations[number]++;
        turn->plan->changed = true;
        *act_of(turn, number) = JOB_ACT_DELETE;
        job_note(turn, true, "PodReplaced", "The launcher of pod %d %s; its pod is made anew", number,
                 has_to_stop(pod) ? "did not stop its workers" : "is not heard");
        return LOST;
    }
    if (pod->agent == JOB_AGENT_RUNNING || pod->agent == JOB_AGENT_COMPLETED || pod->agent == JOB_AGENT_FAULTED)
        *act_of(turn, number) = JOB_ACT_STOP;
    return has_to_stop(pod) || pod->agent_heard ? STOPS : COMES;
}

/* --- gathering ------------------------------------------------------------------------------------- */

/* Ranks stay on their pods as far as these are ready; the others go to what is ready, spares too. */
static bool assign(struct job_turn *turn, const enum readiness *readiness, int count)
{
    const struct job_spec *spec = turn->spec;
    struct job_record *record = turn->record;
    int pods = job_pod_count(spec), rank = 0, first = 0;
    autofree int *ranks = own_calloc((size_t)count + 1, sizeof(*ranks));
    autofree bool *used = own_calloc((size_t)pods + 1, sizeof(*used));
    for (int i = 0; i < count; i++) {
        int pod = i < record->rank_count ? record->ranks[i] : -1;
        ranks[i] = pod >= 0 && pod < pods && readiness[pod] == READY && !used[pod] ? pod : -1;
        if (ranks[i] >= 0)
            used[ranks[i]] = true;
    }
    for (size_t s = 0; s < spec->set_count; s++) {
        int last = first + spec->sets[s].replicas + spec->sets[s].spares;
        int next = first;
        int replicas = spec->elastic.on ? count : spec->sets[s].replicas;
        for (int i = 0; i < replicas; i++, rank++) {
            if (ranks[rank] >= first && ranks[rank] < last)
                continue;
            while (next < last && (used[next] || readiness[next] != READY))
                next++;
            if (next == last)
                return false;
            used[next] = true;
            ranks[rank] = next;
        }
        first = last;
    }
    job_record_rank(record, TAKE(ranks), count);
    for (int i = 0; i < count; i++)
        record->rank_nodes[i] = own_strdup(turn->seen->pods[record->ranks[i]].node);
    return true;
}

/* How many ranks so many pods are enough for; 0: more are waited for. */
static int size_now(const struct job_turn *turn, int ready)
{
    const struct job_elastic *elastic = &turn->spec->elastic;
    int size = job_size_for(turn->spec, ready);
    int64_t patience_ms = turn->record->faulty ? elastic->fault_ms : elastic->scaling_ms;
    bool waits = size < job_size_most(turn->spec) && turn->seen->now - turn->record->since < patience_ms;
    return waits ? 0 : size;
}

static void gather(struct job_turn *turn)
{
    struct job_record *record = turn->record;
    int pods = job_pod_count(turn->spec);
    autofree enum readiness *readiness = own_calloc((size_t)pods + 1, sizeof(*readiness));
    bool stops = false;
    int ready = 0;
    for (int i = 0; i < pods; i++) {
        readiness[i] = gather_pod(turn, i);
        stops = stops || readiness[i] == STOPS;
        ready += readiness[i] == READY;
    }
    turn->plan->graceful_ms = record->growing ? turn->spec->elastic.graceful_ms : 0;
    int size = stops ? 0 : size_now(turn, ready);
    if (size == 0 || !assign(turn, readiness, size))
        return;
    job_move(turn, JOB_LAUNCHING);
    record->growing = false;
    record->attempt++;
    record->ran_at = 0;
    record->message[0] = record->reason[0] = '\0';
}

/* --- launching and running ------------------------------------------------------------------------- */

/* What is wrong with the pod of a rank; NONE: nothing. */
static enum job_cause fault_of(const struct job_turn *turn, int rank, struct job_fault *fault)
{
    int number = turn->record->ranks[rank];
    const struct job_pod *pod = &turn->seen->pods[number];
    const char *reason = "", *message = "", *node = pod->exists ? pod->node : turn->record->rank_nodes[rank], *why;
    enum job_cause cause = JOB_CAUSE_NONE;
    if (job_node_failed(turn, node, pod->agent, &why)) {
        cause = JOB_CAUSE_NODE;
        reason = "NodeFault";
        message = why;
    } else if (!pod->exists || pod->deleting) {
        cause = JOB_CAUSE_EVICTED;
        reason = pod->disrupted ? "PodEvicted" : "PodDeleted";
    } else if (pod->finished) {
        cause = pod->disrupted ? JOB_CAUSE_EVICTED : JOB_CAUSE_POD;
        reason = pod->disrupted ? "PodEvicted" : "PodFailed";
        message = pod->ended_as;
    } else if (pod->agent == JOB_AGENT_FAULTED) {
        cause = JOB_CAUSE_APPLICATION;
        reason = pod->agent_reason[0] != '\0' ? pod->agent_reason : "WorkerFault";
        message = pod->agent_message;
    } else if (pod->agent == JOB_AGENT_UNKNOWN && pod->agent_silent_ms > STUCK_MS) {
        cause = JOB_CAUSE_POD;
        reason = "LauncherNotHeard";
    } else if (turn->record->state == JOB_RUNNING &&
               (pod->agent == JOB_AGENT_READY || pod->agent == JOB_AGENT_INIT || pod->agent == JOB_AGENT_SHUTDOWN)) {
        cause = JOB_CAUSE_POD;
        reason = "LauncherRestarted";
    }
    *fault = (struct job_fault){.cause = cause, .pod = number, .rank = rank, .at = turn->seen->now};
    if (cause == JOB_CAUSE_APPLICATION && pod->agent_since > 0 && pod->agent_since < fault->at)
        fault->at = pod->agent_since;
    text_copy_cut(fault->node, sizeof(fault->node), node);
    text_copy_cut(fault->reason, sizeof(fault->reason), reason);
    text_copy_cut(fault->message, sizeof(fault->message), message);
    return cause;
}

/* The fault that explains the others: a node's before what follows from it elsewhere, and among equals the first one. */
static bool find_fault(const struct job_turn *turn, struct job_fault *ret_fault)
{
    struct job_fault one;
    bool found = false;
    for (int rank = 0; rank < turn->record->rank_count; rank++) {
        if (fault_of(turn, rank, &one) == JOB_CAUSE_NONE)
            continue;
        if (!found || one.cause < ret_fault->cause || (one.cause == ret_fault->cause && one.at < ret_fault->at))
            *ret_fault = one;
        found = true;
    }
    return found;
}

/* Spares that are missing are made, and nothing runs in them. */
static void keep_spares(struct job_turn *turn)
{
    for (int i = 0; i < job_pod_count(turn->spec); i++) {
        if (job_rank_of(turn->record, i) >= 0)
            continue;
        if (!job_wants_pod(turn->spec, i))
            let_go(turn, i);
        if (!job_wants_pod(turn->spec, i) || !keep_pod(turn, i))
            continue;
        enum job_agent agent = turn->seen->pods[i].agent;
        if (agent == JOB_AGENT_RUNNING || agent == JOB_AGENT_COMPLETED || agent == JOB_AGENT_FAULTED)
            *act_of(turn, i) = JOB_ACT_STOP;
    }
}

static void begin_run(struct job_turn *turn)
{
    struct job_record *record = turn->record;
    job_move(turn, JOB_RUNNING);
    record->ran_at = turn->seen->now;
    if (record->first_ran_at == 0)
        record->first_ran_at = record->ran_at;
    if (record->faulty)
        job_note(turn, false, "Running", "The fault of reason %s was remediated in %lld milliseconds.",
                 record->fault.reason, (long long)(turn->seen->now - record->fault.at));
    else
        job_note(turn, false, "Running", "All %d rank%s run", record->rank_count, text_plural(record->rank_count));
    record->faulty = false;
}

static void launch(struct job_turn *turn)
{
    int started = 0;
    for (int rank = 0; rank < turn->record->rank_count; rank++) {
        int number = turn->record->ranks[rank];
        enum job_agent agent = turn->seen->pods[number].agent;
        if (agent == JOB_AGENT_READY)
            *act_of(turn, number) = JOB_ACT_START;
        if (agent == JOB_AGENT_RUNNING || agent == JOB_AGENT_COMPLETED)
            started++;
    }
    keep_spares(turn);
    if (started == turn->record->rank_count)
        begin_run(turn);
}

/* Its workers save a checkpoint, end, and start with another size. */
static void resize(struct job_turn *turn, const char *reason, int size, const char *why)
{
    job_note(turn, false, reason, "From %d to %d replicas%s: the workers save a checkpoint and start anew",
             turn->record->rank_count, size, why);
    job_move(turn, JOB_GATHERING);
    turn->record->growing = true;
    turn->record->ran_at = 0;
}

/* A person asked for a smaller size than it has. */
static bool shrink(struct job_turn *turn)
{
    int most = job_size_most(turn->spec);
    if (!turn->spec->elastic.on || turn->record->rank_count <= most)
        return false;
    resize(turn, "ScaleDown", most, ", as asked for");
    return true;
}

/* Pods that stand ready and have no rank let it grow. */
static bool grow(struct job_turn *turn)
{
    struct job_record *record = turn->record;
    const struct job_elastic *elastic = &turn->spec->elastic;
    int64_t rest_ms = elastic->scaling_ms > elastic->snooze_ms ? elastic->scaling_ms : elastic->snooze_ms;
    int ready = record->rank_count;
    if (!elastic->on || record->rank_count == job_size_most(turn->spec) || turn->seen->now - record->ran_at < rest_ms)
        return false;
    for (int i = 0; i < job_pod_count(turn->spec); i++)
        ready += job_rank_of(record, i) < 0 && is_of_now(record, &turn->seen->pods[i], i) &&
                 turn->seen->pods[i].agent == JOB_AGENT_READY;
    int size = job_size_for(turn->spec, ready);
    if (size <= record->rank_count)
        return false;
    resize(turn, "ScaleUp", size, "");
    return true;
}

static void run(struct job_turn *turn)
{
    int completed = 0;
    for (int rank = 0; rank < turn->record->rank_count; rank++)
        completed += turn->seen->pods[turn->record->ranks[rank]].agent == JOB_AGENT_COMPLETED;
    if (completed == turn->record->rank_count)
        finish(turn, JOB_COMPLETED, "JobCompleted", "All ranks have ended well");
    else if (!shrink(turn) && !grow(turn))
        keep_spares(turn);
}

/* --- the end --------------------------------------------------------------------------------------- */

static void clean_up(struct job_turn *turn)
{
    const struct job_spec *spec = turn->spec;
    const struct job_record *record = turn->record;
    for (int i = 0; i < job_pod_count(spec); i++) {
        const struct job_pod *pod = &turn->seen->pods[i];
        bool complete = pod->succeeded || pod->agent == JOB_AGENT_COMPLETED;
        if (!pod->exists || pod->deleting)
            continue;
        if (spec->clean == JOB_CLEAN_ALL || (spec->clean == JOB_CLEAN_ONLY_COMPLETE && complete))
            *act_of(turn, i) = JOB_ACT_DELETE;
        else if (!pod->finished && pod->agent != JOB_AGENT_UNKNOWN && pod->agent != JOB_AGENT_SHUTDOWN)
            *act_of(turn, i) = JOB_ACT_SHUTDOWN;
    }
    turn->plan->expired = spec->ttl_ms >= 0 && turn->seen->now - record->completed_at >= spec->ttl_ms;
}

static void suspend(struct job_turn *turn)
{
    struct job_record *record = turn->record;
    if (record->state != JOB_SUSPENDED) {
        job_move(turn, JOB_SUSPENDED);
        record->faulty = false;
        record->ran_at = 0;
        job_note(turn, false, "Suspended", "The job is suspended; its pods are deleted");
    }
    for (int i = 0; i < job_pod_count(turn->spec); i++)
        if (turn->seen->pods[i].exists && !turn->seen->pods[i].deleting)
            *act_of(turn, i) = JOB_ACT_DELETE;
}

static bool is_late(int64_t now, int64_t since, int64_t limit_ms)
{
    return limit_ms > 0 && since > 0 && now - since > limit_ms;
}

/* True: one has passed, and the job failed of it. */
static bool check_deadlines(struct job_turn *turn)
{
    const struct job_spec *spec = turn->spec;
    const struct job_record *record = turn->record;
    int64_t now = turn->seen->now;
    bool starts = record->attempt == 0 || (record->state == JOB_LAUNCHING && !record->faulty);
    if (is_late(now, record->started_at, spec->active_deadline_ms))
        job_fail(turn, "DeadlineExceeded", "The job did not end within activeDeadlineSeconds (%lld)",
                 (long long)(spec->active_deadline_ms / MS_PER_S));
    else if (record->faulty && is_late(now, record->fault.at, spec->fault_deadline_ms))
        job_fail(turn, "FaultDeadlineExceeded", "After %s the job did not run again within faultDeadlineSeconds (%lld)",
                 record->fault.reason, (long long)(spec->fault_deadline_ms / MS_PER_S));
    else if (starts && record->state != JOB_RUNNING && is_late(now, record->since, spec->startup_deadline_ms))
        job_fail(turn, "StartupDeadlineExceeded", "The job did not run within startupDeadlineSeconds (%lld)",
                 (long long)(spec->startup_deadline_ms / MS_PER_S));
    return job_is_over(record->state);
}

/* --- the turn -------------------------------------------------------------------------------------- */

static void begin(struct job_turn *turn)
{
    if (turn->record->started_at == 0) {
        turn->record->started_at = turn->seen->now;
        job_note(turn, false, "Created", "The job is taken; its pods are made");
    }
    job_move(turn, JOB_GATHERING);
}

/* Of a fault that was laid to the application or the pod before the node showed that it was its own. */
static void blame_node(struct job_turn *turn)
{
    struct job_record *record = turn->record;
    struct job_fault fault;
    if (!record->faulty || record->fault.cause == JOB_CAUSE_NODE)
        return;
    for (int rank = 0; rank < record->rank_count; rank++)
        if (fault_of(turn, rank, &fault) == JOB_CAUSE_NODE) {
            if (record->fault.counted && record->restarts > 0)
                record->restarts--;
            if (record->fault.counted && record->fault.level != JOB_LEVEL_JOB && record->window_restarts > 0)
                record->window_restarts--;
            fault.at = record->fault.at;
            fault.level = record->fault.level;
            record->node_restarts += record->fault.counted;
            record->fault = fault;
            turn->plan->changed = true;
            job_note(turn, true, "NodeFault", "Found unhealthy node %s%s%s", fault.node,
                     fault.message[0] != '\0' ? ": " : "", fault.message);
            return;
        }
}

/* A person wants it to begin anew: no fault, and nothing is counted. */
static bool restart_as_asked(struct job_turn *turn)
{
    struct job_record *record = turn->record;
    bool remake = turn->spec->remakes, first = record->attempt == 0;
    if (strcmp(turn->spec->asked, record->asked) == 0)
        return false;
    text_copy_cut(record->asked, sizeof(record->asked), turn->spec->asked);
    turn->plan->changed = true;
    if (turn->spec->asked[0] == '\0' || (first && !remake))
        return false;
    for (int i = 0; remake && i < record->pod_count; i++)
        record->incarnations[i]++;
    record->ran_at = 0;
    job_note(turn, false, "RestartAsked", "%s begin anew, as asked for", remake ? "All pods" : "All workers");
    job_move(turn, JOB_GATHERING);
    return true;
}

void job_next(const struct job_spec *spec, const struct job_seen *seen, struct job_record *record,
              struct job_plan *plan)
{
    struct job_turn turn = {spec, seen, record, plan};
    struct job_fault fault;
    job_record_fit(record, spec);
    if (job_is_over(record->state)) {
        clean_up(&turn);
        return;
    }
    if (spec->suspend) {
        suspend(&turn);
        return;
    }
    if (record->state == JOB_CREATED || record->state == JOB_SUSPENDED) {
        begin(&turn);
        return;
    }
    if (check_deadlines(&turn))
        return;
    if (restart_as_asked(&turn))
        return;
    bool at_work = record->state == JOB_LAUNCHING || record->state == JOB_RUNNING;
    if (at_work && (record->rank_count == 0 || !job_is_size(spec, record->rank_count))) {
        job_move(&turn, JOB_GATHERING); /* what was stored is not of this job as it is: its ranks are given anew */
        at_work = false;
    }
    if (at_work && find_fault(&turn, &fault)) {
        job_exclude(&turn);
        job_restart(&turn, &fault);
        return;
    }
    blame_node(&turn);
    job_exclude(&turn);
    if (record->state == JOB_GATHERING)
        gather(&turn);
    else if (record->state == JOB_LAUNCHING)
        launch(&turn);
    else
        run(&turn);
}
