/*
 * Is there room? A full disk takes jobs, logs and slurmd's own state down, and looks like anything but a full disk.
 *
 * Looked at are the file systems that a node cannot work without: those of /, /var, /tmp and of the agent's own state.
 */
#include "agents/checks/disk.h"

#include "agents/checks/check.h"
#include "base/clock.h"
#include "base/own.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* Judgement: kubelet evicts at 10 % of bytes and 5 % of inodes left (its documented defaults), which on disks of
 * terabytes is early; so a share counts only together with an amount. */
#define FULL_BYTES (100 * MIB)
#define FULL_PERCENT 1
#define LOW_BYTES (20 * GIB)
#define LOW_PERCENT 5
#define SMALL_BYTES GIB /* smaller ones (/boot/efi, /run) are judged by their share alone */

static bool is_under(uint64_t part, uint64_t whole, unsigned percent)
{
    return part < whole / 100 * percent;
}

const char *disk_judge(const struct disk_use *use)
{
    uint64_t bytes = use->bytes_free;
    bool small = use->bytes < SMALL_BYTES;
    if (use->bytes > 0 && (bytes == 0 || (is_under(bytes, use->bytes, FULL_PERCENT) && bytes < LOW_BYTES) ||
                           (!small && bytes < FULL_BYTES)))
        return "node.disk.full";
    if (use->inodes > 0 && is_under(use->inodes_free, use->inodes, FULL_PERCENT))
        return "node.disk.inodes";
    if (use->bytes > 0 && is_under(bytes, use->bytes, LOW_PERCENT) && bytes < LOW_BYTES)
        return "node.disk.low";
    return NULL;
}

static void look_at(const struct check_context *context, struct check_out *out, const char *place)
{
    autofree char *path = check_path(context, place);
    struct statvfs fs;
    char labels[CHECK_LABELS_MAX_BYTES];
    if (statvfs(path, &fs) != 0) {
        check_unknown(out, "%s: %s", place, strerror(errno));
        return;
    }
    const struct disk_use use = {.bytes = (uint64_t)fs.f_blocks * fs.f_frsize,
                                 .bytes_free = (uint64_t)fs.f_bavail * fs.f_frsize,
                                 .inodes = fs.f_files,
                                 .inodes_free = fs.f_favail};
    const char *code = disk_judge(&use);
    if (code != NULL)
        check_found(out, code, place, 1,
                    "%s has %" PRIu64 " of %" PRIu64 " MiB and %" PRIu64 " of %" PRIu64 " inodes left", place,
                    use.bytes_free / MIB, use.bytes / MIB, use.inodes_free, use.inodes);
    snprintf(labels, sizeof(labels), "mountpoint=\"%.100s\"", place);
    check_value(out, "holdfast_disk_free_bytes", labels, (double)use.bytes_free);
}

static void run(const struct check_context *context, struct check_out *out)
{
    const char *places[] = {"/", "/var", "/tmp", context->state_dir};
    dev_t seen[ARRAY_LEN(places)];
    size_t count = 0;
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        autofree char *path = check_path(context, places[i]);
        struct stat st;
        bool known = places[i][0] == '\0' || stat(path, &st) != 0;
        for (size_t k = 0; !known && k < count; k++)
            known = seen[k] == st.st_dev;
        if (known)
            continue;
        seen[count++] = st.st_dev;
        look_at(context, out, places[i]);
    }
}

const struct check check_disk = {.name = "disk",
                                 .about = "room on the file systems of /, /var, /tmp and of the agent's state",
                                 .period_ms = MS_PER_MIN,
                                 .deadline_ms = 20 * MS_PER_S,
                                 .run = run};
