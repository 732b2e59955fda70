/*
 * Slurm's programs, run here or over SSH under a deadline that one call of the vtable shares, with their failures put
 * into our words.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_COMMAND_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_COMMAND_H

#include "base/child.h"
#include "base/ssh.h"
#include "server/scheduler/slurm/slurm.h"

#define SLURM_STAMP_MAX 12 /* SLURM_TIME_FORMAT has to stay under 32 bytes, and its result too */
#define SLURM_ENV_MAX 8

struct scheduler {
    char *scontrol, *squeue, *scancel, *sacctmgr, *sdiag, *sshare; /* paths, or names to be found in PATH */
    char *env[SLURM_ENV_MAX + 1]; /* all that the programs see of our environment; over SSH, beside theirs */
    struct ssh *ssh;              /* NULL: the programs run here */
    char *host;                   /* where they run; "": here */
    struct slurm_rest *rest;      /* NULL: all is done by the programs */
    char stamp[SLURM_STAMP_MAX];  /* marks times as printed for us: see parse.c */
    int64_t timeout_ms;
    struct slurm_manage *manage; /* NULL: its configuration is the site's */
};

/* One call of the vtable. error: the caller's SCHEDULER_ERROR_MAX bytes. */
struct slurm_call {
    const struct scheduler *s;
    int64_t deadline_ms; /* on the monotonic clock */
    char *error;
};
void slurm_call_start(struct slurm_call *call, const struct scheduler *s, char *error);
/* A part of the call that may take ms_max of its time and has an error text of its own. */
struct slurm_call slurm_call_aside(const struct slurm_call *call, int64_t ms_max, char *error);
/* Writes the sentence and returns status. */
int slurm_call_fail(struct slurm_call *call, int status, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* Runs argv and hands over its output, which came in full and holds no zero bytes. 0 only when the program
 * succeeded; else UNAVAILABLE, TIMEOUT, NOT_FOUND (Slurm knows no such thing), DENIED or BACKEND, and a sentence. */
int slurm_run(struct slurm_call *call, const char *const argv[], char **ret_out);

#endif
