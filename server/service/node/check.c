/*
 * Deep health checks that people ask for. Here the intent is written, a CHECK operation with its run for each node; when a node
 * is free for it is the reconcile loop's to see, and what is found is the agent's to say (check_report.c).
 */
#include "server/service/node/check.h"
#include "server/service/private.h"

#include "base/json.h"
#include "base/sm.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct checking {
    struct service *s;
    const struct actor *actor;
    const char *name;
    const struct service_check_request *requests;
    size_t request_count;
    const struct service_check_how *how;
    int64_t now_ms;
    struct problem *problem;
    struct service_check_result *result;
    struct slot {
        int64_t node_id, checks;
    } * slots;
    size_t slot_count, slot_capacity;
    int64_t checks; /* of the request that is looked at */
    struct changed_nodes begun;
};

/* --- which nodes ----------------------------------------------------------------------------------- */

static void add_slot(struct checking *checking, int64_t node_id)
{
    if (checking->slot_count == checking->slot_capacity) {
        checking->slot_capacity = checking->slot_capacity == 0 ? 64 : checking->slot_capacity * 2;
        checking->slots = own_realloc(checking->slots, checking->slot_capacity, sizeof(*checking->slots));
    }
    checking->slots[checking->slot_count++] = (struct slot){node_id, checking->checks};
}

static int by_node(const void *left, const void *right)
{
    const struct slot *a = left, *b = right;
    return a->node_id < b->node_id ? -1 : a->node_id > b->node_id;
}

/* Entries that overlap are one check of the node. */
static void join_slots(struct checking *checking)
{
    size_t kept = 0;
    if (checking->slot_count > 0)
        qsort(checking->slots, checking->slot_count, sizeof(*checking->slots), by_node);
    for (size_t i = 0; i < checking->slot_count; i++)
        if (kept > 0 && checking->slots[kept - 1].node_id == checking->slots[i].node_id)
            checking->slots[kept - 1].checks |= checking->slots[i].checks;
        else
            checking->slots[kept++] = checking->slots[i];
    checking->slot_count = kept;
}

static int add_row(const void *row, void *arg)
{
    add_slot(arg, ((const struct db_node_row *)row)->node.id);
    return 0;
}

static int add_named(struct checking *checking, struct db_tx *tx, const struct service_check_request *request)
{
    for (size_t i = 0; i < request->node_count; i++) {
        struct place place;
        autofree char *ref = own_printf("%s%s", request->by_instance ? SERVICE_INSTANCE_PREFIX : "", request->nodes[i]);
        int status = place_find(tx, checking->name, ref, &place, checking->problem);
        if (status < 0)
            return status;
        if (request->group[0] != '\0' && !text_equal(place.group.name, request->group))
            return problem_say(checking->problem, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND,
                               "The group \"%s\" has no %s \"%s\".", request->group,
                               request->by_instance ? "instance" : "node", request->nodes[i]);
        add_slot(checking, place.node.id);
    }
    return 0;
}

static int add_request(struct checking *checking, struct db_tx *tx, const struct service_check_request *request)
{
    const struct cluster *cluster = &checking->result->cluster;
    struct instance_group group = {0};
    checking->checks = request->checks;
    int status = request->group[0] == '\0' ? 0 : db_group_get(tx, cluster->id, request->group, &group);
    if (status == STATUS_NOT_FOUND)
        return problem_say(checking->problem, status, PROBLEM_NOT_FOUND, "The cluster \"%s\" has no group \"%s\".",
                           cluster->name, request->group);
    if (status < 0 || request->node_count > 0)
        return status < 0 ? status : add_named(checking, tx, request);
    const struct db_node_filter filter = {
        .cluster_id = cluster->id, .group_id = group.id, .state = NODE_STATE_READY, .health = -1};
    return db_node_list(tx, &filter, add_row, checking);
}

/* --- begun, or left out ---------------------------------------------------------------------------- */

static struct service_check_node *add_result(struct service_check_result *result, const char *node)
{
    if (result->count == result->capacity) {
        result->capacity = result->capacity == 0 ? 16 : result->capacity * 2;
        result->nodes = own_realloc(result->nodes, result->capacity, sizeof(*result->nodes));
    }
    struct service_check_node *added = &result->nodes[result->count++];
    *added = (struct service_check_node){0};
    text_copy_cut(added->node, sizeof(added->node), node);
    return added;
}

static int count_row(const void *row, void *arg)
{
    (void)row;
    (*(int *)arg)++;
    return 0;
}

/* A group of which only this node is in service can have no spare. */
static int lacks_spare(struct db_tx *tx, const struct place *place, char *ret_why, size_t size)
{
    int ready = 0;
    const struct db_node_filter filter = {.cluster_id = place->cluster.id,
                                          .group_id = place->group.id,
                                          .state = NODE_STATE_READY,
                                          .health = -1,
                                          .limit = 2};
    int status = db_node_list(tx, &filter, count_row, &ready);
    if (status == 0 && ready < 2)
        say_cut(ret_why, size,
                "a deep check needs a spare, and no other node of its group is in service: "
                "add one, check it with the quick profile, or force it");
    return status;
}

/* A sentence when the node cannot be checked now. */
static int refusal(struct db_tx *tx, const struct place *place, bool needs_spare, char *ret_why, size_t size)
{
    struct operation active;
    AUTO(group_spec) struct group_spec spec = {0};
    ret_why[0] = '\0';
    int status = db_operation_active(tx, place->node.id, &active);
    if (status < 0 && status != STATUS_NOT_FOUND)
        return status;
    bool busy = status == 0;
    if (busy || place->node.state != NODE_STATE_READY) {
        say_cut(ret_why, size, "it is %s%s%s", node_state_text(place->node.state),
                busy ? ", and at work on it is a " : "", busy ? operation_kind_text(active.kind) : "");
        return 0;
    }
    status = db_group_spec_get(tx, place->group.id, &spec);
    if (status == 0 && group_spec_role(&spec) != SLURM_ROLE_COMPUTE)
        say_cut(ret_why, size, "only nodes that compute are checked");
    return status == 0 && needs_spare && ret_why[0] == '\0' ? lacks_spare(tx, place, ret_why, size) : status;
}

static int begin(struct checking *checking, struct db_tx *tx, const struct slot *slot, const struct place *place,
                 struct service_check_node *ret_node)
{
    struct operation operation;
    char id[ID_UUID_MAX], key[KEY_MAX_BYTES];
    id_uuid(checking->s->ids, id);
    snprintf(key, sizeof(key), "check/%s", id);
    operation_prepare(checking->s, place, OPERATION_KIND_CHECK, key, "deep health checks", checking->actor->name,
                      checking->now_ms, &operation);
    deep_checks_text(slot->checks, operation.code);
    operation.urgency = checking->how->urgency;
    int status = db_operation_insert(tx, &operation);
    struct deep_run run = {.operation_id = operation.id,
                           .cluster_id = place->cluster.id,
                           .node_id = place->node.id,
                           .profile = checking->how->profile,
                           .checks = slot->checks,
                           .needs_spare = checking->how->needs_spare,
                           .state = DEEP_STATE_WAITING,
                           .created_at = checking->now_ms};
    if (status == 0)
        memcpy(ret_node->uid, operation.uid, sizeof(ret_node->uid));
    return status < 0 ? status : db_deep_run_insert(tx, &run);
}

/* A node that is at something else is left out, and the timeline says so. */
static int begin_or_leave(struct checking *checking, struct db_tx *tx, const struct slot *slot, size_t *started)
{
    struct place place;
    int status = place_find_row(tx, slot->node_id, &place);
    if (status < 0)
        return status;
    struct service_check_node *node = add_result(checking->result, place.node.name);
    status = refusal(tx, &place, checking->how->needs_spare, node->why, sizeof(node->why));
    if (status < 0)
        return status;
    if (node->why[0] != '\0')
        return place_event(tx, &place, NULL, EVENT_LEVEL_WARN, EVENT_KIND_OPERATOR_REQUEST,
                           "no deep health check of %s: %s", place.node.name, node->why);
    (*started)++;
    changed_nodes_add(&checking->begun, slot->node_id);
    return begin(checking, tx, slot, &place, node);
}

static int check_write(struct db_tx *tx, void *arg)
{
    struct checking *checking = arg;
    struct cluster *cluster = &checking->result->cluster;
    size_t started = 0;
    checking->slot_count = checking->result->count = checking->begun.count = 0;
    int status = place_find_cluster(tx, checking->name, cluster, checking->problem);
    if (status == 0 && cluster->state == CLUSTER_STATE_DELETING)
        return problem_say(checking->problem, STATUS_CONFLICT, PROBLEM_CONFLICT, "The cluster \"%s\" is being deleted.",
                           cluster->name);
    for (size_t i = 0; status == 0 && i < checking->request_count; i++)
        status = add_request(checking, tx, &checking->requests[i]);
    join_slots(checking);
    for (size_t i = 0; status == 0 && i < checking->slot_count; i++)
        status = begin_or_leave(checking, tx, &checking->slots[i], &started);
    if (status == 0 && started > 0)
        status = cluster_event(tx, cluster, EVENT_LEVEL_INFO, EVENT_KIND_OPERATOR_REQUEST,
                               "%s asked for deep health checks (%s) of %zu node%s", checking->actor->name,
                               deep_profile_text(checking->how->profile), started, text_plural((int64_t)started));
    return status;
}

int service_cluster_check(struct service *s, const struct actor *actor, const char *cluster,
                          const struct service_check_request *requests, size_t request_count,
                          const struct service_check_how *how, struct service_check_result *ret_result,
                          struct problem *ret_problem)
{
    *ret_result = (struct service_check_result){0};
    struct checking checking = {.s = s,
                                .actor = actor,
                                .name = cluster,
                                .requests = requests,
                                .request_count = request_count,
                                .how = how,
                                .now_ms = service_now(s),
                                .problem = ret_problem,
                                .result = ret_result};
    int status = service_require(actor, ROLE_OPERATOR, ret_problem);
    if (status == 0)
        status = service_write(s, "cluster-check", check_write, &checking, ret_problem);
    free(checking.slots);
    if (status == 0) {
        changed_nodes_wake(s, &checking.begun);
        service_events_added(s);
    }
    free(checking.begun.ids);
    return status;
}

void service_check_result_free(struct service_check_result *result)
{
    free(TAKE(result->nodes));
    result->count = result->capacity = 0;
}

/* --- runs as people see them ----------------------------------------------------------------------- */

struct listing {
    const char *cluster, *node;
    struct db_deep_filter filter;
    db_row_fn fn;
    void *arg;
    struct problem *problem;
};

static int list_read(struct db_tx *tx, void *arg)
{
    struct listing *listing = arg;
    int status = place_narrow(tx, listing->cluster, listing->node, &listing->filter.cluster_id,
                              &listing->filter.node_id, listing->problem);
    return status < 0 ? status : db_deep_run_list(tx, &listing->filter, listing->fn, listing->arg);
}

int service_check_list(struct service *s, const char *cluster, const char *node, int64_t before_id, int limit,
                       db_row_fn fn, void *arg, struct problem *ret_problem)
{
    struct listing listing = {.cluster = cluster,
                              .node = node,
                              .filter = {.before_id = before_id, .limit = limit},
                              .fn = fn,
                              .arg = arg,
                              .problem = ret_problem};
    return service_read(s, list_read, &listing, ret_problem);
}

struct describing {
    const char *uid;
    struct deep_run *run;
    db_row_fn fn;
    void *arg;
    struct problem *problem;
};

static int describe_read(struct db_tx *tx, void *arg)
{
    struct describing *describing = arg;
    int status = db_deep_run_get(tx, describing->uid, describing->run);
    if (status == STATUS_NOT_FOUND)
        return problem_say(describing->problem, status, PROBLEM_NOT_FOUND, "There is no deep health check \"%s\".",
                           describing->uid);
    return status < 0 ? status : db_deep_test_list(tx, describing->run->id, describing->fn, describing->arg);
}

int service_check_describe(struct service *s, const char *uid, struct deep_run *ret_run, db_row_fn fn, void *arg,
                           struct problem *ret_problem)
{
    struct describing describing = {.uid = uid, .run = ret_run, .fn = fn, .arg = arg, .problem = ret_problem};
    return service_read(s, describe_read, &describing, ret_problem);
}
