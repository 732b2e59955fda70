/*
 * What the files of this room share, and nobody else includes: the connection, its cache of statements, the
 * small language in which the families ask and answer, and the joints between store, writer and checkpointer.
 *
 * A family's function reads
 *
 *     auto_query struct db_query q;
 *     db_query_open(&q, tx, SQL);                 a constant statement, cached under its address
 *     db_bind_text(&q, name);                     parameters in order; what is bound must outlive the query
 *     int status = db_query_one(&q);              or db_query_next in a loop, or db_query_run
 *     if (status == 0) { cluster_read(&q, ret); status = db_query_status(&q); }
 *
 * Errors are kept in the query: binding and reading never have to be checked one by one.
 */
#ifndef HOLDFAST_DB_INTERN_H
#define HOLDFAST_DB_INTERN_H

#include "base/own.h"
#include "db/db.h"

#include <pthread.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/types.h>

#define DB_FILE "holdfast.db"
#define DB_LOCK_FILE "lock"
#define DB_MARKER_FILE "holdfast.marker"
#define DB_PATH_BYTES_MAX 4200
#define DB_APPLICATION_ID 0x48464442 /* "HFDB" */
#define DB_STATEMENTS_MAX 512   /* slots of a connection's cache, a power of two; the room has about 190 statements */
#define DB_READERS_MAX 8        /* more than the threads that read at once in hpd */
#define DB_BUSY_TIMEOUT_MS 5000 /* only a person's sqlite3 shell can ever hold a lock against us */
#define DB_PAGE_BYTES 4096
/* The upper levels of every index, and the leaves of what is written now. More costs more: a commit that split a page of
 * an index looks through all pages of the cache, and what is missing here the kernel still has. */
#define DB_WRITER_CACHE_KIB 8192
#define DB_READER_CACHE_KIB 4096

/* How all connections reach their files: the system's way, but for what vfs.c gathers. Once in a process. */
#define DB_VFS "holdfast"
void db_vfs_register(void);

/* --- connections --------------------------------------------------------------------------------- */

struct db_statement {
    const char *sql; /* the key is the address; NULL: free slot */
    sqlite3_stmt *stmt;
    bool busy;
};

struct db_tx {
    struct db *db;
    sqlite3 *sqlite;
    bool writer;
    int lost; /* with this status SQLite threw the whole transaction away; 0: it did not */
    struct db_tx *next;
    uint64_t counts_stamp; /* a reader's: see counts.c */
    size_t statement_count;
    struct db_statement statements[DB_STATEMENTS_MAX];
};

/* Opens a connection with all its settings. cache_kib: how much memory its pages may take. */
int db_tx_open(struct db *db, bool writer, int cache_kib, struct db_tx **ret_tx);
void db_tx_close(struct db_tx *tx);
/* Runs a statement that binds nothing and answers nothing: BEGIN, COMMIT, SAVEPOINT. Cached as the others. */
int db_exec(struct db_tx *tx, const char *sql);
/* Runs any text of statements, uncached: for opening and migrating. */
int db_script(struct db_tx *tx, const char *sql);
/* The status of an SQLite result code; marks tx as lost when the transaction is gone. */
int db_tx_error(struct db_tx *tx, int rc);

/* --- queries ------------------------------------------------------------------------------------- */

struct db_query {
    struct db_tx *tx;
    sqlite3_stmt *stmt;
    struct db_statement *slot; /* NULL: made for this one use, because the cached one was busy */
    int status;                /* the first thing that went wrong; 0: nothing */
    int bound, column;
};

/* sql must be a constant: its address is its name. */
void db_query_open(struct db_query *q, struct db_tx *tx, const char *sql);
void db_query_close(struct db_query *q);
#define auto_query __attribute__((cleanup(db_query_close)))

void db_bind_i64(struct db_query *q, int64_t value);
void db_bind_row(struct db_query *q, int64_t row); /* 0 becomes NULL */
void db_bind_text(struct db_query *q, const char *text);
void db_bind_name(struct db_query *q, const char *text); /* "" becomes NULL */
void db_bind_blob(struct db_query *q, const void *data, size_t len);
/* A limit of a list: 0 becomes "none". */
void db_bind_limit(struct db_query *q, int limit);

/* 1: a row stands; 0: no more; else a status. */
int db_query_next(struct db_query *q);
/* 0: the row stands; NOT_FOUND; else a status. */
int db_query_one(struct db_query *q);
/* Runs to the end. ret_changes (may be NULL): rows inserted, updated or deleted. */
int db_query_run(struct db_query *q, int64_t *ret_changes);
/* As db_query_run for what must hit a row: NOT_FOUND when it changed nothing. */
int db_query_hit(struct db_query *q);
/* As db_query_run; fills the id the new row was given. */
int db_query_insert(struct db_query *q, int64_t *ret_id);
/* 0, or what went wrong while reading columns (IO: the row holds something this binary never wrote). */
int db_query_status(const struct db_query *q);

/* Columns in order. NULL reads as 0 and "". */
int64_t db_get_i64(struct db_query *q);
void db_get_text(struct db_query *q, char *dst, size_t size);
void db_get_blob(struct db_query *q, void *dst, size_t len);
const char *db_get_word(struct db_query *q); /* lives until the query moves on; never NULL */
const char *db_get_bytes(struct db_query *q,
                         size_t *ret_len); /* as db_get_word, of a text that may have any byte in it */
void db_query_fail(struct db_query *q, int status);

#define DB_GET_TEXT(q, array) db_get_text((q), (array), sizeof(array))
/* An enumeration by its text. */
#define DB_GET_ENUM(q, name, target)                   \
    do {                                               \
        enum name value_;                              \
        if (name##_parse(db_get_word(q), &value_) < 0) \
            db_query_fail((q), STATUS_IO);             \
        else                                           \
            *(target) = value_;                        \
    } while (0)

/* Walks the rows of a query: read fills row from the columns, fn gets it. */
typedef void (*db_read_fn)(struct db_query *q, void *row);
int db_query_walk(struct db_query *q, db_read_fn read, void *row, db_row_fn fn, void *arg);
/* One row or NOT_FOUND. */
int db_query_take(struct db_query *q, db_read_fn read, void *row);

/* Whole queries with one parameter: one row or NOT_FOUND, what must hit a row, what is run to its end. */
int db_take_i64(struct db_tx *tx, const char *sql, int64_t value, db_read_fn read, void *row);
int db_take_text(struct db_tx *tx, const char *sql, const char *text, db_read_fn read, void *row);
int db_hit_i64(struct db_tx *tx, const char *sql, int64_t value);
int db_hit_text(struct db_tx *tx, const char *sql, const char *text);
int db_run_i64(struct db_tx *tx, const char *sql, int64_t value, int64_t *ret_changes);

/* True when the next column is NULL; reads nothing. */
bool db_next_is_null(const struct db_query *q);

/* A node's row carries the instance that fills it: one reader for both lists. */
#define DB_INSTANCE_SELECT                                                                                          \
    "i.id, i.node_id, i.instance_id, i.state, i.boot_id, i.boot_at, i.launched_at, i.terminated_at, i.launch_key, " \
    "i.image_id, i.release, i.address, i.self_registered, i.provider_ref"
#define DB_INSTANCE_COLUMNS 14
void db_instance_read(struct db_query *q, void *row);

/* Verdicts have no foreign key (see the migration): they are dropped by hand before their node goes. */
int db_verdict_drop_node(struct db_tx *tx, int64_t node_id);
int db_verdict_drop_cluster(struct db_tx *tx, int64_t cluster_id);
/* Around dropping verdicts: read before it, keep in the same transaction. No id of theirs will be given again. */
int db_verdict_read_sequence(struct db_tx *tx);
int db_verdict_keep_sequence(struct db_tx *tx);
/* What was remembered of the nodes that are there is no longer sure: some were dropped, or not added after all. */
void db_verdict_forget_nodes(struct db *db);

/* --- counts of nodes, remembered between reads (counts.c) ------------------------------------------ */

struct db_counts;
struct cluster_counts;
struct db_counts *db_counts_new(void);
void db_counts_free(struct db_counts *counts); /* accepts NULL */
/* The writer, before it changes, adds or deletes nodes of a group, or of any. */
void db_counts_mark(struct db_tx *tx, int64_t group_id);
void db_counts_mark_all(struct db_tx *tx);
void db_counts_settle(struct db *db);   /* once what was marked is committed or undone */
void db_counts_begin(struct db_tx *tx); /* a reader, before its transaction begins */
/* In a transaction that has read something already, so that its snapshot stands. False: to be counted. */
bool db_counts_get(struct db_tx *tx, int64_t group_id, struct cluster_counts *ret_counts);
void db_counts_put(struct db_tx *tx, int64_t group_id, const struct cluster_counts *group);

/* --- the store ----------------------------------------------------------------------------------- */

struct db_job {
    const char *name;
    db_write_fn fn;
    db_done_fn done;
    void *arg;
    int status;
};

#define DB_BATCH_MAX 1024 /* writes in one commit: bounds how long the next one waits */

struct db {
    const struct clock *clock;
    unsigned flags;
    char *path, *marker_path;
    int lock_fd;
    struct db_tx *writer;
    struct db_counts *counts;

    /* Whose file it is (place.c): the marker's is the writer's own, the inodes stand from the start on. */
    int marker_fd;
    bool had_log; /* the file's log lay beside it when it was opened */
    int64_t marker_come, marker_at_us;
    ino_t file_inode, log_inode;
    pthread_mutex_t backup_mutex; /* one copy at a time */

    pthread_mutex_t mutex; /* guards all below */
    pthread_cond_t queued; /* the writer sleeps here */
    struct db_job *queue;  /* a ring of DB_WRITE_QUEUE_MAX */
    size_t queue_at, queue_count;
    bool stopping, writer_asleep;
    struct db_stats stats;

    pthread_cond_t wal_turn; /* writer and checkpointer take turns here */
    bool in_batch, checkpoint_waits;
    pthread_cond_t checkpoint_due; /* the checkpointer sleeps here */
    bool checkpoint_stops;
    int64_t wal_frames, checkpoint_at; /* frames in the log; at how many the next checkpoint is due */
    bool wal_short;                    /* the mark is where it is because little room is left */
    bool wal_full;                     /* a commit found no room: due now, but for the pause */
    int64_t wal_full_pause_us;

    pthread_cond_t reader_back;
    struct db_tx *readers; /* idle ones */
    int reader_count;      /* all there are */

    pthread_t writer_thread, checkpoint_thread;
    bool writer_runs, checkpointer_runs;
    struct db_tx *checkpointer;

    /* The writer's own, for verdicts (verdict.c). */
    int64_t verdict_last_id; /* 0: not read yet */
    uint64_t *known_nodes;   /* a bit for each that was seen to be there */
    size_t known_words;
    struct db_job *batch; /* the writer's own, DB_BATCH_MAX */
};

struct db_migration {
    const char *name; /* "0001_first_light" */
    const char *sql, *sql_end;
};
/* Brings the schema up to the last of the list; its places count from 1. ret_error gets a sentence. */
int db_migrate(struct db_tx *tx, const struct db_migration *list, int count, char ret_error[DB_ERROR_MAX]);
const struct db_migration *db_migrations(int *ret_count);

/* Runs the writes as one commit and fills their statuses; done is not called. */
void db_batch_run(struct db *db, struct db_job *jobs, size_t count);
int db_writer_start(struct db *db);
/* Commits what waits and joins. Nothing when it was never started. */
void db_writer_stop(struct db *db);

/* --- place.c: none of it without threads --- */
/* Before a new file is made: CONFLICT when there was one. */
int db_place_find(struct db *db, char ret_error[DB_ERROR_MAX]);
/* Before anything is changed. CONFLICT with what to do. */
int db_place_check(struct db *db, char ret_error[DB_ERROR_MAX]);
int db_place_begin(struct db *db);
void db_place_note(struct db *db); /* the writer, after a batch */
void db_place_end(struct db *db);
/* How far the store has come: a sum that only grows. */
int db_place_come(struct db_tx *tx, int64_t *ret_come);

int db_checkpoint_start(struct db *db);
void db_checkpoint_stop(struct db *db);
/* The writer's side of taking turns: before and after each batch. */
void db_checkpoint_batch_begins(struct db *db);
void db_checkpoint_batch_ended(struct db *db);

void db_readers_close(struct db *db);

#endif
