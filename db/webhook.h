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

/* Messages that were refused or given up, of each webhook the newest DB_WEBHOOK_FAILED_MAX. */
#define DB_WEBHOOK_FAILED_MAX 1000
struct webhook_failed {
    char webhook[NAME_MAX_BYTES];
    int64_t event_id, at;
    char why[SENTENCE_MAX_BYTES];
    bool again; /* it is to be sent again */
};
/* It is not sent again by itself, also where that was asked for before. */
int db_webhook_failed_put(struct db_tx *tx, const struct webhook_failed *failed);
int db_webhook_failed_delete(struct db_tx *tx, const char *name, int64_t event_id);
/* Rows are struct webhook_failed, newest event first. */
int db_webhook_failed_list(struct db_tx *tx, int limit, db_row_fn fn, void *arg);
/* All of one, or of all with name "", whose event is in the timeline still. */
int db_webhook_failed_again(struct db_tx *tx, const char *name, int64_t *ret_count);
/* The oldest that is to be sent again; NOT_FOUND. */
int db_webhook_failed_next(struct db_tx *tx, const char *name, int64_t *ret_event_id);

#endif
