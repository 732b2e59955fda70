/* A row for each webhook, by its name. */
#include "db/webhook.h"

#include "db/intern.h"

static const char SQL_GET[] = "SELECT position, delivered, refused, expired, delivered_at, failing_since, failures, "
                              "reported, stopped, error FROM webhook WHERE name = ?";
static const char SQL_PUT[] = "INSERT OR REPLACE INTO webhook (name, position, delivered, refused, expired, "
                              "delivered_at, failing_since, failures, reported, stopped, error) "
                              "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
static const char SQL_OPEN[] = "INSERT OR REPLACE INTO webhook_alert (webhook, key, opened_at) VALUES (?, ?, ?)";
static const char SQL_CLOSE[] = "DELETE FROM webhook_alert WHERE webhook = ? AND key = ?";
static const char SQL_IS_OPEN[] = "SELECT opened_at FROM webhook_alert WHERE webhook = ? AND key = ?";

static void progress_read(struct db_query *q, void *row)
{
    struct webhook_progress *progress = row;
    progress->position = db_get_i64(q);
    progress->delivered = db_get_i64(q);
    progress->refused = db_get_i64(q);
    progress->expired = db_get_i64(q);
    progress->delivered_at = db_get_i64(q);
    progress->failing_since = db_get_i64(q);
    progress->failures = db_get_i64(q);
    progress->reported = db_get_i64(q) != 0;
    progress->stopped = db_get_i64(q) != 0;
    DB_GET_TEXT(q, progress->error);
}

int db_webhook_get(struct db_tx *tx, const char *name, struct webhook_progress *ret_progress)
{
    return db_take_text(tx, SQL_GET, name, progress_read, ret_progress);
}

int db_webhook_put(struct db_tx *tx, const char *name, const struct webhook_progress *progress)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_PUT);
    db_bind_text(&q, name);
    db_bind_i64(&q, progress->position);
    db_bind_i64(&q, progress->delivered);
    db_bind_i64(&q, progress->refused);
    db_bind_i64(&q, progress->expired);
    db_bind_i64(&q, progress->delivered_at);
    db_bind_i64(&q, progress->failing_since);
    db_bind_i64(&q, progress->failures);
    db_bind_i64(&q, progress->reported);
    db_bind_i64(&q, progress->stopped);
    db_bind_text(&q, progress->error);
    return db_query_run(&q, NULL);
}

int db_webhook_alert_open(struct db_tx *tx, const char *name, const char *key, int64_t at)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_OPEN);
    db_bind_text(&q, name);
    db_bind_text(&q, key);
    db_bind_i64(&q, at);
    return db_query_run(&q, NULL);
}

int db_webhook_alert_close(struct db_tx *tx, const char *name, const char *key)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_CLOSE);
    db_bind_text(&q, name);
    db_bind_text(&q, key);
    return db_query_run(&q, NULL);
}

static void opened_read(struct db_query *q, void *row)
{
    *(int64_t *)row = db_get_i64(q);
}

int db_webhook_alert_is_open(struct db_tx *tx, const char *name, const char *key, bool *ret_open)
{
    int64_t opened_at;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_IS_OPEN);
    db_bind_text(&q, name);
    db_bind_text(&q, key);
    int status = db_query_take(&q, opened_read, &opened_at);
    *ret_open = status == 0;
    return status == STATUS_NOT_FOUND ? 0 : status;
}
