/*
 * The canonical request of Signature Version 4: one text that client and server both make of a request.
 * Private to sigv4.c.
 */
#ifndef HOLDFAST_API_AWS_SIGV4_CANONICAL_H
#define HOLDFAST_API_AWS_SIGV4_CANONICAL_H

#include "api/aws/sigv4.h"
#include "base/text.h"

/* Appends it to *ret_text. body_hash is hex. INVALID when a signed header is missing or came twice (its name is in
 * ret_name), or the query has too many parts or a bad escape (ret_name is empty). */
int sigv4_canonical(const struct sigv4_request *request, const char *signed_headers, const char *body_hash,
                    struct text *ret_text, char ret_name[SIGV4_NAME_MAX]);

#endif
