/* The audit log. Rows are only ever added: the table refuses everything else, so there is no pruning either. */
#ifndef HOLDFAST_DB_AUDIT_H
#define HOLDFAST_DB_AUDIT_H

#include "db/db.h"

/* Fills id; at 0: now; count 0: 1. */
int db_audit_insert(struct db_tx *tx, struct audit *audit);

/* Newest first. Texts are "" for any. */
struct db_audit_filter {
    const char *cluster, *actor, *operation;
    const char *resource;        /* a part of it */
    int outcome;                 /* enum audit_outcome, or -1 */
    int64_t after_at, before_at; /* both exclusive; 0: any */
    int64_t before_id;           /* the cursor; 0: from the newest */
    int limit;
};
int db_audit_list(struct db_tx *tx, const struct db_audit_filter *filter, db_row_fn fn, void *arg);

#endif
