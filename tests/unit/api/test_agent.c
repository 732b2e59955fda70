/* What agents send: the three messages taken apart strictly, and what each answer means. */
#include "api_world.h"
#include "server/service/agent/machine.h"

static struct api_world aw;

static int setup(void **state)
{
    (void)state;
    api_world_open(&aw, NULL);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    api_world_close(&aw);
    return 0;
}

#define IDS "\"instanceId\":\"" WORLD_INSTANCE "\",\"bootId\":\"" WORLD_BOOT "\""
#define VERDICT(more)                                                                                                 \
    "{\"key\":\"k\",\"source\":\"kmsg\",\"code\":\"xid.79\",\"firstAtMs\":1,\"lastAtMs\":2,\"count\":1,\"severity\":" \
    "\"critical\"" more "}"
#define REPORT(verdicts) "{" IDS ",\"sentAtMs\":5,\"verdicts\":[" verdicts "]}"

static void check_refused(const char *path, const char *body)
{
    struct reply reply = client_ask(&aw, "POST", path, aw.agent, NULL, body);
    if (reply.status != 400)
        fail_msg("%s with %s: %s", path, body, reply.text);
    assert_reply_problem(&reply, 400, "bad-request");
    reply_free(&reply);
}

static void test_heartbeats_that_are_refused(void **state)
{
    static const char *const bad[] = {
        "",
        "{",
        "{}",
        "[]",
        "null",
        "{" IDS ",\"seq\":1}",
        "{" IDS ",\"sentAtMs\":1}",
        "{\"instanceId\":\"i\",\"seq\":1,\"sentAtMs\":1}",
        "{" IDS ",\"seq\":0,\"sentAtMs\":1}",
        "{" IDS ",\"seq\":-1,\"sentAtMs\":1}",
        "{" IDS ",\"seq\":1.0,\"sentAtMs\":1}",
        "{" IDS ",\"seq\":1e3,\"sentAtMs\":1}",
        "{" IDS ",\"seq\":01,\"sentAtMs\":1}",
        "{" IDS ",\"seq\":\"1\",\"sentAtMs\":1}",
        "{" IDS ",\"seq\":9223372036854775808,\"sentAtMs\":1}",
        "{" IDS ",\"seq\":1,\"seq\":2,\"sentAtMs\":1}",
        "{" IDS ",\"seq\":1,\"sentAtMs\":1,\"sentAtMs\":1}",
        "{" IDS ",\"seq\":1,\"sentAtMs\":1,\"colour\":\"red\"}",
        "{" IDS ",\"seq\":1,\"sentAtMs\":1,}",
        "{" IDS ",\"seq\":1,\"sentAtMs\":1} ,",
        "{" IDS ",\"seq\":1,\"sentAtMs\":1}{}",
        "{" IDS ",\"seq\":1,\"sentAtMs\":1,\"checks\":\"kmsg\"}",
        "{" IDS ",\"seq\":1,\"sentAtMs\":1,\"checks\":[1]}",
        "{" IDS ",\"seq\":1,\"sentAtMs\":1,\"checks\":[\"kmsg\"}",
        "{" IDS ",\"seq\":1,\"sentAtMs\":1,\"checks\":[\"a-name-that-is-much-longer-than-any-check-has\"]}",
        "{" IDS ",\"seq\":1,\"sentAtMs\":1,\"spooled\":-1}",
        "{" IDS ",\"seq\":1,\"sentAtMs\":1,\"spooled\":null}",
        "{" IDS ",\"seq\":1,\"sentAtMs\":1,\"address\":7}",
        "{" IDS ",\"seq\":1,\"sentAtMs\":1,\"address\":null}",
        "{" IDS ",\"seq\":1,\"sentAtMs\":1,\"address\":\"10.0.0.1\",\"address\":\"10.0.0.2\"}",
        "{" IDS ",\"seq\":1,\"sentAtMs\":1,\"address\":\"0000:0000:0000:0000:0000:ffff:255.255.255.255%eth0\"}",
        "{\"instanceId\":\"\xff\",\"bootId\":\"b\",\"seq\":1,\"sentAtMs\":1}",
        "{\"instanceId\":\"a\\u0000\",\"bootId\":\"b\",\"seq\":1,\"sentAtMs\":1}",
        "{\"instanceId\":\"i-0123456789abcdef0123456789abcdef\",\"bootId\":\"b\",\"seq\":1,\"sentAtMs\":1}",
        "{\"instanceId\":[[[[[[[[[[[[\"x\"]]]]]]]]]]]],\"bootId\":\"b\",\"seq\":1,\"sentAtMs\":1}",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        check_refused("/v1/agent/heartbeat", bad[i]);
    struct text many = {0};
    text_add(&many, "{" IDS ",\"seq\":1,\"sentAtMs\":1,\"checks\":[\"a\"");
    for (int i = 0; i < 40; i++)
        text_add(&many, ",\"a\"");
    text_add(&many, "]}");
    check_refused("/v1/agent/heartbeat", text_get(&many));
    text_free(&many);
}

static void test_reports_that_are_refused(void **state)
{
    static const char *const bad[] = {
        "{}",
        REPORT(""),
        "{" IDS ",\"verdicts\":[" VERDICT("") "]}",
        "{" IDS ",\"sentAtMs\":5}",
        REPORT("1"),
        REPORT("{}"),
        REPORT(VERDICT(",\"colour\":1")),
        REPORT(VERDICT(",\"count\":1")),
        REPORT(VERDICT(",\"device\":\"a\",\"device\":\"b\"")),
        REPORT(VERDICT(",\"device\":7")),
        REPORT("{\"key\":\"\",\"source\":\"kmsg\",\"code\":\"xid.79\",\"firstAtMs\":1,\"lastAtMs\":2,\"count\":1,"
               "\"severity\":\"ok\"}"),
        REPORT("{\"key\":\"k\",\"source\":\"kmsg\",\"code\":\"xid.79\",\"firstAtMs\":1,\"lastAtMs\":2,\"count\":0,"
               "\"severity\":\"ok\"}"),
        REPORT("{\"key\":\"k\",\"source\":\"kmsg\",\"code\":\"xid.79\",\"firstAtMs\":1,\"lastAtMs\":2,\"count\":1,"
               "\"severity\":\"bad\"}"),
        REPORT(
            "{\"source\":\"kmsg\",\"code\":\"xid.79\",\"firstAtMs\":1,\"lastAtMs\":2,\"count\":1,\"severity\":\"ok\"}"),
        REPORT(VERDICT("") ","),
        REPORT(VERDICT("")) "x",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        check_refused("/v1/agent/verdicts", bad[i]);
    struct text many = {0};
    text_add(&many, "{" IDS ",\"sentAtMs\":5,\"verdicts\":[" VERDICT(""));
    for (int i = 0; i < VERDICTS_PER_POST_MAX; i++)
        text_add(&many, "," VERDICT(""));
    text_add(&many, "]}");
    check_refused("/v1/agent/verdicts", text_get(&many));
    text_free(&many);
}

static void test_wrong_media_and_size(void **state)
{
    (void)state;
    struct reply reply = client_ask(&aw, "POST", "/v1/agent/heartbeat", aw.agent, "Content-Type: text/plain\r\n", "{}");
    assert_reply_problem(&reply, 415, "unsupported-media-type");
    reply_free(&reply);
    autofree char *large = own_calloc(AGENT_BODY_BYTES_MAX + 2, 1);
    memset(large, ' ', AGENT_BODY_BYTES_MAX + 1);
    reply = client_ask(&aw, "POST", "/v1/agent/verdicts", aw.agent, NULL, large);
    assert_reply_problem(&reply, 413, "too-large");
    reply_free(&reply);
}

/* --- heartbeats ---------------------------------------------------------------------------------------- */

static struct reply beat(int fd, int64_t seq)
{
    autofree char *body = agent_beat_body(seq);
    autofree char *request = client_request("POST", "/v1/agent/heartbeat", aw.agent, NULL, body);
    client_send(fd, request);
    return client_read_reply(fd, false);
}

static void test_heartbeats_are_taken_and_replays_are_not(void **state)
{
    (void)state;
    int fd = client_connect(&aw);
    static const struct {
        int64_t seq;
        int status;
    } beats[] = {{1000, 200}, {1001, 200}, {1001, 409}, {500, 409}, {1002, 200}, {5000000, 200}, {4999999, 409}};
    for (size_t i = 0; i < ARRAY_LEN(beats); i++) {
        struct reply reply = beat(fd, beats[i].seq);
        if (reply.status != beats[i].status)
            fail_msg("%" PRId64 ": %s", beats[i].seq, reply.text);
        if (reply.status == 409)
            assert_reply_problem(&reply, 409, "replayed");
        else
            assert_string_equal(reply.body, "{}");
        reply_free(&reply);
    }
    close(fd);
    struct fleet_view view;
    assert_int_equal(fleet_get(aw.world.service.fleet, aw.node_id, &view), 0);
    assert_int_equal(view.last_seq, 5000000);
    assert_int_equal(view.checks, FLEET_CHECK_KMSG);
}

/* The heartbeat that brings one is answered when it is stored; the next ones are ordinary. */
static void test_an_address_is_stored(void **state)
{
    static const struct {
        int64_t seq;
        const char *address, *stored;
        int status;
    } rows[] = {{5000001, "10.0.0.1", "10.0.0.1", 200},
                {5000002, "10.0.0.1", "10.0.0.1", 200},
                {5000003, "10.0.0.1/8", "10.0.0.1", 400},
                {5000003, "", "10.0.0.1", 200},
                {5000004, "2001:DB8::7", "2001:db8::7", 200}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autofree char *body =
            own_printf("{" IDS ",\"seq\":%" PRId64 ",\"sentAtMs\":1,\"address\":\"%s\"}", rows[i].seq, rows[i].address);
        struct reply reply = client_ask(&aw, "POST", "/v1/agent/heartbeat", aw.agent, NULL, body);
        if (reply.status != rows[i].status)
            fail_msg("%s: %s", body, reply.text);
        if (reply.status == 400)
            assert_reply_problem(&reply, 400, "invalid-value");
        reply_free(&reply);
        assert_string_equal(world_instance(&aw.world, WORLD_INSTANCE).address, rows[i].stored);
    }
}

/* The body in bits, and in chunks: the copy instead of the view. */
static void test_a_body_in_pieces(void **state)
{
    (void)state;
    autofree char *body = agent_beat_body(6000000);
    autofree char *request = client_request("POST", "/v1/agent/heartbeat", aw.agent, NULL, body);
    int fd = client_connect(&aw);
    size_t len = strlen(request);
    for (size_t at = 0; at < len; at += 37) {
        assert_true(client_send_bytes(fd, request + at, len - at < 37 ? len - at : 37));
        usleep(500);
    }
    struct reply reply = client_read_reply(fd, false);
    assert_int_equal(reply.status, 200);
    reply_free(&reply);
    autofree char *body2 = agent_beat_body(6000001);
    autofree char *head = client_request("POST", "/v1/agent/heartbeat", aw.agent,
                                         "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n", NULL);
    autofree char *chunks =
        own_printf("%s5\r\n%.5s\r\n%zx\r\n%s\r\n0\r\n\r\n", head, body2, strlen(body2) - 5, body2 + 5);
    client_send(fd, chunks);
    reply = client_read_reply(fd, false);
    if (reply.status != 200)
        fail_msg("%s", reply.text);
    reply_free(&reply);
    close(fd);
}

static void test_a_new_boot_is_stored_before_it_counts(void **state)
{
    static const char boot_2[] =
        "{\"instanceId\":\"" WORLD_INSTANCE "\",\"bootId\":\"" WORLD_BOOT_2 "\",\"seq\":1,\"sentAtMs\":1}";
    (void)state;
    struct reply reply = client_ask(&aw, "POST", "/v1/agent/heartbeat", aw.agent, NULL, boot_2);
    if (reply.status != 200)
        fail_msg("%s", reply.text);
    reply_free(&reply);
    assert_string_equal(world_instance(&aw.world, WORLD_INSTANCE).boot_id, WORLD_BOOT_2);
    reply =
        client_ask(&aw, "POST", "/v1/agent/heartbeat", aw.agent, NULL,
                   "{\"instanceId\":\"i-00000000000000bad\",\"bootId\":\"" WORLD_BOOT "\",\"seq\":9,\"sentAtMs\":1}");
    assert_reply_problem(&reply, 409, "stale-report");
    reply_free(&reply);
}

static void test_an_injected_line_comes_once(void **state)
{
    char line[] = "NVRM: Xid (PCI:0000:b9:00): 79, \"quoted\"";
    (void)state;
    int fd = client_connect(&aw);
    for (int seq = 100; seq < 106; seq++) {
        if (seq == 101 || seq == 104)
            assert_int_equal(fleet_direct(aw.world.service.fleet, aw.node_id, line), 0);
        autofree char *body = own_printf(
            "{\"instanceId\":\"" WORLD_INSTANCE "\",\"bootId\":\"" WORLD_BOOT_2 "\",\"seq\":%d,\"sentAtMs\":1}", seq);
        autofree char *request = client_request("POST", "/v1/agent/heartbeat", aw.agent, NULL, body);
        client_send(fd, request);
        struct reply reply = client_read_reply(fd, false);
        assert_int_equal(reply.status, 200);
        auto_json json_t *json = reply_json(&reply);
        const char *got = json_string_value(json_object_get(json, "inject"));
        if (seq == 101 || seq == 104)
            assert_string_equal(got, line);
        else
            assert_null(got);
        reply_free(&reply);
    }
    close(fd);
}

/* --- verdicts and enrolment ------------------------------------------------------------------------------ */

static int take_verdict(const void *row, void *arg)
{
    *(struct verdict *)arg = *(const struct verdict *)row;
    return 0;
}

static void test_a_verdict_is_stored_as_it_was_sent(void **state)
{
    struct verdict stored = {0};
    (void)state;
    struct reply reply = client_ask(
        &aw, "POST", "/v1/agent/verdicts", aw.agent, NULL,
        "{\"instanceId\":\"" WORLD_INSTANCE "\",\"bootId\":\"" WORLD_BOOT_2
        "\",\"sentAtMs\":5,\"verdicts\":[{\"key\":\"the-key\","
        "\"device\":\"0000:b9:00\",\"source\":\"kmsg\",\"code\":\"xid.79\",\"rawLine\":\"fell \\\"off\\\" \\u00e9\","
        "\"firstAtMs\":1,\"lastAtMs\":2,\"count\":7,\"severity\":\"warn\",\"tableVersion\":\"t\"}]}");
    if (reply.status != 200)
        fail_msg("%s", reply.text);
    assert_string_equal(reply.body, "{}");
    reply_free(&reply);
    assert_int_equal(
        service_verdict_list(&aw.world.service, "train", "gpu-1", -1, 0, 1, take_verdict, &stored, &aw.world.problem),
        0);
    assert_string_equal(stored.key, "the-key");
    assert_string_equal(stored.device, "0000:b9:00");
    assert_string_equal(stored.code, "xid.79");
    assert_string_equal(stored.raw_line, "fell \"off\" é");
    assert_string_equal(stored.boot_id, WORLD_BOOT_2);
    assert_string_equal(stored.table_version, "t");
    assert_int_equal(stored.count, 7);
    assert_int_equal(stored.severity, SEVERITY_WARN);
    assert_int_equal(stored.state, VERDICT_STATE_OPEN);
}

/* What a machine says of itself is shown beside other lines: nothing in it turns them around. */
static void test_texts_of_machines_turn_nothing_around(void **state)
{
    struct verdict stored = {0};
    (void)state;
    struct reply reply = client_ask(
        &aw, "POST", "/v1/agent/machine", aw.agent, NULL,
        "{\"instanceId\":\"" WORLD_INSTANCE "\",\"bootId\":\"" WORLD_BOOT_2 "\",\"sentAtMs\":5,\"hardwareKnown\":true,"
        "\"hardware\":[{\"kind\":\"gpu\",\"identity\":\"GPU-1\",\"serial\":\"12\\u202e34\",\"location\":"
        "\"0000:b9:00\",\"detail\":\"H100 \\u2066\\u009b7m\"}],"
        "\"checks\":[{\"name\":\"nvidia\",\"result\":\"unknown\",\"why\":\"gr\u00fc\u00df \\u202e\"}]}");
    if (reply.status != 200)
        fail_msg("%s", reply.text);
    reply_free(&reply);
    autofree struct service_machine *machine = own_calloc(1, sizeof(*machine));
    assert_int_equal(service_node_hardware(&aw.world.service, "train", "gpu-1", machine, &aw.world.problem), 0);
    assert_int_equal(machine->hardware_count, 1);
    assert_string_equal(machine->hardware[0].serial, "12?34");
    assert_string_equal(machine->hardware[0].detail, "H100 ??7m");
    assert_string_equal(machine->checks[0].why, "gr\xc3\xbc\xc3\x9f ?");
    reply = client_ask(&aw, "POST", "/v1/agent/verdicts", aw.agent, NULL,
                       "{\"instanceId\":\"" WORLD_INSTANCE "\",\"bootId\":\"" WORLD_BOOT_2
                       "\",\"sentAtMs\":5,\"verdicts\":[{\"key\":\"turned\",\"source\":\"kmsg\",\"code\":\"xid.13\","
                       "\"rawLine\":\"a\\u202eb\",\"firstAtMs\":1,\"lastAtMs\":2,\"count\":1,\"severity\":\"ok\"}]}");
    if (reply.status != 200)
        fail_msg("%s", reply.text);
    reply_free(&reply);
    assert_int_equal(
        service_verdict_list(&aw.world.service, "train", "gpu-1", -1, 0, 1, take_verdict, &stored, &aw.world.problem),
        0);
    assert_string_equal(stored.key, "turned");
    assert_string_equal(stored.raw_line, "a?b");
}

/* The largest report there is: 64 verdicts with a long line each, and every one is there. */
static void test_a_full_report(void **state)
{
    char line[1000];
    struct text t = {0};
    (void)state;
    memset(line, 'x', sizeof line - 1);
    line[sizeof line - 1] = '\0';
    text_add(&t,
             "{\"instanceId\":\"" WORLD_INSTANCE "\",\"bootId\":\"" WORLD_BOOT_2 "\",\"sentAtMs\":5,\"verdicts\":[");
    for (int i = 0; i < VERDICTS_PER_POST_MAX; i++)
        text_printf(&t,
                    "%s{\"key\":\"full-%d\",\"source\":\"kmsg\",\"code\":\"xid.%d\",\"rawLine\":\"%s\",\"firstAtMs\":1,"
                    "\"lastAtMs\":2,\"count\":1,\"severity\":\"ok\"}",
                    i > 0 ? "," : "", i, i, line);
    text_add(&t, "]}");
    assert_true(t.len < AGENT_BODY_BYTES_MAX);
    for (int repeat = 0; repeat < 2; repeat++) {
        struct reply reply = client_ask(&aw, "POST", "/v1/agent/verdicts", aw.agent, NULL, text_get(&t));
        if (reply.status != 200)
            fail_msg("%s", reply.text);
        reply_free(&reply);
    }
    text_free(&t);
}

static void test_enrolment(void **state)
{
    char secret[SERVICE_TOKEN_TEXT_MAX];
    (void)state;
    world_launch(&aw.world, "train", "gpu-3", "i-0123456789abcdef3", secret);
    struct reply reply =
        client_ask(&aw, "POST", "/v1/agent/enroll", secret, NULL, "{\"instanceId\":\"i\",\"bootId\":\"b\",\"x\":1}");
    assert_reply_problem(&reply, 400, "bad-request");
    reply_free(&reply);
    reply = client_ask(&aw, "POST", "/v1/agent/enroll", secret, NULL,
                       "{\"instanceId\":\"i-0123456789abcdef3\",\"bootId\":\"" WORLD_BOOT "\"}");
    if (reply.status != 200)
        fail_msg("%s", reply.text);
    auto_json json_t *json = reply_json(&reply);
    reply_free(&reply);
    const char *credential = json_string_value(json_object_get(json, "credential"));
    autofree char *prefix = own_printf("hfn_%lld.", (long long)json_integer_value(json_object_get(json, "nodeId")));
    assert_true(text_starts_with(credential, prefix));
    assert_int_equal(json_integer_value(json_object_get(json, "heartbeatIntervalMs")), 5000);
    reply =
        client_ask(&aw, "POST", "/v1/agent/heartbeat", credential, NULL,
                   "{\"instanceId\":\"i-0123456789abcdef3\",\"bootId\":\"" WORLD_BOOT "\",\"seq\":1,\"sentAtMs\":1}");
    assert_int_equal(reply.status, 200);
    reply_free(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heartbeats_that_are_refused),
        cmocka_unit_test(test_reports_that_are_refused),
        cmocka_unit_test(test_wrong_media_and_size),
        cmocka_unit_test(test_heartbeats_are_taken_and_replays_are_not),
        cmocka_unit_test(test_an_address_is_stored),
        cmocka_unit_test(test_a_body_in_pieces),
        cmocka_unit_test(test_a_new_boot_is_stored_before_it_counts),
        cmocka_unit_test(test_an_injected_line_comes_once),
        cmocka_unit_test(test_a_verdict_is_stored_as_it_was_sent),
        cmocka_unit_test(test_texts_of_machines_turn_nothing_around),
        cmocka_unit_test(test_a_full_report),
        cmocka_unit_test(test_enrolment),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
