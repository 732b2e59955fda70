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

/* The values that are kept, and how a metric of it is called ("": none). Counters of two kinds are kept apart where they
 * ask for different things; all kinds of one are summed up. Flags are 1 and 0. */
#define NVIDIA_VALUE_LIST(X)                                                               \
    X(TEMPERATURE, "holdfast_gpu_temperature_celsius")                                     \
    X(TEMPERATURE_SLOW, "")      /* where the hardware slows down, up to Ampere */         \
    X(TEMPERATURE_LEFT, "")      /* degrees up to the limit, from Ada and Hopper on */     \
    X(TEMPERATURE_LEFT_SLOW, "") /* and where, in these degrees, it slows down */          \
    X(TEMPERATURE_MEMORY, "holdfast_gpu_memory_temperature_celsius")                       \
    X(TEMPERATURE_MEMORY_MAX, "")                                                          \
    X(POWER, "holdfast_gpu_power_watts")                                                   \
    X(POWER_LIMIT, "holdfast_gpu_power_limit_watts")                                       \
    X(UTILIZATION, "holdfast_gpu_utilization_percent")                                     \
    X(MEMORY_USED, "holdfast_gpu_memory_used_mebibytes")                                   \
    X(MEMORY_TOTAL, "holdfast_gpu_memory_total_mebibytes")                                 \
    X(CLOCK_SM, "holdfast_gpu_sm_clock_megahertz")                                         \
    X(ECC_ON, "")                                                                          \
    X(ECC_CORRECTED, "holdfast_gpu_ecc_corrected_volatile") /* since the driver came up */ \
    X(ECC_DRAM, "holdfast_gpu_ecc_dram_uncorrected_volatile")                              \
    X(ECC_SRAM, "holdfast_gpu_ecc_sram_uncorrected_volatile")                              \
    X(ECC_CORRECTED_EVER, "holdfast_gpu_ecc_corrected_aggregate")                          \
    X(ECC_DRAM_EVER, "holdfast_gpu_ecc_dram_uncorrected_aggregate")                        \
    X(ECC_SRAM_EVER, "holdfast_gpu_ecc_sram_uncorrected_aggregate")                        \
    X(SRAM_THRESHOLD, "")                                                                  \
    X(REPAIR_PENDING, "holdfast_gpu_repair_pending") /* of a channel or a TPC */           \
    X(UNREPAIRABLE, "holdfast_gpu_unrepairable_memory")                                    \
    X(ROWS_CORRECTED, "holdfast_gpu_rows_remapped_corrected")                              \
    X(ROWS_UNCORRECTED, "holdfast_gpu_rows_remapped_uncorrected")                          \
    X(ROWS_PENDING, "holdfast_gpu_rows_remap_pending")                                     \
    X(ROWS_FAILURE, "holdfast_gpu_rows_remap_failure")                                     \
    X(ROWS_LOW, "") /* banks that have few spare rows left, or none */                     \
    X(PAGES_RETIRED, "holdfast_gpu_pages_retired")                                         \
    X(PAGES_PENDING, "holdfast_gpu_pages_retirement_pending")                              \
    X(SLOW_HW, "holdfast_gpu_hw_slowdown")                                                 \
    X(SLOW_HW_THERMAL, "holdfast_gpu_hw_thermal_slowdown")                                 \
    X(SLOW_HW_POWER, "holdfast_gpu_hw_power_brake")                                        \
    X(SLOW_SW_THERMAL, "holdfast_gpu_sw_thermal_slowdown")                                 \
    X(PCIE_GEN, "holdfast_gpu_pcie_generation")                                            \
    X(PCIE_WIDTH, "holdfast_gpu_pcie_width")                                               \
    X(PCIE_REPLAYS, "holdfast_gpu_pcie_replays")                                           \
    X(PERSISTENCE, "")                                                                     \
    X(MIG, "holdfast_gpu_mig_enabled")                                                     \
    X(MIG_PENDING, "") /* what it will be after a reset */                                 \
    X(RESET_REQUIRED, "")                                                                  \
    X(DRAIN_RECOMMENDED, "")
enum nvidia_value {
#define X(SYMBOL, metric) NVIDIA_##SYMBOL,
    NVIDIA_VALUE_LIST(X)
#undef X
        NVIDIA_VALUE_COUNT
};

/* "holdfast_gpu_power_watts"; "" for a value that is no metric. */
const char *nvidia_value_metric(enum nvidia_value value);

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
