/* What hpd has to know of a job after a restart, as JSON: one table for both ways. Pure. */
#ifndef HOLDFAST_SERVER_SCHEDULER_KUBERNETES_JOB_RECORD_H
#define HOLDFAST_SERVER_SCHEDULER_KUBERNETES_JOB_RECORD_H

#include "base/json.h"
#include "policy/job/job.h"

/* What is missing or cannot be read is as of a new job. Caller frees. */
struct job_record *kube_job_record_read(const json_t *json, const struct job_spec *spec);
json_t *kube_job_record_json(const struct job_record *record);

#endif
