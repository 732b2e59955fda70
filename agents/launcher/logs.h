/*
 * Where the output of workers is kept: LOG_DIR/<job>_XXXXXX/attempt_<n>/<local rank>/stdout.log, stderr.log and error.json, as
 * torchrun does. Without --log-dir it is a directory that goes with hprun.
 */
#ifndef HOLDFAST_AGENTS_LAUNCHER_LOGS_H
#define HOLDFAST_AGENTS_LAUNCHER_LOGS_H

#include "agents/launcher/launcher.h"

/* STATUS_IO, said. */
int logs_open(struct launcher *launcher);
void logs_close(struct launcher *launcher);
/* The directories of one start; what an earlier start with the same count left is removed. */
int logs_begin(struct launcher *launcher, int workers);
/* Caller frees. */
char *logs_path(const struct launcher *launcher, int local_rank, const char *name);
/* What the worker's error.json says (torch's @record writes it); NULL for nothing. Caller frees. */
char *logs_error(const struct launcher *launcher, int local_rank);

#endif
