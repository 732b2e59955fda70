/* Many nodes of a group with the same weak finding are one case of the group, also when each is decided on in a turn of its own. */
#include "tests/sim/sim_world.h"

#define NODES 12
#define COUNTED 53 /* one finding is nothing, three bursts in a day are for a person */
#define BURSTS 3

static void a_rate_of_many_nodes_takes_few_out(void **state)
{
    struct sim sim;
    char name[16];
    int held = 0, told = 0, since = 0;
    (void)state;
    sim_open(&sim, 710, true);
    sim_create(&sim, NODES, NODE_RECOVERY_AUTOMATIC);
    for (int burst = 0; burst < BURSTS; burst++) {
        for (int i = 1; i <= NODES; i++) {
            snprintf(name, sizeof(name), "gpu-%d", i);
            sim_verdict(&sim, name, COUNTED, SEVERITY_WARN);
            sim_settle(&sim);
            sim_run(&sim, 5 * MS_PER_S);
        }
        sim_run(&sim, 10 * MS_PER_MIN);
    }
    for (int i = 1; i <= NODES; i++) {
        snprintf(name, sizeof(name), "gpu-%d", i);
        held += sim_state(&sim, name) == NODE_STATE_HELD;
        since += sim_read(&sim, name).decision.rule == RULE_SHARED_SINCE;
        told += sim_read(&sim, name).decision.rule == RULE_SHARED_BY_MANY;
    }
    assert_true(held <= 2); /* before the third one nobody could know */
    assert_int_equal(held + told, NODES);
    assert_true(held > 0);
    assert_int_equal(since, held); /* whose person shall know that the case is larger */
    sim_close(&sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rate_of_many_nodes_takes_few_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
