/*
 * Commands for jobs. Slurm can begin a batch job anew on other nodes (requeue) and has nothing for its processes alone, so a restart is a
 * requeue. A suspended job gives its nodes back and waits held: scontrol suspend would stop its processes and keep the nodes. Another size
 * is a requeue, too, since a running job cannot grow by a change, and its program would have to know of it.
 *
 * A command may come twice, as hpd may end between its last step and the note that it is done. What says that a start is another one than
 * the command meant is Slurm's own count of restarts.
 */
#include "server/scheduler/slurm/job_command.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/slurm/command.h"
#include "server/scheduler/slurm/job_snapshot.h"
#include "server/scheduler/slurm/parse.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

#define TELL_MS_MAX 2000 /* telling goes through the node, which may be dead */
#define LOOK_PAUSE_NS 200000000
#define LOOKS_MAX 15 /* until a job that was requeued has left its nodes; else it is asked for again later */
#define COLUMNS 6

int slurm_parse_job_now(char *text, struct slurm_job_now *ret_now)
{
    char *columns[COLUMNS], *line = text, *next = text + strcspn(text, "\n");
    if (text[strspn(text, " \n")] == '\0')
        return STATUS_NOT_FOUND;
    if (next[strspn(next, " \n")] != '\0')
        return STATUS_CONFLICT;
    for (size_t i = 0; i < COLUMNS; i++) {
        line += strspn(line, " ");
        size_t len = strcspn(line, " \n");
        if (len == 0)
            return STATUS_BACKEND;
        columns[i] = line;
        line += len;
        if (*line != '\0')
            *line++ = '\0';
    }
    *ret_now = (struct slurm_job_now){.state = slurm_queue_state(columns[0]),
                                      .restarts = slurm_queue_count(columns[1]),
                                      .held = strcmp(columns[2], "0") == 0,
                                      .nodes = slurm_queue_count(columns[3]),
                                      .tasks = slurm_queue_count(columns[4]),
                                      .cpus = slurm_queue_count(columns[5])};
    return 0;
}

static int look(struct slurm_call *call, const char *job, struct slurm_job_now *ret_now)
{
    autofree char *out = NULL;
    int status = slurm_run(
        call, (const char *[]){call->s->squeue, "-h", "-a", "-t", "all", "-j", job, "-O", SLURM_JOB_NOW_FORMAT, NULL},
        &out);
    if (status == 0)
        status = slurm_parse_job_now(out, ret_now);
    if (status == STATUS_CONFLICT)
        return slurm_call_fail(call, STATUS_INVALID, "Slurm has more than one job by the number %s", job);
    if (status == STATUS_NOT_FOUND)
        return slurm_call_fail(call, status, "Slurm knows no job %s any more", job);
    if (status == STATUS_BACKEND)
        return slurm_call_fail(call, status, "squeue printed a job that cannot be read");
    if (status == 0 && cluster_job_place(ret_now->state) == CLUSTER_JOB_PLACE_OVER)
        return slurm_call_fail(call, STATUS_INVALID, "the job is over: it is %s",
                               cluster_job_state_text(ret_now->state));
    return status;
}

/* What Slurm refuses it refuses again: the same command is not asked for twice. */
static int change(struct slurm_call *call, const char *verb, const char *job)
{
    autofree char *out = NULL;
    int status = slurm_run(call, (const char *[]){call->s->scontrol, verb, job, NULL}, &out);
    return status == STATUS_BACKEND ? STATUS_INVALID : status;
}

/* Tells the job's owner, in the job's own output. Best effort. */
static void tell(const struct slurm_call *call, const struct job_command *command, const char *what)
{
    char error[SCHEDULER_ERROR_MAX];
    autofree char *out = NULL;
    autofree char *message = own_printf("this job %s, as %s asked", what, command->actor);
    struct slurm_call aside = slurm_call_aside(call, TELL_MS_MAX, error);
    slurm_run(&aside, (const char *[]){call->s->scontrol, "notify", command->job, message, NULL}, &out);
}

static int wait_for_end(struct slurm_call *call)
{
    return slurm_call_fail(call, STATUS_CONFLICT, "its processes are still ending");
}

static int restart(struct slurm_call *call, const struct job_command *command, const struct slurm_job_now *now)
{
    if (cluster_job_place(now->state) == CLUSTER_JOB_PLACE_QUEUE || now->restarts > command->restarts)
        return 0;
    if (now->state == CLUSTER_JOB_COMPLETING)
        return wait_for_end(call);
    tell(call, command, "begins anew");
    return change(call, "requeue", command->job);
}

static int suspend(struct slurm_call *call, const struct job_command *command, const struct slurm_job_now *now)
{
    if (now->held || now->restarts > command->restarts)
        return 0; /* it is suspended, or was, and its owner has released it since */
    if (cluster_job_place(now->state) == CLUSTER_JOB_PLACE_QUEUE)
        return change(call, "uhold", command->job); /* its owner may release it, too */
    if (now->state == CLUSTER_JOB_COMPLETING)
        return wait_for_end(call);
    tell(call, command, "is suspended and gives its nodes back");
    return change(call, "requeuehold", command->job);
}

static int resume(struct slurm_call *call, const struct job_command *command, const struct slurm_job_now *now)
{
    if (now->state == CLUSTER_JOB_SUSPENDED)
        return slurm_call_fail(call, STATUS_INVALID, "it was stopped in Slurm: use scontrol resume %s", command->job);
    if (!now->held)
        return 0;
    return now->state == CLUSTER_JOB_COMPLETING ? wait_for_end(call) : change(call, "release", command->job);
}

/* Tasks and CPUs by node stay what they were. */
static int resize(struct slurm_call *call, const struct job_command *command, const struct slurm_job_now *now)
{
    int64_t nodes = now->nodes > 0 ? now->nodes : 1, size = command->size;
    autofree char *job = own_printf("JobId=%s", command->job), *out = NULL;
    autofree char *count = own_printf("NumNodes=%lld-%lld", (long long)size, (long long)size);
    autofree char *tasks = own_printf("NumTasks=%lld", (long long)((now->tasks * size + nodes - 1) / nodes));
    autofree char *cpus = own_printf("NumCPUs=%lld", (long long)((now->cpus * size + nodes - 1) / nodes));
    int status = slurm_run(call, (const char *[]){call->s->scontrol, "update", job, count, tasks, cpus, NULL}, &out);
    return status == STATUS_BACKEND ? STATUS_INVALID : status;
}

/* Until it has left its nodes: from then on Slurm shows what it asks for, and no longer what it was given. */
static int leave_nodes(struct slurm_call *call, const char *job, struct slurm_job_now *ret_now)
{
    for (int i = 0; i < LOOKS_MAX; i++) {
        nanosleep(&(struct timespec){.tv_nsec = LOOK_PAUSE_NS}, NULL);
        int status = look(call, job, ret_now);
        if (status != 0 || cluster_job_place(ret_now->state) == CLUSTER_JOB_PLACE_QUEUE)
            return status;
    }
    return wait_for_end(call);
}

/* Ends its start. What a start before had already (the command comes again) stays. */
static int begin_scale(struct slurm_call *call, const struct job_command *command, struct slurm_job_now *now)
{
    int status = 0;
    if (now->state != CLUSTER_JOB_COMPLETING) {
        tell(call, command, "begins anew with another number of nodes");
        status = change(call, "requeuehold", command->job);
    }
    return status == 0 ? leave_nodes(call, command->job, now) : status;
}

static int scale(struct slurm_call *call, const struct job_command *command, struct slurm_job_now *now)
{
    bool waits = cluster_job_place(now->state) == CLUSTER_JOB_PLACE_QUEUE;
    bool ours = now->held && now->restarts > command->restarts; /* this command's first half was carried out */
    char refused[SCHEDULER_ERROR_MAX];
    if (waits && !ours)
        return resize(call, command, now);
    if (!waits && now->nodes == command->size)
        return 0;
    int status = waits ? 0 : begin_scale(call, command, now);
    if (status != 0)
        return status;
    int resized = resize(call, command, now);
    text_copy_cut(refused, sizeof(refused), call->error);
    status = change(call, "release", command->job); /* with its former size, where it may not have this one */
    return resized == 0 || status != 0 ? status : slurm_call_fail(call, resized, "%s", refused);
}

/* "82", "82_3": nothing that an option could be made of, and no part of a heterogeneous job. */
static bool is_job(const char *id)
{
    size_t len = strspn(id, "0123456789_");
    return isdigit((unsigned char)id[0]) && id[len] == '\0';
}

int slurm_job_command(struct scheduler *s, const struct job_command *command, char *ret_error)
{
    struct slurm_call call;
    struct slurm_job_now now;
    slurm_call_start(&call, s, ret_error);
    if (!is_job(command->job))
        return slurm_call_fail(&call, STATUS_INVALID, "it is not a single job");
    int status = look(&call, command->job, &now);
    if (status != 0)
        return status;
    switch (command->kind) {
    case JOB_COMMAND_RESTART:
        return restart(&call, command, &now);
    case JOB_COMMAND_SUSPEND:
        return suspend(&call, command, &now);
    case JOB_COMMAND_RESUME:
        return resume(&call, command, &now);
    case JOB_COMMAND_SCALE:
        return scale(&call, command, &now);
    case JOB_COMMAND_REMAKE:
        break;
    }
    return slurm_call_fail(&call, STATUS_INVALID, "a job of Slurm has no pods");
}
