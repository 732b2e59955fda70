/* Files of sysfs by the hundred, with limits on how deep and how many: the tree is the driver's to shape. */
#include "agents/checks/neuron_tree.h"

#include "agents/checks/sysfs.h"
#include "base/own.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define DEPTH_MAX 5
#define ENTRIES_MAX 4096 /* of one device: eight cores have some 1,000 */
#define INSTALLED "/opt/aws/neuron/bin"

/* As the driver calls them. A repairable error of the HBM was not corrected either: it asks for a reload or a reboot (AWS,
 * Neuron's troubleshooting guide). */
static const struct {
    const char *name;
    enum neuron_counter counter;
} names[] = {
    {"mem_ecc_uncorrected", NEURON_COUNTER_MEMORY},
    {"mem_ecc_repairable_uncorrected", NEURON_COUNTER_MEMORY},
    {"sram_ecc_uncorrected", NEURON_COUNTER_SRAM},
    {"mem_ecc_corrected", NEURON_COUNTER_MEMORY_CORRECTED},
    {"sram_ecc_corrected", NEURON_COUNTER_SRAM_CORRECTED},
    {"hw_error", NEURON_COUNTER_HARDWARE},
    {"timeout", NEURON_COUNTER_TIMEOUT},
};

static bool take_counter(const struct check_context *context, const char *directory, const char *name,
                         struct neuron_device *device)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (strcmp(names[i].name, name) != 0)
            continue;
        int64_t count = sysfs_read_count(context, "%s/%s", directory, name);
        if (count < 0)
            count = sysfs_read_count(context, "%s/%s/total", directory, name);
        int64_t *sum = &device->counts[names[i].counter];
        if (count >= 0 && __builtin_add_overflow(count, *sum > 0 ? *sum : 0, sum))
            *sum = INT64_MAX;
        return true;
    }
    return false;
}

/* Directories without counters, some of them large; and links, which may lead anywhere. */
static bool is_worth(const struct check_context *context, const char *path)
{
    static const char *const not_worth[] = {"memory_usage", "other_info", "architecture", "power"};
    struct stat info;
    autofree char *full = check_path(context, path);
    for (size_t i = 0; i < ARRAY_LEN(not_worth); i++)
        if (strcmp(strrchr(path, '/') + 1, not_worth[i]) == 0)
            return false;
    return lstat(full, &info) == 0 && S_ISDIR(info.st_mode);
}

static void read_tree(const struct check_context *context, const char *directory, int depth,
                      struct neuron_device *device, size_t *seen)
{
    char **entries = NULL;
    size_t count = 0;
    if (sysfs_list(context, directory, &entries, &count) != 0)
        return;
    for (size_t i = 0; i < count && (*seen)++ < ENTRIES_MAX; i++) {
        autofree char *path = own_printf("%s/%s", directory, entries[i]);
        if (!take_counter(context, directory, entries[i], device) && depth < DEPTH_MAX && is_worth(context, path))
            read_tree(context, path, depth + 1, device, seen);
    }
    sysfs_list_free(entries, count);
}

struct neuron_device neuron_device_new(int64_t number)
{
    struct neuron_device device = {.number = number, .cores = -1};
    snprintf(device.name, sizeof(device.name), "neuron%" PRId64, number);
    for (size_t i = 0; i < NEURON_COUNTER_COUNT; i++)
        device.counts[i] = -1;
    return device;
}

int neuron_tree_read(const struct check_context *context, struct neuron_device ret_devices[NEURON_DEVICES_MAX])
{
    static const char prefix[] = "neuron";
    char **entries = NULL;
    size_t entry_count = 0;
    int count = 0;
    if (sysfs_list(context, NEURON_TREE, &entries, &entry_count) != 0)
        return -1;
    for (size_t i = 0; i < entry_count && count < NEURON_DEVICES_MAX; i++) {
        int64_t number;
        size_t seen = 0;
        if (!text_starts_with(entries[i], prefix) ||
            text_parse_i64(entries[i] + sizeof(prefix) - 1, 0, NEURON_NUMBER_MAX, &number) != 0)
            continue;
        autofree char *directory = own_printf(NEURON_TREE "/%s", entries[i]);
        struct neuron_device *device = &ret_devices[count++];
        *device = neuron_device_new(number);
        device->cores = sysfs_read_count(context, "%s/core_count", directory);
        read_tree(context, directory, 0, device, &seen);
    }
    sysfs_list_free(entries, entry_count);
    return count;
}

char *neuron_path(const char *path)
{
    const char *from = path != NULL ? path : getenv("PATH");
    return own_printf("%s:" INSTALLED, from != NULL ? from : "");
}
