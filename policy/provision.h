/*
 * How a cluster becomes what was asked for: from a snapshot of its groups, counted by what their slots are, to the next states,
 * the slots that have to go, and the next batch of a software update. Pure like the rest of this room: it sees counts and
 * times, never a node, a clock or the store; whoever calls it walks no fleet.
 *
 * Continuous: groups come into service one by one and stay there while nodes come and go; what could not be provisioned makes
 * its group DEGRADED and is tried again. Only a MinInstanceCount that is not reached in time takes a group back.
 *
 * All or nothing: a creation or an update succeeds with all that it needs or is taken back as a whole. Nothing of what
 * stood before is removed until all that is new has come up, so that going back never needs a machine.
 *
 * Software updates (rollout.c) run while their group and cluster are SYSTEM_UPDATING: batch after batch, and back when a
 * node of a batch does not come up or falls ill before the next one.
 */
#ifndef HOLDFAST_POLICY_PROVISION_H
#define HOLDFAST_POLICY_PROVISION_H

#include "model/model.h"

#include <stddef.h>

/* What a slot is to its group. */
enum slot_kind {
    SLOT_SERVING,       /* was in service, and is or is being seen to */
    SLOT_STARTING,      /* was not yet, and nothing has gone wrong */
    SLOT_UNPROVISIONED, /* was not yet, and its last launch failed: another try may be under way, or a person is needed */
    SLOT_BROKEN,        /* was in service, and its repair gave up */
    SLOT_LEAVING,       /* is being deleted */
    SLOT_GONE,          /* is deleted; only its row is there */
    SLOT_KIND_COUNT
};

struct provision_settings {
    int64_t min_count_deadline_ms;                    /* HyperPod: 3 h until MinInstanceCount is there */
    int64_t launch_pause_min_ms, launch_pause_max_ms; /* after a launch that failed, growing */
};
void provision_settings_default(struct provision_settings *ret_settings);

struct provision_group {
    const char *name;
    enum group_state state;
    int64_t state_since;
    int64_t desired, min_count, previous_desired; /* as in struct instance_group */
    const char *failure;
    int64_t slots[SLOT_KIND_COUNT];
    bool was_scaling; /* nodes came or went when it was looked at last */
    const char *unprovisioned,
        *unprovisioned_why; /* one that could not be provisioned, and its last error; NULL: none */
    const char *broken;     /* one whose repair gave up; NULL: none */

    const struct rollout *rollout;              /* the one under way; NULL: none */
    int64_t outdated;                           /* slots that do not run the wanted image */
    int64_t updatable;                          /* of them, those that can be taken now */
    int64_t members, members_done, members_bad; /* of the present batch */
    const char *bad_member, *bad_member_why;
};

struct provision_snapshot {
    int64_t now_ms;
    struct provision_settings settings;
    enum cluster_state state;
    enum provisioning provisioning;
    const char *failure;
    const struct provision_group *groups;
    size_t group_count;
};

/* What becomes of a group; without a change it repeats what is. */
struct provision_group_plan {
    const char *rule; /* why it changes; NULL: it does not */
    enum group_state state;
    int64_t desired, min_count, previous_desired;
    char failure[SENTENCE_MAX_BYTES];
    char scaling[SENTENCE_MAX_BYTES]; /* what is to be told of its size; "": nothing */
    int64_t remove;                   /* so many slots go now */
    bool is_scaling;                  /* nodes come or go now */
    bool forget;                      /* nothing is left of it: its row goes */
    bool gave_up;                     /* it was taken back now, because its minimum did not come in time */

    bool rollout_moves;
    struct rollout rollout;
    bool takes_image;                      /* the group wants the image that the rollout now leads to */
    int64_t batch_size;                    /* so many of the updatable are taken as rollout.batch; 0: none */
    char rollout_said[SENTENCE_MAX_BYTES]; /* for the timeline */
};

struct provision_plan {
    const char *rule; /* why the cluster changes; NULL: it does not */
    enum cluster_state state;
    char failure[SENTENCE_MAX_BYTES];
    char said[SENTENCE_MAX_BYTES];
    bool gone;                           /* a cluster that was to be deleted has nothing left */
    struct provision_group_plan *groups; /* as many as in the snapshot. Owned by the plan */
    size_t group_count;
    int64_t look_at; /* when time alone changes the answer; 0: never */
};

void policy_provision(const struct provision_snapshot *snapshot, struct provision_plan *ret_plan);
void policy_provision_free(struct provision_plan *plan); /* the contents */

/* What has become of a change of the whole cluster, of one of the kinds that are of clusters, when this plan is carried out:
 * true when it is over. ret_failure: what has gone wrong with it, so far as this plan tells; "": nothing. A change that is
 * over has failed when anything ever had. */
bool policy_change_is_over(const struct provision_snapshot *snapshot, const struct provision_plan *plan,
                           enum operation_kind kind, char ret_failure[SENTENCE_MAX_BYTES]);

/* Between a launch that failed, the tries-th in a row, and the next one. */
int64_t policy_launch_pause(const struct provision_settings *settings, int tries);

/* Who goes first when a group shrinks: the least valuable, and of these the last that came. Its number says nothing of that:
 * a new slot takes the lowest that is free. */
enum victim_rank { VICTIM_UNPROVISIONED, VICTIM_STARTING, VICTIM_OUT, VICTIM_IDLE, VICTIM_BUSY, VICTIM_OPTED_OUT };
struct victim {
    int64_t node_id;
    enum victim_rank rank;
};
/* Puts those that go first to the front. */
void policy_order_victims(struct victim *victims, size_t count);

/* provision.c, for rollout.c: the group comes to rest, in service or DEGRADED. */
void policy_group_rest(const struct provision_group *group, struct provision_group_plan *plan, const char *rule);
/* rollout.c, for provision.c: what becomes of the group's rollout; may_begin: its group and cluster are at rest. */
void policy_rollout(const struct provision_snapshot *snapshot, const struct provision_group *group, bool may_begin,
                    struct provision_group_plan *plan, int64_t *look_at);
/* True when a rollout in this state keeps its group SYSTEM_UPDATING. */
bool policy_rollout_runs(enum rollout_state state);

#endif
