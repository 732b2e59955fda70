/*
 * The jobs on a node, and how they are asked to leave it.
 *
 * state=down would end them all at once, but it ends the node daemon's part only: Slurm then
 * requeues or fails the jobs by its own rules and their owners never learn why. So each job is taken by itself:
 * told why (scontrol notify, into its output), requeued when it is a batch job that allows it, cancelled otherwise. A
 * requeue that Slurm refuses is an error and is tried again; a job that may be requeued is never
 * cancelled instead.
 *
 * A job that an administrator had suspended is requeued held, as Slurm does it: who stopped it releases it.
 */
#include "server/scheduler/slurm/jobs.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/slurm/command.h"
#include "server/scheduler/slurm/nodes.h"
#include "server/scheduler/slurm/parse.h"
#include "server/scheduler/slurm/rest.h"
#include "server/scheduler/slurm/rest_read.h"

#include <ctype.h>
#include <string.h>

#define JOBS_FIRST 16    /* capacity to begin with */
#define TELL_MS_MAX 2000 /* telling goes through the node, which may be dead */

struct list {
    struct slurm_job *jobs;
    size_t count, capacity;
};

static void add_job(struct list *list, const struct slurm_job *job)
{
    if (list->count == list->capacity) {
        list->capacity = list->capacity == 0 ? JOBS_FIRST : 2 * list->capacity;
        list->jobs = own_realloc(list->jobs, list->capacity, sizeof(*list->jobs));
    }
    list->jobs[list->count++] = *job;
}

static int list_by_program(struct slurm_call *call, const char *node, struct list *list)
{
    autofree char *out = NULL;
    int status =
        slurm_run(call, (const char *[]){call->s->squeue, "-h", "-a", "-w", node, "-O", SLURM_JOB_FORMAT, NULL}, &out);
    if (status != 0)
        return status;
    char *rest = out;
    for (char *line; (line = slurm_next_line(&rest)) != NULL;) {
        struct slurm_job job;
        if (line[0] == '\0')
            continue;
        status = slurm_parse_job(line, &job);
        if (status == 0)
            add_job(list, &job);
        else if (status != STATUS_NOT_FOUND)
            return slurm_call_fail(call, status, "squeue printed a job that cannot be read: %.100s", line);
    }
    return 0;
}

/* slurmrestd shows the jobs of all nodes only, and nothing wrong with a node that it does not know. */
static int list_by_rest(struct slurm_call *call, const char *node, struct list *list)
{
    auto_json json_t *reply = NULL;
    struct slurm_node seen;
    int status = slurm_look(call, node, &seen);
    if (status == 0)
        status = slurm_rest_get(call, "jobs", &reply);
    if (status != 0)
        return status;
    const json_t *jobs = json_object_get(reply, "jobs");
    if (!json_is_array(jobs))
        return slurm_call_fail(call, STATUS_BACKEND, "slurmrestd answered without jobs");
    for (size_t i = 0; i < json_array_size(jobs); i++) {
        struct slurm_job job;
        status = slurm_json_job_on(json_array_get(jobs, i), node, &job);
        if (status == 0)
            add_job(list, &job);
        else if (status != STATUS_NOT_FOUND)
            return slurm_call_fail(call, status, "slurmrestd shows a job that cannot be read, the %zuth", i + 1);
    }
    return 0;
}

static int list(struct slurm_call *call, const char *node, struct slurm_job **ret_jobs, size_t *ret_count)
{
    struct list list = {0};
    if (!slurm_is_node_name(node))
        return slurm_call_fail(call, STATUS_INVALID, "not a node name: %.64s", node);
    int status = call->s->rest != NULL ? list_by_rest(call, node, &list) : STATUS_TOO_LARGE;
    if (status == STATUS_TOO_LARGE) /* more jobs than are read at once: squeue shows this node's alone */
        status = list_by_program(call, node, &list);
    if (status != 0) {
        free(list.jobs);
        return status;
    }
    *ret_jobs = list.jobs;
    *ret_count = list.count;
    return 0;
}

int slurm_jobs(struct scheduler *s, const char *node, struct scheduler_job **ret_jobs, size_t *ret_count,
               char *ret_error)
{
    struct slurm_call call;
    slurm_call_start(&call, s, ret_error);
    autofree struct slurm_job *jobs = NULL;
    size_t count = 0;
    int status = list(&call, node, &jobs, &count);
    if (status != 0)
        return status;
    struct scheduler_job *seen = own_calloc(count == 0 ? 1 : count, sizeof(*seen));
    for (size_t i = 0; i < count; i++)
        seen[i] = jobs[i].seen;
    *ret_jobs = seen;
    *ret_count = count;
    return 0;
}

/* Tells the job's owner, in the job's own output. Best effort: a job that cannot be told is ended all the same. */
static void tell(const struct slurm_call *call, const struct slurm_job *job, const char *node, const char *reason)
{
    char error[SCHEDULER_ERROR_MAX];
    autofree char *out = NULL;
    autofree char *message = own_printf("node %s is taken out for repair (%s): this job is %s", node, reason,
                                        job->seen.requeueable ? "requeued" : "cancelled");
    struct slurm_call aside = slurm_call_aside(call, TELL_MS_MAX, error);
    slurm_run(&aside, (const char *[]){call->s->scontrol, "notify", job->target, message, NULL}, &out);
}

static int end_job(struct slurm_call *call, const struct slurm_job *job)
{
    const struct scheduler *s = call->s;
    autofree char *out = NULL;
    if (job->seen.requeueable)
        return slurm_run(call, (const char *[]){s->scontrol, "requeue", job->target, NULL}, &out);
    if (!slurm_rest_can(call, SLURM_REST_CANCELS_JOBS))
        return slurm_run(call, (const char *[]){s->scancel, job->target, NULL}, &out);
    autofree char *path = own_printf("job/%s", job->target);
    return slurm_rest_change(call, path, NULL);
}

/* --- signals ------------------------------------------------------------------------------------------------------ */

/* scancel sends a signal to all steps of a job and not to its batch script, or to that alone; slurmrestd to both, which ends a
 * script that does not know it. */
static int send_signal(struct slurm_call *call, const char *target, enum job_signal signal)
{
    const char *name = job_signal_text(signal);
    bool batch = text_starts_with(name, "B:");
    autofree char *out = NULL;
    autofree char *option = own_printf("--signal=%s", batch ? name + strlen("B:") : name);
    return slurm_run(
        call, (const char *[]){call->s->scancel, option, batch ? "--batch" : target, batch ? target : NULL, NULL},
        &out);
}

static const struct slurm_job *find_id(const struct slurm_job *jobs, size_t count, const char *id)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(jobs[i].seen.id, id) == 0)
            return &jobs[i];
    return NULL;
}

/* The answer that another part of the same job was given; NULL: none was asked. */
static const int *answer_before(const struct slurm_job *seen, size_t seen_count, const struct scheduler_job *jobs,
                                size_t at, const char *target)
{
    for (size_t i = 0; i < at; i++) {
        const struct slurm_job *other = find_id(seen, seen_count, jobs[i].id);
        if (other != NULL && strcmp(other->target, target) == 0)
            return &jobs[i].answer;
    }
    return NULL;
}

int slurm_signal(struct scheduler *s, const char *node, enum job_signal signal, struct scheduler_job *jobs,
                 size_t count, char *ret_error)
{
    struct slurm_call call;
    slurm_call_start(&call, s, ret_error);
    autofree struct slurm_job *seen = NULL;
    size_t seen_count = 0;
    int status = list(&call, node, &seen, &seen_count);
    if (status != 0)
        return status;
    for (size_t i = 0; i < count; i++) {
        const struct slurm_job *job = find_id(seen, seen_count, jobs[i].id);
        const int *before = job == NULL ? NULL : answer_before(seen, seen_count, jobs, i, job->target);
        if (job == NULL || !job->seen.may_be_asked)
            jobs[i].answer = slurm_call_fail(&call, STATUS_NOT_FOUND, "job %s does not run any more", jobs[i].id);
        else
            jobs[i].answer = before != NULL ? *before : send_signal(&call, job->target, signal);
    }
    return 0;
}

/* --- the end ------------------------------------------------------------------------------------------------------ */

static bool was_told_before(const struct slurm_job *jobs, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (strcmp(jobs[i].target, jobs[at].target) == 0)
            return true;
    return false;
}

/* The target of the first job that is there and has not begun to end; "" when there is none. */
static int find_stubborn(struct slurm_call *call, const char *node, char ret_id[SCHEDULER_JOB_ID_MAX])
{
    autofree struct slurm_job *jobs = NULL;
    size_t count = 0;
    int status = list(call, node, &jobs, &count);
    if (status != 0)
        return status;
    ret_id[0] = '\0';
    for (size_t i = 0; i < count && ret_id[0] == '\0'; i++)
        if (!jobs[i].ending)
            text_copy(ret_id, SCHEDULER_JOB_ID_MAX, jobs[i].target);
    return 0;
}

int slurm_evict(struct scheduler *s, const char *node, const char *reason, char *ret_error)
{
    struct slurm_call call;
    slurm_call_start(&call, s, ret_error);
    autofree struct slurm_job *jobs = NULL;
    size_t count = 0;
    if (!slurm_is_line(reason))
        return slurm_call_fail(&call, STATUS_INVALID, "not a reason of one printable line");
    int status = list(&call, node, &jobs, &count);
    if (status != 0)
        return status;
    int refused = 0;
    char said[SCHEDULER_ERROR_MAX] = "";
    for (size_t i = 0; i < count; i++) {
        if (jobs[i].ending || was_told_before(jobs, i))
            continue;
        tell(&call, &jobs[i], node, reason);
        status = end_job(&call, &jobs[i]);
        if (status != 0 && status != STATUS_NOT_FOUND && refused == 0) { /* gone by itself is fine */
            refused = status;
            text_copy_cut(said, sizeof(said), ret_error);
        }
    }
    if (refused == 0)
        return 0;
    /* A refusal counts only while the job is still there: it may have ended between our look and our word. */
    char id[SCHEDULER_JOB_ID_MAX];
    status = find_stubborn(&call, node, id);
    if (status != 0 || id[0] == '\0')
        return status;
    return slurm_call_fail(&call, refused, "job %s stays on %s: %s", id, node, said);
}

/* By the program also where slurmrestd can end a job: only that one looks at its name. */
int slurm_cancel(struct scheduler *s, const char *job, const char *name, char *ret_error)
{
    struct slurm_call call;
    slurm_call_start(&call, s, ret_error);
    if (!slurm_is_line(name) || !isdigit((unsigned char)job[0]))
        return slurm_call_fail(&call, STATUS_INVALID, "not a job's number and name");
    autofree char *out = NULL, *by_name = own_printf("--name=%s", name);
    int status = slurm_run(&call, (const char *[]){s->scancel, by_name, job, NULL}, &out);
    return status == STATUS_NOT_FOUND ? 0 : status;
}
