/*
 * The one writer: takes everything that has queued (at most DB_BATCH_MAX), runs it in one transaction, commits, then
 * tells each.
 *
 * A write that fails must be undone alone. A savepoint round each write would do that, and costs every write a copy of
 * each page it touches, for the sake of failures that are rare and mostly happen before anything was changed. So a
 * batch first runs without savepoints. A write that fails having changed nothing is simply left out. When one fails
 * that has changed something, the whole batch is rolled back and run again, this time with savepoints: a batch
 * runs twice at most, whatever its writes do.
 */
#include "db/intern.h"

#include <assert.h>
#include <semaphore.h>

/* --- one batch ----------------------------------------------------------------------------------- */

static void batch_roll_back(struct db_tx *tx)
{
    db_verdict_forget_nodes(tx->db);
    if (!sqlite3_get_autocommit(tx->sqlite))
        db_exec(tx, "ROLLBACK");
}

/* Undoes one failed write. False: it cannot be undone alone, because there is no savepoint. */
static bool batch_undo(struct db_tx *tx, bool guarded, int64_t changes_before)
{
    if (!guarded)
        return sqlite3_total_changes64(tx->sqlite) == changes_before;
    db_verdict_forget_nodes(tx->db);
    /* When these fail the transaction is gone, and tx->lost says so. */
    if (db_exec(tx, "ROLLBACK TO one_write") == 0)
        db_exec(tx, "RELEASE one_write");
    return true;
}

/* Runs the writes inside the open transaction. False: roll back and run again, guarded. */
static bool batch_writes(struct db_tx *tx, struct db_job *jobs, size_t count, bool guarded)
{
    for (size_t i = 0; i < count && tx->lost == 0; i++) {
        int64_t changes_before = sqlite3_total_changes64(tx->sqlite);
        if (guarded)
            jobs[i].status = db_exec(tx, "SAVEPOINT one_write");
        if (!guarded || jobs[i].status == 0)
            jobs[i].status = jobs[i].fn(tx, jobs[i].arg);
        if (tx->lost != 0)
            break;
        if (jobs[i].status >= 0) {
            if (guarded)
                db_exec(tx, "RELEASE one_write");
        } else if (!batch_undo(tx, guarded, changes_before)) {
            return false;
        }
    }
    return true;
}

/* A commit of nothing never meets the disk and says nothing of it. */
static void note_health(struct db *db, int status, bool changed)
{
    pthread_mutex_lock(&db->mutex);
    db->wal_full = db->wal_full || status == STATUS_FULL;
    if (status < 0 && db->stats.failing_since == 0)
        db->stats.failing_since = clock_wall_ms(db->clock);
    else if (status >= 0 && changed)
        db->stats.failing_since = 0;
    pthread_mutex_unlock(&db->mutex);
}

static int batch_commit(struct db *db, struct db_tx *tx)
{
    if (tx->lost != 0)
        return tx->lost;
    int64_t start_us = clock_stopwatch_us();
    int status = db_exec(tx, "COMMIT");
    int64_t took_us = clock_stopwatch_us() - start_us;
    if (status < 0)
        return status;
    pthread_mutex_lock(&db->mutex);
    db->stats.commits++;
    db->stats.commit_us_total += (uint64_t)took_us;
    if ((uint64_t)took_us > db->stats.commit_us_max)
        db->stats.commit_us_max = (uint64_t)took_us;
    pthread_mutex_unlock(&db->mutex);
    return 0;
}

/* 0, or the status that all of the batch ends with; *ret_again when it has to run again with savepoints. */
static int batch_attempt(struct db *db, struct db_job *jobs, size_t count, bool guarded, bool *ret_again)
{
    struct db_tx *tx = db->writer;
    tx->lost = 0;
    int64_t changes_before = sqlite3_total_changes64(tx->sqlite);
    int status = db_exec(tx, "BEGIN IMMEDIATE");
    tx->lost = 0;
    if (status < 0) {
        note_health(db, status, false);
        return status;
    }
    if (!batch_writes(tx, jobs, count, guarded)) {
        batch_roll_back(tx);
        /* One write alone needs no second run: the transaction was its savepoint. */
        *ret_again = count > 1;
        return count > 1 ? 0 : jobs[0].status;
    }
    status = batch_commit(db, tx);
    bool changed = sqlite3_total_changes64(tx->sqlite) != changes_before;
    if (status == 0 && changed && !db_is_in_place(db))
        status = STATUS_IO; /* committed into a file that nobody will find again: not to be acknowledged */
    note_health(db, status, changed);
    if (status < 0)
        batch_roll_back(tx);
    return status;
}

void db_batch_run(struct db *db, struct db_job *jobs, size_t count)
{
    bool again = false;
    int status = batch_attempt(db, jobs, count, false, &again);
    if (again)
        status = batch_attempt(db, jobs, count, true, &again);
    db_counts_settle(db);
    uint64_t errors = 0;
    for (size_t i = 0; i < count; i++) {
        if (status < 0)
            jobs[i].status = status;
        errors += jobs[i].status < 0;
    }
    pthread_mutex_lock(&db->mutex);
    db->stats.writes += count;
    db->stats.write_errors += errors;
    if (count > db->stats.batch_max)
        db->stats.batch_max = count;
    pthread_mutex_unlock(&db->mutex);
}

/* --- the thread ---------------------------------------------------------------------------------- */

/* Moves what waits into db->batch; sleeps while nothing does. 0: stopping and empty. */
static size_t writer_take(struct db *db)
{
    pthread_mutex_lock(&db->mutex);
    while (db->queue_count == 0 && !db->stopping) {
        db->writer_asleep = true;
        pthread_cond_wait(&db->queued, &db->mutex);
        db->writer_asleep = false;
    }
    size_t count = db->queue_count < DB_BATCH_MAX ? db->queue_count : DB_BATCH_MAX;
    for (size_t i = 0; i < count; i++)
        db->batch[i] = db->queue[(db->queue_at + i) % DB_WRITE_QUEUE_MAX];
    db->queue_at = (db->queue_at + count) % DB_WRITE_QUEUE_MAX;
    db->queue_count -= count;
    pthread_mutex_unlock(&db->mutex);
    return count;
}

static void *writer_main(void *arg)
{
    struct db *db = arg;
    for (size_t count; (count = writer_take(db)) > 0;) {
        db_checkpoint_batch_begins(db);
        db_batch_run(db, db->batch, count);
        db_place_note(db);
        db_checkpoint_batch_ended(db);
        for (size_t i = 0; i < count; i++)
            db->batch[i].done(db->batch[i].status, db->batch[i].arg);
    }
    return NULL;
}

int db_writer_start(struct db *db)
{
    db->queue = own_calloc(DB_WRITE_QUEUE_MAX, sizeof(*db->queue));
    db->batch = own_calloc(DB_BATCH_MAX, sizeof(*db->batch));
    if (pthread_create(&db->writer_thread, NULL, writer_main, db) != 0)
        return STATUS_IO;
    db->writer_runs = true;
    pthread_setname_np(db->writer_thread, "db-writer");
    return 0;
}

void db_writer_stop(struct db *db)
{
    if (!db->writer_runs)
        return;
    pthread_mutex_lock(&db->mutex);
    db->stopping = true;
    pthread_cond_broadcast(&db->queued);
    pthread_mutex_unlock(&db->mutex);
    pthread_join(db->writer_thread, NULL);
}

/* --- what callers see ---------------------------------------------------------------------------- */

static int write_inline(struct db *db, struct db_job *job)
{
    assert(!db->in_batch); /* a write inside a write would be half of two transactions */
    db->in_batch = true;
    db_batch_run(db, job, 1);
    db->in_batch = false;
    db_checkpoint_batch_ended(db);
    return job->status;
}

int db_write_async(struct db *db, const char *name, db_write_fn fn, db_done_fn done, void *arg)
{
    struct db_job job = {.name = name, .fn = fn, .done = done, .arg = arg};
    if (db->flags & DB_INLINE) {
        done(write_inline(db, &job), arg);
        return 0;
    }
    pthread_mutex_lock(&db->mutex);
    bool full = db->queue_count == DB_WRITE_QUEUE_MAX;
    if (!full) {
        db->queue[(db->queue_at + db->queue_count++) % DB_WRITE_QUEUE_MAX] = job;
        if (db->writer_asleep)
            pthread_cond_signal(&db->queued);
    }
    pthread_mutex_unlock(&db->mutex);
    return full ? STATUS_FULL : 0;
}

/* A semaphore, because the waiter may return and take its stack away while the writer is still in sem_post. */
struct write_wait {
    db_write_fn fn;
    void *arg;
    sem_t done;
    int status;
};

static int wait_run(struct db_tx *tx, void *arg)
{
    struct write_wait *wait = arg;
    return wait->fn(tx, wait->arg);
}

static void wait_done(int status, void *arg)
{
    struct write_wait *wait = arg;
    wait->status = status;
    sem_post(&wait->done);
}

int db_write(struct db *db, const char *name, db_write_fn fn, void *arg)
{
    struct write_wait wait = {.fn = fn, .arg = arg};
    sem_init(&wait.done, 0, 0);
    int status = db_write_async(db, name, wait_run, wait_done, &wait);
    if (status == 0) {
        while (sem_wait(&wait.done) != 0)
            ; /* a signal */
        status = wait.status;
    }
    sem_destroy(&wait.done);
    return status;
}

void db_stats(struct db *db, struct db_stats *ret_stats)
{
    pthread_mutex_lock(&db->mutex);
    *ret_stats = db->stats;
    ret_stats->queue_now = db->queue_count;
    pthread_mutex_unlock(&db->mutex);
}
