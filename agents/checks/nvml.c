/*
 * NVML's functions and structures as they are declared here are its binary interface, as nvml.h (CUDA 11 to 13) has it: plain
 * C, enums as int, structures with a version that says their size. A function that a version does not have is a value that
 * is not there.
 *
 * Whatever is out of the ordinary for all GPUs (no driver, another version, one that cannot be opened) becomes an answer that
 * is no report, with NVML's words; nvidia-smi tells more of it, because it names the GPU.
 */
#include "agents/checks/nvml.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef void *device;

/* nvmlReturn_t: what is told apart. */
enum {
    SAID = 0,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NO_PERMISSION = 4,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    DRIVER_NOT_LOADED = 9,
    FUNCTION_NOT_FOUND = 13,
    CORRUPTED_INFOROM = 14,
    GPU_IS_LOST = 15,
    RESET_REQUIRED = 16,
    LIB_RM_VERSION_MISMATCH = 18,
    NO_DATA = 21,
    ARGUMENT_VERSION_MISMATCH = 25,
    DEPRECATED = 26,
};

enum { CORRECTED, UNCORRECTED };                              /* nvmlMemoryErrorType_t */
enum { VOLATILE, AGGREGATE };                                 /* nvmlEccCounterType_t */
enum { L1, L2, DRAM, REGISTERS, TEXTURE, SHARED, CBU, SRAM }; /* nvmlMemoryLocation_t */
enum { THRESHOLD_SLOWDOWN = 1, THRESHOLD_MEMORY_MAX = 2 };    /* nvmlTemperatureThresholds_t */
enum { CLOCK_SM = 1 };                                        /* nvmlClockType_t */

#define LINKS_MAX 36 /* 18 up to Blackwell */
#define VERSIONED(type, version) ((unsigned)(sizeof(type) | (version) << 24U))

struct pci_info {
    char legacy[16];
    unsigned domain, bus, device, ids, subsystem;
    char bus_id[32];
};
struct memory {
    unsigned long long total, free, used;
};
struct memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
struct utilization {
    unsigned gpu, memory;
};
struct margin {
    unsigned version;
    int degrees;
};
struct sram_status {
    unsigned version;
    unsigned long long ever_parity, ever_secded, ever_corrected, parity, secded, corrected, buckets[5];
    unsigned threshold_exceeded;
};
struct histogram {
    unsigned max, high, partial, low, none;
};
struct repair {
    unsigned version, channel, tpc;
};
struct fabric {
    unsigned version;
    unsigned char cluster[16];
    int status;
    unsigned clique;
    unsigned char state;
    unsigned mask;
    unsigned char summary; /* from the third version on */
};
struct field {
    unsigned id, scope;
    long long at, latency;
    int type, result;
    union {
        double real;
        int number;
        unsigned count;
        unsigned long long large;
        unsigned short small;
    } value;
};
_Static_assert(sizeof(struct pci_info) == 68 && sizeof(struct memory_v2) == 40 && sizeof(struct sram_status) == 104 &&
                   sizeof(struct fabric) == 40 && sizeof(struct field) == 40,
               "the sizes of nvml.h");

struct nvml {
    void *library;
    struct nvidia_gpu *gpu; /* whose facts are asked for */
    device device;
    const char *(*error_text)(int);
};

/* --- what a call came to ---------------------------------------------------------------------------------------- */

/* dlsym gives an object's pointer, POSIX says that it is a function's as well. */
static void find(const struct nvml *nvml, const char *name, void *ret_function)
{
    void *symbol = dlsym(nvml->library, name);
    memcpy(ret_function, &symbol, sizeof(symbol));
}

static bool is_absent(int result)
{
    switch (result) {
    case INVALID_ARGUMENT:
    case NOT_SUPPORTED:
    case NO_PERMISSION:
    case NOT_FOUND:
    case FUNCTION_NOT_FOUND:
    case NO_DATA:
    case ARGUMENT_VERSION_MISMATCH:
    case DEPRECATED:
        return true;
    default:
        return false;
    }
}

static const char *words(const struct nvml *nvml, int result)
{
    const char *text = nvml->error_text != NULL ? nvml->error_text(result) : NULL;
    return text != NULL ? text : "an error without words";
}

/* True when it gave a value. Otherwise what that says of the GPU. */
static bool is_said(const struct nvml *nvml, int result, enum nvidia_value value, const char *name)
{
    struct nvidia_gpu *gpu = nvml->gpu;
    if (result == SAID)
        return true;
    gpu->is_lost |= result == GPU_IS_LOST;
    gpu->requires_reset |= result == RESET_REQUIRED;
    gpu->is_inforom_corrupt |= result == CORRUPTED_INFOROM;
    if (is_absent(result) || result == CORRUPTED_INFOROM)
        return false;
    if (gpu->unreadable == 0)
        text_copy_cut(gpu->unreadable_first, sizeof(gpu->unreadable_first), name);
    gpu->unreadable |= UINT64_C(1) << value;
    return false;
}

static void add(double *sum, double value)
{
    *sum = isnan(*sum) ? value : *sum + value;
}

/* --- numbers ---------------------------------------------------------------------------------------------------- */

static void ask_numbers(const struct nvml *nvml)
{
    static const struct {
        const char *name;
        enum nvidia_value value;
        double unit;
    } numbers[] = {
        {"nvmlDeviceGetPowerUsage", NVIDIA_POWER, 1e-3},
        {"nvmlDeviceGetEnforcedPowerLimit", NVIDIA_POWER_LIMIT, 1e-3},
        {"nvmlDeviceGetCurrPcieLinkGeneration", NVIDIA_PCIE_GEN, 1},
        {"nvmlDeviceGetCurrPcieLinkWidth", NVIDIA_PCIE_WIDTH, 1},
        {"nvmlDeviceGetPcieReplayCounter", NVIDIA_PCIE_REPLAYS, 1},
        {"nvmlDeviceGetPersistenceMode", NVIDIA_PERSISTENCE, 1},
        {"nvmlDeviceGetRetiredPagesPendingStatus", NVIDIA_PAGES_PENDING, 1},
    };
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        int (*ask)(device, unsigned *);
        unsigned number = 0;
        find(nvml, numbers[i].name, &ask);
        if (ask != NULL && is_said(nvml, ask(nvml->device, &number), numbers[i].value, numbers[i].name))
            nvml->gpu->values[numbers[i].value] = number * numbers[i].unit;
    }
}

/* Those that are asked for one of several kinds. */
static void ask_kinds(const struct nvml *nvml)
{
    static const struct {
        const char *name;
        int kind;
        enum nvidia_value value;
    } kinds[] = {
        {"nvmlDeviceGetTemperature", 0, NVIDIA_TEMPERATURE},
        {"nvmlDeviceGetTemperatureThreshold", THRESHOLD_SLOWDOWN, NVIDIA_TEMPERATURE_SLOW},
        {"nvmlDeviceGetTemperatureThreshold", THRESHOLD_MEMORY_MAX, NVIDIA_TEMPERATURE_MEMORY_MAX},
        {"nvmlDeviceGetClockInfo", CLOCK_SM, NVIDIA_CLOCK_SM},
    };
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        int (*ask)(device, int, unsigned *);
        unsigned number = 0;
        find(nvml, kinds[i].name, &ask);
        if (ask != NULL && is_said(nvml, ask(nvml->device, kinds[i].kind, &number), kinds[i].value, kinds[i].name))
            nvml->gpu->values[kinds[i].value] = number;
    }
}

/* Modes: as it is, and as it will be after a reset. */
static void ask_modes(const struct nvml *nvml)
{
    int (*ask)(device, unsigned *, unsigned *);
    unsigned now = 0, later = 0;
    find(nvml, "nvmlDeviceGetEccMode", &ask);
    if (ask != NULL && is_said(nvml, ask(nvml->device, &now, &later), NVIDIA_ECC_ON, "nvmlDeviceGetEccMode"))
        nvml->gpu->values[NVIDIA_ECC_ON] = now != 0;
    find(nvml, "nvmlDeviceGetMigMode", &ask);
    if (ask != NULL && is_said(nvml, ask(nvml->device, &now, &later), NVIDIA_MIG, "nvmlDeviceGetMigMode")) {
        nvml->gpu->values[NVIDIA_MIG] = now != 0;
        nvml->gpu->values[NVIDIA_MIG_PENDING] = later != 0;
    }
}

static void ask_use(const struct nvml *nvml)
{
    double *values = nvml->gpu->values;
    int (*ask_utilization)(device, struct utilization *);
    int (*ask_memory)(device, struct memory *);
    int (*ask_memory_v2)(device, struct memory_v2 *);
    struct utilization utilization = {0};
    struct memory memory = {0};
    struct memory_v2 now = {.version = VERSIONED(struct memory_v2, 2)};
    find(nvml, "nvmlDeviceGetUtilizationRates", &ask_utilization);
    find(nvml, "nvmlDeviceGetMemoryInfo", &ask_memory);
    find(nvml, "nvmlDeviceGetMemoryInfo_v2", &ask_memory_v2);
    if (ask_utilization != NULL &&
        is_said(nvml, ask_utilization(nvml->device, &utilization), NVIDIA_UTILIZATION, "nvmlDeviceGetUtilizationRates"))
        values[NVIDIA_UTILIZATION] = utilization.gpu;
    if (ask_memory_v2 != NULL && ask_memory_v2(nvml->device, &now) == SAID) {
        memory = (struct memory){now.total, now.free, now.used};
    } else if (ask_memory == NULL ||
               !is_said(nvml, ask_memory(nvml->device, &memory), NVIDIA_MEMORY_TOTAL, "nvmlDeviceGetMemoryInfo")) {
        return;
    }
    values[NVIDIA_MEMORY_TOTAL] = (double)(memory.total >> 20);
    values[NVIDIA_MEMORY_USED] = (double)(memory.used >> 20);
}

/* Where hardware has several reasons at once, each has a bit. */
static void ask_clocks(const struct nvml *nvml)
{
    static const struct {
        unsigned long long bit;
        enum nvidia_value value;
    } reasons[] = {{0x8, NVIDIA_SLOW_HW},
                   {0x20, NVIDIA_SLOW_SW_THERMAL},
                   {0x40, NVIDIA_SLOW_HW_THERMAL},
                   {0x80, NVIDIA_SLOW_HW_POWER}};
    int (*ask)(device, unsigned long long *), (*ask_state)(device, int *);
    unsigned long long bits = 0;
    int state = 0;
    find(nvml, "nvmlDeviceGetPerformanceState", &ask_state);
    if (ask_state != NULL && ask_state(nvml->device, &state) == SAID && state >= 0 && state < 16)
        snprintf(nvml->gpu->performance_state, NVIDIA_TEXT_BYTES_MAX, "P%d", state);
    find(nvml, "nvmlDeviceGetCurrentClocksEventReasons", &ask);
    if (ask == NULL)
        find(nvml, "nvmlDeviceGetCurrentClocksThrottleReasons", &ask);
    if (ask == NULL || !is_said(nvml, ask(nvml->device, &bits), NVIDIA_SLOW_HW, "clocks event reasons"))
        return;
    for (size_t i = 0; i < ARRAY_LEN(reasons); i++)
        nvml->gpu->values[reasons[i].value] = (bits & reasons[i].bit) != 0;
}

/* --- memory ----------------------------------------------------------------------------------------------------- */

typedef int ask_counter(device, int type, int since, int where, unsigned long long *);

/* Boards before Turing have no word for all that is not DRAM. */
static void ask_sram_parts(const struct nvml *nvml, ask_counter *ask, int since, enum nvidia_value value)
{
    static const int parts[] = {L1, L2, REGISTERS, TEXTURE, SHARED, CBU};
    unsigned long long count = 0;
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (is_said(nvml, ask(nvml->device, UNCORRECTED, since, parts[i], &count), value,
                    "nvmlDeviceGetMemoryErrorCounter"))
            add(&nvml->gpu->values[value], (double)count);
}

static void ask_errors(const struct nvml *nvml)
{
    static const struct {
        int since;
        enum nvidia_value corrected, dram, sram;
    } kinds[] = {{VOLATILE, NVIDIA_ECC_CORRECTED, NVIDIA_ECC_DRAM, NVIDIA_ECC_SRAM},
                 {AGGREGATE, NVIDIA_ECC_CORRECTED_EVER, NVIDIA_ECC_DRAM_EVER, NVIDIA_ECC_SRAM_EVER}};
    double *values = nvml->gpu->values;
    int (*ask_all)(device, int type, int since, unsigned long long *);
    int (*ask_sram)(device, struct sram_status *);
    ask_counter *ask;
    unsigned long long count = 0;
    struct sram_status sram = {.version = VERSIONED(struct sram_status, 1)};
    find(nvml, "nvmlDeviceGetTotalEccErrors", &ask_all);
    find(nvml, "nvmlDeviceGetMemoryErrorCounter", &ask);
    find(nvml, "nvmlDeviceGetSramEccErrorStatus", &ask_sram);
    bool by_kind = ask_sram != NULL && ask_sram(nvml->device, &sram) == SAID;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        static const char name[] = "nvmlDeviceGetMemoryErrorCounter";
        if (ask_all != NULL && is_said(nvml, ask_all(nvml->device, CORRECTED, kinds[i].since, &count),
                                       kinds[i].corrected, "nvmlDeviceGetTotalEccErrors"))
            values[kinds[i].corrected] = (double)count;
        if (ask != NULL &&
            is_said(nvml, ask(nvml->device, UNCORRECTED, kinds[i].since, DRAM, &count), kinds[i].dram, name))
            values[kinds[i].dram] = (double)count;
        if (by_kind)
            values[kinds[i].sram] = (double)(i == 0 ? sram.parity + sram.secded : sram.ever_parity + sram.ever_secded);
        else if (ask != NULL &&
                 is_said(nvml, ask(nvml->device, UNCORRECTED, kinds[i].since, SRAM, &count), kinds[i].sram, name))
            values[kinds[i].sram] = (double)count;
        else if (ask != NULL)
            ask_sram_parts(nvml, ask, kinds[i].since, kinds[i].sram);
    }
    if (by_kind)
        values[NVIDIA_SRAM_THRESHOLD] = sram.threshold_exceeded != 0;
}

static void ask_repairs(const struct nvml *nvml)
{
    double *values = nvml->gpu->values;
    int (*ask_rows)(device, unsigned *, unsigned *, unsigned *, unsigned *);
    int (*ask_histogram)(device, struct histogram *);
    int (*ask_pages)(device, int cause, unsigned *, unsigned long long *);
    int (*ask_repair)(device, struct repair *);
    unsigned corrected = 0, uncorrected = 0, pending = 0, failed = 0;
    struct histogram histogram = {0};
    struct repair repair = {.version = VERSIONED(struct repair, 1)};
    find(nvml, "nvmlDeviceGetRemappedRows", &ask_rows);
    find(nvml, "nvmlDeviceGetRowRemapperHistogram", &ask_histogram);
    find(nvml, "nvmlDeviceGetRetiredPages", &ask_pages);
    find(nvml, "nvmlDeviceGetRepairStatus", &ask_repair);
    if (ask_rows != NULL && is_said(nvml, ask_rows(nvml->device, &corrected, &uncorrected, &pending, &failed),
                                    NVIDIA_ROWS_FAILURE, "nvmlDeviceGetRemappedRows")) {
        values[NVIDIA_ROWS_CORRECTED] = corrected;
        values[NVIDIA_ROWS_UNCORRECTED] = uncorrected;
        values[NVIDIA_ROWS_PENDING] = pending != 0;
        values[NVIDIA_ROWS_FAILURE] = failed != 0;
    }
    if (ask_histogram != NULL && ask_histogram(nvml->device, &histogram) == SAID)
        values[NVIDIA_ROWS_LOW] = (double)histogram.low + histogram.none;
    if (ask_repair != NULL && ask_repair(nvml->device, &repair) == SAID)
        values[NVIDIA_REPAIR_PENDING] = repair.channel != 0 || repair.tpc != 0;
    for (int cause = 0; ask_pages != NULL && cause < 2; cause++) { /* many corrected errors, one uncorrected */
        unsigned count = 0;
        int result = ask_pages(nvml->device, cause, &count, NULL);
        if (result == SAID || result == INSUFFICIENT_SIZE)
            add(&values[NVIDIA_PAGES_RETIRED], count);
    }
}

/* --- fields ----------------------------------------------------------------------------------------------------- */

/* nvmlValueType_t. */
static double number_of(const struct field *field)
{
    enum { REAL, COUNT, LARGE, LARGER, SIGNED_LARGE, NUMBER, SMALL };
    switch (field->type) {
    case REAL:
        return field->value.real;
    case COUNT:
        return field->value.count;
    case LARGE:
    case LARGER:
        return (double)field->value.large;
    case SIGNED_LARGE:
        return (double)(long long)field->value.large;
    case NUMBER:
        return field->value.number;
    case SMALL:
        return field->value.small;
    default:
        return NAN;
    }
}

/* nvidia-smi's words for nvmlDeviceGpuRecoveryAction_t. */
static void name_recovery(struct nvidia_gpu *gpu, double action)
{
    static const char *const actions[] = {"None", "Reset", "Reboot", "Drain P2P", "Drain and Reset", "Bus Reset"};
    if (action >= 0 && action < (double)ARRAY_LEN(actions))
        text_copy_cut(gpu->recovery_action, sizeof(gpu->recovery_action), actions[(size_t)action]);
    else if (!isnan(action))
        snprintf(gpu->recovery_action, sizeof(gpu->recovery_action), "action %.0f", action);
}

static void ask_fields(const struct nvml *nvml)
{
    enum { MEMORY_TEMP = 82, SLOWDOWN_TLIMIT = 194, RESET = 226, DRAIN_AND_RESET = 227, RECOVERY = 230 };
    struct field fields[] = {
        {.id = MEMORY_TEMP}, {.id = SLOWDOWN_TLIMIT}, {.id = RESET}, {.id = DRAIN_AND_RESET}, {.id = RECOVERY}};
    static const enum nvidia_value values[] = {NVIDIA_TEMPERATURE_MEMORY, NVIDIA_TEMPERATURE_LEFT_SLOW,
                                               NVIDIA_RESET_REQUIRED, NVIDIA_DRAIN_RECOMMENDED};
    int (*ask)(device, int, struct field *), (*ask_margin)(device, struct margin *);
    struct margin margin = {.version = VERSIONED(struct margin, 1)};
    find(nvml, "nvmlDeviceGetMarginTemperature", &ask_margin);
    if (ask_margin != NULL && ask_margin(nvml->device, &margin) == SAID)
        nvml->gpu->values[NVIDIA_TEMPERATURE_LEFT] = margin.degrees;
    find(nvml, "nvmlDeviceGetFieldValues", &ask);
    if (ask == NULL || ask(nvml->device, (int)ARRAY_LEN(fields), fields) != SAID)
        return;
    for (size_t i = 0; i < ARRAY_LEN(values); i++)
        if (fields[i].result == SAID)
            nvml->gpu->values[values[i]] = number_of(&fields[i]);
    if (fields[ARRAY_LEN(values)].result == SAID)
        name_recovery(nvml->gpu, number_of(&fields[ARRAY_LEN(values)]));
}

/* nvmlGpuFabricState_t, and the health of the third version. */
static void ask_fabric(const struct nvml *nvml)
{
    static const char *const states[] = {"", "Not Started", "In Progress", "Completed"};
    static const char *const summaries[] = {"", "Healthy", "Unhealthy", "Limited Capacity"};
    int (*ask)(device, struct fabric *);
    struct nvidia_gpu *gpu = nvml->gpu;
    struct fabric fabric = {.version = VERSIONED(struct fabric, 3)};
    find(nvml, "nvmlDeviceGetGpuFabricInfoV", &ask);
    if (ask == NULL)
        return;
    int result = ask(nvml->device, &fabric);
    if (result == ARGUMENT_VERSION_MISMATCH) {
        fabric = (struct fabric){.version = (unsigned)(offsetof(struct fabric, summary) | 2U << 24U)};
        result = ask(nvml->device, &fabric);
    }
    if (result != SAID || fabric.state == 0 || fabric.state >= ARRAY_LEN(states))
        return;
    text_copy_cut(gpu->fabric_state, sizeof(gpu->fabric_state), states[fabric.state]);
    nvidia_copy_clean(gpu->fabric_status, sizeof(gpu->fabric_status),
                      fabric.status == SAID ? "Success" : words(nvml, fabric.status));
    if (fabric.summary < ARRAY_LEN(summaries))
        text_copy_cut(gpu->fabric_health, sizeof(gpu->fabric_health), summaries[fabric.summary]);
}

static void ask_links(const struct nvml *nvml, struct nvidia_links *links)
{
    int (*ask)(device, unsigned, int *);
    *links = (struct nvidia_links){.up = -1};
    text_copy_cut(links->uuid, sizeof(links->uuid), nvml->gpu->uuid);
    find(nvml, "nvmlDeviceGetNvLinkState", &ask);
    for (unsigned i = 0; ask != NULL && i < LINKS_MAX; i++) {
        int active = 0;
        if (ask(nvml->device, i, &active) != SAID)
            continue;
        links->up += links->up < 0 ? 1 : 0;
        links->up += active != 0;
        if (active == 0)
            nvidia_link_down(links, (int)i);
    }
    if (links->up == 0)
        text_copy_cut(links->down, sizeof(links->down), "all");
}

/* --- one GPU, and all ------------------------------------------------------------------------------------------- */

static void ask_texts(const struct nvml *nvml)
{
    struct nvidia_gpu *gpu = nvml->gpu;
    const struct {
        const char *name;
        char *text;
    } texts[] = {{"nvmlDeviceGetUUID", gpu->uuid},
                 {"nvmlDeviceGetName", gpu->product},
                 {"nvmlDeviceGetSerial", gpu->serial},
                 {"nvmlDeviceGetVbiosVersion", gpu->vbios},
                 {"nvmlDeviceGetBoardPartNumber", gpu->board_part}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        char text[128] = "";
        int (*ask)(device, char *, unsigned);
        find(nvml, texts[i].name, &ask);
        if (ask == NULL || ask(nvml->device, text, sizeof(text)) != SAID)
            continue;
        text[sizeof(text) - 1] = '\0';
        nvidia_copy_clean(texts[i].text, NVIDIA_TEXT_BYTES_MAX, text);
    }
}

#define VIRTUALIZATION_VGPU 2 /* nvmlGpuVirtualizationMode_t */

static void ask_virtualization(const struct nvml *nvml)
{
    unsigned mode = 0;
    int (*ask)(device, unsigned *);
    find(nvml, "nvmlDeviceGetVirtualizationMode", &ask);
    if (ask != NULL && ask(nvml->device, &mode) == SAID && mode == VIRTUALIZATION_VGPU)
        text_copy_cut(nvml->gpu->virtualization, NVIDIA_TEXT_BYTES_MAX, "VGPU");
}

static bool name_it(const struct nvml *nvml)
{
    int (*ask)(device, struct pci_info *);
    struct pci_info pci = {.bus_id = ""};
    find(nvml, "nvmlDeviceGetPciInfo_v3", &ask);
    if (ask(nvml->device, &pci) != SAID)
        return false;
    pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
    return nvidia_pci_name(pci.bus_id, strlen(pci.bus_id), nvml->gpu->name);
}

static void ask_gpu(const struct nvml *nvml, struct nvidia_links *links)
{
    ask_texts(nvml);
    ask_virtualization(nvml);
    ask_numbers(nvml);
    ask_kinds(nvml);
    ask_modes(nvml);
    ask_use(nvml);
    ask_clocks(nvml);
    ask_errors(nvml);
    ask_repairs(nvml);
    ask_fields(nvml);
    ask_fabric(nvml);
    ask_links(nvml, links);
}

static void refuse(struct nvidia_report *report, enum nvidia_answer answer, const char *why)
{
    report->answer = answer;
    report->gpu_count = 0;
    nvidia_copy_clean(report->why, sizeof(report->why), why);
}

static void ask_all(struct nvml *nvml, struct nvidia_facts *answer)
{
    int (*ask_count)(unsigned *), (*ask_device)(unsigned, device *), result;
    struct nvidia_report *report = &answer->report;
    unsigned count = 0;
    find(nvml, "nvmlDeviceGetCount_v2", &ask_count);
    find(nvml, "nvmlDeviceGetHandleByIndex_v2", &ask_device);
    if ((result = ask_count(&count)) != SAID) {
        refuse(report, NVIDIA_ANSWER_BROKEN, words(nvml, result));
        return;
    }
    report->attached = (int)count;
    for (unsigned i = 0; i < count; i++) {
        if ((result = ask_device(i, &nvml->device)) != SAID) {
            refuse(report, NVIDIA_ANSWER_BROKEN, words(nvml, result));
            return;
        }
        nvml->gpu = nvidia_add_gpu(report);
        if (nvml->gpu == NULL || !name_it(nvml)) {
            refuse(report, NVIDIA_ANSWER_BROKEN, "a GPU without a PCI address, or more of them than a machine has");
            return;
        }
        ask_gpu(nvml, &answer->links[i]);
    }
    report->answer = count > 0 ? NVIDIA_ANSWER_REPORT : NVIDIA_ANSWER_NO_DEVICES;
    if (count == 0)
        text_copy_cut(report->why, sizeof(report->why), "NVML counts no GPU");
}

int nvml_ask(const char *library, struct nvidia_facts *ret_answer)
{
    static const char *const needed[] = {"nvmlInit_v2", "nvmlDeviceGetCount_v2", "nvmlDeviceGetHandleByIndex_v2",
                                         "nvmlDeviceGetPciInfo_v3"};
    struct nvml nvml = {.library = dlopen(library, RTLD_NOW | RTLD_LOCAL)};
    int (*init)(void);
    if (nvml.library == NULL)
        return STATUS_NOT_FOUND;
    for (size_t i = 0; i < ARRAY_LEN(needed); i++)
        if (dlsym(nvml.library, needed[i]) == NULL)
            return STATUS_NOT_FOUND;
    find(&nvml, "nvmlErrorString", &nvml.error_text);
    find(&nvml, "nvmlInit_v2", &init);
    struct nvidia_report *report = &ret_answer->report;
    report->source = "NVML";
    report->why[0] = '\0';
    report->attached = -1;
    report->gpu_count = 0;
    int result = init(); /* never shut down: the process ends */
    if (result == SAID)
        ask_all(&nvml, ret_answer);
    else
        refuse(report,
               result == DRIVER_NOT_LOADED         ? NVIDIA_ANSWER_NO_DRIVER
               : result == LIB_RM_VERSION_MISMATCH ? NVIDIA_ANSWER_MISMATCH
                                                   : NVIDIA_ANSWER_BROKEN,
               words(&nvml, result));
    return 0;
}
