/* The tries of a reboot (model/reboot.h). They are read with their operation. */
#ifndef HOLDFAST_DB_REBOOT_H
#define HOLDFAST_DB_REBOOT_H

#include "db/db.h"

/* Inserts it, or what became of it. */
int db_reboot_try_write(struct db_tx *tx, int64_t operation_id, const struct reboot_try *one);
/* The first first. IO: there are more than there may be. */
int db_reboot_tries_read(struct db_tx *tx, int64_t operation_id, struct reboot_try ret_tries[REBOOT_TRIES_MAX],
                         int *ret_count);

#endif
