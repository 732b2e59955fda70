/* Wrong tokens, agents' credentials and signatures: some at once, then late, by address; and what is right is never late. */
#include "api_world.h"

#include "api/refusals.h"
#include "tests/support/sign.h"

#define LATE_MS 400

static struct api_world aw;

static int setup(void **state)
{
    const struct api_options options = {
        .refusals_burst = 3, .refusal_delay_ms = LATE_MS, .slow_loopback = true, .tick_ms = 20};
    (void)state;
    api_world_open(&aw, &options);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    api_world_close(&aw);
    return 0;
}

static void test_the_table(void **state)
{
    struct refusals *r = refusals_new(0, 0, false);
    (void)state;
    for (int i = 0; i < REFUSALS_BURST; i++)
        assert_int_equal(refusals_delay_ms(r, "192.0.2.1", false, 1000), 0);
    for (int i = 0; i < 100; i++)
        assert_int_equal(refusals_delay_ms(r, "192.0.2.1", false, 1500), REFUSALS_DELAY_MS);
    assert_int_equal(refusals_delay_ms(r, "192.0.2.2", false, 1500), 0); /* somebody else */
    assert_int_equal(refusals_delay_ms(r, "127.0.0.1", true, 1500), 0);
    assert_int_equal(refusals_delay_ms(r, "192.0.2.1", false, 2000), REFUSALS_DELAY_MS);
    assert_int_equal(refusals_delay_ms(r, "192.0.2.1", false, 4000), 0); /* one a second is forgiven */
    assert_int_equal(refusals_delay_ms(r, "192.0.2.1", false, 4000), REFUSALS_DELAY_MS);
    for (int i = 0; i < REFUSALS_BURST; i++)
        assert_int_equal(refusals_delay_ms(r, "192.0.2.1", false, 400000), 0);
    refusals_free(r);
}

static int64_t ask_ms(const char *token, int status)
{
    int64_t began_us = clock_stopwatch_us();
    struct reply reply = client_ask(&aw, "GET", "/v1/version", token, NULL, NULL);
    assert_int_equal(reply.status, status);
    reply_free(&reply);
    return (clock_stopwatch_us() - began_us) / 1000;
}

static void test_a_guesser_is_answered_late(void **state)
{
    static const char wrong[] = "hfa_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    (void)state;
    for (int i = 0; i < 3; i++)
        ask_ms(wrong, 401);
    int64_t late = 0;
    for (int i = 0; i < 3; i++)
        late += ask_ms(wrong, 401) >= LATE_MS - 20;
    assert_true(late >= 1); /* one may have been forgiven on a slow machine */
    ask_ms(aw.viewer, 200);
    ask_ms(NULL, 401); /* none at all is no guess */
}

/* How many of some tries were answered late, when the burst is used up. */
static int late_of(int64_t (*ask)(const char *secret, int status), const char *wrong, int status)
{
    int late = 0;
    for (int i = 0; i < 3; i++)
        ask(wrong, status);
    for (int i = 0; i < 3; i++)
        late += ask(wrong, status) >= LATE_MS - 20;
    return late;
}

static int64_t beat_ms(const char *credential, int status)
{
    static const char beat[] = "{\"bootId\":\"b\",\"sequence\":1}";
    int64_t began_us = clock_stopwatch_us();
    struct reply reply = client_ask(&aw, "POST", "/v1/agent/heartbeat", credential, NULL, beat);
    if (reply.status == 401 || status == 401)
        assert_int_equal(reply.status, status);
    reply_free(&reply);
    return (clock_stopwatch_us() - began_us) / 1000;
}

static void test_a_guesser_of_credentials_is_answered_late(void **state)
{
    (void)state;
    assert_true(late_of(beat_ms, "hfn_1.AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", 401) >= 1);
    beat_ms(aw.agent, 200); /* what is right is answered as it is */
    /* Refused before its body is there, on a connection that stays: the next request on it is answered. */
    int fd = client_connect(&aw);
    for (int i = 0; i < 3; i++) {
        autofree char *request = client_request("POST", "/v1/agent/heartbeat", "hfn_1.AAAA", NULL, "{}");
        client_send(fd, request);
        struct reply reply = client_read_reply(fd, false);
        assert_int_equal(reply.status, 401);
        reply_free(&reply);
    }
    close(fd);
    for (int i = 0; i < 8; i++) { /* gone before the answer */
        autofree char *request = client_request("POST", "/v1/agent/heartbeat", "hfn_1.AAAA", NULL, "{}");
        fd = client_connect(&aw);
        client_send(fd, request);
        close(fd);
    }
    beat_ms(aw.agent, 200);
}

static struct access_key key;
static char secret[SERVICE_SECRET_MAX];

static int64_t sign_ms(const char *with, int status)
{
    const struct sign sign = {key.access_key, with, "us-west-2", "holdfast"};
    AUTO(text) struct text request = {0};
    text_add(&request, "POST / HTTP/1.1\r\n");
    sign_headers(&sign, "SageMaker.ListClusters", "{}", 2, clock_wall_ms(clock_system()), &request);
    text_add(&request, "\r\n{}");
    int64_t began_us = clock_stopwatch_us();
    int fd = client_connect(&aw);
    client_send(fd, text_get(&request));
    struct reply reply = client_read_reply(fd, false);
    assert_int_equal(reply.status, status);
    reply_free(&reply);
    close(fd);
    return (clock_stopwatch_us() - began_us) / 1000;
}

static void test_a_guesser_of_secrets_is_answered_late(void **state)
{
    (void)state;
    assert_int_equal(
        service_access_key_create(&aw.world.service, &world_admin, "sdk", ROLE_ADMIN, &key, secret, &aw.world.problem),
        0);
    assert_true(late_of(sign_ms, "wrongwrongwrongwrongwrongwrongwrongwrong", 403) >= 1);
    sign_ms(secret, 200);
    memcpy(key.access_key + 4, "AAAAAAAAAAAA", 12); /* a key that nobody has */
    assert_true(late_of(sign_ms, secret, 403) >= 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_table),
        cmocka_unit_test_setup_teardown(test_a_guesser_is_answered_late, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_guesser_of_credentials_is_answered_late, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_guesser_of_secrets_is_answered_late, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
