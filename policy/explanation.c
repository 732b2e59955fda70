/*
 * The paragraph for who looks at a node and asks why nothing has happened. A table of explanations in the order in which they are
 * asked: when is it this one, what is said, and what can a person do.
 *
 * Nothing is decided here. What a decision says is out in its own sentence, so that this text, the event and the log agree.
 */
#include "policy/explanation.h"

#include "base/own.h"
#include "base/text.h"
#include "policy/evaluate.h"

#include <stdarg.h>
#include <stdio.h>

ENUM_DEFINE(explanation, EXPLANATION_LIST)

static const char *ago(const struct policy_explanation_input *input, int64_t at, char buffer[POLICY_SPAN_MAX])
{
    int64_t ms = input->now_ms > at ? input->now_ms - at : 0;
    int64_t unit = ms < 1000           ? 1
                   : ms < 2 * 60000    ? 1000
                   : ms < 2 * 3600000  ? 60000
                   : ms < 2 * 86400000 ? 3600000
                                       : 86400000;
    return policy_span(ms - ms % unit, buffer);
}

static void say(struct policy_explanation *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct policy_explanation *out, const char *fmt, ...)
{
    struct text text AUTO(text) = {0};
    va_list ap;
    text_add(&text, out->sentence);
    text_add(&text, out->sentence[0] != '\0' ? " " : "");
    va_start(ap, fmt);
    autofree char *more = own_vprintf(fmt, ap);
    va_end(ap);
    text_add(&text, more);
    text_copy_cut(out->sentence, sizeof(out->sentence), text_get(&text));
}

/* --- what a person can do -------------------------------------------------------------------------------------- */

static struct policy_next_step *add_step(struct policy_explanation *out, const char *why)
{
    struct policy_next_step *step = &out->steps[out->step_count++];
    step->why = why;
    return step;
}

static void step_node(const struct policy_explanation_input *input, struct policy_explanation *out, const char *verb,
                      const char *why)
{
    struct policy_next_step *step = add_step(out, why);
    snprintf(step->command, sizeof(step->command), "hpctl node %s %s --cluster %s", verb, input->node->name,
             input->cluster->name);
}

static void step_resume(const struct policy_explanation_input *input, struct policy_explanation *out, const char *why)
{
    struct policy_next_step *step = add_step(out, why);
    snprintf(step->command, sizeof(step->command), "hpctl group resume %s --cluster %s", input->group->name,
             input->cluster->name);
}

/* By the scheduler's own command, as its backend names it. */
static void step_return_to_service(const struct policy_explanation_input *input, struct policy_explanation *out,
                                   const char *why)
{
    const char *command = text_or_empty(input->resume_command), *at = strstr(command, "NODE");
    if (at == NULL)
        return;
    struct policy_next_step *step = add_step(out, why);
    snprintf(step->command, sizeof(step->command), "%.*s%s%s", (int)(at - command), command, input->node->name,
             at + strlen("NODE"));
}

static void step_operation(struct policy_explanation *out, const char *verb, const struct operation *op,
                           const char *why)
{
    struct policy_next_step *step = add_step(out, why);
    snprintf(step->command, sizeof(step->command), "hpctl operation %s %s", verb, op->uid);
}

static void step_approval(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    if (input->approval == NULL || input->approval->id == 0 || input->approval->state != APPROVAL_STATE_ASKED)
        return; /* it is asked in a moment */
    struct policy_next_step *yes = add_step(out, "let it be done, by the policy's limits");
    snprintf(yes->command, sizeof(yes->command), "hpctl operation approve %s", input->approval->uid);
    struct policy_next_step *no = add_step(out, "let it not be done until something new is seen");
    snprintf(no->command, sizeof(no->command), "hpctl operation reject %s", input->approval->uid);
}

#define WHY_NOW "do it now: what a person asks for waits for no mode, budget, breaker or NodeRecovery"
#define WHY_BACK "give it back as it is, through the return checks"
#define WHY_SEEN "what its agent has seen"
#define WHY_RESUME "once the image and its scripts are fixed: end the protection, and replacements go on"

static void step_repair(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    bool replace = input->decision->refused == ACTION_REPLACE;
    step_node(input, out, replace ? "replace" : "reboot", WHY_NOW);
    step_node(input, out, "release", WHY_BACK);
}

/* --- an operation at work -------------------------------------------------------------------------------------- */

static const char *step_words(const struct operation *op, enum step_kind kind)
{
    switch (kind) {
    case STEP_KIND_MARK:
        return "it is taken out of scheduling";
    case STEP_KIND_DRAIN:
        return op->urgency == URGENCY_NOW ? "its jobs give way" : "its jobs are waited for";
    case STEP_KIND_RESET:
        return "its agent resets the device";
    case STEP_KIND_REBOOT:
        return "the machine is rebooted";
    case STEP_KIND_TERMINATE:
        return "the old instance is ended";
    case STEP_KIND_LAUNCH:
        return "a new instance is launched";
    case STEP_KIND_JOIN:
        return "its agent is waited for";
    case STEP_KIND_PREPARE:
        return "its lifecycle scripts run";
    case STEP_KIND_CHECK:
        return "deep health checks run on it";
    case STEP_KIND_VERIFY:
        return "the return checks watch it";
    case STEP_KIND_RESUME:
        return "it is put back into scheduling";
    case STEP_KIND_FORGET:
        return "its slot is taken out of the store";
    }
    return "it goes on";
}

static void say_step(const struct operation *op, struct policy_explanation *out)
{
    char since[POLICY_TIME_MAX], until[POLICY_TIME_MAX], next[POLICY_TIME_MAX];
    for (int i = 0; i < op->step_count; i++) {
        const struct operation_step *step = &op->steps[i];
        if (step->state != STEP_STATE_RUNNING)
            continue;
        say(out, "Step %d of %d, %s: %s since %s.", i + 1, op->step_count, step_kind_text(step->kind),
            step_words(op, step->kind), policy_time(step->started_at, since));
        if (step->detail[0] != '\0')
            say(out, "It says: %s.", step->detail);
        if (step->retry_at > 0)
            say(out, "It is tried again at %s.", policy_time(step->retry_at, next));
        if (step->deadline_at > 0)
            say(out, "It has time until %s.", policy_time(step->deadline_at, until));
        return;
    }
    say(out, "Its next step begins at once.");
}

static bool may_be_cancelled(const struct operation *op)
{
    for (int i = 0; i < op->step_count; i++)
        if (op->steps[i].state != STEP_STATE_WAITING && step_is_point_of_no_return(op->steps[i].kind))
            return false;
    return !op->cancel_asked;
}

static bool is_working(const struct policy_explanation_input *input)
{
    return input->active->id != 0;
}

static void explain_working(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    const struct operation *op = input->active;
    char since[POLICY_TIME_MAX];
    size_t reason_len = strlen(op->reason); /* it may end as a sentence, as this one does */
    while (reason_len > 0 && op->reason[reason_len - 1] == '.')
        reason_len--;
    if (input->cluster->state == CLUSTER_STATE_CREATING)
        say(out, "The cluster is still being created.");
    if (input->cluster->state == CLUSTER_STATE_DELETING)
        say(out, "The cluster is being deleted.");
    say(out, "A %s is at work on it since %s, asked for by %s%s%.*s.", operation_kind_text(op->kind),
        policy_time(op->started_at > 0 ? op->started_at : op->created_at, since), op->actor, reason_len > 0 ? ": " : "",
        (int)reason_len, op->reason);
    say_step(op, out);
    if (op->cancel_asked)
        say(out, "A person asked to stop it: it ends before its next step.");
    step_operation(out, "describe", op, "its steps, attempts and deadlines");
    if (may_be_cancelled(op))
        step_operation(out, "cancel", op, "stop it; nothing has been done yet that cannot be taken back");
}

/* --- slots that are empty, gone or given up -------------------------------------------------------------------- */

static bool is_deleted(const struct policy_explanation_input *input)
{
    return input->node->state == NODE_STATE_DELETED;
}

static void explain_deleted(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    (void)input;
    say(out, "The node was deleted. It is shown a little longer, so that who waited for it sees its end.");
}

static bool is_deleting(const struct policy_explanation_input *input)
{
    return input->node->state == NODE_STATE_DELETING || input->cluster->state == CLUSTER_STATE_DELETING;
}

static void explain_deleting(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    say(out, "%s is to be deleted. Its deletion begins, or is tried again, at one of the next looks.",
        input->cluster->state == CLUSTER_STATE_DELETING ? "The cluster and with it the node" : "The node");
}

static bool last_failed(const struct policy_explanation_input *input)
{
    return input->last->id != 0 && input->last->state == OPERATION_STATE_FAILED;
}

static bool is_left_alone(const struct policy_explanation_input *input)
{
    const struct policy_claims claims = {.opted_out = input->node->opted_out, .paused = input->cluster->paused_at > 0};
    return policy_claim(POLICY_ACT_LAUNCH, &claims) != POLICY_CLAIM_NONE;
}

static bool is_launched_again(const struct policy_explanation_input *input)
{
    return input->node->state == NODE_STATE_FAILED && last_failed(input) &&
           input->last->kind == OPERATION_KIND_LAUNCH && !is_left_alone(input) &&
           input->cluster->provisioning == PROVISIONING_CONTINUOUS;
}

static void say_failure(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    char at[POLICY_TIME_MAX];
    if (last_failed(input))
        say(out, "Its %s gave up at %s: %s.", operation_kind_text(input->last->kind),
            policy_time(input->last->finished_at, at), input->last->error);
    else
        say(out, "It is given up%s%s.", input->node->reason[0] != '\0' ? ": " : "", input->node->reason);
}

/* Another machine may well end as this one did. */
static void say_protection(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    const struct machine_capacity *machine_capacity = &input->group->machine_capacity;
    char at[POLICY_TIME_MAX];
    if (machine_capacity->protected_at > 0)
        say(out,
            "Its group is protected since %s, as %lld new machines in a row did not come up: look at the image and its "
            "scripts first.",
            policy_time(machine_capacity->protected_at, at), (long long)machine_capacity->failures);
}

static void explain_launch_again(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    say_failure(input, out);
    say_protection(input, out);
    say(out, "It is launched again by itself, at a growing pace, for as long as the group wants it.");
    step_operation(out, "describe", input->last, "where the last launch ended");
    step_node(input, out, "replace", "try it now");
}

static bool is_failed(const struct policy_explanation_input *input)
{
    return input->node->state == NODE_STATE_FAILED;
}

static void explain_failed(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    say_failure(input, out);
    say_protection(input, out);
    say(out, "Nothing follows by itself: the node takes no work until a person has looked.");
    if (last_failed(input))
        step_operation(out, "describe", input->last, "where it ended and why");
    step_node(input, out, "replace", "put another machine into the slot");
    step_node(input, out, "release", "give it back once it is fixed, through the return checks");
}

static bool is_empty(const struct policy_explanation_input *input)
{
    return input->node->state == NODE_STATE_PENDING;
}

static void explain_empty(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    bool cancelled = input->last->id != 0 && input->last->state == OPERATION_STATE_CANCELLED;
    say(out, "No instance fills the slot.");
    if (cancelled) {
        say(out, "A person stopped its launch, and that is not begun again by itself.");
        step_node(input, out, "remove", "let the group be one smaller");
    } else if (input->cluster->state == CLUSTER_STATE_CREATING) {
        say(out, "The cluster is still being created, and its launch is to come.");
    } else {
        say(out, "One is launched at one of the next looks.");
    }
}

static bool is_starting(const struct policy_explanation_input *input)
{
    return input->node->state == NODE_STATE_STARTING || input->node->state == NODE_STATE_REPAIRING ||
           input->node->state == NODE_STATE_VERIFYING;
}

static void explain_starting(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    if (input->node->state == NODE_STATE_VERIFYING)
        say(out, "It is at the return checks: it takes work once its agent reports it healthy.");
    else
        say(out, "What was begun for it has ended, and what follows is decided at one of the next looks.");
}

/* --- held ------------------------------------------------------------------------------------------------------ */

static bool is_cancelled(const struct policy_explanation_input *input)
{
    return input->last->id != 0 && input->last->state == OPERATION_STATE_CANCELLED && input->last->cancel_asked &&
           input->decision_stands && action_is_repair(input->decision->action);
}

static void explain_cancelled(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    char at[POLICY_TIME_MAX];
    say(out, "A person stopped its %s at %s. It is not begun again for what had been seen by then; new evidence is.",
        operation_kind_text(input->last->kind), policy_time(input->last->finished_at, at));
    step_node(input, out, input->decision->action == ACTION_REPLACE ? "replace" : "reboot", WHY_NOW);
    step_node(input, out, "release", WHY_BACK);
}

static bool held_by(const struct policy_explanation_input *input, enum action action)
{
    return input->node->state == NODE_STATE_HELD && input->decision_stands && input->decision->action == action;
}

static bool is_waiting(const struct policy_explanation_input *input)
{
    return held_by(input, ACTION_HOLD);
}

static void explain_waiting(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    int64_t next = input->node->retry_at > input->now_ms ? input->node->retry_at : input->decision->retry_at;
    char opened[POLICY_TIME_MAX], at[POLICY_TIME_MAX];
    say(out, "%s", input->decision->sentence);
    if (input->group->breaker_opened_at > 0 && input->decision->gates[GATE_BREAKER].result == GATE_RESULT_FAILED)
        say(out, "The breaker opened at %s (%s); a person may close it earlier.",
            policy_time(input->group->breaker_opened_at, opened), input->decision->gates[GATE_BREAKER].detail);
    if (next > input->now_ms && input->decision->rule == RULE_APPROVAL_NEEDED)
        say(out, "It expires at %s; then the repair is evaluated again.", policy_time(next, at));
    else if (next > input->now_ms)
        say(out, "It is looked at again at %s.", policy_time(next, at));
    else if (input->decision->rule == RULE_APPROVAL_REJECTED || input->decision->rule == RULE_APPROVAL_EXPIRED)
        say(out, "It is asked for again when something new is seen; a person can repair the node at any time.");
    else
        say(out, "It is looked at again now.");
    if (input->decision->rule == RULE_APPROVAL_NEEDED)
        step_approval(input, out);
    if (input->decision->rule == RULE_IMAGE_HOLD)
        step_node(input, out, "release", WHY_BACK);
    else
        step_repair(input, out);
    if (input->decision->rule == RULE_BREAKER_HOLD && input->group->breaker_opened_at > 0)
        step_resume(input, out,
                    "close the breaker: what failed until then counts no more, and repairs go on by the budget");
    if (input->decision->rule == RULE_PROTECTED_HOLD && input->group->machine_capacity.protected_at > 0)
        step_resume(input, out, WHY_RESUME);
}

static bool is_marked(const struct policy_explanation_input *input)
{
    return held_by(input, ACTION_MARK);
}

static void explain_cordoned(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    say(out, "%s No repair follows by itself.", input->decision->sentence);
    step_repair(input, out);
}

static bool is_for_person(const struct policy_explanation_input *input)
{
    return held_by(input, ACTION_SUPPORT);
}

static void explain_person(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    say(out, "%s No repair follows by itself.", input->decision->sentence);
    step_node(input, out, "verdicts", WHY_SEEN);
    step_node(input, out, "replace", "put another machine into the slot");
    step_node(input, out, "release", WHY_BACK);
}

static bool is_returning(const struct policy_explanation_input *input)
{
    bool stands = is_left_alone(input) && input->decision_stands; /* somebody took it away from what still asks */
    return input->node->state == NODE_STATE_HELD && !stands;
}

static void explain_returning(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    char at[POLICY_TIME_MAX];
    say(out, "It was held (%s), and no open verdict keeps it out any more.",
        input->node->reason[0] != '\0' ? input->node->reason : "no reason is known");
    if (input->node->opted_out)
        say(out, "A person opted it out, so it is not given back by itself.");
    else if (input->cluster->paused_at > 0)
        say(out, "%s paused the cluster, so it is not given back by itself.", input->cluster->paused_by);
    else if (input->silent || input->last_heartbeat_at == 0)
        say(out, "It returns once its agent is seen again. It was last seen %s%s.",
            input->last_heartbeat_at == 0 ? "before this server started" : "at ",
            input->last_heartbeat_at == 0 ? "" : policy_time(input->last_heartbeat_at, at));
    else
        say(out, "It returns by itself, through the return checks, unless somebody else holds it in the scheduler.");
    step_node(input, out, "release", WHY_BACK);
}

/* --- in service ------------------------------------------------------------------------------------------------ */

/* What would have been done, were it not for who holds it. */
static void say_standing(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    if (input->decision_stands)
        say(out, "%s", input->decision->sentence);
    else
        say(out, "Nothing that is open asks for a repair either.");
}

static bool is_opted_out(const struct policy_explanation_input *input)
{
    return input->node->opted_out;
}

static void explain_opted_out(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    say(out, "A person took this node out of automatic repair, so nothing is done to it by itself.");
    say_standing(input, out);
    if (input->decision_stands && input->node->health == HEALTH_UNHEALTHY)
        say(out, "When it is opted in, that is decided on at once.");
    step_node(input, out, "opt-in", "hand it back to automatic repair");
    if (input->decision_stands)
        step_node(input, out, "verdicts", WHY_SEEN);
}

static bool is_paused(const struct policy_explanation_input *input)
{
    return input->cluster->paused_at > 0;
}

static void explain_paused(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    char at[POLICY_TIME_MAX];
    const struct cluster *cluster = input->cluster;
    say(out, "%s paused the whole cluster at %s%s%s, so nothing is done to any of its nodes by itself.",
        cluster->paused_by, policy_time(cluster->paused_at, at), cluster->pause_reason[0] != '\0' ? ": " : "",
        cluster->pause_reason);
    say_standing(input, out);
    if (input->decision_stands && input->node->health == HEALTH_UNHEALTHY)
        say(out, "When the cluster is resumed, that is decided on at once.");
    struct policy_next_step *step = add_step(out, "hand all of it back to automatic repair");
    snprintf(step->command, sizeof(step->command), "hpctl cluster resume %s", cluster->name);
    step_node(input, out, "reboot", WHY_NOW);
}

static bool is_foreign(const struct policy_explanation_input *input)
{
    return input->node->attention == ATTENTION_HELD;
}

static void explain_external(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    say(out, "Somebody else holds it in the scheduler, so nothing is done to it by itself: %s.", input->node->reason);
    say_standing(input, out);
    step_return_to_service(input, out, "give it back, once that work is done");
    step_node(input, out, "reboot", WHY_NOW);
}

static bool is_downed(const struct policy_explanation_input *input)
{
    return input->node->attention == ATTENTION_DOWNED;
}

static void explain_downed(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    say(out, "%s.", input->node->reason);
    say_standing(input, out);
    step_return_to_service(input, out, "put it back into service, once you have looked");
    step_node(input, out, "reboot", WHY_NOW);
}

static bool is_never_heard(const struct policy_explanation_input *input)
{
    return input->last_heartbeat_at == 0;
}

static void explain_never_seen(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    if (input->instance->boot_at > 0) {
        say(out,
            "The agent of the instance %s was not seen since this server started. Nothing is concluded from that: "
            "what was known before stands.",
            input->instance->instance_id);
        return;
    }
    say(out,
        "The agent of the instance %s was never seen: it does not run, or was never enrolled. Nobody looks at this "
        "node, so "
        "nothing can be found on it.",
        input->instance->instance_id[0] != '\0' ? input->instance->instance_id : "in its slot");
    struct policy_next_step *step = add_step(out, "a token with which hp-agent on the machine enrols");
    snprintf(step->command, sizeof(step->command), "hpctl token create --enrollment --cluster %s --node %s",
             input->cluster->name, input->node->name);
}

static bool is_silent(const struct policy_explanation_input *input)
{
    return input->silent;
}

static void explain_not_seen(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    char at[POLICY_TIME_MAX], span[POLICY_SPAN_MAX], next[POLICY_TIME_MAX];
    say(out, "Its agent was last seen at %s, %s ago. Nothing can be found on the node until it reports again.",
        policy_time(input->last_heartbeat_at, at), ago(input, input->last_heartbeat_at, span));
    if (input->decision_stands && input->decision->refused_why[0] != '\0')
        say(out, "It is not touched for that: %s.", input->decision->refused_why);
    if (input->decision_stands && input->decision->retry_at > input->now_ms)
        say(out, "It is looked at again at %s.", policy_time(input->decision->retry_at, next));
    struct policy_next_step *step = add_step(out, "on the machine: is the agent running, and what does it say");
    snprintf(step->command, sizeof(step->command), "systemctl status hp-agent");
    step_node(input, out, "reboot", "reboot it, if it does not answer otherwise");
}

static bool is_decided(const struct policy_explanation_input *input)
{
    return input->decision_stands;
}

static void explain_decided(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    const struct decision *decision = input->decision;
    bool quiet = decision->action == ACTION_NONE || decision->action == ACTION_WATCH;
    bool forbidden = quiet && decision->gates[GATE_MODE].result == GATE_RESULT_FAILED;
    if (forbidden)
        say(out, "Nothing has happened because the policy does not let it be done by itself.");
    else if (quiet)
        say(out, "Nothing has happened because nothing that was seen asks for it.");
    say(out, "%s", decision->sentence);
    if (!quiet)
        say(out, "What follows from it begins at the next look.");
    step_node(input, out, "verdicts", WHY_SEEN);
    if (forbidden)
        step_node(input, out, decision->refused == ACTION_REPLACE ? "replace" : "reboot", WHY_NOW);
}

static bool is_quiet(const struct policy_explanation_input *input)
{
    (void)input;
    return true;
}

static void explain_quiet(const struct policy_explanation_input *input, struct policy_explanation *out)
{
    char span[POLICY_SPAN_MAX];
    if (input->node->attention == ATTENTION_KEPT_OUT) {
        say(out,
            "%s. Nothing follows by itself: that is no fault of the node that its agent, which was seen %s ago, has "
            "seen.",
            input->node->reason, ago(input, input->last_heartbeat_at, span));
        step_return_to_service(input, out, "put it back into service, once you have looked");
        step_node(input, out, "reboot", WHY_NOW);
        return;
    }
    say(out,
        "Nothing has happened because nothing is wrong: its agent was seen %s ago, and nothing that it reported asks "
        "for "
        "anything.",
        ago(input, input->last_heartbeat_at, span));
    if (input->open_verdicts > 0)
        step_node(input, out, "verdicts", WHY_SEEN);
}

/* --- the table ------------------------------------------------------------------------------------------------- */

void policy_explain_node(const struct policy_explanation_input *input, struct policy_explanation *ret_explanation)
{
    static const struct {
        enum explanation kind;
        bool (*is)(const struct policy_explanation_input *input);
        void (*tell)(const struct policy_explanation_input *input, struct policy_explanation *out);
    } table[] = {
        {EXPLANATION_WORKING, is_working, explain_working},
        {EXPLANATION_DELETED, is_deleted, explain_deleted},
        {EXPLANATION_DELETING, is_deleting, explain_deleting},
        {EXPLANATION_LAUNCH_AGAIN, is_launched_again, explain_launch_again},
        {EXPLANATION_FAILED, is_failed, explain_failed},
        {EXPLANATION_EMPTY, is_empty, explain_empty},
        {EXPLANATION_STARTING, is_starting, explain_starting},
        {EXPLANATION_CANCELLED, is_cancelled, explain_cancelled},
        {EXPLANATION_WAITS, is_waiting, explain_waiting},
        {EXPLANATION_CORDONED, is_marked, explain_cordoned},
        {EXPLANATION_PERSON, is_for_person, explain_person},
        {EXPLANATION_RETURNING, is_returning, explain_returning},
        {EXPLANATION_OPTED_OUT, is_opted_out, explain_opted_out},
        {EXPLANATION_PAUSED, is_paused, explain_paused},
        {EXPLANATION_EXTERNAL, is_foreign, explain_external},
        {EXPLANATION_DOWNED, is_downed, explain_downed},
        {EXPLANATION_NEVER_SEEN, is_never_heard, explain_never_seen},
        {EXPLANATION_NOT_SEEN, is_silent, explain_not_seen},
        {EXPLANATION_DECIDED, is_decided, explain_decided},
        {EXPLANATION_QUIET, is_quiet, explain_quiet},
    };
    size_t at = 0;
    while (!table[at].is(input))
        at++;
    struct policy_explanation out = {.kind = table[at].kind};
    table[at].tell(input, &out);
    *ret_explanation = out;
}
