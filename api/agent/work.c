/*
 * Lifecycle scripts, resets of a device and reboots: an agent that was told of work in a heartbeat's reply fetches it here, and says here how it goes. Rare, and
 * on a request thread, because both wait for the store.
 */
#include "api/agent/agent.h"
#include "api/intern.h"
#include "base/status.h"
#include "server/service/agent/agent.h"

#include <string.h>

/* False: it is asked for none. */
static bool reply_reset(struct api_call *call)
{
    struct reset_job job;
    if (service_agent_reset(call->service, call->node_id, &job) != 0)
        return false;
    json_t *json = json_object();
    json_put_text(json, "key", job.key);
    json_put_text(json, "instanceId", job.instance_id);
    json_put_text(json, "bootId", job.boot_id);
    json_put_text(json, "device", job.device);
    json_put_i64(json, "timeLimitMs", job.time_limit_ms);
    api_reply_json(call, 200, json);
    return true;
}

static bool reply_reboot(struct api_call *call)
{
    struct reboot_job job;
    if (service_agent_reboot(call->service, call->node_id, &job) != 0)
        return false;
    json_t *json = json_object();
    json_put_text(json, "key", job.key);
    json_put_text(json, "instanceId", job.instance_id);
    json_put_text(json, "bootId", job.boot_id);
    json_put_text(json, "reason", job.reason);
    json_put_i64(json, "delayMs", job.delay_ms);
    json_put_i64(json, "attempt", job.attempt);
    api_reply_json(call, 200, json);
    return true;
}

void agent_describe_work(struct api_call *call)
{
    struct lifecycle_job job;
    struct problem problem;
    char peer[ADDRESS_TEXT_MAX];
    autofree char *resources = NULL;
    if (reply_reset(call) || reply_reboot(call))
        return;
    http_peer(call->http, peer);
    if (service_agent_work(call->service, call->node_id, peer, &job, &resources, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    call->resources_bytes = strlen(resources);
    json_t *json = json_object(), *scripts = json_array();
    json_put_text(json, "key", job.key);
    json_put_text(json, "instanceId", job.instance_id);
    json_put_text(json, "source", job.source);
    for (int i = 0; i < LIFECYCLE_SCRIPTS_MAX; i++)
        if (job.scripts[i][0] != '\0')
            json_array_append_new(scripts, json_string(job.scripts[i]));
    json_put(json, "scripts", scripts);
    json_put_i64(json, "timeLimitMs", job.time_limit_ms);
    json_put_i64(json, "attempts", job.attempts_max);
    json_put_text(json, "resourceConfig", resources);
    api_reply_json(call, 200, json);
}

enum {
    W_KEY = 1,
    W_SCRIPT = 2,
    W_STATE = 4,
    W_FINAL = 8,
    W_ATTEMPT = 16,
    W_EXIT = 32,
    W_DETAIL = 64,
    W_LOG = 128,
    W_ENDED = 256,
    W_SENT = 512,
};

static void read_state(struct pull *p, enum script_state *ret_state)
{
    char text[16];
    pull_text(p, text, sizeof text);
    if (p->error == 0 && script_state_parse(text, ret_state) != 0)
        pull_fail(p, "state is not started, succeeded or failed");
}

static bool read_text(struct pull *p, struct pull_view name, unsigned *seen, struct lifecycle_report *r, char *log)
{
    const struct agent_text texts[] = {{"key", W_KEY, r->key, sizeof r->key},
                                       {"script", W_SCRIPT, r->script, sizeof r->script},
                                       {"detail", W_DETAIL, r->detail, sizeof r->detail},
                                       {"log", W_LOG, log, LIFECYCLE_LOG_MAX_BYTES}};
    return agent_text(p, name, seen, texts, ARRAY_LEN(texts));
}

/* False: it has answered. */
static bool read_report(struct api_call *call, struct lifecycle_report *r, char *log)
{
    struct pull p;
    struct pull_view name;
    unsigned seen = 0;
    pull_start(&p, call->body, call->body_len);
    pull_object(&p);
    while (pull_member(&p, &name)) {
        if (read_text(&p, name, &seen, r, log)) {
            continue;
        } else if (pull_view_is(name, "state")) {
            agent_once(&p, &seen, W_STATE);
            read_state(&p, &r->state);
        } else if (pull_view_is(name, "final")) {
            agent_once(&p, &seen, W_FINAL);
            pull_bool(&p, &r->final);
        } else if (pull_view_is(name, "attempt")) {
            agent_once(&p, &seen, W_ATTEMPT);
            pull_i64(&p, 0, INT32_MAX, &r->attempt);
        } else if (pull_view_is(name, "exitCode")) {
            agent_once(&p, &seen, W_EXIT);
            pull_i64(&p, 0, UINT8_MAX, &r->exit_code);
        } else if (pull_view_is(name, "endedAtMs")) {
            agent_once(&p, &seen, W_ENDED);
            pull_i64(&p, 0, INT64_MAX, &r->ended_at);
        } else if (pull_view_is(name, "sentAtMs")) {
            agent_once(&p, &seen, W_SENT);
            pull_i64(&p, 0, INT64_MAX, &r->sent_at);
        } else {
            pull_fail(&p, "a member is not one of a work report's");
        }
    }
    if (p.error == 0 && r->state == SCRIPT_STATE_STARTED && r->final)
        pull_fail(&p, "what has only started is not final");
    return agent_message_end(call, &p, seen, W_KEY | W_STATE | W_FINAL);
}

void agent_report_work(struct api_call *call)
{
    struct lifecycle_report report = {.exit_code = -1};
    char log[LIFECYCLE_LOG_MAX_BYTES] = "";
    struct problem problem;
    if (api_media_check(call) != 0 || !read_report(call, &report, log))
        return;
    if (service_agent_report_work(call->service, call->node_id, &report, log, &problem) != 0)
        api_problem(call, &problem);
    else
        api_reply_nothing(call);
}
