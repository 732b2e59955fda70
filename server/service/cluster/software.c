/*
 * Another image for the nodes of whole groups, batch by batch. Here the intent is written; which node comes when is the
 * reconcile loop's.
 */
#include "server/service/cluster/cluster.h"
#include "server/service/private.h"

#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>

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
    autofree char *reason = own_printf("a software update of %zu group%s", groups, text_plural((int64_t)groups));
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
                                      "%s started a software update of %zu group%s", rolling->actor->name, started,
                                      text_plural((int64_t)started));
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
    service_wake(s, SERVICE_WAKE_CLUSTER, ret_cluster->id);
    service_events_added(s);
    return 0;
}
