/* For stories of whole clusters: what is asked for, and waiting until it is so. */
#ifndef HOLDFAST_TESTS_SIM_SIM_CLUSTER_H
#define HOLDFAST_TESTS_SIM_SIM_CLUSTER_H

#include "db/cluster.h"
#include "db/operation.h"
#include "server/service/cluster/cluster.h"
#include "tests/sim/sim_memory.h"
#include "tests/sim/sim_world.h"

SIM_FN bool sim_has_cluster(struct sim *sim, struct cluster *ret_cluster)
{
    struct db_tx *tx = NULL;
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    int status = db_cluster_get(tx, SIM_CLUSTER, ret_cluster);
    db_read_end(sim->service.db, tx);
    return status == 0;
}

SIM_FN bool sim_group(struct sim *sim, const char *name, struct instance_group *ret_group)
{
    struct cluster cluster;
    struct db_tx *tx = NULL;
    if (!sim_has_cluster(sim, &cluster))
        return false;
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    int status = db_group_get(tx, cluster.id, name, ret_group);
    db_read_end(sim->service.db, tx);
    return status == 0;
}

SIM_FN int sim_group_count(struct sim *sim, const char *name, int state)
{
    struct cluster_counts counts;
    struct instance_group group;
    struct db_tx *tx = NULL;
    if (!sim_group(sim, name, &group))
        return 0;
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    assert_int_equal(db_cluster_count(tx, group.cluster_id, group.id, &counts), 0);
    db_read_end(sim->service.db, tx);
    return (int)(state < 0 ? counts.nodes : counts.by_state[state]);
}

SIM_FN bool sim_has_node(struct sim *sim, const char *name)
{
    struct cluster cluster;
    struct node node;
    struct db_tx *tx = NULL;
    if (!sim_has_cluster(sim, &cluster))
        return false;
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    int status = db_node_get(tx, cluster.id, name, &node);
    db_read_end(sim->service.db, tx);
    return status == 0;
}

SIM_FN struct service_group_spec sim_spec(const char *name, int64_t count, int64_t min_count)
{
    struct service_group_spec group = {.instance_type = "test", .provider = "fake"};
    snprintf(group.name, sizeof(group.name), "%s", name);
    group.instance_count = count;
    group.min_count = min_count;
    return group;
}

/* The scheduler knows every name that a group of this size may have. */
SIM_FN void sim_schedule(struct sim *sim, const char *group, int count)
{
    for (int i = 1; i <= count; i++) {
        char name[NODE_NAME_MAX_BYTES];
        snprintf(name, sizeof(name), "%.48s-%d", group, i);
        if (fake_scheduler_find(&sim->scheduler, name) == NULL)
            fake_scheduler_add(&sim->scheduler, name);
    }
}

/* Asks, and does not wait. */
SIM_FN void sim_ask_cluster(struct sim *sim, enum provisioning provisioning, struct service_group_spec *groups,
                            size_t count)
{
    struct service_cluster_spec spec = {.name = SIM_CLUSTER, .recovery = NODE_RECOVERY_AUTOMATIC, .groups = groups};
    struct cluster cluster;
    struct problem problem = {0};
    spec.group_count = count;
    spec.provisioning = provisioning;
    spec.orchestrator = sim->has_scheduler ? ORCHESTRATOR_SLURM : ORCHESTRATOR_NONE;
    for (size_t i = 0; i < count; i++) {
        sim->nodes += (int)groups[i].instance_count;
        sim_schedule(sim, groups[i].name, (int)groups[i].instance_count + 8);
    }
    if (service_cluster_create(&sim->service, &sim_admin, &spec, &cluster, &problem) != 0)
        fail_msg("cluster: %s", problem.detail);
}

SIM_FN int sim_change(struct sim *sim, struct service_group_spec *groups, size_t count, const char *delete_group)
{
    const char *const gone[] = {delete_group};
    const struct service_cluster_change change = {
        .groups = groups, .group_count = count, .groups_to_delete = gone, .delete_count = delete_group == NULL ? 0 : 1};
    struct cluster cluster;
    struct problem problem = {0};
    int status = service_cluster_update(&sim->service, &sim_admin, SIM_CLUSTER, &change, &cluster, &problem);
    if (status != 0)
        print_error("change: %s\n", problem.detail);
    return status;
}

SIM_FN int sim_scale(struct sim *sim, const char *name, int64_t count, int64_t min_count)
{
    struct service_group_spec group = sim_spec(name, count, min_count);
    return sim_change(sim, &group, 1, NULL);
}

SIM_FN int sim_delete(struct sim *sim)
{
    struct cluster cluster;
    struct problem problem;
    return service_cluster_delete(&sim->service, &sim_admin, SIM_CLUSTER, &cluster, &problem);
}

/* Until is(sim, arg) holds. */
SIM_FN void sim_until_is(struct sim *sim, bool (*is)(struct sim *sim, const void *arg), const void *arg,
                         int64_t at_most_ms, const char *what)
{
    int64_t until = clock_wall_ms(&sim->clock) + at_most_ms;
    sim_settle(sim);
    while (!is(sim, arg)) {
        if (clock_wall_ms(&sim->clock) >= until)
            sim_fail(sim, NULL, "it does not come to this: %s", what);
        sim_tick(sim, until);
    }
}

SIM_FN bool sim_cluster_is(struct sim *sim, const void *arg)
{
    struct cluster cluster;
    return sim_has_cluster(sim, &cluster) && cluster.state == *(const enum cluster_state *)arg;
}

SIM_FN bool sim_cluster_gone(struct sim *sim, const void *arg)
{
    struct cluster cluster;
    (void)arg;
    return !sim_has_cluster(sim, &cluster);
}

SIM_FN void sim_until_cluster(struct sim *sim, enum cluster_state state, int64_t at_most_ms)
{
    sim_until_is(sim, sim_cluster_is, &state, at_most_ms, cluster_state_text(state));
    sim_check_memory(sim);
}

struct sim_group_request {
    const char *name;
    enum group_state state;
    int nodes; /* rows; or -1 */
};

SIM_FN bool sim_group_is(struct sim *sim, const void *arg)
{
    const struct sim_group_request *request = arg;
    struct instance_group group;
    return sim_group(sim, request->name, &group) && group.state == request->state &&
           (request->nodes < 0 || sim_group_count(sim, request->name, -1) == request->nodes);
}

SIM_FN void sim_until_group(struct sim *sim, const char *name, enum group_state state, int nodes, int64_t at_most_ms)
{
    const struct sim_group_request request = {name, state, nodes};
    autofree char *what = own_printf("%s %s with %d nodes", name, group_state_text(state), nodes);
    sim_until_is(sim, sim_group_is, &request, at_most_ms, what);
}

struct sim_changes {
    struct operation newest;
    int count, state; /* -1: any */
};

SIM_FN int sim_note_change(const void *row, void *arg)
{
    struct sim_changes *changes = arg;
    const struct operation *op = row;
    if (changes->newest.id == 0)
        changes->newest = *op;
    changes->count += changes->state < 0 || (int)op->state == changes->state;
    return 0;
}

SIM_FN struct sim_changes sim_read_changes(struct sim *sim, enum operation_kind kind, int state)
{
    struct sim_changes changes = {.state = state};
    struct db_tx *tx = NULL;
    const struct db_operation_filter filter = {.state = -1, .kind = &kind};
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    assert_int_equal(db_operation_list(tx, &filter, sim_note_change, &changes), 0);
    db_read_end(sim->service.db, tx);
    return changes;
}

/* The newest operation of this kind on the whole cluster, id 0 when there is none; count: of so many, 0: whatever. */
SIM_FN struct operation sim_change_of(struct sim *sim, enum operation_kind kind, int count)
{
    struct sim_changes changes = sim_read_changes(sim, kind, -1);
    assert_true(count == 0 || changes.count == count);
    return changes.newest;
}

SIM_FN int sim_change_count(struct sim *sim, enum operation_kind kind, enum operation_state state)
{
    return sim_read_changes(sim, kind, (int)state).count;
}

/* Machines that are up or coming. */
SIM_FN int sim_machines(const struct sim *sim)
{
    int count = 0;
    for (int i = 0; i < sim->provider.count; i++)
        count += !sim->provider.instances[i].gone;
    return count;
}

#endif
