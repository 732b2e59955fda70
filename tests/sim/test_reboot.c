/*
 * Reboots by the methods of a group: which is tried after which, what counts as success, and that a machine is rebooted once, whoever
 * dies meanwhile. SSH and the BMC are those of sim_reboot.h.
 */
#include "db/machine.h"
#include "tests/sim/sim_reboot.h"

#define OFF_THE_BUS 79
#define STORY_MS (3 * MS_PER_HOUR)

static struct reboot_device device;

static void open_world(struct sim *sim, const char *spec)
{
    sim_open(sim, 11, true);
    sim_device_attach(&device, sim);
    sim->spec = spec;
    sim_crash(sim); /* hpd with these devices */
    sim->crashes = 0;
    sim_create(sim, 2, NODE_RECOVERY_AUTOMATIC);
    sim_run(sim, MS_PER_MIN);
}

static struct sim_reading strike(struct sim *sim)
{
    sim_verdict(sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_until(sim, "gpu-1", NODE_STATE_REPAIRING, 10 * MS_PER_MIN);
    sim_until(sim, "gpu-1", NODE_STATE_READY, STORY_MS);
    return sim_read(sim, "gpu-1");
}

#define assert_try(op, i, by, came)                       \
    do {                                                  \
        assert_true((op)->try_count > (i));               \
        assert_int_equal((op)->tries[i].method, by);      \
        assert_int_equal((op)->tries[i].outcome, came);   \
        assert_int_equal((op)->tries[i].number, (i) + 1); \
    } while (0)

static void one_method_after_the_other(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, "{\"rebootMethods\":[\"agent\",\"scheduler\",\"ssh\",\"bmc\",\"provider\"]}");
    device.conduct[REBOOT_METHOD_SSH] = SIM_LIES;
    device.conduct[REBOOT_METHOD_BMC_GRACEFUL] = SIM_DENIES;
    struct sim_reading end = strike(&sim);
    const struct operation *op = &end.operation;
    assert_int_equal(op->state, OPERATION_STATE_SUCCEEDED);
    assert_int_equal(op->try_count, 5);
    assert_try(op, 0, REBOOT_METHOD_AGENT, REBOOT_OUTCOME_REFUSED);
    assert_string_equal(op->tries[0].detail, "hp-agent runs there without --allow-reboot");
    assert_try(op, 1, REBOOT_METHOD_SCHEDULER, REBOOT_OUTCOME_REFUSED);
    assert_try(op, 2, REBOOT_METHOD_SSH, REBOOT_OUTCOME_NO_BOOT);
    assert_string_equal(op->tries[2].detail, "the machine does not go down");
    assert_try(op, 3, REBOOT_METHOD_BMC_GRACEFUL, REBOOT_OUTCOME_REFUSED);
    assert_try(op, 4, REBOOT_METHOD_BMC_FORCE, REBOOT_OUTCOME_REBOOTED);
    int64_t stuck = op->tries[2].ended_at - op->tries[2].accepted_at;
    assert_in_range(stuck, sim.settings.reboot_stuck_ms, sim.settings.reboot_stuck_ms + 2 * MS_PER_MIN);
    assert_int_equal(device.reboots, 1);
    assert_int_equal(sim.provider.reboots, 0);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_STEP, "reboot by SSH (try 3) was accepted and"), 1);
    sim_close(&sim);
}

static void the_agent_reboots_its_machine(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, "{\"rebootMethods\":[\"agent\",\"ssh\"]}");
    sim.agents_reboot = true;
    sim_run(&sim, MS_PER_MIN); /* and that is known */
    struct sim_reading end = strike(&sim);
    assert_int_equal(end.operation.try_count, 1);
    assert_try(&end.operation, 0, REBOOT_METHOD_AGENT, REBOOT_OUTCOME_REBOOTED);
    assert_true(end.operation.tries[0].accepted_at >= end.operation.tries[0].began_at);
    assert_int_equal(sim.agent_reboots, 1);
    sim_close(&sim);
}

/* The policy goes on as after any reboot that failed. */
static void when_all_fail_the_machine_is_replaced(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, "{\"rebootMethods\":[\"ssh\",\"bmc-force\"]}");
    device.conduct[REBOOT_METHOD_SSH] = SIM_IS_AWAY;
    device.conduct[REBOOT_METHOD_BMC_FORCE] = SIM_DENIES;
    struct sim_reading end = strike(&sim);
    assert_int_equal(end.operation.kind, OPERATION_KIND_REPLACE);
    assert_int_equal(device.asked[REBOOT_METHOD_SSH], 3);
    assert_int_equal(device.asked[REBOOT_METHOD_BMC_FORCE], 1);
    assert_int_equal(sim.provider.reboots, 0);
    assert_int_equal(sim.provider.terminations, 1);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_FAILED, "no method rebooted the machine (4 tries)"),
                     1);
    sim_close(&sim);
}

/* It is the configuration that is wrong, and not the machine. */
static void what_every_method_refuses_waits_for_a_person(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, "{\"rebootMethods\":[\"agent\",\"ssh\"]}");
    device.conduct[REBOOT_METHOD_SSH] = SIM_DENIES;
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_until(&sim, "gpu-1", NODE_STATE_FAILED, STORY_MS);
    sim_run(&sim, MS_PER_HOUR);
    struct sim_reading end = sim_read(&sim, "gpu-1");
    assert_int_equal(end.row.state, NODE_STATE_FAILED);
    assert_non_null(strstr(end.row.reason, "no method rebooted the machine (2 tries); replace the node, or repair it"));
    assert_int_equal(sim.provider.terminations, 0);
    sim_close(&sim);
}

static void a_lost_reply_is_waited_for(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, "{\"rebootMethods\":[\"ssh\",\"provider\"]}");
    device.conduct[REBOOT_METHOD_SSH] = SIM_LOSES_ITS_REPLY;
    struct sim_reading end = strike(&sim);
    assert_int_equal(end.operation.try_count, 1);
    assert_try(&end.operation, 0, REBOOT_METHOD_SSH, REBOOT_OUTCOME_REBOOTED);
    assert_int_equal(device.reboots, 1);
    device.conduct[REBOOT_METHOD_SSH] = SIM_HANGS;
    sim_run(&sim, 8 * MS_PER_DAY); /* beyond the window in which a fault escalates */
    end = strike(&sim);
    assert_int_equal(end.operation.try_count, 2);
    assert_try(&end.operation, 0, REBOOT_METHOD_SSH, REBOOT_OUTCOME_LOST);
    assert_int_equal(end.operation.tries[0].ended_at - end.operation.tries[0].began_at, sim.settings.reboot_ssh_ms);
    assert_try(&end.operation, 1, REBOOT_METHOD_PROVIDER, REBOOT_OUTCOME_REBOOTED);
    assert_int_equal(sim.provider.reboots, 1);
    sim_close(&sim);
}

/* hpd is away for longer than a method has, and its first look comes before the agent's first heartbeat. */
static void an_absence_of_hpd_reboots_nothing_again(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, "{\"rebootMethods\":[\"bmc\"]}");
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    for (int i = 0; device.reboots == 0; i++) {
        assert_true(i < 1000);
        sim_tick(&sim, clock_wall_ms(&sim.clock) + MS_PER_S);
    }
    sim_kill(&sim);
    clock_fake_advance(&sim.clock, 2 * sim.settings.reboot_bmc_ms);
    sim_boot(&sim);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, STORY_MS);
    struct sim_reading end = sim_read(&sim, "gpu-1");
    assert_int_equal(end.operation.try_count, 1);
    assert_try(&end.operation, 0, REBOOT_METHOD_BMC_GRACEFUL, REBOOT_OUTCOME_REBOOTED);
    assert_int_equal(device.reboots, 1);
    sim_close(&sim);
}

/* The order is memory, and the agent looks for it again after it has warned who is logged in. */
static void an_agent_that_warned_finds_its_order_after_a_restart(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, "{\"rebootMethods\":[\"agent\"]}");
    sim.agents_reboot = sim.agents_warn_first = true;
    sim_run(&sim, MS_PER_MIN);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    struct sim_reading reading = {0};
    for (int i = 0; reading.operation.try_count == 0 || reading.operation.tries[0].accepted_at == 0; i++) {
        assert_true(i < 1000);
        sim_tick(&sim, clock_wall_ms(&sim.clock) + MS_PER_S);
        reading = sim_read(&sim, "gpu-1");
    }
    assert_int_equal(sim.agent_reboots, 0);
    sim_crash(&sim);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, STORY_MS);
    struct sim_reading end = sim_read(&sim, "gpu-1");
    assert_int_equal(end.operation.kind, OPERATION_KIND_REBOOT);
    assert_int_equal(end.operation.try_count, 1);
    assert_int_equal(sim.agent_reboots, 1);
    sim_close(&sim);
}

static int own_machine(struct db_tx *tx, void *arg)
{
    const struct fake_instance *instance = arg;
    struct machine machine = {.name = "m-7", .provider = "fake", .address = "10.0.0.7", .bmc = "10.1.0.7"};
    int status = db_machine_insert(tx, &machine);
    struct machine_use use = {.machine_id = machine.id, .node_id = instance->node_row, .taken_at = 1};
    snprintf(use.instance_id, sizeof(use.instance_id), "%s", instance->id);
    snprintf(use.launch_key, sizeof(use.launch_key), "%s", instance->key);
    return status == 0 ? db_machine_use_insert(tx, &use) : status;
}

static void the_inventory_says_where_a_bmc_is(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, "{\"rebootMethods\":[\"bmc\"]}");
    struct fake_instance *instance = fake_provider_of_node(&sim.provider, "gpu-1");
    assert_int_equal(db_write(sim.service.db, "test", own_machine, instance), 0);
    (void)strike(&sim);
    assert_string_equal(device.bmc, "10.1.0.7");
    assert_string_not_equal(device.address, "");
    sim_close(&sim);
}

/* --- killed at every point ------------------------------------------------------------------------------------- */

enum death { DEATH_TURN, DEATH_BEFORE_CALL, DEATH_AFTER_CALL, DEATHS };

/* False when the story ended before its k-th point. */
static bool tell_with_death(const struct sim *start, enum death death, int64_t k)
{
    struct sim sim;
    sim_fork(start, &sim);
    device = (struct reboot_device){.sim = &sim};
    sim_run(&sim, MS_PER_MIN);
    if (death == DEATH_TURN)
        sim.die_before_turn = sim.turns + (uint64_t)k;
    else if (death == DEATH_BEFORE_CALL)
        sim.outcome.die_before = sim.outcome.calls + k;
    else
        sim.outcome.die_after = sim.outcome.calls + k;
    struct sim_reading end = strike(&sim);
    bool died = sim.crashes > 0;
    int reboots = device.reboots + sim.provider.reboots + sim.agent_reboots;
    if (end.operation.kind != OPERATION_KIND_REBOOT || end.operation.state != OPERATION_STATE_SUCCEEDED || reboots != 1)
        sim_fail(&sim, "gpu-1", "%s, death %d at %" PRId64 ": %s %s, %d reboots", start->spec, (int)death, k,
                 operation_kind_text(end.operation.kind), operation_state_text(end.operation.state), reboots);
    sim_close(&sim);
    return died;
}

static void at_every_point(const char *spec, bool agent)
{
    static struct sim start;
    open_world(&start, spec);
    start.check = false;
    start.agents_reboot = agent;
    sim_kill(&start);
    for (enum death death = DEATH_TURN; death < DEATHS; death++) {
        int64_t k = 1;
        while (tell_with_death(&start, death, k))
            k++;
        assert_true(k > 5); /* the story has points to die at */
    }
    free(start.spool);
    assert_int_equal(file_remove_tree(start.dir), 0);
}

static void ssh_reboots_once_whoever_dies(void **state)
{
    (void)state;
    at_every_point("{\"rebootMethods\":[\"ssh\",\"provider\"]}", false);
}

static void an_agent_reboots_once_whoever_dies(void **state)
{
    (void)state;
    at_every_point("{\"rebootMethods\":[\"agent\",\"provider\"]}", true);
}

static void a_provider_reboots_once_whoever_dies(void **state)
{
    (void)state;
    at_every_point("{\"rebootMethods\":[\"provider\"]}", false);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_method_after_the_other),
        cmocka_unit_test(the_agent_reboots_its_machine),
        cmocka_unit_test(when_all_fail_the_machine_is_replaced),
        cmocka_unit_test(what_every_method_refuses_waits_for_a_person),
        cmocka_unit_test(a_lost_reply_is_waited_for),
        cmocka_unit_test(an_absence_of_hpd_reboots_nothing_again),
        cmocka_unit_test(an_agent_that_warned_finds_its_order_after_a_restart),
        cmocka_unit_test(the_inventory_says_where_a_bmc_is),
        cmocka_unit_test(ssh_reboots_once_whoever_dies),
        cmocka_unit_test(an_agent_reboots_once_whoever_dies),
        cmocka_unit_test(a_provider_reboots_once_whoever_dies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
