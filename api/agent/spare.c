/* The agent of a machine that waits to be used: what its checks found, and what the machine is from now on. */
#include "api/agent/agent.h"
#include "api/intern.h"
#include "base/status.h"
#include "server/service/machine/machine.h"

#include <string.h>

enum { M_MACHINE = 1, M_BOOT = 2, M_CHECKED = 4, M_TROUBLE = 8 };

static bool read_report(struct api_call *call, struct service_spare_report *r)
{
    struct pull p;
    struct pull_view name;
    unsigned seen = 0;
    const struct agent_text texts[] = {{"machine", M_MACHINE, r->machine, sizeof r->machine},
                                       {"bootId", M_BOOT, r->boot_id, sizeof r->boot_id},
                                       {"trouble", M_TROUBLE, r->trouble, sizeof r->trouble}};
    pull_start(&p, call->body, call->body_len);
    pull_object(&p);
    while (pull_member(&p, &name)) {
        if (agent_text(&p, name, &seen, texts, ARRAY_LEN(texts)))
            continue;
        if (pull_view_is(name, "checked")) {
            agent_once(&p, &seen, M_CHECKED);
            pull_bool(&p, &r->checked);
        } else {
            pull_fail(&p, "a member is not one of a spare's report");
        }
    }
    return agent_message_end(call, &p, seen, M_MACHINE | M_BOOT | M_CHECKED);
}

void agent_report_spare(struct api_call *call)
{
    struct service_spare_report report = {.machine = ""};
    struct service_spare_answer answer;
    struct problem problem;
    if (api_media_check(call) != 0 || !read_report(call, &report))
        return;
    if (service_spare_report(call->service, auth_bearer(call->http), &report, &answer, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    json_t *json = json_object();
    json_put_text(json, "state", machine_state_text(answer.state));
    json_put_i64(json, "waitMs", answer.wait_ms);
    json_put_text(json, "machineCredential", answer.secret);
    if (answer.instance_id[0] != '\0') {
        json_put_text(json, "instanceId", answer.instance_id);
        json_put_text(json, "node", answer.node);
        json_put_i64(json, "nodeId", answer.node_id);
        json_put_text(json, "credential", answer.credential);
        json_put_i64(json, "heartbeatIntervalMs", call->service->heartbeat_interval_ms);
    }
    api_reply_json(call, 200, json);
}
