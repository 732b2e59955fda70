/* Verdicts and decisions. */
#ifndef HOLDFAST_DB_VERDICT_H
#define HOLDFAST_DB_VERDICT_H

#include "db/db.h"

enum db_verdict_change { DB_VERDICT_NEW, DB_VERDICT_AGAIN, DB_VERDICT_GREW, DB_VERDICT_SAME };

/* Stores by (node_id, key). A repeat with a higher count or later last_at updates those two; any other repeat
 * changes nothing. What grew after it was resolved (by last_at, the agent's clock) is a verdict of its own, seen AGAIN: the key is
 * its own from then on. Fills id. NOT_FOUND when there is no such node. */
int db_verdict_put(struct db_tx *tx, struct verdict *verdict, enum db_verdict_change *ret_change);
int db_verdict_get_row(struct db_tx *tx, int64_t id, struct verdict *ret_verdict);
/* The verdict of the node with this key; NOT_FOUND: there is none. */
int db_verdict_find(struct db_tx *tx, int64_t node_id, const char *key, int64_t *ret_id, bool *ret_is_open);
/* The key is free from now on: what comes under it is another verdict. */
int db_verdict_give_up_key(struct db_tx *tx, int64_t id);

struct db_verdict_filter {
    int64_t node_id; /* 0: all */
    int state;       /* or -1 */
    int64_t before_id;
    int limit;
    bool critical_first; /* of one node, open: the critical ones first, reports last, else newest first */
};
int db_verdict_list(struct db_tx *tx, const struct db_verdict_filter *filter, db_row_fn fn,
                    void *arg); /* newest first */
/* Open → resolved for a node; up_to_id 0: all. Returns how many in ret_count (may be NULL). */
int db_verdict_resolve(struct db_tx *tx, int64_t node_id, int64_t up_to_id, int64_t *ret_count);
int db_verdict_resolve_between(struct db_tx *tx, int64_t node_id, int64_t after_id, int64_t up_to_id);
/* The same for what is older than this verdict and of its node, source, code and device; resolved when it was last seen. */
int db_verdict_resolve_like(struct db_tx *tx, const struct verdict *verdict, int64_t *ret_count);
/* Nodes that have open verdicts newer than their last decision looked at (rows are int64_t node ids): after a start. */
int db_verdict_undecided_nodes(struct db_tx *tx, db_row_fn fn, void *arg);
/* The newest row's number; 0: there is none. */
int db_verdict_newest(struct db_tx *tx, int64_t *ret_id);
/* Open critical ones after a row up to another (rows are struct db_verdict_place), by their numbers, at most limit. */
struct db_verdict_place {
    int64_t id, node_id;
};
int db_verdict_critical(struct db_tx *tx, int64_t after_id, int64_t up_to_id, int limit, db_row_fn fn, void *arg);
/* Found to be a fault of its node after it was stored. Nothing when that is known, or the row went. */
int db_verdict_set_fault(struct db_tx *tx, int64_t id);
/* Nodes with a fault received after since_at (open or resolved, stale not): rows are struct db_verdict_failed, by
 * time. */
struct db_verdict_failed {
    int64_t node_id, received_at; /* of the newest such verdict */
};
int db_verdict_failed_nodes(struct db_tx *tx, int64_t since_at, db_row_fn fn, void *arg);

int db_decision_insert(struct db_tx *tx, struct decision *decision); /* fills id */
int db_decision_set_operation(struct db_tx *tx, int64_t decision_id, int64_t operation_id);
int db_decision_last(struct db_tx *tx, int64_t node_id, struct decision *ret_decision);
int db_decision_get_row(struct db_tx *tx, int64_t id, struct decision *ret_decision);
int db_decision_list(struct db_tx *tx, int64_t node_id, int limit, db_row_fn fn, void *arg); /* newest first */

#endif
