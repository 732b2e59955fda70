/* Idempotency keys: first, again, other, busy, refused; and what is forgotten when. */
#include "api_world.h"

#include "api/repeat.h"

struct asked {
    struct clock clock;
    struct repeats *all;
    struct repeat *mine;
    struct repeat_reply reply;
};

static void asked_begin(struct asked *w)
{
    *w = (struct asked){0};
    clock_fake_init(&w->clock, 1000);
    w->all = repeats_new(&w->clock);
}

static enum repeat_found ask(struct asked *w, int64_t who, const char *key, const char *what)
{
    uint8_t digest[ID_SHA256_BYTES];
    id_sha256(what, strlen(what), digest);
    repeat_reply_free(&w->reply);
    return repeat_begin(w->all, who, key, digest, &w->mine, &w->reply);
}

static void did(struct asked *w, const char *text)
{
    const struct repeat_reply reply = {.status = 201, .text = text, .location = "/v1/x", .revision = 7};
    repeat_end(w->all, w->mine, &reply);
}

static void asked_end(struct asked *w)
{
    repeat_reply_free(&w->reply);
    repeats_free(w->all);
}

static void test_a_key_is_done_once_and_answered_again(void **state)
{
    struct asked w;
    (void)state;
    asked_begin(&w);
    assert_int_equal(ask(&w, 1, "k", "a"), REPEAT_FIRST);
    assert_int_equal(ask(&w, 1, "k", "a"), REPEAT_BUSY);
    did(&w, "{\"made\":1}");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(ask(&w, 1, "k", "a"), REPEAT_SAME);
        assert_int_equal(w.reply.status, 201);
        assert_string_equal(w.reply.text, "{\"made\":1}");
        assert_string_equal(w.reply.location, "/v1/x");
        assert_int_equal(w.reply.revision, 7);
    }
    assert_int_equal(ask(&w, 1, "k", "b"), REPEAT_OTHER);
    assert_int_equal(ask(&w, 2, "k", "a"), REPEAT_FIRST); /* another's key is another key */
    repeat_end(w.all, w.mine, NULL);
    asked_end(&w);
}

static void test_what_was_refused_may_be_tried_again(void **state)
{
    struct asked w;
    (void)state;
    asked_begin(&w);
    assert_int_equal(ask(&w, 1, "k", "a"), REPEAT_FIRST);
    repeat_end(w.all, w.mine, NULL);
    assert_int_equal(ask(&w, 1, "k", "b"), REPEAT_FIRST);
    did(&w, "");
    assert_int_equal(ask(&w, 1, "k", "b"), REPEAT_SAME);
    asked_end(&w);
}

static void test_it_is_forgotten_with_time(void **state)
{
    struct asked w;
    (void)state;
    asked_begin(&w);
    assert_int_equal(ask(&w, 1, "k", "a"), REPEAT_FIRST);
    did(&w, "x");
    clock_fake_advance(&w.clock, REPEATS_MS - 1);
    assert_int_equal(ask(&w, 1, "k", "a"), REPEAT_SAME);
    clock_fake_advance(&w.clock, 1);
    assert_int_equal(ask(&w, 1, "k", "a"), REPEAT_FIRST);
    struct repeat *slow = w.mine;
    clock_fake_advance(&w.clock, 2 * REPEATS_MS); /* what is under way is never forgotten */
    assert_int_equal(ask(&w, 1, "k", "a"), REPEAT_BUSY);
    w.mine = slow;
    did(&w, "y");
    asked_end(&w);
}

static void test_it_is_bounded_in_number_and_in_bytes(void **state)
{
    struct asked w;
    char key[32];
    (void)state;
    asked_begin(&w);
    for (int i = 0; i < REPEATS_MAX + 10; i++) {
        snprintf(key, sizeof key, "n%d", i);
        assert_int_equal(ask(&w, 1, key, "a"), REPEAT_FIRST);
        did(&w, "x");
    }
    assert_int_equal(ask(&w, 1, "n9", "a"), REPEAT_FIRST); /* among the oldest */
    did(&w, "x");
    assert_int_equal(ask(&w, 1, key, "a"), REPEAT_SAME);
    autofree char *large = own_calloc(REPEATS_BYTES_MAX / 2 + 1, 1);
    memset(large, 'x', REPEATS_BYTES_MAX / 2);
    for (int i = 0; i < 3; i++) {
        snprintf(key, sizeof key, "large%d", i);
        assert_int_equal(ask(&w, 1, key, "a"), REPEAT_FIRST);
        did(&w, large);
    }
    assert_int_equal(ask(&w, 1, "large2", "a"), REPEAT_SAME);
    assert_int_equal(ask(&w, 1, "large0", "a"), REPEAT_FIRST);
    repeat_end(w.all, w.mine, NULL);
    asked_end(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_key_is_done_once_and_answered_again),
        cmocka_unit_test(test_what_was_refused_may_be_tried_again),
        cmocka_unit_test(test_it_is_forgotten_with_time),
        cmocka_unit_test(test_it_is_bounded_in_number_and_in_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
