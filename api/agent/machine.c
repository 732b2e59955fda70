/* What an agent tells of its machine, when that changes: what it is made of, and how its checks stand. On a request thread. */
#include "api/agent/agent.h"
#include "api/intern.h"
#include "base/status.h"
#include "server/service/agent/agent.h"

enum { M_INSTANCE = 1, M_BOOT = 2, M_SENT = 4, M_KNOWN = 8, M_HARDWARE = 16, M_CHECKS = 32, M_ALL = 63 };
enum { H_KIND = 1, H_IDENTITY = 2, H_SERIAL = 4, H_LOCATION = 8, H_DETAIL = 16 };
enum { C_NAME = 1, C_RESULT = 2, C_WHY = 4 };

/* A kind that this hpd does not know is a newer agent's: false, and the piece is passed over. */
static bool read_piece(struct pull *p, struct hardware *hardware)
{
    struct pull_view name;
    char kind[24] = "";
    unsigned seen = 0;
    const struct agent_text texts[] = {
        {"kind", H_KIND, kind, sizeof kind},
        {"identity", H_IDENTITY, hardware->identity, sizeof hardware->identity},
        {"serial", H_SERIAL, hardware->serial, sizeof hardware->serial},
        {"location", H_LOCATION, hardware->location, sizeof hardware->location},
        {"detail", H_DETAIL, hardware->detail, sizeof hardware->detail},
    };
    pull_object(p);
    while (pull_member(p, &name))
        if (!agent_text(p, name, &seen, texts, ARRAY_LEN(texts)))
            pull_fail(p, "a member is not one of a piece of hardware");
    if (p->error == 0 && (seen & H_KIND) == 0)
        pull_fail(p, "a piece of hardware has a kind");
    return hardware_kind_parse(kind, &hardware->kind) == 0;
}

static void read_hardware(struct pull *p, struct machine_report *r)
{
    pull_array(p);
    while (pull_element(p)) {
        if (r->hardware_count == HARDWARE_MAX) {
            pull_fail(p, "too many pieces of hardware");
            return;
        }
        r->hardware[r->hardware_count] = (struct hardware){.present = true};
        r->hardware_count += read_piece(p, &r->hardware[r->hardware_count]) ? 1 : 0;
    }
}

static void read_check(struct pull *p, struct check_state *state)
{
    struct pull_view name;
    char result[24] = "";
    unsigned seen = 0;
    const struct agent_text texts[] = {{"name", C_NAME, state->name, sizeof state->name},
                                       {"result", C_RESULT, result, sizeof result},
                                       {"why", C_WHY, state->why, sizeof state->why}};
    pull_object(p);
    while (pull_member(p, &name))
        if (!agent_text(p, name, &seen, texts, ARRAY_LEN(texts)))
            pull_fail(p, "a member is not one of a check");
    state->has_run = (seen & C_RESULT) != 0;
    if (p->error == 0 && (seen & C_NAME) == 0)
        pull_fail(p, "a check has a name");
    if (p->error == 0 && state->has_run && check_result_parse(result, &state->result) != 0)
        pull_fail(p, "result is not ok, found, unknown or not-applicable");
}

static void read_checks(struct pull *p, struct machine_report *r)
{
    pull_array(p);
    while (pull_element(p)) {
        if (r->check_count == CHECK_STATES_MAX) {
            pull_fail(p, "too many checks");
            return;
        }
        read_check(p, &r->checks[r->check_count++]);
    }
}

static void read_member(struct pull *p, struct pull_view name, unsigned *seen, struct machine_report *r)
{
    int64_t sent_at;
    const struct agent_text texts[] = {{"instanceId", M_INSTANCE, r->instance_id, sizeof r->instance_id},
                                       {"bootId", M_BOOT, r->boot_id, sizeof r->boot_id}};
    if (agent_text(p, name, seen, texts, ARRAY_LEN(texts)))
        return;
    if (pull_view_is(name, "sentAtMs")) {
        agent_once(p, seen, M_SENT);
        pull_i64(p, 0, INT64_MAX, &sent_at);
    } else if (pull_view_is(name, "hardwareKnown")) {
        agent_once(p, seen, M_KNOWN);
        pull_bool(p, &r->hardware_known);
    } else if (pull_view_is(name, "hardware")) {
        agent_once(p, seen, M_HARDWARE);
        read_hardware(p, r);
    } else if (pull_view_is(name, "checks")) {
        agent_once(p, seen, M_CHECKS);
        read_checks(p, r);
    } else {
        pull_fail(p, "a member is not one of a machine's");
    }
}

/* False: it has answered. */
static bool read_report(struct api_call *call, struct machine_report *r)
{
    struct pull p;
    struct pull_view name;
    unsigned seen = 0;
    pull_start(&p, call->body, call->body_len);
    pull_object(&p);
    while (pull_member(&p, &name))
        read_member(&p, name, &seen, r);
    return agent_message_end(call, &p, seen, M_ALL);
}

void agent_report_machine(struct api_call *call)
{
    struct problem problem;
    autofree struct machine_report *report = own_calloc(1, sizeof *report);
    if (api_media_check(call) != 0 || !read_report(call, report))
        return;
    if (service_agent_machine(call->service, call->node_id, report, &problem) != 0)
        api_problem(call, &problem);
    else
        api_reply_nothing(call);
}
