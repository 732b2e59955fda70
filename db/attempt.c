/* Attempts at steps of jobs: a few rows per job that asked for it. */
#include "db/attempt.h"

#include "db/intern.h"

#define ATTEMPT_COLUMNS                                                                                        \
    "cluster_id, job, restart, step, attempt, state, action, nodes, reason, exit_code, started_at, ended_at, " \
    "seen_at, stop_at, node_count, progress_at, fault_at, waits_since, runs, futile"
static const char SQL_GET[] =
    "SELECT " ATTEMPT_COLUMNS " FROM job_attempt WHERE cluster_id = ? AND job = ? AND restart = ? AND step = ? "
    "AND attempt = ?";
static const char SQL_LIST[] =
    "SELECT " ATTEMPT_COLUMNS " FROM job_attempt WHERE cluster_id = ? AND job = ? ORDER BY restart, step, attempt";
static const char SQL_PUT[] =
    "INSERT OR REPLACE INTO job_attempt (" ATTEMPT_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, "
    "?, ?, ?, ?, ?, ?)";
static const char SQL_EARLIER[] =
    "SELECT " ATTEMPT_COLUMNS " FROM job_attempt WHERE cluster_id = ? AND job = ? AND step = ? AND restart < ? "
    "ORDER BY restart DESC, attempt DESC LIMIT 1";
static const char SQL_FORGET[] =
    "DELETE FROM job_attempt WHERE cluster_id = ?1 AND job = ?2 AND (?3 = -1 OR (restart = ?3 AND step = ?4))";
static const char SQL_FORGET_OLD[] = "DELETE FROM job_attempt WHERE seen_at < ?";
static const char SQL_PRUNE[] =
    "DELETE FROM job_attempt WHERE (cluster_id, job, restart, step, attempt) IN (SELECT cluster_id, "
    "job, restart, step, attempt FROM job_attempt WHERE cluster_id = ?1 ORDER BY seen_at LIMIT "
    "max(0, (SELECT count(*) FROM job_attempt WHERE cluster_id = ?1) + 1 - ?2))";
static const char SQL_ASK_STOP[] = "UPDATE job_attempt SET stop_at = CASE stop_at WHEN 0 THEN ? ELSE stop_at END "
                                   "WHERE cluster_id = ? AND job = ? AND state <> 'ended' AND seen_at >= ?";
/* Who tells of an end is heard no earlier than that: the index finds what can be meant. */
static const char SQL_WITHIN[] =
    "SELECT " ATTEMPT_COLUMNS " FROM job_attempt WHERE cluster_id = ?1 AND seen_at >= ?2 AND started_at <= ?3 AND "
    "(state = 'waiting' OR ended_at = 0 OR ended_at >= ?2)";
static const char SQL_ANY[] =
    "SELECT 1 FROM job_attempt WHERE cluster_id = ? AND seen_at >= ? AND state <> 'ended' LIMIT 1";

static void attempt_read(struct db_query *q, void *row)
{
    struct job_attempt *attempt = row;
    attempt->cluster_id = db_get_i64(q);
    DB_GET_TEXT(q, attempt->job);
    attempt->restart = db_get_i64(q);
    attempt->step = db_get_i64(q);
    attempt->attempt = db_get_i64(q);
    DB_GET_ENUM(q, attempt_state, &attempt->state);
    DB_GET_ENUM(q, resume_action, &attempt->action);
    DB_GET_TEXT(q, attempt->nodes);
    DB_GET_TEXT(q, attempt->reason);
    attempt->exit_code = db_get_i64(q);
    attempt->started_at = db_get_i64(q);
    attempt->ended_at = db_get_i64(q);
    attempt->seen_at = db_get_i64(q);
    attempt->stop_at = db_get_i64(q);
    attempt->node_count = db_get_i64(q);
    attempt->progress_at = db_get_i64(q);
    attempt->fault_at = db_get_i64(q);
    attempt->waits_since = db_get_i64(q);
    attempt->runs = db_get_i64(q);
    attempt->futile = db_get_i64(q);
}

static void bind_key(struct db_query *q, const struct job_attempt *key)
{
    db_bind_i64(q, key->cluster_id);
    db_bind_text(q, key->job);
    db_bind_i64(q, key->restart);
    db_bind_i64(q, key->step);
    db_bind_i64(q, key->attempt);
}

int db_attempt_get(struct db_tx *tx, const struct job_attempt *key, struct job_attempt *ret_attempt)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_GET);
    bind_key(&q, key);
    return db_query_take(&q, attempt_read, ret_attempt);
}

int db_attempt_get_earlier(struct db_tx *tx, const struct job_attempt *key, struct job_attempt *ret_attempt)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_EARLIER);
    db_bind_i64(&q, key->cluster_id);
    db_bind_text(&q, key->job);
    db_bind_i64(&q, key->step);
    db_bind_i64(&q, key->restart);
    return db_query_take(&q, attempt_read, ret_attempt);
}

int db_attempt_put(struct db_tx *tx, const struct job_attempt *attempt)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_PUT);
    bind_key(&q, attempt);
    db_bind_text(&q, attempt_state_text(attempt->state));
    db_bind_text(&q, resume_action_text(attempt->action));
    db_bind_text(&q, attempt->nodes);
    db_bind_text(&q, attempt->reason);
    db_bind_i64(&q, attempt->exit_code);
    db_bind_i64(&q, attempt->started_at);
    db_bind_i64(&q, attempt->ended_at);
    db_bind_i64(&q, attempt->seen_at);
    db_bind_i64(&q, attempt->stop_at);
    db_bind_i64(&q, attempt->node_count);
    db_bind_i64(&q, attempt->progress_at);
    db_bind_i64(&q, attempt->fault_at);
    db_bind_i64(&q, attempt->waits_since);
    db_bind_i64(&q, attempt->runs);
    db_bind_i64(&q, attempt->futile);
    return db_query_run(&q, NULL);
}

int db_attempt_list(struct db_tx *tx, int64_t cluster_id, const char *job, db_row_fn fn, void *arg)
{
    struct job_attempt attempt;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIST);
    db_bind_i64(&q, cluster_id);
    db_bind_text(&q, job);
    return db_query_walk(&q, attempt_read, &attempt, fn, arg);
}

int db_attempt_list_within(struct db_tx *tx, int64_t cluster_id, int64_t since, int64_t until, db_row_fn fn, void *arg)
{
    struct job_attempt attempt;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_WITHIN);
    db_bind_i64(&q, cluster_id);
    db_bind_i64(&q, since);
    db_bind_i64(&q, until);
    return db_query_walk(&q, attempt_read, &attempt, fn, arg);
}

int db_attempt_forget(struct db_tx *tx, int64_t cluster_id, const char *job, int64_t restart, int64_t step)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_FORGET);
    db_bind_i64(&q, cluster_id);
    db_bind_text(&q, job);
    db_bind_i64(&q, restart);
    db_bind_i64(&q, step);
    return db_query_run(&q, NULL);
}

int db_attempt_forget_old(struct db_tx *tx, int64_t seen_before)
{
    return db_run_i64(tx, SQL_FORGET_OLD, seen_before, NULL);
}

int db_attempt_prune(struct db_tx *tx, int64_t cluster_id, int64_t rows_max)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_PRUNE);
    db_bind_i64(&q, cluster_id);
    db_bind_i64(&q, rows_max);
    return db_query_run(&q, NULL);
}

int db_attempt_ask_stop(struct db_tx *tx, int64_t cluster_id, const char *job, int64_t seen_since, int64_t now_ms,
                        int64_t *ret_count)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_ASK_STOP);
    db_bind_i64(&q, now_ms);
    db_bind_i64(&q, cluster_id);
    db_bind_text(&q, job);
    db_bind_i64(&q, seen_since);
    return db_query_run(&q, ret_count);
}

int db_attempt_any(struct db_tx *tx, int64_t cluster_id, int64_t seen_since, bool *ret_any)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_ANY);
    db_bind_i64(&q, cluster_id);
    db_bind_i64(&q, seen_since);
    int status = db_query_one(&q);
    if (status != 0 && status != STATUS_NOT_FOUND)
        return status;
    *ret_any = status == 0;
    return 0;
}
