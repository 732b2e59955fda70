/*
 * The pool of reading connections: opened when first needed, at most DB_READERS_MAX, waited for when all are out.
 */
#include "db/intern.h"

/* An idle connection, or the right to open one (*ret_tx NULL). */
static void reader_take(struct db *db, struct db_tx **ret_tx)
{
    pthread_mutex_lock(&db->mutex);
    while (db->readers == NULL && db->reader_count >= DB_READERS_MAX)
        pthread_cond_wait(&db->reader_back, &db->mutex);
    *ret_tx = db->readers;
    if (*ret_tx != NULL)
        db->readers = (*ret_tx)->next;
    else
        db->reader_count++;
    pthread_mutex_unlock(&db->mutex);
}

static void reader_give(struct db *db, struct db_tx *tx)
{
    pthread_mutex_lock(&db->mutex);
    tx->next = db->readers;
    db->readers = tx;
    pthread_cond_signal(&db->reader_back);
    pthread_mutex_unlock(&db->mutex);
}

static int reader_open(struct db *db, struct db_tx **ret_tx)
{
    int status = db_tx_open(db, false, DB_READER_CACHE_KIB, ret_tx);
    if (status == 0)
        return 0;
    db_tx_close(*ret_tx);
    pthread_mutex_lock(&db->mutex);
    db->reader_count--;
    pthread_cond_signal(&db->reader_back);
    pthread_mutex_unlock(&db->mutex);
    return status;
}

int db_read_begin(struct db *db, struct db_tx **ret_tx)
{
    struct db_tx *tx = NULL;
    reader_take(db, &tx);
    int status = tx != NULL ? 0 : reader_open(db, &tx);
    if (status < 0)
        return status;
    db_counts_begin(tx);
    status = db_exec(tx, "BEGIN");
    if (status < 0) {
        reader_give(db, tx);
        return status;
    }
    *ret_tx = tx;
    return 0;
}

void db_read_end(struct db *db, struct db_tx *tx)
{
    if (tx == NULL)
        return;
    /* An I/O error may have ended the transaction already; one that will not commit is thrown away. */
    if (!sqlite3_get_autocommit(tx->sqlite) && db_exec(tx, "COMMIT") < 0)
        db_exec(tx, "ROLLBACK");
    reader_give(db, tx);
}

void db_readers_close(struct db *db)
{
    while (db->readers != NULL) {
        struct db_tx *tx = db->readers;
        db->readers = tx->next;
        db_tx_close(tx);
    }
}
