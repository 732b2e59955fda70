/*
 * Clusters: made and taken down; how one is changed is in change.c. Each is one transaction that says what is wanted; what takes
 * time is the reconcile loop's, which also moves a cluster into service once all of its nodes were ready, and is an operation
 * of the whole cluster that can be watched (cluster_operation.c). How clusters are shown is in cluster_view.c, what a
 * description must look like in spec.c.
 */
#include "server/service/cluster/cluster.h"
#include "server/service/cluster/provisioning.h"
#include "server/service/private.h"
#include "server/service/scheduler/scheduler.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- create ---------------------------------------------------------------------------------------- */

struct creation {
    struct service *s;
    const struct actor *actor;
    const struct service_cluster_spec *spec;
    const struct provisioned *provisioned;
    struct problem *problem;
    int64_t now_ms;
    struct cluster cluster; /* name, uid and choices go in; all of it comes out */
};

static int create_groups(struct db_tx *tx, struct creation *creation)
{
    struct instance_group group;
    struct slots slots = {.s = creation->s,
                          .tx = tx,
                          .cluster = &creation->cluster,
                          .actor = creation->actor->name,
                          .now_ms = creation->now_ms,
                          .problem = creation->problem};
    int status = slots_open(&slots);
    for (size_t i = 0; status == 0 && i < creation->spec->group_count; i++)
        status = slots_add_group(&slots, &creation->provisioned->groups[i], -1, &group);
    slots_close(&slots);
    return status;
}

static int begin_creation(struct db_tx *tx, struct creation *creation)
{
    autofree char *reason = own_printf("%" PRId64 " node%s in %zu group%s", spec_node_count(creation->spec),
                                       text_plural(spec_node_count(creation->spec)), creation->spec->group_count,
                                       text_plural((int64_t)creation->spec->group_count));
    return cluster_operation_begin(tx, creation->s, &creation->cluster, OPERATION_KIND_CREATE_CLUSTER,
                                   creation->actor->name, reason);
}

static int create_write(struct db_tx *tx, void *arg)
{
    struct creation *creation = arg;
    struct cluster *cluster = &creation->cluster;
    cluster->id = 0;
    int status = db_cluster_insert(tx, cluster);
    if (status == STATUS_EXISTS)
        return problem_say(creation->problem, status, PROBLEM_NAME_TAKEN,
                           "A cluster named \"%s\" exists. Choose another name, or delete that cluster first.",
                           cluster->name);
    if (status == 0 && creation->spec->spec != NULL)
        status = db_cluster_spec_put(tx, cluster->id, creation->spec->spec);
    if (status == 0)
        status = tags_put(tx, TAG_OWNER_CLUSTER, cluster->id, creation->spec->tags, creation->spec->tag_count,
                          creation->problem);
    if (status == 0)
        status = create_groups(tx, creation);
    if (status == 0)
        status = begin_creation(tx, creation);
    if (status < 0)
        return status;
    status = cluster_event(tx, cluster, EVENT_LEVEL_INFO, EVENT_KIND_CLUSTER_CREATED,
                           "%s created the cluster %s: %zu group%s, %" PRId64 " node%s, NodeRecovery %s",
                           creation->actor->name, cluster->name, creation->spec->group_count,
                           text_plural((int64_t)creation->spec->group_count), spec_node_count(creation->spec),
                           text_plural(spec_node_count(creation->spec)), node_recovery_text(cluster->recovery));
    if (status >= 0)
        status = cluster_notice(tx, cluster, creation->spec->notice);
    if (status >= 0)
        status = provisioning_tell(tx, cluster, creation->provisioned);
    return status >= 0 && creation->spec->dry_run ? ONLY_TRIED : status;
}

enum orchestrator service_cluster_orchestrator(const struct service *s, const char *scheduler)
{
    enum orchestrator kind = ORCHESTRATOR_DEFAULT;
    for (size_t i = 0; i < s->scheduler_count; i++)
        if (text_equal(service_scheduler_name(s->schedulers[i]), scheduler) &&
            orchestrator_parse(service_scheduler_kind(s->schedulers[i]), &kind) == 0)
            return kind;
    return s->backends != NULL && s->backends->kind_count > 0 ? s->backends->kinds[0] : kind;
}

/* The only one of this kind, of which there may be others; "": there is none, or there are several. */
static const char *only_of_kind(const struct service *s, enum orchestrator orchestrator)
{
    const char *only = NULL;
    for (size_t i = 0; i < s->scheduler_count; i++)
        if (text_equal(service_scheduler_kind(s->schedulers[i]), orchestrator_text(orchestrator)))
            only = only == NULL ? service_scheduler_name(s->schedulers[i]) : "";
    return text_or_empty(only);
}

/* The scheduler that it names, or the only one. Where hpd knows of none, as tools and tests do, none is named. */
static int choose_scheduler(struct service *s, const struct service_cluster_spec *spec, char ret_name[NAME_MAX_BYTES],
                            struct problem *problem)
{
    struct service_scheduler *scheduler = NULL;
    ret_name[0] = '\0';
    if (spec->orchestrator == ORCHESTRATOR_NONE && spec->scheduler[0] != '\0')
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "scheduler is \"%s\", and orchestrator is \"none\": leave one of them out.",
                           spec->scheduler);
    if (spec->orchestrator == ORCHESTRATOR_NONE || (s->scheduler_count == 0 && spec->scheduler[0] == '\0'))
        return 0;
    const char *name = spec->scheduler[0] != '\0' ? spec->scheduler : only_of_kind(s, spec->orchestrator);
    int status = service_scheduler_find(s, name, &scheduler, problem);
    if (status != 0)
        return status == STATUS_NOT_FOUND ? STATUS_INVALID : status;
    if (!text_equal(service_scheduler_kind(scheduler), orchestrator_text(spec->orchestrator)))
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "orchestrator is \"%s\", and the scheduler \"%s\" is of the kind \"%s\": leave one of them "
                           "out.",
                           orchestrator_text(spec->orchestrator), service_scheduler_name(scheduler),
                           service_scheduler_kind(scheduler));
    text_copy_cut(ret_name, NAME_MAX_BYTES, service_scheduler_name(scheduler));
    return 0;
}

int service_cluster_create(struct service *s, const struct actor *actor, const struct service_cluster_spec *spec,
                           struct cluster *ret_cluster, struct problem *ret_problem)
{
    int status = service_require(actor, ROLE_ADMIN, ret_problem);
    if (status == 0)
        status = spec_check(spec, ret_problem);
    if (status == 0)
        status = spec_check_backends(spec, s->backends, ret_problem);
    if (status == 0)
        status = tags_check(spec->tags, spec->tag_count, ret_problem);
    if (status < 0)
        return status;
    const struct provisioning_request request = {.orchestrator = spec->orchestrator,
                                                 .spec = spec->spec,
                                                 .groups = spec->groups,
                                                 .group_count = spec->group_count,
                                                 .dry_run = spec->dry_run};
    AUTO(provisioned) struct provisioned provisioned = {0};
    status = provisioning_find(s, &request, &provisioned, ret_problem);
    if (status < 0)
        return status;
    struct creation creation = {.s = s,
                                .actor = actor,
                                .spec = spec,
                                .provisioned = &provisioned,
                                .problem = ret_problem,
                                .now_ms = service_now(s)};
    struct cluster *cluster = &creation.cluster;
    status = choose_scheduler(s, spec, cluster->scheduler, ret_problem);
    for (size_t i = 0; status == 0 && i < spec->group_count; i++)
        status =
            kubernetes_config_check(s, cluster->scheduler, spec->groups[i].name, spec->groups[i].spec, ret_problem);
    if (status < 0)
        return status;
    snprintf(cluster->name, sizeof(cluster->name), "%s", spec->name);
    id_cluster(s->ids, cluster->uid);
    /* With nothing to wait for it is in service at once. */
    cluster->state = spec_node_count(spec) == 0 ? CLUSTER_STATE_IN_SERVICE : CLUSTER_STATE_CREATING;
    cluster->recovery = spec->recovery;
    cluster->orchestrator = spec->orchestrator;
    cluster->provisioning = spec->provisioning;
    cluster->created_at = cluster->updated_at = creation.now_ms;
    status = service_write(s, "cluster-create", create_write, &creation, ret_problem);
    if (status < 0)
        return status;
    *ret_cluster = creation.cluster;
    if (!spec->dry_run) {
        service_wake(s, SERVICE_WAKE_CLUSTER, ret_cluster->id);
        service_events_added(s);
    }
    return 0;
}

/* --- delete ---------------------------------------------------------------------------------------- */

struct deletion {
    struct service *s;
    const struct actor *actor;
    const char *name;
    int64_t now_ms;
    struct problem *problem;
    struct cluster cluster;
    struct cluster_counts counts;
    struct instance_group *groups;
    size_t group_count;
};

/* The cluster's groups go with it. */
static int delete_group(const void *row, void *arg)
{
    struct deletion *deletion = arg;
    struct instance_group group = *(const struct instance_group *)row;
    group.state = GROUP_STATE_DELETING;
    group.state_since = deletion->now_ms;
    deletion->groups = own_realloc(deletion->groups, deletion->group_count + 1, sizeof(*deletion->groups));
    deletion->groups[deletion->group_count++] = group;
    return 0;
}

static int delete_groups(struct db_tx *tx, struct deletion *deletion)
{
    deletion->group_count = 0;
    int status = db_group_list(tx, deletion->cluster.id, delete_group, deletion);
    for (size_t i = 0; status == 0 && i < deletion->group_count; i++)
        status = db_group_update(tx, &deletion->groups[i]);
    return status;
}

static int note_slot(const void *row, void *arg)
{
    (void)row;
    *(bool *)arg = true;
    return 0;
}

/* A repeat goes on under the operation of the first. */
static int begin_operation(struct db_tx *tx, struct deletion *deletion)
{
    int status = cluster_operation_find(tx, &deletion->cluster, OPERATION_KIND_DELETE_CLUSTER);
    autofree char *reason =
        own_printf("%" PRId64 " node%s to end", deletion->counts.nodes, text_plural(deletion->counts.nodes));
    return status != STATUS_NOT_FOUND
               ? status
               : cluster_operation_begin(tx, deletion->s, &deletion->cluster, OPERATION_KIND_DELETE_CLUSTER,
                                         deletion->actor->name, reason);
}

/* That its nodes go follows from the cluster's state: the loop takes them a few at a time, however many there are. */
static int begin_deletion(struct db_tx *tx, struct deletion *deletion)
{
    struct cluster *cluster = &deletion->cluster;
    cluster->state = CLUSTER_STATE_DELETING;
    cluster->updated_at = deletion->now_ms;
    int status = db_cluster_update(tx, cluster, 0);
    if (status == 0)
        status = delete_groups(tx, deletion);
    return status < 0 ? status
                      : cluster_event(tx, cluster, EVENT_LEVEL_WARN, EVENT_KIND_CLUSTER_UPDATED,
                                      "%s deletes the cluster %s with its %" PRId64 " node%s", deletion->actor->name,
                                      cluster->name, deletion->counts.nodes, text_plural(deletion->counts.nodes));
}

static int delete_write(struct db_tx *tx, void *arg)
{
    struct deletion *deletion = arg;
    struct cluster *cluster = &deletion->cluster;
    bool has_slots = false;
    int status = place_find_cluster(tx, deletion->name, cluster, deletion->problem);
    if (status == 0)
        status = db_cluster_count(tx, cluster->id, 0, &deletion->counts);
    if (status == 0 && cluster->state != CLUSTER_STATE_DELETING)
        status = begin_deletion(tx, deletion);
    if (status == 0)
        status = begin_operation(tx, deletion);
    const struct db_node_filter any = {.cluster_id = cluster->id, .state = -1, .health = -1, .limit = 1};
    if (status == 0)
        status = db_node_list(tx, &any, note_slot, &has_slots);
    if (status < 0 || has_slots)
        return status;
    status = cluster_event(tx, cluster, EVENT_LEVEL_INFO, EVENT_KIND_CLUSTER_DELETED, "The cluster %s is gone",
                           cluster->name);
    if (status == 0)
        status = cluster_operation_end(tx, deletion->s, cluster);
    return status < 0 ? status : db_cluster_delete(tx, cluster->id);
}

int service_cluster_delete(struct service *s, const struct actor *actor, const char *name, struct cluster *ret_cluster,
                           struct problem *ret_problem)
{
    int status = service_require(actor, ROLE_ADMIN, ret_problem);
    if (status < 0)
        return status;
    struct deletion deletion = {.s = s, .actor = actor, .name = name, .now_ms = service_now(s), .problem = ret_problem};
    status = service_write(s, "cluster-delete", delete_write, &deletion, ret_problem);
    free(deletion.groups);
    if (status < 0)
        return status;
    *ret_cluster = deletion.cluster;
    service_wake(s, SERVICE_WAKE_CLUSTER, ret_cluster->id);
    service_events_added(s);
    return 0;
}
