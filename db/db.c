/*
 * Opening and closing the store. What it refuses: a directory another process works in, a file that is not ours or
 * is damaged, a database of a newer Holdfast; each with a sentence, and with the file left as it was found.
 *
 * From here: vfs.c, connection.c and query.c are the ground, writer.c, reader.c and checkpoint.c the traffic,
 * migrations.c the schema, and one file for each family of tables.
 */
#include "db/intern.h"

#include "base/file.h"
#include "base/text.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Up to here the check after an unclean end costs less than a second; above, a start would wait for it. The log makes a
 * crash harmless either way: the check is for what crashes come with, a failing disk or a file copied by hand. */
#define CHECK_BYTES_MAX (INT64_C(256) * 1024 * 1024)

#define SQLITE_HEADER_BYTES 100 /* of its file format */

static void sqlite_setup(void)
{
    /* Its memory statistics cost a process-wide lock at every allocation, and nobody reads them. */
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite3_initialize();
    db_vfs_register();
}

static int open_failed(struct db *db, int status, const char *what, char ret_error[DB_ERROR_MAX])
{
    autofree char *sentence = own_printf("%s: %s", db->path, what);
    text_copy_cut(ret_error, DB_ERROR_MAX, sentence);
    return status;
}

/* SQLite calls it "disk I/O error" where a file may not grow. */
static void say_no_room(struct db *db, char ret_error[DB_ERROR_MAX])
{
    struct rlimit limit;
    bool limited = getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
    autofree char *what = limited ? own_printf("no room: make room on the disk, or raise the limit of %" PRIu64
                                               " KiB for a file (LimitFSIZE= of the unit, ulimit -f)",
                                               (uint64_t)limit.rlim_cur / 1024)
                                  : own_printf("no room: make room on the disk, and start again");
    (void)open_failed(db, STATUS_FULL, what, ret_error);
}

/* The file is made by us rather than by SQLite, so that it is never, not even for a moment, readable by others. */
static int make_file(struct db *db, char ret_error[DB_ERROR_MAX])
{
    int fd = open(db->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0 || fchmod(fd, 0600) != 0) {
        int number = errno;
        if (fd >= 0)
            close(fd);
        return open_failed(db, status_of_write(number), strerror(number), ret_error);
    }
    close(fd);
    return 0;
}

static int lock_directory(struct db *db, const char *dir, char ret_error[DB_ERROR_MAX])
{
    int status = file_make_dirs(dir, 0700);
    if (status < 0) {
        snprintf(ret_error, DB_ERROR_MAX, "cannot make the directory %s (%s)", dir, status_meaning(status));
        return status;
    }
    autofree char *path = own_printf("%s/%s", dir, DB_LOCK_FILE);
    int64_t within_ms = db->flags & DB_INLINE ? 0 : FILE_LOCK_KILLED_MS;
    status = file_lock_within(path, within_ms, &db->lock_fd);
    if (status == STATUS_CONFLICT)
        snprintf(ret_error, DB_ERROR_MAX,
                 "another process is working in %s (waited %" PRId64
                 " s for its end); stop it, or use another directory",
                 dir, within_ms / 1000);
    else if (status < 0)
        snprintf(ret_error, DB_ERROR_MAX, "cannot lock %s (%s)", path, status_meaning(status));
    return status;
}

static int64_t size_of(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 ? info.st_size : 0;
}

static int ask_number(struct db_tx *tx, const char *sql, int64_t *ret_value)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, sql);
    int status = db_query_one(&q);
    if (status == 0)
        *ret_value = db_get_i64(&q);
    return status;
}

static int damaged(struct db *db, int status, const char *why, char ret_error[DB_ERROR_MAX])
{
    autofree char *what = own_printf("not a database, or damaged (%s); it was left as it is, restore a backup", why);
    return open_failed(db, status, what, ret_error);
}

/* Ours, or empty. */
static int identify(struct db *db, char ret_error[DB_ERROR_MAX])
{
    static const char SQL_TABLES[] = "SELECT count(*) FROM sqlite_master";
    int64_t application = 0, tables = 0;
    int64_t bytes = size_of(db->path);
    /* SQLite takes a file of one byte for an empty one and would write over it. */
    if (bytes > 0 && bytes < SQLITE_HEADER_BYTES)
        return damaged(db, STATUS_IO, "shorter than its header", ret_error);
    int status = ask_number(db->writer, "PRAGMA application_id", &application);
    if (status == 0)
        status = ask_number(db->writer, SQL_TABLES, &tables);
    if (status < 0)
        return damaged(db, status, sqlite3_errmsg(db->writer->sqlite), ret_error);
    if (application != DB_APPLICATION_ID && (application != 0 || tables != 0))
        return open_failed(db, STATUS_IO, "a database of another program; it was left as it is", ret_error);
    return 0;
}

static int check(struct db *db, char ret_error[DB_ERROR_MAX])
{
    auto_query struct db_query q;
    db_query_open(&q, db->writer, "PRAGMA quick_check(1)");
    int status = db_query_one(&q);
    const char *word = status == 0 ? db_get_word(&q) : sqlite3_errmsg(db->writer->sqlite);
    if (status == 0 && strcmp(word, "ok") == 0)
        return 0;
    return damaged(db, status < 0 ? status : STATUS_IO, word, ret_error);
}

static int set_up(struct db *db, char ret_error[DB_ERROR_MAX])
{
    char sql[96];
    snprintf(sql, sizeof(sql), "PRAGMA page_size = %d; PRAGMA journal_mode = WAL", DB_PAGE_BYTES);
    int status = db_script(db->writer, sql);
    if (status < 0)
        return open_failed(db, status, sqlite3_errmsg(db->writer->sqlite), ret_error);
    return 0;
}

static int open_schema(struct db *db, char ret_error[DB_ERROR_MAX])
{
    char why[DB_ERROR_MAX];
    int count = 0;
    const struct db_migration *list = db_migrations(&count);
    int status = db_migrate(db->writer, list, count, why);
    if (status < 0)
        return open_failed(db, status, why, ret_error);
    return 0;
}

static int open_file(struct db *db, char ret_error[DB_ERROR_MAX])
{
    autofree char *wal = own_printf("%s-wal", db->path);
    bool unclean = size_of(wal) > 0;
    db->had_log = file_exists(wal);
    int status = db_tx_open(db, true, DB_WRITER_CACHE_KIB, &db->writer);
    /* A file that is no database can already fail in the settings; identify says so in its own words. */
    int identified = identify(db, ret_error);
    if (identified < 0)
        return identified;
    if (status < 0)
        return open_failed(db, status, sqlite3_errmsg(db->writer->sqlite), ret_error);
    /* SQLite fills up a last page that is short with zeros and meets the damage only when it needs that page. */
    if (!unclean && size_of(db->path) % DB_PAGE_BYTES != 0)
        return damaged(db, STATUS_IO, "its last page is torn", ret_error);
    if (unclean && size_of(db->path) <= CHECK_BYTES_MAX)
        status = check(db, ret_error);
    if (status == 0 && !(db->flags & DB_INLINE))
        status = db_place_check(db, ret_error);
    if (status == 0)
        status = set_up(db, ret_error);
    if (status == 0)
        status = open_schema(db, ret_error);
    return status;
}

static int start(struct db *db, char ret_error[DB_ERROR_MAX])
{
    int status = db->flags & DB_INLINE ? 0 : db_place_begin(db);
    if (status < 0)
        return open_failed(db, status, "cannot write into it", ret_error);
    status = db_checkpoint_start(db);
    if (status == 0 && !(db->flags & DB_INLINE))
        status = db_writer_start(db);
    if (status < 0)
        return open_failed(db, status, "cannot start its threads", ret_error);
    sqlite3_db_config(db->writer->sqlite, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 0, NULL);
    return 0;
}

/* Closes what could not be opened. Reading a file makes an empty log beside it. */
static void leave_as_found(struct db *db)
{
    autofree char *wal = own_printf("%s-wal", db->path), *shm = own_printf("%s-shm", db->path);
    bool had_log = db->had_log;
    db_close(db);
    if (had_log || size_of(wal) > 0)
        return;
    unlink(wal);
    unlink(shm);
}

int db_open(const char *dir, const struct clock *clock, unsigned flags, struct db **ret_db,
            char ret_error[DB_ERROR_MAX])
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, sqlite_setup);
    struct db *db = own_calloc(1, sizeof(*db));
    db->clock = clock;
    db->flags = flags;
    db->lock_fd = -1;
    db->path = own_printf("%s/%s", dir, DB_FILE);
    db->marker_path = own_printf("%s/%s", dir, DB_MARKER_FILE);
    db->marker_fd = -1;
    db->had_log = true; /* until it was looked for, which only the holder of the lock may */
    pthread_mutex_init(&db->backup_mutex, NULL);
    db->counts = db_counts_new();
    pthread_mutex_init(&db->mutex, NULL);
    pthread_cond_init(&db->queued, NULL);
    pthread_cond_init(&db->wal_turn, NULL);
    pthread_cond_init(&db->checkpoint_due, NULL);
    pthread_cond_init(&db->reader_back, NULL);

    int status = lock_directory(db, dir, ret_error);
    if (status == 0 && !(flags & DB_INLINE))
        status = db_place_find(db, ret_error);
    if (status == 0)
        status = make_file(db, ret_error);
    if (status == 0)
        status = open_file(db, ret_error);
    if (status == 0)
        status = start(db, ret_error);
    if (status < 0) {
        if (status == STATUS_FULL)
            say_no_room(db, ret_error);
        leave_as_found(db);
        return status;
    }
    *ret_db = db;
    return 0;
}

void db_close(struct db *db)
{
    if (db == NULL)
        return;
    db_writer_stop(db);
    db_checkpoint_stop(db);
    db_tx_close(db->checkpointer);
    db_readers_close(db);
    db_place_end(db);
    db_tx_close(db->writer); /* the last one: folds the log back and removes it */
    if (db->lock_fd >= 0)
        close(db->lock_fd);
    pthread_cond_destroy(&db->reader_back);
    pthread_cond_destroy(&db->checkpoint_due);
    pthread_cond_destroy(&db->wal_turn);
    pthread_cond_destroy(&db->queued);
    pthread_mutex_destroy(&db->mutex);
    free(db->queue);
    free(db->batch);
    free(db->known_nodes);
    db_counts_free(db->counts);
    pthread_mutex_destroy(&db->backup_mutex);
    free(db->marker_path);
    free(db->path);
    free(db);
}
