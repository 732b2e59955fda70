/*
 * Machines: what breaks, what is heard of it, and who is out of service. A fault comes to machines in service only; of a
 * class so many in a time over the whole fleet, which hits a place by chance: a place out of service is hit by nothing.
 */
#include "simulate/world.h"

#include "base/own.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

#define DEVICES 8 /* that a machine has of what breaks */

struct trouble *fleet_trouble(struct world *w, int32_t node)
{
    struct machine *machine = &w->machines[node];
    if (machine->trouble == NULL) {
        machine->trouble = own_calloc(1, sizeof(*machine->trouble));
        struct trouble *trouble = machine->trouble;
        trouble->hard = trouble->said = trouble->sick = trouble->shared = trouble->loss = NONE;
        machine->trouble->boot_at = w->now - MS_PER_DAY;
    }
    return machine->trouble;
}

struct group *fleet_group(const struct world *w, int32_t node)
{
    return &w->groups[w->group_of[node]];
}

void fleet_dirty(struct world *w, int32_t node)
{
    if (w->machines[node].dirty)
        return;
    w->machines[node].dirty = true;
    w->dirty[w->dirty_count++] = node;
}

void fleet_count_out(struct world *w)
{
    w->out_ms[w->out_count] += w->now - w->out_since;
    w->out_since = w->now;
}

static void back_from_loss(struct world *w, struct trouble *trouble)
{
    int loss = trouble->loss;
    trouble->loss = NONE;
    if (loss == NONE || --w->loss_out[loss] > 0 || loss >= SIMULATE_LOSSES_MAX)
        return;
    w->out->losses[loss].back_hours = (double)(w->now - WORLD_T0 - w->losses[loss].at) / (double)MS_PER_HOUR;
}

/* Whether it is out of service changed, perhaps. */
static void review(struct world *w, int32_t node)
{
    struct machine *machine = &w->machines[node];
    bool out = machine->state != NODE_STATE_READY || machine->unheard;
    if (out == machine->out)
        return;
    fleet_count_out(w);
    w->out_count += out ? 1 : -1;
    fleet_group(w, node)->out += out ? 1 : -1;
    w->out->out_max = w->out_count > w->out->out_max ? w->out_count : w->out->out_max;
    machine->out = out;
    struct trouble *trouble = fleet_trouble(w, node);
    if (!out)
        back_from_loss(w, trouble);
    if (!out && trouble->broken_since > 0) {
        w->repair_ms += (double)(w->now - trouble->broken_since);
        w->out->repairs_done++;
        trouble->broken_since = 0;
    }
}

void fleet_state(struct world *w, int32_t node, enum node_state state)
{
    w->machines[node].state = (unsigned char)state;
    review(w, node);
}

/* --- silence ---------------------------------------------------------------------------------------------------- */

static void list_silent(struct world *w, int32_t node, bool silent)
{
    struct group *group = fleet_group(w, node);
    struct trouble *trouble = fleet_trouble(w, node);
    if (silent) {
        if (group->silent_count == group->silent_capacity) {
            group->silent_capacity = group->silent_capacity == 0 ? 16 : group->silent_capacity * 2;
            group->silent = own_realloc(group->silent, group->silent_capacity, sizeof(*group->silent));
        }
        trouble->silent_at = group->silent_count;
        group->silent[group->silent_count++] = node;
        return;
    }
    int32_t last = group->silent[--group->silent_count];
    group->silent[trouble->silent_at] = last;
    w->machines[last].trouble->silent_at = trouble->silent_at;
}

void fleet_hear(struct world *w, int32_t node, bool heard)
{
    struct machine *machine = &w->machines[node];
    struct trouble *trouble = fleet_trouble(w, node);
    if (machine->silent == !heard)
        return;
    machine->silent = !heard;
    list_silent(w, node, !heard);
    w->shared_is_old = true;
    trouble->shared = NONE;
    trouble->silent_since = heard ? 0 : w->now;
    uint32_t ticket = ++trouble->look_ticket;
    if (heard) {
        machine->unheard = false;
        if (!machine->out && !machine->sick)
            trouble->broken_since = 0; /* it was back before anybody missed it */
        review(w, node);
        fleet_dirty(w, node);
        node_give(w, node);
        return;
    }
    world_at(w, w->now + world_number(w, SIMULATE_UNHEARD), HAPPENS_UNHEARD, node, 0);
    world_at(w, w->now + fleet_group(w, node)->rules.policy.silent_after_ms, HAPPENS_LOOK, node, ticket);
}

void fleet_unheard(struct world *w, int32_t node)
{
    struct machine *machine = &w->machines[node];
    if (!machine->silent || machine->unheard)
        return;
    machine->unheard = true;
    review(w, node);
    node_leave(w, node);
    fleet_dirty(w, node);
}

static void fall_silent(struct world *w, int32_t node, int class)
{
    struct trouble *trouble = fleet_trouble(w, node);
    trouble->broken_since = trouble->broken_since == 0 ? w->now : trouble->broken_since;
    job_interrupt(w, w->machines[node].job, class, world_number(w, SIMULATE_UNHEARD));
    fleet_hear(w, node, false);
}

/* --- places ------------------------------------------------------------------------------------------------------- */

static void put_signals(const struct world *w, struct policy_outage_signal *signals, size_t *count)
{
    for (int32_t g = 0; g < w->group_count; g++)
        for (size_t i = 0; i < w->groups[g].silent_count; i++) {
            int32_t node = w->groups[g].silent[i];
            struct policy_outage_signal *signal = &signals[(*count)++];
            *signal = (struct policy_outage_signal){.node_id = node + 1,
                                                    .at = w->machines[node].trouble->silent_since,
                                                    .cause = INCIDENT_CAUSE_UNREACHABLE};
            for (int level = 0; level < TOPOLOGY_LEVEL_COUNT; level++) {
                int64_t size = simulate_place_nodes(w->scenario, (enum topology_level)level);
                signal->domain[level] = size == 0 ? 0 : (uint32_t)(node / size + 1);
            }
        }
}

int fleet_shared(struct world *w, int32_t node)
{
    if (w->shared_is_old) {
        size_t silent = 0, count = 0;
        for (int32_t g = 0; g < w->group_count; g++)
            silent += w->groups[g].silent_count;
        autofree struct policy_outage_signal *signals = own_calloc(silent + 1, sizeof(*signals));
        put_signals(w, signals, &count);
        free(w->shared);
        w->shared_count = policy_share(&fleet_group(w, node)->rules.policy, signals, &count, &w->shared);
        for (size_t i = 0; i < count; i++)
            w->machines[signals[i].node_id - 1].trouble->shared = signals[i].shared;
        w->shared_is_old = false;
    }
    return w->machines[node].silent ? w->machines[node].trouble->shared : NONE;
}

void fleet_lose(struct world *w, const struct simulate_loss *loss)
{
    if (w->loss_count == w->loss_capacity) {
        w->loss_capacity = w->loss_capacity == 0 ? 16 : w->loss_capacity * 2;
        w->losses = own_realloc(w->losses, (size_t)w->loss_capacity, sizeof(*w->losses));
        w->loss_out = own_realloc(w->loss_out, (size_t)w->loss_capacity, sizeof(*w->loss_out));
    }
    w->losses[w->loss_count] = *loss;
    w->loss_out[w->loss_count] = 0;
    world_at(w, WORLD_T0 + loss->at, HAPPENS_LOSS, w->loss_count++, 0);
}

static void nodes_of(const struct world *w, const struct simulate_loss *loss, int32_t *ret_from, int32_t *ret_to)
{
    int64_t size = simulate_place_nodes(w->scenario, loss->level), to = loss->number * size;
    *ret_from = (int32_t)((loss->number - 1) * size);
    *ret_to = to < w->nodes ? (int32_t)to : w->nodes;
}

void fleet_loss(struct world *w, int32_t at)
{
    const struct simulate_loss *loss = &w->losses[at];
    int64_t interruptions = w->out->interruptions;
    int32_t from, to;
    nodes_of(w, loss, &from, &to);
    w->out->racks_lost++;
    for (int32_t node = from; node < to; node++) {
        struct trouble *trouble = fleet_trouble(w, node);
        w->machines[node].dark++;
        w->loss_out[at] += trouble->loss == NONE;
        trouble->loss = trouble->loss == NONE ? at : trouble->loss;
        fall_silent(w, node, SIMULATE_FAULTS_MAX);
    }
    if (at < SIMULATE_LOSSES_MAX)
        w->out->losses[at] = (struct simulate_loss_outcome){
            .loss = *loss, .nodes = to - from, .interruptions = w->out->interruptions - interruptions};
    world_at(w, w->now + loss->lasts, HAPPENS_LOSS_BACK, at, 0);
}

void fleet_loss_back(struct world *w, int32_t at)
{
    int32_t from, to;
    nodes_of(w, &w->losses[at], &from, &to);
    for (int32_t node = from; node < to; node++)
        if (--w->machines[node].dark == 0) {
            fleet_hear(w, node, true);
            if (!w->machines[node].out)
                back_from_loss(w, w->machines[node].trouble); /* nobody had missed it yet */
        }
}

void fleet_boot(struct world *w, int32_t node, bool new_machine)
{
    struct trouble *trouble = fleet_trouble(w, node);
    trouble->boot++;
    trouble->boot_at = w->now;
    if (new_machine) {
        trouble->machine = ++w->machine_number;
        trouble->hard = NONE;
        trouble->approval = (struct policy_approval){0};
        for (int32_t i = 0; i < w->lemon_count; i++)
            if (w->lemons[i] == node)
                w->lemons[i] = NONE;
    }
    if (trouble->hard == NONE)
        fleet_sick(w, node, NONE);
    bool gone = trouble->hard != NONE && w->scenario->faults[trouble->hard].effect == SIMULATE_EFFECT_VANISH;
    fleet_hear(w, node, !gone && !trouble->provision_failed && w->machines[node].dark == 0);
}

/* --- faults --------------------------------------------------------------------------------------------------------- */

/* A lemon's place is hit lemonFactor times as often. */
static int32_t hit(struct world *w, uint64_t *chance)
{
    int64_t factor = world_number(w, SIMULATE_LEMON_FACTOR);
    int64_t extra = w->lemon_count * (factor - 1);
    int64_t drawn = (int64_t)chance_draw(chance, (uint64_t)(w->nodes + extra));
    return drawn < w->nodes ? (int32_t)drawn : w->lemons[(drawn - w->nodes) / (factor - 1)];
}

/* So many of a class come to all machines, and those of another type do not notice: the rate is a node's. */
static bool comes_to(const struct world *w, const struct simulate_fault *fault, int32_t node)
{
    return fault->instance_type[0] == '\0' || text_equal(fault->instance_type, fleet_group(w, node)->instance_type);
}

static bool is_node_fault(const struct simulate_fault *fault)
{
    struct fault_judgement judgement;
    fault_judge("kmsg", fault->code, "", &judgement);
    return judgement.row != NULL && judgement.row->action >= ACTION_CLASS_RESET;
}

/* A job that has such a node ends again as soon as it trains. */
void fleet_sick(struct world *w, int32_t node, int class)
{
    struct machine *machine = &w->machines[node];
    bool sick = class != NONE;
    if (machine->sick == sick)
        return;
    machine->sick = sick;
    fleet_trouble(w, node)->sick = class;
    if (machine->job == NONE)
        return;
    w->jobs[machine->job].sick += sick ? 1 : -1;
    if (sick)
        w->jobs[machine->job].sick_class = class;
}

void fleet_fault(struct world *w, int32_t class)
{
    const struct simulate_fault *fault = &w->scenario->faults[class];
    uint64_t *chance = &w->chances[class];
    int32_t node = hit(w, chance);
    bool hard = (int64_t)chance_draw(chance, 100) < fault->hard_percent;
    int device = (int)chance_draw(chance, DEVICES);
    if (node == NONE || w->machines[node].out || w->machines[node].silent || !comes_to(w, fault, node))
        return;
    struct machine *machine = &w->machines[node];
    w->out->faults++;
    w->out->classes[class].faults++;
    if (fault->effect == SIMULATE_EFFECT_PROGRAM) {
        job_interrupt(w, machine->job, class, world_number(w, SIMULATE_DETECT));
        return;
    }
    struct trouble *trouble = fleet_trouble(w, node);
    trouble->device = device;
    if (hard)
        trouble->hard = class;
    if (fault->effect == SIMULATE_EFFECT_VANISH) {
        fall_silent(w, node, class);
        return;
    }
    if (fault->effect == SIMULATE_EFFECT_FAULT) {
        job_interrupt(w, machine->job, class, world_number(w, SIMULATE_DETECT));
        if (is_node_fault(fault))
            fleet_sick(w, node, class);
    }
    trouble->said = class;
    world_at(w, w->now + world_number(w, SIMULATE_DETECT), HAPPENS_VERDICT, node, (uint32_t)trouble->boot);
}

static void count_failing(struct world *w, int32_t node)
{
    struct group *group = fleet_group(w, node);
    if (group->count == group->capacity) {
        size_t capacity = group->capacity == 0 ? 64 : group->capacity * 2;
        struct failing *grown = own_calloc(capacity, sizeof(*grown));
        for (size_t i = 0; i < group->count; i++)
            grown[i] = group->failing[(group->head + i) % group->capacity];
        free(group->failing);
        group->failing = grown;
        group->capacity = capacity;
        group->head = 0;
    }
    struct trouble *trouble = fleet_trouble(w, node);
    group->failed_recently += trouble->failing_at == 0;
    trouble->failing_at = w->now;
    group->failing[(group->head + group->count++) % group->capacity] = (struct failing){w->now, node};
}

void fleet_verdict(struct world *w, int32_t node, int class)
{
    struct trouble *trouble = fleet_trouble(w, node);
    trouble->said = NONE;
    if (w->machines[node].silent)
        return;
    if (trouble->note_count == NOTES_MAX)
        memmove(trouble->notes, trouble->notes + 1, (size_t)--trouble->note_count * sizeof(trouble->notes[0]));
    trouble->notes[trouble->note_count++] = (struct note){
        .class = class, .id = ++w->verdict_id, .at = w->now, .boot = trouble->boot, .machine = trouble->machine};
    w->out->verdicts++;
    if (is_node_fault(&w->scenario->faults[class])) {
        trouble->broken_since = trouble->broken_since == 0 ? w->now : trouble->broken_since;
        count_failing(w, node);
    }
    fleet_dirty(w, node);
}
