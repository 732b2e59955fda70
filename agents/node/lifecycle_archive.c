/*
 * A source of scripts in one file: tar (ustar, with the long names of GNU and of POSIX), also compressed by gzip. It is read here and not by
 * tar, because it comes from a network: files and directories only, names that stay below the directory, and the same bounds as for
 * a directory that is copied.
 */
#include "agents/node/lifecycle.h"

#include "base/child.h"
#include "base/file.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>

#define BLOCK 512
#define GZIP_TIMEOUT_MS 60000
/* What its headers and paddings add at most. */
#define ARCHIVE_BYTES_MAX (LIFECYCLE_SOURCE_TOTAL_MAX + LIFECYCLE_SOURCE_FILES_MAX * 3 * BLOCK)

/* Where what stands in a header, in bytes. */
enum {
    NAME = 0,
    NAME_LEN = 100,
    MODE = 100,
    SIZE = 124,
    SUM = 148,
    TYPE = 156,
    MAGIC = 257,
    PREFIX = 345,
    PREFIX_LEN = 155
};

struct unpacking {
    const char *data, *directory;
    size_t len, at;
    int64_t bytes, files;
    char *long_name; /* of the next entry; NULL: its header has it */
    char *error;
};

static int say(char *ret_error, int status, const char *what, const char *why)
{
    snprintf(ret_error, LIFECYCLE_ERROR_MAX, "%.200s: %.100s", what, why);
    return status;
}

static int broken(struct unpacking *u)
{
    return say(u->error, STATUS_INVALID, "the archive", "it is not a whole tar archive, also where gzip compressed it");
}

/* -1: not an octal number. */
static int64_t octal(const char *field, size_t len)
{
    int64_t value = 0;
    size_t i = 0, digits = 0;
    while (i < len && field[i] == ' ')
        i++;
    for (; i < len && field[i] >= '0' && field[i] <= '7' && digits < 12; i++, digits++)
        value = value * 8 + (field[i] - '0');
    return digits > 0 && (i == len || field[i] == ' ' || field[i] == '\0') ? value : -1;
}

static bool sum_is_right(const char *header)
{
    int64_t sum = 0;
    for (size_t i = 0; i < BLOCK; i++)
        sum += i >= SUM && i < SUM + 8 ? ' ' : (unsigned char)header[i];
    return octal(header + SUM, 8) == sum;
}

static bool is_zero(const char *block)
{
    size_t i = 0;
    while (i < BLOCK && block[i] == '\0')
        i++;
    return i == BLOCK;
}

/* "LENGTH path=NAME\n" among the records of an extended header; what else it says is of no use here. */
static void read_extended(struct unpacking *u, const char *data, size_t len)
{
    for (size_t at = 0; at < len;) {
        size_t record = 0, i = at;
        while (i < len && data[i] >= '0' && data[i] <= '9' && record < len)
            record = record * 10 + (size_t)(data[i++] - '0');
        if (record == 0 || record > len - at || i >= len || data[i] != ' ' || data[at + record - 1] != '\n')
            return;
        size_t key = i + 1 - at, end = record - 1;
        if (key + strlen("path=") <= end && strncmp(data + at + key, "path=", strlen("path=")) == 0) {
            free(u->long_name);
            u->long_name = own_printf("%.*s", (int)(end - key - strlen("path=")), data + at + key + strlen("path="));
        }
        at += record;
    }
}

/* Caller frees. */
static char *name_of(struct unpacking *u, const char *header)
{
    if (u->long_name != NULL)
        return TAKE(u->long_name);
    bool has_prefix = strncmp(header + MAGIC, "ustar", 6) == 0 && header[PREFIX] != '\0'; /* GNU's has none */
    return own_printf("%.*s%s%.*s", has_prefix ? PREFIX_LEN : 0, header + PREFIX, has_prefix ? "/" : "", NAME_LEN,
                      header + NAME);
}

/* NULL: no name that stays below. "" is the directory itself. Without "./" before and "/" behind. */
static const char *below(char *name)
{
    int depth = 0;
    while (text_starts_with(name, "./"))
        name += 2;
    size_t len = strlen(name);
    while (len > 0 && name[len - 1] == '/')
        name[--len] = '\0';
    if (text_equal(name, "."))
        return "";
    if (name[0] == '/' || !text_is_line(name) || !text_is_utf8(name, len))
        return NULL;
    for (const char *at = name; *at != '\0';) {
        size_t part = strcspn(at, "/");
        if ((part == 2 && strncmp(at, "..", 2) == 0) || (part == 1 && *at == '.') || part == 0 || part > 255 ||
            ++depth > LIFECYCLE_SOURCE_DEPTH_MAX)
            return NULL;
        at += part + (at[part] == '/');
    }
    return name;
}

static int write_file(struct unpacking *u, const char *name, const char *data, size_t len, int64_t mode)
{
    autofree char *path = own_printf("%s/%s", u->directory, name);
    autofree char *parent = own_strdup(path);
    *strrchr(parent, '/') = '\0';
    u->bytes += (int64_t)len;
    if (u->bytes > LIFECYCLE_SOURCE_TOTAL_MAX)
        return say(u->error, STATUS_INVALID, name, "the source has more than 64 MiB");
    int status = file_make_dirs(parent, 0755);
    if (status == 0)
        status = file_write(path, data, len, (mode_t)((mode & 0755) | 0600));
    return status == 0 ? 0 : say(u->error, status, name, status_meaning(status));
}

static int make_directory(struct unpacking *u, const char *name)
{
    autofree char *path = own_printf("%s/%s", u->directory, name);
    int status = file_make_dirs(path, 0755);
    return status == 0 ? 0 : say(u->error, status, name, status_meaning(status));
}

static int take_entry(struct unpacking *u, const char *header, const char *data, size_t len)
{
    char type = header[TYPE];
    if (type == 'L' || type == 'x') {
        if (type == 'x') {
            read_extended(u, data, len);
            return 0;
        }
        free(u->long_name);
        u->long_name = own_printf("%.*s", (int)(len < 4096 ? len : 4096), data);
        return 0;
    }
    if (type == 'g')
        return 0;
    autofree char *whole = name_of(u, header);
    const char *name = below(whole);
    if (name == NULL)
        return say(u->error, STATUS_INVALID, "the archive", "it has a name that does not stay below the source");
    if (++u->files > LIFECYCLE_SOURCE_FILES_MAX)
        return say(u->error, STATUS_INVALID, name, "the source has more than 4096 files");
    if (type == '5')
        return make_directory(u, name);
    if (type != '0' && type != '\0')
        return say(u->error, STATUS_INVALID, name, "neither a file nor a directory; put the file itself there");
    return *name == '\0' ? broken(u) : write_file(u, name, data, len, octal(header + MODE, 8));
}

static int unpack(struct unpacking *u)
{
    int status = 0;
    bool ended = false;
    while (status == 0 && !ended && u->len - u->at >= BLOCK) {
        const char *header = u->data + u->at;
        u->at += BLOCK;
        ended = is_zero(header);
        if (ended)
            break;
        int64_t size = octal(header + SIZE, 12);
        if (!sum_is_right(header) || size < 0 || (uint64_t)size > u->len - u->at)
            return broken(u);
        status = take_entry(u, header, u->data + u->at, (size_t)size);
        size_t padded = ((size_t)size + BLOCK - 1) / BLOCK * BLOCK;
        u->at += padded < u->len - u->at ? padded : u->len - u->at;
    }
    return status == 0 && !ended ? broken(u) : status;
}

static int expand(const char *data, size_t len, struct child_result *ret_result)
{
    static const char *const argv[] = {"gzip", "-dc", NULL};
    const struct child_options options = {
        .input = data, .input_len = len, .timeout_ms = GZIP_TIMEOUT_MS, .out_bytes_max = ARCHIVE_BYTES_MAX};
    return child_run(argv, &options, ret_result);
}

int lifecycle_unpack(const char *data, size_t len, const char *directory, char ret_error[LIFECYCLE_ERROR_MAX])
{
    struct child_result expanded = {0};
    struct unpacking u = {.data = data, .len = len, .directory = directory, .error = ret_error};
    int status = 0;
    if (len >= 2 && (unsigned char)data[0] == 0x1f && (unsigned char)data[1] == 0x8b) {
        status = expand(data, len, &expanded);
        if (status != 0)
            return say(ret_error, status, "gzip", status_meaning(status));
        u.data = expanded.out;
        u.len = expanded.out_len;
        if (expanded.exit_code != 0 || expanded.out_cut)
            status = expanded.out_cut ? say(ret_error, STATUS_INVALID, "the archive", "the source has more than 64 MiB")
                                      : broken(&u);
    }
    if (status == 0)
        status = unpack(&u);
    free(u.long_name);
    child_result_free(&expanded);
    return status;
}
