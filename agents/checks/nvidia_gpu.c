/* What a GPU itself says is wrong with it. */
#include "agents/checks/nvidia_look.h"
#include "base/own.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static bool is_set(const struct nvidia_gpu *gpu, enum nvidia_value value)
{
    return gpu->values[value] > 0; /* NAN is not */
}

/* What the site says, or what is built in. */
static double said(const struct nvidia_look *look, enum agent_limit limit)
{
    return (double)agent_settings_limit(look->context->settings, limit);
}

/* The driver's own word, after the list of recovery actions in nvml.h: words are matched, as their wording varies. */
static void look_at_recovery(const struct nvidia_look *look, const struct nvidia_gpu *gpu)
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

static void look_at_flags(const struct nvidia_look *look, const struct nvidia_gpu *gpu)
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
    /* NVIDIA, Dynamic Page Retirement: a board with sixty may be returned [R] */
    if (gpu->values[NVIDIA_PAGES_RETIRED] >= said(look, AGENT_LIMIT_NVIDIA_RETIRED_PAGES))
        check_found(look->out, "nvidia.retired-pages.limit", gpu->name, 1, "%s %s: %.0f pages retired", gpu->product,
                    gpu->uuid, gpu->values[NVIDIA_PAGES_RETIRED]);
    if (gpu->is_inforom_corrupt)
        check_found(look->out, "nvidia.inforom.corrupt", gpu->name, 1, "%s %s: infoROM is corrupted", gpu->product,
                    gpu->uuid);
    if (is_set(gpu, NVIDIA_MIG) != is_set(gpu, NVIDIA_MIG_PENDING) && !isnan(gpu->values[NVIDIA_MIG_PENDING]))
        check_found(look->out, "nvidia.mig.pending", gpu->name, 1, "%s %s: MIG is to be switched %s", gpu->product,
                    gpu->uuid, is_set(gpu, NVIDIA_MIG_PENDING) ? "on" : "off");
}

/* The site's own limit, where it has said one; 0: the GPU's word counts. */
static bool is_hotter(const struct nvidia_look *look, const struct nvidia_gpu *gpu, enum agent_limit limit,
                      enum nvidia_value value, const char *what)
{
    double most = said(look, limit);
    bool hot = most > 0 && gpu->values[value] >= most;
    if (hot)
        check_found(look->out, "nvidia.temperature.high", gpu->name, 1,
                    "%s %s: %s%.0f C, the settings allow less than %.0f C", gpu->product, gpu->uuid, what,
                    gpu->values[value], most);
    return hot;
}

static void look_at_heat(const struct nvidia_look *look, const struct nvidia_gpu *gpu)
{
    const double *v = gpu->values;
    if (is_hotter(look, gpu, AGENT_LIMIT_NVIDIA_TEMPERATURE, NVIDIA_TEMPERATURE, "") ||
        is_hotter(look, gpu, AGENT_LIMIT_NVIDIA_MEMORY_TEMPERATURE, NVIDIA_TEMPERATURE_MEMORY, "memory "))
        return;
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
static void look_at_fabric(const struct nvidia_look *look, const struct nvidia_gpu *gpu)
{
    bool is_done = strcmp(gpu->fabric_state, "Completed") == 0;
    if (gpu->fabric_state[0] == '\0' || strcmp(gpu->fabric_state, "Not Supported") == 0)
        return;
    if (!is_done && look->context->uptime_ms < NVIDIA_GRACE_MS)
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

static void look_at_unreadable(const struct nvidia_look *look, const struct nvidia_gpu *gpu)
{
    uint64_t power = UINT64_C(1) << NVIDIA_POWER;
    if ((gpu->unreadable & power) != 0 && isnan(gpu->values[NVIDIA_POWER]))
        check_found(look->out, "nvidia.power.unreadable", gpu->name, 1, "%s %s: power draw cannot be read",
                    gpu->product, gpu->uuid);
    if ((gpu->unreadable & ~power) != 0)
        check_unknown(look->out, "%s: the driver cannot read %s", gpu->name, gpu->unreadable_first);
}

/* By our name, and by that of dcgm-exporter with its labels, so that dashboards made for it work. */
static void tell_values(const struct nvidia_look *look, const struct nvidia_gpu *gpu)
{
    char labels[CHECK_LABELS_MAX_BYTES] = "", dcgm_labels[CHECK_LABELS_MAX_BYTES] = "";
    check_label(dcgm_labels, "gpu", gpu->name);
    check_label(dcgm_labels, "UUID", gpu->uuid);
    check_label(dcgm_labels, "modelName", gpu->product);
    check_label(labels, "gpu", gpu->name);
    check_label(labels, "uuid", gpu->uuid);
    for (size_t i = 0; i < NVIDIA_VALUE_COUNT; i++) {
        const char *metric = nvidia_value_metric((enum nvidia_value)i);
        if (metric[0] != '\0' && !isnan(gpu->values[i]))
            check_value(look->out, metric, labels, gpu->values[i] * nvidia_value_scale((enum nvidia_value)i));
        if (nvidia_value_dcgm((enum nvidia_value)i)[0] != '\0' && !isnan(gpu->values[i]))
            check_value(look->out, nvidia_value_dcgm((enum nvidia_value)i), dcgm_labels, gpu->values[i]);
    }
    check_label(labels, "product", gpu->product);
    check_label(labels, "serial", gpu->serial);
    check_label(labels, "board", gpu->board_part);
    check_value(look->out, "holdfast_gpu_info", labels, 1);
}

void nvidia_look_at_gpu(const struct nvidia_look *look, const struct nvidia_gpu *gpu, const struct nvidia_links *links)
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
    nvidia_compare(look, gpu, links);
    tell_values(look, gpu);
}
