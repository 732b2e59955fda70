/*
 * A HyperPodPyTorchJob as Holdfast reads and writes it: its spec and status, its pods, its Secret and its Events. Pure.
 *
 * HyperPod's fields of the status are for people and tools. What hpd has to know after a restart is status.holdfast, which it alone
 * reads.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_KUBERNETES_JOB_OBJECT_H
#define HOLDFAST_SERVER_SCHEDULER_KUBERNETES_JOB_OBJECT_H

#include "base/json.h"
#include "server/scheduler/workload.h"

#define KUBE_JOB_API "sagemaker.amazonaws.com/v1"
#define KUBE_JOB_KIND "HyperPodPyTorchJob"
#define KUBE_JOB_LABEL "holdfast/job"     /* on its pods: its uid */
#define KUBE_JOB_POD_LABEL "holdfast/pod" /* the pod's number in the job */
#define KUBE_JOB_INCARNATION_LABEL "holdfast/incarnation"
#define KUBE_JOB_NAME_LABEL "sagemaker.amazonaws.com/job-name"
#define KUBE_JOB_ASKED_ANNOTATION "holdfast/restart" /* on the job: "restart" or "remake", and when */
#define KUBE_JOB_MASTER_PORT 29500
#define KUBE_JOB_TOKEN_DIR "/var/run/holdfast/launcher"

/* Takes a reference to object. BACKEND for what is no job; a job that cannot be carried out is answered with its refused. */
int kube_job_read(json_t *object, struct workload_job **ret_job);
/* Callers free what the next ones answer. status: for a merge patch, with null for what has to go. */
json_t *kube_job_status(const struct workload_job *job);
json_t *kube_job_pod(const struct workload_job *job, int pod);
json_t *kube_job_secret(const struct workload_job *job, const char *token);
json_t *kube_job_event(const struct workload_job *job, const struct job_note *note, int64_t now);
char *kube_job_pod_name(const struct workload_job *job, int pod);
char *kube_job_secret_name(const struct workload_job *job);

/* A pod of some job, as the cache keeps it. */
struct kube_job_pod_kept {
    uint64_t version;
    char job[WORKLOAD_UID_MAX];
    int number;
    struct job_pod seen;
    struct workload_pod pod;
};
/* BACKEND for a pod that is of no job. */
int kube_job_pod_read(const json_t *object, struct kube_job_pod_kept *ret_kept);

#endif
