/* Starts of jobs: of those that asked to live on, and of those that something happened to. */
#include "db/job_run.h"

#include "db/intern.h"

#define STATE_WORD_MAX_BYTES 32

#define RUN_COLUMNS                                                                                                  \
    "cluster_id, job, restart, name, user, account, partition, state, nodes, node_count, cpus, gpus, submitted_at, " \
    "started_at, ended_at, evicted_at, why"
static const char SQL_PUT[] =
    "INSERT OR REPLACE INTO job_run (" RUN_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
static const char SQL_GET[] = "SELECT " RUN_COLUMNS " FROM job_run WHERE cluster_id = ? AND job = ? AND restart = ?";
static const char SQL_LIST[] = "SELECT " RUN_COLUMNS " FROM job_run WHERE cluster_id = ? AND job = ? ORDER BY restart";
static const char SQL_LIST_ALL[] = "SELECT " RUN_COLUMNS " FROM job_run WHERE cluster_id = ? ORDER BY job, restart";
static const char SQL_OPEN[] = "SELECT " RUN_COLUMNS " FROM job_run AS r WHERE ended_at = 0 AND "
                               "(SELECT scheduler FROM cluster WHERE id = r.cluster_id) = ?";
static const char SQL_RUNNING[] = "SELECT DISTINCT job FROM job_run WHERE ended_at = 0 AND cluster_id = ? LIMIT ?";
static const char SQL_FORGET[] = "DELETE FROM job_run WHERE cluster_id = ? AND job = ?";
static const char SQL_LIMIT[] =
    "DELETE FROM job_run WHERE (cluster_id, job, restart) IN (SELECT cluster_id, job, restart FROM job_run WHERE "
    "cluster_id = ?1 ORDER BY started_at LIMIT max(0, (SELECT count(*) FROM job_run WHERE cluster_id = ?1) + 1 - ?2))";
static const char SQL_PRUNE[] = "DELETE FROM job_run WHERE ended_at > 0 AND ended_at < ?";

/* "" is UNKNOWN, and so is what another version wrote and this one has no name for. */
static enum cluster_job_state state_of(struct db_query *q)
{
    char word[STATE_WORD_MAX_BYTES];
    enum cluster_job_state state;
    DB_GET_TEXT(q, word);
    return cluster_job_state_parse(word, &state) == 0 ? state : CLUSTER_JOB_UNKNOWN;
}

static void run_read(struct db_query *q, void *row)
{
    struct job_run *run = row;
    run->cluster_id = db_get_i64(q);
    DB_GET_TEXT(q, run->job);
    run->restart = db_get_i64(q);
    DB_GET_TEXT(q, run->name);
    DB_GET_TEXT(q, run->user);
    DB_GET_TEXT(q, run->account);
    DB_GET_TEXT(q, run->partition);
    run->state = state_of(q);
    DB_GET_TEXT(q, run->nodes);
    run->node_count = db_get_i64(q);
    run->cpus = db_get_i64(q);
    run->gpus = db_get_i64(q);
    run->submitted_at = db_get_i64(q);
    run->started_at = db_get_i64(q);
    run->ended_at = db_get_i64(q);
    run->evicted_at = db_get_i64(q);
    DB_GET_TEXT(q, run->why);
}

int db_job_run_put(struct db_tx *tx, const struct job_run *run)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_PUT);
    db_bind_i64(&q, run->cluster_id);
    db_bind_text(&q, run->job);
    db_bind_i64(&q, run->restart);
    db_bind_text(&q, run->name);
    db_bind_text(&q, run->user);
    db_bind_text(&q, run->account);
    db_bind_text(&q, run->partition);
    db_bind_text(&q, job_run_state_text(run));
    db_bind_text(&q, run->nodes);
    db_bind_i64(&q, run->node_count);
    db_bind_i64(&q, run->cpus);
    db_bind_i64(&q, run->gpus);
    db_bind_i64(&q, run->submitted_at);
    db_bind_i64(&q, run->started_at);
    db_bind_i64(&q, run->ended_at);
    db_bind_i64(&q, run->evicted_at);
    db_bind_text(&q, run->why);
    return db_query_run(&q, NULL);
}

int db_job_run_get(struct db_tx *tx, int64_t cluster_id, const char *job, int64_t restart, struct job_run *ret_run)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_GET);
    db_bind_i64(&q, cluster_id);
    db_bind_text(&q, job);
    db_bind_i64(&q, restart);
    return db_query_take(&q, run_read, ret_run);
}

int db_job_run_list(struct db_tx *tx, int64_t cluster_id, const char *job, db_row_fn fn, void *arg)
{
    struct job_run run;
    auto_query struct db_query q;
    db_query_open(&q, tx, job[0] == '\0' ? SQL_LIST_ALL : SQL_LIST);
    db_bind_i64(&q, cluster_id);
    if (job[0] != '\0')
        db_bind_text(&q, job);
    return db_query_walk(&q, run_read, &run, fn, arg);
}

int db_job_run_open(struct db_tx *tx, const char *scheduler, db_row_fn fn, void *arg)
{
    struct job_run run;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_OPEN);
    db_bind_text(&q, scheduler);
    return db_query_walk(&q, run_read, &run, fn, arg);
}

static void job_read(struct db_query *q, void *row)
{
    db_get_text(q, row, JOB_ID_MAX_BYTES);
}

int db_job_run_running(struct db_tx *tx, int64_t cluster_id, int64_t jobs_max, db_row_fn fn, void *arg)
{
    char job[JOB_ID_MAX_BYTES];
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_RUNNING);
    db_bind_i64(&q, cluster_id);
    db_bind_i64(&q, jobs_max);
    return db_query_walk(&q, job_read, job, fn, arg);
}

int db_job_run_forget(struct db_tx *tx, int64_t cluster_id, const char *job)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_FORGET);
    db_bind_i64(&q, cluster_id);
    db_bind_text(&q, job);
    return db_query_run(&q, NULL);
}

int db_job_run_prune(struct db_tx *tx, int64_t ended_before)
{
    return db_run_i64(tx, SQL_PRUNE, ended_before, NULL);
}

int db_job_run_limit(struct db_tx *tx, int64_t cluster_id, int64_t rows_max)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIMIT);
    db_bind_i64(&q, cluster_id);
    db_bind_i64(&q, rows_max);
    return db_query_run(&q, NULL);
}
