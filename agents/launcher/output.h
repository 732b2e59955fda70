/*
 * What workers write: into their log files byte for byte, onto our own output line by line with a prefix, and to whoever watches it.
 *
 * A console that takes nothing never holds us: what is there is kept up to a limit. Beyond it a stream that has a log file leaves lines
 * out of the console and says how many, and one that has none waits, as if its worker wrote to the console itself.
 */
#ifndef HOLDFAST_AGENTS_LAUNCHER_OUTPUT_H
#define HOLDFAST_AGENTS_LAUNCHER_OUTPUT_H

#include "agents/launcher/loop.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

#define CONSOLE_BYTES_MAX (1 << 20)

struct stream;

struct console {
    struct loop *loop;
    struct source source; /* in the loop while something waits */
    struct text waiting;
    size_t sent; /* of waiting */
    bool waits;
    struct stream *streams; /* that are held back, a list */
};

void console_init(struct console *console, struct loop *loop, int fd);
/* Writes what waits, for so long at most. */
void console_close(struct console *console, int64_t within_ms);

struct stream {
    struct loop *loop;
    struct source source;    /* our end of the worker's pipe */
    struct console *console; /* NULL: not shown */
    int file;                /* -1: none */
    char *prefix;            /* "": as it comes */
    struct text line;        /* without an end yet, where there is a prefix */
    bool after_return, held, lost;
    int64_t lines_left_out;
    struct stream *next_held;
    void (*on_bytes)(void *arg, int rank, int number, const char *bytes, size_t len);
    void (*on_end)(void *arg, int rank, int number);
    void *arg;
    int rank, number; /* 0: stdout, 1: stderr */
};

/* All but the pipe is set by the caller; takes over fd, which does not block. */
int stream_open(struct stream *stream, struct loop *loop, int fd);
/* Reads what is there already, and closes. Accepts one that is closed. */
void stream_close(struct stream *stream);

#endif
