/*
 * A second scheduler in a world: of another kind, which can only what every scheduler can, with a cluster of its own whose nodes have the
 * names of the first one's.
 */
#ifndef HOLDFAST_TESTS_SIM_SIM_OTHER_H
#define HOLDFAST_TESTS_SIM_SIM_OTHER_H

#include "tests/sim/sim_world.h"

/* A cluster of so many nodes, on their way. */
SIM_FN void sim_ask_of(struct sim *sim, const char *cluster_name, const char *scheduler, enum orchestrator orchestrator,
                       int nodes)
{
    struct service_group_spec group = {
        .name = "gpu", .instance_type = "test", .provider = "fake", .spec = group_spec_of(sim->spec)};
    struct service_cluster_spec spec = {
        .recovery = NODE_RECOVERY_AUTOMATIC, .groups = &group, .group_count = 1, .orchestrator = orchestrator};
    struct cluster cluster;
    struct problem problem = {0};
    group.instance_count = nodes;
    snprintf(spec.name, sizeof(spec.name), "%s", cluster_name);
    snprintf(spec.scheduler, sizeof(spec.scheduler), "%s", scheduler);
    if (service_cluster_create(&sim->service, &sim_admin, &spec, &cluster, &problem) != 0)
        fail_msg("cluster: %s", problem.detail);
}

/* Both clusters, with nodes gpu-1 … of their own each. The world was booted with other_nodes set. */
SIM_FN void sim_ask_both(struct sim *sim, int nodes)
{
    sim_ask_of(sim, SIM_CLUSTER, "slurm", ORCHESTRATOR_SLURM, nodes);
    sim_ask_of(sim, SIM_OTHER, SIM_OTHER, ORCHESTRATOR_KUBERNETES, sim->other_nodes);
    sim->nodes = nodes;
    snprintf(sim->provider.home, sizeof(sim->provider.home), SIM_CLUSTER);
    for (int i = 1; i <= nodes || i <= sim->other_nodes; i++) {
        char name[NODE_NAME_MAX_BYTES];
        snprintf(name, sizeof(name), "gpu-%d", i);
        if (i <= nodes)
            fake_scheduler_add(&sim->scheduler, name);
        if (i <= sim->other_nodes)
            fake_scheduler_add(&sim->other, name);
    }
}

SIM_FN enum node_state sim_other_state(struct sim *sim, const char *name)
{
    struct db_tx *tx = NULL;
    struct cluster cluster;
    struct node row;
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    assert_int_equal(db_cluster_get(tx, SIM_OTHER, &cluster), 0);
    assert_int_equal(db_node_get(tx, cluster.id, name, &row), 0);
    db_read_end(sim->service.db, tx);
    return row.state;
}

SIM_FN bool sim_other_is_ready(struct sim *sim)
{
    for (int i = 0; i < sim->other.count; i++)
        if (sim_other_state(sim, sim->other.nodes[i].name) != NODE_STATE_READY)
            return false;
    return true;
}

/* A fault of its node; the spool keeps it apart from the node of the same name. */
SIM_FN void sim_other_verdict(struct sim *sim, const char *name, int xid, enum severity severity)
{
    autofree char *known = own_printf(SIM_OTHER "/%s", name);
    const struct fake_instance *instance = fake_provider_of(&sim->provider, SIM_OTHER, name);
    if (instance != NULL)
        (void)sim_verdict_of(sim, instance, known, xid, severity);
}

#endif
