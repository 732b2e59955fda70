/*
 * Follows a growing text file line by line, through rotation and truncation, as `tail -F` does.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_TAIL_H
#define HOLDFAST_AGENTS_CHECKS_TAIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TAIL_LINE_BYTES_MAX 4096 /* the rest of a longer line is passed over */

struct tail;

/* A file's identity (device, inode, birth) in one number, and the first byte not handed out yet. */
struct tail_position {
    int64_t file;
    int64_t offset;
    int64_t emptied; /* how often it was emptied in place: offsets began again */
    bool pass_over;  /* what follows the offset by now, the line at the end included, is not handed out */
};

/* line has no zero and no line feed. at is the position of its first byte. */
typedef void tail_line_fn(const char *line, size_t len, const struct tail_position *at, void *arg);

/* The file need not be there yet. from: where to go on when it is still that file; NULL or another file: its start. */
struct tail *tail_new(const char *path, const struct tail_position *from);
void tail_free(struct tail *tail);
/* Hands out complete lines, at most about bytes_max bytes of them; true when there may be more at once. */
bool tail_read(struct tail *tail, size_t bytes_max, tail_line_fn *on_line, void *arg);
struct tail_position tail_position(const struct tail *tail);
bool tail_is_open(const struct tail *tail);
/* Readable when something changed (inotify); -1: nobody tells us, so ask every second. */
int tail_fd(const struct tail *tail);

#endif
