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
static const char SQL_FAILED_PUT[] =
    "INSERT OR REPLACE INTO webhook_failed (webhook, event_id, at, why) VALUES (?, ?, ?, ?)";
static const char SQL_FAILED_PRUNE[] =
    "DELETE FROM webhook_failed WHERE webhook = ?1 AND event_id <= (SELECT event_id FROM webhook_failed "
    "WHERE webhook = ?1 ORDER BY event_id DESC LIMIT 1 OFFSET ?2)";
static const char SQL_FAILED_DELETE[] = "DELETE FROM webhook_failed WHERE webhook = ? AND event_id = ?";
static const char SQL_FAILED_LIST[] =
    "SELECT webhook, event_id, at, why, again FROM webhook_failed ORDER BY event_id DESC, webhook LIMIT ?";
static const char SQL_FAILED_COUNT[] = "SELECT count(*) FROM webhook_failed WHERE (?1 = '' OR webhook = ?1) AND "
                                       "event_id IN (SELECT id FROM event)";
static const char SQL_FAILED_AGAIN[] = "UPDATE webhook_failed SET again = 1 WHERE (?1 = '' OR webhook = ?1) AND "
                                       "event_id IN (SELECT id FROM event)";
static const char SQL_FAILED_NEXT[] = "SELECT event_id FROM webhook_failed WHERE webhook = ? AND again = 1 AND "
                                      "event_id IN (SELECT id FROM event) ORDER BY event_id LIMIT 1";

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

/* --- messages that were left ------------------------------------------------------------------------------- */

int db_webhook_failed_put(struct db_tx *tx, const struct webhook_failed *failed)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_FAILED_PUT);
    db_bind_text(&q, failed->webhook);
    db_bind_i64(&q, failed->event_id);
    db_bind_i64(&q, failed->at);
    db_bind_text(&q, failed->why);
    int status = db_query_run(&q, NULL);
    if (status < 0)
        return status;
    auto_query struct db_query prune;
    db_query_open(&prune, tx, SQL_FAILED_PRUNE);
    db_bind_text(&prune, failed->webhook);
    db_bind_i64(&prune, DB_WEBHOOK_FAILED_MAX);
    return db_query_run(&prune, NULL);
}

int db_webhook_failed_delete(struct db_tx *tx, const char *name, int64_t event_id)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_FAILED_DELETE);
    db_bind_text(&q, name);
    db_bind_i64(&q, event_id);
    return db_query_run(&q, NULL);
}

static void failed_read(struct db_query *q, void *row)
{
    struct webhook_failed *failed = row;
    DB_GET_TEXT(q, failed->webhook);
    failed->event_id = db_get_i64(q);
    failed->at = db_get_i64(q);
    DB_GET_TEXT(q, failed->why);
    failed->again = db_get_i64(q) != 0;
}

int db_webhook_failed_list(struct db_tx *tx, int limit, db_row_fn fn, void *arg)
{
    struct webhook_failed failed;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_FAILED_LIST);
    db_bind_limit(&q, limit);
    return db_query_walk(&q, failed_read, &failed, fn, arg);
}

static void number_read(struct db_query *q, void *row)
{
    *(int64_t *)row = db_get_i64(q);
}

int db_webhook_failed_again(struct db_tx *tx, const char *name, int64_t *ret_count)
{
    auto_query struct db_query count;
    db_query_open(&count, tx, SQL_FAILED_COUNT);
    db_bind_text(&count, name);
    int status = db_query_take(&count, number_read, ret_count);
    if (status < 0)
        return status;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_FAILED_AGAIN);
    db_bind_text(&q, name);
    return db_query_run(&q, NULL);
}

int db_webhook_failed_next(struct db_tx *tx, const char *name, int64_t *ret_event_id)
{
    return db_take_text(tx, SQL_FAILED_NEXT, name, number_read, ret_event_id);
}
