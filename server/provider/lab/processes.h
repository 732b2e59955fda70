/*
 * The processes of one pretend machine: found by parentage while its supervisor lives, and by what was written down, by
 * their environment and by parentage when it does not. Ended with SIGKILL, as a machine that loses its power.
 */
#ifndef HOLDFAST_SERVER_PROVIDER_LOCAL_PROCESSES_H
#define HOLDFAST_SERVER_PROVIDER_LOCAL_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The instance's directory, set for every service and inherited by what it starts. Not its id: another hpd on this host may
 * have an instance of the same name, whose processes are not ours to end. */
#define PROCESSES_VARIABLE "HOLDFAST_INSTANCE_DIR"

/* A pid that stays the same process: the signal is sent only when the start time is the expected one. */
int processes_signal(pid_t pid, uint64_t ticks, int signal_number);

/* SIGKILLs every living descendant of this process once. How many there were. */
size_t processes_kill_descendants(void);

/* Text that names this process's descendants, for a later processes_kill_leftovers. Caller frees. */
char *processes_record(void);

/* Ends what an instance without a supervisor left running; never this process or one of its ancestors. TIMEOUT
 * when something is still there at the end. */
int processes_kill_leftovers(const char *record_path, const char *instance_dir, int64_t timeout_ms);

#endif
