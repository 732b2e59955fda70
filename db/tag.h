/* Tags of clusters and of what governs them; they go with what carries them. Statuses: NOT_FOUND, IO. */
#ifndef HOLDFAST_DB_TAG_H
#define HOLDFAST_DB_TAG_H

#include "db/db.h"
#include "model/governance.h"

/* Sets the value of a key that is there, too. NOT_FOUND when there is no such owner. */
int db_tag_put(struct db_tx *tx, enum tag_owner owner, int64_t owner_id, const char *key, const char *value);
/* NOT_FOUND when it has no such tag. */
int db_tag_delete(struct db_tx *tx, enum tag_owner owner, int64_t owner_id, const char *key);
int db_tag_count(struct db_tx *tx, enum tag_owner owner, int64_t owner_id, int64_t *ret_count);
/* By key. */
int db_tag_list(struct db_tx *tx, enum tag_owner owner, int64_t owner_id, db_row_fn fn, void *arg);

#endif
