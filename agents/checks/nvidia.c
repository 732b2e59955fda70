/*
 * Are the GPUs there, and what does the driver say of each? By nvidia-smi, which every driver brings.
 *
 * Three things are never called a fault: what nvidia-smi does not say, what it says within minutes of the boot (GPUs come up
 * late), and what a board was always like. Link widths, links and modes differ between boards that are well, so they
 * are compared with the best that was seen of the same GPU, which is remembered.
 *
 * Errors of memory are counted by the driver since it came up. What is new since the run before is an event; in another
 * boot the counters began anew. Those of the GPU's whole life are only measured: they were told when they happened.
 *
 * Not here: Xids, which the kernel log has at once (kmsg.c), and NVML's own interface, which says the same.
 */
#include "agents/checks/accelerators.h"
#include "agents/checks/notes.h"
#include "agents/checks/nvidia_links.h"
#include "agents/checks/nvidia_smi.h"
#include "agents/checks/sysfs.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "model/limits.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PERIOD_MS 60000
#define DEADLINE_MS 55000
#define REPORT_TIMEOUT_MS 40000 /* without persistence mode the driver initialises each GPU anew: seconds each */
#define LINKS_TIMEOUT_MS 10000
#define GRACE_MS \
    600000 /* HyperPod had to wait two minutes after a boot, as GPUs looked missing [V]; with a margin [P] */
#define LINKS_BYTES_MAX (256 << 10)
#define REPLAYS_A_MINUTE_MAX 8 /* the limit of DCGM's health watch [R] */
#define PAGES_RETIRED_MAX 60   /* NVIDIA, Dynamic Page Retirement: a board with so many may be returned [R] */
#define LINK_BYTES_MAX 4096    /* PATH_MAX */
#define PCI_DEVICES "/sys/bus/pci/devices"

struct look {
    const struct check_context *context;
    struct check_out *out;
    json_t *gpus_before; /* by UUID; NULL: none are remembered */
    json_t *gpus_now;
    bool same_boot;
    bool was_missing; /* a GPU, in the run before of this boot */
    int64_t since_ms; /* the run before; 0: there was none in this boot */
};

/* --- one GPU: states ------------------------------------------------------------------------------------------------- */

static bool is_set(const struct nvidia_gpu *gpu, enum nvidia_value value)
{
    return gpu->values[value] > 0; /* NAN is not */
}

/* The driver's own word, after NVML's list (facts: Xid 154): words are matched, as their wording varies. */
static void look_at_recovery(const struct look *look, const struct nvidia_gpu *gpu)
{
    const char *word = gpu->recovery_action, *code = NULL;
    bool drain = strcasestr(word, "drain") != NULL, reset = strcasestr(word, "reset") != NULL;
    if (word[0] == '\0' || strcmp(word, "None") == 0)
        code = gpu->requires_reset || is_set(gpu, NVIDIA_RESET_REQUIRED) ? "nvidia.recovery.reset"
               : is_set(gpu, NVIDIA_DRAIN_RECOMMENDED)                   ? "nvidia.recovery.drain-reset"
                                                                         : NULL;
    else if (drain)
        code = reset ? "nvidia.recovery.drain-reset" : "nvidia.recovery.drain-p2p";
    else if (strcasestr(word, "reboot") != NULL)
        code = "nvidia.recovery.reboot";
    else
        code = reset && strcasestr(word, "bus") == NULL ? "nvidia.recovery.reset" : "nvidia.recovery.unknown";
    if (code != NULL)
        check_found(look->out, code, gpu->name, 1, "%s %s: nvidia-smi says \"%s\"", gpu->product, gpu->uuid,
                    word[0] != '\0' && strcmp(word, "None") != 0 ? word : "reset required");
}

static void look_at_flags(const struct look *look, const struct nvidia_gpu *gpu)
{
    static const struct {
        enum nvidia_value value;
        const char *code, *text;
    } flags[] = {
        {NVIDIA_SRAM_THRESHOLD, "nvidia.ecc.sram-threshold", "SRAM threshold exceeded"},
        {NVIDIA_ROWS_PENDING, "nvidia.row-remap.pending", "row remapping pending"},
        {NVIDIA_ROWS_FAILURE, "nvidia.row-remap.failed", "row remapping failed"},
        {NVIDIA_ROWS_LOW, "nvidia.row-remap.low", "memory banks with few or no spare rows"},
        {NVIDIA_PAGES_PENDING, "nvidia.retired-pages.pending", "page retirement pending"},
        {NVIDIA_SLOW_HW_THERMAL, "nvidia.clock.thermal", "hardware thermal slowdown active"},
        {NVIDIA_SLOW_SW_THERMAL, "nvidia.clock.thermal", "software thermal slowdown active"},
        {NVIDIA_SLOW_HW_POWER, "nvidia.clock.power-brake", "hardware power brake slowdown active"},
    };
    for (size_t i = 0; i < ARRAY_LEN(flags); i++)
        if (is_set(gpu, flags[i].value))
            check_found(look->out, flags[i].code, gpu->name, 1, "%s %s: %s (%.0f)", gpu->product, gpu->uuid,
                        flags[i].text, gpu->values[flags[i].value]);
    if (gpu->values[NVIDIA_PAGES_RETIRED] >= PAGES_RETIRED_MAX)
        check_found(look->out, "nvidia.retired-pages.limit", gpu->name, 1, "%s %s: %.0f pages retired", gpu->product,
                    gpu->uuid, gpu->values[NVIDIA_PAGES_RETIRED]);
    if (gpu->is_inforom_corrupt)
        check_found(look->out, "nvidia.inforom.corrupt", gpu->name, 1, "%s %s: infoROM is corrupted", gpu->product,
                    gpu->uuid);
    if (is_set(gpu, NVIDIA_MIG) != is_set(gpu, NVIDIA_MIG_PENDING) && !isnan(gpu->values[NVIDIA_MIG_PENDING]))
        check_found(look->out, "nvidia.mig.pending", gpu->name, 1, "%s %s: MIG is to be switched %s", gpu->product,
                    gpu->uuid, is_set(gpu, NVIDIA_MIG_PENDING) ? "on" : "off");
}

static void look_at_heat(const struct look *look, const struct nvidia_gpu *gpu)
{
    const double *v = gpu->values;
    if (v[NVIDIA_TEMPERATURE] >= v[NVIDIA_TEMPERATURE_SLOW])
        check_found(look->out, "nvidia.temperature.high", gpu->name, 1, "%s %s: %.0f C, slows down at %.0f C",
                    gpu->product, gpu->uuid, v[NVIDIA_TEMPERATURE], v[NVIDIA_TEMPERATURE_SLOW]);
    else if (v[NVIDIA_TEMPERATURE_LEFT] <= v[NVIDIA_TEMPERATURE_LEFT_SLOW])
        check_found(look->out, "nvidia.temperature.high", gpu->name, 1,
                    "%s %s: %.0f C, %.0f C from its limit, slows down at %.0f C from it", gpu->product, gpu->uuid,
                    v[NVIDIA_TEMPERATURE], v[NVIDIA_TEMPERATURE_LEFT], v[NVIDIA_TEMPERATURE_LEFT_SLOW]);
    else if (v[NVIDIA_TEMPERATURE_MEMORY] >= v[NVIDIA_TEMPERATURE_MEMORY_MAX])
        check_found(look->out, "nvidia.temperature.high", gpu->name, 1, "%s %s: memory %.0f C of at most %.0f C",
                    gpu->product, gpu->uuid, v[NVIDIA_TEMPERATURE_MEMORY], v[NVIDIA_TEMPERATURE_MEMORY_MAX]);
}

/* States by NVML: Not Started, In Progress, Completed; then the status, and where it is told the health. */
static void look_at_fabric(const struct look *look, const struct nvidia_gpu *gpu)
{
    bool is_done = strcmp(gpu->fabric_state, "Completed") == 0;
    if (gpu->fabric_state[0] == '\0' || strcmp(gpu->fabric_state, "Not Supported") == 0)
        return;
    if (!is_done && look->context->uptime_ms < GRACE_MS)
        check_unknown(look->out, "%s: the fabric is \"%s\", and the machine has just started", gpu->name,
                      gpu->fabric_state);
    else if (!is_done)
        check_found(look->out, "nvidia.fabric.incomplete", gpu->name, 1, "%s %s: fabric state \"%s\"", gpu->product,
                    gpu->uuid, gpu->fabric_state);
    else if (gpu->fabric_status[0] != '\0' && strcmp(gpu->fabric_status, "Success") != 0)
        check_found(look->out, "nvidia.fabric.failed", gpu->name, 1, "%s %s: fabric status \"%s\"", gpu->product,
                    gpu->uuid, gpu->fabric_status);
    else if (gpu->fabric_health[0] != '\0' && strcmp(gpu->fabric_health, "Healthy") != 0)
        check_found(look->out, "nvidia.fabric.degraded", gpu->name, 1, "%s %s: fabric health \"%s\"", gpu->product,
                    gpu->uuid, gpu->fabric_health);
}

static void look_at_unreadable(const struct look *look, const struct nvidia_gpu *gpu)
{
    uint64_t power = UINT64_C(1) << NVIDIA_POWER;
    if ((gpu->unreadable & power) != 0 && isnan(gpu->values[NVIDIA_POWER]))
        check_found(look->out, "nvidia.power.unreadable", gpu->name, 1, "%s %s: power draw cannot be read",
                    gpu->product, gpu->uuid);
    if ((gpu->unreadable & ~power) != 0)
        check_unknown(look->out, "%s: the driver cannot read %s", gpu->name, gpu->unreadable_first);
}

/* --- one GPU: compared with before ----------------------------------------------------------------------------------- */

static int64_t before(const struct look *look, const struct nvidia_gpu *gpu, const char *name, int64_t otherwise)
{
    const json_t *known = json_object_get(look->gpus_before, gpu->uuid[0] != '\0' ? gpu->uuid : gpu->name);
    const json_t *value = json_object_get(known, name);
    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

/* What is less than the best that was seen of this GPU. Returns the best of all now. */
static int64_t fallen(const struct look *look, const struct nvidia_gpu *gpu, const char *name, double value,
                      const char *code, const char *text)
{
    int64_t best = before(look, gpu, name, -1);
    if (isnan(value))
        return best;
    if ((int64_t)value < best)
        check_found(look->out, code, gpu->name, 1, "%s %s: %s %" PRId64 ", was %" PRId64, gpu->product, gpu->uuid, text,
                    (int64_t)value, best);
    return (int64_t)value > best ? (int64_t)value : best;
}

/* How many are new of a counter that starts anew with each boot and each reset. */
static int64_t grown(const struct look *look, const struct nvidia_gpu *gpu, const char *name, double value)
{
    int64_t now = isnan(value) ? 0 : (int64_t)value, then = look->same_boot ? before(look, gpu, name, 0) : 0;
    return now >= then ? now - then : now;
}

static void look_at_memory_errors(const struct look *look, const struct nvidia_gpu *gpu)
{
    int64_t dram = grown(look, gpu, "dram", gpu->values[NVIDIA_ECC_DRAM]);
    int64_t sram = grown(look, gpu, "sram", gpu->values[NVIDIA_ECC_SRAM]);
    if (dram + sram > 0)
        check_event(look->out, "nvidia.ecc.uncorrected", gpu->name, dram + sram,
                    "%s %s: %" PRId64 " uncorrected in DRAM and %" PRId64 " in SRAM, together %.0f and %.0f since the "
                    "driver came up",
                    gpu->product, gpu->uuid, dram, sram,
                    isnan(gpu->values[NVIDIA_ECC_DRAM]) ? 0 : gpu->values[NVIDIA_ECC_DRAM],
                    isnan(gpu->values[NVIDIA_ECC_SRAM]) ? 0 : gpu->values[NVIDIA_ECC_SRAM]);
    int64_t replays = grown(look, gpu, "replays", gpu->values[NVIDIA_PCIE_REPLAYS]);
    int64_t passed_ms = look->context->now_ms - look->since_ms;
    if (look->since_ms > 0 && passed_ms > 0 && replays > REPLAYS_A_MINUTE_MAX * (1 + passed_ms / 60000))
        check_event(look->out, "nvidia.pcie.replays", gpu->name, replays,
                    "%s %s: %" PRId64 " PCIe replays within %" PRId64 " s", gpu->product, gpu->uuid, replays,
                    passed_ms / 1000);
}

/* A link is called down in the second run that sees it so: one may look while links are trained anew. */
static void look_at_links(const struct look *look, const struct nvidia_gpu *gpu, const struct nvidia_links *links,
                          json_t *now)
{
    int64_t best = before(look, gpu, "links", -1), last = before(look, gpu, "links_last", -1);
    if (links == NULL || links->up < 0) {
        json_put_i64(now, "links", best);
        return;
    }
    if (links->up < best && last >= 0 && last < best)
        check_found(look->out, "nvidia.nvlink.down", gpu->name, best - links->up,
                    "%s %s: %d NVLinks are up, were %" PRId64 "; inactive: %s", gpu->product, gpu->uuid, links->up,
                    best, links->down);
    json_put_i64(now, "links", links->up > best ? links->up : best);
    json_put_i64(now, "links_last", links->up);
}

static void compare(const struct look *look, const struct nvidia_gpu *gpu, const struct nvidia_links *links)
{
    const double *v = gpu->values;
    json_t *now = json_object();
    /* At rest a link saves power by a lower generation; at work it does not. */
    bool is_young = look->context->uptime_ms < GRACE_MS; /* its daemons come up late, and links are trained by one */
    bool works = strcmp(gpu->performance_state, "P0") == 0 && is_set(gpu, NVIDIA_UTILIZATION);
    json_put_i64(now, "width", fallen(look, gpu, "width", v[NVIDIA_PCIE_WIDTH], "nvidia.pcie.degraded", "PCIe width"));
    json_put_i64(now, "gen",
                 fallen(look, gpu, "gen", works ? v[NVIDIA_PCIE_GEN] : NAN, "nvidia.pcie.degraded", "PCIe generation"));
    json_put_i64(now, "ecc", fallen(look, gpu, "ecc", v[NVIDIA_ECC_ON], "nvidia.ecc.off", "ECC"));
    json_put_i64(now, "persistence",
                 fallen(look, gpu, "persistence", is_young ? NAN : v[NVIDIA_PERSISTENCE], "nvidia.persistence.off",
                        "persistence mode"));
    look_at_memory_errors(look, gpu);
    look_at_links(look, gpu, is_young ? NULL : links, now);
    static const struct {
        const char *name;
        enum nvidia_value value;
    } counters[] = {{"dram", NVIDIA_ECC_DRAM}, {"sram", NVIDIA_ECC_SRAM}, {"replays", NVIDIA_PCIE_REPLAYS}};
    for (size_t i = 0; i < ARRAY_LEN(counters); i++)
        json_put_i64(now, counters[i].name,
                     !isnan(v[counters[i].value]) ? (int64_t)v[counters[i].value]
                     : look->same_boot            ? before(look, gpu, counters[i].name, 0)
                                                  : 0);
    json_put(look->gpus_now, gpu->uuid[0] != '\0' ? gpu->uuid : gpu->name, now);
}

/* --- one GPU ----------------------------------------------------------------------------------------------------------- */

static void tell_values(const struct look *look, const struct nvidia_gpu *gpu)
{
    char labels[CHECK_LABELS_MAX_BYTES];
    snprintf(labels, sizeof(labels), "gpu=\"%s\",uuid=\"%s\"", gpu->name, gpu->uuid);
    for (size_t i = 0; i < NVIDIA_VALUE_COUNT; i++) {
        const char *metric = nvidia_value_metric((enum nvidia_value)i);
        if (metric[0] != '\0' && !isnan(gpu->values[i]))
            check_value(look->out, metric, labels, gpu->values[i]);
    }
    snprintf(labels, sizeof(labels), "gpu=\"%s\",uuid=\"%.44s\",product=\"%.40s\",serial=\"%.20s\",board=\"%.20s\"",
             gpu->name, gpu->uuid, gpu->product, gpu->serial, gpu->board_part);
    check_value(look->out, "holdfast_gpu_info", labels, 1);
}

static void look_at_gpu(const struct look *look, const struct nvidia_gpu *gpu, const struct nvidia_links *links)
{
    if (gpu->is_lost) {
        check_found(look->out, "nvidia.gpu.lost", gpu->name, 1, "%s %s: GPU is lost, says nvidia-smi", gpu->product,
                    gpu->uuid);
        return;
    }
    look_at_recovery(look, gpu);
    look_at_flags(look, gpu);
    look_at_heat(look, gpu);
    look_at_fabric(look, gpu);
    look_at_unreadable(look, gpu);
    compare(look, gpu, links);
    tell_values(look, gpu);
}

/* --- all of them ------------------------------------------------------------------------------------------------------- */

struct bus {
    char names[NVIDIA_GPUS_MAX][DEVICE_MAX_BYTES]; /* GPUs that NVIDIA's driver has taken */
    size_t count;
    bool has_nvidia; /* one at least, taken or not */
};

static bool file_says(const struct check_context *context, const char *device, const char *file, const char *begins)
{
    autofree char *text = sysfs_read(context, PCI_DEVICES "/%s/%s", device, file);
    return text != NULL && text_starts_with(text, begins);
}

static bool has_driver(const struct check_context *context, const char *device, const char *driver)
{
    char target[LINK_BYTES_MAX];
    autofree char *name = own_printf(PCI_DEVICES "/%s/driver", device);
    autofree char *path = check_path(context, name);
    ssize_t len = readlink(path, target, sizeof(target) - 1);
    if (len <= 0)
        return false;
    target[len] = '\0';
    const char *slash = strrchr(target, '/');
    return strcmp(slash != NULL ? slash + 1 : target, driver) == 0;
}

/* GPUs as the system sees them. Vendor 0x10de is NVIDIA's, class 0x03 display and 3D controllers (pci.ids). */
static void read_bus(const struct check_context *context, struct bus *ret_bus)
{
    char **names = NULL;
    size_t count = 0;
    *ret_bus = (struct bus){0};
    if (sysfs_list(context, PCI_DEVICES, &names, &count) != 0)
        return;
    for (size_t i = 0; i < count; i++) {
        char name[DEVICE_MAX_BYTES];
        if (!nvidia_pci_name(names[i], strlen(names[i]), name) || !file_says(context, names[i], "vendor", "0x10de") ||
            !file_says(context, names[i], "class", "0x03"))
            continue;
        ret_bus->has_nvidia = true;
        if (ret_bus->count < NVIDIA_GPUS_MAX && has_driver(context, names[i], "nvidia"))
            memcpy(ret_bus->names[ret_bus->count++], name, sizeof(name));
    }
    sysfs_list_free(names, count);
}

static bool is_listed(const struct nvidia_report *report, const char *name)
{
    for (size_t i = 0; i < report->gpu_count; i++)
        if (strcmp(report->gpus[i].name, name) == 0)
            return true;
    return false;
}

/* One is called missing in the second run that misses it: while somebody resets a GPU it is in no list. wanted: how many there
 * should be; 0: nobody knows. True when one is missing. */
static bool look_at_count(const struct look *look, const struct nvidia_report *report, const struct bus *bus,
                          int wanted)
{
    bool is_young = look->context->uptime_ms < GRACE_MS, is_sure = look->was_missing && !is_young;
    size_t missing = 0;
    check_value(look->out, "holdfast_gpus", "", (double)report->gpu_count);
    for (size_t i = 0; i < bus->count; i++) {
        if (is_listed(report, bus->names[i]))
            continue;
        missing++;
        if (is_sure)
            check_found(look->out, "nvidia.gpu.missing", bus->names[i], 1,
                        "on the PCI bus with NVIDIA's driver, and not in nvidia-smi's list of %zu", report->gpu_count);
    }
    if (wanted > 0 && report->gpu_count + missing < (size_t)wanted) {
        if (is_sure)
            check_found(look->out, "nvidia.gpu.missing", "", wanted - (int64_t)(report->gpu_count + missing),
                        "%zu GPUs, and there should be %d", report->gpu_count, wanted);
        missing++;
    }
    if (missing > 0 && !is_sure)
        check_unknown(look->out, "%zu GPUs so far, and %s", report->gpu_count,
                      is_young ? "the machine has just started" : "the next look decides");
    return missing > 0 && !is_young;
}

/* --- memory ------------------------------------------------------------------------------------------------------------ */

/* A GPU that is not there now is not forgotten: it may come back. */
static void keep_absent(const struct look *look)
{
    const char *uuid;
    json_t *known;
    json_object_foreach(look->gpus_before, uuid, known)
    {
        if (json_object_size(look->gpus_now) < NVIDIA_GPUS_MAX && json_object_get(look->gpus_now, uuid) == NULL &&
            json_is_object(known))
            json_put(look->gpus_now, uuid, json_incref(known));
    }
}

/* {"at": ms, "count": most GPUs seen, "missing": whether one was, "gpus": {uuid: {…}}} */
static void remember(const struct look *look, int64_t most, bool is_missing)
{
    auto_json json_t *memory = json_object();
    keep_absent(look);
    json_put_i64(memory, "at", look->context->now_ms);
    json_put_i64(memory, "count", most);
    json_put(memory, "missing", json_boolean(is_missing));
    json_put(memory, "gpus", json_incref(look->gpus_now));
    notes_write(look->context, memory, look->out);
}

/* --- the run ----------------------------------------------------------------------------------------------------------- */

/* NULL when there is no answer to parse; then that has been said. is_expected: there should be GPUs. Caller frees. */
static struct nvidia_report *ask(const struct check_context *context, struct check_out *out, bool is_expected)
{
    static const char *const argv[] = {"nvidia-smi", "-q", "-x", NULL};
    struct child_result result;
    int r = check_tool(context, argv, REPORT_TIMEOUT_MS, NVIDIA_SMI_BYTES_MAX, &result);
    if (r == STATUS_NOT_FOUND && !is_expected)
        check_not_applicable(out, "no NVIDIA GPU and no nvidia-smi");
    else if (r == STATUS_TIMEOUT && context->uptime_ms >= GRACE_MS)
        check_found(out, "nvidia.smi.hung", "", 1, "nvidia-smi -q -x did not end within %d s",
                    REPORT_TIMEOUT_MS / 1000);
    if (r < 0) {
        if (r != STATUS_NOT_FOUND || is_expected)
            check_unknown(out, "nvidia-smi: %s", status_meaning(r));
        return NULL;
    }
    struct nvidia_report *report = NULL;
    if (result.out_cut) {
        check_unknown(out, "nvidia-smi says more than %d MiB", NVIDIA_SMI_BYTES_MAX >> 20);
    } else {
        AUTO(text) struct text said = {0};
        text_add_bytes(&said, result.out, result.out_len);
        text_add_char(&said, '\n');
        text_add(&said, result.err);
        report = own_calloc(1, sizeof(*report));
        nvidia_smi_parse(said.data, said.len, report);
    }
    child_result_free(&result);
    return report;
}

static size_t ask_links(const struct check_context *context, struct nvidia_links links[NVIDIA_GPUS_MAX])
{
    static const char *const argv[] = {"nvidia-smi", "nvlink", "--status", NULL};
    struct child_result result;
    if (check_tool(context, argv, LINKS_TIMEOUT_MS, LINKS_BYTES_MAX, &result) != 0)
        return 0;
    size_t count = result.out_cut ? 0 : nvidia_links_parse(result.out, result.out_len, links);
    child_result_free(&result);
    return count;
}

static void look_at_gpus(const struct look *look, const struct nvidia_report *report)
{
    static struct nvidia_links links[NVIDIA_GPUS_MAX];
    size_t link_count = ask_links(look->context, links);
    for (size_t i = 0; i < report->gpu_count; i++) {
        const struct nvidia_links *own = NULL;
        for (size_t j = 0; j < link_count; j++)
            if (strcmp(links[j].uuid, report->gpus[i].uuid) == 0)
                own = &links[j];
        look_at_gpu(look, &report->gpus[i], own);
    }
}

static void look_back(struct look *look, const json_t *memory)
{
    look->same_boot = notes_are_of_this_boot(look->context, memory);
    look->since_ms = look->same_boot ? json_integer_value(json_object_get(memory, "at")) : 0;
    look->was_missing = look->same_boot && json_is_true(json_object_get(memory, "missing"));
    look->gpus_before = json_object_get(memory, "gpus");
}

static void nvidia_run(const struct check_context *context, struct check_out *out)
{
    const struct accelerators *type = accelerators_find(context->instance_type);
    auto_json json_t *memory = notes_read(context), *now = json_object();
    struct look look = {.context = context, .out = out, .gpus_now = now};
    struct bus bus;
    bool is_missing;
    look_back(&look, memory);
    read_bus(context, &bus);
    int64_t most = json_integer_value(json_object_get(memory, "count"));
    int wanted = type != NULL ? type->gpus : most > 0 && most <= NVIDIA_GPUS_MAX ? (int)most : 0;
    bool is_expected = wanted > 0 || bus.has_nvidia;
    autofree struct nvidia_report *report = ask(context, out, is_expected);
    if (report == NULL)
        return;
    switch (report->answer) {
    case NVIDIA_ANSWER_REPORT:
        look_at_gpus(&look, report);
        is_missing = look_at_count(&look, report, &bus, wanted);
        remember(&look, (int64_t)report->gpu_count > most ? (int64_t)report->gpu_count : most, is_missing);
        if (report->attached > (int)report->gpu_count)
            check_unknown(out, "nvidia-smi counts %d GPUs and lists %zu", report->attached, report->gpu_count);
        return;
    case NVIDIA_ANSWER_NO_DEVICES:
        if (is_expected)
            remember(&look, most, look_at_count(&look, report, &bus, wanted));
        else
            check_not_applicable(out, "%s", report->why);
        return;
    case NVIDIA_ANSWER_NO_DRIVER:
    case NVIDIA_ANSWER_MISMATCH:
        if (!is_expected) {
            check_not_applicable(out, "%s", report->why);
            return;
        }
        if (context->uptime_ms >= GRACE_MS)
            check_found(out,
                        report->answer == NVIDIA_ANSWER_MISMATCH ? "nvidia.driver.mismatch" : "nvidia.driver.failed",
                        "", 1, "%s", report->why);
        check_unknown(out, "%s", nvidia_answer_text(report->answer));
        return;
    case NVIDIA_ANSWER_BROKEN:
        for (size_t i = 0; i < report->gpu_count; i++)
            if (report->gpus[i].is_lost || report->gpus[i].requires_reset)
                check_found(out, report->gpus[i].is_lost ? "nvidia.gpu.lost" : "nvidia.recovery.reset",
                            report->gpus[i].name, 1, "%s", report->why);
        check_unknown(out, "%s", report->why);
        return;
    }
}

const struct check check_nvidia = {
    .name = "nvidia",
    .about = "GPUs by nvidia-smi: count, memory errors, row remapping, recovery action, heat, links",
    .period_ms = PERIOD_MS,
    .deadline_ms = DEADLINE_MS,
    .run = nvidia_run,
    .spans_boots = true,
};
