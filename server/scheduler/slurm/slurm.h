/*
 * The Slurm backend: scontrol, squeue, scancel and sacctmgr, run here without a shell, or over SSH where Slurm is.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_SLURM_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_SLURM_H

#include "base/ssh.h"
#include "server/scheduler/scheduler.h"

struct slurm_options {
    const char *bin_dir;           /* where Slurm's programs are; NULL: found in PATH */
    const char *conf;              /* value of SLURM_CONF for them; NULL: ours, or over SSH what is there */
    int64_t timeout_ms;            /* a call's deadline */
    const struct ssh_options *ssh; /* NULL: they run here */
};

/* Copies what it needs. The driver is freed with driver.ops->free. */
int slurm_new(const struct slurm_options *options, struct scheduler_driver *ret_driver);

#endif
