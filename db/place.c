/*
 * Whether the file is the one that this server wrote, whole: noticed at the start, and while it runs.
 *
 * Two things are known apart from what the file holds. Beside it lies a marker with how far the store had come (the sum of all row
 * numbers that were ever given, which only grows), written again about once a second: a file that is behind it is an older
 * one. And the file itself says "in use" from the start to the clean end: one that says so without its log beside it is a bare
 * copy. A marker that is not there or not readable proves nothing, and one that is behind the file is ordinary: it is not synced.
 */
#include "db/fact.h"
#include "db/intern.h"

#include "base/file.h"
#include "base/text.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARKER_PREFIX "holdfast store "
#define MARKER_BYTES_MAX 128
#define NOTE_EVERY_US INT64_C(1000000)

static const char SQL_COME[] = "SELECT coalesce(sum(seq), 0) FROM sqlite_sequence";

int db_place_come(struct db_tx *tx, int64_t *ret_come)
{
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_COME);
    int status = db_query_one(&q);
    if (status == 0)
        *ret_come = db_get_i64(&q);
    return status;
}

/* -1: there is none. */
static int64_t marker_read(const char *path)
{
    autofree char *text = NULL;
    size_t len = 0;
    int64_t come = -1;
    if (file_read_plain(path, MARKER_BYTES_MAX, &text, &len) != 0 || !text_starts_with(text, MARKER_PREFIX))
        return -1;
    char *end = strchr(text, '\n');
    if (end == NULL)
        return -1;
    *end = '\0';
    return text_parse_i64(text + strlen(MARKER_PREFIX), 0, INT64_MAX, &come) == 0 ? come : -1;
}

static void refuse(const struct db *db, char ret_error[DB_ERROR_MAX], const char *what)
{
    autofree char *text =
        own_printf("%s%s. Put the newest file and its log (%s-wal) back; or, if this one is wanted, stop "
                   "and run: hpd restore --state-dir DIR FILE",
                   db->path, what, DB_FILE);
    text_copy_cut(ret_error, DB_ERROR_MAX, text);
}

/* How far the file has come and what it says of itself; 0 and "" of one that is empty or of an earlier schema. */
static int read_file(struct db_tx *tx, int64_t *ret_come, char ret_state[DB_FACT_MAX_BYTES])
{
    static const char SQL_TABLES[] =
        "SELECT count(*) FROM sqlite_master WHERE name IN ('store_fact', 'sqlite_sequence')";
    auto_query struct db_query q;
    db_query_open(&q, tx, SQL_TABLES);
    int status = db_query_one(&q);
    *ret_come = 0;
    ret_state[0] = '\0';
    if (status < 0 || db_get_i64(&q) < 2)
        return status;
    status = db_place_come(tx, ret_come);
    return status == 0 ? db_fact_get(tx, DB_FACT_STATE, ret_state) : status;
}

int db_place_check(struct db *db, char ret_error[DB_ERROR_MAX])
{
    char state[DB_FACT_MAX_BYTES], what[128];
    int64_t come = 0, noted = marker_read(db->marker_path);
    int status = read_file(db->writer, &come, state);
    if (status < 0)
        return status;
    if (noted > come) {
        snprintf(what, sizeof(what), " is older than what hpd last stored here (%lld of %lld rows)", (long long)come,
                 (long long)noted);
        refuse(db, ret_error, what);
        return STATUS_CONFLICT;
    }
    if (noted < 0 && !db->had_log && strcmp(state, DB_FACT_STATE_IN_USE) == 0) {
        refuse(db, ret_error, " is a copy of a store in use without its log: its newest changes are missing");
        return STATUS_CONFLICT;
    }
    return 0;
}

int db_place_find(struct db *db, char ret_error[DB_ERROR_MAX])
{
    if (marker_read(db->marker_path) <= 0 || file_exists(db->path))
        return 0;
    refuse(db, ret_error, " is gone, though hpd has stored in it");
    return STATUS_CONFLICT;
}

/* Into the file and not only into the log, so that a copy of the file alone has it. */
int db_place_begin(struct db *db)
{
    int status = db_fact_put(db->writer, DB_FACT_STATE, DB_FACT_STATE_IN_USE);
    if (status == 0)
        sqlite3_wal_checkpoint_v2(db->writer->sqlite, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    db->marker_fd = open(db->marker_path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    struct stat file, log;
    autofree char *wal = own_printf("%s-wal", db->path);
    if (status == 0 && stat(db->path, &file) == 0 && stat(wal, &log) == 0) {
        db->file_inode = file.st_ino;
        db->log_inode = log.st_ino;
    }
    return status;
}

static void note(struct db *db)
{
    int64_t come = 0;
    char line[MARKER_BYTES_MAX];
    if (db->marker_fd < 0 || db_place_come(db->writer, &come) < 0 || come == db->marker_come)
        return;
    int len = snprintf(line, sizeof(line), MARKER_PREFIX "%020lld\n", (long long)come);
    if (pwrite(db->marker_fd, line, (size_t)len, 0) == len) /* one that is not written is behind, no more */
        db->marker_come = come;
}

void db_place_note(struct db *db)
{
    int64_t now_us = clock_stopwatch_us();
    if (db->marker_fd < 0 || now_us - db->marker_at_us < NOTE_EVERY_US)
        return;
    db->marker_at_us = now_us;
    note(db);
}

void db_place_end(struct db *db)
{
    if (db->marker_fd < 0)
        return;
    note(db);
    db_fact_put(db->writer, DB_FACT_STATE, DB_FACT_STATE_CLOSED);
    close(db->marker_fd);
    db->marker_fd = -1;
}

static bool is_inode(const char *path, ino_t inode)
{
    struct stat info;
    return inode == 0 || (stat(path, &info) == 0 && info.st_ino == inode);
}

bool db_is_in_place(const struct db *db)
{
    char wal[DB_PATH_BYTES_MAX];
    if (db->file_inode == 0)
        return true; /* without threads nobody looks */
    int len = snprintf(wal, sizeof(wal), "%s-wal", db->path);
    return len > 0 && (size_t)len < sizeof(wal) && is_inode(db->path, db->file_inode) && is_inode(wal, db->log_inode);
}
