/*
 * Published fleets. Counts and rates are those of the source; what no source gives (which code a cause shows itself by, how many
 * faults are hard, how long a restart takes, how often a checkpoint is written) is our assumption, and each source says so.
 */
#include "simulate/simulate.h"

#include "base/own.h"
#include "base/text.h"

#include <string.h>

#define LLAMA3_NODE_DAYS (2048 * 54 / 1000.0)
#define OF_LLAMA3(count) ((count) / LLAMA3_NODE_DAYS)
#define F SIMULATE_EFFECT_FAULT, ""
#define V SIMULATE_EFFECT_VANISH, ""
#define P SIMULATE_EFFECT_PROGRAM, ""

static const struct simulate_profile profiles[] = {
    {
        .name = "llama3",
        .about = "Meta's Llama 3 405B run: one job of 16,384 H100 GPUs over 54 days",
        .source = "The Llama 3 Herd of Models (arXiv 2407.21783), section 3.3.4 and its table of causes: 466 "
                  "interruptions in 54 "
                  "days, 47 planned and 419 unexpected, by cause; more than 90 % effective training time. Ours: 64 "
                  "spares (the "
                  "cluster had 24,576 GPUs), a checkpoint every 10 min, 5 min to restart, 30 min to replace a machine, "
                  "the code "
                  "of each cause, and that half of the GPU faults come back after a reboot.",
        .numbers = "nodes=2048 spares=64 time=54d checkpointEvery=10m checkpointCost=5s restart=5m "
                   "detect=30s plannedEvery=1650m plannedFor=10m",
        .faults = {{"faulty GPU", "xid.79", OF_LLAMA3(148), 50, F},
                   {"GPU HBM3 memory", "xid.95", OF_LLAMA3(72), 50, F},
                   {"software bug", "", OF_LLAMA3(54), 0, P},
                   {"network switch or cable", "kernel.link.down", OF_LLAMA3(35), 0, F},
                   {"unplanned host maintenance", "", OF_LLAMA3(32), 0, V},
                   {"GPU SRAM memory", "xid.48", OF_LLAMA3(19), 50, F},
                   {"GPU system processor", "xid.119", OF_LLAMA3(17), 0, F},
                   {"network adapter", "kernel.mlx5.failed", OF_LLAMA3(7), 100, F},
                   {"NCCL watchdog timeout", "", OF_LLAMA3(7), 0, P},
                   {"silent data corruption", "deep.hardware-check", OF_LLAMA3(6), 100, F},
                   {"GPU heat", "kernel.thermal.critical", OF_LLAMA3(6), 0, F},
                   {"SSD", "kernel.nvme.removed", OF_LLAMA3(3), 100, F},
                   {"power supply", "", OF_LLAMA3(3), 100, V},
                   {"server chassis", "", OF_LLAMA3(2), 100, V},
                   {"IO expansion board", "kernel.pcie.fatal", OF_LLAMA3(2), 100, F},
                   {"dependency", "", OF_LLAMA3(2), 0, P},
                   {"CPU", "kernel.mce.fatal", OF_LLAMA3(2), 100, F},
                   {"system memory", "kernel.edac.uncorrected", OF_LLAMA3(2), 100, F}},
    },
#define RSC_SOURCE                                                                                                    \
    "Revisiting Reliability in Large-Scale Machine Learning Research Clusters (arXiv 2410.21680): the rate of "       \
    "failures per "                                                                                                   \
    "1,000 node-days, and that network links, file systems, GPU memory and PCIe lead the causes. Ours: how the rate " \
    "is "                                                                                                             \
    "shared among the causes, how many faults are hard, the mix of job sizes, and the times."
#define RSC_FAULTS(rate)                                                                                            \
    {                                                                                                               \
        {"network link", "kernel.link.down", (rate)*0.20, 0, F},                                                    \
            {"file system", "node.mount.missing", (rate)*0.15, 0, F}, {"GPU memory", "xid.95", (rate)*0.20, 40, F}, \
            {"GPU off the bus", "xid.79", (rate)*0.12, 40, F}, {"PCIe", "kernel.pcie.fatal", (rate)*0.10, 30, F},   \
            {"GPU system processor", "xid.119", (rate)*0.08, 0, F}, {"NVLink", "xid.74", (rate)*0.05, 40, F},       \
            {"machine gone", "", (rate)*0.10, 20, V},                                                               \
    }
#define RSC_JOBS                                        \
    {                                                   \
        {1, 10}, {4, 12}, {16, 16}, {32, 16}, {64, 16}, \
        {                                               \
            128, 30                                     \
        }                                               \
    }
    {
        .name = "rsc-1",
        .about = "Meta's research cluster RSC-1: 16,000 A100 GPUs, 6.50 failures per 1,000 node-days",
        .source = RSC_SOURCE,
        .numbers = "nodes=1960 spares=40 time=30d checkpointEvery=1h restart=5m replace=2h",
        .sizes = RSC_JOBS,
        .faults = RSC_FAULTS(6.50),
    },
    {
        .name = "rsc-2",
        .about = "Meta's research cluster RSC-2: 8,000 A100 GPUs, 2.34 failures per 1,000 node-days",
        .source = RSC_SOURCE,
        .numbers = "nodes=980 spares=20 time=30d checkpointEvery=1h restart=5m replace=2h",
        .sizes = RSC_JOBS,
        .faults = RSC_FAULTS(2.34),
    },
};

const struct simulate_profile *simulate_profiles(size_t *ret_count)
{
    *ret_count = ARRAY_LEN(profiles);
    return profiles;
}

static void load_numbers(const char *numbers, struct simulate_scenario *scenario)
{
    char word[64], error[SIMULATE_ERROR_MAX];
    while (*numbers != '\0') {
        size_t len = strcspn(numbers, " ");
        text_copy_bytes(word, sizeof(word), numbers, len);
        char *value = strchr(word, '=');
        *value = '\0';
        simulate_set(scenario, word, value + 1, error); /* a test loads every profile */
        numbers += len + strspn(numbers + len, " ");
    }
}

int simulate_profile_load(const char *name, struct simulate_scenario *ret_scenario)
{
    for (size_t p = 0; p < ARRAY_LEN(profiles); p++) {
        const struct simulate_profile *profile = &profiles[p];
        if (strcmp(profile->name, name) != 0)
            continue;
        simulate_scenario_default(ret_scenario);
        text_copy_cut(ret_scenario->name, sizeof(ret_scenario->name), name);
        text_copy_cut(ret_scenario->source, sizeof(ret_scenario->source), profile->source);
        load_numbers(profile->numbers, ret_scenario);
        memset(ret_scenario->said, 0, sizeof(ret_scenario->said)); /* a profile is no word against a policy */
        while (ret_scenario->size_count < SIMULATE_SIZES_MAX && profile->sizes[ret_scenario->size_count].nodes > 0)
            ret_scenario->size_count++;
        memcpy(ret_scenario->sizes, profile->sizes, sizeof(profile->sizes));
        while (ret_scenario->fault_count < SIMULATE_FAULTS_MAX &&
               profile->faults[ret_scenario->fault_count].name[0] != '\0')
            ret_scenario->fault_count++;
        memcpy(ret_scenario->faults, profile->faults, sizeof(profile->faults));
        return 0;
    }
    return STATUS_NOT_FOUND;
}
