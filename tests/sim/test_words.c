/* One decision, one wording: what the timeline, Slurm, both APIs and the explanation say of a node is the same sentence. */
#include "api/aws/status.h"
#include "policy/policy.h"
#include "server/service/node/node.h"
#include "tests/sim/sim_world.h"

/* An event holds all of it, a reason its end, as there is no room for more. */
static void assert_same_words(struct sim *sim, const char *name, enum action action)
{
    struct sim_reading reading = sim_read(sim, name);
    struct service_explanation explanation;
    struct problem problem;
    char reason[REASON_MAX_BYTES], shown[REASON_MAX_BYTES + 16];
    assert_int_equal(reading.decision.action, action);
    policy_explain_short(&reading.decision, reason, REASON_MAX_BYTES - sizeof("holdfast: "));
    snprintf(shown, sizeof(shown), "holdfast: %s", reason);
    const char *end = strstr(reason, ": ") + 2;
    if (strstr(reading.decision.sentence, end) == NULL)
        sim_fail(sim, name, "\"%s\" is not of \"%s\"", end, reading.decision.sentence);

    assert_int_equal(sim_events(sim, name, EVENT_KIND_DECISION, reading.decision.sentence), 1);
    assert_string_equal(reading.row.reason, reason);
    assert_string_equal(aws_instance_message(&reading.row), reason);
    if (action == ACTION_HOLD || action == ACTION_MARK || action == ACTION_SUPPORT) {
        assert_string_equal(fake_scheduler_find(&sim->scheduler, name)->reason, shown);
        assert_true(sim_events(sim, name, EVENT_KIND_NODE_STATE, reason) > 0);
    }
    assert_int_equal(service_node_explain(&sim->service, SIM_CLUSTER, name, &explanation, &problem), 0);
    assert_non_null(strstr(explanation.text, reading.decision.sentence));
    if (reading.row.state == NODE_STATE_HELD)
        assert_non_null(strstr(explanation.current.sentence, reading.decision.sentence));
    service_explanation_free(&explanation);
}

static void of_a_node_that_waits(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 31, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_verdict(&sim, "gpu-1", 79, SEVERITY_CRITICAL);
    sim_settle(&sim);
    sim_verdict(&sim, "gpu-2", 64, SEVERITY_CRITICAL);
    sim_settle(&sim);
    assert_same_words(&sim, "gpu-1", ACTION_REBOOT);
    assert_same_words(&sim, "gpu-2", ACTION_HOLD);
    assert_string_equal(fake_scheduler_find(&sim.scheduler, "gpu-1")->reason,
                        "Action:Reboot"); /* HyperPod's own word */
    sim_close(&sim);
}

static void of_a_node_that_is_marked(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 32, true);
    sim_create(&sim, 4, NODE_RECOVERY_NONE);
    sim_verdict(&sim, "gpu-1", 79, SEVERITY_CRITICAL);
    sim_run(&sim, 10 * MS_PER_S);
    assert_same_words(&sim, "gpu-1", ACTION_MARK);
    sim_close(&sim);
}

static void of_a_node_that_needs_a_person(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 33, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_verdict(&sim, "gpu-1", 78, SEVERITY_WARN);
    sim_run(&sim, 10 * MS_PER_S);
    assert_same_words(&sim, "gpu-1", ACTION_SUPPORT);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(of_a_node_that_waits),
        cmocka_unit_test(of_a_node_that_is_marked),
        cmocka_unit_test(of_a_node_that_needs_a_person),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
