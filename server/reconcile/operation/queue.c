/*
 * Which operations are advanced in a turn: those that were poked, repairs before launches; whose calls are sent, while there are slots
 * for them; and in the end the first step of those that this turn stores.
 */
#include "base/log.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/effect.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/decide/decide.h"
#include "server/reconcile/operation/operate.h"

/* --- answers, and slots that they leave -------------------------------------------------------- */
static void count_error(struct reconcile *r, const struct rcall *call)
{
    if (call->status == 0 || call->status == STATUS_CONFLICT)
        return;
    if (call->kind >= CALL_REBOOT)
        r->stats.provider_errors++;
    else
        r->stats.scheduler_errors++;
}

/* An operation's answer waits with it until its turn; one that nobody waits for any more is dropped. */
static enum part_take take(struct reconcile *r, struct rcall *call)
{
    struct rnode *node = reconcile_node_find(r, call->node_id);
    count_error(r, call);
    if (node == NULL || node->op == NULL || node->op->id != call->operation_id || !node->op->in_flight)
        return PART_TAKE_DONE;
    node->op->result = call;
    reconcile_operation_poke(r, node);
    return PART_TAKE_KEPT;
}

/* Whether the operation may have the slot that is free: of this scheduler's share, or, with NULL, any. */
static bool may_have_slot(const struct reconcile *r, const struct rnode *node, const struct scheduler_link *link)
{
    const struct scheduler_link *own = reconcile_link(node);
    if (link != NULL)
        return node->op->waits_for_link && own == link;
    return !node->op->waits_for_link || reconcile_link_room(r, own) > 0;
}

/* The first that may have it, in the order in which they came; those before it, of a scheduler that has no room, stay where they are. */
static bool poke_first(struct reconcile *r, struct idqueue *waiting, const struct scheduler_link *link)
{
    int64_t id;
    struct idqueue skipped = {0};
    bool poked = false;
    while (!poked && idqueue_pop(waiting, &id)) {
        struct rnode *node = reconcile_node_find(r, id);
        if (node == NULL || node->op == NULL || !node->op->waits_for_slot)
            continue;
        if (!may_have_slot(r, node, link)) {
            idqueue_push(&skipped, id);
            continue;
        }
        node->op->waits_for_slot = false;
        reconcile_operation_poke(r, node);
        poked = true;
    }
    while (skipped.count > 0)
        idqueue_push_front(waiting, skipped.ids[--skipped.count]);
    idqueue_free(&skipped);
    return poked;
}

static void free_slot(struct reconcile *r, const struct scheduler_link *link)
{
    for (int class = 0; class < OPERATION_CLASSES; class ++)
        if (poke_first(r, &r->slotless[class], link))
            return;
}

/* A call is back: others may have its slot. */
static void hear(struct reconcile *r, const struct rcall *call)
{
    free_slot(r, NULL);
    if (call->link != NULL)
        free_slot(r, call->link);
}

/* --- those that are ready ---------------------------------------------------------------------- */
static int64_t due(const struct reconcile *r, int64_t now)
{
    for (int class = 0; class < OPERATION_CLASSES; class ++)
        if (r->ready[class].count > 0)
            return now;
    return INT64_MAX;
}

static int plan(struct turn *turn)
{
    struct reconcile *r = turn->r;
    bool alone = r->isolating > 0;
    size_t most = !alone ? OPERATE_MAX : turn->batch != NULL && turn->batch->count > 0 ? 0 : 1;
    int64_t id;
    for (int class = 0; class < OPERATION_CLASSES; class ++)
        while (turn->ready_count < most && idqueue_pop(&r->ready[class], &id)) {
            struct rnode *node = reconcile_node_find(r, id);
            if (node == NULL || node->op == NULL || !node->op->ready)
                continue;
            node->op->ready = false;
            if (!reconcile_operation_waits(node))
                turn->ready[turn->ready_count++] = node;
        }
    return turn->ready_count > 0 ? PART_PLAN_STORE : PART_PLAN_NOTHING;
}

static void count_slots(struct turn *turn)
{
    struct reconcile *r = turn->r;
    turn->slots_left = reconcile_threads(&r->deps.settings, r->deps.scheduler_count) - r->calls_in_flight;
    turn->provider_slots_left = r->deps.settings.steps_in_flight_max - r->calls_in_flight;
    for (struct scheduler_link *link = r->links; link != NULL; link = link->next) {
        link->slots_left = reconcile_link_room(r, link);
        turn->provider_slots_left += link->calls_in_flight;
    }
}

static int write(struct turn *turn)
{
    int status = 0;
    count_slots(turn);
    for (size_t i = 0; i < turn->ready_count && status == 0; i++)
        if (turn->ready[i]->op != NULL)
            status = reconcile_operate(turn, turn->ready[i]);
    return status;
}

static size_t size(const struct turn *turn)
{
    return turn->ready_count;
}

static void again(struct turn *turn)
{
    for (size_t i = 0; i < turn->ready_count; i++)
        reconcile_operation_poke(turn->r, turn->ready[i]);
}

static void park(struct turn *turn, int status)
{
    struct rnode *node = turn->ready[0];
    int64_t later = turn->now + turn->r->deps.settings.retry_max_ms;
    log_error("nothing can be written about an operation; it is left alone for a while node=%s status=%s", node->name,
              status_text(status));
    node->op->due_at = later;
    due_push(&turn->r->due, later, DUE_OPERATION, node->id);
}

const struct part part_operations = {
    .take = take,
    .hear = hear,
    .due = due,
    .plan = plan,
    .write = write,
    .size = size,
    .again = again,
    .park = park,
};

/* --- the first step of what is new ------------------------------------------------------------- */
/* Memory learns of the operation after the commit: until then it is known here alone. */
static int operate_one_new(struct turn *turn, size_t at)
{
    const struct effect effect = turn->effects[at]; /* they move when more are noted */
    struct rnode *node = effect.node;
    int count;
    struct rop op = {.id = effect.u.operation.id,
                     .kind = effect.u.operation.kind,
                     .fault = effect.u.operation.fault,
                     .step = operation_steps(effect.u.operation.kind, &count)[0]};
    if (node->op != NULL || node->hold_call)
        return 0;
    turn->effects[at].u.operation.operated = true;
    node->op = &op;
    int status = reconcile_operate(turn, node);
    node->op = NULL;
    return status;
}

/* A new operation takes its first step with the commit that stores it, after those that waited longer. */
static int write_first_steps(struct turn *turn)
{
    size_t left = turn->r->isolating > 0 ? 0 : OPERATE_MAX - turn->ready_count;
    const size_t count = turn->effect_count;
    int status = 0;
    for (int class = 0; class < OPERATION_CLASSES; class ++)
        for (size_t i = 0; i < count && left > 0 && status == 0; i++) {
            const struct effect *effect = &turn->effects[i];
            if (effect->kind != EFFECT_OPERATION_NEW || reconcile_operation_class(effect->u.operation.kind) != class ||
                turn->r->ready[class].count > 0)
                continue;
            status = operate_one_new(turn, i);
            left--;
        }
    return status;
}

const struct part part_first_steps = {.write = write_first_steps};
