/*
 * Reports the hardware of this machine, except GPUs (nvidia.c): the serial number from DMI, Neuron devices, and adapters for
 * InfiniBand and RoCE. It finds no faults.
 *
 * Serial numbers of a virtual machine belong to the instance, and virtual adapters may share a GUID. So they are not used as
 * identities: a wrong identity would give one machine the history of another.
 */
#include "agents/checks/lines.h"
#include "agents/checks/neuron_tree.h"
#include "agents/checks/sysfs.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define DMI "/sys/class/dmi/id"
#define INFINIBAND "/sys/class/infiniband"
#define CPUINFO_BYTES_MAX (1 << 20) /* the flags stand in the first of its processors */

static bool is_text(const char *data, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (data[i] < ' ' || data[i] > '~')
            return false;
    return true;
}

/* The first line; "" when there is none, only root may read it, or it is no text (firmware that nobody has written is of 0xff). */
static void read_word(const struct check_context *context, const char *directory, const char *file, char *ret_word,
                      size_t size)
{
    autofree char *data = sysfs_read(context, "%s/%s", directory, file);
    size_t len = data == NULL ? 0 : strcspn(data, "\n");
    while (len > 0 && data[len - 1] == ' ')
        len--;
    size_t from = data == NULL ? 0 : strspn(data, " ");
    ret_word[0] = '\0';
    if (from < len && is_text(data + from, len - from))
        text_copy_clean(ret_word, size, data + from, len - from);
}

/* x86 tells it by a flag; where there is none (Arm), and for the bare metal of clouds, whose firmware is as made up as that
 * of their virtual machines, the maker's name tells. */
static bool is_made_up(const struct check_context *context)
{
    static const char *const makers[] = {"Amazon EC2", "QEMU",    "VMware",    "Xen",          "innotek",
                                         "KVM",        "Bochs",   "OpenStack", "Google",       "Alibaba Cloud",
                                         "oVirt",      "Nutanix", "Parallels", "DigitalOcean", "VirtualBox",
                                         "RHEV",       "Nebius",  "Hetzner",   "Scaleway",     "Virtual Machine",
                                         "CloudStack", "Vultr",   "Akamai",    "OracleCloud",  "Tencent Cloud"};
    static const char *const files[] = {"sys_vendor", "product_name", "board_vendor", "chassis_vendor"};
    char word[HARDWARE_IDENTITY_MAX_BYTES];
    autofree char *cpuinfo = NULL;
    size_t len;
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        read_word(context, DMI, files[i], word, sizeof(word));
        for (size_t k = 0; k < ARRAY_LEN(makers); k++)
            if (strcasestr(word, makers[k]) != NULL)
                return true;
    }
    if (sysfs_exists(context, "/sys/hypervisor/type"))
        return true;
    if (check_read(context, "/proc/cpuinfo", CPUINFO_BYTES_MAX, &cpuinfo, &len) != 0)
        return false;
    const char *flags = strstr(cpuinfo, "\nflags");
    if (flags == NULL)
        return false;
    const char *end = strchr(flags + 1, '\n'), *flag = strstr(flags, " hypervisor");
    return flag != NULL && (end == NULL || flag < end);
}

/* The system's serial before that of its board, and that of the chassis last: several machines may be in one chassis. */
static bool tell_chassis(const struct check_context *context, struct check_out *out, bool made_up)
{
    static const char *const serials[] = {"product_serial", "board_serial", "chassis_serial"};
    char maker[HARDWARE_IDENTITY_MAX_BYTES], product[HARDWARE_IDENTITY_MAX_BYTES], serial[HARDWARE_IDENTITY_MAX_BYTES];
    struct hardware hardware = {.kind = HARDWARE_KIND_CHASSIS};
    read_word(context, DMI, "sys_vendor", maker, sizeof(maker));
    read_word(context, DMI, "product_name", product, sizeof(product));
    for (size_t i = 0; i < ARRAY_LEN(serials) && !made_up && hardware.identity[0] == '\0'; i++) {
        read_word(context, DMI, serials[i], serial, sizeof(serial));
        if (hardware_identifies(serial))
            memcpy(hardware.identity, serial, sizeof(serial));
    }
    read_word(context, DMI, "board_serial", serial, sizeof(serial));
    if (!made_up && strcmp(serial, hardware.identity) != 0)
        memcpy(hardware.serial, serial, sizeof(serial));
    if (maker[0] == '\0' && product[0] == '\0' && hardware.identity[0] == '\0')
        return false;
    snprintf(hardware.detail, sizeof(hardware.detail), "%.40s%s%.40s%s", maker, maker[0] != '\0' ? " " : "", product,
             made_up ? ", virtual or a cloud's" : "");
    check_hardware(out, &hardware);
    return true;
}

static size_t tell_neuron(const struct check_context *context, struct check_out *out)
{
    char **names = NULL;
    size_t count = 0;
    if (sysfs_list(context, NEURON_TREE, &names, &count) != 0)
        return 0;
    for (size_t i = 0; i < count; i++) {
        struct hardware hardware = {.kind = HARDWARE_KIND_NEURON};
        autofree char *directory = own_printf(NEURON_TREE "/%s/info", names[i]);
        read_word(context, directory, "serial_number", hardware.identity, sizeof(hardware.identity));
        read_word(context, directory, "architecture/device_name", hardware.detail, sizeof(hardware.detail));
        text_copy_cut(hardware.location, sizeof(hardware.location), names[i]);
        check_hardware(out, &hardware);
    }
    sysfs_list_free(names, count);
    return count;
}

static bool link_ends_with(const struct check_context *context, const char *link, const char *end)
{
    char target[PATH_MAX];
    autofree char *path = check_path(context, link);
    ssize_t len = readlink(path, target, sizeof(target) - 1);
    target[len < 0 ? 0 : len] = '\0';
    return text_ends_with(target, end);
}

/* Software (rxe, siw) has no device behind it, and a virtual function has one of many that share a port. */
static size_t tell_adapters(const struct check_context *context, struct check_out *out, bool made_up)
{
    char **names = NULL;
    size_t count = 0;
    if (sysfs_list(context, INFINIBAND, &names, &count) != 0)
        return 0;
    for (size_t i = 0; i < count; i++) {
        struct hardware hardware = {.kind = HARDWARE_KIND_NIC};
        autofree char *directory = own_printf(INFINIBAND "/%s", names[i]),
                      *driver = own_printf(INFINIBAND "/%s/device/driver", names[i]);
        bool is_card = sysfs_exists(context, "%s/device", directory) &&
                       !sysfs_exists(context, "%s/device/physfn", directory) &&
                       !link_ends_with(context, driver, "/efa");
        if (is_card && !made_up)
            read_word(context, directory, "node_guid", hardware.identity, sizeof(hardware.identity));
        read_word(context, directory, "board_id", hardware.detail, sizeof(hardware.detail));
        text_copy_cut(hardware.location, sizeof(hardware.location), names[i]);
        check_hardware(out, &hardware);
    }
    sysfs_list_free(names, count);
    return count;
}

/* By which whoever logs in knows this machine from another one of the same name: of the kind that every sshd has had since 2014. */
static size_t tell_host_key(const struct check_context *context, struct check_out *out)
{
    static const char kind[] = "ssh-ed25519 ";
    struct hardware hardware = {.kind = HARDWARE_KIND_HOST_KEY, .location = "ssh-ed25519"};
    autofree char *data = sysfs_read(context, "/etc/ssh/ssh_host_ed25519_key.pub");
    if (data == NULL || strncmp(data, kind, sizeof(kind) - 1) != 0)
        return 0;
    const char *key = data + sizeof(kind) - 1;
    size_t len = strcspn(key, " \n");
    if (text_copy_bytes(hardware.detail, sizeof(hardware.detail), key, len) < 0 || !hardware_is_host_key(&hardware))
        return 0;
    check_hardware(out, &hardware);
    return 1;
}

/* The short one, by which Slurm knows machines (NodeHostname in slurm.conf(5)). */
static size_t tell_host_name(const struct check_context *context, struct check_out *out)
{
    struct hardware hardware = {.kind = HARDWARE_KIND_HOST_NAME};
    autofree char *name = sysfs_read(context, "/proc/sys/kernel/hostname");
    if (name == NULL || text_copy_bytes(hardware.detail, sizeof(hardware.detail), name, strcspn(name, ".\n")) < 0 ||
        !hardware_is_host_name(&hardware))
        return 0;
    check_hardware(out, &hardware);
    return 1;
}

static void run(const struct check_context *context, struct check_out *out)
{
    bool made_up = is_made_up(context), told = tell_chassis(context, out, made_up);
    size_t devices = tell_neuron(context, out) + tell_adapters(context, out, made_up);
    size_t of_host = tell_host_key(context, out) + tell_host_name(context, out);
    if (!told && devices + of_host == 0)
        check_not_applicable(out, "the kernel tells nothing of this machine");
}

const struct check check_machine = {.name = "machine",
                                    .about = "what tells this machine and its devices from others; finds no faults",
                                    CHECK_TIMES(machine),
                                    .run = run};
