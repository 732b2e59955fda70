/*
 * Are the Neuron devices there, and what have they counted? By the tree of their driver below /sys (neuron_tree.h). What is
 * new since the run before is an event; in another boot they began anew.
 *
 * Where the tree is not there or has fewer devices than there should be, or does not say how many cores they have, neuron-ls is
 * asked as well: a device that either of them has is there.
 *
 * Where the tree has no counters of memory errors (an Inferentia 2 was seen so), neuron-monitor is asked, now and then, as it
 * costs seconds. Whether its numbers are of the whole boot or of its last period its guide does not say; either way what is
 * more than before is new.
 */
#include "agents/checks/accelerators.h"
#include "agents/checks/neuron_ls.h"
#include "agents/checks/neuron_monitor.h"
#include "agents/checks/neuron_tree.h"
#include "agents/checks/notes.h"
#include "agents/checks/sysfs.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define GRACE_MS 600000 /* the driver is loaded late; HyperPod learned to wait for GPUs */
#define PCI_DEVICES "/sys/bus/pci/devices"
#define LS_TIMEOUT_MS 10000
#define MONITOR_EVERY_MS 600000
#define MONITOR_SECONDS "8" /* it prints its first line at once, and goes on until it is ended */
#define MONITOR_TIMEOUT_MS 15000
#define MONITOR_BYTES_MAX (4 << 20)
#define ENDED_BY_TIMEOUT 124

static const struct {
    const char *code, *metric, *words;
} counters[] = {
#define X(SYMBOL, code, metric, words) {code, metric, words},
    NEURON_COUNTERS(X)
#undef X
};

/* --- asking ---------------------------------------------------------------------------------------------------------- */

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

static struct neuron_device *find_device(struct neuron_device *devices, int count, int64_t number)
{
    for (int i = 0; i < count; i++)
        if (devices[i].number == number)
            return &devices[i];
    return NULL;
}

/* What the tree leaves open. Returns how many devices there are now; -1 as before. */
static int ask_ls(const struct check_context *context, struct check_out *out, struct neuron_device *devices, int count)
{
    static const char *const argv[] = {"neuron-ls", "--json-output", NULL};
    autofree char *path = neuron_path(context->path);
    struct check_context with_path = *context;
    struct neuron_listed listed[NEURON_DEVICES_MAX];
    struct child_result result;
    with_path.path = path;
    int status = check_tool(&with_path, argv, LS_TIMEOUT_MS, NEURON_LS_BYTES_MAX, &result);
    if (status == STATUS_NOT_FOUND)
        return count;
    if (status != 0) {
        check_unknown(out, "neuron-ls: %s", status_meaning(status));
        return count;
    }
    size_t listed_count = result.out_cut ? 0 : neuron_ls_parse(result.out, result.out_len, listed);
    child_result_free(&result);
    for (size_t i = 0; i < listed_count; i++) {
        struct neuron_device *device = find_device(devices, count, listed[i].number);
        if (device == NULL && count < NEURON_DEVICES_MAX) {
            count = count < 0 ? 0 : count;
            device = &devices[count++];
            *device = neuron_device_new(listed[i].number);
        }
        if (device != NULL && device->cores < 0)
            device->cores = listed[i].cores;
    }
    return count;
}

static bool leaves_open(const struct neuron_device *devices, int count, int wanted)
{
    bool is_open = count < wanted || count < 0;
    for (int i = 0; i < count; i++)
        is_open |= devices[i].cores < 0;
    return is_open;
}

static void take_ecc(struct neuron_device *device, const struct neuron_ecc *ecc)
{
    const struct {
        enum neuron_counter counter;
        int64_t count;
    } counts[] = {{NEURON_COUNTER_MEMORY, ecc->memory_uncorrected},
                  {NEURON_COUNTER_SRAM, ecc->sram_uncorrected},
                  {NEURON_COUNTER_MEMORY_CORRECTED, ecc->memory_corrected},
                  {NEURON_COUNTER_SRAM_CORRECTED, ecc->sram_corrected}};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++)
        if (device->counts[counts[i].counter] < 0)
            device->counts[counts[i].counter] = counts[i].count;
}

/* False when it is there and says nothing that can be read. */
static bool ask_monitor(const struct check_context *context, struct check_out *out, struct neuron_device *devices,
                        int count)
{
    autofree char *path = neuron_path(context->path), *tool = check_find_tool(path, "neuron-monitor");
    /* In our process group: timeout would make one of its own, and outlive us there. */
    const char *const argv[] = {"timeout", "--foreground", MONITOR_SECONDS, tool, NULL};
    struct neuron_ecc ecc[NEURON_DEVICES_MAX];
    struct neuron_device *device;
    struct child_result result;
    if (tool == NULL)
        return true;
    if (check_tool(context, argv, MONITOR_TIMEOUT_MS, MONITOR_BYTES_MAX, &result) != 0)
        return false;
    size_t ecc_count = result.out_cut ? 0 : neuron_monitor_parse(result.out, result.out_len, ecc);
    if (result.exit_code == ENDED_BY_TIMEOUT && result.out_len == 0 && context->uptime_ms >= GRACE_MS)
        check_found(out, "neuron.monitor.hung", "", 1, "neuron-monitor said nothing within " MONITOR_SECONDS " s");
    child_result_free(&result);
    for (size_t i = 0; i < ecc_count; i++)
        if ((device = find_device(devices, count, ecc[i].device)) != NULL)
            take_ecc(device, &ecc[i]);
    return ecc_count > 0;
}

/* Asks when it is time to, for a device that does not tell its errors itself, and notes in next when that was, and whether it was
 * of use. */
static void ask_monitor_if_due(const struct check_context *context, struct check_out *out, const json_t *memory,
                               json_t *next, struct neuron_device *devices, int count)
{
    int64_t asked_ms = json_integer_value(json_object_get(memory, "asked"));
    bool is_silent = false, is_mute = json_is_true(json_object_get(memory, "mute"));
    for (int i = 0; i < count; i++)
        is_silent |= devices[i].counts[NEURON_COUNTER_MEMORY] < 0 && devices[i].counts[NEURON_COUNTER_SRAM] < 0;
    if (is_silent &&
        (asked_ms == 0 || asked_ms > context->uptime_ms || context->uptime_ms - asked_ms >= MONITOR_EVERY_MS)) {
        is_mute = !ask_monitor(context, out, devices, count);
        asked_ms = context->uptime_ms;
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

static void look_at_counters(const struct look *look, const struct neuron_device *device)
{
    char labels[CHECK_LABELS_MAX_BYTES];
    json_t *now = json_object();
    snprintf(labels, sizeof(labels), "device=\"%s\"", device->name);
    for (size_t i = 0; i < NEURON_COUNTER_COUNT; i++) {
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
static void look_at_cores(const struct look *look, const struct neuron_device *device, const struct accelerators *type)
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

static void look_at_count(const struct look *look, const struct neuron_device *devices, int count, int wanted)
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
    autofree struct neuron_device *devices = own_calloc(NEURON_DEVICES_MAX, sizeof(*devices));
    auto_json json_t *memory = notes_read(context), *now = json_object(), *next = json_object();
    int64_t most = json_integer_value(json_object_get(memory, "count"));
    struct look look = {.context = context, .out = out, .devices_now = now};
    if (notes_are_of_this_boot(context, memory))
        look.devices_before = json_object_get(memory, "devices");
    int wanted = type != NULL ? type->neuron_devices : most > 0 && most <= NEURON_DEVICES_MAX ? (int)most : 0;
    int count = neuron_tree_read(context, devices);
    if (leaves_open(devices, count, wanted))
        count = ask_ls(context, out, devices, count);
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
    CHECK_TIMES(neuron),
    .run = neuron_run,
};
