/*
 * Small files. Writing goes through a temporary file in the same directory, which is
 * synced before it takes the name; the directory is synced after. Removing a tree never
 * follows a link, and never leaves the file system it began in.
 */
#include "base/file.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define READ_CHUNK_BYTES 65536
#define TREE_DEPTH_MAX 128 /* one descriptor a level */
#define LOCK_LOOK_MS 20

static void close_cleanup(int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

#define AUTO_CLOSE __attribute__((cleanup(close_cleanup)))

/* read(2) that survives signals. */
static ssize_t read_some(int fd, char *data, size_t len)
{
    ssize_t n;

    do
        n = read(fd, data, len);
    while (n < 0 && errno == EINTR);
    return n;
}

static int read_all(int fd, size_t bytes_max, char **ret_data, size_t *ret_len)
{
    autofree char *data = NULL;
    size_t len = 0, capacity = 0;

    for (;;) {
        /* The size that stat gives is not asked: files of /proc have none, and others grow. */
        if (capacity - len < 2) {
            capacity = capacity == 0 ? READ_CHUNK_BYTES : capacity * 2;
            data = own_realloc(data, capacity, 1);
        }
        ssize_t n = read_some(fd, data + len, capacity - len - 1);
        if (n < 0)
            return STATUS_IO;
        if (n == 0)
            break;
        len += (size_t)n;
        if (len > bytes_max)
            return STATUS_TOO_LARGE;
    }
    data[len] = '\0';
    *ret_data = TAKE(data);
    if (ret_len != NULL)
        *ret_len = len;
    return 0;
}

int file_read(const char *path, size_t bytes_max, char **ret_data, size_t *ret_len)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? STATUS_NOT_FOUND : STATUS_IO;
    return read_all(fd, bytes_max, ret_data, ret_len);
}

int file_read_plain(const char *path, size_t bytes_max, char **ret_data, size_t *ret_len)
{
    AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK);
    struct stat st;

    if (fd < 0)
        return errno == ENOENT || errno == ENOTDIR ? STATUS_NOT_FOUND : errno == ELOOP ? STATUS_INVALID : STATUS_IO;
    if (fstat(fd, &st) != 0)
        return STATUS_IO;
    return S_ISREG(st.st_mode) ? read_all(fd, bytes_max, ret_data, ret_len) : STATUS_INVALID;
}

/* The directory of path, as text to open. Caller frees. */
static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (slash == NULL)
        return own_strdup(".");
    if (slash == path)
        return own_strdup("/");
    return own_printf("%.*s", (int)(slash - path), path);
}

static int sync_directory(const char *path)
{
    autofree char *directory = directory_of(path);
    AUTO_CLOSE int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 || fsync(fd) < 0)
        return status_of_write(errno);
    return 0;
}

static int write_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        ssize_t n = write(fd, data, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return status_of_write(errno);
        data += n;
        len -= (size_t)n;
    }
    return 0;
}

/* Content, mode and disk, in that order: a secret is never readable by others, not even for a moment. */
static int fill(int fd, const void *data, size_t len, mode_t mode)
{
    int r = write_all(fd, data, len);

    if (r == 0 && (fchmod(fd, mode) < 0 || fsync(fd) < 0))
        r = status_of_write(errno);
    if (close(fd) < 0 && r == 0)
        r = status_of_write(errno);
    return r;
}

int file_write(const char *path, const void *data, size_t len, mode_t mode)
{
    autofree char *temporary = own_printf("%s.tmp-XXXXXX", path);
    int fd = mkostemp(temporary, O_CLOEXEC);

    if (fd < 0)
        return status_of_write(errno);
    int r = fill(fd, data, len, mode);
    if (r == 0 && rename(temporary, path) < 0)
        r = status_of_write(errno);
    if (r < 0) {
        (void)unlink(temporary);
        return r;
    }
    return sync_directory(path);
}

/* One level. An existing directory will do, also behind a link. */
static int make_dir(const char *path, mode_t mode)
{
    struct stat st;

    if (mkdir(path, mode) == 0)
        return 0;
    int error = errno;
    if (error == EEXIST && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return 0;
    return status_of_write(error);
}

int file_make_dirs(const char *path, mode_t mode)
{
    autofree char *copy = own_strdup(path);

    if (copy[0] == '\0')
        return STATUS_INVALID;
    for (char *c = copy + 1; *c != '\0'; c++) {
        if (*c != '/')
            continue;
        *c = '\0';
        int r = make_dir(copy, mode);
        if (r < 0)
            return r;
        *c = '/';
    }
    return make_dir(copy, mode);
}

static int remove_entries(int directory, dev_t device, int depth);

/* Removes name, whatever it is. What somebody else removed meanwhile is removed. */
static int remove_at(int parent, const char *name, dev_t device, int depth)
{
    struct stat st;

    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
        return 0;
    if ((errno != EISDIR && errno != EPERM) || depth >= TREE_DEPTH_MAX)
        return STATUS_IO;
    AUTO_CLOSE int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? 0 : STATUS_IO;
    if (fstat(fd, &st) < 0 || st.st_dev != device)
        return STATUS_IO;
    int r = remove_entries(fd, device, depth + 1);
    if (r < 0)
        return r;
    return unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT ? 0 : STATUS_IO;
}

static int remove_entries(int directory, dev_t device, int depth)
{
    int copy = dup(directory), r = 0;
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    const struct dirent *entry;

    if (dir == NULL) {
        close_cleanup(&copy);
        return STATUS_IO;
    }
    while (r == 0 && (errno = 0, entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            r = remove_at(directory, entry->d_name, device, depth);
    if (r == 0 && errno != 0)
        r = STATUS_IO;
    closedir(dir);
    return r;
}

int file_remove_tree(const char *path)
{
    autofree char *real = realpath(path, NULL);
    struct stat st;

    /* "/." and "/tmp/.." are the root too. */
    if (path[0] == '\0' || (real != NULL && strcmp(real, "/") == 0))
        return STATUS_INVALID;
    if (lstat(path, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : STATUS_IO;
    return remove_at(AT_FDCWD, path, st.st_dev, 0);
}

bool file_exists(const char *path)
{
    return access(path, F_OK) == 0;
}

int file_lock(const char *path, int *ret_fd)
{
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0)
        return status_of_write(errno);
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        int r = errno == EWOULDBLOCK ? STATUS_CONFLICT : STATUS_IO;
        close(fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

int file_lock_within(const char *path, int64_t within_ms, int *ret_fd)
{
    const struct timespec pause = {.tv_nsec = LOCK_LOOK_MS * 1000000L};
    int64_t until = clock_mono_ms(clock_system()) + within_ms;
    int status;

    while ((status = file_lock(path, ret_fd)) == STATUS_CONFLICT && clock_mono_ms(clock_system()) < until)
        (void)nanosleep(&pause, NULL);
    return status;
}

int file_lock_inherited(const char *path, int fd)
{
    struct stat given, named;

    if (fstat(fd, &given) < 0 || lstat(path, &named) < 0 || given.st_dev != named.st_dev ||
        given.st_ino != named.st_ino)
        return STATUS_NOT_FOUND;
    if (flock(fd, LOCK_EX | LOCK_NB) < 0)
        return errno == EWOULDBLOCK ? STATUS_CONFLICT : STATUS_IO;
    return fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ? STATUS_IO : 0;
}
