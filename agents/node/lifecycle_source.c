/*
 * Sources of scripts: a local directory, which is copied, or an address (lifecycle_address.c, lifecycle_s3.c). All are bounded. A directory may hold only files and directories, because a symbolic link could lead out of it. Names are opened relative to their
 * directory, so a link that is created meanwhile is not followed.
 */
#include "agents/node/lifecycle.h"
#include "agents/node/lifecycle_net.h"

#include "base/file.h"
#include "base/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_PREFIX "file://"
#define COPY_BYTES 65536

static int say(char ret_error[LIFECYCLE_ERROR_MAX], int status, const char *what, const char *why)
{
    snprintf(ret_error, LIFECYCLE_ERROR_MAX, "%.200s: %.100s", what, why);
    return status;
}

/* --- a directory --------------------------------------------------------------------------------------------- */

struct copy {
    int64_t bytes, files;
    char *error;
};

static void close_fd(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}
#define AUTO_FD __attribute__((cleanup(close_fd)))

static int copy_bytes(struct copy *copy, int from, int to, const char *name)
{
    char bytes[COPY_BYTES];
    ssize_t n;
    while ((n = read(from, bytes, sizeof(bytes))) > 0) {
        copy->bytes += n;
        if (copy->bytes > LIFECYCLE_SOURCE_TOTAL_MAX)
            return say(copy->error, STATUS_INVALID, name, "the source has more than 64 MiB");
        if (write(to, bytes, (size_t)n) != n)
            return say(copy->error, STATUS_IO, name, strerror(errno));
    }
    return n == 0 ? 0 : say(copy->error, STATUS_IO, name, strerror(errno));
}

static int copy_file(struct copy *copy, int from_dir, int to_dir, const char *name)
{
    struct stat st;
    AUTO_FD int from = openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (from < 0 || fstat(from, &st) != 0)
        return say(copy->error, STATUS_IO, name, strerror(errno));
    if (!S_ISREG(st.st_mode))
        return say(copy->error, STATUS_INVALID, name, "neither a file nor a directory");
    AUTO_FD int to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, (st.st_mode & 0755) | 0600);
    if (to < 0)
        return say(copy->error, STATUS_IO, name, strerror(errno));
    return copy_bytes(copy, from, to, name);
}

static int copy_tree(struct copy *copy, int from, int to, int depth);

static int copy_directory(struct copy *copy, int from_dir, int to_dir, const char *name, int depth)
{
    AUTO_FD int from = openat(from_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (from < 0 || mkdirat(to_dir, name, 0755) != 0)
        return say(copy->error, STATUS_IO, name, strerror(errno));
    AUTO_FD int to = openat(to_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (to < 0)
        return say(copy->error, STATUS_IO, name, strerror(errno));
    return copy_tree(copy, from, to, depth + 1);
}

static int copy_entry(struct copy *copy, int from, int to, const char *name, int depth)
{
    struct stat st;
    if (++copy->files > LIFECYCLE_SOURCE_FILES_MAX)
        return say(copy->error, STATUS_INVALID, name, "the source has more than 4096 files");
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) != 0)
        return say(copy->error, STATUS_IO, name, strerror(errno));
    if (S_ISLNK(st.st_mode))
        return say(copy->error, STATUS_INVALID, name, "symbolic links are not followed; put the file itself there");
    return S_ISDIR(st.st_mode) ? copy_directory(copy, from, to, name, depth) : copy_file(copy, from, to, name);
}

static int copy_tree(struct copy *copy, int from, int to, int depth)
{
    if (depth > LIFECYCLE_SOURCE_DEPTH_MAX)
        return say(copy->error, STATUS_INVALID, "the source", "its directories are more than 16 deep");
    DIR *dir = fdopendir(fcntl(from, F_DUPFD_CLOEXEC, 0));
    const struct dirent *entry;
    int status = dir != NULL ? 0 : say(copy->error, STATUS_IO, "the source", strerror(errno));
    while (status == 0 && (errno = 0, entry = readdir(dir)) != NULL)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            status = copy_entry(copy, from, to, entry->d_name, depth);
    if (status == 0 && errno != 0)
        status = say(copy->error, STATUS_IO, "the source", strerror(errno));
    if (dir != NULL)
        closedir(dir);
    return status;
}

/* The path of the directory itself may contain links: an administrator chose it. */
static int fetch_directory(const char *path, const char *directory, char ret_error[LIFECYCLE_ERROR_MAX])
{
    struct copy copy = {.error = ret_error};
    AUTO_FD int from = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (from < 0)
        return say(ret_error, STATUS_NOT_FOUND, path, strerror(errno));
    AUTO_FD int to = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (to < 0)
        return say(ret_error, STATUS_IO, directory, strerror(errno));
    return copy_tree(&copy, from, to, 0);
}

/* --- all ----------------------------------------------------------------------------------------------------- */

/* The copy may have lost the executable bit. */
static int check_scripts(const struct lifecycle_job *job, const char *directory, char ret_error[LIFECYCLE_ERROR_MAX])
{
    for (int i = 0; i < LIFECYCLE_SCRIPTS_MAX; i++) {
        struct stat st;
        autofree char *path = own_printf("%s/%s", directory, job->scripts[i]);
        if (job->scripts[i][0] == '\0')
            continue;
        if (lstat(path, &st) != 0 || !S_ISREG(st.st_mode))
            return say(ret_error, STATUS_NOT_FOUND, job->scripts[i], "the source has no such file");
        if (chmod(path, st.st_mode | 0700) != 0)
            return say(ret_error, STATUS_IO, job->scripts[i], strerror(errno));
    }
    return 0;
}

int lifecycle_fetch(const struct runner_options *options, const struct lifecycle_job *job, const char *directory,
                    char ret_error[LIFECYCLE_ERROR_MAX])
{
    int status = file_remove_tree(directory);
    if (status == 0)
        status = file_make_dirs(directory, 0755);
    if (status != 0)
        return say(ret_error, status, directory, status_meaning(status));
    if (text_starts_with(job->source, FILE_PREFIX "/"))
        status = fetch_directory(job->source + strlen(FILE_PREFIX), directory, ret_error);
    else if (text_starts_with(job->source, HTTPS_PREFIX))
        status = lifecycle_fetch_address(options, job, directory, ret_error);
    else if (text_starts_with(job->source, S3_PREFIX))
        status = lifecycle_fetch_s3(options, job, directory, ret_error);
    else
        return say(ret_error, STATUS_INVALID, job->source,
                   "scripts come from https://, s3:// or file:/// and nowhere else");
    return status != 0 ? status : check_scripts(job, directory, ret_error);
}
