/*
 * Deep health checks: an agent that was told of one in a heartbeat's reply fetches the order here, and says here what each test
 * came to. Rare, and on a request thread, because the reports wait for the store.
 */
#include "server/service/node/check.h"
#include "api/agent/agent.h"
#include "api/intern.h"
#include "base/sm.h"
#include "base/status.h"

void agent_describe_check(struct api_call *call)
{
    struct deep_job job;
    struct problem problem;
    if (service_agent_check(call->service, call->node_id, &job, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    json_t *json = json_object(), *checks = json_array(), *limits = json_array();
    json_put_text(json, "key", job.key);
    json_put_text(json, "instanceId", job.instance_id);
    for (int i = 0; i < DEEP_CHECK_COUNT; i++)
        if ((job.checks & SM_BIT(i)) != 0)
            json_array_append_new(checks, json_string(deep_check_text((enum deep_check)i)));
    for (size_t i = 0; i < job.limit_count; i++) {
        char limit[DEEP_LIMIT_TEXT_MAX_BYTES];
        deep_limit_text(&job.limits[i], limit);
        json_array_append_new(limits, json_sprintf("%s %s", job.limits[i].measure, limit));
    }
    json_put(json, "checks", checks);
    json_put(json, "limits", limits);
    if (job.instance_type[0] != '\0')
        json_put_text(json, "instanceType", job.instance_type);
    json_put_text(json, "profile", deep_profile_text(job.profile));
    json_put_i64(json, "dcgmLevel", job.dcgm_level);
    json_put_i64(json, "stressSeconds", job.stress_s);
    json_put_i64(json, "timeLimitMs", job.time_limit_ms);
    api_reply_json(call, 200, json);
}

enum {
    C_KEY = 1,
    C_FINAL = 2,
    C_TOTAL = 4,
    C_ORDINAL = 8,
    C_TEST = 16,
    C_CHECK = 32,
    C_STATE = 64,
    C_DETAIL = 128,
    C_STARTED = 256,
    C_DURATION = 512,
    C_MEASURES = 1024,
    C_LOG = 2048,
    C_OF_TEST = C_ORDINAL | C_TEST | C_CHECK | C_STATE,
};

static void read_check(struct pull *p, enum deep_check *ret_check)
{
    char text[32];
    pull_text(p, text, sizeof text);
    if (p->error == 0 && deep_check_parse(text, ret_check) != 0)
        pull_fail(p, "check is not instance-stress or instance-connectivity");
}

static void read_state(struct pull *p, enum deep_state *ret_state)
{
    char text[16];
    pull_text(p, text, sizeof text);
    if (p->error == 0 && deep_state_parse(text, ret_state) != 0)
        pull_fail(p, "state is not running, passed, failed or skipped");
}

enum { E_NAME = 1, E_VALUE = 2, E_LIMIT = 4, E_MARK = 8 };

static void read_mark(struct pull *p, enum deep_mark *ret_mark)
{
    char text[16];
    pull_text(p, text, sizeof text);
    if (p->error == 0 && deep_mark_parse(text, ret_mark) != 0)
        pull_fail(p, "mark is not none, ok or failed");
}

static void read_measure(struct pull *p, struct deep_measure *measure)
{
    struct pull_view name;
    unsigned seen = 0;
    const struct agent_text texts[] = {{"name", E_NAME, measure->name, sizeof measure->name},
                                       {"value", E_VALUE, measure->value, sizeof measure->value},
                                       {"limit", E_LIMIT, measure->limit, sizeof measure->limit}};
    measure->limit[0] = '\0';
    pull_object(p);
    measure->mark = DEEP_MARK_NONE;
    while (pull_member(p, &name))
        if (pull_view_is(name, "mark")) {
            agent_once(p, &seen, E_MARK);
            read_mark(p, &measure->mark);
        } else if (!agent_text(p, name, &seen, texts, ARRAY_LEN(texts))) {
            pull_fail(p, "a member is not one of a measure's");
        }
    if (p->error == 0 && (seen & (E_NAME | E_VALUE)) != (E_NAME | E_VALUE))
        pull_fail(p, "a measure has a name and a value");
}

static void read_measures(struct pull *p, struct deep_test *test)
{
    test->measure_count = 0;
    pull_array(p);
    while (pull_element(p)) {
        if (test->measure_count == DEEP_MEASURES_MAX) {
            pull_fail(p, "too many measures");
            return;
        }
        read_measure(p, &test->measures[test->measure_count++]);
    }
}

static bool read_text(struct pull *p, struct pull_view name, unsigned *seen, struct deep_report *r)
{
    const struct agent_text texts[] = {{"key", C_KEY, r->key, sizeof r->key},
                                       {"test", C_TEST, r->test.name, sizeof r->test.name},
                                       {"detail", C_DETAIL, r->test.detail, sizeof r->test.detail},
                                       {"log", C_LOG, r->log, sizeof r->log}};
    return agent_text(p, name, seen, texts, ARRAY_LEN(texts));
}

static bool read_number(struct pull *p, struct pull_view name, unsigned *seen, struct deep_report *r)
{
    const struct {
        const char *name;
        unsigned bit;
        int64_t max, *target;
    } numbers[] = {{"total", C_TOTAL, DEEP_TESTS_MAX, &r->total},
                   {"ordinal", C_ORDINAL, DEEP_TESTS_MAX, &r->test.ordinal},
                   {"startedAtMs", C_STARTED, INT64_MAX, &r->test.started_at},
                   {"durationMs", C_DURATION, INT64_MAX, &r->test.duration_ms}};
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
        if (!pull_view_is(name, numbers[i].name))
            continue;
        agent_once(p, seen, numbers[i].bit);
        pull_i64(p, 0, numbers[i].max, numbers[i].target);
        return true;
    }
    return false;
}

static void read_member(struct pull *p, struct pull_view name, unsigned *seen, struct deep_report *r)
{
    if (read_text(p, name, seen, r) || read_number(p, name, seen, r))
        return;
    if (pull_view_is(name, "final")) {
        agent_once(p, seen, C_FINAL);
        pull_bool(p, &r->final);
    } else if (pull_view_is(name, "check")) {
        agent_once(p, seen, C_CHECK);
        read_check(p, &r->test.check);
    } else if (pull_view_is(name, "state")) {
        agent_once(p, seen, C_STATE);
        read_state(p, &r->test.state);
    } else if (pull_view_is(name, "measures")) {
        agent_once(p, seen, C_MEASURES);
        read_measures(p, &r->test);
    } else {
        pull_fail(p, "a member is not one of a check's report");
    }
}

/* False: it has answered. */
static bool read_report(struct api_call *call, struct deep_report *r)
{
    struct pull p;
    struct pull_view name;
    unsigned seen = 0;
    pull_start(&p, call->body, call->body_len);
    pull_object(&p);
    while (pull_member(&p, &name))
        read_member(&p, name, &seen, r);
    return agent_message_end(call, &p, seen, C_KEY | C_FINAL | C_TOTAL | (r->final ? 0u : C_OF_TEST));
}

void agent_report_check(struct api_call *call)
{
    struct problem problem;
    autofree struct deep_report *report = own_calloc(1, sizeof *report);
    if (api_media_check(call) != 0 || !read_report(call, report))
        return;
    if (service_agent_report_check(call->service, call->node_id, report, &problem) != 0)
        api_problem(call, &problem);
    else
        api_reply_nothing(call);
}
