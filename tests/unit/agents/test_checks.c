/* The clockwork of the checks: which are chosen, that each has its turn, and what is remembered over a restart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/checks.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/own.h"
#include "policy/faults/faults.h"
#include "tests/unit/agents/machine.h"

#include <glob.h>
#include <stdio.h>

#define PATIENCE_MS 60000

struct heard {
    int reports;
    char names[512]; /* with a blank behind each */
    enum check_result last;
};

static void on_report(const struct check *check, const struct check_report *report, void *arg)
{
    struct heard *heard = arg;
    size_t len = strlen(heard->names);
    heard->reports++;
    heard->last = report->result;
    snprintf(heard->names + len, sizeof(heard->names) - len, "%s ", check->name);
}

static struct checks_options options_of(const struct machine *machine, const char *names)
{
    return (struct checks_options){.names = names,
                                   .root = machine->root,
                                   .path = machine->bin,
                                   .instance_type = "",
                                   .state_dir = machine->place->dir,
                                   .boot_id = "boot-1",
                                   .instance_id = "i-1",
                                   .once = true};
}

/* Until nothing is due any more. */
static struct heard run_once(const struct checks_options *options)
{
    struct heard heard = {.reports = 0};
    struct checks *checks = NULL;
    struct pollfd fds[CHECKS_FDS_MAX];
    char error[CHECKS_ERROR_MAX];
    int64_t until = clock_mono_ms(clock_system()) + PATIENCE_MS;
    assert_int_equal(checks_new(options, &checks, error), 0);
    for (checks_turn(checks, on_report, &heard); checks_due_ms(checks) < INT64_MAX;
         checks_turn(checks, on_report, &heard)) {
        assert_true(clock_mono_ms(clock_system()) < until);
        assert_true(checks_fds(checks, fds) <= CHECKS_FDS_MAX);
        (void)poll(fds, checks_fds(checks, fds), 100);
    }
    checks_free(checks);
    return heard;
}

static void test_names(void **state)
{
    static const char *const bad[] = {"", "disk,", ",disk", "nothing", "disk,nothing", "all,disk", "Disk"};
    struct machine machine = machine_new(*state, "");
    char error[CHECKS_ERROR_MAX];
    struct checks *checks = NULL;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct checks_options options = options_of(&machine, bad[i]);
        assert_int_equal(checks_new(&options, &checks, error), STATUS_INVALID);
        assert_non_null(strstr(error, "no check is called"));
    }
    struct checks_options options = options_of(&machine, "edac,cpu,edac");
    assert_int_equal(run_once(&options).reports, 2);
    options.names = "none";
    assert_int_equal(run_once(&options).reports, 0);
    machine_free(&machine);
}

static void test_all_have_their_turn(void **state)
{
    struct machine machine = machine_new(*state, "");
    struct checks_options options = options_of(&machine, "all");
    size_t count;
    const struct check *const *table = checks_table(&count);
    struct heard heard = run_once(&options);
    assert_int_equal(heard.reports, count);
    for (size_t i = 0; i < count; i++) {
        assert_non_null(strstr(heard.names, table[i]->name));
        assert_true(strlen(table[i]->name) < CHECK_NAME_MAX_BYTES);
        assert_true(table[i]->deadline_ms > 0 && table[i]->deadline_ms <= table[i]->period_ms);
    }
    machine_free(&machine);
}

static void test_a_sites_own(void **state)
{
    struct machine machine = machine_new(*state, "");
    struct checks_options options = options_of(&machine, "probe");
    machine_tool(&machine, "probe", "echo hot; exit 2");
    machine_tool(&machine, "edac", "exit 2"); /* that name is taken */
    options.dir = machine.bin;
    struct heard heard = run_once(&options);
    assert_int_equal(heard.reports, 1);
    assert_int_equal(heard.last, CHECK_RESULT_FOUND);
    options.names = "edac";
    assert_int_equal(run_once(&options).last, CHECK_RESULT_NOT_APPLICABLE);
    size_t ours;
    (void)checks_table(&ours);
    options.names = "all";
    heard = run_once(&options);
    assert_int_equal(heard.reports, ours + 1);
    assert_non_null(strstr(heard.names, "probe "));
    options.names = "none";
    assert_int_equal(run_once(&options).reports, 0);
    machine_free(&machine);
}

/* Looks until something has come or gone. */
static void scan_until_changed(struct checks *checks)
{
    int64_t until = clock_mono_ms(clock_system()) + PATIENCE_MS;
    while (!checks_scan(checks)) {
        assert_true(clock_mono_ms(clock_system()) < until);
        (void)poll(NULL, 0, 5);
    }
}

static void scan_in_vain(struct checks *checks)
{
    (void)poll(NULL, 0, 5);
    assert_false(checks_scan(checks));
}

static void test_what_comes_and_goes(void **state)
{
    struct machine machine = machine_new(*state, "");
    struct checks_options options = options_of(&machine, "all");
    struct checks *checks = NULL;
    char error[CHECKS_ERROR_MAX];
    autofree char *dir = own_printf("%s/checks.d", machine.place->dir), *bin = machine.bin;
    autofree char *path = own_printf("%s/probe", dir);
    size_t ours;
    (void)checks_table(&ours);
    options.once = false;
    options.scan_ms = 1;
    options.first_within_ms = INT64_C(86400000);
    options.dir = dir;
    assert_int_equal(checks_new(&options, &checks, error), 0); /* the directory may come later */
    scan_in_vain(checks);
    assert_int_equal(file_make_dirs(dir, 0755), 0);
    machine.bin = dir;
    machine_tool(&machine, "probe", "# holdfast: period=5m\nexit 0");
    machine_tool(&machine, "edac", "exit 0"); /* that name is taken */
    machine_tool(&machine, "no:name", "exit 0");
    scan_until_changed(checks);
    const struct check *probe = checks_find(checks, "probe");
    assert_non_null(probe);
    assert_int_equal(probe->period_ms, 5 * MS_PER_MIN);
    assert_null(checks_at(checks, ours + 1));
    scan_in_vain(checks);
    machine_tool(&machine, "probe", "# holdfast: period=7m timeout=20s\nexit 0");
    scan_in_vain(checks); /* the same one, and another period */
    assert_int_equal(probe->period_ms, 7 * MS_PER_MIN);
    assert_int_equal(unlink(path), 0);
    scan_until_changed(checks);
    assert_null(checks_find(checks, "probe"));
    assert_null(checks_at(checks, ours));
    assert_string_equal(probe->name, "probe"); /* who remembers it may still name it */
    machine_tool(&machine, "probe", "exit 0");
    scan_until_changed(checks);
    assert_true(checks_find(checks, "probe") == probe);
    checks_free(checks);
    options.names = "edac,disk"; /* it is none of those that are asked for */
    assert_int_equal(checks_new(&options, &checks, error), 0);
    machine_tool(&machine, "another", "exit 0");
    scan_in_vain(checks);
    checks_free(checks);
    machine.bin = TAKE(bin);
    machine_free(&machine);
}

/* A directory that is there and cannot be opened: a symbolic link that goes round in a circle. */
static void test_a_directory_that_cannot_be_read_for_a_while(void **state)
{
    struct machine machine = machine_new(*state, "");
    struct checks_options options = options_of(&machine, "all");
    struct checks *checks = NULL;
    char error[CHECKS_ERROR_MAX];
    autofree char *away = own_printf("%s.away", machine.bin);
    options.once = false;
    options.scan_ms = 1;
    options.first_within_ms = INT64_C(86400000);
    options.dir = machine.bin;
    machine_tool(&machine, "probe", "exit 2");
    assert_int_equal(checks_new(&options, &checks, error), 0);
    assert_int_equal(rename(machine.bin, away), 0);
    assert_int_equal(symlink(machine.bin, machine.bin), 0);
    scan_in_vain(checks);
    assert_non_null(checks_find(checks, "probe"));
    assert_true(checks_may_run(checks, "another")); /* who knows? */
    checks_free(checks);
    assert_int_equal(checks_new(&options, &checks, error), 0); /* an agent that starts just now */
    assert_null(checks_find(checks, "probe"));
    assert_true(checks_may_run(checks, "probe"));
    assert_int_equal(unlink(machine.bin), 0);
    scan_until_changed(checks); /* it is gone for good, and that is news */
    assert_false(checks_may_run(checks, "probe"));
    assert_int_equal(rename(away, machine.bin), 0);
    scan_until_changed(checks);
    assert_non_null(checks_find(checks, "probe"));
    assert_false(checks_may_run(checks, "another"));
    checks_free(checks);
    options.names = "edac";
    assert_int_equal(checks_new(&options, &checks, error), 0);
    assert_false(checks_may_run(checks, "disk")); /* ours are known without it */
    checks_free(checks);
    machine_free(&machine);
}

static void test_what_is_remembered(void **state)
{
    struct machine machine = machine_new(*state, "");
    struct checks_options options = options_of(&machine, "edac");
    machine_file(&machine, "/sys/devices/system/edac/mc/mc0/ue_count", "1\n");
    assert_int_equal(run_once(&options).last, CHECK_RESULT_FOUND);
    assert_int_equal(run_once(&options).last, CHECK_RESULT_OK); /* the agent was started again: it is told once */
    options.boot_id = "boot-2";
    assert_int_equal(run_once(&options).last, CHECK_RESULT_FOUND); /* and again of another boot */
    autofree char *path = own_printf("%s/memory-edac", machine.place->dir);
    assert_int_equal(file_write(path, "boot-2", 6, 0600), 0); /* cut short */
    assert_int_equal(run_once(&options).last, CHECK_RESULT_FOUND);
    options.state_dir = "";
    assert_int_equal(run_once(&options).last, CHECK_RESULT_FOUND);
    machine_free(&machine);
}

/* It is written down by checks_keep and not before: whoever is killed after a run and before what it said is on disk runs it
 * again. */
static void test_what_is_said_is_kept_first(void **state)
{
    struct machine machine = machine_new(*state, "");
    struct checks_options options = options_of(&machine, "edac");
    autofree char *path = own_printf("%s/memory-edac", machine.place->dir);
    struct heard heard = {.reports = 0};
    struct checks *checks = NULL;
    struct pollfd fds[CHECKS_FDS_MAX];
    char error[CHECKS_ERROR_MAX];
    int64_t until = clock_mono_ms(clock_system()) + PATIENCE_MS;
    machine_file(&machine, "/sys/devices/system/edac/mc/mc0/ue_count", "1\n");
    assert_int_equal(checks_new(&options, &checks, error), 0);
    for (checks_turn(checks, on_report, &heard); heard.reports == 0; checks_turn(checks, on_report, &heard)) {
        assert_true(clock_mono_ms(clock_system()) < until);
        (void)poll(fds, checks_fds(checks, fds), 100);
    }
    assert_int_equal(heard.last, CHECK_RESULT_FOUND);
    assert_false(file_exists(path));
    checks_keep(checks);
    assert_true(file_exists(path));
    checks_free(checks);
    machine_free(&machine);
}

struct place_heard {
    struct log_place place;
    int64_t count;
    int reports;
};

static void note_place(const struct check *check, const struct check_report *report, void *arg)
{
    struct place_heard *heard = arg;
    (void)check;
    heard->reports++;
    if (report->observation_count == 0)
        return;
    heard->place = report_place(report, 0);
    heard->count = report->observations[0].count;
}

/* One run, which is killed before its memory is on disk, or not. */
static struct place_heard event_of(const struct checks_options *options, bool killed)
{
    struct place_heard heard = {.reports = 0};
    struct checks *checks = NULL;
    struct pollfd fds[CHECKS_FDS_MAX];
    char error[CHECKS_ERROR_MAX];
    autofree char *path = own_printf("%s/memory-edac", options->state_dir), *before = NULL;
    size_t len = 0;
    bool was = file_read(path, 4096, &before, &len) == 0;
    assert_int_equal(checks_new(options, &checks, error), 0);
    for (checks_turn(checks, note_place, &heard); heard.reports == 0; checks_turn(checks, note_place, &heard))
        (void)poll(fds, checks_fds(checks, fds), 100);
    checks_free(checks); /* which keeps it */
    if (killed && was)
        assert_int_equal(file_write(path, before, len, 0600), 0);
    else if (killed)
        assert_int_equal(unlink(path), 0);
    return heard;
}

/* An agent that is killed between the event and its memory sees the event again: at the same place, with what came since. */
static void test_events_have_the_place_of_their_memory(void **state)
{
    struct machine machine = machine_new(*state, "");
    struct checks_options options = options_of(&machine, "edac");
    machine_file(&machine, "/sys/devices/system/edac/mc/mc0/ue_count", "1\n");
    struct place_heard first = event_of(&options, true);
    machine_file(&machine, "/sys/devices/system/edac/mc/mc0/ue_count", "3\n");
    struct place_heard again = event_of(&options, false);
    assert_int_not_equal(first.place.log, 0);
    assert_memory_equal(&first.place, &again.place, sizeof(first.place));
    assert_int_equal(first.count, 1);
    assert_int_equal(again.count, 3);
    machine_file(&machine, "/sys/devices/system/edac/mc/mc0/ue_count", "4\n");
    struct place_heard next = event_of(&options, true), next_again = event_of(&options, false);
    assert_int_equal(next.count, 1);
    assert_int_not_equal(next.place.log, first.place.log);
    assert_memory_equal(&next.place, &next_again.place, sizeof(next.place));
    assert_int_equal(event_of(&options, false).count, 0);
    machine_free(&machine);
}

/* What spans boots: how many adapters there were before one was lost. */
static void test_an_image_brings_no_memory_of_another_machine(void **state)
{
    static const struct {
        const char *kept;
        enum check_result result;
    } cases[] = {
        {"i-1 boot-0\ngone 2 5\n", CHECK_RESULT_OK},
        {"i-1 boot-1\ngone 2 5\n", CHECK_RESULT_OK},
        {"i-2 boot-0\ngone 2 5\n", CHECK_RESULT_NOT_APPLICABLE},
        {"i-12 boot-1\ngone 2 5\n", CHECK_RESULT_NOT_APPLICABLE},
        {"i-1\ngone 2 5\n", CHECK_RESULT_NOT_APPLICABLE},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct machine machine = machine_new(*state, "");
        struct checks_options options = options_of(&machine, "efa");
        autofree char *path = own_printf("%s/memory-efa", machine.place->dir);
        machine_file(&machine, "/sys/class/infiniband/README", "");
        assert_int_equal(file_write(path, cases[i].kept, strlen(cases[i].kept), 0600), 0);
        assert_int_equal(run_once(&options).last, cases[i].result);
        machine_free(&machine);
    }
}

static void test_a_fleet_does_not_look_together(void **state)
{
    struct machine machine = machine_new(*state, "");
    int64_t from = clock_mono_ms(clock_system()), first = 0;
    bool differ = false;
    for (int i = 0; i < 8; i++) {
        struct checks *checks = NULL;
        char seed[16], error[CHECKS_ERROR_MAX];
        struct checks_options options = options_of(&machine, "disk");
        snprintf(seed, sizeof(seed), "i-%d", i);
        options.instance_id = seed;
        options.once = false;
        options.first_within_ms = 1000000000;
        assert_int_equal(checks_new(&options, &checks, error), 0);
        int64_t due = checks_due_ms(checks);
        assert_true(due >= from && due < clock_mono_ms(clock_system()) + checks_find(checks, "disk")->period_ms);
        differ |= i > 0 && (due - first > 1000 || first - due > 1000);
        first = i == 0 ? due : first;
        checks_free(checks);
    }
    assert_true(differ);
    machine_free(&machine);
}

static void test_the_manual_page_names_every_check(void **state)
{
    size_t count, len;
    const struct check *const *table = checks_table(&count);
    autofree char *page = NULL;
    (void)state;
    assert_int_equal(file_read("docs/man/hp-agent.8", 1 << 20, &page, &len), 0);
    for (size_t i = 0; i < count; i++) {
        autofree char *item = own_printf("\n.It Cm %s\n", table[i]->name);
        if (strstr(page, item) == NULL)
            fail_msg("docs/man/hp-agent.8 does not name the check %s", table[i]->name);
    }
}

/* Codes that stand as they are in the calls of check_found and check_event. */
static void expect_rows_of(const char *source, const char *data)
{
    static const char *const calls[] = {"check_found(", "check_event("};
    for (size_t i = 0; i < ARRAY_LEN(calls); i++)
        for (const char *at = strstr(data, calls[i]); at != NULL; at = strstr(at + 1, calls[i])) {
            const char *code = at + strcspn(at, ",;") + 1;
            code += strspn(code, " \n");
            autofree char *word = own_printf("%.*s", *code == '"' ? (int)strcspn(code + 1, "\"") : 0, code + 1);
            if (word[0] != '\0' && fault_find(word) == NULL)
                fail_msg("%s: no table of policy/faults/ has a row for %s", source, word);
        }
}

static void test_codes_have_rows(void **state)
{
    glob_t sources;
    (void)state;
    assert_int_equal(glob("agents/checks/*.c", 0, NULL, &sources), 0);
    for (size_t i = 0; i < sources.gl_pathc; i++) {
        autofree char *data = NULL;
        size_t len;
        assert_int_equal(file_read(sources.gl_pathv[i], 1 << 20, &data, &len), 0);
        expect_rows_of(sources.gl_pathv[i], data);
    }
    globfree(&sources);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_names),
        TEST(test_all_have_their_turn),
        TEST(test_a_sites_own),
        TEST(test_what_comes_and_goes),
        TEST(test_a_directory_that_cannot_be_read_for_a_while),
        TEST(test_what_is_remembered),
        TEST(test_what_is_said_is_kept_first),
        TEST(test_events_have_the_place_of_their_memory),
        TEST(test_an_image_brings_no_memory_of_another_machine),
        TEST(test_a_fleet_does_not_look_together),
        cmocka_unit_test(test_the_manual_page_names_every_check),
        cmocka_unit_test(test_codes_have_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
