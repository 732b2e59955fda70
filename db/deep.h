/* Runs of deep health checks and their tests. A run goes with its operation, and the oldest of a node with the next one. */
#ifndef HOLDFAST_DB_DEEP_H
#define HOLDFAST_DB_DEEP_H

#include "db/db.h"
#include "model/deep.h"

/* Fills id; drops what the node has beyond DEEP_RUNS_KEPT. EXISTS when the operation has one. */
int db_deep_run_insert(struct db_tx *tx, struct deep_run *run);
int db_deep_run_get(struct db_tx *tx, const char *uid, struct deep_run *ret_run);
int db_deep_run_of_operation(struct db_tx *tx, int64_t operation_id, struct deep_run *ret_run);
/* Its instance, state, detail, total and times. */
int db_deep_run_update(struct db_tx *tx, const struct deep_run *run);
/* The operation ended: its run, if it has no end yet, ends in this state, and a test that was running was cancelled. Nothing
 * when it has none. */
int db_deep_run_close(struct db_tx *tx, int64_t operation_id, enum deep_state state, const char *why, int64_t at);

/* What the newest run of the node came to that passed or failed, if it was on that instance. NOT_FOUND: there is none. */
int db_deep_result(struct db_tx *tx, int64_t node_id, const char *instance_id, enum deep_state *ret_state);

struct db_deep_filter {
    int64_t cluster_id, node_id; /* 0: all */
    int64_t before_id;           /* newest first; 0 starts */
    int limit;                   /* 0: no limit */
    bool unfinished;             /* of a cluster, only those that have no end yet */
};
/* Rows are struct deep_run, with the counts of their tests. */
int db_deep_run_list(struct db_tx *tx, const struct db_deep_filter *filter, db_row_fn fn, void *arg);

/* What has its last word is not changed any more: *ret_changed says whether it was. */
int db_deep_test_put(struct db_tx *tx, int64_t run_id, const struct deep_test *test, const char *log,
                     bool *ret_changed);
struct db_deep_test_row {
    struct deep_test test;
    const char *log; /* lives until the next row */
};
/* In the order they were run. */
int db_deep_test_list(struct db_tx *tx, int64_t run_id, db_row_fn fn, void *arg);

#endif
