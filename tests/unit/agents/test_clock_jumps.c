/* The clock is set an hour or a year forward or back, and the machine sleeps: nothing is found by that, and nothing stands still. The
 * system's clocks are this program's own: it answers clock_gettime with the kernel's time and what the test adds to it. */
#include "tests/unit/agents/agent_world.h"

#include "agents/checks/checks.h"
#include "agents/checks/custom.h"
#include "base/clock.h"
#include "tests/unit/agents/tree.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

#define YEAR_MS (365 * MS_PER_DAY)

static atomic_llong set_by_ms, asleep_ms; /* the wall clock alone; all but the monotonic clock */

int clock_gettime(clockid_t id, struct timespec *ret)
{
    if (syscall(SYS_clock_gettime, id, ret) != 0)
        return -1;
    int64_t more_ms = 0;
    if (id == CLOCK_REALTIME)
        more_ms = atomic_load(&set_by_ms) + atomic_load(&asleep_ms);
    else if (id == CLOCK_BOOTTIME)
        more_ms = atomic_load(&asleep_ms);
    ret->tv_sec += (time_t)(more_ms / MS_PER_S);
    return 0;
}

static int reset_clocks(void **state)
{
    atomic_store(&set_by_ms, 0);
    atomic_store(&asleep_ms, 0);
    return make_world(state);
}

struct jump {
    int64_t set_by_ms, asleep_ms;
};
static const struct jump jumps[] = {
    {MS_PER_HOUR, 0}, {-MS_PER_HOUR, 0},    {YEAR_MS, 0},
    {-YEAR_MS, 0},    {-YEAR_MS, 0},        /* before it ever ran */ {YEAR_MS, 0},
    {0, MS_PER_HOUR}, {0, 30 * MS_PER_DAY},
};

static void make(const struct jump *jump)
{
    int64_t wall = clock_wall_ms(clock_system()), boot = clock_boot_ms(), mono = clock_mono_ms(clock_system());
    atomic_fetch_add(&set_by_ms, jump->set_by_ms);
    atomic_fetch_add(&asleep_ms, jump->asleep_ms);
    /* The clocks that the programs see are these. */
    int64_t moved = clock_wall_ms(clock_system()) - wall - jump->set_by_ms - jump->asleep_ms;
    assert_true(moved >= 0 && moved < MS_PER_MIN);
    assert_true(clock_boot_ms() - boot >= jump->asleep_ms && clock_mono_ms(clock_system()) - mono < MS_PER_MIN);
}

/* --- the agent ------------------------------------------------------------------------------------------------- */

static size_t wanted; /* verdicts */

static bool has_delivered_all(struct world *world, struct agent *agent)
{
    return map_count(world->delivered) >= wanted && agent_figures(agent).spooled == 0;
}

static size_t count_delivered(struct world *world)
{
    pthread_mutex_lock(&world->lock);
    size_t count = map_count(world->delivered);
    pthread_mutex_unlock(&world->lock);
    return count;
}

/* A line of a fault of its own each time. */
static void log_fault(struct world *world, size_t number)
{
    autofree char *line = own_printf("NVRM: Xid (PCI:0000:%02zx:00): 79, GPU has fallen off the bus.\n", number + 1);
    log_lines(world, line);
}

static void test_heartbeats_and_verdicts_go_on(void **state)
{
    struct world *world = *state;
    struct agent *agent = start(world);
    turn_until(world, agent, has_beaten);
    for (size_t i = 0; i < ARRAY_LEN(jumps); i++) {
        make(&jumps[i]);
        poke(world, &world->heartbeats, 0);
        turn_until(world, agent, has_beaten);
        assert_int_equal(count_delivered(world), i); /* nothing was found by that */
        log_fault(world, i);
        wanted = i + 1;
        turn_until(world, agent, has_delivered_all);
        assert_int_equal(count_delivered(world), i + 1);
    }
    assert_false(peek(world, &world->seq_went_back));
    agent_free(agent);
}

/* The server is away meanwhile: what was kept for it is delivered once, and back-off does not wait for the clock. */
static void test_the_spool_is_delivered(void **state)
{
    struct world *world = *state;
    struct agent *agent = start(world);
    turn_until(world, agent, has_beaten);
    for (size_t i = 0; i < ARRAY_LEN(jumps); i++) {
        server_down(world);
        log_fault(world, i);
        turn_until(world, agent, has_spooled);
        make(&jumps[i]);
        for (int k = 0; k < 5; k++)
            assert_true(agent_turn(agent, -1, 20));
        server_up(world);
        wanted = i + 1;
        turn_until(world, agent, has_delivered_all);
        assert_int_equal(count_delivered(world), i + 1);
    }
    agent_free(agent);
}

/* A flood is a verdict before the jump and one after it, however long it goes on. */
static void test_a_flood_over_a_jump(void **state)
{
    struct world *world = *state;
    struct agent *agent = start(world);
    turn_until(world, agent, has_beaten);
    log_lines(world, XID_79 XID_79 XID_79);
    turn_until(world, agent, has_delivered_one);
    for (size_t i = 0; i < ARRAY_LEN(jumps); i++) {
        make(&jumps[i]);
        for (int k = 0; k < 3; k++) {
            log_lines(world, XID_79 XID_79 XID_79);
            assert_true(agent_turn(agent, -1, 20));
        }
        poke(world, &world->heartbeats, 0);
        turn_until(world, agent, has_beaten);
        assert_true(count_delivered(world) <= i + 2);
    }
    agent_free(agent);
}

/* --- the checks' turns ------------------------------------------------------------------------------------------ */

static void count_report(const struct check *check, const struct check_report *report, void *arg)
{
    (void)check;
    assert_int_equal(report->result, CHECK_RESULT_OK);
    (*(int *)arg)++;
}

static void test_turns_go_on(void **state)
{
    struct world *world = *state;
    autofree char *dir = own_printf("%s/checks.d", world->dir), *mine = own_printf("%s/mine", dir);
    struct checks *checks = NULL;
    char error[CHECKS_ERROR_MAX];
    int reports = 0;
    assert_int_equal(file_make_dirs(dir, 0755), 0);
    put(mine, "#!/bin/sh\nexit 0\n");
    assert_int_equal(chmod(mine, 0755), 0);
    const struct checks_options options = {.names = "mine",
                                           .root = "",
                                           .instance_type = "",
                                           .state_dir = world->state_dir,
                                           .dir = dir,
                                           .boot_id = "boot-1",
                                           .instance_id = "i-1",
                                           .first_within_ms = 1};
    assert_int_equal(checks_new(&options, &checks, error), 0);
    /* Its period is ten seconds at least; here it is none. */
    struct check *check = (struct check *)(uintptr_t)checks_find(checks, "mine");
    check->period_ms = 1;
    for (size_t i = 0; i < ARRAY_LEN(jumps); i++) {
        int64_t until = clock_mono_ms(clock_system()) + PATIENCE_MS;
        int before = reports;
        make(&jumps[i]);
        while (reports < before + 3) {
            struct pollfd fds[CHECKS_FDS_MAX];
            checks_turn(checks, count_report, &reports);
            assert_true(clock_mono_ms(clock_system()) < until);
            (void)poll(fds, checks_fds(checks, fds), 10);
        }
    }
    checks_free(checks);
}

/* --- what they measure by --------------------------------------------------------------------------------------- */

static struct machine machine_at(struct world *world, struct place *place, const char *type)
{
    text_copy_cut(place->dir, sizeof(place->dir), world->dir);
    return machine_new(place, type);
}

static void quiet(struct machine *machine, const struct check *check)
{
    struct check_report report = machine_run(machine, check);
    if (report.observation_count > 0)
        fail_msg("%s: %s", report.observations[0].code, report.observations[0].text);
    report_free(&report);
}

/* Well, and looked at again and again: no jump makes a rate or a duration of it. */
static void quiet_over_jumps(struct machine *machine, const struct check *check)
{
    for (size_t i = 0; i < ARRAY_LEN(jumps); i++) {
        quiet(machine, check);
        make(&jumps[i]);
    }
    quiet(machine, check);
}

static void test_rates_and_durations(void **state)
{
    static const struct {
        const char *check, *type, *tree;
    } rows[] = {
        {"net", "", "net/node.tree"},
        {"infiniband", "", "infiniband/six.tree"},
        {"efa", "ml.p4d.24xlarge", "efa/p4d.tree"},
        {"neuron", "ml.inf2.24xlarge", "neuron/inf2.24xlarge.txt"},
        {"machine", "", "machine/bare-metal.tree"},
    };
    struct place place;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct machine machine = machine_at(*state, &place, rows[i].type);
        size_t count;
        const struct check *const *table = checks_table(&count);
        tree_grow(&machine, rows[i].tree);
        for (size_t k = 0; k < count; k++)
            if (strcmp(table[k]->name, rows[i].check) == 0)
                quiet_over_jumps(&machine, table[k]);
        assert_int_equal(file_remove_tree(machine.root), 0);
        machine_free(&machine);
    }
}

/* A task that has just begun to wait is stuck by no jump; one that waits is, whatever the clock does. */
static void test_a_task_that_waits(void **state)
{
    struct place place;
    struct machine machine = machine_at(*state, &place, "");
    tree_file(&machine, "/proc/loadavg", "0.10 0.20 0.30 1/200 4711");
    tree_file(&machine, "/proc/7/task/7/stat",
              "7 (train) D 1 7 7 0 -1 4194560 0 0 0 0 0 0 0 0 20 0 1 0 5000 0 0 0 0 0 0 0 0 0 0");
    tree_file(&machine, "/proc/7/task/7/status", "voluntary_ctxt_switches:\t12");
    quiet(&machine, &check_load);
    atomic_fetch_add(&set_by_ms, YEAR_MS);
    quiet(&machine, &check_load);
    atomic_fetch_sub(&set_by_ms, 2 * YEAR_MS);
    quiet(&machine, &check_load);
    machine.uptime_ms += 5 * MS_PER_MIN;
    struct check_report report = machine_run(&machine, &check_load);
    assert_non_null(machine_sees(&report, "node.process.stuck", NULL));
    report_free(&report);
    machine_free(&machine);
}

/* Time asleep is no time: what a check writes down is of the clock that stands still meanwhile. */
static void test_time_asleep_is_not_counted(void **state)
{
    struct world *world = *state;
    struct place place;
    struct machine machine = machine_at(world, &place, "");
    const struct jump sleep = {0, YEAR_MS};
    struct checks *checks = NULL;
    char error[CHECKS_ERROR_MAX];
    int reports = 0;
    tree_file(&machine, "/sys/devices/system/cpu/online", "0-3");
    make(&sleep);
    assert_int_equal(file_make_dirs(world->state_dir, 0700), 0);
    const struct checks_options options = {.names = "cpu",
                                           .root = machine.root,
                                           .instance_type = "",
                                           .state_dir = world->state_dir,
                                           .boot_id = "boot-1",
                                           .instance_id = "i-1",
                                           .once = true};
    assert_int_equal(checks_new(&options, &checks, error), 0);
    for (checks_turn(checks, count_report, &reports); reports == 0; checks_turn(checks, count_report, &reports)) {
        struct pollfd fds[CHECKS_FDS_MAX];
        (void)poll(fds, checks_fds(checks, fds), 10);
    }
    checks_free(checks);
    autofree char *path = own_printf("%s/memory-cpu", world->state_dir), *memory = NULL;
    size_t len;
    assert_int_equal(file_read(path, 4096, &memory, &len), 0);
    const char *online = strstr(memory, "online 4 ");
    assert_non_null(online);
    assert_true(strtoll(online + strlen("online 4 "), NULL, 10) <= clock_mono_ms(clock_system()));
    machine_free(&machine);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, reset_clocks, remove_world)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_heartbeats_and_verdicts_go_on), TEST(test_the_spool_is_delivered),
        TEST(test_a_flood_over_a_jump),           TEST(test_turns_go_on),
        TEST(test_rates_and_durations),           TEST(test_a_task_that_waits),
        TEST(test_time_asleep_is_not_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
