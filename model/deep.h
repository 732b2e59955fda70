/*
 * Deep health checks: what an instance is asked to test while it takes no work, and what its agent says of each test.
 *
 * The names of the checks are HyperPod's (botocore DeepHealthCheckType). What was not run is never called passed: a test whose
 * hardware or tool is not there is SKIPPED, with the reason.
 */
#ifndef HOLDFAST_MODEL_DEEP_H
#define HOLDFAST_MODEL_DEEP_H

#include "base/enum.h"
#include "base/id.h"
#include "model/deep_limit.h"
#include "model/limits.h"

#include <stdbool.h>
#include <stdint.h>

#define DEEP_CHECK_LIST(X)       \
    X(STRESS, "instance-stress") \
    X(CONNECTIVITY, "instance-connectivity")
enum deep_check {
#define X(SYMBOL, text) DEEP_CHECK_##SYMBOL,
    DEEP_CHECK_LIST(X)
#undef X
        DEEP_CHECK_COUNT
};
ENUM_DECLARE(deep_check);

/* Quick: minutes. Deep: HyperPod's own, DCGM's level 4, up to hours. */
#define DEEP_PROFILE_LIST(X) \
    X(QUICK, "quick")        \
    X(DEEP, "deep")
enum deep_profile {
#define X(SYMBOL, text) DEEP_PROFILE_##SYMBOL,
    DEEP_PROFILE_LIST(X)
#undef X
};
ENUM_DECLARE(deep_profile);

/* Of a whole run, and of a test, of which agents say RUNNING, PASSED, FAILED or SKIPPED. */
#define DEEP_STATE_LIST(X)                                                   \
    X(WAITING, "waiting") /* for its node, or for the agent to begin */      \
    X(RUNNING, "running")                                                    \
    X(PASSED, "passed") /* something was tested, and nothing of it failed */ \
    X(FAILED, "failed")                                                      \
    X(SKIPPED, "skipped")     /* nothing could be tested here */             \
    X(CANCELLED, "cancelled") /* its operation ended before its last result */
enum deep_state {
#define X(SYMBOL, text) DEEP_STATE_##SYMBOL,
    DEEP_STATE_LIST(X)
#undef X
};
ENUM_DECLARE(deep_state);
static inline bool deep_state_is_final(enum deep_state state)
{
    return state >= DEEP_STATE_PASSED;
}

#define DEEP_TESTS_MAX 16           /* of one run: HyperPod's categories are a handful */
#define DEEP_TEST_NAME_MAX_BYTES 24 /* "HARDWARE_CHECK" */
#define DEEP_MEASURES_MAX 80        /* of one test: 32 adapters with bandwidth and latency each */
#define DEEP_MEASURE_MAX_BYTES 40   /* "bogo ops/s (cpu)", "58.590000 Gbit/s" */
#define DEEP_LOG_MAX_BYTES 16385    /* of one test, in HyperPod's lines; the end of it when there is more */
#define DEEP_RUNS_KEPT 20           /* of a node */

/* How a measure came off against its limit. */
#define DEEP_MARK_LIST(X)                                  \
    X(NONE, "none") /* no limit: it is told, not judged */ \
    X(OK, "ok")                                            \
    X(FAILED, "failed")
enum deep_mark {
#define X(SYMBOL, text) DEEP_MARK_##SYMBOL,
    DEEP_MARK_LIST(X)
#undef X
};
ENUM_DECLARE(deep_mark);

/* What a test measured. Texts, as the tool said them. */
struct deep_measure {
    char name[DEEP_MEASURE_MAX_BYTES], value[DEEP_MEASURE_MAX_BYTES];
    char limit[DEEP_MEASURE_MAX_BYTES]; /* ">= 20"; "": none */
    enum deep_mark mark;
};

struct deep_test {
    int64_t ordinal; /* from 1, in the order they are run */
    char name[DEEP_TEST_NAME_MAX_BYTES];
    enum deep_check check;
    enum deep_state state;
    char detail[SENTENCE_MAX_BYTES]; /* why it failed or was skipped */
    int64_t started_at, duration_ms;
    struct deep_measure measures[DEEP_MEASURES_MAX];
    int64_t measure_count;
};

/* The order to one instance. */
struct deep_job {
    char key[KEY_MAX_BYTES]; /* tells one order from the next: of one key nothing is run twice */
    char instance_id[ID_INSTANCE_MAX];
    char instance_type[NAME_MAX_BYTES]; /* "": not known */
    int64_t checks;                     /* bits by enum deep_check */
    enum deep_profile profile;
    struct deep_limit limits[DEEP_LIMITS_MAX]; /* what the site judges by, instead of the agent's own table */
    size_t limit_count;
    int64_t dcgm_level;    /* dcgmi diag -r */
    int64_t stress_s;      /* stress-ng --timeout */
    int64_t time_limit_ms; /* of all of it */
    /* for the server itself, when it is tested together with others */
    char node[NODE_NAME_MAX_BYTES], group[NAME_MAX_BYTES];
    int64_t settle_ms; /* others may come so long, though nobody knows of them yet */
};

/* "p5.48xlarge" of "ml.p5.48xlarge", which is SageMaker's name of it. */
const char *deep_plain_type(const char *instance_type);

/* What a site judges by, for its types of instance. */
struct deep_site {
    struct deep_site_limit {
        char instance_type[NAME_MAX_BYTES]; /* the plain one */
        struct deep_limit limit;
    } * rows;
    size_t count;
};
/* Those of the job's type of instance go into the job. */
void deep_site_fill(const struct deep_site *site, struct deep_job *job);

/* What the agent says: how a test stands, or (no test, final) that there is nothing more to come. */
struct deep_report {
    char key[KEY_MAX_BYTES];
    bool final;
    int64_t total; /* tests of this run */
    struct deep_test test;
    char log[DEEP_LOG_MAX_BYTES];
};

/* A run as it is stored, with the names of where it ran. */
struct deep_run {
    int64_t id, operation_id, cluster_id, node_id;
    char uid[ID_UUID_MAX]; /* the operation's: a run is known by it */
    char cluster[NAME_MAX_BYTES], group[NAME_MAX_BYTES], node[NODE_NAME_MAX_BYTES];
    char instance_type[NAME_MAX_BYTES], instance_id[ID_INSTANCE_MAX]; /* that was tested; "" until then */
    char actor[NAME_MAX_BYTES];
    enum deep_profile profile;
    int64_t checks;   /* bits by enum deep_check */
    bool needs_spare; /* it begins only while another node of its group is idle */
    enum deep_state state;
    char detail[SENTENCE_MAX_BYTES];
    int64_t total, passed, failed, skipped; /* tests */
    int64_t created_at, started_at, finished_at;
};

/* "instance-stress+instance-connectivity" */
#define DEEP_CHECKS_MAX_BYTES CODE_MAX_BYTES
void deep_checks_text(int64_t checks, char ret_text[DEEP_CHECKS_MAX_BYTES]);
/* The bits that are named in such a text. */
int64_t deep_checks_parse(const char *text);

#endif
