/* Nodes that are set apart in their scheduler, and what there was before. */
#ifndef HOLDFAST_DB_APART_H
#define HOLDFAST_DB_APART_H

#include "db/db.h"
#include "model/apart.h"

/* It is wanted from now on. */
int db_apart_ask(struct db_tx *tx, int64_t node_id, const char *name);
/* It is to be as it was. Nothing when it is not set apart. */
int db_apart_leave(struct db_tx *tx, int64_t node_id);
int db_apart_get(struct db_tx *tx, int64_t node_id, struct apart *ret_apart);
/* Rows are struct apart. */
int db_apart_list(struct db_tx *tx, db_row_fn fn, void *arg);
/* Its state, what it had and why; whether it is wanted stays. */
int db_apart_update(struct db_tx *tx, const struct apart *apart);
/* All is as it was: the row goes, or begins anew when it is wanted again. */
int db_apart_gone(struct db_tx *tx, int64_t node_id);

#endif
