/* What jobs were told: the store is what keeps a signal from being sent twice. */
#include "db/job.h"

#include "db/intern.h"

static const char SQL_ASK[] =
    "INSERT INTO operation_job (operation_id, job, user, asked_at, asked) SELECT ?1, ?2, ?3, ?4, ?5 WHERE NOT EXISTS "
    "(SELECT 1 FROM operation_job JOIN operation ON operation.id = operation_job.operation_id WHERE job = ?2 AND "
    "(operation.id = ?1 OR operation.state IN ('pending', 'running')))";
static const char SQL_ANSWER[] = "UPDATE operation_job SET asked = ? WHERE operation_id = ? AND job = ?";
static const char SQL_UNKNOWN[] =
    "UPDATE operation_job SET asked = 'unknown' WHERE operation_id = ? AND asked = 'sending'";
static const char SQL_UNSENT[] = "DELETE FROM operation_job WHERE operation_id = ? AND asked = 'sending'";
static const char SQL_LIST[] =
    "SELECT job, user, asked_at, asked FROM operation_job WHERE operation_id = ? ORDER BY job";
/* From the job outwards (CROSS JOIN), as its signals are few. */
static const char SQL_SIGNALLED[] =
    "SELECT o.job_signal, j.asked, j.asked_at, n.name, o.uid FROM operation_job j CROSS JOIN operation o ON o.id = "
    "j.operation_id CROSS JOIN node n ON n.id = o.node_id WHERE j.job = ? AND o.cluster_id = ? ORDER BY "
    "j.operation_id";

static void job_read(struct db_query *q, void *row)
{
    struct operation_job *job = row;
    DB_GET_TEXT(q, job->job);
    DB_GET_TEXT(q, job->user);
    job->asked_at = db_get_i64(q);
    DB_GET_ENUM(q, job_asked, &job->asked);
}

int db_operation_job_ask(struct db_tx *tx, int64_t operation_id, const struct operation_job *job)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_ASK);
    db_bind_i64(&q, operation_id);
    db_bind_text(&q, job->job);
    db_bind_text(&q, job->user);
    db_bind_i64(&q, job->asked_at);
    db_bind_text(&q, job_asked_text(JOB_ASKED_SENDING));
    int status = db_query_hit(&q);
    return status == STATUS_NOT_FOUND ? STATUS_EXISTS : status;
}

int db_operation_job_answer(struct db_tx *tx, int64_t operation_id, const char *job, enum job_asked asked)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_ANSWER);
    db_bind_text(&q, job_asked_text(asked));
    db_bind_i64(&q, operation_id);
    db_bind_text(&q, job);
    return db_query_hit(&q);
}

static int end_sending(struct db_tx *tx, const char *sql, int64_t operation_id, int64_t *ret_count)
{
    return db_run_i64(tx, sql, operation_id, ret_count);
}

int db_operation_job_unknown(struct db_tx *tx, int64_t operation_id, int64_t *ret_count)
{
    return end_sending(tx, SQL_UNKNOWN, operation_id, ret_count);
}

int db_operation_job_unsent(struct db_tx *tx, int64_t operation_id)
{
    return end_sending(tx, SQL_UNSENT, operation_id, NULL);
}

int db_operation_job_list(struct db_tx *tx, int64_t operation_id, db_row_fn fn, void *arg)
{
    struct operation_job job;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_LIST);
    db_bind_i64(&q, operation_id);
    return db_query_walk(&q, job_read, &job, fn, arg);
}

static void signalled_read(struct db_query *q, void *row)
{
    struct job_signalled *signalled = row;
    DB_GET_ENUM(q, job_signal, &signalled->signal);
    DB_GET_ENUM(q, job_asked, &signalled->asked);
    signalled->asked_at = db_get_i64(q);
    DB_GET_TEXT(q, signalled->node);
    DB_GET_TEXT(q, signalled->operation);
}

int db_job_signalled(struct db_tx *tx, int64_t cluster_id, const char *job, db_row_fn fn, void *arg)
{
    struct job_signalled signalled;
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_SIGNALLED);
    db_bind_text(&q, job);
    db_bind_i64(&q, cluster_id);
    return db_query_walk(&q, signalled_read, &signalled, fn, arg);
}
