/* Nodes as they are shown, their verdicts, and the opt-out, which people set. */
#include "server/service/node/node.h"
#include "server/service/private.h"

#include <string.h>

/* --- describe -------------------------------------------------------------------------------------- */

struct describe {
    const char *cluster, *node;
    struct problem *problem;
    struct service_node_view view;
};

static int count_row(const void *row, void *arg)
{
    (void)row;
    (*(int64_t *)arg)++;
    return 0;
}

static void row_of_place(const struct place *place, struct db_node_row *ret_row)
{
    *ret_row = (struct db_node_row){.node = place->node, .instance = place->instance};
    memcpy(ret_row->group, place->group.name, sizeof(ret_row->group));
    memcpy(ret_row->cluster, place->cluster.name, sizeof(ret_row->cluster));
    memcpy(ret_row->instance_type, place->group.instance_type, sizeof(ret_row->instance_type));
    memcpy(ret_row->provider, place->group.provider, sizeof(ret_row->provider));
    memcpy(ret_row->image_id, place->group.image_id, sizeof(ret_row->image_id));
    memcpy(ret_row->release, place->group.release, sizeof(ret_row->release));
    ret_row->recovery = place->cluster.recovery;
    ret_row->is_paused = place->cluster.paused_at != 0;
}

/* What may be absent stays zero. */
static int absent_is_fine(int status)
{
    return status == STATUS_NOT_FOUND ? 0 : status;
}

static int describe_read(struct db_tx *tx, void *arg)
{
    struct describe *describe = arg;
    struct service_node_view *view = &describe->view;
    struct place place;
    *view = (struct service_node_view){0};
    int status = place_find(tx, describe->cluster, describe->node, &place, describe->problem);
    if (status < 0)
        return status;
    row_of_place(&place, &view->row);
    struct db_verdict_filter open = {.node_id = place.node.id, .state = VERDICT_STATE_OPEN};
    status = absent_is_fine(db_operation_active(tx, place.node.id, &view->active));
    view->row.is_busy = view->active.id != 0;
    view->row.busy_with = view->active.kind;
    if (status == 0)
        status = absent_is_fine(db_decision_last(tx, place.node.id, &view->last_decision));
    if (status == 0)
        status = db_verdict_list(tx, &open, count_row, &view->open_verdicts);
    return status;
}

int service_node_describe(struct service *s, const char *cluster, const char *node, struct service_node_view *ret_view,
                          struct problem *ret_problem)
{
    struct describe describe = {.cluster = cluster, .node = node, .problem = ret_problem};
    int status = service_read(s, describe_read, &describe, ret_problem);
    if (status < 0)
        return status;
    *ret_view = describe.view;
    if (fleet_get(s->fleet, ret_view->row.node.id, &ret_view->live) < 0)
        ret_view->live = (struct fleet_view){0};
    return 0;
}

/* --- lists ----------------------------------------------------------------------------------------- */

struct listing {
    const char *cluster, *group, *node;
    struct db_node_filter nodes;
    struct db_verdict_filter verdicts;
    db_row_fn fn;
    void *arg;
    struct problem *problem;
};

static int list_read(struct db_tx *tx, void *arg)
{
    struct listing *listing = arg;
    struct cluster cluster;
    int status = 0;
    if (listing->cluster == NULL)
        return db_node_list(tx, &listing->nodes, listing->fn, listing->arg);
    status = place_find_cluster(tx, listing->cluster, &cluster, listing->problem);
    if (status < 0)
        return status;
    listing->nodes.cluster_id = cluster.id;
    if (listing->group != NULL) {
        struct instance_group group;
        status = db_group_get(tx, cluster.id, listing->group, &group);
        if (status == STATUS_NOT_FOUND)
            return problem_say(listing->problem, status, PROBLEM_NOT_FOUND,
                               "The cluster \"%s\" has no instance group named \"%s\".", listing->cluster,
                               listing->group);
        listing->nodes.group_id = status == 0 ? group.id : 0;
    }
    return status < 0 ? status : db_node_list(tx, &listing->nodes, listing->fn, listing->arg);
}

int service_node_list(struct service *s, const char *cluster, const char *group, int state, int health,
                      const char *after_name, int limit, db_row_fn fn, void *arg, struct problem *ret_problem)
{
    struct listing listing = {.cluster = cluster,
                              .group = group,
                              .nodes = {.after_name = after_name, .state = state, .health = health, .limit = limit},
                              .fn = fn,
                              .arg = arg,
                              .problem = ret_problem};
    return service_read(s, list_read, &listing, ret_problem);
}

struct search {
    const char *name;
    struct db_node_search *search;
    struct cluster *cluster;
    db_row_fn fn;
    void *arg;
    struct problem *problem;
};

static int search_read(struct db_tx *tx, void *arg)
{
    struct search *search = arg;
    struct cluster cluster;
    int status = place_find_cluster(tx, search->name, &cluster, search->problem);
    if (status < 0)
        return status;
    search->search->cluster_id = cluster.id;
    if (search->cluster != NULL)
        *search->cluster = cluster;
    return db_node_search(tx, search->search, search->fn, search->arg);
}

int service_node_search(struct service *s, const char *cluster, struct db_node_search *search,
                        struct cluster *ret_cluster, db_row_fn fn, void *arg, struct problem *ret_problem)
{
    struct search work = {
        .name = cluster, .search = search, .cluster = ret_cluster, .fn = fn, .arg = arg, .problem = ret_problem};
    return service_read(s, search_read, &work, ret_problem);
}

static int verdicts_read(struct db_tx *tx, void *arg)
{
    struct listing *listing = arg;
    struct place place;
    int status = place_find(tx, listing->cluster, listing->node, &place, listing->problem);
    if (status < 0)
        return status;
    listing->verdicts.node_id = place.node.id;
    return db_verdict_list(tx, &listing->verdicts, listing->fn, listing->arg);
}

int service_verdict_list(struct service *s, const char *cluster, const char *node, int state, int64_t before_id,
                         int limit, db_row_fn fn, void *arg, struct problem *ret_problem)
{
    struct listing listing = {.cluster = cluster,
                              .node = node,
                              .verdicts = {.state = state, .before_id = before_id, .limit = limit},
                              .fn = fn,
                              .arg = arg,
                              .problem = ret_problem};
    return service_read(s, verdicts_read, &listing, ret_problem);
}

/* --- what a person says of it ------------------------------------------------------------------------ */

struct update {
    const struct actor *actor;
    const char *cluster, *node;
    const struct service_node_change *change;
    int64_t if_revision;
    struct problem *problem;
    struct place place;
    bool told, changed;
};

int64_t service_node_revision(const struct node *node)
{
    return node->opted_out ? 2 : 1;
}

static int write_opt_out(struct db_tx *tx, struct update *update)
{
    struct node *node = &update->place.node;
    if (!update->change->says_out || node->opted_out == update->change->opted_out)
        return 0;
    node->opted_out = update->change->opted_out;
    int status = db_node_update(tx, node);
    if (status < 0)
        return status;
    update->changed = update->told = true;
    return place_event(
        tx, &update->place, NULL, EVENT_LEVEL_INFO, EVENT_KIND_OPERATOR_REQUEST, "%s %s %s", update->actor->name,
        node->opted_out ? "takes over: nothing is done by itself to" : "hands back the care of", node->name);
}

static int write_topology(struct db_tx *tx, struct update *update)
{
    struct node *node = &update->place.node;
    int status = 0;
    for (int level = 0; level < TOPOLOGY_LEVEL_ZONE && status == 0; level++) {
        const char *domain = update->change->domain[level];
        if (domain == NULL || strcmp(domain, node->topology[level]) == 0)
            continue;
        status = db_node_set_topology(tx, node->id, (enum topology_level)level, domain);
        update->changed = true;
    }
    return status;
}

static int update_write(struct db_tx *tx, void *arg)
{
    struct update *update = arg;
    const struct node *node = &update->place.node;
    update->changed = update->told = false;
    int status = place_find(tx, update->cluster, update->node, &update->place, update->problem);
    if (status < 0)
        return status;
    if (update->if_revision > 0 && update->if_revision != service_node_revision(node))
        return problem_say(update->problem, STATUS_CONFLICT, PROBLEM_PRECONDITION_FAILED,
                           "Somebody else changed the node \"%s\": it is%s opted out now. Read it again and repeat.",
                           node->name, node->opted_out ? "" : " not");
    status = write_opt_out(tx, update);
    return status < 0 ? status : write_topology(tx, update);
}

int service_node_update(struct service *s, const struct actor *actor, const char *cluster, const char *node,
                        const struct service_node_change *change, int64_t if_revision, struct node *ret_node,
                        struct problem *ret_problem)
{
    int status = service_require(actor, ROLE_OPERATOR, ret_problem);
    if (status < 0)
        return status;
    struct update update = {.actor = actor,
                            .cluster = cluster,
                            .node = node,
                            .change = change,
                            .if_revision = if_revision,
                            .problem = ret_problem};
    status = service_write(s, "node-update", update_write, &update, ret_problem);
    if (status < 0)
        return status;
    *ret_node = update.place.node;
    if (update.changed)
        service_wake(s, SERVICE_WAKE_NODE, ret_node->id);
    if (update.told)
        service_events_added(s);
    return 0;
}
