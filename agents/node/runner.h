/*
 * Runners: processes of hp-agent for long work. At most one of a kind runs at a time, and it outlives the agent. The agent's loop
 * only starts it, with every heartbeat as long as the server wants the order.
 *
 *     agent ──heartbeat──► the order's key ──► runner_begin ──spawn──► hp-agent --OPTION KEY ──► runner_main
 *
 *     <state-dir>/<name>/  lock     held while a runner lives
 *                          <state>  its state, in a format of its kind
 *
 * This file has what all kinds share: start, lock, order, state, reports. The differences are in struct runner_kind.
 */
#ifndef HOLDFAST_AGENTS_NODE_RUNNER_H
#define HOLDFAST_AGENTS_NODE_RUNNER_H

#include "agents/node/runner_list.h"
#include "agents/node/talk.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RUNNER_LOG_KEPT_MAX (16 * 1024 * 1024) /* a longer log is parked before the next runner begins */

struct runner_times {
    int64_t timeout_ms; /* of one exchange with the server or a source */
    int64_t fetch_ms;   /* of all exchanges with a source that one try takes; 0: no limit */
    int64_t pause_ms;   /* after a failure, before the next try */
    int64_t grace_ms;   /* between SIGTERM and SIGKILL */
    int64_t probe_ms;   /* how often to ask whether it is still wanted */
    int64_t
        busy_pause_ms; /* of a reset: before the next try where somebody has the GPU open, as a check of ours may … */
    int64_t try_ms;    /* … and only while so much of the order's time is left */
};

/* The options of a runner. A kind ignores what it does not need. NULL: not given. */
struct runner_options {
    const char *url, *fingerprint; /* of the server */
    const char *state_dir, *instance_id, *boot_id_file;
    const char *address;        /* where others reach this machine; NULL: the connection's own end */
    const char *log;            /* of lifecycle scripts; NULL: lifecycle.log in the state directory */
    const char *ca_file;        /* for sources at https; NULL: the system's */
    const char *s3_config;      /* for sources at s3; NULL: none are read */
    const char *config_dir;     /* where scripts look for what they read, too; NULL, "": nowhere */
    const char *reboot_command; /* NULL: systemctl reboot */
    bool allow_reboot;
    bool refused;     /* --no-lifecycle: nothing is run, and that is said */
    const char *path; /* where tools are looked for, with colons; NULL: $PATH */
    const char *root; /* goes before /sys and /dev; NULL: "" */
    struct runner_times times;
};

struct runner_kind {
    const char *name;    /* of its directory and its log */
    const char *state;   /* the name of its state file */
    const char *option;  /* of hp-agent, with the order's key */
    const char *process; /* as ps shows it */
    const char *about;   /* "lifecycle scripts" */
    const char *path;    /* of its order at the server, and of its reports */
    size_t order_bytes_max;
    struct runner_times times;
    /* Called with the lock held. 0: the final report is delivered, or the order is withdrawn. Else the runner has to be started
     * again. */
    int (*run)(const struct runner_options *options, const char *key);
};

#define X(id, kind, member) extern const struct runner_kind kind;
RUNNER_LIST(X)
#undef X
const struct runner_kind *runner_kind(enum runner_id id);

/* --- the agent's part ---------------------------------------------------------------------------------------- */

/* Starts program for the order. CONFLICT when a runner of the kind is running. Never waits. The runner inherits the lock, so it is
 * never free in between. */
int runner_begin(const struct runner_kind *kind, const struct runner_options *options, const char *program,
                 const char *key);
/* Caller frees. */
char *runner_log_path(const struct runner_kind *kind, const struct runner_options *options);

/* --- the runner's part --------------------------------------------------------------------------------------- */

/* The whole process; its exit status. times of options are filled in. */
int runner_main(const struct runner_kind *kind, struct runner_options options, const char *key);
/* Takes the lock that runner_begin passed to this process, or a free one. */
int runner_lock(const struct runner_kind *kind, const struct runner_options *options, int *ret_fd);

struct runner {
    const struct runner_kind *kind;
    const struct runner_options *options;
    struct talk talk;
    char *directory, *state_path;
};

/* Call runner_close in any case. */
int runner_open(struct runner *runner, const struct runner_kind *kind, const struct runner_options *options);
void runner_close(struct runner *runner);
/* Logs errors. */
int runner_save(const struct runner *runner, const struct text *state);
/* Caller frees. */
int runner_load(const struct runner *runner, char **ret_state, size_t *ret_len);
/* Fetches the order and passes it to read. 0, TALK_WITHDRAWN, the result of read, or a status for a retry. */
typedef int runner_read_fn(const char *body, size_t len, void *arg);
int runner_fetch(struct runner *runner, runner_read_fn *read, void *arg);

#endif
