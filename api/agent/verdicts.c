/*
 * Verdicts: answered when they are on disk and not before. The loop parses a report into memory of the
 * worker, the service copies what it keeps, and the store's writer answers after the commit; an event loop never waits.
 */
#include "api/agent/agent.h"
#include "api/intern.h"
#include "base/status.h"
#include "server/service/agent/agent.h"

#include <string.h>

enum { M_INSTANCE = 1, M_BOOT = 2, M_SENT = 4, M_VERDICTS = 8 };
enum {
    V_KEY = 1,
    V_DEVICE = 2,
    V_SOURCE = 4,
    V_CODE = 8,
    V_LINE = 16,
    V_FIRST = 32,
    V_LAST = 64,
    V_COUNT = 128,
    V_SEVERITY = 256,
    V_TABLE = 512,
    V_OVER = 1024,
    V_NEEDED = V_KEY | V_SOURCE | V_CODE | V_FIRST | V_LAST | V_COUNT | V_SEVERITY
};

struct report {
    char instance_id[ID_INSTANCE_MAX];
    char boot_id[BOOT_ID_MAX_BYTES];
    int64_t sent_at;
    struct verdict verdicts[VERDICTS_PER_POST_MAX];
    size_t count;
};

_Static_assert(sizeof(struct report) <= API_SCRATCH_BYTES, "a worker's scratch memory holds one report");

static void read_severity(struct pull *p, enum severity *ret_severity)
{
    char text[16];
    pull_text(p, text, sizeof text);
    if (p->error == 0 && severity_parse(text, ret_severity) != 0)
        pull_fail(p, "severity is not ok, warn, critical or unknown");
}

static bool read_text(struct pull *p, struct pull_view name, unsigned *seen, struct verdict *v)
{
    const struct agent_text texts[] = {{"key", V_KEY, v->key, sizeof v->key},
                                       {"device", V_DEVICE, v->device, sizeof v->device},
                                       {"source", V_SOURCE, v->source, sizeof v->source},
                                       {"code", V_CODE, v->code, sizeof v->code},
                                       {"rawLine", V_LINE, v->raw_line, sizeof v->raw_line},
                                       {"tableVersion", V_TABLE, v->table_version, sizeof v->table_version}};
    return agent_text(p, name, seen, texts, ARRAY_LEN(texts));
}

static void read_verdict(struct pull *p, struct verdict *v)
{
    struct pull_view name;
    unsigned seen = 0;
    pull_object(p);
    while (pull_member(p, &name)) {
        if (read_text(p, name, &seen, v)) {
            continue;
        } else if (pull_view_is(name, "firstAtMs")) {
            agent_once(p, &seen, V_FIRST);
            pull_i64(p, 0, INT64_MAX, &v->first_at);
        } else if (pull_view_is(name, "lastAtMs")) {
            agent_once(p, &seen, V_LAST);
            pull_i64(p, 0, INT64_MAX, &v->last_at);
        } else if (pull_view_is(name, "count")) {
            agent_once(p, &seen, V_COUNT);
            pull_i64(p, 1, INT64_MAX, &v->count);
        } else if (pull_view_is(name, "severity")) {
            agent_once(p, &seen, V_SEVERITY);
            read_severity(p, &v->severity);
        } else if (pull_view_is(name, "over")) {
            agent_once(p, &seen, V_OVER);
            pull_bool(p, &v->over);
        } else {
            pull_fail(p, "a member is not one of a verdict's");
        }
    }
    if (p->error == 0 && (seen & V_NEEDED) != V_NEEDED)
        pull_fail(p, "a member of a verdict is missing");
    if (p->error == 0 && (v->key[0] == '\0' || v->source[0] == '\0' || v->code[0] == '\0'))
        pull_fail(p, "key, source and code of a verdict must not be empty");
}

static void read_verdicts(struct pull *p, struct report *r)
{
    pull_array(p);
    while (pull_element(p)) {
        if (r->count == VERDICTS_PER_POST_MAX) {
            pull_fail(p, "too many verdicts in one report");
            return;
        }
        struct verdict *v = &r->verdicts[r->count++];
        v->id = v->node_id = v->received_at = 0;
        v->state = VERDICT_STATE_OPEN;
        v->over = false;
        v->device[0] = v->raw_line[0] = v->table_version[0] = '\0';
        read_verdict(p, v);
    }
    if (r->count == 0)
        pull_fail(p, "a report has at least one verdict");
}

/* False: it has answered. */
static bool read_report(struct api_call *call, struct report *r)
{
    struct pull p;
    struct pull_view name;
    unsigned seen = 0;
    r->count = 0;
    pull_start(&p, call->body, call->body_len);
    pull_object(&p);
    while (pull_member(&p, &name)) {
        if (pull_view_is(name, "instanceId")) {
            agent_once(&p, &seen, M_INSTANCE);
            pull_text(&p, r->instance_id, sizeof r->instance_id);
        } else if (pull_view_is(name, "bootId")) {
            agent_once(&p, &seen, M_BOOT);
            pull_text(&p, r->boot_id, sizeof r->boot_id);
        } else if (pull_view_is(name, "sentAtMs")) {
            agent_once(&p, &seen, M_SENT);
            pull_i64(&p, 0, INT64_MAX, &r->sent_at);
        } else if (pull_view_is(name, "verdicts")) {
            agent_once(&p, &seen, M_VERDICTS);
            read_verdicts(&p, r);
        } else {
            pull_fail(&p, "a member is not one of a report's");
        }
    }
    if (!agent_message_end(call, &p, seen, M_INSTANCE | M_BOOT | M_SENT | M_VERDICTS))
        return false;
    for (size_t i = 0; i < r->count; i++) {
        memcpy(r->verdicts[i].instance_id, r->instance_id, sizeof r->instance_id);
        memcpy(r->verdicts[i].boot_id, r->boot_id, sizeof r->boot_id);
    }
    return true;
}

/* On the store's writer, after the commit. Its time is everybody's: one reply, no more. */
static void stored(int status, const struct problem *problem, void *arg)
{
    struct api_call *call = arg;
    if (status == 0)
        api_reply_nothing(call);
    else
        api_problem(call, problem);
}

void agent_report_verdicts(struct api_call *call)
{
    struct report *r = api_scratch(call); /* of this worker: parsed and handed over before the next is looked at */
    struct problem problem;
    if (api_media_check(call) != 0 || !read_report(call, r))
        return;
    http_defer(call->http);
    if (service_agent_verdicts(call->service, call->node_id, r->verdicts, r->count, r->sent_at, stored, call,
                               &problem) != 0)
        api_problem(call, &problem); /* refused at once: stored is not called */
}
