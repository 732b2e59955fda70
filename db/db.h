/*
 * The store: SQLite in WAL mode, synchronous=FULL, one writer thread that commits whatever has queued
 * (group commit), and readers of their own.
 *
 * There is no general query function: SQL lives in db/ only, one file per table family, as constant
 * statements with bound parameters. What the families share is struct db_tx: a connection inside a
 * transaction. A write is a named function that runs on the writer thread as if inside a savepoint of
 * its own: when it returns a negative status its changes are undone and the others of the same
 * commit are kept (how, without paying for savepoints, stands in writer.c). When the commit itself
 * fails every write of that batch fails with the same status (IO or FULL), so that nothing is
 * acknowledged that is not on disk.
 *
 * DB_INLINE opens a store without threads: writes run in the caller, at once. For simulation and tools.
 */
#ifndef HOLDFAST_DB_DB_H
#define HOLDFAST_DB_DB_H

#include "base/clock.h"
#include "model/model.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct db;
struct db_tx;

enum db_flags { DB_INLINE = 1 };

#define DB_ERROR_MAX 512
#define DB_WRITE_QUEUE_MAX 65536 /* writes waiting; more are refused with FULL so that memory stays bounded */

/* Opens or makes DIR/holdfast.db, migrates it (each migration atomic), starts the writer. VERSION when a newer
 * Holdfast made it; IO, FULL; CONFLICT when another hpd holds the directory, or the file is older than what was stored in it. */
int db_open(const char *dir, const struct clock *clock, unsigned flags, struct db **ret_db,
            char ret_error[DB_ERROR_MAX]);
/* Commits what is queued, stops the writer, closes. Accepts NULL. */
void db_close(struct db *db);
/* Number of the newest migration in this binary. */
int db_schema_version(void);

typedef int (*db_write_fn)(struct db_tx *tx, void *arg);
typedef void (*db_done_fn)(int status, void *arg);

/* Runs fn on the writer, waits for the commit; returns fn's status or the commit's. name is static and shows in
 * metrics. fn may run again after a rolled-back batch: it must only touch the store and its own results, and set
 * those afresh each time. */
int db_write(struct db *db, const char *name, db_write_fn fn, void *arg);
/* The same without waiting: done runs on the writer thread after the commit (or the failure). FULL at once when
 * the queue is full, and done is not called then. */
int db_write_async(struct db *db, const char *name, db_write_fn fn, db_done_fn done, void *arg);

/* A consistent read: a pooled connection in a read transaction. Blocks only when the pool is empty. */
int db_read_begin(struct db *db, struct db_tx **ret_tx);
void db_read_end(struct db *db, struct db_tx *tx); /* accepts NULL */

const struct clock *db_tx_clock(const struct db_tx *tx);

struct db_stats {
    uint64_t commits, writes, write_errors, batch_max;
    uint64_t commit_us_total, commit_us_max;
    uint64_t queue_now;
    int64_t
        failing_since; /* commits have failed since then (wall, ms), none has reached the disk; 0: the last one did */
};
void db_stats(struct db *db, struct db_stats *ret_stats);
/* False: the file or its log was removed, moved or replaced under us, and nothing is stored any more. Any thread. */
bool db_is_in_place(const struct db *db);
/* A write that reaches the disk and changes nothing, where there is room for more: finds out whether the store takes writes
 * again. Waits for the disk. */
int db_touch(struct db *db);

/* --- shared shapes of the lists ----------------------------------------------------------------- */

/* Walks rows: return 0 to go on, anything else stops and is returned by the list function. row lives for the call. */
typedef int (*db_row_fn)(const void *row, void *arg);

#endif
