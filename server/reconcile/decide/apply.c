/*
 * The plan into the store, inside the turn's transaction: events, health, new decisions, what they do to a node, and
 * the operations they start. A row that changed since it was read (a person was faster) is left alone and looked at again.
 *
 * Beside the policy's word some things follow from a node's state alone: an empty slot is filled, the nodes of a cluster
 * that is being deleted are deleted, and a held node that nothing is against any more is brought back.
 */
#include "server/reconcile/decide/apply.h"
#include "base/text.h"
#include "db/approval.h"
#include "db/cluster.h"
#include "db/node.h"
#include "db/operation.h"
#include "db/verdict.h"
#include "model/beside.h"
#include "policy/next.h"
#include "server/reconcile/base/claim.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/effect.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/base/seen.h"
#include "server/reconcile/decide/approval.h"
#include "server/reconcile/decide/begun.h"
#include "server/reconcile/decide/decide.h"
#include "server/reconcile/decide/reason.h"
#include "server/reconcile/decide/waiting.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct apply {
    struct turn *turn;
    struct decide_item *item;
    struct rnode *node;
    struct node row; /* as it is now */
    bool unwritten;  /* row is ahead of the store: what moves the node takes it along; the rest is written last */
    int64_t look_at; /* when it is looked at again though nothing happens to it; 0: not */
};

/* Each change of a node costs some indexes, so a decision writes it once. */
static int write_row(struct apply *a)
{
    a->unwritten = false;
    return turn_node_write(a->turn, a->node, &a->row);
}

static int move_node(struct apply *a, enum node_state to, const char *reason)
{
    bool stays = a->row.state == to && text_equal(a->row.reason, reason);
    a->unwritten = a->unwritten && stays;
    return turn_node_move(a->turn, a->node, &a->row, to, reason);
}

/* --- timeline ---------------------------------------------------------------------------------- */
static int note_near_miss(struct apply *a)
{
    const struct rnode *node = a->node;
    char message[SENTENCE_MAX_BYTES], warned[REASON_MAX_BYTES];
    const char *reason = text_or_empty(node->reason);
    text_copy_cut(warned, sizeof(warned), reason);
    if (text_equal(warned, a->row.near_miss))
        return 0;
    memcpy(a->row.near_miss, warned, sizeof(warned));
    a->unwritten = true;
    const struct scheduler_requests_ops *requests = reconcile_link(node)->driver.ops->requests;
    requests->explain(node->name, reason, message);
    return turn_event(a->turn, EVENT_LEVEL_WARN, EVENT_KIND_NEAR_MISS, a->node, NULL, "%s", message);
}

static int apply_notes(struct apply *a, uint8_t notes)
{
    int status = 0;
    char span[CLOCK_TEXT_MAX];
    if (a->node->marked && !a->row.cordoned && node_is_out(&a->row))
        a->row.cordoned = a->unwritten = true;
    if (notes & NOTE_SILENT)
        status = turn_event(a->turn, EVENT_LEVEL_WARN, EVENT_KIND_AGENT_SILENT, a->node, NULL,
                            "agent not seen for %s: the node's health is unknown",
                            clock_format_duration(a->turn->now - a->node->silent_since, span));
    if (status == 0 && (notes & NOTE_UNDECIDED))
        status = turn_event(a->turn, EVENT_LEVEL_ERROR, EVENT_KIND_VERDICT_UNDECIDED, a->node, NULL,
                            "a critical verdict waited for a decision too long: it is looked at now");
    if (status == 0 && (notes & NOTE_NEAR_MISS))
        status = note_near_miss(a);
    if (status == 0 && (notes & NOTE_MARKED))
        status = turn_event(a->turn, EVENT_LEVEL_WARN, EVENT_KIND_SCHEDULER_MARK, a->node, NULL,
                            "taken out of scheduling: %s", a->row.reason);
    if (status == 0 && (notes & NOTE_REMARKED))
        status = turn_event(a->turn, EVENT_LEVEL_WARN, EVENT_KIND_SCHEDULER_MARK, a->node, NULL,
                            "put back into service during its repair: taken out again until that is over or cancelled");
    return status;
}

static int apply_health(struct apply *a)
{
    enum health was = a->row.health, is = a->item->health;
    struct ready_reason reason;
    bool reworded = reconcile_ready_reason(a->turn->r, a->item, &a->row, &reason);
    if (reworded) {
        a->row.attention = reason.attention;
        memcpy(a->row.reason, reason.text, sizeof(reason.text));
    }
    a->unwritten = a->unwritten || reworded;
    bool left = reworded && a->item->downed && a->item->return_to_service >= POLICY_RETURN_TO_SERVICE_MANUAL &&
                reason.text[0] != '\0';
    int status =
        left ? turn_event(a->turn, EVENT_LEVEL_WARN, EVENT_KIND_SCHEDULER_MARK, a->node, NULL, "%s", reason.text) : 0;
    if (status != 0)
        return status;
    if (was == is || (is == HEALTH_UNKNOWN && reconcile_is_unheard(&a->row, &a->item->live)))
        return 0;
    a->row.health = is;
    a->row.health_since = a->turn->now;
    a->unwritten = true;
    enum event_level level = is == HEALTH_UNHEALTHY ? EVENT_LEVEL_WARN : EVENT_LEVEL_INFO;
    turn_about_move(a->turn, health_text(was), health_text(is));
    return turn_event(a->turn, level, EVENT_KIND_NODE_HEALTH, a->node, NULL, "%s -> %s", health_text(was),
                      health_text(is));
}

/* --- operations that follow from a state alone ------------------------------------------------- */
static int start_operation(struct apply *a, const struct new_operation *wanted)
{
    int64_t id;
    int status = turn_operation_new(a->turn, a->node, &a->row, wanted, &id);
    /* The key was used: it was done before, and is not done twice. */
    return status == STATUS_EXISTS ? 0 : status;
}

/* A try of its own each time; that two are not at work at once is the store's doing. */
static void try_key(const struct apply *a, const char *word, char ret_key[KEY_MAX_BYTES])
{
    snprintf(ret_key, KEY_MAX_BYTES, "%s/%" PRId64 "/%" PRId64, word, a->node->id, a->turn->now);
}

static int fill_slot(struct apply *a)
{
    char key[KEY_MAX_BYTES];
    try_key(a, "launch", key);
    const struct new_operation launch = {.kind = OPERATION_KIND_LAUNCH,
                                         .urgency = URGENCY_NOW,
                                         .key = key,
                                         .cause = OPERATION_CAUSE_UPKEEP,
                                         .reason = "the slot is empty",
                                         .actor = ACTOR_POLICY};
    return start_operation(a, &launch);
}

static int empty_slot(struct apply *a)
{
    char key[KEY_MAX_BYTES];
    bool cluster_goes = a->node->group->cluster->state == CLUSTER_STATE_DELETING;
    try_key(a, "delete", key);
    const struct new_operation empty = {.kind = OPERATION_KIND_DELETE,
                                        .urgency = cluster_goes ? URGENCY_NOW : URGENCY_AFTER_JOBS,
                                        .key = key,
                                        .cause = OPERATION_CAUSE_UPKEEP,
                                        .reason = cluster_goes ? "the cluster is being deleted" : "the node is deleted",
                                        .actor = ACTOR_POLICY};
    return start_operation(a, &empty);
}

static int forget_slot(struct apply *a)
{
    a->unwritten = false;
    int status = db_node_delete(a->turn->tx, a->node->id);
    if (status == 0 || status == STATUS_NOT_FOUND)
        (void)turn_effect(a->turn, EFFECT_NODE_GONE, a->node);
    return status == STATUS_NOT_FOUND ? 0 : status;
}

static int try_again(struct apply *a)
{
    a->turn->muted = true;
    int status = move_node(a, NODE_STATE_PENDING, "it is launched again");
    a->turn->muted = false;
    return status != 0 ? status : fill_slot(a);
}

/* The state of the node in its scheduler is known, or does not matter. */
static bool is_seen(const struct apply *a)
{
    return !reconcile_node_has_scheduler(a->node) || reconcile_sees(a->turn->r, a->node);
}

/* Nothing is against the held node any more: it goes through the return gate. */
static int bring_back(struct apply *a)
{
    const struct rnode *node = a->node;
    char key[KEY_MAX_BYTES];
    snprintf(key, sizeof(key), "release/%" PRId64 "/%" PRId64, node->id, a->row.state_since);
    const struct new_operation release = {.kind = OPERATION_KIND_RELEASE,
                                          .urgency = URGENCY_NOW,
                                          .key = key,
                                          .cause = OPERATION_CAUSE_UPKEEP,
                                          .reason = "what held the node is over",
                                          .actor = ACTOR_POLICY};
    return start_operation(a, &release);
}

/* The scheduler took it out by itself for an absence that is over, and nothing is against it: it goes through the return gate. */
static int give_back_again(struct apply *a)
{
    char key[KEY_MAX_BYTES], reason[REASON_MAX_BYTES];
    const char *scheduler = orchestrator_title(a->node->group->cluster->orchestrator);
    try_key(a, "absence", key);
    if (a->item->old_mark)
        snprintf(reason, sizeof(reason), "%s came up again with the mark of the repair before (%.*s), which is over",
                 scheduler, TEXT_FIT(text_or_empty(a->node->reason), 60));
    else
        snprintf(reason, sizeof(reason), "%s took it out by itself (%.*s), and reaches it again", scheduler,
                 TEXT_FIT(text_or_empty(a->node->reason), 60));
    const struct new_operation release = {.kind = OPERATION_KIND_RELEASE,
                                          .urgency = URGENCY_NOW,
                                          .key = key,
                                          .reason = reason,
                                          .code = POLICY_CODE_ABSENCE,
                                          .cause = OPERATION_CAUSE_ABSENCE,
                                          .actor = ACTOR_POLICY};
    return start_operation(a, &release);
}

static bool is_given_back(const struct decide_item *item)
{
    return item->downed && item->return_to_service == POLICY_RETURN_TO_SERVICE_NOW &&
           item->row.state == NODE_STATE_READY;
}

/* A person put a node that we held back into service in the scheduler: their word counts. */
static int give_back(struct apply *a)
{
    int status = db_verdict_resolve(a->turn->tx, a->node->id, 0, NULL);
    if (status == 0)
        status = turn_event(a->turn, EVENT_LEVEL_INFO, EVENT_KIND_SCHEDULER_RESUME, a->node, NULL,
                            "a person put the node back into service; its verdicts count as dealt with");
    if (status != 0)
        return status;
    a->row.person_hold = 0;
    if (a->row.state == NODE_STATE_HELD)
        return move_node(a, NODE_STATE_READY, "");
    char key[KEY_MAX_BYTES];
    snprintf(key, sizeof(key), "release/%" PRId64 "/%" PRId64, a->node->id, a->row.state_since);
    const struct new_operation release = {.kind = OPERATION_KIND_RELEASE,
                                          .urgency = URGENCY_NOW,
                                          .key = key,
                                          .reason = "a person put the node back into service",
                                          .actor = a->item->request_by};
    return start_operation(a, &release);
}

/* --- decisions --------------------------------------------------------------------------------- */
/* What people read, also in the scheduler, about a node that is out of service: the words of the decision. */
static void out_reason(const struct decision *d, char ret_reason[REASON_MAX_BYTES])
{
    policy_explain_short(d, ret_reason, REASON_MAX_BYTES - SCHEDULER_NOTE_ROOM);
}

/* Only marked, as the site repairs by hand, it is a person's all the same. */
static bool is_for_person(const struct decision *d)
{
    return d->id != 0 && (d->action == ACTION_SUPPORT || (d->action == ACTION_MARK && d->refused == ACTION_SUPPORT));
}

/* The decision that left it to a person stands, with its evidence: whether that is over is asked of it. */
static bool only_repeats_hold(const struct decision *d)
{
    return d->rule == RULE_HOLD_STANDS || (d->rule == RULE_SHARED_SINCE && d->evidence_count == 0);
}

static int hold_node(struct apply *a, const struct decision *d)
{
    char reason[REASON_MAX_BYTES];
    out_reason(d, reason);
    const enum node_state state = a->row.state;
    bool by_person = d->gates[GATE_OWNER].result == GATE_RESULT_FAILED; /* nothing is changed about it */
    if (by_person || (state != NODE_STATE_READY && state != NODE_STATE_VERIFYING && state != NODE_STATE_HELD))
        return 0;
    a->row.retry_at = d->action == ACTION_HOLD ? d->retry_at : 0;
    if (is_for_person(d) && !only_repeats_hold(d)) {
        if (a->item->hold.id == 0)
            a->row.person_hold_at = d->at;
        a->row.person_hold = d->id;
        a->row.person_hold_row = a->row.instance_row;
    }
    bool stays = state == NODE_STATE_HELD && text_equal(a->row.reason, reason);
    int status = stays ? write_row(a) : move_node(a, NODE_STATE_HELD, reason);
    enum attention attention = d->rule == RULE_IMAGE_HOLD ? ATTENTION_DECIDED : ATTENTION_NONE;
    a->unwritten = a->unwritten || a->row.attention != attention;
    a->row.attention = attention;
    return status;
}

static bool may_be_repaired(const struct apply *a)
{
    bool asked = a->item->view.request != POLICY_REQUEST_NONE;
    return a->row.state == NODE_STATE_READY || a->row.state == NODE_STATE_HELD ||
           a->row.state == NODE_STATE_VERIFYING || (asked && a->row.state == NODE_STATE_FAILED);
}

static bool is_approved(const struct apply *a, const struct decision *d)
{
    const struct approval *approval = &a->item->approval;
    return reconcile_approval_is_open(approval, a->turn->now) && approval->state == APPROVAL_STATE_APPROVED &&
           policy_approval_is_for(approval->action, approval->code, approval->device, d->action, d->code, d->device);
}

static int begin_repair(struct apply *a, struct decision *d)
{
    bool asked = d->rule == RULE_OPERATOR_REQUEST;
    char key[KEY_MAX_BYTES], reason[REASON_MAX_BYTES];
    snprintf(key, sizeof(key), "repair/%" PRId64, d->id);
    out_reason(d, reason);
    enum operation_kind kind = d->action == ACTION_RESET    ? OPERATION_KIND_RESET
                               : d->action == ACTION_REBOOT ? OPERATION_KIND_REBOOT
                                                            : OPERATION_KIND_REPLACE;
    const struct new_operation repair = {
        .kind = kind,
        .urgency = d->urgency,
        .key = key,
        .reason = reason,
        .cause = asked ? OPERATION_CAUSE_PERSON : OPERATION_CAUSE_FAULT,
        .actor = asked ? a->item->request_by : ACTOR_POLICY,
        .uid = is_approved(a, d) ? a->item->approval.uid : NULL,
        .decision = d,
    };
    int status = turn_operation_new(a->turn, a->node, &a->row, &repair, &d->operation_id);
    if (status == 0)
        status = db_decision_set_operation(a->turn->tx, d->id, d->operation_id);
    if (status == 0 && asked)
        status = turn_event(a->turn, EVENT_LEVEL_INFO, EVENT_KIND_OPERATOR_REQUEST, a->node, NULL, "%s asks for %s",
                            a->item->request_by, action_text(d->action));
    if (status == 0 && !asked)
        reconcile_count_begun(a->turn, a->item, kind);
    return status == 0 ? move_node(a, NODE_STATE_REPAIRING, reason) : status;
}

/* "xid.31 on 0000:b9:00 (application-fault), …": what was not open beside the last decision. */
static void list_new(const struct apply *a, const struct decision *d, char ret_list[REASON_MAX_BYTES])
{
    const char *before = a->item->last.beside;
    struct decision_beside beside;
    size_t len = 0;
    ret_list[0] = '\0';
    for (const char *at = d->beside, *next = at; decision_beside_next(&next, &beside); at = next) {
        autofree char *line = own_printf("%.*s", (int)(next - at), at);
        if (!decision_beside_is_new(line, before) || len + CODE_MAX_BYTES + DEVICE_MAX_BYTES >= REASON_MAX_BYTES)
            continue;
        len +=
            (size_t)snprintf(ret_list + len, REASON_MAX_BYTES - len, "%s%s%s%s (%s)", len > 0 ? ", " : "", beside.code,
                             beside.device[0] != '\0' ? " on " : "", beside.device, decision_rule_text(beside.rule));
    }
}

static int beside_event(struct apply *a, const struct decision *d)
{
    char list[REASON_MAX_BYTES];
    list_new(a, d, list);
    return turn_event(a->turn, EVENT_LEVEL_INFO, EVENT_KIND_DECISION, a->node, NULL,
                      "also seen: %s. The decision stays: %s (%s) for %s", list, action_text(d->action),
                      decision_rule_text(d->rule), d->code[0] != '\0' ? d->code : "the node");
}

static int decision_event(struct apply *a, const struct decision *d)
{
    if (a->item->told_more)
        return beside_event(a, d);
    enum event_level level = reconcile_is_for_people(d)    ? EVENT_LEVEL_WARN
                             : d->action <= ACTION_WATCH   ? EVENT_LEVEL_INFO
                             : d->action == ACTION_SUPPORT ? EVENT_LEVEL_ERROR
                                                           : EVENT_LEVEL_WARN;
    turn_about(a->turn, "", action_text(d->action), "");
    return turn_event(a->turn, level, EVENT_KIND_DECISION, a->node, NULL, "%s (%s): %s", action_text(d->action),
                      decision_rule_text(d->rule), d->sentence);
}

static bool is_stored_fault(const struct decide_item *item, int64_t verdict_id)
{
    for (size_t i = 0; i < item->verdict_count; i++)
        if (item->verdicts[i].id == verdict_id)
            return item->verdicts[i].node_fault || fault_has_trait(item->verdicts[i].code, FAULT_TRAIT_PLANNED);
    return false;
}

/* The breaker counts them, also after a restart. */
static int store_faults(struct apply *a, const struct decision *d)
{
    int status = 0;
    for (int i = 0; reconcile_counts_evidence(d) && i < d->evidence_count && i < DECISION_EVIDENCE_MAX; i++)
        if (status == 0 && !is_stored_fault(a->item, d->evidence[i]))
            status = db_verdict_set_fault(a->turn->tx, d->evidence[i]);
    return status;
}

static int apply_decision(struct apply *a)
{
    struct decision d = a->item->decision; /* a copy: the transaction may run again */
    bool repair = action_is_repair(d.action);
    if (!a->item->fresh || (repair && !may_be_repaired(a))) {
        /* Nothing new; but when a held node is looked at again may have moved. */
        bool held =
            d.action == ACTION_HOLD && a->row.state == NODE_STATE_HELD && a->node->op == NULL && !a->item->cancelled;
        int status = reconcile_approval(a->turn, a->item, NULL);
        return held && status == 0 ? hold_node(a, &d) : status;
    }
    d.node_id = a->node->id;
    d.at = a->turn->now;
    reconcile_approval_set_expiry(a->node, &d, a->turn->now);
    int status = db_decision_insert(a->turn->tx, &d);
    if (status == 0)
        status = store_faults(a, &d);
    if (status == 0)
        status = decision_event(a, &d);
    if (status == 0 && repair)
        status = begin_repair(a, &d);
    else if (status == 0 && (d.action == ACTION_HOLD || d.action == ACTION_MARK || d.action == ACTION_SUPPORT))
        status = hold_node(a, &d);
    return status == 0 ? reconcile_approval(a->turn, a->item, &d) : status;
}

static bool says_nothing(const struct decide_item *item)
{
    return !item->has_decision || item->decision.action == ACTION_NONE || item->decision.action == ACTION_WATCH;
}

/* What a reset has answered is open no longer: another return gate would count it. */
static int resolve_cleared_by_reset(struct apply *a)
{
    const struct decide_item *item = a->item;
    int status = 0;
    for (size_t i = 0; status == 0 && i < item->verdict_count; i++) {
        struct verdict verdict = item->verdicts[i];
        if (verdict.state != VERDICT_STATE_OPEN || policy_cleared_by_reset_by(&item->view, &verdict) == NULL)
            continue;
        verdict.id++; /* what is older than that */
        status = db_verdict_resolve_like(a->turn->tx, &verdict, NULL);
    }
    return status;
}

/* --- one node ---------------------------------------------------------------------------------- */
static struct policy_standing standing_of(const struct apply *a)
{
    const struct rnode *node = a->node;
    const struct decide_item *item = a->item;
    const struct loop_settings *settings = &node->group->settings;
    const struct operation *last = &item->last_operation;
    return (struct policy_standing){
        .now_ms = a->turn->now,
        .state = a->row.state,
        .state_since = a->row.state_since,
        .cluster = node->group->cluster->state,
        .group = node->group->row.state,
        .provisioning = node->group->cluster->provisioning,
        .claims = reconcile_claims(a->turn->r, node),
        .last = {last->id != 0, last->kind, last->state, last->finished_at},
        .was_ready = node->was_ready,
        .lifted = (node->notes & NOTE_LIFTED) != 0,
        .clear = says_nothing(item) && item->hold.id == 0,
        .seen = is_seen(a),
        .heard = !item->live.silent && item->live.last_heartbeat_at != 0,
        .downed = item->downed,
        .returns = item->return_to_service,
        .launch_tries = node->launch_tries,
        .linger_ms = settings->slot_linger_ms,
        .deletion_pause_ms = settings->backend_deadline_ms,
        .provision = &settings->provision,
    };
}

/* What goes, is empty, or was given back by a person is no case for the policy's rules. */
static bool is_no_case(const struct apply *a, enum policy_next next)
{
    return a->row.state == NODE_STATE_DELETED || a->row.state == NODE_STATE_DELETING ||
           a->row.state == NODE_STATE_PENDING || a->node->group->cluster->state == CLUSTER_STATE_DELETING ||
           next == POLICY_NEXT_GIVE_BACK;
}

static int apply_next(struct apply *a, enum policy_next next)
{
    switch (next) {
    case POLICY_NEXT_FORGET:
        return forget_slot(a);
    case POLICY_NEXT_EMPTY:
        return empty_slot(a);
    case POLICY_NEXT_FILL:
        return fill_slot(a);
    case POLICY_NEXT_RETRY:
        return try_again(a);
    case POLICY_NEXT_GIVE_BACK:
        return give_back(a);
    case POLICY_NEXT_BRING_BACK:
        return bring_back(a);
    case POLICY_NEXT_RETURN:
        return give_back_again(a);
    case POLICY_NEXT_NOTHING:
        break;
    }
    return 0;
}

static int apply_state(struct apply *a, bool *ret_stored)
{
    int status = 0;
    int64_t look_at;
    if (a->node->op != NULL)
        return reconcile_waiting_apply(a->turn, a->item);
    const enum node_state was = a->row.state;
    const struct policy_standing standing = standing_of(a);
    const enum policy_next next = policy_next(&standing, &look_at);
    if (is_no_case(a, next)) {
        a->look_at = look_at;
        return apply_next(a, next);
    }
    if (a->item->has_decision) {
        status = resolve_cleared_by_reset(a);
        if (status == 0)
            status = apply_decision(a);
        *ret_stored = a->item->fresh;
    } else {
        status = reconcile_approval(a->turn, a->item, NULL);
    }
    if (status != 0 || a->row.state != was || (*ret_stored && was == NODE_STATE_FAILED))
        return status; /* what was decided comes first */
    a->look_at = look_at > 0 ? look_at : a->look_at;
    return apply_next(a, next);
}

/* A person may have paused the cluster, or resumed it, since the loop read it: a plan that was made before does not begin after. */
static int is_held_as_known(struct turn *turn, const struct rcluster *cluster, bool *ret_same)
{
    bool paused = false;
    int status = turn_is_paused(turn, cluster, &paused);
    *ret_same = status == 0 && cluster->paused == paused;
    return status == STATUS_NOT_FOUND ? 0 : status;
}

static bool changed_meanwhile(const struct apply *a)
{
    const struct node *then = &a->item->row;
    return a->row.state != then->state || a->row.instance_row != then->instance_row ||
           a->row.opted_out != then->opted_out;
}

/* A person answered between the reading and now: the approval is one of the next decision. Only the loop asks, so where there was no
 * question there is none. */
static int is_answered_meanwhile(const struct apply *a, bool *ret_answered)
{
    const struct approval *then = &a->item->approval;
    struct approval now;
    *ret_answered = false;
    if (then->id == 0)
        return 0;
    int status = db_approval_last(a->turn->tx, a->node->id, &now);
    if (status == 0)
        *ret_answered = now.id != then->id || now.state != then->state;
    return status == STATUS_NOT_FOUND ? 0 : status;
}

/* A person's operation that the loop has not heard of yet: it goes first, and the node is looked at when it ends. */
static int adopt_operation(struct apply *a)
{
    struct operation op;
    int status = db_operation_active(a->turn->tx, a->node->id, &op);
    if (status != 0)
        return status;
    struct effect *effect = turn_effect(a->turn, EFFECT_OPERATION_NEW, a->node);
    effect->u.operation.id = op.id;
    effect->u.operation.kind = op.kind;
    effect->u.operation.fault = policy_repair_class(op.code);
    return 0;
}

bool reconcile_item_is_quiet(const struct reconcile *r, const struct decide_item *item, int64_t now)
{
    const struct rnode *node = item->node;
    bool unheard = item->health == HEALTH_UNKNOWN && reconcile_is_unheard(&item->row, &item->live);
    struct ready_reason reason;
    return node->op == NULL && item->row.state == NODE_STATE_READY && !item->fresh && node->notes == 0 &&
           !(is_given_back(item) && says_nothing(item)) && !reconcile_approval_is_open(&item->approval, now) &&
           node->group->cluster->state != CLUSTER_STATE_DELETING && (item->health == item->row.health || unheard) &&
           !reconcile_ready_reason(r, item, &item->row, &reason);
}

/* More evidence that costs nothing can then change nothing. */
static bool is_settled(const struct decide_item *item)
{
    return item->node->op == NULL && item->row.state == NODE_STATE_READY && item->has_decision &&
           item->decision.action == ACTION_NONE && item->decision.gates[GATE_FRESH].result == GATE_RESULT_PASSED;
}

/* What is only watched asks for more when it has lasted. */
static int64_t watched_until(const struct decide_item *item)
{
    bool watched = item->has_decision && item->decision.action == ACTION_WATCH && item->node->op == NULL;
    return watched ? item->decision.retry_at : item->weigh_at;
}

static void apply_quiet(struct turn *turn, const struct decide_item *item)
{
    struct effect *effect = turn_effect(turn, EFFECT_DECIDED, item->node);
    effect->u.decided.clear = !item->has_decision;
    effect->u.decided.look_at = watched_until(item);
    effect->u.decided.settled = is_settled(item);
    effect->u.decided.unheard = reconcile_is_unheard(&item->row, &item->live);
}

static int apply_item(struct turn *turn, struct decide_item *item)
{
    struct apply a = {.turn = turn, .item = item, .node = item->node};
    if (item->quiet) {
        apply_quiet(turn, item);
        return 0;
    }
    int status = 0;
    if (turn->batch->nodes_as_read)
        a.row = item->row;
    else
        status = db_node_get_row(turn->tx, item->node->id, &a.row);
    if (status == STATUS_NOT_FOUND)
        return 0;
    if (status != 0)
        return status;
    if (item->node->op == NULL) {
        status = adopt_operation(&a);
        if (status != STATUS_NOT_FOUND)
            return status;
    }
    bool answered, same;
    status = is_answered_meanwhile(&a, &answered);
    if (status == 0)
        status = is_held_as_known(turn, item->node->group->cluster, &same);
    if (status != 0)
        return status;
    size_t at = turn->effect_count;
    struct effect *effect = turn_effect(turn, EFFECT_DECIDED, item->node);
    effect->u.decided.again = answered || !same || changed_meanwhile(&a);
    if (effect->u.decided.again)
        return 0;
    effect->u.decided.notes = item->node->notes;
    effect->u.decided.clear = !item->has_decision && item->node->op == NULL;
    effect->u.decided.settled = is_settled(item);
    effect->u.decided.unheard = reconcile_is_unheard(&a.row, &item->live);
    bool stored = false;
    status = apply_notes(&a, item->node->notes);
    if (status == 0)
        status = apply_health(&a);
    if (status == 0)
        status = apply_state(&a, &stored);
    if (status == 0 && a.unwritten)
        status = write_row(&a);
    turn->effects[at].u.decided.stored = stored;
    turn->effects[at].u.decided.look_at = a.look_at != 0 ? a.look_at : watched_until(item);
    turn->effects[at].u.decided.again = (item->node->notes & NOTE_LIFTED) != 0; /* its evidence is gone */
    return status;
}

struct breaker_is {
    struct rgroup *group;
    int64_t opened_at;
};

static void set_breaker(struct reconcile *r, struct rnode *node, const void *data)
{
    const struct breaker_is *is = data;
    (void)node;
    reconcile_group_breaker(r, is->group, is->opened_at);
}

static int apply_breaker(struct turn *turn, const struct decide_breaker *breaker)
{
    int64_t opened_at = breaker->opens ? turn->now : 0;
    const struct breaker_is is = {breaker->group, opened_at};
    turn_after(turn, NULL, set_breaker, &is, sizeof(is));
    int status = db_group_set_breaker(turn->tx, breaker->group->id, opened_at);
    if (status != 0)
        return status;
    return turn_group_event(turn, breaker->opens ? EVENT_LEVEL_ERROR : EVENT_LEVEL_INFO,
                            breaker->opens ? EVENT_KIND_BREAKER_OPENED : EVENT_KIND_BREAKER_CLOSED, breaker->group,
                            breaker->opens ? breaker->why : "", "%s", breaker->why);
}

int reconcile_apply(struct turn *turn)
{
    const struct decide_batch *batch = turn->batch;
    for (size_t i = 0; i < batch->breaker_count; i++) {
        int status = apply_breaker(turn, &batch->breakers[i]);
        if (status != 0)
            return status;
    }
    for (size_t i = 0; i < batch->count; i++) {
        int status = apply_item(turn, &batch->items[i]);
        if (status != 0)
            return status;
    }
    return 0;
}
