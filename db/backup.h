/* A copy of the store while it is in use. */
#ifndef HOLDFAST_DB_BACKUP_H
#define HOLDFAST_DB_BACKUP_H

#include "db/db.h"

/* Copies what is committed now into a file of its own, checks the copy whole, and hands it out open for reading, already without a name.
 * Writers go on meanwhile. CONFLICT: another one is being made; FULL, IO. */
int db_backup(struct db *db, int *ret_fd, int64_t *ret_bytes);
/* Looks through all of an open store. IO with what is wrong. */
int db_verify(struct db *db, char ret_error[DB_ERROR_MAX]);

#endif
