/*
 * From a bearer token to who asks. A token that was found is remembered for a few seconds, so that a client that
 * polls does not cost a look into the store each time; deleting a token forgets all of them at once.
 */
#include "server/service/access/access.h"
#include "server/service/private.h"

#include <string.h>

#define ACTOR_REMEMBERED_MS (5 * MS_PER_S)
#define TOKEN_USED_EVERY_MS MS_PER_MIN /* "last used" is for people; a write a minute is enough */

struct lookup {
    const uint8_t *hash;
    struct token token;
};

static int find_read(struct db_tx *tx, void *arg)
{
    struct lookup *lookup = arg;
    return db_token_find(tx, lookup->hash, &lookup->token);
}

struct used {
    int64_t id, at;
};

static int used_write(struct db_tx *tx, void *arg)
{
    const struct used *used = arg;
    return db_token_used(tx, used->id, used->at);
}

static void used_done(int status, void *arg)
{
    (void)status; /* the next use says it again */
    free(arg);
}

static void note_used(struct service *s, const struct token *token, int64_t now_ms)
{
    if (now_ms - token->used_at < TOKEN_USED_EVERY_MS)
        return;
    struct used *used = own_calloc(1, sizeof(*used));
    *used = (struct used){token->id, now_ms};
    if (db_write_async(s->db, "token-used", used_write, used_done, used) < 0)
        free(used);
}

static bool is_usable(const struct token *token, const uint8_t hash[ID_SHA256_BYTES], int64_t now_ms)
{
    return token->kind == TOKEN_KIND_API && id_equal(token->hash, hash, ID_SHA256_BYTES) &&
           (token->expires_at == 0 || token->expires_at > now_ms);
}

static int64_t remember_for_ms(const struct token *token, int64_t now_ms)
{
    int64_t left = token->expires_at == 0 ? ACTOR_REMEMBERED_MS : token->expires_at - now_ms;
    return left < ACTOR_REMEMBERED_MS ? left : ACTOR_REMEMBERED_MS;
}

int service_authenticate(struct service *s, const char *bearer, struct actor *ret_actor)
{
    uint8_t hash[ID_SHA256_BYTES];
    if (bearer == NULL || secret_hash_of(SECRET_PREFIX_API, bearer, hash) < 0)
        return STATUS_UNAUTHENTICATED;
    int64_t mono_ms = clock_mono_ms(s->clock), now_ms = service_now(s);
    if (memory_actor_get(s->memory, hash, mono_ms, ret_actor))
        return 0;
    uint64_t generation = memory_actors_generation(s->memory);
    struct lookup lookup = {.hash = hash};
    int status = service_read(s, find_read, &lookup, NULL);
    if (status < 0 && status != STATUS_NOT_FOUND)
        return status;
    if (status == STATUS_NOT_FOUND || !is_usable(&lookup.token, hash, now_ms))
        return STATUS_UNAUTHENTICATED;
    struct actor actor = {.role = lookup.token.role, .token_id = lookup.token.id};
    say_cut(actor.name, sizeof(actor.name), "token:%s", lookup.token.name);
    memcpy(actor.credential, lookup.token.uid, sizeof(actor.credential));
    memory_actor_put(s->memory, hash, &actor, mono_ms + remember_for_ms(&lookup.token, now_ms), generation);
    note_used(s, &lookup.token, now_ms);
    *ret_actor = actor;
    return 0;
}
