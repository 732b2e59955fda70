/* Every row of the table asked by everybody: nobody, each role, agents, and tokens of the wrong kind. */
#include "api_world.h"

#include "api/routes.h"

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

/* A path of the pattern: things that are there, so that only authority decides. */
static char *path_of(const struct api_route *route)
{
    struct text t = {0};
    for (const char *p = route->pattern; *p != '\0';) {
        if (*p != '{') {
            text_add_char(&t, *p++);
            continue;
        }
        text_add(&t, strncmp(p, "{cluster}", 9) == 0 ? "nothing"
                     : strncmp(p, "{node}", 6) == 0  ? "gpu-9"
                                                     : "no-such-id");
        p = strchr(p, '}') + 1;
    }
    return text_take(&t);
}

enum asker { NOBODY, VIEWER, OPERATOR, ADMIN, UNKNOWN_TOKEN, ENROLLER, AGENT, ASKERS };
static const char *const asker_names[] = {"nobody",        "viewer",   "operator", "admin",
                                          "unknown token", "enroller", "agent"};

static const char *token_of(enum asker asker)
{
    static const char unknown[] = "hfa_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    static const char enroll[] = "hfe_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    const char *const tokens[] = {NULL, aw.viewer, aw.operator, aw.admin, unknown, enroll, aw.agent};
    return tokens[asker];
}

/* What the asker must hear: 0 is "let in", whatever the handler then says. */
static int wanted(const struct api_route *route, enum asker asker)
{
    switch (route->access) {
    case ACCESS_OPEN:
    case ACCESS_LOCAL: /* the test is on this machine */
        return 0;
    case ACCESS_ENROLL: /* what the handler says of a token that is unknown is 401 all the same */
        return 401;
    case ACCESS_AGENT:
        return asker == AGENT ? 0 : 401;
    case ACCESS_SIGNED: /* no bearer is valid at the other API */
        return 403;
    case ACCESS_JOB: /* what a token of just that role may not: tests/e2e/api/access.test.mjs */
    case ACCESS_VIEWER:
        return asker >= VIEWER && asker <= ADMIN ? 0 : 401;
    case ACCESS_REPORTER: /* what a reporter may not: the same */
    case ACCESS_OPERATOR:
        return asker == VIEWER ? 403 : asker == OPERATOR || asker == ADMIN ? 0 : 401;
    case ACCESS_ADMIN:
        return asker == VIEWER || asker == OPERATOR ? 403 : asker == ADMIN ? 0 : 401;
    }
    return -1;
}

static void check(const struct api_route *route, enum asker asker)
{
    autofree char *path = path_of(route);
    bool spare = strcmp(route->operation, "reportSpare") == 0;
    const char *body = route->body_bytes_max == 0 ? NULL
                       : spare                    ? "{\"machine\":\"m\",\"bootId\":\"b\",\"checked\":true}"
                                                  : "{\"instanceId\":\"i-0123456789abcdef0\",\"bootId\":\"b\"}";
    int want = wanted(route, asker);
    if (strcmp(route->operation, "streamEvents") == 0 && want == 0)
        return; /* a stream has no end; test_stream.c follows one */
    struct reply reply = client_ask(&aw, route->method, path, token_of(asker), NULL, body);
    if (want != 0 ? reply.status != want : reply.status == 401 || reply.status == 403 || reply.status == 0)
        fail_msg("%s as %s: %d, wanted %d: %s", route->operation, asker_names[asker], reply.status, want, reply.text);
    if (want == 401) {
        char value[32];
        assert_string_equal(reply_header(&reply, "WWW-Authenticate", value, sizeof value), "Bearer");
        assert_reply_problem(&reply, 401, "unauthenticated");
    }
    if (want == 403 && route->access == ACCESS_SIGNED)
        assert_non_null(strstr(reply.body, "{\"__type\":\"MissingAuthenticationTokenException\""));
    else if (want == 403)
        assert_reply_problem(&reply, 403, "forbidden");
    reply_free(&reply);
}

static void test_every_row_as_everybody(void **state)
{
    (void)state;
    for (size_t i = 0; i < api_route_count; i++)
        for (int asker = 0; asker < ASKERS; asker++)
            check(&api_routes[i], (enum asker)asker);
}

static void test_schemes_and_shapes_of_tokens(void **state)
{
    static const struct {
        const char *line; /* %s is the token */
        int status;
    } cases[] = {
        {"Authorization: Bearer %s\r\n", 200},
        {"authorization: bearer %s\r\n", 200},
        {"Authorization: Bearer  %s\r\n", 200},
        {"Authorization: Basic %s\r\n", 401},
        {"Authorization: %s\r\n", 401},
        {"Authorization: Bearer\r\n", 401},
        {"Authorization: Bearer %sx\r\n", 401},
        {"Authorization: Bearer x%s\r\n", 401},
        {"Authorization: Bearer hfa_\r\n", 401},
        {"Authorization: Bearer %s %s\r\n", 401},
        {"Authorization:\r\n", 401},
        {"X-Authorization: Bearer %s\r\n", 401},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char line[512];
        struct text t = {0};
        for (const char *c = cases[i].line; *c != '\0'; c++) {
            if (strncmp(c, "%s", 2) == 0) {
                text_add(&t, aw.viewer);
                c += 1;
            } else {
                text_add_char(&t, *c);
            }
        }
        assert_int_equal(text_copy(line, sizeof line, text_get(&t)), 0);
        text_free(&t);
        struct reply reply = client_ask(&aw, "GET", "/v1/version", NULL, line, NULL);
        if (reply.status != cases[i].status)
            fail_msg("%s: %d", line, reply.status);
        reply_free(&reply);
    }
}

static void test_a_deleted_token_is_out(void **state)
{
    char text[SERVICE_TOKEN_TEXT_MAX];
    struct token token;
    (void)state;
    assert_int_equal(service_token_create_api(&aw.world.service, &world_admin, "gone", ROLE_VIEWER, MS_PER_HOUR, &token,
                                              text, &aw.world.problem),
                     0);
    struct reply reply = client_ask(&aw, "GET", "/v1/version", text, NULL, NULL);
    assert_int_equal(reply.status, 200);
    reply_free(&reply);
    autofree char *path = own_printf("/v1/tokens/%s", token.uid);
    reply = client_ask(&aw, "DELETE", path, aw.admin, NULL, NULL);
    assert_int_equal(reply.status, 204);
    assert_int_equal(reply.body_len, 0);
    reply_free(&reply);
    reply = client_ask(&aw, "GET", "/v1/version", text, NULL, NULL);
    assert_reply_problem(&reply, 401, "unauthenticated");
    reply_free(&reply);
}

/* A new credential replaces the old one on connections that are open, too. */
static void test_a_replaced_credential_is_out_at_once(void **state)
{
    char enroll[SERVICE_TOKEN_TEXT_MAX], credential[SERVICE_TOKEN_TEXT_MAX], again[SERVICE_TOKEN_TEXT_MAX];
    struct service_enrollment e = {.node = "gpu-2", .instance_id = "i-0123456789abcdef2", .boot_id = WORLD_BOOT};
    struct token token;
    int64_t node_id;
    (void)state;
    world_ready(&aw.world, "train", "gpu-2", e.instance_id, credential);
    int fd = client_connect(&aw);
    for (int i = 1; i <= 2; i++) {
        autofree char *body = own_printf(
            "{\"instanceId\":\"%s\",\"bootId\":\"" WORLD_BOOT "\",\"seq\":%d,\"sentAtMs\":1}", e.instance_id, i);
        autofree char *request = client_request("POST", "/v1/agent/heartbeat", credential, NULL, body);
        client_send(fd, request);
        struct reply reply = client_read_reply(fd, false);
        if (reply.status != 200)
            fail_msg("%s", reply.text);
        reply_free(&reply);
    }
    assert_int_equal(service_token_create_enrollment(&aw.world.service, &world_admin, "train", "gpu-2", MS_PER_HOUR,
                                                     &token, enroll, &aw.world.problem),
                     0);
    if (service_agent_enroll(&aw.world.service, enroll, &e, &node_id, again, &aw.world.problem) != 0)
        fail_msg("%s", aw.world.problem.detail);
    autofree char *body =
        own_printf("{\"instanceId\":\"%s\",\"bootId\":\"" WORLD_BOOT "\",\"seq\":3,\"sentAtMs\":1}", e.instance_id);
    autofree char *request = client_request("POST", "/v1/agent/heartbeat", credential, NULL, body);
    client_send(fd, request);
    struct reply reply = client_read_reply(fd, false);
    assert_reply_problem(&reply, 401, "unauthenticated");
    reply_free(&reply);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_row_as_everybody),
        cmocka_unit_test(test_schemes_and_shapes_of_tokens),
        cmocka_unit_test(test_a_deleted_token_is_out),
        cmocka_unit_test(test_a_replaced_credential_is_out_at_once),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
