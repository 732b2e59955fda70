/* What the reconcile loop says of each scheduler, for the API to show. */
#ifndef HOLDFAST_SERVER_SERVICE_SCHEDULER_H
#define HOLDFAST_SERVER_SERVICE_SCHEDULER_H

#include "model/group_spec.h"
#include "model/job.h"
#include "model/limits.h"
#include "model/model.h"
#include "model/role_file.h"

#include <stdbool.h>
#include <stdint.h>

/* How the scheduler is: the reconcile loop sets it, the APIs show it; any thread. */
#define SERVICE_SCHEDULER_ERROR_MAX 256
#define SERVICE_SCHEDULER_DRIFT_MAX 512
struct service_scheduler_status {
    char name[NAME_MAX_BYTES]; /* as clusters name it */
    char kind[NAME_MAX_BYTES]; /* "slurm" */
    int64_t seen_at;           /* when it was last seen whole; 0: never */
    uint64_t errors;           /* calls of it that failed */
    enum scheduler_state state;
    int64_t since;                               /* 0: never looked at */
    char error[SERVICE_SCHEDULER_ERROR_MAX];     /* of a scheduler that is down */
    char transport[SERVICE_SCHEDULER_ERROR_MAX]; /* by what it is spoken to; "": not known yet */
    bool managed;                                /* its nodes and partitions are written by us */
    enum desired_strategy strategy;              /* by this */
    char drift[SERVICE_SCHEDULER_DRIFT_MAX];     /* how it is not as it was written; "": it is */
};
struct service_scheduler;
struct service;
struct problem;
struct service_scheduler *service_scheduler_new(const char *name, const char *kind);
/* The one of this name; "": the only one there is. NOT_FOUND with what there is, or why one has to be named. */
int service_scheduler_find(const struct service *s, const char *name, struct service_scheduler **ret_scheduler,
                           struct problem *ret_problem);
/* The cluster's; NULL: it has none, or none that is configured. */
struct service_scheduler *service_scheduler_of(const struct service *s, const struct cluster *cluster);
/* By which people give a node back there, with NODE for its name; stays as long as hpd runs. NULL: there is none. */
void service_scheduler_set_resume_command(struct service_scheduler *scheduler, const char *command);
const char *service_scheduler_resume_command(const struct service_scheduler *scheduler); /* accepts NULL */
/* Its nodes carry labels and taints; false for NULL. */
void service_scheduler_set_labels(struct service_scheduler *scheduler, bool has_labels);
bool service_scheduler_has_labels(const struct service_scheduler *scheduler);
/* What its groups are to it may stand in a file of this format; NULL: not. */
void service_scheduler_set_role_file(struct service_scheduler *scheduler, const struct role_file_format *format);
/* That of the schedulers of this kind. */
const struct role_file_format *service_scheduler_role_file(const struct service *s, enum orchestrator kind);
/* By which clusters of the AWS API name it: an EKS cluster's. Stays as long as hpd runs; NULL or "": it has none. */
void service_scheduler_set_arn(struct service_scheduler *scheduler, const char *arn);
const char *service_scheduler_arn(const struct service_scheduler *scheduler); /* ""; also for NULL */
/* The one that has this ARN; NULL: none has. */
struct service_scheduler *service_scheduler_by_arn(const struct service *s, const char *arn);
/* Its name; stays as long as it does. */
const char *service_scheduler_name(const struct service_scheduler *scheduler);
const char *service_scheduler_kind(const struct service_scheduler *scheduler); /* likewise */
/* At the start: clusters and what is kept of them that name no scheduler are this one's. */
int service_scheduler_adopt(struct service *s, const char *name);
/* At the start: says of each cluster whose scheduler is not configured that it is not. */
int service_scheduler_check(struct service *s);
/* True of such a cluster, with the words for it. */
bool service_scheduler_is_missing(const struct service *s, const struct cluster *cluster,
                                  char ret_why[SERVICE_SCHEDULER_ERROR_MAX]);
struct service_scheduler_view {
    struct service_scheduler_status status;
    bool counted; /* its nodes are known now */
    size_t node_count, unassigned_count;
    char (*clusters)[NAME_MAX_BYTES]; /* that it schedules, by name; owned */
    size_t cluster_count;
};
/* All that are configured, in the order of the configuration. Caller frees *ret_views with service_scheduler_views_free. */
int service_scheduler_list(struct service *s, struct service_scheduler_view **ret_views, size_t *ret_count,
                           struct problem *ret_problem);
void service_scheduler_views_free(struct service_scheduler_view *views, size_t count);
void service_scheduler_failed(struct service_scheduler *scheduler);
void service_scheduler_seen(struct service_scheduler *scheduler, int64_t at);
void service_scheduler_free(struct service_scheduler *scheduler); /* accepts NULL */
void service_scheduler_set(struct service_scheduler *scheduler, const struct service_scheduler_status *status);
/* That its nodes and partitions are written by us, and how they have drifted; stays over service_scheduler_set. */
void service_scheduler_manage(struct service_scheduler *scheduler, enum desired_strategy strategy, const char *drift);
/* Unknown for NULL. */
void service_scheduler_get(struct service_scheduler *scheduler, struct service_scheduler_status *ret_status);
/* Takes the snapshot over; NULL: there is none, and why. */
void service_scheduler_show(struct service_scheduler *scheduler, struct job_snapshot *snapshot, const char *why);
/* Whether what groups are made of was told about for a snapshot of nodes with this digest, and that it was now. */
bool service_scheduler_has_followed(struct service_scheduler *scheduler, uint64_t digest);
void service_scheduler_follow(struct service_scheduler *scheduler, uint64_t digest);
/* The snapshot, for the caller to free; NULL when there is none, the scheduler is down, or it is too old: ret_why says. NULL for NULL. */
struct job_snapshot *service_scheduler_snapshot(struct service_scheduler *scheduler, int64_t now_ms,
                                                char ret_why[SERVICE_SCHEDULER_ERROR_MAX]);

/* --- what a new snapshot changes, for the reconcile loop -------------------------------------------- */
struct db_tx;
/* The starts of jobs that tell of attempts, or that something happened to, as this snapshot has them: which began, which are over, when
 * they were and why. before is the last snapshot that was followed; NULL: there was none. */
int service_job_follow(struct service *s, const struct job_snapshot *before, const struct job_snapshot *snapshot);
/*
 * A job that waits for nodes for another one (srun --auto-resume's, see hp-auto-resume(8)), which is over. Whoever made it ends it with
 * its own job, unless it was killed before it could: then Slurm forgets what it waits for and gives it nodes, for nobody.
 */
struct job_waiter {
    char id[JOB_ID_MAX_BYTES], name[NAME_MAX_BYTES];
    char job[JOB_ID_MAX_BYTES]; /* for which it waits */
};
/* Those that are to be cancelled, each told in the timeline of the clusters that know its job from attempts; what no cluster knows is
 * nobody's to cancel. Two snapshots must say the same, as a job that is begun again is away for a moment. before may be NULL: then there
 * are none. Caller frees *ret_waiters. */
int service_job_waiters(struct service *s, const struct job_snapshot *before, const struct job_snapshot *snapshot,
                        struct job_waiter **ret_waiters, size_t *ret_count);
/* The start of a job that the last snapshot shows is kept, as it was signalled; or evicted, and for what: "because of the reboot of gpu-3
 * (xid.79, asked for by policy)". What no snapshot has shown yet is not kept. */
int service_job_signalled(struct db_tx *tx, const struct job_snapshot *snapshot, int64_t cluster_id, const char *job);
int service_job_evicted(struct db_tx *tx, const struct job_snapshot *snapshot, int64_t cluster_id, const char *job,
                        int64_t at, const char *why);
/* Tells of groups that were made of the scheduler's nodes (node_source) and have others than the snapshot; once for what it shows. */
int service_discovery_follow(struct service *s, struct service_scheduler *scheduler,
                             const struct job_snapshot *snapshot);

#endif
