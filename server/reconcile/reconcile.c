/*
 * The loop: one turn after another. A turn takes what came in, looks at what is due, asks the policy about nodes with
 * something new, and writes all that follows in one transaction; only after the commit are calls to backends sent and is
 * memory changed. See reconcile/base/loop.h for the files it is made of.
 *
 * When the store cannot be written the turn has not happened: its inputs are still there, and the loop tries again
 * after a pause. Nothing is sent to a backend that is not on disk.
 */
#include "server/reconcile/reconcile.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/due.h"
#include "server/reconcile/base/inbox.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/operation.h"
#include "server/reconcile/base/part.h"
#include "server/reconcile/decide/undecided.h"
#include "server/reconcile/observe/agents.h"
#include "server/reconcile/turn.h"
#include "server/reconcile/world/load.h"
#include "server/reconcile/world/table.h"
#include "server/service/scheduler/scheduler.h"

#define US_PER_MS 1000
/* While evidence pours in that costs no node, three quarters of a core are left to those who take it in. */
#define REST_FACTOR 3
#define REST_MS_MIN 5
#define REST_MS_MAX 100

/* --- birth and death --------------------------------------------------------------------------- */
int reconcile_new(const struct reconcile_deps *deps, struct reconcile **ret_reconcile)
{
    struct reconcile *r = own_calloc(1, sizeof(*r));
    r->deps = *deps;
    r->service = deps->service;
    r->db = deps->service->db;
    r->inbox = inbox_new(r->service);
    pthread_mutex_init(&r->stats_mutex, NULL);
    reconcile_links_make(r);
    parts_start(r);
    int status = deps->scheduler_count == 0 ? 0 : service_scheduler_adopt(r->service, deps->schedulers[0].name);
    if (status == 0)
        status = service_scheduler_check(r->service);
    if (status == 0)
        status = reconcile_with_reader(r, parts_load);
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
    parts_end(r);
    reconcile_table_free(r);
    reconcile_links_free(r);
    pthread_mutex_destroy(&r->stats_mutex);
    free(r);
}

/* --- what came in ------------------------------------------------------------------------------ */
static void take_result(struct reconcile *r, struct rcall *call)
{
    reconcile_call_is_back(r, call);
    r->tick++;
    parts_take(r, call);
}

static void take_verdict(struct reconcile *r, const struct inbox_verdict *verdict)
{
    struct rnode *node = reconcile_node_find(r, verdict->node_id);
    if (node == NULL)
        return;
    if (verdict->look == LOOK_NOT && node->settled)
        return; /* it cannot change what was decided; who looks next will see it */
    if (verdict->look == LOOK_FIRST)
        reconcile_undecided_came(r, node, verdict->received_us);
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
        parts_wake(r, mail.wakes.items[i].what, mail.wakes.items[i].id);
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

static void publish_stats(struct reconcile *r)
{
    reconcile_undecided_publish(r);
    pthread_mutex_lock(&r->stats_mutex);
    r->published = r->stats;
    pthread_mutex_unlock(&r->stats_mutex);
}

static int64_t next_due(const struct reconcile *r, int64_t now)
{
    struct due_entry entry;
    if (r->paused_until > now)
        return r->paused_until;
    int64_t next = parts_due(r, now);
    return due_peek(&r->due, &entry) && entry.at < next ? entry.at : next;
}

bool reconcile_run_once(struct reconcile *r, int64_t *ret_next_ms)
{
    int64_t now = reconcile_now(r);
    bool worked = take_inbox(r);
    reconcile_undecided_publish(r);
    r->stats.turns++;
    if (r->paused_until <= now) {
        take_due(r, now);
        worked = parts_run(r, now) || worked;
        worked = reconcile_turn(r) || worked;
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
    for (struct scheduler_link *link = r->links; link != NULL; link = link->next)
        if (link->driver.ops->stop != NULL)
            link->driver.ops->stop(link->driver.self);
    r->running = false;
}

void reconcile_stats(struct reconcile *r, struct reconcile_stats *ret_stats)
{
    pthread_mutex_lock(&r->stats_mutex);
    *ret_stats = r->published;
    pthread_mutex_unlock(&r->stats_mutex);
    inbox_detected(r->inbox, &ret_stats->detected);
    if (ret_stats->undecided_since_us == 0) /* else that is older */
        ret_stats->undecided_since_us = inbox_oldest_us(r->inbox);
}
