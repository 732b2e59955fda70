/* Groups whose nodes are always replaced where a job that resumes by itself had them: which nodes that is, and which not. */
#include "server/service/job/job.h"
#include "tests/sim/sim_world.h"

#define OFF_THE_BUS 79

static void open_world(struct sim *sim, const char *spec)
{
    sim_open(sim, 41, true);
    sim->spec = spec;
    sim_create(sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(sim, MS_PER_MIN);
}

static void take_no_broken(const char *node, const char *state, const char *why, void *arg)
{
    (void)node;
    (void)state;
    (void)why;
    (void)arg;
}

/* As hp-auto-resume does while a step runs, and when it has ended. */
static void tell(struct sim *sim, const char *nodes, enum attempt_state state)
{
    struct job_attempt attempt = {.state = state};
    enum resume_action action;
    struct problem problem = {0};
    text_copy_cut(attempt.job, sizeof(attempt.job), "7");
    text_copy_cut(attempt.nodes, sizeof(attempt.nodes), nodes);
    assert_int_equal(
        service_job_diagnose(&sim->service, SIM_CLUSTER, &attempt, take_no_broken, NULL, &action, &problem), 0);
}

static enum operation_kind repair_of(struct sim *sim, const char *node)
{
    sim_verdict(sim, node, OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(sim, MS_PER_HOUR);
    struct sim_reading reading = sim_read(sim, node);
    assert_int_equal(reading.row.state, NODE_STATE_READY);
    assert_int_equal(reading.operation.state, OPERATION_STATE_SUCCEEDED);
    return reading.operation.kind;
}

static void a_node_that_such_a_job_had_is_replaced(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, "{\"autoResumeReplaces\":true}");
    tell(&sim, "gpu-[1-2]", ATTEMPT_STATE_RUNNING);
    assert_int_equal(repair_of(&sim, "gpu-1"), OPERATION_KIND_REPLACE);
    assert_int_equal(repair_of(&sim, "gpu-3"), OPERATION_KIND_REBOOT); /* it had none of its nodes */
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_DECISION, "auto-resume-replaces"), 1);
    sim_close(&sim);
}

/* The step failed some seconds before the driver's line came, and nobody runs it again. */
static void a_node_whose_step_has_just_ended_is_replaced(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, "{\"autoResumeReplaces\":true}");
    tell(&sim, "gpu-1", ATTEMPT_STATE_RUNNING);
    tell(&sim, "gpu-1", ATTEMPT_STATE_ENDED);
    sim_run(&sim, 3 * MS_PER_S);
    assert_int_equal(repair_of(&sim, "gpu-1"), OPERATION_KIND_REPLACE);
    sim_close(&sim);
}

static void a_node_that_such_a_job_had_long_ago_is_rebooted(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, "{\"autoResumeReplaces\":true}");
    tell(&sim, "gpu-1", ATTEMPT_STATE_RUNNING);
    tell(&sim, "gpu-1", ATTEMPT_STATE_ENDED);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(repair_of(&sim, "gpu-1"), OPERATION_KIND_REBOOT);
    sim_close(&sim);
}

/* Nobody hears it for ten minutes before it is decided on: its job has other nodes by then. */
static void a_node_that_nobody_hears_is_replaced(void **state)
{
    struct sim sim;
    (void)state;
    open_world(&sim, "{\"autoResumeReplaces\":true}");
    tell(&sim, "gpu-[1-2]", ATTEMPT_STATE_RUNNING);
    fake_provider_of_node(&sim.provider, "gpu-1")->muted = true; /* agent and node daemon both */
    sim_run(&sim, 2 * MS_PER_MIN);
    tell(&sim, "gpu-[1-2]", ATTEMPT_STATE_ENDED);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_read(&sim, "gpu-1").operation.kind, OPERATION_KIND_REPLACE);
    sim_close(&sim);
}

static void a_group_that_does_not_say_so_reboots(void **state)
{
    static const char *const specs[] = {NULL, "{\"autoResumeReplaces\":false}"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(specs); i++) {
        struct sim sim;
        open_world(&sim, specs[i]);
        tell(&sim, "gpu-[1-2]", ATTEMPT_STATE_RUNNING);
        assert_int_equal(repair_of(&sim, "gpu-1"), OPERATION_KIND_REBOOT);
        sim_close(&sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_node_that_such_a_job_had_is_replaced),
        cmocka_unit_test(a_node_whose_step_has_just_ended_is_replaced),
        cmocka_unit_test(a_node_that_such_a_job_had_long_ago_is_rebooted),
        cmocka_unit_test(a_node_that_nobody_hears_is_replaced),
        cmocka_unit_test(a_group_that_does_not_say_so_reboots),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
