/* Commands that an admin runs on nodes: asked for here, run by threads of their own, and read here again. */
#include "api/call.h"
#include "api/render.h"
#include "api/v1/v1.h"
#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "server/service/node/node.h"

#define TIMEOUT_S 30
#define TIMEOUT_MAX_S (MS_PER_HOUR / MS_PER_S)

static json_t *render_command(const struct node_command *command)
{
    json_t *json = json_object();
    json_put_text(json, "id", command->id);
    json_put_text(json, "cluster", command->cluster);
    json_put_text(json, "node", command->node);
    json_put(json, "command", render_text(command->text));
    json_put(json, "actor", render_text(command->actor));
    json_put_text(json, "state", node_command_state_text(command->state));
    json_put_i64(json, "timeoutSeconds", command->timeout_ms / MS_PER_S);
    json_put_time(json, "askedAt", command->asked_at);
    json_put_time(json, "startedAt", command->started_at);
    json_put_time(json, "endedAt", command->ended_at);
    if (command->state == NODE_COMMAND_STATE_ENDED) {
        json_put_i64(json, "exitCode", command->exit_code);
        json_put(json, "output", render_text(text_or_empty(command->out)));
        json_put(json, "errorOutput", render_text(text_or_empty(command->err)));
        json_put(json, "cut", json_boolean(command->cut));
    }
    if (command->state == NODE_COMMAND_STATE_FAILED)
        json_put(json, "error", render_text(command->error));
    return json;
}

void api_node_command_run(struct api_call *call)
{
    struct problem problem;
    int64_t timeout_s = TIMEOUT_S;
    char text[NODE_COMMAND_TEXT_MAX] = "";
    auto_json json_t *body = NULL;
    const struct json_field fields[] = {
        {.name = "command",
         .type = JSON_FIELD_TEXT,
         .required = true,
         .target = text,
         .size = sizeof text,
         .min = 1,
         API_LINE},
        {.name = "timeoutSeconds", .type = JSON_FIELD_I64, .target = &timeout_s, .min = 1, .max = TIMEOUT_MAX_S},
    };
    autofree struct node_command *command = own_calloc(1, sizeof(*command));
    if (api_body(call, fields, ARRAY_LEN(fields), &body) != 0)
        return;
    if (service_node_command_run(call->service, &call->actor, call->params[0], call->params[1], text,
                                 timeout_s * MS_PER_S, command, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    autofree char *location = own_printf("/v1/node-commands/%s", command->id);
    api_reply_resource(call, 202, render_command(command), location, 0);
}

void api_node_command_describe(struct api_call *call)
{
    struct problem problem;
    autofree struct node_command *command = own_calloc(1, sizeof(*command));
    if (service_node_command_get(call->service, call->params[0], command, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    json_t *json = render_command(command);
    node_command_release(command);
    api_reply_json(call, 200, json);
}
