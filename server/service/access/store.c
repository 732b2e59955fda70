/*
 * The key that seals secrets stands in a file of its own, and the store knows its fingerprint: one that is lost or another one would
 * else be noticed by people whose signatures fail, and a new one made in silence would lose the old for good.
 */
#include "server/service/access/store.h"
#include "server/service/private.h"

#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "db/access_key.h"
#include "db/backup.h"
#include "db/fact.h"

#include <stdio.h>
#include <string.h>

struct known {
    const struct seal_key *key; /* NULL: the file is gone */
    char fingerprint[DB_FACT_MAX_BYTES];
    bool sealed, foreign; /* there are secrets; one of them is not the key's */
};

static int look_at_key(const void *row, void *arg)
{
    const struct access_key *access_key = row;
    struct known *known = arg;
    char secret[ACCESS_KEY_SECRET_CHARACTERS];
    known->sealed = true;
    if (known->key != NULL &&
        seal_open(known->key, access_key->access_key, access_key->sealed, sizeof(access_key->sealed), secret) != 0)
        known->foreign = true;
    explicit_bzero(secret, sizeof(secret));
    return 0;
}

static int known_read(struct db_tx *tx, void *arg)
{
    struct known *known = arg;
    int status = db_fact_get(tx, DB_FACT_SEAL_KEY, known->fingerprint);
    return status == 0 ? db_access_key_list(tx, look_at_key, known) : status;
}

static int fingerprint_write(struct db_tx *tx, void *arg)
{
    return db_fact_put(tx, DB_FACT_SEAL_KEY, arg);
}

/* CONFLICT: not the key that the store knows. A store of an earlier version knows none, but what was sealed with it. */
static int compare(const struct known *known, const char *path, const char *fingerprint,
                   char ret_error[SERVICE_KEY_ERROR_MAX])
{
    static const char WHAT[] =
        "put that key back from your backup; or, if it is lost, start once with --new-secret-key and make access "
        "keys anew";
    bool named = known->fingerprint[0] != '\0';
    if (known->key == NULL && (named || known->sealed))
        snprintf(ret_error, SERVICE_KEY_ERROR_MAX, "%.120s is gone, and the store has secrets sealed with it%s%s: %s",
                 path, named ? ", fingerprint " : "", known->fingerprint, WHAT);
    else if (known->key != NULL && named && !text_equal(known->fingerprint, fingerprint))
        snprintf(ret_error, SERVICE_KEY_ERROR_MAX,
                 "%.120s has the fingerprint %s, and the store's secrets are sealed with %s: %s", path, fingerprint,
                 known->fingerprint, WHAT);
    else if (known->key != NULL && !named && known->foreign)
        snprintf(ret_error, SERVICE_KEY_ERROR_MAX, "%.120s is not the key that the store's secrets are sealed with: %s",
                 path, WHAT);
    else
        return 0;
    return STATUS_CONFLICT;
}

static int make_anew(const char *path, char ret_error[SERVICE_KEY_ERROR_MAX])
{
    autofree char *old = own_printf("%s.old", path);
    if (file_exists(path) && rename(path, old) != 0) {
        snprintf(ret_error, SERVICE_KEY_ERROR_MAX, "%.120s cannot be renamed", path);
        return STATUS_IO;
    }
    log_warn("a new secret.key is made: access keys of before cannot be used any more; delete them and make new ones");
    return 0;
}

int service_seal_key_open(struct service *s, const char *path, bool anew, char ret_error[SERVICE_KEY_ERROR_MAX])
{
    struct known known = {0};
    struct seal_key key;
    char fingerprint[SEAL_FINGERPRINT_MAX] = "";
    int status = anew ? make_anew(path, ret_error) : 0;
    if (status < 0)
        return status;
    bool there = file_exists(path);
    status = there ? seal_key_file(path, &key) : 0;
    if (status == 0 && there) {
        seal_key_fingerprint(&key, fingerprint);
        known.key = &key;
    }
    if (status == 0)
        status = service_read(s, known_read, &known, NULL);
    if (status == 0 && !anew)
        status = compare(&known, path, fingerprint, ret_error);
    if (status == 0 && !there)
        status = seal_key_file(path, &key); /* makes it */
    if (status < 0) {
        if (ret_error[0] == '\0')
            snprintf(ret_error, SERVICE_KEY_ERROR_MAX, "%.120s: %s", path,
                     status == STATUS_INVALID ? "it is not a key that hpd made" : status_meaning(status));
        return status;
    }
    seal_key_fingerprint(&key, fingerprint);
    s->seal_key = key;
    explicit_bzero(&key, sizeof(key));
    if (text_equal(known.fingerprint, fingerprint))
        return 0;
    return service_write(s, "seal-key", fingerprint_write, fingerprint, NULL);
}

int service_backup_create(struct service *s, const struct actor *actor, struct service_backup *ret_backup,
                          struct problem *ret_problem)
{
    int status = service_require(actor, ROLE_ADMIN, ret_problem);
    if (status < 0)
        return status;
    struct service_backup backup = {.fd = -1, .schema = db_schema_version()};
    status = db_backup(s->db, &backup.fd, &backup.bytes);
    if (status == STATUS_CONFLICT)
        return problem_say(ret_problem, status, PROBLEM_UNAVAILABLE, "Another backup is being made. Try again.");
    if (status == STATUS_FULL)
        return problem_say(ret_problem, status, PROBLEM_STORE_FULL,
                           "The disk of the store has no room for a copy of it. Make room and try again.");
    if (status < 0)
        return problem_say(ret_problem, status, PROBLEM_UNAVAILABLE,
                           "The store could not be copied whole: %s. hpd's log and the kernel's say more.",
                           status_meaning(status));
    seal_key_fingerprint(&s->seal_key, backup.key);
    *ret_backup = backup;
    return 0;
}
