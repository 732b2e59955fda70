/*
 * Copies by SQLite's own backup: one read transaction over all pages, so that the copy is the store as it was at one moment. The
 * copy says that it is one, needs no log, and is checked before anybody gets it.
 */
#include "db/backup.h"
#include "db/fact.h"
#include "db/intern.h"

#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* What is true of any database, and said with the first fault. */
static int verify(sqlite3 *sqlite, char ret_error[DB_ERROR_MAX])
{
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(sqlite, "PRAGMA integrity_check(1)", -1, &stmt, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(stmt);
    const char *word = rc == SQLITE_ROW ? (const char *)sqlite3_column_text(stmt, 0) : sqlite3_errmsg(sqlite);
    bool good = rc == SQLITE_ROW && word != NULL && strcmp(word, "ok") == 0;
    if (!good)
        text_copy_cut(ret_error, DB_ERROR_MAX, word != NULL ? word : "it cannot be read");
    sqlite3_finalize(stmt);
    return good ? 0 : STATUS_IO;
}

int db_verify(struct db *db, char ret_error[DB_ERROR_MAX])
{
    return verify(db->writer->sqlite, ret_error);
}

static int status_of(int rc)
{
    return rc == SQLITE_OK ? 0 : rc == SQLITE_FULL ? STATUS_FULL : status_of_write(errno);
}

static int copy_pages(sqlite3 *from, sqlite3 *into)
{
    sqlite3_backup *backup = sqlite3_backup_init(into, "main", from, "main");
    if (backup == NULL)
        return STATUS_IO;
    errno = 0;
    (void)sqlite3_backup_step(backup, -1);
    return status_of(sqlite3_backup_finish(backup));
}

/* The copy stands alone: without a log, and knowing what it is. */
static int finish_copy(sqlite3 *into)
{
    static const char SQL[] = "PRAGMA journal_mode = DELETE; "
                              "INSERT INTO store_fact (name, value) VALUES ('" DB_FACT_STATE "', '" DB_FACT_STATE_BACKUP
                              "') ON CONFLICT (name) DO UPDATE SET value = excluded.value";
    char error[DB_ERROR_MAX];
    errno = 0;
    int status = status_of(sqlite3_exec(into, SQL, NULL, NULL, NULL));
    return status == 0 ? verify(into, error) : status;
}

/* The copy lies beside the store: it must not take the room that the store needs. */
static bool has_room(const struct db *db)
{
    struct stat st;
    struct statvfs disk;
    if (stat(db->path, &st) != 0 || statvfs(db->path, &disk) != 0)
        return true; /* what is wrong shows in the copy itself */
    return (uint64_t)disk.f_bavail * disk.f_frsize > (uint64_t)st.st_size + (uint64_t)st.st_size / 4;
}

static int make_copy(struct db *db, const char *path)
{
    if (!has_room(db))
        return STATUS_FULL;
    sqlite3 *from = NULL, *into = NULL;
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return status_of_write(errno);
    close(fd);
    int rc = sqlite3_open_v2(db->path, &from, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, DB_VFS);
    if (rc == SQLITE_OK) {
        sqlite3_busy_timeout(from, DB_BUSY_TIMEOUT_MS);
        sqlite3_db_config(from, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
        rc = sqlite3_open_v2(path, &into, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    }
    int status = rc == SQLITE_OK ? copy_pages(from, into) : STATUS_IO;
    if (status == 0)
        status = finish_copy(into);
    sqlite3_close(into);
    sqlite3_close(from);
    return status;
}

int db_backup(struct db *db, int *ret_fd, int64_t *ret_bytes)
{
    struct stat info;
    if (pthread_mutex_trylock(&db->backup_mutex) != 0)
        return STATUS_CONFLICT;
    autofree char *path = own_printf("%s.backup", db->path);
    autofree char *journal = own_printf("%s-journal", path);
    unlink(path); /* of a server that was killed */
    unlink(journal);
    int status = make_copy(db, path);
    int fd = status == 0 ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW) : -1;
    if (status == 0 && (fd < 0 || fstat(fd, &info) != 0))
        status = STATUS_IO;
    unlink(path);
    unlink(journal);
    pthread_mutex_unlock(&db->backup_mutex);
    if (status == 0) {
        *ret_fd = fd;
        *ret_bytes = info.st_size;
    } else if (fd >= 0) {
        close(fd);
    }
    return status;
}
