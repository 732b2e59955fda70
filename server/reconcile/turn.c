/*
 * One turn's transaction: events, decisions, operations and clusters that move on, all or nothing; and what comes after
 * it, when it succeeded and when it did not.
 *
 * A store that takes no writes stops everything for a while and is asked again. A single row that cannot be written is
 * another matter: it is found by taking one thing a turn, and put aside, so that it does not stop all others.
 */
#include "server/reconcile/turn.h"
#include "db/attempt.h"
#include "db/event.h"
#include "db/incident.h"
#include "db/job_run.h"
#include "db/node.h"
#include "db/operation.h"
#include "db/token.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/due.h"
#include "server/reconcile/base/effect.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/operation.h"
#include "server/reconcile/base/queue.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/cluster/provision.h"
#include "server/reconcile/decide/apply.h"
#include "server/reconcile/decide/approval.h"
#include "server/reconcile/decide/decide.h"
#include "server/reconcile/decide/idle.h"
#include "server/reconcile/operation/operate.h"
#include "server/reconcile/reconcile.h"

#define HOUSEKEEPING_ROWS_MAX 256 /* old changes of clusters go so many at a time */
#define STORE_PAUSE_MIN_MS 200

/* --- the transaction --------------------------------------------------------------------------- */
static void take_ready(struct turn *turn)
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
            turn->ready[turn->ready_count++] = node;
        }
}

static int write_link_event(struct turn *turn, const struct scheduler_link *link)
{
    bool down = link->event_written == EVENT_KIND_SCHEDULER_DOWN;
    int status = 0;
    for (const struct rcluster *cluster = turn->r->clusters; cluster != NULL && status == 0; cluster = cluster->next)
        if (cluster->link == link)
            status = turn_cluster_event(turn, down ? EVENT_LEVEL_ERROR : EVENT_LEVEL_INFO,
                                        (enum event_kind)link->event_written, cluster, down ? link->error : "", "%s%s",
                                        down ? "the scheduler does not answer; steps that need it wait: "
                                             : "the scheduler answers",
                                        down ? link->error : "");
    return status;
}

static int write_link_events(struct turn *turn)
{
    int status = 0;
    for (const struct scheduler_link *link = turn->r->links; link != NULL && status == 0; link = link->next)
        if (link->event_written >= 0)
            status = write_link_event(turn, link);
    return status;
}

/* Before the transaction: what its events say, whatever comes meanwhile. True when there is something to say. */
static bool take_link_events(struct reconcile *r)
{
    bool any = false;
    for (struct scheduler_link *link = r->links; link != NULL; link = link->next) {
        link->event_written = link->event;
        any = any || link->event >= 0;
    }
    return any;
}

static void link_events_written(struct reconcile *r)
{
    for (struct scheduler_link *link = r->links; link != NULL; link = link->next)
        if (link->event == link->event_written)
            link->event = -1;
}

static int write_housekeeping(struct turn *turn)
{
    const struct loop_settings *settings = &turn->r->deps.settings;
    int status = db_event_prune(turn->tx, settings->events_keep);
    if (status == 0)
        status = db_operation_prune(turn->tx, turn->now - settings->history_ms, HOUSEKEEPING_ROWS_MAX);
    if (status == 0)
        status = reconcile_approval_expire(turn);
    if (status == 0)
        status = db_incident_prune(turn->tx, turn->now - settings->history_ms);
    if (status == 0)
        status = db_job_run_prune(turn->tx, turn->now - settings->history_ms);
    if (status == 0)
        status = db_attempt_forget_old(turn->tx, turn->now - settings->history_ms);
    return status != 0 ? status : db_token_prune(turn->tx, turn->now);
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
    if (node->op != NULL)
        return 0;
    turn->effects[at].u.operation.operated = true;
    node->op = &op;
    int status = reconcile_operate(turn, node);
    node->op = NULL;
    return status;
}

/* A new operation takes its first step with the commit that stores it, after those that waited longer. */
static int operate_new(struct turn *turn)
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

static int write_turn(struct db_tx *tx, void *arg)
{
    struct turn *turn = arg;
    turn_reset(turn);
    turn->tx = tx;
    if (turn->batch != NULL)
        turn->batch->nodes_as_read = tx != NULL && db_nodes_are_as_read(tx, turn->batch->nodes_stamp);
    count_slots(turn);
    int status = write_link_events(turn);
    if (status == 0 && turn->batch != NULL)
        status = reconcile_apply(turn);
    for (size_t i = 0; i < turn->ready_count && status == 0; i++)
        if (turn->ready[i]->op != NULL)
            status = reconcile_operate(turn, turn->ready[i]);
    if (status == 0 && turn->provision != NULL)
        status = reconcile_provision_write(turn);
    if (status == 0 && turn->housekeeping)
        status = write_housekeeping(turn);
    if (status == 0 && turn->housekeeping)
        status = reconcile_idle_checks(turn);
    return status == 0 ? operate_new(turn) : status;
}

/* --- after it ---------------------------------------------------------------------------------- */
static void count_latency(struct reconcile *r, int64_t us)
{
    size_t bucket = 0;
    while (bucket + 1 < ARRAY_LEN(r->stats.decision_us) && (INT64_C(1) << bucket) <= us)
        bucket++;
    r->stats.decision_us[bucket]++;
}

static void count_decided(struct reconcile *r, const struct decide_batch *batch)
{
    int64_t now_us = reconcile_now_us(r);
    for (size_t i = 0; batch != NULL && i < batch->count; i++) {
        struct rnode *node = batch->items[i].node;
        if (node->verdict_us > 0)
            count_latency(r, now_us - node->verdict_us);
        node->verdict_us = 0;
        r->stats.evidence_left_out += batch->items[i].left_out;
    }
}

static void turn_succeeded(struct turn *turn)
{
    struct reconcile *r = turn->r;
    count_decided(r, turn->batch);
    link_events_written(r);
    if (turn->housekeeping)
        r->housekeeping_at = turn->now + HOUSEKEEPING_MS;
    r->store_backoff_ms = 0;
    if (r->isolating > 0)
        r->isolating--;
    bool told = turn->event_count > 0;
    turn_log_write(turn);
    if (turn->provision != NULL)
        reconcile_provision_done(turn);
    turn_effects_do(turn);
    if (turn->provision != NULL)
        reconcile_provision_reap(turn);
    if (told && r->service->events_added != NULL)
        r->service->events_added(r->service->events_arg);
}

/* The disk's fault, or the queue's: it hits everything alike and passes. */
static bool is_the_worlds(int status)
{
    return status == STATUS_IO || status == STATUS_FULL || status == STATUS_UNAVAILABLE || status == STATUS_TIMEOUT;
}

static size_t turn_size(const struct turn *turn)
{
    return (turn->batch != NULL ? turn->batch->count : 0) + turn->ready_count;
}

/* One row that cannot be written must not stop all others: it is found by taking one thing a turn, and put aside. */
static void park(struct turn *turn, int status)
{
    struct reconcile *r = turn->r;
    struct rnode *node = turn->ready_count > 0 ? turn->ready[0] : turn->batch->items[0].node;
    int64_t later = turn->now + r->deps.settings.retry_max_ms;
    log_error("nothing can be written about a node; it is left alone for a while node=%s status=%s", node->name,
              status_text(status));
    if (turn->ready_count > 0) {
        node->op->due_at = later;
        due_push(&r->due, later, DUE_OPERATION, node->id);
    } else {
        reconcile_node_due(r, node, later);
    }
}

/* The turn has not happened: what it was about is looked at again. */
static void turn_failed(struct turn *turn, int status)
{
    struct reconcile *r = turn->r;
    size_t size = turn_size(turn);
    turn_reset(turn);
    if (!is_the_worlds(status) && size == 1 && turn->provision == NULL) {
        park(turn, status);
        return;
    }
    if (!is_the_worlds(status) && size == 0 && turn->provision != NULL) {
        reconcile_provision_park(turn);
        return;
    }
    for (size_t i = 0; turn->batch != NULL && i < turn->batch->count; i++)
        reconcile_node_dirty(r, turn->batch->items[i].node);
    for (size_t i = 0; i < turn->ready_count; i++)
        reconcile_operation_poke(r, turn->ready[i]);
    if (!is_the_worlds(status) && (size > 1 || turn->provision != NULL)) {
        r->isolating = (int)size;
        return;
    }
    r->store_backoff_ms = r->store_backoff_ms == 0 ? STORE_PAUSE_MIN_MS : r->store_backoff_ms * 2;
    if (r->store_backoff_ms > STORE_PAUSE_MAX_MS)
        r->store_backoff_ms = STORE_PAUSE_MAX_MS;
    r->paused_until = reconcile_now(r) + r->store_backoff_ms;
    log_error("the store takes no writes, nothing is decided or done meanwhile status=%s", status_text(status));
}

static bool turn_has_work(const struct turn *turn)
{
    return (turn->batch != NULL && (turn->batch->count > 0 || turn->batch->breaker_count > 0)) ||
           turn->ready_count > 0 || turn->provision != NULL || turn->housekeeping || turn->link_events;
}

/* What was decided may be nothing that has to be written down. */
static bool turn_needs_store(const struct turn *turn)
{
    const struct decide_batch *batch = turn->batch;
    for (size_t i = 0; batch != NULL && i < batch->count; i++)
        if (!batch->items[i].quiet)
            return true;
    return (batch != NULL && batch->breaker_count > 0) || turn->ready_count > 0 || turn->provision != NULL ||
           turn->housekeeping || turn->link_events;
}

bool reconcile_turn(struct reconcile *r, struct decide_batch *batch)
{
    struct turn turn = {.r = r,
                        .now = reconcile_now(r),
                        .batch = batch,
                        .link_events = take_link_events(r),
                        .housekeeping = r->housekeeping_at <= reconcile_now(r)};
    take_ready(&turn);
    if (r->isolating == 0 || turn_size(&turn) == 0)
        turn.provision = reconcile_provision_plan(r, turn.now);
    if (!turn_has_work(&turn))
        return false;
    bool needs_store = turn_needs_store(&turn);
    if (needs_store)
        reconcile_unrecorded(r, true);
    int status = needs_store ? db_write(r->db, "reconcile", write_turn, &turn) : write_turn(NULL, &turn);
    if (needs_store && !is_the_worlds(status))
        reconcile_unrecorded(r, false);
    if (status == 0)
        turn_succeeded(&turn);
    else
        turn_failed(&turn, status);
    reconcile_provision_free(turn.provision);
    free(turn.effects);
    return status == 0 || r->isolating > 0;
}
