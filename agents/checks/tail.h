/*
 * Follows a growing text file line by line, through rotation and truncation, as `tail -F` does.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_TAIL_H
#define HOLDFAST_AGENTS_CHECKS_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAIL_LINE_BYTES_MAX 4096 /* the rest of a longer line is skipped */

struct tail;

/* The identity of a file (device, inode, birth) in one number, and the first byte that was not handed out. */
struct tail_position {
    int64_t file;
    int64_t offset;
    int64_t emptied; /* how often it was truncated in place: offsets start again */
    bool pass_over;  /* skip the present content, including an unfinished line at its end */
};

/* line is not zero-terminated and has no line feed. at is the position of its first byte. */
typedef void tail_line_fn(const char *line, size_t len, const struct tail_position *at, void *arg);

/* The file need not exist yet. from: where to continue; NULL, or of an unknown file: start at the beginning. */
struct tail *tail_new(const char *path, const struct tail_position *from);
void tail_free(struct tail *tail);
/* Hands out complete lines, about bytes_max bytes at most. True: there may be more. */
bool tail_read(struct tail *tail, size_t bytes_max, tail_line_fn *on_line, void *arg);
struct tail_position tail_position(const struct tail *tail);
bool tail_is_open(const struct tail *tail);
/* Readable when something changed (inotify); -1: no inotify, call tail_read every second. */
int tail_fd(const struct tail *tail);

#endif
