/*
 * The job that waits for nodes: a second one of the same shape with the dependency "expand", whose nodes are then merged into the first.
 * Whatever goes wrong, it does not stay: what cannot be merged is cancelled, until Slurm shows it no more. Where we are killed in
 * between, a guard that outlives us does that; where that is killed, too, as with the whole job, hpd does (job_waiter.c) as soon as the
 * job is over, and where hpd is away Slurm's own time limit ends it HELPER_MINUTES after it got its nodes.
 */
#include "agents/slurm/resume.h"

#include "base/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXTERN_STEP UINT32_C(0xFFFFFFFC)
#define CANCEL_TRIES 30
#define CANCEL_PAUSE_MS MS_PER_S

#define SALLOC_ARGUMENTS_MAX 32
#define HELPER_MINUTES "5"
#define QUIET_LOOKS 3 /* of the guard, without a job: salloc may just be on its way to slurmctld when it is ended */

struct arguments {
    char *words[SALLOC_ARGUMENTS_MAX + 1];
    size_t count;
};

__attribute__((format(printf, 2, 3))) static void add(struct arguments *arguments, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    if (arguments->count < SALLOC_ARGUMENTS_MAX)
        arguments->words[arguments->count++] = own_vprintf(format, ap);
    va_end(ap);
}

static void add_if(struct arguments *arguments, const char *option, const char *value)
{
    if (value[0] != '\0')
        add(arguments, "%s=%s", option, value);
}

/* As the job's own nodes are, so that each that comes is as large as one that went. */
static void write_salloc(const struct resume *r, const char *name, int64_t missing, struct arguments *arguments)
{
    const struct resume_job *job = &r->job;
    add(arguments, "%s", r->config.salloc);
    add(arguments, "--no-shell");
    add(arguments, "--dependency=expand:%s", r->job_id); /* "12_3" would mean another task of the array */
    add(arguments, "--job-name=%s", name);
    add(arguments, "--nodes=%" PRId64 "-%" PRId64, missing, missing);
    add(arguments, "--time=" HELPER_MINUTES); /* with "expand" Slurm gives it what the job has left: see shorten */
    add(arguments, "--exclude=%s%s%s", job->nodes, job->excluded[0] != '\0' ? "," : "", job->excluded);
    add_if(arguments, "--partition", job->partition);
    add_if(arguments, "--account", job->account);
    add_if(arguments, "--qos", job->qos);
    add_if(arguments, "--reservation", job->reservation);
    add_if(arguments, "--constraint", job->features);
    if (job->memory[0] != '\0')
        add_if(arguments, "--mem", job->memory);
    else
        add_if(arguments, "--mem-per-cpu", job->memory_per_cpu);
    if (job->exclusive) {
        add(arguments, "--exclusive");
        return;
    }
    add(arguments, "--ntasks-per-node=%" PRId64, r->cpus_per_node);
    add(arguments, "--ntasks=%" PRId64, r->cpus_per_node * missing);
}

/* Its id; NOT_FOUND when there is none of that name, or it ends. */
static int find_helper(const struct resume *r, const char *name, char ret_id[32])
{
    char said[RESUME_WORD_MAX];
    autofree char *out = NULL;
    int64_t id;
    int status = resume_tool(r,
                             (const char *[]){r->config.squeue, "-h", "--me", "-n", name, "-t",
                                              "PENDING,CONFIGURING,RUNNING,SUSPENDED", "-o", "%i", NULL},
                             &out, said);
    if (status != 0)
        return status;
    out[strcspn(out, "\n")] = '\0';
    if (text_parse_i64(out, 1, UINT32_MAX, &id) != 0)
        return STATUS_NOT_FOUND;
    snprintf(ret_id, 32, "%" PRId64, id);
    return 0;
}

/* Whoever asks us to end meanwhile waits for that. */
static void cancel_helper(const struct resume *r, const char *name)
{
    char id[32] = "", said[RESUME_WORD_MAX] = "squeue does not answer";
    int status = find_helper(r, name, id);
    for (int i = 0; i < CANCEL_TRIES && status != STATUS_NOT_FOUND; i++) {
        if (i > 0)
            (void)r->world->told_within(CANCEL_PAUSE_MS);
        if (status == 0)
            (void)resume_tool(r, (const char *[]){r->config.scancel, id, NULL}, NULL, said);
        status = find_helper(r, name, id);
    }
    if (status != STATUS_NOT_FOUND)
        resume_error(r, "job %s %s, which waited for a node, cannot be ended: %s", name, id, said);
}

struct waiting {
    struct resume *r;
    const char *name;
    bool shortened;
};

/* We were killed. Slurm may still hand the job its nodes. */
static void end_what_is_left(void *arg)
{
    const struct waiting *waiting = arg;
    char id[32];
    for (int i = 0; i < QUIET_LOOKS; i++) {
        if (find_helper(waiting->r, waiting->name, id) == 0)
            resume_info(waiting->r, "Job %s, which waited for a node, is cancelled: hp-auto-resume was killed", id);
        cancel_helper(waiting->r, waiting->name);
        (void)waiting->r->world->told_within(CANCEL_PAUSE_MS);
    }
}

/* Slurm gives a job with the dependency "expand" what the first one has left, which may be a year, but takes less while it waits. */
static void shorten(struct waiting *waiting)
{
    char id[32], said[RESUME_WORD_MAX];
    if (waiting->shortened || find_helper(waiting->r, waiting->name, id) != 0)
        return;
    autofree char *job = own_printf("jobid=%s", id);
    waiting->shortened =
        resume_tool(waiting->r,
                    (const char *[]){waiting->r->config.scontrol, "update", job, "timelimit=" HELPER_MINUTES, NULL},
                    NULL, said) == 0;
}

/* With proctrack/cgroup only the batch script hears that its job is to end, and we hear nothing until we are killed: the job that waits
 * would stay, without what it waits for, and take nodes for nobody. So it ends as soon as ours does. */
static bool on_wait(void *arg)
{
    struct waiting *waiting = arg;
    struct resume *r = waiting->r;
    struct resume_job job;
    shorten(waiting);
    resume_tell_waiting(r);
    r->job_ends = resume_peek(r, &job) && job.ends;
    return !r->job_ends;
}

static int await_nodes(struct waiting *waiting, int64_t missing, bool *told, char ret_why[RESUME_WHY_MAX])
{
    struct resume *r = waiting->r;
    struct arguments arguments = {0};
    struct run_ended ended = {0};
    const struct run_watch watch = {
        .interval_ms = r->config.poll_ms, .on_tick = on_wait, .arg = waiting, .limit_ms = r->config.replacement_ms};
    resume_tell_waiting(r);
    write_salloc(r, waiting->name, missing, &arguments);
    int status = r->world->run_child(arguments.words, -1, true, &watch, &ended);
    for (size_t i = 0; i < arguments.count; i++)
        free(arguments.words[i]);
    *told = *told || ended.told;
    if (status == 0 && ended.exit_code != 0)
        status = ended.stopped ? STATUS_TIMEOUT : STATUS_BACKEND;
    if (status != 0)
        snprintf(ret_why, RESUME_WHY_MAX, "no node came to take the place of %" PRId64 " that were lost: %s", missing,
                 r->job_ends     ? "the job is ended"
                 : *told         ? "it is asked to end"
                 : ended.stopped ? "replacementTimeout is over"
                                 : "salloc failed");
    return status;
}

/* With PrologFlags=Contain each job begins with a step of Slurm's own, and Slurm merges no job that has one. scancel of 22.05 knows it by
 * its number alone (SLURM_EXTERN_CONT), and where there is none it has nothing to end. */
static void end_container(const struct resume *r, const char *id)
{
    char said[RESUME_WORD_MAX];
    autofree char *step = own_printf("%s.%" PRIu32, id, EXTERN_STEP);
    (void)resume_tool(r, (const char *[]){r->config.scancel, step, NULL}, NULL, said);
}

/* An answer that was lost is no refusal: what counts is which nodes the job has. */
static int merge(struct resume *r, const char *name, bool *told, char ret_why[RESUME_WHY_MAX])
{
    char id[32], said[RESUME_WORD_MAX];
    int status = find_helper(r, name, id);
    for (int i = 0; i < CANCEL_TRIES && status != 0 && status != STATUS_NOT_FOUND && !*told; i++) {
        *told = r->world->told_within(CANCEL_PAUSE_MS);
        status = find_helper(r, name, id);
    }
    if (status != 0) {
        snprintf(ret_why, RESUME_WHY_MAX, "the job that waited for a node is gone");
        return status;
    }
    end_container(r, id);
    autofree char *job = own_printf("jobid=%s", id);
    status = resume_insist(r, (const char *[]){r->config.scontrol, "update", job, "numnodes=0", NULL}, RESUME_INSIST_MS,
                           told, said);
    bool shown = resume_look(r, told) == 0;
    r->job_ends = shown && r->job.ends;
    if (shown && !r->job.ends && r->job.node_count >= r->nodes_wanted)
        return 0;
    if (r->job_ends)
        snprintf(ret_why, RESUME_WHY_MAX, "the job is ended");
    else if (status == 0)
        snprintf(ret_why, RESUME_WHY_MAX, "the job has %" PRId64 " nodes and needs %" PRId64, r->job.node_count,
                 r->nodes_wanted);
    else
        snprintf(ret_why, RESUME_WHY_MAX, "job %s cannot be merged: %.150s", id, said);
    return STATUS_BACKEND;
}

int resume_expand(struct resume *r, int64_t missing, bool *told, char ret_why[RESUME_WHY_MAX])
{
    /* hpd knows it by this name, and ends it where we are killed before we can: server/service/job/job_waiter.c. */
    autofree char *name = own_printf("auto-resume-%s.%u-%d-%" PRId64, r->api_id, r->step, getpid(), r->attempt);
    struct waiting waiting = {.r = r, .name = name};
    struct run_guard guard;
    (void)r->world->guard_begin(end_what_is_left, &waiting, &guard); /* without one there is hpd */
    int status = await_nodes(&waiting, missing, told, ret_why);
    if (status == 0) {
        shorten(&waiting);
        status = merge(r, name, told, ret_why);
    }
    if (status != 0)
        cancel_helper(r, name);
    else
        resume_info(r, "Job Expansion complete");
    r->world->guard_end(&guard);
    return status;
}
