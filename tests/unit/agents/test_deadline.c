/* Every check of the table, and whatever it reads, with a source that never answers, talks without end, or says nothing that can be
 * read: its run ends at its deadline with all it has started, and is never called well. No clock is waited for: the moment at
 * which a run is looked at is the test's, once it has been seen that the run hangs where it is to hang. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/checks.h"
#include "agents/checks/custom.h"
#include "agents/checks/run.h"
#include "base/clock.h"
#include "tests/unit/agents/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define PATIENCE_MS 60000
#define GARBAGE_BYTES (3 << 20)
#define NEURON0 "/sys/devices/virtual/neuron_device/neuron0"

/* In a machine where all else is well: the files of a sample, and one more, "path text". */
struct source {
    const char *check;
    const char *file; /* that it reads */
    const char *tool; /* or runs */
    const char *type, *tree, *more;
};

#define MEMINFO "/proc/meminfo MemTotal: 1000000 kB\nMemAvailable: 900000 kB\n"
static const struct source sources[] = {
    {"disk", "/proc/self/mountinfo", NULL, "", NULL, ""},
    {"mounts", "/proc/self/mountinfo", NULL, "", NULL, ""},
    {"mounts", "/etc/fstab", NULL, "", NULL, "/proc/self/mountinfo 22 1 259:1 / / rw - ext4 /dev/nvme0n1p1 rw"},
    {"memory", "/proc/meminfo", NULL, "", NULL, ""},
    {"memory", "/proc/pressure/memory", NULL, "", NULL, MEMINFO},
    {"load", "/proc/loadavg", NULL, "", NULL, ""},
    {"load", "/proc/7/task/7/stat", NULL, "", NULL, "/proc/loadavg 0.10 0.20 0.30 1/200 4711"},
    {"services", "/proc/7/comm", NULL, "", NULL, ""},
    {"edac", "/sys/devices/system/edac/mc/mc0/ce_count", NULL, "", NULL, ""},
    {"pcie", "/sys/bus/pci/devices/0000:10:1b.0/class", NULL, "", NULL, ""},
    {"pcie", "/sys/bus/pci/devices/0000:10:1b.0/aer_dev_fatal", NULL, "", NULL, ""},
    {"cpu", "/proc/interrupts", NULL, "", NULL, ""},
    {"cpu", "/sys/devices/system/cpu/online", NULL, "", NULL, ""},
    {"cpu", "/proc/sys/kernel/tainted", NULL, "", NULL, ""},
    {"machine", "/sys/class/dmi/id/sys_vendor", NULL, "", NULL, ""},
    {"machine", "/proc/cpuinfo", NULL, "", NULL, ""},
    {"nvidia", NULL, "libnvidia-ml.so.1", "ml.p5.48xlarge", NULL, ""},
    {"nvidia", NULL, "nvidia-smi", "ml.p5.48xlarge", NULL, ""},
    {"dcgm", NULL, "dcgmi", "", NULL, ""},
    {"violations", NULL, "dcgmi", "", NULL, ""},
    {"neuron", NEURON0 "/core_count", NULL, "ml.inf2.xlarge", NULL, ""},
    {"neuron", NULL, "neuron-ls", "ml.inf2.xlarge", NULL, ""},
    {"neuron", NULL, "neuron-monitor", "ml.inf2.xlarge", NULL, NEURON0 "/core_count 2"},
    {"net", "/sys/class/net/eth0/operstate", NULL, "", "net/node.tree", ""},
    {"net", "/sys/class/net/eth0/flags", NULL, "", "net/node.tree", ""},
    {"net", "/proc/net/route", NULL, "", "net/node.tree", ""},
    {"infiniband", "/sys/class/infiniband/mlx5_0/ports/1/state", NULL, "", "infiniband/six.tree", ""},
    {"infiniband", "/sys/class/infiniband/mlx5_0/ports/1/rate", NULL, "", "infiniband/six.tree", ""},
    {"efa", "/sys/class/infiniband/rdmap16s27/ports/1/state", NULL, "ml.p4d.24xlarge", "efa/p4d.tree", ""},
    {"efa", NULL, "fi_info", "ml.p4d.24xlarge", "efa/p4d.tree", ""},
    {"mine", NULL, "mine", "", NULL, ""}, /* a site's own */
};

/* Asks the kernel by a call that does not wait, and nothing else. */
static bool has_no_source(const struct check *check)
{
    return check == &check_clock;
}

/* --- a machine ------------------------------------------------------------------------------------------------- */

static struct machine machine_for(struct place *place, const struct source *source)
{
    struct machine machine = machine_new(place, source->type);
    autofree char *file = own_strdup(source->more), *timeout = own_printf("%s/timeout", machine.bin);
    char *space = strchr(file, ' ');
    if (source->tree != NULL)
        tree_grow(&machine, source->tree);
    if (space != NULL) {
        *space = '\0';
        tree_file(&machine, file, space + 1);
    }
    assert_int_equal(symlink("/usr/bin/timeout", timeout), 0);
    return machine;
}

static void machine_end(struct machine *machine)
{
    assert_int_equal(file_remove_tree(machine->root), 0);
    assert_int_equal(file_remove_tree(machine->bin), 0);
    machine_free(machine);
}

/* The check with that name; a site's own is the one that stands in the machine's directory of tools. */
static const struct check *find_check(const char *name, const struct machine *machine, struct custom_list *custom)
{
    size_t count;
    const struct check *const *table = checks_table(&count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    custom_load(machine->bin, custom);
    for (size_t i = 0; i < custom->count; i++)
        if (strcmp(custom->checks[i]->name, name) == 0)
            return custom->checks[i];
    fail_msg("no check is called %s", name);
    return NULL;
}

static struct run begin(const struct machine *machine, const struct check *check)
{
    const struct check_context context = {.root = machine->root,
                                          .path = machine->bin,
                                          .instance_type = machine->instance_type,
                                          .state_dir = "",
                                          .own = check->own,
                                          .uptime_ms = machine->uptime_ms,
                                          .memory = ""};
    struct run run;
    assert_int_equal(run_start(check, &context, 0, &run), 0); /* its time begins at 0 */
    return run;
}

/* --- something that does not answer ---------------------------------------------------------------------------- */

/* It ignores that it is asked to end, and so does what it has started; the number of that stands in $0.child. */
#define HANGS                                             \
    "trap '' TERM INT HUP\n"                              \
    "sleep 100000 >/dev/null 2>&1 &\n"                    \
    "echo $! >\"$0.new\" && mv \"$0.new\" \"$0.child\"\n" \
    "while :; do sleep 1000; done"
#define TALKS "echo $$ >\"$0.new\" && mv \"$0.new\" \"$0.child\"\nexec cat /dev/zero"

static void put_fifo(const struct machine *machine, const char *path)
{
    autofree char *dir = own_strdup(path);
    *strrchr(dir, '/') = '\0';
    assert_int_equal(file_make_dirs(dir, 0755), 0);
    (void)unlink(path);
    assert_int_equal(mkfifo(path, 0755), 0);
    (void)machine;
}

static char *path_of(const struct machine *machine, const struct source *source)
{
    return source->tool != NULL ? own_printf("%s/%s", machine->bin, source->tool)
                                : own_printf("%s%s", machine->root, source->file);
}

/* A library is a file that is opened, too. */
static bool is_opened(const struct source *source)
{
    return source->tool == NULL || strstr(source->tool, ".so") != NULL;
}

/* Whether somebody has opened the pipe to read it. *ret_fd keeps it there: without a writer it would be at its end. */
static bool has_reader(const char *path, int *ret_fd)
{
    *ret_fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
    return *ret_fd >= 0;
}

/* The process that the tool has written down; 0: not yet. */
static pid_t started_by(const char *tool)
{
    autofree char *path = own_printf("%s.child", tool), *number = NULL;
    size_t len;
    return file_read(path, 100, &number, &len) == 0 ? (pid_t)strtol(number, NULL, 10) : 0;
}

static void wait_for_all_of(pid_t group)
{
    int64_t until = clock_mono_ms(clock_system()) + PATIENCE_MS;
    while (kill(-group, 0) == 0 || errno != ESRCH) {
        while (waitpid(-group, NULL, WNOHANG) > 0) /* what it had started is ours to reap now */
            continue;
        assert_true(clock_mono_ms(clock_system()) < until);
        (void)poll(NULL, 0, 10);
    }
}

/* Until the run is seen to have come to its source; it is never over before its deadline. */
static void hang(struct run *run, const struct source *source, const char *path, int *ret_fd)
{
    int64_t until = clock_mono_ms(clock_system()) + PATIENCE_MS, deadline_ms = run->check->deadline_ms;
    struct check_report report;
    pid_t left;
    *ret_fd = -1;
    while (is_opened(source) ? !has_reader(path, ret_fd) : started_by(path) == 0) {
        if (run_turn(run, 0, &report, &left))
            fail_msg("%s has not come to %s: %s %s", source->check, path, check_result_text(report.result), report.why);
        if (clock_mono_ms(clock_system()) > until)
            fail_msg("%s does not come to %s", source->check, path);
        (void)poll(NULL, 0, 10);
    }
    assert_false(run_turn(run, deadline_ms - 1, &report, &left));
}

static void expect_ended_at_deadline(struct run *run, const struct source *source, const char *path)
{
    int64_t deadline_ms = run->check->deadline_ms;
    pid_t group = run->pid, left = 0, child = is_opened(source) ? 0 : started_by(path);
    struct check_report report;
    assert_true(child == 0 || getpgid(child) == group);
    assert_true(run_turn(run, deadline_ms, &report, &left));
    wait_for_all_of(group);
    autofree char *why = own_printf("it did not answer within %d s", (int)(deadline_ms / MS_PER_S));
    if (report.result != CHECK_RESULT_UNKNOWN || report.whole || strcmp(report.why, why) != 0)
        fail_msg("%s at %s: %s %s", source->check, path, check_result_text(report.result), report.why);
    report_free(&report);
}

static void hang_at(struct place *place, const struct source *source, const char *script)
{
    struct machine machine = machine_for(place, source);
    struct custom_list custom = {.count = 0};
    autofree char *path = path_of(&machine, source);
    int fd;
    if (is_opened(source))
        put_fifo(&machine, path);
    else
        machine_tool(&machine, source->tool, script);
    struct run run = begin(&machine, find_check(source->check, &machine, &custom));
    hang(&run, source, path, &fd);
    expect_ended_at_deadline(&run, source, path);
    if (fd >= 0)
        close(fd);
    custom_free(&custom);
    machine_end(&machine);
}

static void test_a_source_that_never_answers(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(sources); i++)
        hang_at(*state, &sources[i], HANGS);
}

static void test_a_tool_that_talks_without_end(void **state)
{
    for (size_t i = 0; i < ARRAY_LEN(sources); i++)
        if (!is_opened(&sources[i]))
            hang_at(*state, &sources[i], TALKS);
}

static void test_each_check_has_a_source(void **state)
{
    size_t count;
    const struct check *const *table = checks_table(&count);
    (void)state;
    for (size_t i = 0; i < count; i++) {
        bool found = has_no_source(table[i]);
        for (size_t k = 0; k < ARRAY_LEN(sources); k++)
            found |= strcmp(sources[k].check, table[i]->name) == 0;
        if (!found)
            fail_msg("what %s reads is not among the sources of this test", table[i]->name);
    }
}

/* --- something that says nothing ------------------------------------------------------------------------------- */

/* Bytes of all kinds, the same ones each time. */
static char *make_garbage(void)
{
    char *bytes = own_calloc(GARBAGE_BYTES, 1);
    uint64_t random = 20261122;
    for (size_t i = 0; i < GARBAGE_BYTES; i++) {
        random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
        bytes[i] = (char)(random >> 33);
    }
    return bytes;
}

static void put_garbage(const struct machine *machine, const struct source *source, const char *garbage, size_t len)
{
    autofree char *path = path_of(machine, source), *dir = own_strdup(path);
    *strrchr(dir, '/') = '\0';
    assert_int_equal(file_make_dirs(dir, 0755), 0);
    if (is_opened(source)) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(garbage, 1, len, file), len);
        assert_int_equal(fchmod(fileno(file), 0755), 0);
        assert_int_equal(fclose(file), 0);
    } else {
        machine_tool(machine, source->tool, "exec cat \"$0.out\"");
        machine_says(machine, source->tool, garbage, len);
    }
}

static void expect_nothing_known(struct machine *machine, const struct check *check)
{
    struct run run = begin(machine, check);
    struct check_report report;
    pid_t group = run.pid, left;
    int64_t until = clock_mono_ms(clock_system()) + PATIENCE_MS;
    while (!run_turn(&run, 0, &report, &left)) {
        struct pollfd fds[] = {{.fd = run.exit_fd, .events = POLLIN}, {.fd = run.fd, .events = POLLIN}};
        assert_true(clock_mono_ms(clock_system()) < until);
        (void)poll(fds, ARRAY_LEN(fds), 100);
    }
    wait_for_all_of(group);
    if (report.result != CHECK_RESULT_UNKNOWN && report.result != CHECK_RESULT_NOT_APPLICABLE)
        fail_msg("%s: %s %s%s", check->name, check_result_text(report.result), report.why,
                 report.observation_count > 0 ? report.observations[0].text : "");
    report_free(&report);
}

/* All that a check reads at once: what of it is optional may be missed, but not everything. */
static void fill_with(struct place *place, const char *name, const char *garbage, size_t len)
{
    struct custom_list custom = {.count = 0};
    const struct source *last = NULL;
    for (size_t i = 0; i < ARRAY_LEN(sources); i++)
        if (strcmp(sources[i].check, name) == 0)
            last = &sources[i];
    if (last == NULL)
        return;
    struct machine machine = machine_for(place, last);
    for (size_t i = 0; i < ARRAY_LEN(sources); i++)
        if (strcmp(sources[i].check, name) == 0)
            put_garbage(&machine, &sources[i], garbage, len);
    expect_nothing_known(&machine, find_check(name, &machine, &custom));
    custom_free(&custom);
    machine_end(&machine);
}

static void test_sources_of_garbage(void **state)
{
    size_t count;
    const struct check *const *table = checks_table(&count);
    autofree char *garbage = make_garbage();
    for (size_t i = 0; i < count; i++) {
        fill_with(*state, table[i]->name, garbage, GARBAGE_BYTES);
        fill_with(*state, table[i]->name, garbage, 3000);
        fill_with(*state, table[i]->name, "", 0);
    }
}

static void test_a_machine_with_nothing(void **state)
{
    static const struct source none = {"", "", NULL, "", NULL, ""};
    size_t count;
    const struct check *const *table = checks_table(&count);
    for (size_t i = 0; i < count; i++) {
        struct machine machine = machine_for(*state, &none);
        if (!has_no_source(table[i]))
            expect_nothing_known(&machine, table[i]);
        machine_end(&machine);
    }
}

/* Its exit code is its word, as those who write such checks know it: what it prints beside that is cut, and never a finding. */
static void test_a_sites_own_check_that_prints_garbage(void **state)
{
    static const struct source own = {"mine", NULL, "mine", "", NULL, ""};
    autofree char *garbage = make_garbage();
    for (int code = 0; code < 4; code++) {
        struct machine machine = machine_for(*state, &own);
        struct custom_list custom = {.count = 0};
        autofree char *script = own_printf("cat \"$0.out\"\nexit %d", code);
        machine_tool(&machine, "mine", script);
        machine_says(&machine, "mine", garbage, GARBAGE_BYTES);
        const struct check *check = find_check("mine", &machine, &custom);
        struct run run = begin(&machine, check);
        struct check_report report;
        pid_t left;
        while (!run_turn(&run, 0, &report, &left))
            (void)poll(NULL, 0, 10);
        assert_int_equal(report.result, code == 0   ? CHECK_RESULT_OK
                                        : code == 3 ? CHECK_RESULT_UNKNOWN
                                                    : CHECK_RESULT_FOUND);
        report_free(&report);
        custom_free(&custom);
        machine_end(&machine);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_check_has_a_source), PLACE_TEST(test_a_source_that_never_answers),
        PLACE_TEST(test_a_tool_that_talks_without_end), PLACE_TEST(test_sources_of_garbage),
        PLACE_TEST(test_a_machine_with_nothing),        PLACE_TEST(test_a_sites_own_check_that_prints_garbage),
    };
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
