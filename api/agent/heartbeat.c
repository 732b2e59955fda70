/*
 * Heartbeats: the most frequent request by far. Everything here is on the worker's stack, the reply is prebuilt, and
 * nothing is allocated.
 *
 * The service takes a heartbeat in memory unless the store has to be told first (another boot or address). That it would wait for,
 * which an event loop must not do, so such a heartbeat goes to a request thread.
 */
#include "api/agent/agent.h"
#include "api/intern.h"
#include "base/status.h"
#include "base/text.h"
#include "model/agent_settings.h"
#include "server/service/agent/agent.h"

#include <inttypes.h>
#include <string.h>

#define CHECK_NAME_MAX 32
#define CHECKS_MAX 32
#define SETTINGS_MARK "settings:"

enum { M_INSTANCE = 1, M_BOOT = 2, M_SEQ = 4, M_SENT = 8, M_CHECKS = 16, M_SPOOLED = 32, M_ADDRESS = 64 };

void agent_once(struct pull *p, unsigned *seen, unsigned bit)
{
    if (*seen & bit)
        pull_fail(p, "a member is there twice");
    *seen |= bit;
}

bool agent_text(struct pull *p, struct pull_view name, unsigned *seen, const struct agent_text *texts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!pull_view_is(name, texts[i].name))
            continue;
        agent_once(p, seen, texts[i].bit);
        pull_text(p, texts[i].target, texts[i].size);
        text_mask(texts[i].target); /* a machine's text is shown beside others */
        return true;
    }
    return false;
}

bool agent_message_end(struct api_call *call, struct pull *p, unsigned seen, unsigned required)
{
    if (p->error == 0 && (seen & required) != required)
        pull_fail(p, "a member is missing");
    int rc = pull_end(p);
    if (rc != 0)
        api_problem_printf(call, PROBLEM_BAD_REQUEST, "The message is refused: %s (near byte %zu).",
                           p->why != NULL ? p->why : "not one JSON object", (size_t)(p->at - p->start));
    return rc == 0;
}

/* "settings:0f3a…": it takes settings, and which it has. */
static void read_settings_tag(const char *name, struct fleet_heartbeat *beat)
{
    if (agent_settings_tag_parse(name + strlen(SETTINGS_MARK), &beat->settings_tag) == 0)
        beat->checks |= FLEET_TAKES_SETTINGS;
}

/* Names we do not know are a newer agent's and tell nothing. "lifecycle", "reset", "reboot" and "machine" are no checks: they say that the agent
 * understands work, can reset a GPU, may reboot the machine, and tells what it is made of; and the names of deep checks say what it could be asked to run. */
static void read_checks(struct pull *p, struct fleet_heartbeat *beat)
{
    char name[CHECK_NAME_MAX];
    enum deep_check deep;
    int count = 0;
    pull_array(p);
    while (pull_element(p)) {
        pull_text(p, name, sizeof name);
        if (++count > CHECKS_MAX)
            pull_fail(p, "too many checks");
        if (p->error == 0 && strcmp(name, "kmsg") == 0)
            beat->checks |= FLEET_CHECK_KMSG;
        else if (p->error == 0 && strcmp(name, "lifecycle") == 0)
            beat->checks |= FLEET_RUNS_LIFECYCLE;
        else if (p->error == 0 && strcmp(name, "reset") == 0)
            beat->checks |= FLEET_RESETS;
        else if (p->error == 0 && strcmp(name, "reboot") == 0)
            beat->checks |= FLEET_REBOOTS;
        else if (p->error == 0 && strcmp(name, "machine") == 0)
            beat->checks |= FLEET_TELLS_MACHINE;
        else if (p->error == 0 && text_starts_with(name, SETTINGS_MARK))
            read_settings_tag(name, beat);
        else if (p->error == 0 && deep_check_parse(name, &deep) == 0)
            beat->checks |= FLEET_CHECK_DEEP(deep);
    }
}

static void read_member(struct pull *p, struct pull_view name, unsigned *seen, struct fleet_heartbeat *beat)
{
    if (pull_view_is(name, "instanceId")) {
        agent_once(p, seen, M_INSTANCE);
        pull_text(p, beat->instance_id, sizeof beat->instance_id);
    } else if (pull_view_is(name, "bootId")) {
        agent_once(p, seen, M_BOOT);
        pull_text(p, beat->boot_id, sizeof beat->boot_id);
    } else if (pull_view_is(name, "seq")) {
        agent_once(p, seen, M_SEQ);
        pull_i64(p, 1, INT64_MAX, &beat->seq);
    } else if (pull_view_is(name, "sentAtMs")) {
        agent_once(p, seen, M_SENT);
        pull_i64(p, 0, INT64_MAX, &beat->sent_at);
    } else if (pull_view_is(name, "checks")) {
        agent_once(p, seen, M_CHECKS);
        read_checks(p, beat);
    } else if (pull_view_is(name, "spooled")) {
        agent_once(p, seen, M_SPOOLED);
        pull_i64(p, 0, INT64_MAX, &beat->spooled);
    } else if (pull_view_is(name, "address")) {
        agent_once(p, seen, M_ADDRESS);
        pull_text(p, beat->address, sizeof beat->address);
    } else {
        pull_fail(p, "a member is not one of a heartbeat's");
    }
}

/* False: it has answered. */
static bool read_heartbeat(struct api_call *call, struct fleet_heartbeat *beat)
{
    struct pull p;
    struct pull_view name;
    unsigned seen = 0;
    beat->checks = 0;
    beat->spooled = 0;
    beat->settings_tag = 0;
    beat->address[0] = '\0';
    pull_start(&p, call->body, call->body_len);
    pull_object(&p);
    while (pull_member(&p, &name))
        read_member(&p, name, &seen, beat);
    return agent_message_end(call, &p, seen, M_INSTANCE | M_BOOT | M_SEQ | M_SENT);
}

/* inject: a kernel line that a person wants this agent to write, for a test. work, check: what the instance is asked to do. settings_tag: it shall have other
 * settings (NULL: those it has are right). Only an agent that says it knows an agent task of this kind is told of it. */
static void reply_orders(struct api_call *call, const char *line, enum agent_task_kind kind, const char *key,
                         const uint64_t *settings_tag)
{
    static const char *const members[] = {[AGENT_TASK_LIFECYCLE] = "work",
                                          [AGENT_TASK_CHECK] = "check",
                                          [AGENT_TASK_RESET] = "reset",
                                          [AGENT_TASK_REBOOT] = "reboot"};
    json_t *json = json_object();
    json_put_text(json, "inject", line);
    if (settings_tag != NULL)
        json_put(json, "settings", json_sprintf("%" PRIx64, *settings_tag));
    if (kind != AGENT_TASK_NONE)
        json_put_text(json, members[kind], key);
    api_reply_json(call, 200, json);
}

#define KNOWS_CHECKS (FLEET_CHECK_DEEP(DEEP_CHECK_STRESS) | FLEET_CHECK_DEEP(DEEP_CHECK_CONNECTIVITY))

static enum agent_task_kind agent_task_of(struct api_call *call, char ret_key[KEY_MAX_BYTES])
{
    const unsigned knows = call->beat.checks;
    if ((knows & (FLEET_RUNS_LIFECYCLE | FLEET_RESETS | FLEET_REBOOTS | KNOWS_CHECKS)) == 0)
        return AGENT_TASK_NONE;
    enum agent_task_kind kind =
        agent_tasks_key(fleet_agent_tasks(call->service->fleet), call->node_id, call->beat.instance_id, ret_key);
    unsigned needed = kind == AGENT_TASK_CHECK    ? KNOWS_CHECKS
                      : kind == AGENT_TASK_RESET  ? FLEET_RESETS
                      : kind == AGENT_TASK_REBOOT ? FLEET_REBOOTS
                                                  : FLEET_RUNS_LIFECYCLE;
    return (knows & needed) != 0 ? kind : AGENT_TASK_NONE;
}

static void answer(struct api_call *call, int rc, const struct problem *problem)
{
    char line[RAW_LINE_MAX_BYTES], key[KEY_MAX_BYTES];
    if (rc != 0) {
        api_problem(call, problem);
        return;
    }
    struct fleet *fleet = call->service->fleet;
    bool injects = fleet_take_directive(fleet, call->node_id, line);
    enum agent_task_kind agent_task = agent_task_of(call, key);
    uint64_t tag = fleet_settings_tag(fleet, call->node_id);
    bool differs = (call->beat.checks & FLEET_TAKES_SETTINGS) != 0 && tag != call->beat.settings_tag;
    if (injects || agent_task != AGENT_TASK_NONE || differs)
        reply_orders(call, injects ? line : NULL, agent_task, key, differs ? &tag : NULL);
    else
        api_reply_nothing(call);
}

/* On a request thread; the message was read into the call. */
static void take_later(struct pool_job *job)
{
    struct api_call *call = (struct api_call *)job;
    struct problem problem;
    answer(call, service_agent_heartbeat(call->service, call->node_id, &call->beat, &problem), &problem);
}

void agent_heartbeat(struct api_call *call)
{
    struct problem problem;
    bool waits;
    if (api_media_check(call) != 0 || !read_heartbeat(call, &call->beat))
        return;
    int rc = service_agent_heartbeat_now(call->service, call->node_id, &call->beat, &waits, &problem);
    if (!waits) {
        answer(call, rc, &problem);
        return;
    }
    call->job.run = take_later;
    api_defer_to_pool(call);
}
