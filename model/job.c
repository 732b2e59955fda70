/* The life of a snapshot of jobs: many readers, and whoever is last frees it. */
#include "model/job.h"

#include "base/own.h"

#include <assert.h>
#include <string.h>

ENUM_DEFINE(cluster_job_state, CLUSTER_JOB_STATE_LIST)

enum cluster_job_place cluster_job_place(enum cluster_job_state state)
{
    static const enum cluster_job_place places[] = {
#define X(SYMBOL, text, place) CLUSTER_JOB_PLACE_##place,
        CLUSTER_JOB_STATE_LIST(X)
#undef X
    };
    return (size_t)state < ARRAY_LEN(places) ? places[state] : CLUSTER_JOB_PLACE_OVER;
}

bool job_is_on(const struct cluster_job *job)
{
    return cluster_job_place(job->state) != CLUSTER_JOB_PLACE_OVER;
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
