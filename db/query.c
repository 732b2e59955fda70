/*
 * The small language of intern.h: statements found by address, parameters and columns in order, SQLite's result
 * codes as statuses.
 *
 * Wrong SQL, a wrong number of parameters and a misused handle are bugs of ours and abort; everything the
 * disk or the data can do is a status.
 */
#include "db/intern.h"

#include "base/text.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static _Noreturn void query_bug(struct db_tx *tx, const char *sql)
{
    fprintf(stderr, "db: %s: %s\n", sqlite3_errmsg(tx->sqlite), sql);
    abort();
}

static int error_constraint(int rc)
{
    switch (rc) {
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_PRIMARYKEY:
    case SQLITE_CONSTRAINT_ROWID:
        return STATUS_EXISTS;
    case SQLITE_CONSTRAINT_FOREIGNKEY:
        return STATUS_NOT_FOUND;
    default:
        return STATUS_INVALID;
    }
}

/* SQLite calls only ENOSPC full, and not everywhere; a quota and a file size limit are the same to whoever has to make
 * room. Its own record of errno is not kept for statements, so the thread's is looked at, cleared before each call. */
static int error_io(struct db_tx *tx)
{
    int number = sqlite3_system_errno(tx->sqlite);
    if (number == 0)
        number = errno;
    return status_of_write(number);
}

static int error_status(struct db_tx *tx, int rc)
{
    switch (rc & 0xff) {
    case SQLITE_CONSTRAINT:
        return error_constraint(rc);
    case SQLITE_FULL:
        return STATUS_FULL;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
        return error_io(tx);
    case SQLITE_TOOBIG:
        return STATUS_TOO_LARGE;
    case SQLITE_MISMATCH:
        return STATUS_INVALID;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_INTERRUPT:
        return STATUS_UNAVAILABLE;
    default:
        return STATUS_IO;
    }
}

int db_tx_error(struct db_tx *tx, int rc)
{
    int status = error_status(tx, rc);
    if (tx->writer && tx->lost == 0 && sqlite3_get_autocommit(tx->sqlite))
        tx->lost = status;
    return status;
}

/* --- the cache of statements --------------------------------------------------------------------- */

static struct db_statement *cache_slot(struct db_tx *tx, const char *sql)
{
    size_t at = ((uintptr_t)sql * UINT64_C(0x9e3779b97f4a7c15)) >> 32;
    for (;; at++) {
        struct db_statement *slot = &tx->statements[at % DB_STATEMENTS_MAX];
        if (slot->sql == sql || slot->sql == NULL)
            return slot;
    }
}

/* SQLite has the same code for wrong SQL and for a header that it does not understand. */
static bool is_damage(struct db_tx *tx)
{
    return strstr(sqlite3_errmsg(tx->sqlite), "unsupported file format") != NULL;
}

static int cache_prepare(struct db_tx *tx, const char *sql, unsigned flags, sqlite3_stmt **ret_stmt)
{
    errno = 0;
    int rc = sqlite3_prepare_v3(tx->sqlite, sql, -1, flags, ret_stmt, NULL);
    bool damaged = rc == SQLITE_ERROR && is_damage(tx);
    if ((rc == SQLITE_ERROR && !damaged) || rc == SQLITE_MISUSE)
        query_bug(tx, sql);
    return rc == SQLITE_OK ? 0 : damaged ? STATUS_IO : db_tx_error(tx, rc);
}

void db_query_open(struct db_query *q, struct db_tx *tx, const char *sql)
{
    *q = (struct db_query){.tx = tx};
    struct db_statement *slot = cache_slot(tx, sql);
    if (slot->sql == NULL) {
        /* One slot stays free, so that a search always ends. */
        if (tx->statement_count + 1 >= DB_STATEMENTS_MAX)
            query_bug(tx, sql);
        q->status = cache_prepare(tx, sql, SQLITE_PREPARE_PERSISTENT, &slot->stmt);
        if (q->status < 0)
            return;
        slot->sql = sql;
        tx->statement_count++;
    }
    if (slot->busy) {
        q->status = cache_prepare(tx, sql, 0, &q->stmt);
        return;
    }
    slot->busy = true;
    q->slot = slot;
    q->stmt = slot->stmt;
}

void db_query_close(struct db_query *q)
{
    if (q->slot == NULL) {
        sqlite3_finalize(q->stmt);
    } else {
        sqlite3_reset(q->stmt);
        q->slot->busy = false;
    }
    q->stmt = NULL;
    q->slot = NULL;
}

int db_script(struct db_tx *tx, const char *sql)
{
    errno = 0;
    int rc = sqlite3_exec(tx->sqlite, sql, NULL, NULL, NULL);
    return rc == SQLITE_OK ? 0 : db_tx_error(tx, rc);
}

int db_exec(struct db_tx *tx, const char *sql)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, sql);
    return db_query_run(&q, NULL);
}

/* --- parameters ---------------------------------------------------------------------------------- */

static void bind_done(struct db_query *q, int rc)
{
    if (rc == SQLITE_RANGE || rc == SQLITE_MISUSE)
        query_bug(q->tx, sqlite3_sql(q->stmt));
    if (rc != SQLITE_OK)
        db_query_fail(q, db_tx_error(q->tx, rc));
}

void db_bind_i64(struct db_query *q, int64_t value)
{
    if (q->status == 0)
        bind_done(q, sqlite3_bind_int64(q->stmt, ++q->bound, value));
}

void db_bind_row(struct db_query *q, int64_t row)
{
    if (q->status < 0)
        return;
    q->bound++;
    bind_done(q, row == 0 ? sqlite3_bind_null(q->stmt, q->bound) : sqlite3_bind_int64(q->stmt, q->bound, row));
}

void db_bind_text(struct db_query *q, const char *text)
{
    if (q->status == 0)
        bind_done(q, sqlite3_bind_text(q->stmt, ++q->bound, text, -1, SQLITE_STATIC));
}

void db_bind_name(struct db_query *q, const char *text)
{
    db_bind_text(q, text != NULL && text[0] != '\0' ? text : NULL);
}

void db_bind_blob(struct db_query *q, const void *data, size_t len)
{
    if (q->status == 0)
        bind_done(q, sqlite3_bind_blob(q->stmt, ++q->bound, data, (int)len, SQLITE_STATIC));
}

void db_bind_limit(struct db_query *q, int limit)
{
    db_bind_i64(q, limit > 0 ? limit : INT64_MAX);
}

/* --- running ------------------------------------------------------------------------------------- */

int db_query_next(struct db_query *q)
{
    if (q->status < 0)
        return q->status;
    if (q->bound != sqlite3_bind_parameter_count(q->stmt))
        query_bug(q->tx, sqlite3_sql(q->stmt));
    q->column = 0;
    errno = 0;
    int rc = sqlite3_step(q->stmt);
    if (rc == SQLITE_ROW)
        return 1;
    if (rc == SQLITE_DONE)
        return 0;
    if (rc == SQLITE_MISUSE)
        query_bug(q->tx, sqlite3_sql(q->stmt));
    q->status = db_tx_error(q->tx, sqlite3_extended_errcode(q->tx->sqlite));
    return q->status;
}

int db_query_one(struct db_query *q)
{
    int status = db_query_next(q);
    return status == 1 ? 0 : status == 0 ? STATUS_NOT_FOUND : status;
}

int db_query_run(struct db_query *q, int64_t *ret_changes)
{
    int status;
    do
        status = db_query_next(q);
    while (status == 1);
    if (status == 0 && ret_changes != NULL)
        *ret_changes = sqlite3_changes64(q->tx->sqlite);
    return status;
}

int db_query_hit(struct db_query *q)
{
    int64_t changes = 0;
    int status = db_query_run(q, &changes);
    return status < 0 ? status : changes == 0 ? STATUS_NOT_FOUND : 0;
}

int db_query_insert(struct db_query *q, int64_t *ret_id)
{
    int status = db_query_run(q, NULL);
    if (status == 0)
        *ret_id = sqlite3_last_insert_rowid(q->tx->sqlite);
    return status;
}

int db_query_status(const struct db_query *q)
{
    return q->status;
}

void db_query_fail(struct db_query *q, int status)
{
    if (q->status == 0)
        q->status = status;
}

int db_query_take(struct db_query *q, db_read_fn read, void *row)
{
    int status = db_query_one(q);
    if (status < 0)
        return status;
    read(q, row);
    return db_query_status(q);
}

int db_take_i64(struct db_tx *tx, const char *sql, int64_t value, db_read_fn read, void *row)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, sql);
    db_bind_i64(&q, value);
    return db_query_take(&q, read, row);
}

int db_take_text(struct db_tx *tx, const char *sql, const char *text, db_read_fn read, void *row)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, sql);
    db_bind_text(&q, text);
    return db_query_take(&q, read, row);
}

int db_hit_i64(struct db_tx *tx, const char *sql, int64_t value)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, sql);
    db_bind_i64(&q, value);
    return db_query_hit(&q);
}

int db_hit_text(struct db_tx *tx, const char *sql, const char *text)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, sql);
    db_bind_text(&q, text);
    return db_query_hit(&q);
}

int db_run_i64(struct db_tx *tx, const char *sql, int64_t value, int64_t *ret_changes)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, sql);
    db_bind_i64(&q, value);
    return db_query_run(&q, ret_changes);
}

int db_query_walk(struct db_query *q, db_read_fn read, void *row, db_row_fn fn, void *arg)
{
    for (;;) {
        int status = db_query_next(q);
        if (status != 1)
            return status;
        read(q, row);
        if (q->status < 0)
            return q->status;
        status = fn(row, arg);
        if (status != 0)
            return status;
    }
}

/* --- columns ------------------------------------------------------------------------------------- */

int64_t db_get_i64(struct db_query *q)
{
    return sqlite3_column_int64(q->stmt, q->column++);
}

const char *db_get_word(struct db_query *q)
{
    const char *text = (const char *)sqlite3_column_text(q->stmt, q->column++);
    return text != NULL ? text : "";
}

const char *db_get_bytes(struct db_query *q, size_t *ret_len)
{
    int column = q->column;
    const char *text = db_get_word(q);
    *ret_len = (size_t)sqlite3_column_bytes(q->stmt, column);
    return text;
}

void db_get_text(struct db_query *q, char *dst, size_t size)
{
    size_t len;
    const char *text = db_get_bytes(q, &len);
    if (len >= size) {
        db_query_fail(q, STATUS_IO);
        return;
    }
    memcpy(dst, text, len);
    dst[len] = '\0';
}

void db_get_blob(struct db_query *q, void *dst, size_t len)
{
    const void *data = sqlite3_column_blob(q->stmt, q->column);
    if (data == NULL || (size_t)sqlite3_column_bytes(q->stmt, q->column) != len)
        db_query_fail(q, STATUS_IO);
    else
        memcpy(dst, data, len);
    q->column++;
}

bool db_next_is_null(const struct db_query *q)
{
    return sqlite3_column_type(q->stmt, q->column) == SQLITE_NULL;
}
