/*
 * One connection: how it is opened, what it is told, what it keeps.
 *
 * Every connection enforces foreign keys and syncs each commit (synchronous=FULL). Readers are barred from writing by
 * query_only rather than by a read-only handle, because the reader of a write-ahead log has to take part in its locks.
 */
#include "db/intern.h"

#include <stdio.h>

static int connection_pragma(struct db_tx *tx, const char *pragma, int value)
{
    char sql[96];
    snprintf(sql, sizeof(sql), "PRAGMA %s = %d", pragma, value);
    return db_script(tx, sql);
}

static int connection_settings(struct db_tx *tx, int cache_kib)
{
    const struct {
        const char *name;
        int value;
    } pragmas[] = {
        {"foreign_keys", 1},       {"synchronous", 2},    {"cache_size", -cache_kib},  {"temp_store", 2},
        {"wal_autocheckpoint", 0}, {"trusted_schema", 0}, {"query_only", !tx->writer},
    };
    sqlite3_busy_timeout(tx->sqlite, DB_BUSY_TIMEOUT_MS);
    /* Until db_open has seen that the file is sound, closing must leave file and log as they were found; and later on
     * only the writer, which is closed last, folds the log back. */
    sqlite3_db_config(tx->sqlite, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    sqlite3_db_config(tx->sqlite, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    for (size_t i = 0; i < ARRAY_LEN(pragmas); i++) {
        int status = connection_pragma(tx, pragmas[i].name, pragmas[i].value);
        if (status < 0)
            return status;
    }
    return 0;
}

int db_tx_open(struct db *db, bool writer, int cache_kib, struct db_tx **ret_tx)
{
    struct db_tx *tx = own_calloc(1, sizeof(*tx));
    tx->db = db;
    tx->writer = writer;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int rc = sqlite3_open_v2(db->path, &tx->sqlite, flags, DB_VFS);
    int status = rc == SQLITE_OK      ? connection_settings(tx, cache_kib)
                 : tx->sqlite == NULL ? STATUS_IO
                                      : db_tx_error(tx, rc);
    tx->lost = 0;
    /* A damaged file is handed back open, so that the caller can say what SQLite reports of it. */
    *ret_tx = tx;
    return status;
}

void db_tx_close(struct db_tx *tx)
{
    if (tx == NULL)
        return;
    for (size_t i = 0; i < DB_STATEMENTS_MAX; i++)
        sqlite3_finalize(tx->statements[i].stmt);
    sqlite3_close(tx->sqlite);
    free(tx);
}

const struct clock *db_tx_clock(const struct db_tx *tx)
{
    return tx->db->clock;
}
