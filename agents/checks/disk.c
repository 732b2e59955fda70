/*
 * Checks that file systems have space and are writable. A full or read-only disk breaks jobs, logs and slurmd with misleading errors.
 *
 * Covers the file systems of /, /var, /tmp and of the agent's state, and all other mounted disks of this machine. A file system that
 * /etc/fstab mounts read-only, or that was read-only at first, is ignored.
 */
#include "agents/checks/disk.h"

#include "agents/checks/check.h"
#include "agents/checks/mountinfo.h"
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
#define PLACES_MAX 32 /* file systems of one node that are looked at */
#define FILE_BYTES_MAX (1 << 20)

/* Judgement: kubelet evicts at 10 % of bytes and 5 % of inodes left (its documented defaults), which on disks of
 * terabytes is early; so a share (1 % and 5 %, unless
 * the settings say otherwise) counts only together with an amount. */
#define FULL_BYTES (100 * MIB)
#define LOW_BYTES (20 * GIB)
#define SMALL_BYTES GIB /* smaller ones (/boot/efi) are judged by their share alone */

static bool is_under(uint64_t part, uint64_t whole, int64_t percent)
{
    return part < whole / 100 * (uint64_t)percent;
}

const char *disk_judge(const struct disk_use *use, const struct agent_settings *settings)
{
    int64_t full = agent_settings_limit(settings, AGENT_LIMIT_DISK_FULL);
    int64_t low = agent_settings_limit(settings, AGENT_LIMIT_DISK_LOW);
    uint64_t bytes = use->bytes_free;
    bool small = use->bytes < SMALL_BYTES;
    if (use->bytes > 0 &&
        (bytes == 0 || (is_under(bytes, use->bytes, full) && bytes < LOW_BYTES) || (!small && bytes < FULL_BYTES)))
        return "node.disk.full";
    if (use->inodes > 0 && is_under(use->inodes_free, use->inodes, full))
        return "node.disk.inodes";
    if (use->bytes > 0 && is_under(bytes, use->bytes, low) && bytes < LOW_BYTES)
        return "node.disk.low";
    return NULL;
}

/* --- room ---------------------------------------------------------------------------------------------------- */

struct seen {
    dev_t devices[PLACES_MAX];
    size_t count;
};

static bool is_new(struct seen *seen, const char *path)
{
    struct stat st;
    if (seen->count == PLACES_MAX || stat(path, &st) != 0)
        return false;
    for (size_t i = 0; i < seen->count; i++)
        if (seen->devices[i] == st.st_dev)
            return false;
    seen->devices[seen->count++] = st.st_dev;
    return true;
}

static void look_at_room(const struct check_context *context, struct check_out *out, struct seen *seen,
                         const char *place)
{
    autofree char *path = check_path(context, place);
    struct statvfs fs;
    char labels[CHECK_LABELS_MAX_BYTES] = "";
    if (!is_new(seen, path))
        return;
    if (statvfs(path, &fs) != 0) {
        check_unknown(out, "%s: %s", place, strerror(errno));
        return;
    }
    const struct disk_use use = {.bytes = (uint64_t)fs.f_blocks * fs.f_frsize,
                                 .bytes_free = (uint64_t)fs.f_bavail * fs.f_frsize,
                                 .inodes = fs.f_files,
                                 .inodes_free = fs.f_favail};
    const char *code = disk_judge(&use, context->settings);
    if (code != NULL && (fs.f_flag & ST_RDONLY) == 0) /* an image that is read-only is always full */
        check_found(out, code, place, 1,
                    "%s has %" PRIu64 " of %" PRIu64 " MiB and %" PRIu64 " of %" PRIu64 " inodes left", place,
                    use.bytes_free / MIB, use.bytes / MIB, use.inodes_free, use.inodes);
    check_label(labels, "mountpoint", place);
    check_value(out, "holdfast_disk_size_bytes", labels, (double)use.bytes);
    check_value(out, "holdfast_disk_free_bytes", labels, (double)use.bytes_free);
}

/* --- read-only ----------------------------------------------------------------------------------------------- */

static bool may_be_read_only(const char *fstab, size_t fstab_len, const char *place)
{
    struct lines lines;
    struct word line;
    struct mount wanted;
    lines_start(&lines, fstab, fstab_len);
    while (lines_next(&lines, &line))
        if (fstab_parse(line, &wanted) && strcmp(wanted.place, place) == 0)
            return wanted.read_only;
    return false;
}

static bool is_remembered(const struct check_context *context, const char *device)
{
    struct lines lines;
    struct word line;
    lines_start(&lines, context->memory, context->memory_len);
    while (lines_next(&lines, &line))
        if (word_is(line, device))
            return true;
    return false;
}

struct memory {
    char text[PLACES_MAX * 2 * (sizeof(((struct mount *)0)->device) + sizeof(" not writable"))];
    size_t len;
};

static void remember(struct memory *memory, const char *device)
{
    int len = snprintf(memory->text + memory->len, sizeof(memory->text) - memory->len, "%s\n", device);
    if (len > 0 && (size_t)len < sizeof(memory->text) - memory->len)
        memory->len += (size_t)len;
}

/* A disk that was written in an earlier run, or that /etc/fstab wants to be writable by default, and is no longer: somebody may
 * be at work on it, so the second look that sees it is the one that counts. */
static void look_at_writing(const struct check_context *context, struct check_out *out, const struct mount *mount,
                            struct memory *memory)
{
    autofree char *fstab = NULL;
    size_t len = 0;
    bool was_writable = is_remembered(context, mount->device);
    autofree char *suspect = own_printf("%s not writable", mount->device);
    if (!mount->read_only || was_writable)
        remember(memory, mount->device);
    if (mount->is_broken || (mount->read_only && was_writable)) {
        if (check_read(context, "/etc/fstab", FILE_BYTES_MAX, &fstab, &len) == 0 &&
            may_be_read_only(fstab, len, mount->place) && !mount->is_broken)
            return;
        remember(memory, suspect);
        if (!is_remembered(context, suspect)) {
            check_unknown(out, "%s cannot be written, and the next look decides", mount->place);
            return;
        }
        bool root = strcmp(mount->place, "/") == 0;
        check_found(out, root ? "node.disk.read-only" : "node.mount.read-only", root ? "" : mount->place, 1,
                    "%s (%s, %s) %s", mount->place, mount->source, mount->type,
                    mount->is_broken ? "was shut down by the kernel" : "has become read-only");
    }
}

/* --- all of it ----------------------------------------------------------------------------------------------- */

static void run(const struct check_context *context, struct check_out *out)
{
    const char *places[] = {"/", "/var", "/tmp"};
    struct seen seen = {.count = 0};
    struct memory memory = {.len = 0};
    struct lines lines;
    struct word line;
    struct mount mount;
    autofree char *data = NULL;
    size_t len = 0, mounts = 0;
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        look_at_room(context, out, &seen, places[i]);
    if (context->root[0] == '\0' && context->state_dir[0] != '\0')
        look_at_room(context, out, &seen, context->state_dir);
    if (check_read(context, "/proc/self/mountinfo", FILE_BYTES_MAX, &data, &len) != 0) {
        check_unknown(out, "/proc/self/mountinfo cannot be read");
        return;
    }
    lines_start(&lines, data, len);
    while (lines_next(&lines, &line)) {
        if (!mountinfo_parse(line, &mount))
            continue;
        mounts++;
        if (!mount_is_disk(&mount) || !mount.is_whole)
            continue;
        look_at_room(context, out, &seen, mount.place);
        look_at_writing(context, out, &mount, &memory);
    }
    if (mounts == 0)
        check_unknown(out, "/proc/self/mountinfo names no mount");
    check_remember(out, memory.text, memory.len);
}

const struct check check_disk = {.name = "disk",
                                 .about = "room on the disks, by bytes and inodes, and whether they can be written",
                                 CHECK_TIMES(disk),
                                 .run = run};
