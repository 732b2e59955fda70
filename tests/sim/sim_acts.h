/* A law for worlds in which no slot is deleted (sim.more_laws): what a provider did follows from what is recorded. */
#ifndef HOLDFAST_TESTS_SIM_SIM_ACTS_H
#define HOLDFAST_TESTS_SIM_SIM_ACTS_H

#include "db/node.h"
#include "db/operation.h"
#include "db/verdict.h"
#include "tests/sim/sim_world.h"

/* "reboot/UID", "reboot/UID/TRY", "launch/UID", "terminate/INSTANCE": what a provider did follows from an operation of that kind, and that from a
 * decision to do it, or from a person. */
SIM_FN int sim_ended_instance(const void *row, void *arg)
{
    struct operation *op = arg;
    const struct operation *seen = row;
    if (strcmp(seen->old_instance, op->old_instance) != 0 && strcmp(seen->new_instance, op->old_instance) != 0)
        return 0;
    *op = *seen;
    return 1;
}

SIM_FN bool sim_is_decided(struct db_tx *tx, const struct operation *op)
{
    struct decision decision;
    if (strcmp(op->actor, "policy") != 0 || !operation_is_repair(op->kind))
        return true;
    return db_decision_get_row(tx, op->decision_id, &decision) == 0 && decision.node_id == op->node_id &&
           decision.action == (op->kind == OPERATION_KIND_RESET    ? ACTION_RESET
                               : op->kind == OPERATION_KIND_REBOOT ? ACTION_REBOOT
                                                                   : ACTION_REPLACE);
}

SIM_FN void sim_law_act(struct sim *sim, struct db_tx *tx, const char *key)
{
    struct operation op = {0};
    struct instance instance;
    char what[KEY_MAX_BYTES];
    snprintf(what, sizeof(what), "%s", strchr(key, '/') + 1);
    what[strcspn(what, "/")] = '\0';
    bool known = false;
    if (text_starts_with(key, "terminate/")) {
        const struct fake_instance *ended = fake_provider_find(&sim->provider, what);
        const struct db_operation_filter of_node = {.node_id = ended->node_row, .state = -1};
        text_copy_cut(op.old_instance, sizeof(op.old_instance), what);
        /* what never enrolled is known by the key it was launched with alone */
        known = ended->node_row == 0 ? db_instance_by_key(tx, ended->key, &instance) == 0
                                     : db_operation_list(tx, &of_node, sim_ended_instance, &op) >= 0 && op.id != 0;
    } else {
        known = db_operation_get(tx, what, &op) == 0;
    }
    if (!known)
        sim_fail(sim, NULL, "%s was done and no operation asked for it", key);
    if (op.id != 0 && !sim_is_decided(tx, &op))
        sim_fail(sim, NULL, "%s was done and nobody decided it", key);
}

SIM_FN void sim_law_acts(struct sim *sim, struct db_tx *tx)
{
    for (; sim->keys_checked < sim->provider.key_count; sim->keys_checked++)
        sim_law_act(sim, tx, sim->provider.keys[sim->keys_checked]);
}

#endif
