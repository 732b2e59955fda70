/* A law for worlds at rest: each critical verdict that is stored and open, of a machine that is in service or held, was part of a look
 * at its node, or a decision stands on it or was made after it came; and a node in service with one has a decision. So no verdict waits for a wake that was lost. */
#ifndef HOLDFAST_TESTS_SIM_SIM_EVIDENCE_H
#define HOLDFAST_TESTS_SIM_SIM_EVIDENCE_H

#include "server/reconcile/base/loop.h"
#include "server/reconcile/base/node.h"
#include "tests/sim/sim_world.h"

struct sim_evidence {
    struct sim *sim;
    struct db_tx *tx;
    struct node row;
    struct instance instance;
    struct operation newest; /* of the node */
    struct decision decision;
};

SIM_FN bool sim_evidence_is_decided(const struct sim_evidence *evidence, const struct verdict *verdict)
{
    const struct decision *decision = &evidence->decision;
    bool stands = false;
    for (int i = 0; i < decision->evidence_count && i < DECISION_EVIDENCE_MAX; i++)
        stands = stands || decision->evidence[i] >= verdict->id;
    return stands || (decision->id != 0 && decision->at >= verdict->received_at);
}

/* What a person had seen who stopped the repair, and what a reset has answered. */
SIM_FN bool sim_evidence_is_answered(const struct sim_evidence *evidence, const struct verdict *verdict)
{
    const struct operation *op = &evidence->newest;
    return (op->state == OPERATION_STATE_CANCELLED && verdict->received_at <= op->finished_at) ||
           (op->cleared_by_reset_at > 0 && verdict->last_at <= op->cleared_by_reset_at);
}

SIM_FN int sim_evidence_verdict(const void *row, void *arg)
{
    const struct sim_evidence *evidence = arg;
    const struct verdict *verdict = row;
    const struct rnode *node = reconcile_node_find(evidence->sim->reconcile, verdict->node_id);
    bool lives = strcmp(verdict->instance_id, evidence->instance.instance_id) == 0 &&
                 strcmp(verdict->boot_id, evidence->instance.boot_id) == 0;
    if (verdict->severity != SEVERITY_CRITICAL || !lives)
        return 0;
    bool looked = node != NULL && node->looked_verdict >= verdict->id && node->verdict_us == 0;
    bool decided = sim_evidence_is_decided(evidence, verdict) || sim_evidence_is_answered(evidence, verdict);
    if (!looked && !decided)
        sim_fail(evidence->sim, evidence->row.name,
                 "verdict %" PRId64 " (%s) is stored, and no look at its node has read it", verdict->id, verdict->code);
    if (!decided && evidence->row.state == NODE_STATE_READY && evidence->decision.id == 0)
        sim_fail(evidence->sim, evidence->row.name,
                 "verdict %" PRId64 " (%s) is stored, and nothing was ever decided about its node", verdict->id,
                 verdict->code);
    return 0;
}

SIM_FN int sim_evidence_node(const void *row, void *arg)
{
    struct sim_evidence *evidence = arg;
    const struct db_node_row *from = row;
    const struct db_verdict_filter open = {.node_id = from->node.id, .state = VERDICT_STATE_OPEN, .limit = 1000};
    const struct db_operation_filter newest = {.node_id = from->node.id, .state = -1, .limit = 1};
    evidence->row = from->node;
    evidence->instance = from->instance;
    evidence->decision = (struct decision){0};
    evidence->newest = (struct operation){0};
    bool rests = from->node.state == NODE_STATE_READY || from->node.state == NODE_STATE_HELD;
    if (!rests || from->is_busy)
        return 0;
    (void)db_decision_last(evidence->tx, from->node.id, &evidence->decision);
    assert_true(db_operation_list(evidence->tx, &newest, sim_take_operation, &evidence->newest) >= 0);
    return db_verdict_list(evidence->tx, &open, sim_evidence_verdict, evidence);
}

/* After sim_run. While the store takes no writes nothing is at rest. */
SIM_FN void sim_check_evidence(struct sim *sim)
{
    struct sim_evidence evidence = {.sim = sim};
    const struct db_node_filter all = {.state = -1, .health = -1};
    if (sim->reconcile->paused_until > clock_wall_ms(&sim->clock))
        return;
    assert_int_equal(db_read_begin(sim->service.db, &evidence.tx), 0);
    assert_int_equal(db_node_list(evidence.tx, &all, sim_evidence_node, &evidence), 0);
    db_read_end(sim->service.db, evidence.tx);
}

#endif
