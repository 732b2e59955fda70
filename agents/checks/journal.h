/*
 * Follows the kernel's messages in systemd's journal, by a journalctl that runs for as long as we do and is started again
 * when it ends. For where /dev/kmsg may not be read, or is not that of this machine.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_JOURNAL_H
#define HOLDFAST_AGENTS_CHECKS_JOURNAL_H

#include "agents/checks/journal_entry.h"
#include "base/clock.h"

struct journal;

/* Whether there is a journalctl to ask. */
bool journal_is_there(const char *tool);
/* tool: "journalctl", or a path. directory: where the journal lies; NULL: the system's. cursor: the last entry that was
 * dealt with, ""; what is behind it is read again, and when it is there no more, that is a gap. clock outlives it. */
struct journal *journal_new(const char *tool, const char *directory, const char *cursor, const struct clock *clock);
/* Ends journalctl. */
void journal_free(struct journal *journal);
/* Hands out what there is, about bytes_max at most; true when there may be more at once. An entry with lost and no text
 * says that entries are missing. */
bool journal_read(struct journal *journal, size_t bytes_max, journal_entry_fn *fn, void *arg);
/* Of the last entry that was handed out. */
const char *journal_cursor(const struct journal *journal);
/* It has said something since it was started: every boot has messages, so who sees none may not see them. */
bool journal_is_open(const struct journal *journal);
/* Readable when there is something; -1: it does not run, so call journal_read every second. */
int journal_fd(const struct journal *journal);

#endif
