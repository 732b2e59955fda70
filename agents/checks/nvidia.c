/*
 * Are the GPUs there, and what does the driver say of each? By NVML, its library, or by nvidia-smi, which every driver brings
 * (nvidia_ask.h).
 *
 * Three things are never called a fault: what neither of them says, what they say within minutes of the boot (GPUs come up
 * late), and what a board was always like (nvidia_compare.c).
 *
 * Not here: Xids, which the kernel log has at once (kmsg.c).
 */
#include "agents/checks/accelerators.h"
#include "agents/checks/notes.h"
#include "agents/checks/nvidia_ask.h"
#include "agents/checks/nvidia_look.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

/* --- memory ------------------------------------------------------------------------------------------------------------ */

/* A GPU that is not there now is not forgotten: it may come back. */
static void keep_absent(const struct nvidia_look *look)
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
static void remember(const struct nvidia_look *look, int64_t most, bool is_missing)
{
    auto_json json_t *memory = json_object();
    keep_absent(look);
    json_put_i64(memory, "at", look->context->uptime_ms);
    json_put_i64(memory, "count", most);
    json_put(memory, "missing", json_boolean(is_missing));
    json_put(memory, "gpus", json_incref(look->gpus_now));
    notes_write(look->context, memory, look->out);
}

/* --- the run ----------------------------------------------------------------------------------------------------------- */

static void look_back(struct nvidia_look *look, const json_t *memory)
{
    look->same_boot = notes_are_of_this_boot(look->context, memory);
    look->since_ms = look->same_boot ? json_integer_value(json_object_get(memory, "at")) : 0;
    look->was_missing = look->same_boot && json_is_true(json_object_get(memory, "missing"));
    look->gpus_before = json_object_get(memory, "gpus");
}

/* Of a GPU that a hypervisor cuts into parts neither name is the card's: another guest has another part of it. */
static void tell_hardware(const struct nvidia_gpu *gpu, struct check_out *out)
{
    struct hardware hardware = {.kind = HARDWARE_KIND_GPU};
    bool is_whole = strcasecmp(gpu->virtualization, "VGPU") != 0;
    text_copy_cut(hardware.identity, sizeof(hardware.identity), is_whole ? gpu->uuid : "");
    text_copy_cut(hardware.serial, sizeof(hardware.serial), is_whole ? gpu->serial : "");
    text_copy_cut(hardware.location, sizeof(hardware.location), gpu->name);
    snprintf(hardware.detail, sizeof(hardware.detail), "%.50s%s%.50s", gpu->product,
             gpu->vbios[0] != '\0' ? ", VBIOS " : "", gpu->vbios);
    check_hardware(out, &hardware);
}

static void nvidia_run(const struct check_context *context, struct check_out *out)
{
    const struct accelerators *type = accelerators_find(context->instance_type);
    auto_json json_t *memory = notes_read(context), *now = json_object();
    struct nvidia_look look = {.context = context, .out = out, .gpus_now = now};
    struct nvidia_bus bus;
    bool is_missing;
    look_back(&look, memory);
    nvidia_bus_read(context, &bus);
    int64_t most = json_integer_value(json_object_get(memory, "count"));
    int wanted = type != NULL ? type->gpus : most > 0 && most <= NVIDIA_GPUS_MAX ? (int)most : 0;
    bool is_expected = wanted > 0 || bus.has_nvidia;
    autofree struct nvidia_facts *answer = nvidia_ask(context, out, is_expected);
    if (answer == NULL)
        return;
    const struct nvidia_report *report = &answer->report;
    switch (report->answer) {
    case NVIDIA_ANSWER_REPORT:
        for (size_t i = 0; i < report->gpu_count; i++) {
            nvidia_look_at_gpu(&look, &report->gpus[i], &answer->links[i]);
            tell_hardware(&report->gpus[i], out);
        }
        is_missing = nvidia_look_at_count(&look, report, &bus, wanted);
        remember(&look, (int64_t)report->gpu_count > most ? (int64_t)report->gpu_count : most, is_missing);
        if (report->attached > (int)report->gpu_count)
            check_unknown(out, "%s counts %d GPUs and lists %zu", report->source, report->attached, report->gpu_count);
        return;
    case NVIDIA_ANSWER_NO_DEVICES:
        if (is_expected)
            remember(&look, most, nvidia_look_at_count(&look, report, &bus, wanted));
        else
            check_not_applicable(out, "%s", report->why);
        return;
    case NVIDIA_ANSWER_NO_DRIVER:
    case NVIDIA_ANSWER_MISMATCH:
        if (!is_expected) {
            check_not_applicable(out, "%s", report->why);
            return;
        }
        if (context->uptime_ms >= NVIDIA_GRACE_MS)
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
    .about = "GPUs by NVML or nvidia-smi: count, memory errors, row remapping, recovery action, heat, links",
    CHECK_TIMES(nvidia),
    .run = nvidia_run,
    .spans_boots = true,
};