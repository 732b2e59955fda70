/*
 * The loop: one turn after another. A turn takes what came in, looks at what is due, asks the policy about nodes with
 * something new, and writes all that follows in one transaction; only after the commit are calls to backends sent and is
 * memory changed. See reconcile/base/loop.h for the files it is made of.
 *
 * When the store cannot be written the turn has not happened: its inputs are still there, and the loop tries again
 * after a pause. Nothing is sent to a backend that is not on disk.
 */
#include "server/reconcile/reconcile.h"
#include "base/log.h"
#include "base/map.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/due.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/inbox.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/operation.h"
#include "server/reconcile/base/queue.h"
#include "server/reconcile/cluster/provision.h"
#include "server/reconcile/decide/decide.h"
#include "server/reconcile/decide/incident.h"
#include "server/reconcile/keep/hold.h"
#include "server/reconcile/keep/keeper.h"
#include "server/reconcile/keep/manage.h"
#include "server/reconcile/observe/job_snapshot.h"
#include "server/reconcile/observe/observe.h"
#include "server/reconcile/turn.h"
#include "server/reconcile/world/group_settings.h"
#include "server/reconcile/world/history.h"
#include "server/reconcile/world/load.h"
#include "server/reconcile/world/resync.h"
#include "server/reconcile/world/topology.h"
#include "server/service/scheduler/scheduler.h"

#define US_PER_MS 1000
/* While evidence pours in that costs no node, three quarters of a core are left to those who take it in. */
#define REST_FACTOR 3
#define REST_MS_MIN 5
#define REST_MS_MAX 100

int64_t reconcile_now(const struct reconcile *r)
{
    return clock_wall_ms(r->service->clock);
}

/* The clock by which the service stamps verdicts. */
int64_t reconcile_now_us(const struct reconcile *r)
{
    if (r->service->clock != clock_system())
        return clock_mono_ms(r->service->clock) * US_PER_MS;
    return clock_stopwatch_us();
}

/* --- birth and death --------------------------------------------------------------------------- */
int reconcile_new(const struct reconcile_deps *deps, struct reconcile **ret_reconcile)
{
    struct reconcile *r = own_calloc(1, sizeof(*r));
    r->deps = *deps;
    r->service = deps->service;
    r->db = deps->service->db;
    r->inbox = inbox_new(r->service);
    r->domain_names = map_new();
    r->housekeeping_at = r->history_at = reconcile_now(r) + HOUSEKEEPING_MS;
    pthread_mutex_init(&r->stats_mutex, NULL);
    reconcile_links_make(r);
    int status = deps->scheduler_count == 0 ? 0 : service_scheduler_adopt(r->service, deps->schedulers[0].name);
    if (status == 0)
        status = reconcile_load(r);
    if (status != 0) {
        reconcile_free(r);
        return status;
    }
    struct service *s = r->service;
    s->wake = inbox_wake;
    s->verdicts_stored = inbox_verdicts_stored;
    s->agent_changed = inbox_agent_changed;
    s->wake_arg = r->inbox;
    *ret_reconcile = r;
    return 0;
}

void reconcile_free(struct reconcile *r)
{
    if (r == NULL)
        return;
    reconcile_stop(r);
    if (r->service->wake_arg == r->inbox) {
        r->service->wake = NULL;
        r->service->verdicts_stored = NULL;
        r->service->agent_changed = NULL;
        r->service->wake_arg = NULL;
    }
    inbox_free(r->inbox);
    reconcile_table_free(r);
    reconcile_links_free(r);
    pthread_mutex_destroy(&r->stats_mutex);
    free(r);
}

/* --- what came in ------------------------------------------------------------------------------ */
static bool changes_scheduler(enum call_kind kind)
{
    return kind == CALL_CORDON || kind == CALL_HOLD || kind == CALL_UNCORDON;
}

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
static void take_operation_result(struct reconcile *r, struct rcall *call)
{
    struct rnode *node = reconcile_node_find(r, call->node_id);
    count_error(r, call);
    if (node == NULL || node->op == NULL || node->op->id != call->operation_id || !node->op->in_flight) {
        reconcile_call_free(call);
        return;
    }
    node->op->result = call;
    reconcile_operation_poke(r, node);
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

static void take_result(struct reconcile *r, struct rcall *call)
{
    reconcile_call_is_back(r, call);
    r->tick++;
    if (changes_scheduler(call->kind)) {
        struct rnode *node = reconcile_node_find(r, call->node_id);
        if (node != NULL)
            node->touched_seq = r->tick; /* pictures asked for before now say nothing about it */
        reconcile_observe_soon(r, call->link);
    }
    free_slot(r, NULL);
    if (call->link != NULL)
        free_slot(r, call->link);
    reconcile_manage_heard(call);
    if (call->kind == CALL_OBSERVE) {
        reconcile_observe_take(r, call);
        reconcile_call_free(call);
    } else if (call->kind == CALL_JOB_SNAPSHOT) {
        reconcile_job_snapshot_take(r, call);
        reconcile_call_free(call);
    } else if (call->kind == CALL_CANCEL) {
        reconcile_cancel_take(call);
        reconcile_call_free(call);
    } else if (call->kind == CALL_HOLD) {
        reconcile_hold_take(r, call);
        reconcile_call_free(call);
    } else if (call->kind == CALL_ANNOTATE) {
        if (call->status != 0)
            log_info("the reason of %s does not say what is wrong with it: %s", call->node, call->error);
        reconcile_call_free(call);
    } else if (!keepers_take(r, call)) {
        take_operation_result(r, call);
    }
}

static void take_verdict(struct reconcile *r, const struct inbox_verdict *verdict)
{
    struct rnode *node = reconcile_node_find(r, verdict->node_id);
    if (node == NULL)
        return;
    if (verdict->look == LOOK_NOT && node->settled)
        return; /* it cannot change what was decided; who looks next will see it */
    if (verdict->look == LOOK_FIRST && node->verdict_us == 0)
        node->verdict_us = verdict->received_us;
    reconcile_node_look(r, node, verdict->look == LOOK_FIRST ? LOOK_FIRST : LOOK_LATER);
    if (node->op != NULL && node->op->step == STEP_KIND_VERIFY)
        reconcile_operation_poke(r, node);
}

static bool take_inbox(struct reconcile *r)
{
    struct inbox_mail mail;
    inbox_take(r->inbox, &mail);
    bool any =
        mail.results != NULL || mail.verdict_count > 0 || mail.agent_count > 0 || mail.wakes.count > 0 || mail.overflow;
    while (mail.results != NULL) {
        struct rcall *call = mail.results;
        mail.results = call->next;
        call->next = NULL;
        take_result(r, call);
    }
    for (size_t i = 0; i < mail.verdict_count; i++)
        take_verdict(r, &mail.verdicts[i]);
    for (size_t i = 0; i < mail.agent_count; i++) {
        struct rnode *node = reconcile_node_find(r, mail.agents[i]);
        if (node != NULL)
            reconcile_agent_changed(r, node);
    }
    for (size_t i = 0; i < mail.wakes.count; i++)
        reconcile_wake(r, mail.wakes.items[i].what, mail.wakes.items[i].id);
    r->undecided_wanted = r->undecided_wanted || mail.overflow;
    inbox_mail_free(&mail);
    return any;
}

/* --- what is due ------------------------------------------------------------------------------- */
static void node_is_due(struct reconcile *r, struct rnode *node, int64_t now)
{
    node->due_at = 0;
    reconcile_node_dirty(r, node);
    if (node->silent_since > 0 && now >= reconcile_lost_at(node))
        reconcile_group_silent(r, node->group);
}

static void take_due(struct reconcile *r, int64_t now)
{
    struct due_entry entry;
    while (due_peek(&r->due, &entry) && entry.at <= now) {
        due_pop(&r->due);
        struct rnode *node = reconcile_node_find(r, entry.node_id);
        if (node == NULL)
            continue;
        if (entry.kind == DUE_NODE && node->due_at == entry.at)
            node_is_due(r, node, now);
        if (entry.kind == DUE_OPERATION && node->op != NULL && node->op->due_at == entry.at) {
            node->op->due_at = 0;
            reconcile_operation_poke(r, node);
        }
    }
}

/* When a scheduler is looked at next; INT64_MAX: not while things stand so. One without a cluster is looked at for people who would make
 * one of its nodes, as often as its jobs are. */
static int64_t observe_due(const struct scheduler_link *link, int64_t now)
{
    if (!reconcile_link_is_configured(link) || link->observing)
        return INT64_MAX;
    if (link->clusters > 0)
        return link->observe_now ? now : link->observe_at;
    bool jobs = link->driver.ops->jobs != NULL && link->job_snapshot_interval_ms > 0 && !link->job_snapshot_running;
    return !jobs ? INT64_MAX : link->job_snapshot_at > link->observe_at ? link->job_snapshot_at : link->observe_at;
}

static bool observe_what_is_due(struct reconcile *r, int64_t now)
{
    bool any = false;
    for (struct scheduler_link *link = r->links; link != NULL; link = link->next)
        if (observe_due(link, now) <= now) {
            reconcile_observe_send(r, link);
            any = true;
        }
    return any;
}

static bool breaker_is_due(const struct reconcile *r, int64_t now)
{
    for (const struct rgroup *group = r->groups; group != NULL; group = group->next)
        if (group->look_at > 0 && group->look_at <= now)
            return true;
    return false;
}

/* --- one turn ---------------------------------------------------------------------------------- */
static bool decide_and_write(struct reconcile *r, int64_t now)
{
    AUTO(batch) struct decide_batch *batch = NULL;
    if (reconcile_looks_waiting(r) > 0 || breaker_is_due(r, now) || reconcile_incidents_due(r, now)) {
        int status = reconcile_decide(r, now, &batch);
        if (status != 0) {
            log_error("the store cannot be used, nothing is decided meanwhile status=%s", status_text(status));
            r->paused_until = now + STORE_PAUSE_MAX_MS;
            r->store_unreadable = true;
            reconcile_unrecorded(r, true);
            return false;
        }
        if (r->store_unreadable)
            reconcile_unrecorded(r, false);
        r->store_unreadable = false;
    }
    return reconcile_turn(r, batch);
}

static int64_t earlier(int64_t a, int64_t b)
{
    return b < a ? b : a;
}

static int64_t next_due(const struct reconcile *r, int64_t now)
{
    struct due_entry entry;
    if (r->paused_until > now)
        return r->paused_until;
    if (reconcile_looks_waiting(r) + r->ready[0].count + r->ready[1].count > 0 || reconcile_is_behind(r))
        return now;
    int64_t next = earlier(earlier(r->sweep_at, r->housekeeping_at), r->history_at);
    if (due_peek(&r->due, &entry))
        next = earlier(next, entry.at);
    if (r->incident_look_at > 0)
        next = earlier(next, r->incident_look_at);
    if (r->signals_changed)
        next = now;
    for (const struct rgroup *group = r->groups; group != NULL; group = group->next)
        if (group->look_at > 0)
            next = earlier(next, group->look_at);
    for (const struct scheduler_link *link = r->links; link != NULL; link = link->next)
        next = earlier(next, earlier(observe_due(link, now), keepers_due(link, now)));
    int64_t provision = reconcile_provision_due(r, now);
    return provision > 0 ? earlier(next, provision) : next;
}

void reconcile_unrecorded(struct reconcile *r, bool something)
{
    int64_t since = r->stats.unrecorded_since;
    if (something == (since != 0))
        return;
    pthread_mutex_lock(&r->stats_mutex);
    r->stats.unrecorded_since = r->published.unrecorded_since = something ? clock_mono_ms(r->service->clock) : 0;
    pthread_mutex_unlock(&r->stats_mutex);
}

/* A commit of anybody's failed, and perhaps nobody tries again: we do, so that the store is known to be well again. */
static void probe_store(struct reconcile *r)
{
    struct db_stats stats;
    db_stats(r->db, &stats);
    if (stats.failing_since != 0)
        (void)db_touch(r->db); /* its outcome stands in the store's figures */
}

static void publish_stats(struct reconcile *r)
{
    pthread_mutex_lock(&r->stats_mutex);
    r->published = r->stats;
    pthread_mutex_unlock(&r->stats_mutex);
}

static void sweep(struct reconcile *r)
{
    reconcile_sweep(r);
    reconcile_places_store(r);
    probe_store(r);
}

bool reconcile_run_once(struct reconcile *r, int64_t *ret_next_ms)
{
    int64_t now = reconcile_now(r);
    bool worked = take_inbox(r);
    reconcile_policy_refresh(r);
    r->stats.turns++;
    if (r->paused_until <= now) {
        if (r->undecided_wanted)
            r->undecided_wanted = reconcile_undecided(r) != 0;
        worked = reconcile_resync(r) || worked;
        take_due(r, now);
        if (r->sweep_at <= now)
            sweep(r);
        worked = observe_what_is_due(r, now) || worked;
        worked = keepers_run(r, now) || worked;
        worked = decide_and_write(r, now) || worked;
        if (r->history_at <= now)
            reconcile_history(r, now);
    }
    publish_stats(r);
    *ret_next_ms = next_due(r, now);
    return worked && r->paused_until <= now;
}

/* --- the thread -------------------------------------------------------------------------------- */
static void *run(void *arg)
{
    struct reconcile *r = arg;
    int64_t next = 0;
    bool go_on = true;
    while (go_on) {
        int64_t began_us = clock_stopwatch_us();
        bool more = reconcile_run_once(r, &next);
        int64_t rest_ms = (clock_stopwatch_us() - began_us) * REST_FACTOR / US_PER_MS;
        rest_ms = rest_ms < REST_MS_MIN ? REST_MS_MIN : rest_ms > REST_MS_MAX ? REST_MS_MAX : rest_ms;
        go_on = inbox_rest(r->inbox, rest_ms, more) && inbox_wait(r->inbox, more ? 0 : next - reconcile_now(r));
    }
    return NULL;
}

int reconcile_start(struct reconcile *r)
{
    if (r->running)
        return 0;
    if (pthread_create(&r->thread, NULL, run, r) != 0)
        return STATUS_IO;
    r->running = true;
    return 0;
}

void reconcile_stop(struct reconcile *r)
{
    if (r == NULL || !r->running)
        return;
    inbox_stop(r->inbox);
    pthread_join(r->thread, NULL);
    r->running = false;
}

void reconcile_stats(struct reconcile *r, struct reconcile_stats *ret_stats)
{
    pthread_mutex_lock(&r->stats_mutex);
    *ret_stats = r->published;
    pthread_mutex_unlock(&r->stats_mutex);
}
