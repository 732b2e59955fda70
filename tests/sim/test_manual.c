/*
 * Stories of machines in a person's hands (provider "manual"): the loop asks once, waits, and goes on by what the agents
 * report. The test is the person; the fake provider only keeps the machines, and is never called.
 */
#include "server/service/access/access.h"
#include "server/service/cluster/cluster.h"
#include "server/service/node/node.h"
#include "tests/sim/sim_world.h"

#define OFF_THE_BUS 79
#define TURNS_OF_A_REPAIR 12 /* more than it takes from a fault to the question that a person is asked */

/* --- the person -------------------------------------------------------------------------------- */
static void make_token(struct sim *sim, const char *node, char ret_text[SERVICE_TOKEN_TEXT_MAX])
{
    struct token token;
    struct problem problem = {0};
    if (service_token_create_enrollment(&sim->service, &sim_admin, SIM_CLUSTER, node, 0, &token, ret_text, &problem) !=
        0)
        sim_fail(sim, node, "%s", problem.detail);
}

/* A machine is put into the slot and switched on. What stood there before runs on, unless it was unplugged. */
static struct fake_instance *install(struct sim *sim, const char *node, const char *id)
{
    assert_true(sim->provider.count < FAKE_INSTANCES_MAX);
    struct fake_instance *machine = &sim->provider.instances[sim->provider.count++];
    *machine = (struct fake_instance){.up_at = clock_wall_ms(&sim->clock)};
    snprintf(machine->id, sizeof(machine->id), "%s", id);
    snprintf(machine->node, sizeof(machine->node), "%s", node);
    id_uuid(&sim->ids, machine->boot_id);
    make_token(sim, node, machine->token);
    return machine;
}

static void reboot(struct sim *sim, const char *node)
{
    struct fake_instance *machine = fake_provider_of_node(&sim->provider, node);
    id_uuid(&sim->ids, machine->boot_id);
    machine->seq = 0;
    machine->up_at = clock_wall_ms(&sim->clock) + MS_PER_MIN;
}

static void create_under(struct sim *sim, int nodes, enum orchestrator orchestrator)
{
    struct service_group_spec group = {
        .name = "gpu", .provider = "manual", .instance_count = nodes, .spec = group_spec_of(sim->spec)};
    struct service_cluster_spec spec = {
        .name = SIM_CLUSTER, .orchestrator = orchestrator, .groups = &group, .group_count = 1};
    struct cluster cluster;
    struct problem problem = {0};
    if (service_cluster_create(&sim->service, &sim_admin, &spec, &cluster, &problem) != 0)
        fail_msg("cluster: %s", problem.detail);
    sim->nodes = nodes;
}

static void create(struct sim *sim, int nodes)
{
    create_under(sim, nodes, ORCHESTRATOR_NONE);
}

static void begin_with(struct sim *sim, uint64_t seed, const char *spec)
{
    sim_open(sim, seed, false);
    sim->spec = spec;
    create(sim, 2);
    install(sim, "gpu-1", "i-first");
    install(sim, "gpu-2", "i-second");
    sim_until_all_ready(sim, 10 * MS_PER_MIN);
}

static void begin(struct sim *sim, uint64_t seed)
{
    begin_with(sim, seed, NULL);
}

static void end(struct sim *sim)
{
    assert_int_equal(sim->provider.launches + sim->provider.reboots + sim->provider.terminations, 0);
    sim_close(sim);
}

/* The step of the node's newest operation. */
static struct operation_step step_of(struct sim *sim, const char *node, enum step_kind kind)
{
    struct operation op = sim_read(sim, node).operation;
    for (int i = 0; i < op.step_count; i++)
        if (op.steps[i].kind == kind)
            return op.steps[i];
    fail_msg("%s has no step %s", operation_kind_text(op.kind), step_kind_text(kind));
    return (struct operation_step){0};
}

/* Whether the operation waits for a person, at this step and with these words. */
static bool asks(struct sim *sim, const char *node, enum step_kind kind, const char *words)
{
    struct operation_step step = step_of(sim, node, kind);
    return step.state == STEP_STATE_RUNNING && strstr(step.detail, words) != NULL;
}

static void fall_off_the_bus(struct sim *sim, const char *node)
{
    sim_verdict(sim, node, OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(sim, MS_PER_MIN);
}

/* --- launch ------------------------------------------------------------------------------------ */
static void a_slot_waits_for_its_machine(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 301, false);
    create(&sim, 2);
    sim_run(&sim, 2 * MS_PER_DAY); /* longer than any deadline */
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_STARTING);
    assert_true(asks(&sim, "gpu-1", STEP_KIND_LAUNCH, "hpctl token create --cluster west --enrollment --node gpu-1"));
    assert_int_equal(step_of(&sim, "gpu-1", STEP_KIND_LAUNCH).attempts, 0);
    assert_int_equal(step_of(&sim, "gpu-1", STEP_KIND_LAUNCH).deadline_at, 0);
    sim_crash(&sim);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_STEP, "waits for a machine"), 1);

    install(&sim, "gpu-1", "i-mine");
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 5 * MS_PER_MIN);
    assert_int_equal(sim_state(&sim, "gpu-2"), NODE_STATE_STARTING);
    struct sim_reading reading = sim_read(&sim, "gpu-1");
    assert_string_equal(reading.instance.instance_id, "i-mine");
    assert_string_equal(reading.operation.new_instance, "i-mine");
    assert_int_equal(reading.operation.state, OPERATION_STATE_SUCCEEDED);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_INSTANCE_LAUNCHED, "i-mine"), 1);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_OPERATION_FAILED, NULL), 0);
    end(&sim);
}

/* --- reboot ------------------------------------------------------------------------------------ */
static void a_person_reboots(void **state)
{
    struct sim sim;
    (void)state;
    begin(&sim, 302);
    fall_off_the_bus(&sim, "gpu-1");
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_REPAIRING);
    assert_int_equal(sim_read(&sim, "gpu-1").operation.kind, OPERATION_KIND_REBOOT);
    assert_true(asks(&sim, "gpu-1", STEP_KIND_JOIN, "reboot this machine now"));
    assert_int_equal(step_of(&sim, "gpu-1", STEP_KIND_REBOOT).state, STEP_STATE_SKIPPED);
    sim_crash(&sim);
    sim_run(&sim, 20 * MS_PER_MIN);
    assert_true(asks(&sim, "gpu-1", STEP_KIND_JOIN, "reboot this machine now"));
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_STEP, "reboot this machine now"), 1);

    reboot(&sim, "gpu-1");
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 5 * MS_PER_MIN);
    struct sim_reading reading = sim_read(&sim, "gpu-1");
    assert_string_equal(reading.instance.instance_id, "i-first");
    assert_int_equal(reading.instance.state, INSTANCE_STATE_RUNNING);
    assert_int_equal(reading.operation.state, OPERATION_STATE_SUCCEEDED);
    assert_int_equal(reading.row.health, HEALTH_HEALTHY);
    end(&sim);
}

/* A machine of a person's is rebooted by its own agent, where its group says so: nobody is asked. */
static void an_agent_reboots_a_machine_of_a_persons(void **state)
{
    struct sim sim;
    (void)state;
    begin_with(&sim, 320, "{\"rebootMethods\":[\"agent\",\"provider\"]}");
    sim.agents_reboot = true;
    sim_run(&sim, MS_PER_MIN);
    fall_off_the_bus(&sim, "gpu-1");
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_int_equal(sim.agent_reboots, 1);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_STEP, "reboot this machine now"), 0);
    assert_int_equal(sim_read(&sim, "gpu-1").operation.state, OPERATION_STATE_SUCCEEDED);
    end(&sim);
}

/* The person is its provider, and comes in the order that the group says. */
static void a_person_is_asked_when_the_agent_may_not(void **state)
{
    struct sim sim;
    (void)state;
    begin_with(&sim, 321, "{\"rebootMethods\":[\"agent\",\"provider\"]}");
    fall_off_the_bus(&sim, "gpu-1");
    assert_true(asks(&sim, "gpu-1", STEP_KIND_JOIN, "reboot this machine now"));
    assert_int_equal(sim_read(&sim, "gpu-1").operation.tries[0].outcome, REBOOT_OUTCOME_REFUSED);
    reboot(&sim, "gpu-1");
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 5 * MS_PER_MIN);
    end(&sim);
}

/* That nobody came says nothing of the machine: it is not given up for another one. */
static void nobody_reboots(void **state)
{
    struct sim sim;
    struct operation op;
    struct problem problem;
    (void)state;
    begin(&sim, 303);
    fall_off_the_bus(&sim, "gpu-1");
    sim_run(&sim, MS_PER_DAY);
    struct sim_reading reading = sim_read(&sim, "gpu-1");
    assert_int_equal(reading.row.state, NODE_STATE_FAILED);
    assert_non_null(strstr(reading.row.reason, "reboot the machine, then release the node"));
    assert_int_equal(reading.operation.kind, OPERATION_KIND_REBOOT);
    assert_string_equal(reading.instance.instance_id, "i-first");

    reboot(&sim, "gpu-1");
    sim_run(&sim, 5 * MS_PER_MIN);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_FAILED);
    assert_int_equal(service_node_operate(&sim.service, &sim_admin, SIM_CLUSTER, "gpu-1", OPERATION_KIND_RELEASE,
                                          URGENCY_NOW, "rebooted", "", &op, &problem),
                     0);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 5 * MS_PER_MIN);
    end(&sim);
}

/* While it is only asked for, a reboot can be called off; the fault is still there. */
static void a_person_calls_a_reboot_off(void **state)
{
    struct sim sim;
    struct operation op;
    struct problem problem;
    (void)state;
    begin(&sim, 304);
    fall_off_the_bus(&sim, "gpu-1");
    op = sim_read(&sim, "gpu-1").operation;
    assert_int_equal(service_operation_cancel(&sim.service, &sim_admin, op.uid, &op, &problem), 0);
    sim_run(&sim, MS_PER_HOUR);
    struct sim_reading reading = sim_read(&sim, "gpu-1");
    assert_int_equal(reading.row.state, NODE_STATE_HELD);
    assert_int_equal(reading.operation.state, OPERATION_STATE_CANCELLED);
    assert_int_equal(reading.instance.state, INSTANCE_STATE_RUNNING);
    end(&sim);
}

/* Another machine in the slot is as good as another boot. */
static void a_new_machine_answers_a_reboot(void **state)
{
    struct sim sim;
    (void)state;
    begin(&sim, 305);
    fall_off_the_bus(&sim, "gpu-1");
    fake_provider_of_node(&sim.provider, "gpu-1")->gone = true;
    install(&sim, "gpu-1", "i-spare");
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 5 * MS_PER_MIN);
    struct sim_reading reading = sim_read(&sim, "gpu-1");
    assert_string_equal(reading.instance.instance_id, "i-spare");
    assert_int_equal(reading.operation.kind, OPERATION_KIND_REBOOT);
    assert_int_equal(reading.operation.state, OPERATION_STATE_SUCCEEDED);
    end(&sim);
}

/* --- replace ----------------------------------------------------------------------------------- */
/* The same fault twice: a reboot, then another machine. The process dies so many turns after each; 0: it does not. */
static void repeat_story(uint64_t die_after_turns)
{
    struct sim sim;
    begin(&sim, 306);
    sim.die_before_turn = die_after_turns == 0 ? 0 : sim.turns + die_after_turns;
    fall_off_the_bus(&sim, "gpu-1");
    assert_true(asks(&sim, "gpu-1", STEP_KIND_JOIN, "reboot this machine now"));
    reboot(&sim, "gpu-1");
    sim_run(&sim, 5 * MS_PER_MIN);
    if (sim_state(&sim, "gpu-1") != NODE_STATE_READY)
        sim_fail(&sim, "gpu-1", "not back from its reboot");

    sim.die_before_turn = die_after_turns == 0 ? 0 : sim.turns + die_after_turns;
    fall_off_the_bus(&sim, "gpu-1");
    sim_run(&sim, MS_PER_HOUR); /* the old agent still has its token, and tries to come back */
    struct sim_reading reading = sim_read(&sim, "gpu-1");
    assert_int_equal(reading.operation.kind, OPERATION_KIND_REPLACE);
    assert_int_equal(reading.row.state, NODE_STATE_STARTING);
    assert_int_equal(reading.row.instance_row, 0);
    assert_true(asks(&sim, "gpu-1", STEP_KIND_LAUNCH, "waits for a machine"));
    if (sim_events(&sim, "gpu-1", EVENT_KIND_INSTANCE_TERMINATED, "i-first was let go: take this machine out") != 1)
        sim_fail(&sim, "gpu-1", "asked for the removal not once");
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_STEP, "reboot this machine now"), 1);

    install(&sim, "gpu-1", "i-spare");
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 5 * MS_PER_MIN);
    reading = sim_read(&sim, "gpu-1");
    assert_string_equal(reading.instance.instance_id, "i-spare");
    assert_string_equal(reading.operation.old_instance, "i-first");
    assert_string_equal(reading.operation.new_instance, "i-spare");
    assert_int_equal(sim.crashes, die_after_turns == 0 ? 0 : 2);
    end(&sim);
}

static void a_fault_that_repeats_asks_for_another_machine(void **state)
{
    (void)state;
    for (uint64_t turns = 0; turns <= TURNS_OF_A_REPAIR; turns++)
        repeat_story(turns);
}

/* The scheduler shows the first machine's address, or one that people gave the node; what it shows when another machine came. */
static void address_story(const char *shown, const char *told, const char *expected)
{
    struct sim sim;
    sim_open(&sim, 320, true);
    create_under(&sim, 1, ORCHESTRATOR_SLURM);
    struct fake_scheduler_node *node = fake_scheduler_add(&sim.scheduler, "gpu-1");
    snprintf(node->address, sizeof(node->address), "%s", shown);
    struct fake_instance *first = install(&sim, "gpu-1", "i-first");
    snprintf(first->address, sizeof(first->address), "10.0.0.1");
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 5 * MS_PER_MIN);
    assert_string_equal(node->address, shown); /* the slot's first machine is where the site says */
    fall_off_the_bus(&sim, "gpu-1");
    first->gone = true;
    struct fake_instance *spare = install(&sim, "gpu-1", "i-spare");
    snprintf(spare->address, sizeof(spare->address), "%s", told);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    assert_string_equal(sim_read(&sim, "gpu-1").instance.instance_id, "i-spare");
    assert_string_equal(node->address, expected);
    end(&sim);
}

static void the_scheduler_learns_where_another_machine_stands(void **state)
{
    (void)state;
    address_story("10.0.0.1", "10.0.0.2", "10.0.0.2");
    address_story("10.0.0.1", "10.0.0.1", "10.0.0.1");
    address_story("10.0.0.1", "", "10.0.0.1");
    address_story("gpu-1.example.org", "10.0.0.2", "gpu-1.example.org");
}

/* A third machine, and a scheduler that shows the first one's address again: what it was told of the second is forgotten. */
static void any_machine_before_counts(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 321, true);
    create_under(&sim, 1, ORCHESTRATOR_SLURM);
    struct fake_scheduler_node *node = fake_scheduler_add(&sim.scheduler, "gpu-1");
    snprintf(node->address, sizeof(node->address), "10.0.0.1");
    struct fake_instance *machine = install(&sim, "gpu-1", "i-1");
    snprintf(machine->address, sizeof(machine->address), "10.0.0.1");
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 5 * MS_PER_MIN);
    for (int i = 2; i < 4; i++) {
        fall_off_the_bus(&sim, "gpu-1");
        machine->gone = true;
        snprintf(node->address, sizeof(node->address), "10.0.0.1");
        char id[16];
        snprintf(id, sizeof(id), "i-%d", i);
        machine = install(&sim, "gpu-1", id);
        snprintf(machine->address, sizeof(machine->address), "10.0.0.%d", i);
        sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
        assert_string_equal(node->address, machine->address);
    }
    for (int i = 1; i < 3; i++) {
        snprintf(node->address, sizeof(node->address), "10.0.0.%d", i);
        sim_run(&sim, MS_PER_MIN);
        assert_string_equal(node->address, "10.0.0.3");
    }
    end(&sim);
}

static void tell_host(struct sim *sim, const struct fake_instance *instance, const char *host)
{
    struct problem problem;
    autofree struct machine_report *report = own_calloc(1, sizeof(*report));
    *report = (struct machine_report){.hardware_known = true, .hardware_count = host[0] != '\0'};
    text_copy_cut(report->instance_id, sizeof(report->instance_id), instance->id);
    text_copy_cut(report->boot_id, sizeof(report->boot_id), instance->boot_id);
    report->hardware[0].kind = HARDWARE_KIND_HOST_NAME;
    text_copy_cut(report->hardware[0].detail, sizeof(report->hardware[0].detail), host);
    assert_int_equal(service_agent_machine(&sim->service, instance->node_row, report, &problem), 0);
}

/* What the scheduler shows of the name, what the first machine told of it, what the second tells, and what is shown then. */
static void host_story(const char *shown, const char *first_told, const char *told, const char *expected)
{
    struct sim sim;
    sim_open(&sim, 322, true);
    create_under(&sim, 1, ORCHESTRATOR_SLURM);
    struct fake_scheduler_node *node = fake_scheduler_add(&sim.scheduler, "gpu-1");
    snprintf(node->address, sizeof(node->address), "10.0.0.1");
    snprintf(node->host, sizeof(node->host), "%s", shown);
    struct fake_instance *first = install(&sim, "gpu-1", "i-first");
    snprintf(first->address, sizeof(first->address), "10.0.0.1");
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 5 * MS_PER_MIN);
    tell_host(&sim, first, first_told);
    sim_run(&sim, MS_PER_MIN);
    assert_string_equal(node->host, shown); /* the slot's first machine is called as the site says */
    fall_off_the_bus(&sim, "gpu-1");
    first->gone = true;
    struct fake_instance *spare = install(&sim, "gpu-1", "i-spare");
    snprintf(spare->address, sizeof(spare->address), "10.0.0.2");
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 10 * MS_PER_MIN);
    sim_run(&sim, MS_PER_MIN);
    assert_string_equal(node->host, shown); /* the second has not told yet */
    tell_host(&sim, spare, told);
    sim_run(&sim, 6 * MS_PER_MIN); /* it is asked for ever more rarely */
    assert_string_equal(node->host, expected);
    assert_int_equal(node->renames, strcmp(shown, expected) != 0);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_SCHEDULER_ADDRESS, "is called"), node->renames);

    snprintf(node->host, sizeof(node->host), "%s", shown); /* it reads its file again, after hpd was restarted */
    sim_crash(&sim);
    sim_run(&sim, MS_PER_MIN);
    assert_string_equal(node->host, expected);
    snprintf(node->host, sizeof(node->host), "alias-of-ann"); /* a name of somebody's stays */
    sim_run(&sim, MS_PER_MIN);
    assert_string_equal(node->host, "alias-of-ann");
    snprintf(node->address, sizeof(node->address), "192.0.2.7"); /* and one at an address of somebody's */
    snprintf(node->host, sizeof(node->host), "%s", shown);
    sim_run(&sim, MS_PER_MIN);
    assert_string_equal(node->host, shown);
    end(&sim);
}

static void the_scheduler_learns_what_another_machine_is_called(void **state)
{
    (void)state;
    host_story("gpu-1", "", "ip-10-0-0-2", "ip-10-0-0-2");
    host_story("localhost", "ip-10-0-0-1", "ip-10-0-0-2", "ip-10-0-0-2");
    host_story("ip-10-0-0-1", "ip-10-0-0-1", "ip-10-0-0-2", "ip-10-0-0-2");
    host_story("ip-10-0-0-1", "", "ip-10-0-0-2", "ip-10-0-0-1"); /* nobody knows whose name that is */
    host_story("gpu-1", "ip-10-0-0-1", "", "gpu-1");
    host_story("gpu-1", "ip-10-0-0-1", "two words", "gpu-1");
    host_story("gpu-1", "ip-10-0-0-1", "gpu-1", "gpu-1");
    host_story("", "ip-10-0-0-1", "ip-10-0-0-2", "");
}

/* --- delete ------------------------------------------------------------------------------------ */
static void a_cluster_of_machines_can_go(void **state)
{
    struct sim sim;
    struct cluster cluster;
    struct problem problem;
    struct db_tx *tx = NULL;
    (void)state;
    sim_open(&sim, 307, false);
    create(&sim, 2);
    install(&sim, "gpu-1", "i-first"); /* gpu-2 still waits for a machine */
    sim_until(&sim, "gpu-1", NODE_STATE_READY, 5 * MS_PER_MIN);
    assert_int_equal(service_cluster_delete(&sim.service, &sim_admin, SIM_CLUSTER, &cluster, &problem), 0);
    sim_run(&sim, 5 * MS_PER_MIN);
    assert_int_equal(db_read_begin(sim.service.db, &tx), 0);
    assert_int_equal(db_cluster_get(tx, SIM_CLUSTER, &cluster), STATUS_NOT_FOUND);
    db_read_end(sim.service.db, tx);
    end(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_slot_waits_for_its_machine),
        cmocka_unit_test(a_person_reboots),
        cmocka_unit_test(an_agent_reboots_a_machine_of_a_persons),
        cmocka_unit_test(a_person_is_asked_when_the_agent_may_not),
        cmocka_unit_test(nobody_reboots),
        cmocka_unit_test(a_person_calls_a_reboot_off),
        cmocka_unit_test(a_new_machine_answers_a_reboot),
        cmocka_unit_test(a_fault_that_repeats_asks_for_another_machine),
        cmocka_unit_test(the_scheduler_learns_where_another_machine_stands),
        cmocka_unit_test(any_machine_before_counts),
        cmocka_unit_test(the_scheduler_learns_what_another_machine_is_called),
        cmocka_unit_test(a_cluster_of_machines_can_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
