/*
 * A node with all it belongs to: found by the names people use, or by its row. Whoever adds to the
 * timeline or moves a node does it here, so that no event lacks its place and no move its event.
 */
#include "server/service/private.h"

#include "base/json.h"
#include "base/text.h"
#include "db/event.h"

#include <stdio.h>
#include <string.h>

int place_find_cluster(struct db_tx *tx, const char *name, struct cluster *ret_cluster, struct problem *problem)
{
    const size_t skip = strlen(SERVICE_CLUSTER_ID_PREFIX);
    bool by_id = strncmp(name, SERVICE_CLUSTER_ID_PREFIX, skip) == 0;
    int status = by_id ? db_cluster_by_uid(tx, name + skip, ret_cluster) : db_cluster_get(tx, name, ret_cluster);
    if (status == STATUS_NOT_FOUND && by_id)
        return problem_say(problem, status, PROBLEM_NOT_FOUND, "There is no cluster with the id \"%s\".", name + skip);
    if (status == STATUS_NOT_FOUND)
        return problem_say(problem, status, PROBLEM_NOT_FOUND, "There is no cluster named \"%s\".", name);
    return status;
}

int place_find_group(struct db_tx *tx, const char *cluster_name, const char *name, struct cluster *ret_cluster,
                     struct instance_group *ret_group, struct problem *problem)
{
    int status = place_find_cluster(tx, cluster_name, ret_cluster, problem);
    if (status < 0)
        return status;
    status = db_group_get(tx, ret_cluster->id, name, ret_group);
    if (status == STATUS_NOT_FOUND)
        return problem_say(problem, status, PROBLEM_NOT_FOUND, "The cluster \"%s\" has no instance group named \"%s\".",
                           ret_cluster->name, name);
    return status;
}

/* The rest of a place whose cluster and node are known. */
static int place_complete(struct db_tx *tx, struct place *place)
{
    int status = db_group_get_row(tx, place->node.group_id, &place->group);
    if (status == 0 && place->node.instance_row != 0)
        status = db_instance_get_row(tx, place->node.instance_row, &place->instance);
    return status;
}

/* The node that the instance fills now: what it filled before is another machine's. */
static int find_by_instance(struct db_tx *tx, int64_t cluster_id, const char *instance_id, struct node *ret_node)
{
    struct instance instance;
    int status = db_instance_get(tx, instance_id, &instance);
    if (status == 0)
        status = db_node_get_row(tx, instance.node_id, ret_node);
    if (status == 0 && (ret_node->cluster_id != cluster_id || ret_node->instance_row != instance.id))
        status = STATUS_NOT_FOUND;
    return status;
}

int place_find(struct db_tx *tx, const char *cluster, const char *node, struct place *ret_place,
               struct problem *problem)
{
    const size_t skip = strlen(SERVICE_INSTANCE_PREFIX);
    bool by_instance = strncmp(node, SERVICE_INSTANCE_PREFIX, skip) == 0;
    struct place place = {0};
    int status = place_find_cluster(tx, cluster, &place.cluster, problem);
    if (status < 0)
        return status;
    status = by_instance ? find_by_instance(tx, place.cluster.id, node + skip, &place.node)
                         : db_node_get(tx, place.cluster.id, node, &place.node);
    if (status == STATUS_NOT_FOUND)
        return problem_say(problem, status, PROBLEM_NOT_FOUND, "The cluster \"%s\" has no %s \"%s\".",
                           place.cluster.name, by_instance ? "instance" : "node named",
                           node + (by_instance ? skip : 0));
    if (status == 0)
        status = place_complete(tx, &place);
    if (status == 0)
        *ret_place = place;
    return status;
}

int place_narrow(struct db_tx *tx, const char *cluster, const char *node, int64_t *ret_cluster_id, int64_t *ret_node_id,
                 struct problem *problem)
{
    struct place place = {.node.id = 0};
    int status = 0;
    if (node != NULL && cluster == NULL)
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "node is given without cluster; names of nodes are unique within a cluster only.");
    if (node != NULL)
        status = place_find(tx, cluster, node, &place, problem);
    else if (cluster != NULL)
        status = place_find_cluster(tx, cluster, &place.cluster, problem);
    if (status < 0)
        return status;
    *ret_cluster_id = node == NULL ? place.cluster.id : 0;
    *ret_node_id = place.node.id;
    return 0;
}

int place_find_row(struct db_tx *tx, int64_t node_id, struct place *ret_place)
{
    struct place place = {0};
    int status = db_node_get_row(tx, node_id, &place.node);
    if (status == 0)
        status = db_cluster_get_row(tx, place.node.cluster_id, &place.cluster);
    if (status == 0)
        status = place_complete(tx, &place);
    if (status == 0)
        *ret_place = place;
    return status;
}

int place_is_controller(struct db_tx *tx, const struct place *place, bool *ret_is_controller)
{
    AUTO(group_spec) struct group_spec spec;
    int status = db_group_spec_get(tx, place->group.id, &spec);
    *ret_is_controller = group_spec_role(&spec) == SLURM_ROLE_CONTROLLER;
    return status;
}

int place_event_add(struct db_tx *tx, const struct place *place, const struct operation *operation, struct event *event,
                    const char *message)
{
    event->cluster_id = place->cluster.id;
    event->node_id = place->node.id;
    snprintf(event->cluster, sizeof(event->cluster), "%s", place->cluster.name);
    snprintf(event->group, sizeof(event->group), "%s", place->group.name);
    snprintf(event->node, sizeof(event->node), "%s", place->node.name);
    snprintf(event->instance_id, sizeof(event->instance_id), "%s", place->instance.instance_id);
    if (operation != NULL) {
        event->operation_id = operation->id;
        snprintf(event->operation, sizeof(event->operation), "%s", operation->uid);
    }
    say_cut(event->message, sizeof(event->message), "%s", message);
    return db_event_insert(tx, event);
}

int place_event(struct db_tx *tx, const struct place *place, const struct operation *operation, enum event_level level,
                enum event_kind kind, const char *fmt, ...)
{
    struct event event = {.level = level, .kind = kind};
    char message[SENTENCE_MAX_BYTES];
    va_list ap;
    va_start(ap, fmt);
    say_vcut(message, sizeof(message), fmt, ap);
    va_end(ap);
    return place_event_add(tx, place, operation, &event, message);
}

int cluster_event(struct db_tx *tx, const struct cluster *cluster, enum event_level level, enum event_kind kind,
                  const char *fmt, ...)
{
    struct event event = {.level = level, .kind = kind, .cluster_id = cluster->id};
    snprintf(event.cluster, sizeof(event.cluster), "%s", cluster->name);
    va_list ap;
    va_start(ap, fmt);
    say_vcut(event.message, sizeof(event.message), fmt, ap);
    va_end(ap);
    return db_event_insert(tx, &event);
}

int cluster_notice(struct db_tx *tx, const struct cluster *cluster, const char *notice)
{
    if (notice == NULL)
        return 0;
    return cluster_event(tx, cluster, EVENT_LEVEL_WARN, EVENT_KIND_CLUSTER_UPDATED,
                         "Of what was asked for of %s this is kept, but has no effect here: %s", cluster->name, notice);
}

static int tell_move(struct db_tx *tx, const struct place *place, enum node_state from, const char *reason)
{
    enum node_state to = place->node.state;
    struct event event = {.level = EVENT_LEVEL_INFO, .kind = EVENT_KIND_NODE_STATE};
    autofree char *message =
        own_printf("%s -> %s%s%s", node_state_text(from), node_state_text(to), reason[0] == '\0' ? "" : ": ", reason);
    text_copy_cut(event.about.was, sizeof(event.about.was), node_state_text(from));
    text_copy_cut(event.about.state, sizeof(event.about.state), node_state_text(to));
    return place_event_add(tx, place, NULL, &event, message);
}

int place_move(struct db_tx *tx, struct place *place, enum node_state state, const char *reason, int64_t now_ms)
{
    enum node_state from = place->node.state;
    node_move(&place->node, state, now_ms);
    place->node.retry_at = 0;
    say_cut(place->node.reason, sizeof(place->node.reason), "%s", reason);
    int status = db_node_update(tx, &place->node);
    if (status == 0)
        status = tell_move(tx, place, from, reason);
    return status;
}
