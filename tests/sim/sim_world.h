/*
 * A whole control plane on a clock that the test owns: the real store, service, fleet, policy and reconcile loop; a fake
 * scheduler, a fake provider, and fake agents that enrol, beat and report through the service as real ones do. Hours pass in
 * milliseconds, and everything that happens by chance comes from one seed.
 *
 * sim_crash drops all memory and opens the same store again, as a process that was killed would. What the law of the house
 * says must hold at any time is checked after every turn (sim_check).
 */
#ifndef HOLDFAST_TESTS_SIM_SIM_WORLD_H
#define HOLDFAST_TESTS_SIM_SIM_WORLD_H

#include "db/cluster.h"
#include "db/intern.h"
#include "db/node.h"
#include "db/operation.h"
#include "model/model.h"
#include "server/service/access/access.h"
#include "server/service/agent/agent.h"
#include "server/service/cluster/cluster.h"
#include "server/service/node/check.h"
#include "tests/sim/sim_base.h"

/* --- what must hold at any time ---------------------------------------------------------------- */

struct sim_law {
    struct sim *sim;
    int64_t nodes[SIM_ACTIVE_MAX];
    int count, automatic;
    int64_t other; /* the cluster of the second scheduler, which has its own budgets; 0: there is none */
    int automatic_of[FAULT_CLASS_COUNT];
    unsigned changes; /* kinds of open operations of the cluster */
    struct db_tx *tx;
};

SIM_FN int sim_law_operation(const void *row, void *arg)
{
    struct sim_law *law = arg;
    const struct operation *op = row;
    if (operation_is_of_cluster(op->kind)) {
        assert_true(op->node_id == 0 && op->step_count == 0 && op->cluster_id > 0);
        law->changes |= 1U << op->kind;
        return 0;
    }
    for (int i = 0; i < law->count; i++)
        if (law->nodes[i] == op->node_id)
            sim_fail(law->sim, NULL, "node %" PRId64 " has two active operations", op->node_id);
    assert_true(law->count < SIM_ACTIVE_MAX);
    law->nodes[law->count++] = op->node_id;
    bool repair = operation_is_repair(op->kind);
    bool automatic = repair && strcmp(op->actor, "policy") == 0;
    struct node node;
    assert_int_equal(db_node_get_row(law->tx, op->node_id, &node), 0);
    if (node.cluster_id != law->other) {
        law->automatic += automatic;
        law->automatic_of[policy_repair_class(op->code)] += automatic;
    }
    if (automatic && op->created_at == clock_wall_ms(&law->sim->clock) &&
        law->sim->settings.policy.any_time[policy_repair_class(op->code)] == 0 &&
        policy_windows_hold(&law->sim->settings.policy.not_during, op->created_at))
        sim_fail(law->sim, node.name, "a repair of %s begins in hours in which none may", node.name);
    if (automatic && node.opted_out && op->created_at == clock_wall_ms(&law->sim->clock))
        sim_fail(law->sim, node.name, "%s is repaired although a person opted it out", node.name);
    int running = 0;
    for (int i = 0; i < op->step_count; i++)
        running += op->steps[i].state == STEP_STATE_RUNNING;
    if (running > 1)
        sim_fail(law->sim, NULL, "operation %s has %d steps in flight", op->uid, running);
    return 0;
}

SIM_FN int sim_law_node(const void *row, void *arg)
{
    struct sim_law *law = arg;
    const struct node *node = &((const struct db_node_row *)row)->node;
    bool busy = false;
    for (int i = 0; i < law->count; i++)
        busy = busy || law->nodes[i] == node->id;
    bool needs_one = node->state == NODE_STATE_REPAIRING || node->state == NODE_STATE_STARTING ||
                     node->state == NODE_STATE_VERIFYING;
    if (needs_one && !busy)
        sim_fail(law->sim, node->name, "%s is %s and nothing is at work on it", node->name,
                 node_state_text(node->state));
    if ((node->state == NODE_STATE_FAILED || node->state == NODE_STATE_HELD) && node->reason[0] == '\0')
        sim_fail(law->sim, node->name, "%s is %s without a reason", node->name, node_state_text(node->state));
    return 0;
}

/* Whatever a cluster is on its way to, an operation tells of it. */
SIM_FN int sim_law_cluster(const void *row, void *arg)
{
    struct sim_law *law = arg;
    const struct cluster *cluster = row;
    const unsigned creates = 1U << OPERATION_KIND_CREATE_CLUSTER, updates = 1U << OPERATION_KIND_UPDATE_CLUSTER;
    const unsigned needs = cluster->state == CLUSTER_STATE_CREATING          ? creates
                           : cluster->state == CLUSTER_STATE_UPDATING        ? updates
                           : cluster->state == CLUSTER_STATE_ROLLING_BACK    ? creates | updates
                           : cluster->state == CLUSTER_STATE_SYSTEM_UPDATING ? 1U << OPERATION_KIND_UPDATE_SOFTWARE
                           : cluster->state == CLUSTER_STATE_DELETING        ? 1U << OPERATION_KIND_DELETE_CLUSTER
                                                                             : 0;
    if (needs != 0 && (law->changes & needs) == 0)
        sim_fail(law->sim, NULL, "%s is %s and no operation says so", cluster->name,
                 cluster_state_text(cluster->state));
    return 0;
}

SIM_FN int sim_budget(const struct sim *sim, int percent, int max)
{
    int budget = sim->nodes * percent / 100;
    budget = budget < 1 ? 1 : budget;
    return max > 0 && budget > max ? max : budget;
}

SIM_FN void sim_law_budgets(struct sim *sim, const struct sim_law *law)
{
    const struct policy_settings *policy = &sim->settings.policy;
    int budget = sim_budget(sim, policy->budget_percent, policy->budget_max);
    if (law->automatic > budget)
        sim_fail(sim, NULL, "%d automatic repairs at once, the budget is %d", law->automatic, budget);
    for (int fault = 0; fault < FAULT_CLASS_COUNT; fault++) {
        budget = sim_budget(sim, policy->class_budget_percent[fault], policy->class_budget_max[fault]);
        if (law->automatic_of[fault] > budget)
            sim_fail(sim, NULL, "%d automatic repairs for %s faults at once, their budget is %d",
                     law->automatic_of[fault], fault_class_text((enum fault_class)fault), budget);
    }
}

/* At most one operation per node, one step at a time, the budget, no node in repair that nobody repairs, no change of a cluster
 * that could not be watched. */
SIM_FN void sim_check(struct sim *sim)
{
    struct sim_law law = {.sim = sim};
    const struct db_operation_filter active = {.state = -1, .active_only = true};
    const struct db_node_filter all = {.state = -1, .health = -1};
    struct cluster other;
    assert_int_equal(db_read_begin(sim->service.db, &law.tx), 0);
    if (sim->other_nodes > 0 && db_cluster_get(law.tx, SIM_OTHER, &other) == 0)
        law.other = other.id;
    assert_int_equal(db_operation_list(law.tx, &active, sim_law_operation, &law), 0);
    assert_int_equal(db_node_list(law.tx, &all, sim_law_node, &law), 0);
    assert_int_equal(db_cluster_list(law.tx, "", 0, sim_law_cluster, &law), 0);
    if (sim->more_laws != NULL)
        sim->more_laws(sim, law.tx);
    db_read_end(sim->service.db, law.tx);
    sim_law_budgets(sim, &law);
}

/* An agent is asked for nothing that is not on disk as begun. */
SIM_FN void sim_law_task(struct sim *sim, const struct fake_instance *instance, const char *key)
{
    struct db_tx *tx = NULL;
    struct operation op = {0};
    bool begun = false;
    char uid[KEY_MAX_BYTES]; /* of a reboot the key has the number of the try, too */
    snprintf(uid, sizeof(uid), "%.*s", (int)strcspn(key, "/"), key);
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    int status = db_operation_get(tx, uid, &op);
    db_read_end(sim->service.db, tx);
    const struct reboot_try *last = op.try_count > 0 ? &op.tries[op.try_count - 1] : NULL;
    char expected[KEY_MAX_BYTES];
    reboot_key(uid, last != NULL ? last->number : 0, expected);
    begun = last != NULL && last->method == REBOOT_METHOD_AGENT && last->outcome == REBOOT_OUTCOME_RUNNING &&
            text_equal(key, expected);
    for (int i = 0; status == 0 && i < op.step_count; i++)
        begun = begun || (op.steps[i].state == STEP_STATE_RUNNING &&
                          (op.steps[i].kind == STEP_KIND_PREPARE || op.steps[i].kind == STEP_KIND_CHECK ||
                           op.steps[i].kind == STEP_KIND_RESET));
    if (!begun)
        sim_fail(sim, instance->node, "the agent of %s is asked for a step that is not stored as begun",
                 instance->node);
}

/* --- agents ------------------------------------------------------------------------------------ */

SIM_FN void sim_agent_enroll(struct sim *sim, struct fake_instance *instance)
{
    struct service_enrollment enrollment = {0};
    struct problem problem;
    snprintf(enrollment.instance_id, sizeof(enrollment.instance_id), "%s", instance->id);
    snprintf(enrollment.boot_id, sizeof(enrollment.boot_id), "%s", instance->boot_id);
    char credential[SERVICE_TOKEN_TEXT_MAX];
    if (service_agent_enroll(&sim->service, instance->token, &enrollment, &instance->node_row, credential, &problem) ==
        0)
        snprintf(instance->credential, sizeof(instance->credential), "%s", credential);
}

SIM_FN bool sim_agent_may_speak(struct sim *sim, struct fake_instance *instance)
{
    int64_t row;
    if (instance->credential[0] == '\0')
        return false;
    if (service_agent_authenticate(&sim->service, instance->credential, strlen(instance->credential), &row) == 0)
        return true;
    instance->credential[0] = '\0'; /* 401: it enrols again if it has a token */
    return false;
}

/* Runs what is asked for as an agent with one script would, one attempt with each heartbeat. */
SIM_FN void sim_agent_work(struct sim *sim, struct fake_instance *instance)
{
    struct lifecycle_job job;
    struct problem problem;
    autofree char *resources = NULL;
    if (service_agent_work(&sim->service, instance->node_row, "10.0.0.1", &job, &resources, &problem) != 0)
        return;
    struct lifecycle_report report = {.state = SCRIPT_STATE_STARTED};
    snprintf(report.key, sizeof(report.key), "%s", job.key);
    snprintf(report.script, sizeof(report.script), "%s", job.scripts[0]);
    if (!instance->scripts_done) {
        report.attempt = ++instance->scripts_run;
        (void)service_agent_report_work(&sim->service, instance->node_row, &report, "", &problem);
        if (sim->scripts_stall)
            return;
        instance->scripts_done = instance->scripts_run > sim->scripts_fail;
    }
    report.attempt = instance->scripts_run;
    report.state = instance->scripts_done ? SCRIPT_STATE_SUCCEEDED : SCRIPT_STATE_FAILED;
    report.final = instance->scripts_done || instance->scripts_run >= job.attempts_max;
    if (report.state == SCRIPT_STATE_FAILED)
        snprintf(report.detail, sizeof(report.detail), "%.100s ended with exit code 3; log /x/lifecycle.log",
                 job.scripts[0]);
    (void)service_agent_report_work(&sim->service, instance->node_row, &report, "no such device", &problem);
}

/* One report with each heartbeat: the test runs, its result, and that this was all. */
SIM_FN void sim_agent_check(struct sim *sim, struct fake_instance *instance)
{
    static const enum deep_state results[] = {[SIM_DEEP_PASSES] = DEEP_STATE_PASSED,
                                              [SIM_DEEP_FAILS] = DEEP_STATE_FAILED,
                                              [SIM_DEEP_SKIPS] = DEEP_STATE_SKIPPED,
                                              [SIM_DEEP_STALLS] = DEEP_STATE_RUNNING};
    struct deep_job job;
    struct problem problem;
    if (service_agent_check(&sim->service, instance->node_row, &job, &problem) != 0)
        return;
    if (strcmp(job.key, instance->deep_key) != 0) {
        snprintf(instance->deep_key, sizeof(instance->deep_key), "%s", job.key);
        instance->deep_runs++;
        instance->deep_said = 0;
    }
    autofree struct deep_report *report = own_calloc(1, sizeof(*report));
    *report = (struct deep_report){.final = instance->deep_said == 2, .total = 1};
    report->test = (struct deep_test){.ordinal = 1,
                                      .name = "HARDWARE_CHECK",
                                      .state = instance->deep_said == 0 ? DEEP_STATE_RUNNING : results[sim->deep],
                                      .detail = "because"};
    snprintf(report->key, sizeof(report->key), "%s", job.key);
    int status = service_agent_report_check(&sim->service, instance->node_row, report, &problem);
    if (status == 0 && instance->deep_said < 2 && (instance->deep_said == 0 || sim->deep != SIM_DEEP_STALLS))
        instance->deep_said++; /* the last word is repeated for as long as it is asked for */
}

SIM_FN void sim_agent_machine(struct sim *sim, const struct fake_instance *instance)
{
    struct problem problem;
    autofree struct machine_report *report = own_calloc(1, sizeof(*report));
    *report = (struct machine_report){.hardware_known = true, .check_count = 2};
    snprintf(report->instance_id, sizeof(report->instance_id), "%s", instance->id);
    snprintf(report->boot_id, sizeof(report->boot_id), "%s", instance->boot_id);
    report->checks[0] = (struct check_state){.name = "kmsg", .has_run = true};
    report->checks[1] =
        (struct check_state){.name = "nvidia", .has_run = sim->nvidia_has_run, .result = sim->nvidia, .why = "because"};
    if (sim->gpu != NULL) {
        report->hardware[report->hardware_count++] =
            (struct hardware){.kind = HARDWARE_KIND_GPU, .location = "0000:b9:00"};
        snprintf(report->hardware[0].identity, sizeof(report->hardware[0].identity), "%s", sim->gpu);
    }
    (void)service_agent_machine(&sim->service, instance->node_row, report, &problem);
}

/* What it did under one key it keeps on its disk: whoever asks again hears the same, and nothing is reset twice. */
SIM_FN void sim_agent_reset(struct sim *sim, struct fake_instance *instance)
{
    struct reset_job job;
    struct problem problem;
    if (service_agent_reset(&sim->service, instance->node_row, &job) != 0 || strcmp(job.instance_id, instance->id) != 0)
        return;
    struct lifecycle_report report = {.state = SCRIPT_STATE_STARTED, .exit_code = -1};
    snprintf(report.key, sizeof(report.key), "%s", job.key);
    if (strcmp(instance->reset_key, job.key) != 0) {
        if (service_agent_report_work(&sim->service, instance->node_row, &report, "", &problem) != 0)
            return;
        snprintf(instance->reset_key, sizeof(instance->reset_key), "%s", job.key);
        instance->resets++;
        assert_true(sim->reset_count < SIM_RESETS_MAX);
        snprintf(sim->reset_keys[sim->reset_count++], KEY_MAX_BYTES, "%s", job.key);
        instance->reset_failed = sim->resets == SIM_RESETS_FAIL;
        instance->reset_ended_at = clock_wall_ms(&sim->clock);
        if (sim->resets == SIM_RESETS_TOLD_LATE)
            return;
    }
    if (sim->resets == SIM_RESETS_STALL)
        return;
    report.ended_at = instance->reset_ended_at;
    report.sent_at = clock_wall_ms(&sim->clock);
    report.state = instance->reset_failed ? SCRIPT_STATE_FAILED : SCRIPT_STATE_SUCCEEDED;
    report.final = true;
    if (instance->reset_failed)
        snprintf(report.detail, sizeof(report.detail), "In use by another client");
    (void)service_agent_report_work(&sim->service, instance->node_row, &report, "", &problem);
}

/* Its disk outlives the boot: what it began under a key it does not begin again. */
SIM_FN void sim_agent_reboot(struct sim *sim, struct fake_instance *instance)
{
    struct reboot_job job;
    struct problem problem;
    if (service_agent_reboot(&sim->service, instance->node_row, &job) != 0 ||
        strcmp(job.instance_id, instance->id) != 0 || strcmp(job.boot_id, instance->boot_id) != 0)
        return;
    bool warned = strcmp(job.key, instance->reboot_key) == 0;
    if (warned && !sim->agents_warn_first)
        return;
    struct lifecycle_report report = {.state = SCRIPT_STATE_STARTED, .exit_code = -1, .attempt = job.attempt};
    snprintf(report.key, sizeof(report.key), "%s", job.key);
    if (service_agent_report_work(&sim->service, instance->node_row, &report, "", &problem) != 0)
        return;
    snprintf(instance->reboot_key, sizeof(instance->reboot_key), "%s", job.key);
    if (sim->agents_warn_first && !warned)
        return;
    sim->agent_reboots++;
    fake_instance_boot(&sim->provider, instance);
}

/* It enrols in one breath and beats in the next. */
SIM_FN void sim_agent_beat(struct sim *sim, struct fake_instance *instance)
{
    if (!sim_agent_may_speak(sim, instance)) {
        sim_agent_enroll(sim, instance);
        return;
    }
    struct problem problem;
    struct fleet_heartbeat beat = {
        .seq = ++instance->seq, .sent_at = clock_wall_ms(&sim->clock), .checks = FLEET_CHECK_KMSG};
    char work[KEY_MAX_BYTES];
    snprintf(beat.address, sizeof(beat.address), "%s", instance->address);
    if (!sim->agents_know_nothing)
        beat.checks |= FLEET_RUNS_LIFECYCLE;
    snprintf(beat.instance_id, sizeof(beat.instance_id), "%s", instance->id);
    snprintf(beat.boot_id, sizeof(beat.boot_id), "%s", instance->boot_id);
    if (sim->deep != SIM_DEEP_NOT_OFFERED && !instance->runs_no_tests)
        beat.checks |= FLEET_CHECK_DEEP(DEEP_CHECK_STRESS);
    if (sim->resets != SIM_RESETS_NOT_OFFERED)
        beat.checks |= FLEET_RESETS;
    if (sim->agents_reboot)
        beat.checks |= FLEET_REBOOTS;
    if (sim->agents_tell_machine)
        beat.checks |= FLEET_TELLS_MACHINE;
    if (service_agent_heartbeat(&sim->service, instance->node_row, &beat, &problem) != 0 || sim->agents_know_nothing)
        return;
    if (sim->agents_tell_machine)
        sim_agent_machine(sim, instance);
    enum agent_task_kind agent_task =
        agent_tasks_key(fleet_agent_tasks(sim->service.fleet), instance->node_row, instance->id, work);
    if (agent_task != AGENT_TASK_NONE)
        sim_law_task(sim, instance, work);
    if (agent_task == AGENT_TASK_LIFECYCLE)
        sim_agent_work(sim, instance);
    else if (agent_task == AGENT_TASK_RESET)
        sim_agent_reset(sim, instance);
    else if (agent_task == AGENT_TASK_REBOOT)
        sim_agent_reboot(sim, instance);
    else if (agent_task == AGENT_TASK_CHECK)
        sim_agent_check(sim, instance);
}

SIM_FN void sim_acked(int status, const struct problem *problem, void *arg)
{
    (void)problem;
    if (status == 0)
        *(bool *)arg = true;
}

/* What is not acknowledged stays in the spool, which lives as long as its boot does. */
SIM_FN void sim_agent_report(struct sim *sim, struct sim_verdict *spooled)
{
    struct fake_instance *instance = fake_provider_find(&sim->provider, spooled->verdict.instance_id);
    if (spooled->acked || instance == NULL || !fake_instance_is_up(&sim->provider, instance) || instance->muted ||
        !sim_agent_may_speak(sim, instance))
        return;
    struct problem problem;
    (void)service_agent_verdicts(&sim->service, instance->node_row, &spooled->verdict, 1, clock_wall_ms(&sim->clock),
                                 sim_acked, &spooled->acked, &problem);
}

/* A message may be lost on its way, come twice, or come after one that was sent later. */
SIM_FN void sim_agent_send(struct sim *sim, struct fake_instance *instance)
{
    if (sim_chance(sim, sim->wire.lost_percent))
        return;
    sim_agent_beat(sim, instance);
    int64_t seq = instance->seq, again = sim_chance(sim, sim->wire.late_percent) ? 2 : 1;
    if (!sim_chance(sim, sim->wire.doubled_percent) || seq < again)
        return;
    instance->seq = seq - again;
    sim_agent_beat(sim, instance);
    instance->seq = instance->credential[0] != '\0' ? seq : 0;
}

SIM_FN void sim_agents(struct sim *sim)
{
    for (int i = 0; i < sim->provider.count; i++) {
        struct fake_instance *instance = &sim->provider.instances[i];
        if (fake_instance_is_up(&sim->provider, instance) && !instance->muted)
            sim_agent_send(sim, instance);
    }
    bool backwards = sim_chance(sim, sim->wire.late_percent);
    for (int i = 0; i < sim->spooled; i++) {
        struct sim_verdict *spooled = &sim->spool[backwards ? sim->spooled - 1 - i : i];
        if (spooled->acked || sim_chance(sim, sim->wire.lost_percent))
            continue;
        sim_agent_report(sim, spooled);
        spooled->was_acked = spooled->was_acked || spooled->acked;
        if (sim_chance(sim, sim->wire.doubled_percent))
            spooled->acked = false; /* the answer was lost: it is sent again */
    }
}

/* The scheduler hears a node while its machine is up. A reboot ends the jobs on it. */
SIM_FN void sim_daemons(struct sim *sim)
{
    for (int i = 0; i < sim->scheduler.count; i++) {
        struct fake_scheduler_node *node = &sim->scheduler.nodes[i];
        const struct fake_instance *instance = fake_provider_of_node(&sim->provider, node->name);
        node->heard = instance != NULL && fake_instance_is_up(&sim->provider, instance) && !instance->muted &&
                      !sim->daemons_stay_away && strcmp(sim->provider.no_daemon, node->name) != 0;
        if (!node->heard && !node->jobs_outlast_silence)
            node->jobs = 0;
    }
    for (int i = 0; i < sim->other.count; i++) {
        const struct fake_instance *instance = fake_provider_of(&sim->provider, SIM_OTHER, sim->other.nodes[i].name);
        sim->other.nodes[i].heard =
            instance != NULL && fake_instance_is_up(&sim->provider, instance) && !instance->muted;
    }
}

/* A kernel line on the node's present boot, reported at once. Returns the spool's index. */
SIM_FN int sim_verdict_of(struct sim *sim, const struct fake_instance *instance, const char *node, int xid,
                          enum severity severity)
{
    if (sim->spooled == sim->spool_capacity) {
        sim->spool_capacity = sim->spool_capacity == 0 ? SIM_SPOOL_MAX : sim->spool_capacity * 2;
        sim->spool = own_realloc(sim->spool, (size_t)sim->spool_capacity, sizeof(*sim->spool));
    }
    struct sim_verdict *spooled = &sim->spool[sim->spooled];
    memset(spooled, 0, sizeof(*spooled));
    snprintf(spooled->node, sizeof(spooled->node), "%s", node);
    struct verdict *v = &spooled->verdict;
    snprintf(v->key, sizeof(v->key), "key-%" PRIu64, ++sim->verdict_number);
    snprintf(v->instance_id, sizeof(v->instance_id), "%s", instance->id);
    snprintf(v->boot_id, sizeof(v->boot_id), "%s", instance->boot_id);
    snprintf(v->device, sizeof(v->device), "0000:b9:00");
    snprintf(v->source, sizeof(v->source), "kmsg");
    snprintf(v->code, sizeof(v->code), "xid.%d", xid);
    snprintf(v->raw_line, sizeof(v->raw_line), "NVRM: Xid (PCI:0000:b9:00): %d, pid=1234, test", xid);
    snprintf(v->table_version, sizeof(v->table_version), "test");
    v->severity = severity;
    v->count = 1;
    v->first_at = v->last_at = clock_wall_ms(&sim->clock);
    sim_agent_report(sim, spooled);
    return sim->spooled++;
}

SIM_FN int sim_verdict(struct sim *sim, const char *node, int xid, enum severity severity)
{
    const struct fake_instance *instance = fake_provider_of_node(&sim->provider, node);
    assert_non_null(instance);
    return sim_verdict_of(sim, instance, node, xid, severity);
}

/* --- time -------------------------------------------------------------------------------------- */

/* What the laws speak of: a turn that wrote nothing and called nobody left it as the turn before it did. */
struct sim_moment {
    int writes, crashes;
    int64_t calls, at;
};

SIM_FN bool sim_has_moved(const struct sim *sim, struct sim_moment *seen)
{
    const struct sim_moment now = {.writes = sqlite3_total_changes(sim->service.db->writer->sqlite),
                                   .crashes = sim->crashes,
                                   .calls = (int64_t)sim->outcome.calls,
                                   .at = clock_wall_ms(&sim->clock)};
    bool moved =
        now.writes != seen->writes || now.crashes != seen->crashes || now.calls != seen->calls || now.at != seen->at;
    *seen = now;
    return moved;
}

/* Turns until nothing is left to do at this moment. The first is always checked: the test may have changed anything before it. */
SIM_FN void sim_settle(struct sim *sim)
{
    struct sim_moment seen = {.writes = -1};
    bool more = true;
    for (int i = 0; more; i++) {
        if (i == SIM_TURNS_MAX)
            sim_fail(sim, NULL, "the loop does not come to rest");
        sim->turns++;
        if (sim->die_before_turn != 0 && sim->turns >= sim->die_before_turn) {
            sim_crash(sim);
            continue;
        }
        more = reconcile_run_once(sim->reconcile, &sim->next_ms);
        if (sim->outcome.dead) {
            sim_crash(sim);
            more = true;
        }
        if (sim->check && more && sim_has_moved(sim, &seen))
            sim_check(sim);
    }
}

/* Time goes on to the next thing that happens, at most to until_ms, and the agents do their part. */
SIM_FN void sim_time(struct sim *sim, int64_t until_ms)
{
    int64_t now = clock_wall_ms(&sim->clock);
    int64_t to = sim->next_ms < sim->beat_at ? sim->next_ms : sim->beat_at;
    to = to > until_ms ? until_ms : to;
    clock_fake_advance(&sim->clock, to > now ? to - now : 1);
    sim_daemons(sim);
    if (clock_wall_ms(&sim->clock) >= sim->beat_at) {
        sim_agents(sim);
        sim->beat_at = clock_wall_ms(&sim->clock) + sim->beat_ms;
    }
}

SIM_FN void sim_tick(struct sim *sim, int64_t until_ms)
{
    sim_time(sim, until_ms);
    sim_settle(sim);
}

SIM_FN void sim_run(struct sim *sim, int64_t for_ms)
{
    int64_t until = clock_wall_ms(&sim->clock) + for_ms;
    sim_settle(sim);
    while (clock_wall_ms(&sim->clock) < until)
        sim_tick(sim, until);
}

/* Runs until the node is in the state; fails with the timeline when that takes longer than at_most_ms. */
SIM_FN void sim_until(struct sim *sim, const char *node, enum node_state state, int64_t at_most_ms)
{
    int64_t until = clock_wall_ms(&sim->clock) + at_most_ms;
    sim_settle(sim);
    while (sim_state(sim, node) != state) {
        if (clock_wall_ms(&sim->clock) >= until)
            sim_fail(sim, node, "%s is %s, not %s", node, node_state_text(sim_state(sim, node)),
                     node_state_text(state));
        sim_tick(sim, until);
    }
}

SIM_FN int sim_count_state(struct sim *sim, enum node_state state)
{
    struct cluster_counts counts;
    struct cluster cluster;
    struct db_tx *tx = NULL;
    assert_int_equal(db_read_begin(sim->service.db, &tx), 0);
    assert_int_equal(db_cluster_get(tx, SIM_CLUSTER, &cluster), 0);
    assert_int_equal(db_cluster_count(tx, cluster.id, 0, &counts), 0);
    db_read_end(sim->service.db, tx);
    return (int)counts.by_state[state];
}

/* Runs until every node is in service. */
SIM_FN void sim_until_all_ready(struct sim *sim, int64_t at_most_ms)
{
    int64_t until = clock_wall_ms(&sim->clock) + at_most_ms;
    sim_settle(sim);
    while (sim_count_state(sim, NODE_STATE_READY) != sim->nodes) {
        if (clock_wall_ms(&sim->clock) >= until)
            sim_fail(sim, NULL, "%d of %d nodes are ready", sim_count_state(sim, NODE_STATE_READY), sim->nodes);
        sim_tick(sim, until);
    }
}

/* --- a cluster --------------------------------------------------------------------------------- */

/* Nodes gpu-1 … gpu-n, on their way. */
SIM_FN void sim_ask(struct sim *sim, int nodes, enum node_recovery recovery)
{
    struct service_group_spec group = {
        .name = "gpu", .instance_type = "test", .provider = "fake", .spec = group_spec_of(sim->spec)};
    group.instance_count = nodes;
    struct service_cluster_spec spec = {.name = SIM_CLUSTER, .recovery = recovery, .groups = &group, .group_count = 1};
    spec.orchestrator = sim->has_scheduler ? ORCHESTRATOR_SLURM : ORCHESTRATOR_NONE;
    struct cluster cluster;
    struct problem problem = {0};
    if (service_cluster_create(&sim->service, &sim_admin, &spec, &cluster, &problem) != 0)
        fail_msg("cluster: %s", problem.detail);
    sim->nodes = nodes;
    for (int i = 1; i <= nodes && sim->has_scheduler; i++) {
        char name[NODE_NAME_MAX_BYTES];
        snprintf(name, sizeof(name), "gpu-%d", i);
        fake_scheduler_add(&sim->scheduler, name);
    }
}

/* The same, launched and in service. */
SIM_FN void sim_create(struct sim *sim, int nodes, enum node_recovery recovery)
{
    sim_ask(sim, nodes, recovery);
    sim_until_all_ready(sim, 30 * MS_PER_MIN);
}

#endif
