/*
 * Metrics of the queue, by user, account and partition. What waits in several partitions counts in each of them, and once
 * in what is of the whole cluster. States that the exporter has no name for (OUT_OF_MEMORY, DEADLINE, …) count nowhere, as there.
 */
#include "server/scheduler/slurm/metrics.h"

#include <string.h>

static const enum cluster_job_state states[] = {CLUSTER_JOB_PENDING,     CLUSTER_JOB_RUNNING,    CLUSTER_JOB_SUSPENDED,
                                                CLUSTER_JOB_CANCELLED,   CLUSTER_JOB_COMPLETING, CLUSTER_JOB_COMPLETED,
                                                CLUSTER_JOB_CONFIGURING, CLUSTER_JOB_FAILED,     CLUSTER_JOB_TIMEOUT,
                                                CLUSTER_JOB_PREEMPTED,   CLUSTER_JOB_NODE_FAIL};
enum { PENDING, RUNNING, SUSPENDED };
_Static_assert(SLURM_METRIC_CORES_PENDING == SLURM_METRIC_QUEUE_PENDING + ARRAY_LEN(states) &&
                   SLURM_METRIC_JOBS_PENDING == SLURM_METRIC_CORES_PENDING + ARRAY_LEN(states) &&
                   SLURM_METRIC_JOBS_CORES_RUNNING == SLURM_METRIC_JOBS_PENDING + ARRAY_LEN(states),
               "three groups in the order of the states");

/* The five of an account or a user, which stand in the same order: pending, running, suspended, CPUs and GPUs. */
static void of_owner(struct slurm_metrics *metrics, const struct cluster_job *job, unsigned state, unsigned first,
                     const char *label, const char *owner)
{
    AUTO(text) struct text labels = {0};
    slurm_label(&labels, label, owner);
    for (unsigned i = PENDING; i <= SUSPENDED; i++)
        slurm_metrics_add(metrics, first + i, text_get(&labels), i == state ? (double)job->tasks : 0);
    slurm_metrics_add(metrics, first + 3, text_get(&labels), state == RUNNING ? (double)job->cpus : 0);
    slurm_metrics_add(metrics, first + 4, text_get(&labels), state == RUNNING ? (double)job->gpus : 0);
}

static void in_partition(struct slurm_metrics *metrics, const struct cluster_job *job, unsigned state,
                         const char *partition)
{
    AUTO(text) struct text labels = {0}, place = {0};
    slurm_label(&labels, "user", job->user);
    slurm_label(&labels, "partition", partition);
    if (state == PENDING)
        slurm_label(&labels, "reason", job->reason);
    slurm_metrics_add(metrics, SLURM_METRIC_QUEUE_PENDING + state, text_get(&labels), 1);
    slurm_metrics_add(metrics, SLURM_METRIC_CORES_PENDING + state, text_get(&labels), (double)job->cpus);
    slurm_label(&place, "partition", partition);
    slurm_metrics_add(metrics, SLURM_METRIC_PARTITION_JOBS_PENDING, text_get(&place),
                      state == PENDING ? (double)job->tasks : 0);
    slurm_metrics_add(metrics, SLURM_METRIC_PARTITION_JOBS_RUNNING, text_get(&place), state == RUNNING);
}

static void see(struct slurm_metrics *metrics, const struct cluster_job *job)
{
    unsigned state = 0;
    while (state < ARRAY_LEN(states) && states[state] != job->state)
        state++;
    if (state == ARRAY_LEN(states))
        return;
    slurm_metrics_add(metrics, SLURM_METRIC_JOBS_PENDING + state, "", 1);
    if (state == RUNNING)
        slurm_metrics_add(metrics, SLURM_METRIC_JOBS_CORES_RUNNING, "", (double)job->cpus);
    if (state == PENDING)
        slurm_metrics_add(metrics, SLURM_METRIC_JOBS_CORES_PENDING, "", (double)job->cpus);
    if (state <= SUSPENDED) {
        of_owner(metrics, job, state, SLURM_METRIC_ACCOUNT_JOBS_PENDING, "account", job->account);
        of_owner(metrics, job, state, SLURM_METRIC_USER_JOBS_PENDING, "user", job->user);
    }
    autofree char *partitions = own_strdup(job->partition);
    for (char *save = NULL, *partition = strtok_r(partitions, ",", &save); partition != NULL;
         partition = strtok_r(NULL, ",", &save))
        in_partition(metrics, job, state, partition);
}

void slurm_metrics_jobs(struct slurm_metrics *metrics, const struct job_snapshot *snapshot)
{
    static const enum slurm_collector collectors[] = {SLURM_COLLECTOR_QUEUE, SLURM_COLLECTOR_ACCOUNTS,
                                                      SLURM_COLLECTOR_USERS};
    for (size_t i = 0; i < ARRAY_LEN(collectors); i++)
        slurm_metrics_outcome(metrics, collectors[i], true);
    for (unsigned i = SLURM_METRIC_JOBS_PENDING; i <= SLURM_METRIC_JOBS_CORES_PENDING; i++)
        slurm_metrics_set(metrics, i, "", 0);
    for (size_t i = 0; i < snapshot->count; i++)
        see(metrics, &snapshot->jobs[i]);
}
