/*
 * One run of scontrol, squeue or scancel: no shell, a bare environment, a deadline, a limit on output. What Slurm
 * says when it fails is text for people; the few texts that change what we do next are listed here, and all else
 * is BACKEND with Slurm's own words in the sentence.
 *
 * Worth knowing about the time it takes to fail: without slurmctld the programs try for about nine seconds, without
 * munge for fifty, without a configuration file for sixty. The deadline is usually the shorter one.
 */
#include "server/scheduler/slurm/command.h"

#include "base/clock.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#define OUT_BYTES_MAX ((size_t)256 * 1024 * 1024) /* some 900 bytes a node, and 100,000 of them at most: with room */
#define FRAME_WORDS 4                             /* "timeout --kill-after=2 20.000 env" */

static int64_t now_ms(void)
{
    return clock_mono_ms(clock_system());
}

void slurm_call_start(struct slurm_call *call, const struct scheduler *s, char *error)
{
    *call = (struct slurm_call){.s = s, .deadline_ms = now_ms() + s->timeout_ms, .error = error};
}

struct slurm_call slurm_call_aside(const struct slurm_call *call, int64_t ms_max, char *error)
{
    int64_t end_ms = now_ms() + ms_max;
    return (struct slurm_call){
        .s = call->s, .deadline_ms = end_ms < call->deadline_ms ? end_ms : call->deadline_ms, .error = error};
}

int slurm_call_fail(struct slurm_call *call, int status, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *sentence = own_vprintf(fmt, ap);
    va_end(ap);
    text_copy_cut(call->error, SCHEDULER_ERROR_MAX, sentence);
    return status;
}

static int status_of(const char *said)
{
    static const struct {
        const char *text;
        int status;
    } known[] = {
        {"Unable to contact slurm controller", STATUS_UNAVAILABLE},
        {"Socket timed out", STATUS_UNAVAILABLE},
        {"onnection refused", STATUS_UNAVAILABLE},
        {"onnection failure", STATUS_UNAVAILABLE},
        {"onnect failure", STATUS_UNAVAILABLE},
        {"Zero Bytes were transmitted", STATUS_UNAVAILABLE},
        {"authentication error", STATUS_UNAVAILABLE}, /* munge is away */
        {"in standby mode", STATUS_UNAVAILABLE},
        {"Slurm temporarily unable", STATUS_UNAVAILABLE},
        {"slurm_persist_conn", STATUS_UNAVAILABLE}, /* slurmdbd is away */
        {"Problem talking to the database", STATUS_UNAVAILABLE},
        {"Unable to process configuration", STATUS_UNAVAILABLE},
        {"Invalid node name", STATUS_NOT_FOUND},
        {"not found", STATUS_NOT_FOUND},
        {"Invalid job id", STATUS_NOT_FOUND},
        {"already finished", STATUS_NOT_FOUND},
        {"ermission denied", STATUS_DENIED},
        {"doesn't have privilege", STATUS_DENIED},
    };
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strstr(said, known[i].text) != NULL)
            return known[i].status;
    return STATUS_BACKEND;
}

/* The last line that says something, in place: the lines before it are usually retries. */
static char *last_line(char *text)
{
    text = text_trim(text);
    char *newline = strrchr(text, '\n');
    char *line = newline == NULL ? text : newline + 1;
    for (char *c = line; *c != '\0'; c++)
        if (iscntrl((unsigned char)*c))
            *c = ' ';
    return line;
}

static int failed(struct slurm_call *call, const char *name, struct child_result *result)
{
    char *said = result->err[0] != '\0' ? result->err : result->out;
    int status = status_of(said);
    said = last_line(said);
    return slurm_call_fail(call, status, "%s failed with exit code %d: %s", name, result->exit_code,
                           said[0] != '\0' ? said : "it did not say why");
}

/* sacctmgr ends well although slurmdbd went while it asked, and leaves out what it did not hear: limits, names of QOS. */
static bool is_half_told(const struct slurm_call *call, const char *program, const struct child_result *result)
{
    return program == call->s->sacctmgr && strstr(result->err, "sacctmgr: error:") != NULL;
}

static int too_late(struct slurm_call *call, const char *name)
{
    return slurm_call_fail(call, STATUS_TIMEOUT, "%s did not end within %lld ms; is slurmctld up, and munged?", name,
                           (long long)call->s->timeout_ms);
}

static int run_here(struct slurm_call *call, const char *name, const char *const argv[], int64_t left_ms,
                    struct child_result *ret_result)
{
    struct child_options options = {.timeout_ms = left_ms, .out_bytes_max = OUT_BYTES_MAX, .env = call->s->env};
    int status = child_run(argv, &options, ret_result);
    if (status == STATUS_TIMEOUT)
        return too_late(call, name);
    if (status != 0)
        return slurm_call_fail(call, status == STATUS_NOT_FOUND ? STATUS_UNAVAILABLE : status,
                               "%s could not be run (%s)", argv[0], status_meaning(status));
    return 0;
}

/* "timeout … env NAME=VALUE … argv": a program that outlives our deadline ends itself there. Caller frees. */
static char *command_there(const struct scheduler *s, const char *const argv[], int64_t left_ms)
{
    size_t args = 0, count = 0;
    while (argv[args] != NULL)
        args++;
    autofree const char **words = own_calloc(FRAME_WORDS + SLURM_ENV_MAX + args + 1, sizeof(*words));
    autofree char *limit = own_printf("%lld.%03lld", (long long)(left_ms / 1000), (long long)(left_ms % 1000));
    words[count++] = "timeout";
    words[count++] = "--kill-after=2";
    words[count++] = limit;
    words[count++] = "env";
    for (char *const *entry = s->env; *entry != NULL; entry++)
        words[count++] = *entry;
    memcpy(words + count, argv, args * sizeof(*words));
    return ssh_quote(words);
}

/* What those two say by their exit codes (timeout(1), env(1)), before the program has said anything. */
static int run_there(struct slurm_call *call, const char *name, const char *const argv[], int64_t left_ms,
                     struct child_result *ret_result)
{
    enum { TIMED_OUT = 124, NOT_RUN = 125, NOT_EXECUTABLE = 126, NO_SUCH_PROGRAM = 127 };
    autofree char *command = command_there(call->s, argv, left_ms);
    char error[SSH_ERROR_MAX];
    int status = ssh_run(call->s->ssh, command, left_ms, OUT_BYTES_MAX, ret_result, error);
    if (status == STATUS_TIMEOUT)
        return slurm_call_fail(call, status, "%s did not end within %lld ms (%s); is slurmctld up, and munged?", name,
                               (long long)call->s->timeout_ms, error);
    if (status != 0) /* DENIED: the key is refused, which is no right in Slurm */
        return slurm_call_fail(call,
                               status == STATUS_IO       ? STATUS_UNAVAILABLE
                               : status == STATUS_DENIED ? STATUS_BACKEND
                                                         : status,
                               "%s", error);
    if (ret_result->exit_code == TIMED_OUT)
        return too_late(call, name);
    if (ret_result->exit_code >= NOT_RUN && ret_result->exit_code <= NO_SUCH_PROGRAM)
        return slurm_call_fail(call, STATUS_UNAVAILABLE, "%s could not be run on %s: %s", argv[0], call->s->host,
                               last_line(ret_result->err));
    return 0;
}

int slurm_run(struct slurm_call *call, const char *const argv[], char **ret_out)
{
    const char *slash = strrchr(argv[0], '/');
    const char *name = slash == NULL ? argv[0] : slash + 1;
    int64_t left_ms = call->deadline_ms - now_ms();
    if (left_ms <= 0)
        return slurm_call_fail(call, STATUS_TIMEOUT, "Slurm took longer than %lld ms, before %s could be run",
                               (long long)call->s->timeout_ms, name);
    struct child_result result = {0};
    int status = call->s->ssh == NULL ? run_here(call, name, argv, left_ms, &result)
                                      : run_there(call, name, argv, left_ms, &result);
    if (status != 0) {
        child_result_free(&result);
        return status;
    }
    if (result.exit_code != 0 || is_half_told(call, argv[0], &result))
        status = failed(call, name, &result);
    else if (result.out_cut || memchr(result.out, '\0', result.out_len) != NULL)
        status = slurm_call_fail(call, STATUS_BACKEND, "%s printed what is not text, or too much of it", name);
    if (status == 0)
        *ret_out = TAKE(result.out);
    child_result_free(&result);
    return status;
}
