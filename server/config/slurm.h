/* How a Slurm is reached, as hpd's configuration says it. */
#ifndef HOLDFAST_SERVER_CONFIG_SLURM_H
#define HOLDFAST_SERVER_CONFIG_SLURM_H

#include "server/config/manage.h"
#include "server/config/scheduler.h"

#include <limits.h>

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

extern const struct config_scheduler_kind config_slurm_kind;
/* Of a scheduler of this kind. */
const struct config_slurm *config_slurm_of(const struct config_scheduler *scheduler);

#endif
