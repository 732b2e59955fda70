/* The numbers of breaker and budget at their edges, and what is said about them. */
#include "base/own.h"
#include "base/text.h"
#include "policy/policy.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define NOW INT64_C(1795176000000)
#define MINUTE INT64_C(60000)

static struct policy_snapshot an_empty_group(int64_t desired)
{
    struct policy_snapshot s = {.now_ms = NOW};
    policy_settings_default(&s.settings);
    s.group = (struct policy_group){.cluster = "c", .name = "g", .desired = desired};
    return s;
}

static void the_breakers_edges(void **state)
{
    (void)state;
    static const struct {
        int64_t desired, failed, opened, settled;
        bool opens, closes;
    } table[] = {
        {4, 3, 0, 0, false, false},      {4, 4, 0, 0, true, false},           {0, 4, 0, 0, true, false},
        {15, 3, 0, 0, false, false},     {20, 4, 0, 0, false, false}, /* 20 % of 20 */
        {20, 5, 0, 0, true, false},      {100000, 20000, 0, 0, false, false}, {100000, 20001, 0, 0, true, false},
        {64, 30, -5, 0, false, false},                                     /* open already */
        {64, 1, -60, 0, false, false},                                     /* not known since when it is settled */
        {64, 1, -60, -14, false, false},                                   /* not for long enough */
        {64, 1, -60, -15, false, true},  {64, 30, -60, -15, false, false}, /* the storm is back */
        {64, 0, 0, -15, false, false},                                     /* nothing to close */
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct policy_snapshot s = an_empty_group(table[i].desired);
        s.group.failed_recently = table[i].failed;
        s.group.breaker_opened_at = table[i].opened == 0 ? 0 : NOW + table[i].opened * MINUTE;
        s.group.breaker_settled_since = table[i].settled == 0 ? 0 : NOW + table[i].settled * MINUTE;
        struct policy_plan plan;
        policy_decide(&s, &plan);
        if (plan.breaker_opens != table[i].opens || plan.breaker_closes != table[i].closes)
            fail_msg("row %zu: opens %d, closes %d", i, plan.breaker_opens, plan.breaker_closes);
        assert_int_equal(plan.breaker_why[0] != '\0', plan.breaker_opens || plan.breaker_closes);
        assert_int_equal(plan.count, 0);
        policy_plan_free(&plan);
        policy_plan_free(&plan); /* twice is fine */
    }
    policy_plan_free(NULL);
}

/* count nodes with a GPU off the bus; how many get a reboot. */
static int64_t granted(int64_t desired, int64_t in_repair, size_t count)
{
    static struct verdict v;
    v = (struct verdict){.id = 1, .count = 1, .first_at = NOW - 5000, .last_at = NOW - 5000};
    text_copy_cut(v.code, sizeof(v.code), "xid.79");
    text_copy_cut(v.instance_id, sizeof(v.instance_id), "i");
    text_copy_cut(v.boot_id, sizeof(v.boot_id), "b");
    const struct verdict *refs[] = {&v};
    autofree struct policy_node *nodes = own_calloc(count, sizeof(*nodes));
    for (size_t i = 0; i < count; i++)
        nodes[i] = (struct policy_node){.id = (int64_t)i + 1,
                                        .name = "n",
                                        .state = NODE_STATE_READY,
                                        .instance_id = "i",
                                        .boot_id = "b",
                                        .last_heartbeat_at = NOW,
                                        .verdicts = refs,
                                        .verdict_count = 1};
    struct policy_snapshot s = an_empty_group(desired);
    s.group.in_repair = in_repair;
    s.nodes = nodes;
    s.node_count = count;
    struct policy_plan plan;
    policy_decide(&s, &plan);
    int64_t reboots = 0;
    assert_int_equal(plan.count, count);
    for (size_t i = 0; i < plan.count; i++)
        reboots += plan.decisions[i].action == ACTION_REBOOT;
    policy_plan_free(&plan);
    return reboots;
}

static void the_budgets_edges(void **state)
{
    (void)state;
    static const struct {
        int64_t desired, in_repair;
        size_t nodes;
        int64_t granted;
    } table[] = {
        {0, 0, 2, 1},  {1, 0, 1, 1},  {4, 1, 3, 0},  {39, 0, 3, 1},   {40, 0, 3, 2},
        {40, 1, 3, 1}, {40, 2, 3, 0}, {40, 9, 3, 0}, {100, 0, 10, 5}, {100000, 4990, 50, 10},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (granted(table[i].desired, table[i].in_repair, table[i].nodes) != table[i].granted)
            fail_msg("row %zu", i);
}

static void the_defaults(void **state)
{
    (void)state;
    struct policy_settings s;
    policy_settings_default(&s);
    assert_int_equal(s.repeat_window_ms, 7 * 24 * 60 * MINUTE);
    assert_int_equal(s.reboots_max, 2);
    assert_int_equal(s.replaces_max, 2);
    assert_int_equal(s.budget_percent, 5);
    assert_int_equal(s.breaker_percent, 20);
    assert_int_equal(s.breaker_min, 3);
    assert_int_equal(s.breaker_window_ms, 15 * MINUTE);
    assert_int_equal(s.breaker_close_after_ms, 15 * MINUTE);
    assert_int_equal(s.silent_after_ms, MINUTE);
    assert_int_equal(s.unreachable_after_ms, 10 * MINUTE);
    assert_int_equal(s.fold_window_ms, MINUTE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_breakers_edges),
        cmocka_unit_test(the_budgets_edges),
        cmocka_unit_test(the_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
