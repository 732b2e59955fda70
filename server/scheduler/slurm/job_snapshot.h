/*
 * A job snapshot: the queue with one squeue, and sdiag, sshare and reservations beside it, at most once each. Nodes are not asked for:
 * the observation has them.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_JOB_SNAPSHOT_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_JOB_SNAPSHOT_H

#include "server/scheduler/scheduler.h"

/* The vtable's. */
int slurm_job_snapshot(struct scheduler *s, const struct scheduler_observation *seen,
                       struct job_snapshot **ret_snapshot, char *ret_error);

/* A job's columns: what squeue calls them. */
#define SLURM_QUEUE_COLUMNS(X) \
    X(ID, "JobArrayID")        \
    X(USER, "UserName")        \
    X(ACCOUNT, "Account")      \
    X(PARTITION, "Partition")  \
    X(STATE, "State")          \
    X(REASON, "Reason")        \
    X(NODES, "NodeList")       \
    X(CPUS, "NumCPUs")         \
    X(NODE_COUNT, "NumNodes")  \
    X(RESTARTS, "RestartCnt")  \
    X(LIMIT, "TimeLimit")      \
    X(SUBMITTED, "SubmitTime") \
    X(STARTED, "StartTime")    \
    X(ENDS, "EndTime")         \
    X(TRES, "tres-alloc")      \
    X(BATCH, "BatchFlag")      \
    X(REQUEUE, "Requeue")      \
    X(NAME, "Name")

enum slurm_queue_column {
#define X(symbol, name) SLURM_QUEUE_##symbol,
    SLURM_QUEUE_COLUMNS(X)
#undef X
        SLURM_QUEUE_COLUMN_COUNT,
};

/* One of squeue's words. */
enum cluster_job_state slurm_queue_state(const char *word);
/* A count; what Slurm does not know ("N/A") is 0. NumNodes may be "2-4", of which the first counts, and NumCPUs "1K". */
int64_t slurm_queue_count(const char *text);
/* What squeue is asked for: "JobArrayID:SEP,…,Name:SEP". Caller frees. */
char *slurm_queue_format(const char *separator);
/* Reads what it printed so into snapshot, which keeps text (heap) whatever comes of it. STATUS_BACKEND for anything else,
 * STATUS_TOO_LARGE for more jobs than anybody will look at. */
int slurm_queue_parse(char *text, const char *separator, struct job_snapshot *snapshot);

#endif
