/* Commands over SSH, at the address and with the host key that the node's agent reports: an earlier machine's key does not count. */
#include "server/live/node_ssh.h"

#include "base/child.h"
#include "base/own.h"
#include "base/ssh.h"
#include "base/text.h"

#include <string.h>

#define UTF8_MAX 4

/* NUL bytes and what is no UTF-8 become question marks, so that the output is a text. */
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

int node_ssh_run(struct node_command *command, const atomic_bool *stop, void *arg)
{
    _Static_assert(NODE_COMMAND_ERROR_MAX >= SSH_ERROR_MAX, "why it failed fits");
    const struct node_ssh *login = arg;
    const struct ssh_options options = {.host = command->address,
                                        .user = login->user,
                                        .port = login->port,
                                        .key_file = login->key_file,
                                        .agent = login->agent,
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
