/* A scheduler that denies what a repair needs: the repair waits for the right, says so, and goes on. */
#include "policy/faults/faults.h"
#include "tests/sim/sim_world.h"

#define OFF_THE_BUS 79
#define WATCHED 121

static int cordons(struct sim *sim)
{
    return fake_scheduler_find(&sim->scheduler, "gpu-1")->marks;
}

static int evictions(struct sim *sim)
{
    return fake_scheduler_find(&sim->scheduler, "gpu-1")->evictions;
}

static int reboots(struct sim *sim)
{
    return sim->provider.reboots;
}

/* Taken away before a repair begins, while jobs may end, after they were told to go, and before the node is given back; hpd is killed in between. */
static void a_right_that_is_missing_is_waited_for(void **state)
{
    static const struct {
        int (*from)(struct sim *sim);
        const char *step;
    } cases[] = {{NULL, "mark"}, {cordons, "drain"}, {evictions, "drain"}, {reboots, "resume"}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sim sim;
        sim_open(&sim, 42, true);
        sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
        sim_run(&sim, MS_PER_MIN);
        fake_scheduler_find(&sim.scheduler, "gpu-1")->jobs = 1;
        sim.scheduler.denies = cases[i].from == NULL;
        sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
        for (int n = 0; n < 7200 && cases[i].from != NULL && cases[i].from(&sim) == 0; n++)
            sim_run(&sim, MS_PER_S);
        sim.scheduler.denies = true;
        autofree char *said =
            own_printf("%s waits for a right in the scheduler: User hpd cannot change node", cases[i].step);
        sim_run(&sim, 2 * MS_PER_HOUR);
        assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_STEP, said), 1);
        sim_crash(&sim);
        sim_run(&sim, 2 * MS_PER_HOUR);
        assert_true(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_STEP, said) <= 2); /* once more after a start */
        assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_FAILED, ""), 0);
        sim.scheduler.denies = false;
        sim_until(&sim, "gpu-1", NODE_STATE_READY, 2 * MS_PER_HOUR);
        assert_int_equal(sim.provider.reboots, 1);
        assert_int_equal(evictions(&sim), 1);
        sim_close(&sim);
    }
}

/* As of an admission webhook: it may never pass, so a person is to look at it. */
static void another_refusal_has_a_deadline(void **state)
{
    static int (*const from[])(struct sim * sim) = {NULL, cordons, reboots};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(from); i++) {
        struct sim sim;
        sim_open(&sim, 43, true);
        sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
        sim_run(&sim, MS_PER_MIN);
        fake_scheduler_find(&sim.scheduler, "gpu-1")->jobs = 1;
        sim.scheduler.refuses = from[i] == NULL;
        sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
        for (int n = 0; n < 7200 && from[i] != NULL && from[i](&sim) == 0; n++)
            sim_run(&sim, MS_PER_S);
        sim.scheduler.refuses = true;
        sim_run(&sim, 6 * MS_PER_HOUR);
        assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_STEP, "waits for a right"), 0);
        assert_true(sim_events(&sim, "gpu-1", EVENT_KIND_OPERATION_FAILED, "denied the request") > 0);
        sim_close(&sim);
    }
}

/* Others of which nothing is to be shown need no right: they do not say that it is there. */
static void faults_that_may_not_be_shown_are_told_once(void **state)
{
    static const char told[] = "faults cannot be shown in the scheduler";
    struct sim sim;
    (void)state;
    sim_open(&sim, 44, true);
    sim.scheduler.shows_faults = sim.scheduler.denies_faults = true;
    sim_crash(&sim);
    sim_create(&sim, 4, NODE_RECOVERY_NONE);
    sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_SCHEDULER_DESIRED, told), 1);
    for (int i = 2; i <= 4; i++) {
        char name[16];
        snprintf(name, sizeof(name), "gpu-%d", i);
        sim_verdict(&sim, name, WATCHED, SEVERITY_WARN);
        sim_run(&sim, 10 * MS_PER_MIN);
    }
    assert_true(sim.scheduler.cleared > 0);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_SCHEDULER_DESIRED, told), 1);
    sim.scheduler.denies_faults = false;
    sim_run(&sim, 10 * MS_PER_MIN);
    sim.scheduler.denies_faults = true;
    sim_verdict(&sim, "gpu-2", OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_run(&sim, 10 * MS_PER_MIN);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_SCHEDULER_DESIRED, told), 2); /* taken away again */
    sim_close(&sim);
}

/* There is room for 20: what is beyond is said beside them. */
static void faults_beyond_those_that_are_shown_are_said(void **state)
{
    static const char more[] = "(More faults than shown here: hpctl node explain gpu-1.)";
    struct sim sim;
    (void)state;
    sim_open(&sim, 45, true);
    sim.scheduler.shows_faults = true;
    sim_crash(&sim);
    sim_create(&sim, 4, NODE_RECOVERY_NONE);
    for (int n = 1, xid = 1; n <= 21; xid++) {
        char code[CODE_MAX_BYTES];
        snprintf(code, sizeof(code), "xid.%d", xid);
        if (fault_find(code) == NULL)
            continue;
        sim_verdict(&sim, "gpu-1", xid, SEVERITY_CRITICAL);
        if (++n <= 20)
            continue;
        sim_run(&sim, 2 * MS_PER_MIN);
        assert_true(sim.scheduler.sentence[0] != '\0');
        assert_int_equal(strstr(sim.scheduler.sentence, more) != NULL, n > 21);
    }
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_right_that_is_missing_is_waited_for),
        cmocka_unit_test(another_refusal_has_a_deadline),
        cmocka_unit_test(faults_that_may_not_be_shown_are_told_once),
        cmocka_unit_test(faults_beyond_those_that_are_shown_are_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
