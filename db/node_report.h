/* What others say of a node, beside the verdict that it is. */
#ifndef HOLDFAST_DB_NODE_REPORT_H
#define HOLDFAST_DB_NODE_REPORT_H

#include "db/db.h"
#include "model/model.h"

int db_node_report_insert(struct db_tx *tx, const struct node_report *report);
int db_node_report_get(struct db_tx *tx, int64_t verdict_id, struct node_report *ret_report); /* NOT_FOUND */

/* Nodes of which somebody says something that is not answered: rows are int64_t. */
int db_node_report_nodes(struct db_tx *tx, db_row_fn fn, void *arg);

#endif
