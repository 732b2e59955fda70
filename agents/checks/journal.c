/*
 * journalctl starts with the entry of the cursor itself (--cursor, not --after-cursor). If the first entry is another one, the
 * journal has dropped the cursor's entry and an unknown number after it.
 *
 * journalctl also prints the messages of journald about missed kernel messages.
 */
#include "agents/checks/journal.h"

#include "agents/checks/check.h"
#include "base/child.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define READ_BYTES 16384
#define RETRY_MIN_MS MS_PER_S
#define RETRY_MAX_MS MS_PER_MIN
#define SILENT_STARTS_MAX 3 /* with a cursor; then the cursor is taken as invalid */

struct journal {
    char *tool, *directory;
    const struct clock *clock;
    struct journal_reader *reader;
    char cursor[JOURNAL_CURSOR_MAX_BYTES];
    pid_t pid; /* 0: none; with fd -1 it was killed and is not reaped yet */
    int fd;
    bool began;  /* it has printed an entry */
    bool gapped; /* the cursor was dropped */
    int silent_starts;
    int64_t retry_at, retry_ms;
    journal_entry_fn *fn; /* of the current call */
    void *arg;
};

bool journal_is_there(const char *tool)
{
    autofree char *found = strchr(tool, '/') == NULL ? check_find_tool(NULL, tool) : own_strdup(tool);
    return found != NULL && access(found, X_OK) == 0;
}

struct journal *journal_new(const char *tool, const char *directory, const char *cursor, const struct clock *clock)
{
    struct journal *journal = own_calloc(1, sizeof(*journal));
    journal->tool = own_strdup(tool);
    journal->directory = directory != NULL ? own_strdup(directory) : NULL;
    journal->clock = clock;
    journal->reader = journal_reader_new();
    journal->fd = -1;
    journal->retry_ms = RETRY_MIN_MS;
    text_copy_cut(journal->cursor, sizeof(journal->cursor), cursor);
    return journal;
}

/* --- journalctl ---------------------------------------------------------------------------------------------- */

static void start(struct journal *journal)
{
    autofree char *directory = own_printf("--directory=%s", journal->directory != NULL ? journal->directory : "");
    autofree char *cursor = own_printf("--cursor=%s", journal->cursor);
    const char *argv[16] = {
        journal->tool, "--output=export", "--follow",          "--no-tail", "--boot",
        "--no-pager",  "--quiet",         "_TRANSPORT=kernel", "+",         "MESSAGE_ID=" JOURNAL_MISSED};
    size_t count = 10;
    if (journal->directory != NULL)
        argv[count++] = directory;
    if (journal->cursor[0] != '\0')
        argv[count++] = cursor;
    journal_reader_restart(journal->reader);
    journal->began = false;
    journal->silent_starts++;
    int status = child_spawn_piped(argv, &journal->pid, &journal->fd);
    if (status != 0) {
        journal->pid = 0;
        log_debug("journalctl cannot be started: %s", status_meaning(status));
    }
    journal->retry_at = clock_mono_ms(journal->clock) + journal->retry_ms;
    journal->retry_ms = journal->retry_ms * 2 < RETRY_MAX_MS ? journal->retry_ms * 2 : RETRY_MAX_MS;
}

static bool is_gone(struct journal *journal)
{
    if (journal->pid > 0 && waitpid(journal->pid, NULL, WNOHANG) != 0)
        journal->pid = 0;
    return journal->pid == 0;
}

static void stop(struct journal *journal)
{
    if (journal->fd >= 0)
        close(journal->fd);
    journal->fd = -1;
    if (journal->pid > 0)
        kill(-journal->pid, SIGKILL);
    (void)is_gone(journal);
}

void journal_free(struct journal *journal)
{
    if (journal == NULL)
        return;
    stop(journal);
    if (journal->pid > 0) /* a process that only reads files dies at once */
        (void)waitpid(journal->pid, NULL, 0);
    journal_reader_free(journal->reader);
    free(journal->tool);
    free(journal->directory);
    free(journal);
}

/* --- entries ------------------------------------------------------------------------------------------------- */

static void tell_gap(struct journal *journal)
{
    const struct journal_entry gap = {.cursor = journal->cursor, .text = "", .at_us = -1, .lost = 1};
    journal->fn(&gap, journal->arg);
}

static void on_entry(const struct journal_entry *entry, void *arg)
{
    struct journal *journal = arg;
    bool first = !journal->began, known = first && strcmp(entry->cursor, journal->cursor) == 0;
    journal->began = true;
    journal->silent_starts = 0;
    journal->retry_ms = RETRY_MIN_MS;
    if (known)
        return;
    if (first && (journal->cursor[0] != '\0' || journal->gapped))
        tell_gap(journal);
    journal->gapped = false;
    text_copy_cut(journal->cursor, sizeof(journal->cursor), entry->cursor);
    journal->fn(entry, journal->arg);
}

static void start_if_due(struct journal *journal)
{
    if (!is_gone(journal) || clock_mono_ms(journal->clock) < journal->retry_at)
        return;
    if (journal->cursor[0] != '\0' && journal->silent_starts >= SILENT_STARTS_MAX) {
        log_warn("journalctl does not know the place that was kept; all of this boot is read again");
        journal->cursor[0] = '\0';
        journal->gapped = true;
    }
    start(journal);
}

bool journal_read(struct journal *journal, size_t bytes_max, journal_entry_fn *fn, void *arg)
{
    char data[READ_BYTES];
    journal->fn = fn;
    journal->arg = arg;
    if (journal->fd < 0)
        start_if_due(journal);
    for (size_t total = 0; journal->fd >= 0;) {
        if (total >= bytes_max)
            return true;
        ssize_t n = read(journal->fd, data, sizeof(data));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0 && errno == EAGAIN)
            return false;
        if (n <= 0) {
            stop(journal);
            return false;
        }
        total += (size_t)n;
        journal_reader_feed(journal->reader, data, (size_t)n, on_entry, journal);
    }
    return false;
}

const char *journal_cursor(const struct journal *journal)
{
    return journal->cursor;
}

bool journal_is_open(const struct journal *journal)
{
    return journal->fd >= 0 && journal->began;
}

int journal_fd(const struct journal *journal)
{
    return journal->fd;
}
