/* The versions of the policy document: added one after another, never changed. */
#ifndef HOLDFAST_DB_POLICY_H
#define HOLDFAST_DB_POLICY_H

#include "db/db.h"

/* CONFLICT when that version is there, or a later one. */
int db_policy_insert(struct db_tx *tx, const struct policy_version *version);
/* Of version 0: the newest. NOT_FOUND. */
int db_policy_get(struct db_tx *tx, int64_t version, struct policy_version *ret_version);
/* Rows are struct policy_version without text, newest first; before 0 begins there, limit 0: all. */
int db_policy_list(struct db_tx *tx, int64_t before, int limit, db_row_fn fn, void *arg);

#endif
