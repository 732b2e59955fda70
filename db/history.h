/* What is forgotten: rows that only tell of the past, once they are old or too many. */
#ifndef HOLDFAST_DB_HISTORY_H
#define HOLDFAST_DB_HISTORY_H

#include "db/db.h"

struct db_history {
    int64_t since_at; /* what is older may go */
    int64_t
        hardware_since_at; /* what machines were made of that were given up before may go, and how their checks stood */
    int64_t verdicts_keep; /* of a node, in each state; more than so many never stay */
    int64_t decisions_keep; /* of a node, and as many questions of approval */
    int64_t launches_keep;  /* of a node: those that failed, for they are tried for ever */
    int rows_max;           /* that one call changes in each table and state, so that no other write waits long */
};

/* Forgets what one node has too much of. Open verdicts are not dropped but resolved, the least telling first, and
 * critical ones only for their number; the newest decision and the newest question always stay. *ret_rows: how many rows went or changed. */
int db_history_prune(struct db_tx *tx, int64_t node_id, const struct db_history *history, int64_t *ret_rows);

#endif
