/* hpd's answer to a diagnosis. Members that this program does not know are left alone: hpd may be newer. */
#ifndef HOLDFAST_AGENTS_SLURM_REPLY_H
#define HOLDFAST_AGENTS_SLURM_REPLY_H

#include "agents/slurm/job.h"
#include "base/json.h"
#include "model/attempt.h"

struct resume_reply {
    enum resume_action action;
    struct resume_names broken;           /* with RETRYSTEP at least one */
    char why[RESUME_WORD_MAX];            /* of the first of them; "": not told */
    int64_t earlier_runs, earlier_futile; /* of this step in the job's earlier starts; 0: none, or not told */
};

/* INVALID with a sentence. Freed with resume_reply_free. */
int resume_reply_parse(const char *body, size_t len, struct resume_reply *ret_reply, char ret_error[JSON_ERROR_MAX]);
void resume_reply_free(struct resume_reply *reply);

#endif
