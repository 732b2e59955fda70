/*
 * The fault tables as data: one .def file each, one line a code, made into rows here.
 *
 * The tables of text codes have the columns
 *
 *   FAULT(code, meaning, first, again, urgency, severity, rate, folding, who says so)
 *
 * first, again: ACTION_CLASS_…; the second after a repair of the same device within the repeat window. rate: NEVER, or
 * RATE(times, hours, what it then asks for) for WATCH and APP: findings within a minute count once, and what goes on without a
 * pause counts again with each such part of the window. LASTS(hours, what it then asks for) for WATCH: a state that is still there
 * after that time, or an event that nobody has dealt with; RATE_LASTS for both. TOLD: a state that is there to be read, however
 * long it lasts. folding: PLAIN;
 * SYMPATHETIC goes with other codes and is folded into them; CANCELS("code"); ENDS("kernel.pcie."): what begins so and came within a
 * minute before it is over, on whatever device, so that it does not last (it counts for its rate all the same); DRIVER_WORD is what
 * the driver asks for and comes before other codes of the device (of Xid 154 where the line shows it). A line of the kernel log says that something has happened, so a row of
 * it may last only where another line says that it is over.
 *
 * Marks of the last column: [V] verified in the source named, [O] observed from outside, [P] our judgement. SUPPORT takes
 * a node out of scheduling until a person gives it back, and unlike a repair no budget or breaker bounds that: a row
 * that many nodes may get at once (a file server, a switch, a driver being updated) is watched, never SUPPORT at one finding.
 */
#include "policy/faults/decode.h"

#include "base/text.h"

#include <string.h>

#define HOUR_MS INT64_C(3600000)

/* Raised with every change of a .def file; agents send it with each verdict. */
#define TABLE_VERSION "2026-11-28.4"

/* Columns: the rate fills five fields, folding four. */
#define NEVER 0, 0, ACTION_CLASS_IGNORE, 0, ACTION_CLASS_IGNORE
#define RATE(times, hours, action) (times), (hours)*HOUR_MS, ACTION_CLASS_##action, 0, ACTION_CLASS_IGNORE
#define LASTS(hours, action) 0, 0, ACTION_CLASS_IGNORE, (hours)*HOUR_MS, ACTION_CLASS_##action
#define TOLD 0, 0, ACTION_CLASS_IGNORE, 0, ACTION_CLASS_WATCH
#define RATE_LASTS(times, within, rate, hours, action) \
    (times), (within)*HOUR_MS, ACTION_CLASS_##rate, (hours)*HOUR_MS, ACTION_CLASS_##action
#define PLAIN false, false, "", ""
#define SYMPATHETIC true, false, "", ""
#define DRIVER_WORD false, true, "", ""
#define CANCELS(code) false, false, (code), ""
#define ENDS(codes) false, false, "", (codes)
#define ASKS(first_time, next_time, when, level) \
    ACTION_CLASS_##first_time, ACTION_CLASS_##next_time, URGENCY_##when, SEVERITY_##level

#define XID(number, name, words, bucket, first_time, next_time, when, level, rate, folding, who) \
    {"xid." #number, number, name, words, bucket, ASKS(first_time, next_time, when, level), rate, folding, who},
#define FAULT(text, words, first_time, next_time, when, level, rate, folding, who) \
    {text, 0, "", words, "", ASKS(first_time, next_time, when, level), rate, folding, who},

/* --- NVSwitch: what each group asks for ------------------------------------------------------------------------ */

#define SXID_NOTICE ASKS(WATCH, WATCH, AFTER_JOBS, WARN)
#define SXID_MINOR ASKS(WATCH, WATCH, AFTER_JOBS, WARN)
#define SXID_ADVISED ASKS(REBOOT, SUPPORT, AFTER_JOBS, WARN)
#define SXID_FATAL ASKS(REBOOT, REPLACE, NOW, CRITICAL)
#define SXID_ALWAYS ASKS(REBOOT, REPLACE, NOW, CRITICAL)
#define WHO_NOTICE "[V] gpud: warn; NVSentinel: none; [P] watched"
#define WHO_MINOR "[V] gpud: warn; NVSentinel: none; [P] watched"
#define WHO_ADVISED "[V] gpud: reboot; NVSentinel: none; [P] reboot at the end of the jobs, a repeat is for a person"
#define WHO_FATAL "[V] gpud: reboot, then inspect; NVSentinel: support; [P] the jobs are lost: reboot, again replace"
#define WHO_ALWAYS "[V] Fabric Manager guide: always fatal, gpud: restart; [P] reboot at once, again replace"
#define SXID(number, words, group) {"sxid." #number, number, "", words, "", SXID_##group, NEVER, PLAIN, WHO_##group},

/* --- DCGM: the same ------------------------------------------------------------------------------------------------ */

#define DCGM_SETUP ASKS(IGNORE, IGNORE, AFTER_JOBS, OK), NEVER, PLAIN
/* A second witness: what lasts is judged where nvidia-smi says it, with the numbers behind it. */
#define DCGM_MONITOR ASKS(WATCH, WATCH, AFTER_JOBS, WARN), TOLD, PLAIN
#define DCGM_COMPANION ASKS(WATCH, WATCH, AFTER_JOBS, WARN), NEVER, SYMPATHETIC
#define DCGM_PERSON ASKS(SUPPORT, SUPPORT, AFTER_JOBS, WARN), NEVER, PLAIN
#define DCGM_RESET ASKS(RESET, REPLACE, AFTER_JOBS, CRITICAL), NEVER, PLAIN
#define DCGM_REBOOT ASKS(REBOOT, SUPPORT, AFTER_JOBS, CRITICAL), NEVER, PLAIN
#define DCGM_LOST ASKS(REBOOT, REPLACE, NOW, CRITICAL), NEVER, PLAIN
#define DCGM_REPLACE ASKS(REPLACE, REPLACE, AFTER_JOBS, CRITICAL), NEVER, PLAIN
#define DCGM_RECOVERY_RESET ASKS(RESET, REPLACE, NOW, CRITICAL), NEVER, DRIVER_WORD
#define DCGM_RECOVERY_REBOOT ASKS(REBOOT, REPLACE, NOW, CRITICAL), NEVER, DRIVER_WORD
#define DCGM_RECOVERY_DRAIN_P2P ASKS(WATCH, WATCH, AFTER_JOBS, WARN), LASTS(12, SUPPORT), DRIVER_WORD
#define DCGM_RECOVERY_DRAIN_RESET ASKS(RESET, REPLACE, AFTER_JOBS, CRITICAL), NEVER, DRIVER_WORD
#define DCGM(number, text, name, words, group, who) {text, number, name, words, "", DCGM_##group, who},

/* clang-format off */
static const struct fault_row xid_rows[] = {
#include "policy/faults/xid.def"
};
static const struct fault_row sxid_rows[] = {
#include "policy/faults/sxid.def"
};
static const struct fault_row kernel_rows[] = {
#include "policy/faults/kernel.def"
};
static const struct fault_row nvidia_rows[] = {
#include "policy/faults/nvidia.def"
};
static const struct fault_row dcgm_rows[] = {
#include "policy/faults/dcgm.def"
};
static const struct fault_row neuron_rows[] = {
#include "policy/faults/neuron.def"
};
static const struct fault_row efa_rows[] = {
#include "policy/faults/efa.def"
};
static const struct fault_row node_rows[] = {
#include "policy/faults/node.def"
};
static const struct fault_row net_rows[] = {
#include "policy/faults/net.def"
};
static const struct fault_row custom_rows[] = {
#include "policy/faults/custom.def"
};
static const struct fault_row deep_rows[] = {
#include "policy/faults/deep.def"
};
static const struct fault_row report_rows[] = {
#include "policy/faults/report.def"
};
static const struct fault_row provider_rows[] = {
#include "policy/faults/provider.def"
};
/* clang-format on */

#define TABLE(name, about)                                                      \
    {                                                                           \
#name, about, name##_rows, sizeof(name##_rows) / sizeof(name##_rows[0]) \
    }

static const struct fault_table tables[] = {
    TABLE(xid, "the NVIDIA driver's codes of a GPU"),
    TABLE(sxid, "the NVIDIA driver's codes of an NVSwitch"),
    TABLE(kernel, "what else the kernel log says"),
    TABLE(nvidia, "a GPU's state as nvidia-smi tells it"),
    TABLE(dcgm, "what DCGM's health watches and diagnostics find"),
    TABLE(neuron, "AWS Trainium and Inferentia"),
    TABLE(efa, "AWS Elastic Fabric Adapters"),
    TABLE(node, "the machine around the accelerators"),
    TABLE(net, "network interfaces and InfiniBand"),
    TABLE(custom, "a site's own checks"),
    TABLE(deep, "deep health checks"),
    TABLE(report, "what people, jobs and monitors say of a node"),
    TABLE(provider, "what the provider of a machine says of it"),
};

const char *fault_table_version(void)
{
    return TABLE_VERSION;
}

const struct fault_table *fault_tables(size_t *ret_count)
{
    *ret_count = sizeof(tables) / sizeof(tables[0]);
    return tables;
}

/* len: name may go on, as a code does behind its table's. */
static const struct fault_table *find_table(const char *name, size_t len)
{
    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
        if (strlen(tables[i].name) == len && memcmp(tables[i].name, name, len) == 0)
            return &tables[i];
    return NULL;
}

const struct fault_table *fault_table_find(const char *name)
{
    return find_table(name, strlen(name));
}

const struct fault_row *fault_find_number(const char *table_name, int number)
{
    const struct fault_table *table = fault_table_find(table_name);
    size_t low = 0, high = table != NULL && number > 0 ? table->count : 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int at = table->rows[middle].number;
        if (at == number)
            return &table->rows[middle];
        if (at != 0 && at < number) /* rows without a number come last */
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

bool fault_code_number(const char *code, const char *prefix, int *ret_number)
{
    int64_t number = 0;
    if (!text_starts_with(code, prefix) || text_parse_i64(code + strlen(prefix), 0, 99999, &number) != 0)
        return false;
    *ret_number = (int)number;
    return true;
}

const struct fault_row *fault_find(const char *code)
{
    int number = 0;
    if (fault_code_number(code, "xid.", &number))
        return fault_find_number("xid", number);
    if (fault_code_number(code, "sxid.", &number))
        return fault_find_number("sxid", number);
    const struct fault_table *table = find_table(code, strcspn(code, "."));
    for (size_t i = 0; table != NULL && i < table->count; i++)
        if (strcmp(table->rows[i].code, code) == 0)
            return &table->rows[i];
    return NULL;
}
