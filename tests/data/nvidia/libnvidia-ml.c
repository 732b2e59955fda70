/*
 * A libnvidia-ml.so.1 for tests: the functions of NVIDIA's that nvml.c asks for, with answers from a file. Its structures are
 * written down here once more, from NVIDIA's documentation, so that a mistake in one of the two shows.
 *
 * $FAKE_NVML names the file; a line is "GPU NAME VALUE…", where GPU is a number or "*". What has no line is not supported.
 *     * nvmlInit_v2 0          a bare return code        0 power 601250          a value: the call succeeds
 *     0 power !15              a return code in a value's place
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))
#define NOT_SUPPORTED 3
#define INVALID_ARGUMENT 2
#define VERSION_MISMATCH 25

typedef struct fake *nvmlDevice_t;
struct fake {
    int number;
};
static struct fake fakes[64];

/* The text behind "GPU NAME " or NULL. */
static const char *look_up(int gpu, const char *name, char text[256])
{
    const char *path = getenv("FAKE_NVML");
    FILE *file = path != NULL ? fopen(path, "r") : NULL;
    char line[512], wanted[128];
    const char *found = NULL;
    snprintf(wanted, sizeof(wanted), gpu < 0 ? "* %2$s " : "%1$d %2$s ", gpu, name);
    while (file != NULL && found == NULL && fgets(line, sizeof(line), file) != NULL)
        if (strncmp(line, wanted, strlen(wanted)) == 0) {
            line[strcspn(line, "\n")] = '\0';
            snprintf(text, 256, "%s", line + strlen(wanted));
            found = text;
        }
    if (file != NULL)
        fclose(file);
    return found;
}

static int number(int gpu, const char *name, long long *ret_number)
{
    char text[256];
    const char *found = look_up(gpu, name, text);
    if (found == NULL)
        return NOT_SUPPORTED;
    if (found[0] == '!')
        return atoi(found + 1);
    *ret_number = atoll(found);
    return 0;
}

static int whole(int gpu, const char *name, unsigned *ret_number)
{
    long long value = 0;
    int result = number(gpu, name, &value);
    if (result == 0)
        *ret_number = (unsigned)value;
    return result;
}

/* Writes down who hangs. */
static void hang(void)
{
    char path[256];
    snprintf(path, sizeof(path), "%s.pid", getenv("FAKE_NVML"));
    FILE *file = fopen(path, "w");
    if (file != NULL) {
        fprintf(file, "%ld\n", (long)getpid());
        fclose(file);
    }
    for (;;)
        pause();
}

EXPORT int nvmlInit_v2(void)
{
    long long value = 0;
    if (number(-1, "hang", &value) == 0)
        hang();
    if (number(-1, "crash", &value) == 0)
        abort();
    (void)number(-1, "nvmlInit_v2", &value);
    return (int)value;
}

EXPORT const char *nvmlErrorString(int result)
{
    switch (result) {
    case 9:
        return "Driver Not Loaded";
    case 15:
        return "GPU is lost";
    case 18:
        return "Driver/library version mismatch";
    default:
        return "Unknown Error";
    }
}

#ifndef WITHOUT_COUNT
EXPORT int nvmlDeviceGetCount_v2(unsigned *count)
{
    return whole(-1, "count", count);
}
#endif

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *device)
{
    unsigned result = 0;
    fakes[index].number = (int)index;
    *device = &fakes[index];
    (void)whole((int)index, "handle", &result);
    return (int)result;
}

struct nvmlPciInfo_t {
    char busIdLegacy[16];
    unsigned int domain;
    unsigned int bus;
    unsigned int device;
    unsigned int pciDeviceId;
    unsigned int pciSubSystemId;
    char busId[32];
};

EXPORT int nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, struct nvmlPciInfo_t *pci)
{
    char text[256];
    const char *found = look_up(device->number, "pci", text);
    snprintf(pci->busId, sizeof(pci->busId), "%.31s", found != NULL ? found : "");
    return found != NULL ? 0 : NOT_SUPPORTED;
}

static int words(nvmlDevice_t device, const char *name, char *dst, unsigned length)
{
    char text[256];
    const char *found = look_up(device->number, name, text);
    if (found == NULL || found[0] == '\0')
        return NOT_SUPPORTED;
    snprintf(dst, length, "%s", found);
    return 0;
}

#define TEXT(function, name)                                              \
    EXPORT int function(nvmlDevice_t device, char *text, unsigned length) \
    {                                                                     \
        return words(device, name, text, length);                         \
    }
TEXT(nvmlDeviceGetUUID, "uuid")
TEXT(nvmlDeviceGetName, "product")
TEXT(nvmlDeviceGetSerial, "serial")
TEXT(nvmlDeviceGetBoardPartNumber, "board")

#define NUMBER(function, name)                                \
    EXPORT int function(nvmlDevice_t device, unsigned *value) \
    {                                                         \
        return whole(device->number, name, value);            \
    }
NUMBER(nvmlDeviceGetPowerUsage, "power")
NUMBER(nvmlDeviceGetEnforcedPowerLimit, "power-limit")
NUMBER(nvmlDeviceGetCurrPcieLinkGeneration, "gen")
NUMBER(nvmlDeviceGetCurrPcieLinkWidth, "width")
NUMBER(nvmlDeviceGetPcieReplayCounter, "replays")
NUMBER(nvmlDeviceGetPersistenceMode, "persistence")
NUMBER(nvmlDeviceGetRetiredPagesPendingStatus, "pages-pending")
NUMBER(nvmlDeviceGetPerformanceState, "state")

EXPORT int nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned *value)
{
    return sensor == 0 ? whole(device->number, "temperature", value) : INVALID_ARGUMENT;
}

EXPORT int nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device, int type, unsigned *value)
{
    static const char *const names[] = {"shutdown", "slowdown", "memory-max", "gpu-max"};
    return type >= 0 && type < 4 ? whole(device->number, names[type], value) : INVALID_ARGUMENT;
}

EXPORT int nvmlDeviceGetClockInfo(nvmlDevice_t device, int type, unsigned *value)
{
    return type == 1 ? whole(device->number, "sm-clock", value) : INVALID_ARGUMENT;
}

EXPORT int nvmlDeviceGetEccMode(nvmlDevice_t device, unsigned *now, unsigned *pending)
{
    *pending = 1;
    return whole(device->number, "ecc", now);
}

EXPORT int nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned *now, unsigned *pending)
{
    int result = whole(device->number, "mig", now);
    return result == 0 ? whole(device->number, "mig-pending", pending) : result;
}

struct nvmlUtilization_t {
    unsigned int gpu;
    unsigned int memory;
};

EXPORT int nvmlDeviceGetUtilizationRates(nvmlDevice_t device, struct nvmlUtilization_t *use)
{
    use->memory = 99;
    return whole(device->number, "utilization", &use->gpu);
}

struct nvmlMemory_v2_t {
    unsigned int version;
    unsigned long long total;
    unsigned long long reserved;
    unsigned long long free;
    unsigned long long used;
};

EXPORT int nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, struct nvmlMemory_v2_t *memory)
{
    long long total = 0, used = 0;
    if (memory->version != (sizeof(*memory) | 2U << 24))
        return VERSION_MISMATCH;
    int result = number(device->number, "memory-total", &total);
    if (result == 0)
        result = number(device->number, "memory-used", &used);
    memory->total = (unsigned long long)total;
    memory->used = (unsigned long long)used;
    memory->reserved = memory->free = 7;
    return result;
}

EXPORT int nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t device, unsigned long long *bits)
{
    long long value = 0;
    int result = number(device->number, "clocks", &value);
    *bits = (unsigned long long)value;
    return result;
}

static int counter(nvmlDevice_t device, const char *what, int since, const char *where, unsigned long long *count)
{
    char name[64];
    long long value = 0;
    snprintf(name, sizeof(name), "%s-%s%s", what, since == 0 ? "now" : "ever", where);
    int result = number(device->number, name, &value);
    *count = (unsigned long long)value;
    return result;
}

EXPORT int nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, int type, int since, unsigned long long *count)
{
    return counter(device, type == 0 ? "corrected" : "uncorrected", since, "", count);
}

EXPORT int nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, int type, int since, int where,
                                           unsigned long long *count)
{
    static const char *const places[] = {"-l1", "-l2", "-dram", "-registers", "-texture", "-shared", "-cbu", "-sram"};
    if (type != 1 || where < 0 || where > 7)
        return INVALID_ARGUMENT;
    return counter(device, "uncorrected", since, places[where], count);
}

struct nvmlEccSramErrorStatus_t {
    unsigned int version;
    unsigned long long aggregateUncParity;
    unsigned long long aggregateUncSecDed;
    unsigned long long aggregateCor;
    unsigned long long volatileUncParity;
    unsigned long long volatileUncSecDed;
    unsigned long long volatileCor;
    unsigned long long aggregateUncBucketL2;
    unsigned long long aggregateUncBucketSm;
    unsigned long long aggregateUncBucketPcie;
    unsigned long long aggregateUncBucketMcu;
    unsigned long long aggregateUncBucketOther;
    unsigned int bThresholdExceeded;
};

EXPORT int nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t device, struct nvmlEccSramErrorStatus_t *status)
{
    long long now = 0, ever = 0, threshold = 0;
    if (status->version != (sizeof(*status) | 1U << 24))
        return VERSION_MISMATCH;
    int result = number(device->number, "sram-threshold", &threshold);
    if (result != 0)
        return result;
    (void)number(device->number, "uncorrected-now-sram", &now);
    (void)number(device->number, "uncorrected-ever-sram", &ever);
    status->volatileUncParity = (unsigned long long)now / 2;
    status->volatileUncSecDed = (unsigned long long)now - (unsigned long long)now / 2;
    status->aggregateUncParity = (unsigned long long)ever / 2;
    status->aggregateUncSecDed = (unsigned long long)ever - (unsigned long long)ever / 2;
    status->aggregateCor = status->volatileCor = status->aggregateUncBucketL2 = 77;
    status->bThresholdExceeded = (unsigned)threshold;
    return 0;
}

EXPORT int nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned *corrected, unsigned *uncorrected, unsigned *pending,
                                     unsigned *failed)
{
    (void)whole(device->number, "rows-uncorrected", uncorrected);
    (void)whole(device->number, "rows-pending", pending);
    (void)whole(device->number, "rows-failed", failed);
    return whole(device->number, "rows-corrected", corrected);
}

struct nvmlRowRemapperHistogramValues_t {
    unsigned int max;
    unsigned int high;
    unsigned int partial;
    unsigned int low;
    unsigned int none;
};

EXPORT int nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t device, struct nvmlRowRemapperHistogramValues_t *values)
{
    unsigned all = 0;
    int result = whole(device->number, "rows-low", &all);
    *values = (struct nvmlRowRemapperHistogramValues_t){.max = 640, .low = all / 2, .none = all - all / 2};
    return result;
}

EXPORT int nvmlDeviceGetRetiredPages(nvmlDevice_t device, int cause, unsigned *count, unsigned long long *addresses)
{
    unsigned pages = 0;
    int result = whole(device->number, "pages", &pages);
    if (result != 0)
        return result;
    *count = cause == 0 ? pages / 2 : pages - pages / 2;
    return addresses == NULL && *count > 0 ? 7 : 0;
}

struct nvmlRepairStatus_t {
    unsigned int version;
    unsigned int bChannelRepairPending;
    unsigned int bTpcRepairPending;
};

EXPORT int nvmlDeviceGetRepairStatus(nvmlDevice_t device, struct nvmlRepairStatus_t *status)
{
    if (status->version != (sizeof(*status) | 1U << 24))
        return VERSION_MISMATCH;
    status->bChannelRepairPending = 0;
    return whole(device->number, "repair", &status->bTpcRepairPending);
}

struct nvmlMarginTemperature_t {
    unsigned int version;
    int marginTemperature;
};

EXPORT int nvmlDeviceGetMarginTemperature(nvmlDevice_t device, struct nvmlMarginTemperature_t *margin)
{
    long long value = 0;
    if (margin->version != (sizeof(*margin) | 1U << 24))
        return VERSION_MISMATCH;
    int result = number(device->number, "margin", &value);
    margin->marginTemperature = (int)value;
    return result;
}

struct nvmlFieldValue_t {
    unsigned int fieldId;
    unsigned int scopeId;
    long long timestamp;
    long long latencyUsec;
    int valueType;
    int nvmlReturn;
    union {
        double dVal;
        int siVal;
        unsigned int uiVal;
        unsigned long long ullVal;
    } value;
};

EXPORT int nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, struct nvmlFieldValue_t *values)
{
    for (int i = 0; i < count; i++) {
        char name[32];
        long long value = 0;
        snprintf(name, sizeof(name), "field-%u", values[i].fieldId);
        values[i].nvmlReturn = number(device->number, name, &value);
        values[i].valueType = value < 0 ? 5 : 1; /* a signed int, an unsigned int */
        values[i].value.ullVal = 0xffffffffffffffffULL;
        values[i].value.siVal = (int)value;
    }
    return 0;
}

struct nvmlGpuFabricInfo_v2_t {
    unsigned int version;
    unsigned char clusterUuid[16];
    int status;
    unsigned int cliqueId;
    unsigned char state;
    unsigned int healthMask;
};

struct nvmlGpuFabricInfo_v3_t {
    unsigned int version;
    unsigned char clusterUuid[16];
    int status;
    unsigned int cliqueId;
    unsigned char state;
    unsigned int healthMask;
    unsigned char healthSummary;
};

EXPORT int nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, void *info)
{
    struct nvmlGpuFabricInfo_v3_t *third = info;
    struct nvmlGpuFabricInfo_v2_t *second = info;
    unsigned state = 0, status = 0, health = 0;
    int result = whole(device->number, "fabric", &state), old = whole(device->number, "fabric-v2", &health) == 0;
    if (result != 0)
        return result;
    (void)whole(device->number, "fabric-status", &status);
    (void)whole(device->number, "fabric-health", &health);
    if (!old && third->version == (sizeof(*third) | 3U << 24)) {
        third->state = (unsigned char)state;
        third->status = (int)status;
        third->healthSummary = (unsigned char)health;
        return 0;
    }
    if (second->version != (sizeof(*second) | 2U << 24))
        return VERSION_MISMATCH;
    second->state = (unsigned char)state;
    second->status = (int)status;
    return 0;
}

EXPORT int nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link, unsigned *active)
{
    unsigned count = 0, up = 0;
    int result = whole(device->number, "links", &count);
    if (result != 0)
        return result;
    if (link >= count)
        return INVALID_ARGUMENT;
    (void)whole(device->number, "links-up", &up);
    *active = link < up;
    return 0;
}
