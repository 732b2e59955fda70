/*
 * The policy in force, and the document that says it: each version is stored whole, then put into the registry from which the loop
 * and the APIs have it. What cannot be read is refused with its line, before anything changes.
 */
#include "server/service/private.h"

#include "db/event.h"
#include "policy/policy.h"
#include "server/config/policy_registry.h"
#include "server/service/access/access.h"
#include "server/service/policy/policy.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

_Static_assert(POLICY_REGISTRY_ERROR_MAX <= PROBLEM_DETAIL_MAX, "an error fits into a problem");

const char *service_fault_version(struct service *s)
{
    const struct fault_scope scope = {.overrides = atomic_load(&s->fault_overrides), .instance_type = ""};
    return fault_version_in(&scope);
}

/* --- what is in force ------------------------------------------------------------------------------------------- */

struct lookup {
    const char *name, *group_name;
    struct problem *problem;
    struct cluster cluster;
    struct instance_group group;
};

static int find(struct db_tx *tx, void *arg)
{
    struct lookup *lookup = arg;
    int status = place_find_cluster(tx, lookup->name, &lookup->cluster, lookup->problem);
    if (status < 0 || lookup->group_name == NULL)
        return status;
    status = db_group_get(tx, lookup->cluster.id, lookup->group_name, &lookup->group);
    if (status == STATUS_NOT_FOUND)
        return problem_say(lookup->problem, status, PROBLEM_NOT_FOUND, "The cluster \"%s\" has no group \"%s\".",
                           lookup->cluster.name, lookup->group_name);
    return status;
}

int service_policy_list(struct service *s, const char *cluster, const char *group, struct service_policy *ret_policy,
                        int64_t *ret_version, struct cluster *ret_cluster, struct problem *ret_problem)
{
    struct lookup lookup = {.name = cluster, .group_name = group, .problem = ret_problem};
    int status = cluster == NULL ? 0 : service_read(s, find, &lookup, ret_problem);
    if (status < 0)
        return status;
    *ret_policy = (struct service_policy){.count = 0};
    *ret_version = s->registry == NULL
                       ? 0
                       : policy_registry_show(s->registry, cluster == NULL ? NULL : lookup.cluster.name,
                                              lookup.group.name, lookup.group.instance_type, ret_policy);
    if (cluster != NULL)
        *ret_cluster = lookup.cluster;
    return 0;
}

/* --- versions --------------------------------------------------------------------------------------------------- */

struct get {
    int64_t version;
    struct policy_version *ret;
    struct problem *problem;
};

static int get_read(struct db_tx *tx, void *arg)
{
    const struct get *get = arg;
    int status = db_policy_get(tx, get->version, get->ret);
    if (status != STATUS_NOT_FOUND)
        return status;
    if (get->version > 0)
        return problem_say(get->problem, status, PROBLEM_NOT_FOUND, "The policy has no version %" PRId64 ".",
                           get->version);
    memset(get->ret, 0, sizeof(*get->ret));
    return 0;
}

int service_policy_get(struct service *s, int64_t version, struct policy_version *ret_version,
                       struct problem *ret_problem)
{
    struct get get = {.version = version, .ret = ret_version, .problem = ret_problem};
    return service_read(s, get_read, &get, ret_problem);
}

struct listing {
    int64_t before;
    int limit;
    db_row_fn fn;
    void *arg;
};

static int list_read(struct db_tx *tx, void *arg)
{
    const struct listing *listing = arg;
    return db_policy_list(tx, listing->before, listing->limit, listing->fn, listing->arg);
}

int service_policy_versions(struct service *s, int64_t before, int limit, db_row_fn fn, void *arg,
                            struct problem *ret_problem)
{
    struct listing listing = {before, limit, fn, arg};
    return service_read(s, list_read, &listing, ret_problem);
}

/* --- change ----------------------------------------------------------------------------------------------------- */

int service_policy_validate(const char *text, struct problem *ret_problem)
{
    char error[POLICY_REGISTRY_ERROR_MAX];
    int status = policy_registry_check(text, error);
    return status < 0 ? problem_say(ret_problem, status, PROBLEM_INVALID_VALUE, "%s", error) : 0;
}

struct groups {
    struct cluster *clusters;
    struct instance_group *groups;
    size_t cluster_count, count;
};

static int add_cluster(const void *row, void *arg)
{
    struct groups *all = arg;
    all->clusters = own_realloc(all->clusters, all->cluster_count + 1, sizeof(*all->clusters));
    all->clusters[all->cluster_count++] = *(const struct cluster *)row;
    return 0;
}

static int add_group(const void *row, void *arg)
{
    struct groups *all = arg;
    all->groups = own_realloc(all->groups, all->count + 1, sizeof(*all->groups));
    all->groups[all->count++] = *(const struct instance_group *)row;
    return 0;
}

static int groups_read(struct db_tx *tx, void *arg)
{
    int status = db_cluster_list(tx, "", 0, add_cluster, arg);
    return status < 0 ? status : db_group_list(tx, 0, add_group, arg);
}

static const char *cluster_name(const struct groups *all, int64_t id)
{
    for (size_t i = 0; i < all->cluster_count; i++)
        if (all->clusters[i].id == id)
            return all->clusters[i].name;
    return "";
}

void service_policy_warn(struct service *s, const char *text, void (*fn)(const char *sentence, void *arg), void *arg)
{
    struct groups all = {0};
    struct problem problem;
    if (s->registry != NULL && service_read(s, groups_read, &all, &problem) >= 0) {
        autofree struct policy_registry_group *groups = own_calloc(all.count + 1, sizeof(*groups));
        for (size_t i = 0; i < all.count; i++)
            groups[i] =
                (struct policy_registry_group){.place = {.cluster = cluster_name(&all, all.groups[i].cluster_id),
                                                         .group = all.groups[i].name,
                                                         .instance_type = all.groups[i].instance_type},
                                               .desired = all.groups[i].desired};
        policy_registry_warn(s->registry, text, groups, all.count, service_now(s), fn, arg);
    }
    free(all.clusters);
    free(all.groups);
}

struct change {
    const struct service_policy_change *wanted;
    struct policy_version *newest, *ret;
    struct service_audit *audit; /* of the request; its row names the version that it made */
    int64_t now_ms;
    struct problem *problem;
};

static int read_newest(struct db_tx *tx, struct policy_version *ret_version)
{
    int status = db_policy_get(tx, 0, ret_version);
    if (status == STATUS_NOT_FOUND)
        memset(ret_version, 0, sizeof(*ret_version));
    return status == STATUS_NOT_FOUND ? 0 : status;
}

static int check_expected(const struct change *change)
{
    if (change->wanted->expected < 0 || change->wanted->expected == change->newest->version)
        return 0;
    return problem_say(change->problem, STATUS_CONFLICT, PROBLEM_PRECONDITION_FAILED,
                       "The policy is at version %" PRId64 ", not %" PRId64 ". Read it again and repeat.",
                       change->newest->version, change->wanted->expected);
}

static int tell_version(struct db_tx *tx, const struct policy_version *version)
{
    char restored[48] = "";
    struct event event = {.at = version->created_at, .level = EVENT_LEVEL_INFO, .kind = EVENT_KIND_POLICY};
    if (version->restores > 0)
        snprintf(restored, sizeof(restored), ", which restores version %" PRId64, version->restores);
    say_cut(event.message, sizeof(event.message), "version %" PRId64 " of the policy is in force%s, by %s%s%s",
            version->version, restored, version->author, version->comment[0] != '\0' ? ": " : "", version->comment);
    return db_event_insert(tx, &event);
}

static int apply_write(struct db_tx *tx, void *arg)
{
    struct change *change = arg;
    struct policy_version *version = change->ret;
    int status = read_newest(tx, change->newest);
    if (status == 0)
        status = check_expected(change);
    if (status < 0)
        return status;
    if (change->newest->version > 0 && strcmp(change->newest->text, version->text) == 0) {
        *version = *change->newest;
        return NOTHING_DONE;
    }
    version->version = change->newest->version + 1;
    version->created_at = change->now_ms;
    if (change->audit != NULL)
        say_cut(change->audit->entry.resource, sizeof(change->audit->entry.resource), "%" PRId64, version->version);
    status = db_policy_insert(tx, version);
    return status < 0 ? status : tell_version(tx, version);
}

/* The text of the new version, and what is known of it beforehand. */
static int prepare(struct service *s, const struct actor *actor, const struct service_policy_change *wanted,
                   struct policy_version *version, struct problem *problem)
{
    int status = 0;
    if (wanted->text == NULL)
        status = service_policy_get(s, wanted->restores, version, problem);
    else if (strlen(wanted->text) < sizeof(version->text))
        memcpy(version->text, wanted->text, strlen(wanted->text) + 1);
    if (status == 0)
        status = service_policy_validate(wanted->text != NULL ? wanted->text : version->text, problem);
    if (status < 0)
        return status;
    version->restores = wanted->text == NULL ? wanted->restores : 0;
    id_sha256_hex(version->text, strlen(version->text), version->sha256);
    snprintf(version->comment, sizeof(version->comment), "%s", wanted->comment);
    snprintf(version->author, sizeof(version->author), "%s", actor->name);
    return 0;
}

int service_policy_apply(struct service *s, const struct actor *actor, const struct service_policy_change *wanted,
                         struct policy_version *ret_version, struct problem *ret_problem)
{
    autofree struct policy_version *newest = own_calloc(1, sizeof(*newest));
    char error[POLICY_REGISTRY_ERROR_MAX];
    int status = service_require(actor, ROLE_ADMIN, ret_problem);
    if (status == 0)
        status = prepare(s, actor, wanted, ret_version, ret_problem);
    if (status < 0)
        return status;
    struct change change = {.wanted = wanted,
                            .newest = newest,
                            .ret = ret_version,
                            .audit = audit_current(),
                            .now_ms = service_now(s),
                            .problem = ret_problem};
    status = service_write(s, "policy-apply", apply_write, &change, ret_problem);
    if (status == 0 && s->registry != NULL)
        status = policy_registry_put(s->registry, ret_version->version, ret_version->text, error);
    if (status == 0) {
        service_wake(s, SERVICE_WAKE_POLICY, 0);
        service_events_added(s);
    }
    return status;
}

/* --- the start -------------------------------------------------------------------------------------------------- */

struct load {
    struct service *s;
    int64_t *ret_version;
    struct policy_version *version;
    struct problem *problem;
};

/* From the newest down, until one can be read. */
static int load_read(struct db_tx *tx, void *arg)
{
    struct load *load = arg;
    char error[POLICY_REGISTRY_ERROR_MAX];
    int64_t number = 0;
    int status, wrong = 0;
    while ((status = db_policy_get(tx, number, load->version)) == 0) {
        number = load->version->version - 1;
        if (policy_registry_put(load->s->registry, load->version->version, load->version->text, error) == 0) {
            *load->ret_version = load->version->version;
            return wrong;
        }
        if (wrong == 0)
            wrong = problem_say(load->problem, STATUS_INVALID, PROBLEM_INTERNAL,
                                "version %" PRId64 " of the policy document cannot be read: %.280s",
                                load->version->version, error);
        if (number == 0)
            break;
    }
    *load->ret_version = 0;
    return status == STATUS_NOT_FOUND || status == 0 ? wrong : status;
}

int service_policy_load(struct service *s, int64_t *ret_version, struct problem *ret_problem)
{
    autofree struct policy_version *version = own_calloc(1, sizeof(*version));
    struct load load = {.s = s, .ret_version = ret_version, .version = version, .problem = ret_problem};
    *ret_version = 0;
    return s->registry == NULL ? 0 : service_read(s, load_read, &load, ret_problem);
}
