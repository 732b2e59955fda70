/*
 * hpctl job logs: the last lines that a rank wrote, where hpd can read them; else where the file is, and its last lines where this machine has that
 * file, too, as on a shared file system: read with the rights of the caller. With --follow what is written later, too, until the job is over.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS 200000000
#define WAIT_MS 60000
#define FOLLOW_PAUSE_NS 500000000
#define FOLLOW_FILE_BYTES 65536
#define JOB_TURNS 4 /* in each such turn without anything new hpd is asked whether the job is over */

/* hpd reads it at the scheduler meanwhile. */
static int ask_until_read(struct cli *cli, const char *path, json_t **ret_json)
{
    int64_t until = clock_mono_ms(clock_system()) + WAIT_MS;
    for (;;) {
        auto_json json_t *json = NULL;
        int rc = cli_ask(cli, "GET", path, NULL, NULL, &json);
        if (rc != CLI_EXIT_OK)
            return rc;
        if (strcmp(json_member_text(json, "state"), "read") == 0) {
            *ret_json = TAKE(json);
            return CLI_EXIT_OK;
        }
        if (clock_mono_ms(clock_system()) >= until) {
            fprintf(cli->err, "hpctl: hpd did not read the log within %d s; hpctl scheduler list says how it is\n",
                    WAIT_MS / 1000);
            return CLI_EXIT_TIMEOUT;
        }
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
}

/* Where the last lines begin. */
static const char *tail(const char *text, size_t len, int64_t lines)
{
    size_t at = len > 0 && text[len - 1] == '\n' ? len - 1 : len;
    while (at > 0 && (text[at - 1] != '\n' || --lines > 0))
        at--;
    return text + at;
}

/* NULL: it is none of ours to read. */
static char *read_end(int fd, size_t *ret_len, int64_t *ret_end)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return NULL;
    size_t size = (size_t)status.st_size, want = size > JOB_LOG_BYTES_MAX ? JOB_LOG_BYTES_MAX : size;
    char *text = own_calloc(want + 1, 1);
    ssize_t got = pread(fd, text, want, (off_t)(size - want));
    *ret_len = got > 0 ? (size_t)got : 0;
    *ret_end = (int64_t)(size - want + *ret_len);
    return text;
}

struct following {
    struct cli *cli;
    const char *job, *logs; /* paths */
    int64_t idle;           /* turns that brought nothing */
};

/* After what was printed. True when the job is over, and nothing comes any more. */
static int pause_until_more(struct following *f, bool came, bool *ret_is_over)
{
    auto_json json_t *job = NULL;
    enum cluster_job_state state;
    fflush(f->cli->out);
    f->idle = came ? 0 : f->idle + 1;
    *ret_is_over = false;
    if (!came && f->idle % JOB_TURNS == 0) {
        int rc = cli_ask(f->cli, "GET", f->job, NULL, NULL, &job);
        if (rc != CLI_EXIT_OK)
            return rc;
        *ret_is_over = cluster_job_state_parse(json_member_text(job, "state"), &state) == 0 &&
                       cluster_job_place(state) == CLUSTER_JOB_PLACE_OVER;
    }
    if (!*ret_is_over)
        nanosleep(&(struct timespec){.tv_nsec = FOLLOW_PAUSE_NS}, NULL);
    return ferror(f->cli->out) ? CLI_EXIT_REFUSED : CLI_EXIT_OK;
}

static void add_lines(struct text *path, int64_t lines)
{
    autofree char *number = own_printf("%lld", (long long)lines);
    cli_add_query(path, "lines", number);
}

/* --- what hpd reads ------------------------------------------------------------------------------------------ */

static void tell_missing(struct cli *cli, const json_t *log)
{
    if (json_is_true(json_object_get(log, "cut")))
        fprintf(cli->err, "hpctl: earlier lines are left out: they are more than hpd reads at once\n");
}

static int follow_log(struct following *f, const json_t *first)
{
    autofree char *last = own_strdup(json_member_text(first, "lastAt"));
    bool is_over = false;
    for (bool came = true; !is_over;) {
        auto_json json_t *log = NULL;
        struct text path AUTO(text) = {0};
        int rc = pause_until_more(f, came, &is_over);
        text_add(&path, f->logs);
        add_lines(&path, JOB_LOG_LINES_MAX);
        cli_add_query(&path, "after", last[0] != '\0' ? last : NULL);
        if (rc == CLI_EXIT_OK)
            rc = ask_until_read(f->cli, text_get(&path), &log);
        if (rc != CLI_EXIT_OK)
            return rc;
        tell_missing(f->cli, log);
        cli_print_harmless(f->cli->out, json_member_text(log, "log"));
        came = json_member_text(log, "log")[0] != '\0';
        is_over = is_over && !came;
        free(last);
        last = own_strdup(json_member_text(log, "lastAt"));
    }
    return CLI_EXIT_OK;
}

/* --- a file that is here, too ---------------------------------------------------------------------------------- */

/* What was written behind at; a file that has become shorter was begun anew. */
static bool print_more(struct cli *cli, int fd, int64_t *at)
{
    autofree char *text = own_calloc(FOLLOW_FILE_BYTES + 1, 1);
    struct stat status;
    if (fstat(fd, &status) == 0 && status.st_size < *at)
        *at = 0;
    ssize_t got = pread(fd, text, FOLLOW_FILE_BYTES, (off_t)*at);
    if (got <= 0)
        return false;
    const char *end = memrchr(text, '\n', (size_t)got);
    if (end != NULL) /* a line that goes on comes whole, later */
        text[got = end + 1 - text] = '\0';
    *at += got;
    cli_print_harmless(cli->out, text);
    return true;
}

static int follow_file(struct following *f, int fd, int64_t at)
{
    bool is_over = false;
    while (!is_over) {
        bool came = print_more(f->cli, fd, &at);
        int rc = pause_until_more(f, came, &is_over);
        if (rc != CLI_EXIT_OK)
            return rc;
    }
    while (print_more(f->cli, fd, &at))
        continue;
    return CLI_EXIT_OK;
}

static int show_file(struct following *f, const json_t *log, int64_t lines, bool follow)
{
    struct cli *cli = f->cli;
    const char *path = json_member_text(log, "path"), *node = json_member_text(log, "node");
    size_t len = 0;
    int64_t end = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    autofree char *text = fd >= 0 ? read_end(fd, &len, &end) : NULL;
    if (text != NULL) {
        cli_print_harmless(cli->out, tail(text, len, lines));
        int rc = follow ? follow_file(f, fd, end) : CLI_EXIT_OK;
        close(fd);
        return rc;
    }
    if (fd >= 0)
        close(fd);
    /* The job's owner has chosen the path: it stands in no command to paste. */
    cli_say(cli->err, "hpctl: cannot read %s here: no such file, or no right to read it\n", path);
    if (node[0] != '\0')
        cli_say(cli->err, "The job writes it on %s: hpctl node ssh %s\n", node, node);
    return CLI_EXIT_REFUSED;
}

static int show(struct following *f, int64_t lines)
{
    struct cli *cli = f->cli;
    bool follow = cli->option[CLI_OPTION_FOLLOW] != NULL;
    auto_json json_t *log = NULL;
    struct text path AUTO(text) = {0};
    text_add(&path, f->logs);
    add_lines(&path, lines);
    int rc = ask_until_read(cli, text_get(&path), &log);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, log))
        return rc;
    if (json_object_get(log, "log") == NULL)
        return show_file(f, log, lines, follow);
    tell_missing(cli, log);
    cli_print_harmless(cli->out, json_member_text(log, "log"));
    return follow ? follow_log(f, log) : rc;
}

int cli_job_logs(struct cli *cli)
{
    const char *rank = cli->option[CLI_OPTION_RANK];
    bool previous = cli->option[CLI_OPTION_PREVIOUS] != NULL;
    int64_t lines, number;
    autofree char *cluster = NULL;
    int rc = cli_parse_lines(cli, JOB_LOG_LINES_MAX, &lines);
    if (rc != CLI_EXIT_OK)
        return rc;
    if (rank != NULL && text_parse_i64(rank, 0, JOB_LOG_RANK_MAX, &number) != 0)
        return cli_usage(cli, "--rank: \"%s\" is not a number of 0 to %d", rank, JOB_LOG_RANK_MAX);
    if (cli->option[CLI_OPTION_FOLLOW] != NULL && (previous || cli->format != CLI_FORMAT_TABLE))
        return cli_usage(cli, "--follow prints what is written from now on: not with --previous or --output");
    rc = cli_cluster_name(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    struct text path AUTO(text) = {0};
    autofree char *name = cli_encode(cluster), *id = cli_encode(cli->argument[0]);
    autofree char *job = own_printf("/v1/clusters/%s/jobs/%s", name, id);
    text_printf(&path, "%s/logs", job);
    cli_add_query(&path, "rank", rank);
    cli_add_query(&path, "previous", previous ? "true" : NULL);
    struct following following = {.cli = cli, .job = job, .logs = text_get(&path)};
    return show(&following, lines);
}
