/*
 * The reset of one GPU on this instance, by nvidia-smi. As with lifecycle scripts the agent's loop only starts a runner.
 *
 *     agent ──heartbeat──► "reset": key ──► reset_begin ──spawn──► hp-agent --reset KEY ──► reset_run
 *
 *     <state-dir>/reset/  lock      held while a runner lives
 *                         state     agents/node/work.h
 *                         output    of the last nvidia-smi
 *
 * That it begins is on disk before it begins, and what came of it before it is said. A runner that finds that another one began
 * and did not end says so and resets nothing: whether it was done is then not known, and it is never done twice.
 *
 * Who has the GPU open is waited for, and before each further try the server is asked whether it is still wanted: the node may be a
 * job's again by then.
 */
#ifndef HOLDFAST_AGENTS_NODE_RESET_H
#define HOLDFAST_AGENTS_NODE_RESET_H

#include "agents/node/work.h"
#include "model/reset.h"

#include <stdbool.h>
#include <stdint.h>

#define RESET_TIMEOUT_MS 60000
#define RESET_PAUSE_MS 2000
#define RESET_GRACE_MS 10000
#define RESET_BUSY_PAUSE_MS 5000
#define RESET_TRY_MS \
    20000 /* nvidia-smi takes seconds; one that is killed in the middle leaves a GPU of which nobody knows */
#define RESET_OUTPUT_BYTES_MAX (64 * 1024)

struct reset_options {
    const char *url, *fingerprint; /* of the server */
    const char *state_dir, *instance_id, *boot_id_file;
    const char *path;      /* where nvidia-smi is looked for; NULL: PATH */
    int64_t timeout_ms;    /* of one exchange with the server */
    int64_t pause_ms;      /* after a failure, before the next exchange */
    int64_t grace_ms;      /* between SIGTERM and SIGKILL */
    int64_t busy_pause_ms; /* before it is tried again where somebody has the GPU open, as a check of ours may … */
    int64_t try_ms;        /* … and only while so much of the order's time is left */
};

/* Whether this machine has what resets a GPU. */
bool reset_is_offered(const char *path);
/* The agent's part: starts runner (a program) for the order unless one is at work. Never waits. CONFLICT when one is. */
int reset_begin(const struct reset_options *options, const char *runner, const char *key);
/* The runner's part, with the lock held. 0 when the server has heard the last word, or wants none; else it is to be begun again. */
int reset_run(const struct reset_options *options, const char *key);
/* The lock that reset_begin left to this process, or a free one. */
int reset_lock(const struct reset_options *options, int *ret_fd);

/* The device as nvidia-smi -i takes it: a UUID as it is, an address on the bus with its function. INVALID: neither. */
int reset_device(const char *device, char ret_name[DEVICE_MAX_BYTES + 2]);
/* The one line of what nvidia-smi wrote that says most: the last one that has text. */
void reset_last_line(const char *output, size_t len, char *ret_line, size_t size);

#endif
