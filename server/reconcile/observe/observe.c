/*
 * Looking: at each scheduler every observe_interval_ms of its own through the executor, at silent agents once a second.
 *
 * A picture is believed for a node only when it was asked for after our own last change there had come back; an older
 * one would show our own mark as a person's wish, or a node that we gave back as still held. What is seen is
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
#include "server/reconcile/base/queue.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/keep/address.h"
#include "server/reconcile/keep/hold.h"
#include "server/reconcile/observe/job_snapshot.h"
#include "server/reconcile/world/recount.h"
#include "server/reconcile/world/topology.h"
#include "server/service/scheduler/scheduler.h"

#include <string.h>

#define PLACES_INTERVAL_MS 300000 /* the topology is asked for so often: it is rewritten when a node is replaced */
#define SWEEP_INTERVAL_MS 1000    /* silent agents are looked for so often */
#define LOST_TOGETHER_MS 15000    /* nodes that vanish within this are judged together: one rack, not many faults */
#define OBSERVE_FAILURES_DOWN 2   /* so many failed looks in a row: the scheduler is down */
#define LOOK_PAUSE_MS_MIN 500 /* after a change of ours the scheduler is looked at again, not sooner than this … */
#define LOOK_PAUSE_FACTOR 10  /* … or so many times what the last look took */

bool reconcile_sees(const struct reconcile *r, const struct rnode *node)
{
    const struct scheduler_link *link = reconcile_link(node);
    return link != NULL && node->seen_seq > node->touched_seq && node->seen_seq == link->observed_seq &&
           reconcile_now(r) - link->observed_at <= reconcile_link_age_max(link);
}

bool reconcile_unknown_there(const struct rnode *node)
{
    const struct scheduler_link *link = reconcile_link(node);
    return link != NULL && link->observed_seq > node->touched_seq && node->seen_seq != link->observed_seq;
}

bool reconcile_reason_is_ours(const struct rnode *node)
{
    return node->reason != NULL && node->note_at > 0;
}

bool reconcile_external_drain(const struct rnode *node)
{
    return node->drained && !reconcile_reason_is_ours(node) && node->request != SCHEDULER_REQUEST_REBOOT &&
           node->request != SCHEDULER_REQUEST_REPLACE;
}

void reconcile_observe_send(struct reconcile *r, struct scheduler_link *link)
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

/* --- one node's picture ------------------------------------------------------------------------ */
static bool set_text(char **text, const char *to)
{
    if (text_equal(*text == NULL ? "" : *text, to))
        return false;
    free(*text);
    *text = to[0] == '\0' ? NULL : own_strdup(to);
    return true;
}

/* Steps that wait for the scheduler to hear a node, or for a newer picture, look again. */
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
    bool changed = node->seen_seq <= node->touched_seq || node->responding != seen->responding ||
                   node->schedulable != seen->schedulable || node->drained != seen->drained ||
                   node->downed != seen->downed || node->switched_off != seen->switched_off ||
                   node->request != (uint8_t)seen->request;
    bool reason_changed = set_text(&node->reason, seen->reason);
    changed = set_text(&node->reason_user, seen->reason_user) || changed;
    node->note_at = seen->ours ? (uint16_t)seen->note : 0;
    node->reason_at = seen->reason_at;
    node->responding = seen->responding;
    node->switched_off = seen->switched_off;
    node->schedulable = seen->schedulable;
    node->drained = seen->drained;
    node->busy = seen->busy;
    node->downed = seen->downed;
    see_request(node, seen, reason_changed);
    node->seen_seq = seq;
    reconcile_node_recount(node);
    if (changed || reason_changed) {
        node->hold_refused = false;
        r->signals_changed = r->signals_changed || node->silent_since > 0 || node->incident != NULL;
        reconcile_node_dirty(r, node);
    }
    poke_waiting(r, node);
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
void reconcile_observe_soon(struct reconcile *r, struct scheduler_link *link)
{
    int64_t pause = link->took_ms * LOOK_PAUSE_FACTOR;
    int64_t at = reconcile_now(r) + (pause > LOOK_PAUSE_MS_MIN ? pause : LOOK_PAUSE_MS_MIN);
    if (at < link->observe_at)
        link->observe_at = at;
}

void reconcile_observe_take(struct reconcile *r, struct rcall *call)
{
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
}

/* --- agents ------------------------------------------------------------------------------------ */
static bool silence_matters(const struct rnode *node)
{
    return node->op == NULL && (node->state == NODE_STATE_READY || node->state == NODE_STATE_HELD ||
                                node->state == NODE_STATE_VERIFYING || node->state == NODE_STATE_FAILED);
}

static void fell_silent(int64_t node_id, int64_t last_heartbeat_at, void *arg)
{
    struct reconcile *r = arg;
    struct rnode *node = reconcile_node_find(r, node_id);
    if (node == NULL)
        return;
    int64_t now = reconcile_now(r);
    const struct policy_settings *policy = &r->deps.settings.policy;
    node->silent_since = last_heartbeat_at > 0 ? last_heartbeat_at : now - policy->silent_after_ms;
    node->lost = last_heartbeat_at > 0;
    r->signals_changed = true;
    if (!silence_matters(node))
        return; /* a machine that is being rebooted or made has nothing to say */
    node->notes |= NOTE_SILENT;
    idqueue_push(&node->group->silent, node->id);
    reconcile_node_dirty(r, node);
}

int64_t reconcile_lost_at(const struct rnode *node)
{
    int64_t at = node->silent_since + node->group->settings.policy.unreachable_after_ms;
    return (at + LOST_TOGETHER_MS - 1) / LOST_TOGETHER_MS * LOST_TOGETHER_MS;
}

void reconcile_group_silent(struct reconcile *r, struct rgroup *group)
{
    int64_t id;
    for (size_t left = group->silent.count; left > 0 && idqueue_pop(&group->silent, &id); left--) {
        struct rnode *node = reconcile_node_find(r, id);
        if (node == NULL || node->silent_since == 0)
            continue;
        reconcile_node_dirty(r, node);
        idqueue_push(&group->silent, id);
    }
}

void reconcile_sweep(struct reconcile *r)
{
    int64_t now = reconcile_now(r);
    r->sweep_at = now + SWEEP_INTERVAL_MS;
    reconcile_log_second(r, now);
    fleet_sweep(r->service->fleet, now, r->deps.settings.policy.silent_after_ms, fell_silent, r);
}

void reconcile_agent_changed(struct reconcile *r, struct rnode *node)
{
    struct fleet_view live;
    if (fleet_get(r->service->fleet, node->id, &live) == 0 && !live.silent) {
        node->notes &= (uint8_t)~NOTE_SILENT;
        node->silent_since = 0;
        r->signals_changed = r->signals_changed || node->incident != NULL;
    }
    reconcile_node_dirty(r, node);
    reconcile_operation_poke(r, node);
}
