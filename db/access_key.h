/* Access keys of the AWS API. Secrets are sealed before they come here. Statuses: NOT_FOUND, EXISTS, IO. */
#ifndef HOLDFAST_DB_ACCESS_KEY_H
#define HOLDFAST_DB_ACCESS_KEY_H

#include "db/db.h"

int db_access_key_insert(struct db_tx *tx, struct access_key *key); /* fills id; EXISTS for a name in use */
int db_access_key_get(struct db_tx *tx, const char *access_key, struct access_key *ret_key);
int db_access_key_list(struct db_tx *tx, db_row_fn fn, void *arg); /* oldest first */
int db_access_key_used(struct db_tx *tx, int64_t id, int64_t at);
int db_access_key_delete(struct db_tx *tx, const char *access_key);

#endif
