/*
 * A group's lifecycle scripts: what an instance is asked to run once before it takes work, and what its agent says of it.
 */
#ifndef HOLDFAST_MODEL_LIFECYCLE_H
#define HOLDFAST_MODEL_LIFECYCLE_H

#include "base/enum.h"
#include "base/id.h"
#include "model/limits.h"

#include <stdbool.h>
#include <stdint.h>

#define LIFECYCLE_SOURCE_MAX_BYTES 1025 /* botocore S3Uri: up to 1024 characters */
#define LIFECYCLE_FILE_MAX_BYTES \
    513 /* botocore ClusterLifeCycleConfigFileName: 128 characters, of four bytes at most */
#define LIFECYCLE_LOG_MAX_BYTES 8193             /* the end of a script's output that travels to the server */
#define LIFECYCLE_RESOURCES_BYTES_MAX (32 << 20) /* resource_config.json: 100,000 instances with the longest names */
#define LIFECYCLE_SCRIPTS_MAX 2                  /* OnCreate, then OnInitComplete */

#define SCRIPT_STATE_LIST(X)  \
    X(STARTED, "started")     \
    X(SUCCEEDED, "succeeded") \
    X(FAILED, "failed")
enum script_state {
#define X(SYMBOL, text) SCRIPT_STATE_##SYMBOL,
    SCRIPT_STATE_LIST(X)
#undef X
};
ENUM_DECLARE(script_state);

/* The order to one instance. */
struct lifecycle_job {
    char key[KEY_MAX_BYTES]; /* tells one order from the next; of one key a script that succeeded is never run again */
    char instance_id[ID_INSTANCE_MAX];
    char source[LIFECYCLE_SOURCE_MAX_BYTES];
    char scripts[LIFECYCLE_SCRIPTS_MAX][LIFECYCLE_FILE_MAX_BYTES]; /* "": none */
    int64_t time_limit_ms;                                         /* of one attempt */
    int64_t attempts_max;                                          /* of each script */
};

/* What the agent says of a script. */
struct lifecycle_report {
    char key[KEY_MAX_BYTES];
    char script[LIFECYCLE_FILE_MAX_BYTES]; /* "" when it did not come to one */
    enum script_state state;
    bool final; /* the order is done, or given up */
    int64_t attempt;
    int64_t exit_code;               /* of a script that failed; -1: it did not end by itself */
    char detail[SENTENCE_MAX_BYTES]; /* what went wrong, and where the log is */
    int64_t ended_at, sent_at;       /* of a reset that succeeded, by the agent's clock; 0: not said */
};

/* A file below the source and no way out of it: no empty part, no "." or "..", no control character. */
bool lifecycle_is_script_name(const char *name);

#endif
