/*
 * What is done to the nodes of whole groups: another image, batch by batch, and deep health checks. Here the intent is
 * written; which node comes when is the reconcile loop's.
 */
#include "server/service/private.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

ENUM_DEFINE(deep_check, DEEP_CHECK_LIST)

struct groups {
    struct instance_group *rows;
    size_t count;
};

static int add_group(const void *row, void *arg)
{
    struct groups *groups = arg;
    groups->rows = own_realloc(groups->rows, groups->count + 1, sizeof(*groups->rows));
    groups->rows[groups->count++] = *(const struct instance_group *)row;
    return 0;
}

/* --- another image --------------------------------------------------------------------------------- */

struct rolling {
    struct service *s;
    const struct actor *actor;
    const char *name;
    const struct rollout *how;
    const struct service_software_group *wanted;
    size_t wanted_count;
    int64_t now_ms;
    struct problem *problem;
    struct cluster cluster;
    struct groups groups;
};

static const struct service_software_group *find_wanted(const struct rolling *rolling, const char *group)
{
    for (size_t i = 0; i < rolling->wanted_count; i++)
        if (text_equal(rolling->wanted[i].group, group))
            return &rolling->wanted[i];
    return NULL;
}

static int check_named(const struct rolling *rolling)
{
    for (size_t i = 0; i < rolling->wanted_count; i++) {
        bool found = false;
        for (size_t k = 0; k < rolling->groups.count; k++)
            found = found || text_equal(rolling->groups.rows[k].name, rolling->wanted[i].group);
        if (!found)
            return problem_say(rolling->problem, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND,
                               "The cluster \"%s\" has no group \"%s\".", rolling->cluster.name,
                               rolling->wanted[i].group);
    }
    return 0;
}

static int check_rolling(const struct rolling *rolling)
{
    const struct cluster *cluster = &rolling->cluster;
    if (cluster->state == CLUSTER_STATE_IN_SERVICE)
        return 0;
    if (cluster->state == CLUSTER_STATE_FAILED)
        return problem_say(rolling->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "The creation of the cluster \"%s\" failed, and nothing of it is left to update. Delete it, "
                           "and create it again.",
                           cluster->name);
    return problem_say(rolling->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                       "The cluster \"%s\" is %s; its software can be updated when it is in service. Wait, and repeat.",
                       cluster->name, cluster_state_text(cluster->state));
}

/* Neither none nor the provider's own. */
static bool is_own_image(const char *image_id)
{
    return image_id[0] != '\0' && strcmp(image_id, "default") != 0;
}

/* The release that hpd's configuration names is not one of an image that somebody made: which one it shall run is theirs to say. */
static int check_image(const struct rolling *rolling, const struct instance_group *group,
                       const struct service_software_group *wanted)
{
    const struct rollout *how = rolling->how;
    bool says_release = how->release[0] != '\0' || (wanted != NULL && wanted->release[0] != '\0');
    if (how->image_id[0] != '\0' || says_release || !is_own_image(group->image_id))
        return 0;
    return problem_say(
        rolling->problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
        "The group \"%s\" runs an image of its own, %s. Say which image it shall run, \"default\" for the "
        "provider's own, or which release of its image.",
        group->name, group->image_id);
}

/* What it goes back to is what the nodes run: the group may have been described with another image since, which none has. */
static int find_previous(struct db_tx *tx, const struct instance_group *group, struct rollout *rollout)
{
    int status = db_node_main_image(tx, group->id, rollout->image_id, rollout->release, rollout->previous_image_id,
                                    rollout->previous_release);
    if (status != STATUS_NOT_FOUND)
        return status;
    text_copy_cut(rollout->previous_image_id, sizeof(rollout->previous_image_id), group->image_id);
    text_copy_cut(rollout->previous_release, sizeof(rollout->previous_release), group->release);
    return 0;
}

static int start_rollout(struct rolling *rolling, struct db_tx *tx, struct instance_group *group,
                         const struct service_software_group *wanted)
{
    struct rollout rollout = *rolling->how;
    rollout.group_id = group->id;
    rollout.state = ROLLOUT_STATE_PENDING;
    rollout.batch = rollout.next_batch_at = 0;
    rollout.failure[0] = '\0';
    rollout.created_at = rollout.updated_at = rolling->now_ms;
    if (wanted != NULL && wanted->release[0] != '\0')
        text_copy_cut(rollout.release, sizeof(rollout.release), wanted->release);
    if (rollout.release[0] == '\0' && !is_own_image(rollout.image_id))
        text_copy_cut(rollout.release, sizeof(rollout.release), spec_default_release(rolling->s->backends));
    if (rollout.image_id[0] == '\0')
        text_copy_cut(rollout.image_id, sizeof(rollout.image_id), group->image_id);
    int status = find_previous(tx, group, &rollout);
    if (status == 0)
        status = db_rollout_put(tx, &rollout);
    text_copy_cut(group->image_id, sizeof(group->image_id), rollout.image_id);
    text_copy_cut(group->release, sizeof(group->release), rollout.release);
    group->state = GROUP_STATE_SYSTEM_UPDATING;
    group->state_since = rolling->now_ms;
    group->failure[0] = '\0';
    return status < 0 ? status : db_group_update(tx, group);
}

static int begin_rolling(struct db_tx *tx, struct rolling *rolling, size_t groups)
{
    autofree char *reason = own_printf("a software update of %zu groups", groups);
    return cluster_operation_begin(tx, rolling->s, &rolling->cluster, OPERATION_KIND_UPDATE_SOFTWARE,
                                   rolling->actor->name, reason);
}

static int rolling_write(struct db_tx *tx, void *arg)
{
    struct rolling *rolling = arg;
    struct cluster *cluster = &rolling->cluster;
    rolling->groups.count = 0;
    int status = place_find_cluster(tx, rolling->name, cluster, rolling->problem);
    if (status == 0)
        status = check_rolling(rolling);
    if (status == 0)
        status = db_group_list(tx, cluster->id, add_group, &rolling->groups);
    if (status == 0)
        status = check_named(rolling);
    size_t started = 0;
    for (size_t i = 0; status == 0 && i < rolling->groups.count; i++) {
        struct instance_group *group = &rolling->groups.rows[i];
        const struct service_software_group *wanted = find_wanted(rolling, group->name);
        bool ready = sm_may(&group_state_machine, (int)group->state, GROUP_STATE_SYSTEM_UPDATING);
        if ((rolling->wanted_count > 0 && wanted == NULL) || (wanted == NULL && !ready))
            continue;
        if (!ready)
            return problem_say(rolling->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                               "The group \"%s\" is %s; its software can be updated when it is in service.",
                               group->name, group_state_text(group->state));
        status = check_image(rolling, group, wanted);
        if (status == 0)
            status = start_rollout(rolling, tx, group, wanted);
        started++;
    }
    if (status < 0 || started == 0)
        return status;
    cluster->state = CLUSTER_STATE_SYSTEM_UPDATING;
    cluster->failure[0] = '\0';
    cluster->updated_at = rolling->now_ms;
    status = db_cluster_update(tx, cluster, 0);
    if (status == 0)
        status = begin_rolling(tx, rolling, started);
    return status < 0 ? status
                      : cluster_event(tx, cluster, EVENT_LEVEL_INFO, EVENT_KIND_ROLLOUT,
                                      "%s started a software update of %zu groups", rolling->actor->name, started);
}

int service_cluster_update_software(struct service *s, const struct actor *actor, const char *cluster,
                                    const struct rollout *how, const struct service_software_group *groups,
                                    size_t group_count, struct cluster *ret_cluster, struct problem *ret_problem)
{
    struct rolling rolling = {.s = s,
                              .actor = actor,
                              .name = cluster,
                              .how = how,
                              .wanted = groups,
                              .wanted_count = group_count,
                              .now_ms = service_now(s),
                              .problem = ret_problem};
    int status = service_require(actor, ROLE_OPERATOR, ret_problem);
    if (status == 0)
        status = service_write(s, "cluster-update-software", rolling_write, &rolling, ret_problem);
    free(rolling.groups.rows);
    if (status < 0)
        return status;
    *ret_cluster = rolling.cluster;
    service_wake(s);
    service_events_added(s);
    return 0;
}

/* --- deep health checks ---------------------------------------------------------------------------- */

struct checking {
    struct service *s;
    const struct actor *actor;
    const char *name;
    const struct service_check_request *requests;
    size_t request_count;
    int64_t now_ms;
    struct problem *problem;
    struct cluster cluster;
    struct slot {
        int64_t node_id;
        unsigned checks;
    } * slots;
    size_t slot_count, slot_capacity;
    unsigned checks; /* of the request that is looked at */
};

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

static int add_instances(struct checking *checking, struct db_tx *tx, const struct service_check_request *request,
                         const struct instance_group *group)
{
    for (size_t i = 0; i < request->node_count; i++) {
        struct place place;
        char ref[ID_INSTANCE_MAX + sizeof(SERVICE_INSTANCE_PREFIX)];
        snprintf(ref, sizeof(ref), SERVICE_INSTANCE_PREFIX "%s", request->instance_ids[i]);
        int status = place_find(tx, checking->name, ref, &place, checking->problem);
        if (status < 0)
            return status;
        if (place.group.id != group->id)
            return problem_say(checking->problem, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND,
                               "The group \"%s\" has no instance \"%s\".", group->name, request->instance_ids[i]);
        add_slot(checking, place.node.id);
    }
    return 0;
}

static int add_request(struct checking *checking, struct db_tx *tx, const struct service_check_request *request)
{
    struct instance_group group;
    checking->checks = request->checks;
    int status = db_group_get(tx, checking->cluster.id, request->group, &group);
    if (status == STATUS_NOT_FOUND)
        return problem_say(checking->problem, status, PROBLEM_NOT_FOUND, "The cluster \"%s\" has no group \"%s\".",
                           checking->cluster.name, request->group);
    if (status < 0 || request->node_count > 0)
        return status < 0 ? status : add_instances(checking, tx, request, &group);
    const struct db_node_filter filter = {
        .cluster_id = checking->cluster.id, .group_id = group.id, .state = NODE_STATE_READY, .health = -1};
    return db_node_list(tx, &filter, add_row, checking);
}

static void say_checks(unsigned checks, char *dst, size_t size)
{
    bool both = (checks & SM_BIT(DEEP_CHECK_STRESS)) != 0 && (checks & SM_BIT(DEEP_CHECK_CONNECTIVITY)) != 0;
    bool stress = (checks & SM_BIT(DEEP_CHECK_STRESS)) != 0;
    snprintf(dst, size, "%s%s%s", stress ? deep_check_text(DEEP_CHECK_STRESS) : "", both ? "+" : "",
             both || !stress ? deep_check_text(DEEP_CHECK_CONNECTIVITY) : "");
}

/* The operation's code says which checks. A node that is at something else is left out, and the timeline says so. */
static int start_check(struct checking *checking, struct db_tx *tx, const struct slot *slot, size_t *started)
{
    struct place place;
    struct operation operation, active;
    char id[ID_UUID_MAX], key[KEY_MAX_BYTES];
    int status = place_find_row(tx, slot->node_id, &place);
    if (status == 0)
        status = db_operation_active(tx, place.node.id, &active);
    if (status == 0 || (status == STATUS_NOT_FOUND && place.node.state != NODE_STATE_READY))
        return place_event(tx, &place, NULL, EVENT_LEVEL_WARN, EVENT_KIND_OPERATOR_REQUEST,
                           "no deep health check of %s: it is %s%s%s", place.node.name,
                           node_state_text(place.node.state), status == 0 ? ", and at work on it is a " : "",
                           status == 0 ? operation_kind_text(active.kind) : "");
    if (status != STATUS_NOT_FOUND)
        return status;
    id_uuid(checking->s->ids, id);
    snprintf(key, sizeof(key), "check/%s", id);
    operation_prepare(checking->s, &place, OPERATION_KIND_CHECK, key, "deep health checks", checking->actor->name,
                      checking->now_ms, &operation);
    say_checks(slot->checks, operation.code, sizeof(operation.code));
    operation.urgency = URGENCY_AFTER_JOBS;
    (*started)++;
    return db_operation_insert(tx, &operation);
}

static int check_write(struct db_tx *tx, void *arg)
{
    struct checking *checking = arg;
    size_t started = 0;
    checking->slot_count = 0;
    int status = place_find_cluster(tx, checking->name, &checking->cluster, checking->problem);
    if (status == 0 && checking->cluster.state == CLUSTER_STATE_DELETING)
        return problem_say(checking->problem, STATUS_CONFLICT, PROBLEM_CONFLICT, "The cluster \"%s\" is being deleted.",
                           checking->cluster.name);
    for (size_t i = 0; status == 0 && i < checking->request_count; i++)
        status = add_request(checking, tx, &checking->requests[i]);
    join_slots(checking);
    for (size_t i = 0; status == 0 && i < checking->slot_count; i++)
        status = start_check(checking, tx, &checking->slots[i], &started);
    if (status == 0 && started > 0)
        status = cluster_event(tx, &checking->cluster, EVENT_LEVEL_INFO, EVENT_KIND_OPERATOR_REQUEST,
                               "%s asked for deep health checks of %zu nodes", checking->actor->name, started);
    return status;
}

int service_cluster_check(struct service *s, const struct actor *actor, const char *cluster,
                          const struct service_check_request *requests, size_t request_count,
                          struct cluster *ret_cluster, struct problem *ret_problem)
{
    struct checking checking = {.s = s,
                                .actor = actor,
                                .name = cluster,
                                .requests = requests,
                                .request_count = request_count,
                                .now_ms = service_now(s),
                                .problem = ret_problem};
    int status = service_require(actor, ROLE_OPERATOR, ret_problem);
    if (status == 0)
        status = service_write(s, "cluster-check", check_write, &checking, ret_problem);
    free(checking.slots);
    if (status < 0)
        return status;
    *ret_cluster = checking.cluster;
    service_wake(s);
    service_events_added(s);
    return 0;
}
