/* What a provider says of its machines, beside the verdicts that it is. */
#include "db/notice.h"

#include "db/intern.h"

static const char SQL_INSERT[] = "INSERT INTO provider_notice (verdict_id, provider, notice, instance_id, boot_id, "
                                 "due_at) VALUES (?, ?, ?, ?, ?, ?)";
static const char SQL_SET_DUE[] = "UPDATE provider_notice SET due_at = ? WHERE verdict_id = ?";
static const char SQL_FIND[] = "SELECT verdict_id, due_at FROM provider_notice "
                               "WHERE provider = ? AND notice = ? AND instance_id = ? AND boot_id = ?";
static const char SQL_DELETE[] = "DELETE FROM provider_notice WHERE verdict_id = ?";
static const char SQL_LIST_PENDING[] =
    "SELECT n.verdict_id, n.provider, n.notice, n.instance_id, n.boot_id, n.due_at FROM provider_notice n "
    "JOIN verdict v ON v.id = n.verdict_id WHERE n.provider = ? AND (v.state = 'open' OR n.boot_id <> '') "
    "ORDER BY n.verdict_id";

int db_notice_insert(struct db_tx *tx, const struct notice *notice)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_INSERT);
    db_bind_i64(&q, notice->verdict_id);
    db_bind_text(&q, notice->provider);
    db_bind_text(&q, notice->id);
    db_bind_text(&q, notice->instance_id);
    db_bind_text(&q, notice->boot_id);
    db_bind_i64(&q, notice->due_at);
    return db_query_run(&q, NULL);
}

int db_notice_set_due(struct db_tx *tx, int64_t verdict_id, int64_t due_at)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_SET_DUE);
    db_bind_i64(&q, due_at);
    db_bind_i64(&q, verdict_id);
    return db_query_hit(&q);
}

int db_notice_delete(struct db_tx *tx, int64_t verdict_id)
{
    return db_hit_i64(tx, SQL_DELETE, verdict_id);
}

int db_notice_find(struct db_tx *tx, struct notice *notice)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_FIND);
    db_bind_text(&q, notice->provider);
    db_bind_text(&q, notice->id);
    db_bind_text(&q, notice->instance_id);
    db_bind_text(&q, notice->boot_id);
    int status = db_query_one(&q);
    if (status < 0)
        return status;
    notice->verdict_id = db_get_i64(&q);
    notice->due_at = db_get_i64(&q);
    return 0;
}

static void notice_read(struct db_query *q, void *row)
{
    struct notice *notice = row;
    notice->verdict_id = db_get_i64(q);
    DB_GET_TEXT(q, notice->provider);
    DB_GET_TEXT(q, notice->id);
    DB_GET_TEXT(q, notice->instance_id);
    DB_GET_TEXT(q, notice->boot_id);
    notice->due_at = db_get_i64(q);
}

int db_notice_list_pending(struct db_tx *tx, const char *provider, db_row_fn fn, void *arg)
{
    struct notice notice;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIST_PENDING);
    db_bind_text(&q, provider);
    return db_query_walk(&q, notice_read, &notice, fn, arg);
}
