/*
 * What people ask of jobs. A command is a row, written beside its audit entry; the loop's thread for the job's scheduler reads it, asks the
 * scheduler for it, and drops it. So it is carried out once at least, and each is such that twice is the same. Where the scheduler refuses it
 * the timeline says so.
 */
#include "db/job_command.h"
#include "base/text.h"
#include "server/service/job/job.h"
#include "server/service/private.h"
#include "server/service/scheduler/scheduler.h"

static int take_job(const struct service_job *row, void *arg)
{
    *(struct cluster_job *)arg = *row->job;
    return 0;
}

static int ignore_fault(const char *node, const struct verdict *verdict, void *arg)
{
    (void)node, (void)verdict, (void)arg;
    return 0;
}

static int ignore_repair(const char *node, const struct operation *operation, void *arg)
{
    (void)node, (void)operation, (void)arg;
    return 0;
}

static int ignore_attempt(const struct job_attempt *attempt, const struct attempt_cost *cost, void *arg)
{
    (void)attempt, (void)cost, (void)arg;
    return 0;
}

int service_job_find(struct service *s, const char *cluster, const char *id, struct cluster_job *ret_job,
                     struct problem *ret_problem)
{
    *ret_job = (struct cluster_job){0};
    const struct service_job_readers readers = {
        .job = take_job, .fault = ignore_fault, .repair = ignore_repair, .attempt = ignore_attempt, .arg = ret_job};
    return service_job_get(s, cluster, id, &readers, ret_problem);
}

static int refuse_kind(const struct cluster_job *job, const char *id, enum job_command_kind kind,
                       struct problem *problem)
{
    if (job->commands == 0)
        return problem_say(
            problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
            "The job \"%s\" takes no commands here: only training jobs that hpd carries out and batch jobs "
            "that may be requeued do. Ask its scheduler.",
            id);
    if (kind == JOB_COMMAND_REMAKE)
        return problem_say(problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "The job \"%s\" has no pods: leave out --pods, and the whole job begins anew.", id);
    return problem_say(problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                       "The job \"%s\" has one size only: it has no elasticPolicy.", id);
}

static int check(const struct cluster_job *job, const char *id, enum job_command_kind kind, int64_t size,
                 struct problem *problem)
{
    if (cluster_job_place(job->state) == CLUSTER_JOB_PLACE_OVER)
        return problem_say(problem, STATUS_CONFLICT, PROBLEM_CONFLICT, "The job \"%s\" is over: it is %s.", id,
                           cluster_job_state_text(job->state));
    if (!job_takes(job, kind))
        return refuse_kind(job, id, kind, problem);
    if (kind == JOB_COMMAND_SCALE && job->size_most != 0 && (size < job->size_least || size > job->size_most))
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "size: %lld is not allowed. The job \"%s\" may have %lld to %lld replicas.", (long long)size,
                           id, (long long)job->size_least, (long long)job->size_most);
    return 0;
}

struct commanding {
    struct service *s;
    const char *cluster;
    struct job_command *command;
    struct problem *problem;
};

static int command_write(struct db_tx *tx, void *arg)
{
    struct commanding *work = arg;
    struct cluster cluster;
    int status = place_find_cluster(tx, work->cluster, &cluster, work->problem);
    struct service_scheduler *scheduler = status == 0 ? service_scheduler_of(work->s, &cluster) : NULL;
    if (status != 0)
        return status;
    if (scheduler == NULL)
        return problem_say(work->problem, STATUS_CONFLICT, PROBLEM_CONFLICT, "The cluster \"%s\" has no scheduler.",
                           cluster.name);
    text_copy_cut(work->command->scheduler, sizeof(work->command->scheduler), service_scheduler_name(scheduler));
    text_copy_cut(work->command->cluster, sizeof(work->command->cluster), cluster.name);
    status = db_job_command_insert(tx, work->command);
    if (status == STATUS_FULL)
        return problem_say(work->problem, STATUS_CONFLICT, PROBLEM_LIMIT_EXCEEDED,
                           "%d commands wait for the scheduler \"%s\" already: is it reached?", JOB_COMMANDS_MAX,
                           work->command->scheduler);
    return status;
}

int service_job_command(struct service *s, const struct actor *actor, const char *cluster, const char *job,
                        enum job_command_kind kind, int64_t size, struct job_command *ret_command,
                        struct problem *ret_problem)
{
    struct job_command command = {.kind = kind, .size = size, .asked_at = service_now(s)};
    struct commanding work = {.s = s, .cluster = cluster, .command = &command, .problem = ret_problem};
    struct cluster_job found;
    int status = service_require(actor, ROLE_OPERATOR, ret_problem);
    if (status == 0)
        status = service_job_find(s, cluster, job, &found, ret_problem);
    if (status == 0)
        status = check(&found, job, kind, size, ret_problem);
    if (status == 0 && text_copy(command.job, sizeof(command.job), job) != 0)
        status = problem_say(ret_problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                             "A job with a name of %d characters or more takes no commands here: annotate it there.",
                             JOB_ID_MAX_BYTES);
    text_copy_cut(command.actor, sizeof(command.actor), actor->name);
    command.restarts = found.restarts;
    if (status == 0)
        status = service_write(s, "job-command", command_write, &work, ret_problem);
    if (status != 0)
        return status;
    service_wake(s, SERVICE_WAKE_JOB_COMMAND, 0);
    *ret_command = command;
    return 0;
}

/* --- for who carries them out --------------------------------------------------------------------------- */

struct listing {
    const char *scheduler;
    db_row_fn fn;
    void *arg;
};

static int list_read(struct db_tx *tx, void *arg)
{
    const struct listing *listing = arg;
    return db_job_command_list(tx, listing->scheduler, listing->fn, listing->arg);
}

int service_job_commands(struct service *s, const char *scheduler, db_row_fn fn, void *arg)
{
    struct listing listing = {scheduler, fn, arg};
    struct problem problem;
    return service_read(s, list_read, &listing, &problem);
}

struct ending {
    const struct job_command *command;
    const char *refusal;
};

static int end_write(struct db_tx *tx, void *arg)
{
    const struct ending *ending = arg;
    const struct job_command *command = ending->command;
    struct cluster cluster;
    struct problem problem;
    int status = db_job_command_drop(tx, command->id);
    if (status != 0 || ending->refusal == NULL || place_find_cluster(tx, command->cluster, &cluster, &problem) != 0)
        return status;
    return cluster_event(tx, &cluster, EVENT_LEVEL_WARN, EVENT_KIND_OPERATOR_REQUEST,
                         "\"%s\" of job %s, requested by %s, was refused: %s", job_command_kind_text(command->kind),
                         command->job, command->actor, ending->refusal);
}

int service_job_command_end(struct service *s, const struct job_command *command, const char *refusal)
{
    struct ending ending = {command, refusal};
    struct problem problem;
    int status = service_write(s, "job-command-end", end_write, &ending, &problem);
    if (status == 0 && refusal != NULL)
        service_events_added(s);
    return status;
}
