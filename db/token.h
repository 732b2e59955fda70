/* API and enrolment tokens: hashes only. */
#ifndef HOLDFAST_DB_TOKEN_H
#define HOLDFAST_DB_TOKEN_H

#include "db/db.h"

int db_token_insert(struct db_tx *tx, struct token *token); /* fills id; EXISTS for the name of a live API token */
int db_token_find(struct db_tx *tx, const uint8_t hash[ID_SHA256_BYTES], struct token *ret_token);
int db_token_list(struct db_tx *tx, db_row_fn fn, void *arg);
int db_token_used(struct db_tx *tx, int64_t id, int64_t at);
int db_token_delete(struct db_tx *tx, const char *uid);
int db_token_prune(struct db_tx *tx, int64_t expired_before);

#endif
