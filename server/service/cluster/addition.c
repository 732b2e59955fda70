/*
 * Nodes one by one: more for some groups, and one less for good. Only where nodes come and go on their own (Continuous);
 * under all or nothing the count of a group is changed as a whole.
 *
 * An addition under a client's token is kept with what it made for SERVICE_ADDITION_KEEP_MS: whoever repeats it, because the
 * answer was lost, gets the same slots and no others.
 */
#include "server/service/cluster/cluster.h"
#include "server/service/private.h"

#include "base/json.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define REASON_REMOVED "The node was removed by request"

ENUM_DEFINE(addition_error, ADDITION_ERROR_LIST)

struct adding {
    struct service *s;
    const struct actor *actor;
    const char *name, *token;
    const struct service_addition *items;
    size_t item_count;
    int64_t now_ms;
    struct problem *problem;
    struct cluster cluster;
    struct slots slots;
    struct service_addition_result *result;
    bool added;
};

void service_addition_result_free(struct service_addition_result *result)
{
    if (result != NULL)
        free(TAKE(result->nodes));
}

static struct service_added_node *new_node(struct service_addition_result *result)
{
    result->nodes = own_realloc(result->nodes, result->node_count + 1, sizeof(*result->nodes));
    struct service_added_node *node = &result->nodes[result->node_count++];
    *node = (struct service_added_node){.node = ""};
    return node;
}

/* --- the same request again ------------------------------------------------------------------------ */

/* All that was asked for, in one text: two requests are the same when this is. */
static void digest_of(const struct adding *adding, uint8_t ret_digest[ID_SHA256_BYTES])
{
    AUTO(text) struct text asked = {0};
    for (size_t i = 0; i < adding->item_count; i++) {
        const struct service_addition *item = &adding->items[i];
        text_printf(&asked, "%s %" PRId64, item->group, item->count);
        for (size_t k = 0; k < item->zone_count; k++)
            text_printf(&asked, " zone=%s", item->zones[k]);
        for (size_t k = 0; k < item->type_count; k++)
            text_printf(&asked, " type=%s", item->instance_types[k]);
        text_add_char(&asked, '\n');
    }
    id_sha256(text_get(&asked), asked.len, ret_digest);
}

static json_t *write_node(const struct service_added_node *node)
{
    json_t *json = json_object();
    json_put_text(json, "node", node->node);
    json_put_text(json, "group", node->group);
    json_put_text(json, "zone", node->zone);
    json_put_text(json, "type", node->instance_type);
    return json;
}

static char *write_result(const struct service_addition_result *result)
{
    auto_json json_t *json = json_object();
    json_t *nodes = json_array(), *refused = json_array();
    for (size_t i = 0; i < result->node_count; i++)
        json_array_append_new(nodes, write_node(&result->nodes[i]));
    for (size_t i = 0; i < SERVICE_ADDITION_GROUPS_MAX; i++)
        json_array_append_new(refused, json_pack("{s:s, s:s}", "error", addition_error_text(result->refused[i].error),
                                                 "why", result->refused[i].why));
    json_put_text(json, "operation", result->operation);
    json_put(json, "nodes", nodes);
    json_put(json, "refused", refused);
    return json_dumps(json, JSON_COMPACT);
}

static void read_text(const json_t *json, const char *member, char *dst, size_t size)
{
    const char *text = json_string_value(json_object_get(json, member));
    text_copy_cut(dst, size, text == NULL ? "" : text);
}

static int read_node(struct adding *adding, struct db_tx *tx, const json_t *json)
{
    struct service_added_node *node = new_node(adding->result);
    read_text(json, "node", node->node, sizeof(node->node));
    read_text(json, "group", node->group, sizeof(node->group));
    read_text(json, "zone", node->zone, sizeof(node->zone));
    read_text(json, "type", node->instance_type, sizeof(node->instance_type));
    int status = db_node_get(tx, adding->cluster.id, node->node, &node->row);
    if (status == 0 && node->row.instance_row != 0)
        status = db_instance_get_row(tx, node->row.instance_row, &node->instance);
    return status == STATUS_NOT_FOUND ? 0 : status;
}

static int read_result(struct adding *adding, struct db_tx *tx, const char *document)
{
    size_t i;
    const json_t *item;
    char error[JSON_ERROR_MAX];
    auto_json json_t *json = NULL;
    int status = json_parse(document, strlen(document), CLUSTER_DOCUMENT_BYTES_MAX, &json, error);
    read_text(json, "operation", adding->result->operation, ID_UUID_MAX);
    json_array_foreach(json_object_get(json, "nodes"), i, item) if (status == 0) status = read_node(adding, tx, item);
    json_array_foreach(json_object_get(json, "refused"), i, item)
    {
        const char *word = json_string_value(json_object_get(item, "error"));
        if (i < SERVICE_ADDITION_GROUPS_MAX && word != NULL)
            (void)addition_error_parse(word, &adding->result->refused[i].error);
        if (i < SERVICE_ADDITION_GROUPS_MAX)
            read_text(item, "why", adding->result->refused[i].why, SENTENCE_MAX_BYTES);
    }
    return status;
}

/* 1: answered from what was made before; 0: a new request; else a status. */
static int find_earlier(struct adding *adding, struct db_tx *tx, const uint8_t digest[ID_SHA256_BYTES])
{
    autofree char *document = NULL;
    struct db_addition earlier = {.cluster_id = adding->cluster.id, .token = adding->token};
    int status = db_addition_prune(tx, adding->now_ms - SERVICE_ADDITION_KEEP_MS);
    if (status == 0)
        status = db_addition_get(tx, &earlier, &document);
    if (status == STATUS_NOT_FOUND)
        return 0;
    if (status < 0)
        return status;
    if (memcmp(earlier.digest, digest, ID_SHA256_BYTES) != 0)
        return problem_say(adding->problem, STATUS_CONFLICT, PROBLEM_KEY_REUSED,
                           "The client token \"%s\" belongs to another addition. Use a fresh one for each.",
                           adding->token);
    status = read_result(adding, tx, document);
    return status < 0 ? status : 1;
}

/* --- one item -------------------------------------------------------------------------------------- */

static void refuse(struct adding *adding, size_t at, enum addition_error error, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static void refuse(struct adding *adding, size_t at, enum addition_error error, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    adding->result->refused[at].error = error;
    say_vcut(adding->result->refused[at].why, SENTENCE_MAX_BYTES, fmt, ap);
    va_end(ap);
}

static bool has_type(const struct service_addition *item, const char *type)
{
    for (size_t i = 0; i < item->type_count; i++)
        if (text_equal(item->instance_types[i], type))
            return true;
    return item->type_count == 0;
}

/* True when the item can be done; else it is refused, or *ret_status says that the store failed. */
static bool check_item(struct adding *adding, size_t at, struct instance_group *group, int *ret_status)
{
    const struct service_addition *item = &adding->items[at];
    const char *missing = NULL;
    *ret_status = db_group_get(adding->slots.tx, adding->cluster.id, item->group, group);
    if (*ret_status == STATUS_NOT_FOUND) {
        *ret_status = 0;
        refuse(adding, at, ADDITION_ERROR_GROUP_NOT_FOUND, "The cluster \"%s\" has no group \"%s\"",
               adding->cluster.name, item->group);
        return false;
    }
    if (*ret_status < 0)
        return false;
    if (group->state == GROUP_STATE_DELETING || group->state == GROUP_STATE_SYSTEM_UPDATING ||
        group->state == GROUP_STATE_FAILED) {
        refuse(adding, at, ADDITION_ERROR_GROUP_STATE, "The group \"%s\" is %s", group->name,
               group_state_text(group->state));
        return false;
    }
    if (!has_type(item, group->instance_type)) {
        refuse(adding, at, ADDITION_ERROR_INSTANCE_TYPES, "The group \"%s\" has instances of the type \"%s\" only",
               group->name, group->instance_type);
        return false;
    }
    *ret_status = slots_check_zones(&adding->slots, group, item->zones, item->zone_count, &missing);
    if (missing != NULL)
        refuse(adding, at, ADDITION_ERROR_ZONES, "The group \"%s\" is not in the zone \"%s\"", group->name, missing);
    return *ret_status == 0 && missing == NULL;
}

static void note_slot(const struct place *place, void *arg)
{
    struct adding *adding = arg;
    struct service_added_node *node = new_node(adding->result);
    text_copy_cut(node->node, sizeof(node->node), place->node.name);
    text_copy_cut(node->group, sizeof(node->group), place->group.name);
    text_copy_cut(node->zone, sizeof(node->zone), place->node.zone);
    text_copy_cut(node->instance_type, sizeof(node->instance_type), place->group.instance_type);
    node->row = place->node;
}

static int add_item(struct adding *adding, size_t at)
{
    int status;
    struct instance_group group;
    const struct service_addition *item = &adding->items[at];
    if (!check_item(adding, at, &group, &status))
        return status;
    group.desired += item->count;
    status = db_group_update(adding->slots.tx, &group);
    const struct slots_growth growth = {.group = &group,
                                        .count = item->count,
                                        .zones = item->zones,
                                        .zone_count = item->zone_count,
                                        .fn = note_slot,
                                        .arg = adding};
    if (status == 0)
        status = slots_grow(&adding->slots, &growth);
    if (status < 0)
        return status;
    adding->added = true;
    return cluster_event(adding->slots.tx, &adding->cluster, EVENT_LEVEL_INFO, EVENT_KIND_CLUSTER_UPDATED,
                         "%s added %" PRId64 " node%s to %s, which has %" PRId64 " now", adding->actor->name,
                         item->count, text_plural(item->count), group.name, group.desired);
}

/* --- all of it ------------------------------------------------------------------------------------- */

static int check_adding(const struct adding *adding)
{
    const struct cluster *cluster = &adding->cluster;
    if (cluster->provisioning != PROVISIONING_CONTINUOUS)
        return problem_say(
            adding->problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
            "The cluster \"%s\" is provisioned all or nothing; nodes can be added one by one only where it is "
            "continuous. Change the group's InstanceCount instead.",
            cluster->name);
    if (cluster->state != CLUSTER_STATE_IN_SERVICE && cluster->state != CLUSTER_STATE_CREATING)
        return problem_say(adding->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "The cluster \"%s\" is %s; nodes can be added when it is in service.", cluster->name,
                           cluster_state_text(cluster->state));
    return 0;
}

static int remember(const struct adding *adding, struct db_tx *tx, const uint8_t digest[ID_SHA256_BYTES])
{
    autofree char *document = write_result(adding->result);
    struct db_addition addition = {
        .cluster_id = adding->cluster.id, .token = adding->token, .created_at = adding->now_ms};
    memcpy(addition.digest, digest, sizeof(addition.digest));
    return db_addition_insert(tx, &addition, document);
}

static int begin_addition(struct adding *adding)
{
    autofree char *reason =
        own_printf("%zu node%s more", adding->result->node_count, text_plural((int64_t)adding->result->node_count));
    int status = cluster_operation_begin(adding->slots.tx, adding->s, &adding->cluster, OPERATION_KIND_UPDATE_CLUSTER,
                                         adding->actor->name, reason);
    text_copy_cut(adding->result->operation, ID_UUID_MAX, adding->cluster.operation);
    return status;
}

static int add_items(struct adding *adding)
{
    int status = slots_open(&adding->slots);
    for (size_t i = 0; status == 0 && i < adding->item_count; i++)
        status = add_item(adding, i);
    slots_close(&adding->slots);
    if (status == 0 && adding->added) { /* the revision tells whoever holds an old description */
        adding->cluster.updated_at = adding->now_ms;
        status = db_cluster_update(adding->slots.tx, &adding->cluster, 0);
        if (status == 0)
            status = begin_addition(adding);
    }
    return status;
}

static int add_write(struct db_tx *tx, void *arg)
{
    struct adding *adding = arg;
    uint8_t digest[ID_SHA256_BYTES];
    service_addition_result_free(adding->result);
    *adding->result = (struct service_addition_result){.nodes = NULL};
    adding->added = false;
    digest_of(adding, digest);
    int status = place_find_cluster(tx, adding->name, &adding->cluster, adding->problem);
    if (status == 0 && adding->token[0] != '\0')
        status = find_earlier(adding, tx, digest);
    if (status != 0)
        return status < 0 ? status : 0;
    status = check_adding(adding);
    adding->slots = (struct slots){.s = adding->s,
                                   .tx = tx,
                                   .cluster = &adding->cluster,
                                   .actor = adding->actor->name,
                                   .now_ms = adding->now_ms,
                                   .problem = adding->problem};
    if (status == 0)
        status = add_items(adding);
    if (status == 0 && adding->token[0] != '\0')
        status = remember(adding, tx, digest);
    return status == 0 && !adding->added ? NOTHING_DONE : status;
}

static int check_items(const struct service_addition *items, size_t count, struct problem *problem)
{
    int64_t nodes = 0;
    if (count < 1 || count > SERVICE_ADDITION_GROUPS_MAX)
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE, "An addition names 1 to %d groups, not %zu.",
                           SERVICE_ADDITION_GROUPS_MAX, count);
    for (size_t i = 0; i < count; i++) {
        if (items[i].count < 1 || items[i].count > SERVICE_ADDITION_NODES_MAX)
            return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                               "The group \"%s\" can get 1 to %d nodes at a time, not %" PRId64 ".", items[i].group,
                               SERVICE_ADDITION_NODES_MAX, items[i].count);
        nodes += items[i].count;
    }
    if (nodes > SERVICE_ADDITION_NODES_MAX)
        return problem_say(problem, STATUS_INVALID, PROBLEM_LIMIT_EXCEEDED,
                           "An addition has at most %d nodes in all, not %" PRId64 ".", SERVICE_ADDITION_NODES_MAX,
                           nodes);
    return 0;
}

int service_nodes_add(struct service *s, const struct actor *actor, const char *cluster, const char *token,
                      const struct service_addition *items, size_t item_count,
                      struct service_addition_result *ret_result, struct problem *ret_problem)
{
    struct service_addition_result result = {.nodes = NULL};
    struct adding adding = {.s = s,
                            .actor = actor,
                            .name = cluster,
                            .token = token == NULL ? "" : token,
                            .items = items,
                            .item_count = item_count,
                            .now_ms = service_now(s),
                            .problem = ret_problem,
                            .result = &result};
    int status = service_require(actor, ROLE_OPERATOR, ret_problem);
    if (status == 0)
        status = check_items(items, item_count, ret_problem);
    if (status == 0)
        status = service_write(s, "nodes-add", add_write, &adding, ret_problem);
    if (status < 0) {
        service_addition_result_free(&result);
        return status;
    }
    *ret_result = result;
    if (adding.added) {
        service_wake(s, SERVICE_WAKE_CLUSTER, adding.cluster.id);
        service_events_added(s);
    }
    return 0;
}

/* --- fewer ----------------------------------------------------------------------------------------- */

struct removing {
    struct service *s;
    const struct actor *actor;
    const char *cluster, *reason;
    enum urgency urgency;
    int64_t now_ms;
    struct service_removal *items;
    size_t item_count;
    struct operation *operation; /* of the last one */
    struct problem *problem;
    int64_t cluster_id;
    struct changed_nodes removed;
};

static int check_removing(struct db_tx *tx, const struct place *place, struct problem *problem)
{
    bool is_controller = false;
    if (place->cluster.state == CLUSTER_STATE_UPDATING || place->cluster.state == CLUSTER_STATE_ROLLING_BACK)
        return problem_say(problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "The cluster \"%s\" is %s; nodes can be removed when that has ended.", place->cluster.name,
                           cluster_state_text(place->cluster.state));
    int status = place_is_controller(tx, place, &is_controller);
    if (status == 0 && is_controller)
        return problem_say(problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "%s is a controller of %s and cannot be removed on its own.", place->node.name,
                           orchestrator_title(place->cluster.orchestrator));
    return status;
}

static int remove_place(struct db_tx *tx, const struct removing *removing, struct place *place)
{
    const struct slot_removal removal = {.s = removing->s,
                                         .actor = removing->actor->name,
                                         .reason = REASON_REMOVED,
                                         .urgency = removing->urgency,
                                         .now_ms = removing->now_ms};
    int status = 0;
    if (place->node.state != NODE_STATE_DELETING && place->node.state != NODE_STATE_DELETED) {
        if (place->group.desired > 0)
            place->group.desired--;
        if (place->group.min_count > place->group.desired)
            place->group.min_count = place->group.desired;
        status = db_group_update(tx, &place->group);
        if (status == 0)
            status = place_event(tx, place, NULL, EVENT_LEVEL_INFO, EVENT_KIND_OPERATOR_REQUEST,
                                 "%s removed %s (%s)%s%s; %s has %" PRId64 " node%s now", removing->actor->name,
                                 place->node.name, urgency_text(removing->urgency),
                                 removing->reason[0] != '\0' ? ": " : "", removing->reason, place->group.name,
                                 place->group.desired, text_plural(place->group.desired));
    }
    return status < 0 ? status : slot_remove(tx, &removal, place, removing->operation);
}

/* What is refused is refused alone: nothing of it was written. */
static int remove_item(struct db_tx *tx, struct removing *removing, struct service_removal *item)
{
    struct place place;
    item->problem = (struct problem){.code = PROBLEM_UNAVAILABLE};
    item->status = place_find(tx, removing->cluster, item->node, &place, &item->problem);
    if (item->status == 0)
        item->status = check_removing(tx, &place, &item->problem);
    if (item->status == 0) {
        changed_nodes_add(&removing->removed, place.node.id);
        return remove_place(tx, removing, &place);
    }
    return item->problem.detail[0] != '\0' ? 0 : item->status; /* not said: the store failed */
}

static int remove_write(struct db_tx *tx, void *arg)
{
    struct removing *removing = arg;
    struct cluster cluster;
    bool any = false;
    *removing->operation = (struct operation){0};
    removing->removed.count = 0;
    int status = place_find_cluster(tx, removing->cluster, &cluster, removing->problem);
    removing->cluster_id = status == 0 ? cluster.id : 0;
    for (size_t i = 0; status == 0 && i < removing->item_count; i++) {
        status = remove_item(tx, removing, &removing->items[i]);
        any = any || removing->items[i].status == 0;
    }
    return status == 0 && !any ? NOTHING_DONE : status;
}

static int run_removal(struct removing *removing)
{
    int status = service_require(removing->actor, ROLE_OPERATOR, removing->problem);
    if (status == 0)
        status = service_write(removing->s, "nodes-remove", remove_write, removing, removing->problem);
    if (status == 0) {
        changed_nodes_wake(removing->s, &removing->removed);
        service_wake(removing->s, SERVICE_WAKE_CLUSTER, removing->cluster_id);
        service_events_added(removing->s);
    }
    free(removing->removed.ids);
    return status;
}

int service_nodes_remove(struct service *s, const struct actor *actor, const char *cluster,
                         struct service_removal *items, size_t item_count, enum urgency urgency, const char *reason,
                         struct problem *ret_problem)
{
    struct operation last;
    struct removing removing = {.s = s,
                                .actor = actor,
                                .cluster = cluster,
                                .reason = reason == NULL ? "" : reason,
                                .urgency = urgency,
                                .now_ms = service_now(s),
                                .items = items,
                                .item_count = item_count,
                                .operation = &last,
                                .problem = ret_problem};
    return run_removal(&removing);
}

int service_node_remove(struct service *s, const struct actor *actor, const char *cluster, const char *node,
                        enum urgency urgency, const char *reason, struct operation *ret_operation,
                        struct problem *ret_problem)
{
    struct operation operation;
    struct service_removal item = {.node = node};
    struct removing removing = {.s = s,
                                .actor = actor,
                                .cluster = cluster,
                                .reason = reason == NULL ? "" : reason,
                                .urgency = urgency,
                                .now_ms = service_now(s),
                                .items = &item,
                                .item_count = 1,
                                .operation = &operation,
                                .problem = ret_problem};
    int status = run_removal(&removing);
    if (status == 0 && item.status < 0) {
        *ret_problem = item.problem;
        status = item.status;
    }
    if (status == 0)
        *ret_operation = operation;
    return status;
}
