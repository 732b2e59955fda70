/* A group as the loop remembers it, with what is counted of its nodes. */
#ifndef HOLDFAST_SERVER_RECONCILE_BASE_GROUP_H
#define HOLDFAST_SERVER_RECONCILE_BASE_GROUP_H

#include "server/config/loop_settings.h"
#include "server/reconcile/base/queue.h"

struct rcluster;
struct reconcile;
struct rnode;

#define ROOM_LOOK_MAX 64 /* held nodes looked at again when room for one was made in their group */

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
    int64_t failed_recently;    /* distinct nodes in it */
    struct policy_alike *alike; /* weak findings of its nodes: decide/alike.c */
    size_t alike_count;
    struct rnode *out;           /* nodes that are HELD or FAILED */
    struct idqueue silent;       /* nodes whose agent is silent, and some that are back */
    struct policy_missed missed; /* nodes of which heartbeats are missing … */
    int64_t suspects;            /* nodes that somebody suspects */
    int64_t missed_at;           /* … and when they were counted; 0: never */
    int64_t look_at;             /* when the breaker is looked at again; 0: not */
    bool listed;                 /* found in the store by the present resync */

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

struct rgroup *reconcile_group_find(const struct reconcile *r, int64_t id);
/* Held nodes of the group are looked at again when there is time, at most so many (0: all). */
void reconcile_group_look(struct reconcile *r, struct rgroup *group, int max);
/* All of its nodes that something else may be decided about, where what is decided by has changed. */
void reconcile_group_look_unwell(struct reconcile *r, struct rgroup *group);
/* As it is from now on; what waited for it is looked at. */
void reconcile_group_breaker(struct reconcile *r, struct rgroup *group, int64_t opened_at);
/* What failed until then the breaker counts no more. */
int64_t reconcile_group_counted_since(const struct rgroup *group, int64_t now);
void reconcile_group_failing(struct reconcile *r, struct rnode *node, int64_t at);
void reconcile_group_expire(struct reconcile *r, struct rgroup *group, int64_t now);

#endif
