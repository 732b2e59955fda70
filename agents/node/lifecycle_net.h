/*
 * What sources of scripts that are reached over a network share: one connection, a deadline over all of it, and the bounds that a directory has.
 */
#ifndef HOLDFAST_AGENTS_NODE_LIFECYCLE_NET_H
#define HOLDFAST_AGENTS_NODE_LIFECYCLE_NET_H

#include "agents/node/lifecycle.h"
#include "base/text.h"
#include "base/wire.h"

#define HTTPS_PREFIX "https://"
#define S3_PREFIX "s3://"
#define LIFECYCLE_FILE_BYTES_MAX (16 * 1024 * 1024) /* of one file that does not come in an archive */

struct s3_config;

struct net {
    struct wire *wire;
    const struct s3_config *s3; /* requests are signed; NULL: they are not */
    const char *directory;      /* where files go */
    char *error;
    int64_t timeout_ms, deadline_ms; /* of one exchange; of all, 0: none */
    int64_t bytes, files, directories;
};

/* base is a URL without a path. Call net_close in any case. */
int net_open(struct net *net, const struct runner_options *options, const char *base, const char *directory,
             char ret_error[LIFECYCLE_ERROR_MAX]);
void net_close(struct net *net);
/* Caller sees to the answer's status; path and query are escaped, the query is in order. The body lives until the next call. */
int net_ask(struct net *net, const char *path, const char *query, size_t bytes_max, int *ret_answer,
            const char **ret_body, size_t *ret_len);
/* The same where nothing but 200 is good. */
int net_get(struct net *net, const char *path, const char *query, size_t bytes_max, const char **ret_body,
            size_t *ret_len);
/* The file at path becomes name below the directory. */
int net_take(struct net *net, const char *path, const char *name);
int net_take_archive(struct net *net, const char *path);
int net_say(const struct net *net, int status, const char *what, const char *why);
bool net_is_archive(const char *path);

int lifecycle_fetch_address(const struct runner_options *options, const struct lifecycle_job *job,
                            const char *directory, char ret_error[LIFECYCLE_ERROR_MAX]);
int lifecycle_fetch_s3(const struct runner_options *options, const struct lifecycle_job *job, const char *directory,
                       char ret_error[LIFECYCLE_ERROR_MAX]);

#endif
