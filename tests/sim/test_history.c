/* What a flood of evidence must not do: hide what matters, or fill the disk. */
#include "db/verdict.h"
#include "tests/sim/sim_world.h"

#define OFF_THE_BUS 79
#define PROGRAM_FAULT 43
#define FLOOD 4200 /* more than are looked through */

static int count_row(const void *row, void *arg)
{
    (void)row;
    ++*(int *)arg;
    return 0;
}

static int count_verdicts(struct sim *sim, const char *node, enum verdict_state state)
{
    int count = 0;
    struct db_tx *tx = NULL;
    const struct db_verdict_filter filter = {.node_id = sim_read(sim, node).row.id, .state = (int)state};
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    assert_int_equal(db_verdict_list(tx, &filter, count_row, &count), 0);
    db_read_end(sim->service.db, tx);
    return count;
}

/* The critical line is the oldest of all. */
static void a_flood_does_not_hide_what_holds_a_node(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 81, true);
    sim_create(&sim, 2, NODE_RECOVERY_NONE);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_until(&sim, "gpu-1", NODE_STATE_HELD, MS_PER_MIN);
    for (int i = 0; i < FLOOD; i++)
        sim_verdict(&sim, "gpu-1", PROGRAM_FAULT, SEVERITY_WARN);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    assert_int_equal(sim_read(&sim, "gpu-1").row.health, HEALTH_UNHEALTHY);
    sim_close(&sim);
}

static void what_is_too_much_goes_and_what_holds_a_node_stays(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 82, true);
    sim.settings.verdicts_keep = 100;
    sim.settings.history_ms = 4 * MS_PER_HOUR;
    sim_crash(&sim);
    sim_create(&sim, 2, NODE_RECOVERY_NONE);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_until(&sim, "gpu-1", NODE_STATE_HELD, MS_PER_MIN);
    for (int i = 0; i < 1000; i++)
        sim_verdict(&sim, "gpu-1", PROGRAM_FAULT, SEVERITY_WARN);
    sim_run(&sim, 2 * MS_PER_HOUR);
    assert_int_equal(count_verdicts(&sim, "gpu-1", VERDICT_STATE_OPEN), 100);
    assert_int_equal(count_verdicts(&sim, "gpu-1", VERDICT_STATE_RESOLVED), 100);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    sim_run(&sim, 4 * MS_PER_HOUR);
    assert_int_equal(count_verdicts(&sim, "gpu-1", VERDICT_STATE_OPEN), 1);
    assert_int_equal(count_verdicts(&sim, "gpu-1", VERDICT_STATE_RESOLVED), 0);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_HELD);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_flood_does_not_hide_what_holds_a_node),
        cmocka_unit_test(what_is_too_much_goes_and_what_holds_a_node_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
