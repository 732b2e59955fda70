/*
 * hp-auto-resume's own state of one step that is to live on: the parts of it that several files share.
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
    unsigned step;                               /* the first attempt's, as HyperPod says it, and as hpd knows it */
    bool step_known;
    int step_fd;              /* the plugin in the child says there which step it became */
    int64_t tell_at;          /* monotonic; hpd is told next of the step that runs */
    struct http_client *http; /* NULL: not made yet */
    struct resume_job job;    /* as it was seen last */
    bool job_ends;            /* seen while it waited for a node */
    int64_t nodes_wanted, cpus_per_node;
    int64_t restart;                      /* how often the job was requeued */
    int64_t attempt;                      /* from 0, after each requeue */
    int64_t futile;                       /* attempts of this start without progress, in a row */
    bool moved;                           /* one of this start made progress */
    int64_t earlier_runs, earlier_futile; /* of the job's starts before, which hpd knows */
    int exit_code;                        /* of the attempt that failed last */
    char *nodes;                          /* of this attempt; a host list, owned */
};

/* HyperPod's lines, on standard error: "[Auto Resume] Info: JobID: 82 StepID: 0 …" */
void resume_info(const struct resume *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
void resume_error(const struct resume *r, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ask.c: what an attempt is told of, and asks about, at hpd. */
struct resume_report {
    const char *state; /* "running", "failed", "waiting", "ended" */
    int exit_code;
    const char *reason; /* of its end; NULL: none */
    int64_t timeout_ms;
};
/* One request. UNAVAILABLE, TIMEOUT, DENIED, …, with a sentence. The reply is freed with resume_reply_free. */
int resume_ask(struct resume *r, const struct resume_report *report, struct resume_reply *ret_reply,
               char ret_error[HTTP_ERROR_MAX]);

/* Attempts without progress in a row, over all starts of the job. */
int64_t resume_futile(const struct resume *r);
/* How long ago its program made progress, in milliseconds; -1: that cannot be seen. */
int64_t resume_progress_ago(const struct resume *r);
/* It waits for other nodes: a word to hpd, which need not hear it. */
void resume_tell_waiting(struct resume *r);

/* swap.c: Slurm's side. All say themselves what is wrong. */
/* Runs one of Slurm's programs; ret_out may be NULL. BACKEND when it fails: ret_said is what it said. */
int resume_tool(const char *const argv[], char **ret_out, char ret_said[RESUME_WORD_MAX]);
/* Looks at the job anew. NOT_FOUND when Slurm has forgotten it. */
int resume_look(struct resume *r);
/* Whether the site's Slurm starts steps only on the nodes that a job began with; false where it does not say. */
bool resume_newcomers_barred(const struct resume *r);
/* Drops what is broken and takes as many others; the environment of the next attempt has the new list of nodes. *ret_told:
 * somebody asked us to end meanwhile. */
int resume_swap(struct resume *r, const struct resume_names *broken, bool *ret_told);
/* All of the job begins anew, and not on what is broken. */
int resume_requeue(struct resume *r, const struct resume_names *broken, bool *told);

/* fence.c: what keeps two steps of one job, and a job and a broken node, apart. */
/* Until Slurm gives none of these nodes to anybody, for a minute at most; what it still gives then comes back, freed by the caller;
 * NULL: none. */
char *resume_await_fence(struct resume *r, const struct resume_names *broken, bool *told);
/* Only one step of a job changes it at a time: held until the descriptor is closed. -1: nobody can be kept out. *ret_waited: another
 * one had it. */
int resume_lock(struct resume *r, bool *ret_waited, bool *told);

#endif
