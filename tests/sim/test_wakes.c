/* What the loop reads after a write by a person: the rows of that change, and no more; where it cannot know which, all of them. */
#include "tests/sim/sim_cluster.h"
#include "tests/sim/sim_memory.h"

#include "db/node.h"
#include "server/service/cluster/cluster.h"
#include "server/service/cluster/pause.h"
#include "server/service/node/node.h"

static struct rnode *remembered(struct sim *sim, const char *name)
{
    struct rnode *node = reconcile_node_find(sim->reconcile, sim_read(sim, name).row.id);
    assert_non_null(node);
    return node;
}

static int write_row(struct db_tx *tx, void *arg)
{
    return db_node_update(tx, arg);
}

/* Nobody tells the loop. */
static void opt_out_unheard(struct sim *sim, const char *name)
{
    struct node row = sim_read(sim, name).row;
    row.opted_out = true;
    assert_int_equal(db_write(sim->service.db, "test", write_row, &row), 0);
}

static void opt_out(struct sim *sim, const char *name)
{
    const struct service_node_change change = {.says_out = true, .opted_out = true};
    struct node row;
    struct problem problem;
    assert_int_equal(service_node_update(&sim->service, &sim_admin, SIM_CLUSTER, name, &change, 0, &row, &problem), 0);
}

static void a_write_about_one_node_reads_that_node(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 1, true);
    sim_create(&sim, 3, NODE_RECOVERY_AUTOMATIC);
    opt_out_unheard(&sim, "gpu-2");
    opt_out(&sim, "gpu-1");
    sim_settle(&sim);
    assert_true(remembered(&sim, "gpu-1")->opted_out);
    assert_false(remembered(&sim, "gpu-2")->opted_out);
    struct cluster cluster;
    struct problem problem;
    assert_int_equal(service_cluster_pause(&sim.service, &sim_admin, SIM_CLUSTER, "", &cluster, &problem), 0);
    sim_settle(&sim);
    assert_true(remembered(&sim, "gpu-1")->group->cluster->paused);
    assert_false(remembered(&sim, "gpu-2")->opted_out);
    sim_close(&sim);
}

/* Of one wake too many nothing is kept but that there was one. */
static void after_more_wakes_than_are_kept_all_is_read(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 2, true);
    sim_create(&sim, 3, NODE_RECOVERY_AUTOMATIC);
    opt_out_unheard(&sim, "gpu-2");
    for (int64_t id = 1; id <= WAKES_MAX; id++)
        sim.service.wake(sim.service.wake_arg, SERVICE_WAKE_NODE, 1000000 + id);
    sim_settle(&sim);
    assert_false(remembered(&sim, "gpu-2")->opted_out);
    for (int64_t id = 0; id <= WAKES_MAX; id++)
        sim.service.wake(sim.service.wake_arg, SERVICE_WAKE_NODE, 1000000 + id);
    sim_settle(&sim);
    assert_true(remembered(&sim, "gpu-2")->opted_out);
    sim_close(&sim);
}

/* The loop is two wakes behind where the first of them is about a node whose cluster it does not know yet. */
static void wakes_may_come_in_any_order(void **state)
{
    struct sim sim;
    struct service_group_spec group = sim_spec("gpu", 2, 0);
    (void)state;
    sim_open(&sim, 3, true);
    void (*wake)(void *arg, enum service_wake what, int64_t id) = sim.service.wake;
    sim.service.wake = NULL;
    sim_ask_cluster(&sim, PROVISIONING_CONTINUOUS, &group, 1);
    sim.service.wake = wake;
    opt_out(&sim, "gpu-2");
    sim_settle(&sim);
    assert_true(remembered(&sim, "gpu-2")->opted_out);
    assert_null(reconcile_node_find(sim.reconcile, sim_read(&sim, "gpu-1").row.id));
    struct cluster cluster;
    assert_true(sim_has_cluster(&sim, &cluster));
    sim.service.wake(sim.service.wake_arg, SERVICE_WAKE_CLUSTER, cluster.id);
    sim_until_all_ready(&sim, 30 * MS_PER_MIN);
    sim_check_memory(&sim);
    sim_close(&sim);
}

/* A large group is read in slices, and each of its nodes once it is there. */
static void a_large_change_is_read_in_slices(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 4, false);
    sim.check = false; /* it looks at every node after every turn */
    sim.provider.full = true;
    sim_ask(&sim, 2 * RESYNC_ROWS_MAX + 10, NODE_RECOVERY_AUTOMATIC);
    int64_t next;
    (void)reconcile_run_once(sim.reconcile, &next);
    assert_int_equal(sim.reconcile->nodes.count, RESYNC_ROWS_MAX - 2); /* a cluster and a group before them */
    assert_true(reconcile_is_behind(sim.reconcile));
    (void)reconcile_run_once(sim.reconcile, &next);
    (void)reconcile_run_once(sim.reconcile, &next);
    assert_int_equal(sim.reconcile->nodes.count, sim.nodes);
    assert_false(reconcile_is_behind(sim.reconcile));
    sim_check_memory(&sim);
    sim_close(&sim);
}

static void check_after(struct sim *sim, int status)
{
    assert_int_equal(status, 0);
    sim_settle(sim);
    sim_check_memory(sim);
    sim_run(sim, 5 * MS_PER_MIN);
    sim_check_memory(sim);
}

/* Everything that a person may do to a whole cluster; after each step the loop knows it. */
static void nothing_of_a_clusters_life_is_missed(void **state)
{
    char one[] = "gpu-1", three[] = "gpu-3", *names[] = {one, three};
    struct sim sim;
    struct service_group_spec group = sim_spec("gpu", 2, 0), more = sim_spec("cpu", 2, 0);
    struct problem problem;
    struct cluster cluster;
    struct operation operation;
    (void)state;
    sim_open(&sim, 5, true);
    sim_ask_cluster(&sim, PROVISIONING_CONTINUOUS, &group, 1);
    sim_schedule(&sim, "cpu", 8);
    check_after(&sim, 0);
    check_after(&sim, sim_scale(&sim, "gpu", 4, 1));
    check_after(&sim, sim_change(&sim, &more, 1, NULL));
    group.instance_count = 2;
    group.node_names = names;
    check_after(&sim, sim_change(&sim, &group, 1, NULL));
    check_after(&sim, service_node_remove(&sim.service, &sim_admin, SIM_CLUSTER, "cpu-1", URGENCY_NOW, "", &operation,
                                          &problem));
    struct service_addition addition = {.count = 2};
    snprintf(addition.group, sizeof(addition.group), "cpu");
    struct service_addition_result result;
    check_after(&sim, service_nodes_add(&sim.service, &sim_admin, SIM_CLUSTER, NULL, &addition, 1, &result, &problem));
    service_addition_result_free(&result);
    check_after(&sim, service_cluster_pause(&sim.service, &sim_admin, SIM_CLUSTER, "", &cluster, &problem));
    check_after(&sim, service_cluster_resume(&sim.service, &sim_admin, SIM_CLUSTER, "", &cluster, &problem));
    check_after(&sim, sim_change(&sim, NULL, 0, "cpu"));
    check_after(&sim, sim_delete(&sim));
    assert_false(sim_has_cluster(&sim, &cluster));
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_write_about_one_node_reads_that_node),
        cmocka_unit_test(after_more_wakes_than_are_kept_all_is_read),
        cmocka_unit_test(wakes_may_come_in_any_order),
        cmocka_unit_test(a_large_change_is_read_in_slices),
        cmocka_unit_test(nothing_of_a_clusters_life_is_missed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
