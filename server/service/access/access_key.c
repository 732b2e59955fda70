/*
 * Access keys: made, listed, deleted, and looked up to verify a signature. A secret leaves this file twice: in the answer
 * to who made it, and in the memory of the request that it is to verify. On disk it is sealed under a key of its own file,
 * bound to the id, so neither a copy of the store nor a row that was moved lets anybody in.
 */
#include "server/service/access/access.h"
#include "server/service/private.h"

#include "base/log.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define KEY_NAME_MAX (NAME_MAX_BYTES - sizeof("token:")) /* so that an actor's name holds it whole */
#define KEY_PREFIX "HFAK"
#define KEY_LENGTH 20
#define KEY_USED_EVERY_MS MS_PER_MIN /* "last used" is for people; a write a minute is enough */

_Static_assert(ACCESS_KEY_SEALED_BYTES == ACCESS_KEY_SECRET_CHARACTERS + SEAL_EXTRA_BYTES, "a seal fits exactly");
_Static_assert(KEY_LENGTH < ACCESS_KEY_MAX_BYTES, "an id fits");
_Static_assert(ACCESS_KEY_SECRET_CHARACTERS == SECRET_CHARACTERS, "a secret is one of id_secret's");

/* --- make ------------------------------------------------------------------------------------------ */

/* Letters that nobody mistakes for another. */
static void make_id(struct service *s, char ret_id[ACCESS_KEY_MAX_BYTES])
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    uint8_t bytes[KEY_LENGTH];
    id_bytes(s->ids, bytes, sizeof(bytes));
    for (size_t i = 0; i < KEY_LENGTH; i++)
        ret_id[i] = i < strlen(KEY_PREFIX) ? KEY_PREFIX[i] : letters[bytes[i] % (sizeof(letters) - 1)];
    ret_id[KEY_LENGTH] = '\0';
}

struct making {
    struct access_key key;
    struct problem *problem;
};

static int create_write(struct db_tx *tx, void *arg)
{
    struct making *making = arg;
    int status = db_access_key_insert(tx, &making->key);
    if (status == STATUS_EXISTS)
        return problem_say(making->problem, status, PROBLEM_NAME_TAKEN,
                           "An access key named \"%s\" exists. Choose another name, or delete that key first.",
                           making->key.name);
    return status;
}

int service_access_key_create(struct service *s, const struct actor *actor, const char *name, enum role role,
                              struct access_key *ret_key, char ret_secret[SERVICE_SECRET_MAX],
                              struct problem *ret_problem)
{
    int status = service_require(actor, ROLE_ADMIN, ret_problem);
    if (status < 0)
        return status;
    if (!text_is_name(name) || strlen(name) > KEY_NAME_MAX)
        return problem_say(ret_problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "name is \"%s\"; an access key's name has 1 to %zu letters, digits and inner hyphens.", name,
                           KEY_NAME_MAX);
    char secret[ID_SECRET_MAX];
    struct making making = {.key = {.role = role, .created_at = service_now(s)}, .problem = ret_problem};
    snprintf(making.key.name, sizeof(making.key.name), "%s", name);
    make_id(s, making.key.access_key);
    id_secret(s->ids, secret);
    seal_close(&s->seal_key, s->ids, making.key.access_key, secret, SECRET_CHARACTERS, making.key.sealed);
    status = service_write(s, "access-key-create", create_write, &making, ret_problem);
    if (status == 0) {
        *ret_key = making.key;
        memcpy(ret_secret, secret, SERVICE_SECRET_MAX);
    }
    explicit_bzero(secret, sizeof(secret));
    return status;
}

/* --- list and delete ------------------------------------------------------------------------------- */

struct listing {
    db_row_fn fn;
    void *arg;
};

static int list_read(struct db_tx *tx, void *arg)
{
    struct listing *listing = arg;
    return db_access_key_list(tx, listing->fn, listing->arg);
}

int service_access_key_list(struct service *s, db_row_fn fn, void *arg, struct problem *ret_problem)
{
    struct listing listing = {fn, arg};
    return service_read(s, list_read, &listing, ret_problem);
}

struct removal {
    const char *access_key;
    struct problem *problem;
};

static int delete_write(struct db_tx *tx, void *arg)
{
    struct removal *removal = arg;
    int status = db_access_key_delete(tx, removal->access_key);
    if (status == STATUS_NOT_FOUND)
        return problem_say(removal->problem, status, PROBLEM_NOT_FOUND, "There is no access key \"%s\".",
                           removal->access_key);
    return status;
}

int service_access_key_delete(struct service *s, const struct actor *actor, const char *access_key,
                              struct problem *ret_problem)
{
    int status = service_require(actor, ROLE_ADMIN, ret_problem);
    if (status < 0)
        return status;
    struct removal removal = {access_key, ret_problem};
    return service_write(s, "access-key-delete", delete_write, &removal, ret_problem);
}

/* --- use ------------------------------------------------------------------------------------------- */

struct lookup {
    const char *access_key;
    struct access_key key;
};

static int find_read(struct db_tx *tx, void *arg)
{
    struct lookup *lookup = arg;
    return db_access_key_get(tx, lookup->access_key, &lookup->key);
}

int service_access_key_secret(struct service *s, const char *access_key, char ret_secret[SERVICE_SECRET_MAX],
                              struct access_key *ret_key, struct actor *ret_actor)
{
    struct lookup lookup = {.access_key = access_key};
    int status = service_read(s, find_read, &lookup, NULL);
    if (status < 0)
        return status == STATUS_NOT_FOUND ? STATUS_UNAUTHENTICATED : status;
    const struct access_key *key = &lookup.key;
    char secret[SERVICE_SECRET_MAX] = "";
    if (seal_open(&s->seal_key, key->access_key, key->sealed, sizeof(key->sealed), secret) < 0) {
        log_error("the secret of the access key %s cannot be read: it was made under another secret.key; delete it and "
                  "make a new one",
                  key->access_key);
        return STATUS_UNAUTHENTICATED;
    }
    memcpy(ret_secret, secret, sizeof(secret));
    explicit_bzero(secret, sizeof(secret));
    *ret_key = *key;
    *ret_actor = (struct actor){.role = key->role};
    say_cut(ret_actor->name, sizeof(ret_actor->name), "key:%s", key->name);
    say_cut(ret_actor->credential, sizeof(ret_actor->credential), "%s", key->access_key);
    return 0;
}

struct used {
    int64_t id, at;
};

static int used_write(struct db_tx *tx, void *arg)
{
    const struct used *used = arg;
    return db_access_key_used(tx, used->id, used->at);
}

static void used_done(int status, void *arg)
{
    (void)status; /* the next use says it again */
    free(arg);
}

void service_access_key_used(struct service *s, const struct access_key *key)
{
    int64_t now_ms = service_now(s);
    if (now_ms - key->used_at < KEY_USED_EVERY_MS)
        return;
    struct used *used = own_calloc(1, sizeof(*used));
    *used = (struct used){key->id, now_ms};
    if (db_write_async(s->db, "access-key-used", used_write, used_done, used) < 0)
        free(used);
}
