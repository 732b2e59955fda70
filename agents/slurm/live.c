/*
 * The attempts at one step. Where a node of the job broke and the job cannot be changed after all, whatever the reason, the whole job is
 * requeued, at once; where that may not be the step ends. One line says why.
 */
#include "agents/slurm/decide.h"
#include "agents/slurm/handover.h"
#include "agents/slurm/resume.h"

#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ASK_MS (5 * MS_PER_S) /* while a step runs, or has just failed */
#define LOOK_MS 250           /* whether the step has begun: hpd knows of it before its nodes can be taken from it */
#define BACKOFF_MIN_MS 500
#define BACKOFF_MAX_MS (30 * MS_PER_S)
#define REQUEUE_MS (5 * MS_PER_MIN) /* for Slurm to end us */
#define BEGIN_MS (2 * MS_PER_MIN)   /* for Slurm to begin a step on nodes that changed */

/* --- saying ---------------------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 0))) static void say(const struct resume *r, const char *level, const char *format,
                                                      va_list ap)
{
    autofree char *text = own_vprintf(format, ap);
    autofree char *line = own_printf("[Auto Resume] %s: JobID: %s StepID: %u %s\n", level, r->job_id, r->step, text);
    r->world->say(line);
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

/* "82 0\n" of the plugin in the child; nothing when it never came so far. hpd and people go by the first attempt's step. */
static void read_step(struct resume *r)
{
    char text[64] = "";
    unsigned job, step;
    ssize_t len = r->begun ? 0 : read(r->step_fd, text, sizeof(text) - 1);
    if (len <= 0 || sscanf(text, "%u %u", &job, &step) != 2)
        return;
    r->begun = true;
    r->step_now = step;
    if (!r->step_known)
        r->step = step;
    r->step_known = true;
}

/* What another step of the job takes may be waited for; on nodes that have just changed it is Slurm that does not let it begin. */
static bool is_stuck(struct resume *r)
{
    r->never_began =
        r->replaced && !r->begun && clock_mono_ms(r->world->clock) >= r->began_at + BEGIN_MS && !resume_others_run(r);
    return r->never_began;
}

static bool on_tick(void *arg)
{
    struct resume *r = arg;
    read_step(r);
    if (!r->begun)
        return !is_stuck(r);
    if (clock_mono_ms(r->world->clock) < r->tell_at)
        return true; /* hpd was told of it just now */
    struct resume_reply reply = {0};
    char error[HTTP_ERROR_MAX];
    const struct resume_report report = {.state = "running", .timeout_ms = ASK_MS};
    int status = r->world->ask(r, &report, &reply, error);
    r->tell_at = clock_mono_ms(r->world->clock) + r->config.poll_ms;
    if (status != 0)
        return true; /* what runs is left alone; when it fails there is time to say so */
    bool goes_on = reply.action != RESUME_ACTION_RETRYSTEP;
    if (!goes_on)
        resume_info(r, "Node %s is about to be repaired%s%s: the step is ended", reply.broken.names[0],
                    reply.why[0] != '\0' ? ", " : "", reply.why);
    resume_reply_free(&reply);
    return goes_on;
}

/* srun makes SIGTERM a SIGKILL of its tasks: so they are sent it by Slurm, and have a while for a last checkpoint. */
static int64_t on_stop(void *arg)
{
    struct resume *r = arg;
    char said[RESUME_WORD_MAX];
    autofree char *step = own_printf("%s.%u", r->job_id, r->step_now);
    if (!r->begun || resume_tool(r, (const char *[]){r->config.scancel, "--signal=TERM", step, NULL}, NULL, said) != 0)
        return 0;
    return r->config.stop_ms;
}

static int run_attempt(struct resume *r, char *const argv[], struct run_ended *ret_ended)
{
    int fds[2];
    const struct run_watch watch = {.interval_ms = LOOK_MS, .on_tick = on_tick, .on_stop = on_stop, .arg = r};
    if (pipe2(fds, O_CLOEXEC | O_NONBLOCK) != 0)
        return STATUS_IO;
    autofree char *fd = own_printf("%d", fds[1]), *attempt = own_printf("%" PRId64, r->attempt);
    setenv(RESUME_FD_VARIABLE, fd, 1);
    setenv(RESUME_ATTEMPT_VARIABLE, attempt, 1);
    setenv("SLURM_KILL_BAD_EXIT", "1", 0); /* the others would wait for the task that failed until their time is up */
    r->step_fd = fds[0];
    r->tell_at = 0;
    r->begun = r->never_began = false;
    r->began_at = clock_mono_ms(r->world->clock);
    int status = r->world->run_child(argv, fds[1], false, &watch, ret_ended);
    read_step(r);
    close(fds[0]);
    close(fds[1]);
    return status;
}

/* --- what came of it ---------------------------------------------------------------------------------- */

/* Slurm itself has given nodes of this attempt up: no agent has to be heard for that. */
static bool has_lost_nodes(const struct resume *r)
{
    struct resume_job job;
    struct resume_names AUTO(resume_names) before = {0}, AUTO(resume_names) now = {0};
    return resume_peek(r, &job) && job.running && resume_names_expand(r->nodes, &before) == 0 &&
           resume_names_expand(job.nodes, &now) == 0 && now.count > 0 && now.count < before.count;
}

/* hpd's word, waited for with growing pauses. TIMEOUT when there is none in time; *ret_told: we are to end. */
static int diagnose(struct resume *r, const struct run_ended *ended, struct resume_reply *ret_reply, bool *ret_told)
{
    const struct clock *clock = r->world->clock;
    const struct resume_report report = {.state = "failed", .exit_code = ended->exit_code, .timeout_ms = ASK_MS};
    int64_t end = clock_mono_ms(clock) + r->config.diagnosis_ms, pause = BACKOFF_MIN_MS;
    bool said = false;
    resume_info(r, "Initiating communication with cluster agent to diagnose health of nodes");
    while (!*ret_told) {
        char error[HTTP_ERROR_MAX];
        struct resume_reply reply = {0};
        int status = r->world->ask(r, &report, &reply, error);
        if (status == 0 && (reply.action != RESUME_ACTION_WAIT || has_lost_nodes(r))) {
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
        *ret_told = r->world->told_within(pause);
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
                               bool *told, char ret_why[RESUME_WHY_MAX])
{
    struct resume_names AUTO(resume_names) now = {0};
    if (resume_names_expand(r->job.nodes, &now) == 0)
        free(resume_names_without(&now, broken, &facts->good_nodes));
    facts->fault = broken->count > 0;
    facts->running = r->job.running;
    facts->gres = r->job.gres;
    if (facts->fault)
        resume_look_at_site(r, told);
    facts->newcomers_barred = r->site.bars_newcomers;
    facts->merge_barred = r->site.has_gres && r->job.exclusive;
    facts->batch = r->job.batch;
    facts->requeueable = r->job.requeueable;
    const char *host = r->own_node[0] != '\0' ? r->own_node : r->job.batch_host;
    facts->batch_host_lost = host[0] != '\0' && r->job.batch && resume_names_has(broken, host);
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
    if (r->world->ask(r, &report, &reply, error) == 0)
        resume_reply_free(&reply);
}

void resume_tell_waiting(struct resume *r)
{
    struct resume_reply reply = {0};
    char error[HTTP_ERROR_MAX];
    const struct resume_report report = {.state = "waiting", .exit_code = r->exit_code, .timeout_ms = ASK_MS};
    if (r->world->ask(r, &report, &reply, error) == 0)
        resume_reply_free(&reply);
}

/* Ends the step, or requeues the job and waits for Slurm to end us. */
static void give_up(struct resume *r, enum resume_next next, const struct resume_names *broken, const char *why,
                    bool *told)
{
    resume_info(r, "%s: %s", next == RESUME_END ? "The step is not run again" : "Job failed", why);
    if (next == RESUME_REQUEUE && resume_requeue(r, broken, told) == 0 && !*told)
        (void)r->world->told_within(REQUEUE_MS);
}

/* The job cannot be changed, for that reason. */
static void give_up_otherwise(struct resume *r, const struct resume_facts *facts, const struct resume_names *broken,
                              const char *because, bool *told, char ret_why[RESUME_WHY_MAX])
{
    enum resume_next next = RESUME_END;
    if (*told || r->job_ends || (resume_peek(r, &r->job) && r->job.ends))
        snprintf(ret_why, RESUME_WHY_MAX, "%s", because);
    else
        next = resume_decide_otherwise(facts, because, ret_why);
    give_up(r, next, broken, ret_why, told);
}

static bool follow(struct resume *r, struct resume_names *broken, struct resume_facts *facts,
                   char ret_why[RESUME_WHY_MAX])
{
    char because[RESUME_WHY_MAX];
    bool told = false;
    enum resume_next next = decide(r, broken, facts, &told, ret_why);
    if (next == RESUME_END || next == RESUME_REQUEUE)
        give_up(r, next, broken, ret_why, &told);
    else if (next == RESUME_AGAIN)
        resume_info(r, "Job failed: %s", ret_why);
    else if (resume_swap(r, broken, &told, because) == 0 && !told)
        r->replaced = true;
    else
        give_up_otherwise(r, facts, broken, because, &told, ret_why);
    return next == RESUME_AGAIN || r->replaced;
}

/* What stands between a failed attempt and the next one. False: there is none. */
static bool prepare_next(struct resume *r, const struct run_ended *ended, struct resume_facts *facts)
{
    struct resume_reply reply = {0};
    char why[RESUME_WHY_MAX] = "";
    bool told = false, again = false;
    r->exit_code = ended->exit_code;
    r->replaced = false;
    if (r->never_began) {
        give_up_otherwise(r, facts, &reply.broken, "Slurm did not begin the step on its new nodes", &told, why);
    } else if (diagnose(r, ended, &reply, &told) == 0) {
        bool shown = resume_look(r, &told) == 0;
        if (shown)
            join_lost(r, &reply.broken);
        resume_info(r, "Response from cluster agent: JobId=%s, ResumeAction=%s", r->job_id,
                    resume_action_text(reply.broken.count > 0 ? RESUME_ACTION_RETRYSTEP : reply.action));
        if (shown)
            again = follow(r, &reply.broken, facts, why);
        else if (reply.broken.count > 0)
            give_up_otherwise(r, facts, &reply.broken, "Slurm does not show the job", &told, why);
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
    int64_t mark = progress_mark(r), ago_ms = clock_wall_ms(r->world->clock) - mark / 1000000;
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
    if (r->begun && !ended->stopped && ended->death == 0)
        resume_info(r, "Successfully terminated the step since task exited with status: %d",
                    code > 128 && code < 128 + SIGRTMAX ? code - 128 : code << 8);
}

static void remember_nodes(struct resume *r)
{
    free(r->nodes);
    r->nodes = own_strdup(r->job.nodes);
}

void resume_live_on(struct resume *r, char *const argv[], struct run_ended *ret_ended)
{
    const struct clock *clock = r->world->clock;
    struct resume_facts facts = {.batch = r->job.batch,
                                 .requeueable = r->job.requeueable,
                                 .crash_max = r->option.crash_max,
                                 .attempts_max =
                                     r->option.attempts_max > 0 ? r->option.attempts_max : r->config.attempts_max};
    for (;; r->attempt++) {
        struct run_ended ended = {0};
        remember_nodes(r);
        int64_t began = clock_mono_ms(clock), mark = progress_mark(r);
        if (run_attempt(r, argv, &ended) != 0) {
            resume_error(r, "srun cannot be started: %s", strerror(errno));
            *ret_ended = (struct run_ended){.exit_code = 1};
            return;
        }
        bool moved = r->option.progress[0] != '\0' ? progress_mark(r) != mark
                                                   : clock_mono_ms(clock) - began >= r->config.progress_ms;
        note_progress(r, moved, ended.told);
        facts.stopped = ended.stopped;
        *ret_ended = ended;
        if ((ended.exit_code == 0 && !ended.stopped) || ended.told) {
            report_end(r, &ended, ended.told ? "it was told to end" : NULL);
            return;
        }
        tell_task_exit(r, &ended);
        if (!prepare_next(r, &ended, &facts))
            return;
        resume_info(r, "Retrying step. Attempt number: %" PRId64, r->attempt + 1);
    }
}
