/*
 * hpctl job logs: the last lines that a rank wrote, where hpd can read them; else where the file is, and its last lines where this machine has that
 * file, too, as on a shared file system: read with the rights of the caller.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "model/job_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS 200000000
#define WAIT_MS 60000

static const char *member(const json_t *json, const char *name)
{
    const char *text = json_string_value(json_object_get(json, name));
    return text != NULL ? text : "";
}

/* hpd reads it at the scheduler meanwhile. */
static int ask_until_read(struct cli *cli, const char *path, json_t **ret_json)
{
    int64_t until = clock_mono_ms(clock_system()) + WAIT_MS;
    for (;;) {
        auto_json json_t *json = NULL;
        int rc = cli_ask(cli, "GET", path, NULL, NULL, &json);
        if (rc != CLI_EXIT_OK)
            return rc;
        if (strcmp(member(json, "state"), "read") == 0) {
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

/* NULL: it is not there, or none of ours to read. */
static char *read_end(const char *path, size_t *ret_len)
{
    struct stat status;
    char *text = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
        size_t size = (size_t)status.st_size, want = size > JOB_LOG_BYTES_MAX ? JOB_LOG_BYTES_MAX : size;
        text = own_calloc(want + 1, 1);
        ssize_t got = pread(fd, text, want, (off_t)(size - want));
        *ret_len = got > 0 ? (size_t)got : 0;
    }
    close(fd);
    return text;
}

static int show_file(struct cli *cli, const json_t *log, int64_t lines)
{
    const char *path = member(log, "path"), *node = member(log, "node");
    size_t len = 0;
    autofree char *text = read_end(path, &len);
    if (text != NULL) {
        cli_print_harmless(cli->out, tail(text, len, lines));
        return CLI_EXIT_OK;
    }
    /* The job's owner has chosen the path: it stands in no command to paste. */
    cli_say(cli->err, "hpctl: cannot read %s here: no such file, or no right to read it\n", path);
    if (node[0] != '\0')
        cli_say(cli->err, "The job writes it on %s: hpctl node ssh %s\n", node, node);
    return CLI_EXIT_REFUSED;
}

int cli_job_logs(struct cli *cli)
{
    const char *given = cli->option[CLI_OPTION_LINES], *rank = cli->option[CLI_OPTION_RANK];
    int64_t lines = JOB_LOG_LINES, number;
    autofree char *cluster = NULL;
    auto_json json_t *log = NULL;
    if (given != NULL && text_parse_i64(given, 1, JOB_LOG_LINES_MAX, &lines) != 0)
        return cli_usage(cli, "--lines: \"%s\" is not a number of 1 to %d", given, JOB_LOG_LINES_MAX);
    if (rank != NULL && text_parse_i64(rank, 0, JOB_LOG_RANK_MAX, &number) != 0)
        return cli_usage(cli, "--rank: \"%s\" is not a number of 0 to %d", rank, JOB_LOG_RANK_MAX);
    int rc = cli_cluster_name(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    struct text path AUTO(text) = {0};
    autofree char *name = cli_encode(cluster), *id = cli_encode(cli->argument[0]);
    text_printf(&path, "/v1/clusters/%s/jobs/%s/logs?lines=%lld", name, id, (long long)lines);
    cli_add_query(&path, "rank", rank);
    cli_add_query(&path, "previous", cli->option[CLI_OPTION_PREVIOUS] != NULL ? "true" : NULL);
    rc = ask_until_read(cli, text_get(&path), &log);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, log))
        return rc;
    if (json_object_get(log, "log") == NULL)
        return show_file(cli, log, lines);
    cli_print_harmless(cli->out, member(log, "log"));
    return rc;
}
