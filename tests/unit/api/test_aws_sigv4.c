/*
 * Signature Version 4: what the SDKs signed is taken (tests/data/aws/sigv4.json, made by their own signer), and nothing
 * of it may be changed; what is refused is refused by the right name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/aws/sigv4.h"
#include "base/clock.h"
#include "base/status.h"
#include "base/text.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define VECTORS "tests/data/aws/sigv4.json"
#define DATE "20261120T150405Z"
#define SCOPE "HFAKEXAMPLE0123456789/20261120/hp-local-1/sagemaker/aws4_request"
#define SIGNED "host;x-amz-date;x-amz-target"
#define HEX "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
#define AUTHORIZATION "AWS4-HMAC-SHA256 Credential=" SCOPE ", SignedHeaders=" SIGNED ", Signature=" HEX

static json_t *vectors;

/* Headers are a list of [name, value], as they came. */
static size_t header(void *arg, const char *name, const char **ret_value)
{
    size_t i, count = 0;
    json_t *pair;

    json_array_foreach((json_t *)arg, i, pair)
    {
        if (strcasecmp(json_string_value(json_array_get(pair, 0)), name) != 0)
            continue;
        if (count++ == 0)
            *ret_value = json_string_value(json_array_get(pair, 1));
    }
    return count;
}

static const char *member(const json_t *vector, const char *name)
{
    return json_string_value(json_object_get(vector, name));
}

static struct sigv4_request request_of(const json_t *vector)
{
    return (struct sigv4_request){
        .method = member(vector, "method"),
        .path = member(vector, "path"),
        .query = member(vector, "query"),
        .header = header,
        .arg = json_object_get(vector, "headers"),
        .body = member(vector, "body"),
        .body_len = json_string_length(json_object_get(vector, "body")),
        .now_ms = json_integer_value(json_object_get(vector, "now")),
    };
}

/* Both steps; ret_refusal->why is empty when they passed. */
static int authenticate(const struct sigv4_request *request, const char *secret, struct sigv4_cache *cache,
                        struct sigv4_refusal *ret_refusal)
{
    struct sigv4 sigv4;

    memset(ret_refusal, 0, sizeof(*ret_refusal));
    int r = sigv4_parse(request, &sigv4, ret_refusal);
    if (r == 0)
        r = sigv4_verify(request, &sigv4, secret, cache, ret_refusal);
    assert_int_equal(r == 0, ret_refusal->why[0] == '\0');
    return r;
}

static int setup(void **state)
{
    json_error_t error;

    (void)state;
    vectors = json_load_file(VECTORS, 0, &error);
    return vectors != NULL && json_array_size(vectors) >= 18 ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    json_decref(vectors);
    return 0;
}

static void test_vectors_verify(void **state)
{
    struct sigv4_cache *cache = sigv4_cache_new();
    struct sigv4_refusal refusal;
    size_t i;
    json_t *vector;

    (void)state;
    for (int round = 0; round < 3; round++) /* without a cache, with an empty one, with a full one */
        json_array_foreach(vectors, i, vector)
        {
            struct sigv4_request request = request_of(vector);
            if (authenticate(&request, member(vector, "secret"), round > 0 ? cache : NULL, &refusal) != 0)
                fail_msg("%s, round %d: %s", member(vector, "name"), round, refusal.why);
        }
    sigv4_cache_free(cache);
    sigv4_cache_free(NULL);
}

#define THREADS 4
#define ROUNDS 20

/* Counts what did not verify; jansson's documents are only read. */
static void *verify_all(void *arg)
{
    struct sigv4_refusal refusal;
    uintptr_t failed = 0;

    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < json_array_size(vectors); i++) {
            const json_t *vector = json_array_get(vectors, i);
            struct sigv4_request request = request_of(vector);
            failed += authenticate(&request, member(vector, "secret"), arg, &refusal) != 0;
        }
    return (void *)failed;
}

static void test_threads_share_a_cache(void **state)
{
    struct sigv4_cache *cache = sigv4_cache_new();
    pthread_t threads[THREADS];

    (void)state;
    for (size_t i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, verify_all, cache), 0);
    for (size_t i = 0; i < THREADS; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    sigv4_cache_free(cache);
}

static const char *why_of(const struct sigv4_request *request, const json_t *vector)
{
    static struct sigv4_refusal refusal;

    return authenticate(request, member(vector, "secret"), NULL, &refusal) == 0 ? NULL : refusal.why;
}

static void test_a_proxy_may_cut_the_path(void **state)
{
    size_t i;
    json_t *vector;
    bool seen = false;

    (void)state;
    json_array_foreach(vectors, i, vector)
    {
        struct sigv4_request request = request_of(vector);
        if (strcmp(request.path, "/hyperpod/api/") != 0)
            continue;
        seen = true;
        request.path = "/api/";
        assert_non_null(why_of(&request, vector));
        request.path_prefix = "/hyperpod";
        assert_null(why_of(&request, vector));
        request.path_prefix = "/hyperpod/";
        assert_null(why_of(&request, vector));
    }
    assert_true(seen);
}

static void check_refused(const struct sigv4_request *request, const json_t *vector, const char *change)
{
    if (why_of(request, vector) == NULL)
        fail_msg("%s: passed with another %s", member(vector, "name"), change);
}

static void test_nothing_may_change(void **state)
{
    size_t i;
    json_t *vector;

    (void)state;
    json_array_foreach(vectors, i, vector)
    {
        struct sigv4_request request = request_of(vector), changed = request;
        struct sigv4_refusal refusal;
        changed.method = "PUT";
        check_refused(&changed, vector, "method");
        changed = request;
        changed.path = "/elsewhere";
        check_refused(&changed, vector, "path");
        changed = request;
        changed.query = "extra=1";
        check_refused(&changed, vector, "query");
        changed = request;
        autofree char *body = own_printf("%s ", (const char *)request.body);
        changed.body = body;
        changed.body_len = request.body_len + 1;
        check_refused(&changed, vector, "body");
        assert_int_equal(authenticate(&request, "another secret", NULL, &refusal), STATUS_UNAUTHENTICATED);
        assert_int_equal(refusal.error, AWS_ERROR_INVALID_SIGNATURE);
        assert_null(strstr(refusal.why, member(vector, "secret")));
    }
}

static bool is_signed(const json_t *headers, const char *name)
{
    const char *authorization = "";
    autofree char *small = own_strdup(name);

    for (char *c = small; *c != '\0'; c++)
        *c = *c >= 'A' && *c <= 'Z' ? (char)(*c | 0x20) : *c;
    header((json_t *)(uintptr_t)headers, "authorization", &authorization);
    const char *list = strstr(authorization, "SignedHeaders=");
    size_t len = strcspn(list, ",");
    for (const char *at = strstr(list, small); at != NULL && at < list + len; at = strstr(at + 1, small)) {
        char before = at[-1], after = at[strlen(small)];
        if ((before == '=' || before == ';') && (after == ';' || after == ','))
            return true;
    }
    return false;
}

/* Each signed header in turn: changed, gone, and sent twice. One that is not signed may be anything. */
static void test_signed_headers_may_not_change(void **state)
{
    size_t i, h;
    json_t *vector, *pair;
    size_t signed_seen = 0, others_seen = 0;

    (void)state;
    json_array_foreach(vectors, i, vector)
    {
        json_array_foreach(json_object_get(vector, "headers"), h, pair)
        {
            const char *name = json_string_value(json_array_get(pair, 0));
            struct sigv4_request request = request_of(vector);
            bool must_hold = strcasecmp(name, "authorization") == 0 || is_signed(request.arg, name);
            auto_json json_t *changed = json_deep_copy(request.arg), *gone = json_deep_copy(request.arg),
                             *twice = json_deep_copy(request.arg);
            autofree char *value = own_printf("%sx", json_string_value(json_array_get(pair, 1)));
            json_array_set_new(json_array_get(changed, h), 1, json_string(value));
            json_array_remove(gone, h);
            json_array_append(twice, pair);
            json_t *const all[] = {changed, gone, twice};
            for (size_t k = 0; k < ARRAY_LEN(all); k++) {
                request.arg = all[k];
                if ((why_of(&request, vector) != NULL) != must_hold)
                    fail_msg("%s: %s, %zu", member(vector, "name"), name, k);
            }
            signed_seen += must_hold;
            others_seen += !must_hold;
        }
    }
    assert_true(signed_seen > 100 && others_seen > 10);
}

static void test_the_clock_may_be_five_minutes_off(void **state)
{
    static const struct {
        int64_t off_ms;
        const char *why;
    } table[] = {
        {0, NULL},
        {SIGV4_SKEW_MS_MAX, NULL},
        {-SIGV4_SKEW_MS_MAX, NULL},
        {SIGV4_SKEW_MS_MAX + 1, "Signature expired: "},
        {-SIGV4_SKEW_MS_MAX - 1, "Signature not yet current: "},
        {MS_PER_DAY, "Signature expired: "},
        {-400 * MS_PER_DAY, "Signature not yet current: "},
    };
    const json_t *vector = json_array_get(vectors, 0);

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct sigv4_request request = request_of(vector);
        request.now_ms += table[i].off_ms;
        const char *why = why_of(&request, vector);
        assert_int_equal(why == NULL, table[i].why == NULL);
        if (why != NULL)
            assert_true(text_starts_with(why, table[i].why));
    }
}

/* A request that says authorization and date (NULL: does not come), and what the parser makes of it. */
static int parse(const char *authorization, const char *date, struct sigv4 *ret_sigv4,
                 struct sigv4_refusal *ret_refusal)
{
    auto_json json_t *headers = json_array();

    if (authorization != NULL)
        json_array_append_new(headers, json_pack("[s,s]", "Authorization", authorization));
    if (date != NULL)
        json_array_append_new(headers, json_pack("[s,s]", "X-Amz-Date", date));
    const struct sigv4_request request = {
        .method = "POST", .path = "/", .header = header, .arg = headers, .now_ms = INT64_C(1795187045000)};
    return sigv4_parse(&request, ret_sigv4, ret_refusal);
}

static void test_what_is_taken_quarantine(void **state)
{
    struct sigv4 sigv4;
    struct sigv4_refusal refusal;

    (void)state;
    assert_int_equal(parse(AUTHORIZATION, DATE, &sigv4, &refusal), 0);
    assert_string_equal(sigv4.key, "HFAKEXAMPLE0123456789");
    assert_string_equal(sigv4.region, "hp-local-1");
    assert_string_equal(sigv4.date, DATE);
    assert_string_equal(sigv4.signed_headers, SIGNED);
    assert_int_equal(sigv4.signature[1], 0x11);
    assert_int_equal(sigv4.signature[31], 0xff);
    assert_int_equal(sigv4_refuse_key(&sigv4, &refusal), STATUS_UNAUTHENTICATED);
    assert_int_equal(refusal.error, AWS_ERROR_UNRECOGNIZED_CLIENT);
    assert_non_null(strstr(refusal.why, sigv4.key));
    /* Order and blanks are the client's. */
    assert_int_equal(
        parse("AWS4-HMAC-SHA256 Signature=" HEX ",SignedHeaders=" SIGNED ",Credential=" SCOPE, DATE, &sigv4, &refusal),
        0);
}

#define WITH(credential, headers, signature) \
    "AWS4-HMAC-SHA256 Credential=" credential ", SignedHeaders=" headers ", Signature=" signature
#define DAY_SCOPE "/20261120/hp-local-1/sagemaker/aws4_request"

static void test_refusals(void **state)
{
    static const struct {
        const char *authorization, *date;
        enum aws_error error;
    } table[] = {
        {NULL, DATE, AWS_ERROR_MISSING_TOKEN},
        {"", DATE, AWS_ERROR_MISSING_TOKEN},
        {"Bearer hfa_0123", DATE, AWS_ERROR_MISSING_TOKEN},
        {"Basic QVdTNA==", DATE, AWS_ERROR_MISSING_TOKEN},
        {"AWS4-ECDSA-P256-SHA256 Credential=x", DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {"AWS4-HMAC-SHA256", DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {"AWS4-HMAC-SHA256 ", DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {"AWS4-HMAC-SHA256 Credential=" SCOPE ", SignedHeaders=" SIGNED, DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {"AWS4-HMAC-SHA256 Credential=" SCOPE ", Signature=" HEX, DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {"AWS4-HMAC-SHA256 SignedHeaders=" SIGNED ", Signature=" HEX, DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {AUTHORIZATION ", Signature=" HEX, DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {AUTHORIZATION ", Extra=1", DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {WITH("", SIGNED, HEX), DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {WITH(DAY_SCOPE, SIGNED, HEX), DATE, AWS_ERROR_UNRECOGNIZED_CLIENT},
        {WITH("a'b" DAY_SCOPE, SIGNED, HEX), DATE, AWS_ERROR_UNRECOGNIZED_CLIENT},
        {WITH("key", SIGNED, HEX), DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {WITH("key" DAY_SCOPE "/more", SIGNED, HEX), DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {WITH("key/2026112/r/sagemaker/aws4_request", SIGNED, HEX), DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {WITH("key/20261119/r/sagemaker/aws4_request", SIGNED, HEX), DATE, AWS_ERROR_INVALID_SIGNATURE},
        {WITH("key/20261120//sagemaker/aws4_request", SIGNED, HEX), DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {WITH("key/20261120/R/sagemaker/aws4_request", SIGNED, HEX), DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {WITH("key/20261120/r/ec2/aws4_request", SIGNED, HEX), DATE, AWS_ERROR_INVALID_SIGNATURE},
        {WITH("key/20261120/r/sagemaker/aws4", SIGNED, HEX), DATE, AWS_ERROR_INVALID_SIGNATURE},
        {WITH(SCOPE, "", HEX), DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {WITH(SCOPE, "host;x-amz-date", HEX), DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {WITH(SCOPE, "host;x-amz-target", HEX), DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {WITH(SCOPE, "x-amz-date;x-amz-target", HEX), DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {WITH(SCOPE, "x-amz-date;host;x-amz-target", HEX), DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {WITH(SCOPE, "host;host;x-amz-date;x-amz-target", HEX), DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {WITH(SCOPE, "host;x-amz-date;x-amz-target;", HEX), DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {WITH(SCOPE, ";host;x-amz-date;x-amz-target", HEX), DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {WITH(SCOPE, "Host;x-amz-date;x-amz-target", HEX), DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {WITH(SCOPE, "host\n;x-amz-date;x-amz-target", HEX), DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {WITH(SCOPE, SIGNED, ""), DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {WITH(SCOPE, SIGNED, "00"), DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {WITH(SCOPE, SIGNED, HEX "0"), DATE, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {WITH(SCOPE, SIGNED, "00112233445566778899AABBCCDDEEFF00112233445566778899aabbccddeeff"), DATE,
         AWS_ERROR_INCOMPLETE_SIGNATURE},
        {AUTHORIZATION, NULL, AWS_ERROR_INCOMPLETE_SIGNATURE},
        {AUTHORIZATION, "", AWS_ERROR_INCOMPLETE_SIGNATURE},
        {AUTHORIZATION, "2026-11-20T15:04:05Z", AWS_ERROR_INCOMPLETE_SIGNATURE},
        {AUTHORIZATION, "20261120T150405", AWS_ERROR_INCOMPLETE_SIGNATURE},
        {AUTHORIZATION, "20261120T250405Z", AWS_ERROR_INCOMPLETE_SIGNATURE},
        {AUTHORIZATION, "20261120T15 405Z", AWS_ERROR_INCOMPLETE_SIGNATURE},
        {AUTHORIZATION, "20261121T150405Z", AWS_ERROR_INVALID_SIGNATURE},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct sigv4 sigv4;
        struct sigv4_refusal refusal = {.error = AWS_ERROR_COUNT};
        assert_int_equal(parse(table[i].authorization, table[i].date, &sigv4, &refusal), STATUS_UNAUTHENTICATED);
        if (refusal.error != table[i].error)
            fail_msg("row %zu: %s: %s", i, aws_error_name(refusal.error), refusal.why);
    }
}

/* No beginning of a good header is a good header. */
static void test_every_beginning_is_refused(void **state)
{
    (void)state;
    for (size_t len = 0; len < strlen(AUTHORIZATION); len++) {
        autofree char *text = own_printf("%.*s", (int)len, AUTHORIZATION);
        struct sigv4 sigv4;
        struct sigv4_refusal refusal;
        assert_int_equal(parse(text, DATE, &sigv4, &refusal), STATUS_UNAUTHENTICATED);
    }
}

static void test_limits(void **state)
{
    AUTO(text) struct text many = {0}, huge = {0}, key = {0};
    struct sigv4 sigv4;
    struct sigv4_refusal refusal;

    (void)state;
    for (int headers = SIGV4_HEADERS_MAX; headers <= SIGV4_HEADERS_MAX + 1; headers++) {
        text_clear(&many);
        text_add(&many, "AWS4-HMAC-SHA256 Credential=" SCOPE ", Signature=" HEX ", SignedHeaders=");
        for (int i = 0; i < headers - 3; i++)
            text_printf(&many, "a%03d;", i);
        text_add(&many, SIGNED);
        assert_int_equal(parse(many.data, DATE, &sigv4, &refusal),
                         headers == SIGV4_HEADERS_MAX ? 0 : STATUS_UNAUTHENTICATED);
    }
    text_add(&huge, AUTHORIZATION);
    while (huge.len < SIGV4_TEXT_MAX)
        text_add_char(&huge, ' ');
    assert_int_equal(parse(huge.data, DATE, &sigv4, &refusal), STATUS_UNAUTHENTICATED);
    for (size_t len = SIGV4_KEY_MAX - 1; len <= SIGV4_KEY_MAX; len++) {
        text_clear(&key);
        text_add(&key, "AWS4-HMAC-SHA256 Credential=");
        for (size_t i = 0; i < len; i++)
            text_add_char(&key, 'K');
        text_add(&key, DAY_SCOPE ", SignedHeaders=" SIGNED ", Signature=" HEX);
        assert_int_equal(parse(key.data, DATE, &sigv4, &refusal), len < SIGV4_KEY_MAX ? 0 : STATUS_UNAUTHENTICATED);
    }
}

static void test_no_session_tokens_and_no_unsigned_bodies(void **state)
{
    static const struct {
        const char *name, *value;
        enum aws_error error;
    } table[] = {
        {"X-Amz-Security-Token", "FwoGZXIvYXdzE", AWS_ERROR_UNRECOGNIZED_CLIENT},
        {"X-Amz-Content-Sha256", "UNSIGNED-PAYLOAD", AWS_ERROR_INVALID_SIGNATURE},
        {"X-Amz-Content-Sha256", HEX, AWS_ERROR_INVALID_SIGNATURE},
        {"X-Amz-Content-Sha256", "", AWS_ERROR_INVALID_SIGNATURE},
    };
    const json_t *vector =
        json_array_get(vectors, json_array_size(vectors) - 1); /* signs four headers, none of these */

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct sigv4_request request = request_of(vector);
        struct sigv4_refusal refusal;
        auto_json json_t *headers = json_deep_copy(request.arg);
        assert_null(why_of(&request, vector));
        json_array_append_new(headers, json_pack("[s,s]", table[i].name, table[i].value));
        request.arg = headers;
        assert_int_equal(authenticate(&request, member(vector, "secret"), NULL, &refusal), STATUS_UNAUTHENTICATED);
        assert_int_equal(refusal.error, table[i].error);
    }
}

static void test_bad_queries(void **state)
{
    AUTO(text) struct text many = {0};
    const json_t *vector = json_array_get(vectors, 0);

    (void)state;
    for (int i = 0; i < 65; i++)
        text_printf(&many, "q%d=%d&", i, i);
    const char *const queries[] = {"a=%", "a=%2", "a=%zz", "%", many.data, "a"};
    for (size_t i = 0; i < ARRAY_LEN(queries); i++) {
        struct sigv4_request request = request_of(vector);
        request.query = queries[i];
        check_refused(&request, vector, queries[i]);
    }
    struct sigv4_request request = request_of(vector);
    request.query = "&&"; /* nothing is there */
    assert_null(why_of(&request, vector));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors_verify),
        cmocka_unit_test(test_threads_share_a_cache),
        cmocka_unit_test(test_a_proxy_may_cut_the_path),
        cmocka_unit_test(test_nothing_may_change),
        cmocka_unit_test(test_signed_headers_may_not_change),
        cmocka_unit_test(test_the_clock_may_be_five_minutes_off),
        cmocka_unit_test(test_what_is_taken_quarantine),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_every_beginning_is_refused),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_no_session_tokens_and_no_unsigned_bodies),
        cmocka_unit_test(test_bad_queries),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
