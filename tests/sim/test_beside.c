/* A second finding on a node that something is known of already: it is decided on and told, too, once. */
#include "server/service/node/node.h"
#include "server/service/node/report.h"
#include "tests/sim/sim_cluster.h"

#define POOR_PATH 32      /* watched, and the node is degraded by it */
#define PROGRAM_FAULT 31  /* nothing follows */
#define NOBODY_KNOWS 9999 /* in no table */
#define FOR_A_PERSON 78   /* no machine knows the remedy */

static int count_decisions(struct sim *sim, const char *node)
{
    return sim_events(sim, node, EVENT_KIND_DECISION, NULL);
}

/* The node has been told of once, then comes the other one, twice. */
static void second_is_told(uint64_t seed, int first, enum node_state state_then, int64_t later_ms, int second,
                           const char *words)
{
    struct sim sim;
    sim_open(&sim, seed, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_MIN);
    sim_verdict(&sim, "gpu-1", first, SEVERITY_WARN);
    sim_settle(&sim);
    sim_run(&sim, later_ms);
    assert_int_equal(sim_state(&sim, "gpu-1"), state_then);
    assert_int_equal(count_decisions(&sim, "gpu-1"), 1);
    for (int i = 0; i < 3; i++) {
        sim_verdict(&sim, "gpu-1", second, SEVERITY_WARN);
        sim_settle(&sim);
        assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_DECISION, words), 1);
        assert_int_equal(count_decisions(&sim, "gpu-1"), 2);
    }
    assert_int_equal(sim_state(&sim, "gpu-1"), state_then);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(count_decisions(&sim, "gpu-1"), 2);
    sim_close(&sim);
}

static void a_programs_fault_on_a_degraded_node(void **state)
{
    (void)state;
    second_is_told(700, POOR_PATH, NODE_STATE_READY, 10 * MS_PER_MIN, PROGRAM_FAULT, "xid.31");
}

static void an_unknown_code_on_a_degraded_node(void **state)
{
    (void)state;
    second_is_told(701, POOR_PATH, NODE_STATE_READY, 10 * MS_PER_MIN, NOBODY_KNOWS, "xid.9999");
}

/* Within the minute in which findings are folded. */
static void a_programs_fault_at_once(void **state)
{
    (void)state;
    second_is_told(704, POOR_PATH, NODE_STATE_READY, 5 * MS_PER_S, PROGRAM_FAULT, "xid.31");
}

static void an_unknown_code_at_once(void **state)
{
    (void)state;
    second_is_told(705, POOR_PATH, NODE_STATE_READY, 5 * MS_PER_S, NOBODY_KNOWS, "xid.9999");
}

static void a_programs_fault_on_a_held_node(void **state)
{
    (void)state;
    second_is_told(702, FOR_A_PERSON, NODE_STATE_HELD, 10 * MS_PER_MIN, PROGRAM_FAULT, "xid.31");
}

static void an_unknown_code_on_a_held_node(void **state)
{
    (void)state;
    second_is_told(703, FOR_A_PERSON, NODE_STATE_HELD, 10 * MS_PER_MIN, NOBODY_KNOWS, "xid.9999");
}

static void report(struct sim *sim, enum report_kind kind, const char *subject)
{
    struct node_report said = {.kind = kind};
    struct verdict verdict;
    struct problem problem = {0};
    snprintf(said.subject, sizeof(said.subject), "%s", subject);
    assert_int_equal(
        service_node_report(&sim->service, &sim_admin, SIM_CLUSTER, "gpu-1", &said, "it was slow", &verdict, &problem),
        0);
    sim_settle(sim);
}

/* What jobs say of a node that waits for a person is told, each user and each job once. */
static void reports_on_a_held_node(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 706, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_MIN);
    sim_verdict(&sim, "gpu-1", FOR_A_PERSON, SEVERITY_WARN);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    report(&sim, REPORT_KIND_JOB_FAILED, "alice");
    report(&sim, REPORT_KIND_JOB_FAILED, "alice");
    report(&sim, REPORT_KIND_JOB_FAILED, "bob");
    report(&sim, REPORT_KIND_STRAGGLER, "job-7");
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_DECISION, "report.job-failed on alice"), 1);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_DECISION, "report.job-failed on bob"), 1);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_DECISION, "report.straggler on job-7"), 1);
    assert_int_equal(count_decisions(&sim, "gpu-1"), 4);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    sim_close(&sim);
}

/* A person has the machine since the first decision that left it to one, however often that is decided anew. */
static void a_hold_is_as_old_as_its_first_decision(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 707, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_MIN);
    sim_verdict(&sim, "gpu-1", FOR_A_PERSON, SEVERITY_WARN);
    sim_settle(&sim);
    const struct node first = sim_read(&sim, "gpu-1").row;
    assert_int_equal(first.person_hold_at, sim_read(&sim, "gpu-1").decision.at);
    sim_run(&sim, 30 * MS_PER_S); /* so that it is more evidence of the same */
    sim_verdict(&sim, "gpu-1", FOR_A_PERSON, SEVERITY_WARN);
    sim_settle(&sim);
    const struct node later = sim_read(&sim, "gpu-1").row;
    assert_true(later.person_hold > first.person_hold);
    assert_int_equal(later.person_hold_at, first.person_hold_at);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_programs_fault_on_a_degraded_node),
        cmocka_unit_test(an_unknown_code_on_a_degraded_node),
        cmocka_unit_test(a_programs_fault_at_once),
        cmocka_unit_test(an_unknown_code_at_once),
        cmocka_unit_test(a_programs_fault_on_a_held_node),
        cmocka_unit_test(an_unknown_code_on_a_held_node),
        cmocka_unit_test(reports_on_a_held_node),
        cmocka_unit_test(a_hold_is_as_old_as_its_first_decision),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
