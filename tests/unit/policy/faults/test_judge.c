/* What lines say beyond their code: the driver's recovery action, registers, fatal flags; and our own samples as a whole. */
#include "base/own.h"
#include "base/text.h"
#include "policy/faults/faults.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>

static struct fault_judgement judge(const char *code, const char *detail)
{
    struct fault_judgement judgement;
    autofree char *line = own_printf("NVRM: Xid (PCI:0000:b9:00): %s, %s", strchr(code, '.') + 1, detail);
    fault_judge("kmsg", code, line, &judgement);
    assert_true(judgement.why[0] != '\0');
    return judgement;
}

#define CHANGED "GPU recovery action changed from 0x0 (None) to "

static void the_drivers_word(void **state)
{
    (void)state;
    static const struct {
        const char *detail;
        enum action_class action;
        enum urgency urgency;
        bool word;
    } table[] = {
        {CHANGED "0x0 (None)", ACTION_CLASS_IGNORE, URGENCY_AFTER_JOBS, true},
        {CHANGED "0x1 (GPU Reset Required)", ACTION_CLASS_RESET, URGENCY_NOW, true},
        {CHANGED "0x2 (Node Reboot Required)", ACTION_CLASS_REBOOT, URGENCY_NOW, true},
        {CHANGED "0x3 (Drain P2P)", ACTION_CLASS_WATCH, URGENCY_AFTER_JOBS, true},
        {CHANGED "0x4 (Drain and Reset)", ACTION_CLASS_RESET, URGENCY_AFTER_JOBS, true},
        {CHANGED "0x5 (Recover IMEX Domain)", ACTION_CLASS_SUPPORT, URGENCY_AFTER_JOBS, true},
        {CHANGED "0x6", ACTION_CLASS_REBOOT, URGENCY_NOW, true},
        {CHANGED "0x7 (whatever it is called)", ACTION_CLASS_REBOOT, URGENCY_NOW, true},
        /* Number or text alone. */
        {CHANGED "0x2", ACTION_CLASS_REBOOT, URGENCY_NOW, true},
        {CHANGED "(Node Reboot Required)", ACTION_CLASS_REBOOT, URGENCY_NOW, true},
        {CHANGED "Node Reboot Required", ACTION_CLASS_REBOOT, URGENCY_NOW, true},
        {CHANGED "drain and reset.", ACTION_CLASS_RESET, URGENCY_AFTER_JOBS, true},
        /* What we do not know is for a person; what contradicts itself too. */
        {CHANGED "0x9 (Rewire Baseboard)", ACTION_CLASS_SUPPORT, URGENCY_AFTER_JOBS, true},
        {CHANGED "(Rewire Baseboard)", ACTION_CLASS_SUPPORT, URGENCY_AFTER_JOBS, true},
        {CHANGED "0x1 (Node Reboot Required)", ACTION_CLASS_SUPPORT, URGENCY_AFTER_JOBS, true},
        /* A line that breaks off says nothing. */
        {CHANGED "0x", ACTION_CLASS_WATCH, URGENCY_AFTER_JOBS, false},
        {CHANGED "", ACTION_CLASS_WATCH, URGENCY_AFTER_JOBS, false},
        {CHANGED "(Node Reb", ACTION_CLASS_WATCH, URGENCY_AFTER_JOBS, false},
        {"GPU recovery action changed from 0x0 (No", ACTION_CLASS_WATCH, URGENCY_AFTER_JOBS, false},
        {"", ACTION_CLASS_WATCH, URGENCY_AFTER_JOBS, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct fault_judgement j = judge("xid.154", table[i].detail);
        if (j.action != table[i].action || j.urgency != table[i].urgency || j.driver_word != table[i].word)
            fail_msg("%s: %s, %s, %d", table[i].detail, action_class_text(j.action), urgency_text(j.urgency),
                     j.driver_word);
    }
}

static void registers_of_74(void **state)
{
    (void)state;
    static const struct {
        const char *registers;
        enum action_class action;
    } table[] = {
        {"", ACTION_CLASS_RESET},
        {"(0x0, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", ACTION_CLASS_RESET},
        {"(0x1, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", ACTION_CLASS_WATCH},        /* ignorable */
        {"(0x800000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", ACTION_CLASS_WATCH},   /* bit 23 */
        {"(0x100000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", ACTION_CLASS_WATCH},   /* bit 20, a companion */
        {"(0x10, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", ACTION_CLASS_WATCH},       /* bit 4, when repeated */
        {"(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", ACTION_CLASS_RESET},    /* bit 16, the lab's line */
        {"(0x10001, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", ACTION_CLASS_RESET},    /* the worst bit decides */
        {"(0x200000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", ACTION_CLASS_RESET},   /* bit 21, marginal signal */
        {"(0x4, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)", ACTION_CLASS_RESET},        /* bit 2 is in no sheet */
        {"(0x0, 0xffffffff, 0x0, 0x0, 0x0, 0x1, 0x1)", ACTION_CLASS_RESET}, /* these registers mean nothing */
        {"(0x0, 0x0, 0x40, 0x0, 0x0, 0x0, 0x0)", ACTION_CLASS_WATCH},
        {"(0x0, 0x0, 0x0, 0x40000, 0x0, 0x0, 0x0)", ACTION_CLASS_RESET},
        {"(0x0, 0x0, 0x0, 0x0, 0x24900000, 0x0, 0x0)", ACTION_CLASS_WATCH}, /* ECC thresholds */
        {"(0x10000", ACTION_CLASS_RESET},
        {"(0x100000000, 0x0)", ACTION_CLASS_RESET}, /* not a register */
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        autofree char *detail =
            own_printf("pid=<unknown>, NVLink: fatal error detected on link 6%s", table[i].registers);
        struct fault_judgement j = judge("xid.74", detail);
        if (j.action != table[i].action)
            fail_msg("%s: %s (%s)", table[i].registers, action_class_text(j.action), j.why);
        assert_int_equal(j.urgency, j.action == ACTION_CLASS_WATCH ? URGENCY_AFTER_JOBS : URGENCY_NOW);
    }
}

static void what_the_sheet_does_not_hold(void **state)
{
    (void)state;
    /* Unknown sub-component, a status of two bits, and a cut line. */
    assert_int_equal(judge("xid.144", "SAW_EGR Nonfatal XC0 i0 Link 00 (0x4 0x1)").action, ACTION_CLASS_WATCH);
    assert_int_equal(judge("xid.144", "SAW_EGR Fatal XC0 i0 Link 00 (0x4 0x1)").action, ACTION_CLASS_RESET);
    assert_int_equal(judge("xid.144", "SAW_MVB Fatal XC0 i0 Link 00 (0x21 0x3)").action, ACTION_CLASS_RESET);
    assert_int_equal(judge("xid.144", "SAW_MVB Nonfatal XC0 i0 Link 00 (0x21 0x24)").action, ACTION_CLASS_WATCH);
    assert_int_equal(judge("xid.149", "NETIR Fatal XC0 i0 Link -1 (0x000fe406").action, ACTION_CLASS_RESET);
    assert_int_equal(judge("xid.145", "RLW_REMAP Nonfatal XC0 i0 Link 02").action, ACTION_CLASS_WATCH);
    assert_int_equal(judge("xid.145", "").action, ACTION_CLASS_WATCH);
}

static void fatal_flags_of_switches(void **state)
{
    (void)state;
    static const struct {
        int code;
        const char *words;
        enum action_class action;
    } table[] = {
        {20034, "Fatal, Link 48 LTSSM Fault Up", ACTION_CLASS_REBOOT},
        {20034, "Data {0x10000000}", ACTION_CLASS_REBOOT},
        {11013, "Non-fatal, Link 1", ACTION_CLASS_WATCH},
        {12028, "Non-fatal, Link 61", ACTION_CLASS_REBOOT},
        {20009, "Non-fatal, Link 4", ACTION_CLASS_WATCH},
        {22013, "Fatal, Link 4", ACTION_CLASS_REBOOT},
        {28006, "Non-fatal, Link 46", ACTION_CLASS_WATCH},
        {28006, "Fatal, Link 46", ACTION_CLASS_REBOOT},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct fault_judgement j;
        autofree char *code = own_printf("sxid.%d", table[i].code);
        autofree char *line =
            own_printf("nvidia-nvswitch1: SXid (PCI:0000:06:00.0): %d, %s", table[i].code, table[i].words);
        fault_judge("kmsg", code, line, &j);
        if (j.action != table[i].action)
            fail_msg("%s: %s", line, action_class_text(j.action));
    }
}

static void codes_from_nowhere(void **state)
{
    (void)state;
    static const char *const codes[] = {"xid.999",         "xid.", "xid.-1",   "xid.79x",
                                        "xid.99999999999", "",     "neuron.7", "sxid.1"};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct fault_judgement j;
        fault_judge("somewhere", codes[i], "", &j);
        assert_null(j.row);
        assert_int_equal(j.action, ACTION_CLASS_WATCH);
        assert_int_equal(j.again, ACTION_CLASS_WATCH);
        assert_true(j.why[0] != '\0');
    }
}

static void rows_of_the_other_tables_speak_for_themselves(void **state)
{
    (void)state;
    struct fault_judgement j;
    fault_judge("disk", "node.disk.read-only", "/dev/nvme0n1p1 on / is mounted ro", &j);
    assert_ptr_equal(j.row, fault_find("node.disk.read-only"));
    assert_int_equal(j.action, ACTION_CLASS_REBOOT);
    assert_int_equal(j.again, ACTION_CLASS_REPLACE);
    assert_false(j.driver_word);
    assert_string_equal(j.why, "node.disk.read-only (the root file system became read-only)");
    fault_judge("nvidia-smi", "nvidia.recovery.reboot", "", &j);
    assert_true(j.driver_word);
    fault_judge("nvidia-smi", "node.disk", "", &j);
    assert_null(j.row);
}

static void a_line_of_another_code_is_not_believed(void **state)
{
    (void)state;
    struct fault_judgement j;
    fault_judge("kmsg", "xid.154", "NVRM: Xid (PCI:0000:b9:00): 31, " CHANGED "0x2 (Node Reboot Required)", &j);
    assert_false(j.driver_word);
    fault_judge("kmsg", "xid.154", "usb 1-1: NVRM: Xid (PCI:0000:b9:00): 154, " CHANGED "0x2", &j);
    assert_false(j.driver_word);
}

static void the_same_part(void **state)
{
    (void)state;
    const char *a = "NVRM: Xid (PCI:0000:65:00): 13, Graphics SM Warp Exception on (GPC 1, TPC 0, SM 1): x";
    const char *b = "NVRM: Xid (PCI:0000:65:00): 13, Graphics SM Warp Exception on (GPC 1, TPC 0, SM 0): x";
    const char *c = "NVRM: Xid (PCI:0000:65:00): 13, Graphics SM Warp Exception on (GPC 1, TPC 2, SM 0): x";
    assert_true(fault_same_unit("xid.13", a, b));
    assert_false(fault_same_unit("xid.13", a, c));
    assert_true(fault_same_unit("xid.13", a, "no part named"));
    assert_true(fault_same_unit("xid.31", a, c));
    assert_true(fault_same_unit("xid.74", "on link 6(0x10000", "on link 6"));
    assert_false(fault_same_unit("xid.74", "on link 6(0x10000", "on link 16(0x10000"));
}

/* --- tests/data/kmsg: "device code action again urgency severity | line", or "- | line" for none ---------------- */

/* Which rows have a line. What the lines are to be read as is written beside them, from the sources: the tables are never
 * asked what they should say. */
enum { IGNORE, XID_154_EVAL, RESET_GPU };
#define ANY UINT64_MAX
#define NVLINK5(xid, name, v1, v2, status, immediate, investigate, weight) {xid, name, {v1, v2}, status, {false}},
#define PROMOTED(xid, name, v1, v2, status, immediate, investigate) {xid, name, {v1, v2}, status, {false}},
static struct {
    int xid;
    const char *name, *masks[2];
    uint64_t status;
    bool seen[2];
} sheet[] = {
#include "policy/faults/nvlink5.def"
};
static bool xid_seen[200], sxid_seen[30000];

static bool fits(const char *mask, unsigned value)
{
    for (int i = 0; i < 32; i++)
        if (mask[i] != '-' && (mask[i] == '1') != ((value >> (31 - i)) & 1u))
            return false;
    return true;
}

static bool names(const char *line, const char *name)
{
    autofree char *part = own_printf("%s ", strchr(name, '/') != NULL ? strchr(name, '/') + 1 : name);
    autofree char *whole = own_printf("%.*s ", (int)strcspn(name, "/"), name);
    return strstr(line, part) != NULL || strstr(line, whole) != NULL;
}

static void note_seen(const struct xid_line *xid, const char *line)
{
    unsigned info, status;
    bool *seen = xid->is_sxid ? sxid_seen : xid_seen;
    if ((size_t)xid->code < (xid->is_sxid ? ARRAY_LEN(sxid_seen) : ARRAY_LEN(xid_seen)))
        seen[xid->code] = true;
    const char *word = strstr(line, "atal "), *registers = word != NULL ? strstr(word, "(0x") : NULL;
    if (registers == NULL || sscanf(registers, "(%x %x", &info, &status) != 2)
        return;
    for (size_t i = 0; i < ARRAY_LEN(sheet); i++)
        for (int version = 0; version < 2; version++)
            if (sheet[i].xid == xid->code && names(line, sheet[i].name) && fits(sheet[i].masks[version], info) &&
                (sheet[i].status == ANY || sheet[i].status == status))
                sheet[i].seen[version] = true;
}

static void every_row_has_a_line(void)
{
    const struct fault_table *xid = fault_table_find("xid"), *sxid = fault_table_find("sxid");
    for (size_t i = 0; i < xid->count; i++)
        if (!xid_seen[xid->rows[i].number])
            fail_msg("no sample has %s", xid->rows[i].code);
    for (size_t i = 0; i < sxid->count; i++)
        if (!sxid_seen[sxid->rows[i].number])
            fail_msg("no sample has %s", sxid->rows[i].code);
    for (size_t i = 0; i < ARRAY_LEN(sheet); i++)
        for (int version = 0; version < 2; version++)
            if (!sheet[i].seen[version])
                fail_msg("no sample has %d %s 0x%x in version %d", sheet[i].xid, sheet[i].name,
                         (unsigned)sheet[i].status, version + 1);
}

static void check_sample(const char *path, char *row)
{
    char *bar = strstr(row, " | ");
    if (row[0] == '#' || row[0] == '\0')
        return;
    if (bar == NULL)
        fail_msg("%s: no bar in: %s", path, row);
    *bar = '\0';
    const char *line = bar + strlen(" | ");
    struct xid_line xid;
    char said[160] = "-", code[CODE_MAX_BYTES];
    if (xid_line_parse(line, strlen(line), &xid) == 0) {
        struct fault_judgement j;
        note_seen(&xid, line);
        snprintf(code, sizeof(code), "%s.%d", xid.is_sxid ? "sxid" : "xid", xid.code);
        fault_judge("kmsg", code, line, &j);
        snprintf(said, sizeof(said), "%s %s %s %s %s %s%s", xid.device, code, action_class_text(j.action),
                 action_class_text(j.again), urgency_text(j.urgency), severity_text(j.severity),
                 j.driver_word ? " driver" : "");
    }
    if (strcmp(said, row) != 0)
        fail_msg("%s: %s\n  expected %s\n  said     %s", path, line, row, said);
}

static void what_can_never_cost_a_node(void **state)
{
    static const struct {
        const char *code;
        bool inert;
    } rows[] = {
        {"xid.68", true},         {"xid.43", true},          {"xid.45", false},
        {"xid.13", false},        {"xid.8", false},          {"xid.79", false},
        {"xid.14", false},        {"xid.154", false},        {"xid.162", false},
        {"xid.74", false},        {"xid.160", true},         {"xid.999", false},
        {"sxid.11004", false},    {"xid.", false},           {"", false},
        {"xid.31", false},        {"xid.68 ", false},        {"dcgm.31", false},
        {"kernel.oom.job", true}, {"node.disk.full", false},
    };
    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (fault_is_inert(rows[i].code) != rows[i].inert)
            fail_msg("%s", rows[i].code);
    /* By the table itself: an agent never calls such a code critical, and what a line adds is never asked. */
    size_t count = 0;
    const struct fault_table *tables = fault_tables(&count);
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < tables[t].count; i++) {
            const struct fault_row *row = &tables[t].rows[i];
            struct fault_judgement judgement;
            fault_judge("kmsg", row->code, "", &judgement);
            if (fault_is_inert(row->code))
                assert_true(judgement.action <= ACTION_CLASS_APP && row->severity != SEVERITY_CRITICAL &&
                            row->rate_count == 0);
        }
}

static void our_samples(void **state)
{
    (void)state;
    static const char dir_path[] = "tests/data/kmsg";
    DIR *dir = opendir(dir_path);
    size_t samples = 0;
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (!text_ends_with(entry->d_name, ".txt"))
            continue;
        autofree char *path = own_printf("%s/%s", dir_path, entry->d_name);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        char *row = NULL;
        size_t size = 0;
        ssize_t len;
        while ((len = getline(&row, &size, file)) >= 0) {
            row[strcspn(row, "\n")] = '\0';
            check_sample(path, row);
            samples++;
        }
        free(row);
        fclose(file);
    }
    closedir(dir);
    assert_true(samples >= 50);
    every_row_has_a_line();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_drivers_word),
        cmocka_unit_test(registers_of_74),
        cmocka_unit_test(what_the_sheet_does_not_hold),
        cmocka_unit_test(fatal_flags_of_switches),
        cmocka_unit_test(codes_from_nowhere),
        cmocka_unit_test(rows_of_the_other_tables_speak_for_themselves),
        cmocka_unit_test(a_line_of_another_code_is_not_believed),
        cmocka_unit_test(the_same_part),
        cmocka_unit_test(what_can_never_cost_a_node),
        cmocka_unit_test(our_samples),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
