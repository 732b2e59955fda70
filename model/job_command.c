/* The words for what people ask of training jobs. */
#include "model/job_command.h"

ENUM_DEFINE(job_command_kind, JOB_COMMAND_LIST)

bool job_takes(const struct cluster_job *job, enum job_command_kind kind)
{
    return (job->commands & (1U << kind)) != 0 && cluster_job_place(job->state) != CLUSTER_JOB_PLACE_OVER;
}
