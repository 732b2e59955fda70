/* The providers of hpd's configuration that have a kind, a site's executables, an inventory or EC2: every entry of "providers" but local. */
#ifndef HOLDFAST_SERVER_CONFIG_COMMAND_PROVIDER_H
#define HOLDFAST_SERVER_CONFIG_COMMAND_PROVIDER_H

#include "base/json.h"
#include "model/limits.h"
#include "server/config/ec2_provider.h"
#include "server/provider/command/command.h"

#include <limits.h>

#define CONFIG_COMMANDS_MAX 6
#define BURN_IN_MS INT64_C(1800000) /* 30 minutes */

struct config_command {
    char name[NAME_MAX_BYTES];
    char directory[PATH_MAX];
    int64_t timeout_ms;
    bool end_orphans;
    char *variables[COMMAND_VARIABLES_MAX + 1]; /* NAME=VALUE, owned */
};

struct config_commands {
    struct config_command list[CONFIG_COMMANDS_MAX];
    size_t count;
    char inventories[CONFIG_COMMANDS_MAX][NAME_MAX_BYTES]; /* of the kind inventory, by name */
    int64_t burn_in_ms[CONFIG_COMMANDS_MAX];
    size_t inventory_count;
    struct config_ec2 *ec2; /* of the kind ec2, owned */
    size_t ec2_count;
};

/* Also says what is no provider at all. INVALID with the key's path in ret_error (CONFIG_ERROR_MAX bytes). */
int config_commands_read(struct config_commands *commands, json_t *providers, char *ret_error);
void config_commands_free(struct config_commands *commands);

#endif
