/* What of the labels and taints of its group a node carries in its scheduler. */
#ifndef HOLDFAST_DB_NODE_LABELS_H
#define HOLDFAST_DB_NODE_LABELS_H

#include "db/db.h"
#include "model/group_spec.h"

/* current is as kubernetes_spec_write has it; "": none of them. A node that is gone meanwhile is fine. */
int db_node_labels_set(struct db_tx *tx, int64_t node_id, const char *current);
/* Nothing where no row is. Caller frees the contents. UNREADABLE. */
int db_node_labels_get(struct db_tx *tx, int64_t node_id, struct kubernetes_spec *ret_current);
/* What all nodes of the group that have a machine carry; likewise. */
int db_group_labels_get(struct db_tx *tx, int64_t group_id, struct kubernetes_spec *ret_current);

#endif
