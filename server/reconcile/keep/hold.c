/*
 * What the scheduler shall show for a node that is out of service: drained, with a reason that begins "holdfast:".
 *
 * The request is durable by the node's state; it is compared with every snapshot and repeated until it holds, so that a
 * scheduler that was down, or forgot, is told again. When a node that we held is seen back in service, a
 * person put it there: that is respected, never fought.
 */
#include "server/reconcile/keep/hold.h"
#include "base/log.h"
#include "base/text.h"
#include "db/node.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/claim.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/queue.h"
#include "server/reconcile/base/seen.h"

#include <stdio.h>

#define HOLDS_IN_FLIGHT_MAX 8 /* marks of held nodes under way at once, so that steps are not crowded out */

/* The note of the hold: why it is out of service. */
static int read_note(struct reconcile *r, const struct rnode *node, char ret_note[REASON_MAX_BYTES])
{
    struct db_tx *tx = NULL;
    struct node row;
    int status = db_read_begin(r->db, &tx);
    if (status == 0)
        status = db_node_get_row(tx, node->id, &row);
    db_read_end(r->db, tx);
    if (status != 0)
        return status;
    text_copy_cut(ret_note, REASON_MAX_BYTES, row.reason[0] != '\0' ? row.reason : "out of service");
    return 0;
}

static void send_mark(struct reconcile *r, struct rnode *node)
{
    char note[REASON_MAX_BYTES];
    if (read_note(r, node, note) != 0)
        return; /* the next snapshot asks again */
    node->hold_stale = false;
    if (node->drained && reconcile_reason_is_ours(node) && text_equal(node->reason + node->note_at, note)) {
        if (!node->marked)
            reconcile_node_dirty(r, node); /* that it is there is stored */
        node->marked = true;
        return;
    }
    const bool says_only = node->group->cluster->recovery == NODE_RECOVERY_NONE;
    struct rcall *call = reconcile_call_new(CALL_HOLD, node->id, 0);
    reconcile_call_to(call, reconcile_link(node));
    text_copy_cut(call->node, sizeof(call->node), node->name);
    reconcile_call_owner(call, (struct scheduler_owner){.note = note, .says_only = says_only});
    if (node->reason != NULL)
        text_copy_cut(call->seen, sizeof(call->seen), node->reason);
    node->hold_call = true;
    call->link->holds_in_flight++;
    reconcile_call_send(r, call);
}

/* Only what is ours, or what our operation left there, may be written over. */
static bool may_mark(const struct rnode *node)
{
    bool leftover = node->leftover != SCHEDULER_REQUEST_NONE && node->request == node->leftover;
    return node->schedulable || leftover || reconcile_reason_is_ours(node) ||
           (!node->drained && node->request == SCHEDULER_REQUEST_NONE);
}

void reconcile_hold_check(struct reconcile *r, struct rnode *node)
{
    if (!reconcile_node_is_out(node) || node->op != NULL || node->hold_call || node->hold_refused ||
        !reconcile_node_has_scheduler(node) || !reconcile_link_is_usable(reconcile_link(node)) ||
        !reconcile_sees(r, node) || reconcile_claim(r, node, POLICY_ACT_HOLD) != POLICY_CLAIM_NONE)
        return;
    if (node->marked && node->schedulable) {
        if ((node->notes & NOTE_LIFTED) == 0) {
            node->notes |= NOTE_LIFTED;
            reconcile_node_dirty(r, node);
        }
        return;
    }
    bool shown = node->marked && node->drained && reconcile_reason_is_ours(node) && !node->hold_stale;
    if (shown || !may_mark(node))
        return;
    struct scheduler_link *link = reconcile_link(node);
    if (link->holds_in_flight < HOLDS_IN_FLIGHT_MAX) {
        send_mark(r, node);
    } else if (!node->hold_waits) {
        node->hold_waits = true;
        idqueue_push(&link->holds, node->id);
    }
}

/* Between its mark and its return no job may begin on it. */
static bool is_kept_by_repair(const struct rnode *node)
{
    const struct rop *op = node->op;
    return op != NULL && operation_is_repair(op->kind) && op->step > STEP_KIND_MARK && op->step < STEP_KIND_RESUME &&
           !op->in_flight;
}

void reconcile_hold_keep(struct reconcile *r, struct rnode *node)
{
    if (!is_kept_by_repair(node) || !node->schedulable || node->hold_call || !reconcile_node_has_scheduler(node) ||
        !reconcile_link_is_usable(reconcile_link(node)) || !reconcile_sees(r, node))
        return;
    enum policy_claim claim = reconcile_claim(r, node, POLICY_ACT_HOLD);
    if (claim != POLICY_CLAIM_NONE && claim != POLICY_CLAIM_AT_WORK) /* the latter is the repair itself */
        return;
    struct rcall *call = reconcile_call_new(CALL_HOLD, node->id, 0);
    reconcile_call_to(call, reconcile_link(node));
    text_copy_cut(call->node, sizeof(call->node), node->name);
    reconcile_call_owner(call, reconcile_owner(node->op->kind));
    if (node->reason != NULL)
        text_copy_cut(call->seen, sizeof(call->seen), node->reason);
    node->hold_call = true;
    call->link->holds_in_flight++;
    reconcile_call_send(r, call);
}

/* Nobody waits for it: where it cannot be written, the event says the same. */
void reconcile_annotate_send(struct reconcile *r, const struct rnode *node)
{
    struct scheduler_link *link = reconcile_link(node);
    if (!reconcile_link_is_configured(link) || link->driver.ops->requests == NULL || node->op != NULL ||
        node->reason == NULL || node->request != SCHEDULER_REQUEST_NEAR_MISS)
        return;
    struct rcall *call = reconcile_call_new(CALL_ANNOTATE, node->id, 0);
    reconcile_call_to(call, link);
    text_copy_cut(call->node, sizeof(call->node), node->name);
    text_copy_cut(call->seen, sizeof(call->seen), node->reason);
    text_copy_cut(call->reason, sizeof(call->reason), text_or_empty(node->reason_user));
    reconcile_call_send(r, call);
}

static void check_next(struct reconcile *r, struct scheduler_link *link)
{
    int64_t id;
    while (link->holds_in_flight < HOLDS_IN_FLIGHT_MAX && idqueue_pop(&link->holds, &id)) {
        struct rnode *node = reconcile_node_find(r, id);
        if (node == NULL)
            continue;
        node->hold_waits = false;
        reconcile_hold_check(r, node);
    }
}

static void take_mark(struct reconcile *r, struct rnode *node, const struct rcall *call)
{
    node->hold_call = false;
    if (node->op != NULL) {
        node->notes |= call->status == 0 ? NOTE_REMARKED : 0;
        reconcile_node_dirty(r, node);
        reconcile_operation_poke(r, node);
        return; /* what failed is seen in the next snapshot */
    }
    if (call->status == 0) {
        node->marked = true;
        node->leftover = SCHEDULER_REQUEST_NONE;
        node->notes |= NOTE_MARKED;
        reconcile_node_dirty(r, node);
        return;
    }
    node->hold_stale = true; /* what is shown is not what is requested: the next snapshot asks again */
    node->hold_refused = call->status == STATUS_CONFLICT || call->status == STATUS_NOT_FOUND;
    if (call->status != STATUS_CONFLICT)
        r->stats.scheduler_errors++;
}

static enum part_take take(struct reconcile *r, struct rcall *call)
{
    if (call->kind == CALL_ANNOTATE && call->status != 0)
        log_info("the reason of %s does not say what is wrong with it: %s", call->node, call->error);
    if (call->kind != CALL_HOLD)
        return call->kind == CALL_ANNOTATE ? PART_TAKE_DONE : PART_TAKE_NOT_MINE;
    struct rnode *node = reconcile_node_find(r, call->node_id);
    call->link->holds_in_flight--;
    if (node != NULL)
        take_mark(r, node, call);
    check_next(r, call->link);
    return PART_TAKE_DONE;
}

const struct part part_hold = {.take = take};
