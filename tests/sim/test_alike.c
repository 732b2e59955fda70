/* Many nodes of a group with the same weak finding are one case of the group, also when each is decided on in a turn of its own. */
#include "tests/sim/sim_cluster.h"

#define NODES 12
#define COUNTED 53 /* one finding is nothing, three bursts in a day are for a person */
#define BURSTS 3

static void a_rate_of_many_nodes_takes_few_out(void **state)
{
    struct sim sim;
    char name[16];
    int held = 0, told = 0, since = 0;
    (void)state;
    sim_open(&sim, 710, true);
    sim_create(&sim, NODES, NODE_RECOVERY_AUTOMATIC);
    for (int burst = 0; burst < BURSTS; burst++) {
        for (int i = 1; i <= NODES; i++) {
            snprintf(name, sizeof(name), "gpu-%d", i);
            sim_verdict(&sim, name, COUNTED, SEVERITY_WARN);
            sim_settle(&sim);
            sim_run(&sim, 5 * MS_PER_S);
        }
        sim_run(&sim, 10 * MS_PER_MIN);
    }
    for (int i = 1; i <= NODES; i++) {
        snprintf(name, sizeof(name), "gpu-%d", i);
        held += sim_state(&sim, name) == NODE_STATE_HELD;
        since += sim_read(&sim, name).decision.rule == RULE_SHARED_SINCE;
        told += sim_read(&sim, name).decision.rule == RULE_SHARED_BY_MANY;
    }
    assert_true(held <= 2); /* before the third one nobody could know */
    assert_int_equal(held + told, NODES);
    assert_true(held > 0);
    assert_int_equal(since, held); /* whose person shall know that the case is larger */
    sim_close(&sim);
}

/* Its agent reports this weak finding, with a key of its own. */
static void finds(struct sim *sim, const struct fake_instance *machine, const char *source, const char *code,
                  const char *device)
{
    static uint64_t number;
    struct problem problem;
    bool acked = false;
    struct verdict verdict = {.severity = SEVERITY_WARN, .count = 1};
    verdict.first_at = verdict.last_at = clock_wall_ms(&sim->clock);
    snprintf(verdict.key, sizeof(verdict.key), "%s-%d", source, (int)++number);
    snprintf(verdict.instance_id, sizeof(verdict.instance_id), "%s", machine->id);
    snprintf(verdict.boot_id, sizeof(verdict.boot_id), "%s", machine->boot_id);
    snprintf(verdict.source, sizeof(verdict.source), "%s", source);
    snprintf(verdict.code, sizeof(verdict.code), "%s", code);
    snprintf(verdict.device, sizeof(verdict.device), "%s", device);
    assert_int_equal(service_agent_verdicts(&sim->service, machine->node_row, &verdict, 1, clock_wall_ms(&sim->clock),
                                            sim_acked, &acked, &problem),
                     0);
    sim_settle(sim);
    assert_true(acked);
}

/* Its machine restarts, asked by nobody, and a check finds this a while later, as on an image whose driver does not fit its kernel. */
static void restarts_without_driver(struct sim *sim, const char *node)
{
    struct fake_instance *machine = fake_provider_of_node(&sim->provider, node);
    id_uuid(&sim->ids, machine->boot_id);
    machine->seq = 0;
    sim_run(sim, 10 * MS_PER_MIN);
    finds(sim, machine, "nvidia", "nvidia.driver.failed", "");
}

/* Each in a turn of its own: the two that came first are held with the third, for they have the same image. */
static void machines_of_an_image_that_is_at_fault_are_held(void **state)
{
    struct sim sim;
    char name[16];
    (void)state;
    sim_open(&sim, 711, true);
    struct service_group_spec gpu = sim_spec("gpu", NODES, 0);
    snprintf(gpu.release, sizeof(gpu.release), "v1");
    sim_ask_cluster(&sim, PROVISIONING_CONTINUOUS, &gpu, 1);
    sim_until_cluster(&sim, CLUSTER_STATE_IN_SERVICE, 30 * MS_PER_MIN);
    sim_run(&sim, MS_PER_HOUR);
    for (int i = 1; i <= 3; i++) {
        snprintf(name, sizeof(name), "gpu-%d", i);
        restarts_without_driver(&sim, name);
        sim_run(&sim, 5 * MS_PER_MIN);
        assert_int_equal(sim_count_state(&sim, NODE_STATE_HELD), i < 3 ? 0 : 3);
    }
    for (int i = 1; i <= 3; i++) {
        snprintf(name, sizeof(name), "gpu-%d", i);
        struct sim_reading held = sim_read(&sim, name);
        assert_int_equal(held.decision.rule, RULE_IMAGE_HOLD);
        assert_non_null(strstr(held.decision.sentence, "machines with the image v1"));
        assert_true(node_waits_for_person(&held.row, NODE_RECOVERY_AUTOMATIC, false));
    }
    sim_run(&sim, 12 * MS_PER_HOUR);
    assert_int_equal(sim.provider.reboots + sim.provider.terminations, 0);
    assert_int_equal(sim_count_state(&sim, NODE_STATE_HELD), 3);
    sim_close(&sim);
}

static void hangs(struct sim *sim, const char *node)
{
    finds(sim, fake_provider_of_node(&sim->provider, node), "mounts", "node.mount.hung", "/fsx");
}

static int count_rule(struct sim *sim, enum decision_rule rule)
{
    char name[16];
    int count = 0;
    for (int i = 1; i <= NODES; i++) {
        snprintf(name, sizeof(name), "gpu-%d", i);
        count += sim_read(sim, name).decision.rule == rule;
    }
    return count;
}

/* A file server that hangs for most nodes is reported as one case after a quarter of an hour, on each node that has waited so long, and takes none out. */
static void what_most_nodes_wait_for_is_told_early(void **state)
{
    struct sim sim;
    char name[16];
    (void)state;
    sim_open(&sim, 712, true);
    sim_create(&sim, NODES, NODE_RECOVERY_AUTOMATIC);
    for (int i = 1; i <= NODES - 2; i++) {
        snprintf(name, sizeof(name), "gpu-%d", i);
        hangs(&sim, name);
        sim_run(&sim, 5 * MS_PER_S);
    }
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(count_rule(&sim, RULE_SHARED_BY_MANY), 0);
    sim_run(&sim, 8 * MS_PER_MIN);
    assert_int_equal(count_rule(&sim, RULE_SHARED_BY_MANY), NODES - 2);
    uint64_t turns = sim.turns;
    sim_run(&sim, 30 * MS_PER_MIN);
    assert_true(sim.turns - turns < 30 * 60 * 5); /* they do not wake one another without end */
    sim_run(&sim, 10 * MS_PER_HOUR);
    assert_int_equal(sim_count_state(&sim, NODE_STATE_READY), NODES);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_DECISION, "nodes show it"), 1);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rate_of_many_nodes_takes_few_out),
        cmocka_unit_test(machines_of_an_image_that_is_at_fault_are_held),
        cmocka_unit_test(what_most_nodes_wait_for_is_told_early),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
