/*
 * Asking the policy: nodes with something new are gathered by instance group, what is known of each is read from the
 * store, the fleet and the scheduler's snapshot, and the plan is compared with what was decided before.
 *
 * A decision is stored only when it says something else than the node's last one, or when something happened between the
 * two (a repair that succeeded, a quiet time, a new request). Otherwise every heartbeat of a broken node would be
 * another decision. Nodes with an operation at work are not decided on: they are looked at again when it ends; of
 * one that waits for jobs waiting.c asks whether something worse makes it wait less.
 */
#include "server/reconcile/decide/decide.h"
#include "base/text.h"
#include "db/approval.h"
#include "db/hardware.h"
#include "db/incident.h"
#include "db/node.h"
#include "db/node_report.h"
#include "db/operation.h"
#include "db/verdict.h"
#include "model/beside.h"
#include "policy/incident.h"
#include "policy/replay.h"
#include "server/reconcile/base/call.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/seen.h"
#include "server/reconcile/decide/alike.h"
#include "server/reconcile/decide/apply.h"
#include "server/reconcile/decide/approval.h"
#include "server/reconcile/decide/auto_resume.h"
#include "server/reconcile/decide/idle.h"
#include "server/reconcile/decide/incident.h"
#include "server/reconcile/decide/person_hold.h"
#include "server/reconcile/decide/silent.h"
#include "server/reconcile/decide/waiting.h"
#include "server/reconcile/observe/agents.h"

#include <stdio.h>
#include <string.h>

#define DECIDE_VERDICTS_MAX 256 /* of those that are not critical, as many go to the policy, and as many reports */
#define BREAKER_LOOK_MS 15000   /* an open breaker is looked at so often */
#define LEDGER_MAX 64           /* past repairs of a node that the policy sees, newest first */
#define FIRST_BOOT_MS INT64_C(600000) /* a machine that was new so short ago may boot by itself */
#define ELSEWHERE_MAX 64              /* and of its hardware in other machines */

/* --- what is known of a node ------------------------------------------------------------------- */
/* What a reporter may say, who is not certain. */
static bool is_suspicion(const struct verdict *verdict)
{
    return text_equal(verdict->source, VERDICT_SOURCE_REPORT) &&
           (fault_has_trait(verdict->code, FAULT_TRAIT_SUSPECTED) ||
            fault_has_trait(verdict->code, FAULT_TRAIT_JOB_FAILED) ||
            fault_has_trait(verdict->code, FAULT_TRAIT_STRAGGLER));
}

/* All that is critical counts, however much chatter came after it, and no suspicion pushes out what was seen. */
static int take_verdict(const void *row, void *arg)
{
    struct decide_item *item = arg;
    const struct verdict *verdict = row;
    size_t *count = is_suspicion(verdict) ? &item->report_count : &item->plain_count;
    if (verdict->severity != SEVERITY_CRITICAL && (*count)++ >= DECIDE_VERDICTS_MAX) {
        item->left_out = true;
        return 0;
    }
    if (item->verdict_count % 8 == 0)
        item->verdicts = own_realloc(item->verdicts, item->verdict_count + 8, sizeof(*item->verdicts));
    item->verdicts[item->verdict_count++] = *verdict;
    return 0;
}

/* Of what others say of the node: until when it counts. */
static int read_expiry(struct db_tx *tx, struct verdict *verdict)
{
    struct node_report report;
    if (!text_equal(verdict->source, VERDICT_SOURCE_REPORT))
        return 0;
    int status = db_node_report_get(tx, verdict->id, &report);
    verdict->expires_at = status == 0 ? report.expires_at : 0;
    return status == STATUS_NOT_FOUND ? 0 : status;
}

static int read_verdicts(struct db_tx *tx, struct decide_item *item)
{
    const struct db_verdict_filter filter = {
        .node_id = item->node->id, .state = VERDICT_STATE_OPEN, .limit = DECIDE_ROWS_MAX, .critical_first = true};
    int status = db_verdict_list(tx, &filter, take_verdict, item);
    if (status != 0)
        return status;
    item->left_out = item->left_out || item->verdict_count == DECIDE_ROWS_MAX;
    for (size_t i = 0; status == 0 && i < item->verdict_count; i++)
        status = read_expiry(tx, &item->verdicts[i]);
    if (status != 0)
        return status;
    item->verdict_refs = own_calloc(item->verdict_count + 1, sizeof(*item->verdict_refs));
    for (size_t i = 0; i < item->verdict_count; i++)
        item->verdict_refs[i] = &item->verdicts[i];
    return 0;
}

/* Cancelled ones changed nothing; the one at work is not past. */
static int take_repair(const void *row, void *arg)
{
    struct decide_item *item = arg;
    const struct operation *op = row;
    if (op->state != OPERATION_STATE_SUCCEEDED && op->state != OPERATION_STATE_FAILED)
        return 0;
    if (item->repair_count == LEDGER_MAX) {
        item->left_out = true;
        return 1;
    }
    if (item->ledger == NULL)
        item->ledger = own_calloc(LEDGER_MAX, sizeof(*item->ledger));
    item->ledger[item->repair_count++] = *op;
    return 0;
}

/* It could not be done, or it was done and the machine was not heard afterwards. */
static bool is_without_return(const struct operation *op)
{
    for (int i = 0; op->state == OPERATION_STATE_FAILED && i < op->step_count; i++)
        if (op->steps[i].state == STEP_STATE_FAILED)
            return op->steps[i].kind == STEP_KIND_REBOOT || op->steps[i].kind == STEP_KIND_JOIN;
    return false;
}

static struct policy_repair repair_of(const struct decide_item *item, const struct operation *op)
{
    struct policy_repair repair = policy_replay_repair(op);
    repair.no_return = op->id == item->last_operation.id && is_without_return(op);
    return repair;
}

static int take_elsewhere(const void *row, void *arg)
{
    struct decide_item *item = arg;
    if (item->elsewhere_count % 8 == 0)
        item->elsewhere = own_realloc(item->elsewhere, item->elsewhere_count + 8, sizeof(*item->elsewhere));
    item->elsewhere[item->elsewhere_count++] = *(const struct db_hardware_repair *)row;
    return 0;
}

/* A piece that is back in the slot from which it was taken stands in the slot's own ledger already. */
static void add_elsewhere(struct decide_item *item, const struct db_hardware_repair *elsewhere, size_t own_count)
{
    struct policy_repair *repair = &item->repairs[item->repair_count];
    bool ours = elsewhere->operation.node_id == item->node->id;
    *repair = repair_of(item, &elsewhere->operation);
    repair->same_piece = true;
    repair->node = ours ? NULL : elsewhere->node;
    for (size_t i = 0; ours && i < own_count; i++)
        if (item->ledger[i].id == elsewhere->operation.id) {
            item->repairs[i].same_piece = true;
            item->repairs[i].device = elsewhere->operation.device;
            return;
        }
    item->repair_count++;
}

static int take_hardware(const void *row, void *arg)
{
    struct decide_item *item = arg;
    if (item->hardware_count % 16 == 0)
        item->hardware = own_realloc(item->hardware, item->hardware_count + 16, sizeof(*item->hardware));
    item->hardware[item->hardware_count++] = *(const struct hardware *)row;
    return 0;
}

static int read_repairs(struct db_tx *tx, struct decide_item *item, int64_t since)
{
    int status = 0;
    if (item->last_operation.id != 0) /* of any kind: then there may be repairs, too */
        status = db_operation_repairs(tx, item->node->id, since, take_repair, item);
    if (status >= 0 && item->instance.id != 0)
        status = db_hardware_list(tx, item->instance.id, take_hardware, item);
    if (status >= 0 && item->hardware_count > 0)
        status = db_hardware_repairs(tx, item->instance.id, since, ELSEWHERE_MAX, take_elsewhere, item);
    item->left_out = item->left_out || item->elsewhere_count == ELSEWHERE_MAX;
    if (status < 0)
        return status;
    item->repairs = own_calloc(item->repair_count + item->elsewhere_count + 1, sizeof(*item->repairs));
    for (size_t i = 0; i < item->repair_count; i++)
        item->repairs[i] = repair_of(item, &item->ledger[i]);
    const size_t own_count = item->repair_count;
    for (size_t i = 0; i < item->elsewhere_count; i++)
        add_elsewhere(item, &item->elsewhere[i], own_count);
    return 0;
}

static int take_newest(const void *row, void *arg)
{
    struct operation *newest = arg;
    *newest = *(const struct operation *)row;
    return 1;
}

/* What the tables and the site say of faults on this group's machines. */
static struct fault_scope faults_of(const struct reconcile *r, const struct rgroup *group)
{
    return (struct fault_scope){atomic_load(&r->service->fault_overrides), group->instance_type};
}

static bool is_seen_since(const struct reconcile *r, const struct decide_item *item, const struct operation *op)
{
    const struct fault_scope faults = faults_of(r, item->node->group);
    for (size_t i = 0; i < item->verdict_count; i++)
        if (item->verdicts[i].received_at > op->finished_at && policy_is_node_fault(&faults, &item->verdicts[i]))
            return true;
    /* In service it has no reason to fall silent; a node that is held may be somebody's at work. */
    return item->row.state == NODE_STATE_READY && item->node->lost && item->node->silent_since > op->finished_at;
}

/* A repair that a person stopped is not begun again for what that person had seen. Whoever stopped a test had seen nothing. */
static bool is_cancelled(const struct reconcile *r, const struct decide_item *item)
{
    const struct operation *op = &item->last_operation;
    return op->id != 0 && op->kind != OPERATION_KIND_CHECK && op->state == OPERATION_STATE_CANCELLED &&
           op->cancel_asked && op->cancelled_by[0] != '\0' && !operation_is_outweighed(op) &&
           !is_seen_since(r, item, op);
}

static int read_history(const struct reconcile *r, struct db_tx *tx, struct decide_item *item)
{
    const struct db_operation_filter newest = {.node_id = item->node->id, .state = -1, .limit = 1};
    int status = db_decision_last(tx, item->node->id, &item->last);
    if (status == STATUS_NOT_FOUND)
        item->last = (struct decision){0};
    else if (status != 0)
        return status;
    status = db_operation_list(tx, &newest, take_newest, &item->last_operation);
    if (status < 0)
        return status;
    if (item->last.id != 0) /* a question is about a decision */
        status = db_approval_last(tx, item->node->id, &item->approval);
    if (status < 0 && status != STATUS_NOT_FOUND)
        return status;
    item->cancelled = is_cancelled(r, item);
    return 0;
}

/* An incident of many nodes that a node was in of late. */
struct part_in_incident {
    struct incident_node row;
    bool left_out; /* one return belongs to it already */
};

struct absences {
    struct db_tx *tx;
    int status;
    int64_t since, count, together;  /* so many nodes that come back at once do so with their place */
    int64_t around_ms;               /* so long before and after its part in an incident a return belongs to that */
    struct part_in_incident *shared; /* owned */
    size_t shared_count;
};

static int take_shared(const void *row, void *arg)
{
    struct absences *absences = arg;
    absences->shared = own_realloc(absences->shared, absences->shared_count + 1, sizeof(*absences->shared));
    absences->shared[absences->shared_count++] = (struct part_in_incident){.row = *(const struct incident_node *)row};
    return 0;
}

/* Others of the incident were given back at about that time, too; of a chassis of two, the other one. */
static bool came_with_others(struct absences *absences, int64_t incident_id, int64_t at)
{
    struct shared_incident incident = {.id = 0};
    int64_t returns = 0;
    int status = db_incident_get(absences->tx, incident_id, &incident);
    int64_t enough = incident.nodes < absences->together ? incident.nodes : absences->together;
    if (status == 0)
        status = db_incident_returns(absences->tx, incident_id, at - absences->around_ms, at + absences->around_ms,
                                     enough, &returns);
    if (status != 0 && absences->status == 0)
        absences->status = status;
    return status == 0 && enough > 1 && returns >= enough;
}

/* Its rack restarted, and it with the others: that is one event of the rack, and says nothing about this machine. A machine that restarts
 * again and again meanwhile does so by itself, unless the others do, too: then the rack flaps. */
static bool is_of_incident(struct absences *absences, int64_t at)
{
    for (size_t i = 0; i < absences->shared_count; i++) {
        const struct incident_node *shared = &absences->shared[i].row;
        if (at < shared->since - absences->around_ms ||
            (shared->back_at != 0 && at > shared->back_at + absences->around_ms))
            continue;
        if (absences->shared[i].left_out && !came_with_others(absences, shared->incident_id, at))
            continue;
        absences->shared[i].left_out = true;
        return true;
    }
    return false;
}

static bool is_first_of_incident(const struct absences *absences, int64_t incident_id)
{
    for (size_t i = 0; i < absences->shared_count; i++)
        if (absences->shared[i].row.incident_id == incident_id)
            return !absences->shared[i].left_out;
    return true;
}

static int count_absence(const void *row, void *arg)
{
    struct absences *absences = arg;
    const struct operation *op = row;
    absences->count += op->created_at > absences->since && op->cause == OPERATION_CAUSE_ABSENCE &&
                       !is_of_incident(absences, op->created_at);
    return op->created_at <= absences->since || absences->count >= policy_absence_limit();
}

/* How often it was given back of late; most nodes never come here. */
static int read_absences(const struct reconcile *r, struct db_tx *tx, const struct decide_item *item, int64_t since,
                         int64_t *ret_count)
{
    const enum operation_kind kind = OPERATION_KIND_RELEASE;
    const struct db_operation_filter releases = {.node_id = item->node->id, .state = -1, .kind = &kind};
    const struct policy_settings *policy = &r->deps.settings.policy;
    struct absences absences = {
        .tx = tx, .since = since, .around_ms = policy->incident_window_ms, .together = policy->incident_nodes};
    *ret_count = 0;
    if (item->last_operation.id == 0)
        return 0;
    int status = db_incident_of_node(tx, item->node->id, since - MS_PER_HOUR, take_shared, &absences);
    if (status >= 0)
        status = db_operation_list(tx, &releases, count_absence, &absences);
    const struct policy_incident *incident = reconcile_incident_of(item->node);
    bool of_incident =
        incident != NULL && is_first_of_incident(&absences, incident->id); /* this one is not its own either */
    *ret_count = of_incident ? 0 : absences.count;
    free(absences.shared);
    return status < 0 ? status : absences.status;
}

/* A scheduler that died came up with a state from before a repair or a check was over, and shows its mark once more: nobody asks
 * for another one, and nobody else will end it. Its reason's time says so, and not the words behind our prefix; the clocks of both
 * may differ a little. */
#define CLOCKS_MS (2 * MS_PER_S)
static bool is_mark_of(const struct rnode *node, enum operation_kind kind)
{
    const enum scheduler_request request = reconcile_owner(kind).request;
    return request == SCHEDULER_REQUEST_NONE ? reconcile_reason_is_ours(node) : request == node->request;
}

static bool shows_old_mark(const struct decide_item *item)
{
    const struct rnode *node = item->node;
    const struct operation *op = &item->last_operation;
    const struct operation_step *mark = &op->steps[0];
    bool over = op->state == OPERATION_STATE_SUCCEEDED || op->state == OPERATION_STATE_CANCELLED;
    return node->reason_at > 0 && op->id != 0 && over && op->step_count > 0 && mark->kind == STEP_KIND_MARK &&
           mark->state == STEP_STATE_DONE && is_mark_of(node, op->kind) &&
           node->reason_at >= mark->started_at - CLOCKS_MS && node->reason_at <= mark->finished_at + CLOCKS_MS;
}

static int read_return_to_service(const struct reconcile *r, struct db_tx *tx, struct decide_item *item, int64_t now)
{
    const struct rnode *node = item->node;
    item->old_mark = shows_old_mark(item);
    item->downed = (node->downed || item->old_mark) && node->op == NULL && item->row.state == NODE_STATE_READY &&
                   reconcile_node_has_scheduler(node) && reconcile_sees(r, node);
    if (!item->downed)
        return 0;
    const enum repair_mode *modes = node->group->settings.policy.modes;
    /* What keeps it out is the scheduler's own finding, which is nobody's claim. */
    const struct policy_claims claims = {.opted_out = item->row.opted_out, .paused = node->group->cluster->paused};
    struct policy_absence absence = {.recovery = node->group->cluster->recovery,
                                     .mode = modes[policy_repair_class(POLICY_CODE_ABSENCE)],
                                     .claim = policy_claim(POLICY_ACT_RETURN, &claims),
                                     .heard = !item->live.silent && item->live.last_heartbeat_at > 0};
    int status = read_absences(r, tx, item, now - policy_absence_window_ms(), &absence.earlier);
    item->return_to_service = policy_return_to_service(&absence);
    return status;
}

/* Another boot of a machine that was in service: no operation of ours, and nothing that the scheduler knows of, is behind it. */
static bool booted_by_itself(const struct reconcile *r, const struct decide_item *item)
{
    const struct operation *op = &item->last_operation;
    const struct rnode *node = item->node;
    int64_t at = item->instance.boot_at;
    bool out = item->row.state != NODE_STATE_READY && item->row.state != NODE_STATE_HELD;
    bool restarts = op->kind != OPERATION_KIND_RELEASE && op->kind != OPERATION_KIND_CHECK;
    bool ours = op->id != 0 && restarts && at >= op->created_at && (op->finished_at == 0 || at <= op->finished_at);
    bool first = at - item->instance.launched_at < FIRST_BOOT_MS;
    return !out && !ours && !first && node->op == NULL && !node->maintenance && !node->reserved &&
           !node->switched_off && !reconcile_external_drain(node) && reconcile_heard_at(r, at);
}

static void read_signal(struct reconcile *r, const struct decide_item *item, int64_t now)
{
    struct policy_outage_signal newest = {.at = 0}, signal;
    for (size_t i = 0; i < item->verdict_count; i++) {
        const struct verdict *verdict = &item->verdicts[i];
        if (!text_equal(verdict->instance_id, item->instance.instance_id) ||
            !policy_outage_signal_of(&r->deps.settings.policy, verdict, &signal) || signal.until <= now)
            continue;
        int64_t until = signal.until > newest.until ? signal.until : newest.until;
        newest = signal.at > newest.at ? signal : newest;
        newest.until = until;
    }
    const struct policy_settings *policy = &r->deps.settings.policy;
    int64_t boot_at = item->instance.boot_at;
    int64_t boot_until = boot_at + policy->incident_window_ms + policy->incident_settle_ms;
    if (newest.at == 0 && boot_until > now && booted_by_itself(r, item))
        newest = (struct policy_outage_signal){
            .at = boot_at, .until = boot_until, .cause = INCIDENT_CAUSE_POWER, .boot = true};
    reconcile_node_signal(r, item->node, &newest);
}

int reconcile_item_read(struct reconcile *r, struct db_tx *tx, struct decide_item *item, int64_t now)
{
    int status = db_node_get_filled(tx, item->node->id, &item->row, &item->instance);
    if (status == 0)
        status = read_verdicts(tx, item);
    if (status == 0)
        status = read_history(r, tx, item);
    if (status == 0)
        status = read_repairs(tx, item, now - policy_history_ms(&item->node->group->settings.policy));
    if (status == 0)
        status = reconcile_read_person_hold(tx, item);
    if (status != 0)
        return status;
    const struct fault_scope faults = faults_of(r, item->node->group);
    for (size_t i = 0; i < item->verdict_count; i++)
        if (policy_is_failing(&faults, &item->verdicts[i]))
            reconcile_group_failing(r, item->node, item->verdicts[i].received_at);
    read_signal(r, item, now);
    if (fleet_get(r->service->fleet, item->node->id, &item->live) != 0)
        memset(&item->live, 0, sizeof(item->live));
    status = reconcile_read_auto_resume(tx, item, &faults);
    return status == 0 ? read_return_to_service(r, tx, item, now) : status;
}

/* --- the snapshot ------------------------------------------------------------------------------ */
static enum policy_request request_of(const struct rnode *node, bool known)
{
    if (!known || node->op != NULL || node->request == node->leftover)
        return POLICY_REQUEST_NONE;
    if (node->request == SCHEDULER_REQUEST_REBOOT)
        return POLICY_REQUEST_REBOOT;
    return node->request == SCHEDULER_REQUEST_REPLACE ? POLICY_REQUEST_REPLACE : POLICY_REQUEST_NONE;
}

/* What an agent offers is not known until it was heard since hpd began. A question that waits was asked when it was known, and stays
 * what it was; a repair that begins asks again in its step. */
static bool offers_reset(const struct decide_item *item, int64_t now)
{
    const struct fleet_view *live = &item->live;
    bool heard = live->last_heartbeat_at != 0;
    bool asked = reconcile_approval_is_open(&item->approval, now);
    return !live->silent &&
           (heard ? (live->checks & FLEET_RESETS) != 0 : !asked || item->approval.action == ACTION_RESET);
}

static void view_item(struct reconcile *r, struct decide_item *item, int64_t now)
{
    struct rnode *node = item->node;
    node->no_return_at = is_without_return(&item->last_operation) ? item->last_operation.finished_at : 0;
    bool known = reconcile_node_has_scheduler(node) && reconcile_sees(r, node);
    item->person_hold = (struct policy_person_hold){
        .code = item->hold.code, .device = item->hold.device, .at = item->row.person_hold_at};
    policy_image(item->instance.image_id, item->instance.release, item->image);
    snprintf(item->request_by, sizeof(item->request_by), "%.*s:%.*s",
             TEXT_FIT(known ? reconcile_link(node)->name : "", 40), TEXT_FIT(text_or_empty(node->reason_user), 40));
    item->view = (struct policy_node){
        .id = node->id,
        .name = node->name,
        .state = item->row.state,
        .instance_id = item->instance.instance_id,
        .boot_id = item->instance.boot_id,
        .image = item->image,
        .boot_at = item->instance.boot_at,
        .opted_out = item->row.opted_out,
        .paused_why = node->group->cluster->paused_why,
        .can_reset = offers_reset(item, now),
        .resumes_elsewhere = item->resumes_elsewhere,
        .has_active_operation = node->op != NULL,
        .idle = node->tally.idle,
        .under_test = node->op != NULL && node->op->kind == OPERATION_KIND_CHECK,
        .last_heartbeat_at = item->live.last_heartbeat_at,
        .has_scheduler = reconcile_node_has_scheduler(node),
        .scheduler_known = known,
        .scheduler_responding = known && node->responding,
        .scheduler_down = known && node->down,
        .switched_off = known && node->switched_off,
        .maintenance = reconcile_node_has_scheduler(node) && node->maintenance, /* also while it cannot be asked */
        .reserved = known && node->reserved,
        .person_hold = item->hold.id != 0 ? &item->person_hold : NULL,
        .external_drain = known && reconcile_external_drain(node),
        .scheduler_reason = known && node->reason != NULL ? node->reason : "",
        .incident = reconcile_incident_of(node),
        .request = item->old_mark ? POLICY_REQUEST_NONE : request_of(node, known),
        .request_by = item->request_by,
        .approval = {.state = item->approval.state,
                     .action = item->approval.action,
                     .code = item->approval.code,
                     .device = item->approval.device,
                     .by = item->approval.answered_by,
                     .reason = item->approval.reason,
                     .at = item->approval.answered_at,
                     .expires_at = item->approval.expires_at},
        .verdicts = item->verdict_refs,
        .verdict_count = item->verdict_count,
        .repairs = item->repairs,
        .repair_count = item->repair_count,
        .hardware = item->hardware,
        .hardware_count = item->hardware_count,
    };
}

static void group_view(struct reconcile *r, struct rgroup *group, int64_t now, struct policy_group *ret_view)
{
    reconcile_group_expire(r, group, now);
    if (group->failed_recently > policy_breaker_limit(&group->settings.policy, group->row.desired))
        group->settled_since = 0;
    else if (group->settled_since == 0)
        group->settled_since = now;
    *ret_view = (struct policy_group){
        .cluster = group->cluster->name,
        .name = group->name,
        .recovery = group->cluster->recovery,
        .desired = group->row.desired,
        .in_repair = group->in_repair,
        .replacing = group->replacing,
        .last_repair_at = group->last_repair_at,
        .machine_capacity = group->row.machine_capacity,
        .healthy_elsewhere = group->healthy,
        .idle_elsewhere = group->idle,
        .failed_recently = group->failed_recently + reconcile_count_lost(r, group, now),
        .breaker_opened_at = group->breaker_opened_at,
        .breaker_closed_at = group->row.breaker_closed_at,
        .breaker_settled_since = group->settled_since,
        .incidents = reconcile_incidents_count(r, group, reconcile_group_counted_since(group, now)),
    };
    reconcile_count_missed(r, group, now, &ret_view->missed);
    memcpy(ret_view->in_repair_of, group->in_repair_of, sizeof(ret_view->in_repair_of));
}

/* --- what is new ------------------------------------------------------------------------------- */
static bool same_gates(const struct decision *a, const struct decision *b)
{
    for (int gate = 0; gate < GATE_COUNT; gate++)
        if (a->gates[gate].result != b->gates[gate].result)
            return false;
    return true;
}

static bool same_evidence(const struct decision *a, const struct decision *b)
{
    int listed = a->evidence_count < DECISION_EVIDENCE_MAX ? a->evidence_count : DECISION_EVIDENCE_MAX;
    return a->evidence_count == b->evidence_count &&
           memcmp(a->evidence, b->evidence, (size_t)listed * sizeof(a->evidence[0])) == 0;
}

/* Another repair is another question. */
static bool same_question(const struct decision *a, const struct decision *b)
{
    return a->rule != RULE_APPROVAL_NEEDED || a->refused == b->refused;
}

/* More of the evidence from which nothing followed is no other decision: a program that crashes all day is one line. */
static bool same_decision(const struct decision *a, const struct decision *b)
{
    return a->id != 0 && a->action == b->action && a->urgency == b->urgency && a->job_signal == b->job_signal &&
           a->job_wait_ms == b->job_wait_ms && a->rule == b->rule && strcmp(a->code, b->code) == 0 &&
           strcmp(a->device, b->device) == 0 && same_question(a, b) && same_gates(a, b) &&
           (a->action <= ACTION_WATCH || same_evidence(a, b));
}

/* The decision stays, and something else is open that it did not have beside it. */
static bool is_told_more(const struct decision *before, const struct decision *now)
{
    return same_decision(before, now) && decision_beside_is_new(now->beside, before->beside);
}

/* Something happened since the last decision that makes the same words a new decision. */
static bool something_between(const struct reconcile *r, const struct decide_item *item)
{
    const struct rnode *node = item->node;
    const struct operation *op = &item->last_operation;
    bool ended = op->id != 0 && op->id == item->last.operation_id;
    bool repaired = ended && op->state == OPERATION_STATE_SUCCEEDED;
    bool seen_again = ended && op->state == OPERATION_STATE_CANCELLED && is_seen_since(r, item, op);
    bool outweighed = ended && op->state == OPERATION_STATE_CANCELLED && operation_is_outweighed(op);
    /* Nobody needed to answer for a while, and now somebody does. */
    bool needed_again = item->decision.rule == RULE_APPROVAL_NEEDED &&
                        item->approval.state == APPROVAL_STATE_WITHDRAWN && item->approval.decision_id == item->last.id;
    return node->was_clear || repaired || seen_again || outweighed || needed_again ||
           (node->request_fresh && item->view.request != POLICY_REQUEST_NONE);
}

bool reconcile_counts_evidence(const struct decision *decision)
{
    bool shared = decision->gates[GATE_INCIDENT].result == GATE_RESULT_FAILED; /* the incident counts, once */
    return action_is_repair(decision->action) || (decision->action == ACTION_HOLD && !shared);
}

/* What only its rate made a fault of the node counts from now on: a program that crashes its way through the fleet is
 * what the breaker is for. */
static void count_failing(struct reconcile *r, const struct decide_item *item)
{
    const struct decision *d = &item->decision;
    for (int i = 0; reconcile_counts_evidence(d) && i < d->evidence_count && i < DECISION_EVIDENCE_MAX; i++)
        for (size_t k = 0; k < item->verdict_count; k++)
            if (item->verdicts[k].id == d->evidence[i] && !fault_has_trait(item->verdicts[k].code, FAULT_TRAIT_PLANNED))
                reconcile_group_failing(r, item->node, item->verdicts[k].received_at);
}

static void take_decision(struct reconcile *r, struct decide_item *item, const struct decision *said)
{
    item->has_decision = true;
    item->decision = *said;
    count_failing(r, item);
    bool asked = item->view.request != POLICY_REQUEST_NONE && item->node->request_fresh;
    item->told_more = is_told_more(&item->last, &item->decision);
    item->fresh = item->node->op == NULL && (asked || !item->cancelled) &&
                  (!same_decision(&item->last, &item->decision) || something_between(r, item) || item->told_more);
}

/* --- one group --------------------------------------------------------------------------------- */
static void note_breaker(struct decide_batch *batch, struct rgroup *group, const struct policy_plan *plan)
{
    if (!plan->breaker_opens && !plan->breaker_closes)
        return;
    if (batch->breaker_count == batch->breaker_capacity) {
        batch->breaker_capacity = batch->breaker_capacity == 0 ? 4 : batch->breaker_capacity * 2;
        batch->breakers = own_realloc(batch->breakers, batch->breaker_capacity, sizeof(*batch->breakers));
    }
    struct decide_breaker *breaker = &batch->breakers[batch->breaker_count++];
    *breaker = (struct decide_breaker){.group = group, .opens = plan->breaker_opens};
    text_copy_cut(breaker->why, sizeof(breaker->why), plan->breaker_why);
}

static int by_node(const void *key, const void *element)
{
    int64_t id = *(const int64_t *)key, other = ((const struct decide_item *)element)->node->id;
    return id < other ? -1 : id > other;
}

/* Items stand in the order of their nodes. A look at each item for each decision was a square of the burst. */
static void take_plan(struct reconcile *r, struct decide_item *items, size_t count, const struct policy_plan *plan)
{
    for (size_t i = 0; i < plan->count; i++) {
        const struct decision *said = &plan->decisions[i];
        struct decide_item *item = bsearch(&said->node_id, items, count, sizeof(*items), by_node);
        if (item != NULL)
            take_decision(r, item, said);
    }
}

void reconcile_group_decide(struct reconcile *r, struct decide_batch *batch, struct rgroup *group,
                            struct decide_item *items, size_t count, int64_t now)
{
    struct policy_snapshot snapshot = {.now_ms = now,
                                       .faults = faults_of(r, group),
                                       .settings = group->settings.policy,
                                       .policy_version = group->policy_version,
                                       .node_count = count};
    autofree struct policy_node *views = own_calloc(count + 1, sizeof(*views));
    for (size_t i = 0; i < count; i++) {
        view_item(r, &items[i], now);
        views[i] = items[i].view;
    }
    snapshot.nodes = views;
    group_view(r, group, now, &snapshot.group);
    char image[POLICY_IMAGE_MAX];
    policy_image(group->row.image_id, group->row.release, image);
    snapshot.group.image = image;
    autofree struct policy_alike *alike = reconcile_alike_elsewhere(r, group, &snapshot.group.alike_count);
    snapshot.group.alike = alike;
    for (size_t i = 0; i < count; i++) {
        snapshot.group.healthy_elsewhere -= items[i].node->tally.healthy;
        snapshot.group.idle_elsewhere -= items[i].node->tally.idle;
    }
    struct policy_plan plan;
    policy_decide(&snapshot, &plan);
    take_plan(r, items, count, &plan);
    reconcile_waiting_decide(&snapshot, items, count);
    reconcile_alike_take(group, items, count, &plan);
    reconcile_alike_tell(r, group, &plan);
    for (size_t i = 0; i < count; i++) {
        items[i].health = policy_health(&snapshot, &views[i]);
        items[i].quiet = reconcile_item_is_quiet(r, &items[i], now);
        reconcile_suspected(r, items[i].node, policy_suspected_at(&views[i], now));
    }
    note_breaker(batch, group, &plan);
    if (plan.breaker_over)
        group->settled_since = 0; /* by silence, too, which group_view cannot count */
    policy_plan_free(&plan);
    group->look_at = group->breaker_opened_at > 0 || plan.breaker_opens ? now + BREAKER_LOOK_MS : 0;
}
