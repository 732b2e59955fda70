/*
 * Inside the reconcile loop: what it knows of the world in memory, and how its rooms share a turn.
 *
 *   reconcile.c, turn.c  the loop; one turn's transaction, and what comes after it
 *   base/                inbox, calls, due times, links to schedulers, nodes by row number, record and effects
 *   world/               the store into memory: tables, what changed, counts, topology, settings of groups, capacity, history
 *   observe/             snapshots of nodes and jobs of each scheduler, and agents that are not seen
 *   decide/              snapshot of a group, the policy's plan, what of it is new, approvals, incidents, idle checks
 *   operation/           one operation one step further: steps, drain, gates, machine calls, reset, checks, its end
 *   cluster/             groups that come up, grow, shrink, roll and go
 *   keep/                what each scheduler is kept at
 *
 * Only the loop's thread touches struct reconcile, but for the inbox. Inside a transaction (on the writer's
 * thread, while the loop waits) nothing in memory is changed: what shall change is noted as an effect and
 * done after the commit, because a transaction may be run again and may fail.
 */
#ifndef HOLDFAST_SERVER_RECONCILE_PRIVATE_H
#define HOLDFAST_SERVER_RECONCILE_PRIVATE_H

#include "base/log.h"
#include "base/map.h"
#include "base/status.h"
#include "base/text.h"
#include "policy/incident.h"
#include "policy/provision.h"
#include "server/reconcile/base/link.h"
#include "server/reconcile/base/parts.h"
#include "server/reconcile/reconcile.h"
#include "server/service/access/access.h"

#include <pthread.h>

#define DECIDE_NODES_MAX 1024     /* nodes looked at in a turn, of a burst: one commit for so many, within 0.1 s */
#define DECIDE_LATER_MAX 64       /* the same for nodes that can wait, so that those that cannot never wait long */
#define DECIDE_ROWS_MAX 4096      /* open verdicts of one node looked through, critical ones first */
#define DECIDE_VERDICTS_MAX 256   /* of those that are not critical, as many go to the policy */
#define ROOM_LOOK_MAX 64          /* held nodes looked at again when room for one was made in their group */
#define OPERATE_MAX 64            /* operations advanced in a turn */
#define RESYNC_ROWS_MAX 500       /* rows read again in a turn after a wake */
#define HOLDS_IN_FLIGHT_MAX 8     /* marks of held nodes under way at once, so that steps are not crowded out */
#define INBOX_VERDICTS_MAX 65536  /* beyond: the store is asked which nodes are undecided */
#define PLACES_INTERVAL_MS 300000 /* the topology is asked for so often: it is rewritten when a node is replaced */
#define SWEEP_INTERVAL_MS 1000    /* silent agents are looked for so often */
#define UNHEARD_LOOK_MS 10000     /* a node not heard of since we started is looked at again so soon */
#define BREAKER_LOOK_MS 15000     /* an open breaker is looked at so often */
#define LOST_TOGETHER_MS 15000    /* nodes that vanish within this are judged together: one rack, not many faults */
#define HOUSEKEEPING_MS 60000     /* old events and expired tokens go so often */
#define HOUSEKEEPING_ROWS_MAX 256 /* old changes of clusters go so many at a time */
#define OBSERVE_FAILURES_DOWN 2   /* so many failed looks in a row: the scheduler is down */
#define LOOK_PAUSE_MS_MIN 500 /* after a change of ours the scheduler is looked at again, not sooner than this … */
#define LOOK_PAUSE_FACTOR 10  /* … or so many times what the last look took */
#define SNAPSHOT_AGE_FACTOR 4 /* a picture older than so many observe intervals is no picture */
#define LAUNCHES_SHARE_PERCENT 75 /* of the calls at once: launches of a large cluster leave room for repairs */
#define STORE_PAUSE_MAX_MS 10000  /* a store that fails is tried again at least so often */

#define ACTOR_POLICY "policy"
struct rop;

/* The open operation of a change of a whole cluster; id 0: there is none. */
struct rchange {
    int64_t id;
    bool begun;  /* it is RUNNING */
    bool failed; /* something has gone wrong with it already */
    struct operation_progress progress;
    int64_t told_at; /* when its progress was written last */
};

/* --- the tables --------------------------------------------------------------------------------- */
struct rcluster {
    struct rcluster *next;
    int64_t id, revision;
    char name[NAME_MAX_BYTES];
    enum cluster_state state;
    enum node_recovery recovery;
    bool paused;                       /* a person holds all of it … */
    char paused_why[REASON_MAX_BYTES]; /* … who, and why */
    struct scheduler_link *link;       /* NULL: it has no scheduler */
    enum provisioning provisioning;
    char failure[SENTENCE_MAX_BYTES];
    bool dirty;                                         /* something changed that may move it or a group of it */
    bool listed;                                        /* found in the store by the present resync */
    int64_t look_at;                                    /* when time alone may move it; 0: never */
    struct rchange changes[OPERATION_KINDS_OF_CLUSTER]; /* by kind, from OPERATION_KIND_FIRST_OF_CLUSTER on */
};

struct failing {
    int64_t at, node_id;
};

struct rgroup {
    struct rgroup *next;
    struct rcluster *cluster;
    int64_t id;
    struct instance_group row; /* as it is in the store */
    char name[NAME_MAX_BYTES], instance_type[NAME_MAX_BYTES], provider[NAME_MAX_BYTES];
    struct loop_settings settings;  /* what counts for it: reconcile/world/group_settings.c */
    int64_t policy_version;         /* of the document that they are from; 0: none */
    bool role_known, off_scheduler; /* its nodes are none of the scheduler's: group_spec_role */
    int64_t breaker_opened_at, settled_since;
    int64_t last_repair_at; /* when the newest began; 0: there was none */
    int64_t in_repair, replacing, in_repair_of[FAULT_CLASS_COUNT];
    struct failing *failing; /* a queue by time: node faults within the breaker's window */
    size_t failing_head, failing_tail, failing_capacity;
    int64_t failed_recently; /* distinct nodes in it */
    struct rnode *out;       /* nodes that are HELD or FAILED */
    struct idqueue silent;   /* nodes whose agent is silent, and some that are back */
    int64_t look_at;         /* when the breaker is looked at again; 0: not */
    bool listed;             /* found in the store by the present resync */

    /* Kept up by reconcile_node_recount */
    struct rnode *first; /* all its nodes */
    int64_t slots[SLOT_KIND_COUNT], ready, healthy, idle;
    int64_t unwell;              /* something else may be decided about them */
    int64_t outdated, updatable; /* nodes without the wanted image, and of them those that may be taken now */
    int64_t members, members_done, members_bad; /* of the rollout's present batch */
    uint64_t image;                             /* what its nodes shall run: reconcile_image */

    bool scaling; /* nodes came or went when it was looked at last */
    struct rnode
        *unprovisioned; /* one that could not be provisioned; NULL: not looked for since the last one changed */
    char unprovisioned_why[SENTENCE_MAX_BYTES];
    bool has_rollout;
    struct rollout rollout;  /* the one under way */
    int64_t batch_look_at;   /* nobody could be taken for a batch: not before then */
    struct idqueue victims;  /* chosen to go, the first first */
    int64_t victims_desired; /* for this size */
};

/* What a member of a rollout's batch has come to. */
enum member { MEMBER_NOT, MEMBER_AT_WORK, MEMBER_DONE, MEMBER_BAD };

/* What is counted of a node in its group. */
struct tally {
    uint8_t slot, member; /* enum slot_kind, enum member */
    bool ready, outdated, updatable;
    bool healthy; /* in service, heard, and without a fault */
    bool idle;    /* and without work, as far as the scheduler knows; nothing else follows from it */
    bool unwell;  /* not in service, not healthy, or downed by the scheduler */
};

enum rnode_note {
    NOTE_SILENT = 1,    /* the agent fell silent */
    NOTE_NEAR_MISS = 4, /* a reason that is almost a request */
    NOTE_LIFTED = 8,    /* a person put a held node back into service */
    NOTE_MARKED = 16,   /* our hold was set in the scheduler */
};

/* A node as the loop remembers it; the truth is in the store. 100,000 of these have to be cheap. */
struct rnode {
    int64_t id;
    struct rgroup *group;
    struct rop *op; /* the active operation, or NULL */
    struct rnode *out_prev, *out_next;
    struct rnode *group_prev, *group_next;
    uint64_t image; /* what its instance was launched from: reconcile_image; 0: none */
    char *name;
    char *reason, *reason_user; /* in the scheduler; NULL: none */
    uint16_t note_at;           /* the byte of reason at which our own note begins; 0: the reason is not ours */
    struct raddress *address;   /* what the scheduler was told of where it lives; NULL: nothing */
    int64_t reason_at;          /* when it was given, by the scheduler's clock; 0: not known */
    int64_t due_at;             /* looked at again then; 0: only when something happens */
    int64_t failing_at;         /* newest node fault in the group's window; 0: none */
    int64_t verdict_us;         /* when the oldest critical verdict came that no decision has seen; 0: none */
    int64_t silent_since;       /* last sign of life of a silent agent; 0: it speaks */
    int64_t no_return_at;       /* when the repair ended from which it did not come back; 0: none */
    int64_t sign_at;            /* newest verdict about its network or power; 0: none */
    int64_t sign_until;         /* when that is a sign no more */
    int64_t checked_at;         /* newest deep check, of a node that idle checks have looked at; 0: not read */
    int64_t spent_at;           /* signs until then belong to an incident that is over */
    struct rincident *incident; /* of many nodes, that has taken it; NULL: none */
    uint64_t seen_seq;          /* of the newest picture that holds the node; 0: none */
    uint64_t touched_seq;       /* of our own last change in the scheduler: older pictures say nothing */
    uint32_t domain[TOPOLOGY_LEVEL_COUNT]; /* reconcile_domain; 0: not known */
    uint8_t state, health, request, leftover;
    uint8_t sign_cause; /* of sign_at */
    uint8_t notes;
    uint8_t look;         /* enum look: the queue it stands in */
    uint8_t idle_looks;   /* in a row at which it could be checked: reconcile/decide/idle.c */
    uint8_t launch_tries; /* launches that failed in a row before it was ever in service */
    struct tally tally;   /* as it is counted in its group */
    bool opted_out : 1;
    bool was_ready : 1;     /* in service at least once */
    bool launch_failed : 1; /* its last launch failed, and it was never in service */
    bool member : 1;        /* of the present batch of its group's rollout */
    bool has_instance : 1;
    bool responding : 1, schedulable : 1, drained : 1, busy : 1, switched_off : 1;
    bool downed : 1;        /* by the scheduler, for an absence that is over */
    bool marked : 1;        /* our hold has been seen, or was set, in the scheduler */
    bool hold_call : 1;     /* a mark for the hold is on its way */
    bool hold_waits : 1;    /* … or waits for others to come back */
    bool in_batch : 1;      /* it is part of the snapshot that is being made */
    bool lost : 1;          /* silent, after it was heard since we started */
    bool hold_refused : 1;  /* a person holds it: wait for another picture */
    bool hold_stale : 1;    /* the reason changed since it was shown there */
    bool request_fresh : 1; /* a request that no decision has answered */
    bool was_clear : 1;     /* the policy had nothing to say since the last decision */
    bool settled : 1;       /* in service, and what is known of it costs nothing and colours nothing */
};

/* Repairs, releases and deletions go before launches, of which there may be very many. */
#define OPERATION_CLASSES 2

/* What an operation remembers between turns. All of it may be lost: then a step is done again. */
struct rop_scratch {
    int64_t evicted_at;   /* jobs were told to go then */
    int64_t undo_until;   /* cancelled: the mark is taken back until then */
    int64_t described_at; /* the provider was asked about the instance then */
    uint64_t jobs_hash;   /* the jobs that were written into the timeline last */
    int failures;         /* of the present step, one after the other */
    bool lives_on_nobody; /* no job of the node lives on without it, or none did in time */
    bool conflict;        /* a CONFLICT is to be judged by the next picture */
    bool addressed;       /* the scheduler knows the instance's address */
    bool undoing;         /* the mark is being taken back now */
    bool troubled;        /* the step says what the provider sees to be wrong with the machine */
    bool paused;          /* the scheduler was away: the step's time begins anew */
    bool marked, cleared; /* a new machine that is to be tested was taken out of scheduling, and has no jobs */
};

struct rop {
    int64_t id;
    enum operation_kind kind;
    enum fault_class fault; /* what it is for, of a repair */
    enum step_kind step;
    bool past_return; /* no cancel any more */
    bool ready;
    bool in_flight;
    bool waits_for_slot, waits_for_link; /* the latter: for one of its scheduler's share */
    int64_t due_at;
    struct rcall *result;
    struct rop_scratch scratch;
};

/* --- calls ------------------------------------------------------------------------------------- */
enum call_kind {
    CALL_OBSERVE,
    CALL_JOB_SNAPSHOT,
    CALL_CORDON,
    CALL_HOLD,     /* a mark without an operation */
    CALL_ANNOTATE, /* a word behind a person's reason */
    CALL_WORKLOADS,
    CALL_SIGNAL, /* jobs holds whom */
    CALL_EVICT,
    CALL_CANCEL, /* the job key, if its name is reason */
    CALL_UNCORDON,
    CALL_UPDATE_ADDRESS, /* a machine of people's stands where another stood; without an operation: it was told and is forgotten */
    CALL_GOVERN,
    CALL_QUARANTINE,
    CALL_CONFIGURE,
    CALL_REBOOT,
    CALL_TERMINATE,
    CALL_LAUNCH,
    CALL_DESCRIBE,
};

/* Everything a blocking call needs and answers; it knows nothing of the loop but where to put itself when done. */
struct rcall {
    struct rcall *next, *previous;
    struct inbox *inbox;
    enum call_kind kind;
    int64_t node_id, operation_id;
    uint64_t seq;                /* the loop's tick when it was sent */
    struct scheduler_link *link; /* whose call it is; NULL: a provider's */
    struct scheduler_driver scheduler;
    struct provider_driver provider;
    char cluster[NAME_MAX_BYTES], group[NAME_MAX_BYTES], instance_type[NAME_MAX_BYTES];
    char node[NODE_NAME_MAX_BYTES];
    char image_id[IMAGE_ID_MAX_BYTES], release[RELEASE_VERSION_MAX_BYTES], zone[ZONE_MAX_BYTES];
    char instance_id[ID_INSTANCE_MAX];
    enum scheduler_request request; /* of the owner of a cordon … */
    bool any_owner;                 /* … or whose of ours it is does not matter */
    char reason[REASON_MAX_BYTES],
        seen[REASON_MAX_BYTES];   /* the owner's note, and what may give way to it ("": nothing) */
    char shown[REASON_MAX_BYTES]; /* answered: how a cordon stands in the scheduler */
    char key[KEY_MAX_BYTES];
    char server_url[ADDRESS_MAX_BYTES], fingerprint[64], token[SERVICE_TOKEN_TEXT_MAX];
    struct scheduler_move move; /* was is owned */
    bool asked_before;          /* the same move may have been made already, though nobody heard of it */
    bool update_address;        /* tell the scheduler where the instance lives */

    int status;
    char error[SCHEDULER_ERROR_MAX];
    struct scheduler_job *jobs;
    size_t job_count;
    enum job_signal signal;
    struct provider_instance instance;
    struct scheduler_observation observation;
    bool with_places;              /* an observation that asks for the topology as well */
    struct job_snapshot *snapshot; /* in use once: a survey's, made of the observation */
    struct scheduler_place *places;
    size_t place_count;
    struct scheduler_governance *governance; /* owned */
    struct scheduler_quarantine *quarantine; /* owned */
    struct scheduler_desired *layout;        /* owned */
    bool addressed;
};
struct rcall *reconcile_call_new(enum call_kind kind, int64_t node_id, int64_t operation_id);
void reconcile_call_free(struct rcall *call);
AUTO_DEFINE(struct rcall *, rcall, reconcile_call_free)
/* Runs it on the executor; its result comes through the inbox. Takes the call; UNAVAILABLE as a result when there is no room. One of a
 * scheduler that has its share under way waits until another comes back; only looks at its nodes go at once. */
void reconcile_call_send(struct reconcile *r, struct rcall *call);
/* Its result is here: the next one that waits is sent. */
void reconcile_call_is_back(struct reconcile *r, const struct rcall *call);
/* The call is this scheduler's. */
void reconcile_call_to(struct rcall *call, struct scheduler_link *link);
/* A backend's answer that asking again cannot change. */
bool reconcile_call_is_final(int status);

/* --- the loop ---------------------------------------------------------------------------------- */
enum effect_kind {
    EFFECT_NODE,             /* the node's row changed */
    EFFECT_OPERATION_NEW,    /* an operation was stored */
    EFFECT_OPERATION,        /* an operation went on */
    EFFECT_OPERATION_END,    /* an operation is over */
    EFFECT_DECIDED,          /* a node was looked at */
    EFFECT_FLEET,            /* another instance fills the slot */
    EFFECT_MACHINE_CAPACITY, /* a group's supply of machines changed */
    EFFECT_BREAKER,          /* a group's breaker opened or closed */
    EFFECT_QUARANTINE,       /* a node is to be set apart, or to be given back */
    EFFECT_ADDRESS,          /* the scheduler was told where the node's machine lives, or it has none any more */
    EFFECT_NODE_GONE,        /* a slot that was deleted was forgotten */
};

struct effect {
    enum effect_kind kind;
    struct rnode *node;
    union {
        struct {
            enum node_state state;
            enum health health;
            bool opted_out, has_instance, served;
            uint8_t launch_tries;
            int64_t retry_at;
        } row;
        struct {
            int64_t id;
            enum operation_kind kind;
            enum fault_class fault;
            enum step_kind step;
            enum operation_state end;
            bool past_return, waits_for_slot, waits_for_link;
            bool operated; /* one that is new was advanced in this turn already */
            uint8_t leftover;
            int64_t due_at;
            struct rop_scratch scratch;
            struct rcall *call; /* owned; sent after the commit */
            struct rcall *took; /* the result that was looked at */
        } operation;
        struct {
            bool stored, again, clear, unheard, settled;
            uint8_t notes;
            int64_t look_at; /* 0: when something happens */
        } decided;
        struct {
            struct fleet_slot slot;
            uint64_t image;
        } fleet;
        struct {
            char told[ADDRESS_MAX_BYTES];
        } address;
        struct {
            struct rgroup *group;
            int64_t opened_at;
        } breaker;
        struct {
            struct rgroup *group;
            struct machine_capacity machine_capacity;
        } machine_capacity;
    } u;
};

#define TURN_LINES_MAX 64 /* lines for the log from one turn; more are counted */
struct turn_line {
    enum log_level level;
    char *text;
};

/* One turn's transaction. */
struct turn {
    struct reconcile *r;
    struct db_tx *tx;
    int64_t now;
    struct decide_batch *batch; /* nodes that are looked at; NULL: none */
    struct rnode *ready[OPERATE_MAX];
    size_t ready_count;
    int slots_left;               /* backend calls that may still be sent */
    int provider_slots_left;      /* … of those that are no scheduler's */
    struct provision *provision;  /* a cluster that moves; NULL: none */
    const struct rcluster *asked; /* the cluster that the store was asked about in this turn; NULL: none yet … */
    bool asked_paused;            /* … and whether a person has paused it */
    bool muted;                   /* nothing is told: it was told the first time */
    bool housekeeping, link_events;
    struct effect *effects;
    size_t effect_count, effect_capacity;
    int64_t event_count;
    struct turn_line lines[TURN_LINES_MAX];
    size_t line_count;
    int64_t lines_left_out;
};

struct reconcile {
    struct reconcile_deps deps;
    struct service *service;
    struct db *db;
    struct inbox *inbox;
    pthread_t thread;
    bool running;

    struct idmap nodes;
    struct scheduler_link *links;
    struct rcluster *clusters;
    const struct fault_overrides *overrides; /* by which what is not well was looked at last */
    struct rgroup *groups;
    struct idqueue
        looks[LOOK_COUNT]; /* a node that was moved up still stands in the lower queue, and is skipped there */
    struct idqueue ready[OPERATION_CLASSES], slotless[OPERATION_CLASSES];
    struct due due;

    uint64_t tick; /* counts calls sent and come back: which of two things was first */
    int calls_in_flight;
    int isolating; /* turns that take one thing each, because of a row that cannot be written */

    int64_t sweep_at, housekeeping_at, paused_until;
    int64_t history_at, history_round_at; /* the next slice; the next round */
    size_t history_place;                 /* in the table of nodes, where the next slice begins; 0: a new round */
    int64_t store_backoff_ms;

    bool store_unreadable;

    int64_t log_second_at, log_lines, log_left_out;

    struct map *domain_names;
    struct domain **domains; /* by their numbers */
    size_t domain_count;
    bool domains_full;              /* that was told */
    struct idqueue places_unstored; /* nodes of which the scheduler says where they are, and the store does not yet */
    struct rincident *incidents;    /* that go on */
    struct idqueue signs;           /* nodes with sign_at, and some that had it */
    bool signs_changed;
    int64_t incident_look_at; /* 0: there is none */

    int64_t provisioned; /* the cluster that moved last: the next one has its turn */

    struct wakes wakes; /* what is to be read again */
    int64_t resync_at;  /* not before then: the store could not be read */
    bool new_nodes_wanted, resync_wanted, resync_running, undecided_wanted;
    int64_t newest_node; /* those with a larger row number are new */
    struct rcluster *resync_cluster;
    char resync_after[NODE_NAME_MAX_BYTES];

    pthread_mutex_t stats_mutex;
    struct reconcile_stats stats, published;
};

/* reconcile/turn.c: one transaction with all that follows from the batch (or NULL) and from what is ready; false when
 * there was nothing, or the store refused. */
bool reconcile_turn(struct reconcile *r, struct decide_batch *batch);

/* There is something to record from now on, or there is nothing left: tells it at once, since a write may hang. */
void reconcile_unrecorded(struct reconcile *r, bool something);

int64_t reconcile_now(const struct reconcile *r);
int64_t reconcile_now_us(const struct reconcile *r);

/* reconcile/base/table.c */
struct rcluster *reconcile_cluster_find(const struct reconcile *r, int64_t id);
struct rgroup *reconcile_group_find(const struct reconcile *r, int64_t id);
struct rnode *reconcile_node_find(const struct reconcile *r, int64_t id);
struct rnode *reconcile_node_add(struct reconcile *r, struct rgroup *group, const struct node *row);
void reconcile_node_set(struct reconcile *r, struct rnode *node, enum node_state state, enum health health);
/* The node is looked at: with this haste, or soon. */
void reconcile_node_look(struct reconcile *r, struct rnode *node, enum look look);
void reconcile_node_dirty(struct reconcile *r, struct rnode *node);
/* The same when it can wait: nothing happened to the node itself. */
void reconcile_node_later(struct reconcile *r, struct rnode *node);
size_t reconcile_looks_waiting(const struct reconcile *r);
/* At this time or before. */
void reconcile_node_due(struct reconcile *r, struct rnode *node, int64_t at);
/* The operation of a node: known, poked to be looked at in this or the next turn, and forgotten. */
/* fault: what it is for, of a repair (policy_repair_class); created_at: when it was stored. */
struct rop *reconcile_operation_add(struct reconcile *r, struct rnode *node, int64_t id, enum operation_kind kind,
                                    enum fault_class fault, int64_t created_at);
int reconcile_operation_class(enum operation_kind kind);
void reconcile_operation_poke(struct reconcile *r, struct rnode *node);
void reconcile_operation_drop(struct reconcile *r, struct rnode *node);
/* Held nodes of the group are looked at again when there is time, at most so many (0: all). */
void reconcile_group_look(struct reconcile *r, struct rgroup *group, int max);
/* All of its nodes that something else may be decided about, where what is decided by has changed. */
void reconcile_group_look_unwell(struct reconcile *r, struct rgroup *group);
/* What failed until then the breaker counts no more. */
int64_t reconcile_group_counted_since(const struct rgroup *group, int64_t now);
void reconcile_group_failing(struct reconcile *r, struct rnode *node, int64_t at);
void reconcile_group_expire(struct reconcile *r, struct rgroup *group, int64_t now);
void reconcile_node_remove(struct reconcile *r, struct rnode *node);
void reconcile_group_remove(struct reconcile *r, struct rgroup *group);
void reconcile_cluster_remove(struct reconcile *r, struct rcluster *cluster);
void reconcile_table_free(struct reconcile *r);
bool reconcile_node_has_scheduler(const struct rnode *node);
bool reconcile_node_is_out(const struct rnode *node);

/* reconcile/world/group_settings.c */
/* What the policy in force says of a group that is new, or is another now. */
void reconcile_group_settings(struct reconcile *r, struct rgroup *group);
/* Between two turns: takes a new policy, when there is one. */
void reconcile_policy_refresh(struct reconcile *r);
int64_t reconcile_breaker_window_max(const struct reconcile *r);

/* reconcile/world/topology.c */
/* The number of a domain; 0 for none. */
uint32_t reconcile_domain(struct reconcile *r, const struct rcluster *cluster, enum topology_level level,
                          const char *name);
const char *reconcile_domain_name(const struct reconcile *r, uint32_t domain);
/* Where its row says it is. */
void reconcile_node_place(struct reconcile *r, struct rnode *node, const struct node *row);
/* Where the scheduler says nodes are; and a part of that into the store. */
void reconcile_places_take(struct reconcile *r, const struct rcall *call);
void reconcile_places_store(struct reconcile *r);
void reconcile_domains_free(struct reconcile *r);

/* reconcile/decide/incident.c */
/* The newest of its verdicts that may be a sign of an incident of many nodes; at 0: there is none. */
void reconcile_node_sign(struct reconcile *r, struct rnode *node, const struct policy_sign *sign);
/* Looks at all signs, when there is a reason to. */
int reconcile_incidents(struct reconcile *r, int64_t now); /* else nothing may be decided by them */
bool reconcile_incidents_due(const struct reconcile *r, int64_t now);
const struct policy_incident *reconcile_incident_of(const struct rnode *node);
/* That go on, have nodes of the group and began since then. */
int64_t reconcile_incidents_count(const struct reconcile *r, const struct rgroup *group, int64_t since);
int reconcile_incidents_load(struct reconcile *r, struct db_tx *tx);
int reconcile_incidents_resync(struct reconcile *r, struct db_tx *tx);
/* Those of a cluster that is gone; NULL: all. */
void reconcile_incidents_forget(struct reconcile *r, const struct rcluster *cluster);

/* reconcile/world/recount.c */
/* After anything about the node changed: it is counted anew in its group. */
void reconcile_node_recount(struct rnode *node);
/* It is counted no more. */
void reconcile_node_uncount(struct rnode *node);
/* After the group wants another image, or another batch of its rollout is at work: members says whether its members stay. */
void reconcile_group_recount(struct rgroup *group, bool members);
/* A number for what an instance is launched from; never 0. */
uint64_t reconcile_image(const char *image_id, const char *release);
/* An operation on a node that was never in service did not succeed. */
void reconcile_node_unprovisioned(struct rnode *node);

/* reconcile/cluster/batch.c */
/* Which nodes are members of batches that were under way when we went down. */
int reconcile_members_load(struct reconcile *r, struct db_tx *tx);

/* reconcile/cluster/change.c */
/* One that is in the store. */
void reconcile_change_load(struct rcluster *cluster, const struct operation *row);

/* reconcile/decide/idle.c: with housekeeping, in its transaction */
int reconcile_idle_checks(struct turn *turn);

/* reconcile/world/capacity.c */
/* As it is from now on; what waited for it is looked at. */
void reconcile_group_breaker(struct reconcile *r, struct rgroup *group, int64_t opened_at);
void reconcile_group_machine_capacity(struct reconcile *r, struct rgroup *group,
                                      const struct machine_capacity *machine_capacity);

/* reconcile/cluster/provision.c */
struct provision;
/* The next cluster that moves, with what becomes of it; NULL: none does. */
struct provision *reconcile_provision_plan(struct reconcile *r, int64_t now);
/* Inside the transaction; after it; and when it can not be written. */
int reconcile_provision_write(struct turn *turn);
void reconcile_provision_done(struct turn *turn);
/* Last of all: what is no more. */
void reconcile_provision_reap(struct turn *turn);
void reconcile_provision_park(struct turn *turn);
void reconcile_provision_free(struct provision *provision);
/* When a cluster is looked at again; 0: when something happens. */
int64_t reconcile_provision_due(const struct reconcile *r, int64_t now);

/* reconcile/observe/observe.c */
void reconcile_observe_send(struct reconcile *r, struct scheduler_link *link);
void reconcile_observe_take(struct reconcile *r, struct rcall *call);
void reconcile_observe_soon(struct reconcile *r, struct scheduler_link *link);
void reconcile_sweep(struct reconcile *r);
/* When a silent node counts as lost, and with it all silent nodes of its group are looked at. */
int64_t reconcile_lost_at(const struct rnode *node);
void reconcile_group_silent(struct reconcile *r, struct rgroup *group);
void reconcile_agent_changed(struct reconcile *r, struct rnode *node);
/* The picture is young enough to be believed, and holds the node as it is after our own last change. */
bool reconcile_sees(const struct reconcile *r, const struct rnode *node);
/* It has a picture that is younger than all we did, and the node is not in it. */
bool reconcile_unknown_there(const struct rnode *node);
/* Someone else took it out of scheduling. */
bool reconcile_external_drain(const struct rnode *node);
bool reconcile_reason_is_ours(const struct rnode *node);

/* reconcile/decide/decide.c; what a batch is stands in reconcile/decide/decide.h */
struct decide_batch;
struct decide_item;
/* Takes dirty nodes from the queue, reads what is known of them and asks the policy. */
int reconcile_decide(struct reconcile *r, int64_t now, struct decide_batch **ret_batch);
void reconcile_decide_free(struct decide_batch *batch);
AUTO_DEFINE(struct decide_batch *, batch, reconcile_decide_free)

/* What this decision stands on are faults of the node, whatever each verdict is by itself. */
bool reconcile_counts_evidence(const struct decision *decision);

/* reconcile/decide/approval.c */
bool reconcile_approval_is_open(const struct approval *approval, int64_t now);
/* What has run out ends, and that is told. */
int reconcile_approval_expire(struct turn *turn);
/* A question that is new is looked at again when nobody has answered. */
void reconcile_approval_set_expiry(const struct rnode *node, struct decision *decision, int64_t now);
/* Inside the transaction: what the item's decision does to the question; stored: it was stored now; NULL: it was not. */
int reconcile_approval(struct turn *turn, const struct decide_item *item, const struct decision *stored);

/* reconcile/decide/apply.c: inside the transaction */
int reconcile_apply(struct turn *turn);
/* Nothing of the item needs the store: most looks at evidence that costs no node end so. */
bool reconcile_item_is_quiet(const struct decide_item *item, int64_t now);

/* reconcile/world/history.c: due at r->history_at */
void reconcile_history(struct reconcile *r, int64_t now);

/* reconcile/base/record.c: inside the transaction, and after it */
struct effect *turn_effect(struct turn *turn, enum effect_kind kind, struct rnode *node);
void turn_reset(struct turn *turn);
int turn_event(struct turn *turn, enum event_level level, enum event_kind kind, struct rnode *node,
               const struct operation *operation, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
int turn_cluster_event(struct turn *turn, enum event_level level, enum event_kind kind, const struct rcluster *cluster,
                       const char *failure, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* A line about the operation of a change of the whole cluster; its error is why it failed. */
int turn_change_event(struct turn *turn, enum event_level level, enum event_kind kind,
                      const struct operation *operation, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Moves by the table (a move it does not hold is our bug), writes the row, tells the timeline. */
int turn_node_move(struct turn *turn, struct rnode *node, struct node *row, enum node_state to, const char *reason);
/* A line about a group; failure may be "". */
int turn_group_event(struct turn *turn, enum event_level level, enum event_kind kind, const struct rgroup *group,
                     const char *failure, const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* Writes the row as it is. */
int turn_node_write(struct turn *turn, struct rnode *node, const struct node *row);
struct new_operation {
    enum operation_kind kind;
    enum urgency urgency;
    const char *key, *reason, *actor;
    const char *code;                /* what it is about, where no decision says that; NULL: nothing */
    const char *uid;                 /* NULL: a new one */
    const struct decision *decision; /* NULL: none */
};
/* EXISTS or CONFLICT when there is one already: nothing was done. */
int turn_operation_new(struct turn *turn, struct rnode *node, const struct node *row,
                       const struct new_operation *wanted, int64_t *ret_id);
void turn_effects_do(struct turn *turn);

/* reconcile/base/log.c: notes an event that was written; forgets those of a transaction that was not, writes those of one that was */
void turn_log(struct turn *turn, const struct event *event);
void turn_log_forget(struct turn *turn);
void turn_log_write(struct turn *turn);
/* Another second begins: says what the last one left out. */
void reconcile_log_second(struct reconcile *r, int64_t now);

/* reconcile/operation/operate.c: inside the transaction */
int reconcile_operate(struct turn *turn, struct rnode *node);
/* Whose the cordon is that an operation puts on its node. */
struct scheduler_owner reconcile_owner(enum operation_kind kind);
void reconcile_call_owner(struct rcall *call, struct scheduler_owner owner);

#endif
