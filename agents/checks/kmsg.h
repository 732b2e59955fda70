/*
 * The kernel log check: reads /dev/kmsg, systemd's journal or a plain file, and finds NVIDIA's Xid and SXid lines and the lines of
 * kmsg_patterns.def.
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
    bool earlier_boot;                     /* of a file: its present content may belong to that boot, and is skipped */
};

/* path: a device, a file, KMSG_JOURNAL, or NULL: the device, else the journal. clock outlives the check. from NULL: read the whole
 * log. The log need not exist yet. */
struct kmsg *kmsg_new(const char *path, const struct kmsg_position *from, const struct clock *clock);
void kmsg_free(struct kmsg *kmsg);
/* Whether records of programs count like those of the kernel, for drills. Default false. */
void kmsg_take_tests(struct kmsg *kmsg, bool take);
/* Reads what is available, within a limit. True: there may be more. */
bool kmsg_read(struct kmsg *kmsg, finding_fn *on_finding, void *arg);
struct kmsg_position kmsg_position(const struct kmsg *kmsg);
/* False while the log cannot be read; heartbeats then do not list the check. */
bool kmsg_is_open(const struct kmsg *kmsg);
/* Poll it for reading; -1: call kmsg_read every second. */
int kmsg_fd(const struct kmsg *kmsg);
/* Appends a line to the log, for fault injection. INVALID for control characters or a line that is too long. */
int kmsg_inject(struct kmsg *kmsg, const char *line);

/* For kmsg_read, and for tests, which cannot create a device. Takes one record of the device. Takes the error of a failed read
 * (EPIPE: records were overwritten); true: continue reading. After a permanent error the device is closed, and kmsg_read opens it
 * again. */
void kmsg_take_record(struct kmsg *kmsg, const char *data, size_t len, finding_fn *on_finding, void *arg);
bool kmsg_take_error(struct kmsg *kmsg, int error);
/* Takes one line of text without its line feed. It has no place. */
void kmsg_take_line(struct kmsg *kmsg, const char *line, size_t len, finding_fn *on_finding, void *arg);

#endif
