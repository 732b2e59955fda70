/* Wrong tokens: some at once, then late, by address; and what is right is never late. */
#include "api_world.h"

#include "api/refusals.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_table),
        cmocka_unit_test_setup_teardown(test_a_guesser_is_answered_late, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
