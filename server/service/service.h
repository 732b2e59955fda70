/*
 * What all use cases share: the service itself, who asks, and what is refused. The use cases are in the headers of their nouns
 * (cluster/cluster.h, node/node.h, agent/agent.h, …). Both APIs call these and nothing else; each opens one transaction; none talks to
 * a backend: what takes time becomes an operation that the reconcile loop carries out.
 *
 * Results are model structs; rendering is the API's. Errors are a status with a problem: a stable code
 * (X-macro below) and a sentence that says what to do.
 */
#ifndef HOLDFAST_SERVER_SERVICE_SERVICE_H
#define HOLDFAST_SERVER_SERVICE_SERVICE_H

#include "base/seal.h"
#include "db/db.h"
#include "model/model.h"
#include "server/live/fleet.h"

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

/* Who asks: made by the API after authentication. */
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
 * resolved others. Those with a bit in first were seen by an agent and were not known before. */
struct service_stored {
    int64_t node_id, received_mono_us;
    const struct verdict *verdicts;
    uint64_t news, first;
};

/* What this hpd can drive: a cluster that asks for more could never come up, so it is refused. */
#define SERVICE_PROVIDERS_MAX 8
#define SERVICE_SCHEDULERS_MAX 32
#define SERVICE_SUBNETS_MAX 64
struct service_backends {
    const char *providers[SERVICE_PROVIDERS_MAX]; /* the first is what a group gets that names none */
    size_t provider_count;
    const char *inventories[SERVICE_PROVIDERS_MAX]; /* those of the providers that are inventories of machines */
    int64_t burn_in_ms[SERVICE_PROVIDERS_MAX]; /* how long a machine of each has to be well after it was returned */
    size_t inventory_count;
    enum orchestrator kinds[SERVICE_SCHEDULERS_MAX]; /* of the schedulers, in the configuration's order */
    size_t kind_count;
    const char *dns_domain; /* of the machines' names at the AWS API; NULL, "": its own default */
    bool has_ssh, has_bmc;  /* machines can be rebooted over SSH, and by their BMC */
    const char *release;    /* of the image that new instances get; "" when it is not configured */
    struct {
        char id[NAME_MAX_BYTES], zone[ZONE_MAX_BYTES];
    } subnets[SERVICE_SUBNETS_MAX]; /* which zone each is in; none: there are no zones */
    size_t subnet_count;
};

/* What a write changed that the loop knows of, and the row that it is about. */
enum service_wake {
    SERVICE_WAKE_ALL,         /* anything may have changed: all of it is read again; id 0 */
    SERVICE_WAKE_CLUSTER,     /* the cluster, its groups and their rollouts, its changes; new nodes */
    SERVICE_WAKE_GROUP,       /* the group and its rollout */
    SERVICE_WAKE_NODE,        /* the node, and the operation on it */
    SERVICE_WAKE_APPROVAL,    /* an answer about the node with this id … */
    SERVICE_WAKE_REJECTION,   /* … that rejects its repair, and was not given before */
    SERVICE_WAKE_INCIDENT,    /* it is over */
    SERVICE_WAKE_GOVERNANCE,  /* quotas and priorities; id 0 */
    SERVICE_WAKE_JOB_COMMAND, /* a command for a job; id 0 */
    SERVICE_WAKE_POLICY,      /* the policy document or the fault tables, of which each has a version; id 0 */
};

struct fault_overrides;   /* policy/faults/faults.h */
struct machine_registry;  /* server/live/machine_registry.h */
struct provider_registry; /* server/live/provider_registry.h */
struct webhook;           /* model/webhook.h */
struct node_commands;     /* server/live/node_commands.h */
struct service {
    struct db *db;
    struct fleet *fleet;
    const struct clock *clock;
    struct id_source *ids;
    char server_url[ADDRESS_MAX_BYTES]; /* what enrolment hands out */
    char fingerprint[64];               /* "" over plain HTTP */
    int64_t certificate_ends_at;        /* 0: there is none */
    const char *own_certificate;        /* PEM of the one that hpd made for itself; NULL: the site's, or plain HTTP */
    int64_t heartbeat_interval_ms;
    int64_t diagnosis_settle_ms;             /* a step that failed is said to have had good nodes only so long after */
    struct seal_key seal_key;                /* of the secrets that must be read again; never in the store */
    const struct service_backends *backends; /* NULL: nothing is known of them and any is taken; for tools and tests */
    struct policy_registry *registry; /* the policy in force; NULL: nothing is known of it; for tools and tests */
    const struct webhook *webhooks;   /* that are configured (service/event/webhook.h) */
    size_t webhook_count;
    struct provider_registry *providers; /* how each stands; NULL: none is known */
    /* Begins a contract test of that provider, whose result goes into providers; NULL: there is nobody to run it. */
    int (*provider_test)(void *arg, const char *provider, bool launches);
    void *provider_test_arg;
    struct node_commands *node_commands; /* NULL: hpd has no key for nodes */
    int64_t node_command_max_ms;         /* how long one may take at most */
    struct machine_registry *machines;   /* when the agents of spares were heard; NULL: never */
    _Atomic uint64_t webhook_tests;      /* asked for so far: whoever waits before another try waits no longer */
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

struct service_tag {
    const char *key, *value;
};

/* The names behind row numbers, for whoever shows an operation, a decision or a token; "" for 0 and for what is gone. */
struct service_names {
    char cluster[NAME_MAX_BYTES];
    char node[NODE_NAME_MAX_BYTES];
    char operation[ID_UUID_MAX];
};
int service_names(struct service *s, int64_t cluster_id, int64_t node_id, int64_t operation_id,
                  struct service_names *ret_names);

#endif
