/* The table of kernel log lines: each row known by a sample, each sample read as it says, and nothing hostile believed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/kmsg.h"
#include "agents/checks/kmsg_pattern.h"
#include "agents/checks/kmsg_scan.h"
#include "agents/node/window.h"
#include "base/file.h"
#include "base/own.h"
#include "base/text.h"
#include "policy/faults/faults.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#define SAMPLES "tests/data/kmsg_lines"
#define ROWS_MAX KMSG_SCAN_WORDS_MAX

/* --- the language -------------------------------------------------------------------------------------------- */

static void test_language(void **state)
{
    static const struct {
        const char *pattern, *text, *device; /* device NULL: does not match */
    } cases[] = {
        {"plain", "plain and more", ""},
        {"plain", "plai", NULL},
        {"plain", " plain", NULL},
        {"{}plain", "before plain", ""},
        {"{}plain", "plain", ""},
        {"a {n} b", "a 12 b", ""},
        {"a {n} b", "a  b", NULL},
        {"a {n} b", "a 1x b", NULL},
        {"{n}", "", NULL},
        {"nvme {device}: ", "nvme nvme3: x", "nvme3"},
        {"nvme {device}: ", "nvme : x", NULL},
        {"nvme {device}: ", "nvme a b: x", NULL},
        {"{word} {device}: PCIe", "pcieport 0000:16:02.0: PCIe", "0000:16:02.0"},
        {"on {device}", "on sdb2, x", "sdb2"},
        {"on {device}", "on ", NULL},
        {"on {device}", "on \xc3\xa9", NULL},
        {"({device}{}end", "(dm-3: a end", "dm-3:"},
        {"{}a{}b", "xxaxxb", ""},
        {"{}a{}b", "xxbxxa", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char device[DEVICE_MAX_BYTES] = "untouched";
        bool matches = kmsg_pattern_matches(cases[i].pattern, cases[i].text, strlen(cases[i].text), device);
        if (matches != (cases[i].device != NULL))
            fail_msg("%s: %s", cases[i].pattern, cases[i].text);
        assert_string_equal(device, matches ? cases[i].device : "untouched");
    }
    char longest[DEVICE_MAX_BYTES + 4] = "on ", device[DEVICE_MAX_BYTES];
    memset(longest + 3, 'x', DEVICE_MAX_BYTES - 1);
    assert_true(kmsg_pattern_matches("on {device}", longest, 3 + DEVICE_MAX_BYTES - 1, device));
    memset(longest + 3, 'x', DEVICE_MAX_BYTES);
    assert_false(kmsg_pattern_matches("on {device}", longest, 3 + DEVICE_MAX_BYTES, device));
}

static void test_where_the_text_begins(void **state)
{
    static const char *const cases[] = {
        "",
        "[    1.5] ",
        "<3>[    1.5][ T4711] ",
        "[Fri Nov 20 03:12:01 2026] ",
        "Nov 20 03:12:01 gpu-4 kernel: ",
        "Nov 20 03:12:01 gpu-4 kernel: [    1.5] ",
        "2026-11-20T03:12:01.338112+00:00 gpu-4 kernel: ",
        "kern  :err   : 2026-11-20T03:12:01,338112+00:00 ",
        "gpu-4 kernel: ",
        "\t ",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *line = own_printf("%s{1}[Hardware Error]: x", cases[i]);
        assert_int_equal(kmsg_text_start(line, strlen(line)), strlen(cases[i]));
    }
    assert_int_equal(kmsg_text_start("usb 1-1: kernel: x", 18), 0);
    assert_int_equal(kmsg_text_start("[drm] x", 7), 0);
    assert_int_equal(kmsg_text_start("   ", 3), 3);
    assert_int_equal(kmsg_text_start(NULL, 0), 0);
}

static void test_scan(void **state)
{
    (void)state;
    static const struct kmsg_scan_word words[] = {{"alpha", 5}, {"alphabet", 8}, {"betas", 5}, {"zzzzz", 5}};
    struct kmsg_scan *scan = kmsg_scan_new(words, ARRAY_LEN(words));
    struct kmsg_scan_set set;
    static const struct {
        const char *text;
        uint64_t bits;
    } cases[] = {{"", 0},
                 {"alph", 0},
                 {"alpha", 1},
                 {"an alphabetas", 7},
                 {"zzzz zzzzzz", 8},
                 {"xalphabe", 1},
                 {"alpbetas", 1 << 2},
                 {"betaalphabetbetas", 7},
                 {"\xff\xff\xff\xff\xff\xff", 0}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool found = kmsg_scan_find(scan, cases[i].text, strlen(cases[i].text), &set);
        if (found != (cases[i].bits != 0) || (found && set.bits[0] != cases[i].bits))
            fail_msg("%s", cases[i].text);
    }
    kmsg_scan_free(scan);
    kmsg_scan_free(NULL);
}

/* --- the table and its samples ------------------------------------------------------------------------------- */

static void test_rows(void **state)
{
    (void)state;
    const char *code, *pattern;
    for (size_t i = 0; kmsg_patterns_row(i, &code, &pattern); i++) {
        if (code != NULL && strcmp(code, KMSG_XID) != 0 && fault_find(code) == NULL)
            fail_msg("%s is in no fault table", code);
        const char *other_code, *other;
        for (size_t k = 0; k < i && kmsg_patterns_row(k, &other_code, &other); k++)
            if (strcmp(pattern, other) == 0)
                fail_msg("there twice: %s", pattern);
    }
    /* and the other way round: no row of the kernel table that no line leads to */
    const struct fault_table *table = fault_table_find("kernel");
    for (size_t i = 0; i < table->count; i++) {
        bool found = strcmp(table->rows[i].code, KMSG_OVERRUN_CODE) == 0;
        for (size_t k = 0; !found && kmsg_patterns_row(k, &code, &pattern); k++)
            found = code != NULL && strcmp(code, table->rows[i].code) == 0;
        if (!found)
            fail_msg("no line leads to %s", table->rows[i].code);
    }
}

static void collect(const struct finding *finding, void *arg)
{
    *(struct finding *)arg = *finding;
}

static void check_sample(struct kmsg *kmsg, const char *path, char *row)
{
    char *bar = strstr(row, " | ");
    if (row[0] == '#' || row[0] == '\0')
        return;
    if (bar == NULL)
        fail_msg("%s: no bar in: %s", path, row);
    *bar = '\0';
    const char *line = bar + strlen(" | ");
    struct finding finding = {0};
    char said[160] = "-";
    kmsg_take_line(kmsg, line, strlen(line), collect, &finding);
    if (finding.count > 0) {
        struct fault_judgement j;
        fault_judge(finding.source, finding.code, finding.raw_line, &j);
        snprintf(said, sizeof(said), "%s %s %s %s %s %s", finding.device[0] != '\0' ? finding.device : "node",
                 finding.code, action_class_text(j.action), action_class_text(j.again), urgency_text(j.urgency),
                 severity_text(finding.severity));
    }
    if (strcmp(said, row) != 0)
        fail_msg("%s: %s\n  expected %s\n  said     %s", path, line, row, said);
}

/* Which row of the table would have known the line, had it stood alone. */
static void note_rows(const char *line, bool seen[ROWS_MAX])
{
    const char *code, *pattern;
    char device[DEVICE_MAX_BYTES];
    size_t start = kmsg_text_start(line, strlen(line));
    for (size_t i = 0; kmsg_patterns_row(i, &code, &pattern); i++)
        if (!seen[i] && kmsg_pattern_matches(pattern, line + start, strlen(line) - start, device)) {
            seen[i] = true;
            return; /* the first is the line's */
        }
}

typedef void line_fn(const char *path, char *row, void *arg);

static size_t for_each_sample(line_fn *on_row, void *arg)
{
    size_t count = 0;
    DIR *dir = opendir(SAMPLES);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (!text_ends_with(entry->d_name, ".txt"))
            continue;
        autofree char *path = own_printf("%s/%s", SAMPLES, entry->d_name), *text = NULL;
        size_t len = 0;
        assert_int_equal(file_read(path, 1 << 20, &text, &len), 0);
        char *save = NULL;
        for (char *row = strtok_r(text, "\n", &save); row != NULL; row = strtok_r(NULL, "\n", &save), count++)
            on_row(path, row, arg);
    }
    closedir(dir);
    return count;
}

static void on_sample(const char *path, char *row, void *arg)
{
    check_sample(arg, path, row);
}

static void on_coverage(const char *path, char *row, void *arg)
{
    (void)path;
    char *bar = strstr(row, " | ");
    if (row[0] == '#' || bar == NULL)
        return;
    const char *line = bar + strlen(" | ");
    const char *record = strstr(line, ",-;");
    note_rows(record != NULL ? record + 3 : line, arg);
}

static void test_samples(void **state)
{
    (void)state;
    struct clock clock;
    clock_fake_init(&clock, INT64_C(1795188470669));
    struct kmsg *kmsg = kmsg_new("/no/such/file", NULL, &clock);
    assert_true(for_each_sample(on_sample, kmsg) > 200);
    kmsg_free(kmsg);
}

static void test_each_row_has_a_sample(void **state)
{
    (void)state;
    bool seen[ROWS_MAX] = {false};
    const char *code, *pattern;
    for_each_sample(on_coverage, seen);
    for (size_t i = 0; kmsg_patterns_row(i, &code, &pattern); i++)
        if (!seen[i] && (code == NULL || strcmp(code, KMSG_XID) != 0)) /* Xid lines are in tests/data/kmsg */
            fail_msg("no sample in %s is known by: %s", SAMPLES, pattern);
}

/* --- what it must never do ----------------------------------------------------------------------------------- */

struct tally {
    int findings, nodes; /* nodes: findings that would cost the node at one finding */
    struct windows windows;
    struct verdict last;
};

static void keep_verdict(const struct verdict *verdict, const struct reach *reach, void *arg)
{
    (void)reach;
    ((struct tally *)arg)->last = *verdict;
}

static void count_finding(const struct finding *finding, void *arg)
{
    struct tally *tally = arg;
    tally->findings++;
    tally->nodes += finding->action >= ACTION_CLASS_RESET;
    windows_add(&tally->windows, finding, 0, keep_verdict, tally);
}

static void take_line(struct kmsg *kmsg, const char *line, struct tally *tally)
{
    kmsg_take_line(kmsg, line, strlen(line), count_finding, tally);
}

/* What HyperPod's agent had to be taught, from its release notes: none of it costs a node. */
static void test_known_false_positives(void **state)
{
    static const char *const lines[] = {
        /* GPUs are not there yet at boot */
        "NVRM: GPU 0000:b9:00.0: RmInitAdapter failed! (0x25:0x40:1462)",
        "NVRM: None of the NVIDIA devices were initialized.",
        /* power smoothing */
        "NVRM: Xid (PCI:0000:b9:00): 163, pid='<unknown>', name=<unknown>, PSHC disengaged",
        /* the node is out of memory */
        "python3 invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0",
        "Out of memory: Killed process 13536 (python3) total-vm:33558652kB, anon-rss:920kB, file-rss:452kB",
        "Memory cgroup out of memory: Killed process 19636 (python3) total-vm:1460016kB, anon-rss:1414008kB",
        /* tasks that hang, which had been taken for a deadlock of the kernel */
        "INFO: task python3:931150 blocked for more than 122 seconds.",
        "watchdog: BUG: soft lockup - CPU#6 stuck for 23s! [python3:288]",
        "rcu: INFO: rcu_sched self-detected stall on CPU",
        /* heat */
        "mce: CPU12: Package temperature above threshold, cpu clock throttled (total events = 7)",
        /* programs */
        "NVRM: Xid (PCI:0000:b9:00): 31, pid=4711, name=train, Ch 00000008, MMU Fault",
        "NVRM: Xid (PCI:0000:b9:00): 43, pid=4711, name=train, Ch 00000008",
        "python3[25364]: segfault at 0 ip 00007ffeaf0ff420 sp 00007ffeaf0ff410 error 14 in libnccl.so.2[7f0+d3]",
    };
    (void)state;
    struct clock clock;
    clock_fake_init(&clock, INT64_C(1795188470669));
    struct kmsg *kmsg = kmsg_new("/no/such/file", NULL, &clock);
    struct tally tally = {0};
    windows_init(&tally.windows, "i-1", "boot-1");
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        take_line(kmsg, lines[i], &tally);
        if (tally.nodes != 0)
            fail_msg("costs a node: %s", lines[i]);
    }
    assert_int_equal(tally.findings, ARRAY_LEN(lines) - 1); /* all but the oom-killer's first line are told */
    kmsg_free(kmsg);
}

/* A thousand lines of a dying disk are one verdict with a count. */
static void test_a_flood_folds(void **state)
{
    (void)state;
    struct clock clock;
    clock_fake_init(&clock, INT64_C(1795188470669));
    struct kmsg *kmsg = kmsg_new("/no/such/file", NULL, &clock);
    struct tally tally = {0};
    windows_init(&tally.windows, "i-1", "boot-1");
    for (int i = 0; i < 1000; i++) {
        autofree char *line = own_printf("I/O error, dev nvme1n1, sector %d op 0x1:(WRITE) flags 0x800", i * 8);
        take_line(kmsg, line, &tally);
    }
    int used = 0;
    for (size_t i = 0; i < WINDOW_COUNT_MAX; i++)
        used += tally.windows.slots[i].used;
    assert_int_equal(used, 1);
    windows_flush(&tally.windows, 0, true, keep_verdict, &tally);
    assert_int_equal(tally.last.count, 1000);
    assert_string_equal(tally.last.code, "kernel.disk.io-error");
    assert_string_equal(tally.last.device, "nvme1n1");
    kmsg_free(kmsg);
}

/* A sample that costs no node costs none wherever it is cut. */
static void on_cut(const char *path, char *row, void *arg)
{
    char *bar = strstr(row, " | ");
    struct finding whole = {0};
    if (row[0] == '#' || bar == NULL)
        return;
    const char *line = bar + strlen(" | ");
    kmsg_take_line(arg, line, strlen(line), collect, &whole);
    for (size_t len = strlen(line); len > 0; len--) {
        struct finding cut = {0};
        kmsg_take_line(arg, line, len, collect, &cut);
        if (cut.action >= ACTION_CLASS_RESET && whole.action < ACTION_CLASS_RESET)
            fail_msg("%s: %.*s", path, (int)len, line);
    }
}

static void test_cut_lines(void **state)
{
    (void)state;
    struct clock clock;
    clock_fake_init(&clock, INT64_C(1795188470669));
    struct kmsg *kmsg = kmsg_new("/no/such/file", NULL, &clock);
    for_each_sample(on_cut, kmsg);
    kmsg_free(kmsg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_language),
        cmocka_unit_test(test_where_the_text_begins),
        cmocka_unit_test(test_scan),
        cmocka_unit_test(test_rows),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_each_row_has_a_sample),
        cmocka_unit_test(test_known_false_positives),
        cmocka_unit_test(test_a_flood_folds),
        cmocka_unit_test(test_cut_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
