/* What holds the repairs of a group is ended by a person: who may, what is told, and that once more does nothing. */
#include "tests/support/service_world.h"

static int hold(struct db_tx *tx, void *arg)
{
    struct instance_group group;
    const struct machine_capacity machine_capacity = {
        .short_at = 7, .short_until = 8, .short_times = 2, .failed_at = 9, .failures = 3, .protected_at = 9};
    (void)arg;
    assert_int_equal(db_group_get_row(tx, 1, &group), 0);
    assert_int_equal(db_group_set_machine_capacity(tx, group.id, &machine_capacity), 0);
    return db_group_set_breaker(tx, group.id, 11);
}

static int resume(struct world *world, const struct actor *actor, const char *group, const char *reason,
                  struct instance_group *ret_group)
{
    return service_group_resume(&world->service, actor, "ml", group, reason, ret_group, &world->problem);
}

static void test_ends_both(void **state)
{
    (void)state;
    struct world world;
    struct instance_group group;
    struct event event;
    world_open_ready(&world, DB_INLINE, 2);
    world_write(&world, hold, NULL);
    world.wakes = 0;
    assert_int_equal(resume(&world, &world_operator, "workers", "the image is fixed", &group), 0);
    assert_int_equal(
        group.machine_capacity.protected_at + group.machine_capacity.failures + group.machine_capacity.failed_at, 0);
    assert_int_equal(group.machine_capacity.short_times, 2); /* the provider's word stands */
    assert_int_equal(group.breaker_opened_at, 0);
    assert_true(group.breaker_closed_at >= WORLD_T0);
    assert_int_equal(world.wakes, 1);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(world_events(&world, EVENT_KIND_GROUP_UNPROTECTED, NULL), 1);
        assert_int_equal(world_events(&world, EVENT_KIND_BREAKER_CLOSED, &event), 1);
        assert_int_equal(resume(&world, &world_operator, "workers", "the image is fixed", &group), 0);
    }
    assert_true(group.breaker_closed_at >= WORLD_T0);
    assert_string_equal(event.group, "workers");
    assert_string_equal(event.message,
                        "token:oper closed the breaker: what failed until now counts no more, and repairs "
                        "go on as far as they are still needed: the image is fixed");
    world_close(&world);
}

static void test_who_and_what(void **state)
{
    (void)state;
    struct world world;
    struct instance_group group;
    world_open_ready(&world, DB_INLINE, 2);
    world_write(&world, hold, NULL);
    assert_int_equal(resume(&world, &world_viewer, "workers", "", &group), STATUS_DENIED);
    assert_int_equal(resume(&world, &world_operator, "nothing", "", &group), STATUS_NOT_FOUND);
    assert_non_null(strstr(world.problem.detail, "no instance group named \"nothing\""));
    assert_int_equal(world_events(&world, EVENT_KIND_BREAKER_CLOSED, NULL), 0);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ends_both),
        cmocka_unit_test(test_who_and_what),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
