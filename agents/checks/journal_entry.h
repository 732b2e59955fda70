/*
 * The stream of `journalctl -o export` taken apart into the kernel's messages. Pure.
 *
 * An entry is lines of KEY=value up to an empty line; a value with bytes that are no text is KEY, a line feed, its length as
 * eight bytes (the least first), that many bytes and a line feed (systemd: Journal Export Format).
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
    const char *text; /* as the kernel log has it; "" of an entry that says how many were lost */
    size_t len;
    int64_t at_us;   /* since boot; -1: not said */
    bool is_kernels; /* false: a program wrote it into the kernel log */
    int64_t lost;    /* kernel messages that the journal did not get; 0: none */
};

typedef void journal_entry_fn(const struct journal_entry *entry, void *arg);

struct journal_reader;

struct journal_reader *journal_reader_new(void);
void journal_reader_free(struct journal_reader *reader);
/* The next bytes, in pieces of any size. Entries that are neither the kernel's nor about it are passed over. */
void journal_reader_feed(struct journal_reader *reader, const char *data, size_t len, journal_entry_fn *fn, void *arg);
/* Another stream begins. */
void journal_reader_restart(struct journal_reader *reader);

#endif
