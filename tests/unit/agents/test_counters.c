/* Counters from run to run: one is nothing, a hundred within an hour is something, and another boot begins anew. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/counters.h"
#include "base/clock.h"
#include "tests/unit/agents/machine.h"

#include <stdio.h>

/* What the runs below are told, and what they find. */
static struct {
    int64_t value, over, rate, same;
    bool is_so, known;
} g;

static void run(const struct check_context *context, struct check_out *out)
{
    struct counters counters;
    counters_load(&counters, context);
    g.known = counters_known(&counters, "errors");
    g.over = counters_over(&counters, "errors", g.value, 100, MS_PER_HOUR, false);
    g.rate = counters_rate_milli(&counters, "rate", g.value);
    g.same = counters_same(&counters, "same", g.is_so);
    counters_keep(&counters, out);
    counters_free(&counters);
}

static void run_strict(const struct check_context *context, struct check_out *out)
{
    struct counters counters;
    counters_load(&counters, context);
    g.over = counters_over(&counters, "errors", g.value, 1, MS_PER_HOUR, true);
    counters_keep(&counters, out);
    counters_free(&counters);
}

static int64_t over_after(struct machine *machine, void (*fn)(const struct check_context *, struct check_out *),
                          int64_t value)
{
    const struct check check = {.name = "test", .run = fn};
    g.value = value;
    struct check_report report = machine_run(machine, &check);
    report_free(&report);
    return g.over;
}

static void test_a_hundred_an_hour(void **state)
{
    struct machine machine = machine_new(*state, "");
    assert_int_equal(over_after(&machine, run, 5000), 0); /* since when, nobody knows */
    assert_int_equal(over_after(&machine, run, 5099), 0);
    assert_int_equal(over_after(&machine, run, 5100), 100);
    assert_int_equal(over_after(&machine, run, 5150), 0); /* the next hundred begins */
    assert_int_equal(over_after(&machine, run, 5260), 160);
    machine.now_ms += 2 * MS_PER_HOUR;
    assert_int_equal(over_after(&machine, run, 5300), 0);
    machine.now_ms += 2 * MS_PER_HOUR;
    assert_int_equal(over_after(&machine, run, 5390), 0);  /* 130 in four hours are none */
    assert_int_equal(over_after(&machine, run, 150), 150); /* set back: all of it is new */
    machine_free(&machine);
}

static void test_what_must_not_happen_once(void **state)
{
    struct machine machine = machine_new(*state, "");
    assert_int_equal(over_after(&machine, run_strict, 2), 2);
    assert_int_equal(over_after(&machine, run_strict, 2), 0);
    assert_int_equal(over_after(&machine, run_strict, 3), 1);
    machine_free(&machine);
}

static void test_a_counter_that_was_zero(void **state)
{
    struct machine machine = machine_new(*state, "");
    assert_int_equal(over_after(&machine, run, 0), 0);
    assert_int_equal(over_after(&machine, run, 100), 100); /* it was looked at before, so this is new */
    machine_free(&machine);
}

static void test_another_boot_begins_anew(void **state)
{
    struct machine machine = machine_new(*state, "");
    machine_file(&machine, "/proc/sys/kernel/random/boot_id", "boot-1\n");
    assert_int_equal(over_after(&machine, run_strict, 5), 5);
    assert_int_equal(over_after(&machine, run_strict, 5), 0);
    machine_file(&machine, "/proc/sys/kernel/random/boot_id", "boot-2\n");
    assert_int_equal(over_after(&machine, run_strict, 5), 5);
    machine_free(&machine);
}

static void test_rates_and_rows(void **state)
{
    struct machine machine = machine_new(*state, "");
    g.is_so = true;
    over_after(&machine, run, 1000);
    assert_int_equal(g.rate, -1);
    assert_false(g.known);
    assert_int_equal(g.same, 1);
    over_after(&machine, run, 1600); /* a minute later */
    assert_int_equal(g.rate, 10000);
    assert_true(g.known);
    assert_int_equal(g.same, 2);
    g.is_so = false;
    over_after(&machine, run, 1000);
    assert_int_equal(g.rate, -1); /* it fell */
    assert_int_equal(g.same, 0);
    g.is_so = true;
    over_after(&machine, run, 1000);
    assert_int_equal(g.same, 1);
    machine_free(&machine);
}

static void test_a_memory_that_makes_no_sense(void **state)
{
    static const char *const bad[] = {"",
                                      "\n",
                                      "- x\nerrors 1 1 1\n",
                                      "- 1",
                                      "- 1\nerrors 1 1\nerrors -1 1 1\n",
                                      "- 1\nerrors 9999999999999999999 1 1\n",
                                      "- 1\n\xff\xff 1 1 1"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct machine machine = machine_new(*state, "");
        machine.memory = own_strdup(bad[i]);
        machine.memory_len = strlen(bad[i]);
        (void)over_after(&machine, run, 50);
        assert_int_equal(g.over, 0);
        machine_free(&machine);
    }
}

static void run_many(const struct check_context *context, struct check_out *out)
{
    struct counters counters;
    char name[COUNTER_NAME_MAX_BYTES];
    counters_load(&counters, context);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof(name), "a-counter-with-a-name-that-is-about-as-long-as-may-be-%09d", i);
        (void)counters_over(&counters, name, INT64_MAX, 1, 1, true);
    }
    counters_keep(&counters, out);
    counters_free(&counters);
}

static void test_the_memory_has_room(void **state)
{
    const struct check check = {.name = "test", .run = run_many};
    struct machine machine = machine_new(*state, "");
    struct check_report report = machine_run(&machine, &check);
    assert_non_null(machine.memory);
    report_free(&report);
    machine_free(&machine);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_hundred_an_hour),       TEST(test_what_must_not_happen_once),
        TEST(test_a_counter_that_was_zero), TEST(test_another_boot_begins_anew),
        TEST(test_rates_and_rows),          TEST(test_a_memory_that_makes_no_sense),
        TEST(test_the_memory_has_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
