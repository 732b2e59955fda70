/* The section nodeCommands of hpd's configuration: by which key hpd runs what an admin asks for on nodes. Without it nobody can. */
#ifndef HOLDFAST_SERVER_CONFIG_NODE_COMMANDS_H
#define HOLDFAST_SERVER_CONFIG_NODE_COMMANDS_H

#include "base/json.h"
#include "model/limits.h"
#include "server/live/node_ssh.h"

#include <limits.h>

struct config_node_commands {
    bool given;
    char user[NAME_MAX_BYTES], key_file[PATH_MAX], agent[PATH_MAX];
    int64_t port, timeout_max_ms, threads;
    struct node_ssh ssh; /* as config_node_commands_make hands it on */
};

/* INVALID with the key's path in ret_error (CONFIG_ERROR_MAX bytes). */
int config_node_commands_read(struct config_node_commands *commands, json_t *json, char *ret_error);
/* Gives the service what runs them; nothing where it is not configured. The configuration stays until node_commands_free. UNAVAILABLE: no
 * thread could be started. */
struct service;
int config_node_commands_make(struct config_node_commands *commands, struct service *service);

#endif
