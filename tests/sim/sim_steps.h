/*
 * Laws that are asked after each step (sim.more_laws): what was acknowledged is there, what was taken out of scheduling has a reason
 * to be out, and nobody's jobs and no device is acted on twice for one operation.
 */
#ifndef HOLDFAST_TESTS_SIM_SIM_STEPS_H
#define HOLDFAST_TESTS_SIM_SIM_STEPS_H

#include "db/operation.h"
#include "db/verdict.h"
#include "tests/sim/sim_acts.h"

#define SIM_RELEASE_MAX_MS \
    (3 * MS_PER_MIN) /* a mark that nothing explains goes within this, while the scheduler answers */

/* What these laws ask of every node at every step. Reading all that sim_read reads took half of a world's time. */
struct sim_step_rows {
    struct sim *sim;
    struct sim_step_row {
        int64_t id, instance_row;
        enum node_state state;
    } of[FAKE_NODES_MAX]; /* as the scheduler's nodes */
};

SIM_FN int sim_step_row(const void *row, void *arg)
{
    struct sim_step_rows *rows = arg;
    const struct node *node = &((const struct db_node_row *)row)->node;
    const struct fake_scheduler_node *there = fake_scheduler_find(&rows->sim->scheduler, node->name);
    assert_non_null(there);
    rows->of[there - rows->sim->scheduler.nodes] =
        (struct sim_step_row){.id = node->id, .instance_row = node->instance_row, .state = node->state};
    return 0;
}

SIM_FN void sim_step_rows_read(struct sim *sim, struct db_tx *tx, struct sim_step_rows *rows)
{
    struct db_node_filter of_cluster = {.state = -1, .health = -1};
    struct cluster cluster;
    rows->sim = sim;
    assert_int_equal(db_cluster_get(tx, SIM_CLUSTER, &cluster), 0);
    of_cluster.cluster_id = cluster.id;
    assert_int_equal(db_node_list(tx, &of_cluster, sim_step_row, rows), 0);
}

/* --- nothing is lost ----------------------------------------------------------------------------- */

SIM_FN int sim_count_row(const void *row, void *arg)
{
    (void)row;
    ++*(int *)arg;
    return 0;
}

/* Each that an agent was told is durable. */
SIM_FN void sim_law_verdicts_of(struct sim *sim, struct db_tx *tx, const char *name)
{
    struct sim_reading reading = sim_read(sim, name);
    const struct db_verdict_filter filter = {.node_id = reading.row.id, .state = -1};
    int stored = 0, acked = 0;
    assert_int_equal(db_verdict_list(tx, &filter, sim_count_row, &stored), 0);
    for (int i = 0; i < sim->spooled; i++)
        acked += (sim->spool[i].acked || sim->spool[i].was_acked) && strcmp(sim->spool[i].node, name) == 0;
    if (stored < acked)
        sim_fail(sim, name, "%d verdicts were acknowledged, %d are there", acked, stored);
}

/* Nodes with a new one at once; after a crash all of them, because that is when the store may have forgotten. */
SIM_FN void sim_law_verdicts(struct sim *sim, struct db_tx *tx)
{
    struct sim_steps *steps = &sim->steps;
    bool crashed = steps->crashes != sim->crashes;
    steps->crashes = sim->crashes;
    for (int n = 0; n < sim->scheduler.count; n++) {
        const char *name = sim->scheduler.nodes[n].name;
        int acked = 0;
        for (int i = 0; i < sim->spooled; i++)
            acked += (sim->spool[i].acked || sim->spool[i].was_acked) && strcmp(sim->spool[i].node, name) == 0;
        if (crashed || acked != steps->nodes[n].acked)
            sim_law_verdicts_of(sim, tx, name);
        steps->nodes[n].acked = acked;
    }
}

/* --- nothing twice -------------------------------------------------------------------------------- */

/* The node's operation that its jobs are taken away for: the newest whose drain has begun. */
SIM_FN int sim_draining(const void *row, void *arg)
{
    const struct operation *op = row;
    for (int i = 0; i < op->step_count; i++)
        if (op->steps[i].kind == STEP_KIND_DRAIN && op->steps[i].state != STEP_STATE_WAITING) {
            *(struct operation *)arg = *op;
            return 1;
        }
    return 0;
}

/* Jobs are told to go once for one operation; again only where nobody knows whether they were told. */
SIM_FN void sim_law_evictions(struct sim *sim, struct db_tx *tx, int n)
{
    struct sim_step_node *seen = &sim->steps.nodes[n];
    const struct fake_scheduler_node *there = &sim->scheduler.nodes[n];
    if (there->evictions == seen->evictions)
        return;
    autofree struct operation *op = own_calloc(1, sizeof(*op));
    const struct db_operation_filter of_node = {.node_id = sim_read(sim, there->name).row.id, .state = -1};
    assert_true(db_operation_list(tx, &of_node, sim_draining, op) >= 0);
    if (op->id == 0)
        sim_fail(sim, there->name, "the jobs were told to go and no operation has drained it");
    if (!sim_is_decided(tx, op))
        sim_fail(sim, there->name, "the jobs were told to go for %s, which nobody decided", op->uid);
    if (op->id != seen->operation) {
        seen->operation = op->id;
        seen->evictions_before = seen->evictions;
        seen->unsure_before = seen->unsure;
        seen->crashes_before = seen->crashes;
    }
    seen->evictions = there->evictions;
    seen->unsure = there->evictions_unsure;
    seen->crashes = sim->crashes;
    int told = there->evictions - seen->evictions_before, unsure = there->evictions_unsure - seen->unsure_before;
    if (told > 1 + unsure + sim->crashes - seen->crashes_before)
        sim_fail(sim, there->name, "the jobs were told %d times to go for one operation", told);
}

/* A signal is written down before it is sent: once for one operation, whatever dies in between. */
SIM_FN void sim_law_signals(struct sim *sim, struct db_tx *tx, int n)
{
    struct sim_step_node *seen = &sim->steps.nodes[n];
    const struct fake_scheduler_node *there = &sim->scheduler.nodes[n];
    for (int job = 0; job < FAKE_JOBS_MAX; job++) {
        if (there->signals[job] == seen->signals[job])
            continue;
        autofree struct operation *op = own_calloc(1, sizeof(*op));
        const struct db_operation_filter of_node = {.node_id = sim_read(sim, there->name).row.id, .state = -1};
        assert_true(db_operation_list(tx, &of_node, sim_draining, op) >= 0);
        if (op->id == 0)
            sim_fail(sim, there->name, "a job was sent a signal and no operation has drained the node");
        if (there->signals[job] > seen->signals[job] + 1 || op->id == seen->signalled_for[job])
            sim_fail(sim, there->name, "job %d was sent a signal twice for one operation", 100 + job);
        seen->signals[job] = there->signals[job];
        seen->signalled_for[job] = op->id;
    }
}

/* A device is reset for one operation once, and for one that was decided or asked for. */
SIM_FN void sim_law_resets(struct sim *sim, struct db_tx *tx)
{
    for (; sim->steps.resets < sim->reset_count; sim->steps.resets++) {
        autofree struct operation *op = own_calloc(1, sizeof(*op));
        const char *key = sim->reset_keys[sim->steps.resets];
        if (db_operation_get(tx, key, op) != 0 || op->kind != OPERATION_KIND_RESET)
            sim_fail(sim, NULL, "a device was reset for %s, which is no such operation", key);
        if (!sim_is_decided(tx, op))
            sim_fail(sim, NULL, "a device was reset for %s, which nobody decided", key);
        for (int i = 0; i < sim->steps.resets; i++)
            if (strcmp(sim->reset_keys[i], key) == 0)
                sim_fail(sim, NULL, "a device was reset twice for %s", key);
    }
}

/* --- what is drained is released -------------------------------------------------------------------- */

/* Our mark on a node in service, with nothing at work, is one that was forgotten, unless it goes soon. */
SIM_FN void sim_law_release(struct sim *sim, struct db_tx *tx, const struct sim_step_row *row, int n)
{
    struct sim_step_node *seen = &sim->steps.nodes[n];
    const struct fake_scheduler_node *there = &sim->scheduler.nodes[n];
    bool ours = there->out && !there->by_itself && strcmp(there->user, "holdfast") == 0;
    int64_t now = clock_mono_ms(&sim->clock);
    struct operation active;
    bool left = ours && !sim->scheduler.down && row->state == NODE_STATE_READY &&
                db_operation_active(tx, row->id, &active) == STATUS_NOT_FOUND;
    if (!left)
        seen->left_since = 0;
    else if (seen->left_since == 0)
        seen->left_since = now;
    else if (now - seen->left_since > SIM_RELEASE_MAX_MS)
        sim_fail(sim, there->name, "it is in service and drained by us for %d s, and nothing is at work on it: %s",
                 (int)((now - seen->left_since) / MS_PER_S), there->reason);
}

/* --- a person's turn --------------------------------------------------------------------------------- */

/* A person released the node, or tried to. */
SIM_FN void sim_person_released(struct sim *sim, const char *name)
{
    for (int n = 0; n < sim->scheduler.count; n++)
        if (strcmp(sim->scheduler.nodes[n].name, name) == 0) {
            sim->steps.nodes[n].person_row = 0;
            sim->steps.nodes[n].released = true;
        }
}

/* What was left to a person comes back by that person's word or as another machine, whatever boots and whoever dies. */
SIM_FN void sim_law_person(struct sim *sim, const struct sim_step_row *row, int n)
{
    struct sim_step_node *seen = &sim->steps.nodes[n];
    const char *name = sim->scheduler.nodes[n].name;
    bool left = false;
    if (row->state == NODE_STATE_HELD) {
        struct sim_reading reading = sim_read(sim, name);
        const struct decision *d = &reading.decision;
        left = d->id != 0 && d->action == ACTION_SUPPORT && d->rule == RULE_SUPPORT_NEEDED &&
               reading.operation.finished_at <= d->at;
    }
    seen->released = seen->released && row->state == NODE_STATE_HELD;
    if (seen->person_row != 0 && seen->person_row != row->instance_row)
        seen->person_row = 0;
    if (left && !seen->released)
        seen->person_row = row->instance_row;
    if (seen->person_row != 0 && row->state == NODE_STATE_READY)
        sim_fail(sim, name, "it waited for a person, who has not released it, and is in service");
}

/* --- a maintenance ------------------------------------------------------------------------------------ */
#define SIM_MAINTENANCE_KNOWN_MS (15 * MS_PER_MIN) /* as long as it may take to see it, with calls that fail or hang */

/* People work on the machine: nothing that the policy repairs is repaired meanwhile. */
SIM_FN void sim_law_maintenance(struct sim *sim, int n, bool crashed)
{
    struct sim_step_node *seen = &sim->steps.nodes[n];
    const struct fake_scheduler_node *there = &sim->scheduler.nodes[n];
    int64_t now = clock_mono_ms(&sim->clock);
    if (!there->maintenance || sim->scheduler.down || crashed) {
        seen->maintenance_since = seen->maintenance_op = 0;
        return;
    }
    seen->maintenance_since = seen->maintenance_since == 0 ? now : seen->maintenance_since;
    if (now - seen->maintenance_since < SIM_MAINTENANCE_KNOWN_MS)
        return;
    struct sim_reading reading = sim_read(sim, there->name);
    const struct operation *op = &reading.operation;
    bool begun = seen->maintenance_op != 0 && op->id > seen->maintenance_op;
    if (begun && operation_is_repair(op->kind) && strcmp(op->actor, "policy") == 0)
        sim_fail(sim, there->name, "a %s for %s begins while people work on it", operation_kind_text(op->kind),
                 op->code);
    seen->maintenance_op = op->id > 0 ? op->id : 1;
}

SIM_FN void sim_law_steps(struct sim *sim, struct db_tx *tx)
{
    bool crashed = sim->steps.crashes != sim->crashes;
    struct sim_step_rows rows = {0};
    sim_step_rows_read(sim, tx, &rows);
    sim_law_verdicts(sim, tx);
    sim_law_resets(sim, tx);
    for (int n = 0; n < sim->scheduler.count; n++) {
        assert_true(rows.of[n].id > 0);
        sim_law_evictions(sim, tx, n);
        sim_law_signals(sim, tx, n);
        sim_law_release(sim, tx, &rows.of[n], n);
        sim_law_person(sim, &rows.of[n], n);
        sim_law_maintenance(sim, n, crashed);
    }
}

#endif
