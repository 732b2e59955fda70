/* Stories of the operations of whole clusters: how far a change is, how it ends, and what survives a crash. */
#include "server/service/cluster/cluster.h"
#include "tests/sim/sim_cluster.h"

static struct operation only(struct sim *sim, enum operation_kind kind)
{
    return sim_change_of(sim, kind, 1);
}

static void expect_progress(const struct operation *op, int wanted, int in_service, int failed, int left)
{
    assert_int_equal(op->progress.wanted, wanted);
    assert_int_equal(op->progress.in_service, in_service);
    assert_int_equal(op->progress.failed, failed);
    assert_int_equal(op->progress.left, left);
}

static bool has_ended(struct sim *sim, const void *arg)
{
    struct operation op = sim_change_of(sim, *(const enum operation_kind *)arg, 0);
    return op.id != 0 && op.state != OPERATION_STATE_PENDING && op.state != OPERATION_STATE_RUNNING;
}

static struct operation until_ended(struct sim *sim, enum operation_kind kind, int64_t at_most_ms)
{
    sim_until_is(sim, has_ended, &kind, at_most_ms, "the operation has ended");
    return sim_change_of(sim, kind, 0);
}

static void a_creation_is_watched_to_its_end(void **state)
{
    struct sim sim;
    struct cluster cluster;
    (void)state;
    sim_open(&sim, 301, true);
    struct service_group_spec groups[] = {sim_spec("gpu", 3, 0), sim_spec("cpu", 1, 0)};
    snprintf(sim.provider.cursed, sizeof(sim.provider.cursed), "gpu-2");
    sim_ask_cluster(&sim, PROVISIONING_CONTINUOUS, groups, 2);
    struct operation op = only(&sim, OPERATION_KIND_CREATE_CLUSTER);
    assert_int_equal(op.state, OPERATION_STATE_PENDING);
    assert_string_equal(op.cluster, SIM_CLUSTER);
    assert_string_equal(op.reason, "4 nodes in 2 groups");
    sim_settle(&sim);
    sim_crash(&sim);
    sim_settle(&sim);
    op = only(&sim, OPERATION_KIND_CREATE_CLUSTER);
    assert_int_equal(op.state, OPERATION_STATE_RUNNING);
    assert_int_equal(op.progress.wanted, 4);
    op = until_ended(&sim, OPERATION_KIND_CREATE_CLUSTER, MS_PER_HOUR);
    assert_true(sim_has_cluster(&sim, &cluster));
    assert_int_equal(cluster.state, CLUSTER_STATE_IN_SERVICE);
    assert_int_equal(op.state, OPERATION_STATE_SUCCEEDED); /* each was tried: what failed is tried again */
    expect_progress(&op, 4, 3, 1, 1);
    assert_true(op.started_at > 0 && op.finished_at >= op.started_at);
    assert_string_equal(op.error, "");
    sim_crash(&sim);
    sim_run(&sim, MS_PER_HOUR);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_OPERATION_SUCCEEDED, "create-cluster succeeded"), 1);
    sim_close(&sim);
}

/* It is not over while a node still works for somebody. */
static void how_far_it_is_is_told_on_the_way(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 302, true);
    sim_create(&sim, 3, NODE_RECOVERY_AUTOMATIC);
    for (int i = 1; i <= 3; i++) {
        autofree char *name = own_printf("gpu-%d", i);
        fake_scheduler_find(&sim.scheduler, name)->jobs = 1;
    }
    assert_int_equal(sim_scale(&sim, "gpu", 1, 0), 0);
    sim_run(&sim, MS_PER_MIN);
    struct operation op = only(&sim, OPERATION_KIND_UPDATE_CLUSTER);
    assert_int_equal(op.state, OPERATION_STATE_RUNNING);
    expect_progress(&op, 1, 1, 0, 2);
    sim_crash(&sim);
    sim_settle(&sim);
    for (int i = 1; i <= 3; i++) {
        autofree char *name = own_printf("gpu-%d", i);
        fake_scheduler_find(&sim.scheduler, name)->jobs = 0;
    }
    op = until_ended(&sim, OPERATION_KIND_UPDATE_CLUSTER, MS_PER_HOUR);
    assert_int_equal(op.state, OPERATION_STATE_SUCCEEDED);
    expect_progress(&op, 1, 1, 0, 0);
    sim_close(&sim);
}

static void a_later_change_supersedes(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 303, true);
    sim_create(&sim, 2, NODE_RECOVERY_AUTOMATIC);
    sim_schedule(&sim, "gpu", 8);
    assert_int_equal(sim_scale(&sim, "gpu", 6, 0), 0);
    struct operation first = only(&sim, OPERATION_KIND_UPDATE_CLUSTER);
    assert_string_equal(first.reason, "gpu from 2 to 6 nodes");
    sim_settle(&sim);
    assert_int_equal(sim_scale(&sim, "gpu", 3, 0), 0);
    first = sim_change_of(&sim, OPERATION_KIND_UPDATE_CLUSTER, 0);
    assert_string_equal(first.reason, "gpu from 6 to 3 nodes");
    sim_crash(&sim);
    struct operation last = until_ended(&sim, OPERATION_KIND_UPDATE_CLUSTER, MS_PER_HOUR);
    assert_int_equal(last.id, first.id);
    assert_int_equal(last.state, OPERATION_STATE_SUCCEEDED);
    expect_progress(&last, 3, 3, 0, 0);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_OPERATION_CANCELLED, "superseded by a later change"), 1);
    assert_int_equal(sim_change_count(&sim, OPERATION_KIND_UPDATE_CLUSTER, OPERATION_STATE_CANCELLED), 1);
    sim_close(&sim);
}

/* Where nothing has to be done, that is seen at once. */
static void a_change_of_nothing_ends_at_once(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 304, true);
    sim_create(&sim, 2, NODE_RECOVERY_AUTOMATIC);
    assert_int_equal(sim_scale(&sim, "gpu", 2, 0), 0);
    sim_settle(&sim);
    struct operation op = only(&sim, OPERATION_KIND_UPDATE_CLUSTER);
    assert_int_equal(op.state, OPERATION_STATE_SUCCEEDED);
    expect_progress(&op, 2, 2, 0, 0);
    sim_close(&sim);
}

static void an_update_that_is_taken_back_failed(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 305, true);
    struct service_group_spec gpu = sim_spec("gpu", 2, 0);
    sim_ask_cluster(&sim, PROVISIONING_ALL_OR_NOTHING, &gpu, 1);
    sim_until_cluster(&sim, CLUSTER_STATE_IN_SERVICE, MS_PER_HOUR);
    assert_int_equal(only(&sim, OPERATION_KIND_CREATE_CLUSTER).state, OPERATION_STATE_SUCCEEDED);
    snprintf(sim.provider.cursed, sizeof(sim.provider.cursed), "gpu-4");
    assert_int_equal(sim_scale(&sim, "gpu", 4, 0), 0);
    struct operation op = until_ended(&sim, OPERATION_KIND_UPDATE_CLUSTER, MS_PER_HOUR);
    assert_int_equal(op.state, OPERATION_STATE_FAILED);
    assert_non_null(strstr(op.error, "gpu-4"));
    assert_non_null(strstr(op.error, "taken back"));
    assert_int_equal(sim_group_count(&sim, "gpu", NODE_STATE_READY), 2);
    assert_int_equal(sim_events(&sim, NULL, EVENT_KIND_OPERATION_FAILED, "update-cluster failed"), 1);
    sim_close(&sim);
}

static void a_creation_that_leaves_nothing_failed(void **state)
{
    struct sim sim;
    struct cluster cluster;
    (void)state;
    sim_open(&sim, 306, true);
    struct service_group_spec gpu = sim_spec("gpu", 2, 0);
    snprintf(sim.provider.cursed, sizeof(sim.provider.cursed), "gpu-2");
    sim_ask_cluster(&sim, PROVISIONING_ALL_OR_NOTHING, &gpu, 1);
    struct operation op = until_ended(&sim, OPERATION_KIND_CREATE_CLUSTER, 3 * MS_PER_HOUR);
    assert_int_equal(op.state, OPERATION_STATE_FAILED);
    assert_true(sim_has_cluster(&sim, &cluster));
    assert_int_equal(cluster.state, CLUSTER_STATE_FAILED);
    assert_string_equal(op.error, cluster.failure);
    sim_close(&sim);
}

static void a_minimum_that_does_not_come_fails_the_update(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 307, true);
    sim_create(&sim, 2, NODE_RECOVERY_AUTOMATIC);
    sim_schedule(&sim, "gpu", 8);
    snprintf(sim.provider.cursed, sizeof(sim.provider.cursed), "gpu-3");
    assert_int_equal(sim_scale(&sim, "gpu", 4, 4), 0);
    struct operation op = until_ended(&sim, OPERATION_KIND_UPDATE_CLUSTER, 4 * MS_PER_HOUR);
    assert_int_equal(op.state, OPERATION_STATE_FAILED);
    assert_non_null(strstr(op.error, "3 of at least 4"));
    expect_progress(&op, 2, 2, 0, 0); /* as it was */
    sim_close(&sim);
}

static void a_deletion_is_seen_when_the_cluster_is_gone(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 308, true);
    sim_create(&sim, 3, NODE_RECOVERY_AUTOMATIC);
    sim_schedule(&sim, "gpu", 8);
    assert_int_equal(sim_scale(&sim, "gpu", 5, 0), 0);
    assert_int_equal(sim_delete(&sim), 0);
    struct operation op = only(&sim, OPERATION_KIND_DELETE_CLUSTER);
    struct operation update = only(&sim, OPERATION_KIND_UPDATE_CLUSTER);
    assert_int_equal(update.state, OPERATION_STATE_CANCELLED);
    assert_non_null(strstr(update.error, op.uid));
    assert_int_equal(sim_delete(&sim), 0); /* nothing new */
    sim_settle(&sim);
    sim.settings.history_ms = 4 * MS_PER_HOUR;
    sim_crash(&sim);
    sim_until_is(&sim, sim_cluster_gone, NULL, MS_PER_HOUR, "gone");
    struct operation last = only(&sim, OPERATION_KIND_DELETE_CLUSTER);
    assert_int_equal(last.id, op.id);
    assert_int_equal(last.state, OPERATION_STATE_SUCCEEDED);
    assert_int_equal(last.cluster_id, 0);
    assert_string_equal(last.cluster, SIM_CLUSTER);
    expect_progress(&last, 0, 0, 0, 0);
    assert_int_equal(
        sim_events(&sim, NULL, EVENT_KIND_OPERATION_SUCCEEDED, "delete-cluster succeeded: no node is left"), 1);
    sim_run(&sim, 5 * MS_PER_HOUR); /* it is history */
    assert_int_equal(sim_change_of(&sim, OPERATION_KIND_DELETE_CLUSTER, 0).id, 0);
    sim_close(&sim);
}

static void software(struct sim *sim, const char *release)
{
    struct rollout how = {.batch_value = 1};
    struct cluster cluster;
    struct problem problem = {0};
    snprintf(how.release, sizeof(how.release), "%s", release);
    assert_int_equal(
        service_cluster_update_software(&sim->service, &sim_admin, SIM_CLUSTER, &how, NULL, 0, &cluster, &problem), 0);
}

static void a_software_update_is_watched_too(void **state)
{
    struct sim sim;
    (void)state;
    sim_open(&sim, 309, true);
    struct service_group_spec gpu = sim_spec("gpu", 3, 0);
    snprintf(gpu.release, sizeof(gpu.release), "v1");
    sim_ask_cluster(&sim, PROVISIONING_CONTINUOUS, &gpu, 1);
    sim_until_cluster(&sim, CLUSTER_STATE_IN_SERVICE, MS_PER_HOUR);
    software(&sim, "v2");
    sim_settle(&sim);
    assert_int_equal(only(&sim, OPERATION_KIND_UPDATE_SOFTWARE).progress.left, 3);
    sim_crash(&sim);
    struct operation op = until_ended(&sim, OPERATION_KIND_UPDATE_SOFTWARE, 2 * MS_PER_HOUR);
    assert_int_equal(op.state, OPERATION_STATE_SUCCEEDED);
    expect_progress(&op, 3, 3, 0, 0);

    snprintf(sim.provider.cursed, sizeof(sim.provider.cursed), "gpu-1");
    software(&sim, "v3");
    sim_settle(&sim);
    sim_crash(&sim);
    sim_run(&sim, 20 * MS_PER_MIN);
    sim.provider.cursed[0] = '\0';
    op = until_ended(&sim, OPERATION_KIND_UPDATE_SOFTWARE, 12 * MS_PER_HOUR);
    assert_int_equal(op.state, OPERATION_STATE_FAILED);
    assert_non_null(strstr(op.error, "gpu-1"));
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_creation_is_watched_to_its_end),
        cmocka_unit_test(how_far_it_is_is_told_on_the_way),
        cmocka_unit_test(a_later_change_supersedes),
        cmocka_unit_test(a_change_of_nothing_ends_at_once),
        cmocka_unit_test(an_update_that_is_taken_back_failed),
        cmocka_unit_test(a_creation_that_leaves_nothing_failed),
        cmocka_unit_test(a_minimum_that_does_not_come_fails_the_update),
        cmocka_unit_test(a_deletion_is_seen_when_the_cluster_is_gone),
        cmocka_unit_test(a_software_update_is_watched_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
