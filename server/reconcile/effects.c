/*
 * What a turn's transaction changes in memory, done after its commit: base/record.c and the parts noted it inside.
 */
#include "server/reconcile/effects.h"
#include "base/own.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/due.h"
#include "server/reconcile/base/effect.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/operation.h"
#include "server/reconcile/base/queue.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/keep/address.h"
#include "server/reconcile/keep/hold.h"
#include "server/reconcile/observe/agents.h"
#include "server/reconcile/world/recount.h"
#include "server/reconcile/world/table.h"

#define UNHEARD_LOOK_MS 10000 /* a node not heard of since we started is looked at again so soon */

static void do_node(struct reconcile *r, struct effect *effect)
{
    struct rnode *node = effect->node;
    if (node->state != effect->u.row.state)
        reconcile_node_dirty(r, node); /* its health follows from its state */
    node->opted_out = effect->u.row.opted_out;
    node->has_instance = effect->u.row.has_instance;
    node->was_ready = node->was_ready || effect->u.row.served;
    node->launch_tries = effect->u.row.launch_tries;
    reconcile_node_set(r, node, effect->u.row.state, effect->u.row.health);
    if (node->state == NODE_STATE_DELETING)
        reconcile_operation_poke(r, node); /* whatever it is about is overtaken */
    node->hold_stale = true;
    if (effect->u.row.state == NODE_STATE_HELD && effect->u.row.retry_at > 0)
        reconcile_node_due(r, node, effect->u.row.retry_at);
}

static void do_fleet(struct reconcile *r, struct effect *effect)
{
    fleet_put(r->service->fleet, &effect->u.fleet.slot);
    effect->node->image = effect->u.fleet.image;
    reconcile_node_recount(effect->node);
}

static void do_operation_new(struct turn *turn, struct effect *effect)
{
    struct reconcile *r = turn->r;
    struct rop *op = reconcile_operation_add(r, effect->node, effect->u.operation.id, effect->u.operation.kind,
                                             effect->u.operation.fault, turn->now);
    if (effect->u.operation.operated)
        op->ready = false;
    r->stats.operations_started++;
}

static void take_result(struct rnode *node, struct rcall *took)
{
    if (took == NULL || node->op == NULL || node->op->result != took)
        return;
    node->op->result = NULL;
    node->op->in_flight = false;
    reconcile_call_free(took);
}

static void do_operation(struct reconcile *r, struct effect *effect)
{
    struct rop *op = effect->node->op;
    take_result(effect->node, effect->u.operation.took);
    op->step = effect->u.operation.step;
    op->past_return = effect->u.operation.past_return;
    op->scratch = effect->u.operation.scratch;
    op->due_at = effect->u.operation.due_at;
    if (effect->u.operation.call != NULL) {
        op->in_flight = true;
        op->ready = false; /* an effect before this one may have poked it: its answer does that again */
        reconcile_call_send(r, TAKE(effect->u.operation.call));
        return;
    }
    if (effect->u.operation.waits_for_slot && !op->waits_for_slot) {
        op->waits_for_slot = true;
        op->waits_for_link = effect->u.operation.waits_for_link;
        idqueue_push(&r->slotless[reconcile_operation_class(op->kind)], effect->node->id);
    }
    if (op->due_at > 0)
        due_push(&r->due, op->due_at, DUE_OPERATION, effect->node->id);
}

static void do_operation_end(struct reconcile *r, struct effect *effect)
{
    struct rnode *node = effect->node;
    enum operation_kind kind = node->op->kind;
    bool succeeded = effect->u.operation.end == OPERATION_STATE_SUCCEEDED;
    take_result(node, effect->u.operation.took);
    reconcile_operation_drop(r, node);
    reconcile_address_heard(node);
    if (succeeded && kind != OPERATION_KIND_DELETE) {
        node->launch_failed = false;
    } else if (effect->u.operation.end == OPERATION_STATE_FAILED || kind == OPERATION_KIND_LAUNCH) {
        reconcile_node_unprovisioned(node);
    }
    if (kind == OPERATION_KIND_UPDATE && effect->u.operation.end == OPERATION_STATE_CANCELLED)
        node->member = false; /* it is left for a later batch */
    reconcile_node_recount(node);
    node->leftover = effect->u.operation.leftover;
    node->was_clear = node->was_clear || effect->u.operation.end == OPERATION_STATE_SUCCEEDED;
    if (effect->u.operation.end == OPERATION_STATE_SUCCEEDED)
        r->stats.operations_succeeded++;
    else if (effect->u.operation.end == OPERATION_STATE_FAILED)
        r->stats.operations_failed++;
    reconcile_node_dirty(r, node);
}

static void do_decided(struct reconcile *r, struct effect *effect)
{
    struct rnode *node = effect->node;
    node->notes = (uint8_t)(node->notes & ~effect->u.decided.notes);
    if (effect->u.decided.notes & NOTE_NEAR_MISS)
        reconcile_annotate_send(r, node);
    node->was_clear = node->was_clear || effect->u.decided.clear;
    node->settled = effect->u.decided.settled;
    if (effect->u.decided.stored) {
        r->stats.decisions++;
        node->request_fresh = node->was_clear = false;
    }
    if (effect->u.decided.again)
        reconcile_node_dirty(r, node);
    reconcile_node_due(r, node, effect->u.decided.look_at);
    if (effect->u.decided.unheard)
        reconcile_node_due(r, node, reconcile_now(r) + UNHEARD_LOOK_MS);
    if (node->silent_since > 0 && reconcile_lost_at(node) > reconcile_now(r))
        reconcile_node_due(r, node, reconcile_lost_at(node));
}

static void effect_do(struct turn *turn, struct effect *effect)
{
    struct reconcile *r = turn->r;
    switch (effect->kind) {
    case EFFECT_NODE:
        do_node(r, effect);
        break;
    case EFFECT_OPERATION_NEW:
        do_operation_new(turn, effect);
        break;
    case EFFECT_OPERATION:
        do_operation(r, effect);
        break;
    case EFFECT_OPERATION_END:
        do_operation_end(r, effect);
        break;
    case EFFECT_DECIDED:
        do_decided(r, effect);
        break;
    case EFFECT_FLEET:
        do_fleet(r, effect);
        break;
    case EFFECT_NODE_GONE:
        fleet_remove(r->service->fleet, effect->node->id);
        reconcile_node_remove(r, effect->node);
        break;
    case EFFECT_CALL:
        effect->u.call.fn(r, effect->node, effect->u.call.data);
        free(TAKE(effect->u.call.data));
        break;
    }
}

static bool is_last(const struct effect *effect)
{
    return effect->kind == EFFECT_NODE_GONE || (effect->kind == EFFECT_CALL && effect->u.call.last);
}

void turn_effects_do(struct turn *turn)
{
    for (size_t i = 0; i < turn->effect_count; i++)
        if (!is_last(&turn->effects[i]))
            effect_do(turn, &turn->effects[i]);
    for (size_t i = 0; i < turn->effect_count; i++)
        if (turn->effects[i].node != NULL)
            reconcile_hold_check(turn->r, turn->effects[i].node);
    for (size_t i = 0; i < turn->effect_count; i++)
        if (is_last(&turn->effects[i]))
            effect_do(turn, &turn->effects[i]);
    turn->effect_count = 0;
}
