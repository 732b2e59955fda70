/*
 * Requests to S3 and to servers that speak as it does: a site's file of keys, and Signature Version 4 of a GET.
 *
 * The file is what AWS's own tools read, with everything in one section:
 *
 *     [default]
 *     aws_access_key_id = AKIA...
 *     aws_secret_access_key = ...
 *     aws_session_token = ...              only with keys that expire
 *     region = us-west-2
 *     endpoint_url = https://minio.site    only where it is not AWS
 *
 * It holds a secret, so a file that others may read is refused, and an unknown key is an error.
 */
#ifndef HOLDFAST_AGENTS_NODE_S3_H
#define HOLDFAST_AGENTS_NODE_S3_H

#include "base/aws.h"
#include "base/text.h"

#include <stdint.h>

#define S3_ERROR_MAX 160

struct s3_config {
    struct aws_credentials credentials;
    char region[AWS_REGION_MAX];
    char endpoint[256]; /* https://s3.REGION.amazonaws.com unless the file says otherwise */
};

/* INVALID with a sentence that has no secret in it. */
int s3_config_read(const char *path, struct s3_config *ret_config, char ret_error[S3_ERROR_MAX]);
/* Appends the header lines of a signed GET. path and query as they are sent; "" for no query. INVALID when it cannot be signed. */
int s3_sign(const struct s3_config *config, const char *host, const char *path, const char *query, int64_t now_ms,
            struct text *ret_headers);

#endif
