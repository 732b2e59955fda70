/*
 * How training jobs are carried out where a scheduler runs them: a second table beside the scheduler's own, as a job is not a node. A
 * backend has it whole or not at all.
 *
 * Calls block, have a deadline and may be repeated. They come from one thread of the controller, but for create and remove, which come
 * from several at a time. ret_error has SCHEDULER_ERROR_MAX bytes and is written on failure.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_WORKLOAD_H
#define HOLDFAST_SERVER_SCHEDULER_WORKLOAD_H

#include "base/json.h"
#include "policy/job/job.h"
#include "server/scheduler/scheduler.h"

#define WORKLOAD_NAME_MAX 254
#define WORKLOAD_UID_MAX 64
#define WORKLOAD_TOKEN_MAX 80
#define WORKLOAD_KEY_MAX 20

struct workload_pod {
    char name[WORKLOAD_NAME_MAX], uid[WORKLOAD_UID_MAX];
    char address[ADDRESS_MAX_BYTES]; /* of its launcher, a host; "": it has none yet */
};

struct workload_job {
    char space[WORKLOAD_UID_MAX], name[WORKLOAD_NAME_MAX], uid[WORKLOAD_UID_MAX];
    int64_t created_at;
    struct job_spec spec;
    struct job_record *record;
    struct job_pod *seen; /* of each pod; what its launcher says is the controller's */
    struct workload_pod *pods;
    char key[WORKLOAD_KEY_MAX];        /* the controller's: another where its token is another */
    json_t *rules;                     /* its logMonitoringConfiguration; NULL: none. Borrowed from object */
    json_t *object;                    /* the backend's own */
    char refused[SCHEDULER_ERROR_MAX]; /* why it cannot be carried out; "": it can */
};
void workload_job_free(struct workload_job *job); /* accepts NULL */

struct workload_jobs {
    struct workload_job **list;
    size_t count;
    /* How a node is, for struct job_seen. */
    enum job_node_state (*node)(const char *name, const void *nodes, const char **ret_why);
    void *nodes;
    void (*free_nodes)(void *nodes);
};
void workload_jobs_free(struct workload_jobs *jobs); /* the contents */

struct workload_ops {
    /* All jobs that are there, with their pods. */
    int (*look)(struct scheduler *s, struct workload_jobs *ret_jobs, char *ret_error);
    /* Stores the record. STALE when somebody changed the job since it was looked at: then nothing is done. */
    int (*save)(struct scheduler *s, struct workload_job *job, char *ret_error);
    /* What people see of it, by its record; it may come late. */
    int (*show)(struct scheduler *s, const struct workload_job *job, char *ret_error);
    /* What the pods of a job that are made from now on know the token by. One that is there is fine. */
    int (*grant)(struct scheduler *s, const struct workload_job *job, const char *token, char *ret_error);
    /* A pod as the record asks for. One that is there is fine. */
    int (*create)(struct scheduler *s, const struct workload_job *job, int pod, char *ret_error);
    /* This very pod; at once where it is being deleted already. One that is gone is fine. */
    int (*remove)(struct scheduler *s, const struct workload_job *job, int pod, char *ret_error);
    /* For people, on the job. */
    int (*tell)(struct scheduler *s, const struct workload_job *job, const struct job_note *note, char *ret_error);
    /* The job goes, and all that it had. */
    int (*forget)(struct scheduler *s, const struct workload_job *job, char *ret_error);
};
bool workload_ops_are_whole(const struct workload_ops *ops);

#endif
