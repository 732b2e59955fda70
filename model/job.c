/* The life of a snapshot of jobs: many readers, and whoever is last frees it. */
#include "model/job.h"

#include "base/own.h"

#include <assert.h>
#include <string.h>

bool job_is_on(const struct cluster_job *job)
{
    static const char *const words[] = {"PENDING",     "RUNNING",   "SUSPENDED",     "COMPLETING",  "CONFIGURING",
                                        "STOPPED",     "RESIZING",  "SIGNALING",     "REQUEUED",    "REQUEUE_HOLD",
                                        "REQUEUE_FED", "STAGE_OUT", "RESV_DEL_HOLD", "SPECIAL_EXIT"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strcmp(words[i], job->state) == 0)
            return true;
    return false;
}

struct job_snapshot *job_snapshot_new(void)
{
    struct job_snapshot *snapshot = own_calloc(1, sizeof(*snapshot));
    snapshot->uses = 1;
    return snapshot;
}

struct job_snapshot *job_snapshot_use(struct job_snapshot *snapshot)
{
    snapshot->uses++; /* atomic, as its type is */
    return snapshot;
}

void job_snapshot_free(struct job_snapshot *snapshot)
{
    if (snapshot == NULL || --snapshot->uses != 0)
        return;
    for (size_t i = 0; i < snapshot->text_count; i++)
        free(snapshot->texts[i]);
    free(snapshot->jobs);
    free(snapshot->nodes);
    free(snapshot->metrics);
    free(snapshot);
}

char *job_snapshot_keep(struct job_snapshot *snapshot, char *text)
{
    assert(snapshot->text_count < JOB_SNAPSHOT_TEXTS_MAX);
    snapshot->texts[snapshot->text_count++] = text;
    return text;
}
