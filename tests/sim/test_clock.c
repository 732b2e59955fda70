/* Somebody sets the clock of hpd's machine, or hpd itself does not run for a while: nothing is decided by it. */
#include "base/steady.h"
#include "tests/sim/sim_world.h"

#define OFF_THE_BUS 79

struct story {
    struct sim sim;
    struct steady steady;
};

static void begin(struct story *story, uint64_t seed)
{
    sim_open(&story->sim, seed, true);
    steady_begin(&story->steady, clock_mono_ms(&story->sim.clock), clock_true_ms(&story->sim.clock), 0);
    story->sim.clock.steady = &story->steady;
    sim_create(&story->sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(&story->sim, 5 * MS_PER_MIN);
}

/* The reboot is done, and the machine is waited for. */
static void begin_repair(struct sim *sim)
{
    sim_verdict(sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    fake_provider_of_node(&sim->provider, "gpu-1")->hangs = true;
    sim_run(sim, 10 * MS_PER_S);
    assert_true(sim_state(sim, "gpu-1") != NODE_STATE_READY);
    assert_int_equal(sim_read(sim, "gpu-1").operation.state, OPERATION_STATE_RUNNING);
}

static void bring_up(struct sim *sim)
{
    struct fake_instance *instance = fake_provider_of_node(&sim->provider, "gpu-1");
    instance->hangs = false;
    instance->up_at = clock_wall_ms(&sim->clock);
}

static void a_clock_that_is_set_decides_nothing(void **state)
{
    static const int64_t steps[] = {MS_PER_HOUR, 2 * MS_PER_HOUR, -MS_PER_HOUR, -2 * MS_PER_HOUR};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        struct story story;
        struct sim *sim = &story.sim;
        begin(&story, 91 + i);
        fake_scheduler_find(&sim->scheduler, "gpu-2")->jobs = 2;
        begin_repair(sim);
        clock_fake_jump(&sim->clock, steps[i]);
        sim_run(sim, 2 * MS_PER_MIN);
        bring_up(sim);
        assert_int_equal(sim_events(sim, NULL, EVENT_KIND_AGENT_SILENT, NULL), 0);
        sim_until(sim, "gpu-1", NODE_STATE_READY, 30 * MS_PER_MIN);
        sim_run(sim, 20 * MS_PER_HOUR); /* until both clocks agree again */
        assert_int_equal(clock_wall_ms(&sim->clock), clock_true_ms(&sim->clock));
        assert_int_equal(sim_events(sim, NULL, EVENT_KIND_AGENT_SILENT, NULL), 0);
        assert_int_equal(sim_events(sim, NULL, EVENT_KIND_OPERATION_FAILED, NULL), 0);
        assert_int_equal(sim_events(sim, NULL, EVENT_KIND_CLOCK_STEP, steps[i] < 0 ? "set back by" : "set forward by"),
                         1);
        assert_int_equal(sim->provider.reboots, 1);
        assert_int_equal(sim->provider.terminations, 0);
        sim_close(sim);
    }
}

/* hpd is stopped and goes on, or its machine slept: it heard nobody, and that is nobody's silence. */
static void what_hpd_slept_through_is_no_silence(void **state)
{
    struct story story;
    struct sim *sim = &story.sim;
    (void)state;
    begin(&story, 95);
    clock_fake_advance(&sim->clock, 3 * MS_PER_HOUR);
    sim_settle(sim);
    sim_run(sim, 5 * MS_PER_MIN);
    assert_int_equal(sim_events(sim, NULL, EVENT_KIND_AGENT_SILENT, NULL), 0);
    fake_provider_of_node(&sim->provider, "gpu-1")->muted = true; /* that is one */
    sim_run(sim, 5 * MS_PER_MIN);
    assert_int_equal(sim_events(sim, "gpu-1", EVENT_KIND_AGENT_SILENT, NULL), 1);
    sim_close(sim);
}

/* A repair was under way when hpd went down for a night. */
static void a_step_outlasts_a_night_without_hpd(void **state)
{
    struct story story;
    struct sim *sim = &story.sim;
    (void)state;
    begin(&story, 96);
    begin_repair(sim);
    sim_kill(sim);
    clock_fake_advance(&sim->clock, 12 * MS_PER_HOUR);
    sim->beat_at = clock_wall_ms(&sim->clock) + sim->beat_ms;
    sim_boot(sim);
    sim_run(sim, 20 * MS_PER_S);
    bring_up(sim);
    sim_until(sim, "gpu-1", NODE_STATE_READY, 30 * MS_PER_MIN);
    assert_int_equal(sim_events(sim, NULL, EVENT_KIND_OPERATION_FAILED, NULL), 0);
    assert_int_equal(sim->provider.reboots, 1);
    sim_close(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_clock_that_is_set_decides_nothing),
        cmocka_unit_test(what_hpd_slept_through_is_no_silence),
        cmocka_unit_test(a_step_outlasts_a_night_without_hpd),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
