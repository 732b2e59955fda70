/*
 * A running job loses nodes and gets others, in three steps that Slurm has for it: its list of nodes is cut to the good ones; a
 * second job of the same shape waits for as many others with the dependency "expand"; and that one's nodes are merged into the
 * first. Needs SchedulerParameters=permit_job_expansion. Each step is tried again for a while, as Slurm refuses it for as long as
 * something of the step before is still completing.
 */
#include "agents/slurm/resume.h"
#include "agents/slurm/run.h"

#include "base/child.h"
#include "base/clock.h"
#include "base/status.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TOOL_MS (30 * MS_PER_S)
#define TRIES 60
#define EXTERN_STEP UINT32_C(0xFFFFFFFC)
#define TRY_PAUSE_MS MS_PER_S
/* scontrol leaves two scripts for people, slurm_job_82_resize.sh, wherever it changes a job's size: here nobody can write. */
#define TOOL_DIRECTORY "/proc"

int resume_tool(const char *const argv[], char **ret_out, char ret_said[RESUME_WORD_MAX])
{
    struct child_result result;
    const struct child_options options = {
        .timeout_ms = TOOL_MS, .out_bytes_max = RESUME_JOB_BYTES_MAX, .directory = TOOL_DIRECTORY};
    int status = child_run(argv, &options, &result);
    snprintf(ret_said, RESUME_WORD_MAX, "%s: %s", argv[0], status_meaning(status));
    if (status != 0)
        return status;
    if (result.exit_code != 0 || result.out_cut) {
        size_t len = strcspn(result.err, "\n");
        text_copy_clean(ret_said, RESUME_WORD_MAX, result.err, len);
        status = STATUS_BACKEND;
    } else if (ret_out != NULL) {
        *ret_out = TAKE(result.out);
    }
    child_result_free(&result);
    return status;
}

/* Until it works, for so many tries; told ends it, too. */
static int insist(const char *const argv[], bool *told, char ret_said[RESUME_WORD_MAX])
{
    int status = resume_tool(argv, NULL, ret_said);
    for (int i = 0; i < TRIES && status != 0 && !*told; i++) {
        *told = run_told_within(TRY_PAUSE_MS);
        status = resume_tool(argv, NULL, ret_said);
    }
    return status;
}

/* With the details, which may be very long, and else without them. */
static int show_job(const struct resume *r, char **ret_out, char said[RESUME_WORD_MAX])
{
    int status =
        resume_tool((const char *[]){r->config.scontrol, "-d", "-o", "show", "job", r->job_id, NULL}, ret_out, said);
    return status == 0
               ? 0
               : resume_tool((const char *[]){r->config.scontrol, "-o", "show", "job", r->job_id, NULL}, ret_out, said);
}

int resume_look(struct resume *r)
{
    char said[RESUME_WORD_MAX];
    autofree char *out = NULL;
    int status = show_job(r, &out, said);
    if (status != 0)
        resume_error(r, "Slurm does not show the job: %s", said);
    else if (resume_job_parse(out, &r->job) != 0) {
        resume_error(r, "what Slurm shows of the job cannot be read");
        status = STATUS_BACKEND;
    }
    return status;
}

bool resume_newcomers_barred(const struct resume *r)
{
    char said[RESUME_WORD_MAX];
    autofree char *out = NULL;
    return resume_tool((const char *[]){r->config.scontrol, "show", "config", NULL}, &out, said) == 0 &&
           resume_config_bars_newcomers(out);
}

static int shrink(struct resume *r, const char *good, bool *told)
{
    char said[RESUME_WORD_MAX];
    autofree char *job = own_printf("jobid=%s", r->job_id), *nodes = own_printf("nodelist=%s", good);
    resume_info(r, "Job failed - Droping unhealthy nodes");
    int status = insist((const char *[]){r->config.scontrol, "update", job, nodes, NULL}, told, said);
    if (status != 0) {
        resume_error(r, "the job cannot be shrunk to %s: %s", good, said);
        return status;
    }
    status = resume_look(r);
    if (status == 0)
        resume_info(r, "Succesfully shrink job to retain healthy nodes %s", r->job.nodes);
    return status;
}

/* --- the job that waits ------------------------------------------------------------------------------- */

#define SALLOC_ARGUMENTS_MAX 32
#define HELPER_MINUTES "5"
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
    add(arguments, "--dependency=expand:%s", r->job_id);
    add(arguments, "--job-name=%s", name);
    add(arguments, "--nodes=%" PRId64 "-%" PRId64, missing, missing);
    add(arguments,
        "--time=" HELPER_MINUTES); /* it is merged at once; one that nobody is left to merge holds no node for long */
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

/* Its id; NOT_FOUND when there is none of that name. */
static int find_helper(const struct resume *r, const char *name, char ret_id[32])
{
    char said[RESUME_WORD_MAX];
    autofree char *out = NULL;
    int64_t id;
    int status =
        resume_tool((const char *[]){r->config.squeue, "-h", "--me", "-n", name, "-o", "%i", NULL}, &out, said);
    if (status != 0)
        return status;
    out[strcspn(out, "\n")] = '\0';
    if (text_parse_i64(out, 1, UINT32_MAX, &id) != 0)
        return STATUS_NOT_FOUND;
    snprintf(ret_id, 32, "%" PRId64, id);
    return 0;
}

static void cancel_helper(const struct resume *r, const char *name)
{
    char id[32], said[RESUME_WORD_MAX];
    if (find_helper(r, name, id) == 0 && resume_tool((const char *[]){r->config.scancel, id, NULL}, NULL, said) != 0)
        resume_error(r, "job %s, which waited for a node, cannot be ended: %s", id, said);
}

/* With proctrack/cgroup only the batch script hears that its job is to end, and we hear nothing until we are killed: the job that waits
 * would stay, without what it waits for, and take nodes for nobody. So it ends as soon as ours does. */
static bool on_wait(void *arg)
{
    struct resume *r = arg;
    struct resume_job job;
    char said[RESUME_WORD_MAX];
    autofree char *out = NULL;
    resume_tell_waiting(r);
    r->job_ends = show_job(r, &out, said) == 0 && resume_job_parse(out, &job) == 0 && job.ends;
    return !r->job_ends;
}

static int await_nodes(struct resume *r, const char *name, int64_t missing, bool *told)
{
    struct arguments arguments = {0};
    struct run_ended ended = {0};
    const struct run_watch watch = {
        .interval_ms = r->config.poll_ms, .on_tick = on_wait, .arg = r, .limit_ms = r->config.replacement_ms};
    resume_tell_waiting(r);
    write_salloc(r, name, missing, &arguments);
    int status = run_child(arguments.words, -1, true, &watch, &ended);
    for (size_t i = 0; i < arguments.count; i++)
        free(arguments.words[i]);
    *told = *told || ended.told;
    if (status == 0 && ended.exit_code != 0)
        status = ended.stopped ? STATUS_TIMEOUT : STATUS_BACKEND;
    if (status != 0)
        resume_error(r, "no node came to take the place of %" PRId64 " that were lost: %s", missing,
                     r->job_ends     ? "the job is ended"
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
    (void)resume_tool((const char *[]){r->config.scancel, step, NULL}, NULL, said);
}

static int merge(struct resume *r, const char *name, bool *told)
{
    char id[32], said[RESUME_WORD_MAX];
    int status = find_helper(r, name, id);
    if (status != 0) {
        resume_error(r, "the job that waited for a node is gone");
        return status;
    }
    end_container(r, id);
    autofree char *job = own_printf("jobid=%s", id);
    status = insist((const char *[]){r->config.scontrol, "update", job, "numnodes=0", NULL}, told, said);
    if (status != 0)
        resume_error(r, "job %s cannot be merged: %s", id, said);
    return status;
}

static int expand(struct resume *r, int64_t missing, bool *told)
{
    /* hpd knows it by this name, and ends it where we are killed before we can: server/service/job/job_waiter.c. */
    autofree char *name = own_printf("auto-resume-%s.%u-%d-%" PRId64, r->api_id, r->step, getpid(), r->attempt);
    int status = await_nodes(r, name, missing, told);
    if (status == 0)
        status = merge(r, name, told);
    if (status != 0) {
        cancel_helper(r, name);
        return status;
    }
    status = resume_look(r);
    if (status == 0 && r->job.node_count < r->nodes_wanted) {
        resume_error(r, "the job has %" PRId64 " nodes and needs %" PRId64, r->job.node_count, r->nodes_wanted);
        status = STATUS_BACKEND;
    }
    if (status == 0)
        resume_info(r, "Job Expansion complete");
    return status;
}

/* What the batch script's environment says of the job is of its beginning. */
static void renew_environment(const struct resume *r)
{
    autofree char *count = own_printf("%" PRId64, r->job.node_count);
    autofree char *cpus = own_printf("%" PRId64 "(x%" PRId64 ")", r->cpus_per_node, r->job.node_count);
    setenv("SLURM_JOB_NODELIST", r->job.nodes, 1);
    setenv("SLURM_NODELIST", r->job.nodes, 1);
    setenv("SLURM_JOB_NUM_NODES", count, 1);
    setenv("SLURM_NNODES", count, 1);
    setenv("SLURM_JOB_CPUS_PER_NODE", cpus, 1);
}

/* Beside what its user excluded. */
static void exclude(struct resume *r, const char *open)
{
    autofree char *all = own_printf("%s%s%s", r->job.excluded, r->job.excluded[0] != '\0' ? "," : "", open);
    if (text_copy(r->job.excluded, sizeof(r->job.excluded), all) != 0)
        resume_error(r, "the job cannot be kept off %s: more nodes are excluded than can be", open);
}

/* What another step of the job did meanwhile is not done again: then there may be nothing left to do. */
static int swap(struct resume *r, const struct resume_names *broken, bool waited, bool *told)
{
    struct resume_names AUTO(resume_names) now = {0};
    size_t good_count = 0;
    int status = waited ? resume_look(r) : 0;
    if (status == 0)
        status = resume_names_expand(r->job.nodes, &now);
    if (status != 0 || (waited && (int64_t)now.count >= r->nodes_wanted))
        return status;
    autofree char *good = resume_names_without(&now, broken, &good_count);
    if (good_count < now.count)
        status = shrink(r, good, told);
    autofree char *open = status == 0 ? resume_await_fence(r, broken, told) : NULL;
    if (open != NULL)
        exclude(r, open);
    if (status == 0 && (int64_t)good_count < r->nodes_wanted && !*told)
        status = expand(r, r->nodes_wanted - (int64_t)good_count, told);
    return status;
}

int resume_swap(struct resume *r, const struct resume_names *broken, bool *ret_told)
{
    bool waited = false;
    resume_info(r, "Job failed - replacing nodes");
    int lock = resume_lock(r, &waited, ret_told);
    int status = *ret_told ? 0 : swap(r, broken, waited, ret_told);
    if (lock >= 0)
        close(lock);
    if (status != 0 || *ret_told)
        return status;
    renew_environment(r);
    resume_info(r, "Updating to new node list %s", r->job.nodes);
    return 0;
}

/* Slurm takes the exclusion of a job only once that waits again, which this one does while its processes, us with them, are ended. */
int resume_requeue(struct resume *r, const struct resume_names *broken, bool *told)
{
    char said[RESUME_WORD_MAX];
    autofree char *open = resume_await_fence(r, broken, told), *job = own_printf("jobid=%s", r->job_id);
    if (*told)
        return STATUS_BACKEND;
    int status = resume_tool((const char *[]){r->config.scontrol, "requeue", r->job_id, NULL}, NULL, said);
    if (status != 0)
        resume_error(r, "the job cannot be requeued: %s", said);
    if (status != 0 || open == NULL)
        return status;
    exclude(r, open);
    autofree char *excluded = own_printf("excnodelist=%s", r->job.excluded);
    if (insist((const char *[]){r->config.scontrol, "update", job, excluded, NULL}, told, said) != 0)
        resume_error(r, "the job cannot be kept off %s: %s", open, said);
    return 0;
}
