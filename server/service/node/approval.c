/*
 * A person's word to a repair that waits for it. The answer is only written down; the loop decides anew with it, by what is true
 * then, so that an approval to a fault that is over repairs nothing.
 */
#include "server/service/node/approval.h"
#include "base/text.h"
#include "db/verdict.h"
#include "server/service/private.h"

#include <stdio.h>

struct answer {
    const struct actor *actor;
    const char *uid;
    const char *reason;
    bool yes, stored; /* stored: it was not said before */
    int64_t now_ms;
    struct approval *approval;
    struct problem *problem;
};

static int find(struct db_tx *tx, const char *uid, struct approval *ret_approval, struct problem *problem)
{
    int status = db_approval_get(tx, uid, ret_approval);
    if (status == STATUS_NOT_FOUND)
        return problem_say(problem, status, PROBLEM_NOT_FOUND, "There is no repair \"%s\" that waits for approval.",
                           uid);
    return status;
}

static bool has_run_out(const struct approval *approval, int64_t now_ms)
{
    bool open = approval->state == APPROVAL_STATE_ASKED || approval->state == APPROVAL_STATE_APPROVED;
    return approval->state == APPROVAL_STATE_EXPIRED || (open && now_ms >= approval->expires_at);
}

static int check_open(const struct answer *answer)
{
    const struct approval *approval = answer->approval;
    bool late = has_run_out(approval, answer->now_ms);
    if (approval->state == APPROVAL_STATE_ASKED && !late)
        return 0;
    if (!late)
        return problem_say(answer->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "It has been %s already; there is nothing to answer.", approval_state_text(approval->state));
    return problem_say(
        answer->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
        "%s%s. It is asked for again when something new is seen; a person can repair the node at any time.",
        approval->answered_by[0] != '\0' ? "The repair could not begin before the approval ran out, which was that of "
                                         : "Nobody answered in time",
        approval->answered_by);
}

static int tell_answer(struct db_tx *tx, const struct answer *answer, const struct place *place)
{
    const struct approval *approval = answer->approval;
    struct event event = {.level = EVENT_LEVEL_INFO, .kind = EVENT_KIND_APPROVAL};
    autofree char *message = own_printf("%s %s the %s of %s%s%s", answer->actor->name,
                                        approval_state_text(approval->state), action_text(approval->action),
                                        place->node.name, answer->reason[0] != '\0' ? ": " : "", answer->reason);
    text_copy_cut(event.about.subject, sizeof(event.about.subject), approval->uid);
    text_copy_cut(event.about.state, sizeof(event.about.state), approval_state_text(approval->state));
    text_copy_cut(event.about.actor, sizeof(event.about.actor), answer->actor->name);
    return place_event_add(tx, place, NULL, &event, message);
}

static int answer_write(struct db_tx *tx, void *arg)
{
    struct answer *answer = arg;
    struct approval *approval = answer->approval;
    struct place place;
    enum approval_state wanted = answer->yes ? APPROVAL_STATE_APPROVED : APPROVAL_STATE_REJECTED;
    int status = find(tx, answer->uid, approval, answer->problem);
    if (status < 0)
        return status;
    answer->stored = false;
    bool same = answer->reason[0] == '\0' || text_equal(answer->reason, approval->reason);
    if (approval->state == wanted && same && (!answer->yes || !has_run_out(approval, answer->now_ms)))
        return NOTHING_DONE; /* said again */
    status = check_open(answer);
    if (status == 0)
        status = place_find_row(tx, approval->node_id, &place);
    if (status < 0)
        return status;
    approval->state = wanted;
    approval->answered_at = answer->now_ms;
    snprintf(approval->answered_by, sizeof(approval->answered_by), "%s", answer->actor->name);
    say_cut(approval->reason, sizeof(approval->reason), "%s", answer->reason);
    status = db_approval_update(tx, approval);
    answer->stored = status == 0;
    return status < 0 ? status : tell_answer(tx, answer, &place);
}

int service_approval_answer(struct service *s, const struct actor *actor, const char *uid, bool yes, const char *reason,
                            struct approval *ret_approval, struct problem *ret_problem)
{
    int status = service_require(actor, ROLE_OPERATOR, ret_problem);
    if (status < 0)
        return status;
    struct answer answer = {.actor = actor,
                            .uid = uid,
                            .reason = reason,
                            .yes = yes,
                            .now_ms = service_now(s),
                            .approval = ret_approval,
                            .problem = ret_problem};
    status = service_write(s, "approval-answer", answer_write, &answer, ret_problem);
    if (status < 0)
        return status;
    service_wake(s, !yes && answer.stored ? SERVICE_WAKE_REJECTION : SERVICE_WAKE_APPROVAL, ret_approval->node_id);
    service_events_added(s);
    return 0;
}

struct waits {
    const struct approval *approval;
    char *text;
};

/* What was decided since the approval, with it, and about the same. */
static int waits_read(struct db_tx *tx, void *arg)
{
    const struct waits *waits = arg;
    const struct approval *approval = waits->approval;
    struct decision decision;
    int status = db_decision_last(tx, approval->node_id, &decision);
    if (status < 0)
        return status == STATUS_NOT_FOUND ? 0 : status;
    if (decision.action == ACTION_HOLD && decision.at >= approval->answered_at &&
        decision.gates[GATE_MODE].result == GATE_RESULT_PASSED && decision.refused == approval->action &&
        text_equal(decision.device, approval->device))
        text_copy_cut(waits->text, SENTENCE_MAX_BYTES, decision.refused_why);
    return 0;
}

void service_approval_waits(struct service *s, const struct approval *approval, char ret_why[SENTENCE_MAX_BYTES])
{
    struct waits waits = {approval, ret_why};
    struct problem problem;
    ret_why[0] = '\0';
    if (approval->state == APPROVAL_STATE_APPROVED && service_now(s) < approval->expires_at)
        (void)service_read(s, waits_read, &waits, &problem); /* what cannot be read is shown as nothing */
}

struct listing {
    int state;
    int64_t before;
    int limit;
    db_row_fn fn;
    void *arg;
};

static int list_read(struct db_tx *tx, void *arg)
{
    const struct listing *listing = arg;
    return db_approval_list(tx, listing->state, listing->before, listing->limit, listing->fn, listing->arg);
}

int service_approval_list(struct service *s, int state, int64_t before, int limit, db_row_fn fn, void *arg,
                          struct problem *ret_problem)
{
    struct listing listing = {state, before, limit, fn, arg};
    return service_read(s, list_read, &listing, ret_problem);
}
