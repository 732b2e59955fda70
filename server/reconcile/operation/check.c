/*
 * The step check: the instance runs deep health checks while it takes no work: those that somebody asked for, or on a new machine
 * those that its group wants before it takes any.
 *
 * The agent is asked through the agent tasks, with every heartbeat, until its last word is in the store (service/agent/check_report.c);
 * the step only reads that. So a restart of either loses nothing and runs nothing twice. A run that failed leaves verdicts, and
 * the node held: what follows is the policy's to say.
 */
#include "base/text.h"
#include "db/cluster.h"
#include "db/deep.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/effect.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/base/seen.h"
#include "server/reconcile/keep/quarantine.h"
#include "server/reconcile/operation/operate.h"
#include "server/reconcile/operation/return.h"
#include "server/reconcile/operation/step.h"
#include "server/reconcile/operation/task.h"

#include <inttypes.h>

#define DCGM_LEVEL_QUICK \
    1 /* seconds; level 2 takes up to 10.5 minutes (awsome-distributed-training), which is not quick */
#define DCGM_LEVEL_DEEP 4             /* HyperPod's own */
#define LAST_WORD_MS (2 * MS_PER_MIN) /* beyond the limit that the agent keeps, to hear from it what became of it */
#define SETTLE_MS MS_PER_MIN          /* new machines of a group come one by one */

/* NOT_FOUND: the operation has none. */
static int read_run(const struct work *w, struct deep_run *ret_run)
{
    return db_deep_run_of_operation(w->turn->tx, w->op.id, ret_run);
}

static int64_t run_limit_ms(const struct work *w, const struct deep_run *run)
{
    const struct loop_settings *settings = &w->node->group->settings;
    return run->profile == DEEP_PROFILE_QUICK ? settings->check_quick_ms : settings->check_deep_ms;
}

static int64_t check_deadline(const struct work *w)
{
    struct deep_run run;
    return LAST_WORD_MS + (read_run(w, &run) == 0 ? run_limit_ms(w, &run) : w->node->group->settings.check_deep_ms);
}

/* It was taken for a test in this very turn. */
static bool is_taken(const struct turn *turn, const struct rnode *node)
{
    for (size_t i = 0; i < turn->effect_count; i++)
        if (turn->effects[i].kind == EFFECT_NODE && turn->effects[i].node == node)
            return true;
    return false;
}

/* In service, healthy, without work; and if it is to be tested as well, that has not begun. */
static bool is_spare(const struct work *w, const struct rnode *node)
{
    bool idle = node->op == NULL || node->op->kind == OPERATION_KIND_CHECK;
    bool free = !reconcile_node_has_scheduler(node) || (reconcile_sees(w->r, node) && node->schedulable && !node->busy);
    return node != w->node && node->state == NODE_STATE_READY && node->health == HEALTH_HEALTHY && idle && free &&
           !is_taken(w->turn, node);
}

static enum step_result may_take(struct work *w)
{
    struct deep_run run;
    int status = read_run(w, &run);
    if (status == STATUS_NOT_FOUND || (status == 0 && !run.needs_spare))
        return STEP_GO_ON;
    if (!work_did(w, status))
        return STEP_WAIT;
    for (const struct rnode *node = w->node->group->first; node != NULL; node = node->group_next)
        if (is_spare(w, node))
            return STEP_GO_ON;
    if (w->now < w->op.created_at + w->node->group->settings.check_wait_ms) {
        work_due(w, w->now + reconcile_group_observe_interval(w->node->group));
        return STEP_WAIT;
    }
    work_say(w, "there is no spare: no other node of the group is in service, healthy, idle and not under test; "
                "ask again later, for the quick profile, or force it");
    return STEP_FAIL;
}

enum step_result work_may_check(struct work *w)
{
    const int64_t asked = deep_checks_parse(w->op.code);
    struct fleet_view live;
    bool known = fleet_get(w->r->service->fleet, w->node->id, &live) == 0;
    if (known && live.last_heartbeat_at == 0 && !live.silent) {
        work_due(w, w->now + w->node->group->settings.retry_min_ms);
        return STEP_WAIT; /* this hpd has just started: an agent that is there will be heard */
    }
    if (!known || live.silent) {
        work_say(w, "the node's agent is not heard, so nothing can be checked");
        return STEP_FAIL;
    }
    for (int i = 0; i < DEEP_CHECK_COUNT; i++)
        if ((asked & SM_BIT(i)) != 0 && (live.checks & FLEET_CHECK_DEEP(i)) == 0) {
            work_say(w, "the node's agent offers no check \"%s\": nothing was done to the node",
                     deep_check_text((enum deep_check)i));
            return STEP_FAIL;
        }
    if (asked == 0)
        work_say(w, "\"%s\" names no check that is known", w->op.code);
    return asked == 0 ? STEP_FAIL : may_take(w);
}

static void ask(struct work *w, const struct deep_run *run)
{
    struct deep_job job = {.checks = run->checks,
                           .profile = run->profile,
                           .dcgm_level = run->profile == DEEP_PROFILE_QUICK ? DCGM_LEVEL_QUICK : DCGM_LEVEL_DEEP,
                           .stress_s = w->node->group->settings.check_stress_ms / MS_PER_S,
                           .time_limit_ms = run_limit_ms(w, run)};
    text_copy_cut(job.key, sizeof(job.key), w->op.uid);
    text_copy_cut(job.instance_id, sizeof(job.instance_id), w->instance.instance_id);
    text_copy_cut(job.node, sizeof(job.node), w->row.name);
    text_copy_cut(job.group, sizeof(job.group), w->node->group->name);
    job.settle_ms = w->op.kind == OPERATION_KIND_CHECK ? 0 : SETTLE_MS;
    text_copy_cut(job.instance_type, sizeof(job.instance_type), w->node->group->instance_type);
    deep_site_fill(&w->r->deps.settings.check_limits, &job);
    work_task_check(w, &job);
}

static enum step_result judge(struct work *w, const struct deep_run *run)
{
    work_task_drop(w);
    if (run->state == DEEP_STATE_PASSED) {
        work_say(w, "%" PRId64 " tests passed, %" PRId64 " skipped", run->passed, run->skipped);
        return STEP_DONE;
    }
    if (run->state == DEEP_STATE_SKIPPED) {
        work_say(w, "nothing could be tested here: %s", run->detail);
        return STEP_DONE;
    }
    w->relapsed = run->state == DEEP_STATE_FAILED; /* its verdicts are the policy's to judge */
    work_say(w, "%s", run->detail);
    return STEP_FAIL;
}

/* --- on a new machine -------------------------------------------------------------------------- */

static int64_t wanted_on_start(struct work *w)
{
    AUTO(group_spec) struct group_spec spec = {0};
    int status = db_group_spec_get(w->turn->tx, w->row.group_id, &spec);
    (void)work_did(w, status == STATUS_UNREADABLE ? 0 : status); /* a new machine has waited before its scripts */
    return spec.checks_on_start.value;
}

static enum step_result check_enter(struct work *w)
{
    if (w->op.kind == OPERATION_KIND_CHECK)
        return STEP_GO_ON;
    if (w->op.retests == 0 && !work_asks_hardware(w) && wanted_on_start(w) == 0)
        return STEP_SKIP;
    if (w->op.kind == OPERATION_KIND_REPLACE ||
        w->op.kind == OPERATION_KIND_REBOOT) /* if it fails, the policy says what is next, as for any machine */
        work_move(w, NODE_STATE_VERIFYING, "it is tested before it takes work");
    return STEP_GO_ON;
}

/* What the agent does not offer is left out, and said: it is no fault of the machine. */
static enum step_result begin_on_start(struct work *w)
{
    struct fleet_view live;
    char lacks[DEEP_CHECKS_MAX_BYTES];
    int64_t offered = 0;
    if (fleet_get(w->r->service->fleet, w->node->id, &live) != 0 || live.last_heartbeat_at == 0) {
        work_say(w, "waits for the agent's first heartbeat");
        work_due(w, w->now + w->node->group->settings.retry_min_ms);
        return STEP_WAIT;
    }
    if (work_asks_hardware(w) && !work_hardware_is_told(w)) {
        work_say(w, "waits for the agent to tell what the machine is made of");
        work_due(w, w->now + w->node->group->settings.retry_max_ms);
        return STEP_WAIT;
    }
    int64_t recurring = work_asks_hardware(w) ? work_recurring(w) : 0;
    int64_t wanted = recurring | w->op.retests | (w->op.kind == OPERATION_KIND_REBOOT ? 0 : wanted_on_start(w));
    if (wanted == 0) {
        work_say(w, "nothing asks for a test");
        return STEP_SKIP;
    }
    for (int i = 0; i < DEEP_CHECK_COUNT; i++)
        if ((live.checks & FLEET_CHECK_DEEP(i)) != 0)
            offered |= SM_BIT(i);
    deep_checks_text(wanted & ~offered, lacks);
    if (lacks[0] != '\0')
        work_event(w, EVENT_LEVEL_WARN, EVENT_KIND_DEEP_CHECK, "the agent offers no check \"%s\" that is wanted",
                   lacks);
    if ((wanted & offered) == 0) {
        work_say(w, "the agent offers no check that is wanted: nothing was tested");
        return STEP_SKIP;
    }
    struct deep_run run = {.operation_id = w->op.id,
                           .cluster_id = w->row.cluster_id,
                           .node_id = w->node->id,
                           .profile = DEEP_PROFILE_DEEP,
                           .checks = wanted & offered,
                           .state = DEEP_STATE_WAITING,
                           .created_at = w->now};
    return work_did(w, db_deep_run_insert(w->turn->tx, &run)) ? STEP_GO_ON : STEP_WAIT;
}

/* A new machine has no mark of its own yet, and may have been given work since it came up. */
static bool needs_room(const struct work *w, const struct deep_run *run)
{
    return w->op.kind == OPERATION_KIND_LAUNCH && run->state == DEEP_STATE_WAITING && !w->scratch.cleared &&
           work_has_scheduler(w) && reconcile_link_is_usable(reconcile_link(w->node)) &&
           !reconcile_unknown_there(w->node);
}

static enum step_result make_room(struct work *w)
{
    w->quiet = true;
    w->call = work_scheduler_call(w, w->scratch.marked ? CALL_WORKLOADS : CALL_CORDON);
    reconcile_call_owner(w->call, reconcile_owner(OPERATION_KIND_CHECK));
    return STEP_CALL;
}

/* Whoever else holds the node keeps work away as well. */
static enum step_result take_room(struct work *w, const struct rcall *call)
{
    const struct loop_settings *settings = &w->node->group->settings;
    if (call->status != 0 && call->status != STATUS_CONFLICT && !reconcile_call_is_final(call->status)) {
        work_say_error(w, call);
        return STEP_RETRY;
    }
    w->scratch.failures = 0;
    if (call->kind == CALL_CORDON) {
        w->scratch.marked = true;
        return STEP_GO_ON;
    }
    if (call->job_count == 0) {
        w->scratch.cleared = true;
        return STEP_GO_ON;
    }
    if (w->now >= w->step->started_at + settings->check_wait_ms) {
        work_say(w, "%zu job%s began on the machine before it could be tested: not touched", call->job_count,
                 text_plural((int64_t)call->job_count));
        work_did(w, db_deep_run_close(w->turn->tx, w->op.id, DEEP_STATE_SKIPPED, w->detail, w->now));
        work_event(w, EVENT_LEVEL_WARN, EVENT_KIND_DEEP_CHECK, "not tested: %s", w->detail);
        return STEP_SKIP;
    }
    work_say(w, "waits for %zu job%s", call->job_count, text_plural((int64_t)call->job_count));
    work_due(w, w->now + reconcile_group_observe_interval(w->node->group));
    return STEP_WAIT;
}

/* --- all of them ------------------------------------------------------------------------------- */

static enum step_result check_run(struct work *w)
{
    struct deep_run run;
    int status = read_run(w, &run);
    if (status == STATUS_NOT_FOUND && w->op.kind != OPERATION_KIND_CHECK)
        return begin_on_start(w);
    if (status == STATUS_NOT_FOUND) {
        work_say(w, "nothing says what was to be tested");
        return STEP_FAIL;
    }
    if (!work_did(w, status))
        return STEP_WAIT;
    if (deep_state_is_final(run.state))
        return judge(w, &run);
    if (needs_room(w, &run))
        return make_room(w);
    if (!work_is_quarantine(w))
        return STEP_WAIT;
    ask(w, &run);
    if (run.state == DEEP_STATE_WAITING)
        work_say(w, "waits for the agent to begin");
    else
        work_say(w, "%" PRId64 " of %" PRId64 " tests have ended", run.passed + run.failed + run.skipped, run.total);
    work_due(w, w->now + w->node->group->settings.retry_max_ms);
    return STEP_WAIT;
}

const struct step_ops step_check = {
    .enter = check_enter,
    .run = check_run,
    .answer = take_room,
    .deadline_ms = check_deadline,
};
