/*
 * What srun's --auto-resume is answered about its job's nodes: what the policy and the loop already made of them, and nothing
 * else. Each question tells of an attempt, too, which is kept.
 *
 * A step that runs is left alone until a repair wants its node now (reconcile/operation/drain.c asks the attempt to make way) or has passed
 * the jobs by. Of a step that has failed every node counts that is not in service, or will not be, or that neither its agent
 * nor the scheduler hears. That none is at fault is said
 * only after a while (recovery.diagnosisSettle) and when all its agents were heard since: what killed a step is often in its kernel's
 * log some seconds later.
 *
 * All users of a site speak with one token, so what is told is held against the scheduler's last snapshot. The nodes, of which a
 * job may have thousands, are looked at beside the writer; what came of it is then written in one short transaction.
 */
#include "db/attempt.h"
#include "db/job_run.h"
#include "db/operation.h"
#include "server/service/job/job_run.h"
#include "server/service/private.h"
#include "server/service/scheduler/scheduler.h"

#include "base/map.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define NODES_MAX 10000            /* of one job */
#define SETTLE_MS MS_PER_S         /* a heartbeat so long after the failure had its turn after what was seen with it */
#define DECIDED_MS (10 * MS_PER_S) /* what is unhealthy and in service is decided on within */
#define LATE_MS (10 * MS_PER_MIN)  /* so soon a step back is a word that came late; then it is another job's */

struct broken {
    char node[NODE_NAME_MAX_BYTES], why[REASON_MAX_BYTES];
    enum node_state state;
};

struct diagnosis {
    struct service *s;
    const char *cluster;
    const struct job_attempt *told;
    struct problem *problem;
    char **nodes;
    size_t node_count;
    struct job_snapshot *snapshot;
    const struct cluster_job *job; /* of the snapshot, as the scheduler last showed it; NULL: it did not */
    struct job_attempt attempt;    /* as it is now */
    bool is_late;                  /* what is told is over already */
    int64_t now_ms, fault_at;
    struct broken *broken;
    size_t broken_count;
    bool unheard;
};

/* The jobs have been waited for, or were passed by. */
static bool is_past_drain(const struct operation *op)
{
    for (int i = 0; i < op->step_count; i++)
        if (op->steps[i].kind == STEP_KIND_DRAIN)
            return op->steps[i].state == STEP_STATE_DONE || op->steps[i].state == STEP_STATE_SKIPPED;
    return op->state == OPERATION_STATE_RUNNING;
}

static bool is_repair(const struct operation *op)
{
    return operation_is_repair(op->kind) || op->kind == OPERATION_KIND_DELETE || op->kind == OPERATION_KIND_UPDATE;
}

/* Two that look by themselves hear nothing of it. The policy waits longer before it reboots a machine; a job that has failed does not. */
static bool is_lost(const struct diagnosis *d, const struct place *place)
{
    struct fleet_view live;
    if (d->attempt.state != ATTEMPT_STATE_FAILED || d->snapshot == NULL ||
        fleet_get(d->s->fleet, place->node.id, &live) != 0 || !live.silent)
        return false;
    for (size_t i = 0; i < d->snapshot->node_count; i++)
        if (strcmp(d->snapshot->nodes[i].name, place->node.name) == 0)
            return d->snapshot->nodes[i].unheard;
    return false;
}

static bool is_broken(const struct diagnosis *d, const struct place *place, const struct operation *op)
{
    if (d->attempt.state == ATTEMPT_STATE_RUNNING && d->attempt.stop_at == 0)
        return op != NULL && is_repair(op) && is_past_drain(op);
    if (op != NULL && op->kind == OPERATION_KIND_CHECK)
        return false; /* it waits for the end of the job */
    return place->node.state != NODE_STATE_READY || (op != NULL && is_repair(op));
}

static bool is_unheard(const struct diagnosis *d, const struct place *place)
{
    struct fleet_view live;
    if (place->node.health == HEALTH_UNHEALTHY && d->now_ms - place->node.health_since < DECIDED_MS)
        return true;
    if (place->instance.id == 0 || fleet_get(d->s->fleet, place->node.id, &live) != 0 || live.last_heartbeat_at == 0)
        return false; /* there is no agent to be heard */
    return live.last_heartbeat_at < d->attempt.ended_at + SETTLE_MS;
}

static void add_broken(struct diagnosis *d, const char *name, const struct place *place, const struct operation *op)
{
    bool ill = place->node.health != HEALTH_HEALTHY;
    int64_t since = ill ? place->node.health_since : op != NULL ? op->created_at : d->now_ms;
    d->broken = own_realloc(d->broken, d->broken_count + 1, sizeof(*d->broken));
    struct broken *broken = &d->broken[d->broken_count++];
    broken->state = place->node.state;
    text_copy_cut(broken->node, sizeof(broken->node), name);
    text_copy_cut(broken->why, sizeof(broken->why), op != NULL ? op->reason : place->node.reason);
    d->fault_at = d->broken_count == 1 || since < d->fault_at ? since : d->fault_at;
}

static int look_at_node(struct db_tx *tx, struct diagnosis *d, const char *name)
{
    struct place place;
    struct operation op;
    struct problem none;
    int status = place_find(tx, d->cluster, name, &place, &none);
    if (status == STATUS_NOT_FOUND)
        return 0; /* it is not this cluster's */
    if (status == 0)
        status = db_operation_active(tx, place.node.id, &op);
    if (status != 0 && status != STATUS_NOT_FOUND)
        return status;
    if (is_broken(d, &place, status == 0 ? &op : NULL) || is_lost(d, &place))
        add_broken(d, name, &place, status == 0 ? &op : NULL);
    else
        d->unheard = d->unheard || (d->attempt.state == ATTEMPT_STATE_FAILED && is_unheard(d, &place));
    return 0;
}

/* --- what was told before ---------------------------------------------------------------------------- */

/* What is told now, with what is known of it. */
static void recall(struct diagnosis *d, const struct job_attempt *before)
{
    struct job_attempt now = *d->told;
    now.cluster_id = before->cluster_id;
    now.node_count = (int64_t)d->node_count;
    now.seen_at = d->now_ms;
    now.started_at = before->started_at;
    now.action = before->action;
    now.fault_at = before->fault_at;
    now.progress_at = now.progress_at != 0 ? now.progress_at : before->progress_at;
    now.stop_at = now.state == ATTEMPT_STATE_ENDED ? 0 : before->stop_at;
    now.ended_at = now.state == ATTEMPT_STATE_RUNNING ? 0 : before->ended_at != 0 ? before->ended_at : d->now_ms;
    now.waits_since = now.state == ATTEMPT_STATE_WAITING && before->waits_since == 0 ? d->now_ms : before->waits_since;
    if (now.reason[0] == '\0')
        text_copy_cut(now.reason, sizeof(now.reason), before->reason);
    d->attempt = now;
}

/* NOT_FOUND: it is a new one. */
static int get_before(struct db_tx *tx, struct diagnosis *d, struct job_attempt *ret_before)
{
    struct cluster cluster;
    int status = place_find_cluster(tx, d->cluster, &cluster, d->problem);
    if (status != 0)
        return status;
    struct job_attempt key = *d->told;
    key.cluster_id = cluster.id;
    key.started_at = d->now_ms;
    status = db_attempt_get(tx, &key, ret_before);
    d->is_late = false;
    bool anew = status == STATUS_NOT_FOUND;
    if (status == 0 && key.state < ret_before->state) {
        anew = key.step == ATTEMPT_STEP_NONE || d->now_ms - ret_before->seen_at >= LATE_MS;
        d->is_late = !anew;
    }
    if (anew)
        *ret_before = key;
    if (anew)
        ret_before->action = RESUME_ACTION_NONE;
    return anew ? STATUS_NOT_FOUND : status;
}

/* --- the look, and the write ------------------------------------------------------------------------- */

/* A new attempt of a job that the scheduler shows as over, or as being elsewhere, is somebody else's invention. What is
 * begun anew after its end, by a requeue, is shown as over by a snapshot of before. */
static int check_told(const struct diagnosis *d)
{
    char **names = NULL;
    size_t count = 0;
    if (d->job != NULL && d->job->restarts >= d->told->restart && !job_is_on(d->job))
        return problem_say(d->problem, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND, "The job %s is over: %s.", d->job->id,
                           cluster_job_state_text(d->job->state));
    if (d->job == NULL || d->job->restarts != d->told->restart || d->job->state != CLUSTER_JOB_RUNNING ||
        text_hostlist_expand(d->job->nodes, JOB_HOSTLIST_MAX, &names, &count) != 0)
        return 0;
    bool shared = false;
    struct map *its = map_new();
    for (size_t i = 0; i < count; i++)
        map_set(its, names[i], its);
    for (size_t i = 0; i < d->node_count && !shared; i++)
        shared = map_get(its, d->nodes[i]) != NULL;
    map_free(its);
    text_list_free(names, count);
    if (shared)
        return 0;
    return problem_say(d->problem, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND, "The job %s runs on none of these nodes.",
                       d->job->id);
}

static int look(struct db_tx *tx, void *arg)
{
    struct diagnosis *d = arg;
    struct job_attempt before;
    struct cluster cluster;
    char why[SERVICE_SCHEDULER_ERROR_MAX];
    int status = place_find_cluster(tx, d->cluster, &cluster, d->problem);
    if (status != 0)
        return status;
    d->snapshot = service_scheduler_snapshot(service_scheduler_of(d->s, &cluster), d->now_ms, why);
    d->job = d->snapshot == NULL ? NULL : job_run_find(d->snapshot, d->told->job);
    status = get_before(tx, d, &before);
    if (status == STATUS_NOT_FOUND && d->problem->detail[0] == '\0')
        status = check_told(d);
    if (status != 0)
        return status;
    recall(d, &before);
    bool looks = d->attempt.state == ATTEMPT_STATE_RUNNING || d->attempt.state == ATTEMPT_STATE_FAILED;
    for (size_t i = 0; i < d->node_count && status == 0 && looks && !d->is_late; i++)
        status = look_at_node(tx, d, d->nodes[i]);
    return status;
}

/* What will be seen of its nodes may not have been seen yet. */
static bool is_early(const struct diagnosis *d)
{
    return d->unheard ||
           (d->attempt.state == ATTEMPT_STATE_FAILED && d->now_ms < d->attempt.ended_at + d->s->diagnosis_settle_ms);
}

static int put(struct db_tx *tx, void *arg)
{
    struct diagnosis *d = arg;
    struct job_attempt before;
    int64_t stop_at = d->attempt.stop_at; /* what the look knew */
    int status = get_before(tx, d, &before);
    if (status == STATUS_NOT_FOUND && d->problem->detail[0] == '\0')
        status = job_run_begin(tx, &before, JOB_RUNS_MAX);
    if (status != 0)
        return status;
    recall(d, &before);
    if (d->is_late)
        return NOTHING_DONE;
    struct job_attempt *now = &d->attempt;
    if (now->state == ATTEMPT_STATE_RUNNING || now->state == ATTEMPT_STATE_FAILED)
        now->action = d->broken_count > 0 ? RESUME_ACTION_RETRYSTEP
                      : is_early(d)       ? RESUME_ACTION_WAIT
                                          : RESUME_ACTION_NONE;
    if (d->broken_count == 0 && now->state == ATTEMPT_STATE_RUNNING && now->stop_at == stop_at)
        now->stop_at = 0; /* the repair was taken back */
    if (d->broken_count > 0)
        say_cut(now->reason, sizeof(now->reason), "%s: %s", d->broken[0].node, d->broken[0].why);
    if (d->broken_count > 0 && now->fault_at == 0)
        now->fault_at = d->fault_at;
    status = db_attempt_put(tx, now);
    return status != 0 ? status : job_run_tell(tx, now, d->job);
}

int service_job_diagnose(struct service *s, const char *cluster, const struct job_attempt *attempt,
                         service_broken_fn fn, void *arg, enum resume_action *ret_action, struct problem *ret_problem)
{
    struct diagnosis d = {
        .s = s, .cluster = cluster, .told = attempt, .problem = ret_problem, .now_ms = service_now(s)};
    if (text_hostlist_expand(attempt->nodes, NODES_MAX, &d.nodes, &d.node_count) != 0)
        return problem_say(ret_problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "\"nodes\" must be a host list of at most %d nodes, like \"gpu-[1-4]\".", NODES_MAX);
    int status = service_read(s, look, &d, ret_problem);
    if (status == 0)
        status = service_write(s, "job-diagnose", put, &d, ret_problem);
    for (size_t i = 0; i < d.broken_count && status == 0; i++)
        fn(d.broken[i].node, node_state_text(d.broken[i].state), d.broken[i].why, arg);
    text_list_free(d.nodes, d.node_count);
    job_snapshot_free(d.snapshot);
    free(d.broken);
    if (status >= 0)
        *ret_action = d.is_late ? RESUME_ACTION_NONE : d.attempt.action;
    return status < 0 ? status : 0;
}

struct earlier {
    const char *cluster;
    const struct job_attempt *attempt;
    struct job_attempt *found;
    struct problem *problem;
};

static int find_earlier(struct db_tx *tx, void *arg)
{
    struct earlier *earlier = arg;
    struct cluster cluster;
    int status = place_find_cluster(tx, earlier->cluster, &cluster, earlier->problem);
    if (status != 0)
        return status;
    struct job_attempt key = *earlier->attempt;
    key.cluster_id = cluster.id;
    status = db_attempt_get_earlier(tx, &key, earlier->found);
    return status == STATUS_NOT_FOUND ? 0 : status;
}

int service_job_earlier(struct service *s, const char *cluster, const struct job_attempt *attempt,
                        struct job_attempt *ret_earlier, struct problem *ret_problem)
{
    struct earlier earlier = {.cluster = cluster, .attempt = attempt, .found = ret_earlier, .problem = ret_problem};
    *ret_earlier = (struct job_attempt){0};
    return service_read(s, find_earlier, &earlier, ret_problem);
}
