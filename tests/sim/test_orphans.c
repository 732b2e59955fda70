/* Machines that a provider has and no slot knows: told once, when two lists have them, and never ended. */
#include "tests/sim/sim_world.h"

static void a_machine_that_is_nobodys_is_told_of_once(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 311, true);
    sim.provider.lists = true;
    sim_crash(&sim); /* the next hpd has a provider that lists */
    sim_create(&sim, 3, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, 12 * MS_PER_MIN);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_MACHINE_ORPHAN, NULL), 0);
    struct fake_instance *ghost = &sim.provider.instances[sim.provider.count++];
    *ghost = (struct fake_instance){.id = "i-0badc0ffee0ddf00d", .hangs = true, .muted = true, .up_at = INT64_MAX};
    sim_run(&sim, 4 * MS_PER_MIN);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_MACHINE_ORPHAN, NULL), 0); /* one list is not enough */
    sim_run(&sim, 30 * MS_PER_MIN);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_MACHINE_ORPHAN, "i-0badc0ffee0ddf00d"), 1);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_MACHINE_ORPHAN, NULL), 1);
    assert_false(ghost->gone);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_machine_that_is_nobodys_is_told_of_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
