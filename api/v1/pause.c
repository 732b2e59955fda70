/* A cluster in a person's hands, and given back. */
#include "server/service/cluster/pause.h"

#include "api/call.h"
#include "api/render.h"
#include "api/v1/v1.h"

typedef int (*change_fn)(struct service *s, const struct actor *actor, const char *cluster, const char *reason,
                         struct cluster *ret_cluster, struct problem *ret_problem);

static void reply(struct api_call *call, change_fn change)
{
    struct problem problem;
    struct cluster cluster;
    char reason[REASON_MAX_BYTES] = "";
    auto_json json_t *body = NULL;
    const struct json_field fields[] = {
        {.name = "reason", .type = JSON_FIELD_TEXT, .target = reason, .size = sizeof reason, API_LINE}};
    if (api_body(call, fields, ARRAY_LEN(fields), &body) != 0)
        return;
    if (change(call->service, &call->actor, call->params[0], reason, &cluster, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    json_t *json = json_object(), *pause = render_pause(&cluster);
    json_put_text(json, "name", cluster.name);
    json_put(json, "pause", pause);
    api_reply_json(call, 200, json);
}

void api_cluster_pause(struct api_call *call)
{
    reply(call, service_cluster_pause);
}

void api_cluster_resume(struct api_call *call)
{
    reply(call, service_cluster_resume);
}
