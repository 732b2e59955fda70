/*
 * A GPU beside what it was. Link widths, links and modes differ between boards that are well, so they are compared with the best
 * that was seen of the same GPU.
 *
 * Errors of memory are counted by the driver since it came up. What is new since the run before is an event; in another
 * boot the counters began anew. Those of the GPU's whole life are only measured: they were told when they happened.
 */
#include "agents/checks/nvidia_look.h"
#include "base/own.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int64_t before(const struct nvidia_look *look, const struct nvidia_gpu *gpu, const char *name, int64_t otherwise)
{
    const json_t *known = json_object_get(look->gpus_before, gpu->uuid[0] != '\0' ? gpu->uuid : gpu->name);
    const json_t *value = json_object_get(known, name);
    return json_is_integer(value) ? json_integer_value(value) : otherwise;
}

/* What is less than the best that was seen of this GPU. Returns the best of all now. */
static int64_t fallen(const struct nvidia_look *look, const struct nvidia_gpu *gpu, const char *name, double value,
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
static int64_t grown(const struct nvidia_look *look, const struct nvidia_gpu *gpu, const char *name, double value)
{
    int64_t now = isnan(value) ? 0 : (int64_t)value, then = look->same_boot ? before(look, gpu, name, 0) : 0;
    return now >= then ? now - then : now;
}

static void look_at_memory_errors(const struct nvidia_look *look, const struct nvidia_gpu *gpu)
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
    int64_t passed_ms = look->context->uptime_ms - look->since_ms;
    int64_t most =
        agent_settings_limit(look->context->settings, AGENT_LIMIT_NVIDIA_REPLAYS); /* as DCGM's watch has it [R] */
    if (look->since_ms > 0 && passed_ms > 0 && replays > most * (1 + passed_ms / 60000))
        check_event(look->out, "nvidia.pcie.replays", gpu->name, replays,
                    "%s %s: %" PRId64 " PCIe replays within %" PRId64 " s", gpu->product, gpu->uuid, replays,
                    passed_ms / 1000);
}

/* A link is called down in the second run that sees it so: one may look while links are trained anew. */
static void look_at_links(const struct nvidia_look *look, const struct nvidia_gpu *gpu,
                          const struct nvidia_links *links, json_t *now)
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

void nvidia_compare(const struct nvidia_look *look, const struct nvidia_gpu *gpu, const struct nvidia_links *links)
{
    const double *v = gpu->values;
    json_t *now = json_object();
    /* At rest a link saves power by a lower generation; at work it does not. */
    bool is_young =
        look->context->uptime_ms < NVIDIA_GRACE_MS; /* its daemons come up late, and links are trained by one */
    bool works = strcmp(gpu->performance_state, "P0") == 0 && gpu->values[NVIDIA_UTILIZATION] > 0;
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
