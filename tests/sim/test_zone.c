/* Stories of a zone that is lost: one incident, and not as many as it has nodes. */
#include "tests/sim/sim_cluster.h"

#define ZONES 3
#define NODES 12

static const struct service_backends backends = {
    .providers = {"fake"},
    .provider_count = 1,
    .kinds = {ORCHESTRATOR_SLURM},
    .kind_count = 1,
    .release = "",
    .subnets = {{"subnet-aaaaaaaa", "west-a"}, {"subnet-bbbbbbbb", "west-b"}, {"subnet-cccccccc", "west-c"}},
    .subnet_count = ZONES,
};

static void open_zones(struct sim *sim, uint64_t seed)
{
    struct service_group_spec group = sim_spec("gpu", NODES, 0);
    group.spec = group_spec_of("{\"network\":{\"securityGroups\":[\"sg-1\"],\"subnets\":[\"subnet-aaaaaaaa\","
                               "\"subnet-bbbbbbbb\",\"subnet-cccccccc\"]}}");
    sim_open(sim, seed, true);
    sim->service.backends = &backends;
    sim_ask_cluster(sim, PROVISIONING_CONTINUOUS, &group, 1);
    sim_until_all_ready(sim, 30 * MS_PER_MIN);
    sim_run(sim, MS_PER_MIN);
}

static int mute(struct sim *sim, const char *zone, int most, bool muted)
{
    int count = 0;
    for (int i = 0; i < sim->provider.count && count < most; i++) {
        struct fake_instance *instance = &sim->provider.instances[i];
        if (instance->gone || strcmp(instance->zone, zone) != 0)
            continue;
        instance->muted = muted;
        count++;
    }
    return count;
}

static void nodes_are_spread(void **state)
{
    struct sim sim;
    (void)state;
    open_zones(&sim, 111);
    for (size_t i = 0; i < ZONES; i++)
        assert_int_equal(mute(&sim, backends.subnets[i].zone, NODES, false), NODES / ZONES);
    sim_close(&sim);
}

static void a_lost_zone_is_one_incident(void **state)
{
    struct sim sim;
    struct instance_group group;
    (void)state;
    open_zones(&sim, 112);
    assert_int_equal(mute(&sim, "west-b", NODES, true), NODES / ZONES);
    sim_run(&sim, 30 * MS_PER_MIN);
    assert_int_equal(sim_count_state(&sim, NODE_STATE_HELD), NODES / ZONES);
    assert_true(sim_events(&sim, NULL, EVENT_KIND_DECISION, "incident-hold") >= NODES / ZONES);
    assert_non_null(strstr(sim_read(&sim, "gpu-2").row.reason, "one of 4 nodes of the zone west-b"));
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_INCIDENT_OPENED, NULL), 1);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_BREAKER_OPENED, NULL), 0);
    sim_crash(&sim);
    sim_run(&sim, 6 * MS_PER_HOUR);
    assert_int_equal(sim.provider.reboots + sim.provider.terminations, 0);
    /* a fault elsewhere is repaired meanwhile */
    mute(&sim, "west-a", 1, true);
    sim_run(&sim, 30 * MS_PER_MIN);
    assert_int_equal(sim.provider.reboots, 1);
    mute(&sim, "west-a", NODES, false);
    mute(&sim, "west-b", NODES, false);
    sim_until_all_ready(&sim, 30 * MS_PER_MIN);
    assert_true(sim_group(&sim, "gpu", &group));
    assert_int_equal(group.state, GROUP_STATE_IN_SERVICE);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodes_are_spread),
        cmocka_unit_test(a_lost_zone_is_one_incident),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
