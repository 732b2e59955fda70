/*
 * Tags: short texts under keys that people hang on clusters, scheduler configurations and quotas. The model says how they are
 * written; here is what it does not say. They are in the timeline, because billing and access often go by them.
 */
#include "server/service/private.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#define KEY_SHOWN 64 /* bytes of a key in a sentence */

int tags_check(const struct service_tag *tags, size_t count, struct problem *problem)
{
    for (size_t i = 0; i < count; i++) {
        if (strncasecmp(tags[i].key, TAG_KEY_RESERVED, strlen(TAG_KEY_RESERVED)) == 0)
            return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                               "The tag key \"%.*s\" begins with \"" TAG_KEY_RESERVED
                               "\", which is kept for AWS: choose another.",
                               KEY_SHOWN, tags[i].key);
        for (size_t k = 0; k < i; k++)
            if (strcmp(tags[i].key, tags[k].key) == 0)
                return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                                   "The tag key \"%.*s\" comes twice: it can have only one value.", KEY_SHOWN,
                                   tags[i].key);
    }
    return 0;
}

int tags_put(struct db_tx *tx, enum tag_owner owner, int64_t owner_id, const struct service_tag *tags, size_t count,
             struct problem *problem)
{
    int64_t there = 0;
    int status = 0;
    for (size_t i = 0; status == 0 && i < count; i++)
        status = db_tag_put(tx, owner, owner_id, tags[i].key, tags[i].value);
    if (status == 0)
        status = db_tag_count(tx, owner, owner_id, &there);
    if (status == 0 && there > TAGS_MAX)
        return problem_say(problem, STATUS_INVALID, PROBLEM_LIMIT_EXCEEDED,
                           "It would carry %" PRId64 " tags, and may carry %d: delete some first.", there, TAGS_MAX);
    return status;
}

/* --- what carries them ------------------------------------------------------------------------------ */

struct owner {
    enum tag_owner kind;
    int64_t id;
    struct cluster cluster;
    char said[NAME_MAX_BYTES + 32]; /* "the compute quota \"a\"" */
};

static int find_owner(struct db_tx *tx, const struct service_tagged *tagged, struct owner *ret_owner,
                      struct problem *problem)
{
    struct owner owner = {.kind = TAG_OWNER_CLUSTER};
    int status;
    if (tagged->governance == NULL) {
        status = place_find_cluster(tx, tagged->cluster, &owner.cluster, problem);
        owner.id = owner.cluster.id;
        snprintf(owner.said, sizeof(owner.said), "the cluster \"%s\"", owner.cluster.name);
    } else {
        struct governance governance = {0};
        owner.kind = TAG_OWNER_GOVERNANCE;
        status = governance_find(tx, tagged->governance, 0, &governance, problem);
        if (status == 0)
            status = db_cluster_get_row(tx, governance.cluster_id, &owner.cluster);
        owner.id = governance.id;
        snprintf(owner.said, sizeof(owner.said), "the %s \"%s\"", governance_noun(governance.kind), governance.name);
    }
    if (status == 0)
        *ret_owner = owner;
    return status;
}

/* --- list ------------------------------------------------------------------------------------------- */

struct work {
    const struct actor *actor;
    const struct service_tagged *tagged;
    const struct service_tag *tags;
    const char *const *keys;
    size_t count, removed;
    db_row_fn fn;
    void *arg;
    struct problem *problem;
};

static int list_read(struct db_tx *tx, void *arg)
{
    struct work *work = arg;
    struct owner owner;
    int status = find_owner(tx, work->tagged, &owner, work->problem);
    return status < 0 ? status : db_tag_list(tx, owner.kind, owner.id, work->fn, work->arg);
}

int service_tag_list(struct service *s, const struct service_tagged *tagged, db_row_fn fn, void *arg,
                     struct problem *ret_problem)
{
    struct work work = {.tagged = tagged, .fn = fn, .arg = arg, .problem = ret_problem};
    return service_read(s, list_read, &work, ret_problem);
}

/* --- change ------------------------------------------------------------------------------------------ */

static int add_write(struct db_tx *tx, void *arg)
{
    struct work *work = arg;
    struct owner owner;
    int status = find_owner(tx, work->tagged, &owner, work->problem);
    if (status == 0)
        status = tags_put(tx, owner.kind, owner.id, work->tags, work->count, work->problem);
    if (status < 0 || work->count == 0)
        return status;
    return cluster_event(tx, &owner.cluster, EVENT_LEVEL_INFO, EVENT_KIND_TAGS, "%s set %zu tag%s of %s, \"%.*s\"%s",
                         work->actor->name, work->count, work->count == 1 ? "" : "s", owner.said, KEY_SHOWN,
                         work->tags[0].key, work->count == 1 ? "" : " and others");
}

int service_tag_add(struct service *s, const struct actor *actor, const struct service_tagged *tagged,
                    const struct service_tag *tags, size_t count, struct problem *ret_problem)
{
    int status = service_require(actor, ROLE_OPERATOR, ret_problem);
    if (status == 0)
        status = tags_check(tags, count, ret_problem);
    if (status < 0)
        return status;
    struct work work = {.actor = actor, .tagged = tagged, .tags = tags, .count = count, .problem = ret_problem};
    status = service_write(s, "tag-add", add_write, &work, ret_problem);
    if (status == 0 && count > 0)
        service_events_added(s);
    return status;
}

static int delete_write(struct db_tx *tx, void *arg)
{
    struct work *work = arg;
    struct owner owner;
    work->removed = 0;
    int status = find_owner(tx, work->tagged, &owner, work->problem);
    for (size_t i = 0; status == 0 && i < work->count; i++) {
        status = db_tag_delete(tx, owner.kind, owner.id, work->keys[i]);
        work->removed += status == 0;
        status = status == STATUS_NOT_FOUND ? 0 : status;
    }
    if (status < 0 || work->removed == 0)
        return status;
    return cluster_event(tx, &owner.cluster, EVENT_LEVEL_INFO, EVENT_KIND_TAGS, "%s deleted %zu tag%s of %s",
                         work->actor->name, work->removed, work->removed == 1 ? "" : "s", owner.said);
}

int service_tag_delete(struct service *s, const struct actor *actor, const struct service_tagged *tagged,
                       const char *const *keys, size_t count, size_t *ret_removed, struct problem *ret_problem)
{
    int status = service_require(actor, ROLE_ADMIN, ret_problem);
    if (status < 0)
        return status;
    struct work work = {.actor = actor, .tagged = tagged, .keys = keys, .count = count, .problem = ret_problem};
    status = service_write(s, "tag-delete", delete_write, &work, ret_problem);
    if (status < 0)
        return status;
    *ret_removed = work.removed;
    if (work.removed > 0)
        service_events_added(s);
    return 0;
}
