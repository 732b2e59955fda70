/* The part of hpd's configuration that says which schedulers it drives: schedulers, a list, or slurm for a single one. */
#ifndef HOLDFAST_SERVER_CONFIG_SCHEDULER_H
#define HOLDFAST_SERVER_CONFIG_SCHEDULER_H

#include "model/limits.h"
#include "server/config/manage.h"

#include <limits.h>

#define CONFIG_SCHEDULERS_MAX 32
#define CONFIG_SCHEDULER_PATH_MAX (NAME_MAX_BYTES + 16)
#define CONFIG_SCHEDULER_ONLY "slurm" /* what the one of the short form is called */

struct config_slurm {
    char bin_dir[PATH_MAX], conf[PATH_MAX];
    int64_t timeout_ms;
    bool over_ssh;
    struct {
        char host[ADDRESS_MAX_BYTES], user[NAME_MAX_BYTES];
        int64_t port;
        char key_file[PATH_MAX], agent[PATH_MAX], known_hosts[PATH_MAX];
    } ssh;
    bool over_rest;
    struct {
        char url[PATH_MAX], user[NAME_MAX_BYTES];
        char token_file[PATH_MAX], ca_file[PATH_MAX];
    } rest;
    struct config_manage manage;
};

struct config_scheduler {
    char name[NAME_MAX_BYTES];            /* by which clusters name it */
    char path[CONFIG_SCHEDULER_PATH_MAX]; /* of its keys in the file, for messages: "slurm", "schedulers.east" */
    int64_t observe_interval_ms;          /* 0: recovery.observeInterval */
    int64_t job_snapshot_interval_ms;     /* 0: it is never asked for its jobs */
    struct config_slurm slurm;            /* Slurm is the one kind there is */
};

struct config_schedulers {
    struct config_scheduler *list; /* owned */
    size_t count;
};

/* Either may be NULL: the file does not say it. ret_error: CONFIG_ERROR_MAX bytes. */
int config_schedulers_read(struct config_schedulers *schedulers, json_t *slurm, json_t *list, char *ret_error);
void config_schedulers_free(struct config_schedulers *schedulers); /* the contents */

#endif
