/*
 * Laws of what a policy lets be done, for random worlds (sim.more_laws): nothing where a mode only observes, nothing where it
 * asks before a person's approval, no second reboot of a machine on probation, nothing done to one node for what a whole place has.
 * Each new repair of the policy's is looked at once, in the turn that begins it.
 */
#ifndef HOLDFAST_TESTS_SIM_SIM_MODES_H
#define HOLDFAST_TESTS_SIM_SIM_MODES_H

#include "db/approval.h"
#include "db/cluster.h"
#include "db/incident.h"
#include "db/operation.h"
#include "tests/sim/sim_world.h"

struct sim_repair_law {
    struct sim *sim;
    struct db_tx *tx;
    const struct operation *op; /* that is looked at */
    int64_t newest;
};

SIM_FN void sim_law_mode(struct sim *sim, struct db_tx *tx, const struct operation *op)
{
    struct decision decision;
    struct approval approval = {0};
    assert_int_equal(db_decision_get_row(tx, op->decision_id, &decision), 0);
    enum repair_mode mode = sim->settings.policy.modes[decision.fault];
    if (mode == REPAIR_MODE_OBSERVE || mode == REPAIR_MODE_RECOMMEND)
        sim_fail(sim, NULL, "operation %s for %s began although the mode of %s faults is %s", op->uid, op->code,
                 fault_class_text(decision.fault), repair_mode_text(mode));
    if (mode != REPAIR_MODE_APPROVE)
        return;
    bool asked = db_approval_get(tx, op->uid, &approval) == 0;
    bool same = asked && approval.node_id == op->node_id && approval.action == decision.action;
    if (!same || approval.answered_by[0] == '\0' || approval.state == APPROVAL_STATE_REJECTED)
        sim_fail(sim, NULL, "operation %s for %s began without an approval (%s)", op->uid, op->code,
                 asked ? approval_state_text(approval.state) : "nobody was asked");
}

/* Of what came before on the node: a repair that put this very machine on probation for the same kind of fault, and that was no
 * weaker than this one. */
SIM_FN int sim_law_past(const void *row, void *arg)
{
    const struct sim_repair_law *law = arg;
    const struct operation *earlier = row, *op = law->op;
    const char *machine = earlier->kind == OPERATION_KIND_REPLACE ? earlier->new_instance : earlier->old_instance;
    bool weaker = earlier->kind == OPERATION_KIND_RESET && op->kind != OPERATION_KIND_RESET;
    bool repair = operation_is_repair(earlier->kind) && !weaker;
    enum fault_class now = policy_repair_class(op->code), then = policy_repair_class(earlier->code);
    bool counts = repair && earlier->id < op->id && earlier->state == OPERATION_STATE_SUCCEEDED &&
                  strcmp(earlier->actor, "policy") == 0 && strcmp(machine, op->old_instance) == 0 &&
                  earlier->finished_at <= op->created_at &&
                  op->created_at - earlier->finished_at < law->sim->settings.policy.probation_ms;
    if (counts && now == then && now != FAULT_CLASS_UNKNOWN)
        sim_fail(law->sim, NULL, "%s gets a %s for %s on probation after the %s for %s", machine,
                 operation_kind_text(op->kind), op->code, operation_kind_text(earlier->kind), earlier->code);
    return 0;
}

SIM_FN int sim_law_incident_node(const void *row, void *arg)
{
    const struct sim_repair_law *law = arg;
    const struct incident_node *node = row;
    if (node->node_id == law->op->node_id && node->back_at == 0 && node->since < law->op->created_at)
        sim_fail(law->sim, node->name, "%s is repaired by itself for what incident %" PRId64 " is", node->name,
                 node->incident_id);
    return 0;
}

SIM_FN int sim_law_incident(const void *row, void *arg)
{
    const struct sim_repair_law *law = arg;
    return db_incident_node_list(law->tx, ((const struct shared_incident *)row)->id, sim_law_incident_node, arg);
}

/* A pause comes between two turns: what is new after a turn began in it. */
SIM_FN void sim_law_pause(struct sim *sim, struct db_tx *tx, const struct operation *op)
{
    struct cluster cluster;
    if (strcmp(op->actor, "policy") != 0 || db_cluster_get_row(tx, op->cluster_id, &cluster) != 0)
        return;
    if (cluster.paused_at > 0)
        sim_fail(sim, NULL, "a %s begins by itself in a paused cluster", operation_kind_text(op->kind));
}

SIM_FN int sim_law_repair(const void *row, void *arg)
{
    struct sim_repair_law *law = arg;
    const struct operation *op = law->op = row;
    if (op->id <= law->sim->repairs_checked)
        return 1;
    law->newest = op->id > law->newest ? op->id : law->newest;
    sim_law_pause(law->sim, law->tx, op);
    bool repair = operation_is_repair(op->kind);
    if (!repair || strcmp(op->actor, "policy") != 0)
        return 0;
    const struct db_operation_filter of_node = {.node_id = op->node_id, .state = -1};
    const struct db_incident_filter open = {.open_only = true};
    sim_law_mode(law->sim, law->tx, op);
    if (op->kind != OPERATION_KIND_REPLACE)
        assert_int_equal(db_operation_list(law->tx, &of_node, sim_law_past, law), 0);
    if (strcmp(op->code, "unreachable") == 0)
        assert_int_equal(db_incident_list(law->tx, &open, sim_law_incident, law), 0);
    return 0;
}

SIM_FN void sim_law_repairs(struct sim *sim, struct db_tx *tx)
{
    struct sim_repair_law law = {.sim = sim, .tx = tx, .newest = sim->repairs_checked};
    const struct db_operation_filter newest_first = {.state = -1};
    assert_true(db_operation_list(tx, &newest_first, sim_law_repair, &law) >= 0);
    sim->repairs_checked = law.newest;
}

#endif
