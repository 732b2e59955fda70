/*
 * Killed at every point: the same story is told again and again, and each time the process dies somewhere else: before the
 * k-th turn of the loop (so: after the store write of the turn before, and with its calls sent but unanswered), or at the
 * k-th call to a backend, once before and once after that call had its effect. All memory is dropped, the same store is
 * opened again, and in the end it must be as if nothing had happened: one effect, nothing acknowledged lost.
 */
#include "base/log.h"
#include "base/text.h"
#include "server/service/access/access.h"
#include "tests/sim/sim_world.h"

#include <signal.h>
#include <sys/resource.h>

#define OFF_THE_BUS 79
#define STORY_MS (90 * MS_PER_MIN)

enum death { DEATH_TURN, DEATH_BEFORE_CALL, DEATH_AFTER_CALL };

struct story {
    const char *name;
    bool replace; /* the fault comes twice: the second time the machine is replaced */
    bool request; /* a person asks for it in the scheduler */
    bool jobs;
    bool asks;    /* these jobs are asked to checkpoint */
    bool own_ids; /* the provider names its machines itself */
};

/* Everything up to the point from which on it dies; told once, and gone on from many times. */
static void begin(struct sim *sim, const struct story *story)
{
    sim_open(sim, 7, true);
    sim->check = false;
    sim->provider.own_ids = story->own_ids;
    sim->settings.policy.jobs[FAULT_CLASS_GPU] = story->asks ? JOBS_RULE_SIGNAL : JOBS_RULE_TABLE;
    sim->settings.policy.signal_deadline_ms[FAULT_CLASS_GPU] = 20 * MS_PER_S; /* each look is a point to die at */
    sim_create(sim, 2, NODE_RECOVERY_AUTOMATIC);
    if (story->replace) {
        sim_verdict(sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
        sim_run(sim, 10 * MS_PER_MIN);
        assert_int_equal(sim_state(sim, "gpu-1"), NODE_STATE_READY);
        assert_int_equal(sim->provider.reboots, 1);
    }
    sim_run(sim, MS_PER_MIN);
    sim->check = true;
    fake_scheduler_find(&sim->scheduler, "gpu-1")->jobs = story->jobs ? 1 : 0;
    sim_kill(sim);
}

static void tell(struct sim *sim, const struct story *story)
{
    if (story->request) {
        fake_scheduler_by_hand(&sim->scheduler, "gpu-1", true, "Action:Replace");
    } else {
        int reported = sim_verdict(sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
        assert_true(sim->spool[reported].acked);
    }
    int64_t until = clock_wall_ms(&sim->clock) + STORY_MS;
    bool begun = false;
    while (clock_wall_ms(&sim->clock) < until) {
        sim_settle(sim);
        bool ready = sim_state(sim, "gpu-1") == NODE_STATE_READY;
        begun = begun || !ready;
        if (begun && ready)
            break;
        sim_tick(sim, until);
    }
    sim->outcome.die_before = sim->outcome.die_after = 0;
    sim->die_before_turn = 0;
    sim_run(sim, 2 * MS_PER_MIN); /* nothing follows any more */
}

static void check_end(struct sim *sim, const struct story *story, const char *where, int64_t k)
{
    struct sim_reading end = sim_read(sim, "gpu-1");
    bool machine = story->replace || story->request;
    int reboots = story->request ? 0 : 1, launches = machine ? 3 : 2;
    if (end.row.state != NODE_STATE_READY || sim->provider.reboots != reboots || sim->provider.launches != launches ||
        sim->provider.terminations != (machine ? 1 : 0))
        sim_fail(sim, "gpu-1", "%s, killed %s %" PRId64 ": %s, %d reboots, %d launches, %d terminations", story->name,
                 where, k, node_state_text(end.row.state), sim->provider.reboots, sim->provider.launches,
                 sim->provider.terminations);
    if (fake_scheduler_find(&sim->scheduler, "gpu-1")->out || end.row.health != HEALTH_HEALTHY)
        sim_fail(sim, "gpu-1", "%s, killed %s %" PRId64 ": not in service", story->name, where, k);
    const struct fake_instance *made = fake_provider_of_node(&sim->provider, "gpu-1");
    if (made == NULL || strcmp(made->ref, end.instance.provider_ref) != 0)
        sim_fail(sim, "gpu-1", "%s, killed %s %" PRId64 ": the provider's id \"%s\" is not known as its own",
                 story->name, where, k, end.instance.provider_ref);
    int signals = fake_scheduler_find(&sim->scheduler, "gpu-1")->signals[0];
    if (signals > 1 || (!story->asks && signals > 0) || (sim->crashes == 0 && signals != (story->asks ? 1 : 0)))
        sim_fail(sim, "gpu-1", "%s, killed %s %" PRId64 ": %d signals", story->name, where, k, signals);
    if (end.operation.state != OPERATION_STATE_SUCCEEDED)
        sim_fail(sim, "gpu-1", "%s, killed %s %" PRId64 ": the operation %s", story->name, where, k,
                 operation_state_text(end.operation.state));
}

/* False when the story ended before its k-th point. */
static bool tell_with_death(const struct sim *start, const struct story *story, enum death death, int64_t k)
{
    static const char *const where[] = {"before turn", "before the effect of call", "after the effect of call"};
    struct sim sim;
    sim_fork(start, &sim);
    sim_run(&sim, 30 * MS_PER_S);
    if (death == DEATH_TURN)
        sim.die_before_turn = sim.turns + (uint64_t)k;
    else if (death == DEATH_BEFORE_CALL)
        sim.outcome.die_before = sim.outcome.calls + k;
    else
        sim.outcome.die_after = sim.outcome.calls + k;
    tell(&sim, story);
    bool died = sim.crashes > 0;
    check_end(&sim, story, where[death], k);
    sim_close(&sim);
    return died;
}

static void at_every_point(const struct story *story)
{
    static struct sim start;
    begin(&start, story);
    for (enum death death = DEATH_TURN; death <= DEATH_AFTER_CALL; death++) {
        int64_t k = 1;
        while (tell_with_death(&start, story, death, k))
            k++;
        assert_true(k > 10); /* the story has points to die at */
    }
    free(start.spool);
    assert_int_equal(file_remove_tree(start.dir), 0);
}

static void a_reboot_survives_death_anywhere(void **state)
{
    (void)state;
    at_every_point(&(struct story){.name = "reboot", .jobs = true});
}

/* Once, or, where death came between the note and the signal, not at all: never twice. */
static void a_signal_is_sent_once_whoever_dies(void **state)
{
    (void)state;
    at_every_point(&(struct story){.name = "signal", .jobs = true, .asks = true});
}

static void a_replacement_survives_death_anywhere(void **state)
{
    (void)state;
    at_every_point(&(struct story){.name = "replace", .replace = true});
}

/* Rebooted once, replaced once, and each call is about the machine by the provider's own id. */
static void a_provider_with_ids_of_its_own_survives_death_anywhere(void **state)
{
    (void)state;
    at_every_point(&(struct story){.name = "own ids", .replace = true, .own_ids = true});
}

static void a_request_survives_death_anywhere(void **state)
{
    (void)state;
    at_every_point(&(struct story){.name = "request", .request = true});
}

/* --- the store fails ----------------------------------------------------------------------------- */

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Nothing is done that is not on disk: while it takes no writes the world stands still, and then it goes on. */
static void a_full_disk_stops_everything(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 71, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_MIN);
    int reported = sim_verdict(&sim, "gpu-1", OFF_THE_BUS, SEVERITY_CRITICAL);
    assert_true(sim.spool[reported].acked);
    (void)signal(SIGXFSZ, SIG_IGN);
    log_set_level(LOG_LEVEL_ERROR + 1);
    limit_files(0);
    sim.check = false;
    sim_run(&sim, 5 * MS_PER_MIN);
    int refused = sim_verdict(&sim, "gpu-2", OFF_THE_BUS, SEVERITY_CRITICAL);
    bool acked = sim.spool[refused].acked;
    int marks = fake_scheduler_find(&sim.scheduler, "gpu-1")->marks;
    limit_files(RLIM_INFINITY);
    log_set_level(LOG_LEVEL_INFO);
    assert_false(acked);
    assert_int_equal(marks, 0);
    assert_int_equal(sim.provider.reboots, 0);
    sim_until(&sim, "gpu-1", NODE_STATE_REPAIRING, MS_PER_MIN);
    sim_run(&sim, 30 * MS_PER_MIN); /* and gpu-2's agent kept what was not acknowledged */
    assert_true(sim.spool[refused].acked);
    assert_int_equal(sim.provider.reboots, 2);
    assert_int_equal(sim_count_state(&sim, NODE_STATE_READY), 4);
    sim_close(&sim);
}

/* Somebody's write failed and nobody tries it again: that the disk is well is still found out. */
static void a_disk_that_is_well_again_is_found_out(void **state)
{
    struct sim sim;
    struct db_stats store;
    struct reconcile_stats loop;
    struct token token;
    struct problem problem;
    char text[SERVICE_TOKEN_TEXT_MAX];
    (void)state;
    sim_open(&sim, 73, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_MIN);
    sim_run(&sim, 5 * MS_PER_S); /* housekeeping is just over */
    (void)signal(SIGXFSZ, SIG_IGN);
    limit_files(0);
    int refused = service_token_create_api(&sim.service, &sim_admin, "t", ROLE_VIEWER, 0, &token, text, &problem);
    sim_run(&sim, 10 * MS_PER_S);
    db_stats(sim.service.db, &store);
    int64_t failing_since = store.failing_since;
    fake_scheduler_by_hand(&sim.scheduler, "gpu-2", false, "disk swap"); /* this is to be recorded */
    sim_run(&sim, 30 * MS_PER_S);
    reconcile_stats(sim.reconcile, &loop);
    int64_t later_unrecorded_since = loop.unrecorded_since;
    limit_files(RLIM_INFINITY);
    assert_int_equal(refused, STATUS_FULL);
    assert_true(failing_since > 0);
    assert_true(later_unrecorded_since > 0);
    sim_run(&sim, 15 * MS_PER_S);
    db_stats(sim.service.db, &store);
    reconcile_stats(sim.reconcile, &loop);
    assert_int_equal(store.failing_since, 0);
    assert_int_equal(loop.unrecorded_since, 0);
    sim_close(&sim);
}

/* The same, and the loop itself had nothing to write. */
static void a_touch_finds_the_disk_well(void **state)
{
    struct sim sim;
    struct db_stats store;
    struct token token;
    struct problem problem;
    char text[SERVICE_TOKEN_TEXT_MAX];
    (void)state;
    sim_open(&sim, 74, true);
    sim_create(&sim, 4, NODE_RECOVERY_AUTOMATIC);
    sim_run(&sim, MS_PER_MIN);
    (void)signal(SIGXFSZ, SIG_IGN);
    limit_files(0);
    int refused = service_token_create_api(&sim.service, &sim_admin, "t", ROLE_VIEWER, 0, &token, text, &problem);
    limit_files(RLIM_INFINITY);
    assert_int_equal(refused, STATUS_FULL);
    db_stats(sim.service.db, &store);
    assert_true(store.failing_since > 0);
    sim_run(&sim, 2 * MS_PER_S);
    db_stats(sim.service.db, &store);
    assert_int_equal(store.failing_since, 0);
    sim_close(&sim);
}

/* Ids that were given out before make every insert fail until the source moves on: as a bad row would. */
static void one_bad_row_does_not_stop_the_others(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 72, true);
    sim_create(&sim, 8, NODE_RECOVERY_AUTOMATIC);
    log_set_level(LOG_LEVEL_ERROR + 1);
    for (int i = 1; i <= 3; i++) {
        char name[NODE_NAME_MAX_BYTES];
        snprintf(name, sizeof(name), "gpu-%d", i);
        sim_verdict(&sim, name, OFF_THE_BUS, SEVERITY_CRITICAL);
    }
    id_source_seed(&sim.ids, sim.seed + 1); /* as in the beginning */
    sim_until(&sim, "gpu-1", NODE_STATE_REPAIRING, 10 * MS_PER_MIN);
    log_set_level(LOG_LEVEL_INFO);
    sim_until_all_ready(&sim, MS_PER_HOUR);
    assert_int_equal(sim.provider.reboots, 3);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reboot_survives_death_anywhere),
        cmocka_unit_test(a_signal_is_sent_once_whoever_dies),
        cmocka_unit_test(a_replacement_survives_death_anywhere),
        cmocka_unit_test(a_provider_with_ids_of_its_own_survives_death_anywhere),
        cmocka_unit_test(a_request_survives_death_anywhere),
        cmocka_unit_test(a_full_disk_stops_everything),
        cmocka_unit_test(one_bad_row_does_not_stop_the_others),
        cmocka_unit_test(a_disk_that_is_well_again_is_found_out),
        cmocka_unit_test(a_touch_finds_the_disk_well),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
