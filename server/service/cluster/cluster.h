/* Clusters and their groups: made, changed, shown, given more nodes and fewer, brought to another image, and taken down. See service.h. */
#ifndef HOLDFAST_SERVER_SERVICE_CLUSTER_CLUSTER_H
#define HOLDFAST_SERVER_SERVICE_CLUSTER_CLUSTER_H

#include "db/cluster.h"
#include "db/node.h"
#include "db/operation.h"
#include "model/group_spec.h"
#include "server/service/scheduler/scheduler.h"
#include "server/service/service.h"

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
    const char *scheduler; /* has to be the one that it has; NULL: not said */
    struct service_group_spec *groups;
    size_t group_count;
    const char *const *groups_to_delete;
    size_t delete_count;
    const struct cluster_spec *spec;         /* what it says takes the place of what was said; NULL: nothing */
    const char *notice;                      /* as of a new cluster */
    void (*forget)(struct group_spec *spec); /* what the API has words for, and so says in full; NULL: all of it */
    bool merge;          /* what a group's description leaves out stays: counts of -1, what its spec does not say */
    int64_t if_revision; /* 0: any */
    bool dry_run;        /* as of a new cluster */
};
/* A cluster with its groups and counts, as describe shows it. Freed with service_cluster_free. */
struct service_group_view {
    struct instance_group group;
    struct cluster_counts counts;
    struct group_spec spec;         /* owned */
    struct kubernetes_spec carried; /* of its labels and taints, what all its nodes carry; owned */
    struct rollout rollout;         /* group_id 0: there was none */
    int64_t unproven;               /* new nodes that are tested before they are in service */
    int64_t on_image;               /* nodes that run what the rollout leads to */
    bool has_inventory;             /* its machines are a site's own: */
    int64_t spares, spares_ready;   /* that are good for it */
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

/* Of a cluster that does not say it: the kind of the scheduler that it names ("": of the first), and the default where there is none. */
#define ORCHESTRATOR_DEFAULT ((enum orchestrator)0) /* the first kind of the list */
enum orchestrator service_cluster_orchestrator(const struct service *s, const char *scheduler);
int service_cluster_create(struct service *s, const struct actor *actor, const struct service_cluster_spec *spec,
                           struct cluster *ret_cluster, struct problem *ret_problem);
/* At the start: says of each stored description that cannot be read that it cannot. */
int service_specs_check(struct service *s, struct problem *ret_problem);
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
/* The name of the scheduler that the cluster is scheduled by; "": of none. */
int service_cluster_scheduler(struct service *s, const char *cluster, char ret_name[NAME_MAX_BYTES],
                              struct problem *ret_problem);
int service_cluster_update(struct service *s, const struct actor *actor, const char *name,
                           const struct service_cluster_change *change, struct cluster *ret_cluster,
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

/* The loop deletes every node, and the cluster when the last one has gone. Repeating it changes nothing. */
int service_cluster_delete(struct service *s, const struct actor *actor, const char *name, struct cluster *ret_cluster,
                           struct problem *ret_problem);
/* A person ends protected mode and an open breaker; without them nothing is done. */
int service_group_resume(struct service *s, const struct actor *actor, const char *cluster, const char *group,
                         const char *reason, struct instance_group *ret_group, struct problem *ret_problem);

#endif
