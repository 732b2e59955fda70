/* The Xid and SXid tables as data: complete, in order, and without rows that contradict each other. */
#include "policy/faults/faults.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static bool is_repair(enum action_class action)
{
    return action == ACTION_CLASS_RESET || action == ACTION_CLASS_REBOOT || action == ACTION_CLASS_REPLACE;
}

static void every_code_has_a_row(void **state)
{
    (void)state;
    size_t count = fault_table_find("xid")->count;
    const struct fault_row *rows = fault_table_find("xid")->rows;
    assert_int_equal(count, 173);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(rows[i].number, (int)i + 1);
        assert_ptr_equal(fault_find_number("xid", rows[i].number), &rows[i]);
        assert_ptr_equal(fault_find(rows[i].code), &rows[i]);
    }
    assert_null(fault_find_number("xid", 0));
    assert_null(fault_find("xid.0"));
    assert_null(fault_find("xid.174"));
    assert_null(fault_find_number("xid", -1));
    assert_true(strlen(fault_table_version()) < TABLE_VERSION_MAX_BYTES);
}

static void rows_are_whole(void **state)
{
    (void)state;
    size_t count = fault_table_find("xid")->count;
    const struct fault_row *rows = fault_table_find("xid")->rows;
    for (size_t i = 0; i < count; i++) {
        const struct fault_row *row = &rows[i];
        assert_true(row->meaning[0] != '\0');
        assert_true(row->mnemonic[0] != '\0' || row->number == 173);
        /* A judgement of our own is always marked as one. */
        assert_non_null(strstr(row->sources, row->number == 154 ? "[V]" : "[P]"));
        assert_true((row->rate_count > 0) == (row->rate_window_ms > 0));
        assert_true(row->cancels[0] == '\0' || fault_find(row->cancels) != NULL);
        /* Only what loses the device may end jobs at once. */
        assert_true(row->urgency == URGENCY_AFTER_JOBS || is_repair(row->action));
        /* What asks for a repair is never called fine, what asks for nothing never critical. */
        assert_true(!is_repair(row->action) || row->severity == SEVERITY_CRITICAL || row->severity == SEVERITY_WARN);
        assert_true(is_repair(row->action) || row->severity != SEVERITY_CRITICAL);
    }
}

static void unused_codes_never_cost_a_node_at_one_finding(void **state)
{
    (void)state;
    size_t count = fault_table_find("xid")->count, unused = 0;
    const struct fault_row *rows = fault_table_find("xid")->rows;
    for (size_t i = 0; i < count; i++) {
        if (strstr(rows[i].meaning, "unused") == NULL)
            continue;
        unused++;
        assert_int_equal(rows[i].action, ACTION_CLASS_WATCH);
        assert_true(rows[i].rate_count >= 3);
    }
    assert_int_equal(unused, 55 + 6);
}

/* Whether what the row asks for is what its bucket says, as the head of xid.def reads them. */
static bool follows_nvidia(const struct fault_row *row)
{
    static const struct {
        const char *bucket;
        enum action_class one, other;
    } readings[] = {{"IGNORE", ACTION_CLASS_IGNORE, ACTION_CLASS_WATCH},
                    {"RESTART_APP", ACTION_CLASS_APP, ACTION_CLASS_APP},
                    {"RESET_GPU", ACTION_CLASS_RESET, ACTION_CLASS_RESET},
                    {"RESTART_VM", ACTION_CLASS_REBOOT, ACTION_CLASS_REBOOT},
                    {"RESTART_BM", ACTION_CLASS_REBOOT, ACTION_CLASS_REBOOT},
                    {"CONTACT_SUPPORT", ACTION_CLASS_SUPPORT, ACTION_CLASS_SUPPORT},
                    {"CHECK_MECHANICALS", ACTION_CLASS_SUPPORT, ACTION_CLASS_SUPPORT},
                    {"UPDATE_SWFW", ACTION_CLASS_SUPPORT, ACTION_CLASS_SUPPORT}};
    for (size_t i = 0; i < sizeof(readings) / sizeof(readings[0]); i++)
        if (strcmp(readings[i].bucket, row->nvidia) == 0)
            return row->action == readings[i].one || row->action == readings[i].other;
    return true; /* a workflow, or none */
}

static void who_does_otherwise_says_why(void **state)
{
    (void)state;
    size_t count = fault_table_find("xid")->count;
    const struct fault_row *rows = fault_table_find("xid")->rows;
    for (size_t i = 0; i < count; i++) {
        struct fault_judgement j;
        fault_judge("kmsg", rows[i].code, "", &j);
        bool unused = strstr(rows[i].meaning, "unused") != NULL; /* says so itself */
        bool ends_a_program = strcmp(rows[i].nvidia, "IGNORE") == 0 && rows[i].action == ACTION_CLASS_APP; /* 43, 137 */
        if (follows_nvidia(&rows[i]) || unused || ends_a_program)
            continue;
        if (strstr(j.why, "; here otherwise, as ") == NULL)
            fail_msg("%s does otherwise than NVIDIA asks, and does not say why: %s", rows[i].code, j.why);
    }
}

static void what_nvidia_asks_twice_is_said_once(void **state)
{
    struct fault_judgement j;
    (void)state;
    fault_judge("kmsg", "xid.145",
                "NVRM: Xid (PCI:0000:b9:00): 145, RLW_SRC_TRACK Nonfatal XC0 i0 Link 00 (0x00000007 0x00000002 "
                "0x00000000 0x00000000)",
                &j);
    assert_non_null(strstr(j.why, "NVIDIA asks for nothing"));
    assert_null(strstr(j.why, ", then"));
    fault_judge("kmsg", "xid.144",
                "NVRM: Xid (PCI:0000:b9:00): 144, SAW_MVB Fatal XC0 i0 Link 02 (0x00000021 0x00000002 0x00000000 "
                "0x00000000 0x00000000 0x00000000)",
                &j);
    assert_non_null(strstr(j.why, "NVIDIA asks to reset the GPU, then"));
}

static void programs_are_never_repaired(void **state)
{
    (void)state;
    size_t count = fault_table_find("xid")->count;
    const struct fault_row *rows = fault_table_find("xid")->rows;
    for (size_t i = 0; i < count; i++) {
        bool known_exception = rows[i].number == 71 || rows[i].number == 94 || rows[i].number == 32;
        if (strcmp(rows[i].nvidia, "RESTART_APP") == 0 && !known_exception)
            assert_int_equal(rows[i].action, ACTION_CLASS_APP);
    }
}

static void the_codes_people_ask_about(void **state)
{
    (void)state;
    static const struct {
        int code;
        enum action_class action, again;
        enum urgency urgency;
    } table[] = {
        {13, ACTION_CLASS_APP, ACTION_CLASS_APP, URGENCY_AFTER_JOBS},
        {31, ACTION_CLASS_APP, ACTION_CLASS_APP, URGENCY_AFTER_JOBS},
        {45, ACTION_CLASS_WATCH, ACTION_CLASS_WATCH, URGENCY_AFTER_JOBS},
        {48, ACTION_CLASS_RESET, ACTION_CLASS_REPLACE, URGENCY_NOW},
        {54, ACTION_CLASS_REPLACE, ACTION_CLASS_REPLACE, URGENCY_AFTER_JOBS},
        {63, ACTION_CLASS_RESET, ACTION_CLASS_RESET, URGENCY_AFTER_JOBS},
        {64, ACTION_CLASS_REPLACE, ACTION_CLASS_REPLACE, URGENCY_AFTER_JOBS},
        {73, ACTION_CLASS_WATCH, ACTION_CLASS_WATCH, URGENCY_AFTER_JOBS},
        {79, ACTION_CLASS_REBOOT, ACTION_CLASS_REPLACE, URGENCY_NOW},
        {94, ACTION_CLASS_RESET, ACTION_CLASS_RESET, URGENCY_AFTER_JOBS},
        {95, ACTION_CLASS_RESET, ACTION_CLASS_REPLACE, URGENCY_NOW},
        {119, ACTION_CLASS_REBOOT, ACTION_CLASS_REBOOT, URGENCY_NOW},
        {163, ACTION_CLASS_WATCH, ACTION_CLASS_WATCH, URGENCY_AFTER_JOBS},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        const struct fault_row *row = fault_find_number("xid", table[i].code);
        assert_int_equal(row->action, table[i].action);
        assert_int_equal(row->again, table[i].again);
        assert_int_equal(row->urgency, table[i].urgency);
    }
    assert_string_equal(fault_find("xid.162")->cancels, "xid.163");
    assert_true(fault_find("xid.45")->sympathetic);
    assert_int_equal(fault_find("xid.119")->rate_action, ACTION_CLASS_SUPPORT);
}

static void switch_codes(void **state)
{
    (void)state;
    size_t count = fault_table_find("sxid")->count;
    const struct fault_row *rows = fault_table_find("sxid")->rows;
    assert_int_equal(count, 93);
    for (size_t i = 0; i < count; i++) {
        assert_true(i == 0 || rows[i - 1].number < rows[i].number);
        assert_ptr_equal(fault_find_number("sxid", rows[i].number), &rows[i]);
    }
    assert_int_equal(fault_find("sxid.12028")->action, ACTION_CLASS_REBOOT);
    assert_int_equal(fault_find("sxid.12028")->urgency, URGENCY_AFTER_JOBS);
    assert_int_equal(fault_find("sxid.22003")->urgency, URGENCY_NOW);
    assert_int_equal(fault_find("sxid.20009")->action, ACTION_CLASS_WATCH);
    assert_null(fault_find("sxid.79"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_a_row),
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(unused_codes_never_cost_a_node_at_one_finding),
        cmocka_unit_test(who_does_otherwise_says_why),
        cmocka_unit_test(what_nvidia_asks_twice_is_said_once),
        cmocka_unit_test(programs_are_never_repaired),
        cmocka_unit_test(the_codes_people_ask_about),
        cmocka_unit_test(switch_codes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
