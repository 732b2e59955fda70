/* The life of a picture of jobs: many readers, and whoever is last frees it. */
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

struct job_picture *job_picture_new(void)
{
    struct job_picture *picture = own_calloc(1, sizeof(*picture));
    picture->uses = 1;
    return picture;
}

struct job_picture *job_picture_use(struct job_picture *picture)
{
    picture->uses++; /* atomic, as its type is */
    return picture;
}

void job_picture_free(struct job_picture *picture)
{
    if (picture == NULL || --picture->uses != 0)
        return;
    for (size_t i = 0; i < picture->text_count; i++)
        free(picture->texts[i]);
    free(picture->jobs);
    free(picture->nodes);
    free(picture->metrics);
    free(picture);
}

char *job_picture_keep(struct job_picture *picture, char *text)
{
    assert(picture->text_count < JOB_PICTURE_TEXTS_MAX);
    picture->texts[picture->text_count++] = text;
    return text;
}
