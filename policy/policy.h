/*
 * The heart: a snapshot with "now" goes in, decisions come out. Pure: no clock, no store, no network, no
 * log, no randomness; the same snapshot gives the same decisions, byte for byte.
 *
 * order of evaluation, each a function in its own file or section:
 *   freshness and identity → owner and opt-out → fold into one incident per device → table, with the driver's
 *   own word (Xid 154) first → ledger (attempts, escalation) → NodeRecovery → budget and breaker → decision.
 *
 * The snapshot holds one instance group: limits are per group. Nodes are those with something to decide; the group's
 * counts cover all of its nodes. The policy grants budget in the order of severity, then of the oldest
 * evidence, then of name, so that a plan does not depend on the order of its input.
 */
#ifndef HOLDFAST_POLICY_POLICY_H
#define HOLDFAST_POLICY_POLICY_H

#include "model/hardware.h"
#include "model/model.h"
#include "policy/claim.h"
#include "policy/faults/faults.h"
#include "policy/window.h"

struct policy_settings {
    int64_t repeat_window_ms;                    /* 7 d: the same device again after a repair escalates */
    int resets_max;                              /* 2 per device in repeat_window_ms, then reboot; 0: none */
    int reboots_max;                             /* 2 per device in repeat_window_ms, then replace */
    int replaces_max;                            /* 2 per slot in repeat_window_ms, then a person */
    int budget_percent;                          /* 5: of desired, at most max(1, this) in repair … */
    int budget_max;                              /* … and never more than so many; 0: no such limit */
    int class_budget_percent[FAULT_CLASS_COUNT]; /* 100: the same for the repairs of one class of fault, beside that */
    int class_budget_max[FAULT_CLASS_COUNT];     /* 0 */
    int min_healthy_percent;           /* 0: of desired so many are healthy, or nothing more is repaired by itself */
    int min_healthy_count;             /* 0: and at least so many */
    int breaker_percent;               /* 20: more than max(breaker_min, this) failing … */
    int breaker_min;                   /* 3 */
    struct policy_windows not_during;  /* hours in which no repair begins … */
    struct policy_windows only_during; /* … and, where there are any, those in which they do */
    int any_time[FAULT_CLASS_COUNT];   /* 0; 1: repairs for this class of fault do not wait for these hours */
    int64_t spacing_ms;                /* 0: between the beginnings of two repairs of a group */
    int64_t capacity_pause_ms;         /* 2 min: a provider that had no machine is not asked again for so long, … */
    int64_t capacity_pause_max_ms;     /* … doubled each time up to this (1 h) */
    int without_replacement;           /* 0, enum policy_without: what is done while nothing can take a node's place */
    int spares_min;                    /* 0: a node is replaced only while so many others of the group are idle */
    int protect_after;                 /* 3: so many new machines that did not come up, one after the other, … */
    int64_t protect_window_ms;         /* … each within 6 h of the one before, protect the group; 0 of them: never */
    int64_t protect_pause_ms;          /* 30 min after the last of them a single one is tried */
    int64_t breaker_window_ms;         /* … within 15 min opens the breaker */
    int64_t breaker_close_after_ms; /* closes itself when the count has been back under the limit this long: 15 min */
    int64_t silent_after_ms;        /* no heartbeat for so long: "no verdict" (60 s) */
    int incident_nodes;             /* 3: so many nodes of one switch, rack or zone that fail within … */
    int64_t incident_window_ms;     /* … 5 min are one incident of what they share */
    int64_t incident_settle_ms;     /* which ends when the domain has been back for so long (5 min) */
    int64_t unreachable_after_ms;   /* silent for so long and the scheduler does not hear it either: reboot (10 min) */
    int64_t fold_window_ms;         /* 60 s: codes of one device this close are one incident */
    int64_t probation_ms;           /* 6 h: after its return a machine gets less tolerance this long */
    int64_t lemon_window_ms;        /* 28 d: how long a repair weighs on a machine's lemon score (lemon.c) */
    int lemon_score;                /* 250; 0: never; from so many points on a machine is not rebooted but … */
    int lemon_action;               /* 0, enum policy_lemon_action: … that is done */
    int recurring;                  /* 1, enum policy_recurring: hardware that was replaced away is in a new machine */
    enum repair_mode modes[FAULT_CLASS_COUNT]; /* act: how far a decision may go */

    /* What becomes of the jobs of a node before it is repaired (policy/jobs.c) */
    enum jobs_rule jobs[FAULT_CLASS_COUNT];        /* as the fault's row says */
    enum job_signal job_signal[FAULT_CLASS_COUNT]; /* USR1: what asks them to checkpoint */
    int64_t notice_lead_ms;                        /* 1 h: jobs give way so long before a date of the provider */
    int64_t drain_deadline_ms[FAULT_CLASS_COUNT];  /* 4 h: jobs that are waited for */
    int64_t signal_deadline_ms[FAULT_CLASS_COUNT]; /* 10 min: jobs that were asked to checkpoint */
};
/* The defaults, with the source of each number in policy.c. */
void policy_settings_default(struct policy_settings *ret_settings);

/* What is done about a machine with a piece, or in a chassis, that was replaced away for a fault. */
#define POLICY_RECURRING_LIST(X)                                                                \
    X(TELL, "tell")       /* it is said, and a fault of that piece costs the machine at once */ \
    X(CHECK, "check")     /* and it passes deep health checks before it takes work */           \
    X(REPLACE, "replace") /* it is replaced without waiting for a fault, as far as the slot's limit goes */
enum policy_recurring {
#define X(SYMBOL, text) POLICY_RECURRING_##SYMBOL,
    POLICY_RECURRING_LIST(X)
#undef X
};
ENUM_DECLARE(policy_recurring);

/* What is done about a machine whose past weighs as much as lemon_score: replaced when a fault asks for another reboot, or left to a
 * person whatever a fault asks for. */
#define POLICY_LEMON_ACTION_LIST(X) \
    X(REPLACE, "replace")           \
    X(PERSON, "person")
enum policy_lemon_action {
#define X(SYMBOL, text) POLICY_LEMON_##SYMBOL,
    POLICY_LEMON_ACTION_LIST(X)
#undef X
};
ENUM_DECLARE(policy_lemon_action);

/* What is done about a node that is to be replaced while no machine can be had for it, or too few are idle. */
#define POLICY_WITHOUT_LIST(X)                                                   \
    X(WAIT, "wait")       /* it keeps its machine */                             \
    X(REBOOT, "reboot")   /* it is rebooted instead, as far as its reboots go */ \
    X(REPLACE, "replace") /* it is replaced all the same, and the slot waits for a machine */
enum policy_without {
#define X(SYMBOL, text) POLICY_WITHOUT_##SYMBOL,
    POLICY_WITHOUT_LIST(X)
#undef X
};
ENUM_DECLARE(policy_without);

/* Nodes in service of which heartbeats are missing now, and of them those since the breaker counts. */
struct policy_missed {
    int64_t all, lately;
};

/* An image's id and its release, as people read it: "ami-0abc 2026.11". */
#define POLICY_IMAGE_MAX (IMAGE_ID_MAX_BYTES + RELEASE_VERSION_MAX_BYTES)

void policy_image(const char *image_id, const char *release, char ret_image[POLICY_IMAGE_MAX]);

/* A node that shows something weak: by a rate, because it has lasted, or as what a new machine would not take work with. */
struct policy_alike {
    int64_t node_id;
    char code[CODE_MAX_BYTES];
    int64_t shown_at; /* since when it lasts, or when it came last */
    bool weak;        /* by a rate, because it has lasted, or it was left to a person for it */
    bool lacking;     /* since its boot it lacks software that an image has */
    bool watched;     /* it only lasts so far … */
    bool told;        /* … and is known as what many show */
    char image[POLICY_IMAGE_MAX];
};

struct policy_group {
    const char *cluster, *name;
    const char *image; /* what its new machines are launched from; "" or NULL: the provider's own */
    enum node_recovery recovery;
    int64_t desired;
    int64_t in_repair;                        /* nodes with an active reboot or replace */
    int64_t in_repair_of[FAULT_CLASS_COUNT];  /* of them, by policy_repair_class */
    int64_t last_repair_at;                   /* when the newest began; 0: there was none */
    int64_t replacing;                        /* of them, active replaces */
    struct machine_capacity machine_capacity; /* what became of the newest tries to get machines */
    int64_t idle_elsewhere;        /* of the healthy ones that are not in this snapshot, those without work */
    int64_t healthy_elsewhere;     /* nodes in service and healthy that are not in this snapshot */
    int64_t failed_recently;       /* distinct nodes with a node fault within breaker_window_ms, all states */
    int64_t breaker_opened_at;     /* 0: closed */
    int64_t breaker_closed_at;     /* by a person: what failed until then does not count; 0: never */
    int64_t breaker_settled_since; /* since when it was not over its limit (plan.breaker_over); 0: it was at last */
    struct policy_missed
        missed;        /* of all its nodes, as far as it was counted; those of the snapshot are counted again */
    int64_t incidents; /* of many nodes, begun within breaker_window_ms: each counts as one */
    const struct policy_alike *alike; /* of the nodes that are not in this snapshot */
    size_t alike_count;
};

/* The incident of many nodes that has taken this one. */
struct policy_incident {
    int64_t id;
    enum topology_level level;
    const char *domain;
    enum incident_cause cause;
    int64_t started_at;
    int64_t nodes; /* that show it now, this one among them */
};

/* One past repair of the slot, or of hardware that is in it now; newest first. */
struct policy_repair {
    enum operation_kind kind; /* RESET, REBOOT or REPLACE */
    const char *instance_id, *device, *code;
    const char *new_instance; /* of a replacement; "" */
    int64_t at, finished_at;
    int64_t cleared_by_reset_at; /* of a reset: when the device was reset, by its agent's clock; 0: it was not */
    const char *boot_id;         /* … in that boot */
    bool same_piece;             /* of another instance: what it was for is in this machine, where device says */
    const char *node;            /* the slot, when it is another; NULL: this one */
    bool succeeded;
    bool by_person;    /* people's own repairs are shown, but do not count as attempts */
    bool not_cleared;  /* it failed because the machine did not come back, or failed its return checks */
    bool no_return;    /* the machine did not come back from it, and nothing was done to the node since */
    const char *error; /* of what it failed */
};

/* The code of a fault without evidence from an agent: nobody hears the node. Stored in the ledger. */
#define POLICY_CODE_UNREACHABLE "unreachable"
#define POLICY_CODE_OPERATOR "operator" /* a person asked for it in the scheduler */

/* Why the machine in the slot was held for a person, who has not released it since. */
struct policy_person_hold {
    const char *code, *device;
    int64_t at;
};

/* What a person said to the last repair that was to be approved. */
struct policy_approval {
    enum approval_state state;
    enum action action;        /* RESET, REBOOT or REPLACE; NONE: nothing was asked */
    const char *code, *device; /* what for */
    const char *by;            /* who answered; of an expired one, whose approval expired, "": nobody's */
    const char *reason;        /* in that person's words; "" */
    int64_t at;                /* when it was answered, or ran out; asked: when it was asked */
    int64_t expires_at;
};

/* Whether a question that was asked for this is the one that such a decision asks: of one device any code is the same
 * trouble, of the node as a whole each code is one of its own. */
bool policy_approval_is_for(enum action asked_action, const char *asked_code, const char *asked_device,
                            enum action action, const char *code, const char *device);

enum policy_request { POLICY_REQUEST_NONE, POLICY_REQUEST_REBOOT, POLICY_REQUEST_REPLACE };

struct policy_node {
    int64_t id;
    const char *name;
    enum node_state state;
    const char *instance_id, *boot_id;
    const char *image; /* what its machine was launched from; "" or NULL: the provider's own */
    int64_t boot_at;   /* when this boot was first reported */
    bool opted_out;
    const char *paused_why; /* a person holds the whole cluster: who, and why; "" or NULL: nobody does */
    bool can_reset;         /* its agent offers to reset one GPU */
    bool
        resumes_elsewhere; /* a job that resumes by itself had it when it broke, and its group wants such nodes replaced */
    bool has_active_operation;
    bool idle;                 /* as far as the scheduler knows it has no work, and may get some */
    bool under_test;           /* that operation is a deep health check */
    int64_t last_heartbeat_at; /* 0: never since launch */
    bool has_scheduler;
    bool scheduler_known; /* the scheduler's snapshot is fresh and holds this node */
    bool scheduler_responding;
    bool scheduler_down; /* nothing answers it there: `down*` in Slurm, NotReady in Kubernetes */
    bool switched_off;   /* by the scheduler: it saves power, or is being rebooted, so silence says nothing */
    bool maintenance;    /* the scheduler's: people work on it, and nothing is done to it meanwhile */
    bool reserved;       /* somebody has it in the scheduler for a time, or a job is to get it */
    const struct policy_person_hold *person_hold; /* NULL: none stands */
    bool external_drain;                          /* a person (or another program) holds it in the scheduler */
    const char *scheduler_reason;
    const struct policy_incident *incident; /* NULL: none */
    enum policy_request request;            /* a person asked for it in the scheduler */
    const char *request_by;
    struct policy_approval approval;
    const struct verdict *const *verdicts; /* open ones */
    size_t verdict_count;
    const struct policy_repair *repairs;
    size_t repair_count;
    const struct hardware *hardware; /* of the instance, so that one device under several names is one */
    size_t hardware_count;
};

struct policy_snapshot {
    int64_t now_ms;
    struct fault_scope faults;       /* for the group's type of instance */
    struct policy_settings settings; /* of this group */
    int64_t policy_version;          /* of the document that they are from; 0: none */
    struct policy_group group;
    const struct policy_node *nodes;
    size_t node_count;
};

struct policy_plan {
    struct decision *decisions; /* at most one per node; nodes with nothing to say have none. Owned by the plan */
    size_t count;
    struct policy_alike *alike; /* of the snapshot's nodes. Owned by the plan */
    size_t alike_count;
    bool breaker_opens, breaker_closes; /* what the group's breaker does now */
    bool breaker_over;                  /* more fail than it allows: it has not settled, whoever counted them */
    char breaker_why[SENTENCE_MAX_BYTES];
};

void policy_decide(const struct policy_snapshot *snapshot, struct policy_plan *ret_plan);
void policy_plan_free(struct policy_plan *plan);

/* The newest replacement that took away, for a fault, a piece that is in the machine now; NULL: none. */
const struct policy_repair *policy_same_hardware(const struct policy_settings *settings, const struct policy_node *node,
                                                 int64_t now_ms);

/* What the past of a machine weighs, in points: of all of it, of its worst device, and of the slot that it is in. */
struct policy_lemon {
    int64_t machine, device_score, slot;
    const char *device;           /* of the repair that named it; "": none did */
    int64_t repairs, not_cleared; /* of the machine, within the window */
    int64_t last_at;              /* 0: there were none */
};
/* Of the node's repairs, which have to reach back as far as the window. */
void policy_lemon(const struct policy_settings *settings, const struct policy_node *node, int64_t now_ms,
                  struct policy_lemon *ret_lemon);
/* How far back a node's repairs have to be known for a decision. */
int64_t policy_history_ms(const struct policy_settings *settings);

/* The reset that ended after what this verdict last saw of its device, in the same boot: it has answered it. NULL: none did. */
const struct policy_repair *policy_cleared_by_reset_by(const struct policy_node *node, const struct verdict *verdict);

/* When the newest suspicion of the node came, as others reported it (suspicion.c); 0: there is none. */
int64_t policy_suspected_at(const struct policy_node *node, int64_t now_ms);

/* A node's health from its open verdicts and its last sign of life. */
enum health policy_health(const struct policy_snapshot *snapshot, const struct policy_node *node);

/* Whether the machine that fills a slot has its lifecycle scripts behind it: what this operation, which has ended, says of it.
 * UNKNOWN: the one before it says. */
enum policy_scripts { POLICY_SCRIPTS_BEHIND, POLICY_SCRIPTS_AHEAD, POLICY_SCRIPTS_UNKNOWN };
enum policy_scripts policy_scripts_after(const struct operation *op);

/* What becomes of a node in service that the scheduler took out by itself for an absence that is over: it restarted, or did not
 * respond, and is heard again. Nobody decided that; nothing is against the node, or it would be another question. */
#define POLICY_CODE_ABSENCE "node.reboot.unexpected"
enum policy_return_to_service {
    POLICY_RETURN_TO_SERVICE_NOW,     /* through the return gate */
    POLICY_RETURN_TO_SERVICE_UNHEARD, /* its agent is to speak first */
    POLICY_RETURN_TO_SERVICE_MANUAL, /* NodeRecovery None, a mode that does not act, or a person holds it: it is told, and left */
    POLICY_RETURN_TO_SERVICE_SERIES, /* it happened too often: a person has to look */
};
struct policy_absence {
    enum node_recovery recovery;
    enum repair_mode mode;   /* of the class of POLICY_CODE_ABSENCE */
    enum policy_claim claim; /* that keeps it from being returned */
    bool heard;              /* its agent speaks */
    int64_t earlier;         /* how often it was given back after an absence within policy_absence_window_ms */
};
enum policy_return_to_service policy_return_to_service(const struct policy_absence *absence);
/* By the row of POLICY_CODE_ABSENCE: it is for a person from so many on within that time. */
int64_t policy_absence_window_ms(void);
int64_t policy_absence_limit(void);

/* Whether this verdict by itself is a fault of the node: its agent called it critical, or the server's own table asks
 * for a repair or a person, or it was found to be one before (node_fault), as by its rate. The policy judges by more, as
 * the driver's word. */
bool policy_is_node_fault(const struct fault_scope *faults, const struct verdict *verdict);
/* Whether the breaker counts it: a fault of the node that nobody has planned. */
bool policy_is_failing(const struct fault_scope *faults, const struct verdict *verdict);

/* The breaker counts what is newer than this: its window, and not before a person closed it (0: nobody did). */
int64_t policy_breaker_since(const struct policy_settings *settings, int64_t now, int64_t closed_at);

/* Whether heartbeats of it are missing already: long before it counts as silent, and so that a fleet that falls silent is seen as one. */
bool policy_is_late(const struct policy_settings *settings, int64_t heard_at, int64_t now);
/* The breaker that they have opened counts nodes that nobody hears for as long as they are gone. */
int64_t policy_breaker_lost_since(const struct policy_settings *settings, int64_t now, int64_t opened_at,
                                  int64_t closed_at);

/* Whether a node that nobody hears counts for the breaker: like a fault only since then, from when it was lost or did not come
 * back from a repair (0: there was none). Else who is gone for good would hold it open for ever. */
bool policy_counts_as_lost(const struct policy_settings *settings, int64_t since, int64_t now, int64_t heard_at,
                           int64_t no_return_at);

/* The group's breaker lets so many nodes fail within its window. */
int64_t policy_breaker_limit(const struct policy_settings *settings, int64_t desired);

/* So many nodes of a group of this size have to be healthy, or nothing more is repaired by itself. */
int64_t policy_least_healthy(const struct policy_settings *settings, int64_t desired);

/* Of which class of fault a repair for this code is; NONE: a person's. */
enum fault_class policy_repair_class(const char *code);

/* machine_capacity.c: what the answers of providers and the ends of launches make of a group's capacity. True: it is news. */
bool policy_machine_capacity_short(const struct policy_settings *settings, struct machine_capacity *machine_capacity,
                                   int64_t now_ms);
bool policy_machine_capacity_launched(struct machine_capacity *machine_capacity); /* there is capacity again */
bool policy_machine_capacity_provision_failed(const struct policy_settings *settings,
                                              struct machine_capacity *machine_capacity, int64_t now_ms);
bool policy_machine_capacity_came_up(struct machine_capacity *machine_capacity); /* the group is protected no more */

/* What there is little room for, as sinfo and a list of nodes: the code and the device, then the end of the decision's sentence, word for
 * word. */
void policy_explain_short(const struct decision *decision, char *dst, size_t size);

/* The decision in sentences for people (explain). Caller frees. verdicts are those of decision->evidence. */
char *policy_explain(const struct fault_scope *faults, const struct decision *decision, const struct verdict *verdicts,
                     size_t verdict_count, const char *node_name);

#endif
