/* Nodes that are quarantined in their scheduler, and what there was before. */
#ifndef HOLDFAST_DB_QUARANTINE_H
#define HOLDFAST_DB_QUARANTINE_H

#include "db/db.h"
#include "model/quarantine.h"

/* It is wanted from now on. */
int db_quarantine_ask(struct db_tx *tx, const char *scheduler, int64_t node_id, const char *name);
/* It is to be as it was. Nothing when it is not in quarantine. */
int db_quarantine_leave(struct db_tx *tx, int64_t node_id);
int db_quarantine_get(struct db_tx *tx, int64_t node_id, struct quarantine *ret_quarantine);
/* Those of a scheduler. Rows are struct quarantine. */
int db_quarantine_list(struct db_tx *tx, const char *scheduler, db_row_fn fn, void *arg);
/* Its state, what it had and why; whether it is wanted stays. */
int db_quarantine_update(struct db_tx *tx, const struct quarantine *quarantine);
/* All is as it was: the row goes, or begins anew when it is wanted again. */
int db_quarantine_gone(struct db_tx *tx, int64_t node_id);

#endif
