/*
 * Repairs that wait for a person's word: what the policy said of a node becomes a question, and a question that nobody needs to
 * answer any more is withdrawn. Inside the turn's transaction, beside the decision; the answer comes through the use cases and
 * is an input of the next decision, so that what was true when it was asked is never what is acted on.
 */
#include "server/reconcile/decide/approval.h"
#include "base/text.h"
#include "db/approval.h"
#include "server/reconcile/base/group.h"
#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "server/reconcile/base/record.h"
#include "server/reconcile/decide/decide.h"

#include <inttypes.h>

bool reconcile_approval_is_open(const struct approval *approval, int64_t now)
{
    return approval->id != 0 && now < approval->expires_at &&
           (approval->state == APPROVAL_STATE_ASKED || approval->state == APPROVAL_STATE_APPROVED);
}

void reconcile_approval_set_expiry(const struct rnode *node, struct decision *decision, int64_t now)
{
    if (decision->retry_at == 0 && decision->rule == RULE_APPROVAL_NEEDED)
        decision->retry_at = now + node->group->settings.approval_expires_ms;
}

static int end(struct turn *turn, struct rnode *node, const struct approval *approval, enum approval_state state)
{
    struct approval ended = *approval;
    ended.state = state;
    if (state != APPROVAL_STATE_DONE)
        ended.answered_at = turn->now;
    int status = db_approval_update(turn->tx, &ended);
    if (status != 0 || state == APPROVAL_STATE_DONE)
        return status;
    turn_about(turn, approval->uid, approval_state_text(state), "");
    return turn_event(turn, EVENT_LEVEL_INFO, EVENT_KIND_APPROVAL, node, NULL,
                      "approval request for a %s (%s) withdrawn: no longer needed", action_text(approval->action),
                      approval->uid);
}

static int tell_overdue(const void *row, void *arg)
{
    struct turn *turn = arg;
    const struct approval *approval = row;
    struct rnode *node = reconcile_node_find(turn->r, approval->node_id);
    const char *action = action_text(approval->action);
    if (node == NULL)
        return 0;
    turn_about(turn, approval->uid, approval_state_text(APPROVAL_STATE_EXPIRED), approval->answered_by);
    if (approval->state == APPROVAL_STATE_APPROVED)
        return turn_event(turn, EVENT_LEVEL_WARN, EVENT_KIND_APPROVAL, node, NULL,
                          "approval by %s of a %s expired before it could begin; new evidence asks again",
                          approval->answered_by, action);
    return turn_event(turn, EVENT_LEVEL_WARN, EVENT_KIND_APPROVAL, node, NULL,
                      "approval request for a %s expired without an answer; new evidence asks again", action);
}

/* What has run out ends, and that is told. */
static int expire(struct turn *turn)
{
    int status = db_approval_overdue(turn->tx, turn->now, tell_overdue, turn);
    return status < 0 ? status : db_approval_expire(turn->tx, turn->now);
}

static int ask(struct turn *turn, struct rnode *node, const struct decision *decision)
{
    struct approval approval = {.node_id = node->id,
                                .decision_id = decision->id,
                                .action = decision->refused,
                                .state = APPROVAL_STATE_ASKED,
                                .asked_at = turn->now,
                                .expires_at = turn->now + node->group->settings.approval_expires_ms};
    id_uuid(turn->r->service->ids, approval.uid);
    text_copy_cut(approval.code, sizeof(approval.code), decision->code);
    text_copy_cut(approval.device, sizeof(approval.device), decision->device);
    text_copy_cut(approval.sentence, sizeof(approval.sentence), decision->sentence);
    int status = expire(turn); /* an open one of this node that has run out makes room */
    if (status == 0)
        status = db_approval_insert(turn->tx, &approval);
    char until[CLOCK_TEXT_MAX];
    if (status != 0)
        return status;
    turn_about(turn, approval.uid, approval_state_text(APPROVAL_STATE_ASKED), "");
    return turn_event(turn, EVENT_LEVEL_WARN, EVENT_KIND_APPROVAL, node, NULL,
                      "a %s waits for approval until %s: hpctl operation approve %s", action_text(approval.action),
                      clock_format(approval.expires_at, until), approval.uid);
}

static bool is_about(const struct approval *open, enum action action, const struct decision *said)
{
    return policy_approval_is_for(open->action, open->code, open->device, action, said->code, said->device);
}

/* Silence counts from when a node was heard, and both witnesses have to be there: after a restart of ours, or while the scheduler
 * does not answer, nothing is said of a node that nobody hears. That is no reason to take the question back, or the approval. */
static bool is_still_unheard(const struct decide_item *item, const struct approval *open, const struct decision *said)
{
    return policy_repair_class(open->code) == FAULT_CLASS_UNREACHABLE &&
           (said == NULL || said->action <= ACTION_WATCH) && item->live.last_heartbeat_at <= open->asked_at &&
           !item->view.scheduler_responding;
}

int reconcile_approval(struct turn *turn, const struct decide_item *item, const struct decision *stored)
{
    const struct approval *open = reconcile_approval_is_open(&item->approval, turn->now) ? &item->approval : NULL;
    const struct decision *said = stored != NULL ? stored : item->has_decision ? &item->decision : NULL;
    bool needed = stored != NULL && stored->rule == RULE_APPROVAL_NEEDED;
    bool waits = open != NULL && said != NULL && said->action == ACTION_HOLD && is_about(open, said->refused, said);
    bool done =
        open != NULL && open->state == APPROVAL_STATE_APPROVED && said != NULL && is_about(open, said->action, said);
    /* While the cluster is paused nothing is weighed; the question is what it was, and an approval waits as everything does. */
    bool paused = open != NULL && text_or_empty(item->view.paused_why)[0] != '\0';
    if (waits || paused || (done && stored == NULL) || (open != NULL && is_still_unheard(item, open, said)))
        return 0;
    int status = open == NULL ? 0 : end(turn, item->node, open, done ? APPROVAL_STATE_DONE : APPROVAL_STATE_WITHDRAWN);
    return status == 0 && needed ? ask(turn, item->node, stored) : status;
}

/* A person answered. */
static void wake(struct reconcile *r, enum service_wake what, int64_t id)
{
    bool answered = what == SERVICE_WAKE_APPROVAL || what == SERVICE_WAKE_REJECTION;
    struct rnode *node = answered ? reconcile_node_find(r, id) : NULL;
    if (what == SERVICE_WAKE_REJECTION)
        r->stats.durations.refused++;
    if (node != NULL)
        reconcile_node_dirty(r, node);
}

const struct part part_approval = {.wake = wake, .tidy = expire};
