/*
 * The file is read with pread. The position is always the first byte of the first line that was not handed out completely.
 *
 * At the end of the file there are two checks. If the path names another file, the file was rotated: the rest of the old file is its
 * last line, and the new file is read from its start. If the file is shorter than the position, it was truncated in place. inotify
 * only wakes the reader; a lost event delays a line by a second.
 */
#include "agents/checks/tail.h"

#include "base/hash.h"
#include "base/own.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_EVENTS (IN_MODIFY | IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF)
#define DIRECTORY_EVENTS (IN_CREATE | IN_MOVED_TO)
#define EVENT_BYTES 4096

struct tail {
    char *path, *directory;
    int fd, inotify;
    struct tail_position at; /* pass_over is never set in it */
    size_t partial;          /* bytes of the unfinished line in buffer */
    bool skipping;           /* in the rest of a line that is too long */
    struct tail_position from;
    char buffer[TAIL_LINE_BYTES_MAX];
};

/* 0: no file. Inode numbers are reused soon, so the time of birth is part of the identity. */
static int64_t identity_of(int fd, const char *path)
{
    struct statx st;
    if (statx(fd >= 0 ? fd : AT_FDCWD, fd >= 0 ? "" : path, fd >= 0 ? AT_EMPTY_PATH : 0, STATX_INO | STATX_BTIME,
              &st) != 0)
        return 0;
    uint64_t hash =
        hash_number(hash_number(hash_number(hash_number(1, st.stx_dev_major), st.stx_dev_minor), st.stx_ino), 7);
    if (st.stx_mask & STATX_BTIME)
        hash = hash_number(hash_number(hash, (uint64_t)st.stx_btime.tv_sec), st.stx_btime.tv_nsec);
    int64_t identity = (int64_t)(hash >> 1); /* no sign bit */
    return identity != 0 ? identity : 1;
}

static void watch(struct tail *tail)
{
    if (tail->inotify < 0)
        return;
    (void)inotify_add_watch(tail->inotify, tail->directory, DIRECTORY_EVENTS);
    (void)inotify_add_watch(tail->inotify, tail->path, FILE_EVENTS);
}

static void shut(struct tail *tail)
{
    if (tail->fd >= 0)
        close(tail->fd);
    tail->fd = -1;
    tail->at = (struct tail_position){0};
    tail->partial = 0;
    tail->skipping = false;
}

static void go_to_end(struct tail *tail, int64_t size)
{
    char last = '\n';
    tail->at.offset = size;
    tail->skipping = size > 0 && pread(tail->fd, &last, 1, size - 1) == 1 && last != '\n';
}

static int open_path(const char *path)
{
    return open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

/* The earlier file, if it was rotated while no agent ran: it is in the same directory, under a longer name. */
static int open_rotated(const struct tail *tail)
{
    const char *slash = strrchr(tail->path, '/'), *name = slash != NULL ? slash + 1 : tail->path;
    int fd = -1;
    DIR *dir = opendir(tail->directory);
    for (struct dirent *entry; dir != NULL && fd < 0 && (entry = readdir(dir)) != NULL;) {
        if (strncmp(entry->d_name, name, strlen(name)) != 0 || strcmp(entry->d_name, name) == 0)
            continue;
        autofree char *path = own_printf("%s/%s", tail->directory, entry->d_name);
        if (identity_of(-1, path) == tail->from.file)
            fd = open_path(path);
    }
    if (dir != NULL)
        closedir(dir);
    return fd;
}

static bool open_file(struct tail *tail)
{
    shut(tail);
    watch(tail);
    tail->fd = open_path(tail->path);
    if (tail->from.file != 0 && !tail->from.pass_over && identity_of(tail->fd, tail->path) != tail->from.file) {
        int rotated = open_rotated(tail);
        if (rotated >= 0 && tail->fd >= 0)
            close(tail->fd);
        tail->fd = rotated >= 0 ? rotated : tail->fd;
    }
    if (tail->fd < 0)
        return false;
    tail->at.file = identity_of(tail->fd, NULL);
    struct stat st;
    bool same = tail->at.file == tail->from.file && fstat(tail->fd, &st) == 0;
    bool goes_on = same && tail->from.offset <= st.st_size;
    tail->at.emptied = same ? tail->from.emptied + !goes_on : 0;
    if (goes_on && tail->from.pass_over)
        go_to_end(tail, st.st_size);
    else if (goes_on)
        tail->at.offset = tail->from.offset;
    tail->from = (struct tail_position){0};
    return true;
}

struct tail *tail_new(const char *path, const struct tail_position *from)
{
    struct tail *tail = own_calloc(1, sizeof(*tail));
    const char *slash = strrchr(path, '/');
    tail->path = own_strdup(path);
    if (slash == NULL)
        tail->directory = own_strdup(".");
    else
        tail->directory = own_printf("%.*s", slash == path ? 1 : (int)(slash - path), path);
    if (from != NULL)
        tail->from = *from;
    tail->fd = -1;
    tail->inotify = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    open_file(tail);
    return tail;
}

void tail_free(struct tail *tail)
{
    if (tail == NULL)
        return;
    shut(tail);
    if (tail->inotify >= 0)
        close(tail->inotify);
    free(tail->path);
    free(tail->directory);
    free(tail);
}

bool tail_is_open(const struct tail *tail)
{
    return tail->fd >= 0;
}

int tail_fd(const struct tail *tail)
{
    return tail->inotify;
}

struct tail_position tail_position(const struct tail *tail)
{
    if (tail->fd < 0)
        return tail->from;
    return tail->at;
}

/* The content of events does not matter: each wake-up reads all that is available. */
static void swallow_events(struct tail *tail)
{
    char events[EVENT_BYTES];
    while (tail->inotify >= 0 && read(tail->inotify, events, sizeof(events)) > 0)
        ;
}

static void give(struct tail *tail, const char *line, size_t len, tail_line_fn *on_line, void *arg)
{
    if (len > 0 && line[len - 1] == '\r')
        len--;
    if (!tail->skipping)
        on_line(line, len, &tail->at, arg); /* the offset is still that of the line's first byte */
}

/* Hands out the complete lines of the buffer and moves the rest to its start. */
static void give_lines(struct tail *tail, size_t len, tail_line_fn *on_line, void *arg)
{
    char *at = tail->buffer, *end = tail->buffer + len, *newline;
    while ((newline = memchr(at, '\n', (size_t)(end - at))) != NULL) {
        give(tail, at, (size_t)(newline - at), on_line, arg);
        tail->skipping = false;
        tail->at.offset += newline + 1 - at;
        at = newline + 1;
    }
    tail->partial = (size_t)(end - at);
    memmove(tail->buffer, at, tail->partial);
    if (tail->partial < sizeof(tail->buffer) && !tail->skipping)
        return;
    give(tail, tail->buffer, tail->partial, on_line, arg);
    tail->skipping = true;
    tail->at.offset += (int64_t)tail->partial;
    tail->partial = 0;
}

/* At the end of the file. True when a new or truncated file has to be read. */
static bool turn_page(struct tail *tail, tail_line_fn *on_line, void *arg)
{
    struct stat st;
    int64_t now = identity_of(-1, tail->path);
    if (now == 0)
        return false; /* removed; until a new file appears the old one may still grow */
    if (now != tail->at.file) {
        if (tail->partial > 0)
            give(tail, tail->buffer, tail->partial, on_line, arg);
        return open_file(tail);
    }
    if (fstat(tail->fd, &st) != 0 || st.st_size >= tail->at.offset + (int64_t)tail->partial)
        return false;
    tail->at.offset = 0;
    tail->at.emptied++;
    tail->partial = 0;
    tail->skipping = false;
    return st.st_size > 0;
}

bool tail_read(struct tail *tail, size_t bytes_max, tail_line_fn *on_line, void *arg)
{
    swallow_events(tail);
    if (tail->fd < 0 && !open_file(tail))
        return false;
    for (size_t total = 0; total < bytes_max;) {
        ssize_t n = pread(tail->fd, tail->buffer + tail->partial, sizeof(tail->buffer) - tail->partial,
                          tail->at.offset + (int64_t)tail->partial);
        if (n < 0 && errno == EINTR)
            continue;
        if (n > 0) {
            total += (size_t)n;
            give_lines(tail, tail->partial + (size_t)n, on_line, arg);
        } else if (n < 0) { /* the next call opens the file again and continues at this position */
            struct tail_position at = tail_position(tail);
            shut(tail);
            tail->from = at;
            return false;
        } else if (!turn_page(tail, on_line, arg)) {
            return false;
        }
    }
    return true;
}
