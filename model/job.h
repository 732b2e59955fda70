/*
 * A scheduler's jobs as they were at one moment, with what it says of itself in Prometheus' words. Nothing of it is stored:
 * the next snapshot takes the place of this one.
 */
#ifndef HOLDFAST_MODEL_JOB_H
#define HOLDFAST_MODEL_JOB_H

#include "base/enum.h"
#include "model/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JOB_ID_MAX_BYTES 64      /* "123_4", "123+0" */
#define JOB_SNAPSHOT_TEXTS_MAX 8 /* outputs that a snapshot's texts lie in */
#define JOB_HOSTLIST_MAX 100000u /* nodes of one job */

/* Where a job is. Each scheduler's driver puts its own words into these. */
#define CLUSTER_JOB_PLACE_LIST(X) X(QUEUE) X(NODES) X(OVER)
enum cluster_job_place {
#define X(SYMBOL) CLUSTER_JOB_PLACE_##SYMBOL,
    CLUSTER_JOB_PLACE_LIST(X)
#undef X
};

#define CLUSTER_JOB_STATE_LIST(X)                                               \
    X(UNKNOWN, "UNKNOWN", OVER) /* the scheduler has not shown it, or forgot */ \
    X(PENDING, "PENDING", QUEUE)                                                \
    X(REQUEUED, "REQUEUED", QUEUE)       /* in the queue again after a start */ \
    X(CONFIGURING, "CONFIGURING", NODES) /* its nodes are being started */      \
    X(RUNNING, "RUNNING", NODES)                                                \
    X(RESIZING, "RESIZING", NODES)                                              \
    X(SUSPENDED, "SUSPENDED", NODES)                                            \
    X(COMPLETING, "COMPLETING", NODES)                                          \
    X(COMPLETED, "COMPLETED", OVER)                                             \
    X(CANCELLED, "CANCELLED", OVER)                                             \
    X(PREEMPTED, "PREEMPTED", OVER)                                             \
    X(TIMEOUT, "TIMEOUT", OVER)                                                 \
    X(DEADLINE, "DEADLINE", OVER)                                               \
    X(BOOT_FAIL, "BOOT_FAIL", OVER)                                             \
    X(OUT_OF_MEMORY, "OUT_OF_MEMORY", OVER)                                     \
    X(FAILED, "FAILED", OVER)                                                   \
    X(NODE_FAIL, "NODE_FAIL", OVER) /* the scheduler ended it: a node was lost */
enum cluster_job_state {
#define X(SYMBOL, text, place) CLUSTER_JOB_##SYMBOL,
    CLUSTER_JOB_STATE_LIST(X)
#undef X
};
ENUM_DECLARE(cluster_job_state);
enum cluster_job_place cluster_job_place(enum cluster_job_state state);

/* Texts are printable, never NULL, "" when there is nothing to say, and lie in the snapshot's memory. Times are ms, 0: unknown. */
struct cluster_job {
    const char *id; /* "12", "12_3"; what waits of an array is one and has the array's: "12" */
    const char *name, *user, *account;
    const char *partition; /* while it waits, perhaps several: "a,b" */
    enum cluster_job_state state;
    const char *reason; /* why it waits, or ended so */
    const char *nodes;  /* those of its last start, as a host list */
    int64_t tasks;      /* 1, or how many of an array wait */
    int64_t cpus, gpus, node_count;
    int64_t restarts; /* how often it was requeued and started again */
    int64_t submitted_at, started_at;
    int64_t ends_at;      /* when it ended, or will have to */
    int64_t time_limit_s; /* 0: none */
    unsigned commands;    /* that it takes, by their bits (job_command.h) */
    /* In replicas, of a training job that is elastic; size_most 0: it is not, or its size has no bounds. size_asked 0: nobody asked for one. */
    int64_t size, size_least, size_most, size_asked;
};

/* Whether it waits, runs, or is at its end: not yet over. */
bool job_is_on(const struct cluster_job *job);

struct job_node {
    const char *name, *state;                 /* the scheduler's word for people: "IDLE+DRAIN" */
    const char *partitions, *features, *gres; /* "a,b" */
    bool down;                                /* the scheduler gave it up: jobs on it have ended */
    bool unheard;                             /* the scheduler gets no answer from it, and did not switch it off */
};

struct job_snapshot {
    int64_t at, stale_at;           /* after which nobody is to be shown it */
    char scheduler[NAME_MAX_BYTES]; /* whose jobs they are, as a cluster names it */
    struct cluster_job *jobs;
    size_t count;
    struct job_node *nodes; /* all that the scheduler knows */
    size_t node_count;
    uint64_t node_digest;                /* another where a name, a partition or a feature is */
    char *metrics;                       /* Prometheus text */
    char *texts[JOB_SNAPSHOT_TEXTS_MAX]; /* that the others lie in */
    size_t text_count;
    _Atomic unsigned uses;
};

struct job_snapshot *job_snapshot_new(void); /* in use once */
struct job_snapshot *job_snapshot_use(struct job_snapshot *snapshot);
void job_snapshot_free(struct job_snapshot *snapshot); /* one use less; accepts NULL */
static inline void auto_job_snapshot_cleanup(struct job_snapshot **snapshot)
{
    job_snapshot_free(*snapshot);
}
/* Keeps text until the snapshot's end; hands it back. */
char *job_snapshot_keep(struct job_snapshot *snapshot, char *text);

#endif
