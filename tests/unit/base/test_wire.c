/* The agents' client against a scripted server: kept connections, half and missing replies, time-outs, TLS and pins. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "base/tls.h"
#include "base/wire.h"
#include "tests/support/fake_server.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define OK_LINE "HTTP/1.1 200 OK\r\n"
#define TIMEOUT_MS 20000

/* What the server answers to the n-th request, and what it saw last. */
struct script {
    struct fake_answer answers[4];
    int at;
    struct text seen;
};

static void play(const char *request, size_t len, struct fake_answer *answer, void *arg)
{
    struct script *script = arg;
    text_clear(&script->seen);
    text_add_bytes(&script->seen, request, len);
    *answer = script->answers[script->at++ % 4];
}

static struct wire *connect_to(const char *url, const char *fingerprint, const char *ca_file, int64_t timeout_ms)
{
    const struct wire_options options = {
        .url = url, .fingerprint = fingerprint, .ca_file = ca_file, .timeout_ms = timeout_ms};
    struct wire *wire = NULL;
    char error[WIRE_ERROR_MAX] = "";
    if (wire_new(&options, &wire, error) != 0)
        fail_msg("%s", error);
    return wire;
}

static int post(struct wire *wire, int *ret_status, const char **ret_body, char error[WIRE_ERROR_MAX])
{
    size_t len = 0;
    error[0] = '\0';
    return wire_post(wire, "/v1/agent/heartbeat", "hfn_1.x", "{\"seq\":1}", 9, ret_status, ret_body, &len, error);
}

static void test_requests_on_a_kept_connection(void **state)
{
    struct script script = {
        .answers = {
            {.pieces = {OK_LINE "Content-Length: 2\r\n\r\n{}"}, .count = 1},
            {.pieces = {OK_LINE, "Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n", "1\r\n}\r\n0\r\n\r\n"}, .count = 3},
            {.pieces = {"HTTP/1.1 503 X\r\nContent-Length: 0\r\n\r\n"}, .count = 1},
            {.pieces = {OK_LINE "Content-Length: 2\r\n\r\n{}"}, .count = 1}}};
    struct fake_server *server = fake_server_start(NULL, 0, NULL, NULL, play, &script);
    struct wire *wire = connect_to(fake_server_url(server), NULL, NULL, TIMEOUT_MS);
    const char *body;
    char error[WIRE_ERROR_MAX];
    int status;
    (void)state;
    assert_string_equal(wire_address(wire), "");
    for (int i = 0; i < 8; i++) {
        assert_int_equal(post(wire, &status, &body, error), 0);
        assert_string_equal(wire_address(wire), "127.0.0.1");
        assert_int_equal(status, i % 4 == 2 ? 503 : 200);
        assert_string_equal(body, i % 4 == 2 ? "" : "{}");
    }
    autofree char *expected =
        own_printf("POST /v1/agent/heartbeat HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer "
                   "hfn_1.x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{\"seq\":1}",
                   fake_server_port(server));
    assert_int_equal(fake_server_connections(server), 1);
    fake_server_stop(server);
    assert_string_equal(script.seen.data, expected);
    wire_free(wire);
    text_free(&script.seen);
}

/* A kept connection that the server closed costs the caller nothing, whether the end is seen before or after sending. */
static void test_a_closed_connection_is_made_again(void **state)
{
    struct script script = {
        .answers = {{.pieces = {OK_LINE "Content-Length: 2\r\n\r\n{}"}, .count = 1, .close = true},
                    {.pieces = {OK_LINE "Content-Length: 2\r\nConnection: close\r\n\r\n{}"}, .count = 1, .close = true},
                    {.pieces = {OK_LINE "Content-Length: 2\r\n\r\n{}"}, .count = 1},
                    {.close = true}}};
    struct fake_server *server = fake_server_start(NULL, 0, NULL, NULL, play, &script);
    struct wire *wire = connect_to(fake_server_url(server), NULL, NULL, TIMEOUT_MS);
    const char *body;
    char error[WIRE_ERROR_MAX];
    int status;
    (void)state;
    /* The fourth request meets a hang-up on a kept connection and goes out again as a fifth. */
    for (int i = 0; i < 4; i++)
        if (post(wire, &status, &body, error) != 0)
            fail_msg("%d: %s", i, error);
    wire_free(wire);
    fake_server_stop(server);
    assert_int_equal(script.at, 5);
    text_free(&script.seen);
}

static void test_bad_answers(void **state)
{
    static const struct {
        struct fake_answer answer;
        int status;
        const char *error;
    } cases[] = {
        {{.close = true}, STATUS_UNAVAILABLE, "without a reply"}, /* a fresh connection: not tried again */
        {{.pieces = {OK_LINE}, .count = 1, .close = true}, STATUS_UNAVAILABLE, "middle of a reply"},
        {{.pieces = {OK_LINE "Content-Length: 5\r\n\r\n{"}, .count = 1, .close = true}, STATUS_UNAVAILABLE, "middle"},
        {{.pieces = {OK_LINE "Transfer-Encoding: chunked\r\n\r\n5\r\nab"}, .count = 1, .close = true},
         STATUS_UNAVAILABLE,
         "middle"},
        {{.pieces = {"SSH-2.0-OpenSSH_9.2\r\n"}, .count = 1, .close = true}, STATUS_BACKEND, "not HTTP"},
        {{.pieces = {OK_LINE "Content-Length: 65537\r\n\r\n"}, .count = 1}, STATUS_BACKEND, "too large"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct script script = {.answers = {cases[i].answer, cases[i].answer, cases[i].answer, cases[i].answer}};
        struct fake_server *server = fake_server_start(NULL, 0, NULL, NULL, play, &script);
        struct wire *wire = connect_to(fake_server_url(server), NULL, NULL, TIMEOUT_MS);
        const char *body = NULL;
        char error[WIRE_ERROR_MAX];
        int status = 77;
        assert_int_equal(post(wire, &status, &body, error), cases[i].status);
        assert_int_equal(status, 77);
        assert_null(body);
        if (strstr(error, cases[i].error) == NULL)
            fail_msg("%zu: %s", i, error);
        wire_free(wire);
        fake_server_stop(server);
        assert_int_equal(script.at, 1);
        text_free(&script.seen);
    }
}

static void test_time_outs(void **state)
{
    static const struct fake_answer cases[] = {
        {.hold = true},
        {.pieces = {OK_LINE "Content-Length: 9\r\n\r\n{"}, .count = 1, .hold = true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct script script = {.answers = {cases[i], {.pieces = {OK_LINE "Content-Length: 2\r\n\r\n{}"}, .count = 1}}};
        struct fake_server *server = fake_server_start(NULL, 0, NULL, NULL, play, &script);
        struct wire *wire = connect_to(fake_server_url(server), NULL, NULL, 300);
        const char *body;
        char error[WIRE_ERROR_MAX];
        int status;
        int64_t start = clock_mono_ms(clock_system());
        assert_int_equal(post(wire, &status, &body, error), STATUS_TIMEOUT);
        assert_true(clock_mono_ms(clock_system()) - start >= 300);
        wire_free(wire);
        /* and the late rest of that reply is never taken for the next one's */
        wire = connect_to(fake_server_url(server), NULL, NULL, TIMEOUT_MS);
        assert_int_equal(post(wire, &status, &body, error), 0);
        assert_int_equal(fake_server_connections(server), 2);
        wire_free(wire);
        fake_server_stop(server);
        text_free(&script.seen);
    }
}

static void test_a_timed_out_connection_is_not_used_again(void **state)
{
    struct script script = {
        .answers = {{.hold = true}, {.pieces = {OK_LINE "Content-Length: 2\r\n\r\n{}"}, .count = 1}}};
    struct fake_server *server = fake_server_start(NULL, 0, NULL, NULL, play, &script);
    struct wire *wire = connect_to(fake_server_url(server), NULL, NULL, 500);
    const char *body;
    char error[WIRE_ERROR_MAX];
    int status;
    (void)state;
    assert_int_equal(post(wire, &status, &body, error), STATUS_TIMEOUT);
    assert_int_equal(post(wire, &status, &body, error), 0);
    assert_int_equal(fake_server_connections(server), 2);
    wire_free(wire);
    fake_server_stop(server);
    text_free(&script.seen);
}

/* A port on which nobody listens: bound, never listened on, so nobody else can take it meanwhile. */
static void test_nobody_there(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)state;
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    autofree char *url = own_printf("http://127.0.0.1:%d", ntohs(address.sin_port));
    struct wire *wire = connect_to(url, NULL, NULL, TIMEOUT_MS);
    const char *body;
    char error[WIRE_ERROR_MAX];
    int status;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(post(wire, &status, &body, error), STATUS_UNAVAILABLE);
        assert_non_null(strstr(error, "refused"));
        assert_false(wire_is_busy(wire));
    }
    wire_free(wire);
    close(fd);
}

static void test_a_name_with_several_addresses(void **state)
{
    struct script script = {.answers = {{.pieces = {OK_LINE "Content-Length: 2\r\n\r\n{}"}, .count = 1}}};
    struct fake_server *server = fake_server_start(NULL, 0, NULL, NULL, play, &script);
    autofree char *url = own_printf("http://localhost:%d", fake_server_port(server)); /* ::1 comes first, often */
    struct wire *wire = connect_to(url, NULL, NULL, TIMEOUT_MS);
    const char *body;
    char error[WIRE_ERROR_MAX];
    int status;
    (void)state;
    assert_int_equal(post(wire, &status, &body, error), 0);
    wire_free(wire);
    fake_server_stop(server);
    text_free(&script.seen);
}

static void test_options_that_make_no_sense(void **state)
{
    static const struct {
        const char *url, *fingerprint;
    } cases[] = {
        {"http://10.0.0.1:1", NULL},
        {"localhost", NULL},
        {"https://x", "sha256:"},
        {"https://x", "sha256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
        {"https://x", "sha256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=="},
        {"https://x", "sha256:!AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="},
        {"https://x", "md5:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct wire_options options = {.url = cases[i].url, .fingerprint = cases[i].fingerprint, .timeout_ms = 1};
        struct wire *wire = NULL;
        char error[WIRE_ERROR_MAX] = "";
        if (wire_new(&options, &wire, error) != STATUS_INVALID)
            fail_msg("taken: %s %s", cases[i].url, cases[i].fingerprint);
        assert_null(wire);
        assert_true(error[0] != '\0');
    }
}

/* --- TLS ----------------------------------------------------------------------------------------------------- */

struct secrets {
    char dir[64];
    char *cert_path;
    struct tls_pair pair;
};

static void secrets_make(struct secrets *secrets)
{
    text_copy_cut(secrets->dir, sizeof(secrets->dir), "/tmp/holdfast-wire-XXXXXX");
    assert_non_null(mkdtemp(secrets->dir));
    secrets->cert_path = own_printf("%s/crt", secrets->dir);
    autofree char *key_path = own_printf("%s/key", secrets->dir);
    const struct tls_request request = {.cert_path = secrets->cert_path, .key_path = key_path};
    assert_int_equal(tls_ensure_certificate(&request, &secrets->pair), 0);
}

static void secrets_clear(struct secrets *secrets)
{
    assert_int_equal(file_remove_tree(secrets->dir), 0);
    free(secrets->cert_path);
    tls_pair_free(&secrets->pair);
}

static void test_tls(void **state)
{
    struct secrets right, other;
    secrets_make(&right);
    secrets_make(&other);
    const struct {
        const char *fingerprint, *ca_file, *host;
        int status;
    } cases[] = {
        {right.pair.fingerprint, NULL, "127.0.0.1", 0},
        {right.pair.fingerprint, NULL, "127.0.0.2", 0}, /* a pin is the whole proof */
        {other.pair.fingerprint, NULL, "127.0.0.1", STATUS_DENIED},
        {NULL, right.cert_path, "127.0.0.1", 0},
        {NULL, right.cert_path, "localhost", 0},
        {NULL, other.cert_path, "127.0.0.1", STATUS_DENIED},
        {NULL, right.cert_path, "127.0.0.2", STATUS_DENIED}, /* the name does not fit */
        {NULL, NULL, "127.0.0.1", STATUS_DENIED},
        {NULL, "/no/such/file", "127.0.0.1", STATUS_INVALID},
        {other.pair.fingerprint, right.cert_path, "127.0.0.1", STATUS_DENIED}, /* a CA does not excuse a wrong pin */
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fake_answer ok = {.pieces = {OK_LINE "Content-Length: 2\r\n\r\n{}"}, .count = 1};
        struct script script = {.answers = {ok, ok, ok, ok}};
        struct fake_server *server = fake_server_start(strcmp(cases[i].host, "localhost") == 0 ? NULL : cases[i].host,
                                                       0, right.pair.cert_pem, right.pair.key_pem, play, &script);
        autofree char *url = own_printf("https://%s:%d", cases[i].host, fake_server_port(server));
        struct wire *wire = connect_to(url, cases[i].fingerprint, cases[i].ca_file, TIMEOUT_MS);
        const char *body;
        char error[WIRE_ERROR_MAX];
        int status = 0;
        int rc = post(wire, &status, &body, error);
        if (rc != cases[i].status)
            fail_msg("%zu: %d %s", i, rc, error);
        if (rc == 0) {
            for (int n = 0; n < 3; n++)
                assert_int_equal(post(wire, &status, &body, error), 0);
            assert_int_equal(fake_server_connections(server), 1);
        } else {
            assert_true(error[0] != '\0');
        }
        wire_free(wire);
        fake_server_stop(server);
        assert_int_equal(script.at, rc == 0 ? 4 : 0); /* nothing, no token, was said to a wrong server */
        text_free(&script.seen);
    }
    secrets_clear(&right);
    secrets_clear(&other);
}

static void test_tls_meets_plain(void **state)
{
    struct fake_answer ok = {.pieces = {OK_LINE "Content-Length: 2\r\n\r\n{}"}, .count = 1, .close = true};
    struct script script = {.answers = {ok, ok, ok, ok}};
    struct fake_server *server = fake_server_start(NULL, 0, NULL, NULL, play, &script);
    autofree char *url = own_printf("https://127.0.0.1:%d", fake_server_port(server));
    struct wire *wire = connect_to(url, NULL, NULL, 1000);
    const char *body;
    char error[WIRE_ERROR_MAX];
    int status;
    (void)state;
    int rc = post(wire, &status, &body, error);
    assert_true(rc == STATUS_UNAVAILABLE || rc == STATUS_TIMEOUT); /* the server waits for the end of a request */
    wire_free(wire);
    fake_server_stop(server);
    text_free(&script.seen);
}

#define LARGE_BYTES 100000

/* A reply above the usual limit is taken by who asked for more, and by nobody else. */
static void test_gets_and_larger_replies(void **state)
{
    (void)state;
    autofree char *large = own_calloc(1, LARGE_BYTES + 1);
    memset(large, 'x', LARGE_BYTES);
    autofree char *head = own_printf(OK_LINE "Content-Length: %d\r\n\r\n", LARGE_BYTES);
    const struct fake_answer answer = {.pieces = {head, large}, .count = 2};
    struct script script = {.answers = {answer, answer, answer, answer}};
    struct fake_server *server = fake_server_start(NULL, 0, NULL, NULL, play, &script);
    for (int more = 0; more < 2; more++) {
        const struct wire_options options = {
            .url = fake_server_url(server), .timeout_ms = TIMEOUT_MS, .reply_bytes_max = more ? LARGE_BYTES : 0};
        struct wire *wire = NULL;
        char error[WIRE_ERROR_MAX] = "";
        const char *body;
        size_t len = 0;
        int status;
        assert_int_equal(wire_new(&options, &wire, error), 0);
        int rc = wire_get(wire, "/v1/agent/work", "hfn_1.x", &status, &body, &len, error);
        assert_int_equal(rc, more ? 0 : STATUS_BACKEND);
        assert_int_equal(len, more ? LARGE_BYTES : 0);
        wire_free(wire);
    }
    fake_server_stop(server);
    assert_true(text_starts_with(script.seen.data, "GET /v1/agent/work HTTP/1.1\r\n"));
    assert_non_null(strstr(script.seen.data, "Authorization: Bearer hfn_1.x\r\n"));
    assert_null(strstr(script.seen.data, "Content-"));
    text_free(&script.seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gets_and_larger_replies),
        cmocka_unit_test(test_requests_on_a_kept_connection),
        cmocka_unit_test(test_a_closed_connection_is_made_again),
        cmocka_unit_test(test_bad_answers),
        cmocka_unit_test(test_time_outs),
        cmocka_unit_test(test_a_timed_out_connection_is_not_used_again),
        cmocka_unit_test(test_nobody_there),
        cmocka_unit_test(test_a_name_with_several_addresses),
        cmocka_unit_test(test_options_that_make_no_sense),
        cmocka_unit_test(test_tls),
        cmocka_unit_test(test_tls_meets_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
