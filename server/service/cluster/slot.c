/*
 * Slots: how a group gets its nodes, and how a node is taken away for good. Both only write the intent: a slot comes with the
 * launch that fills it, and goes with the deletion that empties it.
 *
 * A new slot gets the lowest number that is free under the group's own pattern of names ("gpu-07" is followed by
 * "gpu-08"), and the zone that has fewest of the group's slots.
 */
#include "server/service/cluster/cluster.h"
#include "server/service/private.h"

#include "base/json.h"
#include "base/map.h"
#include "base/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

AUTO_DEFINE(struct map *, map, map_free)

#define ZONES_MAX 16 /* botocore VpcConfig: 1..16 subnets */
#define NUMBER_WIDTH_MAX 9

/* --- who else commands the same scheduler -------------------------------------------------------------- */

static int add_competing(const void *row, void *arg)
{
    struct slots *slots = arg;
    const struct cluster *other = row;
    if (!cluster_is_under(other, slots->cluster->scheduler) || other->id == slots->cluster->id)
        return 0;
    slots->competing = own_realloc(slots->competing, slots->competing_count + 1, sizeof(*slots->competing));
    slots->competing[slots->competing_count++] = *other;
    return 0;
}

int slots_open(struct slots *slots)
{
    slots->competing = NULL;
    slots->competing_count = 0;
    if (slots->cluster->orchestrator == ORCHESTRATOR_NONE)
        return 0;
    return db_cluster_list(slots->tx, "", 0, add_competing, slots);
}

void slots_close(struct slots *slots)
{
    free(TAKE(slots->competing));
    slots->competing_count = 0;
}

/* A node of a scheduler must not obey two clusters. */
static int check_competing(const struct slots *slots, const char *name)
{
    struct node node;
    for (size_t i = 0; i < slots->competing_count; i++) {
        int status = db_node_get(slots->tx, slots->competing[i].id, name, &node);
        if (status == 0)
            return problem_say(slots->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                               "The node \"%s\" belongs to the cluster \"%s\" already, and both would command the same "
                               "node of the scheduler. "
                               "Choose other names, or orchestrator \"none\".",
                               name, slots->competing[i].name);
        if (status != STATUS_NOT_FOUND)
            return status;
    }
    return 0;
}

/* --- zones ----------------------------------------------------------------------------------------- */

struct zones {
    char name[ZONES_MAX][ZONE_MAX_BYTES];
    int64_t load[ZONES_MAX]; /* slots of the group there */
    size_t count;
};

static const char *zone_of_subnet(const struct service_backends *backends, const char *subnet)
{
    for (size_t i = 0; i < backends->subnet_count; i++)
        if (text_equal(backends->subnets[i].id, subnet))
            return backends->subnets[i].zone;
    return NULL;
}

static void add_zone(struct zones *zones, const char *zone)
{
    for (size_t i = 0; i < zones->count; i++)
        if (text_equal(zones->name[i], zone))
            return;
    if (zones->count < ZONES_MAX)
        text_copy_cut(zones->name[zones->count++], ZONE_MAX_BYTES, zone);
}

static int map_subnets(const struct slots *slots, const struct instance_group *group,
                       const struct optional_list *subnets, struct zones *zones)
{
    for (size_t i = 0; i < subnets->count; i++) {
        const char *subnet = ((char **)subnets->items)[i], *zone = zone_of_subnet(slots->s->backends, subnet);
        if (zone == NULL)
            return problem_say(
                slots->problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                "The group \"%s\" wants the subnet \"%s\", which hpd's configuration does not name. Add it "
                "there under subnets, or name another.",
                group->name, subnet);
        add_zone(zones, zone);
    }
    return 0;
}

/* The group's own subnets come before the cluster's. Without a list of subnets in the configuration there are no zones. */
static int zones_read(const struct slots *slots, const struct instance_group *group, struct zones *ret_zones)
{
    *ret_zones = (struct zones){.count = 0};
    if (slots->s->backends == NULL || slots->s->backends->subnet_count == 0)
        return 0;
    AUTO(group_spec) struct group_spec own = {0};
    AUTO(cluster_spec) struct cluster_spec whole = {0};
    int status = db_group_spec_get(slots->tx, group->id, &own);
    if (status == 0)
        status = db_cluster_spec_get(slots->tx, group->cluster_id, &whole);
    const struct network_spec *network = own.network.given ? &own.network : &whole.network;
    return status < 0 ? status : map_subnets(slots, group, &network->subnets, ret_zones);
}

/* Takes the one with fewest slots among those that are allowed (none named: all); "" when the group has no zones. */
static const char *zones_take(struct zones *zones, const char *const *only, size_t only_count)
{
    size_t best = ZONES_MAX;
    for (size_t i = 0; i < zones->count; i++) {
        bool allowed = only_count == 0;
        for (size_t k = 0; k < only_count; k++)
            allowed = allowed || text_equal(only[k], zones->name[i]);
        if (allowed && (best == ZONES_MAX || zones->load[i] < zones->load[best]))
            best = i;
    }
    if (best == ZONES_MAX)
        return "";
    zones->load[best]++;
    return zones->name[best];
}

int slots_check_zones(const struct slots *slots, const struct instance_group *group, const char *const *wanted,
                      size_t count, const char **ret_missing)
{
    struct zones zones;
    *ret_missing = NULL;
    int status = zones_read(slots, group, &zones);
    for (size_t i = 0; status == 0 && i < count && *ret_missing == NULL; i++) {
        bool found = false;
        for (size_t k = 0; k < zones.count; k++)
            found = found || text_equal(zones.name[k], wanted[i]);
        if (!found)
            *ret_missing = wanted[i];
    }
    return status;
}

/* --- names ----------------------------------------------------------------------------------------- */

/* What a group's slots are called: a stem and a number of at least width digits. */
struct pattern {
    char stem[NODE_NAME_MAX_BYTES];
    int width;
    int64_t next;
};

struct taken {
    struct map *names; /* of the group's slots */
    struct zones *zones;
    char last[NODE_NAME_MAX_BYTES];
};

static int take_name(const void *row, void *arg)
{
    struct taken *taken = arg;
    const struct db_node_row *node = row;
    map_set(taken->names, node->node.name, taken);
    text_copy_cut(taken->last, sizeof(taken->last), node->node.name);
    for (size_t i = 0; i < taken->zones->count; i++)
        taken->zones->load[i] += text_equal(taken->zones->name[i], node->node.zone);
    return 0;
}

static void pattern_of(const struct instance_group *group, const char *example, struct pattern *ret_pattern)
{
    size_t len = strlen(example), digits = 0;
    *ret_pattern = (struct pattern){.next = 1};
    while (digits < len && isdigit((unsigned char)example[len - digits - 1]))
        digits++;
    if (digits == 0 || digits == len || digits > NUMBER_WIDTH_MAX) {
        snprintf(ret_pattern->stem, sizeof(ret_pattern->stem), "%.62s-", group->name);
        return;
    }
    (void)text_copy_bytes(ret_pattern->stem, sizeof(ret_pattern->stem), example, len - digits);
    ret_pattern->width = example[len - digits] == '0' ? (int)digits : 0;
}

/* The next name that the group does not have; TOO_LARGE when it would be too long. */
static int pattern_next(struct pattern *pattern, const struct map *taken, char ret_name[NODE_NAME_MAX_BYTES])
{
    do {
        int len = snprintf(ret_name, NODE_NAME_MAX_BYTES, "%s%0*" PRId64, pattern->stem, pattern->width, pattern->next);
        if (len >= NODE_NAME_MAX_BYTES)
            return STATUS_TOO_LARGE;
        pattern->next++;
    } while (map_get(taken, ret_name) != NULL);
    return 0;
}

/* --- sizes ----------------------------------------------------------------------------------------- */

struct sizes {
    const struct cluster *cluster;
    int64_t groups, nodes;
    struct instance_group large; /* one that is too large; id 0: none is */
};

static int add_size(const void *row, void *arg)
{
    struct sizes *sizes = arg;
    const struct instance_group *group = row;
    sizes->groups += group->state != GROUP_STATE_DELETING;
    sizes->nodes += group->desired;
    if (group->desired > spec_group_nodes_max(sizes->cluster->orchestrator))
        sizes->large = *group;
    return 0;
}

/* Before anything is made: what is asked for stands in the groups' rows already. */
static int check_sizes(const struct slots *slots)
{
    struct sizes sizes = {.cluster = slots->cluster};
    int status = db_group_list(slots->tx, slots->cluster->id, add_size, &sizes);
    if (status < 0)
        return status;
    if (sizes.large.id != 0)
        return problem_say(slots->problem, STATUS_INVALID, PROBLEM_LIMIT_EXCEEDED,
                           "The group \"%s\" would have %" PRId64 " nodes; it may have at most %" PRId64 ".",
                           sizes.large.name, sizes.large.desired, spec_group_nodes_max(slots->cluster->orchestrator));
    if (sizes.groups > CLUSTER_GROUPS_MAX || sizes.nodes > GROUP_NODES_MAX_LOCAL)
        return problem_say(slots->problem, STATUS_INVALID, PROBLEM_LIMIT_EXCEEDED,
                           "The cluster \"%s\" would have %" PRId64 " groups and %" PRId64
                           " nodes; a cluster has at most %d "
                           "and %d.",
                           slots->cluster->name, sizes.groups, sizes.nodes, CLUSTER_GROUPS_MAX, GROUP_NODES_MAX_LOCAL);
    return 0;
}

/* --- one more slot --------------------------------------------------------------------------------- */

/* "launch/<cluster>/<node>/1"; for names too long for a key the node's row stands in, marked so that it is no name. */
static void launch_key(const struct place *place, char ret_key[KEY_MAX_BYTES])
{
    int len = snprintf(ret_key, KEY_MAX_BYTES, "launch/%s/%s/1", place->cluster.uid, place->node.name);
    if (len >= KEY_MAX_BYTES)
        snprintf(ret_key, KEY_MAX_BYTES, "launch/%s/#%" PRId64 "/1", place->cluster.uid, place->node.id);
}

/* EXISTS when the cluster has a node of this name. */
static int create_slot(const struct slots *slots, struct place *place)
{
    place->node.cluster_id = place->cluster.id;
    place->node.group_id = place->group.id;
    place->node.state = NODE_STATE_PENDING;
    place->node.health = HEALTH_UNKNOWN;
    place->node.state_since = place->node.health_since = place->node.created_at = slots->now_ms;
    snprintf(place->node.reason, sizeof(place->node.reason), "The slot is new and waits for its first instance");
    int status = check_competing(slots, place->node.name);
    if (status == 0)
        status = db_node_insert(slots->tx, &place->node);
    if (status < 0)
        return status;
    char key[KEY_MAX_BYTES];
    struct operation operation;
    launch_key(place, key);
    operation_prepare(slots->s, place, OPERATION_KIND_LAUNCH, key, "The slot is new", slots->actor, slots->now_ms,
                      &operation);
    return db_operation_insert(slots->tx, &operation);
}

static int grow_by_one(const struct slots *slots, const struct slots_growth *growth, struct pattern *pattern,
                       const struct taken *taken, int64_t at)
{
    struct place place = {.cluster = *slots->cluster, .group = *growth->group};
    const char *zone = zones_take(taken->zones, growth->zones, growth->zone_count);
    text_copy_cut(place.node.zone, sizeof(place.node.zone), zone);
    int status;
    do {
        if (growth->names != NULL)
            text_copy_cut(place.node.name, sizeof(place.node.name), growth->names[at]);
        else if (pattern_next(pattern, taken->names, place.node.name) < 0)
            return problem_say(slots->problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                               "The group \"%s\" has no room for more names such as \"%s\".", growth->group->name,
                               place.node.name);
        status = create_slot(slots, &place);
    } while (status == STATUS_EXISTS && growth->names == NULL);
    if (status == STATUS_EXISTS)
        return problem_say(slots->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "The cluster \"%s\" has a node \"%s\" already.", slots->cluster->name, place.node.name);
    if (status == 0 && growth->fn != NULL)
        growth->fn(&place, growth->arg);
    return status;
}

int slots_grow(const struct slots *slots, const struct slots_growth *growth)
{
    struct zones zones;
    struct pattern pattern;
    AUTO(map) struct map *names = map_new();
    struct taken taken = {.names = names, .zones = &zones};
    const struct db_node_filter filter = {
        .cluster_id = slots->cluster->id, .group_id = growth->group->id, .state = -1, .health = -1};
    int status = check_sizes(slots);
    if (status == 0)
        status = zones_read(slots, growth->group, &zones);
    if (status == 0)
        status = db_node_list(slots->tx, &filter, take_name, &taken);
    pattern_of(growth->group, taken.last, &pattern);
    for (int64_t at = 0; status == 0 && at < growth->count; at++)
        status = grow_by_one(slots, growth, &pattern, &taken, at);
    return status;
}

int slots_add_group(const struct slots *slots, const struct service_group_spec *spec, int64_t previous_desired,
                    struct instance_group *ret_group)
{
    struct instance_group group = {.cluster_id = slots->cluster->id,
                                   .state = spec->instance_count == 0 ? GROUP_STATE_IN_SERVICE : GROUP_STATE_CREATING,
                                   .desired = spec->instance_count,
                                   .min_count = spec->min_count,
                                   .previous_desired = previous_desired,
                                   .state_since = slots->now_ms,
                                   .created_at = slots->now_ms};
    text_copy_cut(group.name, sizeof(group.name), spec->name);
    text_copy_cut(group.instance_type, sizeof(group.instance_type), spec->instance_type);
    text_copy_cut(group.provider, sizeof(group.provider), spec_provider(spec, slots->s->backends));
    group.source = spec->source;
    text_copy_cut(group.image_id, sizeof(group.image_id), spec->image_id);
    text_copy_cut(group.release, sizeof(group.release),
                  spec->release[0] != '\0' ? spec->release : spec_default_release(slots->s->backends));
    int status = db_group_insert(slots->tx, &group);
    if (status == 0 && spec->spec != NULL)
        status = db_group_spec_put(slots->tx, group.id, spec->spec);
    const struct slots_growth growth = {.group = &group, .count = spec->instance_count, .names = spec->node_names};
    if (status == 0)
        status = slots_grow(slots, &growth);
    if (status == 0)
        *ret_group = group;
    return status;
}

/* --- away ------------------------------------------------------------------------------------------ */

/* Every try of a deletion has its own key, so that one that failed can be asked for again. */
static int start_deletion(struct db_tx *tx, const struct slot_removal *removal, const struct place *place,
                          struct operation *ret_operation)
{
    for (int try = 1;; try++) {
        char key[KEY_MAX_BYTES];
        snprintf(key, sizeof(key), "delete/%s/%" PRId64 "/%d", place->cluster.uid, place->node.id, try);
        int status = db_operation_by_key(tx, key, ret_operation);
        if (status == 0)
            continue;
        if (status != STATUS_NOT_FOUND)
            return status;
        operation_prepare(removal->s, place, OPERATION_KIND_DELETE, key, removal->reason, removal->actor,
                          removal->now_ms, ret_operation);
        ret_operation->urgency = removal->urgency;
        return db_operation_insert(tx, ret_operation);
    }
}

int slot_remove(struct db_tx *tx, const struct slot_removal *removal, struct place *place,
                struct operation *ret_operation)
{
    *ret_operation = (struct operation){0};
    if (place->node.state == NODE_STATE_DELETED)
        return 0;
    int status = 0;
    if (place->node.state != NODE_STATE_DELETING)
        status = place_move(tx, place, NODE_STATE_DELETING, removal->reason, removal->now_ms);
    if (status < 0)
        return status;
    status = db_operation_active(tx, place->node.id, ret_operation);
    if (status == STATUS_NOT_FOUND)
        return start_deletion(tx, removal, place, ret_operation);
    if (status < 0 || ret_operation->kind == OPERATION_KIND_DELETE || ret_operation->cancel_asked)
        return status;
    ret_operation->cancel_asked = true;
    return db_operation_update(tx, ret_operation);
}
