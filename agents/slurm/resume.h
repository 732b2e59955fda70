/*
 * hp-auto-resume's own picture of one step that is to live on: the parts of it that several files share.
 *
 *     run srun ──ended well──────────────────────────────► end as it ended
 *        ▲  └──failed──► ask hpd ──► decide ──► end, requeue the job, or
 *        └── run the same srun again ◄── drop broken nodes, wait for others, take them into the job
 */
#ifndef HOLDFAST_AGENTS_SLURM_RESUME_H
#define HOLDFAST_AGENTS_SLURM_RESUME_H

#include "agents/slurm/config.h"
#include "agents/slurm/job.h"
#include "agents/slurm/option.h"
#include "agents/slurm/reply.h"
#include "base/http.h"

struct resume {
    struct resume_config config;
    struct resume_option option;
    char job_id[32], api_id[JSON_ERROR_MAX / 4]; /* as Slurm has it, and as hpd does: "12_3" of an array */
    unsigned step;                               /* the first attempt's, as HyperPod says it */
    bool step_known;
    struct http_client *http; /* NULL: not made yet */
    struct resume_job job;    /* as it was seen last */
    int64_t nodes_wanted, cpus_per_node;
    int64_t restart; /* how often the job was requeued */
    int64_t attempt; /* from 0, after each requeue */
    char *nodes;     /* of this attempt; a host list, owned */
};

/* HyperPod's lines, on standard error: "[Auto Resume] Info: JobID: 82 StepID: 0 …" */
void resume_info(const struct resume *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
void resume_error(const struct resume *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ask.c: what an attempt is told of, and asks about, at hpd. */
struct resume_report {
    const char *state; /* "running", "failed", "ended" */
    int exit_code;
    const char *reason; /* of its end; NULL: none */
    int64_t timeout_ms;
};
/* One request. UNAVAILABLE, TIMEOUT, DENIED, …, with a sentence. The reply is freed with resume_reply_free. */
int resume_ask(struct resume *r, const struct resume_report *report, struct resume_reply *ret_reply,
               char ret_error[HTTP_ERROR_MAX]);

/* swap.c: Slurm's side. All say themselves what is wrong. */
/* Looks at the job anew. NOT_FOUND when Slurm has forgotten it. */
int resume_look(struct resume *r);
/* Drops what is broken and takes as many others; the environment of the next attempt has the new list of nodes. *ret_told:
 * somebody asked us to end meanwhile. */
int resume_swap(struct resume *r, const struct resume_names *broken, bool *ret_told);
int resume_requeue(struct resume *r);

#endif
