/*
 * AWS Signature Version 4, the server's side: is this request what the owner of an access key signed?
 *
 * A pure function of the request, the secret and the time. It goes in two steps, because between them somebody has to
 * look up the key: sigv4_parse takes the Authorization header apart and checks everything that needs no secret,
 * sigv4_verify computes the signature. A request is authentic only when both gave 0.
 *
 * Refused on purpose: signatures in the query (presigned addresses), session tokens (none are issued here), payloads
 * that are not signed, and a header that occurs twice among those that are signed.
 */
#ifndef HOLDFAST_API_AWS_SIGV4_H
#define HOLDFAST_API_AWS_SIGV4_H

#include "api/aws/error.h"
#include "base/sigv4.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIGV4_SKEW_MS_MAX INT64_C(300000) /* 5 min, as AWS; clients correct their clock by our Date and try again */
#define SIGV4_SERVICE "sagemaker"
#define SIGV4_KEY_MAX 129    /* an access key id, zero included */
#define SIGV4_REGION_MAX 65  /* whatever region the client is configured with */
#define SIGV4_HEADERS_MAX 64 /* signed; the JavaScript SDK signs nine */
#define SIGV4_TEXT_MAX 4096  /* of the Authorization header */
#define SIGV4_WHY_MAX 256

/* An Authorization header taken apart. Plain data. */
struct sigv4 {
    char key[SIGV4_KEY_MAX];
    char region[SIGV4_REGION_MAX];
    char date[SIGV4_DATE_MAX];
    char signed_headers[SIGV4_TEXT_MAX];
    uint8_t signature[ID_SHA256_BYTES];
};

struct sigv4_refusal {
    enum aws_error error;
    char why[SIGV4_WHY_MAX]; /* a sentence for the client; holds nothing that is secret */
};

/* Signing keys by secret, day and region: computing one costs as much as the rest. Any thread. */
struct sigv4_cache;
struct sigv4_cache *sigv4_cache_new(void);
void sigv4_cache_free(struct sigv4_cache *cache); /* accepts NULL; wipes the keys */

/* 0, or UNAUTHENTICATED with *ret_refusal. */
int sigv4_parse(const struct sigv4_request *request, struct sigv4 *ret_sigv4, struct sigv4_refusal *ret_refusal);
/* secret is that of sigv4->key; cache may be NULL. 0, or UNAUTHENTICATED with *ret_refusal. */
int sigv4_verify(const struct sigv4_request *request, const struct sigv4 *sigv4, const char *secret,
                 struct sigv4_cache *cache, struct sigv4_refusal *ret_refusal);
/* For the caller that finds no such key: always UNAUTHENTICATED. */
int sigv4_refuse_key(const struct sigv4 *sigv4, struct sigv4_refusal *ret_refusal);

#endif
