/* The client's side of Signature Version 4, for tests and measurements: one POST to "/" with three signed headers. */
#ifndef HOLDFAST_TESTS_SUPPORT_SIGN_H
#define HOLDFAST_TESTS_SUPPORT_SIGN_H

#include "base/text.h"

#include <stddef.h>
#include <stdint.h>

struct sign {
    const char *key, *secret, *region, *host;
};

/* Appends the header lines of a signed request, from Host to Content-Length, each with its end. target is "SageMaker.ListClusters". */
void sign_headers(const struct sign *sign, const char *target, const char *body, size_t body_len, int64_t now_ms,
                  struct text *ret_headers);

#endif
