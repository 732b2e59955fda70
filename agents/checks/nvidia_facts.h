/*
 * What is known of NVIDIA's GPUs at one moment, whoever said it: nvidia-smi (nvidia_smi.h) or the library below it (nvml.h).
 *
 * A value is a number, or NAN where there is none: the board, the driver or the source does not have it, or may not tell.
 * A value that the driver could not read is told apart from these, because a value that is not there is no fault and one
 * that cannot be read may be.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_NVIDIA_FACTS_H
#define HOLDFAST_AGENTS_CHECKS_NVIDIA_FACTS_H

#include "model/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NVIDIA_GPUS_MAX 64
#define NVIDIA_TEXT_BYTES_MAX 64

/* The values that are kept: their metric ("": none), its type, its help, how many of its unit one of the value is, and what NVIDIA's dcgm-exporter calls it ("": it has none, or
 * one that means something else; etc/default-counters.csv of dcgm-exporter 3.3). Counters of two kinds are kept apart where they
 * ask for different things; all kinds of one are summed up. Flags are 1 and 0. */
#define NVIDIA_VALUE_LIST(X)                                                                                         \
    X(TEMPERATURE, "holdfast_gpu_temperature_celsius", "gauge", "Temperature of a GPU", 1, "DCGM_FI_DEV_GPU_TEMP")   \
    X(TEMPERATURE_SLOW, "", "", "", 1, "")      /* where the hardware slows down, up to Ampere */                    \
    X(TEMPERATURE_LEFT, "", "", "", 1, "")      /* degrees up to the limit, from Ada and Hopper on */                \
    X(TEMPERATURE_LEFT_SLOW, "", "", "", 1, "") /* and where, in these degrees, it slows down */                     \
    X(TEMPERATURE_MEMORY, "holdfast_gpu_memory_temperature_celsius", "gauge", "Temperature of a GPU's memory", 1,    \
      "DCGM_FI_DEV_MEMORY_TEMP")                                                                                     \
    X(TEMPERATURE_MEMORY_MAX, "", "", "", 1, "")                                                                     \
    X(POWER, "holdfast_gpu_power_watts", "gauge", "Power that a GPU draws", 1, "DCGM_FI_DEV_POWER_USAGE")            \
    X(POWER_LIMIT, "holdfast_gpu_power_limit_watts", "gauge", "Power that a GPU may draw", 1, "")                    \
    X(UTILIZATION, "holdfast_gpu_utilization_ratio", "gauge", "Share of time in which a GPU had work", 0.01,         \
      "DCGM_FI_DEV_GPU_UTIL")                                                                                        \
    X(MEMORY_USED, "holdfast_gpu_memory_used_bytes", "gauge", "Memory of a GPU in use", 1048576.0,                   \
      "DCGM_FI_DEV_FB_USED")                                                                                         \
    X(MEMORY_TOTAL, "holdfast_gpu_memory_size_bytes", "gauge", "Memory of a GPU", 1048576.0, "")                     \
    X(CLOCK_SM, "holdfast_gpu_sm_clock_hertz", "gauge", "Clock of a GPU's multiprocessors", 1e6,                     \
      "DCGM_FI_DEV_SM_CLOCK")                                                                                        \
    X(ECC_ON, "", "", "", 1, "")                                                                                     \
    X(ECC_CORRECTED, "holdfast_gpu_ecc_corrected_volatile_total", "counter",                                         \
      "Memory errors corrected since the driver was loaded", 1, "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL")                     \
    X(ECC_DRAM, "holdfast_gpu_ecc_dram_uncorrected_volatile_total", "counter",                                       \
      "DRAM errors not corrected since the driver was loaded", 1, "")                                                \
    X(ECC_SRAM, "holdfast_gpu_ecc_sram_uncorrected_volatile_total", "counter",                                       \
      "SRAM errors not corrected since the driver was loaded", 1, "")                                                \
    X(ECC_CORRECTED_EVER, "holdfast_gpu_ecc_corrected_aggregate_total", "counter",                                   \
      "Memory errors corrected in the life of a GPU", 1, "DCGM_FI_DEV_ECC_SBE_AGG_TOTAL")                            \
    X(ECC_DRAM_EVER, "holdfast_gpu_ecc_dram_uncorrected_aggregate_total", "counter",                                 \
      "DRAM errors not corrected in the life of a GPU", 1, "")                                                       \
    X(ECC_SRAM_EVER, "holdfast_gpu_ecc_sram_uncorrected_aggregate_total", "counter",                                 \
      "SRAM errors not corrected in the life of a GPU", 1, "")                                                       \
    X(SRAM_THRESHOLD, "", "", "", 1, "")                                                                             \
    X(REPAIR_PENDING, "holdfast_gpu_repair_pending", "gauge",                                                        \
      "Whether a repair of a channel or TPC waits for a reset", 1, "")                                               \
    X(UNREPAIRABLE, "holdfast_gpu_unrepairable_memory", "gauge", "Whether memory can be repaired no more", 1, "")    \
    X(ROWS_CORRECTED, "holdfast_gpu_rows_remapped_corrected_total", "counter", "Rows remapped for corrected errors", \
      1, "DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS")                                                                    \
    X(ROWS_UNCORRECTED, "holdfast_gpu_rows_remapped_uncorrected_total", "counter",                                   \
      "Rows remapped for errors not corrected", 1, "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS")                        \
    X(ROWS_PENDING, "holdfast_gpu_rows_remap_pending", "gauge", "Whether a remapping of rows waits for a reset", 1,  \
      "")                                                                                                            \
    X(ROWS_FAILURE, "holdfast_gpu_rows_remap_failure", "gauge", "Whether a remapping of rows failed", 1,             \
      "DCGM_FI_DEV_ROW_REMAP_FAILURE")                                                                               \
    X(ROWS_LOW, "", "", "", 1, "") /* banks that have few spare rows left, or none */                                \
    X(PAGES_RETIRED, "holdfast_gpu_pages_retired_total", "counter", "Pages of memory retired", 1, "")                \
    X(PAGES_PENDING, "holdfast_gpu_pages_retirement_pending", "gauge",                                               \
      "Whether a retirement of pages waits for a reset", 1, "")                                                      \
    X(SLOW_HW, "holdfast_gpu_hw_slowdown", "gauge", "Whether the hardware slows a GPU down", 1, "")                  \
    X(SLOW_HW_THERMAL, "holdfast_gpu_hw_thermal_slowdown", "gauge",                                                  \
      "Whether the hardware slows a GPU down for its heat", 1, "")                                                   \
    X(SLOW_HW_POWER, "holdfast_gpu_hw_power_brake", "gauge", "Whether the power brake slows a GPU down", 1, "")      \
    X(SLOW_SW_THERMAL, "holdfast_gpu_sw_thermal_slowdown", "gauge",                                                  \
      "Whether the driver slows a GPU down for its heat", 1, "")                                                     \
    X(PCIE_GEN, "holdfast_gpu_pcie_generation", "gauge", "Generation of a GPU's PCIe link", 1, "")                   \
    X(PCIE_WIDTH, "holdfast_gpu_pcie_width", "gauge", "Lanes of a GPU's PCIe link", 1, "")                           \
    X(PCIE_REPLAYS, "holdfast_gpu_pcie_replays_total", "counter", "Replays on a GPU's PCIe link", 1,                 \
      "DCGM_FI_DEV_PCIE_REPLAY_COUNTER")                                                                             \
    X(PERSISTENCE, "", "", "", 1, "")                                                                                \
    X(MIG, "holdfast_gpu_mig_enabled", "gauge", "Whether a GPU is divided (MIG)", 1, "")                             \
    X(MIG_PENDING, "", "", "", 1, "") /* what it will be after a reset */                                            \
    X(RESET_REQUIRED, "", "", "", 1, "")                                                                             \
    X(DRAIN_RECOMMENDED, "", "", "", 1, "")
enum nvidia_value {
#define X(SYMBOL, ...) NVIDIA_##SYMBOL,
    NVIDIA_VALUE_LIST(X)
#undef X
        NVIDIA_VALUE_COUNT
};

/* "holdfast_gpu_power_watts"; "" for a value that is no metric. */
const char *nvidia_value_metric(enum nvidia_value value);
double nvidia_value_scale(enum nvidia_value value);
/* "DCGM_FI_DEV_POWER_USAGE"; "" for what dcgm-exporter does not have. */
const char *nvidia_value_dcgm(enum nvidia_value value);

struct nvidia_gpu {
    char name[DEVICE_MAX_BYTES]; /* as the kernel log names it, "0000:b9:00" */
    char uuid[NVIDIA_TEXT_BYTES_MAX], serial[NVIDIA_TEXT_BYTES_MAX], board_part[NVIDIA_TEXT_BYTES_MAX];
    char product[NVIDIA_TEXT_BYTES_MAX], vbios[NVIDIA_TEXT_BYTES_MAX];
    char virtualization[NVIDIA_TEXT_BYTES_MAX];    /* "VGPU": a part of a GPU that others share */
    char performance_state[NVIDIA_TEXT_BYTES_MAX]; /* "P0" is full speed */
    char recovery_action[NVIDIA_TEXT_BYTES_MAX];   /* the driver's word; "" where it has none */
    char fabric_state[NVIDIA_TEXT_BYTES_MAX], fabric_status[NVIDIA_TEXT_BYTES_MAX],
        fabric_health[NVIDIA_TEXT_BYTES_MAX];
    bool is_lost, requires_reset, is_inforom_corrupt;
    uint64_t unreadable; /* values of the list that the driver could not read: a bit each */
    char unreadable_first[NVIDIA_TEXT_BYTES_MAX];
    double values[NVIDIA_VALUE_COUNT];
};

#define NVIDIA_ANSWER_LIST(X)                                                  \
    X(REPORT, "a report")                                                      \
    X(NO_DEVICES, "no devices were found")                                     \
    X(NO_DRIVER, "the driver does not answer")                                 \
    X(MISMATCH, "the library and the loaded driver are of different versions") \
    X(BROKEN, "not a report") /* cut, garbage, or an error that nobody knows: says nothing at all */
enum nvidia_answer {
#define X(SYMBOL, text) NVIDIA_ANSWER_##SYMBOL,
    NVIDIA_ANSWER_LIST(X)
#undef X
};
const char *nvidia_answer_text(enum nvidia_answer answer);

struct nvidia_report {
    enum nvidia_answer answer;
    const char *source;           /* who said it: "nvidia-smi", "NVML" */
    char why[SENTENCE_MAX_BYTES]; /* of an answer that is no report: what stood there, clean */
    int attached;                 /* GPUs that the source itself counts; -1: it does not say */
    size_t gpu_count;             /* with a report: all that it lists. Without: those that a line names as lost */
    struct nvidia_gpu gpus[NVIDIA_GPUS_MAX];
};

struct nvidia_links {
    char uuid[NVIDIA_TEXT_BYTES_MAX];
    int up;        /* -1: it does not say: no NVLink, MIG, an error */
    char down[64]; /* their numbers as far as there is room, "3, 5"; "" */
};

/* Another GPU of the report, of which nothing is known; NULL when there are too many. */
struct nvidia_gpu *nvidia_add_gpu(struct nvidia_report *report);
/* "00000000:B9:00.0", "0000:b9:00" and "GPU0000:B9:00.0" as "0000:b9:00"; false, and name untouched, for anything else. */
bool nvidia_pci_name(const char *text, size_t len, char name[DEVICE_MAX_BYTES]);
/* Copies what fits, without control characters and what ends a quotation: it goes into logs, terminals and metrics. */
void nvidia_copy_clean(char *dst, size_t size, const char *src);
/* Adds a link that is down. */
void nvidia_link_down(struct nvidia_links *links, int number);

#endif
