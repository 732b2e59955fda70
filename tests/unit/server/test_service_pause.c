/* A cluster in a person's hands: who may, what is told, and that once more does nothing. What follows is tests/sim. */
#include "server/service/cluster/pause.h"
#include "tests/support/service_world.h"

static void test_is_told_once(void **state)
{
    struct world world;
    struct cluster cluster;
    struct event event;
    (void)state;
    world_open_ready(&world, DB_INLINE, 2);
    world.wakes = 0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            service_cluster_pause(&world.service, &world_operator, "ml", "recabling", &cluster, &world.problem), 0);
        assert_true(cluster.paused_at >= WORLD_T0);
        assert_string_equal(cluster.paused_by, "token:oper");
        assert_int_equal(world_events(&world, EVENT_KIND_CLUSTER_PAUSED, &event), 1);
    }
    assert_string_equal(event.message, "token:oper paused the cluster ml: nothing is done to its nodes by itself until "
                                       "it is resumed: recabling");
    int64_t since = cluster.paused_at;
    assert_int_equal(service_cluster_pause(&world.service, &world_admin, "ml", "mine", &cluster, &world.problem), 0);
    assert_string_equal(cluster.paused_by, "token:admin");
    assert_string_equal(cluster.pause_reason, "mine");
    assert_int_equal(cluster.paused_at, since); /* it has been paused for so long */
    assert_int_equal(world_events(&world, EVENT_KIND_CLUSTER_PAUSED, NULL), 2);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(service_cluster_resume(&world.service, &world_operator, "ml", "", &cluster, &world.problem),
                         0);
        assert_int_equal(cluster.paused_at, 0);
        assert_string_equal(cluster.paused_by, "");
        assert_int_equal(world_events(&world, EVENT_KIND_CLUSTER_RESUMED, NULL), 1);
    }
    assert_true(world.wakes >= 3);
    world_close(&world);
}

static void test_who_and_what(void **state)
{
    struct world world;
    struct cluster cluster;
    (void)state;
    world_open_ready(&world, DB_INLINE, 2);
    assert_int_equal(service_cluster_pause(&world.service, &world_viewer, "ml", "", &cluster, &world.problem),
                     STATUS_DENIED);
    assert_int_equal(service_cluster_resume(&world.service, &world_viewer, "ml", "", &cluster, &world.problem),
                     STATUS_DENIED);
    assert_int_equal(service_cluster_pause(&world.service, &world_operator, "none", "", &cluster, &world.problem),
                     STATUS_NOT_FOUND);
    assert_int_equal(service_cluster_delete(&world.service, &world_admin, "ml", &cluster, &world.problem), 0);
    assert_int_equal(service_cluster_pause(&world.service, &world_operator, "ml", "", &cluster, &world.problem),
                     STATUS_CONFLICT);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_is_told_once),
        cmocka_unit_test(test_who_and_what),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
