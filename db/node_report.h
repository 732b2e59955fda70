/* What others say of a node, beside the verdict that it is. */
#ifndef HOLDFAST_DB_NODE_REPORT_H
#define HOLDFAST_DB_NODE_REPORT_H

#include "db/db.h"
#include "model/model.h"

int db_node_report_insert(struct db_tx *tx, const struct node_report *report);
int db_node_report_get(struct db_tx *tx, int64_t verdict_id, struct node_report *ret_report); /* NOT_FOUND */

/* The open reports of one reporter about a node, and how many of them say the same: that kind of that subject. */
int db_node_report_count(struct db_tx *tx, int64_t node_id, const struct node_report *like, int64_t *ret_all,
                         int64_t *ret_same);
/* Those that expired are resolved. */
int db_node_report_end_expired(struct db_tx *tx, int64_t node_id, int64_t now_ms);

/* Nodes of which somebody says something that is not answered: rows are int64_t. */
int db_node_report_nodes(struct db_tx *tx, db_row_fn fn, void *arg);

#endif
