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
        machine->trouble->hard = machine->trouble->said = NONE;
        machine->trouble->boot_at = w->now - MS_PER_DAY;
    }
    return machine->trouble;
}

struct group *fleet_group(struct world *w, int32_t node)
{
    int64_t size = world_number(w, SIMULATE_GROUP_NODES);
    return &w->groups[size == 0 ? 0 : node / size];
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

/* Whether it is out of service changed, perhaps. */
static void review(struct world *w, int32_t node)
{
    struct machine *machine = &w->machines[node];
    bool out = machine->state != NODE_STATE_READY || machine->unheard;
    if (out == machine->out)
        return;
    fleet_count_out(w);
    w->out_count += out ? 1 : -1;
    w->out->out_max = w->out_count > w->out->out_max ? w->out_count : w->out->out_max;
    machine->out = out;
    struct trouble *trouble = fleet_trouble(w, node);
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
    w->rack_silent[fleet_rack(w, node)] += heard ? -1 : 1;
    trouble->silent_since = heard ? 0 : w->now;
    uint32_t ticket = ++trouble->look_ticket;
    if (heard) {
        machine->unheard = false;
        review(w, node);
        fleet_dirty(w, node);
        node_give(w, node);
        return;
    }
    world_at(w, w->now + world_number(w, SIMULATE_UNHEARD), HAPPENS_UNHEARD, node, 0);
    world_at(w, w->now + w->scenario->policy.silent_after_ms, HAPPENS_LOOK, node, ticket);
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

void fleet_rack_dark(struct world *w, int32_t rack)
{
    int32_t size = (int32_t)world_number(w, SIMULATE_RACK_NODES);
    w->out->racks_lost++;
    for (int32_t node = rack * size; node < (rack + 1) * size && node < w->nodes; node++) {
        w->machines[node].dark = true;
        fall_silent(w, node, SIMULATE_FAULTS_MAX);
    }
    int64_t back = w->now + world_number(w, SIMULATE_RACK_LOSS_FOR);
    world_at(w, back, HAPPENS_RACK_BACK, rack, 0);
}

void fleet_rack_back(struct world *w, int32_t rack)
{
    int32_t size = (int32_t)world_number(w, SIMULATE_RACK_NODES);
    for (int32_t node = rack * size; node < (rack + 1) * size && node < w->nodes; node++) {
        w->machines[node].dark = false;
        fleet_hear(w, node, true);
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
        for (int32_t i = 0; i < w->lemon_count; i++)
            if (w->lemons[i] == node)
                w->lemons[i] = NONE;
    }
    bool gone = trouble->hard != NONE && w->scenario->faults[trouble->hard].effect == SIMULATE_EFFECT_VANISH;
    fleet_hear(w, node, !gone && !w->machines[node].dark);
}

/* --- faults --------------------------------------------------------------------------------------------------------- */

/* A lemon's place is hit lemonFactor times as often. */
static int32_t hit(struct world *w)
{
    int64_t factor = world_number(w, SIMULATE_LEMON_FACTOR);
    int64_t extra = w->lemon_count * (factor - 1);
    int64_t drawn = (int64_t)world_draw(w, (uint64_t)(w->nodes + extra));
    return drawn < w->nodes ? (int32_t)drawn : w->lemons[(drawn - w->nodes) / (factor - 1)];
}

void fleet_fault(struct world *w, int32_t class)
{
    const struct simulate_fault *fault = &w->scenario->faults[class];
    int32_t node = hit(w);
    bool hard = (int64_t)world_draw(w, 100) < fault->hard_percent;
    int device = (int)world_draw(w, DEVICES);
    if (node == NONE || w->machines[node].out || w->machines[node].silent)
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
    if (fault->effect == SIMULATE_EFFECT_FAULT)
        job_interrupt(w, machine->job, class, world_number(w, SIMULATE_DETECT));
    trouble->said = class;
    world_at(w, w->now + world_number(w, SIMULATE_DETECT), HAPPENS_VERDICT, node, (uint32_t)trouble->boot);
}

static bool is_node_fault(const struct world *w, const struct simulate_fault *fault)
{
    struct fault_judgement judgement;
    fault_judge("kmsg", fault->code, "", &judgement);
    (void)w;
    return judgement.row != NULL && judgement.row->action >= ACTION_CLASS_RESET;
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
    if (is_node_fault(w, &w->scenario->faults[class])) {
        trouble->broken_since = trouble->broken_since == 0 ? w->now : trouble->broken_since;
        count_failing(w, node);
    }
    fleet_dirty(w, node);
}
