/*
 * The Slurm backend: scontrol, squeue, scancel and sacctmgr, run here without a shell, or over SSH where Slurm is; or
 * slurmrestd, and these only for what it cannot do.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_SLURM_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_SLURM_H

#include "base/ssh.h"
#include "server/scheduler/scheduler.h"
#include "server/scheduler/slurm/conf.h"

/* Where Holdfast writes nodes and partitions; all paths are on the machine of slurmctld. */
struct slurm_manage_options {
    const char *file;            /* that slurm.conf includes */
    const char *gres, *topology; /* NULL: the site's */
    const char *const *restart;  /* the command that restarts slurmctld, and NULL */
    const struct slurm_conf_site *site;
    int64_t answer_ms,
        configure_ms; /* how long slurmctld may be silent before its process is looked for, and a change may take; 0: 30 s, 90 s */
};

struct slurm_rest_options {
    const char *url, *user; /* "http://…" of this machine, "https://…", or "unix:/path" */
    const char *token_file; /* read anew for each request; NULL or "": none, for a socket with rest_auth/local */
    const char *ca_file;    /* PEM; NULL or "": system CAs */
};

struct slurm_options {
    const char *bin_dir;                       /* where Slurm's programs are; NULL: found in PATH */
    const char *conf;                          /* value of SLURM_CONF for them; NULL: ours, or over SSH what is there */
    int64_t timeout_ms;                        /* a call's deadline */
    const struct ssh_options *ssh;             /* NULL: they run here */
    const struct slurm_rest_options *rest;     /* NULL: all is done by the programs */
    const struct slurm_manage_options *manage; /* NULL: nothing of its configuration is written */
};

/* INVALID with what follows the path of its keys in ret_error: ".url, where slurmrestd listens: …". */
int slurm_rest_options_check(const struct slurm_rest_options *rest, char *ret_error);
/* Whether both reach the same Slurm, as far as their texts tell. */
bool slurm_options_are_alike(const struct slurm_options *a, const struct slurm_options *b);
/* Logs which of its files are not there now. path: of its keys in hpd's configuration. */
void slurm_options_warn(const struct slurm_options *options, const char *path);
/* Copies what it needs. INVALID for limits or a URL that are none. The driver is freed with driver.ops->free. */
int slurm_new(const struct slurm_options *options, struct scheduler_driver *ret_driver);

#endif
