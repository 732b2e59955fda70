/*
 * Task governance: who of a cluster's users gets how much of it. A scheduler configuration (one a cluster: priority classes,
 * fair share, what happens to what lies idle) and compute quotas (one a team) are one struct, as all but a few of their
 * members are the same; and tags, which these and clusters carry.
 *
 * Each is kept in versions: a change makes a new one, and the older ones can be read for as long as they are kept.
 */
#ifndef HOLDFAST_MODEL_GOVERNANCE_H
#define HOLDFAST_MODEL_GOVERNANCE_H

#include "base/enum.h"
#include "base/id.h"
#include "model/limits.h"

#include <stdbool.h>
#include <stdint.h>

#define GOVERNANCE_KIND_LIST(X)             \
    X(SCHEDULER_CONFIG, "scheduler-config") \
    X(COMPUTE_QUOTA, "compute-quota")
enum governance_kind {
#define X(SYMBOL, text) GOVERNANCE_KIND_##SYMBOL,
    GOVERNANCE_KIND_LIST(X)
#undef X
        GOVERNANCE_KIND_COUNT
};
ENUM_DECLARE(governance_kind);

/*
 * Of a version, in HyperPod's words. They tell what is so in the cluster: Created and Updated mean that all of what was asked
 * for holds there, Creating and Updating that it is being brought about. Of anything else that is stored the words are that it
 * has failed, with the reason beside it. What failed is still tried, and what holds is still looked at, so that these can
 * change without anybody's doing here.
 */
#define GOVERNANCE_STATUS_LIST(X)    \
    X(CREATING, "Creating")          \
    X(CREATED, "Created")            \
    X(CREATE_FAILED, "CreateFailed") \
    X(UPDATING, "Updating")          \
    X(UPDATED, "Updated")            \
    X(UPDATE_FAILED, "UpdateFailed")
enum governance_status {
#define X(SYMBOL, text) GOVERNANCE_STATUS_##SYMBOL,
    GOVERNANCE_STATUS_LIST(X)
#undef X
};
ENUM_DECLARE(governance_status);

#define DESCRIPTION_MAX_BYTES 4097        /* 1024 characters (EntityDescription) */
#define TEAM_MAX_BYTES 41                 /* teams and priority classes: 40 characters */
#define GOVERNANCE_CONFIG_MAX_BYTES 12288 /* 30 resources with every amount are about 8 KB */
#define GOVERNANCE_DETAILS_MAX_BYTES 2048 /* a sentence for each of at most four parts */
#define GOVERNANCE_VERSIONS_MAX 100       /* that are kept of each: enough to look back, and bounded */
#define CLUSTER_QUOTAS_MAX 500            /* a quota is a team's, and a list of them is read by people */

/* The reason of a quota that is switched off. */
#define GOVERNANCE_OFF "The quota is switched off: there is nothing to apply."

struct governance {
    int64_t id, cluster_id;
    enum governance_kind kind;
    char uid[ID_CLUSTER_MAX]; /* the 12 characters of an ARN */
    char name[NAME_MAX_BYTES];
    char cluster[NAME_MAX_BYTES], cluster_uid[ID_CLUSTER_MAX];
    int64_t created_at;
    char created_by[NAME_MAX_BYTES];
    int64_t newest; /* version, of those there are */
    /* --- of the version --- */
    int64_t version; /* from 1 */
    enum governance_status status;
    char reason[SENTENCE_MAX_BYTES]; /* why it is not applied, or that it is */
    char details
        [GOVERNANCE_DETAILS_MAX_BYTES]; /* {"FairShare":"why that part does not hold"}: "" for a part that does; what
                                                 * is not in it shares the outcome of the whole */
    int64_t
        applied_at; /* when it was seen to hold, all of it, for the first time since it last did not; 0: it does not */
    char description[DESCRIPTION_MAX_BYTES];
    char config[GOVERNANCE_CONFIG_MAX_BYTES]; /* what is asked for, as governance_spec_write has it */
    char team[TEAM_MAX_BYTES];                /* quotas: whom it is for, "" else */
    int64_t weight;                           /* quotas: FairShareWeight */
    bool active;                              /* quotas: ActivationState */
    int64_t made_at;
    char made_by[NAME_MAX_BYTES];
};

/* True when the version stands for something that holds in the cluster. */
static inline bool governance_status_is_good(enum governance_status status)
{
    return status == GOVERNANCE_STATUS_CREATED || status == GOVERNANCE_STATUS_UPDATED;
}

/* Words for a version in one of three ways it can be. */
enum governance_phase { GOVERNANCE_PENDING, GOVERNANCE_HOLDS, GOVERNANCE_FAILED };
static inline enum governance_status governance_status_of(int64_t version, enum governance_phase phase)
{
    static const enum governance_status statuses[2][3] = {
        {GOVERNANCE_STATUS_CREATING, GOVERNANCE_STATUS_CREATED, GOVERNANCE_STATUS_CREATE_FAILED},
        {GOVERNANCE_STATUS_UPDATING, GOVERNANCE_STATUS_UPDATED, GOVERNANCE_STATUS_UPDATE_FAILED}};
    return statuses[version > 1][phase];
}

static inline bool governance_status_is_pending(enum governance_status status)
{
    return status == GOVERNANCE_STATUS_CREATING || status == GOVERNANCE_STATUS_UPDATING;
}

/* --- what is touched in a scheduler --- */

#define GOVERNANCE_OBJECT_LIST(X)                \
    X(PARTITION, "partition")                    \
    X(QOS, "qos")                                \
    X(ACCOUNT, "account")                        \
    X(RESOURCE_FLAVOR, "resource-flavor")        \
    X(WORKLOAD_CLASS, "workload-priority-class") \
    X(CLUSTER_QUEUE, "cluster-queue")            \
    X(LOCAL_QUEUE, "local-queue")
enum governance_object {
#define X(SYMBOL, text) GOVERNANCE_OBJECT_##SYMBOL,
    GOVERNANCE_OBJECT_LIST(X)
#undef X
};
ENUM_DECLARE(governance_object);

/* A thing there that is made or changed for a configuration or a quota. It is written down before it is touched, and is what
 * says later that it may be changed again or taken away, and to what it goes back. */
struct governance_held {
    enum governance_object object;
    char name[NODE_NAME_MAX_BYTES];
    char mark[ID_CLUSTER_MAX];       /* what is made carries it: that a thing of the name is the one that we made */
    int64_t former, value, previous; /* of a partition: what it had; has, or is to have; and may still have */
};

/* --- tags --- */

enum tag_owner { TAG_OWNER_CLUSTER, TAG_OWNER_GOVERNANCE, TAG_OWNER_COUNT };

#define TAGS_MAX 50              /* of one thing (TagList) */
#define TAG_KEY_MAX_BYTES 513    /* 128 characters (TagKey) */
#define TAG_VALUE_MAX_BYTES 1025 /* 256 characters (TagValue) */
#define TAG_KEY_RESERVED "aws:"  /* in any case: AWS keeps these for itself, so no client may set them */

struct tag {
    char key[TAG_KEY_MAX_BYTES];
    char value[TAG_VALUE_MAX_BYTES];
};

#endif
