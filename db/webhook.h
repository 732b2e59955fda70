/* How far each webhook has come. */
#ifndef HOLDFAST_DB_WEBHOOK_H
#define HOLDFAST_DB_WEBHOOK_H

#include "db/db.h"
#include "model/webhook.h"

/* NOT_FOUND for one that has never been used. */
int db_webhook_get(struct db_tx *tx, const char *name, struct webhook_progress *ret_progress);
/* Makes the row when there is none. */
int db_webhook_put(struct db_tx *tx, const char *name, const struct webhook_progress *progress);

#endif
