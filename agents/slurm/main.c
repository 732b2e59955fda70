/*
 * hp-auto-resume: what srun becomes when it is given --auto-resume. Not for people: the plugin (spank.c) starts it.
 *
 *     hp-auto-resume CONF OPTION SRUN ARGV0 ARGV…
 *
 * Whatever is wrong with our side, the user's step is run at least once, as without us; and its end is always srun's end: the same
 * exit code, the same signal.
 */
#include "agents/slurm/decide.h"
#include "agents/slurm/handover.h"
#include "agents/slurm/resume.h"
#include "agents/slurm/run.h"

#include "base/clock.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ASK_MS (5 * MS_PER_S) /* while a step runs, or has just failed */
#define LOOK_MS 250           /* whether the step has begun: hpd knows of it before its nodes can be taken from it */
#define BACKOFF_MIN_MS 500
#define BACKOFF_MAX_MS (30 * MS_PER_S)
#define REQUEUE_MS (5 * MS_PER_MIN) /* for Slurm to end us */

/* --- saying ---------------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 0))) static void say(const struct resume *r, const char *level, const char *format,
                                                      va_list ap)
{
    autofree char *text = own_vprintf(format, ap);
    fprintf(stderr, "[Auto Resume] %s: JobID: %s StepID: %u %s\n", level, r->job_id, r->step, text);
}

void resume_info(const struct resume *r, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    say(r, "Info", format, ap);
    va_end(ap);
}

void resume_error(const struct resume *r, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    say(r, "Error", format, ap);
    va_end(ap);
}

/* --- one attempt ------------------------------------------------------------------------------------- */

/* "82 0\n" of the plugin in the child; nothing when it never came so far. */
static void read_step(struct resume *r)
{
    char text[64] = "";
    unsigned job, step;
    ssize_t len = r->step_known ? 0 : read(r->step_fd, text, sizeof(text) - 1);
    if (len <= 0 || sscanf(text, "%u %u", &job, &step) != 2)
        return;
    r->step = step;
    r->step_known = true;
}

static bool on_tick(void *arg)
{
    struct resume *r = arg;
    read_step(r);
    if (!r->step_known || clock_mono_ms(clock_system()) < r->tell_at)
        return true; /* it waits for Slurm to begin it, or was told of just now */
    struct resume_reply reply = {0};
    char error[HTTP_ERROR_MAX];
    const struct resume_report report = {.state = "running", .timeout_ms = ASK_MS};
    int status = resume_ask(r, &report, &reply, error);
    r->tell_at = clock_mono_ms(clock_system()) + r->config.poll_ms;
    if (status != 0)
        return true; /* what runs is left alone; when it fails there is time to say so */
    bool goes_on = reply.action != RESUME_ACTION_RETRYSTEP;
    if (!goes_on)
        resume_info(r, "Node %s is about to be repaired%s%s: the step is ended", reply.broken.names[0],
                    reply.why[0] != '\0' ? ", " : "", reply.why);
    resume_reply_free(&reply);
    return goes_on;
}

static int run_attempt(struct resume *r, char *const argv[], struct run_ended *ret_ended)
{
    int fds[2];
    const struct run_watch watch = {.interval_ms = LOOK_MS, .on_tick = on_tick, .arg = r};
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
        return STATUS_IO;
    autofree char *fd = own_printf("%d", fds[1]), *attempt = own_printf("%" PRId64, r->attempt);
    setenv(RESUME_FD_VARIABLE, fd, 1);
    setenv(RESUME_ATTEMPT_VARIABLE, attempt, 1);
    r->step_fd = fds[0];
    r->tell_at = 0;
    int status = run_child(argv, fds[1], false, &watch, ret_ended);
    read_step(r);
    close(fds[0]);
    close(fds[1]);
    return status;
}

/* --- what came of it ---------------------------------------------------------------------------------- */

/* hpd's word, waited for with growing pauses. TIMEOUT when there is none in time; *ret_told: we are to end. */
static int diagnose(struct resume *r, const struct run_ended *ended, struct resume_reply *ret_reply, bool *ret_told)
{
    const struct clock *clock = clock_system();
    const struct resume_report report = {.state = "failed", .exit_code = ended->exit_code, .timeout_ms = ASK_MS};
    int64_t end = clock_mono_ms(clock) + r->config.diagnosis_ms, pause = BACKOFF_MIN_MS;
    bool said = false;
    resume_info(r, "Initiating communication with cluster agent to diagnose health of nodes");
    while (!*ret_told) {
        char error[HTTP_ERROR_MAX];
        struct resume_reply reply = {0};
        int status = resume_ask(r, &report, &reply, error);
        if (status == 0 && reply.action != RESUME_ACTION_WAIT) {
            *ret_reply = reply;
            return 0;
        }
        bool waits = status == 0;
        resume_reply_free(&reply);
        if (status == STATUS_DENIED || clock_mono_ms(clock) + pause >= end) {
            resume_error(r, "No diagnosis from hpd at %s: %s", r->config.url,
                         waits ? "not all nodes of the job were heard in time" : error);
            return STATUS_TIMEOUT;
        }
        if (!waits && !said)
            resume_error(r, "hpd at %s does not answer (%s): trying again", r->config.url, error);
        said = said || !waits;
        *ret_told = run_told_within(pause);
        pause = waits ? BACKOFF_MIN_MS : pause * 2 < BACKOFF_MAX_MS ? pause * 2 : BACKOFF_MAX_MS;
    }
    return STATUS_TIMEOUT;
}

/* hpd's nodes, and those that Slurm itself has taken out of the job since the attempt began. */
static void join_lost(const struct resume *r, struct resume_names *broken)
{
    struct resume_names AUTO(resume_names) before = {0}, AUTO(resume_names) now = {0};
    if (resume_names_expand(r->nodes, &before) != 0 || resume_names_expand(r->job.nodes, &now) != 0)
        return;
    broken->names = own_realloc(broken->names, broken->count + before.count + 1, sizeof(*broken->names));
    for (size_t i = 0; i < before.count; i++)
        if (!resume_names_has(&now, before.names[i]) && !resume_names_has(broken, before.names[i]))
            broken->names[broken->count++] = own_strdup(before.names[i]);
}

static enum resume_next decide(struct resume *r, const struct resume_names *broken, struct resume_facts *facts,
                               char ret_why[RESUME_WHY_MAX])
{
    struct resume_names AUTO(resume_names) now = {0};
    if (resume_names_expand(r->job.nodes, &now) == 0)
        free(resume_names_without(&now, broken, &facts->good_nodes));
    facts->fault = broken->count > 0;
    facts->running = r->job.running;
    facts->gres = r->job.gres;
    facts->newcomers_barred = facts->fault && resume_newcomers_barred(r);
    facts->batch = r->job.batch;
    facts->requeueable = r->job.requeueable;
    facts->batch_host_lost =
        r->job.batch_host[0] != '\0' && r->job.batch && resume_names_has(broken, r->job.batch_host);
    facts->attempts = r->earlier_runs + r->attempt + 1;
    facts->futile = resume_futile(r);
    facts->crashes += !facts->fault && !facts->stopped;
    return resume_decide(facts, ret_why);
}

static void report_end(struct resume *r, const struct run_ended *ended, const char *reason)
{
    struct resume_reply reply = {0};
    char error[HTTP_ERROR_MAX];
    const struct resume_report report = {
        .state = "ended", .exit_code = ended->exit_code, .reason = reason, .timeout_ms = ASK_MS};
    if (resume_ask(r, &report, &reply, error) == 0)
        resume_reply_free(&reply);
}

void resume_tell_waiting(struct resume *r)
{
    struct resume_reply reply = {0};
    char error[HTTP_ERROR_MAX];
    const struct resume_report report = {.state = "waiting", .exit_code = r->exit_code, .timeout_ms = ASK_MS};
    if (resume_ask(r, &report, &reply, error) == 0)
        resume_reply_free(&reply);
}

/* What stands between a failed attempt and the next one. False: there is none. */
static bool prepare_next(struct resume *r, const struct run_ended *ended, struct resume_facts *facts)
{
    struct resume_reply reply = {0};
    char why[RESUME_WHY_MAX] = "";
    bool told = false, again = false;
    r->exit_code = ended->exit_code;
    if (diagnose(r, ended, &reply, &told) == 0) {
        resume_info(r, "Response from cluster agent: JobId=%s, ResumeAction=%s", r->job_id,
                    resume_action_text(reply.action));
        if (resume_look(r) == 0) {
            join_lost(r, &reply.broken);
            enum resume_next next = decide(r, &reply.broken, facts, why);
            if (next == RESUME_REPLACE)
                again = resume_swap(r, &reply.broken, &told) == 0 && !told;
            else
                again = next == RESUME_AGAIN;
            if (next != RESUME_REPLACE)
                resume_info(r, "%s: %s", next == RESUME_END ? "The step is not run again" : "Job failed", why);
            if (next == RESUME_REQUEUE && resume_requeue(r, &reply.broken, &told) == 0 && !told)
                (void)run_told_within(REQUEUE_MS);
        }
    }
    if (!again)
        report_end(r, ended, why);
    resume_reply_free(&reply);
    return again;
}

/* When what shows progress was changed last, in nanoseconds; 0: it is not there. */
static int64_t progress_mark(const struct resume *r)
{
    struct stat st;
    if (r->option.progress[0] == '\0' || stat(r->option.progress, &st) != 0)
        return 0;
    return (int64_t)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
}

int64_t resume_progress_ago(const struct resume *r)
{
    int64_t mark = progress_mark(r), ago_ms = clock_wall_ms(clock_system()) - mark / 1000000;
    return mark == 0 ? -1 : ago_ms > 0 ? ago_ms : 0;
}

int64_t resume_futile(const struct resume *r)
{
    return r->moved ? r->futile : r->futile + r->earlier_futile;
}

/* What was told to end, as by a preemption, is no attempt that came to nothing. */
static void note_progress(struct resume *r, bool moved, bool told)
{
    r->moved = r->moved || moved;
    r->futile = moved ? 0 : told ? r->futile : r->futile + 1;
}

/* As wait(2) has it, and HyperPod prints it: of what srun ended with, which says a task's signal as a shell does. A step that we ended
 * ourselves, and one that never began, had no such task. */
static void tell_task_exit(const struct resume *r, const struct run_ended *ended)
{
    int code = ended->exit_code;
    if (r->step_known && !ended->stopped && ended->death == 0)
        resume_info(r, "Successfully terminated the step since task exited with status: %d",
                    code > 128 && code < 128 + SIGRTMAX ? code - 128 : code << 8);
}

static void remember_nodes(struct resume *r)
{
    free(r->nodes);
    r->nodes = own_strdup(r->job.nodes);
}

static void live_on(struct resume *r, char *const argv[])
{
    const struct clock *clock = clock_system();
    struct resume_facts facts = {.crash_max = r->option.crash_max,
                                 .attempts_max =
                                     r->option.attempts_max > 0 ? r->option.attempts_max : r->config.attempts_max};
    struct run_ended ended = {0};
    for (;; r->attempt++) {
        remember_nodes(r);
        int64_t began = clock_mono_ms(clock), mark = progress_mark(r);
        if (run_attempt(r, argv, &ended) != 0) {
            resume_error(r, "srun cannot be started: %s", strerror(errno));
            ended = (struct run_ended){.exit_code = 1};
            break;
        }
        bool moved = r->option.progress[0] != '\0' ? progress_mark(r) != mark
                                                   : clock_mono_ms(clock) - began >= r->config.progress_ms;
        note_progress(r, moved, ended.told);
        facts.stopped = ended.stopped;
        if ((ended.exit_code == 0 && !ended.stopped) || ended.told) {
            report_end(r, &ended, ended.told ? "it was told to end" : NULL);
            break;
        }
        tell_task_exit(r, &ended);
        if (!prepare_next(r, &ended, &facts))
            break;
        resume_info(r, "Retrying step. Attempt number: %" PRId64, r->attempt + 1);
    }
    run_end_like(&ended);
}

/* --- the beginning -------------------------------------------------------------------------------------- */

static void run_once(char *argv[], const char *why)
{
    fprintf(stderr, "[Auto Resume] Error: %s: the step runs once\n", why);
    setenv(RESUME_FD_VARIABLE, "0", 1); /* it is not watched, and does not hand over again */
    execv(argv[0], argv);
    fprintf(stderr, "[Auto Resume] Error: %s: %s\n", argv[0], strerror(errno));
    _exit(127);
}

/* False, with a sentence, where there is nothing that could be resumed. */
static bool begin(struct resume *r, const char *conf, const char *option, char ret_why[2 * JSON_ERROR_MAX])
{
    char error[JSON_ERROR_MAX];
    const char *job = getenv("SLURM_JOB_ID"), *array = getenv("SLURM_ARRAY_JOB_ID");
    const char *index = getenv("SLURM_ARRAY_TASK_ID"), *restart = getenv("SLURM_RESTART_COUNT");
    if (!resume_option_parse(option, &r->option, error)) {
        snprintf(ret_why, 2 * JSON_ERROR_MAX, "%s", error);
        return false;
    }
    if (resume_config_read(conf, &r->config, error) != 0) {
        snprintf(ret_why, 2 * JSON_ERROR_MAX, "%.200s: %s", conf, error);
        return false;
    }
    if (job == NULL || text_copy(r->job_id, sizeof(r->job_id), job) != 0 || getenv("SLURM_HET_SIZE") != NULL) {
        snprintf(ret_why, 2 * JSON_ERROR_MAX, "it takes an allocation of sbatch or salloc that is not heterogeneous");
        return false;
    }
    if (array != NULL && index != NULL)
        snprintf(r->api_id, sizeof(r->api_id), "%.20s_%.20s", array, index);
    else
        snprintf(r->api_id, sizeof(r->api_id), "%s", r->job_id);
    if (resume_look(r) != 0 || r->job.node_count == 0) {
        snprintf(ret_why, 2 * JSON_ERROR_MAX, "what nodes job %s has is not known", r->job_id);
        return false;
    }
    if (restart != NULL)
        (void)text_parse_i64(restart, 0, ATTEMPT_NUMBER_MAX, &r->restart); /* else the first start */
    r->nodes_wanted = r->job.node_count;
    r->cpus_per_node = r->job.cpus / r->job.node_count > 0 ? r->job.cpus / r->job.node_count : 1;
    return true;
}

int main(int argc, char *argv[])
{
    static struct resume r;
    char why[2 * JSON_ERROR_MAX] = "";
    if (argc <= RESUME_HANDOVER_ARGUMENTS) {
        fputs("hp-auto-resume is run by srun --auto-resume=1, and by nobody else\n", stderr);
        return 2;
    }
    char **srun = argv + RESUME_HANDOVER_ARGUMENTS;
    srun[0] = argv[RESUME_HANDOVER_ARGUMENTS - 1];
    if (!begin(&r, argv[1], argv[2], why))
        run_once(srun, why);
    run_prepare();
    live_on(&r, srun);
}
