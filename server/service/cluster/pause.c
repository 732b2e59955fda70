/*
 * One row says it, and the loop asks that row again in the transaction of each plan, so that no repair begins after the answer to
 * the person who paused.
 */
#include "server/service/cluster/pause.h"

#include "base/text.h"
#include "db/event.h"
#include "server/service/private.h"

struct pausing {
    const struct actor *actor;
    const char *name, *reason;
    bool pause;
    int64_t now_ms;
    struct cluster *cluster;
    struct problem *problem;
};

static int tell(struct db_tx *tx, const struct pausing *pausing)
{
    const struct cluster *cluster = pausing->cluster;
    const char *colon = pausing->reason[0] != '\0' ? ": " : "";
    struct event event = {.level = pausing->pause ? EVENT_LEVEL_WARN : EVENT_LEVEL_INFO,
                          .kind = pausing->pause ? EVENT_KIND_CLUSTER_PAUSED : EVENT_KIND_CLUSTER_RESUMED,
                          .cluster_id = cluster->id};
    text_copy_cut(event.cluster, sizeof(event.cluster), cluster->name);
    text_copy_cut(event.about.actor, sizeof(event.about.actor), pausing->actor->name);
    text_copy_cut(event.about.state, sizeof(event.about.state), pausing->pause ? "paused" : "resumed");
    if (pausing->pause)
        say_cut(event.message, sizeof(event.message),
                "%s paused the cluster %s: nothing is done to its nodes by itself until it is resumed%s%s",
                pausing->actor->name, cluster->name, colon, pausing->reason);
    else
        say_cut(event.message, sizeof(event.message),
                "%s resumed the cluster %s: what is still open is decided on now%s%s", pausing->actor->name,
                cluster->name, colon, pausing->reason);
    return db_event_insert(tx, &event);
}

static int pause_write(struct db_tx *tx, void *arg)
{
    struct pausing *pausing = arg;
    struct cluster *cluster = pausing->cluster;
    int status = place_find_cluster(tx, pausing->name, cluster, pausing->problem);
    if (status < 0)
        return status;
    if (pausing->pause && cluster->state == CLUSTER_STATE_DELETING)
        return problem_say(pausing->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "The cluster \"%s\" is being deleted: its nodes go.", cluster->name);
    bool silent = pausing->reason[0] == '\0' || text_equal(cluster->pause_reason, pausing->reason);
    bool same = silent && text_equal(cluster->paused_by, pausing->actor->name);
    if (pausing->pause ? cluster->paused_at > 0 && same : cluster->paused_at == 0)
        return NOTHING_DONE;
    if (cluster->paused_at == 0 || !pausing->pause)
        cluster->paused_at = pausing->pause ? pausing->now_ms : 0;
    say_cut(cluster->paused_by, sizeof(cluster->paused_by), "%s", pausing->pause ? pausing->actor->name : "");
    if (!pausing->pause || !silent)
        say_cut(cluster->pause_reason, sizeof(cluster->pause_reason), "%s", pausing->pause ? pausing->reason : "");
    status = db_cluster_set_pause(tx, cluster);
    return status < 0 ? status : tell(tx, pausing);
}

static int change_pause(struct service *s, struct pausing *pausing)
{
    int status = service_require(pausing->actor, ROLE_OPERATOR, pausing->problem);
    if (status < 0)
        return status;
    pausing->now_ms = service_now(s);
    status =
        service_write(s, pausing->pause ? "cluster-pause" : "cluster-resume", pause_write, pausing, pausing->problem);
    if (status < 0)
        return status;
    service_wake(s, SERVICE_WAKE_CLUSTER, pausing->cluster->id);
    service_events_added(s);
    return 0;
}

int service_cluster_pause(struct service *s, const struct actor *actor, const char *cluster, const char *reason,
                          struct cluster *ret_cluster, struct problem *ret_problem)
{
    struct pausing pausing = {.actor = actor,
                              .name = cluster,
                              .reason = reason,
                              .pause = true,
                              .cluster = ret_cluster,
                              .problem = ret_problem};
    return change_pause(s, &pausing);
}

int service_cluster_resume(struct service *s, const struct actor *actor, const char *cluster, const char *reason,
                           struct cluster *ret_cluster, struct problem *ret_problem)
{
    struct pausing pausing = {
        .actor = actor, .name = cluster, .reason = reason, .cluster = ret_cluster, .problem = ret_problem};
    return change_pause(s, &pausing);
}
