/*
 * What is asked for of an instance group and of a cluster, beyond what has a column of its own: parsed once by the API that took it,
 * stored as such, and put into its own words by each API that shows it.
 *
 * Some of it describes machines that others make: it is kept and shown, and nothing here acts on it.
 */
#ifndef HOLDFAST_MODEL_GROUP_SPEC_H
#define HOLDFAST_MODEL_GROUP_SPEC_H

#include "base/enum.h"
#include "base/record.h"
#include "model/lifecycle.h"

/* What the nodes of a group are to Slurm. Only those that compute are nodes of Slurm's own: of the others it knows nothing, and they are
 * brought up and seen to without it. */
#define SLURM_ROLE_LIST(X)      \
    X(COMPUTE, "compute")       \
    X(CONTROLLER, "controller") \
    X(LOGIN, "login")
enum slurm_role {
#define X(SYMBOL, text) SLURM_ROLE_##SYMBOL,
    SLURM_ROLE_LIST(X)
#undef X
};
ENUM_DECLARE(slurm_role);

/* What is done about edits by hand in files that hpd writes: HyperPod's SlurmConfigStrategy. */
#define DESIRED_STRATEGY_LIST(X)                                     \
    X(MERGE, "Merge")         /* they stay, and ours is added */     \
    X(MANAGED, "Managed")     /* nothing is written until they go */ \
    X(OVERWRITE, "Overwrite") /* they go */
enum desired_strategy {
#define X(SYMBOL, text) DESIRED_STRATEGY_##SYMBOL,
    DESIRED_STRATEGY_LIST(X)
#undef X
};
ENUM_DECLARE(desired_strategy);

#define INTERFACE_KIND_LIST(X) \
    X(EFA, "efa")              \
    X(EFA_ONLY, "efa-only")
enum interface_kind {
#define X(SYMBOL, text) INTERFACE_KIND_##SYMBOL,
    INTERFACE_KIND_LIST(X)
#undef X
};
ENUM_DECLARE(interface_kind);

/* What a taint does with pods that do not tolerate it. */
#define TAINT_EFFECT_LIST(X)     \
    X(NO_EXECUTE, "NoExecute")   \
    X(NO_SCHEDULE, "NoSchedule") \
    X(PREFER_NOT, "PreferNoSchedule")
enum taint_effect {
#define X(SYMBOL, text) TAINT_EFFECT_##SYMBOL,
    TAINT_EFFECT_LIST(X)
#undef X
};
ENUM_DECLARE(taint_effect);

#define GROUP_LABELS_MAX 50
#define GROUP_TAINTS_MAX 50

struct lifecycle_spec {
    bool given;
    char *source;
    char *on_create, *on_init_complete;
};
struct slurm_spec {
    bool given;
    struct optional role;            /* enum slurm_role */
    struct optional_list partitions; /* names */
};
struct taint_spec {
    char *key, *value;      /* value NULL: none */
    struct optional effect; /* enum taint_effect */
};
/* What people want on the node objects of a group. */
struct kubernetes_spec {
    bool given;
    struct optional_list labels; /* struct record_pair */
    struct optional_list taints; /* struct taint_spec */
};
struct network_spec {
    bool given;
    struct optional_list subnets, security_groups; /* names */
};
struct volume_spec {
    bool given;
    struct optional size_gb, root;
    char *key;
};
struct file_system_spec {
    bool given;
    char *address, *name, *path;
};
struct storage_spec { /* one of these */
    struct volume_spec volume;
    struct file_system_spec lustre, zfs;
};
struct interface_spec {
    bool given;
    struct optional kind; /* enum interface_kind */
};
struct on_demand_spec {
    bool given;
};
struct capacity_spec {
    bool given;
    struct on_demand_spec on_demand;
};

struct requirements_spec {
    bool given;
    struct optional_list instance_types;
};

struct group_spec {
    struct lifecycle_spec lifecycle;
    struct slurm_spec slurm,
        slurm_by_file; /* asked for; and by provisioning_parameters.json, which counts where nothing is */
    struct kubernetes_spec kubernetes;
    struct network_spec network;           /* in place of the cluster's */
    struct optional checks_on_start;       /* bits of enum deep_check */
    struct requirements_spec requirements; /* where the type was said as a list of one */
    char *execution_role;
    struct optional threads_per_core;
    struct optional_list storage; /* struct storage_spec */
    struct interface_spec interface;
    struct capacity_spec capacity;
    struct optional_list reboot_methods; /* texts, as in model/reboot.h; none: the provider reboots */
    struct optional
        auto_resume_replaces; /* a flag: where a job that resumes by itself had the node, no reset and no reboot */
};

struct tiered_storage_spec {
    bool given;
    struct optional off; /* 0: it is the only choice there is */
    struct optional memory_percent;
};
struct auto_scaling_spec {
    bool given;
    struct optional off, scaler; /* 0, likewise */
};
struct cluster_spec {
    struct network_spec network; /* of groups that have none of their own */
    char *role;
    struct optional strategy; /* enum desired_strategy */
    struct tiered_storage_spec tiered_storage;
    struct auto_scaling_spec auto_scaling;
    char *made_by; /* the key of the request that created it */
};

/* As the store has them. write: owned by the caller. read: INVALID for what write did not write. */
char *group_spec_write(const struct group_spec *spec);
int group_spec_read(const char *text, struct group_spec *ret_spec);
char *cluster_spec_write(const struct cluster_spec *spec);
int cluster_spec_read(const char *text, struct cluster_spec *ret_spec);
/* Caller frees the contents. */
struct group_spec group_spec_copy(const struct group_spec *spec);
struct cluster_spec cluster_spec_copy(const struct cluster_spec *spec);
/* What newer says takes the place of what into says of the same; newer is left without it. */
void group_spec_merge(struct group_spec *into, struct group_spec *newer);
void cluster_spec_merge(struct cluster_spec *into, struct cluster_spec *newer);
bool group_spec_is_empty(const struct group_spec *spec);
bool cluster_spec_is_empty(const struct cluster_spec *spec);
void group_spec_free(struct group_spec *spec); /* the contents */
void cluster_spec_free(struct cluster_spec *spec);
void kubernetes_spec_free(struct kubernetes_spec *spec);
static inline void auto_group_spec_cleanup(struct group_spec *spec)
{
    group_spec_free(spec);
}
static inline void auto_kubernetes_spec_cleanup(struct kubernetes_spec *spec)
{
    kubernetes_spec_free(spec);
}
static inline void auto_cluster_spec_cleanup(struct cluster_spec *spec)
{
    cluster_spec_free(spec);
}

/* What counts of a group's Slurm. */
const struct slurm_spec *group_spec_slurm(const struct group_spec *spec);
enum slurm_role group_spec_role(const struct group_spec *spec);
const char *group_spec_partition(const struct group_spec *spec); /* NULL: none is named */
/* Labels and taints alone, as the store has them. kubernetes_spec_write: owned by the caller. */
char *kubernetes_spec_write(const struct kubernetes_spec *spec);
int kubernetes_spec_read(const char *text, struct kubernetes_spec *ret_spec);
/* What is in both: the same labels and taints with the same values. into keeps that. */
void kubernetes_spec_intersect(struct kubernetes_spec *into, const struct kubernetes_spec *other);
/* Source and scripts. NOT_FOUND when none is to run, TOO_LARGE when a name does not fit. */
int lifecycle_spec_read(const struct lifecycle_spec *spec, struct lifecycle_job *ret_job);

#endif
