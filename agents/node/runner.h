/*
 * Runners: processes of hp-agent that do what takes long, one of a kind at a time, and that outlive the agent. Each has a
 * directory of its name in the state directory, with the lock that it holds while it lives.
 */
#ifndef HOLDFAST_AGENTS_NODE_RUNNER_H
#define HOLDFAST_AGENTS_NODE_RUNNER_H

#include <stddef.h>

#define RUNNER_ARGUMENTS_MAX 24
#define RUNNER_LOG_KEPT_MAX (16 * 1024 * 1024) /* a longer log is put aside before the next runner begins */

struct runner_arguments {
    const char *argv[RUNNER_ARGUMENTS_MAX];
    size_t count;
};
/* "--name value", unless value is NULL. */
void runner_add(struct runner_arguments *arguments, const char *name, const char *value);

/* Starts it unless one of the name is at work: CONFLICT. Never waits. The lock goes over without ever being free. */
int runner_begin(const char *state_dir, const char *name, const char *log, const struct runner_arguments *arguments);
/* The lock that runner_begin left to this process, or a free one. */
int runner_lock(const char *state_dir, const char *name, int *ret_fd);

#endif
