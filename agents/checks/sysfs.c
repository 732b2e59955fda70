/* A file of sysfs is at most a page. */
#include "agents/checks/sysfs.h"

#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>

#define FILE_BYTES_MAX 4096
#define PLAIN_MAX_BYTES 60

static char *read_at(const struct check_context *context, const char *path)
{
    char *data;
    size_t len;
    return check_read(context, path, FILE_BYTES_MAX, &data, &len) == 0 ? data : NULL;
}

char *sysfs_read(const struct check_context *context, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *path = own_vprintf(fmt, ap);
    va_end(ap);
    return read_at(context, path);
}

int64_t sysfs_read_count(const struct check_context *context, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *path = own_vprintf(fmt, ap);
    va_end(ap);
    autofree char *text = read_at(context, path);
    return text != NULL ? sysfs_parse_count(text) : -1;
}

bool sysfs_exists(const struct check_context *context, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *name = own_vprintf(fmt, ap);
    va_end(ap);
    autofree char *path = check_path(context, name);
    return file_exists(path);
}

static int is_plain(const struct dirent *entry)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.:";
    const char *name = entry->d_name;
    return name[0] != '.' && strlen(name) <= PLAIN_MAX_BYTES && strspn(name, plain) == strlen(name);
}

static int in_order(const struct dirent **a, const struct dirent **b)
{
    return versionsort(a, b);
}

int sysfs_list(const struct check_context *context, const char *directory, char ***ret_names, size_t *ret_count)
{
    autofree char *path = check_path(context, directory);
    struct dirent **entries;
    int count = scandir(path, &entries, is_plain, in_order);
    if (count < 0)
        return errno == ENOENT ? STATUS_NOT_FOUND : STATUS_IO;
    char **names = own_calloc((size_t)count + 1, sizeof(*names));
    for (int i = 0; i < count; i++) {
        names[i] = own_strdup(entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    *ret_names = names;
    *ret_count = (size_t)count;
    return 0;
}

void sysfs_list_free(char **names, size_t count)
{
    text_list_free(names, count);
}

int64_t sysfs_parse_count(const char *text)
{
    char digits[24];
    int64_t value;
    size_t len = strcspn(text, "\n");
    if ((text[len] == '\n' && text[len + 1] != '\0') || text_copy_bytes(digits, sizeof(digits), text, len) != 0 ||
        text_parse_i64(digits, 0, INT64_MAX, &value) != 0)
        return -1;
    return value;
}
