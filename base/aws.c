/* Signs requests to AWS. The signed headers are few: host, the date, the type of the body, the token of a session, and the hash of the
 * body, which S3 alone wants as a header. */
#include "base/aws.h"

#include "base/clock.h"
#include "base/hmac.h"
#include "base/own.h"
#include "base/sigv4.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>

#define CONTENT_HASH "x-amz-content-sha256"
#define LETTERS "abcdefghijklmnopqrstuvwxyz0123456789-"

int aws_endpoint(const char *service, const char *region, char ret_url[AWS_ENDPOINT_MAX])
{
    if (region[0] == '\0' || strlen(region) >= AWS_REGION_MAX || strspn(region, LETTERS) != strlen(region))
        return STATUS_INVALID;
    int len = snprintf(ret_url, AWS_ENDPOINT_MAX, "https://%s.%s.amazonaws.com%s", service, region,
                       text_starts_with(region, "cn-") ? ".cn" : "");
    return len < AWS_ENDPOINT_MAX ? 0 : STATUS_INVALID;
}

struct signing {
    const struct aws_request *request;
    const struct aws_credentials *credentials;
    char date[SIGV4_DATE_MAX], body_hash[ID_SHA256_HEX_MAX];
};

/* 20261120T150000Z, of "2026-11-20T15:00:00.000Z". */
static void write_date(int64_t now_ms, char ret_date[SIGV4_DATE_MAX])
{
    char text[CLOCK_TEXT_MAX];
    size_t len = 0;
    clock_format(now_ms, text);
    for (const char *c = text; *c != '\0' && *c != '.' && len < SIGV4_DATE_MAX - 2; c++)
        if (*c != '-' && *c != ':')
            ret_date[len++] = *c;
    ret_date[len++] = 'Z';
    ret_date[len] = '\0';
}

static size_t header(void *arg, const char *name, const char **ret_value)
{
    const struct signing *signing = arg;
    const char *value = text_equal(name, "host")                   ? signing->request->host
                        : text_equal(name, "x-amz-date")           ? signing->date
                        : text_equal(name, CONTENT_HASH)           ? signing->body_hash
                        : text_equal(name, "content-type")         ? signing->request->content_type
                        : text_equal(name, "x-amz-security-token") ? signing->credentials->session_token
                                                                   : NULL;
    *ret_value = value;
    return value != NULL;
}

static void sign_text(const struct signing *signing, const struct text *canonical, char ret_hex[ID_SHA256_HEX_MAX])
{
    AUTO(text) struct text to_sign = {0};
    const struct sigv4_scope scope = {
        .date = signing->date, .region = signing->request->region, .service = signing->request->service};
    uint8_t key[ID_SHA256_BYTES], mac[ID_SHA256_BYTES];
    char *seed = own_printf("AWS4%s", signing->credentials->secret);
    sigv4_derive_key(seed, &scope, key);
    explicit_bzero(seed, strlen(seed));
    free(seed);
    sigv4_to_sign(&scope, canonical, &to_sign);
    hmac_sha256(key, sizeof(key), to_sign.data, to_sign.len, mac);
    explicit_bzero(key, sizeof(key));
    for (size_t i = 0; i < sizeof(mac); i++)
        snprintf(ret_hex + 2 * i, 3, "%02x", mac[i]);
}

int aws_sign(const struct aws_request *request, const struct aws_credentials *credentials,
             struct aws_headers *ret_headers)
{
    AUTO(text) struct text canonical = {0}, names = {0};
    struct signing signing = {.request = request, .credentials = credentials};
    char signature[ID_SHA256_HEX_MAX], name[SIGV4_NAME_MAX];
    bool has_token = credentials->session_token[0] != '\0', is_s3 = text_equal(request->service, "s3");
    const struct sigv4_request signed_request = {.method = request->method,
                                                 .path = request->path,
                                                 .path_as_sent = is_s3,
                                                 .query = request->query,
                                                 .header = header,
                                                 .arg = &signing};
    if (!text_is_clean(credentials->access_key) || !text_is_clean(credentials->session_token))
        return STATUS_INVALID;
    write_date(request->now_ms, signing.date);
    text_printf(&names, "%shost%s;x-amz-date%s", request->content_type[0] != '\0' ? "content-type;" : "",
                is_s3 ? ";" CONTENT_HASH : "", has_token ? ";x-amz-security-token" : "");
    id_sha256_hex(request->body_len > 0 ? request->body : "", request->body_len, signing.body_hash);
    int status = sigv4_canonical(&signed_request, names.data, signing.body_hash, &canonical, name);
    if (status != 0)
        return status;
    sign_text(&signing, &canonical, signature);
    size_t count = 0;
    *ret_headers = (struct aws_headers){.list = {NULL}};
    ret_headers->list[count++] = own_printf("X-Amz-Date: %s", signing.date);
    if (is_s3)
        ret_headers->list[count++] = own_printf(CONTENT_HASH ": %s", signing.body_hash);
    if (has_token)
        ret_headers->list[count++] = own_printf("X-Amz-Security-Token: %s", credentials->session_token);
    ret_headers->list[count++] =
        own_printf("Authorization: %s Credential=%s/%.*s/%s/%s/%s, SignedHeaders=%s, Signature=%s", SIGV4_ALGORITHM,
                   credentials->access_key, SIGV4_DAY_LENGTH, signing.date, request->region, request->service,
                   SIGV4_TERMINATOR, names.data, signature);
    return 0;
}

void aws_headers_free(struct aws_headers *headers)
{
    for (size_t i = 0; headers->list[i] != NULL; i++) {
        explicit_bzero(headers->list[i], strlen(headers->list[i]));
        free(TAKE(headers->list[i]));
    }
}
