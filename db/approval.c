/* Repairs that wait for a person's word. */
#include "db/approval.h"

#include "db/intern.h"

#define APPROVAL_SELECT                                                                                                \
    "SELECT id, uid, node_id, decision_id, action, code, device, state, sentence, asked_at, expires_at, answered_at, " \
    "answered_by, reason FROM approval "

static const char SQL_INSERT[] =
    "INSERT INTO approval (uid, node_id, decision_id, action, code, device, state, sentence, asked_at, expires_at, "
    "answered_at, answered_by) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
static const char SQL_GET[] = APPROVAL_SELECT "WHERE uid = ?";
static const char SQL_LAST[] = APPROVAL_SELECT "WHERE node_id = ? ORDER BY id DESC LIMIT 1";
static const char SQL_UPDATE[] =
    "UPDATE approval SET state = ?, answered_at = ?, answered_by = ?, reason = ? WHERE id = ?";
static const char SQL_LIST[] = APPROVAL_SELECT "WHERE ?1 = 0 OR id < ?1 ORDER BY id DESC LIMIT ?2";
static const char SQL_LIST_STATE[] =
    APPROVAL_SELECT "WHERE state = ?3 AND (?1 = 0 OR id < ?1) ORDER BY id DESC LIMIT ?2";
static const char SQL_ASKED_CLUSTERS[] =
    "SELECT n.cluster_id FROM approval a JOIN node n ON n.id = a.node_id WHERE a.state = 'asked'";
static const char SQL_OVERDUE[] = APPROVAL_SELECT "WHERE state IN ('asked', 'approved') AND expires_at <= ?";
static const char SQL_EXPIRE[] = "UPDATE approval SET state = 'expired', answered_at = expires_at "
                                 "WHERE state IN ('asked', 'approved') AND expires_at <= ?";

static void approval_read(struct db_query *q, void *row)
{
    struct approval *approval = row;
    approval->id = db_get_i64(q);
    DB_GET_TEXT(q, approval->uid);
    approval->node_id = db_get_i64(q);
    approval->decision_id = db_get_i64(q);
    DB_GET_ENUM(q, action, &approval->action);
    DB_GET_TEXT(q, approval->code);
    DB_GET_TEXT(q, approval->device);
    DB_GET_ENUM(q, approval_state, &approval->state);
    DB_GET_TEXT(q, approval->sentence);
    approval->asked_at = db_get_i64(q);
    approval->expires_at = db_get_i64(q);
    approval->answered_at = db_get_i64(q);
    DB_GET_TEXT(q, approval->answered_by);
    DB_GET_TEXT(q, approval->reason);
}

int db_approval_insert(struct db_tx *tx, struct approval *approval)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_INSERT);
    db_bind_text(&q, approval->uid);
    db_bind_i64(&q, approval->node_id);
    db_bind_i64(&q, approval->decision_id);
    db_bind_text(&q, action_text(approval->action));
    db_bind_text(&q, approval->code);
    db_bind_text(&q, approval->device);
    db_bind_text(&q, approval_state_text(approval->state));
    db_bind_text(&q, approval->sentence);
    db_bind_i64(&q, approval->asked_at);
    db_bind_i64(&q, approval->expires_at);
    db_bind_i64(&q, approval->answered_at);
    db_bind_text(&q, approval->answered_by);
    return db_query_insert(&q, &approval->id);
}

int db_approval_get(struct db_tx *tx, const char *uid, struct approval *ret_approval)
{
    return db_take_text(tx, SQL_GET, uid, approval_read, ret_approval);
}

int db_approval_last(struct db_tx *tx, int64_t node_id, struct approval *ret_approval)
{
    return db_take_i64(tx, SQL_LAST, node_id, approval_read, ret_approval);
}

int db_approval_update(struct db_tx *tx, const struct approval *approval)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_UPDATE);
    db_bind_text(&q, approval_state_text(approval->state));
    db_bind_i64(&q, approval->answered_at);
    db_bind_text(&q, approval->answered_by);
    db_bind_text(&q, approval->reason);
    db_bind_i64(&q, approval->id);
    return db_query_hit(&q);
}

int db_approval_list(struct db_tx *tx, int state, int64_t before, int limit, db_row_fn fn, void *arg)
{
    struct approval approval;
    auto_query struct db_query q;
    db_query_open(&q, tx, state < 0 ? SQL_LIST : SQL_LIST_STATE);
    db_bind_i64(&q, before);
    db_bind_limit(&q, limit);
    if (state >= 0)
        db_bind_text(&q, approval_state_text((enum approval_state)state));
    return db_query_walk(&q, approval_read, &approval, fn, arg);
}

static void cluster_read(struct db_query *q, void *row)
{
    *(int64_t *)row = db_get_i64(q);
}

int db_approval_asked_clusters(struct db_tx *tx, db_row_fn fn, void *arg)
{
    int64_t cluster_id;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_ASKED_CLUSTERS);
    return db_query_walk(&q, cluster_read, &cluster_id, fn, arg);
}

int db_approval_overdue(struct db_tx *tx, int64_t now, db_row_fn fn, void *arg)
{
    struct approval approval;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_OVERDUE);
    db_bind_i64(&q, now);
    return db_query_walk(&q, approval_read, &approval, fn, arg);
}

int db_approval_expire(struct db_tx *tx, int64_t now)
{
    return db_run_i64(tx, SQL_EXPIRE, now, NULL);
}
