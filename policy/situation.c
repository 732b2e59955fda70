/*
 * The paragraph for who looks at a node and asks why nothing has happened. A table of situations in the order in which they are
 * asked: when is it this one, what is said, and what can a person do.
 *
 * Nothing is decided here. What a decision says is told in its own sentence, so that this text, the event and the log agree.
 */
#include "policy/situation.h"

#include "base/own.h"
#include "base/text.h"
#include "policy/evaluate.h"

#include <stdarg.h>
#include <stdio.h>

ENUM_DEFINE(situation, SITUATION_LIST)

static const char *ago(const struct policy_scene *scene, int64_t at, char buffer[POLICY_SPAN_MAX])
{
    int64_t ms = scene->now_ms > at ? scene->now_ms - at : 0;
    int64_t unit = ms < 1000           ? 1
                   : ms < 2 * 60000    ? 1000
                   : ms < 2 * 3600000  ? 60000
                   : ms < 2 * 86400000 ? 3600000
                                       : 86400000;
    return policy_span(ms - ms % unit, buffer);
}

static void say(struct policy_situation *told, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct policy_situation *told, const char *fmt, ...)
{
    struct text text AUTO(text) = {0};
    va_list ap;
    text_add(&text, told->sentence);
    text_add(&text, told->sentence[0] != '\0' ? " " : "");
    va_start(ap, fmt);
    autofree char *more = own_vprintf(fmt, ap);
    va_end(ap);
    text_add(&text, more);
    text_copy_cut(told->sentence, sizeof(told->sentence), text_get(&text));
}

/* --- what a person can do -------------------------------------------------------------------------------------- */

static struct policy_way *new_way(struct policy_situation *told, const char *why)
{
    struct policy_way *way = &told->ways[told->way_count++];
    way->why = why;
    return way;
}

static void way_node(const struct policy_scene *scene, struct policy_situation *told, const char *verb, const char *why)
{
    struct policy_way *way = new_way(told, why);
    snprintf(way->command, sizeof(way->command), "hpctl node %s %s --cluster %s", verb, scene->node->name,
             scene->cluster->name);
}

static void way_resume(const struct policy_scene *scene, struct policy_situation *told, const char *why)
{
    struct policy_way *way = new_way(told, why);
    snprintf(way->command, sizeof(way->command), "hpctl group resume %s --cluster %s", scene->group->name,
             scene->cluster->name);
}

/* By the scheduler's own command, as its backend names it. */
static void way_give_back(const struct policy_scene *scene, struct policy_situation *told, const char *why)
{
    const char *command = text_or_empty(scene->resume_command), *at = strstr(command, "NODE");
    if (at == NULL)
        return;
    struct policy_way *way = new_way(told, why);
    snprintf(way->command, sizeof(way->command), "%.*s%s%s", (int)(at - command), command, scene->node->name,
             at + strlen("NODE"));
}

static void way_operation(struct policy_situation *told, const char *verb, const struct operation *op, const char *why)
{
    struct policy_way *way = new_way(told, why);
    snprintf(way->command, sizeof(way->command), "hpctl operation %s %s", verb, op->uid);
}

static void way_approval(const struct policy_scene *scene, struct policy_situation *told)
{
    if (scene->approval == NULL || scene->approval->id == 0 || scene->approval->state != APPROVAL_STATE_ASKED)
        return; /* it is asked in a moment */
    struct policy_way *yes = new_way(told, "let it be done, by the policy's limits");
    snprintf(yes->command, sizeof(yes->command), "hpctl operation approve %s", scene->approval->uid);
    struct policy_way *no = new_way(told, "let it not be done until something new is seen");
    snprintf(no->command, sizeof(no->command), "hpctl operation reject %s", scene->approval->uid);
}

#define WHY_NOW "do it now: what a person asks for waits for no mode, budget, breaker or NodeRecovery"
#define WHY_BACK "give it back as it is, through the return checks"
#define WHY_SEEN "what its agent has seen"
#define WHY_RESUME "once the image and its scripts are mended: end the protection, and replacements go on"

static void way_repair(const struct policy_scene *scene, struct policy_situation *told)
{
    bool replace = scene->decision->refused == ACTION_REPLACE;
    way_node(scene, told, replace ? "replace" : "reboot", WHY_NOW);
    way_node(scene, told, "release", WHY_BACK);
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

static void say_step(const struct operation *op, struct policy_situation *told)
{
    char since[POLICY_TIME_MAX], until[POLICY_TIME_MAX], next[POLICY_TIME_MAX];
    for (int i = 0; i < op->step_count; i++) {
        const struct operation_step *step = &op->steps[i];
        if (step->state != STEP_STATE_RUNNING)
            continue;
        say(told, "Step %d of %d, %s: %s since %s.", i + 1, op->step_count, step_kind_text(step->kind),
            step_words(op, step->kind), policy_time(step->started_at, since));
        if (step->detail[0] != '\0')
            say(told, "It says: %s.", step->detail);
        if (step->retry_at > 0)
            say(told, "It is tried again at %s.", policy_time(step->retry_at, next));
        if (step->deadline_at > 0)
            say(told, "It has time until %s.", policy_time(step->deadline_at, until));
        return;
    }
    say(told, "Its next step begins at once.");
}

static bool may_be_cancelled(const struct operation *op)
{
    for (int i = 0; i < op->step_count; i++)
        if (op->steps[i].state != STEP_STATE_WAITING && step_is_point_of_no_return(op->steps[i].kind))
            return false;
    return !op->cancel_asked;
}

static bool is_working(const struct policy_scene *scene)
{
    return scene->active->id != 0;
}

static void tell_working(const struct policy_scene *scene, struct policy_situation *told)
{
    const struct operation *op = scene->active;
    char since[POLICY_TIME_MAX];
    if (scene->cluster->state == CLUSTER_STATE_CREATING)
        say(told, "The cluster is still being created.");
    if (scene->cluster->state == CLUSTER_STATE_DELETING)
        say(told, "The cluster is being deleted.");
    say(told, "A %s is at work on it since %s, asked for by %s%s%s.", operation_kind_text(op->kind),
        policy_time(op->started_at > 0 ? op->started_at : op->created_at, since), op->actor,
        op->reason[0] != '\0' ? ": " : "", op->reason);
    say_step(op, told);
    if (op->cancel_asked)
        say(told, "A person asked to stop it: it ends before its next step.");
    way_operation(told, "describe", op, "its steps, attempts and deadlines");
    if (may_be_cancelled(op))
        way_operation(told, "cancel", op, "stop it; nothing has been done yet that cannot be taken back");
}

/* --- slots that are empty, gone or given up -------------------------------------------------------------------- */

static bool is_deleted(const struct policy_scene *scene)
{
    return scene->node->state == NODE_STATE_DELETED;
}

static void tell_deleted(const struct policy_scene *scene, struct policy_situation *told)
{
    (void)scene;
    say(told, "The node was deleted. It is shown a little longer, so that who waited for it sees its end.");
}

static bool is_deleting(const struct policy_scene *scene)
{
    return scene->node->state == NODE_STATE_DELETING || scene->cluster->state == CLUSTER_STATE_DELETING;
}

static void tell_deleting(const struct policy_scene *scene, struct policy_situation *told)
{
    say(told, "%s is to be deleted. Its deletion begins, or is tried again, at one of the next looks.",
        scene->cluster->state == CLUSTER_STATE_DELETING ? "The cluster and with it the node" : "The node");
}

static bool last_failed(const struct policy_scene *scene)
{
    return scene->last->id != 0 && scene->last->state == OPERATION_STATE_FAILED;
}

static bool is_left_alone(const struct policy_scene *scene)
{
    const struct policy_claims claims = {.opted_out = scene->node->opted_out, .paused = scene->cluster->paused_at > 0};
    return policy_claim(POLICY_ACT_LAUNCH, &claims) != POLICY_CLAIM_NONE;
}

static bool is_launched_again(const struct policy_scene *scene)
{
    return scene->node->state == NODE_STATE_FAILED && last_failed(scene) &&
           scene->last->kind == OPERATION_KIND_LAUNCH && !is_left_alone(scene) &&
           scene->cluster->provisioning == PROVISIONING_CONTINUOUS;
}

static void say_failure(const struct policy_scene *scene, struct policy_situation *told)
{
    char at[POLICY_TIME_MAX];
    if (last_failed(scene))
        say(told, "Its %s gave up at %s: %s.", operation_kind_text(scene->last->kind),
            policy_time(scene->last->finished_at, at), scene->last->error);
    else
        say(told, "It is given up%s%s.", scene->node->reason[0] != '\0' ? ": " : "", scene->node->reason);
}

/* Another machine may well end as this one did. */
static void say_protection(const struct policy_scene *scene, struct policy_situation *told)
{
    const struct machine_capacity *machine_capacity = &scene->group->machine_capacity;
    char at[POLICY_TIME_MAX];
    if (machine_capacity->protected_at > 0)
        say(told,
            "Its group is protected since %s, as %lld new machines in a row did not come up: look at the image and its "
            "scripts first.",
            policy_time(machine_capacity->protected_at, at), (long long)machine_capacity->failures);
}

static void tell_launch_again(const struct policy_scene *scene, struct policy_situation *told)
{
    say_failure(scene, told);
    say_protection(scene, told);
    say(told, "It is launched again by itself, at a growing pace, for as long as the group wants it.");
    way_operation(told, "describe", scene->last, "where the last launch ended");
    way_node(scene, told, "replace", "try it now");
}

static bool is_failed(const struct policy_scene *scene)
{
    return scene->node->state == NODE_STATE_FAILED;
}

static void tell_failed(const struct policy_scene *scene, struct policy_situation *told)
{
    say_failure(scene, told);
    say_protection(scene, told);
    say(told, "Nothing follows by itself: the node takes no work until a person has looked.");
    if (last_failed(scene))
        way_operation(told, "describe", scene->last, "where it ended and why");
    way_node(scene, told, "replace", "put another machine into the slot");
    way_node(scene, told, "release", "give it back once it is mended, through the return checks");
}

static bool is_empty(const struct policy_scene *scene)
{
    return scene->node->state == NODE_STATE_PENDING;
}

static void tell_empty(const struct policy_scene *scene, struct policy_situation *told)
{
    bool cancelled = scene->last->id != 0 && scene->last->state == OPERATION_STATE_CANCELLED;
    say(told, "No instance fills the slot.");
    if (cancelled) {
        say(told, "A person stopped its launch, and that is not begun again by itself.");
        way_node(scene, told, "remove", "let the group be one smaller");
    } else if (scene->cluster->state == CLUSTER_STATE_CREATING) {
        say(told, "The cluster is still being created, and its launch is to come.");
    } else {
        say(told, "One is launched at one of the next looks.");
    }
}

static bool is_starting(const struct policy_scene *scene)
{
    return scene->node->state == NODE_STATE_STARTING || scene->node->state == NODE_STATE_REPAIRING ||
           scene->node->state == NODE_STATE_VERIFYING;
}

static void tell_starting(const struct policy_scene *scene, struct policy_situation *told)
{
    if (scene->node->state == NODE_STATE_VERIFYING)
        say(told, "It is at the return checks: it takes work once it has been heard and seen to be well.");
    else
        say(told, "What was begun for it has ended, and what follows is decided at one of the next looks.");
}

/* --- held ------------------------------------------------------------------------------------------------------ */

static bool is_cancelled(const struct policy_scene *scene)
{
    return scene->last->id != 0 && scene->last->state == OPERATION_STATE_CANCELLED && scene->last->cancel_asked &&
           scene->decision_stands && action_is_repair(scene->decision->action);
}

static void tell_cancelled(const struct policy_scene *scene, struct policy_situation *told)
{
    char at[POLICY_TIME_MAX];
    say(told, "A person stopped its %s at %s. It is not begun again for what had been seen by then; new evidence is.",
        operation_kind_text(scene->last->kind), policy_time(scene->last->finished_at, at));
    way_node(scene, told, scene->decision->action == ACTION_REPLACE ? "replace" : "reboot", WHY_NOW);
    way_node(scene, told, "release", WHY_BACK);
}

static bool held_by(const struct policy_scene *scene, enum action action)
{
    return scene->node->state == NODE_STATE_HELD && scene->decision_stands && scene->decision->action == action;
}

static bool is_waiting(const struct policy_scene *scene)
{
    return held_by(scene, ACTION_HOLD);
}

static void tell_waiting(const struct policy_scene *scene, struct policy_situation *told)
{
    int64_t next = scene->node->retry_at > scene->now_ms ? scene->node->retry_at : scene->decision->retry_at;
    char opened[POLICY_TIME_MAX], at[POLICY_TIME_MAX];
    say(told, "%s", scene->decision->sentence);
    if (scene->group->breaker_opened_at > 0 && scene->decision->gates[GATE_BREAKER].result == GATE_RESULT_FAILED)
        say(told, "The breaker opened at %s (%s); a person may close it earlier.",
            policy_time(scene->group->breaker_opened_at, opened), scene->decision->gates[GATE_BREAKER].detail);
    if (next > scene->now_ms && scene->decision->rule == RULE_APPROVAL_NEEDED)
        say(told, "The yes has to come by %s; then it is weighed anew.", policy_time(next, at));
    else if (next > scene->now_ms)
        say(told, "It is looked at again at %s.", policy_time(next, at));
    else if (scene->decision->rule == RULE_APPROVAL_REJECTED || scene->decision->rule == RULE_APPROVAL_EXPIRED)
        say(told, "It is asked for again when something new is seen; a person can repair the node at any time.");
    else
        say(told, "It is looked at again now.");
    if (scene->decision->rule == RULE_APPROVAL_NEEDED)
        way_approval(scene, told);
    way_repair(scene, told);
    if (scene->decision->rule == RULE_BREAKER_HOLD && scene->group->breaker_opened_at > 0)
        way_resume(scene, told,
                   "close the breaker: what failed until then counts no more, and repairs go on by the budget");
    if (scene->decision->rule == RULE_PROTECTED_HOLD && scene->group->machine_capacity.protected_at > 0)
        way_resume(scene, told, WHY_RESUME);
}

static bool is_marked(const struct policy_scene *scene)
{
    return held_by(scene, ACTION_MARK);
}

static void tell_marked(const struct policy_scene *scene, struct policy_situation *told)
{
    say(told, "%s No repair follows by itself.", scene->decision->sentence);
    way_repair(scene, told);
}

static bool is_for_person(const struct policy_scene *scene)
{
    return held_by(scene, ACTION_SUPPORT);
}

static void tell_person(const struct policy_scene *scene, struct policy_situation *told)
{
    say(told, "%s No repair follows by itself.", scene->decision->sentence);
    way_node(scene, told, "verdicts", WHY_SEEN);
    way_node(scene, told, "replace", "put another machine into the slot");
    way_node(scene, told, "release", WHY_BACK);
}

static bool is_returning(const struct policy_scene *scene)
{
    bool stands = is_left_alone(scene) && scene->decision_stands; /* somebody took it away from what still asks */
    return scene->node->state == NODE_STATE_HELD && !stands;
}

static void tell_returning(const struct policy_scene *scene, struct policy_situation *told)
{
    char at[POLICY_TIME_MAX];
    say(told, "It was held (%s), and nothing that is open speaks against it any more.",
        scene->node->reason[0] != '\0' ? scene->node->reason : "no reason is known");
    if (scene->node->opted_out)
        say(told, "A person opted it out, so it is not given back by itself.");
    else if (scene->cluster->paused_at > 0)
        say(told, "%s paused the cluster, so it is not given back by itself.", scene->cluster->paused_by);
    else if (scene->silent || scene->last_heartbeat_at == 0)
        say(told, "It returns once its agent is heard again, which it last was %s%s.",
            scene->last_heartbeat_at == 0 ? "before this server started" : "at ",
            scene->last_heartbeat_at == 0 ? "" : policy_time(scene->last_heartbeat_at, at));
    else
        say(told, "It returns by itself, through the return checks, unless somebody else holds it in the scheduler.");
    way_node(scene, told, "release", WHY_BACK);
}

/* --- in service ------------------------------------------------------------------------------------------------ */

/* What would have been done, were it not for who holds it. */
static void say_standing(const struct policy_scene *scene, struct policy_situation *told)
{
    if (scene->decision_stands)
        say(told, "%s", scene->decision->sentence);
    else
        say(told, "Nothing that is open asks for a repair either.");
}

static bool is_opted_out(const struct policy_scene *scene)
{
    return scene->node->opted_out;
}

static void tell_opted_out(const struct policy_scene *scene, struct policy_situation *told)
{
    say(told, "A person took this node out of automatic repair, so nothing is done to it by itself.");
    say_standing(scene, told);
    if (scene->decision_stands && scene->node->health == HEALTH_UNHEALTHY)
        say(told, "When it is opted in, that is decided on at once.");
    way_node(scene, told, "opt-in", "hand it back to automatic repair");
    if (scene->decision_stands)
        way_node(scene, told, "verdicts", WHY_SEEN);
}

static bool is_paused(const struct policy_scene *scene)
{
    return scene->cluster->paused_at > 0;
}

static void tell_paused(const struct policy_scene *scene, struct policy_situation *told)
{
    char at[POLICY_TIME_MAX];
    const struct cluster *cluster = scene->cluster;
    say(told, "%s paused the whole cluster at %s%s%s, so nothing is done to any of its nodes by itself.",
        cluster->paused_by, policy_time(cluster->paused_at, at), cluster->pause_reason[0] != '\0' ? ": " : "",
        cluster->pause_reason);
    say_standing(scene, told);
    if (scene->decision_stands && scene->node->health == HEALTH_UNHEALTHY)
        say(told, "When the cluster is resumed, that is decided on at once.");
    struct policy_way *way = new_way(told, "hand all of it back to automatic repair");
    snprintf(way->command, sizeof(way->command), "hpctl cluster resume %s", cluster->name);
    way_node(scene, told, "reboot", WHY_NOW);
}

static bool is_foreign(const struct policy_scene *scene)
{
    return scene->node->attention == ATTENTION_HELD;
}

static void tell_foreign(const struct policy_scene *scene, struct policy_situation *told)
{
    say(told, "Somebody else holds it in the scheduler, so nothing is done to it by itself: %s.", scene->node->reason);
    say_standing(scene, told);
    way_give_back(scene, told, "give it back, once that work is done");
    way_node(scene, told, "reboot", WHY_NOW);
}

static bool is_downed(const struct policy_scene *scene)
{
    return scene->node->attention == ATTENTION_DOWNED;
}

static void tell_downed(const struct policy_scene *scene, struct policy_situation *told)
{
    say(told, "%s.", scene->node->reason);
    say_standing(scene, told);
    way_give_back(scene, told, "put it back into service, once you have looked");
    way_node(scene, told, "reboot", WHY_NOW);
}

static bool is_never_heard(const struct policy_scene *scene)
{
    return scene->last_heartbeat_at == 0;
}

static void tell_never_heard(const struct policy_scene *scene, struct policy_situation *told)
{
    if (scene->instance->boot_at > 0) {
        say(told,
            "The agent of the instance %s has not spoken since this server started. Nothing is concluded from that: "
            "what was known before stands.",
            scene->instance->instance_id);
        return;
    }
    say(told,
        "The agent of the instance %s has never spoken: it does not run, or was never enrolled. Nobody looks at this "
        "node, so "
        "nothing can be found on it.",
        scene->instance->instance_id[0] != '\0' ? scene->instance->instance_id : "in its slot");
    struct policy_way *way = new_way(told, "a token with which hp-agent on the machine enrols");
    snprintf(way->command, sizeof(way->command), "hpctl token create --enrollment --cluster %s --node %s",
             scene->cluster->name, scene->node->name);
}

static bool is_silent(const struct policy_scene *scene)
{
    return scene->silent;
}

static void tell_silent(const struct policy_scene *scene, struct policy_situation *told)
{
    char at[POLICY_TIME_MAX], span[POLICY_SPAN_MAX], next[POLICY_TIME_MAX];
    say(told, "Its agent was last heard at %s, %s ago: nobody looks at this node, so nothing can be found on it.",
        policy_time(scene->last_heartbeat_at, at), ago(scene, scene->last_heartbeat_at, span));
    if (scene->decision_stands && scene->decision->refused_why[0] != '\0')
        say(told, "It is not touched for that: %s.", scene->decision->refused_why);
    if (scene->decision_stands && scene->decision->retry_at > scene->now_ms)
        say(told, "It is looked at again at %s.", policy_time(scene->decision->retry_at, next));
    struct policy_way *way = new_way(told, "on the machine: is the agent running, and what does it say");
    snprintf(way->command, sizeof(way->command), "systemctl status hp-agent");
    way_node(scene, told, "reboot", "reboot it, if it does not answer otherwise");
}

static bool is_decided(const struct policy_scene *scene)
{
    return scene->decision_stands;
}

static void tell_decided(const struct policy_scene *scene, struct policy_situation *told)
{
    const struct decision *decision = scene->decision;
    bool quiet = decision->action == ACTION_NONE || decision->action == ACTION_WATCH;
    bool forbidden = quiet && decision->gates[GATE_MODE].result == GATE_RESULT_FAILED;
    if (forbidden)
        say(told, "Nothing has happened because the policy does not let it be done by itself.");
    else if (quiet)
        say(told, "Nothing has happened because nothing that was seen asks for it.");
    say(told, "%s", decision->sentence);
    if (!quiet)
        say(told, "What follows from it begins at the next look.");
    way_node(scene, told, "verdicts", WHY_SEEN);
    if (forbidden)
        way_node(scene, told, decision->refused == ACTION_REPLACE ? "replace" : "reboot", WHY_NOW);
}

static bool is_quiet(const struct policy_scene *scene)
{
    (void)scene;
    return true;
}

static void tell_quiet(const struct policy_scene *scene, struct policy_situation *told)
{
    char span[POLICY_SPAN_MAX];
    if (scene->node->attention == ATTENTION_KEPT_OUT) {
        say(told,
            "%s. Nothing follows by itself: that is no fault of the node that its agent, which spoke %s ago, has seen.",
            scene->node->reason, ago(scene, scene->last_heartbeat_at, span));
        way_give_back(scene, told, "put it back into service, once you have looked");
        way_node(scene, told, "reboot", WHY_NOW);
        return;
    }
    say(told,
        "Nothing has happened because nothing is wrong: its agent spoke %s ago, and nothing that it reported asks for "
        "anything.",
        ago(scene, scene->last_heartbeat_at, span));
    if (scene->open_verdicts > 0)
        way_node(scene, told, "verdicts", WHY_SEEN);
}

/* --- the table ------------------------------------------------------------------------------------------------- */

void policy_explain_situation(const struct policy_scene *scene, struct policy_situation *ret_situation)
{
    static const struct {
        enum situation situation;
        bool (*is)(const struct policy_scene *scene);
        void (*tell)(const struct policy_scene *scene, struct policy_situation *told);
    } table[] = {
        {SITUATION_WORKING, is_working, tell_working},
        {SITUATION_DELETED, is_deleted, tell_deleted},
        {SITUATION_DELETING, is_deleting, tell_deleting},
        {SITUATION_LAUNCH_AGAIN, is_launched_again, tell_launch_again},
        {SITUATION_FAILED, is_failed, tell_failed},
        {SITUATION_EMPTY, is_empty, tell_empty},
        {SITUATION_STARTING, is_starting, tell_starting},
        {SITUATION_CANCELLED, is_cancelled, tell_cancelled},
        {SITUATION_WAITS, is_waiting, tell_waiting},
        {SITUATION_MARKED, is_marked, tell_marked},
        {SITUATION_PERSON, is_for_person, tell_person},
        {SITUATION_RETURNING, is_returning, tell_returning},
        {SITUATION_OPTED_OUT, is_opted_out, tell_opted_out},
        {SITUATION_PAUSED, is_paused, tell_paused},
        {SITUATION_FOREIGN, is_foreign, tell_foreign},
        {SITUATION_DOWNED, is_downed, tell_downed},
        {SITUATION_NEVER_HEARD, is_never_heard, tell_never_heard},
        {SITUATION_SILENT, is_silent, tell_silent},
        {SITUATION_DECIDED, is_decided, tell_decided},
        {SITUATION_QUIET, is_quiet, tell_quiet},
    };
    size_t at = 0;
    while (!table[at].is(scene))
        at++;
    struct policy_situation told = {.situation = table[at].situation};
    table[at].tell(scene, &told);
    *ret_situation = told;
}
