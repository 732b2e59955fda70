/*
 * A HyperPodPyTorchJob as Holdfast reads and writes it: its spec and status, its pods, its Secret and its Events. Pure.
 *
 * The status has HyperPod's fields alone, as HyperPod's command line refuses any other. What hpd has to know after a restart is an annotation,
 * which it alone reads; the status follows from it.
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
#define KUBE_JOB_HYP_LABEL "HPJob" /* by which sagemaker-hyperpod 3.12 (hyp) finds a job's pods: its name */
#define KUBE_JOB_ASKED_ANNOTATION "holdfast/restart" /* on the job: "restart" or "remake", and when */
#define KUBE_JOB_SIZE_ANNOTATION "holdfast/size" /* on an elastic job: the replicas that a person asked for, a number */
#define KUBE_JOB_RECORD_ANNOTATION "holdfast/record" /* on the job: job_record.h */
#define KUBE_JOB_MASTER_PORT 29500
#define KUBE_JOB_TOKEN_DIR "/var/run/holdfast/launcher"

/* Takes a reference to object. BACKEND for what is no job; a job that cannot be carried out is answered with its refused. */
int kube_job_read(json_t *object, struct workload_job **ret_job);
/* Callers free what the next ones answer. status: for a merge patch, with null for what has to go. */
json_t *kube_job_status(const struct workload_job *job);
/* The record as the annotation has it. */
char *kube_job_record_text(const struct workload_job *job);
/* The record that the job's object has; as of a new job where it has none. */
struct job_record *kube_job_record_of(const json_t *object, const struct job_spec *spec);
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
