/* The keys of nodeCommands, and what runs the commands. */
#include "server/config/node_commands.h"

#include "base/own.h"
#include "base/ssh.h"
#include "base/status.h"
#include "server/config/config.h"
#include "server/config/section.h"
#include "server/service/service.h"

#include <stdio.h>
#include <string.h>

#define THREADS 8
#define THREADS_MAX 64

int config_node_commands_read(struct config_node_commands *commands, json_t *json, char *ret_error)
{
    commands->port = SSH_PORT;
    commands->threads = THREADS;
    commands->timeout_max_ms = 10 * MS_PER_MIN;
    const struct key keys[] = {
        {"user", KEY_TEXT, commands->user, sizeof(commands->user), 0, 0},
        {"keyFile", KEY_PATH, commands->key_file, sizeof(commands->key_file), 0, 0},
        {"agent", KEY_PATH, commands->agent, sizeof(commands->agent), 0, 0},
        {"port", KEY_INT, &commands->port, sizeof(commands->port), 1, UINT16_MAX},
        {"threads", KEY_INT, &commands->threads, sizeof(commands->threads), 1, THREADS_MAX},
        {"timeoutMax", KEY_DURATION, &commands->timeout_max_ms, 0, MS_PER_S, MS_PER_HOUR},
    };
    int rc = section_read(json, "nodeCommands", keys, ARRAY_LEN(keys), NULL, ret_error);
    if (rc == 0 && commands->user[0] == '\0') {
        snprintf(ret_error, CONFIG_ERROR_MAX, "nodeCommands needs user, who runs the commands on the nodes");
        rc = STATUS_INVALID;
    }
    if (rc == 0 && commands->key_file[0] == '\0' && commands->agent[0] == '\0') {
        snprintf(ret_error, CONFIG_ERROR_MAX, "nodeCommands needs keyFile or agent, by which hpd logs in");
        rc = STATUS_INVALID;
    }
    commands->given = rc == 0;
    return rc;
}

int config_node_commands_make(struct config_node_commands *commands, struct service *service)
{
    if (!commands->given)
        return 0;
    service->node_command_max_ms = commands->timeout_max_ms;
    commands->ssh = (struct node_ssh){
        .user = commands->user, .key_file = commands->key_file, .agent = commands->agent, .port = (int)commands->port};
    service->node_commands = node_commands_new(node_ssh_run, &commands->ssh, clock_system(), (int)commands->threads);
    return service->node_commands != NULL ? 0 : STATUS_UNAVAILABLE;
}
