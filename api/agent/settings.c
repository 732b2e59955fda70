/* What an agent does otherwise than is built in: fetched when a heartbeat's reply says that it is another, and told back. */
#include "api/agent/agent.h"
#include "api/intern.h"
#include "base/status.h"
#include "server/service/agent/agent_settings.h"

void agent_describe_settings(struct api_call *call)
{
    struct problem problem;
    autofree struct group_agent_settings *settings = own_calloc(1, sizeof *settings);
    if (service_agent_settings_fetch(call->service, call->node_id, settings, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    json_t *json = json_object();
    json_put_i64(json, "revision", settings->revision);
    json_put(json, "document", json_string(settings->text));
    api_reply_json(call, 200, json);
}

enum { S_INSTANCE = 1, S_REVISION = 2, S_REFUSED = 4, S_FILE = 8, S_SETTINGS = 16, S_ALL = 31 };

static void read_lines(struct pull *p, struct agent_settings_report *report)
{
    pull_array(p);
    while (pull_element(p)) {
        if (report->count == AGENT_SETTINGS_MAX) {
            pull_fail(p, "too many settings");
            return;
        }
        pull_text(p, report->lines[report->count++], sizeof report->lines[0]);
    }
}

/* False: it has answered. */
static bool read_report(struct api_call *call, struct agent_settings_report *report)
{
    struct pull p;
    struct pull_view name;
    unsigned seen = 0;
    const struct agent_text texts[] = {
        {"instanceId", S_INSTANCE, report->instance_id, sizeof report->instance_id},
        {"refused", S_REFUSED, report->refused, sizeof report->refused},
        {"fileRefused", S_FILE, report->file_refused, sizeof report->file_refused},
    };
    pull_start(&p, call->body, call->body_len);
    pull_object(&p);
    while (pull_member(&p, &name)) {
        if (agent_text(&p, name, &seen, texts, ARRAY_LEN(texts)))
            continue;
        if (pull_view_is(name, "revision")) {
            agent_once(&p, &seen, S_REVISION);
            pull_i64(&p, 0, INT64_MAX, &report->revision);
        } else if (pull_view_is(name, "settings")) {
            agent_once(&p, &seen, S_SETTINGS);
            read_lines(&p, report);
        } else {
            pull_fail(&p, "a member is not one of a report on settings");
        }
    }
    return agent_message_end(call, &p, seen, S_ALL);
}

void agent_report_settings(struct api_call *call)
{
    struct problem problem;
    autofree struct agent_settings_report *report = own_calloc(1, sizeof *report);
    if (api_media_check(call) != 0 || !read_report(call, report))
        return;
    if (service_agent_settings_report(call->service, call->node_id, report, &problem) != 0)
        api_problem(call, &problem);
    else
        api_reply_nothing(call);
}
