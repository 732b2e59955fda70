/* The part of hpd's configuration that is about writing Slurm's. */
#ifndef HOLDFAST_SERVER_CONFIG_MANAGE_H
#define HOLDFAST_SERVER_CONFIG_MANAGE_H

#include "base/json.h"
#include "server/scheduler/slurm/conf.h"

#include <limits.h>

#ifndef CONFIG_ERROR_MAX
#define CONFIG_ERROR_MAX 512
#endif
#define CONFIG_MANAGE_ARGS_MAX 16

struct config_manage {
    char file[PATH_MAX], gres[PATH_MAX], topology[PATH_MAX]; /* file "": Slurm's configuration is the site's */
    enum desired_strategy strategy;
    char *restart[CONFIG_MANAGE_ARGS_MAX + 1]; /* owned */
    struct slurm_conf_site site;
};

/* path: of its mapping, "slurm.manage". ret_error: CONFIG_ERROR_MAX bytes. */
int config_manage_read(struct config_manage *manage, const char *path, json_t *json, char *ret_error);
void config_manage_free(struct config_manage *manage);

#endif
