/* Are all of them there? The PCI bus, the instance type and what was there before say how many that is. */
#include "agents/checks/nvidia_look.h"
#include "agents/checks/sysfs.h"
#include "base/own.h"
#include "base/text.h"

#include <string.h>
#include <unistd.h>

#define LINK_BYTES_MAX 4096 /* PATH_MAX */
#define PCI_DEVICES "/sys/bus/pci/devices"

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
void nvidia_bus_read(const struct check_context *context, struct nvidia_bus *ret_bus)
{
    char **names = NULL;
    size_t count = 0;
    *ret_bus = (struct nvidia_bus){0};
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

bool nvidia_look_at_count(const struct nvidia_look *look, const struct nvidia_report *report,
                          const struct nvidia_bus *bus, int wanted)
{
    bool is_young = look->context->uptime_ms < NVIDIA_GRACE_MS, is_sure = look->was_missing && !is_young;
    size_t missing = 0;
    check_value(look->out, "holdfast_gpus", "", (double)report->gpu_count);
    for (size_t i = 0; i < bus->count; i++) {
        if (is_listed(report, bus->names[i]))
            continue;
        missing++;
        if (is_sure)
            check_found(look->out, "nvidia.gpu.missing", bus->names[i], 1,
                        "on the PCI bus with NVIDIA's driver, and not in %s's list of %zu", report->source,
                        report->gpu_count);
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
