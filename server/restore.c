/*
 * The file is copied, opened and looked through beside the store before anything there is touched; what was there is kept under another
 * name. Its log goes first, so that it can never be taken for the new file's. Killed in between, the next start of hpd refuses
 * (the file is older than the marker, or gone) and says to run this again.
 */
#include "server/restore.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/own.h"
#include "base/seal.h"
#include "base/status.h"
#include "base/text.h"
#include "db/backup.h"
#include "db/fact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define STORE "holdfast.db"

struct restore {
    const char *dir, *file;
    bool force;
    char *room; /* a directory of its own, where the copy is looked at */
    char state[DB_FACT_MAX_BYTES], key[DB_FACT_MAX_BYTES];
};

__attribute__((format(printf, 1, 2))) static int refuse(const char *fmt, ...)
{
    va_list ap;
    fputs("hpd restore: ", stderr);
    va_start(ap, fmt);
    vfprintf(stderr, fmt, ap);
    va_end(ap);
    fputc('\n', stderr);
    return 1;
}

static bool copy_bytes(int from, int into)
{
    char bytes[65536];
    ssize_t got;
    while ((got = read(from, bytes, sizeof(bytes))) > 0)
        for (ssize_t at = 0, n = 0; at < got; at += n)
            if ((n = write(into, bytes + at, (size_t)(got - at))) <= 0)
                return false;
    return got == 0 && fsync(into) == 0;
}

static int copy_in(const struct restore *r)
{
    autofree char *path = own_printf("%s/" STORE, r->room);
    int from = open(r->file, O_RDONLY | O_CLOEXEC);
    if (from < 0)
        return refuse("%s: %s", r->file, strerror(errno));
    int into = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bool good = into >= 0 && copy_bytes(from, into);
    int number = errno;
    close(from);
    if (into >= 0 && close(into) != 0)
        good = false;
    return good ? 0 : refuse("%s cannot be copied to %s: %s", r->file, path, strerror(number));
}

static int read_facts(struct db_tx *tx, void *arg)
{
    struct restore *r = arg;
    int status = db_fact_get(tx, DB_FACT_STATE, r->state);
    if (status == 0)
        status = db_fact_get(tx, DB_FACT_SEAL_KEY, r->key);
    return status == 0 ? db_fact_put(tx, DB_FACT_STATE, DB_FACT_STATE_CLOSED) : status;
}

/* Opening it brings the copy up to this hpd's schema, too, so that the start will not fail at that. */
static int look_through(struct restore *r)
{
    struct db *db = NULL;
    char error[DB_ERROR_MAX] = "";
    int status = db_open(r->room, clock_system(), DB_INLINE, &db, error);
    if (status == 0)
        status = db_verify(db, error);
    if (status == 0)
        status = db_write(db, "restore", read_facts, r);
    db_close(db);
    return status == 0 ? 0 : refuse("%s cannot be used: %s", r->file, *error != 0 ? error : status_meaning(status));
}

static int check_key(const struct restore *r)
{
    struct seal_key key;
    char fingerprint[SEAL_FINGERPRINT_MAX] = "";
    autofree char *path = own_printf("%s/secret.key", r->dir);
    if (r->key[0] == '\0')
        return 0;
    if (!file_exists(path))
        return refuse("%s is not there: the backup's secrets are sealed with the key %s; put that file there first%s",
                      path, r->key, r->force ? "" : ", or use --force and start hpd with --new-secret-key");
    int status = seal_key_file(path, &key);
    if (status != 0)
        return refuse("%s: %s", path,
                      status == STATUS_INVALID ? "it is not a key that hpd made" : status_meaning(status));
    seal_key_fingerprint(&key, fingerprint);
    explicit_bzero(&key, sizeof(key));
    if (text_equal(fingerprint, r->key))
        return 0;
    return refuse(
        "%s has the fingerprint %s, and the backup's secrets are sealed with %s; put that key there first, or use "
        "--force and start hpd with --new-secret-key",
        path, fingerprint, r->key);
}

static int check_copy(const struct restore *r)
{
    if (r->force)
        return 0;
    if (text_equal(r->state, DB_FACT_STATE_IN_USE))
        return refuse("%s was copied while hpd ran, without its log: its newest changes may be missing. Take one that "
                      "hpctl backup "
                      "made; --force takes this one",
                      r->file);
    return check_key(r);
}

static bool move_aside(const char *dir, const char *name, const char *stamp)
{
    autofree char *from = own_printf("%s/%s", dir, name), *into = own_printf("%s/%s.before-%s", dir, name, stamp);
    return !file_exists(from) || rename(from, into) == 0;
}

static void sync_directory(const char *dir)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

static int put_in_place(const struct restore *r)
{
    char at[CLOCK_TEXT_MAX], stamp[CLOCK_TEXT_MAX];
    clock_format(clock_true_ms(clock_system()), at);
    size_t n = 0;
    for (const char *c = at; *c != '\0' && *c != '.'; c++)
        if (*c != ':' && *c != '-')
            stamp[n++] = *c;
    stamp[n] = '\0';
    autofree char *copy = own_printf("%s/" STORE, r->room), *place = own_printf("%s/" STORE, r->dir);
    autofree char *marker = own_printf("%s/holdfast.marker", r->dir), *shm = own_printf("%s/" STORE "-shm", r->dir);
    unlink(shm); /* made again from the log by whoever opens it */
    if (!move_aside(r->dir, STORE "-wal", stamp) || !move_aside(r->dir, STORE, stamp) || rename(copy, place) != 0)
        return refuse("%s: %s", place, strerror(errno));
    unlink(marker);
    sync_directory(r->dir);
    printf("Restored %s. What was there is kept as %s.before-%s. Start hpd.\n", r->file, place, stamp);
    return 0;
}

static int restore(struct restore *r)
{
    int rc =
        file_remove_tree(r->room) == 0 && mkdir(r->room, 0700) == 0 ? 0 : refuse("%s: %s", r->room, strerror(errno));
    if (rc == 0)
        rc = copy_in(r);
    if (rc == 0)
        rc = look_through(r);
    if (rc == 0)
        rc = check_copy(r);
    if (rc == 0)
        rc = put_in_place(r);
    file_remove_tree(r->room);
    return rc;
}

int restore_main(const char *state_dir, const char *file, bool force)
{
    int fd = -1;
    if (file_make_dirs(state_dir, 0700) != 0)
        return refuse("%s: %s", state_dir, strerror(errno));
    autofree char *room = own_printf("%s/restore", state_dir), *lock = own_printf("%s/lock", state_dir);
    struct restore r = {.dir = state_dir, .file = file, .force = force, .room = room};
    int status = file_lock_within(lock, FILE_LOCK_KILLED_MS, &fd);
    if (status == STATUS_CONFLICT)
        return refuse("an hpd is working in %s; stop it first", state_dir);
    if (status != 0)
        return refuse("%s: %s", lock, status_meaning(status));
    int rc = restore(&r);
    close(fd);
    return rc;
}
