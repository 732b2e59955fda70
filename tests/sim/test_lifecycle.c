/* Stories of lifecycle scripts: they run once on every new machine, before it takes work. */
#include "db/event.h"
#include "db/intern.h"
#include "server/service/node/node.h"
#include "tests/sim/sim_world.h"

static void open_world(struct sim *sim, uint64_t seed, const char *spec)
{
    sim_open(sim, seed, true);
    sim->spec = spec;
}

static void replace(struct sim *sim, const char *node)
{
    struct operation op;
    struct problem problem = {0};
    if (service_node_operate(&sim->service, &sim_admin, SIM_CLUSTER, node, OPERATION_KIND_REPLACE, URGENCY_NOW,
                             "because", "", &op, &problem) != 0)
        sim_fail(sim, node, "%s", problem.detail);
}

static struct operation_step step_of(struct sim *sim, const char *node, enum step_kind kind)
{
    struct operation op = sim_read(sim, node).operation;
    for (int i = 0; i < op.step_count; i++)
        if (op.steps[i].kind == kind)
            return op.steps[i];
    fail_msg("%s has no step %s", operation_kind_text(op.kind), step_kind_text(kind));
    return (struct operation_step){0};
}

static void a_group_without_scripts_is_not_held_up(void **state)
{
    static const char *const specs[] = {NULL, "{}", "{\"lifecycle\":{}}",
                                        "{\"lifecycle\":{\"source\":\"s3://bucket/x\"}}"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        struct sim sim;
        open_world(&sim, 91, specs[i]);
        sim_create(&sim, 1, NODE_RECOVERY_AUTOMATIC);
        struct operation_step step = step_of(&sim, "gpu-1", STEP_KIND_PREPARE);
        assert_int_equal(step.state, STEP_STATE_SKIPPED);
        assert_string_equal(step.detail, "");
        assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_LIFECYCLE_SCRIPT, NULL), 0);
        assert_int_equal(sim_events(&sim, NULL, -1, "prepare"), 0);
        sim_close(&sim);
    }
}

static void scripts_run_once_on_every_new_machine(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, 92, SIM_SCRIPT);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    for (int i = 0; i < sim.provider.count; i++)
        assert_int_equal(sim.provider.instances[i].scripts_run, 1);
    assert_int_equal(step_of(&sim, "gpu-1", STEP_KIND_PREPARE).state, STEP_STATE_DONE);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_LIFECYCLE_SCRIPT, NULL), 2);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_LIFECYCLE_SCRIPT, "on_create.sh succeeded"), 1);

    sim_verdict(&sim, "gpu-1", 79, SEVERITY_CRITICAL); /* a reboot: the same machine */
    sim_until(&sim, "gpu-1", NODE_STATE_REPAIRING, MS_PER_HOUR);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_LIFECYCLE_SCRIPT, NULL), 2);

    replace(&sim, "gpu-1");
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    assert_int_equal(fake_provider_of_node(&sim.provider, "gpu-1")->scripts_run, 1);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_LIFECYCLE_SCRIPT, NULL), 4);
    sim_close(&sim);
}

static void a_script_may_fail_before_it_succeeds(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, 93, SIM_SCRIPT);
    sim.scripts_fail = 2;
    sim_create(&sim, 1, NODE_RECOVERY_AUTOMATIC);
    assert_int_equal(sim.provider.instances[0].scripts_run, 3);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_LIFECYCLE_SCRIPT, "failed"), 2);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_LIFECYCLE_SCRIPT, "started"), 3);
    sim_close(&sim);
}

static int find_failed(const void *row, void *arg)
{
    const struct event *event = row;
    if (event->kind == EVENT_KIND_LIFECYCLE_SCRIPT && event->level == EVENT_LEVEL_ERROR)
        *(struct event *)arg = *event;
    return 0;
}

static void a_script_that_fails_for_good_fails_the_launch(void **state)
{
    struct sim sim;
    struct event event = {0};
    struct db_tx *tx = NULL;
    const struct db_event_filter filter = {.node = "gpu-1", .limit = 1000};
    (void)state;
    open_world(&sim, 94, SIM_SCRIPT);
    sim.scripts_fail = 100;
    sim_ask(&sim, 1, NODE_RECOVERY_AUTOMATIC);
    sim_until(&sim, "gpu-1", NODE_STATE_FAILED, MS_PER_HOUR);
    struct sim_reading failed = sim_read(&sim, "gpu-1");
    assert_int_equal(sim.provider.instances[0].scripts_run, 3);
    assert_string_equal(failed.operation.error,
                        "prepare: lifecycle script failed: on_create.sh ended with exit code 3; log "
                        "/x/lifecycle.log");
    assert_non_null(strstr(failed.row.reason, "release or replace the node"));
    assert_int_equal(db_read_begin(sim.service.db, &tx), 0);
    assert_int_equal(db_event_list(tx, &filter, find_failed, &event), 0);
    db_read_end(sim.service.db, tx);
    assert_string_equal(event.script_state, "Failed");
    assert_string_equal(event.failure,
                        "on_create.sh ended with exit code 3; log /x/lifecycle.log; last lines: no such device");

    sim.scripts_fail = 0; /* it was repaired; a new machine runs it */
    replace(&sim, "gpu-1");
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    sim_close(&sim);
}

static void release(struct sim *sim, const char *node)
{
    struct operation op;
    struct problem problem = {0};
    if (service_node_operate(&sim->service, &sim_admin, SIM_CLUSTER, node, OPERATION_KIND_RELEASE, URGENCY_NOW,
                             "because", "", &op, &problem) != 0)
        sim_fail(sim, node, "%s", problem.detail);
}

/* Whoever gives a node back that never got through its scripts has them run on the same machine, until they succeed. */
static void a_release_runs_what_had_failed(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, 99, SIM_SCRIPT);
    sim.scripts_fail = 100;
    sim_ask(&sim, 1, NODE_RECOVERY_AUTOMATIC);
    sim_until(&sim, "gpu-1", NODE_STATE_FAILED, MS_PER_HOUR);
    assert_int_equal(sim.provider.instances[0].scripts_run, 3);

    release(&sim, "gpu-1"); /* too early */
    sim_until(&sim, "gpu-1", NODE_STATE_FAILED, MS_PER_HOUR);
    assert_int_equal(step_of(&sim, "gpu-1", STEP_KIND_PREPARE).state, STEP_STATE_FAILED);
    assert_int_equal(sim.provider.instances[0].scripts_run, 4);

    sim.scripts_fail = 0;
    release(&sim, "gpu-1");
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    assert_int_equal(step_of(&sim, "gpu-1", STEP_KIND_PREPARE).state, STEP_STATE_DONE);
    assert_int_equal(sim.provider.instances[0].scripts_run, 5);
    assert_int_equal(sim.provider.launches, 1);
    sim_close(&sim);
}

/* A machine that is through with them is given back without. */
static void a_release_runs_nothing_again(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, 100, SIM_SCRIPT);
    sim_create(&sim, 1, NODE_RECOVERY_AUTOMATIC);
    for (int i = 0; i < 2; i++) { /* the second time, another release is the last that was done to it */
        sim_verdict(&sim, "gpu-1", 78, SEVERITY_CRITICAL); /* for a person */
        sim_until(&sim, "gpu-1", NODE_STATE_HELD, MS_PER_HOUR);
        release(&sim, "gpu-1");
        sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
        assert_int_equal(step_of(&sim, "gpu-1", STEP_KIND_PREPARE).state, STEP_STATE_SKIPPED);
        assert_int_equal(sim.provider.instances[0].scripts_run, 1);
    }
    sim_close(&sim);
}

static void time_is_limited(void **state)
{
    (void)state;
    for (int old = 0; old < 2; old++) {
        struct sim sim;
        open_world(&sim, 95, SIM_SCRIPT);
        sim.scripts_stall = old == 0;
        sim.agents_know_nothing = old == 1;
        sim_ask(&sim, 1, NODE_RECOVERY_AUTOMATIC);
        sim_until(&sim, "gpu-1", NODE_STATE_FAILED, 2 * sim.settings.prepare_deadline_ms);
        struct sim_reading failed = sim_read(&sim, "gpu-1");
        if (strstr(failed.operation.error, old ? "an agent that knows lifecycle scripts" : "started") == NULL)
            sim_fail(&sim, "gpu-1", "%s", failed.operation.error);
        char key[KEY_MAX_BYTES];
        assert_int_equal(
            agent_tasks_key(fleet_agent_tasks(sim.service.fleet), failed.row.id, failed.instance.instance_id, key),
            AGENT_TASK_NONE);
        sim_close(&sim);
    }
}

static void what_cannot_be_carried_out_is_said_at_once(void **state)
{
    static const struct {
        const char *config, *says;
    } cases[] = {
        {"\"source\":\"http://host/x\",\"onCreate\":\"a.sh\"", "the source: it must be https://"},
        {"\"source\":\"file://host/x\",\"onCreate\":\"a.sh\"", "the source: it must be https://"},
        {"\"source\":\"/x\",\"onCreate\":\"a.sh\"", "the source: it must be https://"},
        {"\"onCreate\":\"a.sh\"", "the source: there are scripts to run"},
        {"\"source\":\"file:///x\",\"onCreate\":\"../a.sh\"", "script: it must name a file below"},
        {"\"source\":\"file:///x\",\"onCreate\":\"a/../../b\"", "script: it must name a file below"},
        {"\"source\":\"file:///x\",\"onCreate\":\"/bin/sh\"", "script: it must name a file below"},
        {"\"source\":\"file:///x\",\"onCreate\":\"a.sh\",\"onInitComplete\":\"b/\"",
         "script: it must name a file below"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sim sim;
        autofree char *spec = own_printf("{\"lifecycle\":{%s}}", cases[i].config);
        open_world(&sim, 96, spec);
        sim_ask(&sim, 1, NODE_RECOVERY_AUTOMATIC);
        sim_until(&sim, "gpu-1", NODE_STATE_FAILED, 10 * MS_PER_MIN);
        struct sim_reading failed = sim_read(&sim, "gpu-1");
        if (strstr(failed.operation.error, cases[i].says) == NULL)
            sim_fail(&sim, "gpu-1", "%s: %s", cases[i].config, failed.operation.error);
        sim_close(&sim);
    }
}

/* Dead before every turn once: the scripts still run once on the machine, and are told once. */
static void a_crash_runs_nothing_twice(void **state)
{
    uint64_t all = 0;
    (void)state;
    for (uint64_t die = 0; die <= all; die++) {
        struct sim sim;
        open_world(&sim, 97, SIM_SCRIPT);
        sim.scripts_fail = 1;
        sim.die_before_turn = die;
        sim_create(&sim, 1, NODE_RECOVERY_AUTOMATIC);
        if (die == 0)
            all = sim.turns;
        assert_int_equal(sim.provider.launches, 1);
        if (sim.provider.instances[0].scripts_run != 2 ||
            sim_events(&sim, "gpu-1", EVENT_KIND_LIFECYCLE_SCRIPT, NULL) != 4)
            sim_fail(&sim, "gpu-1", "died before turn %" PRIu64 ": %d runs", die,
                     sim.provider.instances[0].scripts_run);
        sim_close(&sim);
    }
}

static void who_was_replaced_is_heard_no_more(void **state)
{
    struct sim sim;
    struct problem problem = {0};
    struct lifecycle_report report = {.state = SCRIPT_STATE_SUCCEEDED, .final = true};
    struct lifecycle_job job;
    autofree char *resources = NULL;
    (void)state;
    open_world(&sim, 98, SIM_SCRIPT);
    sim.scripts_stall = true;
    sim_ask(&sim, 1, NODE_RECOVERY_AUTOMATIC);
    for (int i = 0; sim_events(&sim, "gpu-1", EVENT_KIND_LIFECYCLE_SCRIPT, NULL) == 0; i++) {
        assert_true(i < 10000);
        sim_tick(&sim, INT64_MAX);
    }
    int64_t node = sim_read(&sim, "gpu-1").row.id;
    snprintf(report.key, sizeof(report.key), "an earlier order");
    assert_int_equal(service_agent_report_work(&sim.service, node, &report, "", &problem), STATUS_STALE);
    assert_int_equal(service_agent_work(&sim.service, node, "10.1.2.3", &job, &resources, &problem), 0);
    assert_non_null(strstr(resources, "\"CustomerIpAddress\": \"10.1.2.3\""));
    assert_non_null(strstr(resources, "\"InstanceName\": \"gpu-1\""));
    assert_non_null(strstr(resources, "\"ClusterName\": \"" SIM_CLUSTER "\""));
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_STARTING);
    sim_close(&sim);
}

static int write_spec(struct db_tx *tx, void *arg)
{
    autofree char *sql = own_printf("UPDATE group_spec SET spec = '%s'", (const char *)arg);
    return db_exec(tx, sql);
}

/* Whether there are scripts is not known then: the machine waits, and is neither given work without them nor given up. */
static void a_description_that_cannot_be_read_holds_it_up(void **state)
{
    static char spoiled[] = "{\"lifecycle\":7}", whole[] = SIM_SCRIPT;
    struct sim sim;
    (void)state;
    open_world(&sim, 101, SIM_SCRIPT);
    sim_create(&sim, 1, NODE_RECOVERY_AUTOMATIC);
    replace(&sim, "gpu-1");
    assert_int_equal(db_write(sim.service.db, "test", write_spec, spoiled), 0);
    sim_run(&sim, 20 * MS_PER_MIN);
    assert_int_equal(sim_state(&sim, "gpu-1"), NODE_STATE_STARTING);
    assert_int_equal(sim_events(&sim, "gpu-1", -1, "prepare does not succeed yet: the stored description"), 1);
    assert_int_equal(fake_provider_of_node(&sim.provider, "gpu-1")->scripts_run, 0);
    assert_int_equal(db_write(sim.service.db, "test", write_spec, whole), 0);
    sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    assert_int_equal(fake_provider_of_node(&sim.provider, "gpu-1")->scripts_run, 1);
    sim_close(&sim);
}

/* A group of that name and role beside the one with scripts. */
static void ask_with(struct sim *sim, const char *name, const char *role)
{
    autofree char *other = own_printf("{\"slurm\":{\"role\":\"%s\"}}", role);
    struct service_group_spec groups[] = {
        {.name = "gpu", .instance_type = "test", .provider = "fake", .spec = group_spec_of(SIM_SCRIPT)},
        {.instance_type = "test", .provider = "fake", .spec = group_spec_of(other)}};
    text_copy_cut(groups[1].name, sizeof(groups[1].name), name);
    groups[0].instance_count = groups[1].instance_count = 1;
    struct service_cluster_spec spec = {.name = SIM_CLUSTER,
                                        .recovery = NODE_RECOVERY_AUTOMATIC,
                                        .groups = groups,
                                        .group_count = ARRAY_LEN(groups),
                                        .orchestrator = ORCHESTRATOR_SLURM};
    struct cluster cluster;
    struct problem problem = {0};
    if (service_cluster_create(&sim->service, &sim_admin, &spec, &cluster, &problem) != 0)
        fail_msg("cluster: %s", problem.detail);
    sim->nodes = 1;
    fake_scheduler_add(&sim->scheduler, "gpu-1");
}

/* Scripts of workers take the controller's address from resource_config.json: they begin when it is known, or when it is told that it is not. */
static void workers_wait_for_the_controllers_address(void **state)
{
    (void)state;
    for (int told = 0; told < 2; told++) {
        struct sim sim;
        sim_open(&sim, 101 + (uint64_t)told, true);
        ask_with(&sim, "ctl", "controller");
        struct fake_instance *controller = NULL;
        for (int i = 0; i < 600 && controller == NULL; i++) {
            sim_run(&sim, 200);
            controller = fake_provider_of_node(&sim.provider, "ctl-1");
        }
        assert_non_null(controller);
        if (told)
            snprintf(controller->address, sizeof(controller->address), "10.0.0.1");
        sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
        struct operation_step step = step_of(&sim, "gpu-1", STEP_KIND_PREPARE);
        assert_int_equal(step.state, STEP_STATE_DONE);
        assert_int_equal(
            sim_events(&sim, "gpu-1", EVENT_KIND_LIFECYCLE_SCRIPT, "Agents of the group ctl report no address"), !told);
        if (!told)
            assert_true(step.finished_at - step.started_at >= 15 * MS_PER_S);
        sim_close(&sim);
    }
}

/* The same of a group that is no controller: but one whose machine does not come holds up the others for two minutes only. */
static void scripts_wait_for_the_addresses_of_other_groups(void **state)
{
    enum { TOLD, UNTOLD, NO_MACHINE };
    (void)state;
    for (int which = TOLD; which <= NO_MACHINE; which++) {
        struct sim sim;
        sim_open(&sim, 111 + (uint64_t)which, true);
        if (which == NO_MACHINE)
            snprintf(sim.provider.cursed, sizeof(sim.provider.cursed), "login-1");
        ask_with(&sim, "login", "login");
        struct fake_instance *login = NULL;
        for (int i = 0; i < 600 && login == NULL && which != NO_MACHINE; i++) {
            sim_run(&sim, 200);
            login = fake_provider_of_node(&sim.provider, "login-1");
        }
        if (which == TOLD)
            snprintf(login->address, sizeof(login->address), "10.0.0.1");
        sim_until(&sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
        const char *said = which == NO_MACHINE ? "No address of the group login is known"
                                               : "Agents of the group login report no address";
        assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_LIFECYCLE_SCRIPT, said), which != TOLD);
        struct operation_step step = step_of(&sim, "gpu-1", STEP_KIND_PREPARE);
        if (which == NO_MACHINE)
            assert_true(step.finished_at - step.started_at >= 2 * MS_PER_MIN &&
                        step.finished_at - step.started_at < 5 * MS_PER_MIN);
        sim_close(&sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_without_scripts_is_not_held_up),
        cmocka_unit_test(scripts_run_once_on_every_new_machine),
        cmocka_unit_test(a_script_may_fail_before_it_succeeds),
        cmocka_unit_test(a_script_that_fails_for_good_fails_the_launch),
        cmocka_unit_test(a_release_runs_what_had_failed),
        cmocka_unit_test(a_release_runs_nothing_again),
        cmocka_unit_test(time_is_limited),
        cmocka_unit_test(what_cannot_be_carried_out_is_said_at_once),
        cmocka_unit_test(a_crash_runs_nothing_twice),
        cmocka_unit_test(who_was_replaced_is_heard_no_more),
        cmocka_unit_test(a_description_that_cannot_be_read_holds_it_up),
        cmocka_unit_test(workers_wait_for_the_controllers_address),
        cmocka_unit_test(scripts_wait_for_the_addresses_of_other_groups),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
