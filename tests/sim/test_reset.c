/* The reset of one device: what a node goes through, what follows a reset that failed or did not hold, and who dies meanwhile. */
#include "tests/sim/sim_world.h"

#define UNCONTAINED 95 /* the table asks for a reset, and for another machine when it comes again */
#define STORY_MS (90 * MS_PER_MIN)

static void begin(struct sim *sim, uint64_t seed, enum sim_resets resets)
{
    sim_open(sim, seed, true);
    sim->resets = resets;
    sim_create(sim, 2, NODE_RECOVERY_AUTOMATIC);
    sim_run(sim, MS_PER_MIN);
}

static struct fake_instance *machine(struct sim *sim)
{
    return fake_provider_of_node(&sim->provider, "gpu-1");
}

static void a_device_is_reset_without_a_reboot(void **state)
{
    struct sim sim;
    (void)state;
    begin(&sim, 1, SIM_RESETS_SUCCEED);
    struct sim_reading before = sim_read(&sim, "gpu-1");
    fake_scheduler_find(&sim.scheduler, "gpu-1")->jobs = 2;
    sim_verdict(&sim, "gpu-1", UNCONTAINED, SEVERITY_CRITICAL);
    sim_settle(&sim);
    struct sim_reading decided = sim_read(&sim, "gpu-1");
    assert_int_equal(decided.decision.action, ACTION_RESET);
    assert_int_equal(decided.decision.rule, RULE_TABLE_RESET);
    assert_int_equal(decided.operation.kind, OPERATION_KIND_RESET);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    struct sim_reading after = sim_read(&sim, "gpu-1");
    assert_int_equal(after.operation.state, OPERATION_STATE_SUCCEEDED);
    assert_int_equal(machine(&sim)->resets, 1);
    assert_int_equal(sim.provider.reboots, 0);
    assert_int_equal(fake_scheduler_find(&sim.scheduler, "gpu-1")->evictions, 1);
    assert_false(fake_scheduler_find(&sim.scheduler, "gpu-1")->out);
    assert_string_equal(after.instance.boot_id, before.instance.boot_id);
    assert_int_equal(after.row.health, HEALTH_HEALTHY);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_DEVICE_RESET, "reset of 0000:b9:00 succeeded"), 1);
    sim_run(&sim, 2 * MS_PER_HOUR); /* what was seen before does not count again */
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
    assert_int_equal(machine(&sim)->resets, 1);

    sim_verdict(&sim, "gpu-1", UNCONTAINED, SEVERITY_CRITICAL); /* on probation */
    sim_settle(&sim);
    assert_int_equal(sim_read(&sim, "gpu-1").decision.rule, RULE_REPEAT_AFTER_RESET);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 1);
    assert_int_equal(machine(&sim)->resets, 1);
    sim_close(&sim);
}

/* What strikes between the end of the reset and the agent's word of it is not cleared. */
static void what_comes_before_it_is_told_counts(void **state)
{
    struct sim sim;
    (void)state;
    begin(&sim, 8, SIM_RESETS_TOLD_LATE);
    sim_verdict(&sim, "gpu-1", UNCONTAINED, SEVERITY_CRITICAL);
    int64_t until = clock_wall_ms(&sim.clock) + STORY_MS;
    while (machine(&sim)->reset_ended_at == 0) {
        assert_true(clock_wall_ms(&sim.clock) < until);
        sim_settle(&sim);
        sim_tick(&sim, until);
    }
    clock_fake_advance(&sim.clock, 1);
    int again = sim_verdict(&sim, "gpu-1", UNCONTAINED, SEVERITY_CRITICAL);
    assert_true(sim.spool[again].acked);
    sim_settle(&sim);
    assert_int_equal(sim_read(&sim, "gpu-1").operation.kind, OPERATION_KIND_RESET); /* not told yet */
    sim_run(&sim, STORY_MS);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
    assert_int_equal(machine(&sim)->resets, 1);
    assert_int_equal(sim.provider.reboots, 1);
    sim_close(&sim);
}

/* What an agent could not deliver in time: seen before the reset, known after it; in the middle of the return gate, and in service. */
static void comes_late(struct sim *sim, int64_t seen_at)
{
    machine(sim)->muted = true;
    struct sim_verdict *late = &sim->spool[sim_verdict(sim, "gpu-1", UNCONTAINED, SEVERITY_CRITICAL)];
    machine(sim)->muted = false;
    late->verdict.first_at = late->verdict.last_at = seen_at;
    sim_agent_report(sim, late);
    assert_true(late->acked);
    sim_settle(sim);
}

static void what_was_seen_before_it_and_comes_late_is_answered(void **state)
{
    struct sim sim;
    (void)state;
    begin(&sim, 9, SIM_RESETS_SUCCEED);
    sim_verdict(&sim, "gpu-1", UNCONTAINED, SEVERITY_CRITICAL);
    sim_until(&sim, "gpu-1", NODE_STATE_VERIFYING, 10 * MS_PER_MIN);
    int64_t reset_at = machine(&sim)->reset_ended_at;
    assert_true(reset_at > 0);
    comes_late(&sim, reset_at - 1);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 0);
    sim_crash(&sim); /* it is in the store */
    sim_run(&sim, MS_PER_MIN);
    comes_late(&sim, reset_at);
    struct sim_reading after = sim_read(&sim, "gpu-1");
    assert_int_equal(after.decision.rule, RULE_CLEARED_BY_RESET);
    assert_non_null(strstr(after.decision.sentence, "before the reset of that device ended"));
    assert_int_equal(after.row.health, HEALTH_HEALTHY);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
    comes_late(&sim, reset_at + 1);
    sim_run(&sim, STORY_MS);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
    assert_int_equal(sim.provider.reboots, 1);
    assert_int_equal(machine(&sim)->resets, 1);
    sim_close(&sim);
}

static void where_no_agent_offers_it_the_node_is_rebooted(void **state)
{
    struct sim sim;
    (void)state;
    begin(&sim, 2, SIM_RESETS_NOT_OFFERED);
    sim_verdict(&sim, "gpu-1", UNCONTAINED, SEVERITY_CRITICAL);
    sim_settle(&sim);
    assert_int_equal(sim_read(&sim, "gpu-1").decision.rule, RULE_RESET_FALLS_BACK_TO_REBOOT);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 1);
    sim_close(&sim);
}

static void a_site_that_wants_none_has_none(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 3, true);
    sim.resets = SIM_RESETS_SUCCEED;
    sim.settings.policy.resets_max = 0;
    sim_crash(&sim);
    sim_create(&sim, 2, NODE_RECOVERY_AUTOMATIC);
    sim_verdict(&sim, "gpu-1", UNCONTAINED, SEVERITY_CRITICAL);
    sim_settle(&sim);
    assert_int_equal(sim_read(&sim, "gpu-1").decision.rule, RULE_RESETS_NOT_ALLOWED);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_int_equal(machine(&sim)->resets, 0);
    assert_int_equal(sim.provider.reboots, 1);
    sim_close(&sim);
}

/* Refused, or never answered: a reboot follows by itself, in finite time. */
static void becomes_a_reboot(uint64_t seed, enum sim_resets resets, const char *error)
{
    struct sim sim;
    begin(&sim, seed, resets);
    sim_verdict(&sim, "gpu-1", UNCONTAINED, SEVERITY_CRITICAL);
    sim_settle(&sim);
    assert_int_equal(sim_read(&sim, "gpu-1").decision.action, ACTION_RESET);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 30 * MS_PER_MIN);
    struct sim_reading after = sim_read(&sim, "gpu-1");
    assert_int_equal(after.decision.rule, RULE_RESET_FAILED);
    assert_non_null(strstr(after.decision.sentence, error));
    assert_int_equal(after.operation.kind, OPERATION_KIND_REBOOT);
    assert_int_equal(sim.provider.reboots, 1);
    assert_int_equal(machine(&sim)->resets, 1);
    sim_close(&sim);
}

static void a_reset_that_is_refused_becomes_a_reboot(void **state)
{
    (void)state;
    becomes_a_reboot(4, SIM_RESETS_FAIL, "In use by another client");
}

static void a_reset_that_nobody_hears_of_becomes_a_reboot(void **state)
{
    (void)state;
    becomes_a_reboot(5, SIM_RESETS_STALL, "reset: ");
}

static void what_another_device_has_stays_open(void **state)
{
    struct sim sim;
    (void)state;
    begin(&sim, 6, SIM_RESETS_SUCCEED);
    sim_verdict(&sim, "gpu-1", UNCONTAINED, SEVERITY_CRITICAL);
    sim_settle(&sim);
    assert_int_equal(sim_read(&sim, "gpu-1").decision.action, ACTION_RESET);
    int other = sim_verdict(&sim, "gpu-1", 79, SEVERITY_CRITICAL); /* and that one needs the reboot */
    assert_true(sim.spool[other].acked);
    sim_run(&sim, STORY_MS);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
    sim_close(&sim);
}

/* False when the story ended before its k-th turn. */
static bool with_death_before_turn(enum sim_resets resets, uint64_t k)
{
    struct sim sim;
    begin(&sim, 7, resets);
    sim.die_before_turn = sim.turns + k;
    sim_verdict(&sim, "gpu-1", UNCONTAINED, SEVERITY_CRITICAL);
    int64_t until = clock_wall_ms(&sim.clock) + STORY_MS;
    bool begun = false;
    while (clock_wall_ms(&sim.clock) < until) {
        sim_settle(&sim);
        bool ready = sim_state(&sim, "gpu-1") == NODE_STATE_READY;
        begun = begun || !ready;
        if (begun && ready)
            break;
        sim_tick(&sim, until);
    }
    bool died = sim.crashes > 0;
    sim.die_before_turn = 0;
    sim_run(&sim, 2 * MS_PER_MIN);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_READY);
    assert_int_equal(machine(&sim)->resets, 1);
    assert_int_equal(sim.provider.reboots, resets == SIM_RESETS_FAIL ? 1 : 0);
    sim_close(&sim);
    return died;
}

static void hpd_may_die_before_any_turn(void **state)
{
    (void)state;
    for (enum sim_resets resets = SIM_RESETS_SUCCEED; resets <= SIM_RESETS_FAIL; resets++) {
        uint64_t k = 1;
        while (with_death_before_turn(resets, k))
            k++;
        assert_true(k > 10); /* the story has points to die at */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_is_reset_without_a_reboot),
        cmocka_unit_test(what_comes_before_it_is_told_counts),
        cmocka_unit_test(what_was_seen_before_it_and_comes_late_is_answered),
        cmocka_unit_test(where_no_agent_offers_it_the_node_is_rebooted),
        cmocka_unit_test(a_site_that_wants_none_has_none),
        cmocka_unit_test(a_reset_that_is_refused_becomes_a_reboot),
        cmocka_unit_test(a_reset_that_nobody_hears_of_becomes_a_reboot),
        cmocka_unit_test(what_another_device_has_stays_open),
        cmocka_unit_test(hpd_may_die_before_any_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
