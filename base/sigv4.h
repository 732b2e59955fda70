/*
 * AWS Signature Version 4: what client and server both compute of a request. Pure.
 *
 * The canonical request is one text that both make of a request; it is hashed into the text that is signed, by a key that is derived
 * from the secret, the day, the region and the service. api/aws/sigv4.c verifies with these, base/aws.c signs.
 */
#ifndef HOLDFAST_BASE_SIGV4_H
#define HOLDFAST_BASE_SIGV4_H

#include "base/id.h"
#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SIGV4_ALGORITHM "AWS4-HMAC-SHA256"
#define SIGV4_TERMINATOR "aws4_request"
#define SIGV4_DAY_LENGTH 8 /* 20261120 */
#define SIGV4_DATE_MAX 17  /* 20261120T150000Z */
#define SIGV4_NAME_MAX 129 /* of a signed header, zero included */

struct sigv4_request {
    const char *method;
    const char *path_prefix; /* what a proxy in front has cut off the path; NULL for none */
    const char *path;        /* as the client sent it, before any decoding */
    bool path_as_sent;       /* S3's rule: it is signed as the client sent it */
    const char *query;       /* as sent, without the question mark; NULL or "" for none */
    /* How often the header came (name is in small letters), and its first value. */
    size_t (*header)(void *arg, const char *name, const char **ret_value);
    void *arg;
    const void *body;
    size_t body_len;
    int64_t now_ms;
};

/* Appends it to *ret_text. body_hash is hex. INVALID when a signed header is missing or came twice (its name is in
 * ret_name), or the query has too many parts or a bad escape (ret_name is empty). */
int sigv4_canonical(const struct sigv4_request *request, const char *signed_headers, const char *body_hash,
                    struct text *ret_text, char ret_name[SIGV4_NAME_MAX]);

/* Whom a signature is for: date is SIGV4_DATE_MAX's, of which the day counts. */
struct sigv4_scope {
    const char *date, *region, *service;
};
/* The text that is signed, appended. */
void sigv4_to_sign(const struct sigv4_scope *scope, const struct text *canonical, struct text *ret_text);
/* seed is "AWS4" and the secret. The caller wipes the key. */
void sigv4_derive_key(const char *seed, const struct sigv4_scope *scope, uint8_t ret_key[ID_SHA256_BYTES]);

#endif
