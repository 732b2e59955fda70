/*
 * Are the Neuron devices there, and what have they counted? By the tree of their driver below /sys.
 *
 * Counters are found by their names, wherever in a device's tree they stand: the driver has moved them between its
 * versions (2.8, 2.31: its release notes and its guide of sysfs), and only renamed few. A counter is a file, or a directory
 * with the file "total". Those of a device's cores are added up. What is new since the run before is an event; in another
 * boot they began anew.
 *
 * Where the tree has no counters of memory errors (an Inferentia 2 was seen so), neuron-monitor is asked, now and then, as it
 * costs seconds. Whether its numbers are of the whole boot or of its last period its guide does not say; either way what is
 * more than before is new.
 */
#include "agents/checks/accelerators.h"
#include "agents/checks/neuron_monitor.h"
#include "agents/checks/notes.h"
#include "agents/checks/sysfs.h"
#include "base/file.h"
#include "base/own.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PERIOD_MS 60000
#define DEADLINE_MS 45000
#define GRACE_MS 600000 /* the driver is loaded late; HyperPod learned to wait for GPUs */
#define DEVICES "/sys/devices/virtual/neuron_device"
#define PCI_DEVICES "/sys/bus/pci/devices"
#define DEVICES_MAX NEURON_DEVICES_MAX
#define MONITOR_EVERY_MS 600000
#define MONITOR_SECONDS "8" /* it prints its first line at once, and goes on until it is ended */
#define MONITOR_TIMEOUT_MS 15000
#define MONITOR_BYTES_MAX (4 << 20)
#define MONITOR_TOOL "/opt/aws/neuron/bin/neuron-monitor" /* where Amazon's packages put it */
#define ENDED_BY_TIMEOUT 124
#define DEPTH_MAX 5
#define ENTRIES_MAX 4096 /* of one device: eight cores have some 1,000 */

/* What is counted, under which code it is told, and its metric. */
#define COUNTER_LIST(X)                                                                                             \
    X(MEMORY, "neuron.memory.uncorrected", "holdfast_neuron_memory_uncorrected", "memory errors not corrected")     \
    X(SRAM, "neuron.sram.uncorrected", "holdfast_neuron_sram_uncorrected", "SRAM errors not corrected")             \
    X(MEMORY_CORRECTED, "neuron.memory.corrected", "holdfast_neuron_memory_corrected", "memory errors corrected")   \
    X(SRAM_CORRECTED, "neuron.sram.corrected", "holdfast_neuron_sram_corrected", "SRAM errors corrected")           \
    X(HARDWARE, "neuron.hardware.error", "holdfast_neuron_hardware_errors", "executions ended in a hardware error") \
    X(TIMEOUT, "neuron.execution.timeout", "holdfast_neuron_timeouts", "executions timed out")
enum counter {
#define X(SYMBOL, code, metric, words) COUNTER_##SYMBOL,
    COUNTER_LIST(X)
#undef X
        COUNTER_COUNT
};
static const struct {
    const char *code, *metric, *words;
} counters[] = {
#define X(SYMBOL, code, metric, words) {code, metric, words},
    COUNTER_LIST(X)
#undef X
};

/* As the driver calls them. A repairable error of the HBM was not corrected either: it asks for a reload or a reboot (AWS,
 * Neuron's troubleshooting guide). */
static const struct {
    const char *name;
    enum counter counter;
} names[] = {
    {"mem_ecc_uncorrected", COUNTER_MEMORY},
    {"mem_ecc_repairable_uncorrected", COUNTER_MEMORY},
    {"sram_ecc_uncorrected", COUNTER_SRAM},
    {"mem_ecc_corrected", COUNTER_MEMORY_CORRECTED},
    {"sram_ecc_corrected", COUNTER_SRAM_CORRECTED},
    {"hw_error", COUNTER_HARDWARE},
    {"timeout", COUNTER_TIMEOUT},
};

struct device {
    char name[DEVICE_MAX_BYTES];   /* "neuron3" */
    int64_t number, cores;         /* cores: -1 where it does not say */
    int64_t counts[COUNTER_COUNT]; /* -1: it has none of that name */
    size_t entries;
};

/* --- reading --------------------------------------------------------------------------------------------------------- */

static bool take_counter(const struct check_context *context, const char *directory, const char *name,
                         struct device *device)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcmp(names[i].name, name) != 0)
            continue;
        int64_t count = sysfs_read_count(context, "%s/%s", directory, name);
        if (count < 0)
            count = sysfs_read_count(context, "%s/%s/total", directory, name);
        int64_t *sum = &device->counts[names[i].counter];
        if (count >= 0 && __builtin_add_overflow(count, *sum > 0 ? *sum : 0, sum))
            *sum = INT64_MAX;
        return true;
    }
    return false;
}

/* Directories without counters, some of them large; and links, which may lead anywhere. */
static bool is_worth(const struct check_context *context, const char *path)
{
    static const char *const not_worth[] = {"memory_usage", "other_info", "architecture", "power"};
    struct stat info;
    autofree char *full = check_path(context, path);
    for (size_t i = 0; i < ARRAY_LEN(not_worth); i++)
        if (strcmp(strrchr(path, '/') + 1, not_worth[i]) == 0)
            return false;
    return lstat(full, &info) == 0 && S_ISDIR(info.st_mode);
}

static void read_tree(const struct check_context *context, const char *directory, int depth, struct device *device)
{
    char **entries = NULL;
    size_t count = 0;
    if (sysfs_list(context, directory, &entries, &count) != 0)
        return;
    for (size_t i = 0; i < count && device->entries++ < ENTRIES_MAX; i++) {
        autofree char *path = own_printf("%s/%s", directory, entries[i]);
        if (!take_counter(context, directory, entries[i], device) && depth < DEPTH_MAX && is_worth(context, path))
            read_tree(context, path, depth + 1, device);
    }
    sysfs_list_free(entries, count);
}

/* Returns how many there are; -1: no driver has made any. */
static int read_devices(const struct check_context *context, struct device devices[DEVICES_MAX])
{
    static const char prefix[] = "neuron";
    char **entries = NULL;
    size_t entry_count = 0;
    int count = 0;
    if (sysfs_list(context, DEVICES, &entries, &entry_count) != 0)
        return -1;
    for (size_t i = 0; i < entry_count && count < DEVICES_MAX; i++) {
        struct device *device = &devices[count];
        *device = (struct device){.cores = -1};
        if (!text_starts_with(entries[i], prefix) ||
            text_parse_i64(entries[i] + sizeof(prefix) - 1, 0, 4095, &device->number) != 0 ||
            text_copy(device->name, sizeof(device->name), entries[i]) != 0)
            continue;
        autofree char *directory = own_printf(DEVICES "/%s", entries[i]);
        for (size_t k = 0; k < COUNTER_COUNT; k++)
            device->counts[k] = -1;
        device->cores = sysfs_read_count(context, "%s/core_count", directory);
        read_tree(context, directory, 0, device);
        count++;
    }
    sysfs_list_free(entries, entry_count);
    return count;
}

/* Amazon's accelerators on the PCI bus: Inferentia, Trainium, Inferentia 2, Trainium 2 (the driver's own list) [R]. */
static int count_on_bus(const struct check_context *context)
{
    static const char *const ids[] = {"0x7064", "0x7065", "0x7066", "0x7067", "0x7164", "0x7264", "0x7364"};
    char **entries = NULL;
    size_t entry_count = 0;
    int count = 0;
    if (sysfs_list(context, PCI_DEVICES, &entries, &entry_count) != 0)
        return 0;
    for (size_t i = 0; i < entry_count; i++) {
        autofree char *vendor = sysfs_read(context, PCI_DEVICES "/%s/vendor", entries[i]);
        if (vendor == NULL || !text_starts_with(vendor, "0x1d0f"))
            continue;
        autofree char *id = sysfs_read(context, PCI_DEVICES "/%s/device", entries[i]);
        for (size_t k = 0; id != NULL && k < ARRAY_LEN(ids); k++)
            count += text_starts_with(id, ids[k]);
    }
    sysfs_list_free(entries, entry_count);
    return count;
}

static void take_ecc(struct device *device, const struct neuron_ecc *ecc)
{
    const struct {
        enum counter counter;
        int64_t count;
    } counts[] = {{COUNTER_MEMORY, ecc->memory_uncorrected},
                  {COUNTER_SRAM, ecc->sram_uncorrected},
                  {COUNTER_MEMORY_CORRECTED, ecc->memory_corrected},
                  {COUNTER_SRAM_CORRECTED, ecc->sram_corrected}};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        if (device->counts[counts[i].counter] < 0)
            device->counts[counts[i].counter] = counts[i].count;
}

/* False when it is there and says nothing that can be read. */
static bool ask_monitor(const struct check_context *context, struct check_out *out, struct device *devices, int count)
{
    autofree char *tool =
        context->path != NULL ? own_printf("%s/neuron-monitor", context->path) : own_strdup(MONITOR_TOOL);
    /* In our process group: timeout would make one of its own, and outlive us there. */
    const char *const argv[] = {"timeout", "--foreground", MONITOR_SECONDS, tool, NULL};
    struct neuron_ecc ecc[NEURON_DEVICES_MAX];
    struct child_result result;
    if (!file_exists(tool))
        return true;
    if (check_tool(context, argv, MONITOR_TIMEOUT_MS, MONITOR_BYTES_MAX, &result) != 0)
        return false;
    size_t ecc_count = result.out_cut ? 0 : neuron_monitor_parse(result.out, result.out_len, ecc);
    if (result.exit_code == ENDED_BY_TIMEOUT && result.out_len == 0 && context->uptime_ms >= GRACE_MS)
        check_found(out, "neuron.monitor.hung", "", 1, "neuron-monitor said nothing within " MONITOR_SECONDS " s");
    child_result_free(&result);
    for (size_t i = 0; i < ecc_count; i++)
        for (int k = 0; k < count; k++)
            if (devices[k].number == ecc[i].device)
                take_ecc(&devices[k], &ecc[i]);
    return ecc_count > 0;
}

/* Asks when it is time to, for a device that does not tell its errors itself, and notes in next when that was, and whether it was
 * of use. */
static void ask_monitor_if_due(const struct check_context *context, struct check_out *out, const json_t *memory,
                               json_t *next, struct device *devices, int count)
{
    int64_t asked_ms = json_integer_value(json_object_get(memory, "asked"));
    bool is_silent = false, is_mute = json_is_true(json_object_get(memory, "mute"));
    for (int i = 0; i < count; i++)
        is_silent |= devices[i].counts[COUNTER_MEMORY] < 0 && devices[i].counts[COUNTER_SRAM] < 0;
    if (is_silent && (asked_ms > context->now_ms || context->now_ms - asked_ms >= MONITOR_EVERY_MS)) {
        is_mute = !ask_monitor(context, out, devices, count);
        asked_ms = context->now_ms;
    }
    if (is_silent && is_mute)
        check_unknown(out, "memory errors: neither the driver nor neuron-monitor tells them");
    json_put_i64(next, "asked", asked_ms);
    json_put(next, "mute", json_boolean(is_mute));
}

/* --- judging --------------------------------------------------------------------------------------------------------- */

struct look {
    const struct check_context *context;
    struct check_out *out;
    json_t *devices_before, *devices_now; /* before: NULL when none of this boot are remembered */
};

static void look_at_counters(const struct look *look, const struct device *device)
{
    char labels[CHECK_LABELS_MAX_BYTES];
    json_t *now = json_object();
    snprintf(labels, sizeof(labels), "device=\"%s\"", device->name);
    for (size_t i = 0; i < COUNTER_COUNT; i++) {
        json_t *known = json_object_get(json_object_get(look->devices_before, device->name), counters[i].code);
        int64_t before = json_is_integer(known) ? json_integer_value(known) : 0, count = device->counts[i];
        json_put_i64(now, counters[i].code, count >= 0 ? count : before);
        if (count < 0)
            continue;
        int64_t grown = count >= before ? count - before : count; /* less: the driver was loaded anew */
        if (grown > 0)
            check_event(look->out, counters[i].code, device->name, grown, "%" PRId64 " %s, %" PRId64 " in all", grown,
                        counters[i].words, count);
        check_value(look->out, counters[i].metric, labels, (double)count);
    }
    json_put(look->devices_now, device->name, now);
}

/* Two cores of Trainium 2 may be used as one, and then the driver may say half. */
static void look_at_cores(const struct look *look, const struct device *device, const struct accelerators *type)
{
    int wanted = type != NULL ? type->neuron_cores : 0;
    bool is_paired = wanted >= 8 && device->cores * 2 == wanted;
    if (device->cores < 0 || device->cores >= wanted || is_paired)
        return;
    if (look->context->uptime_ms < GRACE_MS)
        check_unknown(look->out, "%s has %" PRId64 " cores so far, and the machine has just started", device->name,
                      device->cores);
    else
        check_found(look->out, "neuron.device.missing", device->name, wanted - device->cores,
                    "%" PRId64 " cores, and there should be %d", device->cores, wanted);
}

static void look_at_count(const struct look *look, const struct device *devices, int count, int wanted)
{
    int told = 0;
    check_value(look->out, "holdfast_neuron_devices", "", count);
    if (count >= wanted)
        return;
    if (look->context->uptime_ms < GRACE_MS) {
        check_unknown(look->out, "%d Neuron devices so far, and the machine has just started", count);
        return;
    }
    for (int number = 0; number < wanted; number++) {
        bool is_there = false;
        for (int i = 0; i < count; i++)
            is_there |= devices[i].number == number;
        if (is_there || told++ >= wanted - count)
            continue;
        autofree char *name = own_printf("neuron%d", number);
        check_found(look->out, "neuron.device.missing", name, 1, "%d Neuron devices, and there should be %d", count,
                    wanted);
    }
}

static void look_at_nothing(const struct check_context *context, struct check_out *out, int wanted)
{
    int on_bus = count_on_bus(context);
    if (on_bus == 0 && wanted == 0)
        check_not_applicable(out, "no Neuron device");
    else if (context->uptime_ms < GRACE_MS)
        check_unknown(out, "no Neuron driver so far, and the machine has just started");
    else
        check_found(out, "neuron.driver.missing", "", 1, "%d Neuron devices on the PCI bus, %d expected, and no driver",
                    on_bus, wanted);
}

static void neuron_run(const struct check_context *context, struct check_out *out)
{
    const struct accelerators *type = accelerators_find(context->instance_type);
    autofree struct device *devices = own_calloc(DEVICES_MAX, sizeof(*devices));
    auto_json json_t *memory = notes_read(context), *now = json_object(), *next = json_object();
    int64_t most = json_integer_value(json_object_get(memory, "count"));
    struct look look = {.context = context, .out = out, .devices_now = now};
    if (notes_are_of_this_boot(context, memory))
        look.devices_before = json_object_get(memory, "devices");
    int wanted = type != NULL ? type->neuron_devices : most > 0 && most <= DEVICES_MAX ? (int)most : 0;
    int count = read_devices(context, devices);
    if (count < 0 || (count == 0 && wanted == 0)) {
        look_at_nothing(context, out, wanted);
        return;
    }
    ask_monitor_if_due(context, out, memory, next, devices, count);
    for (int i = 0; i < count; i++) {
        look_at_counters(&look, &devices[i]);
        look_at_cores(&look, &devices[i], type);
    }
    look_at_count(&look, devices, count, wanted);
    json_put_i64(next, "count", count > most ? count : most);
    json_put(next, "devices", json_incref(now));
    notes_write(context, next, out);
}

const struct check check_neuron = {
    .name = "neuron",
    .about = "AWS Trainium and Inferentia by their driver: count, cores, memory and hardware errors",
    .period_ms = PERIOD_MS,
    .deadline_ms = DEADLINE_MS,
    .run = neuron_run,
};
