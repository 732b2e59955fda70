/*
 * What people ask of training jobs. A command is a row, written beside its audit entry; the controller of the job's scheduler reads it,
 * asks the scheduler for it, and drops it. So it is carried out once at least, and each is such that twice is the same.
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

static int check(struct service *s, const char *cluster, const char *id, enum job_command_kind kind, int64_t size,
                 struct problem *problem)
{
    struct cluster_job job;
    int status = service_job_find(s, cluster, id, &job, problem);
    if (status != 0)
        return status;
    if (!job.is_training)
        return problem_say(problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "The job \"%s\" is not one that hpd carries out: ask its scheduler.", id);
    if (cluster_job_place(job.state) == CLUSTER_JOB_PLACE_OVER)
        return problem_say(problem, STATUS_CONFLICT, PROBLEM_CONFLICT, "The job \"%s\" is over: it is %s.", id,
                           cluster_job_state_text(job.state));
    if (kind != JOB_COMMAND_SCALE)
        return 0;
    if (job.size_most == 0)
        return problem_say(problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "The job \"%s\" has one size only: it has no elasticPolicy.", id);
    if (size < job.size_least || size > job.size_most)
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "size: %lld is not allowed. The job \"%s\" may have %lld to %lld replicas.", (long long)size,
                           id, (long long)job.size_least, (long long)job.size_most);
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
    int status = service_require(actor, ROLE_OPERATOR, ret_problem);
    if (status == 0)
        status = check(s, cluster, job, kind, size, ret_problem);
    if (status == 0 && text_copy(command.job, sizeof(command.job), job) != 0)
        status = problem_say(ret_problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                             "A job with a name of %d characters or more takes no commands here: annotate it there.",
                             JOB_ID_MAX_BYTES);
    text_copy_cut(command.actor, sizeof(command.actor), actor->name);
    if (status == 0)
        status = service_write(s, "job-command", command_write, &work, ret_problem);
    if (status == 0)
        *ret_command = command;
    return status;
}

/* --- for the controller --------------------------------------------------------------------------- */

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

static int done_write(struct db_tx *tx, void *arg)
{
    return db_job_command_drop(tx, *(const int64_t *)arg);
}

int service_job_command_done(struct service *s, int64_t id)
{
    struct problem problem;
    return service_write(s, "job-command-done", done_write, &id, &problem);
}
