/*
 * What Slurm has that task governance is about: its settings, the priority tiers of its partitions and, where it keeps
 * accounting, its QOS and accounts. Asked with scontrol and sacctmgr, and read strictly: a line that is not understood fails the
 * whole look.
 */
#ifndef HOLDFAST_SERVER_SCHEDULER_SLURM_SNAPSHOT_H
#define HOLDFAST_SERVER_SCHEDULER_SLURM_SNAPSHOT_H

#include "server/scheduler/slurm/command.h"

#define SLURM_SETTING_MAX 256
#define SLURM_TRES_TEXT_MAX 512
#define SLURM_TRES_NAME_MAX 64
#define SLURM_LIMITS_MAX 32

/* Of "scontrol show config"; "" when it does not say. */
struct slurm_settings {
    char cluster[SLURM_SETTING_MAX];
    char accounting[SLURM_SETTING_MAX]; /* AccountingStorageType */
    char enforced[SLURM_SETTING_MAX];   /* AccountingStorageEnforce */
    char counted[SLURM_SETTING_MAX];    /* AccountingStorageTRES */
    char priority[SLURM_SETTING_MAX];   /* PriorityType */
    char preempt[SLURM_SETTING_MAX];    /* PreemptType */
    int64_t weight_fair_share, weight_qos;
};

struct slurm_partition {
    char name[NODE_NAME_MAX_BYTES];
    int64_t tier;
};

struct slurm_qos {
    char name[NODE_NAME_MAX_BYTES];
    int64_t priority;
    char limits[SLURM_TRES_TEXT_MAX]; /* GrpTRES */
    char description[SLURM_SETTING_MAX];
};

struct slurm_account {
    char name[NODE_NAME_MAX_BYTES];
    char description[SLURM_SETTING_MAX];
    bool here; /* it has an association in this cluster: */
    int64_t share;
    char limits[SLURM_TRES_TEXT_MAX];
    char qos[SLURM_TRES_TEXT_MAX]; /* "a,b" */
    char qos_default[NODE_NAME_MAX_BYTES];
    bool used; /* somebody was put into it, or another cluster has it */
};

struct slurm_snapshot {
    struct slurm_settings settings;
    struct slurm_partition *partitions;
    size_t partition_count;
    bool accounts_kept; /* settings.accounting says so */
    int accounting;     /* of asking sacctmgr; 0: the rest is there */
    char accounting_error[SCHEDULER_ERROR_MAX];
    struct slurm_qos *qos;
    size_t qos_count;
    struct slurm_account *accounts;
    size_t account_count;
};

/* Looks at all of it. accounting away is no failure of the look. */
int slurm_snapshot_take(struct slurm_call *call, struct slurm_snapshot *ret_snapshot);
void slurm_snapshot_free(struct slurm_snapshot *snapshot); /* the contents, not the struct */

/* The parts of it; each cuts up text in place. STATUS_BACKEND for what is not such text. */
int slurm_parse_settings(char *text, struct slurm_settings *ret_settings);
int slurm_parse_partitions(char *text, struct slurm_snapshot *snapshot);
int slurm_parse_qos(char *text, struct slurm_snapshot *snapshot);
int slurm_parse_accounts(char *text, struct slurm_snapshot *snapshot);
int slurm_parse_associations(char *text, const char *cluster, struct slurm_snapshot *snapshot);

/* NULL: there is none. */
struct slurm_partition *slurm_partition_find(const struct slurm_snapshot *snapshot, const char *name);
struct slurm_qos *slurm_qos_find(const struct slurm_snapshot *snapshot, const char *name);
struct slurm_account *slurm_account_find(const struct slurm_snapshot *snapshot, const char *name);

/* True when a list "a,b" has the word. */
bool slurm_list_has(const char *list, const char *word);

/* --- limits --------------------------------------------------------------------------------------- */

struct slurm_limit {
    char name[SLURM_TRES_NAME_MAX]; /* "cpu", "gres/gpu" */
    int64_t value;                  /* memory: MiB */
};
struct slurm_limits {
    struct slurm_limit limits[SLURM_LIMITS_MAX];
    size_t count;
};
/* "cpu=4,mem=10G". STATUS_BACKEND when it cannot be read. */
int slurm_limits_parse(const char *text, struct slurm_limits *ret_limits);
bool slurm_limits_equal(const struct slurm_limits *a, const struct slurm_limits *b);
/* What sacctmgr has to be told so that from becomes to: "cpu=8,node=-1"; "" when there is nothing. Caller frees. */
char *slurm_limits_change(const struct slurm_limits *from, const struct slurm_limits *to);

#endif
