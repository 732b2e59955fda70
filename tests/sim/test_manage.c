/* What is put to a scheduler whose nodes and partitions are ours to write: all that is wanted, or a word on why not. */
#include "db/cluster.h"
#include "db/intern.h"
#include "db/node.h"
#include "tests/sim/sim_world.h"

static struct scheduler_ops ops; /* the fake's, and one more */
static size_t asked_nodes;
static int asked;

static int configure(struct scheduler *s, struct scheduler_desired *desired, char *ret_error)
{
    (void)s;
    (void)ret_error;
    asked_nodes = desired->count;
    asked++;
    return 0;
}

struct fleet {
    int clusters, nodes; /* nodes of each */
    bool apart;          /* all but the first are under another scheduler */
    bool topology;       /* the scheduler's switches are ours to write, too */
};

static int write_fleet(struct db_tx *tx, void *arg)
{
    const struct fleet *fleet = arg;
    for (int c = 0; c < fleet->clusters; c++) {
        struct cluster cluster = {.state = CLUSTER_STATE_IN_SERVICE, .orchestrator = ORCHESTRATOR_SLURM};
        snprintf(cluster.name, sizeof(cluster.name), "c%d", c);
        snprintf(cluster.uid, sizeof(cluster.uid), "uid%d", c);
        snprintf(cluster.scheduler, sizeof(cluster.scheduler), "%s", fleet->apart && c > 0 ? SIM_OTHER : "slurm");
        int status = db_cluster_insert(tx, &cluster);
        struct instance_group group = {
            .cluster_id = cluster.id, .name = "gpu", .state = GROUP_STATE_IN_SERVICE, .desired = fleet->nodes};
        snprintf(group.provider, sizeof(group.provider), "fake");
        if (status == 0)
            status = db_group_insert(tx, &group);
        for (int n = 0; n < fleet->nodes && status == 0; n++) {
            struct node node = {.cluster_id = cluster.id, .group_id = group.id, .state = NODE_STATE_READY};
            snprintf(node.name, sizeof(node.name), "c%d-%d", c, n);
            status = db_node_insert(tx, &node);
        }
        if (status != 0)
            return status;
    }
    return 0;
}

/* A store with such a fleet, and a loop that writes its scheduler's configuration. */
static void open_managed(struct sim *sim, struct fleet fleet)
{
    sim_open(sim, 1, true);
    assert_int_equal(db_write(sim->service.db, "test", write_fleet, &fleet), 0);
    executor_free(sim->executor);
    reconcile_free(sim->reconcile);
    sim->executor = executor_inline_new();
    struct reconcile_deps deps = {
        .service = &sim->service, .executor = sim->executor, .settings = sim->settings, .scheduler_count = 1};
    struct scheduler_driver driver = fake_scheduler_driver(&sim->scheduler);
    ops = *driver.ops;
    static const struct scheduler_configuration_ops configuration = {.apply = configure};
    ops.configuration = &configuration;
    driver.ops = &ops;
    deps.schedulers[0] = (struct reconcile_scheduler){.name = "slurm",
                                                      .driver = driver,
                                                      .managed = true,
                                                      .topology_managed = fleet.topology,
                                                      .strategy = DESIRED_STRATEGY_OVERWRITE};
    if (fleet.apart)
        deps.schedulers[deps.scheduler_count++] =
            (struct reconcile_scheduler){.name = SIM_OTHER, .driver = fake_scheduler_plain_driver(&sim->other)};
    assert_int_equal(reconcile_new(&deps, &sim->reconcile), 0);
    asked = 0;
    asked_nodes = 0;
}

static void turn_some(struct sim *sim)
{
    int64_t next;
    for (int i = 0; i < 4; i++)
        (void)reconcile_run_once(sim->reconcile, &next);
}

static void no_cluster_is_left_out(void **state)
{
    struct sim sim;
    (void)state;
    open_managed(&sim, (struct fleet){.clusters = 1100, .nodes = 1});
    turn_some(&sim);
    assert_int_equal(asked, 1);
    assert_int_equal(asked_nodes, 1100);
    sim_close(&sim);
}

static int add_node(struct db_tx *tx, void *arg)
{
    (void)arg;
    struct node node = {.cluster_id = 1, .group_id = 1, .name = "one-more", .state = NODE_STATE_READY};
    return db_node_insert(tx, &node);
}

/* Said once, and no more while it stays so, however many there are. */
static void what_is_too_large_to_be_written_is_told(void **state)
{
    struct sim sim;
    (void)state;
    open_managed(&sim, (struct fleet){.clusters = 1, .nodes = DESIRED_NODES_MAX + 1});
    turn_some(&sim);
    clock_fake_advance(&sim.clock, MS_PER_MIN);
    turn_some(&sim);
    assert_int_equal(db_write(sim.service.db, "test", add_node, NULL), 0);
    clock_fake_advance(&sim.clock, MS_PER_MIN);
    turn_some(&sim);
    assert_int_equal(asked, 0);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_SCHEDULER_DESIRED, "more nodes than the 100000"), 1);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_SCHEDULER_DESIRED, ""), 1);
    sim_close(&sim);
}

static int spoil_group_spec(struct db_tx *tx, void *arg)
{
    (void)arg;
    return db_exec(tx, "INSERT INTO group_spec (group_id, spec) SELECT min(id), '{\"slurm\":7}' FROM instance_group");
}

/* Its nodes may be a controller's, and their partition is not known: what was written stays. */
static void what_cannot_be_read_is_not_written_otherwise(void **state)
{
    struct sim sim;
    (void)state;
    open_managed(&sim, (struct fleet){.clusters = 2, .nodes = 1});
    assert_int_equal(db_write(sim.service.db, "test", spoil_group_spec, NULL), 0);
    turn_some(&sim);
    clock_fake_advance(&sim.clock, MS_PER_MIN);
    turn_some(&sim);
    assert_int_equal(asked, 0);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_SCHEDULER_DESIRED, "cannot be read"), 2); /* of each cluster */
    sim_close(&sim);
}

/* All nodes are read when somebody changed what is wanted, and else as rarely as the files are looked at. */
static void nodes_are_read_where_something_changed(void **state)
{
    struct sim sim;
    (void)state;
    open_managed(&sim, (struct fleet){.clusters = 1, .nodes = 1});
    turn_some(&sim);
    assert_int_equal(asked, 1);
    assert_int_equal(db_write(sim.service.db, "test", spoil_group_spec, NULL), 0); /* whoever reads it says so */
    clock_fake_advance(&sim.clock, 5 * MS_PER_S);
    turn_some(&sim);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_SCHEDULER_DESIRED, "cannot be read"), 0);
    sim.service.wake(sim.service.wake_arg, SERVICE_WAKE_GROUP, 1);
    clock_fake_advance(&sim.clock, 5 * MS_PER_S);
    turn_some(&sim);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_SCHEDULER_DESIRED, "cannot be read"), 1);
    sim_close(&sim);
}

static int change(struct db_tx *tx, void *arg)
{
    return db_exec(tx, arg);
}

#define SPOIL "INSERT INTO cluster_spec (cluster_id, spec) VALUES (1, 'x')" /* whoever reads all nodes says so */

/* Whether this change and its wake lead to a look at all nodes of the first cluster. */
static bool looks_at_all(const char *sql, enum service_wake what, int64_t id)
{
    struct sim sim;
    open_managed(&sim, (struct fleet){.clusters = 2, .nodes = 2, .apart = true});
    turn_some(&sim);
    assert_int_equal(asked, 1);
    assert_int_equal(asked_nodes, 2);
    assert_int_equal(db_write(sim.service.db, "test", change, (void *)(uintptr_t)SPOIL), 0);
    assert_int_equal(db_write(sim.service.db, "test", change, (void *)(uintptr_t)sql), 0);
    sim.service.wake(sim.service.wake_arg, what, id);
    clock_fake_advance(&sim.clock, 5 * MS_PER_S);
    turn_some(&sim);
    bool looked = sim_events(&sim, NULL, EVENT_KIND_SCHEDULER_DESIRED, "cannot be read") > 0;
    sim_close(&sim);
    return looked;
}

/* Of a node, only a change of what the scheduler's configuration holds leads to a look at all of them. */
static void a_node_of_which_nothing_changed_costs_no_look(void **state)
{
    (void)state;
    assert_false(looks_at_all("UPDATE node SET opted_out = 1 WHERE id = 1", SERVICE_WAKE_NODE, 1));
    assert_true(looks_at_all("UPDATE node SET state = 'deleted' WHERE id = 1", SERVICE_WAKE_NODE, 1));
}

/* What changes in a cluster of another scheduler is none of this one's. */
static void a_cluster_of_another_scheduler_costs_no_look(void **state)
{
    static const char nothing[] = "UPDATE node SET opted_out = 0 WHERE id = 1";
    (void)state;
    assert_false(looks_at_all(nothing, SERVICE_WAKE_GROUP, 2));
    assert_false(looks_at_all(nothing, SERVICE_WAKE_CLUSTER, 2));
    assert_false(looks_at_all("UPDATE node SET state = 'deleted' WHERE id = 3", SERVICE_WAKE_NODE, 3));
    assert_true(looks_at_all(nothing, SERVICE_WAKE_GROUP, 1));
    assert_true(looks_at_all(nothing, SERVICE_WAKE_CLUSTER, 1));
}

static int move_first(struct db_tx *tx, void *arg)
{
    return db_node_set_topology(tx, 1, TOPOLOGY_LEVEL_SWITCH, arg);
}

static void assert_switch(struct sim *sim, int64_t id, const char *wanted)
{
    struct node node;
    struct db_tx *tx = NULL;
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    assert_int_equal(db_node_get_row(tx, id, &node), 0);
    db_read_end(sim->service.db, tx);
    assert_string_equal(node.topology[TOPOLOGY_LEVEL_SWITCH], wanted);
}

/* A person has moved a node to another switch, and we started anew before the scheduler had read that: where its topology is ours to write
 * it does not take the node back; where it is not, it says where the node is. */
static void where_a_node_sits_is_the_writers_word(void **state)
{
    (void)state;
    for (int ours = 0; ours < 2; ours++) {
        struct sim sim;
        open_managed(&sim, (struct fleet){.clusters = 1, .nodes = 2, .topology = ours == 1});
        assert_int_equal(db_write(sim.service.db, "test", move_first, (char[]){"new-leaf"}), 0);
        sim.service.wake(sim.service.wake_arg, SERVICE_WAKE_ALL, 0);
        turn_some(&sim);
        clock_fake_advance(&sim.clock, 10 * MS_PER_MIN); /* it looks where nodes sit again */
        for (int i = 0; i < 2; i++) {
            char name[NODE_NAME_MAX_BYTES];
            snprintf(name, sizeof(name), "c0-%d", i);
            struct fake_scheduler_node *node = fake_scheduler_add(&sim.scheduler, name);
            snprintf(node->leaf, sizeof(node->leaf), "old-leaf");
        }
        for (int i = 0; i < 4; i++) {
            turn_some(&sim);
            clock_fake_advance(&sim.clock, MS_PER_MIN);
        }
        assert_switch(&sim, 1, ours ? "new-leaf" : "old-leaf");
        assert_switch(&sim, 2, "old-leaf");
        sim_close(&sim);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_cluster_is_left_out),
        cmocka_unit_test(what_is_too_large_to_be_written_is_told),
        cmocka_unit_test(what_cannot_be_read_is_not_written_otherwise),
        cmocka_unit_test(nodes_are_read_where_something_changed),
        cmocka_unit_test(a_node_of_which_nothing_changed_costs_no_look),
        cmocka_unit_test(a_cluster_of_another_scheduler_costs_no_look),
        cmocka_unit_test(where_a_node_sits_is_the_writers_word),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
