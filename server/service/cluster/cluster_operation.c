/*
 * The operation of a change of a whole cluster. It begins in the transaction of the change itself, and the reconcile loop
 * carries it on and ends it (reconcile/cluster/change.c). A cluster has at most one of a kind that is open: the next change of that
 * kind supersedes it, because what it asked for is wanted no more; its deletion supersedes all.
 */
#include "server/service/private.h"

#include "base/text.h"
#include "db/event.h"

#include <stdio.h>

static int tell(struct db_tx *tx, const struct cluster *cluster, const struct operation *operation,
                enum event_kind kind, const char *what)
{
    struct event event = {
        .level = EVENT_LEVEL_INFO, .kind = kind, .cluster_id = cluster->id, .operation_id = operation->id};
    text_copy_cut(event.cluster, sizeof(event.cluster), cluster->name);
    text_copy_cut(event.operation, sizeof(event.operation), operation->uid);
    say_cut(event.message, sizeof(event.message), "%s %s", operation_kind_text(operation->kind), what);
    return db_event_insert(tx, &event);
}

static void move(struct operation *operation, enum operation_state to)
{
    int state = (int)operation->state;
    sm_move(&operation_state_machine, &state, (int)to);
    operation->state = to;
}

static int supersede(struct db_tx *tx, const struct cluster *cluster, enum operation_kind kind,
                     const struct operation *by)
{
    struct operation earlier;
    int status = db_operation_change(tx, cluster->id, kind, &earlier);
    if (status != 0)
        return status == STATUS_NOT_FOUND ? 0 : status;
    move(&earlier, OPERATION_STATE_CANCELLED);
    earlier.finished_at = by->created_at;
    say_cut(earlier.error, sizeof(earlier.error), "superseded by a later change: %s %s", operation_kind_text(by->kind),
            by->uid);
    status = db_operation_update(tx, &earlier);
    return status < 0 ? status : tell(tx, cluster, &earlier, EVENT_KIND_OPERATION_CANCELLED, earlier.error);
}

int cluster_operation_begin(struct db_tx *tx, struct service *s, struct cluster *cluster, enum operation_kind kind,
                            const char *actor, const char *reason)
{
    struct operation operation = {.cluster_id = cluster->id,
                                  .kind = kind,
                                  .state = OPERATION_STATE_PENDING,
                                  .urgency = kind == OPERATION_KIND_DELETE_CLUSTER ? URGENCY_NOW : URGENCY_AFTER_JOBS,
                                  .created_at = service_now(s)};
    bool all = kind == OPERATION_KIND_DELETE_CLUSTER;
    int status = 0;
    id_uuid(s->ids, operation.uid);
    text_copy_cut(operation.cluster, sizeof(operation.cluster), cluster->name);
    text_copy_cut(operation.reason, sizeof(operation.reason), reason);
    text_copy_cut(operation.actor, sizeof(operation.actor), actor);
    for (int other = OPERATION_KIND_FIRST_OF_CLUSTER; status == 0 && other < OPERATION_KIND_COUNT; other++)
        if (all || other == (int)kind)
            status = supersede(tx, cluster, (enum operation_kind)other, &operation);
    if (status == 0)
        status = db_operation_insert(tx, &operation);
    if (status == 0)
        text_copy_cut(cluster->operation, sizeof(cluster->operation), operation.uid);
    return status;
}

int cluster_operation_find(struct db_tx *tx, struct cluster *cluster, enum operation_kind kind)
{
    struct operation operation;
    int status = db_operation_change(tx, cluster->id, kind, &operation);
    if (status == 0)
        text_copy_cut(cluster->operation, sizeof(cluster->operation), operation.uid);
    return status;
}

int cluster_operation_end(struct db_tx *tx, struct service *s, const struct cluster *cluster)
{
    struct operation operation;
    int status = db_operation_get(tx, cluster->operation, &operation);
    if (status < 0)
        return status;
    if (operation.state == OPERATION_STATE_PENDING)
        move(&operation, OPERATION_STATE_RUNNING);
    move(&operation, OPERATION_STATE_SUCCEEDED);
    operation.finished_at = service_now(s);
    if (operation.started_at == 0)
        operation.started_at = operation.finished_at;
    status = db_operation_update(tx, &operation);
    return status < 0 ? status : tell(tx, cluster, &operation, EVENT_KIND_OPERATION_SUCCEEDED, "succeeded");
}
