/*
 * Tokens: made, listed, deleted. The text of a secret leaves this file once, in the answer to who made it.
 *
 * API tokens authenticate people and scripts, with a role. Enrolment tokens let agents in for a short time and
 * only where they were made for.
 */
#include "server/service/access/access.h"
#include "server/service/private.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define API_NAME_MAX (NAME_MAX_BYTES - sizeof("token:")) /* so that an actor's name holds it whole */
#define API_TTL_MAX_MS (3650 * MS_PER_DAY)               /* longer is "never", which is spelt 0 */
#define ENROLLMENT_TTL_DEFAULT_MS MS_PER_HOUR
#define ENROLLMENT_TTL_MAX_MS MS_PER_DAY
#define ADMIN_TOKEN_NAME "admin"
#define ADMIN_NAMES_MAX 100

/* --- make ------------------------------------------------------------------------------------------ */

struct making {
    const char *cluster, *node; /* of an enrolment token; node "": any of the cluster */
    struct problem *problem;
    struct token token;
};

static void token_new(struct service *s, enum token_kind kind, int64_t ttl_ms, struct token *ret_token,
                      char ret_text[SERVICE_TOKEN_TEXT_MAX])
{
    *ret_token = (struct token){.kind = kind, .created_at = service_now(s)};
    ret_token->expires_at = ttl_ms == 0 ? 0 : ret_token->created_at + ttl_ms;
    id_uuid(s->ids, ret_token->uid);
    secret_make(s, kind == TOKEN_KIND_API ? SECRET_PREFIX_API : SECRET_PREFIX_ENROLLMENT, ret_text, ret_token->hash);
}

static int api_write(struct db_tx *tx, void *arg)
{
    struct making *making = arg;
    int status = db_token_insert(tx, &making->token);
    if (status == STATUS_EXISTS)
        return problem_say(making->problem, status, PROBLEM_NAME_TAKEN,
                           "A token named \"%s\" exists. Choose another name, or delete that token first.",
                           making->token.name);
    return status;
}

int service_token_create_api(struct service *s, const struct actor *actor, const char *name, enum role role,
                             int64_t ttl_ms, struct token *ret_token, char ret_text[SERVICE_TOKEN_TEXT_MAX],
                             struct problem *ret_problem)
{
    int status = service_require(actor, ROLE_ADMIN, ret_problem);
    if (status < 0)
        return status;
    if (!text_is_name(name) || strlen(name) > API_NAME_MAX)
        return problem_say(ret_problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "name is \"%s\"; a token's name has 1 to %zu letters, digits and inner hyphens.", name,
                           API_NAME_MAX);
    if (ttl_ms < 0 || ttl_ms > API_TTL_MAX_MS)
        return problem_say(ret_problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "ttl must be more than 0 and at most 3650d; leave it out for a token that never expires.");
    char text[SERVICE_TOKEN_TEXT_MAX];
    struct making making = {.problem = ret_problem};
    token_new(s, TOKEN_KIND_API, ttl_ms, &making.token, text);
    making.token.role = role;
    snprintf(making.token.name, sizeof(making.token.name), "%s", name);
    status = service_write(s, "token-create", api_write, &making, ret_problem);
    if (status < 0)
        return status;
    *ret_token = making.token;
    memcpy(ret_text, text, sizeof(text));
    return 0;
}

static int enrollment_write(struct db_tx *tx, void *arg)
{
    struct making *making = arg;
    struct token *token = &making->token;
    struct place place = {0};
    if (token->kind == TOKEN_KIND_MACHINES)
        return db_token_insert(tx, token);
    int status = making->node[0] == '\0' ? place_find_cluster(tx, making->cluster, &place.cluster, making->problem)
                                         : place_find(tx, making->cluster, making->node, &place, making->problem);
    if (status < 0)
        return status;
    if (place.cluster.state == CLUSTER_STATE_DELETING)
        return problem_say(making->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "The cluster \"%s\" is being deleted; nothing can enrol there any more.",
                           place.cluster.name);
    token->cluster_id = place.cluster.id;
    token->node_id = place.node.id;
    snprintf(token->name, sizeof(token->name), "%s", making->node[0] == '\0' ? making->cluster : making->node);
    return db_token_insert(tx, token);
}

static int create_enrollment(struct service *s, const struct actor *actor, enum token_kind kind, struct making *making,
                             int64_t ttl_ms, struct token *ret_token, char ret_text[SERVICE_TOKEN_TEXT_MAX])
{
    struct problem *ret_problem = making->problem;
    int status = service_require(actor, ROLE_ADMIN, ret_problem);
    if (status < 0)
        return status;
    if (ttl_ms < 0 || ttl_ms > ENROLLMENT_TTL_MAX_MS)
        return problem_say(ret_problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "ttl must be more than 0 and at most 24h; an agent enrols within minutes of its start.");
    char text[SERVICE_TOKEN_TEXT_MAX];
    token_new(s, kind, ttl_ms == 0 ? ENROLLMENT_TTL_DEFAULT_MS : ttl_ms, &making->token, text);
    status = service_write(s, "token-create", enrollment_write, making, ret_problem);
    if (status < 0)
        return status;
    *ret_token = making->token;
    memcpy(ret_text, text, sizeof(text));
    return 0;
}

int service_token_create_enrollment(struct service *s, const struct actor *actor, const char *cluster, const char *node,
                                    int64_t ttl_ms, struct token *ret_token, char ret_text[SERVICE_TOKEN_TEXT_MAX],
                                    struct problem *ret_problem)
{
    struct making making = {.cluster = cluster, .node = node == NULL ? "" : node, .problem = ret_problem};
    return create_enrollment(s, actor, TOKEN_KIND_ENROLLMENT, &making, ttl_ms, ret_token, ret_text);
}

int service_token_create_machines(struct service *s, const struct actor *actor, int64_t ttl_ms, struct token *ret_token,
                                  char ret_text[SERVICE_TOKEN_TEXT_MAX], struct problem *ret_problem)
{
    struct making making = {.problem = ret_problem};
    return create_enrollment(s, actor, TOKEN_KIND_MACHINES, &making, ttl_ms, ret_token, ret_text);
}

/* --- list and delete ------------------------------------------------------------------------------- */

struct listing {
    db_row_fn fn;
    void *arg;
};

static int list_read(struct db_tx *tx, void *arg)
{
    struct listing *listing = arg;
    return db_token_list(tx, listing->fn, listing->arg);
}

int service_token_list(struct service *s, db_row_fn fn, void *arg, struct problem *ret_problem)
{
    struct listing listing = {fn, arg};
    return service_read(s, list_read, &listing, ret_problem);
}

struct removal {
    const char *uid;
    struct problem *problem;
};

static int delete_write(struct db_tx *tx, void *arg)
{
    struct removal *removal = arg;
    int status = db_token_delete(tx, removal->uid);
    if (status == STATUS_NOT_FOUND)
        return problem_say(removal->problem, status, PROBLEM_NOT_FOUND, "There is no token \"%s\".", removal->uid);
    return status;
}

int service_token_delete(struct service *s, const struct actor *actor, const char *uid, struct problem *ret_problem)
{
    int status = service_require(actor, ROLE_ADMIN, ret_problem);
    if (status < 0)
        return status;
    struct removal removal = {uid, ret_problem};
    status = service_write(s, "token-delete", delete_write, &removal, ret_problem);
    /* Also when the write failed: what is remembered may only ever be too little. */
    memory_actors_forget(s->memory);
    return status;
}

/* --- the first token ------------------------------------------------------------------------------- */

struct first {
    int64_t now_ms;
    bool anew;
    bool exists;               /* a token that can make others */
    char earlier[ID_UUID_MAX]; /* the one that was made here before; "": it is gone */
    struct token token;
};

static int is_admin_token(const void *row, void *arg)
{
    const struct token *token = row;
    struct first *first = arg;
    if (token->kind != TOKEN_KIND_API || token->role != ROLE_ADMIN ||
        (token->expires_at != 0 && token->expires_at <= first->now_ms))
        return 0;
    first->exists = true;
    if (strcmp(token->name, ADMIN_TOKEN_NAME) == 0)
        memcpy(first->earlier, token->uid, sizeof(token->uid));
    return 0;
}

static int first_write(struct db_tx *tx, void *arg)
{
    struct first *first = arg;
    first->exists = false;
    first->earlier[0] = '\0';
    int status = db_token_list(tx, is_admin_token, first);
    if (status < 0 || (first->exists && !first->anew))
        return status;
    if (first->earlier[0] != '\0')
        status = db_token_delete(tx, first->earlier);
    if (status < 0)
        return status;
    /* A lesser token may hold the name. */
    for (int n = 1; n <= ADMIN_NAMES_MAX; n++) {
        if (n == 1)
            snprintf(first->token.name, sizeof(first->token.name), ADMIN_TOKEN_NAME);
        else
            snprintf(first->token.name, sizeof(first->token.name), ADMIN_TOKEN_NAME "-%d", n);
        status = db_token_insert(tx, &first->token);
        if (status != STATUS_EXISTS)
            break;
    }
    return status;
}

int service_ensure_admin_token(struct service *s, bool anew, char ret_text[SERVICE_TOKEN_TEXT_MAX])
{
    char text[SERVICE_TOKEN_TEXT_MAX];
    struct first first = {.now_ms = service_now(s), .anew = anew};
    token_new(s, TOKEN_KIND_API, 0, &first.token, text);
    first.token.role = ROLE_ADMIN;
    int status = service_write(s, "token-first", first_write, &first, NULL);
    if (anew)
        memory_actors_forget(s->memory);
    if (status < 0)
        return status;
    memcpy(ret_text, text, sizeof(text));
    if (first.exists && !anew)
        ret_text[0] = '\0';
    return 0;
}
