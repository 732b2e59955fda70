/*
 * A cluster that is changed: recovery and provisioning, groups that grow, shrink, come and go. One transaction writes what is
 * wanted from now on; the reconcile loop makes it so, and under "all or nothing" knows from previous_desired what to
 * go back to.
 *
 * A group that is named here is described in full, as at its creation; what cannot be changed in place (its type, its
 * provider) is refused. With names of nodes the group's slots become exactly those: what is missing is made, what is not
 * named goes after its jobs.
 */
#include "server/service/cluster/cluster.h"
#include "server/service/cluster/provisioning.h"
#include "server/service/private.h"
#include "server/service/scheduler/scheduler.h"

#include "base/json.h"
#include "base/map.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

AUTO_DEFINE(struct map *, map, map_free)

#define REASON_SHRUNK "The group wants this node no more"

struct change {
    struct service *s;
    const struct actor *actor;
    const char *name;
    const struct service_cluster_change *wanted;
    const struct provisioned *provisioned; /* wanted's groups, with what a file says of them */
    int64_t now_ms;
    struct problem *problem;
    struct cluster cluster;
    struct slots slots;
    struct text said; /* what changes, for the timeline */
    bool groups_change, stored;
    bool adds, takes; /* slots: some come, some that were named by what was left out go */
    struct changed_nodes removed;
};

/* --- may it be ------------------------------------------------------------------------------------- */

static bool touches_groups(const struct service_cluster_change *wanted)
{
    return wanted->group_count > 0 || wanted->delete_count > 0;
}

/* One node more or less at a time needs no peace; a change that may be rolled back as a whole does. */
static bool state_allows(const struct change *change)
{
    const struct cluster *cluster = &change->cluster;
    if (cluster->state == CLUSTER_STATE_IN_SERVICE || !touches_groups(change->wanted))
        return cluster->state != CLUSTER_STATE_DELETING;
    return cluster->provisioning == PROVISIONING_CONTINUOUS && cluster->state == CLUSTER_STATE_CREATING;
}

static int check_cluster(const struct change *change)
{
    const struct cluster *cluster = &change->cluster;
    int64_t revision = change->wanted->if_revision;
    if (revision > 0 && revision != cluster->revision)
        return problem_say(change->problem, STATUS_CONFLICT, PROBLEM_PRECONDITION_FAILED,
                           "The cluster \"%s\" is at revision %" PRId64 ", not %" PRId64 ". Read it again and repeat.",
                           cluster->name, cluster->revision, revision);
    if (cluster->state == CLUSTER_STATE_DELETING)
        return problem_say(change->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "The cluster \"%s\" is being deleted and cannot be changed any more.", cluster->name);
    if (cluster->state == CLUSTER_STATE_FAILED && !state_allows(change))
        return problem_say(change->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "The creation of the cluster \"%s\" failed, and nothing of it is left to change. Delete it, "
                           "and create it again.",
                           cluster->name);
    const char *named = change->wanted->scheduler;
    if (named != NULL && !text_equal(named, cluster->scheduler))
        return problem_say(change->problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "scheduler is \"%s\", and the cluster \"%s\" has %s%s%s. It cannot be changed: delete the "
                           "cluster and create it again.",
                           named, cluster->name, cluster->scheduler[0] != '\0' ? "\"" : "none", cluster->scheduler,
                           cluster->scheduler[0] != '\0' ? "\"" : "");
    struct service_scheduler_status scheduler;
    service_scheduler_get(service_scheduler_of(change->s, cluster), &scheduler);
    if (touches_groups(change->wanted) && scheduler.drift[0] != '\0' && scheduler.strategy == DESIRED_STRATEGY_MANAGED)
        return problem_say(change->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "%s. Put the file back as it was, or change SlurmConfigStrategy, and repeat.",
                           scheduler.drift);
    if (!state_allows(change))
        return problem_say(
            change->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
            "The cluster \"%s\" is %s; its groups can be changed when it is in service. Wait, and repeat.",
            cluster->name, cluster_state_text(cluster->state));
    return 0;
}

static bool is_deleted_here(const struct change *change, const char *group)
{
    for (size_t i = 0; i < change->wanted->delete_count; i++)
        if (text_equal(change->wanted->groups_to_delete[i], group))
            return true;
    return false;
}

static int check_group(const struct change *change, const struct instance_group *group,
                       const struct service_group_spec *spec)
{
    if (group->state == GROUP_STATE_DELETING)
        return problem_say(change->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "The group \"%s\" is being deleted and cannot be changed any more.", group->name);
    if (group->state == GROUP_STATE_SYSTEM_UPDATING)
        return problem_say(change->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                           "A software update of the group \"%s\" is under way. Wait for its end, and repeat.",
                           group->name);
    if (spec->instance_type[0] != '\0' && group->instance_type[0] != '\0' &&
        !text_equal(spec->instance_type, group->instance_type))
        return problem_say(
            change->problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
            "The group \"%s\" has instances of the type \"%s\", and that cannot be changed to \"%s\". Add "
            "another group, and delete this one.",
            group->name, group->instance_type, spec->instance_type);
    if (spec->provider[0] != '\0' && !text_equal(spec->provider, group->provider))
        return problem_say(
            change->problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
            "The instances of the group \"%s\" come from the provider \"%s\", and that cannot be changed to "
            "\"%s\". Add another group, and delete this one.",
            group->name, group->provider, spec->provider);
    if (spec->min_count > spec->instance_count)
        return problem_say(change->problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "The group \"%s\" would have a minimum of %" PRId64 " nodes and only %" PRId64 " in all.",
                           group->name, spec->min_count, spec->instance_count);
    return 0;
}

/* --- one group ------------------------------------------------------------------------------------- */

static void say_change(struct change *change, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say_change(struct change *change, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (change->said.len > 0)
        text_add(&change->said, ", ");
    text_vprintf(&change->said, fmt, ap);
    va_end(ap);
}

/* A change of a count that a roll-back, or a time limit for a minimum, may have to undo; of a group that failed a new start. */
static void begin_scaling(struct change *change, struct instance_group *group, const struct service_group_spec *spec)
{
    bool whole = change->cluster.provisioning == PROVISIONING_ALL_OR_NOTHING;
    bool grows = spec->instance_count > group->desired;
    if (spec->instance_count == group->desired)
        return;
    say_change(change, "%s from %" PRId64 " to %" PRId64 " node%s", group->name, group->desired, spec->instance_count,
               text_plural(spec->instance_count));
    change->groups_change = true;
    if (whole || (grows && spec->min_count > 0))
        group->previous_desired = group->desired;
    bool moves = group->previous_desired >= 0 || group->state == GROUP_STATE_FAILED;
    if (moves && sm_may(&group_state_machine, (int)group->state, GROUP_STATE_UPDATING)) {
        group->state = GROUP_STATE_UPDATING;
        group->state_since = change->now_ms;
        group->failure[0] = '\0';
    }
    group->desired = spec->instance_count;
}

struct named {
    struct change *change;
    struct map *wanted;
    int64_t *going; /* nodes that are there and not named */
    size_t going_count;
    char leaving[NODE_NAME_MAX_BYTES]; /* a wanted one that is being deleted; "": none is */
};

static int sort_out(const void *row, void *arg)
{
    struct named *named = arg;
    const struct db_node_row *node = row;
    bool leaves = node->node.state == NODE_STATE_DELETING || node->node.state == NODE_STATE_DELETED;
    if (map_remove(named->wanted, node->node.name) != NULL) {
        if (leaves)
            text_copy_cut(named->leaving, sizeof(named->leaving), node->node.name);
        return 0;
    }
    if (leaves)
        return 0;
    named->going = own_realloc(named->going, named->going_count + 1, sizeof(*named->going));
    named->going[named->going_count++] = node->node.id;
    return 0;
}

static int check_leaving(const struct named *named)
{
    if (named->leaving[0] == '\0')
        return 0;
    return problem_say(named->change->problem, STATUS_CONFLICT, PROBLEM_CONFLICT,
                       "The node \"%s\" is being deleted, and its name is free when it is gone. Wait, and repeat.",
                       named->leaving);
}

static int remove_unnamed(const struct named *named)
{
    struct change *change = named->change;
    const struct slot_removal removal = {.s = change->s,
                                         .actor = change->actor->name,
                                         .reason = REASON_SHRUNK,
                                         .urgency = URGENCY_AFTER_JOBS,
                                         .now_ms = change->now_ms};
    int status = 0;
    for (size_t i = 0; status == 0 && i < named->going_count; i++) {
        struct place place;
        struct operation operation;
        status = place_find_row(change->slots.tx, named->going[i], &place);
        if (status == 0)
            status = slot_remove(change->slots.tx, &removal, &place, &operation);
        changed_nodes_add(&change->removed, named->going[i]);
    }
    return status;
}

static int grow_to_named(struct change *change, const struct instance_group *group,
                         const struct service_group_spec *spec, const struct map *missing)
{
    size_t count = 0;
    autofree char **names = own_calloc((size_t)spec->instance_count + 1, sizeof(*names));
    for (int64_t i = 0; i < spec->instance_count; i++)
        if (map_get(missing, spec->node_names[i]) != NULL)
            names[count++] = spec->node_names[i];
    const struct slots_growth growth = {.group = group, .count = (int64_t)count, .names = names};
    change->adds = change->adds || count > 0;
    return count == 0 ? 0 : slots_grow(&change->slots, &growth);
}

/* The group's slots become those that are named. */
static int scale_to_names(struct change *change, const struct instance_group *group,
                          const struct service_group_spec *spec)
{
    AUTO(map) struct map *wanted = map_new();
    struct named named = {.change = change, .wanted = wanted};
    for (int64_t i = 0; i < spec->instance_count; i++)
        map_set(wanted, spec->node_names[i], change);
    const struct db_node_filter filter = {
        .cluster_id = change->cluster.id, .group_id = group->id, .state = -1, .health = -1};
    int status = db_node_list(change->slots.tx, &filter, sort_out, &named);
    if (status == 0)
        status = check_leaving(&named);
    if (status == 0)
        status = remove_unnamed(&named);
    if (status == 0)
        status = grow_to_named(change, group, spec, wanted);
    change->takes = change->takes || named.going_count > 0;
    change->groups_change = change->groups_change || named.going_count > 0 || map_count(wanted) > 0;
    free(named.going);
    return status;
}

static int count_slot(const void *row, void *arg)
{
    const struct db_node_row *node = row;
    *(int64_t *)arg += node->node.state != NODE_STATE_DELETING && node->node.state != NODE_STATE_DELETED;
    return 0;
}

/* New slots come at once; which ones go when there are too many is the loop's choice, for it knows who is at work. */
static int scale_to_count(struct change *change, const struct instance_group *group)
{
    int64_t slots = 0;
    const struct db_node_filter filter = {
        .cluster_id = change->cluster.id, .group_id = group->id, .state = -1, .health = -1};
    int status = db_node_list(change->slots.tx, &filter, count_slot, &slots);
    const struct slots_growth growth = {.group = group, .count = group->desired - slots};
    change->adds = change->adds || growth.count > 0;
    return status == 0 && growth.count > 0 ? slots_grow(&change->slots, &growth) : status;
}

/* What the newer one says takes the place of what was said: of all of it, or with merge of the same. */
static int put_group_spec(const struct change *change, const struct instance_group *group,
                          const struct group_spec *wanted)
{
    AUTO(group_spec) struct group_spec spec, newer = group_spec_copy(wanted);
    int status = db_group_spec_get(change->slots.tx, group->id, &spec);
    const enum slurm_role before = group_spec_role(&spec);
    if (!change->wanted->merge && change->wanted->forget != NULL)
        change->wanted->forget(&spec);
    else if (!change->wanted->merge)
        group_spec_free(&spec);
    group_spec_merge(&spec, &newer);
    if (status == 0 && group_spec_role(&spec) != before)
        return problem_say(
            change->problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
            "The role of the group \"%s\" (%s) cannot be changed. Add another group, and delete this one.", group->name,
            slurm_role_text(before));
    return status < 0 ? status : db_group_spec_put(change->slots.tx, group->id, &spec);
}

static int change_group(struct change *change, struct instance_group *group, const struct service_group_spec *given)
{
    struct db_tx *tx = change->slots.tx;
    struct service_group_spec full = *given, *spec = &full;
    if (change->wanted->merge && spec->instance_count < 0)
        spec->instance_count = group->desired;
    if (change->wanted->merge && spec->min_count < 0)
        spec->min_count = group->min_count < spec->instance_count ? group->min_count : spec->instance_count;
    int status = check_group(change, group, spec);
    if (status < 0)
        return status;
    if (spec->node_names != NULL || spec->instance_count != group->desired) /* else they are those it has */
        group->source = spec->source;
    begin_scaling(change, group, spec);
    group->min_count = spec->min_count;
    if (spec->instance_type[0] != '\0') /* nobody had said it before */
        text_copy_cut(group->instance_type, sizeof(group->instance_type), spec->instance_type);
    if (spec->image_id[0] != '\0')
        text_copy_cut(group->image_id, sizeof(group->image_id), spec->image_id);
    if (spec->release[0] != '\0')
        text_copy_cut(group->release, sizeof(group->release), spec->release);
    status = db_group_update(tx, group);
    if (status == 0 && spec->spec != NULL)
        status = put_group_spec(change, group, spec->spec);
    if (status < 0)
        return status;
    return spec->node_names != NULL ? scale_to_names(change, group, spec) : scale_to_count(change, group);
}

static int add_or_change_group(struct change *change, const struct service_group_spec *spec)
{
    struct instance_group group;
    int status = spec_check_source(change->cluster.orchestrator, spec, change->problem);
    if (status == 0)
        status = kubernetes_config_check(change->s, change->cluster.scheduler, spec->name, spec->spec, change->problem);
    if (status < 0)
        return status;
    if (is_deleted_here(change, spec->name))
        return problem_say(change->problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "The group \"%s\" is both described and to be deleted.", spec->name);
    status = db_group_get(change->slots.tx, change->cluster.id, spec->name, &group);
    if (status == 0)
        return change_group(change, &group, spec);
    if (status != STATUS_NOT_FOUND)
        return status;
    struct service_group_spec full = *spec;
    if (full.instance_count < 0)
        return problem_say(change->problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "The cluster \"%s\" has no group \"%s\"; a new one needs an instance count.",
                           change->cluster.name, spec->name);
    full.min_count = full.min_count < 0 ? 0 : full.min_count;
    say_change(change, "the new group %s with %" PRId64 " node%s", full.name, full.instance_count,
               text_plural(full.instance_count));
    change->groups_change = true;
    change->adds = change->adds || full.instance_count > 0;
    bool whole = change->cluster.provisioning == PROVISIONING_ALL_OR_NOTHING;
    return slots_add_group(&change->slots, &full, whole || full.min_count > 0 ? 0 : -1, &group);
}

static int delete_group(struct change *change, const char *name)
{
    struct instance_group group;
    int status = db_group_get(change->slots.tx, change->cluster.id, name, &group);
    if (status == STATUS_NOT_FOUND)
        return problem_say(change->problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "The cluster \"%s\" has no group \"%s\" that could be deleted.", change->cluster.name, name);
    if (status < 0 || group.state == GROUP_STATE_DELETING)
        return status;
    say_change(change, "the group %s with %" PRId64 " node%s goes", group.name, group.desired,
               text_plural(group.desired));
    change->groups_change = true;
    bool whole = change->cluster.provisioning == PROVISIONING_ALL_OR_NOTHING;
    group.state = GROUP_STATE_DELETING;
    group.state_since = change->now_ms;
    group.previous_desired = whole ? group.desired : -1;
    group.desired = 0;
    return db_group_update(change->slots.tx, &group);
}

/* --- all of it ------------------------------------------------------------------------------------- */

/* Which nodes go by their names is not kept for later; so where nothing may go before what is new has come up, they go alone. */
static int check_whole(const struct change *change)
{
    if (change->cluster.provisioning != PROVISIONING_ALL_OR_NOTHING || !change->adds || !change->takes)
        return 0;
    return problem_say(
        change->problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
        "The cluster \"%s\" is provisioned all or nothing: nodes that are named no more cannot go in the "
        "same change in which others come. Make it two changes.",
        change->cluster.name);
}

static int change_groups(struct change *change)
{
    const struct service_cluster_change *wanted = change->wanted;
    int status = slots_open(&change->slots);
    for (size_t i = 0; status == 0 && i < wanted->delete_count; i++)
        status = delete_group(change, wanted->groups_to_delete[i]);
    for (size_t i = 0; status == 0 && i < wanted->group_count; i++)
        status = add_or_change_group(change, &change->provisioned->groups[i]);
    slots_close(&change->slots);
    bool described = false;
    for (size_t i = 0; i < wanted->group_count; i++)
        described = described || change->provisioned->groups[i].spec != NULL;
    if (status >= 0 && described)
        status = slurm_config_check_stored(change->slots.tx, change->cluster.id, change->problem);
    return status < 0 ? status : check_whole(change);
}

static void change_words(struct change *change)
{
    const struct service_cluster_change *wanted = change->wanted;
    struct cluster *cluster = &change->cluster;
    if (wanted->has_recovery && wanted->recovery != cluster->recovery) {
        cluster->recovery = wanted->recovery;
        say_change(change, "NodeRecovery %s", node_recovery_text(cluster->recovery));
    }
    if (wanted->has_provisioning && wanted->provisioning != cluster->provisioning) {
        cluster->provisioning = wanted->provisioning;
        say_change(change, "provisioning %s", provisioning_text(cluster->provisioning));
    }
}

/* What is not said stays. */
static int put_cluster_spec(const struct change *change, struct db_tx *tx)
{
    AUTO(cluster_spec) struct cluster_spec spec, newer = cluster_spec_copy(change->wanted->spec);
    int status = db_cluster_spec_get(tx, change->cluster.id, &spec);
    cluster_spec_merge(&spec, &newer);
    return status < 0 ? status : db_cluster_spec_put(tx, change->cluster.id, &spec);
}

static int change_store(struct change *change, struct db_tx *tx)
{
    struct cluster *cluster = &change->cluster;
    if (change->wanted->spec != NULL) {
        int status = put_cluster_spec(change, tx);
        if (status < 0)
            return status;
    }
    if (change->said.len == 0 && !change->groups_change && change->wanted->spec == NULL &&
        change->wanted->group_count == 0)
        return 0;
    if (change->groups_change && cluster->provisioning == PROVISIONING_ALL_OR_NOTHING) {
        cluster->state = CLUSTER_STATE_UPDATING;
        cluster->failure[0] = '\0';
    }
    cluster->updated_at = change->now_ms;
    change->stored = true;
    int status = db_cluster_update(tx, cluster, 0);
    if (status == 0 && touches_groups(change->wanted)) /* else all is done with this transaction */
        status = cluster_operation_begin(tx, change->s, cluster, OPERATION_KIND_UPDATE_CLUSTER, change->actor->name,
                                         change->said.len > 0 ? text_get(&change->said) : "the description of groups");
    if (status < 0)
        return status;
    status = cluster_event(tx, cluster, EVENT_LEVEL_INFO, EVENT_KIND_CLUSTER_UPDATED, "%s changed the cluster %s: %s",
                           change->actor->name, cluster->name,
                           change->said.len > 0 ? text_get(&change->said) : "its description");
    if (status >= 0)
        status = cluster_notice(tx, cluster, change->wanted->notice);
    return status < 0 ? status : provisioning_tell(tx, cluster, change->provisioned);
}

static int change_write(struct db_tx *tx, void *arg)
{
    struct change *change = arg;
    text_clear(&change->said);
    change->groups_change = change->stored = change->adds = change->takes = false;
    change->removed.count = 0;
    int status = place_find_cluster(tx, change->name, &change->cluster, change->problem);
    if (status == 0)
        status = check_cluster(change);
    if (status < 0)
        return status;
    change_words(change);
    change->slots = (struct slots){.s = change->s,
                                   .tx = tx,
                                   .cluster = &change->cluster,
                                   .actor = change->actor->name,
                                   .now_ms = change->now_ms,
                                   .problem = change->problem};
    if (touches_groups(change->wanted))
        status = change_groups(change);
    if (status >= 0)
        status = change_store(change, tx);
    if (status < 0 || !change->wanted->dry_run)
        return status;
    change->stored = false;
    return ONLY_TRIED;
}

int service_cluster_update(struct service *s, const struct actor *actor, const char *name,
                           const struct service_cluster_change *wanted, struct cluster *ret_cluster,
                           struct problem *ret_problem)
{
    int status = service_require(actor, ROLE_OPERATOR, ret_problem);
    if (status == 0)
        status = spec_check_change(wanted, s->backends, ret_problem);
    if (status < 0)
        return status;
    const struct provisioning_request request = {.cluster = name,
                                                 .spec = wanted->spec,
                                                 .groups = wanted->groups,
                                                 .group_count = wanted->group_count,
                                                 .groups_to_delete = wanted->groups_to_delete,
                                                 .delete_count = wanted->delete_count,
                                                 .merge = wanted->merge,
                                                 .dry_run = wanted->dry_run};
    AUTO(provisioned) struct provisioned provisioned = {0};
    status = provisioning_find(s, &request, &provisioned, ret_problem);
    if (status < 0)
        return status;
    struct change change = {.s = s,
                            .actor = actor,
                            .name = name,
                            .wanted = wanted,
                            .provisioned = &provisioned,
                            .now_ms = service_now(s),
                            .problem = ret_problem};
    status = service_write(s, "cluster-update", change_write, &change, ret_problem);
    text_free(&change.said);
    if (status == 0 && change.stored) {
        changed_nodes_wake(s, &change.removed);
        service_wake(s, SERVICE_WAKE_CLUSTER, change.cluster.id);
        service_events_added(s);
    }
    free(change.removed.ids);
    if (status == 0)
        *ret_cluster = change.cluster;
    return status;
}
