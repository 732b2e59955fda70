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
#include "agents/slurm/decide.h"
#include "agents/slurm/job.h"
#include "agents/slurm/option.h"
#include "agents/slurm/reply.h"
#include "agents/slurm/run.h"
#include "base/clock.h"
#include "base/http.h"

struct resume;
struct resume_report;

/* What it asks of the machine it runs on. A test replaces all of it: tests/unit/agents/test_slurm_law.c. */
struct resume_world {
    const struct clock *clock;
    /* Runs one of Slurm's programs; ret_out may be NULL. BACKEND when it fails: ret_said is what it said. */
    int (*run_tool)(const char *const argv[], char **ret_out, char ret_said[RESUME_WORD_MAX]);
    /* run_child and run_told_within of run.h */
    int (*run_child)(char *const argv[], int kept_fd, bool quiet, const struct run_watch *watch,
                     struct run_ended *ret_ended);
    bool (*told_within)(int64_t in_ms);
    /* run_guard_begin and run_guard_end */
    int (*guard_begin)(void (*then)(void *arg), void *arg, struct run_guard *ret_guard);
    void (*guard_end)(struct run_guard *guard);
    /* resume_ask */
    int (*ask)(struct resume *r, const struct resume_report *report, struct resume_reply *ret_reply,
               char ret_error[HTTP_ERROR_MAX]);
    void (*say)(const char *line);
};

struct resume {
    const struct resume_world *world;
    struct resume_config config;
    struct resume_option option;
    /* By its number, and as hpd and people say it: "12_3" of an array. Slurm takes the number of an array's last task for the whole array. */
    char job_id[32], api_id[JSON_ERROR_MAX / 4];
    char own_node[RESUME_WORD_MAX]; /* that the batch script runs on: Slurm's BatchHost may be wrong; "": not known */
    unsigned step;                  /* the first attempt's, as HyperPod says it, and as hpd knows it */
    bool step_known;
    unsigned step_now;        /* of this attempt, and before it begins of the one before */
    bool begun;               /* this attempt became a step */
    bool replaced;            /* it is the first one on nodes that changed */
    bool never_began;         /* so it was ended: Slurm did not let it begin on them */
    int step_fd;              /* the plugin in the child says there which step it became */
    int64_t began_at;         /* monotonic; of this attempt */
    int64_t tell_at;          /* monotonic; hpd is told next of the step that runs */
    struct http_client *http; /* NULL: not made yet */
    struct resume_job job;    /* as it was seen last */
    struct resume_site site;  /* what Slurm's configuration means for it */
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

/* live.c: the attempts, up to the last one. The end is srun's. */
void resume_live_on(struct resume *r, char *const argv[], struct run_ended *ret_ended);

/* slurm.c: Slurm's programs. */
int resume_tool(const struct resume *r, const char *const argv[], char **ret_out, char ret_said[RESUME_WORD_MAX]);
/* Until it works, or Slurm refuses it for good, or the time for it is over; told ends it, too. */
int resume_insist(const struct resume *r, const char *const argv[], int64_t for_ms, bool *told,
                  char ret_said[RESUME_WORD_MAX]);
#define RESUME_INSIST_MS (30 * MS_PER_S)
/* Looks at the job anew. NOT_FOUND when Slurm has forgotten it. Says itself what is wrong. */
int resume_look(struct resume *r, bool *told);
/* What is said of the job now. False: nothing. */
bool resume_peek(const struct resume *r, struct resume_job *ret_job);
/* Reads Slurm's configuration into r->site. */
void resume_look_at_site(struct resume *r, bool *told);
/* Slurm still has the step of the attempt that ended. */
bool resume_step_stays(const struct resume *r);
/* The job has other steps than that one, batch script and container aside. */
bool resume_others_run(const struct resume *r);

/* swap.c, helper.c: the job loses nodes and gets others. A failure is a sentence in ret_why. */
/* Drops what is broken and takes as many others; the environment of the next attempt has the new list of nodes. *ret_told:
 * somebody asked us to end meanwhile. */
int resume_swap(struct resume *r, const struct resume_names *broken, bool *ret_told, char ret_why[RESUME_WHY_MAX]);
/* Waits for so many other nodes and takes them into the job. No job of ours is left, whatever comes of it. */
int resume_expand(struct resume *r, int64_t missing, bool *told, char ret_why[RESUME_WHY_MAX]);
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
