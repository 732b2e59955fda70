/* A node as the loop remembers it, and when it is looked at. */
#ifndef HOLDFAST_SERVER_RECONCILE_BASE_NODE_H
#define HOLDFAST_SERVER_RECONCILE_BASE_NODE_H

#include "model/model.h"
#include "server/reconcile/base/queue.h"

struct raddress;
struct reconcile;
struct rgroup;
struct rincident;
struct rop;

#define DECIDE_ROWS_MAX 4096 /* open verdicts of one node looked through, critical ones first */

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
    NOTE_UNDECIDED = 2, /* its critical evidence was forgotten */
    NOTE_NEAR_MISS = 4, /* a reason that is almost a request */
    NOTE_LIFTED = 8,    /* a person put a held node back into service */
    NOTE_MARKED = 16,   /* our hold was set in the scheduler */
    NOTE_REMARKED = 32, /* it was put back into service during its repair, and we took it out again */
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
    int64_t looked_verdict;     /* newest verdict that a look has read */
    int64_t silent_since;       /* last sign of life of a silent agent; 0: it speaks */
    int64_t no_return_at;       /* when the repair ended from which it did not come back; 0: none */
    int64_t signal_at;          /* newest verdict about its network or power; 0: none */
    int64_t signal_until;       /* when that is a signal no more */
    int64_t suspected_at;       /* newest suspicion that others have of it; 0: none */
    int64_t checked_at;         /* newest deep check, of a node that idle checks have looked at; 0: not read */
    int64_t spent_at;           /* signals until then belong to an incident that is over */
    struct rincident *incident; /* of many nodes, that has taken it; NULL: none */
    uint64_t seen_seq;          /* of the newest snapshot that holds the node; 0: none */
    uint64_t touched_seq;       /* of our own last change in the scheduler: older snapshots say nothing */
    uint32_t domain[TOPOLOGY_LEVEL_COUNT]; /* reconcile_domain; 0: not known */
    uint8_t state, health, request, leftover;
    uint8_t signal_cause; /* of signal_at */
    uint8_t notes;
    uint8_t look;         /* enum look: the queue it stands in */
    uint8_t idle_looks;   /* in a row at which it could be checked: reconcile/decide/idle.c */
    uint8_t launch_tries; /* launches that failed in a row before it was ever in service */
    struct tally tally;   /* as it is counted in its group */
    bool signal_boot : 1; /* it is that of a boot that nobody asked for */
    bool opted_out : 1;
    bool was_ready : 1;     /* in service at least once */
    bool launch_failed : 1; /* its last launch failed, and it was never in service */
    bool member : 1;        /* of the present batch of its group's rollout */
    bool has_instance : 1;
    bool responding : 1, down : 1, schedulable : 1, drained : 1, busy : 1, switched_off : 1;
    bool maintenance : 1, reserved : 1; /* as the scheduler says */
    bool downed : 1;                    /* by the scheduler, for an absence that is over */
    bool marked : 1;                    /* our hold has been seen, or was set, in the scheduler */
    bool hold_call : 1;                 /* a mark for the hold is on its way */
    bool hold_waits : 1;                /* … or waits for others to come back */
    bool in_batch : 1;                  /* it is part of the snapshot that is being made */
    bool lost : 1;                      /* silent, after it was heard since we started */
    bool hold_refused : 1;              /* a person holds it: wait for another snapshot */
    bool hold_stale : 1;                /* the reason changed since it was shown there */
    bool request_fresh : 1;             /* a request that no decision has answered */
    bool was_clear : 1;                 /* the policy had nothing to say since the last decision */
    bool settled : 1;                   /* in service, and what is known of it costs nothing and colours nothing */
};

struct rnode *reconcile_node_find(const struct reconcile *r, int64_t id);
/* The node is looked at: with this haste, or soon. */
void reconcile_node_look(struct reconcile *r, struct rnode *node, enum look look);
void reconcile_node_dirty(struct reconcile *r, struct rnode *node);
/* The same when it can wait: nothing happened to the node itself. */
void reconcile_node_later(struct reconcile *r, struct rnode *node);
size_t reconcile_looks_waiting(const struct reconcile *r);
/* At this time or before. */
void reconcile_node_due(struct reconcile *r, struct rnode *node, int64_t at);
bool reconcile_node_has_scheduler(const struct rnode *node);
bool reconcile_node_is_out(const struct rnode *node);

#endif
