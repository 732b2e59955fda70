/* The tables of text codes as data: every row is whole, contradicts none of the house's rules, and, where it leads to an
 * action, is told by a golden case. */
#include "policy/faults/faults.h"

#include "base/file.h"
#include "base/own.h"
#include "base/text.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define CASES "tests/policy/cases"

typedef void row_fn(const struct fault_table *table, const struct fault_row *row);

static void for_each_row(row_fn *check)
{
    size_t count = 0;
    const struct fault_table *tables = fault_tables(&count);
    for (size_t t = 0; t < count; t++)
        for (size_t i = 0; i < tables[t].count; i++)
            check(&tables[t], &tables[t].rows[i]);
}

static bool is_text_table(const struct fault_table *table)
{
    return strcmp(table->name, "xid") != 0 && strcmp(table->name, "sxid") != 0;
}

static bool is_repair(enum action_class action)
{
    return action == ACTION_CLASS_RESET || action == ACTION_CLASS_REBOOT || action == ACTION_CLASS_REPLACE;
}

static void check_code(const struct fault_table *table, const struct fault_row *row)
{
    size_t name_len = strlen(table->name);
    if (strncmp(row->code, table->name, name_len) != 0 || row->code[name_len] != '.' ||
        strlen(row->code) >= CODE_MAX_BYTES ||
        strspn(row->code, "abcdefghijklmnopqrstuvwxyz0123456789.-") != strlen(row->code) ||
        strstr(row->code, "..") != NULL || text_ends_with(row->code, "."))
        fail_msg("%s: not a code of table %s", row->code, table->name);
    if (fault_find(row->code) != row)
        fail_msg("%s is there twice", row->code);
    if (row->number != 0 && fault_find_number(table->name, row->number) != row)
        fail_msg("%s: number %d is there twice or out of order", row->code, row->number);
}

static void codes_are_found(void **state)
{
    (void)state;
    for_each_row(check_code);
    assert_null(fault_find("node"));
    assert_null(fault_find("node."));
    assert_null(fault_find("nod.disk.full"));
    assert_null(fault_find("."));
    assert_null(fault_find(""));
    assert_null(fault_table_find("nod"));
    assert_string_equal(fault_find_number("dcgm", 85)->mnemonic, "DCGM_FR_PENDING_ROW_REMAP");
    assert_null(fault_find_number("dcgm", 130));
    assert_null(fault_find_number("dcgm", 0));
    assert_null(fault_find_number("node", 1));
}

/* The rules of tables.c's head comment; those of Xid and SXid rows are in test_xid.c. */
static void check_row(const struct fault_table *table, const struct fault_row *row)
{
    if (!is_text_table(table))
        return;
    const char *wrong = NULL;
    if (row->meaning[0] == '\0' || text_ends_with(row->meaning, "."))
        wrong = "a meaning is words without a full stop";
    if (strstr(row->sources, "[V]") == NULL && strstr(row->sources, "[O]") == NULL &&
        strstr(row->sources, "[P]") == NULL)
        wrong = "no source is marked";
    if ((row->rate_count > 0) != (row->rate_window_ms > 0) || (row->rate_count > 0 && row->rate_action <= row->action))
        wrong = "a rate asks for more than one finding does";
    if (row->rate_count == 1)
        wrong = "a rate of one is no rate";
    if (row->rate_count > 0 && row->action != ACTION_CLASS_WATCH && row->action != ACTION_CLASS_APP)
        wrong = "a rate is for what is watched";
    if (is_repair(row->rate_action))
        wrong = "a rate alone never repairs: a person decides";
    if (row->cancels[0] != '\0' && fault_find(row->cancels) == NULL)
        wrong = "what it takes back is in no table";
    if (row->urgency == URGENCY_NOW && !is_repair(row->action))
        wrong = "only what loses the device may end jobs at once";
    if (is_repair(row->action) != (row->severity == SEVERITY_CRITICAL) && row->severity != SEVERITY_WARN)
        wrong = "severity and action contradict each other";
    if (row->again < row->action && row->again != ACTION_CLASS_REPLACE)
        wrong = "a repeat asks for no less";
    if (wrong != NULL)
        fail_msg("%s: %s", row->code, wrong);
}

/* A check that says the same in every run: the agent tells it anew, as another verdict, once in an hour (standing.h). */
#define STATE_EACH_MS INT64_C(3600000)

/* The codes that agents/checks finds as states: string literals behind check_found, and those of the checks' own tables, which are
 * states but for the few that are events. */
static bool is_state(const char *code)
{
    static const char *const events[] = {"nvidia.ecc.uncorrected",
                                         "nvidia.pcie.replays",
                                         "net.link.flapping",
                                         "net.ib.flapping",
                                         "efa.port.flapping",
                                         "node.edac.corrected",
                                         "node.edac.uncorrected",
                                         "node.machine-check",
                                         "node.reboot.unexpected",
                                         "node.pcie.aer-corrected",
                                         "node.pcie.aer-nonfatal",
                                         "node.pcie.aer-fatal",
                                         "efa.errors",
                                         "efa.drops",
                                         "efa.retransmits",
                                         "efa.unresponsive",
                                         "net.ib.firmware",
                                         "neuron.sram.corrected",
                                         "neuron.memory.corrected",
                                         "neuron.hardware.error",
                                         "neuron.execution.failed",
                                         "neuron.execution.timeout",
                                         "dcgm.policy.violation"};
    for (size_t i = 0; i < ARRAY_LEN(events); i++)
        if (strcmp(events[i], code) == 0)
            return false;
    return strncmp(code, "kernel.", 7) != 0 && strncmp(code, "deep.", 5) != 0;
}

/* A line says that something has happened, and not that it is still so. */
static bool is_ended_by_a_line(const char *code)
{
    const struct fault_table *table = fault_table_find("kernel");
    for (size_t i = 0; i < table->count; i++)
        if (table->rows[i].ends[0] != '\0' && text_starts_with(code, table->rows[i].ends))
            return true;
    return false;
}

static void check_lasting(const struct fault_table *table, const struct fault_row *row)
{
    const char *wrong = NULL;
    if (!is_text_table(table))
        return;
    bool says = row->lasts_ms > 0 || row->lasts_action == ACTION_CLASS_WATCH;
    if (is_state(row->code) && row->action == ACTION_CLASS_WATCH && row->rate_count > 0 && row->lasts_ms == 0 &&
        (row->rate_count - 1) * STATE_EACH_MS >= row->rate_window_ms)
        wrong = "a state is told once in an hour, so that it never reaches this rate";
    if (is_state(row->code) && row->action == ACTION_CLASS_WATCH && row->rate_count == 0 && !says && !row->sympathetic)
        wrong = "a state that lasts is watched for ever: LASTS says for how long, or TOLD that it is only told";
    if (text_starts_with(row->code, "kernel.") && row->lasts_ms > 0 && !is_ended_by_a_line(row->code))
        wrong = "one line of the kernel log lasts for ever: ENDS of another row says which line ends it";
    if (row->lasts_ms > 0 && row->action != ACTION_CLASS_WATCH)
        wrong = "only what is watched may last";
    if (row->lasts_ms > 0 && row->lasts_action != ACTION_CLASS_REBOOT && row->lasts_action != ACTION_CLASS_SUPPORT)
        wrong = "what lasts is for a reboot or for a person";
    if (wrong != NULL)
        fail_msg("%s: %s", row->code, wrong);
}

static void what_lasts_is_not_watched_for_ever(void **state)
{
    (void)state;
    for_each_row(check_lasting);
}

/* People read the last column to know what is done; it says no less and nothing else than the row. */
static void check_words(const struct fault_table *table, const struct fault_row *row)
{
    char span[32];
    if (!is_text_table(table))
        return;
    snprintf(span, sizeof(span), " %d h ", (int)(row->lasts_ms / STATE_EACH_MS));
    bool for_person = strstr(row->sources, "person") != NULL, rebooted = strstr(row->sources, "rebooted") != NULL;
    if (row->lasts_ms > 0 && strstr(row->sources, span) == NULL)
        fail_msg("%s lasts%sand does not say so", row->code, span);
    if (row->lasts_ms > 0 && (row->lasts_action == ACTION_CLASS_REBOOT ? !rebooted : !for_person))
        fail_msg("%s does not say what follows when it lasts", row->code);
    if (row->rate_count > 0 && row->rate_action == ACTION_CLASS_SUPPORT && !for_person)
        fail_msg("%s does not say that its rate is for a person", row->code);
    if (row->rate_count == 0 && row->lasts_ms == 0 && row->action == ACTION_CLASS_WATCH &&
        strstr(row->sources, "for a person") != NULL)
        fail_msg("%s says that a person follows, and none does", row->code);
}

static void rows_say_what_they_do(void **state)
{
    (void)state;
    for_each_row(check_words);
}

static void rows_are_whole(void **state)
{
    (void)state;
    for_each_row(check_row);
}

/* What a repair needs: somebody besides us who says so. */
static void check_repair(const struct fault_table *table, const struct fault_row *row)
{
    if (is_text_table(table) && is_repair(row->action) && strstr(row->sources, "[V]") == NULL &&
        strstr(row->sources, "[O]") == NULL)
        fail_msg("%s repairs on our own word alone", row->code);
}

static void repairs_have_a_source(void **state)
{
    (void)state;
    for_each_row(check_repair);
}

static void check_class(const struct fault_table *table, const struct fault_row *row)
{
    (void)table;
    enum fault_class fault = fault_class_of(row->code);
    if (fault == FAULT_CLASS_UNKNOWN || fault == FAULT_CLASS_NONE || fault == FAULT_CLASS_UNREACHABLE)
        fail_msg("%s has no class: policy/faults/class.c says what is broken", row->code);
    if ((fault == FAULT_CLASS_APPLICATION) != (row->action == ACTION_CLASS_APP) &&
        strcmp(row->code, "nvidia.process.leftover") != 0)
        fail_msg("%s: only what is a program's is of its class", row->code);
}

static void rows_have_a_class(void **state)
{
    (void)state;
    for_each_row(check_class);
    static const struct {
        const char *code;
        enum fault_class fault;
    } known[] = {
        {"xid.79", FAULT_CLASS_GPU},
        {"xid.13", FAULT_CLASS_APPLICATION},
        {"xid.48", FAULT_CLASS_GPU_MEMORY},
        {"xid.74", FAULT_CLASS_FABRIC},
        {"xid.748", FAULT_CLASS_GPU}, /* no row, and not 74 */
        {"sxid.99999", FAULT_CLASS_FABRIC},
        {"dcgm.memory-alloc", FAULT_CLASS_SOFTWARE},
        {"dcgm.fallen-off-bus", FAULT_CLASS_GPU},
        {"neuron.memory.uncorrected", FAULT_CLASS_ACCELERATOR},
        {"efa.device.gone", FAULT_CLASS_NETWORK},
        {"kernel.fs.server", FAULT_CLASS_STORAGE},
        {"kernel.oom.job", FAULT_CLASS_APPLICATION},
        {"kernel.oom.node", FAULT_CLASS_HOST},
        {"node.disk.full", FAULT_CLASS_STORAGE},
        {"node.memory.less", FAULT_CLASS_HOST},
        {"node.memory.hugepages", FAULT_CLASS_SOFTWARE},
        {"custom.anything", FAULT_CLASS_CUSTOM},
        {"kernel", FAULT_CLASS_UNKNOWN},
        {"nodes.disk.full", FAULT_CLASS_UNKNOWN},
        {"", FAULT_CLASS_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        assert_string_equal(fault_class_text(fault_class_of(known[i].code)), fault_class_text(known[i].fault));
}

static char *stories; /* all golden cases */

static void check_story(const struct fault_table *table, const struct fault_row *row)
{
    (void)table;
    autofree char *verdict = own_printf("verdict %s ", row->code);
    if (strstr(stories, verdict) == NULL)
        fail_msg("no case in %s tells of %s", CASES, row->code);
}

static char *read_case(const char *name)
{
    autofree char *path = own_printf("%s/%s", CASES, name);
    char *text = NULL;
    size_t len = 0;
    if (file_read(path, 1 << 20, &text, &len) != 0)
        fail_msg("%s is missing", path);
    return text;
}

static void rows_have_a_golden_case(void **state)
{
    (void)state;
    struct text all = {0};
    DIR *dir = opendir(CASES);
    assert_non_null(dir);
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (!text_ends_with(entry->d_name, ".case"))
            continue;
        autofree char *text = read_case(entry->d_name);
        text_add(&all, text);
    }
    closedir(dir);
    stories = text_take(&all);
    for_each_row(check_story);
    free(stories);
}

static void assert_told(const struct fault_table *table, const char *what, const struct fault_row *row)
{
    autofree char *name = own_printf("table-%s-%s.case", table->name, what);
    autofree char *text = read_case(name), *verdict = own_printf("verdict %s ", row->code);
    if (strstr(text, verdict) == NULL)
        fail_msg("%s does not tell of %s", name, row->code);
}

/* What a repair leads to when the fault comes back, and that a rate asks for nothing before it is reached. */
static void check_second_side(const struct fault_table *table, const struct fault_row *row)
{
    if (row->action == ACTION_CLASS_RESET || row->action == ACTION_CLASS_REBOOT)
        assert_told(table, "rows-again", row);
    if (row->rate_count > 0 && row->action <= ACTION_CLASS_WATCH)
        assert_told(table, "rates-one-short", row);
    if (row->lasts_ms > 0) {
        assert_told(table, "lasts", row);
        assert_told(table, "lasts-one-short", row);
    }
}

static void repeats_and_rates_have_a_golden_case(void **state)
{
    (void)state;
    for_each_row(check_second_side);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(codes_are_found),         cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(rows_say_what_they_do),   cmocka_unit_test(repairs_have_a_source),
        cmocka_unit_test(rows_have_a_class),       cmocka_unit_test(what_lasts_is_not_watched_for_ever),
        cmocka_unit_test(rows_have_a_golden_case), cmocka_unit_test(repeats_and_rates_have_a_golden_case),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
