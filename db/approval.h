/* Repairs that wait for a person's word. A node has at most one that is asked or approved (a partial unique index). */
#ifndef HOLDFAST_DB_APPROVAL_H
#define HOLDFAST_DB_APPROVAL_H

#include "db/db.h"

/* Fills id. EXISTS when the node has an open one. */
int db_approval_insert(struct db_tx *tx, struct approval *approval);
int db_approval_get(struct db_tx *tx, const char *uid, struct approval *ret_approval);
/* The node's newest; NOT_FOUND. */
int db_approval_last(struct db_tx *tx, int64_t node_id, struct approval *ret_approval);
/* State and answer. */
int db_approval_update(struct db_tx *tx, const struct approval *approval);
/* Rows are struct approval, newest first; state -1: any, before 0: from the newest on, limit 0: all. */
int db_approval_list(struct db_tx *tx, int state, int64_t before, int limit, db_row_fn fn, void *arg);
/* Rows are int64_t: of each question that nobody has answered, the cluster of its node, in no order. */
int db_approval_asked_clusters(struct db_tx *tx, db_row_fn fn, void *arg);
/* What is open and has run out; rows are struct approval. */
int db_approval_overdue(struct db_tx *tx, int64_t now, db_row_fn fn, void *arg);
/* It ends as expired. */
int db_approval_expire(struct db_tx *tx, int64_t now);

#endif
