/* What others suspect of a node, and what answers it. */
#include "base/sm.h"
#include "db/verdict.h"
#include "server/service/node/check.h"
#include "tests/sim/sim_cluster.h"

#define SUSPICIONS 70

static int put_suspicions(struct db_tx *tx, void *arg)
{
    const struct fake_instance *instance = arg;
    int status = 0;
    for (int i = 0; i < SUSPICIONS && status >= 0; i++) {
        enum db_verdict_change change;
        struct verdict verdict = {.node_id = instance->node_row, .severity = SEVERITY_WARN, .count = 1};
        snprintf(verdict.key, sizeof(verdict.key), "suspicion-%d", i);
        snprintf(verdict.instance_id, sizeof(verdict.instance_id), "%s", instance->id);
        snprintf(verdict.boot_id, sizeof(verdict.boot_id), "%s", instance->boot_id);
        snprintf(verdict.source, sizeof(verdict.source), "report");
        snprintf(verdict.code, sizeof(verdict.code), "report.suspected");
        status = db_verdict_put(tx, &verdict, &change);
    }
    return status;
}

static int count_row(const void *row, void *arg)
{
    (void)row;
    (*(int *)arg)++;
    return 0;
}

/* However many suspected it, a test that passed answers all of them. */
static void a_test_answers_every_suspicion(void **state)
{
    static const char *const nodes[] = {"gpu-1"};
    const struct service_check_request request = {.nodes = nodes, .node_count = 1, .checks = SM_BIT(DEEP_CHECK_STRESS)};
    const struct service_check_how how = {.profile = DEEP_PROFILE_DEEP, .urgency = URGENCY_AFTER_JOBS};
    struct sim sim;
    struct db_tx *tx = NULL;
    struct problem problem = {0};
    struct service_check_result result;
    int open = 0;
    (void)state;
    sim_open(&sim, 640, true);
    sim.deep = SIM_DEEP_PASSES;
    sim_create(&sim, 2, NODE_RECOVERY_AUTOMATIC);
    struct fake_instance *machine = fake_provider_of_node(&sim.provider, "gpu-1");
    assert_int_equal(db_write(sim.service.db, "test", put_suspicions, machine), 0);
    assert_int_equal(service_cluster_check(&sim.service, &sim_admin, SIM_CLUSTER, &request, 1, &how, &result, &problem),
                     0);
    service_check_result_free(&result);
    for (int i = 0; i < 60 && sim_events(&sim, "gpu-1", EVENT_KIND_DEEP_CHECK, "suspicions") == 0; i++)
        sim_run(&sim, MS_PER_MIN);
    assert_int_equal(sim_events(&sim, "gpu-1", EVENT_KIND_DEEP_CHECK, "70 suspicions"), 1);
    const struct db_verdict_filter left = {.node_id = machine->node_row, .state = VERDICT_STATE_OPEN};
    assert_int_equal(db_read_begin(sim.service.db, &tx), 0);
    assert_int_equal(db_verdict_list(tx, &left, count_row, &open), 0);
    db_read_end(sim.service.db, tx);
    assert_int_equal(open, 0);
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_test_answers_every_suspicion),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
