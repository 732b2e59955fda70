/*
 * Reads the kernel log and passes on the lines that kmsg_pattern.h recognizes. policy/faults has their meaning.
 *
 * The device returns one record per read, and EPIPE when it has overwritten unread records. The lost records may have held a fault,
 * so the loss is reported as a finding. The same holds for missing sequence numbers after a pause of the agent. A plain file
 * (agents/checks/tail.h) may hold bare lines, lines with syslog headers, or records. The journal (agents/checks/journal.h) has the
 * same messages, and reports lost ones as well.
 *
 * Records and entries have the kernel's timestamp. A line of a file gets the time of reading. The place of a line identifies it: it
 * is the same for every process that reads it.
 */
#include "agents/checks/kmsg.h"

#include "agents/checks/journal.h"
#include "agents/checks/kmsg_pattern.h"
#include "agents/checks/kmsg_record.h"
#include "agents/checks/tail.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "policy/faults/faults.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define READ_RECORDS_MAX 2048    /* per turn, so that heartbeats are not delayed */
#define READ_BYTES_MAX (1 << 19) /* the same for a file */
#define INJECT_PREFIX "<3>"      /* KERN_ERR, as the driver logs an Xid */
#define US_PER_MS 1000

struct kmsg {
    char *path;
    bool may_be_journal; /* no --kernel-log was given */
    const struct clock *clock;
    int fd; /* the device; -1 when it is a file or cannot be opened */
    struct tail *tail;
    int64_t file[2], file_log; /* identity and count of truncations; and the log id of both */
    struct journal *journal;
    struct kmsg_patterns *patterns;
    struct kmsg_position from;
    int64_t next_seq; /* of the device; -1: nothing read yet and no earlier position */
    bool overrun;
    bool takes_tests;
};

/* --- recognising --------------------------------------------------------------------------------------------- */

static void judge(struct finding *finding)
{
    struct fault_judgement judgement;
    fault_judge(finding->source, finding->code, finding->raw_line, &judgement);
    finding->severity = judgement.severity;
    finding->action = judgement.action;
}

/* Fills in code and device of a recognized line. */
static bool name_it(const struct kmsg_hit *hit, const char *line, size_t len, struct finding *finding)
{
    struct xid_line xid;
    if (!text_equal(hit->code, KMSG_XID)) {
        text_copy_cut(finding->code, sizeof(finding->code), hit->code);
        text_copy_cut(finding->device, sizeof(finding->device), hit->device);
        return true;
    }
    if (xid_line_parse(line, len, &xid) != 0)
        return false; /* it only resembles an Xid line and has no code */
    snprintf(finding->code, sizeof(finding->code), "%s.%d", xid.is_sxid ? "sxid" : "xid", xid.code);
    text_copy_cut(finding->device, sizeof(finding->device), xid.device);
    return true;
}

/* Place and time of a line. */
struct origin {
    struct log_place place;
    int64_t at_us; /* since boot; -1: no timestamp */
};

static void date(const struct kmsg *kmsg, const struct origin *origin, struct finding *finding)
{
    int64_t now_ms = clock_mono_ms(kmsg->clock), at_ms = origin->at_us < 0 ? now_ms : origin->at_us / US_PER_MS;
    int64_t age_ms = now_ms > at_ms ? now_ms - at_ms : 0;
    finding->place = origin->place;
    finding->mono_ms = at_ms;
    finding->at_ms = clock_wall_ms(kmsg->clock) - age_ms;
}

/* Most lines match no pattern, so all other work comes after the match. */
static void take_text(const struct kmsg *kmsg, const char *line, size_t len, const struct origin *origin,
                      finding_fn *on_finding, void *arg)
{
    struct kmsg_hit hit;
    if (!kmsg_patterns_find(kmsg->patterns, line, len, &hit))
        return;
    struct finding finding = {.source = KMSG_SOURCE, .count = 1};
    if (!name_it(&hit, line, len, &finding))
        return;
    date(kmsg, origin, &finding);
    text_copy_clean(finding.raw_line, sizeof(finding.raw_line), line, len);
    judge(&finding);
    on_finding(&finding, arg);
}

/* A record of a program is ignored, whatever its text. */
static bool counts(const struct kmsg *kmsg, const struct kmsg_record *record)
{
    return record->priority <= KMSG_KERNEL_PRIORITY_MAX || kmsg->takes_tests;
}

static void take_line(const struct kmsg *kmsg, const char *line, size_t len, const struct origin *origin,
                      finding_fn *on_finding, void *arg)
{
    struct kmsg_record record;
    if (kmsg_record_parse(line, len, &record) != 0)
        take_text(kmsg, line, len, origin, on_finding, arg);
    else if (counts(kmsg, &record))
        take_text(kmsg, record.text, record.len, origin, on_finding, arg);
}

void kmsg_take_line(struct kmsg *kmsg, const char *line, size_t len, finding_fn *on_finding, void *arg)
{
    static const struct origin nowhere = {.at_us = -1};
    take_line(kmsg, line, len, &nowhere, on_finding, arg);
}

/* A loss is detected at the record after it, and has the place of that record. */
static void report_overrun(struct kmsg *kmsg, int64_t lost, struct log_place place, finding_fn *on_finding, void *arg)
{
    const struct origin origin = {.place = place, .at_us = -1};
    struct finding finding = {.source = KMSG_SOURCE, .code = KMSG_OVERRUN_CODE, .count = lost > 0 ? lost : 1};
    date(kmsg, &origin, &finding);
    snprintf(finding.raw_line, sizeof(finding.raw_line),
             "%" PRId64 " kernel log records were overwritten before they could be read", finding.count);
    judge(&finding);
    on_finding(&finding, arg);
}

/* --- the device ---------------------------------------------------------------------------------------------- */

void kmsg_take_record(struct kmsg *kmsg, const char *data, size_t len, finding_fn *on_finding, void *arg)
{
    struct kmsg_record record;
    if (kmsg_record_parse(data, len, &record) != 0)
        return;
    if (kmsg->next_seq >= 0 && record.seq < kmsg->next_seq)
        return; /* an earlier process reported it */
    /* a sequence number is unique in one boot; keys contain the boot id */
    const struct origin origin = {.place = {LOG_DEVICE, record.seq}, .at_us = record.at_us};
    int64_t lost = kmsg->next_seq >= 0 ? record.seq - kmsg->next_seq : 0;
    if (lost > 0 || kmsg->overrun)
        report_overrun(kmsg, lost, origin.place, on_finding, arg);
    kmsg->overrun = false;
    kmsg->next_seq = record.seq + 1;
    if (counts(kmsg, &record))
        take_text(kmsg, record.text, record.len, &origin, on_finding, arg);
}

bool kmsg_take_error(struct kmsg *kmsg, int error)
{
    if (error == EPIPE)
        kmsg->overrun = true; /* reported with the next record, whose number shows how many are lost */
    if (error == EPIPE || error == EINTR)
        return true;
    if (error != EAGAIN && kmsg->fd >= 0) { /* heartbeats must not list the check until the device opens again */
        close(kmsg->fd);
        kmsg->fd = -1;
    }
    return false;
}

static bool read_device(struct kmsg *kmsg, finding_fn *on_finding, void *arg)
{
    char data[KMSG_RECORD_BYTES_MAX];
    for (int i = 0; i < READ_RECORDS_MAX; i++) {
        ssize_t n = read(kmsg->fd, data, sizeof(data));
        if (n > 0)
            kmsg_take_record(kmsg, data, (size_t)n, on_finding, arg);
        else if (n == 0 || !kmsg_take_error(kmsg, errno))
            return false;
    }
    return true;
}

/* --- files and the journal ----------------------------------------------------------------------------------- */

struct target {
    struct kmsg *kmsg;
    finding_fn *on_finding;
    void *arg;
};

static void on_file_line(const char *line, size_t len, const struct tail_position *at, void *arg)
{
    const struct target *target = arg;
    struct kmsg *kmsg = target->kmsg;
    if (at->file != kmsg->file[0] || at->emptied != kmsg->file[1]) {
        kmsg->file[0] = at->file;
        kmsg->file[1] = at->emptied;
        kmsg->file_log = log_id(kmsg->file, sizeof(kmsg->file));
    }
    const struct origin origin = {.place = {kmsg->file_log, at->offset}, .at_us = -1};
    take_line(target->kmsg, line, len, &origin, target->on_finding, target->arg);
}

/* "s=ID;i=1f;…": the sequence id of a journal and the number of the entry. Any other cursor is hashed as a whole. */
static struct log_place place_of_entry(const struct journal_entry *entry)
{
    const char *end = strchr(entry->cursor, ';');
    char *after = NULL;
    if (end == NULL || !text_starts_with(entry->cursor, "s=") || !text_starts_with(end, ";i="))
        return (struct log_place){log_id(entry->cursor, strlen(entry->cursor)), 0};
    unsigned long long sequence = strtoull(end + 3, &after, 16);
    return (struct log_place){log_id(entry->cursor, (size_t)(end - entry->cursor)), (int64_t)(sequence & INT64_MAX)};
}

static void on_journal_entry(const struct journal_entry *entry, void *arg)
{
    const struct target *target = arg;
    const struct origin origin = {.place = place_of_entry(entry), .at_us = entry->at_us};
    if (entry->lost > 0)
        report_overrun(target->kmsg, entry->lost, origin.place, target->on_finding, target->arg);
    if (entry->is_kernels || target->kmsg->takes_tests)
        take_text(target->kmsg, entry->text, entry->len, &origin, target->on_finding, target->arg);
}

/* --- which log it is ----------------------------------------------------------------------------------------- */

static bool is_journal(const char *path)
{
    return strcmp(path, KMSG_JOURNAL) == 0 || text_starts_with(path, KMSG_JOURNAL ":");
}

static void open_journal(struct kmsg *kmsg)
{
    const char *colon = is_journal(kmsg->path) ? strchr(kmsg->path, ':') : NULL;
    kmsg->journal = journal_new("journalctl", colon != NULL ? colon + 1 : NULL, kmsg->from.cursor, kmsg->clock);
}

/* A character device is read by records. Any other path is followed as a file, also when it does not exist yet. */
static void open_log(struct kmsg *kmsg)
{
    struct stat st;
    bool is_device = stat(kmsg->path, &st) == 0 && S_ISCHR(st.st_mode);
    if (is_device)
        kmsg->fd = open(kmsg->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (is_journal(kmsg->path)) {
        open_journal(kmsg);
    } else if (kmsg->may_be_journal && kmsg->fd < 0) {
        if (journal_is_there("journalctl")) {
            log_warn("%s cannot be read; the journal is followed instead", kmsg->path);
            open_journal(kmsg);
        }
    } else if (!is_device) {
        const struct tail_position from = {
            .file = kmsg->from.file,
            .offset = kmsg->from.offset,
            .emptied = kmsg->from.emptied,
            .pass_over = kmsg->from.earlier_boot,
        };
        kmsg->tail = tail_new(kmsg->path, &from);
    }
}

struct kmsg *kmsg_new(const char *path, const struct kmsg_position *from, const struct clock *clock)
{
    struct kmsg *kmsg = own_calloc(1, sizeof(*kmsg));
    kmsg->path = own_strdup(path != NULL ? path : KMSG_DEVICE);
    kmsg->may_be_journal = path == NULL;
    kmsg->clock = clock;
    kmsg->patterns = kmsg_patterns_new();
    kmsg->fd = -1;
    kmsg->next_seq = from != NULL && from->file == 0 && from->cursor[0] == '\0' ? from->offset : -1;
    if (from != NULL)
        kmsg->from = *from;
    open_log(kmsg);
    return kmsg;
}

void kmsg_free(struct kmsg *kmsg)
{
    if (kmsg == NULL)
        return;
    if (kmsg->fd >= 0)
        close(kmsg->fd);
    tail_free(kmsg->tail);
    journal_free(kmsg->journal);
    kmsg_patterns_free(kmsg->patterns);
    free(kmsg->path);
    free(kmsg);
}

void kmsg_take_tests(struct kmsg *kmsg, bool take)
{
    kmsg->takes_tests = take;
}

bool kmsg_read(struct kmsg *kmsg, finding_fn *on_finding, void *arg)
{
    struct target target = {kmsg, on_finding, arg};
    if (kmsg->fd < 0 && kmsg->tail == NULL && kmsg->journal == NULL)
        open_log(kmsg);
    if (kmsg->fd >= 0)
        return read_device(kmsg, on_finding, arg);
    if (kmsg->journal != NULL)
        return journal_read(kmsg->journal, READ_BYTES_MAX, on_journal_entry, &target);
    return kmsg->tail != NULL && tail_read(kmsg->tail, READ_BYTES_MAX, on_file_line, &target);
}

struct kmsg_position kmsg_position(const struct kmsg *kmsg)
{
    struct kmsg_position position = {.offset = kmsg->next_seq < 0 ? 0 : kmsg->next_seq};
    if (kmsg->journal != NULL)
        text_copy_cut(position.cursor, sizeof(position.cursor), journal_cursor(kmsg->journal));
    if (kmsg->tail == NULL)
        return position;
    struct tail_position at = tail_position(kmsg->tail);
    return (struct kmsg_position){
        .file = at.file, .offset = at.offset, .emptied = at.emptied, .earlier_boot = at.pass_over};
}

bool kmsg_is_open(const struct kmsg *kmsg)
{
    if (kmsg->journal != NULL)
        return journal_is_open(kmsg->journal);
    return kmsg->tail != NULL ? tail_is_open(kmsg->tail) : kmsg->fd >= 0;
}

int kmsg_fd(const struct kmsg *kmsg)
{
    if (kmsg->journal != NULL)
        return journal_fd(kmsg->journal);
    return kmsg->tail != NULL ? tail_fd(kmsg->tail) : kmsg->fd;
}

int kmsg_inject(struct kmsg *kmsg, const char *line)
{
    char out[RAW_LINE_MAX_BYTES + sizeof(INJECT_PREFIX) + 1];
    size_t len = strlen(line);
    if (len == 0 || len >= RAW_LINE_MAX_BYTES || !text_is_clean(line))
        return STATUS_INVALID;
    bool device = kmsg->tail == NULL;
    int out_len = snprintf(out, sizeof(out), "%s%s\n", device ? INJECT_PREFIX : "", line);
    const char *path = is_journal(kmsg->path) ? KMSG_DEVICE : kmsg->path;
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
    if (fd < 0)
        return STATUS_IO;
    ssize_t n = write(fd, out, (size_t)out_len);
    close(fd);
    return n == out_len ? 0 : STATUS_IO;
}
