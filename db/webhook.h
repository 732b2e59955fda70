/* How far each webhook has come. */
#ifndef HOLDFAST_DB_WEBHOOK_H
#define HOLDFAST_DB_WEBHOOK_H

#include "db/db.h"
#include "model/webhook.h"

/* NOT_FOUND for one that has never been used. */
int db_webhook_get(struct db_tx *tx, const char *name, struct webhook_progress *ret_progress);
/* Makes the row when there is none. */
int db_webhook_put(struct db_tx *tx, const char *name, const struct webhook_progress *progress);

/* Alerts that its service was told of, and that are not resolved there, by their keys. Each may be said again. */
int db_webhook_alert_open(struct db_tx *tx, const char *name, const char *key, int64_t at);
int db_webhook_alert_close(struct db_tx *tx, const char *name, const char *key);
int db_webhook_alert_is_open(struct db_tx *tx, const char *name, const char *key, bool *ret_open);

#endif
