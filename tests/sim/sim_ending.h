/*
 * Laws of a world that has come to rest: each move that was reported is one of the table, each incident that a decision names is stored, and
 * a node has one machine, which serves where the store says so.
 */
#ifndef HOLDFAST_TESTS_SIM_SIM_ENDING_H
#define HOLDFAST_TESTS_SIM_SIM_ENDING_H

#include "db/event.h"
#include "tests/sim/sim_steps.h"
#include "tests/sim/sim_world.h"

struct sim_ending {
    struct sim *sim;
    int moves;
};

/* Every move that was told is one of the table. */
SIM_FN int sim_law_move(const void *row, void *arg)
{
    struct sim_ending *ending = arg;
    const struct event *event = row;
    int from_state, to_state;
    if (event->kind != EVENT_KIND_NODE_STATE)
        return 0;
    assert_int_equal(sm_parse(&node_state_machine, event->about.was, &from_state), 0);
    assert_int_equal(sm_parse(&node_state_machine, event->about.state, &to_state), 0);
    if (!sm_may(&node_state_machine, from_state, to_state))
        sim_fail(ending->sim, event->node, "no such move: %s", event->message);
    ending->moves++;
    return 0;
}

SIM_FN int sim_law_incident_known(const void *row, void *arg)
{
    const struct decision *decision = row;
    struct sim *sim = arg;
    if (strstr(decision->gates[GATE_INCIDENT].detail, "incident 0 ") != NULL)
        sim_fail(sim, NULL, "it was decided by an incident that is not stored: %s", decision->sentence);
    return 0;
}

/* A node has one machine at most, and one that is in service has the one that the store says. */
SIM_FN void sim_law_machines(struct sim *sim, const char *name)
{
    struct sim_reading reading = sim_read(sim, name);
    int alive = 0;
    for (int i = 0; i < sim->provider.count; i++) {
        const struct fake_instance *instance = &sim->provider.instances[i];
        if (!instance->gone && strcmp(instance->node, name) == 0 && strcmp(instance->cluster, SIM_CLUSTER) == 0) {
            alive++;
            if (strcmp(instance->id, reading.instance.instance_id) != 0)
                sim_fail(sim, name, "%s runs although it fills no slot", instance->id);
        }
    }
    if (alive > 1 || (alive == 0 && reading.row.state == NODE_STATE_READY))
        sim_fail(sim, name, "%s has %d machines", name, alive);
    const struct fake_scheduler_node *there = fake_scheduler_find(&sim->scheduler, name);
    bool left = there->by_itself && reading.row.attention == ATTENTION_DOWNED; /* and it says why */
    bool out = there->out && !left;
    if (out == (reading.row.state == NODE_STATE_READY))
        sim_fail(sim, name, "%s is %s, and in the scheduler it is the other way round: %s", name,
                 node_state_text(reading.row.state), fake_scheduler_find(&sim->scheduler, name)->reason);
}

SIM_FN void sim_law_ending(struct sim *sim)
{
    struct sim_ending ending = {.sim = sim};
    struct db_tx *tx = NULL;
    const struct db_event_filter all = {.limit = 0};
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    assert_int_equal(db_event_list(tx, &all, sim_law_move, &ending), 0);
    for (int i = 0; i < sim->scheduler.count; i++) {
        sim_law_verdicts_of(sim, tx, sim->scheduler.nodes[i].name);
        sim_law_machines(sim, sim->scheduler.nodes[i].name);
        int64_t id = sim_read(sim, sim->scheduler.nodes[i].name).row.id;
        assert_int_equal(db_decision_list(tx, id, 1000, sim_law_incident_known, sim), 0);
    }
    db_read_end(sim->service.db, tx);
    assert_true(ending.moves > 0);
}

#endif
