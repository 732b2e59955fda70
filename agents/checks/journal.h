/*
 * Follows the kernel's messages in systemd's journal. A journalctl process runs all the time and is restarted when it ends. Used
 * where /dev/kmsg cannot be read, or belongs to another machine.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_JOURNAL_H
#define HOLDFAST_AGENTS_CHECKS_JOURNAL_H

#include "agents/checks/journal_entry.h"
#include "base/clock.h"

struct journal;

/* Whether journalctl exists. */
bool journal_is_there(const char *tool);
/* tool: "journalctl", or a path. directory: of the journal; NULL: the system's. cursor: the last processed entry, or "". Reading
 * continues after it; if the entry no longer exists, a gap is reported. clock outlives the journal. */
struct journal *journal_new(const char *tool, const char *directory, const char *cursor, const struct clock *clock);
/* Ends journalctl. */
void journal_free(struct journal *journal);
/* Hands out entries, about bytes_max bytes at most. True: there may be more. An entry with lost > 0 and no text reports missing
 * entries. */
bool journal_read(struct journal *journal, size_t bytes_max, journal_entry_fn *fn, void *arg);
/* The cursor of the last entry that was handed out. */
const char *journal_cursor(const struct journal *journal);
/* journalctl has printed an entry. Every boot has messages; without any, this user may not read them. */
bool journal_is_open(const struct journal *journal);
/* Poll it for reading; -1: journalctl does not run, call journal_read every second. */
int journal_fd(const struct journal *journal);

#endif
