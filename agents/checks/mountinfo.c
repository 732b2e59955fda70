/* Fields by proc(5) and fstab(5). The options looked at are those of the file system, not of the mount: a container's
 * read-only bind mount of a disk is no broken disk. */
#include "agents/checks/mountinfo.h"

#include "base/own.h"

#include <string.h>

#define WORDS_MAX 32 /* of a line: 11, and some optional ones */

static bool is_octal(char c)
{
    return c >= '0' && c <= '7';
}

/* "\040" is a blank. */
static bool unescape(struct word word, char *dst, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < word.len; i++) {
        char c = word.at[i];
        if (c == '\\' && i + 3 < word.len && is_octal(word.at[i + 1]) && is_octal(word.at[i + 2]) &&
            is_octal(word.at[i + 3])) {
            c = (char)((word.at[i + 1] - '0') * 64 + (word.at[i + 2] - '0') * 8 + (word.at[i + 3] - '0'));
            i += 3;
        }
        if (c == '\0' || used + 1 >= size)
            return false;
        dst[used++] = c;
    }
    dst[used] = '\0';
    return used > 0;
}

/* Among options with commas between. */
static bool has_option(struct word options, const char *name)
{
    for (size_t i = 0; i < options.len;) {
        const char *comma = memchr(options.at + i, ',', options.len - i);
        size_t end = comma != NULL ? (size_t)(comma - options.at) : options.len;
        if (word_is((struct word){options.at + i, end - i}, name))
            return true;
        i = end + 1;
    }
    return false;
}

bool mountinfo_parse(struct word line, struct mount *ret_mount)
{
    struct word words[WORDS_MAX];
    struct mount mount = {.is_whole = false};
    size_t count = lines_words(line, words, WORDS_MAX), dash = 6;
    if (count > WORDS_MAX)
        return false;
    while (dash < count && !word_is(words[dash], "-"))
        dash++;
    if (dash + 3 >= count || !word_copy(words[2], mount.device, sizeof(mount.device)) ||
        !unescape(words[4], mount.place, sizeof(mount.place)) ||
        !word_copy(words[dash + 1], mount.type, sizeof(mount.type)) ||
        !unescape(words[dash + 2], mount.source, sizeof(mount.source)) || mount.place[0] != '/')
        return false;
    struct word options = words[dash + 3];
    mount.is_whole = word_is(words[3], "/");
    mount.read_only = has_option(options, "ro");
    mount.is_broken = has_option(options, "emergency_ro") || has_option(options, "shutdown");
    *ret_mount = mount;
    return true;
}

bool fstab_parse(struct word line, struct mount *ret_mount)
{
    struct word words[4] = {{"", 0}, {"", 0}, {"", 0}, {"", 0}};
    struct mount mount = {.is_whole = true};
    size_t count = lines_words(line, words, 4);
    if (count < 3 || words[0].at[0] == '#' || !unescape(words[0], mount.source, sizeof(mount.source)) ||
        !unescape(words[1], mount.place, sizeof(mount.place)) || !word_copy(words[2], mount.type, sizeof(mount.type)))
        return false;
    for (size_t len = strlen(mount.place); len > 1 && mount.place[len - 1] == '/';)
        mount.place[--len] = '\0';
    mount.read_only = has_option(words[3], "ro");
    mount.is_optional = mount.place[0] != '/' || strcmp(mount.type, "swap") == 0 || has_option(words[3], "noauto") ||
                        has_option(words[3], "nofail");
    *ret_mount = mount;
    return true;
}

static bool is_among(const char *type, const char *const *types, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(type, types[i]) == 0)
            return true;
    return false;
}

bool mount_is_remote(const struct mount *mount)
{
    static const char *const types[] = {"nfs",  "nfs4",   "lustre", "cifs",  "smb3",     "ceph",
                                        "gpfs", "beegfs", "wekafs", "pvfs2", "glusterfs"};
    return is_among(mount->type, types, ARRAY_LEN(types)) || strncmp(mount->type, "fuse.", 5) == 0;
}

bool mount_is_disk(const struct mount *mount)
{
    static const char *const types[] = {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "vfat", "zfs"};
    return is_among(mount->type, types, ARRAY_LEN(types));
}
