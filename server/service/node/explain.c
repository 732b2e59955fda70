/*
 * Why a node is as it is, in sentences: what it waits for, or why nothing has happened, and what a person can do; then the last
 * decision with its evidence, what came of it, and whether anybody has looked lately. Silence is never taken for health.
 */
#include "server/service/node/lemon.h"
#include "server/service/node/node.h"
#include "server/service/private.h"

#include "base/text.h"
#include "db/approval.h"
#include "policy/policy.h"

#include <stdio.h>
#include <string.h>

struct explain {
    const struct service *s;
    const char *cluster, *node;
    struct problem *problem;
    struct place place;
    struct operation active, last;
    struct approval approval;
    struct service_lemon lemon;
    int64_t open_verdicts;
    struct service_explanation *explanation;
};

static int read_evidence(struct db_tx *tx, struct service_explanation *explanation)
{
    const struct decision *decision = &explanation->decision;
    int listed = decision->evidence_count < DECISION_EVIDENCE_MAX ? decision->evidence_count : DECISION_EVIDENCE_MAX;
    explanation->evidence = own_calloc((size_t)listed + 1, sizeof(*explanation->evidence));
    for (int i = 0; i < listed; i++) {
        int status = db_verdict_get_row(tx, decision->evidence[i], &explanation->evidence[explanation->evidence_count]);
        if (status == 0)
            explanation->evidence_count++;
        else if (status != STATUS_NOT_FOUND) /* old evidence may have been dropped; the sentence remains */
            return status;
    }
    return 0;
}

static int take_newest(const void *row, void *arg)
{
    struct operation *newest = arg;
    *newest = *(const struct operation *)row;
    return 1;
}

static int count_row(const void *row, void *arg)
{
    (void)row;
    ++*(int64_t *)arg;
    return 0;
}

static int read_surroundings(struct db_tx *tx, struct explain *explain)
{
    const struct db_operation_filter newest = {.node_id = explain->place.node.id, .state = -1, .limit = 1};
    const struct db_verdict_filter open = {.node_id = explain->place.node.id, .state = VERDICT_STATE_OPEN};
    explain->active = explain->last = (struct operation){0};
    explain->approval = (struct approval){0};
    explain->open_verdicts = 0;
    int status = db_operation_active(tx, explain->place.node.id, &explain->active);
    if (status == 0 || status == STATUS_NOT_FOUND)
        status = db_operation_list(tx, &newest, take_newest, &explain->last);
    if (status >= 0)
        status = db_approval_last(tx, explain->place.node.id, &explain->approval);
    return status < 0 && status != STATUS_NOT_FOUND ? status
                                                    : db_verdict_list(tx, &open, count_row, &explain->open_verdicts);
}

static int explain_read(struct db_tx *tx, void *arg)
{
    struct explain *explain = arg;
    struct service_explanation *explanation = explain->explanation;
    int status = place_find(tx, explain->cluster, explain->node, &explain->place, explain->problem);
    if (status < 0)
        return status;
    explanation->node = explain->place.node;
    status = read_surroundings(tx, explain);
    if (status >= 0)
        status = lemon_read(tx, explain->s, &explain->place, &explain->lemon);
    if (status < 0)
        return status;
    status = db_decision_last(tx, explanation->node.id, &explanation->decision);
    if (status < 0)
        return status == STATUS_NOT_FOUND ? 0 : status;
    status = read_evidence(tx, explanation);
    if (status < 0 || explanation->decision.operation_id == 0)
        return status;
    status = db_operation_get_row(tx, explanation->decision.operation_id, &explanation->operation);
    return status == STATUS_NOT_FOUND ? 0 : status;
}

/* --- sentences ------------------------------------------------------------------------------------- */

/* What others wrote, as a part of one line. */
static void say_line(struct text *text, const char *before, const char *words, const char *behind)
{
    text_add(text, before);
    text_add_line(text, words);
    text_add(text, behind);
}

static void say_state(struct text *text, const struct node *node, const struct cluster *cluster)
{
    char since[CLOCK_TEXT_MAX];
    text_printf(text, "%s is %s since %s", node->name, node_state_text(node->state),
                clock_format(node->state_since, since));
    if (node->reason[0] != '\0')
        say_line(text, " (", node->reason, ")");
    text_printf(text, "; its health is %s.\n", health_text(node->health));
    if (node->opted_out)
        text_add(text, "A person opted it out: nothing is done to it by itself.\n");
    if (cluster->paused_at > 0)
        text_printf(text, "%s paused the cluster: nothing is done to its nodes by itself.\n", cluster->paused_by);
}

static void say_liveness(struct text *text, struct service *s, const struct place *place)
{
    struct fleet_view live;
    char ago[CLOCK_TEXT_MAX];
    bool known = fleet_get(s->fleet, place->node.id, &live) == 0;
    int64_t now_ms = service_now(s);
    if (place->instance.id == 0)
        text_add(text, "No verdict: no instance fills the slot, so nobody can look.\n");
    else if (!known || live.last_heartbeat_at == 0)
        text_printf(text, "No verdict: the agent of the instance %s was not seen%s.\n", place->instance.instance_id,
                    place->instance.boot_at == 0 ? " yet" : " since this server started");
    else if (live.silent)
        text_printf(text, "No verdict: the agent has been silent for %s.\n",
                    clock_format_duration(now_ms - live.last_heartbeat_at, ago));
    else
        text_printf(text, "Its agent was seen %s ago.\n", clock_format_duration(now_ms - live.last_heartbeat_at, ago));
}

/* Which method, when, and what came of it. */
static void say_tries(struct text *text, const struct operation *operation)
{
    static const char *const came[] = {
        [REBOOT_OUTCOME_RUNNING] = "waits for a new boot",
        [REBOOT_OUTCOME_REBOOTED] = "rebooted the machine",
        [REBOOT_OUTCOME_REFUSED] = "failed",
        [REBOOT_OUTCOME_UNREACHABLE] = "did not answer",
        [REBOOT_OUTCOME_NO_BOOT] = "was accepted, but no new boot was reported in time",
        [REBOOT_OUTCOME_LOST] = "gave no answer, and no new boot was reported in time",
    };
    char at[CLOCK_TEXT_MAX], span[CLOCK_TEXT_MAX];
    for (int i = 0; i < operation->try_count; i++) {
        const struct reboot_try *one = &operation->tries[i];
        text_printf(text, "  %d. %s: a reboot by %s %s", one->number, clock_format(one->began_at, at),
                    reboot_method_words(one->method), came[one->outcome]);
        if (one->ended_at > 0)
            text_printf(text, " after %s", clock_format_duration(one->ended_at - one->began_at, span));
        say_line(text, one->detail[0] != '\0' ? ": " : "", one->detail, ".\n");
    }
}

static void say_operation(struct text *text, const struct operation *operation)
{
    if (operation->id == 0)
        return;
    bool goes_on = operation->state == OPERATION_STATE_PENDING || operation->state == OPERATION_STATE_RUNNING;
    text_printf(text, "The %s (operation %s) %s %s", operation_kind_text(operation->kind), operation->uid,
                goes_on                                         ? "is"
                : operation->state == OPERATION_STATE_CANCELLED ? "was"
                                                                : "has",
                operation_state_text(operation->state));
    for (int i = 0; i < operation->step_count; i++)
        if (operation->steps[i].state == STEP_STATE_RUNNING)
            text_printf(text, ", at the step %s%s%s", step_kind_text(operation->steps[i].kind),
                        operation->steps[i].detail[0] == '\0' ? "" : ": ", operation->steps[i].detail);
    if (operation->error[0] != '\0')
        say_line(text, ": ", operation->error, "");
    text_add(text, ".\n");
    say_tries(text, operation);
}

/* What the last decision stands on is still so. */
static bool decision_stands(const struct service_explanation *explanation, bool silent)
{
    if (explanation->decision.id != 0 && explanation->decision.evidence_count == 0)
        return silent;
    for (size_t i = 0; i < explanation->evidence_count; i++)
        if (explanation->evidence[i].state == VERDICT_STATE_OPEN)
            return true;
    return false;
}

static void find_current(struct service *s, const struct explain *explain)
{
    struct service_explanation *explanation = explain->explanation;
    const struct place *place = &explain->place;
    struct fleet_view live;
    if (fleet_get(s->fleet, place->node.id, &live) != 0)
        live = (struct fleet_view){0};
    const struct policy_explanation_input input = {
        .now_ms = service_now(s),
        .cluster = &place->cluster,
        .group = &place->group,
        .node = &place->node,
        .instance = &place->instance,
        .active = &explain->active,
        .last = &explain->last,
        .decision = &explanation->decision,
        .decision_stands = decision_stands(explanation, live.silent),
        .silent = live.silent,
        .last_heartbeat_at = live.last_heartbeat_at,
        .open_verdicts = explain->open_verdicts,
        .approval = &explain->approval,
        .resume_command = service_scheduler_resume_command(service_scheduler_of(s, &place->cluster)),
    };
    policy_explain_node(&input, &explanation->current);
}

static void say_current(struct text *text, const struct policy_explanation *explanation)
{
    say_line(text, "\n", explanation->sentence, "\n");
    if (explanation->step_count == 0)
        return;
    text_add(text, "\nWhat you can do\n");
    for (int i = 0; i < explanation->step_count; i++)
        text_printf(text, "  %s\n      %s\n", explanation->steps[i].command, explanation->steps[i].why);
}

/* What it was through, where that weighs anything. */
static void say_lemon(struct text *text, const struct service_lemon *lemon)
{
    char span[CLOCK_TEXT_MAX];
    if (lemon->score == 0 && lemon->slot_score == 0)
        return;
    text_printf(text,
                "Its past: the repairs of the machine within %s weigh %lld points (%lld of them, %lld without a "
                "good return)",
                clock_format_duration(lemon->window_ms, span), (long long)lemon->score, (long long)lemon->repairs,
                (long long)lemon->not_cleared);
    if (lemon->device[0] != '\0')
        text_printf(text, ", %lld of which are those of %s", (long long)lemon->device_score, lemon->device);
    text_printf(text, "; those of the slot %lld.", (long long)lemon->slot_score);
    if (lemon->limit > 0)
        text_printf(text, " From %lld on the machine is a lemon, and not rebooted again.", (long long)lemon->limit);
    text_add(text, "\n");
}

static void end_line(struct text *text)
{
    if (text->len > 0 && text->data[text->len - 1] != '\n')
        text_add_char(text, '\n');
}

static char *sentences(struct service *s, const struct explain *explain)
{
    const struct service_explanation *explanation = explain->explanation;
    struct text text = {0};
    say_state(&text, &explanation->node, &explain->place.cluster);
    say_current(&text, &explanation->current);
    text_add(&text, "\n");
    if (explanation->decision.id != 0) {
        text_add(&text, "The last decision on it\n\n");
        const struct fault_scope faults = {atomic_load(&s->fault_overrides), explain->place.group.instance_type};
        autofree char *why = policy_explain(&faults, &explanation->decision, explanation->evidence,
                                            explanation->evidence_count, explanation->node.name);
        text_add(&text, why);
        end_line(&text);
        say_operation(&text, &explanation->operation);
    } else {
        text_add(&text, "No decision was ever needed: nothing that was seen on it asked for one.\n");
    }
    if (explain->last.try_count > 0 && explain->last.id != explanation->operation.id)
        say_operation(&text, &explain->last);
    say_liveness(&text, s, &explain->place);
    say_lemon(&text, &explain->lemon);
    return text_take(&text);
}

int service_node_explain(struct service *s, const char *cluster, const char *node,
                         struct service_explanation *ret_explanation, struct problem *ret_problem)
{
    struct service_explanation explanation = {0};
    struct explain explain = {
        .s = s, .cluster = cluster, .node = node, .problem = ret_problem, .explanation = &explanation};
    int status = service_read(s, explain_read, &explain, ret_problem);
    if (status < 0) {
        service_explanation_free(&explanation);
        return status;
    }
    find_current(s, &explain);
    explanation.text = sentences(s, &explain);
    *ret_explanation = explanation;
    return 0;
}

void service_explanation_free(struct service_explanation *explanation)
{
    if (explanation == NULL)
        return;
    free(TAKE(explanation->evidence));
    free(TAKE(explanation->text));
    explanation->evidence_count = 0;
}
