/*
 * Requests to AWS: where a service of a region answers, and the headers that sign a request (Signature Version 4, base/sigv4.h). Pure.
 */
#ifndef HOLDFAST_BASE_AWS_H
#define HOLDFAST_BASE_AWS_H

#include <stddef.h>
#include <stdint.h>

#define AWS_REGION_MAX 33
#define AWS_ENDPOINT_MAX 128
#define AWS_ACCESS_KEY_MAX 129
#define AWS_SECRET_MAX 129
#define AWS_SESSION_TOKEN_MAX 4096

struct aws_credentials {
    char access_key[AWS_ACCESS_KEY_MAX], secret[AWS_SECRET_MAX];
    char session_token[AWS_SESSION_TOKEN_MAX]; /* "" for keys that last */
    int64_t expires_at;                        /* by true time; 0: not known */
};

struct aws_request {
    const char *method, *host; /* host as it is sent: with the port where it is not the scheme's own */
    const char *path, *query;  /* query "" for none */
    const char *content_type;  /* "" for none */
    const void *body;
    size_t body_len;
    const char *region, *service;
    int64_t now_ms; /* true time */
};

#define AWS_HEADERS_MAX 4
struct aws_headers {
    char *list[AWS_HEADERS_MAX + 1]; /* "Name: value"; owned, NULL-terminated */
};

/* "https://ec2.us-west-2.amazonaws.com"; the regions of China have a suffix of their own. INVALID when region is none. */
int aws_endpoint(const char *service, const char *region, char ret_url[AWS_ENDPOINT_MAX]);
/* The headers to send beside Host and Content-Type. INVALID when the request cannot be signed. */
int aws_sign(const struct aws_request *request, const struct aws_credentials *credentials,
             struct aws_headers *ret_headers);
void aws_headers_free(struct aws_headers *headers); /* wipes them */

#endif
