/* What the files of the Kubernetes driver share. */
#ifndef HOLDFAST_SERVER_SCHEDULER_KUBERNETES_PRIVATE_H
#define HOLDFAST_SERVER_SCHEDULER_KUBERNETES_PRIVATE_H

#include "server/scheduler/kubernetes/cache.h"
#include "server/scheduler/kubernetes/kubernetes.h"
#include "server/scheduler/kubernetes/object.h"

#include <pthread.h>

/* Of training jobs, since hpd started. */
struct kube_training_figures {
    int64_t created, successful, failed, restarted, deleted;
    int64_t detections, detection_ms, remedies, remedy_ms;
};

struct scheduler {
    struct kube_client *client;
    pthread_mutex_t lock;                             /* over what follows */
    struct kube_cache *nodes, *pods;                  /* made by the first look */
    struct kube_cache *training_jobs, *training_pods; /* likewise, where training jobs are carried out */
    struct kube_training_figures figures;
    struct scheduler_ops ops;
    char release[32];  /* of the server; "": not known yet */
    char eviction[16]; /* the version of policy that has evictions; "": not known yet */
};

/* What is kept of a pod: where it keeps a node busy, and for what. There are many. */
struct kube_held {
    uint64_t version;
    size_t space, job; /* begin at these bytes of node: its namespace; what controls it, or its own name */
    char node[];
};

/* Cached nodes that Holdfast knows by this name, at most two of them count: the best one is answered. NOT_FOUND. */
int kube_find(struct scheduler *s, struct kube_call *call, const char *name, struct kube_node *ret_node);
/* That node as it is now. */
int kube_look(struct scheduler *s, struct kube_call *call, const char *name, json_t **ret_json,
              struct kube_node *ret_node);
/* Patches it and keeps the answer. CONFLICT when it has changed since it was looked at. */
int kube_patch_node(struct scheduler *s, struct kube_call *call, const struct kube_node *node, const char *type,
                    const json_t *patch, struct kube_node *ret_node);
/* True when a stands for the name rather than b: the machine that is there now. */
bool kube_node_is_better(const struct kube_node *a, const struct kube_node *b);

/* nodes.c */
int kube_observe(struct scheduler *s, struct scheduler_observation *ret_observation, char *ret_error);
int kube_places(struct scheduler *s, struct scheduler_place **ret_places, size_t *ret_count, char *ret_error);
int kube_caches(struct scheduler *s, struct kube_call *call);
int kube_machine_gone(struct scheduler *s, const char *node, const char *instance_id, char *ret_error);

/* jobs.c */
int kube_job_snapshot(struct scheduler *s, const struct scheduler_observation *seen, struct job_snapshot **ret_snapshot,
                      char *ret_error);

/* faults.c. The words and bodies are pure; callers free them. */
int kube_show_faults(struct scheduler *s, const char *node, const struct scheduler_faults *faults, char *ret_error);
void kube_fault_type(const struct scheduler_fault *fault, char ret_type[KUBE_WORD_MAX_BYTES]);
void kube_fault_reason(const struct scheduler_fault *fault, char ret_reason[KUBE_WORD_MAX_BYTES]);
json_t *kube_faults_patch(const json_t *json, const struct scheduler_faults *faults);
json_t *kube_faults_conditions(const json_t *json,
                               const struct scheduler_faults *faults); /* NULL: all are as they should be */
json_t *kube_fault_event(const struct kube_node *node, const struct scheduler_fault *fault, const char *sentence);

/* labels.c. What is pure has callers that free. */
int kube_keep_labels(struct scheduler *s, struct scheduler_labels *labels, char *ret_error);
/* What one node is to carry: of people, and of ours where nobody says otherwise. Each is {"labels": {…}, "taints": […]}. */
struct kube_wanted {
    const json_t *people, *ours;
};
struct kube_carried {
    char *current;                   /* of what people want, what the node has after the patch; "": nothing */
    char conflict[REASON_MAX_BYTES]; /* the first that somebody else has set; "": none */
};
/* NULL: the node carries what is wanted. */
json_t *kube_labels_patch(const json_t *json, const struct kube_wanted *wanted, struct kube_carried *ret_carried);
/* The labels of a node by which people choose it. */
json_t *kube_labels_ours(const struct labels_group *group, const struct labels_node *node);

/* govern.c */
int kube_govern(struct scheduler *s, struct scheduler_governance *governance, char *ret_error);

/* training.c */
extern const struct workload_ops kube_training;
struct text;
struct workload_job;
/* Each job that is known, under the cache's lock; none where training jobs are not carried out. */
void kube_training_each(struct scheduler *s, void (*each)(const struct workload_job *job, void *arg), void *arg);
/* job: "SPACE/NAME". */
int kube_job_command(struct scheduler *s, const struct job_command *command, char *ret_error);
void kube_training_metrics(struct scheduler *s, struct text *text);

/* job_log.c */
int kube_job_log(struct scheduler *s, const struct job_log_ask *ask, struct job_log *ret_log, char *ret_error);
/* Whatever a program wrote as lines of printable UTF-8. Caller frees. */
char *kube_log_lines(const char *bytes, size_t len);
/* The last lines, with their times before them, as the API server has them. Caller frees. */
typedef int (*kube_log_get_fn)(void *arg, int64_t lines, char **ret_bytes, size_t *ret_len);
/* Writes text, last and cut. */
int kube_log_read(const struct job_log_ask *ask, kube_log_get_fn get, void *arg, struct job_log *ret_log);

/* pods.c */
int kube_workloads(struct scheduler *s, const char *node, struct scheduler_job **ret_jobs, size_t *ret_count,
                   char *ret_error);
int kube_evict(struct scheduler *s, const char *node, const struct scheduler_owner *owner, char *ret_error);
int kube_end_pods(struct scheduler *s, const char *node, char *ret_error);

/* job_restart.c: before the pods of a node, an object of that name, are evicted. */
int kube_restart_jobs(struct kube_call *call, const char *node, const struct kube_pod *pods, size_t count);

#endif
