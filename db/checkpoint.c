/*
 * Folding the write-ahead log back into the file, beside the writer rather than in its way.
 *
 * SQLite's own autocheckpoint runs inside the commit that passes the mark, and that commit then waits for some
 * thousand scattered page writes and a sync. Here a thread of its own copies while the writer goes on; that pass never
 * quite catches up, so it ends with a short one in which the writer stands still. After it the log starts again from
 * its beginning, which is what keeps the log small. A checkpoint that fails (the disk is full) loses nothing: the log
 * is the database until the next one.
 *
 * On a small or a filling disk the log itself can be what takes the last room, most of it with old versions of
 * pages. So where room is short the log grows only as far as folding it still finds room: the writer waits for that, and
 * the log gives back what it took. And a commit that met a full disk has it folded whatever its size, since most pages
 * have their places in the file already.
 */
#include "db/intern.h"

#include <sys/statvfs.h>

/* 64 MiB of log. More makes checkpoints cheaper (a page of an index that changes often is copied once) and rarer, and the
 * start after a crash slower (all of the log is read: a tenth of a second). Half of it costs a third of the speed. */
#define CHECKPOINT_FRAMES 16384
#define CHECKPOINT_FRAMES_MIN 64
/* So few frames are copied in about a millisecond: the writer may be held for them. */
#define CHECKPOINT_LAST_FRAMES 512
#define CHECKPOINT_PASSES_MAX 4
/* The log starts again when nobody reads in it any more, and grows by another step otherwise. Where room is short that is
 * waited for, though the writer stands still meanwhile. */
#define CHECKPOINT_READERS_MS 1000
/* While there is no room to fold the log either, every write fails, and not each of them shall copy a file for nothing. */
#define CHECKPOINT_FULL_PAUSE_US INT64_C(1000000)

/* Frames of the log that are not in the file yet; a negative number when the pass failed: another would as well. A pass
 * in which somebody was in the way has done what it could. */
static int checkpoint_pass(struct db_tx *tx, int mode)
{
    int log = 0, copied = 0, rc = sqlite3_wal_checkpoint_v2(tx->sqlite, NULL, mode, &log, &copied);
    return rc == SQLITE_OK || (rc & 0xff) == SQLITE_BUSY ? log - copied : -1;
}

/* The next one is due when the log has grown by a step. The file may need as much room as the log took, so half of what is
 * left is the log's. */
static void checkpoint_set_mark(struct db *db, int64_t frames)
{
    struct statvfs disk;
    int64_t step = CHECKPOINT_FRAMES;
    if (statvfs(db->path, &disk) == 0 && disk.f_bavail / 2 * disk.f_frsize / DB_PAGE_BYTES < CHECKPOINT_FRAMES)
        step = (int64_t)(disk.f_bavail / 2 * disk.f_frsize / DB_PAGE_BYTES);
    db->wal_short = step < CHECKPOINT_FRAMES;
    db->checkpoint_at = frames + (step < CHECKPOINT_FRAMES_MIN ? CHECKPOINT_FRAMES_MIN : step);
}

/* Under the mutex, after a last pass that left so many frames. When the log starts from its beginning, which a reader or a
 * failed pass can delay, the hook sets the mark back. */
static void checkpoint_set_next(struct db *db, int left)
{
    checkpoint_set_mark(db, db->wal_frames);
    db->wal_full = false;
    db->wal_full_pause_us = left < 0 ? clock_stopwatch_us() + CHECKPOINT_FULL_PAUSE_US : 0;
}

static bool checkpoint_is_due(const struct db *db)
{
    return db->wal_frames >= db->checkpoint_at || (db->wal_full && clock_stopwatch_us() >= db->wal_full_pause_us);
}

static void checkpoint_run(struct db *db)
{
    int passes = 0;
    while (checkpoint_pass(db->checkpointer, SQLITE_CHECKPOINT_PASSIVE) > CHECKPOINT_LAST_FRAMES &&
           ++passes < CHECKPOINT_PASSES_MAX)
        ;
    pthread_mutex_lock(&db->mutex);
    db->checkpoint_waits = true;
    while (db->in_batch)
        pthread_cond_wait(&db->wal_turn, &db->mutex);
    bool is_short = db->wal_short || db->wal_full;
    pthread_mutex_unlock(&db->mutex);

    int left = checkpoint_pass(db->checkpointer, is_short ? SQLITE_CHECKPOINT_TRUNCATE : SQLITE_CHECKPOINT_PASSIVE);

    pthread_mutex_lock(&db->mutex);
    db->checkpoint_waits = false;
    checkpoint_set_next(db, left);
    pthread_cond_broadcast(&db->wal_turn);
    pthread_mutex_unlock(&db->mutex);
}

static void *checkpoint_main(void *arg)
{
    struct db *db = arg;
    for (;;) {
        pthread_mutex_lock(&db->mutex);
        while (!checkpoint_is_due(db) && !db->checkpoint_stops)
            pthread_cond_wait(&db->checkpoint_due, &db->mutex);
        bool stops = db->checkpoint_stops;
        pthread_mutex_unlock(&db->mutex);
        if (stops)
            return NULL;
        checkpoint_run(db);
    }
}

/* SQLite calls it on the writer's connection after each commit. */
static int checkpoint_hook(void *arg, sqlite3 *sqlite, const char *name, int frames)
{
    (void)sqlite;
    (void)name;
    struct db *db = arg;
    pthread_mutex_lock(&db->mutex);
    /* The writer has started the log from its beginning again. */
    if (frames < db->wal_frames)
        checkpoint_set_mark(db, 0);
    db->wal_frames = frames;
    pthread_mutex_unlock(&db->mutex);
    return SQLITE_OK;
}

void db_checkpoint_batch_begins(struct db *db)
{
    pthread_mutex_lock(&db->mutex);
    while (db->checkpoint_waits)
        pthread_cond_wait(&db->wal_turn, &db->mutex);
    db->in_batch = true;
    pthread_mutex_unlock(&db->mutex);
}

void db_checkpoint_batch_ended(struct db *db)
{
    pthread_mutex_lock(&db->mutex);
    db->in_batch = false;
    bool due = checkpoint_is_due(db);
    if (due && (db->wal_short || db->wal_full) && db->checkpointer_runs)
        db->checkpoint_waits = true; /* not one more batch before it */
    if (db->checkpoint_waits)
        pthread_cond_broadcast(&db->wal_turn);
    if (due)
        pthread_cond_signal(&db->checkpoint_due);
    pthread_mutex_unlock(&db->mutex);
    if (due && (db->flags & DB_INLINE)) {
        int left = checkpoint_pass(db->writer, SQLITE_CHECKPOINT_PASSIVE);
        checkpoint_set_next(db, left);
    }
}

int db_checkpoint_start(struct db *db)
{
    checkpoint_set_mark(db, 0);
    sqlite3_wal_hook(db->writer->sqlite, checkpoint_hook, db);
    if (db->flags & DB_INLINE)
        return 0;
    int status = db_tx_open(db, true, DB_READER_CACHE_KIB, &db->checkpointer);
    if (status < 0)
        return status;
    sqlite3_busy_timeout(db->checkpointer->sqlite, CHECKPOINT_READERS_MS);
    if (pthread_create(&db->checkpoint_thread, NULL, checkpoint_main, db) != 0)
        return STATUS_IO;
    db->checkpointer_runs = true;
    pthread_setname_np(db->checkpoint_thread, "db-checkpoint");
    return 0;
}

void db_checkpoint_stop(struct db *db)
{
    if (!db->checkpointer_runs)
        return;
    pthread_mutex_lock(&db->mutex);
    db->checkpoint_stops = true;
    pthread_cond_signal(&db->checkpoint_due);
    pthread_mutex_unlock(&db->mutex);
    pthread_join(db->checkpoint_thread, NULL);
}
