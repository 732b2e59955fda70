/* Folding: one verdict per fault, device and minute; keys; when it is told again; what survives a restart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/node/window.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "policy/faults/faults.h"

#include <stdio.h>
#include <string.h>

#define START_MS INT64_C(1795188470000)

struct told {
    struct verdict last;
    struct reach reach;
    int count;
};

static void tell(const struct verdict *verdict, const struct reach *reach, void *arg)
{
    struct told *told = arg;
    told->last = *verdict;
    told->reach = *reach;
    told->count++;
}

static struct finding finding_of(const char *code, const char *device, int64_t at_ms)
{
    struct finding finding = {
        .source = "kmsg", .severity = SEVERITY_CRITICAL, .at_ms = at_ms, .mono_ms = at_ms - START_MS, .count = 1};
    text_copy_cut(finding.code, sizeof(finding.code), code);
    text_copy_cut(finding.device, sizeof(finding.device), device);
    snprintf(finding.raw_line, sizeof(finding.raw_line), "line of %s at %lld", device, (long long)at_ms);
    struct fault_judgement judgement;
    fault_judge(finding.source, finding.code, finding.raw_line, &judgement);
    finding.action = judgement.action;
    return finding;
}

static void add(struct windows *windows, const char *code, const char *device, int64_t at_ms, int64_t now_ms,
                struct told *told)
{
    struct finding finding = finding_of(code, device, at_ms);
    windows_add(windows, &finding, now_ms, tell, told);
}

static struct windows *windows_of(void)
{
    struct windows *windows = own_calloc(1, sizeof(*windows));
    windows_init(windows, "i-1", "boot-1");
    return windows;
}

/* A line of log 77. */
static void add_at(struct windows *windows, const char *device, int64_t offset, int64_t at_ms, struct told *told)
{
    struct finding finding = finding_of("xid.79", device, at_ms);
    finding.place = (struct log_place){77, offset};
    windows_add(windows, &finding, at_ms - START_MS, tell, told);
}

static void test_a_flood_is_one_verdict(void **state)
{
    autofree struct windows *windows = windows_of();
    struct told told = {0};
    (void)state;
    for (int i = 0; i < 672; i++)
        add(windows, "xid.79", "0000:b9:00", START_MS + i, 1000, &told);
    assert_int_equal(told.count, 0);
    assert_int_equal(windows_due_ms(windows), 0);
    windows_flush(windows, 1000, false, tell, &told);
    assert_int_equal(told.count, 1);
    assert_int_equal(told.last.count, 672);
    assert_int_equal(told.last.first_at, START_MS);
    assert_int_equal(told.last.last_at, START_MS + 671);
    assert_string_equal(told.last.instance_id, "i-1");
    assert_string_equal(told.last.raw_line, "line of 0000:b9:00 at 1795188470000");
    assert_false(windows_grew(windows));
}

static void test_the_key(void **state)
{
    autofree struct windows *windows = windows_of();
    struct told told = {0};
    char expected[ID_SHA256_HEX_MAX];
    static const char text[] = "boot-1|kmsg|xid.79|0000:b9:00|1795188470000";
    (void)state;
    add(windows, "xid.79", "0000:b9:00", START_MS, 1, &told);
    windows_flush(windows, 1, false, tell, &told);
    id_sha256_hex(text, sizeof(text) - 1, expected);
    assert_string_equal(told.last.key, expected);
    /* what stands somewhere is known by where, whatever the time is by then */
    static const char placed[] = "boot-1|kmsg|xid.79|0000:b9:00|77:4096";
    for (int i = 0; i < 3; i++) {
        autofree struct windows *reader = windows_of();
        add_at(reader, "0000:b9:00", 4096, START_MS + i * MS_PER_HOUR, &told);
        windows_flush(reader, 1, false, tell, &told);
        id_sha256_hex(placed, sizeof(placed) - 1, expected);
        assert_string_equal(told.last.key, expected);
    }
}

static void test_what_makes_a_verdict_of_its_own(void **state)
{
    static const struct {
        const char *code, *device;
        int64_t after_ms;
        enum action_class action;
        int verdicts; /* together with the first one */
    } cases[] = {
        {"xid.79", "a", 0, ACTION_CLASS_IGNORE, 1},         {"xid.79", "a", WINDOW_MS - 1, ACTION_CLASS_IGNORE, 1},
        {"xid.79", "a", WINDOW_MS, ACTION_CLASS_IGNORE, 2}, {"xid.79", "a", -1, ACTION_CLASS_IGNORE, 2}, /* of before */
        {"xid.79", "b", 0, ACTION_CLASS_IGNORE, 2},         {"xid.48", "a", 0, ACTION_CLASS_IGNORE, 2},
        {"xid.79", "a", 0, ACTION_CLASS_SUPPORT, 2}, /* the same code asks for something else */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree struct windows *windows = windows_of();
        struct told told = {0};
        struct finding finding = finding_of(cases[i].code, cases[i].device, START_MS + cases[i].after_ms);
        if (cases[i].action != ACTION_CLASS_IGNORE)
            finding.action = cases[i].action;
        add(windows, "xid.79", "a", START_MS, 1, &told);
        windows_flush(windows, 1, false, tell, &told);
        char first_key[VERDICT_KEY_MAX_BYTES];
        memcpy(first_key, told.last.key, sizeof(first_key));
        windows_add(windows, &finding, 2, tell, &told);
        windows_flush(windows, 2 + WINDOW_UPDATE_MS, false, tell, &told);
        assert_int_equal(told.count, 2);
        assert_int_equal(strcmp(first_key, told.last.key) != 0, cases[i].verdicts == 2);
        assert_int_equal(told.last.count, cases[i].verdicts == 2 ? 1 : 2);
    }
}

/* Somebody sets the wall clock between two lines: a minute is one of the monotonic clock. */
static void test_steps_of_the_wall_clock(void **state)
{
    (void)state;
    for (int64_t step = -MS_PER_HOUR; step <= MS_PER_HOUR; step += 2 * MS_PER_HOUR) {
        autofree struct windows *windows = windows_of();
        struct told told = {0};
        struct finding finding = finding_of("xid.79", "a", START_MS);
        windows_add(windows, &finding, 0, tell, &told);
        finding.at_ms += step;
        finding.mono_ms += MS_PER_S;
        windows_add(windows, &finding, MS_PER_S, tell, &told);
        windows_flush(windows, MS_PER_S, true, tell, &told);
        assert_int_equal(told.count, 1);
        assert_int_equal(told.last.count, 2);
        finding.mono_ms += MS_PER_MIN; /* and another one is another */
        windows_add(windows, &finding, MS_PER_S + MS_PER_MIN, tell, &told);
        windows_flush(windows, MS_PER_S + MS_PER_MIN, true, tell, &told);
        assert_int_equal(told.count, 2);
        assert_int_equal(told.last.count, 1);
    }
}

static void test_growth_is_told_now_and_then(void **state)
{
    autofree struct windows *windows = windows_of();
    struct told told = {0};
    (void)state;
    add(windows, "xid.13", "a", START_MS, 0, &told);
    for (int64_t now = 0; now < 30000; now += 10) {
        add(windows, "xid.13", "a", START_MS + now, now, &told);
        windows_flush(windows, now, false, tell, &told);
    }
    assert_in_range(told.count, 5, 7); /* not 3000 */
    assert_true(windows_grew(windows));
    assert_true(windows_due_ms(windows) <= 30000 + WINDOW_UPDATE_MS);
    windows_flush(windows, 30000, true, tell, &told);
    assert_int_equal(told.last.count, 3001);
    assert_false(windows_grew(windows));
    /* quiet for a minute: forgotten, not told again */
    int count = told.count;
    windows_flush(windows, 30000 + WINDOW_MS, false, tell, &told);
    assert_int_equal(told.count, count);
    assert_int_equal(windows_due_ms(windows), INT64_MAX);
}

/* More faults at once than there are slots: nothing is lost, the oldest is told and gives way. */
static void test_a_flood_of_devices(void **state)
{
    autofree struct windows *windows = windows_of();
    struct told told = {0};
    (void)state;
    for (int i = 0; i < 3 * WINDOW_COUNT_MAX; i++) {
        char device[16];
        snprintf(device, sizeof(device), "%d", i);
        add(windows, "xid.79", device, START_MS + i, i, &told);
    }
    assert_int_equal(told.count, 2 * WINDOW_COUNT_MAX);
    windows_flush(windows, 1000, false, tell, &told);
    assert_int_equal(told.count, 3 * WINDOW_COUNT_MAX);
}

static void test_restored_windows_go_on(void **state)
{
    autofree struct windows *windows = windows_of(), *later = windows_of();
    struct told told = {0};
    (void)state;
    add(windows, "xid.79", "a", START_MS, 1, &told);
    windows_flush(windows, 1, false, tell, &told);
    struct verdict spooled = told.last, older = told.last;
    spooled.count = 5;
    windows_restore(later, &older, &told.reach, false, 7);
    windows_restore(later, &spooled, &told.reach, false, 7); /* the later telling counts */
    windows_restore(later, &older, &told.reach, false, 7);
    assert_false(windows_grew(later));
    add(later, "xid.79", "a", START_MS + 100, 8, &told);
    windows_flush(later, 8 + WINDOW_UPDATE_MS, false, tell, &told);
    assert_int_equal(told.last.count, 6);
    assert_string_equal(told.last.key, older.key);
}

/* Lines that are read again, in another life and at another time, are in the verdict that has counted them. */
static void test_what_is_read_again_counts_once(void **state)
{
    autofree struct windows *windows = windows_of(), *later = windows_of();
    struct told told = {0};
    (void)state;
    for (int i = 0; i < 5; i++)
        add_at(windows, "a", 100 * i, START_MS + i, &told);
    windows_flush(windows, 1, false, tell, &told);
    assert_int_equal(told.last.count, 5);
    windows_restore(later, &told.last, &told.reach, false, 10);
    for (int i = 0; i < 7; i++)
        add_at(later, "a", 100 * i, START_MS + 2 * WINDOW_MS + i, &told);
    char key[VERDICT_KEY_MAX_BYTES];
    memcpy(key, told.last.key, sizeof(key));
    windows_flush(later, 10 + 2 * WINDOW_MS, true, tell, &told);
    assert_int_equal(told.count, 2); /* lines 5 and 6, which nobody had seen */
    assert_int_equal(told.last.count, 2);
    assert_string_not_equal(told.last.key, key);
}

/* More faults than slots, over a restart: the one that is seen all the time keeps its window, wherever it stands in the table. */
static void test_the_busiest_is_not_evicted(void **state)
{
    autofree struct windows *windows = windows_of(), *later = windows_of();
    struct told told = {0};
    (void)state;
    add_at(windows, "busy", 0, START_MS + 1, &told); /* the first slot */
    for (int i = 1; i < WINDOW_COUNT_MAX; i++) {
        char device[16];
        snprintf(device, sizeof(device), "%d", i);
        add_at(windows, device, 100 * i, START_MS + 1 + i, &told);
        add_at(windows, "busy", 100 * i + 1, START_MS + 1 + i, &told);
    }
    windows_flush(windows, 100, true, tell, &told);
    for (size_t i = 0; i < WINDOW_COUNT_MAX; i++)
        windows_restore(later, &windows->slots[i].verdict, &windows->slots[i].reach, false, 200);
    add_at(later, "new", 99000, START_MS + 201, &told); /* evicts one */
    int count = told.count;
    add_at(later, "busy", 99001, START_MS + 202, &told);
    assert_int_equal(told.count, count); /* its window is still there */
    windows_flush(later, 20000, true, tell, &told);
    bool found = false;
    for (size_t i = 0; i < WINDOW_COUNT_MAX; i++)
        found |= later->slots[i].used && strcmp(later->slots[i].verdict.device, "busy") == 0 &&
                 later->slots[i].verdict.count == WINDOW_COUNT_MAX + 1;
    assert_true(found);
}

/* A gap that turned out larger, an error counter that went on: the place is the same, the count is the larger one. */
static void test_the_same_place_with_more(void **state)
{
    autofree struct windows *windows = windows_of();
    struct told told = {0};
    struct finding finding = finding_of("kernel.log.overrun", "", START_MS);
    (void)state;
    finding.place = (struct log_place){77, 5};
    static const int64_t counts[] = {3, 3, 7, 2, 7};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        finding.count = counts[i];
        windows_add(windows, &finding, 0, tell, &told);
    }
    windows_flush(windows, 1, true, tell, &told);
    assert_int_equal(told.last.count, 7);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_flood_is_one_verdict),          cmocka_unit_test(test_the_key),
        cmocka_unit_test(test_what_makes_a_verdict_of_its_own), cmocka_unit_test(test_steps_of_the_wall_clock),
        cmocka_unit_test(test_growth_is_told_now_and_then),     cmocka_unit_test(test_a_flood_of_devices),
        cmocka_unit_test(test_restored_windows_go_on),          cmocka_unit_test(test_what_is_read_again_counts_once),
        cmocka_unit_test(test_the_busiest_is_not_evicted),      cmocka_unit_test(test_the_same_place_with_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
