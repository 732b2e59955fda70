/*
 * The reason that a node in service has: what people have to know about it although nothing is done. Held by somebody, given up by
 * the scheduler, unheard, recommended for a repair, or with a code that nobody knows.
 */
#include "server/reconcile/decide/reason.h"
#include "base/text.h"
#include "server/reconcile/base/cluster.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/seen.h"
#include "server/reconcile/decide/decide.h"
#include "server/scheduler/scheduler.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

bool reconcile_is_unheard(const struct node *row, const struct fleet_view *live)
{
    bool serves = row->state == NODE_STATE_READY || row->state == NODE_STATE_HELD;
    return serves && row->instance_row != 0 && live->last_heartbeat_at == 0 && !live->silent;
}

static bool is_held_by_person(const struct rnode *node)
{
    return reconcile_node_has_scheduler(node) && node->seen_seq > node->touched_seq && reconcile_external_drain(node);
}

/* As people call it. */
static const char *scheduler_of(const struct rnode *node)
{
    return orchestrator_title(node->group->cluster->orchestrator);
}

static void say_held(const struct rnode *node, char ret_reason[REASON_MAX_BYTES])
{
    bool user = node->reason_user != NULL, reason = node->reason != NULL;
    autofree char *text = own_printf("held in %s%s%s%s%s", scheduler_of(node), user ? " by " : "",
                                     user ? node->reason_user : "", reason ? ": " : "", reason ? node->reason : "");
    text_copy_cut(ret_reason, REASON_MAX_BYTES, text);
}

/* Its agent may be well: what the scheduler has running there is not. */
static bool is_unheard_by_scheduler(const struct rnode *node)
{
    return reconcile_node_has_scheduler(node) && node->seen_seq > node->touched_seq && !node->responding &&
           !node->switched_off;
}

/* For what the scheduler found out by itself, which is no fault that anything here knows. */
static bool is_kept_out(const struct rnode *node)
{
    return reconcile_node_has_scheduler(node) && node->seen_seq > node->touched_seq && !node->schedulable &&
           node->responding && !node->drained && !node->downed && !node->switched_off && node->reason != NULL &&
           node->request == SCHEDULER_REQUEST_NONE && !reconcile_reason_is_ours(node);
}

/* True when the row's reason says what cannot be known anew yet: the snapshot is older than our own last change or there is
 * none, the scheduler is away, or the agent was not heard since we started. */
static bool reason_still_stands(const struct reconcile *r, const struct rnode *node, const struct node *row,
                                const struct fleet_view *live)
{
    bool has_scheduler = reconcile_node_has_scheduler(node),
         unseen = has_scheduler && node->seen_seq <= node->touched_seq;
    return (unseen && (row->attention == ATTENTION_HELD || row->attention == ATTENTION_KEPT_OUT)) ||
           (has_scheduler && !reconcile_sees(r, node) && row->attention == ATTENTION_DOWNED) ||
           (!node->lost && (node->silent_since > 0 || reconcile_is_unheard(row, live)) &&
            row->attention == ATTENTION_UNHEARD);
}

/* The node's reason while the scheduler keeps it out though it hears it; "" while it is given back. */
static void say_downed(const struct decide_item *item, char ret_reason[REASON_MAX_BYTES])
{
    autofree char *why = NULL;
    if (item->return_to_service == POLICY_RETURN_TO_SERVICE_NOW)
        return;
    if (item->return_to_service == POLICY_RETURN_TO_SERVICE_SERIES)
        why = own_printf("%" PRId64 " times within %" PRId64 " h, so a person has to look", policy_absence_limit(),
                         policy_absence_window_ms() / MS_PER_HOUR);
    else if (item->return_to_service == POLICY_RETURN_TO_SERVICE_UNHEARD)
        why = own_strdup("its agent has to speak before it is given back");
    else if (item->row.opted_out)
        why = own_strdup("a person opted it out");
    else if (item->node->group->cluster->paused)
        why = own_strdup(item->node->group->cluster->paused_why);
    else if (item->node->group->cluster->recovery != NODE_RECOVERY_AUTOMATIC)
        why = own_strdup("NodeRecovery None leaves that to a person");
    else
        why = own_strdup("the policy's mode for the class host leaves that to a person");
    autofree char *text = own_printf("%s took it out by itself (%.*s); %s", scheduler_of(item->node),
                                     TEXT_FIT(text_or_empty(item->node->reason), 60), why);
    text_copy_cut(ret_reason, REASON_MAX_BYTES, text);
}

static bool is_recommended(const struct decision *d)
{
    return d->rule == RULE_MODE_RECOMMEND;
}

static bool is_unknown(const struct decision *d)
{
    return d->rule == RULE_UNKNOWN_CODE;
}

/* A fault for which something would have been done. */
static bool is_paused(const struct decision *d)
{
    return d->rule == RULE_PAUSED && action_is_repair(d->refused);
}

/* A person would have to look at the node, were it the only one. */
static bool is_of_many(const struct decision *d)
{
    return d->rule == RULE_SHARED_BY_MANY || d->rule == RULE_ENOUGH_ARE_OUT;
}

bool reconcile_is_for_people(const struct decision *d)
{
    return is_recommended(d) || is_unknown(d) || is_paused(d) || is_of_many(d);
}

static void say_for_people(const struct decision *d, char ret_reason[REASON_MAX_BYTES])
{
    const char *on = d->device[0] != '\0' ? " on " : "";
    autofree char *text =
        is_recommended(d) ? own_printf("recommended: %s, for %s%s%s", action_text(d->refused), d->code, on, d->device)
        : is_of_many(d)   ? own_printf("for a person: %s%s%s; %s", d->code, on, d->device, d->refused_why)
        : is_paused(d)    ? own_printf("left alone, as the cluster is paused: %s, for %s%s%s", action_text(d->refused),
                                       d->code, on, d->device)
                          : own_printf("for a person: %s%s%s is in no table; a row of faultTables says what it means",
                                       d->code, on, d->device);
    text_copy_cut(ret_reason, REASON_MAX_BYTES, text);
}

static enum attention say_attention(const struct decide_item *item, char ret_reason[REASON_MAX_BYTES])
{
    char at[CLOCK_TEXT_MAX];
    const struct rnode *node = item->node;
    if (item->downed) {
        say_downed(item, ret_reason);
        return ATTENTION_DOWNED;
    }
    if (item->health == HEALTH_UNKNOWN && node->silent_since > 0) {
        snprintf(ret_reason, REASON_MAX_BYTES, "agent not seen since %s", clock_format(node->silent_since, at));
        return ATTENTION_UNHEARD;
    }
    if (item->has_decision && reconcile_is_for_people(&item->decision)) {
        say_for_people(&item->decision, ret_reason);
        return ATTENTION_DECIDED;
    }
    if (is_unheard_by_scheduler(node)) {
        snprintf(ret_reason, REASON_MAX_BYTES, "%s gets no answer from its daemon on the node", scheduler_of(node));
        return ATTENTION_KEPT_OUT;
    }
    if (!is_kept_out(node))
        return ATTENTION_NONE;
    snprintf(ret_reason, REASON_MAX_BYTES, "%s keeps it out by itself: %.*s", scheduler_of(node),
             TEXT_FIT(node->reason, 100));
    return ATTENTION_KEPT_OUT;
}

bool reconcile_ready_reason(const struct reconcile *r, const struct decide_item *item, const struct node *row,
                            struct ready_reason *ret_reason)
{
    const struct rnode *node = item->node;
    *ret_reason = (struct ready_reason){.attention = ATTENTION_HELD};
    if (row->state != NODE_STATE_READY || node->op != NULL)
        return false;
    if (is_held_by_person(node))
        say_held(node, ret_reason->text);
    else if (reason_still_stands(r, node, row, &item->live))
        return false;
    else
        ret_reason->attention = say_attention(item, ret_reason->text);
    if (ret_reason->text[0] == '\0')
        ret_reason->attention = ATTENTION_NONE;
    return ret_reason->attention != row->attention || !text_equal(ret_reason->text, row->reason);
}
