/*
 * The use cases. Both doors call these and nothing else; each opens one transaction; none talks to a backend:
 * what takes time becomes an operation that the reconcile loop carries out.
 *
 * Results are model structs; rendering is the door's. Errors are a status with a problem: a stable code
 * (X-macro below) and a sentence that says what to do.
 */
#ifndef HOLDFAST_SERVER_SERVICE_SERVICE_H
#define HOLDFAST_SERVER_SERVICE_SERVICE_H

#include "base/seal.h"
#include "db/access_key.h"
#include "db/agent_settings.h"
#include "db/approval.h"
#include "db/audit.h"
#include "db/cluster.h"
#include "db/db.h"
#include "db/deep.h"
#include "db/event.h"
#include "db/node.h"
#include "db/operation.h"
#include "db/policy.h"
#include "db/token.h"
#include "db/verdict.h"
#include "model/attempt.h"
#include "model/deep_pair.h"
#include "model/hardware.h"
#include "model/job.h"
#include "model/model.h"
#include "policy/policy.h"
#include "policy/situation.h"
#include "server/config/setting.h"
#include "server/live/fleet.h"
#include "server/service/node/lemon.h"
#include "server/service/scheduler/scheduler.h"

#include <stdatomic.h>

/* Stable codes of problems with their HTTP status; the title is for people. */
#define PROBLEM_LIST(X)                                                                       \
    X(BAD_REQUEST, 400, "bad-request", "The request cannot be understood")                    \
    X(INVALID_VALUE, 400, "invalid-value", "A value breaks a rule")                           \
    X(UNAUTHENTICATED, 401, "unauthenticated", "No valid token was sent")                     \
    X(FORBIDDEN, 403, "forbidden", "The token's role does not allow this")                    \
    X(NOT_FOUND, 404, "not-found", "There is no such thing")                                  \
    X(METHOD_NOT_ALLOWED, 405, "method-not-allowed", "The path exists, the method does not")  \
    X(CONFLICT, 409, "conflict", "The present state forbids this")                            \
    X(NAME_TAKEN, 409, "name-taken", "The name is in use")                                    \
    X(OPERATION_ACTIVE, 409, "operation-active", "Another operation is at work on this node") \
    X(KEY_REUSED, 409, "idempotency-key-reused", "The key was used for another request")      \
    X(LIMIT_EXCEEDED, 409, "limit-exceeded", "There are as many as there may be")             \
    X(STALE_REPORT, 409, "stale-report", "The report is about an earlier instance or boot")   \
    X(REPLAYED, 409, "replayed", "This sequence number was seen before")                      \
    X(PRECONDITION_FAILED, 412, "precondition-failed", "The thing changed since it was read") \
    X(TOO_LARGE, 413, "too-large", "The body is too large")                                   \
    X(UNSUPPORTED_MEDIA, 415, "unsupported-media-type", "The body must be application/json")  \
    X(RATE_LIMITED, 429, "rate-limited", "Too many requests")                                 \
    X(HEADER_TOO_LARGE, 431, "header-too-large", "The header is too large")                   \
    X(INTERNAL, 500, "internal", "The server failed")                                         \
    X(STORE_FULL, 507, "store-full", "The disk of the store is full")                         \
    X(UNAVAILABLE, 503, "unavailable", "The server cannot do this now; try again")
enum problem_code {
#define X(SYMBOL, status, text, title) PROBLEM_##SYMBOL,
    PROBLEM_LIST(X)
#undef X
};
const char *problem_code_text(enum problem_code code);
const char *problem_code_title(enum problem_code code);
int problem_code_http(enum problem_code code);

#define PROBLEM_DETAIL_MAX 384
struct problem {
    enum problem_code code;
    char detail[PROBLEM_DETAIL_MAX]; /* names the member, the value and what to do */
};

/* Who asks: made by the door after authentication. */
struct actor {
    char name[NAME_MAX_BYTES]; /* "token:admin" */
    enum role role;
    int64_t token_id;
    char credential[ID_UUID_MAX]; /* the token's id, or the access key */
};

/* What the use cases remember between calls: authenticated tokens, verdicts announced lately, verdicts under way. */
struct service_memory;
struct service_memory *service_memory_new(void);
void service_memory_free(struct service_memory *memory); /* after the store was closed; accepts NULL */

/* A report that is on disk: those of its verdicts count whose bit in news is set, because they are open and new or grew, or
 * resolved others. */
struct service_stored {
    int64_t node_id, received_mono_us;
    const struct verdict *verdicts;
    uint64_t news;
};

/* What this hpd can drive: a cluster that asks for more could never come up, so it is refused. */
#define SERVICE_PROVIDERS_MAX 8
#define SERVICE_SCHEDULERS_MAX 32
#define SERVICE_SUBNETS_MAX 64
struct service_backends {
    const char *providers[SERVICE_PROVIDERS_MAX]; /* the first is what a group gets that names none */
    size_t provider_count;
    bool slurm;
    const char *release; /* of the image that new instances get; "" when it is not configured */
    struct {
        char id[NAME_MAX_BYTES], zone[ZONE_MAX_BYTES];
    } subnets[SERVICE_SUBNETS_MAX]; /* which zone each is in; none: there are no zones */
    size_t subnet_count;
};

/* What a write changed that the loop knows of, and the row that it is about. */
enum service_wake {
    SERVICE_WAKE_ALL,        /* anything may have changed: all of it is read again; id 0 */
    SERVICE_WAKE_CLUSTER,    /* the cluster, its groups and their rollouts, its changes; new nodes */
    SERVICE_WAKE_GROUP,      /* the group and its rollout */
    SERVICE_WAKE_NODE,       /* the node, and the operation on it */
    SERVICE_WAKE_APPROVAL,   /* an answer about the node with this id */
    SERVICE_WAKE_INCIDENT,   /* it is over */
    SERVICE_WAKE_GOVERNANCE, /* quotas and priorities; id 0 */
    SERVICE_WAKE_POLICY,     /* the policy document or the fault tables, of which each has a version; id 0 */
};

struct fault_overrides; /* policy/faults/faults.h */
struct webhook;         /* model/webhook.h */
struct service {
    struct db *db;
    struct fleet *fleet;
    const struct clock *clock;
    struct id_source *ids;
    char server_url[ADDRESS_MAX_BYTES]; /* what enrolment hands out */
    char fingerprint[64];               /* "" over plain HTTP */
    int64_t heartbeat_interval_ms;
    struct seal_key seal_key;                /* of the secrets that must be read again; never in the store */
    const struct service_backends *backends; /* NULL: nothing is known of them and any is taken; for tools and tests */
    struct policy_registry *book;   /* the policy in force; NULL: nothing is known of it; for tools and tests */
    const struct webhook *webhooks; /* that are configured (service/event/webhook.h) */
    size_t webhook_count;
    _Atomic uint64_t webhook_tests; /* asked for so far: whoever waits before another try waits no longer */
    /* The reconcile loop's ears; may be NULL in tests. Called after the commit, on any thread, never block. */
    void (*wake)(void *arg, enum service_wake what, int64_t id);
    void (*verdicts_stored)(void *arg, const struct service_stored *stored);
    void (*agent_changed)(void *arg, int64_t node_id);            /* enrolled, new boot, back after silence */
    void (*events_added)(void *arg);                              /* for the live stream */
    void *wake_arg;                                               /* of the first three */
    void *events_arg;                                             /* of events_added */
    struct service_scheduler *schedulers[SERVICE_SCHEDULERS_MAX]; /* the reconcile loop's, while there is one */
    size_t scheduler_count;
    /* What the site says otherwise about faults; NULL: nothing. One that another takes the place of stays until the end. */
    const struct fault_overrides *_Atomic fault_overrides;
    /* NULL: nothing is remembered, so every request asks the store; for tools and tests. */
    struct service_memory *memory;
};

/* Wherever a use case takes a cluster's name it also takes this and its id, and for a node's name this and the id of the
 * instance that fills it now. Neither can be a name, which has no colon. */
#define SERVICE_CLUSTER_ID_PREFIX "id:"
#define SERVICE_INSTANCE_PREFIX "instance:"

/* --- clusters ---------------------------------------------------------------------------------- */
struct service_group_spec {
    char name[NAME_MAX_BYTES];
    char instance_type[NAME_MAX_BYTES];
    char provider[NAME_MAX_BYTES]; /* "": the first there is, and of a group that is there already its own */
    int64_t instance_count;
    int64_t min_count; /* MinInstanceCount; 0: none */
    char image_id[IMAGE_ID_MAX_BYTES], release[RELEASE_VERSION_MAX_BYTES];
    char **node_names;             /* instance_count names; NULL: "<group>-<n>" from 1 */
    struct node_source source;     /* what they were taken from */
    const struct group_spec *spec; /* all else that was asked for; NULL: nothing */
};
struct service_tag {
    const char *key, *value;
};
struct service_cluster_spec {
    char name[NAME_MAX_BYTES];
    enum node_recovery recovery;
    enum orchestrator orchestrator;
    char scheduler[NAME_MAX_BYTES]; /* "": the only one there is */
    enum provisioning provisioning;
    struct service_group_spec *groups;
    size_t group_count;
    const struct cluster_spec *spec; /* as of a group */
    const struct service_tag *tags;
    size_t tag_count;
    const char *notice; /* what is kept and has no effect here, for the timeline; NULL: nothing */
    bool dry_run;       /* only whether it would be done: nothing is */
};
/* What an update asks for; what it does not name stays. A group that is named has its full specification here; one that the
 * cluster does not have is added. */
struct service_cluster_change {
    bool has_recovery, has_provisioning;
    enum node_recovery recovery;
    enum provisioning provisioning;
    struct service_group_spec *groups;
    size_t group_count;
    const char *const *groups_to_delete;
    size_t delete_count;
    const struct cluster_spec *spec; /* what it says takes the place of what was said; NULL: nothing */
    const char *notice;              /* as of a new cluster */
    bool merge;          /* what a group's description leaves out stays: counts of -1, what its spec does not say */
    int64_t if_revision; /* 0: any */
    bool dry_run;        /* as of a new cluster */
};
/* A cluster with its groups and counts, as describe shows it. Freed with service_cluster_free. */
struct service_group_view {
    struct instance_group group;
    struct cluster_counts counts;
    struct group_spec spec; /* owned */
    struct rollout rollout; /* group_id 0: there was none */
    int64_t on_image;       /* nodes that run what the rollout leads to */
};
struct service_cluster_view {
    struct cluster cluster;
    struct cluster_counts counts;
    struct cluster_spec spec; /* owned */
    struct service_group_view *groups;
    size_t group_count;
    struct operation *active; /* active operations, newest first, at most SERVICE_CLUSTER_ACTIVE_MAX */
    size_t active_count;
    /* Nodes that are not ready and healthy, or are and people have to know why not all is well; at most
     * SERVICE_CLUSTER_ATTENTION_MAX */
    struct db_node_row *attention;
    size_t attention_count;
    int64_t attention_total;
    struct service_scheduler_status scheduler; /* of a cluster that has one */
};
#define SERVICE_CLUSTER_ACTIVE_MAX 50
#define SERVICE_CLUSTER_ATTENTION_MAX 50
void service_cluster_view_free(struct service_cluster_view *view); /* the contents */

int service_cluster_create(struct service *s, const struct actor *actor, const struct service_cluster_spec *spec,
                           struct cluster *ret_cluster, struct problem *ret_problem);
int service_cluster_describe(struct service *s, const char *name, struct service_cluster_view *ret_view,
                             struct problem *ret_problem);
int service_cluster_list(struct service *s, const char *after_name, int limit,
                         int (*fn)(const struct cluster *cluster, const struct cluster_counts *counts, void *arg),
                         void *arg, struct problem *ret_problem);
/* Rows are struct cluster. */
int service_cluster_search(struct service *s, const struct db_cluster_search *search, db_row_fn fn, void *arg,
                           struct problem *ret_problem);
/* Writes the intent; the reconcile loop carries it out. Groups that grow get their new slots at once, groups that shrink lose
 * nodes as the loop chooses them: those that are not in service first, then idle ones. CONFLICT while another update is under way (all
 * or nothing) or the cluster is not in a state that can be changed. A roll-back of a cluster with provisioning
 * ALL_OR_NOTHING goes back to what stood before. */
int service_cluster_update(struct service *s, const struct actor *actor, const char *name,
                           const struct service_cluster_change *change, struct cluster *ret_cluster,
                           struct problem *ret_problem);

/* What was asked for of a node's group. Caller frees its contents. */
int service_node_spec(struct service *s, const struct node *node, struct group_spec *ret_spec,
                      struct problem *ret_problem);

/* More nodes for some groups (Continuous only); each new slot is named in the answer. All items are looked at: one that cannot
 * be done is refused alone. token: the same request under the same token gives back the same slots for
 * SERVICE_ADDITION_KEEP_MS (HyperPod: 8 hours), another request under it is a CONFLICT; "": none. */
#define SERVICE_ADDITION_KEEP_MS INT64_C(28800000)
#define SERVICE_ADDITION_NODES_MAX 50 /* HyperPod's bound of one call */
#define SERVICE_ADDITION_GROUPS_MAX 5
struct service_addition {
    char group[NAME_MAX_BYTES];
    int64_t count;
    const char *const *zones; /* only in these; zone_count 0: any */
    size_t zone_count;
    const char *const *instance_types; /* only of these; type_count 0: any */
    size_t type_count;
};
#define ADDITION_ERROR_LIST(X)                      \
    X(NONE, "none")                                 \
    X(GROUP_NOT_FOUND, "instance-group-not-found")  \
    X(GROUP_STATE, "invalid-instance-group-status") \
    X(ZONES, "incompatible-availability-zones")     \
    X(INSTANCE_TYPES, "incompatible-instance-types")
enum addition_error {
#define X(SYMBOL, text) ADDITION_ERROR_##SYMBOL,
    ADDITION_ERROR_LIST(X)
#undef X
};
ENUM_DECLARE(addition_error);
struct service_added_node {
    char node[NODE_NAME_MAX_BYTES];
    char group[NAME_MAX_BYTES];
    char zone[ZONE_MAX_BYTES], instance_type[NAME_MAX_BYTES];
    struct node row; /* as it is now; of a repeat, id 0 when it is gone again */
    struct instance instance;
};
struct service_addition_result {
    char operation[ID_UUID_MAX]; /* under which they come into service; "" when none was added */
    struct service_added_node *nodes;
    size_t node_count;
    struct {
        enum addition_error error;
        char why[SENTENCE_MAX_BYTES];
    } refused[SERVICE_ADDITION_GROUPS_MAX]; /* by item */
};
void service_addition_result_free(struct service_addition_result *result); /* the contents */
int service_nodes_add(struct service *s, const struct actor *actor, const char *cluster, const char *token,
                      const struct service_addition *items, size_t item_count,
                      struct service_addition_result *ret_result, struct problem *ret_problem);
/* Takes one node away for good; its group wants one less. Safe to repeat. */
int service_node_remove(struct service *s, const struct actor *actor, const char *cluster, const char *node,
                        enum urgency urgency, const char *reason, struct operation *ret_operation,
                        struct problem *ret_problem);

/* The same for many, in one transaction; what cannot be removed is refused alone. */
struct service_removal {
    const char *node;
    int status;             /* what became of it */
    struct problem problem; /* why not */
};
int service_nodes_remove(struct service *s, const struct actor *actor, const char *cluster,
                         struct service_removal *items, size_t item_count, enum urgency urgency, const char *reason,
                         struct problem *ret_problem);

/* A rolling update of some groups, or of all (group_count 0), to another image: rollout carries what it leads to and how;
 * what concerns the group's own past is filled in. CONFLICT while one is under way. */
struct service_software_group {
    char group[NAME_MAX_BYTES];
    char release[RELEASE_VERSION_MAX_BYTES]; /* "": the rollout's own */
};
int service_cluster_update_software(struct service *s, const struct actor *actor, const char *cluster,
                                    const struct rollout *how, const struct service_software_group *groups,
                                    size_t group_count, struct cluster *ret_cluster, struct problem *ret_problem);

/* --- deep health checks (check.c, check_report.c) ------------------------------------------------- */
/* Which nodes: of a group (all that are ready when none is named), or, without a group, those that are named. */
struct service_check_request {
    char group[NAME_MAX_BYTES]; /* "": any */
    const char *const *nodes;   /* names, or ids of instances */
    size_t node_count;
    bool by_instance;
    int64_t checks; /* bits by enum deep_check */
};
struct service_check_how {
    enum deep_profile profile;
    enum urgency urgency; /* after-jobs: a node that stays busy is left out; now: its jobs are requeued */
    bool
        needs_spare; /* a node begins only while another one of its group is idle, and not at all where there is none */
};
/* What became of each node that was asked for. */
struct service_check_result {
    struct service_check_node {
        char node[NODE_NAME_MAX_BYTES];
        char uid[ID_UUID_MAX];      /* of the run, and of its operation; "": none */
        char why[REASON_MAX_BYTES]; /* none was begun */
    } * nodes;
    size_t count, capacity;
    struct cluster cluster;
};
/* Starts a CHECK operation on each node. Nodes that are at something else are left out, and said. The result is freed with
 * service_check_result_free in any case. */
int service_cluster_check(struct service *s, const struct actor *actor, const char *cluster,
                          const struct service_check_request *requests, size_t request_count,
                          const struct service_check_how *how, struct service_check_result *ret_result,
                          struct problem *ret_problem);
void service_check_result_free(struct service_check_result *result);
/* Rows are struct deep_run, newest first; cluster and node NULL: all. */
int service_check_list(struct service *s, const char *cluster, const char *node, int64_t before_id, int limit,
                       db_row_fn fn, void *arg, struct problem *ret_problem);
/* One run by its id; fn gets its tests (struct db_deep_test_row), after *ret_run was filled. */
int service_check_describe(struct service *s, const char *uid, struct deep_run *ret_run, db_row_fn fn, void *arg,
                           struct problem *ret_problem);
/* What the node's instance is asked to test. NOT_FOUND when nothing is. */
int service_agent_check(struct service *s, int64_t node_id, struct deep_job *ret_job, struct problem *ret_problem);
/* Durable when it returns; a repeat adds nothing. STALE when this is no longer asked for. */
int service_agent_report_check(struct service *s, int64_t node_id, const struct deep_report *report,
                               struct problem *ret_problem);
/* With whom the node's instance is tested for connectivity, or what came of it; peer: where the question came from. STALE as above. */
int service_agent_pair(struct service *s, int64_t node_id, const char *peer, const struct deep_pair_ask *ask,
                       struct deep_pair_reply *ret_reply, struct problem *ret_problem);

/* The loop deletes every node, and the cluster when the last one has gone. Repeating it changes nothing. */
int service_cluster_delete(struct service *s, const struct actor *actor, const char *name, struct cluster *ret_cluster,
                           struct problem *ret_problem);

/* --- approvals --------------------------------------------------------------------------------- */
/* A person's yes or no to a repair that waits for it. CONFLICT when it was answered otherwise, or is too late. */
int service_approval_answer(struct service *s, const struct actor *actor, const char *uid, bool yes, const char *reason,
                            struct approval *ret_approval, struct problem *ret_problem);
#define APPROVAL_SIGNATURE_MAX 33
#define APPROVAL_URL_MAX 384
/* A link by which whoever has it may say yes to this question; "" once it was answered. */
void service_approval_url(const struct service *s, const struct approval *approval, char ret_url[APPROVAL_URL_MAX]);
/* The question behind a link, whatever became of it, one that has run out as expired; NOT_FOUND for whatever is not of our making. */
int service_approval_by_link(struct service *s, const char *uid, const char *signature, struct approval *ret_approval,
                             struct problem *ret_problem);
/* The yes. CONFLICT when it was answered or has run out. */
int service_approval_answer_by_link(struct service *s, const struct actor *actor, const char *uid,
                                    const char *signature, struct approval *ret_approval, struct problem *ret_problem);
/* What an approved repair still waits for; "": nothing, or it has not been decided anew yet. */
void service_approval_waits(struct service *s, const struct approval *approval, char ret_why[SENTENCE_MAX_BYTES]);
/* Rows are struct approval, newest first, from before an id (0: the newest) on; state -1: any. */
int service_approval_list(struct service *s, int state, int64_t before, int limit, db_row_fn fn, void *arg,
                          struct problem *ret_problem);

/* --- policies ---------------------------------------------------------------------------------- */
/* Of the fault tables and of what the site puts before them. Lives as long as the service. */
const char *service_fault_version(struct service *s);
/* What hpd decides by; of a cluster what counts for its groups where nothing is said of one, and *ret_cluster (cluster NULL:
 * ret_cluster may be, too); of a group what counts there. *ret_version: of the document. */
int service_policy_list(struct service *s, const char *cluster, const char *group, struct service_policy *ret_policy,
                        int64_t *ret_version, struct cluster *ret_cluster, struct problem *ret_problem);
/* Version 0: the newest; where there is none at all, it is version 0 without a text. */
int service_policy_get(struct service *s, int64_t version, struct policy_version *ret_version,
                       struct problem *ret_problem);
/* Rows are struct policy_version without text, newest first, from before a version (0: the newest) on. */
int service_policy_versions(struct service *s, int64_t before, int limit, db_row_fn fn, void *arg,
                            struct problem *ret_problem);
/* INVALID_VALUE with the line and what to do. */
int service_policy_validate(const char *text, struct problem *ret_problem);
/* What of such a document is hardly meant, a sentence each, by the groups that there are now. */
void service_policy_warn(struct service *s, const char *text, void (*fn)(const char *sentence, void *arg), void *arg);
/* What is wanted of a new version. */
struct service_policy_change {
    const char *text;    /* NULL: that of the version restores */
    const char *comment; /* "": none */
    int64_t restores;
    int64_t expected; /* the newest version must be this; -1: whichever */
};
/* Stored, and in force at once. The text that is in force already makes no new version. */
int service_policy_apply(struct service *s, const struct actor *actor, const struct service_policy_change *change,
                         struct policy_version *ret_version, struct problem *ret_problem);

/* --- what agents do otherwise (agent_settings.c): revision 0: nothing is said of the group. Large, as are reports. -------- */
int service_agent_settings_get(struct service *s, const char *cluster, const char *group,
                               struct group_agent_settings *ret_settings, struct problem *ret_problem);
/* Of the node's group, and what its agent tells that counts there; at 0: it has told of nothing. */
int service_agent_settings_of_node(struct service *s, const char *cluster, const char *node,
                                   struct group_agent_settings *ret_settings, struct agent_settings_report *ret_told,
                                   struct problem *ret_problem);
int service_agent_settings_validate(const char *text, struct problem *ret_problem);
struct service_agent_settings_change {
    const char *cluster, *group, *text, *comment;
    int64_t expected; /* the revision that it follows; -1: any */
};
int service_agent_settings_apply(struct service *s, const struct actor *actor,
                                 const struct service_agent_settings_change *wanted,
                                 struct group_agent_settings *ret_settings, struct problem *ret_problem);
int service_agent_settings_fetch(struct service *s, int64_t node_id, struct group_agent_settings *ret_settings,
                                 struct problem *ret_problem);
int service_agent_settings_report(struct service *s, int64_t node_id, const struct agent_settings_report *report,
                                  struct problem *ret_problem);
/* Before the first agent is answered. */
int service_agent_settings_load(struct service *s, struct problem *ret_problem);

/* The recorded decisions of a cluster under another document, some nodes at a time. */
struct service_policy_trial {
    const char *cluster, *text;
    int64_t since;
    const char *after; /* name of the last node that was looked at; "": none */
};
struct service_policy_difference {
    char node[NODE_NAME_MAX_BYTES], group[NAME_MAX_BYTES];
    struct decision recorded, other;
};
struct service_policy_counts {
    int64_t nodes, decisions, same, different;
    int64_t unknown;                /* what is stored does not lead to the decision again */
    int64_t left;                   /* older ones of nodes with very many */
    char next[NODE_NAME_MAX_BYTES]; /* after which the next part begins; "": that was all */
};
/* Rows are struct service_policy_difference, by node, newest first. */
int service_policy_diff(struct service *s, const struct service_policy_trial *trial, db_row_fn fn, void *arg,
                        struct service_policy_counts *ret_counts, struct problem *ret_problem);
/* At the start: the newest version that can be read is put in force; *ret_version is that (0: none). What the newer ones
 * have is said in ret_problem, as INVALID; the start goes on. */
int service_policy_load(struct service *s, int64_t *ret_version, struct problem *ret_problem);

/* --- nodes ------------------------------------------------------------------------------------- */
struct service_node_view {
    struct db_node_row row;
    struct fleet_view live;        /* zero when the fleet does not know it */
    struct operation active;       /* id 0: none */
    struct decision last_decision; /* id 0: none */
    int64_t open_verdicts;
};
int service_node_describe(struct service *s, const char *cluster, const char *node, struct service_node_view *ret_view,
                          struct problem *ret_problem);
int service_node_list(struct service *s, const char *cluster, const char *group, int state, int health,
                      const char *after_name, int limit, db_row_fn fn, void *arg, struct problem *ret_problem);
/* search->cluster_id is filled in; *ret_cluster (may be NULL) says which that was, before the first row. */
int service_node_search(struct service *s, const char *cluster, struct db_node_search *search,
                        struct cluster *ret_cluster, db_row_fn fn, void *arg, struct problem *ret_problem);
/* kind is REBOOT, REPLACE or RELEASE. idempotency_key may be "" (then one is made). A repeat with the same key answers
 * the same operation. */
int service_node_operate(struct service *s, const struct actor *actor, const char *cluster, const char *node,
                         enum operation_kind kind, enum urgency urgency, const char *reason,
                         const char *idempotency_key, struct operation *ret_operation, struct problem *ret_problem);
/* Of what a person can change of a node, which is whether it is opted out; its state and health change all the time. */
int64_t service_node_revision(const struct node *node);
/* What a person says of a node, in one transaction. if_revision: PRECONDITION_FAILED when the node is at another; 0: whatever it is. */
struct service_node_change {
    bool says_out, opted_out;
    const char *domain
        [TOPOLOGY_LEVEL_ZONE]; /* which it shares with others; NULL: as it is, "": none. What Slurm knows of, it says anew itself. */
};
int service_node_update(struct service *s, const struct actor *actor, const char *cluster, const char *node,
                        const struct service_node_change *change, int64_t if_revision, struct node *ret_node,
                        struct problem *ret_problem);
/* Why the node is as it is, and why nothing has happened; the last decision with its evidence. Freed with
 * service_explanation_free. decision.id 0: none yet. */
struct service_explanation {
    struct node node;
    struct policy_situation situation;
    struct decision decision;
    struct verdict *evidence;
    size_t evidence_count;
    struct operation operation; /* what it started; id 0: nothing */
    char *text;
};
int service_node_explain(struct service *s, const char *cluster, const char *node,
                         struct service_explanation *ret_explanation, struct problem *ret_problem);
void service_explanation_free(struct service_explanation *explanation);
int service_verdict_list(struct service *s, const char *cluster, const char *node, int state, int64_t before_id,
                         int limit, db_row_fn fn, void *arg, struct problem *ret_problem);
/* A genuine kernel line for a test: goes to the node's agent with its next heartbeat reply, which writes it to its kernel
 * log if it was started with --allow-inject. */
int service_node_inject_xid(struct service *s, const struct actor *actor, const char *cluster, const char *node,
                            int code, const char *pci, char ret_line[RAW_LINE_MAX_BYTES], struct problem *ret_problem);

/* The names behind row numbers, for whoever shows an operation, a decision or a token; "" for 0 and for what is gone. */
struct service_names {
    char cluster[NAME_MAX_BYTES];
    char node[NODE_NAME_MAX_BYTES];
    char operation[ID_UUID_MAX];
};
int service_names(struct service *s, int64_t cluster_id, int64_t node_id, int64_t operation_id,
                  struct service_names *ret_names);

/* --- groups and incidents of many nodes -------------------------------------------------------- */
/* A person ends protected mode and an open breaker; without them nothing is done. */
int service_group_resume(struct service *s, const struct actor *actor, const char *cluster, const char *group,
                         const char *reason, struct instance_group *ret_group, struct problem *ret_problem);
/* Rows are struct shared_incident, newest first; cluster may be NULL. */
int service_incident_list(struct service *s, const char *cluster, bool open_only, int64_t before_id, int limit,
                          db_row_fn fn, void *arg, struct problem *ret_problem);
/* fn gets its nodes, struct incident_node. */
int service_incident_get(struct service *s, int64_t id, struct shared_incident *ret_incident, db_row_fn fn, void *arg,
                         struct problem *ret_problem);
/* A person says that it is over: its nodes are judged by themselves from now on. CONFLICT when it is already. */
int service_incident_end(struct service *s, const struct actor *actor, int64_t id, struct shared_incident *ret_incident,
                         struct problem *ret_problem);

/* --- operations and events --------------------------------------------------------------------- */
int service_operation_get(struct service *s, const char *uid, struct operation *ret_operation,
                          struct problem *ret_problem);
/* The sentence of the decision it was made for, in which a person's own words stand; "" when there is none, or it is forgotten. */
int service_operation_why(struct service *s, const struct operation *operation, char ret_why[SENTENCE_MAX_BYTES],
                          struct problem *ret_problem);
/* cluster and node may be NULL; which rows they are is filled into the filter here. */
int service_operation_list(struct service *s, const char *cluster, const char *node,
                           const struct db_operation_filter *filter, db_row_fn fn, void *arg,
                           struct problem *ret_problem);
/* Asks; the reconcile loop stops it before its next step. CONFLICT past the point of no return, and for what concerns a whole
 * cluster. */
int service_operation_cancel(struct service *s, const struct actor *actor, const char *uid,
                             struct operation *ret_operation, struct problem *ret_problem);
int service_event_list(struct service *s, const struct db_event_filter *filter, db_row_fn fn, void *arg,
                       struct problem *ret_problem);

/* search->cluster is filled in with ret_cluster. */
int service_event_search(struct service *s, const char *cluster, struct db_event_search *search,
                         struct cluster *ret_cluster, db_row_fn fn, void *arg, struct problem *ret_problem);
/* One event of that cluster. */
int service_event_get(struct service *s, const char *cluster, int64_t id, struct cluster *ret_cluster,
                      struct event *ret_event, struct problem *ret_problem);

/* --- who may come in --------------------------------------------------------------------------- */
#define SERVICE_TOKEN_TEXT_MAX 128
/* API token: role; enrolment token: cluster and node ("" any). ret_text is the secret, shown once. */
int service_token_create_api(struct service *s, const struct actor *actor, const char *name, enum role role,
                             int64_t ttl_ms, struct token *ret_token, char ret_text[SERVICE_TOKEN_TEXT_MAX],
                             struct problem *ret_problem);
int service_token_create_enrollment(struct service *s, const struct actor *actor, const char *cluster, const char *node,
                                    int64_t ttl_ms, struct token *ret_token, char ret_text[SERVICE_TOKEN_TEXT_MAX],
                                    struct problem *ret_problem);
int service_token_list(struct service *s, db_row_fn fn, void *arg, struct problem *ret_problem);
int service_token_delete(struct service *s, const struct actor *actor, const char *uid, struct problem *ret_problem);
/* First start: makes the admin token unless an administrator's exists; ret_text "" when one does. anew: makes it in any
 * case, in place of the one that was made so before. */
int service_ensure_admin_token(struct service *s, bool anew, char ret_text[SERVICE_TOKEN_TEXT_MAX]);
/* "hfa_…" to an actor. Results are cached in memory for a few seconds. */
int service_authenticate(struct service *s, const char *bearer, struct actor *ret_actor);

/* What clients of the AWS door sign with: an id, and a secret that ret_secret shows once. */
#define SERVICE_SECRET_MAX (ACCESS_KEY_SECRET_CHARACTERS + 1)
int service_access_key_create(struct service *s, const struct actor *actor, const char *name, enum role role,
                              struct access_key *ret_key, char ret_secret[SERVICE_SECRET_MAX],
                              struct problem *ret_problem);
int service_access_key_list(struct service *s, db_row_fn fn, void *arg, struct problem *ret_problem);
int service_access_key_delete(struct service *s, const struct actor *actor, const char *access_key,
                              struct problem *ret_problem);
/* The secret and who it stands for: nobody has proven anything yet. The caller verifies a signature with it, wipes it, and
 * then says service_access_key_used. UNAUTHENTICATED when there is no such key. */
int service_access_key_secret(struct service *s, const char *access_key, char ret_secret[SERVICE_SECRET_MAX],
                              struct access_key *ret_key, struct actor *ret_actor);
void service_access_key_used(struct service *s, const struct access_key *key);

/* --- the audit log ------------------------------------------------------------------------------ */
/* One request for a change, as far as its door knows it. */
struct service_audit {
    struct audit entry;
    bool recorded; /* there is a row of it */
};
/* From here to the end the request is what this thread works on: every write of a use case takes the entry with it into the
 * same transaction, so that no change is on disk without its row. */
void service_audit_begin(struct service_audit *audit);
void service_audit_end(void);
/* What the next write is about, where one request has several. */
void service_audit_about(const char *cluster, const char *resource);
/* A request that was granted although nothing had to be written has its row, too. Waits for the disk. */
void service_audit_settle(struct service *s);
/* A request that was refused or failed: the outcome and the code are the entry's. Never waits. Floods become counts
 * (audit_flood.c). */
void service_audit_refused(struct service *s, const struct audit *entry);
/* Writes the counts whose time has come; all: whatever is counted. Never waits. */
void service_audit_flush(struct service *s, bool all);
int service_audit_list(struct service *s, const struct db_audit_filter *filter, db_row_fn fn, void *arg,
                       struct problem *ret_problem);

/* --- agents ------------------------------------------------------------------------------------ */
struct service_enrollment {
    char node[NODE_NAME_MAX_BYTES]; /* the slot's name; may be "" when the token names the node */
    char instance_id[ID_INSTANCE_MAX];
    char boot_id[BOOT_ID_MAX_BYTES];
};
/* ret_credential is "hfn_<row>.<secret>". Safe to repeat while the token lives: a new credential replaces the earlier. */
int service_agent_enroll(struct service *s, const char *bearer, const struct service_enrollment *enrollment,
                         int64_t *ret_node_id, char ret_credential[SERVICE_TOKEN_TEXT_MAX],
                         struct problem *ret_problem);
/* "hfn_…" to the node's row. No store access. */
int service_agent_authenticate(struct service *s, const char *bearer, size_t len, int64_t *ret_node_id);
/* The hot path: in memory unless the store has to be told first (another boot), for which it waits. */
int service_agent_heartbeat(struct service *s, int64_t node_id, const struct fleet_heartbeat *beat,
                            struct problem *ret_problem);
/* The same without ever waiting. *ret_waits: nothing was done, because it would have. */
int service_agent_heartbeat_now(struct service *s, int64_t node_id, const struct fleet_heartbeat *beat, bool *ret_waits,
                                struct problem *ret_problem);
/* Stores and calls done after the commit, on the writer's thread; the verdicts are copied. status 0: durable.
 * sent_at: the agent's clock when it sent, to set its times right (a clock an hour off must not matter). */
int service_agent_verdicts(struct service *s, int64_t node_id, const struct verdict *verdicts, size_t count,
                           int64_t sent_at, void (*done)(int status, const struct problem *problem, void *arg),
                           void *arg, struct problem *ret_problem);

/* --- lifecycle scripts ------------------------------------------------------------------------- */
/* Why these cannot be run, in words, and which part is wrong; NULL when they can. Static. */
enum lifecycle_part { LIFECYCLE_SOURCE, LIFECYCLE_ON_CREATE, LIFECYCLE_ON_INIT_COMPLETE };
const char *service_lifecycle_refusal(const struct lifecycle_job *job, enum lifecycle_part *ret_part);
/* STALE, CONFLICT (another boot than the one that is known), INVALID. */
int service_agent_machine(struct service *s, int64_t node_id, const struct machine_report *report,
                          struct problem *ret_problem);
/* What the node's instance is asked to do, and the resource_config.json it may read; caller frees that. peer: where the agent
 * asks from. NOT_FOUND when nothing is asked for. UNAVAILABLE while too much of it is under way to others; so whoever got it says
 * when it was sent. */
int service_agent_work(struct service *s, int64_t node_id, const char *peer, struct lifecycle_job *ret_job,
                       char **ret_resources, struct problem *ret_problem);
/* The device that it is asked to reset. NOT_FOUND: none. */
int service_agent_reset(struct service *s, int64_t node_id, struct reset_job *ret_job);
void service_agent_work_sent(struct service *s, size_t resources_bytes);
/* Durable in the timeline when it returns; a repeat adds nothing. log: the end of what the script wrote. STALE when this is no
 * longer asked for. */
int service_agent_report_work(struct service *s, int64_t node_id, const struct lifecycle_report *report,
                              const char *log, struct problem *ret_problem);

#endif
