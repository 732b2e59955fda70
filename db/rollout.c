/* Rolling software updates: the newest of each group. */
#include "db/cluster.h"
#include "db/intern.h"

#define ROLLOUT_COLUMNS                                                                                        \
    "group_id, state, image_id, release, previous_image_id, previous_release, batch_value, batch_is_percent, " \
    "rollback_batch_value, rollback_is_percent, wait_ms, batch, next_batch_at, failure, created_at, updated_at"

static const char SQL_GET[] = "SELECT " ROLLOUT_COLUMNS " FROM rollout WHERE group_id = ?";
static const char SQL_PUT[] =
    "INSERT OR REPLACE INTO rollout (" ROLLOUT_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
static const char SQL_LIST_ACTIVE[] =
    "SELECT " ROLLOUT_COLUMNS " FROM rollout WHERE state IN ('pending', 'in-progress', 'rolling-back')";

static void rollout_read(struct db_query *q, void *row)
{
    struct rollout *rollout = row;
    rollout->group_id = db_get_i64(q);
    DB_GET_ENUM(q, rollout_state, &rollout->state);
    DB_GET_TEXT(q, rollout->image_id);
    DB_GET_TEXT(q, rollout->release);
    DB_GET_TEXT(q, rollout->previous_image_id);
    DB_GET_TEXT(q, rollout->previous_release);
    rollout->batch_value = db_get_i64(q);
    rollout->batch_is_percent = db_get_i64(q) != 0;
    rollout->rollback_batch_value = db_get_i64(q);
    rollout->rollback_is_percent = db_get_i64(q) != 0;
    rollout->wait_ms = db_get_i64(q);
    rollout->batch = db_get_i64(q);
    rollout->next_batch_at = db_get_i64(q);
    DB_GET_TEXT(q, rollout->failure);
    rollout->created_at = db_get_i64(q);
    rollout->updated_at = db_get_i64(q);
}

int db_rollout_get(struct db_tx *tx, int64_t group_id, struct rollout *ret_rollout)
{
    return db_take_i64(tx, SQL_GET, group_id, rollout_read, ret_rollout);
}

int db_rollout_put(struct db_tx *tx, const struct rollout *rollout)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_PUT);
    db_bind_i64(&q, rollout->group_id);
    db_bind_text(&q, rollout_state_text(rollout->state));
    db_bind_text(&q, rollout->image_id);
    db_bind_text(&q, rollout->release);
    db_bind_text(&q, rollout->previous_image_id);
    db_bind_text(&q, rollout->previous_release);
    db_bind_i64(&q, rollout->batch_value);
    db_bind_i64(&q, rollout->batch_is_percent);
    db_bind_i64(&q, rollout->rollback_batch_value);
    db_bind_i64(&q, rollout->rollback_is_percent);
    db_bind_i64(&q, rollout->wait_ms);
    db_bind_i64(&q, rollout->batch);
    db_bind_i64(&q, rollout->next_batch_at);
    db_bind_text(&q, rollout->failure);
    db_bind_i64(&q, rollout->created_at);
    db_bind_i64(&q, rollout->updated_at);
    return db_query_run(&q, NULL);
}

int db_rollout_list_active(struct db_tx *tx, db_row_fn fn, void *arg)
{
    struct rollout rollout;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIST_ACTIVE);
    return db_query_walk(&q, rollout_read, &rollout, fn, arg);
}
