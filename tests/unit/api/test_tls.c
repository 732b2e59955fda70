/* The same APIs over TLS: verified by fingerprint from the first contact on, and no plain HTTP where others can listen. */
#include "api_world.h"

#include "base/tls.h"
#include "base/wire.h"

static struct api_world aw;
static char dir[] = "/tmp/holdfast-tls-XXXXXX";
static struct tls_pair pair;

static int setup(void **state)
{
    (void)state;
    assert_non_null(mkdtemp(dir));
    autofree char *cert = own_printf("%s/tls.crt", dir);
    autofree char *key = own_printf("%s/tls.key", dir);
    assert_int_equal(tls_ensure_certificate(&(struct tls_request){.cert_path = cert, .key_path = key}, &pair), 0);
    const struct api_options options = {.listen = "0.0.0.0:0",
                                        .cert_pem = pair.cert_pem,
                                        .key_pem = pair.key_pem,
                                        .first_request_ms = 600,
                                        .tick_ms = 50};
    api_world_open(&aw, &options);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    api_world_close(&aw);
    tls_pair_free(&pair);
    return file_remove_tree(dir);
}

static struct wire *connect_wire(const char *print)
{
    char error[WIRE_ERROR_MAX] = "";
    struct wire *wire = NULL;
    autofree char *url = own_printf("https://127.0.0.1:%d", api_port(aw.api));
    const struct wire_options options = {.url = url, .fingerprint = print, .timeout_ms = 10000};
    if (wire_new(&options, &wire, error) != 0)
        fail_msg("%s", error);
    return wire;
}

static int post(struct wire *wire, const char *path, const char *body)
{
    char error[WIRE_ERROR_MAX] = "";
    const char *reply;
    size_t len;
    int status = 0;
    int rc = wire_post(wire, path, aw.agent, body, strlen(body), &status, &reply, &len, error);
    return rc != 0 ? rc : status;
}

static void test_agents_speak_tls(void **state)
{
    (void)state;
    struct wire *wire = connect_wire(pair.fingerprint);
    for (int i = 1; i <= 50; i++) {
        autofree char *beat = agent_beat_body(i);
        autofree char *verdict = agent_verdict_body(i);
        assert_int_equal(post(wire, "/v1/agent/heartbeat", beat), 200);
        assert_int_equal(post(wire, "/v1/agent/verdicts", verdict), 200);
    }
    wire_free(wire);
}

static void test_another_fingerprint_is_refused(void **state)
{
    (void)state;
    struct wire *wire = connect_wire("sha256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=");
    autofree char *beat = agent_beat_body(1000);
    assert_int_equal(post(wire, "/v1/agent/heartbeat", beat), STATUS_DENIED);
    wire_free(wire);
}

/* Plain HTTP, garbage, and a handshake that is never finished: all closed, none answered. */
static void test_no_plain_http(void **state)
{
    static const char *const bytes[] = {"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n",
                                        "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", ""};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bytes); i++) {
        int fd = client_connect(&aw);
        client_send(fd, bytes[i]);
        struct reply reply = client_read_all(fd);
        assert_int_equal(reply.status, 0);
        reply_free(&reply);
        close(fd);
    }
}

static void test_a_bad_certificate_is_an_error(void **state)
{
    struct api *api = NULL;
    char error[API_ERROR_MAX] = "";
    (void)state;
    const struct api_options options = {
        .listen = "0.0.0.0:0", .cert_pem = "no certificate", .key_pem = "no key", .version = "1"};
    assert_int_equal(api_start(&options, &aw.world.service, &api, error), STATUS_IO);
    assert_non_null(strstr(error, "certificate"));
    assert_null(api);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_agents_speak_tls),
        cmocka_unit_test(test_another_fingerprint_is_refused),
        cmocka_unit_test(test_no_plain_http),
        cmocka_unit_test(test_a_bad_certificate_is_an_error),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
