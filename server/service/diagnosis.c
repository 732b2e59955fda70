/*
 * What srun's --auto-resume is answered about its job's nodes: what the policy and the loop already made of them, and nothing
 * else. Each question tells of an attempt, too, which is kept.
 *
 * A step that runs is left alone until a repair wants its node now (reconcile_drain.c asks the attempt to make way) or has passed
 * the jobs by. Of a step that has failed every node counts that is not in service, or will not be. That none is at fault is said
 * only when all its agents were heard since: what killed a step is often in its kernel's log a moment later.
 */
#include "db/attempt.h"
#include "db/operation.h"
#include "server/service/private.h"

#include "base/text.h"

#include <stdlib.h>

#define NODES_MAX 10000            /* of one job */
#define SETTLE_MS MS_PER_S         /* a heartbeat so long after the failure had its turn after what was seen with it */
#define DECIDED_MS (10 * MS_PER_S) /* what is unhealthy and in service is decided on within */
#define ROWS_MAX 20000             /* attempts of one cluster that are kept */

struct broken {
    char node[NODE_NAME_MAX_BYTES], why[REASON_MAX_BYTES];
    enum node_state state;
};

struct diagnosis {
    struct service *s;
    const char *cluster;
    const struct job_attempt *told;
    struct problem *problem;
    struct job_attempt attempt; /* as it is now */
    int64_t now_ms;
    struct broken *broken; /* told when they are stored: the write may run again */
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
    return op->kind == OPERATION_KIND_REBOOT || op->kind == OPERATION_KIND_REPLACE ||
           op->kind == OPERATION_KIND_DELETE || op->kind == OPERATION_KIND_UPDATE;
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
    if (!is_broken(d, &place, status == 0 ? &op : NULL)) {
        d->unheard = d->unheard || (d->attempt.state == ATTEMPT_STATE_FAILED && is_unheard(d, &place));
        return 0;
    }
    d->broken = own_realloc(d->broken, d->broken_count + 1, sizeof(*d->broken));
    struct broken *broken = &d->broken[d->broken_count++];
    broken->state = place.node.state;
    text_copy_cut(broken->node, sizeof(broken->node), name);
    text_copy_cut(broken->why, sizeof(broken->why), status == 0 ? op.reason : place.node.reason);
    if (d->broken_count == 1)
        say_cut(d->attempt.reason, sizeof(d->attempt.reason), "%s: %s", broken->node, broken->why);
    return 0;
}

static int look_at_nodes(struct db_tx *tx, struct diagnosis *d)
{
    char **names = NULL;
    size_t count = 0;
    if (text_hostlist_expand(d->told->nodes, NODES_MAX, &names, &count) != 0)
        return problem_say(d->problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "\"nodes\" must be a host list of at most %d nodes, like \"gpu-[1-4]\".", NODES_MAX);
    int status = 0;
    for (size_t i = 0; i < count && status == 0; i++)
        status = look_at_node(tx, d, names[i]);
    text_list_free(names, count);
    d->attempt.action = d->broken_count > 0 ? RESUME_ACTION_RETRYSTEP
                        : d->unheard        ? RESUME_ACTION_WAIT
                                            : RESUME_ACTION_NONE;
    return status;
}

/* The attempt as it was told of before, or a new one. */
static int recall(struct db_tx *tx, struct diagnosis *d, int64_t cluster_id)
{
    struct job_attempt key = *d->told, before;
    key.cluster_id = cluster_id;
    key.started_at = key.seen_at = d->now_ms;
    int status = db_attempt_get(tx, &key, &before);
    if (status == 0 && key.state < before.state) {
        status = db_attempt_forget(tx, cluster_id, key.job); /* the job's next step, or Slurm began to count anew */
        before = key;
    } else if (status == STATUS_NOT_FOUND) {
        before = key;
        status = db_attempt_prune(tx, cluster_id, ROWS_MAX);
    }
    if (status != 0)
        return status;
    key.started_at = before.started_at;
    key.stop_at = key.state == ATTEMPT_STATE_ENDED ? 0 : before.stop_at;
    key.ended_at = key.state == ATTEMPT_STATE_RUNNING ? 0 : before.ended_at != 0 ? before.ended_at : d->now_ms;
    if (key.reason[0] == '\0')
        text_copy_cut(key.reason, sizeof(key.reason), before.reason);
    d->attempt = key;
    return 0;
}

static int diagnose(struct db_tx *tx, void *arg)
{
    struct diagnosis *d = arg;
    struct cluster cluster;
    d->broken_count = 0;
    d->unheard = false;
    int status = place_find_cluster(tx, d->cluster, &cluster, d->problem);
    if (status == 0)
        status = recall(tx, d, cluster.id);
    if (status == 0 && d->attempt.state != ATTEMPT_STATE_ENDED)
        status = look_at_nodes(tx, d);
    if (status != 0)
        return status;
    if (d->broken_count == 0 && d->attempt.state == ATTEMPT_STATE_RUNNING)
        d->attempt.stop_at = 0; /* the repair was taken back */
    return db_attempt_put(tx, &d->attempt);
}

int service_job_diagnose(struct service *s, const char *cluster, const struct job_attempt *attempt,
                         service_broken_fn fn, void *arg, enum resume_action *ret_action, struct problem *ret_problem)
{
    struct diagnosis d = {
        .s = s, .cluster = cluster, .told = attempt, .problem = ret_problem, .now_ms = service_now(s)};
    int status = service_write(s, "job-diagnose", diagnose, &d, ret_problem);
    for (size_t i = 0; i < d.broken_count && status == 0; i++)
        fn(d.broken[i].node, node_state_text(d.broken[i].state), d.broken[i].why, arg);
    free(d.broken);
    if (status == 0)
        *ret_action = d.attempt.action;
    return status;
}
