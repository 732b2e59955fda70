/* What all workload backends share: a job as it is handed out is freed in one place. */
#include "server/scheduler/workload.h"

bool workload_ops_are_whole(const struct workload_ops *ops)
{
    return ops->look != NULL && ops->save != NULL && ops->show != NULL && ops->grant != NULL && ops->create != NULL &&
           ops->remove != NULL && ops->tell != NULL && ops->forget != NULL;
}

void workload_job_free(struct workload_job *job)
{
    if (job == NULL)
        return;
    job_record_free(job->record);
    free(job->seen);
    free(job->pods);
    json_decref(job->object);
    free(job);
}

void workload_jobs_free(struct workload_jobs *jobs)
{
    for (size_t i = 0; i < jobs->count; i++)
        workload_job_free(jobs->list[i]);
    free(TAKE(jobs->list));
    jobs->count = 0;
    if (jobs->free_nodes != NULL)
        jobs->free_nodes(TAKE(jobs->nodes));
}
