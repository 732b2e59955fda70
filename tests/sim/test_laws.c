/*
 * Each law of the random worlds (test_random.c) is seen to speak: a small world in which one thing is wrong, in the store or in what its
 * scheduler, its provider or its agents were asked for, and the words with which the law has to find it. A law that nothing here breaks says nothing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

static void law_spoke(void) __attribute__((noreturn));
#undef fail
#define fail() law_spoke()

#include "tests/sim/sim_acts.h"
#include "tests/sim/sim_ending.h"
#include "tests/sim/sim_evidence.h"
#include "tests/sim/sim_memory.h"
#include "tests/sim/sim_modes.h"
#include "tests/sim/sim_reboot.h"
#include "tests/sim/sim_steps.h"
#include "tests/sim/sim_world.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/wait.h>

#define NODES 4
#define SPOKE 7 /* how a process ends in which a law has spoken */
#define OFF_THE_BUS 79
#define FOR_A_PERSON 78
#define FIRST (&sim->scheduler.nodes[0])
#define ACTIVE "state IN ('pending', 'running')"

static struct sim *living;

static void law_spoke(void)
{
    if (living != NULL)
        file_remove_tree(living->dir);
    _exit(SPOKE);
}

/* --- what is wrong ------------------------------------------------------------------------------- */

static void change_store(const struct sim *sim, const char *sql)
{
    autofree char *path = own_printf("%s/holdfast.db", sim->dir);
    sqlite3 *store = NULL;
    assert_int_equal(sqlite3_open(path, &store), SQLITE_OK);
    sqlite3_busy_timeout(store, 60000);
    if (sqlite3_exec(store, sql, NULL, NULL, NULL) != SQLITE_OK)
        fail_msg("%s: %s", sql, sqlite3_errmsg(store));
    sqlite3_close(store);
}

static void ask(struct sim *sim, void (*law)(struct sim *sim, struct db_tx *tx))
{
    struct db_tx *tx = NULL;
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    law(sim, tx);
    db_read_end(sim->service.db, tx);
}

/* A repair that the policy has begun; a machine takes its time. */
static void begin_repair(struct sim *sim, const char *node)
{
    sim_verdict(sim, node, OFF_THE_BUS, SEVERITY_CRITICAL);
    sim_until(sim, node, NODE_STATE_REPAIRING, 5 * MS_PER_MIN);
}

static void leave_to_person(struct sim *sim)
{
    sim_verdict(sim, "gpu-1", FOR_A_PERSON, SEVERITY_CRITICAL);
    sim_until(sim, "gpu-1", NODE_STATE_HELD, 5 * MS_PER_MIN);
}

static void nobody_repairs(struct sim *sim)
{
    change_store(sim, "UPDATE node SET state = 'repairing' WHERE name = 'gpu-1'");
    sim_check(sim);
}

static void no_reason(struct sim *sim)
{
    change_store(sim, "UPDATE node SET state = 'held', reason = '' WHERE name = 'gpu-1'");
    sim_check(sim);
}

static void no_change_of_cluster(struct sim *sim)
{
    autofree char *sql = own_printf("UPDATE cluster SET state = '%s'", cluster_state_text(CLUSTER_STATE_UPDATING));
    change_store(sim, sql);
    sim_check(sim);
}

static void two_operations(struct sim *sim)
{
    begin_repair(sim, "gpu-1");
    change_store(sim, "DROP INDEX operation_one_active;"
                      "CREATE TEMP TABLE more AS SELECT * FROM operation WHERE " ACTIVE ";"
                      "UPDATE more SET id = id + 1000, uid = '00000000-0000-4000-8000-000000000001', key = NULL;"
                      "INSERT INTO operation SELECT * FROM more");
    sim_check(sim);
}

static void two_steps(struct sim *sim)
{
    begin_repair(sim, "gpu-1");
    change_store(sim, "UPDATE operation_step SET state = 'running' WHERE operation_id IN "
                      "(SELECT id FROM operation WHERE " ACTIVE ")");
    sim_check(sim);
}

static void opted_out(struct sim *sim)
{
    begin_repair(sim, "gpu-1");
    autofree char *sql = own_printf("UPDATE node SET opted_out = 1; UPDATE operation SET created_at = %" PRId64,
                                    clock_wall_ms(&sim->clock));
    change_store(sim, sql);
    sim_check(sim);
}

static void over_budget(struct sim *sim)
{
    begin_repair(sim, "gpu-1");
    begin_repair(sim, "gpu-2");
    sim->settings.policy.budget_percent = 1;
    sim_check(sim);
}

static void over_budget_of_class(struct sim *sim)
{
    begin_repair(sim, "gpu-1");
    begin_repair(sim, "gpu-2");
    sim->settings.policy.class_budget_max[FAULT_CLASS_GPU] = 1;
    sim_check(sim);
}

static void act_without_operation(struct sim *sim)
{
    snprintf(sim->provider.keys[sim->provider.key_count++], KEY_MAX_BYTES, "reboot/nobody/1");
    ask(sim, sim_law_acts);
}

static void act_without_decision(struct sim *sim)
{
    begin_repair(sim, "gpu-1");
    sim_until(sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    change_store(sim, "UPDATE operation SET decision_id = NULL");
    sim->keys_checked = 0;
    ask(sim, sim_law_acts);
}

static void verdict_lost(struct sim *sim)
{
    leave_to_person(sim);
    change_store(sim, "DELETE FROM verdict");
    sim->steps.crashes = -1;
    ask(sim, sim_law_steps);
}

static void jobs_told_by_nobody(struct sim *sim)
{
    FIRST->evictions++;
    ask(sim, sim_law_steps);
}

static void signal_by_nobody(struct sim *sim)
{
    FIRST->signals[0]++;
    ask(sim, sim_law_steps);
}

static void reset_by_nobody(struct sim *sim)
{
    snprintf(sim->reset_keys[sim->reset_count++], KEY_MAX_BYTES, "nobody");
    ask(sim, sim_law_steps);
}

static void mark_left(struct sim *sim)
{
    FIRST->out = true;
    FIRST->by_itself = false;
    snprintf(FIRST->user, sizeof(FIRST->user), "holdfast");
    sim->steps.nodes[0].left_since = clock_mono_ms(&sim->clock) - SIM_RELEASE_MAX_MS - 1;
    ask(sim, sim_law_steps);
}

static void person_passed_over(struct sim *sim)
{
    leave_to_person(sim);
    ask(sim, sim_law_steps);
    change_store(sim, "UPDATE node SET state = 'ready', reason = '' WHERE name = 'gpu-1'");
    ask(sim, sim_law_steps);
}

static void repaired_in_maintenance(struct sim *sim)
{
    begin_repair(sim, "gpu-1");
    FIRST->maintenance = true;
    sim->steps.nodes[0].maintenance_since = clock_mono_ms(&sim->clock) - SIM_MAINTENANCE_KNOWN_MS;
    sim->steps.nodes[0].maintenance_op = sim_read(sim, "gpu-1").operation.id - 1;
    sim->steps.crashes = sim->crashes;
    ask(sim, sim_law_steps);
}

static void wake_lost(struct sim *sim)
{
    change_store(sim, "UPDATE node SET opted_out = 1 WHERE name = 'gpu-1'");
    sim_check_memory(sim);
}

static void verdict_never_read(struct sim *sim)
{
    leave_to_person(sim);
    change_store(sim, "DELETE FROM decision");
    reconcile_node_find(sim->reconcile, sim_read(sim, "gpu-1").row.id)->looked_verdict = 0;
    sim_check_evidence(sim);
}

static void against_its_mode(struct sim *sim)
{
    begin_repair(sim, "gpu-1");
    sim->settings.policy.modes[FAULT_CLASS_GPU] = REPAIR_MODE_OBSERVE;
    sim->repairs_checked = 0;
    ask(sim, sim_law_repairs);
}

static void without_approval(struct sim *sim)
{
    begin_repair(sim, "gpu-1");
    sim->settings.policy.modes[FAULT_CLASS_GPU] = REPAIR_MODE_APPROVE;
    sim->repairs_checked = 0;
    ask(sim, sim_law_repairs);
}

static void in_a_pause(struct sim *sim)
{
    begin_repair(sim, "gpu-1");
    change_store(sim, "UPDATE cluster SET paused_at = 1");
    sim->repairs_checked = 0;
    ask(sim, sim_law_repairs);
}

static void on_probation(struct sim *sim)
{
    begin_repair(sim, "gpu-1");
    sim_until(sim, "gpu-1", NODE_STATE_READY, MS_PER_HOUR);
    change_store(sim, "CREATE TEMP TABLE more AS SELECT * FROM operation WHERE kind = 'reboot';"
                      "UPDATE more SET id = id + 1000, uid = '00000000-0000-4000-8000-000000000001', key = NULL,"
                      "created_at = finished_at + 1000;"
                      "INSERT INTO operation SELECT * FROM more");
    sim->repairs_checked = 0;
    ask(sim, sim_law_repairs);
}

static void agent_asked_too_early(struct sim *sim)
{
    sim_law_task(sim, fake_provider_of_node(&sim->provider, "gpu-1"), "nobody/1");
}

static void reboot_asked_twice(struct sim *sim)
{
    struct reboot_device device = {.sim = sim, .key_count = 1};
    snprintf(device.keys[0], sizeof(device.keys[0]), "reboot/x/1");
    sim_law_once(&device, "reboot/x/1");
}

/* --- what was done for an operation ------------------------------------------------------------------ */

/* Its jobs have been told to go, and it has served again since. */
static void repair_and_return(struct sim *sim, const char *node)
{
    begin_repair(sim, node);
    sim_until(sim, node, NODE_STATE_READY, MS_PER_HOUR);
}

static void jobs_told_undecided(struct sim *sim)
{
    repair_and_return(sim, "gpu-1");
    change_store(sim, "UPDATE operation SET decision_id = NULL");
    FIRST->evictions++;
    ask(sim, sim_law_steps);
}

static void jobs_told_again(struct sim *sim)
{
    repair_and_return(sim, "gpu-1");
    ask(sim, sim_law_steps);
    FIRST->evictions += 10;
    ask(sim, sim_law_steps);
}

static void signal_sent_again(struct sim *sim)
{
    repair_and_return(sim, "gpu-1");
    FIRST->signals[0] += 2;
    ask(sim, sim_law_steps);
}

static void begin_reset(struct sim *sim, const char *more)
{
    begin_repair(sim, "gpu-1");
    autofree char *sql = own_printf("UPDATE operation SET kind = 'reset'%s WHERE " ACTIVE, more);
    change_store(sim, sql);
    snprintf(sim->reset_keys[sim->reset_count++], KEY_MAX_BYTES, "%s", sim_read(sim, "gpu-1").operation.uid);
}

static void reset_undecided(struct sim *sim)
{
    begin_reset(sim, ", decision_id = NULL");
    ask(sim, sim_law_steps);
}

static void reset_again(struct sim *sim)
{
    begin_reset(sim, "");
    change_store(sim, "UPDATE decision SET action = 'reset'");
    memcpy(sim->reset_keys[sim->reset_count], sim->reset_keys[sim->reset_count - 1], KEY_MAX_BYTES);
    sim->reset_count++;
    ask(sim, sim_law_steps);
}

static void reboot_of_no_try(struct sim *sim)
{
    sim_law_try(sim, "reboot/nobody/1", "no-boot", REBOOT_METHOD_PROVIDER);
}

static void in_closed_hours(struct sim *sim)
{
    struct policy_windows *closed = &sim->settings.policy.not_during;
    begin_repair(sim, "gpu-1");
    assert_int_equal(policy_window_parse("00:00-24:00 UTC", &closed->windows[0]), 0);
    closed->count = 1;
    autofree char *sql = own_printf("UPDATE operation SET created_at = %" PRId64, clock_wall_ms(&sim->clock));
    change_store(sim, sql);
    sim_check(sim);
}

static void of_an_incident(struct sim *sim)
{
    begin_repair(sim, "gpu-1");
    change_store(sim,
                 "INSERT INTO incident SELECT 1000, cluster_id, 'rack', 'r1', 'power', 1, 0, 0, '', NULL FROM node "
                 "WHERE name = 'gpu-1';"
                 "INSERT INTO incident_node SELECT 1000, id, name, 'power', 1, 0 FROM node WHERE name = 'gpu-1';"
                 "UPDATE operation SET code = 'unreachable' WHERE " ACTIVE);
    sim->repairs_checked = 0;
    ask(sim, sim_law_repairs);
}

/* --- what is read and decided -------------------------------------------------------------------------- */

static void change_not_read(struct sim *sim)
{
    parts_wake(sim->reconcile, SERVICE_WAKE_ALL, 0);
    sim_check_memory(sim);
}

static void verdict_never_decided(struct sim *sim)
{
    leave_to_person(sim);
    change_store(sim, "DELETE FROM decision; UPDATE node SET state = 'ready' WHERE name = 'gpu-1'");
    sim_check_evidence(sim);
}

/* --- at rest ------------------------------------------------------------------------------------------- */

static struct fake_instance *machine_of_first(struct sim *sim)
{
    for (int i = 0; i < sim->provider.count; i++)
        if (!sim->provider.instances[i].gone && strcmp(sim->provider.instances[i].node, FIRST->name) == 0)
            return &sim->provider.instances[i];
    fail_msg("%s has no machine", FIRST->name);
    return NULL;
}

static void no_such_move(struct sim *sim)
{
    autofree char *sql = own_printf("UPDATE event SET was = 'failed', state = 'starting' WHERE kind = '%s'",
                                    event_kind_text(EVENT_KIND_NODE_STATE));
    change_store(sim, sql);
    sim_law_ending(sim);
}

static void incident_not_stored(struct sim *sim)
{
    struct decision decision = {0};
    snprintf(decision.gates[GATE_INCIDENT].detail, sizeof(decision.gates[GATE_INCIDENT].detail),
             "incident 0 of rack r1");
    (void)sim_law_incident_known(&decision, sim);
}

static void machine_of_no_slot(struct sim *sim)
{
    snprintf(machine_of_first(sim)->id, ID_INSTANCE_MAX, "i-nobody");
    sim_law_ending(sim);
}

static void no_machine(struct sim *sim)
{
    machine_of_first(sim)->gone = true;
    sim_law_ending(sim);
}

static void out_in_the_scheduler_alone(struct sim *sim)
{
    FIRST->out = true;
    sim_law_ending(sim);
}

/* --- the laws -------------------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*is_wrong)(struct sim *sim);
    const char *words;
} laws[] = {
    {"nobody_repairs", nobody_repairs, "gpu-1 is repairing and nothing is at work on it"},
    {"no_reason", no_reason, "gpu-1 is held without a reason"},
    {"no_change_of_cluster", no_change_of_cluster, "and no operation says so"},
    {"two_operations", two_operations, "has two active operations"},
    {"two_steps", two_steps, "steps in flight"},
    {"opted_out", opted_out, "although a person opted it out"},
    {"over_budget", over_budget, "2 automatic repairs at once, the budget is 1"},
    {"over_budget_of_class", over_budget_of_class, "faults at once, their budget is 1"},
    {"act_without_operation", act_without_operation, "no operation asked for it"},
    {"act_without_decision", act_without_decision, "nobody decided it"},
    {"verdict_lost", verdict_lost, "verdicts were acknowledged, 0 are there"},
    {"jobs_told_by_nobody", jobs_told_by_nobody, "no operation has drained it"},
    {"signal_by_nobody", signal_by_nobody, "no operation has drained the node"},
    {"reset_by_nobody", reset_by_nobody, "which is no such operation"},
    {"mark_left", mark_left, "it is in service and drained by us"},
    {"person_passed_over", person_passed_over, "who has not released it, and is in service"},
    {"repaired_in_maintenance", repaired_in_maintenance, "begins while people work on it"},
    {"wake_lost", wake_lost, "a wake was lost"},
    {"verdict_never_read", verdict_never_read, "no look at its node has read it"},
    {"against_its_mode", against_its_mode, "began although the mode of"},
    {"without_approval", without_approval, "began without an approval"},
    {"in_a_pause", in_a_pause, "begins by itself in a paused cluster"},
    {"on_probation", on_probation, "on probation after the reboot"},
    {"agent_asked_too_early", agent_asked_too_early, "is asked for a step that is not stored as begun"},
    {"reboot_asked_twice", reboot_asked_twice, "a reboot was asked for twice"},
    {"jobs_told_undecided", jobs_told_undecided, "the jobs were told to go for"},
    {"jobs_told_again", jobs_told_again, "times to go for one operation"},
    {"signal_sent_again", signal_sent_again, "was sent a signal twice for one operation"},
    {"reset_undecided", reset_undecided, "which nobody decided"},
    {"reset_again", reset_again, "a device was reset twice"},
    {"reboot_of_no_try", reboot_of_no_try, "which is no try that runs"},
    {"in_closed_hours", in_closed_hours, "begins in hours in which none may"},
    {"of_an_incident", of_an_incident, "is repaired by itself for what incident 1000 is"},
    {"change_not_read", change_not_read, "what changed is not read although nothing is left to do"},
    {"verdict_never_decided", verdict_never_decided, "nothing was ever decided about its node"},
    {"no_such_move", no_such_move, "no such move"},
    {"incident_not_stored", incident_not_stored, "by an incident that is not stored"},
    {"machine_of_no_slot", machine_of_no_slot, "i-nobody runs although it fills no slot"},
    {"no_machine", no_machine, "gpu-1 has 0 machines"},
    {"out_in_the_scheduler_alone", out_in_the_scheduler_alone, "in the scheduler it is the other way round"},
};

static void healthy(struct sim *sim)
{
    sim_check(sim);
    ask(sim, sim_law_acts);
    ask(sim, sim_law_repairs);
    ask(sim, sim_law_steps);
    sim_check_memory(sim);
    sim_check_evidence(sim);
    sim_law_ending(sim);
}

static void live(const struct sim *start, void (*wrong)(struct sim *sim), int err)
{
    static struct sim sim;
    dup2(err, STDERR_FILENO);
    sim_fork(start, &sim);
    living = &sim;
    sim.check = false;
    sim.settings.policy.budget_percent = 100;
    sim_run(&sim, MS_PER_MIN);
    healthy(&sim);
    fprintf(stderr, "all laws hold\n");
    wrong(&sim);
    file_remove_tree(sim.dir);
    _exit(0);
}

static void each_law_speaks(void **state)
{
    static struct sim start;
    char path[] = "/tmp/holdfast-laws.XXXXXX";
    int err = mkstemp(path), silent = 0;
    (void)state;
    assert_true(err >= 0);
    sim_open(&start, 1, true);
    start.settings.policy.budget_percent = 100;
    sim_crash(&start);
    sim_create(&start, NODES, NODE_RECOVERY_AUTOMATIC);
    sim_run(&start, 10 * MS_PER_MIN);
    sim_kill(&start);
    for (size_t i = 0; i < ARRAY_LEN(laws); i++) {
        char *said = NULL;
        size_t len = 0;
        int status = 0;
        assert_int_equal(ftruncate(err, 0), 0);
        assert_int_equal(lseek(err, 0, SEEK_SET), 0);
        pid_t child = fork();
        if (child == 0)
            live(&start, laws[i].is_wrong, err);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(file_read(path, 1048576, &said, &len), 0);
        const char *held = strstr(said, "all laws hold\n");
        bool spoke = WIFEXITED(status) && WEXITSTATUS(status) == SPOKE && held != NULL;
        if (!spoke || strstr(held, laws[i].words) == NULL)
            print_error("%s: ended with %d and said: %.2000s\n", laws[i].name, status, held != NULL ? held : said);
        silent += !spoke || strstr(held, laws[i].words) == NULL;
        free(said);
    }
    close(err);
    unlink(path);
    assert_int_equal(file_remove_tree(start.dir), 0);
    assert_int_equal(silent, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_law_speaks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
