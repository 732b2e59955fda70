/*
 * Looking: at each scheduler every observe_interval_ms of its own through the executor, at silent agents once a second.
 *
 * A snapshot is believed for a node only when it was asked for after our own last change there had come back; an older
 * one would show our own mark as a person's request, or a node that we gave back as still held. What is seen is
 * kept in memory; what follows from it is decided like everything else.
 */
#include "server/reconcile/observe/observe.h"
#include "base/map.h"
#include "base/text.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/operation.h"
#include "server/reconcile/base/part.h"
#include "server/reconcile/base/queue.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/keep/address.h"
#include "server/reconcile/keep/hold.h"
#include "server/reconcile/observe/agents.h"
#include "server/reconcile/observe/job_snapshot.h"
#include "server/reconcile/world/recount.h"
#include "server/reconcile/world/topology.h"
#include "server/service/scheduler/scheduler.h"

#include <string.h>

#define PLACES_INTERVAL_MS 300000 /* the topology is asked for so often: it is rewritten when a node is replaced */
#define OBSERVE_FAILURES_DOWN 2   /* so many failed looks in a row: the scheduler is down */
#define LOOK_PAUSE_MS_MIN 500 /* after a change of ours the scheduler is looked at again, not sooner than this … */
#define LOOK_PAUSE_FACTOR 10  /* … or so many times what the last look took */

static void send(struct reconcile *r, struct scheduler_link *link)
{
    struct rcall *call = reconcile_call_new(CALL_OBSERVE, 0, 0);
    reconcile_call_to(call, link);
    call->with_places = reconcile_now(r) >= link->places_at;
    link->observing = true;
    link->observe_now = false;
    link->observe_at = reconcile_now(r) + link->observe_interval_ms;
    link->asked_at = reconcile_now(r);
    reconcile_call_send(r, call);
}

/* --- one node's snapshot ------------------------------------------------------------------------ */
static bool set_text(char **text, const char *to)
{
    if (text_equal(*text == NULL ? "" : *text, to))
        return false;
    free(*text);
    *text = to[0] == '\0' ? NULL : own_strdup(to);
    return true;
}

/* Steps that wait for the scheduler to hear a node, or for a newer snapshot, look again. */
static void poke_waiting(struct reconcile *r, struct rnode *node)
{
    if (node->op != NULL && !node->op->in_flight &&
        (node->op->step == STEP_KIND_MARK || node->op->step == STEP_KIND_VERIFY || node->op->step == STEP_KIND_RESUME))
        reconcile_operation_poke(r, node);
}

static bool is_request(uint8_t request)
{
    return request == SCHEDULER_REQUEST_REBOOT || request == SCHEDULER_REQUEST_REPLACE;
}

static void see_request(struct rnode *node, const struct scheduler_node *seen, bool reason_changed)
{
    uint8_t request = (uint8_t)seen->request;
    if (request != node->leftover)
        node->leftover = SCHEDULER_REQUEST_NONE; /* what our operation left there is gone */
    bool asks = is_request(request) && request != node->leftover;
    if (asks && (request != node->request || reason_changed || node->seen_seq == 0))
        node->request_fresh = true;
    if (!asks)
        node->request_fresh = false;
    if (request == SCHEDULER_REQUEST_NEAR_MISS && !seen->annotated && (request != node->request || reason_changed))
        node->notes |= NOTE_NEAR_MISS;
    node->request = request;
}

static void see_node(struct reconcile *r, struct rnode *node, const struct scheduler_node *seen, uint64_t seq)
{
    const bool down = seen->down && !seen->responding;
    bool changed = node->seen_seq <= node->touched_seq || node->responding != seen->responding || node->down != down ||
                   node->schedulable != seen->schedulable || node->drained != seen->drained ||
                   node->downed != seen->downed || node->switched_off != seen->switched_off ||
                   node->maintenance != seen->maintenance || node->reserved != seen->reserved ||
                   node->request != (uint8_t)seen->request;
    bool reason_changed = set_text(&node->reason, seen->reason);
    changed = set_text(&node->reason_user, seen->reason_user) || changed;
    node->note_at = seen->ours ? (uint16_t)seen->note : 0;
    node->reason_at = seen->reason_at == 0 ? 0 : seen->reason_at + clock_ahead_ms(r->service->clock);
    node->responding = seen->responding;
    node->down = down;
    node->switched_off = seen->switched_off;
    node->maintenance = seen->maintenance;
    node->reserved = seen->reserved;
    node->schedulable = seen->schedulable;
    node->drained = seen->drained;
    node->busy = seen->busy;
    node->downed = seen->downed;
    see_request(node, seen, reason_changed);
    node->seen_seq = seq;
    reconcile_node_recount(node);
    if (changed || reason_changed) {
        node->hold_refused = false;
        if (node->silent_since > 0 || node->incident != NULL)
            r->signals_changed = true;
        reconcile_node_dirty(r, node);
    }
    poke_waiting(r, node);
    reconcile_hold_keep(r, node);
}

static void see_all(struct reconcile *r, const struct rcall *call)
{
    for (size_t i = 0; i < call->observation.count; i++) {
        const struct scheduler_node *seen = &call->observation.nodes[i];
        struct rnode *node = map_get(call->link->nodes, seen->name);
        if (node != NULL && node->address != NULL)
            reconcile_address_see(r, node, scheduler_word(&call->observation, seen->address),
                                  scheduler_word(&call->observation, seen->host), call->seq);
        if (node != NULL && call->seq > node->touched_seq)
            see_node(r, node, seen, call->seq);
    }
    for (struct rgroup *group = r->groups; group != NULL; group = group->next)
        for (struct rnode *node = group->cluster->link == call->link ? group->out : NULL; node != NULL;
             node = node->out_next)
            if (node->look == LOOK_NOT) /* else it is decided on first */
                reconcile_hold_check(r, node);
}

/* --- the scheduler as a whole ------------------------------------------------------------------ */
/* Whatever waited for the scheduler goes on, and it may speak of nodes whose agents do not. */
static void poke_all(struct reconcile *r, const struct scheduler_link *link)
{
    for (struct rgroup *group = r->groups; group != NULL; group = group->next)
        if (group->cluster->link == link)
            reconcile_group_silent(r, group);
    for (size_t i = 0; i < r->nodes.capacity; i++) {
        struct rnode *node = r->nodes.slots[i];
        if (node != NULL && node->op != NULL && reconcile_link(node) == link)
            reconcile_operation_poke(r, node);
    }
}

static void show_scheduler(struct scheduler_link *link, enum scheduler_state state, int64_t since, const char *error)
{
    struct service_scheduler_status status = {.state = state, .since = since};
    text_copy_cut(status.error, sizeof(status.error), error);
    text_copy_cut(status.transport, sizeof(status.transport), link->transport);
    service_scheduler_set(link->shown, &status);
}

/* True when it is spoken to otherwise than before: told once, with what that way cannot do. */
static bool took_another_transport(struct scheduler_link *link)
{
    const struct scheduler_driver *scheduler = &link->driver;
    char transport[SCHEDULER_TRANSPORT_MAX] = "";
    if (scheduler->ops->transport != NULL)
        scheduler->ops->transport(scheduler->self, transport);
    if (text_equal(transport, link->transport))
        return false;
    text_copy_cut(link->transport, sizeof(link->transport), transport);
    log_info("scheduler connected name=%s kind=%s transport=\"%s\"", link->name, scheduler->ops->name, transport);
    return true;
}

static void scheduler_answers(struct reconcile *r, struct scheduler_link *link, uint64_t seq)
{
    bool was_away = link->down || link->observed_at == 0;
    if (was_away)
        link->up_since = link->asked_at;
    if (took_another_transport(link) || was_away)
        show_scheduler(link, SCHEDULER_STATE_UP, link->up_since, "");
    bool failed = link->failing_since != 0;
    link->failing_since = 0;
    if (link->down)
        link->event = link->event == EVENT_KIND_SCHEDULER_DOWN ? -1 : EVENT_KIND_SCHEDULER_BACK;
    link->failures = 0;
    link->down = false;
    link->observed_at = link->asked_at;
    link->observed_seq = seq;
    service_scheduler_seen(link->shown, link->observed_at);
    r->stats.last_observed_at = link->observed_at;
    if (was_away || failed)
        poke_all(r, link);
}

static void scheduler_fails(struct reconcile *r, struct scheduler_link *link, const struct rcall *call)
{
    r->stats.scheduler_errors++;
    text_copy_cut(link->error, sizeof(link->error),
                  call->error[0] != '\0' ? call->error : status_meaning(call->status));
    if (link->failing_since == 0)
        link->failing_since = link->asked_at;
    if (++link->failures >= OBSERVE_FAILURES_DOWN)
        show_scheduler(link, SCHEDULER_STATE_DOWN, link->failing_since, link->error);
    if (link->failures != OBSERVE_FAILURES_DOWN)
        return;
    link->down = true;
    link->event = EVENT_KIND_SCHEDULER_DOWN;
}

/* A node that we changed can only be acted on by a snapshot of what is there now. What looks cost bounds how many there are. */
static void look_soon(struct reconcile *r, struct scheduler_link *link)
{
    int64_t pause = link->took_ms * LOOK_PAUSE_FACTOR;
    int64_t at = reconcile_now(r) + (pause > LOOK_PAUSE_MS_MIN ? pause : LOOK_PAUSE_MS_MIN);
    if (at < link->observe_at)
        link->observe_at = at;
}

void reconcile_observe_now(struct reconcile *r, struct rnode *node, const void *data)
{
    (void)r, (void)data;
    reconcile_link(node)->observe_now = true;
}

static bool changes_scheduler(enum call_kind kind)
{
    return kind == CALL_CORDON || kind == CALL_HOLD || kind == CALL_UNCORDON;
}

/* After a change of ours: snapshots that were asked for before now say nothing about the node. */
static void hear(struct reconcile *r, const struct rcall *call)
{
    struct rnode *node = changes_scheduler(call->kind) ? reconcile_node_find(r, call->node_id) : NULL;
    if (node != NULL)
        node->touched_seq = r->tick;
    if (changes_scheduler(call->kind))
        look_soon(r, call->link);
}

static enum part_take take(struct reconcile *r, struct rcall *call)
{
    if (call->kind != CALL_OBSERVE)
        return PART_TAKE_NOT_MINE;
    struct scheduler_link *link = call->link;
    link->observing = false;
    link->took_ms = reconcile_now(r) - link->asked_at;
    if (call->status == 0) {
        scheduler_answers(r, link, call->seq);
        see_all(r, call);
        if (call->with_places)
            link->places_at = reconcile_now(r) + PLACES_INTERVAL_MS;
        reconcile_places_take(r, call);
        reconcile_job_snapshot(r, call);
    } else {
        scheduler_fails(r, link, call);
    }
    return PART_TAKE_DONE;
}

/* --- its turn ---------------------------------------------------------------------------------- */
/* When a scheduler is looked at next; INT64_MAX: not while things stand so. One without a cluster is looked at for people who would make
 * one of its nodes, as often as its jobs are. */
static int64_t link_due(const struct scheduler_link *link, int64_t now)
{
    if (!reconcile_link_is_configured(link) || link->observing)
        return INT64_MAX;
    if (link->clusters > 0)
        return link->observe_now ? now : link->observe_at;
    bool jobs = link->driver.ops->jobs != NULL && link->job_snapshot_interval_ms > 0 && !link->job_snapshot_running;
    return !jobs ? INT64_MAX : link->job_snapshot_at > link->observe_at ? link->job_snapshot_at : link->observe_at;
}

static int64_t due(const struct reconcile *r, int64_t now)
{
    int64_t next = INT64_MAX;
    for (const struct scheduler_link *link = r->links; link != NULL; link = link->next) {
        int64_t at = link_due(link, now);
        next = at < next ? at : next;
    }
    return next;
}

static bool run(struct reconcile *r, int64_t now)
{
    bool any = false;
    for (struct scheduler_link *link = r->links; link != NULL; link = link->next)
        if (link_due(link, now) <= now) {
            send(r, link);
            any = true;
        }
    return any;
}

/* --- what is told of it ------------------------------------------------------------------------ */
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

static int write_events(struct turn *turn)
{
    int status = 0;
    for (const struct scheduler_link *link = turn->r->links; link != NULL && status == 0; link = link->next)
        if (link->event_written >= 0)
            status = write_link_event(turn, link);
    return status;
}

/* Before the transaction: what its events say, whatever comes meanwhile. */
static int plan(struct turn *turn)
{
    bool any = false;
    for (struct scheduler_link *link = turn->r->links; link != NULL; link = link->next) {
        link->event_written = link->event;
        any = any || link->event >= 0;
    }
    return any ? PART_PLAN_STORE : PART_PLAN_NOTHING;
}

static void events_written(struct turn *turn)
{
    for (struct scheduler_link *link = turn->r->links; link != NULL; link = link->next)
        if (link->event == link->event_written)
            link->event = -1;
}

const struct part part_observe = {
    .hear = hear,
    .take = take,
    .due = due,
    .run = run,
    .plan = plan,
    .write = write_events,
    .done = events_written,
};
