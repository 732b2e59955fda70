/* Instance groups: what a person says to one of them. All else of a group is its cluster's. */
#include "api/call.h"
#include "api/render.h"
#include "api/v1/v1.h"
#include "server/service/cluster/cluster.h"

void api_group_resume(struct api_call *call)
{
    struct problem problem;
    char reason[REASON_MAX_BYTES] = "";
    auto_json json_t *body = NULL;
    autofree struct instance_group *group = own_calloc(1, sizeof *group);
    const struct json_field fields[] = {
        {.name = "reason", .type = JSON_FIELD_TEXT, .target = reason, .size = sizeof reason, API_LINE}};
    if (api_body(call, fields, ARRAY_LEN(fields), &body) != 0)
        return;
    if (service_group_resume(call->service, &call->actor, call->params[0], call->params[1], reason, group, &problem) !=
        0)
        api_problem(call, &problem);
    else
        api_reply_json(call, 200, render_group_held(group));
}
