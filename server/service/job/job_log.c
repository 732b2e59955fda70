/* What a job has written, for people: asked for here, read at the scheduler by the loop's threads, and handed out when it is there. */
#include "server/live/job_log.h"
#include "base/status.h"
#include "base/text.h"
#include "server/live/fleet.h"
#include "server/service/job/job.h"
#include "server/service/private.h"
#include "server/service/scheduler/scheduler.h"

struct finding {
    struct service *s;
    const char *cluster;
    char *scheduler; /* NAME_MAX_BYTES */
    struct problem *problem;
};

static int find(struct db_tx *tx, void *arg)
{
    const struct finding *finding = arg;
    struct cluster cluster;
    int status = place_find_cluster(tx, finding->cluster, &cluster, finding->problem);
    struct service_scheduler *scheduler = status == 0 ? service_scheduler_of(finding->s, &cluster) : NULL;
    if (status == 0 && scheduler == NULL)
        return problem_say(finding->problem, STATUS_CONFLICT, PROBLEM_CONFLICT, "The cluster \"%s\" has no scheduler.",
                           cluster.name);
    if (status == 0)
        text_copy_cut(finding->scheduler, NAME_MAX_BYTES, service_scheduler_name(scheduler));
    return status;
}

static int refuse(const struct job_log_ask *ask, int status, const char *error, struct problem *problem)
{
    switch (status) {
    case STATUS_UNSUPPORTED:
        return problem_say(problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "hpd reads no logs of jobs at the scheduler \"%s\".", ask->scheduler);
    case STATUS_FULL:
        return problem_say(problem, STATUS_UNAVAILABLE, PROBLEM_UNAVAILABLE,
                           "Too many logs are being read. Ask again in a minute.");
    case STATUS_NOT_FOUND:
        return problem_say(problem, status, PROBLEM_NOT_FOUND, "%s", error);
    case STATUS_INVALID:
        return problem_say(problem, STATUS_CONFLICT, PROBLEM_CONFLICT, "%s", error);
    default:
        return problem_say(problem, STATUS_UNAVAILABLE, PROBLEM_UNAVAILABLE, "The log cannot be read: %s", error);
    }
}

int service_job_log(struct service *s, const struct actor *actor, const char *cluster, const char *job,
                    const struct service_job_log_ask *asked, bool *ret_is_read, struct job_log *ret_log,
                    struct problem *ret_problem)
{
    struct job_log_ask ask = {.rank = asked->rank, .lines = asked->lines, .previous = asked->previous};
    struct finding finding = {s, cluster, ask.scheduler, ret_problem};
    struct cluster_job found;
    char error[JOB_LOG_ERROR_MAX];
    enum job_log_state state;
    text_copy_cut(ask.after, sizeof(ask.after), asked->after);
    int status = service_require(actor, ROLE_OPERATOR, ret_problem);
    if (status == 0)
        status = service_job_find(s, cluster, job, &found, ret_problem);
    if (status == 0)
        status = service_read(s, find, &finding, ret_problem);
    if (status == 0 && text_copy(ask.job, sizeof(ask.job), job) != 0)
        status =
            problem_say(ret_problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                        "The log of a job with a name of %d characters or more is not read here.", JOB_ID_MAX_BYTES);
    if (status != 0)
        return status;
    *ret_log = (struct job_log){0};
    status = job_logs_ask(fleet_job_logs(s->fleet), &ask, clock_mono_ms(s->clock), &state, ret_log, error);
    *ret_is_read = state == JOB_LOG_READ;
    return status == 0 ? 0 : refuse(&ask, status, error, ret_problem);
}
