/* Written from the public algorithm, and not with what the server has: one mistake must not be made on both sides. */
#include "tests/support/sign.h"

#include "base/clock.h"
#include "base/hmac.h"
#include "base/id.h"

#include <stdio.h>
#include <string.h>

#define SIGNED "host;x-amz-date;x-amz-target"
#define DATE_MAX 17

/* 20261120T150405Z of what clock_format writes. */
static void compact_date(int64_t now_ms, char ret_date[DATE_MAX])
{
    char text[CLOCK_TEXT_MAX];
    size_t len = 0;

    clock_format(now_ms, text);
    for (const char *at = text; *at != '\0' && *at != '.' && *at != 'Z' && len < DATE_MAX - 2; at++)
        if (*at != '-' && *at != ':')
            ret_date[len++] = *at;
    ret_date[len++] = 'Z';
    ret_date[len] = '\0';
}

static void hex(const uint8_t bytes[ID_SHA256_BYTES], char ret_hex[ID_SHA256_HEX_MAX])
{
    for (size_t i = 0; i < ID_SHA256_BYTES; i++)
        snprintf(ret_hex + 2 * i, 3, "%02x", bytes[i]);
}

static void signature(const struct sign *sign, const char *scope, const char *to_sign, char ret_hex[ID_SHA256_HEX_MAX])
{
    uint8_t key[ID_SHA256_BYTES];
    autofree char *seed = own_printf("AWS4%s", sign->secret);
    autofree char *parts = own_printf("%s", scope);
    const void *with = seed;
    size_t with_len = strlen(seed);
    char *rest;

    for (char *part = strtok_r(parts, "/", &rest); part != NULL; part = strtok_r(NULL, "/", &rest)) {
        hmac_sha256(with, with_len, part, strlen(part), key);
        with = key;
        with_len = sizeof(key);
    }
    hmac_sha256(key, sizeof(key), to_sign, strlen(to_sign), key);
    hex(key, ret_hex);
}

void sign_headers(const struct sign *sign, const char *target, const char *body, size_t body_len, int64_t now_ms,
                  struct text *ret_headers)
{
    char date[DATE_MAX], hash[ID_SHA256_HEX_MAX], proof[ID_SHA256_HEX_MAX];

    compact_date(now_ms, date);
    id_sha256_hex(body, body_len, hash);
    autofree char *canonical = own_printf("POST\n/\n\nhost:%s\nx-amz-date:%s\nx-amz-target:%s\n\n" SIGNED "\n%s",
                                          sign->host, date, target, hash);
    id_sha256_hex(canonical, strlen(canonical), hash);
    autofree char *scope = own_printf("%.8s/%s/sagemaker/aws4_request", date, sign->region);
    autofree char *to_sign = own_printf("AWS4-HMAC-SHA256\n%s\n%s\n%s", date, scope, hash);
    signature(sign, scope, to_sign, proof);
    text_printf(ret_headers,
                "Host: %s\r\nX-Amz-Date: %s\r\nX-Amz-Target: %s\r\nAuthorization: AWS4-HMAC-SHA256 Credential=%s/%s, "
                "SignedHeaders=" SIGNED
                ", Signature=%s\r\nContent-Type: application/x-amz-json-1.1\r\nContent-Length: %zu\r\n",
                sign->host, date, target, sign->key, scope, proof, body_len);
}
