/*
 * Writing down what happens: moves of nodes, lines of the timeline, new operations. Inside the turn's transaction these
 * only touch the store; what they mean for the loop's memory is noted as effects and done after the commit.
 */
#include "server/reconcile/base/record.h"
#include "base/text.h"
#include "db/event.h"
#include "db/node.h"
#include "db/operation.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/due.h"
#include "server/reconcile/base/effect.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/operation.h"
#include "server/reconcile/base/queue.h"

#include <stdio.h>
#include <string.h>

struct effect *turn_effect(struct turn *turn, enum effect_kind kind, struct rnode *node)
{
    if (turn->effect_count == turn->effect_capacity) {
        turn->effect_capacity = turn->effect_capacity == 0 ? 64 : turn->effect_capacity * 2;
        turn->effects = own_realloc(turn->effects, turn->effect_capacity, sizeof(*turn->effects));
    }
    struct effect *effect = &turn->effects[turn->effect_count++];
    memset(effect, 0, sizeof(*effect));
    effect->kind = kind;
    effect->node = node;
    return effect;
}

static void note_call(struct turn *turn, struct rnode *node, effect_fn fn, const void *data, size_t size, bool last)
{
    struct effect *effect = turn_effect(turn, EFFECT_CALL, node);
    effect->u.call.fn = fn;
    effect->u.call.last = last;
    effect->u.call.data = own_calloc(1, size + 1);
    if (size > 0)
        memcpy(effect->u.call.data, data, size);
}

void turn_after(struct turn *turn, struct rnode *node, effect_fn fn, const void *data, size_t size)
{
    note_call(turn, node, fn, data, size, false);
}

void turn_at_last(struct turn *turn, effect_fn fn, const void *data, size_t size)
{
    note_call(turn, NULL, fn, data, size, true);
}

static void effect_free(struct effect *effect)
{
    if (effect->kind == EFFECT_OPERATION || effect->kind == EFFECT_OPERATION_END)
        reconcile_call_free(TAKE(effect->u.operation.call));
    if (effect->kind == EFFECT_CALL)
        free(TAKE(effect->u.call.data));
}

void turn_reset(struct turn *turn)
{
    for (size_t i = 0; i < turn->effect_count; i++)
        effect_free(&turn->effects[i]);
    turn->effect_count = 0;
    turn->event_count = 0;
    turn->about = (struct event_about){0};
    turn->asked = NULL; /* a transaction that is run again sees what others have written meanwhile */
    turn_log_forget(turn);
}

/* --- timeline ---------------------------------------------------------------------------------- */
static int event_put(struct turn *turn, struct event *event, const char *fmt, va_list ap)
{
    if (turn->muted) {
        turn->about = (struct event_about){0};
        return 0;
    }
    autofree char *message = own_vprintf(fmt, ap);
    text_copy_cut(event->message, sizeof(event->message), message);
    if (event->kind == EVENT_KIND_NODE_STATE && event->level == EVENT_LEVEL_ERROR)
        memcpy(event->failure, event->message, sizeof(event->failure));
    event->at = turn->now;
    event->about = turn->about;
    turn->about = (struct event_about){0};
    turn->event_count++;
    turn_log(turn, event);
    return db_event_insert(turn->tx, event);
}

void turn_about(struct turn *turn, const char *subject, const char *state, const char *actor)
{
    text_copy_cut(turn->about.subject, sizeof(turn->about.subject), subject);
    text_copy_cut(turn->about.state, sizeof(turn->about.state), state);
    text_copy_cut(turn->about.actor, sizeof(turn->about.actor), actor);
}

void turn_about_move(struct turn *turn, const char *was, const char *is)
{
    turn_about(turn, "", is, "");
    text_copy_cut(turn->about.was, sizeof(turn->about.was), was);
}

int turn_event(struct turn *turn, enum event_level level, enum event_kind kind, struct rnode *node,
               const struct operation *operation, const char *fmt, ...)
{
    const struct rcluster *cluster = node->group->cluster;
    struct event event = {.level = level, .kind = kind, .cluster_id = cluster->id, .node_id = node->id};
    text_copy_cut(event.cluster, sizeof(event.cluster), cluster->name);
    text_copy_cut(event.group, sizeof(event.group), node->group->name);
    text_copy_cut(event.node, sizeof(event.node), node->name);
    struct fleet_view live;
    if (fleet_get(turn->r->service->fleet, node->id, &live) == 0)
        text_copy_cut(event.instance_id, sizeof(event.instance_id), live.slot.instance_id);
    if (operation != NULL) {
        event.operation_id = operation->id;
        text_copy_cut(event.operation, sizeof(event.operation), operation->uid);
    }
    if (kind == EVENT_KIND_OPERATION_FAILED && operation != NULL)
        text_copy_cut(event.failure, sizeof(event.failure), operation->error);
    va_list ap;
    va_start(ap, fmt);
    int status = event_put(turn, &event, fmt, ap);
    va_end(ap);
    return status;
}

int turn_cluster_event(struct turn *turn, enum event_level level, enum event_kind kind, const struct rcluster *cluster,
                       const char *failure, const char *fmt, ...)
{
    struct event event = {.level = level, .kind = kind, .cluster_id = cluster->id};
    text_copy_cut(event.cluster, sizeof(event.cluster), cluster->name);
    text_copy_cut(event.failure, sizeof(event.failure), failure);
    va_list ap;
    va_start(ap, fmt);
    int status = event_put(turn, &event, fmt, ap);
    va_end(ap);
    return status;
}

int turn_change_event(struct turn *turn, enum event_level level, enum event_kind kind,
                      const struct operation *operation, const char *fmt, ...)
{
    struct event event = {
        .level = level, .kind = kind, .cluster_id = operation->cluster_id, .operation_id = operation->id};
    text_copy_cut(event.cluster, sizeof(event.cluster), operation->cluster);
    text_copy_cut(event.operation, sizeof(event.operation), operation->uid);
    text_copy_cut(event.failure, sizeof(event.failure), operation->error);
    va_list ap;
    va_start(ap, fmt);
    int status = event_put(turn, &event, fmt, ap);
    va_end(ap);
    return status;
}

int turn_group_event(struct turn *turn, enum event_level level, enum event_kind kind, const struct rgroup *group,
                     const char *failure, const char *fmt, ...)
{
    const struct rcluster *cluster = group->cluster;
    struct event event = {.level = level, .kind = kind, .cluster_id = cluster->id};
    text_copy_cut(event.cluster, sizeof(event.cluster), cluster->name);
    text_copy_cut(event.group, sizeof(event.group), group->name);
    text_copy_cut(event.failure, sizeof(event.failure), failure);
    if (kind == EVENT_KIND_GROUP_SCALING) {
        event.instance_count = group->ready;
        event.target_count = group->row.desired;
        event.min_count = group->row.min_count;
    }
    va_list ap;
    va_start(ap, fmt);
    int status = event_put(turn, &event, fmt, ap);
    va_end(ap);
    return status;
}

/* --- nodes ------------------------------------------------------------------------------------- */
int turn_node_write(struct turn *turn, struct rnode *node, const struct node *row)
{
    int status = db_node_update(turn->tx, row);
    if (status != 0)
        return status;
    struct effect *effect = turn_effect(turn, EFFECT_NODE, node);
    effect->u.row.state = row->state;
    effect->u.row.health = row->health;
    effect->u.row.opted_out = row->opted_out;
    effect->u.row.has_instance = row->instance_row != 0;
    effect->u.row.retry_at = row->retry_at;
    effect->u.row.served = row->served;
    effect->u.row.launch_tries = (uint8_t)row->launch_tries;
    return 0;
}

int turn_node_move(struct turn *turn, struct rnode *node, struct node *row, enum node_state to, const char *reason)
{
    enum node_state from = row->state;
    char cut[REASON_MAX_BYTES];
    text_copy_cut(cut, sizeof(cut), reason);
    if (from == to && text_equal(row->reason, cut))
        return 0;
    node_move(row, to, turn->now);
    if (to != NODE_STATE_HELD)
        row->retry_at = 0;
    memcpy(row->reason, cut, sizeof(cut));
    int status = turn_node_write(turn, node, row);
    if (status != 0 || from == to)
        return status;
    enum event_level level = to == NODE_STATE_FAILED ? EVENT_LEVEL_ERROR
                             : to == NODE_STATE_HELD ? EVENT_LEVEL_WARN
                                                     : EVENT_LEVEL_INFO;
    turn_about_move(turn, node_state_text(from), node_state_text(to));
    return turn_event(turn, level, EVENT_KIND_NODE_STATE, node, NULL, "%s -> %s%s%s", node_state_text(from),
                      node_state_text(to), cut[0] != '\0' ? ": " : "", cut);
}

/* --- operations -------------------------------------------------------------------------------- */
static void add_step(struct operation *op, enum step_kind kind)
{
    op->steps[op->step_count] =
        (struct operation_step){.ordinal = op->step_count, .kind = kind, .state = STEP_STATE_WAITING};
    op->step_count++;
}

static void operation_fill(struct turn *turn, struct rnode *node, const struct node *row,
                           const struct new_operation *wanted, struct operation *ret_operation)
{
    struct operation *op = ret_operation;
    *op = (struct operation){.cluster_id = row->cluster_id,
                             .node_id = node->id,
                             .kind = wanted->kind,
                             .state = OPERATION_STATE_PENDING,
                             .urgency = wanted->urgency,
                             .cause = wanted->cause,
                             .created_at = turn->now};
    if (wanted->uid != NULL)
        text_copy_cut(op->uid, sizeof(op->uid), wanted->uid);
    else
        id_uuid(turn->r->service->ids, op->uid);
    text_copy_cut(op->key, sizeof(op->key), wanted->key);
    text_copy_cut(op->reason, sizeof(op->reason), wanted->reason);
    text_copy_cut(op->actor, sizeof(op->actor), wanted->actor);
    text_copy_cut(op->code, sizeof(op->code), wanted->code != NULL ? wanted->code : "");
    if (wanted->decision != NULL) {
        op->decision_id = wanted->decision->id;
        text_copy_cut(op->device, sizeof(op->device), wanted->decision->device);
        text_copy_cut(op->code, sizeof(op->code), wanted->decision->code);
        op->job_signal = wanted->decision->job_signal;
        op->job_wait_ms = wanted->decision->job_wait_ms;
    }
    int count;
    const enum step_kind *kinds = operation_steps(wanted->kind, &count);
    bool repairs = wanted->kind == OPERATION_KIND_REBOOT || wanted->kind == OPERATION_KIND_REPLACE;
    if (repairs && fault_has_trait(op->code, FAULT_TRAIT_TESTED_ALONE))
        op->retests = SM_BIT(DEEP_CHECK_STRESS);
    for (int i = 0; i < count; i++) {
        add_step(op, kinds[i]);
        if (op->retests != 0 && wanted->kind == OPERATION_KIND_REBOOT && kinds[i] == STEP_KIND_JOIN)
            add_step(op, STEP_KIND_CHECK);
    }
}

int turn_operation_new(struct turn *turn, struct rnode *node, const struct node *row,
                       const struct new_operation *wanted, int64_t *ret_id)
{
    struct operation op;
    struct instance instance;
    operation_fill(turn, node, row, wanted, &op);
    if (row->instance_row != 0 && db_instance_get_row(turn->tx, row->instance_row, &instance) == 0) {
        text_copy_cut(op.old_instance, sizeof(op.old_instance), instance.instance_id);
        text_copy_cut(op.old_boot, sizeof(op.old_boot), instance.boot_id);
    }
    int status = db_operation_insert(turn->tx, &op);
    if (status != 0)
        return status;
    struct effect *effect = turn_effect(turn, EFFECT_OPERATION_NEW, node);
    effect->u.operation.id = op.id;
    effect->u.operation.fault = policy_repair_class(op.code);
    effect->u.operation.kind = op.kind;
    *ret_id = op.id;
    return 0;
}
