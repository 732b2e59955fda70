/*
 * The power button of a pretend machine, as hpd presses it: on, off, and off and on again.
 *
 * Blocking, each within a bound of its own. Calls for one instance must not overlap; the provider sees to that.
 */
#ifndef HOLDFAST_SERVER_PROVIDER_LOCAL_POWER_H
#define HOLDFAST_SERVER_PROVIDER_LOCAL_POWER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define POWER_LOCK "lock" /* held by the supervisor from its birth to its end, or by the one that cleans up after it */
#define POWER_PID "machine.pid"
#define POWER_PROCESSES "processes"

/* The supervisor lives. */
bool power_is_on(const char *dir);
/* Starts the supervisor unless it lives or is on its way, however long that takes. UNAVAILABLE when it is not up yet: to be
 * repeated; with a sentence in ret_error (PROVIDER_ERROR_MAX bytes). */
int power_on(const char *self_path, const char *dir, char *ret_error);
/* Exactly one reboot for a key, whoever crashes and how often it is asked for. TIMEOUT, UNAVAILABLE, IO, FULL. */
int power_cycle(const char *self_path, const char *dir, const char *key, char *ret_error);
/* Nothing of the instance runs afterwards. TIMEOUT when something does not end. */
int power_off(const char *dir, char *ret_error);

#endif
