/* Commands over SSH, at the address and with the host key that the node's agent reports: an earlier machine's key does not count. */
#include "server/config/node_commands.h"

#include "base/own.h"
#include "base/ssh.h"
#include "base/status.h"
#include "base/text.h"
#include "server/config/config.h"
#include "server/config/section.h"
#include "server/service/service.h"

#include <stdio.h>
#include <string.h>

#define THREADS 8
#define THREADS_MAX 64
#define UTF8_MAX 4

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

/* NUL bytes and what is no UTF-8 become marks, so that the output is a text. */
static char *as_text(const char *bytes, size_t len)
{
    struct text out = {0};
    for (size_t i = 0, n; i < len; i += n) {
        for (n = 1; n < UTF8_MAX && i + n < len && !text_is_utf8(bytes + i, n); n++)
            ;
        bool good = bytes[i] != '\0' && text_is_utf8(bytes + i, n);
        n = good ? n : 1;
        if (good)
            text_add_bytes(&out, bytes + i, n);
        else
            text_add_char(&out, '?');
    }
    return text_take(&out);
}

static int run(struct node_command *command, const atomic_bool *stop, void *arg)
{
    const struct config_node_commands *config = arg;
    const struct ssh_options options = {.host = command->address,
                                        .user = config->user,
                                        .port = (int)config->port,
                                        .key_file = config->key_file,
                                        .agent = config->agent,
                                        .known_keys = command->host_keys,
                                        .stop = stop};
    struct child_result result;
    struct ssh *ssh = ssh_new(&options);
    int status = ssh_run(ssh, command->text, command->timeout_ms, NODE_COMMAND_OUT_BYTES_MAX, &result, command->error);
    ssh_free(ssh);
    if (status != 0)
        return status;
    command->exit_code = result.exit_code;
    command->cut = result.out_cut || strlen(result.err) >= CHILD_ERR_BYTES_MAX - 1;
    command->out = as_text(result.out, result.out_len);
    command->err = as_text(result.err, strlen(result.err));
    child_result_free(&result);
    return 0;
}

int config_node_commands_make(struct config_node_commands *commands, struct service *service)
{
    _Static_assert(NODE_COMMAND_ERROR_MAX >= SSH_ERROR_MAX, "why it failed fits");
    if (!commands->given)
        return 0;
    service->node_command_max_ms = commands->timeout_max_ms;
    service->node_commands = node_commands_new(run, commands, clock_system(), (int)commands->threads);
    return service->node_commands != NULL ? 0 : STATUS_UNAVAILABLE;
}
