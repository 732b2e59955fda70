/* What webhooks are told, how far they come, and how messages are signed; sending them is tests/e2e/webhook.test.mjs. */
#include "server/service/event/webhook.h"
#include "server/webhook/sign.h"
#include "tests/support/service_world.h"

static int add_write(struct db_tx *tx, void *arg)
{
    return db_event_insert(tx, arg);
}

static void add(struct world *world, enum event_kind kind, enum event_level level, const char *cluster)
{
    struct event event = {.level = level, .kind = kind};
    snprintf(event.cluster, sizeof(event.cluster), "%s", cluster);
    snprintf(event.message, sizeof(event.message), "as it was");
    world_write(world, add_write, &event);
}

static void begin(struct world *world, struct webhook *webhook)
{
    world_open_ready(world, DB_INLINE, 2);
    webhook_default(webhook);
    snprintf(webhook->name, sizeof(webhook->name), "oncall");
    world->service.webhooks = webhook;
    world->service.webhook_count = 1;
}

static void test_begins_at_the_end_and_goes_on_where_it_was(void **state)
{
    struct world world;
    struct webhook webhook;
    struct webhook_progress progress;
    struct service_webhook_item item;
    (void)state;
    begin(&world, &webhook);
    add(&world, EVENT_KIND_DECISION, EVENT_LEVEL_WARN, "ml"); /* the past */
    assert_int_equal(service_webhook_open(&world.service, &webhook, &progress), 0);
    assert_int_equal(service_webhook_next(&world.service, &webhook, &progress.position, &item), STATUS_NOT_FOUND);
    for (int i = 0; i < 1200; i++) /* more than one read, and none of it for us */
        add(&world, EVENT_KIND_VERDICT, EVENT_LEVEL_ERROR, "ml");
    add(&world, EVENT_KIND_DECISION, EVENT_LEVEL_WARN, "ml");
    int64_t before = progress.position;
    assert_int_equal(service_webhook_next(&world.service, &webhook, &progress.position, &item), 0);
    assert_int_equal(item.event.kind, EVENT_KIND_DECISION);
    assert_int_equal(progress.position, before + 1200);
    assert_int_equal(item.event.id, before + 1201);
    progress.position = item.event.id;
    progress.delivered = 1;
    assert_int_equal(service_webhook_store(&world.service, &webhook, &progress, &(struct service_webhook_mark){0}), 0);
    struct webhook_progress again;
    assert_int_equal(service_webhook_open(&world.service, &webhook, &again), 0);
    assert_int_equal(again.position, item.event.id);
    assert_int_equal(again.delivered, 1);
    world_close(&world);
}

/* A service with alerts is told that one is over only where it was told that it began. */
static void test_alerts_are_remembered(void **state)
{
    struct world world;
    struct webhook webhook;
    struct webhook_progress progress;
    struct service_webhook_mark opened = {.opened = true, .key = "k"}, resolved = {.resolved = true, .key = "k"};
    (void)state;
    begin(&world, &webhook);
    assert_int_equal(service_webhook_open(&world.service, &webhook, &progress), 0);
    assert_false(service_webhook_is_open(&world.service, &webhook, "k"));
    for (int i = 0; i < 2; i++) { /* said again after a crash */
        assert_int_equal(service_webhook_store(&world.service, &webhook, &progress, &opened), 0);
        assert_true(service_webhook_is_open(&world.service, &webhook, "k"));
        assert_false(service_webhook_is_open(&world.service, &webhook, "other"));
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(service_webhook_store(&world.service, &webhook, &progress, &resolved), 0);
        assert_false(service_webhook_is_open(&world.service, &webhook, "k"));
    }
    world_close(&world);
}

static int count_left(const void *row, void *arg)
{
    const struct service_webhook_left *left = row;
    assert_int_equal(left->event.id, left->failed.event_id);
    assert_string_equal(left->failed.why, "HTTP status 422");
    (*(int *)arg)++;
    return 0;
}

/* What was left is listed, and comes again once a person wants it, until it is taken. */
static void test_what_was_left_is_sent_again(void **state)
{
    struct world world;
    struct webhook webhook;
    struct webhook_progress progress;
    struct problem problem;
    struct service_webhook_item item;
    struct service_webhook_mark mark = {.why = "HTTP status 422"};
    const struct actor operator= {.name = "token:ana", .role = ROLE_OPERATOR}, viewer = {.role = ROLE_VIEWER};
    int64_t count = -1;
    int listed = 0;
    (void)state;
    begin(&world, &webhook);
    assert_int_equal(service_webhook_open(&world.service, &webhook, &progress), 0);
    add(&world, EVENT_KIND_DECISION, EVENT_LEVEL_WARN, "ml");
    assert_int_equal(service_webhook_next(&world.service, &webhook, &progress.position, &item), 0);
    progress.position = mark.left = item.event.id;
    assert_int_equal(service_webhook_store(&world.service, &webhook, &progress, &mark), 0);
    assert_int_equal(service_webhook_failed(&world.service, count_left, &listed, &problem), 0);
    assert_int_equal(listed, 1);
    assert_int_equal(service_webhook_again(&world.service, &webhook, &item), STATUS_NOT_FOUND);
    assert_int_equal(service_webhook_resend(&world.service, &viewer, "", &count, &problem), STATUS_DENIED);
    assert_int_equal(service_webhook_resend(&world.service, &operator, "none", &count, &problem), STATUS_NOT_FOUND);
    assert_int_equal(service_webhook_resend(&world.service, &operator, "oncall", &count, &problem), 0);
    assert_int_equal(count, 1);
    assert_int_equal(service_webhook_again(&world.service, &webhook, &item), 0);
    assert_int_equal(item.event.id, mark.left);
    assert_int_equal(service_webhook_store(&world.service, &webhook, &progress, &mark), 0); /* refused again */
    assert_int_equal(service_webhook_again(&world.service, &webhook, &item), STATUS_NOT_FOUND);
    assert_int_equal(service_webhook_resend(&world.service, &operator, "", &count, &problem), 0);
    mark = (struct service_webhook_mark){.sent_again = mark.left};
    assert_int_equal(service_webhook_store(&world.service, &webhook, &progress, &mark), 0);
    assert_int_equal(service_webhook_resend(&world.service, &operator, "", &count, &problem), 0);
    assert_int_equal(count, 0);
    world_close(&world);
}

static void test_what_it_wants(void **state)
{
    struct webhook webhook;
    (void)state;
    webhook_default(&webhook);
    struct event event = {.kind = EVENT_KIND_DECISION, .level = EVENT_LEVEL_WARN, .cluster = "ml"};
    assert_true(webhook_wants(&webhook, &event));
    webhook.min_level = EVENT_LEVEL_WARN;
    assert_true(webhook_wants(&webhook, &event));
    webhook.min_level = EVENT_LEVEL_ERROR;
    assert_false(webhook_wants(&webhook, &event));
    webhook.min_level = EVENT_LEVEL_INFO;
    snprintf(webhook.clusters[0], sizeof(webhook.clusters[0]), "other");
    webhook.cluster_count = 1;
    assert_false(webhook_wants(&webhook, &event));
    snprintf(webhook.clusters[webhook.cluster_count++], sizeof(webhook.clusters[0]), "ml");
    assert_true(webhook_wants(&webhook, &event));
    event.kind = EVENT_KIND_OPERATION_STEP;
    assert_false(webhook_wants(&webhook, &event));
    event = (struct event){.kind = EVENT_KIND_SCHEDULER_DOWN, .level = EVENT_LEVEL_ERROR}; /* of no cluster */
    assert_true(webhook_wants(&webhook, &event));
    event = (struct event){.kind = EVENT_KIND_WEBHOOK_TEST, .cluster = "third"};
    memset(webhook.kinds, 0, sizeof(webhook.kinds));
    assert_true(webhook_wants(&webhook, &event));
}

static void test_failing_is_told_once_and_so_is_the_end(void **state)
{
    struct world world;
    struct webhook webhook;
    struct webhook_progress progress;
    struct event event;
    (void)state;
    begin(&world, &webhook);
    assert_int_equal(service_webhook_open(&world.service, &webhook, &progress), 0);
    progress.failing_since = WORLD_T0;
    snprintf(progress.error, sizeof(progress.error), "nobody answers");
    for (progress.failures = 1; progress.failures < 6; progress.failures++) {
        assert_int_equal(service_webhook_store(&world.service, &webhook, &progress, &(struct service_webhook_mark){0}),
                         0);
        assert_int_equal(world_events(&world, EVENT_KIND_WEBHOOK_FAILING, &event),
                         progress.failures >= WEBHOOK_TELL_FAILURES);
    }
    assert_non_null(strstr(event.message, "nobody answers. What it is told of waits"));
    progress.failing_since = progress.failures = 0;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(service_webhook_store(&world.service, &webhook, &progress, &(struct service_webhook_mark){0}),
                         0);
        assert_int_equal(world_events(&world, EVENT_KIND_WEBHOOK_BACK, NULL), 1);
    }
    progress.stopped = true; /* by the receiver's word: at once */
    progress.failing_since = WORLD_T0;
    progress.failures = 1;
    assert_int_equal(service_webhook_store(&world.service, &webhook, &progress, &(struct service_webhook_mark){0}), 0);
    assert_int_equal(world_events(&world, EVENT_KIND_WEBHOOK_FAILING, NULL), 2);
    assert_int_equal(service_webhook_open(&world.service, &webhook, &progress), 0);
    assert_false(progress.stopped); /* hpd starts again */
    world_close(&world);
}

static void test_a_test_needs_a_webhook_and_an_operator(void **state)
{
    struct world world;
    struct webhook webhook;
    struct event event;
    (void)state;
    begin(&world, &webhook);
    assert_int_equal(service_webhook_test(&world.service, &world_viewer, &event, &world.problem), STATUS_DENIED);
    assert_int_equal(service_webhook_test(&world.service, &world_operator, &event, &world.problem), 0);
    assert_true(event.id > 0);
    world.service.webhook_count = 0;
    assert_int_equal(service_webhook_test(&world.service, &world_operator, &event, &world.problem), STATUS_CONFLICT);
    world_close(&world);
}

static void test_retries_grow_to_a_limit(void **state)
{
    struct webhook webhook;
    (void)state;
    webhook_default(&webhook);
    assert_int_equal(webhook_retry_ms(&webhook, 0), 0);
    for (int64_t i = 1; i < 20; i++)
        assert_true(webhook_retry_ms(&webhook, i) >= webhook_retry_ms(&webhook, i - 1));
    assert_int_equal(webhook_retry_ms(&webhook, 1000), 10 * MS_PER_MIN);
    webhook.retry_max_ms = 2 * MS_PER_S;
    assert_int_equal(webhook_retry_ms(&webhook, 1), MS_PER_S);
    assert_int_equal(webhook_retry_ms(&webhook, 9), 2 * MS_PER_S);
}

/* The signature is what OpenSSL says it is; the receivers of the e2e tests check by the library of the standard. */
static void test_signs_by_each_secret(void **state)
{
    static const char text[] = "# old\r\n  whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw \r\n\n# new\n"
                               "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    static const char body[] = "{\"test\": 2432232314}";
    struct webhook_secret secrets[WEBHOOK_SECRETS_MAX];
    size_t count;
    const char *why;
    char signature[WEBHOOK_SIGNATURE_MAX];
    (void)state;
    assert_int_equal(webhook_secrets_read(text, secrets, &count, &why), 0);
    assert_int_equal(count, 2);
    webhook_sign(secrets, 1, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body, signature);
    assert_string_equal(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    char first[WEBHOOK_SIGNATURE_MAX + 1];
    snprintf(first, sizeof(first), "%s ", signature);
    webhook_sign(secrets, 2, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, body, signature);
    assert_true(text_starts_with(signature, first));
    assert_true(text_starts_with(signature + strlen(first), "v1,"));
}

static void test_what_is_no_secret(void **state)
{
    static const char *const texts[] = {
        "",
        "\n# none\n",
        "whsec_",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLa", /* too short, and not whole */
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2I=",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\nwhsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\nwhsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n",
        "whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA",
    };
    struct webhook_secret secrets[WEBHOOK_SECRETS_MAX];
    size_t count;
    const char *why;
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (webhook_secrets_read(texts[i], secrets, &count, &why) != STATUS_INVALID)
            fail_msg("taken: %s", texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_begins_at_the_end_and_goes_on_where_it_was),
        cmocka_unit_test(test_alerts_are_remembered),
        cmocka_unit_test(test_what_was_left_is_sent_again),
        cmocka_unit_test(test_what_it_wants),
        cmocka_unit_test(test_failing_is_told_once_and_so_is_the_end),
        cmocka_unit_test(test_a_test_needs_a_webhook_and_an_operator),
        cmocka_unit_test(test_retries_grow_to_a_limit),
        cmocka_unit_test(test_signs_by_each_secret),
        cmocka_unit_test(test_what_is_no_secret),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
