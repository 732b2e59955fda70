/*
 * Finding out what a scheduler has that hpd is attached to; see discovery.h.
 *
 * A group that was made of a partition or a feature keeps the nodes it was made with until somebody says otherwise: partitions are
 * edited by hand, and a slip there must not take nodes out of anybody's care. What differs is told.
 */
#include "server/service/scheduler/discovery.h"

#include "base/map.h"
#include "base/text.h"
#include "db/cluster.h"
#include "db/node.h"
#include "server/service/private.h"
#include "server/service/scheduler/scheduler.h"

#include <string.h>

#define TOLD_NAMES_MAX 8 /* ranges of a host list are few; above this their number is told */

/* The next word of "a,b"; NULL at the end. */
static const char *next_word(const char **at, size_t *ret_len)
{
    const char *word = *at + strspn(*at, ",");
    *ret_len = strcspn(word, ",");
    *at = word + *ret_len;
    return *ret_len > 0 ? word : NULL;
}

static bool has_word(const char *list, const char *word)
{
    size_t len, wanted = strlen(word);
    for (const char *one; (one = next_word(&list, &len)) != NULL;)
        if (len == wanted && memcmp(one, word, len) == 0)
            return true;
    return wanted == 0;
}

static bool is_of(const struct job_node *node, const struct node_source *source)
{
    return has_word(node->partitions, source->partition) && has_word(node->features, source->feature);
}

static int by_node_name(const void *left, const void *right)
{
    const struct job_node *a = *(const struct job_node *const *)left, *b = *(const struct job_node *const *)right;
    return text_by_name(&a->name, &b->name);
}

/* Those of the source in the order of their names, borrowed from the snapshot. Caller frees the array. */
static const struct job_node **choose(const struct job_snapshot *snapshot, const struct node_source *source,
                                      size_t *ret_count)
{
    const struct job_node **nodes = own_calloc(snapshot->node_count + 1, sizeof(struct job_node *));
    *ret_count = 0;
    for (size_t i = 0; i < snapshot->node_count; i++)
        if (is_of(&snapshot->nodes[i], source))
            nodes[(*ret_count)++] = &snapshot->nodes[i];
    qsort(nodes, *ret_count, sizeof(*nodes), by_node_name);
    return nodes;
}

static int snapshot_take(struct service *s, const char *name, struct service_scheduler **ret_scheduler,
                         struct job_snapshot **ret_snapshot, struct problem *problem)
{
    char why[SERVICE_SCHEDULER_ERROR_MAX];
    int status = service_scheduler_find(s, name, ret_scheduler, problem);
    if (status < 0)
        return status;
    *ret_snapshot = service_scheduler_snapshot(*ret_scheduler, clock_wall_ms(s->clock), why);
    return *ret_snapshot != NULL ? 0
                                 : problem_say(problem, STATUS_UNAVAILABLE, PROBLEM_UNAVAILABLE,
                                               "The nodes of the scheduler are not known now: %s.", why);
}

/* --- whose they are ------------------------------------------------------------------------------- */

struct owners {
    struct service *s;
    const char *scheduler;
    struct db_tx *tx;
    struct map *nodes; /* name → struct owner, while they are read only its index + 1 */
    struct owner {
        char node[NODE_NAME_MAX_BYTES], cluster[NAME_MAX_BYTES], group[NAME_MAX_BYTES];
    } * list;
    size_t count, capacity;
};

static void auto_owners_cleanup(struct owners *owners)
{
    map_free(owners->nodes);
    free(owners->list);
}

static int add_owner(const void *row, void *arg)
{
    const struct db_node_row *node = row;
    struct owners *owners = arg;
    if (owners->count == owners->capacity) {
        owners->capacity = owners->capacity == 0 ? 64 : 2 * owners->capacity;
        owners->list = own_realloc(owners->list, owners->capacity, sizeof(*owners->list));
    }
    struct owner *owner = &owners->list[owners->count++];
    text_copy_cut(owner->node, sizeof(owner->node), node->node.name);
    text_copy_cut(owner->cluster, sizeof(owner->cluster), node->cluster);
    text_copy_cut(owner->group, sizeof(owner->group), node->group);
    return 0;
}

static int add_owners(const void *row, void *arg)
{
    const struct cluster *cluster = row;
    struct owners *owners = arg;
    const struct db_node_filter filter = {.cluster_id = cluster->id, .state = -1, .health = -1};
    return cluster_is_under(cluster, owners->scheduler) ? db_node_list(owners->tx, &filter, add_owner, owners) : 0;
}

static int read_owners(struct db_tx *tx, void *arg)
{
    struct owners *owners = arg;
    owners->tx = tx;
    owners->count = 0;
    return db_cluster_list(tx, "", 0, add_owners, owners);
}

static int owners_read(struct service *s, const struct service_scheduler *scheduler, struct owners *owners,
                       struct problem *problem)
{
    owners->scheduler = service_scheduler_name(scheduler);
    owners->nodes = map_new();
    int status = service_read(s, read_owners, owners, problem);
    for (size_t i = 0; i < owners->count; i++)
        map_set(owners->nodes, owners->list[i].node, &owners->list[i]);
    return status;
}

/* --- nodes ---------------------------------------------------------------------------------------- */

int service_discovery_nodes(struct service *s, const char *scheduler, const struct discovery_filter *filter,
                            db_row_fn fn, void *arg, struct problem *ret_problem)
{
    AUTO(job_snapshot) struct job_snapshot *snapshot = NULL;
    AUTO(owners) struct owners owners = {.list = NULL};
    struct service_scheduler *from = NULL;
    size_t count = 0;
    int shown = 0, status = snapshot_take(s, scheduler, &from, &snapshot, ret_problem);
    if (status == 0)
        status = owners_read(s, from, &owners, ret_problem);
    if (status < 0)
        return status;
    autofree const struct job_node **nodes = choose(snapshot, &filter->source, &count);
    for (size_t i = 0; status == 0 && i < count && (filter->limit == 0 || shown < filter->limit); i++) {
        const struct owner *owner = map_get(owners.nodes, nodes[i]->name);
        if ((filter->unassigned && owner != NULL) ||
            (filter->after_name[0] != '\0' && text_by_name(&nodes[i]->name, &filter->after_name) <= 0))
            continue;
        const struct discovered_node row = {.node = nodes[i],
                                            .cluster = owner == NULL ? "" : owner->cluster,
                                            .group = owner == NULL ? "" : owner->group};
        status = fn(&row, arg);
        shown++;
    }
    return status;
}

int service_discovery_count(struct service *s, const char *scheduler, size_t *ret_count, size_t *ret_unassigned,
                            struct problem *ret_problem)
{
    AUTO(job_snapshot) struct job_snapshot *snapshot = NULL;
    AUTO(owners) struct owners owners = {.list = NULL};
    struct service_scheduler *from = NULL;
    int status = snapshot_take(s, scheduler, &from, &snapshot, ret_problem);
    if (status == 0)
        status = owners_read(s, from, &owners, ret_problem);
    if (status < 0)
        return status;
    *ret_count = snapshot->node_count;
    *ret_unassigned = 0;
    for (size_t i = 0; i < snapshot->node_count; i++)
        *ret_unassigned += map_get(owners.nodes, snapshot->nodes[i].name) == NULL;
    return 0;
}

int service_discovery_take(struct service *s, const char *name, const struct node_source *source, char ***ret_names,
                           size_t *ret_count, struct problem *ret_problem)
{
    struct service_scheduler *from = NULL;
    struct service_scheduler_status scheduler;
    AUTO(job_snapshot) struct job_snapshot *snapshot = NULL;
    int status = service_scheduler_find(s, name, &from, ret_problem);
    if (status < 0)
        return status;
    service_scheduler_get(from, &scheduler);
    if (scheduler.managed)
        return problem_say(ret_problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "This hpd writes the nodes and partitions of the scheduler %s from its groups (manage), so "
                           "groups cannot be made of them. Say instanceCount or nodeNames.",
                           scheduler.name);
    status = snapshot_take(s, name, &from, &snapshot, ret_problem);
    if (status < 0)
        return status;
    autofree const struct job_node **nodes = choose(snapshot, source, ret_count);
    if (*ret_count == 0 || *ret_count > GROUP_NODES_MAX_LOCAL)
        return problem_say(
            ret_problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
            "The scheduler has %s%s%s%s%s%s: hpctl scheduler describe shows its partitions and features.",
            *ret_count == 0 ? "no node" : "more nodes than a group may have",
            source->partition[0] == '\0' ? "" : " in the partition ", source->partition,
            source->feature[0] == '\0' ? "" : " with the feature ", source->feature,
            *ret_count == 0 ? "" : "; say fewer by nodeNames");
    *ret_names = own_calloc(*ret_count, sizeof(char *));
    for (size_t i = 0; i < *ret_count; i++)
        (*ret_names)[i] = own_strdup(nodes[i]->name);
    return 0;
}

/* --- partitions and features ---------------------------------------------------------------------- */

struct part { /* while it is put together */
    char *name;
    char **nodes, **nobodys; /* borrowed, and not to be written to */
    size_t count, nobodys_count, capacity;
    struct map *others; /* word → anything */
};

static struct part *part_of(struct map *parts, const char *word, size_t len)
{
    autofree char *name = own_printf("%.*s", (int)len, word);
    struct part *part = map_get(parts, name);
    if (part == NULL) {
        part = own_calloc(1, sizeof(*part));
        part->name = own_strdup(name);
        part->others = map_new();
        map_set(parts, name, part);
    }
    return part;
}

static void add_to_parts(struct map *parts, const char *list, const struct job_node *node, const char *others,
                         bool nobodys)
{
    size_t len, other_len;
    for (const char *word; (word = next_word(&list, &len)) != NULL;) {
        struct part *part = part_of(parts, word, len);
        if (part->count == part->capacity) {
            part->capacity = part->capacity == 0 ? 16 : 2 * part->capacity;
            part->nodes = own_realloc(part->nodes, part->capacity, sizeof(*part->nodes));
            part->nobodys = own_realloc(part->nobodys, part->capacity, sizeof(*part->nobodys));
        }
        part->nodes[part->count++] = (char *)(uintptr_t)node->name;
        if (nobodys)
            part->nobodys[part->nobodys_count++] = (char *)(uintptr_t)node->name;
        const char *at = others;
        for (const char *other; (other = next_word(&at, &other_len)) != NULL;) {
            autofree char *name = own_printf("%.*s", (int)other_len, other);
            map_set(part->others, name, part);
        }
    }
}

static char **words_of(const struct map *words, size_t *ret_count)
{
    size_t cursor = 0;
    const char *word;
    void *unused;
    char **list = own_calloc(map_count(words) + 1, sizeof(*list));
    *ret_count = 0;
    while (map_next(words, &cursor, &word, &unused))
        list[(*ret_count)++] = own_strdup(word);
    qsort(list, *ret_count, sizeof(*list), text_by_name);
    return list;
}

static int by_part(const void *left, const void *right)
{
    const struct discovered_part *a = left, *b = right;
    return text_by_name(&a->name, &b->name);
}

/* Ends the map. */
static struct discovered_part *parts_take(struct map *parts, size_t *ret_count)
{
    size_t cursor = 0;
    const char *name;
    void *value;
    struct discovered_part *list = own_calloc(map_count(parts) + 1, sizeof(*list));
    *ret_count = 0;
    while (map_next(parts, &cursor, &name, &value)) {
        struct part *part = value;
        struct discovered_part *one = &list[(*ret_count)++];
        *one = (struct discovered_part){.name = part->name,
                                        .nodes = text_hostlist_compress(part->nodes, part->count),
                                        .count = part->count,
                                        .unassigned = text_hostlist_compress(part->nobodys, part->nobodys_count),
                                        .unassigned_count = part->nobodys_count};
        one->others = words_of(part->others, &one->other_count);
        map_free(part->others);
        free(part->nodes);
        free(part->nobodys);
        free(part);
    }
    qsort(list, *ret_count, sizeof(*list), by_part);
    map_free(parts);
    return list;
}

int service_discovery(struct service *s, const char *scheduler, struct discovery *ret_discovery,
                      struct problem *ret_problem)
{
    AUTO(job_snapshot) struct job_snapshot *snapshot = NULL;
    AUTO(owners) struct owners owners = {.list = NULL};
    *ret_discovery = (struct discovery){0};
    struct service_scheduler *from = NULL;
    int status = snapshot_take(s, scheduler, &from, &snapshot, ret_problem);
    if (status == 0)
        status = owners_read(s, from, &owners, ret_problem);
    if (status < 0)
        return status;
    struct map *partitions = map_new(), *features = map_new();
    ret_discovery->at = snapshot->at;
    ret_discovery->node_count = snapshot->node_count;
    for (size_t i = 0; i < snapshot->node_count; i++) {
        const struct job_node *node = &snapshot->nodes[i];
        bool nobodys = map_get(owners.nodes, node->name) == NULL;
        ret_discovery->unassigned_count += nobodys;
        add_to_parts(partitions, node->partitions, node, node->features, nobodys);
        add_to_parts(features, node->features, node, node->partitions, nobodys);
    }
    ret_discovery->partitions = parts_take(partitions, &ret_discovery->partition_count);
    ret_discovery->features = parts_take(features, &ret_discovery->feature_count);
    return 0;
}

static void parts_free(struct discovered_part *parts, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(parts[i].name);
        free(parts[i].nodes);
        free(parts[i].unassigned);
        text_list_free(parts[i].others, parts[i].other_count);
    }
    free(parts);
}

void service_discovery_free(struct discovery *discovery)
{
    parts_free(TAKE(discovery->partitions), discovery->partition_count);
    parts_free(TAKE(discovery->features), discovery->feature_count);
}

/* --- groups that are made of them ------------------------------------------------------------------- */

struct follow {
    const struct job_snapshot *snapshot;
    struct db_tx *tx;
    struct map *
        there; /* name of a node that the source has and the group has not been seen to have → its name in the snapshot */
    char **gone; /* the group's, and not the source's: copies */
    size_t gone_count;
};

static int compare_node(const void *row, void *arg)
{
    const struct db_node_row *node = row;
    struct follow *follow = arg;
    bool leaves = node->node.state == NODE_STATE_DELETING || node->node.state == NODE_STATE_DELETED;
    if (map_remove(follow->there, node->node.name) != NULL || leaves)
        return 0;
    follow->gone = own_realloc(follow->gone, follow->gone_count + 1, sizeof(*follow->gone));
    follow->gone[follow->gone_count++] = own_strdup(node->node.name);
    return 0;
}

/* "gpu-[1-4]", or their number where that is long. Caller frees. */
static char *say_names(char **names, size_t count)
{
    autofree char *list = text_hostlist_compress(names, count);
    size_t items = 1;
    for (const char *c = list; *c != '\0'; c++)
        items += *c == ',';
    return items <= TOLD_NAMES_MAX ? TAKE(list) : own_printf("%zu nodes", count);
}

static int tell_difference(struct follow *follow, const struct instance_group *group)
{
    struct cluster cluster;
    size_t new_count = 0;
    int status = db_cluster_get_row(follow->tx, group->cluster_id, &cluster);
    char **new = words_of(follow->there, &new_count);
    if (status == 0 && new_count + follow->gone_count > 0) {
        autofree char *more = say_names(new, new_count), *less = say_names(follow->gone, follow->gone_count);
        status = cluster_event(
            follow->tx, &cluster, EVENT_LEVEL_WARN, EVENT_KIND_SCHEDULER_DRIFT,
            "the group %s was made of the scheduler's%s%s%s%s and has other nodes now:%s%s%s%s. It stays as it "
            "is; hpctl apply with its file makes it so.",
            group->name, group->source.partition[0] == '\0' ? "" : " partition ", group->source.partition,
            group->source.feature[0] == '\0' ? "" : " feature ", group->source.feature,
            new_count > 0 ? " the scheduler has there also " : "", more,
            follow->gone_count > 0 ? (new_count > 0 ? ", and no longer " : " the scheduler no longer has there ") : "",
            less);
    }
    text_list_free(new, new_count);
    return status;
}

static int follow_group(const void *row, void *arg)
{
    const struct instance_group *group = row;
    struct follow *follow = arg;
    struct cluster cluster;
    size_t count = 0;
    if (!node_source_is_given(&group->source) || group->state == GROUP_STATE_DELETING)
        return 0;
    int status = db_cluster_get_row(follow->tx, group->cluster_id, &cluster);
    if (status < 0 || !cluster_is_under(&cluster, follow->snapshot->scheduler))
        return status;
    autofree const struct job_node **nodes = choose(follow->snapshot, &group->source, &count);
    follow->there = map_new();
    for (size_t i = 0; i < count; i++)
        map_set(follow->there, nodes[i]->name, follow);
    const struct db_node_filter filter = {
        .cluster_id = group->cluster_id, .group_id = group->id, .state = -1, .health = -1};
    status = db_node_list(follow->tx, &filter, compare_node, follow);
    if (status == 0)
        status = tell_difference(follow, group);
    map_free(TAKE(follow->there));
    text_list_free(TAKE(follow->gone), follow->gone_count);
    follow->gone_count = 0;
    return status;
}

static int follow_all(struct db_tx *tx, void *arg)
{
    struct follow *follow = arg;
    follow->tx = tx;
    return db_group_list(tx, 0, follow_group, follow);
}

int service_discovery_follow(struct service *s, struct service_scheduler *scheduler,
                             const struct job_snapshot *snapshot)
{
    struct follow follow = {.snapshot = snapshot};
    if (service_scheduler_has_followed(scheduler, snapshot->node_digest))
        return 0;
    int status = db_write(s->db, "discovery-follow", follow_all, &follow);
    if (status == 0)
        service_scheduler_follow(scheduler, snapshot->node_digest);
    return status;
}
