/*
 * The kernel log check: reads /dev/kmsg, systemd's journal or a plain file in its place, and finds NVIDIA's Xid and SXid lines
 * and those of kmsg_patterns.def.
 */
#ifndef HOLDFAST_AGENTS_CHECKS_KMSG_H
#define HOLDFAST_AGENTS_CHECKS_KMSG_H

#include "agents/checks/finding.h"
#include "agents/checks/journal_entry.h"
#include "base/clock.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KMSG_SOURCE "kmsg"
#define KMSG_OVERRUN_CODE "kernel.log.overrun"
#define KMSG_DEVICE "/dev/kmsg"
#define KMSG_JOURNAL "journal"     /* and "journal:DIR" */
#define KMSG_RECORD_BYTES_MAX 8192 /* CONSOLE_EXT_LOG_MAX: no record is larger */

struct kmsg;

/* How far the log was read in this boot. file 0 is the device, whose offset is the next sequence number, or the journal. */
struct kmsg_position {
    int64_t file;
    int64_t offset;
    int64_t emptied;                       /* how often the file was emptied in place */
    char cursor[JOURNAL_CURSOR_MAX_BYTES]; /* the journal's; "" */
    bool earlier_boot; /* a file's: what is added to it by now may be that boot's, and is passed over */
};

/* path: a device, a file, KMSG_JOURNAL, or NULL: the device, and where that cannot be read, the journal. clock outlives the
 * check. from: NULL to read all that is there. The log need not be there yet. */
struct kmsg *kmsg_new(const char *path, const struct kmsg_position *from, const struct clock *clock);
void kmsg_free(struct kmsg *kmsg);
/* Whether records that programs wrote into the kernel log count like the kernel's own: for drills. False at first. */
void kmsg_take_tests(struct kmsg *kmsg, bool take);
/* Reads what there is, within a limit; true when there may be more at once. */
bool kmsg_read(struct kmsg *kmsg, finding_fn *on_finding, void *arg);
struct kmsg_position kmsg_position(const struct kmsg *kmsg);
/* False while the log cannot be read: the check is then not among those that a heartbeat names. */
bool kmsg_is_open(const struct kmsg *kmsg);
/* To wait on for reading; -1: call kmsg_read every second. */
int kmsg_fd(const struct kmsg *kmsg);
/* Appends a line to the log, for fault injection. INVALID for control characters or a line that is too long. */
int kmsg_inject(struct kmsg *kmsg, const char *line);

/* One record as the device gives it, and what a failed read of the device means (EPIPE: records were overwritten):
 * true to read on. After what no later read can mend the device is shut, and kmsg_read opens it anew. kmsg_read uses them; here for tests, which cannot make a device. */
void kmsg_take_record(struct kmsg *kmsg, const char *data, size_t len, finding_fn *on_finding, void *arg);
bool kmsg_take_error(struct kmsg *kmsg, int error);
/* One line of text, without its line feed, of nowhere. */
void kmsg_take_line(struct kmsg *kmsg, const char *line, size_t len, finding_fn *on_finding, void *arg);

#endif
