/*
 * The steps that wait: join, until the machine reports as another boot or another instance; verify, the return gate.
 *
 * Through the gate comes a node whose agent is alive and looks at the kernel log, that had no critical verdict since it came
 * up, whose checks named for the fault have looked (reconcile/operation/return.c), that was quiet for a while, and that the scheduler
 * hears. What was seen before the repair is
 * resolved at join, when the new boot proves that the repair happened.
 */
#include "base/text.h"
#include "db/node.h"
#include "db/verdict.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/base/seen.h"
#include "server/reconcile/keep/address.h"
#include "server/reconcile/operation/return.h"
#include "server/reconcile/operation/step.h"

#include <inttypes.h>

/* --- join -------------------------------------------------------------------------------------- */
static int64_t join_deadline(const struct work *w)
{
    return w->node->group->settings.join_deadline_ms;
}

static bool has_joined(const struct work *w)
{
    const struct instance *instance = &w->instance;
    if (instance->id == 0 || instance->boot_id[0] == '\0')
        return false;
    if (w->op.kind == OPERATION_KIND_REBOOT)
        return !text_equal(instance->boot_id, w->op.old_boot) || !text_equal(instance->instance_id, w->op.old_instance);
    struct fleet_view live;
    return fleet_get(w->r->service->fleet, w->node->id, &live) == 0 &&
           text_equal(live.slot.instance_id, instance->instance_id) && live.last_heartbeat_at > 0;
}

struct old {
    const struct work *w;
    int64_t before; /* the oldest open verdict of this boot: what is older was before the repair; 0: there is none */
    int64_t *kept;  /* what only a person can see to, newest first */
    size_t kept_count, kept_room;
};

static void keep(struct old *old, int64_t id)
{
    if (old->kept_count == old->kept_room) {
        old->kept_room = old->kept_room == 0 ? 64 : 2 * old->kept_room;
        old->kept = own_realloc(old->kept, old->kept_room, sizeof(*old->kept));
    }
    old->kept[old->kept_count++] = id;
}

static int find_old(const void *row, void *arg)
{
    struct old *old = arg;
    const struct verdict *verdict = row;
    const struct instance *instance = &old->w->instance;
    if (text_equal(verdict->instance_id, instance->instance_id) && text_equal(verdict->boot_id, instance->boot_id))
        old->before = verdict->id; /* newest first: the last one stays */
    else if (work_is_for_person(old->w, verdict))
        keep(old, verdict->id);
    return 0;
}

/* What an earlier boot or machine had is dealt with, but for what only a person can see to; what the new one has already
 * reported counts. */
static void resolve_old(struct work *w)
{
    struct old old = {.w = w};
    const struct db_verdict_filter filter = {.node_id = w->node->id, .state = VERDICT_STATE_OPEN};
    bool listed = work_did(w, db_verdict_list(w->turn->tx, &filter, find_old, &old));
    autofree int64_t *kept = old.kept;
    int64_t up_to = old.before > 0 ? old.before - 1 : INT64_MAX;
    for (size_t i = 0; listed && i <= old.kept_count; i++) {
        int64_t after = i < old.kept_count ? kept[i] : 0;
        if (after < up_to)
            work_did(w, db_verdict_resolve_between(w->turn->tx, w->node->id, after, up_to));
        up_to = after - 1 < up_to ? after - 1 : up_to;
    }
}

static enum step_result join_arrived(struct work *w)
{
    if (w->instance.state != INSTANCE_STATE_RUNNING &&
        sm_may(&instance_state_machine, (int)w->instance.state, INSTANCE_STATE_RUNNING)) {
        w->instance.state = INSTANCE_STATE_RUNNING;
        work_did(w, db_instance_update(w->turn->tx, &w->instance));
    }
    resolve_old(w);
    work_say(w, "instance %s, boot %s", w->instance.instance_id, w->instance.boot_id);
    return STEP_DONE;
}

static enum step_result join_run(struct work *w)
{
    int64_t every = w->node->group->settings.retry_max_ms;
    if (has_joined(w))
        return join_arrived(w);
    /* An enrolled agent wakes us; that its first heartbeat follows does not. */
    if (w->instance.boot_id[0] != '\0' && w->op.kind != OPERATION_KIND_REBOOT)
        work_due(w, w->now + w->node->group->settings.retry_min_ms);
    if (work_by_person(w)) {
        bool reboot = w->op.kind == OPERATION_KIND_REBOOT;
        work_say(w, "%s", reboot ? ASK_REBOOT : "waits for the agent's first heartbeat");
        return STEP_WAIT;
    }
    if (w->scratch.described_at == 0)
        w->scratch.described_at = w->step->started_at;
    if (w->now < w->scratch.described_at + every || w->instance.id == 0) {
        work_due(w, w->scratch.described_at + every);
        return STEP_WAIT;
    }
    w->call = work_provider_call(w, CALL_DESCRIBE, &w->instance);
    if (w->call == NULL)
        return STEP_FAIL;
    w->quiet = true;
    w->call->update_address = !w->scratch.addressed;
    if (work_has_scheduler(w))
        reconcile_call_to(w->call, reconcile_link(w->node));
    return STEP_CALL;
}

static enum step_result join_answer(struct work *w, const struct rcall *call)
{
    w->scratch.described_at = w->now;
    w->scratch.addressed = w->scratch.addressed || call->addressed;
    work_address_told(w, call);
    if (call->status == 0 && call->instance.state == PROVIDER_INSTANCE_GONE &&
        text_equal(call->instance_id, w->instance.instance_id)) {
        if (sm_may(&instance_state_machine, (int)w->instance.state, INSTANCE_STATE_LOST)) {
            w->instance.state = INSTANCE_STATE_LOST;
            work_did(w, db_instance_update(w->turn->tx, &w->instance));
        }
        work_say(w, "the provider no longer knows the instance %s", call->instance_id);
        return STEP_FAIL;
    }
    if (call->status != 0)
        work_say_error(w, call);
    else if (call->instance.trouble[0] != '\0')
        work_say(w, "%s", call->instance.trouble);
    return STEP_GO_ON;
}

const struct step_ops step_join = {
    .run = join_run,
    .answer = join_answer,
    .deadline_ms = join_deadline,
};

/* --- verify ------------------------------------------------------------------------------------ */
#define UNPROVEN "alive, but not yet proven"
#define UNHEARD_TOLD_AFTER_MS (5 * MS_PER_S) /* a daemon that starts with its machine is heard by then */

static int64_t verify_deadline(const struct work *w)
{
    return w->node->group->settings.verify_deadline_ms;
}

bool work_is_absence(const struct work *w)
{
    return w->op.cause == OPERATION_CAUSE_ABSENCE;
}

static enum step_result verify_enter(struct work *w)
{
    work_move(w, NODE_STATE_VERIFYING, UNPROVEN);
    bool dealt_with = w->op.kind == OPERATION_KIND_RELEASE && !work_is_absence(w);
    if (dealt_with) { /* by whoever gives the node back */
        w->row.person_hold = 0;
        work_did(w, db_verdict_resolve(w->turn->tx, w->node->id, 0, NULL));
        work_did(w, turn_node_write(w->turn, w->node, &w->row));
    }
    return STEP_GO_ON;
}

/* What is still missing, in words; NULL when the machine itself is fine. */
static const char *machine_lacks(struct work *w)
{
    struct fleet_view live;
    if (w->instance.id == 0)
        return "the node has no instance";
    if (fleet_get(w->r->service->fleet, w->node->id, &live) != 0 || live.last_heartbeat_at == 0 ||
        !text_equal(live.slot.boot_id, w->instance.boot_id))
        return "waits for the agent's first heartbeat";
    if (live.silent || w->now - live.last_heartbeat_at > w->node->group->settings.policy.silent_after_ms)
        return "waits for the agent, which is silent";
    if (work_is_absence(w) &&
        live.last_heartbeat_at < w->step->started_at) /* what was heard may be of the boot that is over */
        return "waits for the agent's next heartbeat";
    if ((live.checks & FLEET_CHECK_KMSG) == 0)
        return "waits for the agent to read the kernel log";
    return NULL;
}

static const char *scheduler_lacks(const struct work *w)
{
    if (!work_has_scheduler(w) || reconcile_unknown_there(w->node))
        return NULL;
    if (!reconcile_sees(w->r, w->node))
        return "waits for the scheduler's snapshot of the node";
    bool soon = w->now < w->step->started_at + UNHEARD_TOLD_AFTER_MS;
    return !w->node->responding && soon ? "waits for the scheduler to hear the node" : NULL;
}

/* --- a daemon that does not come --------------------------------------------------------------- */
/* Where people look first: at the node. */
static void tell(struct work *w, const char *what)
{
    work_say(w, "%s", what);
    if (w->row.state == NODE_STATE_VERIFYING)
        work_move(w, NODE_STATE_VERIFYING, what);
}

static void tell_unheard(struct work *w, const char *trouble)
{
    const char *daemon = reconcile_link(w->node)->driver.ops->daemon;
    autofree char *look = own_printf("; run on the node: systemctl status %s", text_or_empty(daemon));
    autofree char *what = own_printf("the scheduler has not heard %s%s%s%s%s", text_or_empty(daemon),
                                     daemon != NULL ? " on " : "", w->node->name, trouble[0] != '\0' ? ": " : "",
                                     trouble[0] != '\0' ? trouble
                                     : daemon != NULL   ? look
                                                        : "");
    tell(w, what);
}

/* The provider may see why. It is asked more and more rarely. */
static bool is_asked_why(const struct work *w)
{
    const struct loop_settings *settings = &w->node->group->settings;
    int64_t pause = w->scratch.described_at - w->step->started_at;
    pause = pause < settings->retry_min_ms ? settings->retry_min_ms : pause;
    pause = pause > settings->retry_max_ms ? settings->retry_max_ms : pause;
    return !work_by_person(w) && (w->scratch.described_at == 0 || w->now >= w->scratch.described_at + pause);
}

/* The agent is there, and the scheduler has never seen the node, or does not hear it. */
static enum step_result wait_for_daemon(struct work *w)
{
    work_due(w, w->now + reconcile_group_observe_interval(w->node->group));
    if (reconcile_unknown_there(w->node)) {
        tell(w, "the scheduler does not know the node: add it there");
        return STEP_WAIT;
    }
    if (is_asked_why(w))
        w->call = work_provider_call(w, CALL_DESCRIBE, &w->instance);
    if (w->call == NULL && !w->scratch.troubled)
        tell_unheard(w, "");
    if (w->call == NULL)
        return STEP_WAIT;
    w->quiet = true;
    return STEP_CALL;
}

static enum step_result take_why(struct work *w, const struct rcall *call)
{
    const char *trouble = call->status == 0 ? call->instance.trouble : "";
    w->scratch.described_at = w->now;
    w->scratch.troubled = trouble[0] != '\0' && work_has_scheduler(w) && !w->node->responding;
    if (w->scratch.troubled)
        tell_unheard(w, trouble);
    return STEP_GO_ON;
}

/* --- the gate ---------------------------------------------------------------------------------- */

/* Providers tell where their instances live when they make them; of a machine that people put there its agent does. */
static bool has_moved(struct work *w)
{
    const struct scheduler_link *link = reconcile_link(w->node);
    if (w->scratch.addressed || !work_by_person(w) || !work_has_scheduler(w) || link->managed ||
        link->driver.ops->addresses == NULL || w->instance.address[0] == '\0')
        return false;
    AUTO(rcall) struct rcall *call = work_scheduler_call(w, CALL_UPDATE_ADDRESS);
    text_copy_cut(call->move.address, sizeof(call->move.address), w->instance.address);
    w->scratch.addressed = !work_address_ask(w, call);
    if (w->status != 0 || w->scratch.addressed)
        return false;
    w->call = TAKE(call);
    return true;
}

static int64_t quiet_since(const struct work *w)
{
    bool same_boot = w->op.kind == OPERATION_KIND_RELEASE || w->op.kind == OPERATION_KIND_RESET;
    return same_boot || w->instance.boot_at > w->now ? w->step->started_at : w->instance.boot_at;
}

static enum step_result verify_run(struct work *w)
{
    const struct loop_settings *settings = &w->node->group->settings;
    work_resolve_cleared_by_reset(w); /* what comes late is none of it */
    int64_t critical = work_open_critical(w, true);
    if (critical > 0) {
        w->relapsed = true;
        work_say(w, "%" PRId64 " critical verdicts since it came up", critical);
        return STEP_FAIL;
    }
    const char *lacks = machine_lacks(w);
    if (lacks == NULL && has_moved(w))
        return STEP_CALL;
    if (lacks == NULL)
        lacks = scheduler_lacks(w);
    if (lacks != NULL) {
        w->scratch.troubled = false;
        work_say(w, "%s", lacks);
        work_due(w, w->now + reconcile_group_observe_interval(w->node->group));
        return STEP_WAIT;
    }
    if (work_has_scheduler(w) && (reconcile_unknown_there(w->node) || !w->node->responding))
        return wait_for_daemon(w);
    work_move(w, w->row.state, w->row.state == NODE_STATE_VERIFYING ? UNPROVEN : w->row.reason);
    if (work_checks_lack(w)) {
        work_due(w, w->now + reconcile_group_observe_interval(w->node->group));
        return STEP_WAIT;
    }
    int64_t quiet_until = quiet_since(w) + settings->verify_quiet_ms;
    if (w->now < quiet_until) {
        work_say(w, "waits for a quiet time");
        work_due(w, quiet_until);
        return STEP_WAIT;
    }
    work_say(w, "alive, checked and quiet");
    return STEP_DONE;
}

static enum step_result verify_answer(struct work *w, const struct rcall *call)
{
    if (call->kind == CALL_DESCRIBE)
        return take_why(w, call);
    if (call->kind != CALL_UPDATE_ADDRESS)
        return STEP_GO_ON;
    if (call->status != 0)
        work_say_error(w, call);
    else
        work_address_told(w, call);
    if (call->status != 0 && call->status != STATUS_NOT_FOUND && !reconcile_call_is_final(call->status))
        return STEP_RETRY;
    w->scratch.addressed =
        true; /* where it cannot be told, the scheduler does not hear the node, and the gate says so */
    return STEP_GO_ON;
}

const struct step_ops step_verify = {
    .enter = verify_enter,
    .run = verify_run,
    .answer = verify_answer,
    .deadline_ms = verify_deadline,
    .asks_scheduler = true,
};
