/* What others say of a node, beside the verdict that it is. */
#include "db/node_report.h"

#include "db/intern.h"

static const char SQL_INSERT[] =
    "INSERT INTO node_report (verdict_id, kind, reporter, subject, expires_at) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT DO NOTHING";
static const char SQL_GET[] =
    "SELECT verdict_id, kind, reporter, subject, expires_at FROM node_report WHERE verdict_id = ?";

static const char SQL_COUNT[] =
    "SELECT count(*), coalesce(sum(r.kind = ? AND r.subject = ?), 0) FROM verdict v JOIN node_report r "
    "ON r.verdict_id = v.id WHERE v.node_id = ? AND v.state = 'open' AND r.reporter = ?";
static const char SQL_END_EXPIRED[] =
    "UPDATE verdict SET state = 'resolved', resolved_at = ?1 WHERE node_id = ?2 AND state = 'open' AND EXISTS "
    "(SELECT 1 FROM node_report r WHERE r.verdict_id = verdict.id AND r.expires_at > 0 AND r.expires_at <= ?1)";
static const char SQL_NODES[] = "SELECT DISTINCT v.node_id FROM node_report r JOIN verdict v ON v.id = r.verdict_id "
                                "WHERE v.state = 'open' ORDER BY v.node_id";

int db_node_report_insert(struct db_tx *tx, const struct node_report *report)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_INSERT);
    db_bind_i64(&q, report->verdict_id);
    db_bind_text(&q, report_kind_text(report->kind));
    db_bind_text(&q, report->reporter);
    db_bind_text(&q, report->subject);
    db_bind_i64(&q, report->expires_at);
    return db_query_run(&q, NULL);
}

int db_node_report_get(struct db_tx *tx, int64_t verdict_id, struct node_report *ret_report)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_GET);
    db_bind_i64(&q, verdict_id);
    int status = db_query_one(&q);
    if (status < 0)
        return status;
    ret_report->verdict_id = db_get_i64(&q);
    DB_GET_ENUM(&q, report_kind, &ret_report->kind);
    DB_GET_TEXT(&q, ret_report->reporter);
    DB_GET_TEXT(&q, ret_report->subject);
    ret_report->expires_at = db_get_i64(&q);
    return 0;
}

int db_node_report_count(struct db_tx *tx, int64_t node_id, const struct node_report *like, int64_t *ret_all,
                         int64_t *ret_same)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_COUNT);
    db_bind_text(&q, report_kind_text(like->kind));
    db_bind_text(&q, like->subject);
    db_bind_i64(&q, node_id);
    db_bind_text(&q, like->reporter);
    int status = db_query_one(&q);
    if (status < 0)
        return status;
    *ret_all = db_get_i64(&q);
    *ret_same = db_get_i64(&q);
    return 0;
}

int db_node_report_end_expired(struct db_tx *tx, int64_t node_id, int64_t now_ms)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_END_EXPIRED);
    db_bind_i64(&q, now_ms);
    db_bind_i64(&q, node_id);
    return db_query_run(&q, NULL);
}

static void node_id_read(struct db_query *q, void *row)
{
    *(int64_t *)row = db_get_i64(q);
}

int db_node_report_nodes(struct db_tx *tx, db_row_fn fn, void *arg)
{
    int64_t node_id;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_NODES);
    return db_query_walk(&q, node_id_read, &node_id, fn, arg);
}
