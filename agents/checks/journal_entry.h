/*
 * Parses the output of `journalctl -o export` into the kernel's messages. Pure.
 *
 * An entry is lines of KEY=value up to an empty line; a binary value is KEY, a line feed, its length as
 * eight bytes (little-endian), that many bytes and a line feed (systemd: Journal Export Format).
 */
#ifndef HOLDFAST_AGENTS_CHECKS_JOURNAL_ENTRY_H
#define HOLDFAST_AGENTS_CHECKS_JOURNAL_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOURNAL_CURSOR_MAX_BYTES 256                      /* 150 of systemd 252 */
#define JOURNAL_MISSED "e9bf28e6e834481bb6f48f548ad13606" /* SD_MESSAGE_JOURNAL_MISSED: "Missed 12 kernel messages" */
#define JOURNAL_TEXT_MAX_BYTES 4096                       /* as of a line of a file; what is beyond is cut */

struct journal_entry {
    const char *cursor;
    const char *text; /* as in the kernel log; "" when the entry reports lost messages */
    size_t len;
    int64_t at_us;   /* since boot; -1: not said */
    bool is_kernels; /* false: written by a program */
    int64_t lost;    /* kernel messages that journald missed; 0: none */
};

typedef void journal_entry_fn(const struct journal_entry *entry, void *arg);

struct journal_reader;

struct journal_reader *journal_reader_new(void);
void journal_reader_free(struct journal_reader *reader);
/* Takes the next bytes, in pieces of any size. Other entries are skipped. */
void journal_reader_feed(struct journal_reader *reader, const char *data, size_t len, journal_entry_fn *fn, void *arg);
/* A new stream begins. */
void journal_reader_restart(struct journal_reader *reader);

#endif
