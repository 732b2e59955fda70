/* The signature against the examples that AWS publishes for it, and the file of keys against what people write into it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/node/s3.h"
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define EXAMPLE_MS INT64_C(1369353600000) /* 2013-05-24T00:00:00Z */

static const struct s3_config example = {
    .credentials = {.access_key = "AKIAIOSFODNN7EXAMPLE", .secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"},
    .region = "us-east-1"};

/* AWS, "Signature Calculations for the Authorization Header": GET Bucket Lifecycle, and GET Bucket (List Objects). */
static void test_the_published_examples(void **state)
{
    static const struct {
        const char *query, *signature;
    } cases[] = {
        {"lifecycle=", "Signature=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543\r\n"},
        {"prefix=J&max-keys=2", "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7\r\n"},
        {"max-keys=2&prefix=J", "Signature=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7\r\n"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(text) struct text headers = {0};
        assert_int_equal(s3_sign(&example, "examplebucket.s3.amazonaws.com", "/", cases[i].query, EXAMPLE_MS, &headers),
                         0);
        assert_non_null(strstr(text_get(&headers), cases[i].signature));
        assert_non_null(strstr(text_get(&headers), "X-Amz-Date: 20130524T000000Z\r\n"));
        assert_null(strstr(text_get(&headers), example.credentials.secret));
    }
}

static void test_a_session_token_is_signed(void **state)
{
    struct s3_config config = example;
    AUTO(text) struct text headers = {0};
    (void)state;
    snprintf(config.credentials.session_token, sizeof(config.credentials.session_token), "a/token==");
    assert_int_equal(s3_sign(&config, "host", "/b/k", "", EXAMPLE_MS, &headers), 0);
    assert_non_null(strstr(text_get(&headers), "X-Amz-Security-Token: a/token==\r\n"));
    assert_non_null(
        strstr(text_get(&headers), "SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token,"));
}

static int read_text(const char *text, mode_t mode, struct s3_config *ret_config, char ret_error[S3_ERROR_MAX])
{
    char path[] = "/tmp/holdfast-s3-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
    int status = s3_config_read(path, ret_config, ret_error);
    unlink(path);
    return status;
}

#define KEYS "aws_access_key_id = AKIA\naws_secret_access_key=s/e=c\n"

static void test_the_file(void **state)
{
    struct s3_config config;
    char error[S3_ERROR_MAX];
    (void)state;
    assert_int_equal(read_text("# keys\n[default]\n" KEYS "  region =  eu-west-1 \r\n\n", 0600, &config, error), 0);
    assert_string_equal(config.credentials.access_key, "AKIA");
    assert_string_equal(config.credentials.secret, "s/e=c");
    assert_string_equal(config.region, "eu-west-1");
    assert_string_equal(config.credentials.session_token, "");
    assert_string_equal(config.endpoint, "https://s3.eu-west-1.amazonaws.com");
    assert_int_equal(
        read_text(KEYS "region = x\nendpoint_url = https://minio:9000\naws_session_token = t", 0400, &config, error),
        0);
    assert_string_equal(config.endpoint, "https://minio:9000");
    assert_string_equal(config.credentials.session_token, "t");
}

static void test_what_is_refused(void **state)
{
    static const struct {
        const char *text;
        mode_t mode;
        const char *says;
    } cases[] = {
        {KEYS "region = x\n", 0644, "others may read or write it: chmod 600"},
        {KEYS "region = x\n", 0620, "others may read or write it: chmod 600"},
        {KEYS, 0600, "and region are needed"},
        {"aws_access_key_id = A\nregion = x\n", 0600, "are needed"},
        {KEYS "regoin = x\n", 0600, "(the nearest is \"region\")"},
        {KEYS "region\n", 0600, "KEY = VALUE"},
        {KEYS "region =\n", 0600, "the value of region is empty"},
        {KEYS "region = a\x01z\n", 0600, "control characters"},
        {"[a]\n" KEYS "region = x\n[b]\n", 0600, "one section"},
    };
    struct s3_config config;
    char error[S3_ERROR_MAX];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(read_text(cases[i].text, cases[i].mode, &config, error), STATUS_INVALID);
        if (strstr(error, cases[i].says) == NULL)
            fail_msg("%s", error);
        assert_null(strstr(error, "s/e=c"));
    }
    assert_int_equal(s3_config_read("/nonexistent", &config, error), STATUS_INVALID);
    assert_non_null(strstr(error, "cannot be read"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_published_examples),
        cmocka_unit_test(test_a_session_token_is_signed),
        cmocka_unit_test(test_the_file),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
