/* Operations with their steps. The store itself keeps at most one active operation per node, and one of its kind per
 * cluster (partial unique indexes), so two decisions can never both start one. */
#ifndef HOLDFAST_DB_OPERATION_H
#define HOLDFAST_DB_OPERATION_H

#include "db/db.h"

/* Inserts with its steps; fills id. EXISTS when key was used: *operation becomes the stored one. CONFLICT when the
 * node has another active operation, or the cluster one of this kind. */
int db_operation_insert(struct db_tx *tx, struct operation *operation);
int db_operation_get(struct db_tx *tx, const char *uid, struct operation *ret_operation);
int db_operation_get_row(struct db_tx *tx, int64_t id, struct operation *ret_operation);
int db_operation_by_key(struct db_tx *tx, const char *key, struct operation *ret_operation);
/* The node's pending or running one; NOT_FOUND when there is none. */
int db_operation_active(struct db_tx *tx, int64_t node_id, struct operation *ret_operation);
/* The cluster's open one of this kind, which is of clusters; NOT_FOUND when there is none. */
int db_operation_change(struct db_tx *tx, int64_t cluster_id, enum operation_kind kind,
                        struct operation *ret_operation);
int db_operation_update(struct db_tx *tx, const struct operation *operation);
int db_operation_step_update(struct db_tx *tx, int64_t operation_id, const struct operation_step *step);

struct db_operation_filter {
    int64_t cluster_id, node_id; /* 0: all */
    int state;                   /* or -1 */
    bool active_only;
    int64_t before_id;               /* newest first; 0 starts */
    int limit;                       /* 0: no limit */
    const enum operation_kind *kind; /* NULL: all */
};
/* Rows are struct operation, steps included. */
int db_operation_list(struct db_tx *tx, const struct db_operation_filter *filter, db_row_fn fn, void *arg);
/* Forgets those of whole clusters that ended before before_at, at most rows_max of them; those of a node go with it. */
int db_operation_prune(struct db_tx *tx, int64_t before_at, int rows_max);
/* Finished or active reboots and replaces of a node since since_at, newest first (the attempt ledger). */
int db_operation_repairs(struct db_tx *tx, int64_t node_id, int64_t since_at, db_row_fn fn, void *arg);
/* The nodes of a cluster that were repaired since then, or have a piece that was there when another one was. Rows are int64_t. */
int db_operation_repaired(struct db_tx *tx, int64_t cluster_id, int64_t since_at, db_row_fn fn, void *arg);
struct db_group_repair {
    int64_t group_id, created_at;
};
/* When the newest reboot or replace of each group was stored; rows are struct db_group_repair. */
int db_operation_newest_repairs(struct db_tx *tx, db_row_fn fn, void *arg);

#endif
