/*
 * Lifecycle scripts on this instance. The agent's loop only starts a runner; the runner is another process of hp-agent, which may
 * wait for networks and scripts as long as it takes, and which outlives the agent.
 *
 *     agent ──heartbeat──► "work": key ──► lifecycle_begin ──spawn──► hp-agent --lifecycle KEY ──► lifecycle_run
 *
 *     <state-dir>/lifecycle/  lock                    held while a runner lives
 *                             state                   agents/node/work.h
 *                             source/                 what was fetched
 *                             resource_config.json    what the scripts may read
 *
 * A script that has succeeded is never run again on the same instance. That is on disk before it is said to anybody.
 */
#ifndef HOLDFAST_AGENTS_NODE_LIFECYCLE_H
#define HOLDFAST_AGENTS_NODE_LIFECYCLE_H

#include "agents/node/attempt.h"
#include "agents/node/state.h"
#include "agents/node/work.h"

#define LIFECYCLE_ERROR_MAX 320
#define LIFECYCLE_SOURCE_TOTAL_MAX (64 * 1024 * 1024) /* bytes of a source: scripts and small files, no images */
#define LIFECYCLE_SOURCE_FILES_MAX 4096
#define LIFECYCLE_SOURCE_DEPTH_MAX 16
#define LIFECYCLE_LOG_BYTES_MAX (64 * 1024 * 1024) /* a script that writes more fills the disk: it is ended */

#define LIFECYCLE_TIMEOUT_MS 60000
#define LIFECYCLE_PAUSE_MS 2000
#define LIFECYCLE_GRACE_MS 10000
#define LIFECYCLE_PROBE_MS 30000

struct lifecycle_options {
    const char *url, *fingerprint; /* of the server */
    const char *state_dir, *instance_id;
    const char *log;     /* NULL: lifecycle.log in the state directory */
    const char *ca_file; /* for sources at https; NULL: the system's */
    bool refused;        /* --no-lifecycle: nothing is run, and that is said */
    int64_t timeout_ms;  /* of one exchange with the server or a source */
    int64_t pause_ms;    /* after a failure, before the next attempt */
    int64_t grace_ms;    /* between SIGTERM and SIGKILL */
    int64_t probe_ms;    /* how often to ask whether it is still wanted */
};

/* Caller frees. */
char *lifecycle_log_path(const struct lifecycle_options *options);

/* The agent's part: starts runner (a program) for the order unless one is at work. Never waits. CONFLICT when one is. */
int lifecycle_begin(const struct lifecycle_options *options, const char *runner, const char *key);

/* The runner's part, with the lock held. 0 when the server has heard the last word, or wants none; else it is to be begun again. */
int lifecycle_run(const struct lifecycle_options *options, const char *key);
/* The lock that lifecycle_begin left to this process, or a free one. */
int lifecycle_lock(const struct lifecycle_options *options, int *ret_fd);

/* lifecycle_source.c: what the job needs of its source, into directory, which is made anew. INVALID: it never will do. */
int lifecycle_fetch(const struct lifecycle_options *options, const struct lifecycle_job *job, const char *directory,
                    char ret_error[LIFECYCLE_ERROR_MAX]);

/* lifecycle_script.c: one attempt; what of it is not the script's own is filled in. */
struct lifecycle_script {
    const char *directory, *name, *resources; /* its place; the path it gets as its argument */
    const char *source;
};
int lifecycle_attempt(const struct lifecycle_script *script, struct attempt *attempt, struct attempt_end *ret_end);

#endif
