/* Machines that a provider has and no slot knows: told once, when two lists have them, and ended only where the site says so and the store
 * knows that they were let go. */
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

/* A provider that lists more than there is room for: each that is kept is reported, and once how many are not. */
static void more_than_there_is_room_for_is_said(void **state)
{
    enum { GHOSTS = 300, ROOM = 256 };
    struct sim sim;
    (void)state;
    sim_open(&sim, 316, true);
    sim.provider.lists = true;
    sim_crash(&sim);
    sim_create(&sim, 2, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, 12 * MS_PER_MIN);
    const int first = sim.provider.count;
    for (int i = 0; i < GHOSTS; i++) {
        struct fake_instance *ghost = &sim.provider.instances[sim.provider.count++];
        *ghost = (struct fake_instance){.hangs = true, .muted = true, .up_at = INT64_MAX};
        snprintf(ghost->id, sizeof(ghost->id), "i-%017x", 0xabc000 + i);
    }
    sim_run(&sim, 30 * MS_PER_MIN);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_MACHINE_ORPHAN, "lists 44 machines that fill no slot"), 1);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_MACHINE_ORPHAN, NULL), ROOM + 1);
    for (int i = 0; i < GHOSTS; i++)
        sim.provider.instances[first + i].gone = i < 100;
    sim_run(&sim, 30 * MS_PER_MIN); /* the others are kept by now */
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_MACHINE_ORPHAN, "beyond the"), 1);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_MACHINE_ORPHAN, NULL), GHOSTS + 1);
    sim_close(&sim);
}

/* A replacement whose termination was not one: the machine is there again. */
static struct fake_instance *leave_one(struct sim *sim)
{
    sim_until(sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    struct fake_instance *old = fake_provider_of_node(&sim->provider, "gpu-1");
    assert_non_null(old);
    sim_verdict(sim, "gpu-1", 64, SEVERITY_CRITICAL);
    sim_run(sim, 20 * MS_PER_MIN);
    assert_true(old->gone);
    assert_non_null(fake_provider_of_node(&sim->provider, "gpu-1"));
    old->gone = false;
    old->hangs = old->muted = true;
    old->up_at = INT64_MAX;
    return old;
}

static struct fake_instance *add_ghost(struct sim *sim)
{
    struct fake_instance *ghost = &sim->provider.instances[sim->provider.count++];
    *ghost = (struct fake_instance){.id = "i-0badc0ffee0ddf00d", .hangs = true, .muted = true, .up_at = INT64_MAX};
    return ghost;
}

static int machines_up(const struct sim *sim)
{
    int count = 0;
    for (int i = 0; i < sim->provider.count; i++)
        count += !sim->provider.instances[i].gone;
    return count;
}

static void one_that_was_let_go_is_ended_where_the_site_says_so(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 312, true);
    sim.provider.ends_orphans = true;
    sim_crash(&sim);
    sim_create(&sim, 3, NODE_RECOVERY_AUTOMATIC);
    const struct fake_instance *old = leave_one(&sim), *ghost = add_ghost(&sim);
    sim_run(&sim, 9 * MS_PER_MIN);
    assert_false(old->gone); /* two lists at most: it is told first */
    sim_run(&sim, 30 * MS_PER_MIN);
    assert_true(old->gone);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_MACHINE_ORPHAN, "hpd will end it"), 1);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_MACHINE_ORPHAN, "was ended"), 1);
    assert_false(ghost->gone); /* the store does not know it */
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_MACHINE_ORPHAN, "End it there"), 1);
    assert_int_equal(machines_up(&sim), 3 + 1);
    sim_close(&sim);
}

static void without_the_sites_word_nothing_is_ended(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 313, true);
    sim.provider.lists = true;
    sim_crash(&sim);
    sim_create(&sim, 3, NODE_RECOVERY_AUTOMATIC);
    const struct fake_instance *old = leave_one(&sim);
    sim_run(&sim, 40 * MS_PER_MIN);
    assert_false(old->gone);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_MACHINE_ORPHAN, "End it there"), 1);
    sim_close(&sim);
}

/* Whatever the provider answers, it is ended when a list has it no more; and no key of an earlier hpd is used again. */
static void an_end_is_one_when_no_list_has_the_machine(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 314, true);
    sim.provider.ends_orphans = true;
    sim_crash(&sim);
    sim_create(&sim, 3, NODE_RECOVERY_AUTOMATIC);
    const struct fake_instance *old = leave_one(&sim);
    sim.provider.ends_in_vain = 1;
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    for (int i = 0; i < 60 && sim.provider.ends_in_vain > 0; i++)
        sim_run(&sim, MS_PER_MIN);
    assert_int_equal(sim.provider.ends_in_vain, 0);
    sim_crash(&sim);
    assert_false(old->gone);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_MACHINE_ORPHAN, "was ended"), 0);
    sim_run(&sim, 40 * MS_PER_MIN);
    assert_true(old->gone);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_MACHINE_ORPHAN, "was ended"), 1);
    sim_close(&sim);
}

static void an_end_that_is_none_is_told(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 315, true);
    sim.provider.ends_orphans = true;
    sim_crash(&sim);
    sim_create(&sim, 3, NODE_RECOVERY_AUTOMATIC);
    const struct fake_instance *old = leave_one(&sim);
    sim.provider.ends_in_vain = 1000;
    sim_run(&sim, 5 * MS_PER_HOUR);
    assert_false(old->gone);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_MACHINE_ORPHAN, "lists it all the same"), 1);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_MACHINE_ORPHAN, "was ended"), 0);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_machine_that_is_nobodys_is_told_of_once),
        cmocka_unit_test(more_than_there_is_room_for_is_said),
        cmocka_unit_test(one_that_was_let_go_is_ended_where_the_site_says_so),
        cmocka_unit_test(without_the_sites_word_nothing_is_ended),
        cmocka_unit_test(an_end_is_one_when_no_list_has_the_machine),
        cmocka_unit_test(an_end_that_is_none_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
