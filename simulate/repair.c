/*
 * Operations: the steps are those of the model (operation_steps), each takes its time, and the return gate finds what a reboot did
 * not cure. A repair that fails leaves the node held, and the policy says what comes next.
 */
#include "simulate/world.h"

#include <string.h>

#define CALL_MS MS_PER_S /* a call to the scheduler or the provider that does not wait for a machine */
#define JOIN_DEADLINE_MS (30 * MS_PER_MIN)

void repair_remember(struct trouble *trouble, const struct repair_done *done)
{
    int keep = trouble->repair_count < REPAIRS_MAX ? trouble->repair_count : REPAIRS_MAX - 1;
    memmove(trouble->repairs + 1, trouble->repairs, (size_t)keep * sizeof(*done));
    trouble->repairs[0] = *done;
    trouble->repair_count = keep + 1;
}

static void due(struct world *w, int32_t node, int64_t in_ms)
{
    struct trouble *trouble = w->machines[node].trouble;
    world_at(w, w->now + in_ms, HAPPENS_STEP, node, ++trouble->step_ticket);
}

static void count_repair(struct world *w, int32_t node, int by)
{
    const struct trouble *trouble = w->machines[node].trouble;
    struct group *group = fleet_group(w, node);
    const char *code = trouble->op_class == NONE ? "" : w->scenario->faults[trouble->op_class].code;
    group->in_repair += by;
    group->replacing += trouble->op == OPERATION_KIND_REPLACE ? by : 0;
    group->last_repair_at = by > 0 ? w->now : group->last_repair_at;
    group->in_repair_of[policy_repair_class(code[0] != '\0' ? code : "unreachable")] += by;
}

/* What a replacement says of the group's capacity: a machine that did not come up, or one that did. */
static void note_machine_capacity(struct world *w, int32_t node, bool succeeded, bool relapsed)
{
    struct group *group = fleet_group(w, node);
    if (succeeded)
        (void)policy_machine_capacity_came_up(&group->machine_capacity);
    else if (!relapsed)
        w->out->protections +=
            policy_machine_capacity_provision_failed(&group->rules.policy, &group->machine_capacity, w->now);
}

enum why { WHY_DONE, WHY_NO_RESET, WHY_NO_RETURN, WHY_RELAPSE, WHY_SILENT };

/* A reset that failed, a machine that did not come back from a reboot, and one whose fault is there again, are the policy's; else it is a person's. */
static void end_failed(struct world *w, int32_t node, enum why why)
{
    struct trouble *trouble = w->machines[node].trouble;
    bool decides =
        why == WHY_RELAPSE || why == WHY_NO_RESET || (why == WHY_NO_RETURN && trouble->op == OPERATION_KIND_REBOOT);
    w->out->ops_failed++;
    fleet_state(w, node, decides ? NODE_STATE_HELD : NODE_STATE_FAILED);
    if (decides)
        fleet_dirty(w, node);
    else
        decide_call_person(w, node);
}

static void end(struct world *w, int32_t node, enum why why)
{
    struct trouble *trouble = w->machines[node].trouble;
    const bool succeeded = why == WHY_DONE;
    trouble->has_op = false;
    trouble->look_ticket++;
    if (trouble->op != OPERATION_KIND_RELEASE) {
        count_repair(w, node, -1);
        repair_remember(trouble, &(struct repair_done){.kind = trouble->op,
                                                       .machine = trouble->op_machine,
                                                       .successor = trouble->machine,
                                                       .at = trouble->op_at,
                                                       .finished_at = w->now,
                                                       .class = trouble->op_class,
                                                       .device = trouble->device,
                                                       .succeeded = succeeded,
                                                       .no_return = why == WHY_NO_RETURN});
    }
    if (trouble->op == OPERATION_KIND_REPLACE)
        note_machine_capacity(w, node, succeeded, why == WHY_RELAPSE);
    if (!succeeded) {
        end_failed(w, node, why);
        return;
    }
    trouble->note_count = 0;
    fleet_state(w, node, NODE_STATE_READY);
    node_give(w, node);
}

/* Jobs go at once, or may run on until their end or the deadline. What a job that is asked to checkpoint saves by that is not
 * simulated. */
static void begin_drain(struct world *w, int32_t node)
{
    struct trouble *trouble = w->machines[node].trouble;
    trouble->waits_for_job = w->machines[node].job != NONE;
    if (!trouble->waits_for_job) {
        due(w, node, CALL_MS);
    } else if (trouble->drain_ms == 0) {
        w->out->drains++;
        job_interrupt(w, w->machines[node].job, SIMULATE_FAULTS_MAX, world_number(w, SIMULATE_DETECT));
    } else {
        due(w, node, trouble->drain_ms);
    }
}

void repair_freed(struct world *w, int32_t node)
{
    struct trouble *trouble = fleet_trouble(w, node);
    if (trouble->has_op && trouble->waits_for_job) {
        trouble->waits_for_job = false;
        due(w, node, CALL_MS);
    } else {
        node_give(w, node); /* if it is in service after all */
    }
}

/* A provider that has no machine is asked again when the policy lets the group ask. */
static void begin_launch(struct world *w, int32_t node)
{
    struct trouble *trouble = w->machines[node].trouble;
    struct group *group = fleet_group(w, node);
    bool waits = group->machine_capacity.short_times > 0 && w->now < group->machine_capacity.short_until;
    bool none = !waits && world_happens(w, world_number(w, SIMULATE_NO_CAPACITY));
    if (none)
        (void)policy_machine_capacity_short(&group->rules.policy, &group->machine_capacity, w->now);
    else if (!waits)
        (void)policy_machine_capacity_launched(&group->machine_capacity);
    w->out->no_capacity += none;
    trouble->asks = waits || none;
    due(w, node,
        trouble->asks ? group->machine_capacity.short_until - w->now
                      : world_about(w, world_number(w, SIMULATE_REPLACE)));
}

/* Begins the step that is next; RESUME's end is the operation's. */
static void begin_step(struct world *w, int32_t node)
{
    struct trouble *trouble = w->machines[node].trouble;
    int count;
    const enum step_kind *steps = operation_steps(trouble->op, &count);
    if (trouble->step == count) {
        end(w, node, WHY_DONE);
        return;
    }
    switch (steps[trouble->step]) {
    case STEP_KIND_DRAIN:
        begin_drain(w, node);
        break;
    case STEP_KIND_RESET:
        due(w, node, world_about(w, world_number(w, SIMULATE_RESET)));
        break;
    case STEP_KIND_REBOOT:
        due(w, node, world_about(w, world_number(w, SIMULATE_REBOOT)));
        break;
    case STEP_KIND_LAUNCH:
        begin_launch(w, node);
        break;
    case STEP_KIND_JOIN:
        due(w, node, w->machines[node].silent ? JOIN_DEADLINE_MS : CALL_MS);
        break;
    case STEP_KIND_VERIFY:
        due(w, node, world_about(w, world_number(w, SIMULATE_VERIFY)));
        break;
    case STEP_KIND_PREPARE:
        due(w, node, 0);
        break;
    default:
        due(w, node, CALL_MS);
    }
}

void repair_begin(struct world *w, int32_t node, enum operation_kind kind, int64_t drain_ms, int class)
{
    struct trouble *trouble = fleet_trouble(w, node);
    trouble->has_op = true;
    trouble->waits_for_job = false;
    trouble->op = kind;
    trouble->drain_ms = drain_ms;
    trouble->op_class = class;
    trouble->op_at = w->now;
    trouble->op_machine = trouble->machine;
    trouble->step = 0;
    trouble->broken_since = trouble->broken_since == 0 ? w->now : trouble->broken_since;
    if (kind != OPERATION_KIND_RELEASE)
        count_repair(w, node, 1);
    bool dark = w->machines[node].dark > 0 && kind != OPERATION_KIND_RELEASE;
    if (dark && trouble->loss != NONE && trouble->loss < SIMULATE_LOSSES_MAX)
        w->out->losses[trouble->loss].repairs++;
    trouble->approval = (struct policy_approval){0}; /* an approval is for one repair */
    w->out->resets += kind == OPERATION_KIND_RESET;
    w->out->reboots += kind == OPERATION_KIND_REBOOT;
    w->out->replaces += kind == OPERATION_KIND_REPLACE;
    if (class != NONE)
        w->out->classes[class].repairs++;
    fleet_state(w, node, NODE_STATE_REPAIRING);
    node_leave(w, node); /* the first step marks it, so that nothing new begins there */
    begin_step(w, node);
}

/* The fault is there again. One whose verdict no job runs into now. */
static bool relapses(struct world *w, int32_t node)
{
    struct trouble *trouble = w->machines[node].trouble;
    if (trouble->hard == NONE || w->scenario->faults[trouble->hard].effect == SIMULATE_EFFECT_VANISH)
        return false;
    fleet_verdict(w, node, trouble->hard);
    return true;
}

void repair_step(struct world *w, int32_t node)
{
    struct trouble *trouble = w->machines[node].trouble;
    int count;
    const enum step_kind *steps = operation_steps(trouble->op, &count);
    switch (steps[trouble->step]) {
    case STEP_KIND_DRAIN:
        if (trouble->waits_for_job) { /* the deadline: they are requeued, and the node is freed with that */
            w->out->drains++;
            job_interrupt(w, w->machines[node].job, SIMULATE_FAULTS_MAX, world_number(w, SIMULATE_DETECT));
            return;
        }
        break;
    case STEP_KIND_RESET:
        if (w->machines[node].silent || !world_happens(w, world_number(w, SIMULATE_RESETS))) {
            end(w, node, w->machines[node].silent ? WHY_SILENT : WHY_NO_RESET);
            return;
        }
        trouble->note_count = 0;
        break;
    case STEP_KIND_REBOOT:
        fleet_boot(w, node, false);
        break;
    case STEP_KIND_LAUNCH:
        if (trouble->asks) {
            begin_launch(w, node);
            return;
        }
        trouble->provision_failed = world_happens(w, world_number(w, SIMULATE_PROVISION_FAILED));
        w->out->provision_failed += trouble->provision_failed;
        fleet_boot(w, node, true);
        break;
    case STEP_KIND_JOIN:
        if (w->machines[node].silent) {
            end(w, node, WHY_NO_RETURN);
            return;
        }
        break;
    case STEP_KIND_VERIFY:
        if (w->machines[node].silent || relapses(w, node)) {
            end(w, node, w->machines[node].silent ? WHY_SILENT : WHY_RELAPSE);
            return;
        }
        break;
    default:
        break;
    }
    trouble->step++;
    begin_step(w, node);
}
