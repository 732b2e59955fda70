/* Why has nothing happened? each explanation with its paragraph, and commands that hpctl knows. */
#include "base/own.h"
#include "base/text.h"
#include "cli/cli.h"
#include "policy/explanation.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define NOW INT64_C(1795176000000) /* 2026-11-20 12:00:00 UTC */
#define MINUTE INT64_C(60000)

static struct cluster cluster;
static struct instance_group group;
static struct node node;
static struct instance instance;
static struct operation active, last;
static struct decision decision;
static struct policy_explanation_input input;
static struct policy_explanation out;
static bool was_given[EXPLANATION_COUNT];

/* A healthy node in service, as most are. */
static void begin(void)
{
    cluster = (struct cluster){.id = 1, .name = "train", .state = CLUSTER_STATE_IN_SERVICE};
    group = (struct instance_group){.id = 1, .name = "gpu"};
    node = (struct node){.id = 1, .name = "gpu-7", .state = NODE_STATE_READY, .health = HEALTH_HEALTHY};
    instance = (struct instance){.id = 1, .instance_id = "i-7", .boot_at = NOW - 60 * MINUTE};
    active = last = (struct operation){0};
    decision = (struct decision){0};
    input = (struct policy_explanation_input){.resume_command = "scontrol update nodename=NODE state=resume",
                                              .now_ms = NOW,
                                              .cluster = &cluster,
                                              .group = &group,
                                              .node = &node,
                                              .instance = &instance,
                                              .active = &active,
                                              .last = &last,
                                              .decision = &decision,
                                              .last_heartbeat_at = NOW - 3000};
}

static void decide(enum action action, enum decision_rule rule, const char *sentence)
{
    decision = (struct decision){.id = 9, .at = NOW - MINUTE, .action = action, .refused = ACTION_REBOOT};
    decision.rule = rule;
    text_copy_cut(decision.sentence, sizeof(decision.sentence), sentence);
    input.decision_stands = true;
}

static void operate(struct operation *op, enum operation_kind kind, enum operation_state state)
{
    *op = (struct operation){.id = 5, .uid = "k7d2", .kind = kind, .state = state, .created_at = NOW - 10 * MINUTE};
    op->started_at = NOW - 9 * MINUTE;
    op->finished_at = state == OPERATION_STATE_RUNNING ? 0 : NOW - 5 * MINUTE;
    text_copy_cut(op->actor, sizeof(op->actor), "policy");
    const enum step_kind *kinds = operation_steps(kind, &op->step_count);
    for (int i = 0; i < op->step_count; i++)
        op->steps[i] = (struct operation_step){.ordinal = i, .kind = kinds[i], .state = STEP_STATE_WAITING};
}

static void assert_ways_exist(void)
{
    for (int i = 0; i < out.step_count; i++) {
        const char *command = out.steps[i].command;
        bool known = text_starts_with(command, "systemctl ") || text_starts_with(command, "scontrol ");
        for (size_t k = 0; k < cli_verb_count && !known; k++) {
            autofree char *start = own_printf("hpctl %s %s ", cli_verbs[k].noun, cli_verbs[k].verb);
            known = text_starts_with(command, start);
        }
        if (!known)
            fail_msg("hpctl has no such verb: %s", command);
        assert_true(out.steps[i].why[0] != '\0');
    }
}

static void assert_told(enum explanation kind, const char *sentence, const char *first_way)
{
    policy_explain_node(&input, &out);
    assert_string_equal(explanation_text(out.kind), explanation_text(kind));
    assert_string_equal(out.sentence, sentence);
    assert_string_equal(out.step_count > 0 ? out.steps[0].command : "", first_way);
    assert_ways_exist();
    was_given[kind] = true;
}

static void assert_way(const char *command)
{
    bool found = false;
    policy_explain_node(&input, &out);
    for (int i = 0; i < out.step_count; i++)
        found = found || text_equal(out.steps[i].command, command);
    if (!found)
        fail_msg("nothing says: %s", command);
    assert_ways_exist();
}

static void in_service(void **state)
{
    (void)state;
    begin();
    input.last_heartbeat_at = NOW - 350;
    policy_explain_node(&input, &out);
    assert_non_null(strstr(out.sentence, "its agent was seen 350 ms ago"));
    begin();
    assert_told(EXPLANATION_QUIET,
                "Nothing has happened because nothing is wrong: its agent was seen 3 s ago, and nothing that it "
                "reported asks for "
                "anything.",
                "");
    text_copy_cut(node.reason, sizeof(node.reason), "Slurm keeps it out by itself: Kill task failed");
    node.attention = ATTENTION_KEPT_OUT;
    assert_told(
        EXPLANATION_QUIET,
        "Slurm keeps it out by itself: Kill task failed. Nothing follows by itself: that is no fault of the node that "
        "its agent, which was seen 3 s ago, has seen.",
        "scontrol update nodename=gpu-7 state=resume");
    node.attention = ATTENTION_NONE;
    node.reason[0] = '\0';
    decide(ACTION_NONE, RULE_APPLICATION_FAULT,
           "0000:b9:00: Xid 31 (page fault). A fault of the program, not of the node.");
    assert_told(EXPLANATION_DECIDED,
                "Nothing has happened because nothing that was seen asks for it. 0000:b9:00: Xid 31 (page fault). A "
                "fault of the "
                "program, not of the node.",
                "hpctl node verdicts gpu-7 --cluster train");
    decide(ACTION_WATCH, RULE_MODE_OBSERVE, "Only observed: the node would be rebooted.");
    decision.gates[GATE_MODE].result = GATE_RESULT_FAILED;
    assert_told(EXPLANATION_DECIDED,
                "Nothing has happened because the policy does not let it be done by itself. Only observed: the node "
                "would be rebooted.",
                "hpctl node verdicts gpu-7 --cluster train");
    assert_string_equal(out.steps[1].command, "hpctl node reboot gpu-7 --cluster train");
    decide(ACTION_NONE, RULE_APPLICATION_FAULT,
           "0000:b9:00: Xid 31 (page fault). A fault of the program, not of the node.");
    node.opted_out = true;
    assert_told(
        EXPLANATION_OPTED_OUT,
        "A person took this node out of automatic repair, so nothing is done to it by itself. 0000:b9:00: Xid 31 (page "
        "fault). A fault of the program, not of the node.",
        "hpctl node opt-in gpu-7 --cluster train");
    begin();
    node.attention = ATTENTION_HELD;
    text_copy_cut(node.reason, sizeof(node.reason), "held in Slurm by ana: swapping a DIMM");
    assert_told(EXPLANATION_EXTERNAL,
                "Somebody else holds it in the scheduler, so nothing is done to it by itself: held in Slurm by ana: "
                "swapping a DIMM. "
                "Nothing that is open asks for a repair either.",
                "scontrol update nodename=gpu-7 state=resume");
    begin();
    node.attention = ATTENTION_DOWNED;
    text_copy_cut(node.reason, sizeof(node.reason),
                  "Slurm took it out by itself (Node unexpectedly rebooted); a person opted it out");
    assert_told(EXPLANATION_DOWNED,
                "Slurm took it out by itself (Node unexpectedly rebooted); a person opted it out. Nothing that is open "
                "asks for a repair either.",
                "scontrol update nodename=gpu-7 state=resume");
}

static void unheard(void **state)
{
    (void)state;
    begin();
    input.silent = true;
    input.last_heartbeat_at = NOW - 40 * MINUTE;
    decide(ACTION_WATCH, RULE_NO_VERDICT, "The agent was last heard then.");
    text_copy_cut(decision.refused_why, sizeof(decision.refused_why), "the scheduler still gets answers from the node");
    assert_told(
        EXPLANATION_NOT_SEEN,
        "Its agent was last seen at 2026-11-20 11:20:00 UTC, 40 min ago. Nothing can be found on the node until it "
        "reports again. It is not touched for that: the scheduler still gets answers from the node.",
        "systemctl status hp-agent");
    begin();
    input.last_heartbeat_at = 0;
    assert_told(EXPLANATION_NEVER_SEEN,
                "The agent of the instance i-7 was not seen since this server started. Nothing is concluded from "
                "that: what was "
                "known before stands.",
                "");
    instance.boot_at = 0;
    assert_told(EXPLANATION_NEVER_SEEN,
                "The agent of the instance i-7 was never seen: it does not run, or was never enrolled. Nobody looks "
                "at this node, "
                "so nothing can be found on it.",
                "hpctl token create --enrollment --cluster train --node gpu-7");
}

static void held(void **state)
{
    (void)state;
    begin();
    node.state = NODE_STATE_HELD;
    text_copy_cut(node.reason, sizeof(node.reason), "xid.79 on 0000:b9:00");
    decide(ACTION_HOLD, RULE_BREAKER_HOLD, "A reboot is due. It waits: the group's breaker is open.");
    decision.retry_at = node.retry_at = NOW + MINUTE;
    decision.gates[GATE_BREAKER].result = GATE_RESULT_FAILED;
    text_copy_cut(decision.gates[GATE_BREAKER].detail, sizeof(decision.gates[GATE_BREAKER].detail), "open: 13 of 64");
    group.breaker_opened_at = NOW - 10 * MINUTE;
    assert_told(EXPLANATION_WAITS,
                "A reboot is due. It waits: the group's breaker is open. The breaker opened at 2026-11-20 11:50:00 UTC "
                "(open: 13 of 64); a person may close it earlier. It is looked at again at 2026-11-20 12:01:00 UTC.",
                "hpctl node reboot gpu-7 --cluster train");
    assert_way("hpctl group resume gpu --cluster train");
    decide(ACTION_HOLD, RULE_PROTECTED_HOLD, "A new machine is due. It waits: three did not come up.");
    decision.retry_at = NOW + MINUTE;
    decision.refused = ACTION_REPLACE;
    group.machine_capacity.protected_at = NOW - MINUTE;
    assert_way("hpctl group resume gpu --cluster train");
    group.machine_capacity.protected_at = 0;
    decide(ACTION_HOLD, RULE_BUDGET_HOLD, "A new machine is due. It waits.");
    decision.refused = ACTION_REPLACE;
    node.retry_at = 0;
    assert_told(EXPLANATION_WAITS, "A new machine is due. It waits. It is looked at again now.",
                "hpctl node replace gpu-7 --cluster train");
    decide(ACTION_HOLD, RULE_APPROVAL_NEEDED, "A reboot is due. It waits: it needs an approval.");
    decision.retry_at = NOW + MINUTE;
    assert_told(
        EXPLANATION_WAITS,
        "A reboot is due. It waits: it needs an approval. It expires at 2026-11-20 12:01:00 UTC; then the repair "
        "is evaluated again.",
        "hpctl node reboot gpu-7 --cluster train"); /* nobody was asked yet */
    const struct approval asked = {.id = 1, .uid = "k7d2m9x4c1qz", .state = APPROVAL_STATE_ASKED};
    input.approval = &asked;
    assert_told(
        EXPLANATION_WAITS,
        "A reboot is due. It waits: it needs an approval. It expires at 2026-11-20 12:01:00 UTC; then the repair "
        "is evaluated again.",
        "hpctl operation approve k7d2m9x4c1qz");
    input.approval = NULL;
    decide(ACTION_HOLD, RULE_APPROVAL_REJECTED, "A reboot is due. It waits: alice rejected it.");
    assert_told(EXPLANATION_WAITS,
                "A reboot is due. It waits: alice rejected it. It is asked for again when something new "
                "is seen; a person can repair the node at any time.",
                "hpctl node reboot gpu-7 --cluster train");
    decide(ACTION_MARK, RULE_RECOVERY_NONE, "Marked only.");
    assert_told(EXPLANATION_CORDONED, "Marked only. No repair follows by itself.",
                "hpctl node reboot gpu-7 --cluster train");
    decide(ACTION_SUPPORT, RULE_SUPPORT_NEEDED, "A person has to look.");
    assert_told(EXPLANATION_PERSON, "A person has to look. No repair follows by itself.",
                "hpctl node verdicts gpu-7 --cluster train");
    input.decision_stands = false;
    assert_told(EXPLANATION_RETURNING,
                "It was held (xid.79 on 0000:b9:00), and no open verdict keeps it out any more. It returns "
                "by itself, "
                "through the return checks, unless somebody else holds it in the scheduler.",
                "hpctl node release gpu-7 --cluster train");
    input.silent = true;
    input.last_heartbeat_at = NOW - 5 * MINUTE;
    assert_told(EXPLANATION_RETURNING,
                "It was held (xid.79 on 0000:b9:00), and no open verdict keeps it out any more. It returns "
                "once its agent "
                "is seen again. It was last seen at 2026-11-20 11:55:00 UTC.",
                "hpctl node release gpu-7 --cluster train");
}

static void held_and_opted_out(void **state)
{
    (void)state;
    begin();
    node.state = NODE_STATE_HELD;
    /* What was seen is open still: it is no healthy node that waits to be given back. */
    node.opted_out = true;
    node.health = HEALTH_UNHEALTHY;
    decide(ACTION_WATCH, RULE_OPTED_OUT, "Xid 79. Left alone: a person took this node out of automatic repair.");
    assert_told(EXPLANATION_OPTED_OUT,
                "A person took this node out of automatic repair, so nothing is done to it by itself. Xid 79. Left "
                "alone: a person took this node out of automatic repair. When it is opted in, that is decided on at "
                "once.",
                "hpctl node opt-in gpu-7 --cluster train");
}

static void in_a_paused_cluster(void **state)
{
    (void)state;
    begin();
    node.health = HEALTH_UNHEALTHY;
    cluster.paused_at = NOW - 5 * MINUTE;
    snprintf(cluster.paused_by, sizeof(cluster.paused_by), "token:alice");
    decide(ACTION_WATCH, RULE_PAUSED, "Xid 79. Left alone: token:alice paused the cluster.");
    assert_told(EXPLANATION_PAUSED,
                "token:alice paused the whole cluster at 2026-11-20 11:55:00 UTC, so nothing is done to any of its "
                "nodes by itself. Xid 79. Left alone: token:alice paused the cluster. When the cluster is resumed, "
                "that is decided on at once.",
                "hpctl cluster resume train");
    node.state = NODE_STATE_HELD;
    decision = (struct decision){0};
    input.decision_stands = false;
    assert_told(EXPLANATION_RETURNING,
                "It was held (no reason is known), and no open verdict keeps it out any more. token:alice "
                "paused the cluster, so it is not given back by itself.",
                "hpctl node release gpu-7 --cluster train");
}

static void stopped_by_a_person(void **state)
{
    (void)state;
    begin();
    node.state = NODE_STATE_HELD;
    decide(ACTION_REBOOT, RULE_TABLE_REBOOT, "A reboot is due.");
    operate(&last, OPERATION_KIND_REBOOT, OPERATION_STATE_CANCELLED);
    last.cancel_asked = true;
    assert_told(EXPLANATION_CANCELLED,
                "A person stopped its reboot at 2026-11-20 11:55:00 UTC. It is not begun again for what had been seen "
                "by then; new "
                "evidence is.",
                "hpctl node reboot gpu-7 --cluster train");
}

static void at_work(void **state)
{
    (void)state;
    begin();
    node.state = NODE_STATE_REPAIRING;
    operate(&active, OPERATION_KIND_REBOOT, OPERATION_STATE_RUNNING);
    text_copy_cut(active.reason, sizeof(active.reason),
                  "Action:Reboot."); /* one period, whether it ends as a sentence or not */
    active.steps[0].state = STEP_STATE_DONE;
    active.steps[1].state = STEP_STATE_RUNNING;
    active.steps[1].started_at = NOW - 8 * MINUTE;
    active.steps[1].deadline_at = NOW + 22 * MINUTE;
    text_copy_cut(active.steps[1].detail, sizeof(active.steps[1].detail), "waits for 2 jobs");
    assert_told(EXPLANATION_WORKING,
                "A reboot is at work on it since 2026-11-20 11:51:00 UTC, asked for by policy: Action:Reboot. Step 2 "
                "of 6, drain: its "
                "jobs are waited for since 2026-11-20 11:52:00 UTC. It says: waits for 2 jobs. It has time until "
                "2026-11-20 12:22:00 "
                "UTC.",
                "hpctl operation describe k7d2");
    assert_int_equal(out.step_count, 2);
    active.steps[1].state = STEP_STATE_DONE;
    active.steps[2].state = STEP_STATE_RUNNING; /* the reboot: there is no way back */
    policy_explain_node(&input, &out);
    assert_int_equal(out.step_count, 1);
    cluster.state = CLUSTER_STATE_CREATING;
    operate(&active, OPERATION_KIND_LAUNCH, OPERATION_STATE_PENDING);
    policy_explain_node(&input, &out);
    assert_true(text_starts_with(out.sentence, "The cluster is still being created. A launch is at work on it"));
}

static void not_in_service(void **state)
{
    (void)state;
    begin();
    node.state = NODE_STATE_FAILED;
    operate(&last, OPERATION_KIND_REPLACE, OPERATION_STATE_FAILED);
    text_copy_cut(last.error, sizeof(last.error), "join: nothing was heard for 30 min");
    assert_told(EXPLANATION_FAILED,
                "Its replace gave up at 2026-11-20 11:55:00 UTC: join: nothing was heard for 30 min. Nothing follows "
                "by itself: the "
                "node takes no work until a person has looked.",
                "hpctl operation describe k7d2");
    group.machine_capacity =
        (struct machine_capacity){.failures = 3, .failed_at = NOW, .protected_at = NOW - 10 * MINUTE};
    assert_told(
        EXPLANATION_FAILED,
        "Its replace gave up at 2026-11-20 11:55:00 UTC: join: nothing was heard for 30 min. Its group is "
        "protected since 2026-11-20 11:50:00 UTC, as 3 new machines in a row did not come up: look at the image "
        "and its scripts first. Nothing follows by itself: the node takes no work until a person has looked.",
        "hpctl operation describe k7d2");
    group.machine_capacity.protected_at = 0;
    last.kind = OPERATION_KIND_LAUNCH;
    cluster.provisioning = PROVISIONING_CONTINUOUS;
    assert_told(EXPLANATION_LAUNCH_AGAIN,
                "Its launch gave up at 2026-11-20 11:55:00 UTC: join: nothing was heard for 30 min. It is launched "
                "again by itself, at "
                "a growing pace, for as long as the group wants it.",
                "hpctl operation describe k7d2");
    begin();
    node.state = NODE_STATE_PENDING;
    assert_told(EXPLANATION_EMPTY, "No instance fills the slot. One is launched at one of the next looks.", "");
    node.state = NODE_STATE_VERIFYING;
    assert_told(EXPLANATION_STARTING, "It is at the return checks: it takes work once its agent reports it healthy.",
                "");
    node.state = NODE_STATE_DELETING;
    assert_told(EXPLANATION_DELETING,
                "The node is to be deleted. Its deletion begins, or is tried again, at one of the next looks.", "");
    node.state = NODE_STATE_DELETED;
    assert_told(EXPLANATION_DELETED,
                "The node was deleted. It is shown a little longer, so that who waited for it sees its end.", "");
}

/* Last: no explanation without a paragraph that somebody has read. */
static void every_explanation_was_given(void **state)
{
    (void)state;
    for (int i = 0; i < EXPLANATION_COUNT; i++)
        if (!was_given[i])
            fail_msg("nothing here leads to %s", explanation_text((enum explanation)i));
}

/* Whatever is combined, there is a paragraph. */
static void every_combination_says_something(void **state)
{
    (void)state;
    for (int node_state = 0; node_state < NODE_STATE_COUNT; node_state++)
        for (int bits = 0; bits < 256; bits++) {
            begin();
            node.state = (enum node_state)node_state;
            node.opted_out = bits & 1;
            input.silent = bits & 2;
            input.last_heartbeat_at = bits & 4 ? 0 : NOW - 1000;
            node.attention = bits & 8 ? ATTENTION_HELD : ATTENTION_NONE;
            if (bits & 16)
                decide((enum action)(bits % 7), (enum decision_rule)(bits % RULE_COUNT), "A sentence.");
            input.decision_stands = (bits & 16) && (bits & 32);
            if (bits & 64)
                operate(&last, OPERATION_KIND_REBOOT, OPERATION_STATE_FAILED);
            if (bits & 128)
                operate(&active, OPERATION_KIND_LAUNCH, OPERATION_STATE_RUNNING);
            policy_explain_node(&input, &out);
            assert_true(text_ends_with(out.sentence, "."));
            assert_ways_exist();
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(in_service),
        cmocka_unit_test(unheard),
        cmocka_unit_test(held),
        cmocka_unit_test(held_and_opted_out),
        cmocka_unit_test(in_a_paused_cluster),
        cmocka_unit_test(stopped_by_a_person),
        cmocka_unit_test(at_work),
        cmocka_unit_test(not_in_service),
        cmocka_unit_test(every_explanation_was_given),
        cmocka_unit_test(every_combination_says_something),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
