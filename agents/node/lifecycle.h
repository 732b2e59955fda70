/*
 * Lifecycle scripts on this instance, by a runner (agents/node/runner.h), which may wait for networks and scripts as long as it
 * takes.
 *
 *     <state-dir>/lifecycle/  state                   agents/node/work.h
 *                             source/                 what was fetched
 *                             resource_config.json    what the scripts may read
 *
 * A script that has succeeded never runs again on the same instance. Success is stored before it is reported.
 */
#ifndef HOLDFAST_AGENTS_NODE_LIFECYCLE_H
#define HOLDFAST_AGENTS_NODE_LIFECYCLE_H

#include "agents/node/attempt.h"
#include "agents/node/runner.h"
#include "agents/node/work.h"

#define LIFECYCLE_ERROR_MAX 320
#define LIFECYCLE_SOURCE_TOTAL_MAX (64 * 1024 * 1024) /* bytes of a source: scripts and small files, no images */
#define LIFECYCLE_SOURCE_FILES_MAX 4096
#define LIFECYCLE_SOURCE_DEPTH_MAX 16
#define LIFECYCLE_SOURCE_DIRECTORIES_MAX 1024      /* of a source that a server shows as indexes: each is a request */
#define LIFECYCLE_LOG_BYTES_MAX (64 * 1024 * 1024) /* a script that writes more is ended before it fills the disk */

/* lifecycle_source.c: fetches the scripts of the job into directory, which is emptied first. INVALID: a retry cannot help. */
int lifecycle_fetch(const struct runner_options *options, const struct lifecycle_job *job, const char *directory,
                    char ret_error[LIFECYCLE_ERROR_MAX]);

/* lifecycle_archive.c: the files of a tar archive, also compressed by gzip, into directory. INVALID: it is not one, or is refused. */
int lifecycle_unpack(const char *data, size_t len, const char *directory, char ret_error[LIFECYCLE_ERROR_MAX]);

/* lifecycle_script.c: runs one attempt, and fills in what is not given by the script. */
struct lifecycle_script {
    const char *directory, *name, *resources; /* where it is; the path it gets as its argument */
    const char *source;
};
int lifecycle_attempt(const struct lifecycle_script *script, struct attempt *attempt, struct attempt_end *ret_end);

#endif
