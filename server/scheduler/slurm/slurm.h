/*
 * The Slurm backend, first transport: scontrol, sinfo and squeue run here without a shell.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_SLURM_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_SLURM_H

#include "server/scheduler/scheduler.h"

struct slurm_options {
    const char *bin_dir; /* where scontrol, sinfo, squeue are; NULL: found in PATH */
    const char *conf;    /* value of SLURM_CONF for them; NULL: inherit */
    int64_t timeout_ms;  /* a call's deadline */
};

/* Copies what it needs. The driver is freed with driver.ops->free. */
int slurm_new(const struct slurm_options *options, struct scheduler_driver *ret_driver);

#endif
