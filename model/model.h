/*
 * The nouns of Holdfast as plain structs: what is stored, what is answered, what is decided on.
 *
 * Texts are arrays with named limits, so a struct owns nothing and can be copied; the few
 * exceptions say so. Ids are row numbers of the store (0: none); names and the ids that
 * people see are text. Times are milliseconds since 1970, 0 for "never".
 */
#ifndef HOLDFAST_MODEL_MODEL_H
#define HOLDFAST_MODEL_MODEL_H

#include "base/id.h"
#include "model/cluster_state.h"
#include "model/decision_rule.h"
#include "model/health.h"
#include "model/incident.h"
#include "model/instance_state.h"
#include "model/jobs.h"
#include "model/limits.h"
#include "model/node_state.h"
#include "model/operation_state.h"
#include "model/reboot.h"

#include <stdbool.h>
#include <stdint.h>

/* The kinds of schedulers: as the API and hpd's configuration write them, and as people do. Nothing else asks for a kind. */
#define ORCHESTRATOR_LIST(X)                  \
    X(SLURM, "slurm", "Slurm")                \
    X(KUBERNETES, "kubernetes", "Kubernetes") \
    X(NONE, "none", "none") /* nodes without a scheduler: drain and resume are no-ops */
enum orchestrator {
#define X(SYMBOL, ...) ORCHESTRATOR_##SYMBOL,
    ORCHESTRATOR_LIST(X)
#undef X
};
ENUM_DECLARE(orchestrator);
const char *orchestrator_title(enum orchestrator orchestrator);

/* How the scheduler was when it was last looked at. */
#define SCHEDULER_STATE_LIST(X) \
    X(UNKNOWN, "unknown")       \
    X(UP, "up")                 \
    X(DOWN, "down")
enum scheduler_state {
#define X(SYMBOL, text) SCHEDULER_STATE_##SYMBOL,
    SCHEDULER_STATE_LIST(X)
#undef X
};
ENUM_DECLARE(scheduler_state);

struct cluster {
    int64_t id;
    char uid[ID_CLUSTER_MAX]; /* the 12 characters of an ARN */
    char name[NAME_MAX_BYTES];
    enum cluster_state state;
    enum node_recovery recovery;
    enum orchestrator orchestrator;
    char scheduler
        [NAME_MAX_BYTES]; /* by which it is scheduled, as hpd's configuration names it; "": by none that is configured */
    enum provisioning provisioning;
    char failure[SENTENCE_MAX_BYTES]; /* why the last creation or update failed; "": it did not */
    int64_t paused_at; /* since then a person holds it: nothing is done to its nodes by itself; 0: nobody does */
    char paused_by[NAME_MAX_BYTES], pause_reason[REASON_MAX_BYTES];
    int64_t created_at, updated_at;
    int64_t revision; /* counts changes; the ETag */
    char operation
        [ID_UUID_MAX]; /* what a use case answers: by which operation its change is carried out; never stored */
};

/* What became of the newest tries to get machines for a group. */
struct machine_capacity {
    int64_t short_at;     /* the provider had none then, short_times times in a row … */
    int64_t short_until;  /* … and is not asked again before */
    int64_t short_times;  /* 0: it had one when it was asked last */
    int64_t failed_at;    /* one that was new did not come up then … */
    int64_t failures;     /* … the so-and-so-many-th in a row */
    int64_t protected_at; /* nothing is replaced in the group since; 0: it is not protected */
};

/* Which of the scheduler's nodes a group was made of: those of a partition, with a feature, or with both; "" both: it was not. */
struct node_source {
    char partition[NAME_MAX_BYTES], feature[NAME_MAX_BYTES];
};
static inline bool node_source_is_given(const struct node_source *source)
{
    return source->partition[0] != '\0' || source->feature[0] != '\0';
}

/* Whether the scheduler of this name schedules it. */
static inline bool cluster_is_under(const struct cluster *cluster, const char *scheduler)
{
    return cluster->orchestrator != ORCHESTRATOR_NONE && strcmp(cluster->scheduler, scheduler) == 0;
}

struct instance_group {
    int64_t id, cluster_id;
    char name[NAME_MAX_BYTES];
    char instance_type[NAME_MAX_BYTES];
    char provider[NAME_MAX_BYTES];
    enum group_state state;
    char failure[SENTENCE_MAX_BYTES]; /* why it is FAILED or DEGRADED, or what was rolled back; "": nothing */
    int64_t desired;                  /* InstanceCount */
    int64_t min_count;                /* MinInstanceCount: in service from so many ready nodes on; 0: all of them */
    int64_t previous_desired;         /* what a roll-back goes back to; -1: nothing is under way */
    int64_t state_since;
    char image_id[IMAGE_ID_MAX_BYTES];       /* what new instances are launched from; "": the provider's own */
    char release[RELEASE_VERSION_MAX_BYTES]; /* ImageReleaseVersion */
    int64_t breaker_opened_at;               /* 0: closed */
    int64_t breaker_closed_at;               /* by a person: what failed before counts no more; 0: never */
    struct machine_capacity machine_capacity;
    struct node_source source;
    int64_t created_at;
};

/* Why people should look at a node although it is in service, or held without being a person's. */
#define ATTENTION_LIST(X)                                                                                 \
    X(NONE, "")                                                                                           \
    X(HELD, "held")         /* somebody else holds it in the scheduler */                                 \
    X(DOWNED, "downed")     /* the scheduler took it out by itself, and hears it again */                 \
    X(KEPT_OUT, "kept-out") /* the scheduler keeps it out: a job's end failed, its daemon is not heard */ \
    X(UNHEARD, "unheard")   /* its agent is silent */                                                     \
    X(DECIDED, "decided")   /* the policy leaves what was seen to a person; of a held node: its image */
enum attention {
#define X(SYMBOL, text) ATTENTION_##SYMBOL,
    ATTENTION_LIST(X)
#undef X
};
ENUM_DECLARE(attention);

struct node {
    int64_t id, cluster_id, group_id;
    char name[NODE_NAME_MAX_BYTES];
    enum node_state state;
    enum health health;
    char reason[REASON_MAX_BYTES]; /* why it is in this state, for people */
    enum attention attention;      /* of a node in service: what that is about */
    int64_t instance_row;          /* current instance, 0: none */
    int64_t state_since, health_since;
    int64_t retry_at;     /* when a HOLD is looked at again; 0: only when something changes */
    bool opted_out;       /* a person excluded it from automatic actions */
    bool cordoned;        /* our hold was set in the scheduler, or seen there, since the node is out of service */
    bool served;          /* it was in service at least once */
    int64_t launch_tries; /* launches that failed in a row before it was ever in service */
    char near_miss[REASON_MAX_BYTES]; /* the scheduler's reason that was last warned of as almost a request; "": none */
    int64_t person_hold;       /* the decision that left it to a person, who has not released it since; 0: none … */
    int64_t person_hold_row;   /* … and the instance that it was about: another one is another machine … */
    int64_t person_hold_at;    /* … and since when it is a person's, however often that was decided anew */
    char zone[ZONE_MAX_BYTES]; /* availability zone, chosen with the slot; "": the provider has none */
    char topology[TOPOLOGY_LEVEL_ZONE][TOPOLOGY_NAME_MAX_BYTES]; /* the narrower domains it is in; "": not known */
    int64_t created_at;
};

/* The domain of that level which the node is in; "": not known. */
const char *node_domain(const struct node *node, enum topology_level level);
/* Moves it by the table, and sets what follows from the move alone. To the state that it has: nothing. */
void node_move(struct node *node, enum node_state to, int64_t now_ms);
/* HELD or FAILED: out of service, with nothing at work on it. */
bool node_is_out(const struct node *node);
/* Nothing goes on with it until a person acts: a repair gave up, a decision left it to people, NodeRecovery None only marks it, or what
 * was seen while it is in service is for people to judge. Not one that a person holds or has opted out: they know. While its cluster is
 * paused, what was decided on a node in service waits for the pause's end alone. */
bool node_waits_for_person(const struct node *node, enum node_recovery recovery, bool paused);

struct instance {
    int64_t id, node_id;
    char instance_id[ID_INSTANCE_MAX];
    enum instance_state state;
    char boot_id[BOOT_ID_MAX_BYTES]; /* of the last report, "" before the first */
    int64_t boot_at;                 /* when that boot was first reported (server's clock) */
    int64_t launched_at, terminated_at;
    char launch_key[KEY_MAX_BYTES];            /* the key under which the provider made it; unique */
    char provider_ref[PROVIDER_REF_MAX_BYTES]; /* its id at the provider, where that is not instance_id */
    bool self_registered;                      /* by its agent: no provider of ours made it for this slot */
    char image_id[IMAGE_ID_MAX_BYTES];
    char release[RELEASE_VERSION_MAX_BYTES]; /* what it was launched from; "": the provider's own */
    char address[PEER_MAX_BYTES];            /* where others reach it, as its agent says; "": not told */
};

/* A rolling software update of one group: nodes that do not run the wanted image are taken out batch by batch. A group has at
 * most one, the newest. */
struct rollout {
    int64_t group_id;
    enum rollout_state state;
    char image_id[IMAGE_ID_MAX_BYTES], release[RELEASE_VERSION_MAX_BYTES];                   /* what it leads to */
    char previous_image_id[IMAGE_ID_MAX_BYTES], previous_release[RELEASE_VERSION_MAX_BYTES]; /* and back to */
    int64_t batch_value, rollback_batch_value; /* nodes, or percent of the group, at a time; 0: all at once */
    bool batch_is_percent, rollback_is_percent;
    int64_t wait_ms;       /* between batches */
    int64_t batch;         /* number of the present one, from 1; 0: none yet */
    int64_t next_batch_at; /* not before; 0: at once */
    char failure[SENTENCE_MAX_BYTES];
    int64_t created_at, updated_at;
};

#define VERDICT_STATE_LIST(X)                                                         \
    X(OPEN, "open")         /* counts against the node */                             \
    X(RESOLVED, "resolved") /* a repair, or a person, dealt with it, or it is over */ \
    X(STALE, "stale")       /* of an earlier boot or instance when it came: noted, never acted on */
enum verdict_state {
#define X(SYMBOL, text) VERDICT_STATE_##SYMBOL,
    VERDICT_STATE_LIST(X)
#undef X
};
ENUM_DECLARE(verdict_state);

/* What an agent saw. The key makes a repeat delivery the same row: (boot, source, code, device, window). */
struct verdict {
    int64_t id, node_id;
    char key[VERDICT_KEY_MAX_BYTES];
    char instance_id[ID_INSTANCE_MAX];
    char boot_id[BOOT_ID_MAX_BYTES];
    char device[DEVICE_MAX_BYTES]; /* "" for the node as a whole */
    char source[SOURCE_MAX_BYTES];
    char code[CODE_MAX_BYTES];
    char raw_line[RAW_LINE_MAX_BYTES];
    char table_version[TABLE_VERSION_MAX_BYTES];
    enum severity severity;
    enum verdict_state state;
    int64_t first_at, last_at, count;
    int64_t received_at;
    int64_t expires_at; /* of a report: it counts until then; 0: until it is answered */
    int64_t due_at;     /* of a notice: the date of what the provider announces; 0: it names none */
    bool node_fault;    /* it was judged to be a fault of the node: the breaker counts it */
    bool over; /* of a report alone: what was seen of the same source, code and device is over, a disk has room again */
};

/* What somebody other than an agent says of a node; it is stored as a verdict of this source. */
#define VERDICT_SOURCE_REPORT "report"
/* What the provider of a machine says of it (server/provider/provider.h). */
#define VERDICT_SOURCE_PROVIDER "provider"
#define REPORT_KIND_LIST(X)                                                                 \
    X(SUSPECTED, "suspected")             /* somebody suspects the node, or a part of it */ \
    X(CERTAIN, "certain")                 /* … and is certain */                          \
    X(JOB_FAILED, "job-failed")           /* a user's job failed there without a code */    \
    X(STRAGGLER, "straggler")             /* a job was slowed down by it */                 \
    X(PROVIDER_NOTICE, "provider-notice") /* the provider withdraws the machine */
enum report_kind {
#define X(SYMBOL, text) REPORT_KIND_##SYMBOL,
    REPORT_KIND_LIST(X)
#undef X
};
ENUM_DECLARE(report_kind);

struct node_report {
    int64_t verdict_id;
    enum report_kind kind;
    char reporter[NAME_MAX_BYTES];
    char subject[DEVICE_MAX_BYTES]; /* the device, the user, or the job; "": none */
    int64_t expires_at;             /* it counts until then; 0: until it is answered */
};

#define GATE_LIST(X)                                                                  \
    X(FRESH, "fresh-evidence")        /* of this boot and this instance */            \
    X(OWNER, "owner")                 /* not opted out, not drained by a person */    \
    X(ONE_OPERATION, "one-operation") /* at most one active operation per node */     \
    X(RECOVERY, "node-recovery")      /* the cluster's NodeRecovery is Automatic */   \
    X(ATTEMPTS, "attempts")           /* the ledger allows another repair */          \
    X(INCIDENT, "shared-incident")    /* its domain has no incident of many nodes */  \
    X(MODE, "mode")                   /* the mode of the fault's class lets it */     \
    X(PROTECTED, "protected-mode")    /* new machines of the group come up */         \
    X(CAPACITY, "capacity")           /* the provider has a machine for it */         \
    X(SPARES, "spares")               /* enough idle nodes take its work meanwhile */ \
    X(WINDOW, "time-window")          /* repairs may begin at this hour */            \
    X(SPACING, "spacing")             /* the last one began long enough ago */        \
    X(MIN_HEALTHY, "min-healthy")     /* so many nodes of the group are healthy */    \
    X(CLASS_BUDGET, "class-budget")   /* so many are in repair for faults alike */    \
    X(BUDGET, "group-budget")         /* max(1, 5 %) of the group in repair */        \
    X(BREAKER, "group-breaker")       /* more than max(3, 20 %) failed within 15 min */
enum gate {
#define X(SYMBOL, text) GATE_##SYMBOL,
    GATE_LIST(X)
#undef X
        GATE_COUNT
};
ENUM_DECLARE(gate);

#define GATE_RESULT_LIST(X)   \
    X(NOT_ASKED, "not-asked") \
    X(PASSED, "passed")       \
    X(FAILED, "failed")
enum gate_result {
#define X(SYMBOL, text) GATE_RESULT_##SYMBOL,
    GATE_RESULT_LIST(X)
#undef X
};
ENUM_DECLARE(gate_result);

#define DECISION_EVIDENCE_MAX 8
#define DECISION_BESIDE_MAX_BYTES 512

/* What the limits saw of the group; -1: they were not asked. */
struct decision_group {
    int64_t desired, failing;           /* the breaker: nodes, and those of them that failed */
    int64_t healthy;                    /* nodes that are, without those taken out by the same plan */
    int64_t in_repair, in_repair_alike; /* nodes, and those of them for faults of the same class */
};
#define DECISION_GROUP_NOT_ASKED ((struct decision_group){-1, -1, -1, -1, -1})

#define ACTOR_POLICY "policy" /* of what no person asked for */

/* One decision, with all that explains it. Evidence beyond the limit is counted, not listed. */
struct decision {
    int64_t id, node_id;
    int64_t at;
    enum action action;
    enum urgency urgency;
    enum job_signal job_signal; /* what asks its jobs to checkpoint first */
    int64_t job_wait_ms;        /* and how long they may go on; 0: as urgency and drainDeadline say */
    enum decision_rule rule;
    char code[CODE_MAX_BYTES]; /* of the leading evidence */
    enum fault_class fault;    /* what is broken */
    char device[DEVICE_MAX_BYTES];
    char sentence[SENTENCE_MAX_BYTES];    /* why, in one sentence */
    enum action refused;                  /* the strongest alternative that was not taken */
    char refused_why[SENTENCE_MAX_BYTES]; /* and why not */
    struct {
        enum gate_result result;
        char detail[REASON_MAX_BYTES]; /* "1 of 1 in repair" */
    } gates[GATE_COUNT];
    int64_t evidence[DECISION_EVIDENCE_MAX]; /* verdict rows */
    int evidence_count;                      /* all of them, listed or not */
    char beside[DECISION_BESIDE_MAX_BYTES];  /* what else is open and not spoken of: lines of "RULE CODE DEVICE" */
    struct decision_group group;
    int64_t retry_at;     /* for HOLD: when to ask again; 0: on change */
    int64_t operation_id; /* what it started; 0: nothing */
    char table_version[TABLE_VERSION_MAX_BYTES];
    int64_t policy_version; /* of the policy document; 0: there was none */
};

/* A repair that waits for a person's word, and what became of it. */
struct approval {
    int64_t id, node_id, decision_id;
    char uid[ID_UUID_MAX];                               /* of the operation to come */
    enum action action;                                  /* REBOOT or REPLACE … */
    char code[CODE_MAX_BYTES], device[DEVICE_MAX_BYTES]; /* … and for what, as the decision had it */
    enum approval_state state;
    char sentence[SENTENCE_MAX_BYTES]; /* the decision's */
    int64_t asked_at, expires_at;
    int64_t answered_at;              /* or run out, or withdrawn; 0: it waits */
    char answered_by[NAME_MAX_BYTES]; /* stays when an approval runs out */
    char reason[REASON_MAX_BYTES];    /* of the answer, in that person's words */
};

struct operation_step {
    int ordinal;
    enum step_kind kind;
    enum step_state state;
    int attempts;
    int64_t started_at, finished_at, deadline_at, retry_at;
    char detail[SENTENCE_MAX_BYTES]; /* last result or error, for people */
};

/* How far a change of a whole cluster is, in nodes. */
struct operation_progress {
    int64_t wanted;     /* so many it leads to */
    int64_t in_service; /* ready now */
    int64_t failed;     /* could not be provisioned so far, or repaired */
    int64_t left;       /* have still to come, to go or, in a software update, to run what is wanted */
};

struct operation {
    int64_t id;
    char uid[ID_UUID_MAX];
    int64_t cluster_id, node_id, decision_id; /* of a whole cluster: node_id 0; cluster_id 0 when it is gone */
    char cluster[NAME_MAX_BYTES];             /* of a whole cluster: its name, which outlives it; "" else */
    enum operation_kind kind;
    enum operation_state state;
    enum urgency urgency;
    enum job_signal job_signal; /* as in the decision */
    int64_t job_wait_ms;
    char key[KEY_MAX_BYTES];       /* idempotency key: unique */
    char reason[REASON_MAX_BYTES]; /* what the scheduler shows, and people */
    char actor[NAME_MAX_BYTES];    /* "policy", "token:<name>", "slurm:<user>" */
    char device[DEVICE_MAX_BYTES]; /* what the repair is for; "" when it is for the node */
    char code[CODE_MAX_BYTES];
    enum operation_cause cause;
    int64_t retests; /* bits of enum deep_check: what has failed and runs again before the node takes work */
    char old_instance[ID_INSTANCE_MAX], new_instance[ID_INSTANCE_MAX];
    char old_boot[BOOT_ID_MAX_BYTES];
    bool cancel_asked;
    char
        cancelled_by[NAME_MAX_BYTES]; /* who asked; "" or "policy": no person did, and error says why it is cancelled */
    int64_t created_at, started_at, finished_at;
    int64_t cleared_by_reset_at; /* of a reset: when the device was reset, in the times of its agent; 0: it was not */
    char error[SENTENCE_MAX_BYTES]; /* of one of a cluster that still runs: what has gone wrong already */
    struct operation_progress progress;
    struct operation_step steps[OPERATION_STEPS_MAX];
    int step_count;
    struct reboot_try tries[REBOOT_TRIES_MAX]; /* of a reboot by the methods of its group, the first first */
    int try_count;
};

/* The policy cancelled it, because something else asks for more: its node stays out of service and is decided on anew. */
bool operation_is_outweighed(const struct operation *operation);

#define EVENT_LEVEL_LIST(X) /* botocore EventLevel, lower-cased for REST */ \
    X(INFO, "info")                                                         \
    X(WARN, "warn")                                                         \
    X(ERROR, "error")
enum event_level {
#define X(SYMBOL, text) EVENT_LEVEL_##SYMBOL,
    EVENT_LEVEL_LIST(X)
#undef X
};
ENUM_DECLARE(event_level);

#define EVENT_KIND_LIST(X)                          \
    X(CLUSTER_CREATED, "cluster-created")           \
    X(CLUSTER_UPDATED, "cluster-updated")           \
    X(CLUSTER_DELETED, "cluster-deleted")           \
    X(CLUSTER_PAUSED, "cluster-paused")             \
    X(CLUSTER_RESUMED, "cluster-resumed")           \
    X(GROUP_STATE, "group-state")                   \
    X(GROUP_SCALING, "group-scaling")               \
    X(ROLLOUT, "rollout")                           \
    X(LIFECYCLE_SCRIPT, "lifecycle-script")         \
    X(DEVICE_RESET, "device-reset")                 \
    X(DEEP_CHECK, "deep-check")                     \
    X(NODE_STATE, "node-state")                     \
    X(NODE_HEALTH, "node-health")                   \
    X(VERDICT, "verdict")                           \
    X(VERDICT_STALE, "verdict-stale")               \
    X(VERDICT_UNDECIDED, "verdict-undecided")       \
    X(DECISION, "decision")                         \
    X(OPERATION_STARTED, "operation-started")       \
    X(OPERATION_STEP, "operation-step")             \
    X(OPERATION_SUCCEEDED, "operation-succeeded")   \
    X(OPERATION_FAILED, "operation-failed")         \
    X(OPERATION_CANCELLED, "operation-cancelled")   \
    X(INSTANCE_LAUNCHED, "instance-launched")       \
    X(INSTANCE_TERMINATED, "instance-terminated")   \
    X(AGENT_ENROLLED, "agent-enrolled")             \
    X(AGENT_BOOTED, "agent-booted")                 \
    X(AGENT_SILENT, "agent-silent")                 \
    X(AGENT_BACK, "agent-back")                     \
    X(AGENT_SETTINGS, "agent-settings")             \
    X(CLOCK_SKEW, "clock-skew")                     \
    X(CLOCK_STEP, "clock-step")                     \
    X(SCHEDULER_MARK, "scheduler-mark")             \
    X(SCHEDULER_RESUME, "scheduler-resume")         \
    X(SCHEDULER_DOWN, "scheduler-down")             \
    X(SCHEDULER_BACK, "scheduler-back")             \
    X(SCHEDULER_DESIRED, "scheduler-configuration") \
    X(SCHEDULER_DRIFT, "scheduler-drift")           \
    X(SCHEDULER_ADDRESS, "scheduler-address")       \
    X(JOBS, "jobs")                                 \
    X(OPERATOR_REQUEST, "operator-request")         \
    X(APPROVAL, "approval")                         \
    X(POLICY, "policy")                             \
    X(NEAR_MISS, "near-miss")                       \
    X(BREAKER_OPENED, "breaker-opened")             \
    X(BREAKER_CLOSED, "breaker-closed")             \
    X(CAPACITY_SHORT, "capacity-short")             \
    X(CAPACITY_BACK, "capacity-back")               \
    X(GROUP_PROTECTED, "group-protected")           \
    X(GROUP_UNPROTECTED, "group-unprotected")       \
    X(INCIDENT_OPENED, "incident-opened")           \
    X(INCIDENT_ENDED, "incident-ended")             \
    X(SCHEDULER_CONFIG, "scheduler-config")         \
    X(COMPUTE_QUOTA, "compute-quota")               \
    X(TAGS, "tags")                                 \
    X(INJECTED, "injected")                         \
    X(UNREADABLE, "unreadable")                     \
    X(MACHINE_STATE, "machine-state")               \
    X(MACHINE_TAKEN, "machine-taken")               \
    X(MACHINE_TROUBLE, "machine-trouble")           \
    X(SPARES_EMPTY, "spares-empty")                 \
    X(MACHINE_ORPHAN, "machine-orphan")             \
    X(WEBHOOK_TEST, "webhook-test")                 \
    X(WEBHOOK_FAILING, "webhook-failing")           \
    X(WEBHOOK_BACK, "webhook-back")
enum event_kind {
#define X(SYMBOL, text) EVENT_KIND_##SYMBOL,
    EVENT_KIND_LIST(X)
#undef X
};
#define EVENT_KIND_COUNT (EVENT_KIND_WEBHOOK_BACK + 1)
ENUM_DECLARE(event_kind);

/* What an event is about, for programs; "" where there is nothing. */
struct event_about {
    char subject[NAME_MAX_BYTES]; /* the id of an approval or incident, the name of a webhook */
    char state[NAME_MAX_BYTES]; /* what it is now: "ready" of a node, "asked" of an approval, "reboot" of a decision */
    char actor[NAME_MAX_BYTES]; /* who did it: "token:ana" */
    char was[NAME_MAX_BYTES];   /* of a node's state or health: what it was before */
};

/* One line of the timeline. id grows without repeats and is the cursor of lists and streams. */
struct event {
    int64_t id, at;
    enum event_level level;
    enum event_kind kind;
    int64_t cluster_id, node_id, operation_id; /* 0: none */
    char cluster[NAME_MAX_BYTES], group[NAME_MAX_BYTES], node[NODE_NAME_MAX_BYTES];
    char instance_id[ID_INSTANCE_MAX], operation[ID_UUID_MAX];
    char message[SENTENCE_MAX_BYTES];
    char failure[SENTENCE_MAX_BYTES];                /* what went wrong, when something did; "" */
    int64_t instance_count, target_count, min_count; /* of group-scaling: ready nodes, desired, MinInstanceCount */
    char script_state[SCRIPT_STATE_MAX_BYTES];       /* of lifecycle-script: "Started", "Succeeded", "Failed"; "" */
    struct event_about about;
};

/* One version of the policy document. */
struct policy_version {
    int64_t version; /* from 1; 0: there is none, and built-in numbers and hpd's configuration file stand */
    char text[POLICY_TEXT_MAX_BYTES];
    char sha256[ID_SHA256_HEX_MAX];
    char comment[REASON_MAX_BYTES];
    char author[NAME_MAX_BYTES];
    int64_t restores; /* the version whose text it has again; 0: none */
    int64_t created_at;
};

/* Each may do what the ones before it may. */
#define ROLE_LIST(X)                                                                  \
    X(REPORTER, "reporter") /* says what it suspects of nodes, no more */             \
    X(JOB, "job")           /* tells of attempts at its steps and asks about nodes */ \
    X(VIEWER, "viewer")                                                               \
    X(OPERATOR, "operator")                                                           \
    X(ADMIN, "admin")
enum role {
#define X(SYMBOL, text) ROLE_##SYMBOL,
    ROLE_LIST(X)
#undef X
};
ENUM_DECLARE(role);

#define TOKEN_KIND_LIST(X)                                                  \
    X(API, "api")               /* a person or a script, with a role */     \
    X(ENROLLMENT, "enrollment") /* lets an agent enrol, for a short time */ \
    X(MACHINES, "machines")     /* lets the agents of an inventory's machines enrol */
enum token_kind {
#define X(SYMBOL, text) TOKEN_KIND_##SYMBOL,
    TOKEN_KIND_LIST(X)
#undef X
};
ENUM_DECLARE(token_kind);

/* Only the hash of the secret is stored. Texts: "hfa_" + secret (API), "hfe_" + secret (enrolment), and
 * "hfn_" + node row + "." + secret for a node's own credential. */
struct token {
    int64_t id;
    char uid[ID_UUID_MAX];
    enum token_kind kind;
    char name[NAME_MAX_BYTES];
    enum role role;                    /* API */
    int64_t cluster_id, node_id;       /* ENROLLMENT: where it may enrol; node 0: any node of the cluster */
    char instance_id[ID_INSTANCE_MAX]; /* ENROLLMENT made for one instance; "" else */
    uint8_t hash[ID_SHA256_BYTES];
    int64_t created_at, expires_at, used_at; /* expires_at 0: never */
};

/* What a client of the AWS API signs with. The secret is kept sealed (base/seal.h). */
#define ACCESS_KEY_SECRET_CHARACTERS 43 /* base64url of 32 random bytes */
#define ACCESS_KEY_SEALED_BYTES (ACCESS_KEY_SECRET_CHARACTERS + 28)
struct access_key {
    int64_t id;
    char access_key[ACCESS_KEY_MAX_BYTES];
    char name[NAME_MAX_BYTES];
    enum role role;
    uint8_t sealed[ACCESS_KEY_SEALED_BYTES];
    int64_t created_at, used_at;
};

struct credential {
    int64_t node_id;
    char instance_id[ID_INSTANCE_MAX];
    uint8_t hash[ID_SHA256_BYTES];
    int64_t created_at;
};

#define AUDIT_OUTCOME_LIST(X)                            \
    X(SUCCEEDED, "succeeded") /* it is done, or begun */ \
    X(REFUSED, "refused")                                \
    X(FAILED, "failed") /* allowed, and the server could not */
enum audit_outcome {
#define X(SYMBOL, text) AUDIT_OUTCOME_##SYMBOL,
    AUDIT_OUTCOME_LIST(X)
#undef X
};
ENUM_DECLARE(audit_outcome);

/* A change that somebody asked for. No body and no secret is ever in it. */
struct audit {
    int64_t id, at;
    char operation[AUDIT_WORD_MAX_BYTES]; /* "cluster.create", "AWS CreateCluster"; "*" when several were counted */
    char actor[NAME_MAX_BYTES];           /* "token:ci", "key:sdk", "enrollment:gpu-1"; "": who did not prove it */
    char credential[ID_UUID_MAX];         /* the token's id or the access key, also of one that was misused */
    char peer[PEER_MAX_BYTES];            /* where the connection came from */
    char cluster[NAME_MAX_BYTES];
    char resource[AUDIT_RESOURCE_MAX_BYTES]; /* what else it was about, names only */
    char request_id[ID_UUID_MAX];            /* as the reply had it */
    enum audit_outcome outcome;
    char code[AUDIT_WORD_MAX_BYTES]; /* of a refusal or failure */
    int64_t count;                   /* more than 1: so many tries like it, of which no row was kept */
};

#endif
