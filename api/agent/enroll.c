/* Enrolment: a short-lived token becomes the node's own credential. */
#include "api/agent/agent.h"
#include "api/intern.h"
#include "base/status.h"
#include "server/service/access/access.h"
#include "server/service/agent/agent.h"

#include <string.h>

enum { M_NODE = 1, M_INSTANCE = 2, M_BOOT = 4 };

static bool read_enrollment(struct api_call *call, struct service_enrollment *e)
{
    struct pull p;
    struct pull_view name;
    unsigned seen = 0;
    pull_start(&p, call->body, call->body_len);
    pull_object(&p);
    while (pull_member(&p, &name)) {
        if (pull_view_is(name, "node")) {
            agent_once(&p, &seen, M_NODE);
            pull_text(&p, e->node, sizeof e->node);
        } else if (pull_view_is(name, "instanceId")) {
            agent_once(&p, &seen, M_INSTANCE);
            pull_text(&p, e->instance_id, sizeof e->instance_id);
        } else if (pull_view_is(name, "bootId")) {
            agent_once(&p, &seen, M_BOOT);
            pull_text(&p, e->boot_id, sizeof e->boot_id);
        } else {
            pull_fail(&p, "a member is not one of an enrolment's");
        }
    }
    return agent_message_end(call, &p, seen, M_INSTANCE | M_BOOT);
}

void agent_enroll(struct api_call *call)
{
    struct service_enrollment enrollment = {0};
    struct problem problem;
    char credential[SERVICE_TOKEN_TEXT_MAX];
    int64_t node_id;
    if (api_media_check(call) != 0 || !read_enrollment(call, &enrollment))
        return;
    if (service_agent_enroll(call->service, auth_bearer(call->http), &enrollment, &node_id, credential, &problem) !=
        0) {
        api_problem(call, &problem);
        return;
    }
    json_t *json = json_object();
    json_put_i64(json, "nodeId", node_id);
    json_put_text(json, "credential", credential);
    json_put_i64(json, "heartbeatIntervalMs", call->service->heartbeat_interval_ms);
    api_reply_json(call, 200, json);
}
