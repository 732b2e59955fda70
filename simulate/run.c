/* One run: the world is made, things happen in their order, and what came of it is summed up. */
#include "simulate/world.h"

#include "base/own.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double mean_between(const struct world *w, int32_t class)
{
    double a_day = w->scenario->faults[class].per_1000_node_days / 1000 * w->nodes *
                   (double)world_number(w, SIMULATE_FAULTS) / 100;
    return a_day > 0 ? (double)MS_PER_DAY / a_day : INFINITY;
}

static void next_fault(struct world *w, int32_t class)
{
    double mean = mean_between(w, class);
    if (isfinite(mean))
        world_at(w, w->now + chance_wait(&w->chances[class], mean), HAPPENS_FAULT, class, 0);
}

static void next_rack(struct world *w)
{
    int64_t a_year = world_number(w, SIMULATE_RACK_LOSSES);
    uint64_t *chance = &w->chances[SIMULATE_FAULTS_MAX];
    if (a_year > 0)
        world_at(w, w->now + chance_wait(chance, 365.25 * (double)MS_PER_DAY / (double)a_year), HAPPENS_RACK,
                 (int32_t)chance_draw(chance, (uint64_t)w->rack_count), 0);
}

static void lose_rack(struct world *w, int32_t rack, int64_t at)
{
    fleet_lose(w, &(struct simulate_loss){.level = TOPOLOGY_LEVEL_RACK,
                                          .number = rack + 1,
                                          .at = at - WORLD_T0,
                                          .lasts = world_number(w, SIMULATE_RACK_LOSS_FOR)});
}

static void plan_losses(struct world *w)
{
    int64_t at = world_number(w, SIMULATE_RACK_LOSS_AT);
    for (int32_t rack = 0; at > 0 && rack < w->rack_count && rack < world_number(w, SIMULATE_RACK_LOSS_RACKS); rack++)
        lose_rack(w, rack, WORLD_T0 + at);
    for (size_t i = 0; i < w->scenario->loss_count; i++)
        fleet_lose(w, &w->scenario->losses[i]);
}

static void next_planned(struct world *w)
{
    if (world_number(w, SIMULATE_PLANNED_EVERY) > 0)
        world_at(w, w->now + world_number(w, SIMULATE_PLANNED_EVERY), HAPPENS_PLANNED, 0, 0);
}

/* --- sums ---------------------------------------------------------------------------------------------------------- */

static void sample(struct world *w)
{
    struct simulate_outcome *out = w->out;
    if (out->sample_count == SIMULATE_SAMPLES)
        return;
    struct simulate_hours hours = out->hours;
    out->samples[out->sample_count++] = (struct simulate_sample){
        .days = (double)(w->now - WORLD_T0) / (double)MS_PER_DAY,
        .working = (double)w->training_nodes,
        .out = (double)w->out_count,
        .effective = hours.all > 0 ? 100 * hours.useful / hours.all : NAN,
    };
    world_at(w, w->now + world_number(w, SIMULATE_TIME) / (SIMULATE_SAMPLES - 1), HAPPENS_SAMPLE, 0, 0);
}

/* So many nodes are out, at most, in this part of the time. */
static int64_t out_within(const struct world *w, double part)
{
    double all = (double)(w->end - WORLD_T0), so_far = 0;
    for (int32_t count = 0; count <= w->nodes; count++) {
        so_far += (double)w->out_ms[count];
        if (so_far >= part * all)
            return count;
    }
    return w->nodes;
}

static void sum_up_losses(struct world *w)
{
    struct simulate_outcome *out = w->out;
    for (int32_t at = 0; at < w->loss_count && at < SIMULATE_LOSSES_MAX; at++) {
        struct simulate_loss_outcome *loss = &out->losses[at];
        out->loss_count = (size_t)at + 1;
        loss->still_out = w->loss_out[at];
        if (loss->still_out > 0)
            loss->back_hours = (double)(w->end - WORLD_T0 - w->losses[at].at) / (double)MS_PER_HOUR;
    }
}

static void sum_up(struct world *w)
{
    struct simulate_outcome *out = w->out;
    double span = (double)(w->end - WORLD_T0), out_ms = 0;
    for (int32_t at = 0; at < w->job_count; at++)
        job_close(w, at);
    fleet_count_out(w);
    sum_up_losses(w);
    for (int32_t count = 0; count <= w->nodes; count++)
        out_ms += (double)w->out_ms[count] * count;
    out->out_mean = out_ms / span;
    out->out_p50 = out_within(w, 0.5);
    out->out_p99 = out_within(w, 0.99);
    out->out_p999 = out_within(w, 0.999);
    out->effective_percent = out->hours.all > 0 ? 100 * out->hours.useful / out->hours.all : 0;
    double machine_hours = span / (double)MS_PER_HOUR * w->nodes;
    out->goodput_percent = 100 * out->hours.useful / machine_hours;
    out->goodput_possible = 100 * out->hours.all / machine_hours;
    out->out_end = w->out_count;
    out->repair_hours_mean = out->repairs_done > 0 ? w->repair_ms / (double)out->repairs_done / (double)MS_PER_HOUR : 0;
}

/* --- the world ------------------------------------------------------------------------------------------------------- */

static struct group *add_group(struct world *w, const char *name, const char *instance_type, int32_t from,
                               int64_t nodes)
{
    struct group *group = &w->groups[w->group_count];
    text_copy_cut(group->name, sizeof(group->name), name);
    text_copy_cut(group->instance_type, sizeof(group->instance_type), instance_type);
    for (; group->desired < nodes && from + group->desired < w->nodes; group->desired++)
        w->group_of[from + group->desired] = w->group_count;
    group->idle = group->desired;
    simulate_rules(w->scenario, name, instance_type, &group->rules);
    w->group_count++;
    return group;
}

/* Those of the scenario, or groups of one size. */
static void make_groups(struct world *w)
{
    const struct simulate_scenario *s = w->scenario;
    struct simulate_group group;
    size_t count = 0;
    int32_t from = 0;
    while (simulate_group_at(s, count, &group))
        count++;
    w->group_of = own_calloc((size_t)w->nodes, sizeof(*w->group_of));
    w->groups = own_calloc(count, sizeof(*w->groups));
    for (size_t g = 0; simulate_group_at(s, g, &group); g++)
        from += (int32_t)add_group(w, group.name, group.instance_type, from, g + 1 == count ? w->nodes : group.nodes)
                    ->desired;
}

/* Spread over the fleet, so that no rack is made of them. */
static void make_lemons(struct world *w)
{
    int64_t count = w->nodes * world_number(w, SIMULATE_LEMONS) / 100;
    if (world_number(w, SIMULATE_LEMON_FACTOR) < 2)
        count = 0;
    w->lemons = own_calloc((size_t)count + 1, sizeof(*w->lemons));
    for (; w->lemon_count < count; w->lemon_count++)
        w->lemons[w->lemon_count] = (int32_t)((int64_t)w->lemon_count * w->nodes / count);
}

static void make(struct world *w)
{
    w->nodes = (int32_t)(world_number(w, SIMULATE_NODES) + world_number(w, SIMULATE_SPARES));
    size_t nodes = (size_t)w->nodes;
    w->machines = own_calloc(nodes, sizeof(*w->machines));
    w->pool = own_calloc(nodes, sizeof(*w->pool));
    w->dirty = own_calloc(nodes, sizeof(*w->dirty));
    w->out_ms = own_calloc(nodes + 1, sizeof(*w->out_ms));
    w->rack_count = (int32_t)((w->nodes - 1) / world_number(w, SIMULATE_RACK_NODES)) + 1;
    for (int32_t node = w->nodes - 1; node >= 0; node--) {
        w->machines[node] =
            (struct machine){.job = NONE, .next = NONE, .pool_at = w->pool_count, .state = NODE_STATE_READY};
        w->pool[w->pool_count++] = node;
    }
    make_groups(w);
    make_lemons(w);
    jobs_make(w);
    for (size_t class = 0; class < w->scenario->fault_count; class ++)
        next_fault(w, (int32_t) class);
    next_rack(w);
    next_planned(w);
    sample(w);
    plan_losses(w);
}

static void unmake(struct world *w)
{
    for (int32_t node = 0; node < w->nodes; node++)
        free(w->machines[node].trouble);
    for (int32_t g = 0; g < w->group_count; g++) {
        free(w->groups[g].failing);
        free(w->groups[g].silent);
    }
    free(w->machines);
    free(w->pool);
    free(w->dirty);
    free(w->out_ms);
    free(w->group_of);
    free(w->shared);
    free(w->losses);
    free(w->loss_out);
    free(w->lemons);
    free(w->groups);
    free(w->jobs);
    free(w->waiting);
    free(w->queue.events);
}

/* --- what happens ------------------------------------------------------------------------------------------------------ */

static void to_node(struct world *w, const struct event_at *event)
{
    struct trouble *trouble = fleet_trouble(w, event->who);
    switch (event->what) {
    case HAPPENS_VERDICT:
        if (trouble->said != NONE && event->ticket == (uint32_t)trouble->boot)
            fleet_verdict(w, event->who, trouble->said);
        break;
    case HAPPENS_UNHEARD:
        fleet_unheard(w, event->who);
        break;
    case HAPPENS_LOOK:
        if (event->ticket == trouble->look_ticket && !trouble->has_op)
            fleet_dirty(w, event->who);
        break;
    case HAPPENS_ANSWER:
        if (event->ticket == trouble->answer_ticket)
            decide_answer(w, event->who);
        break;
    case HAPPENS_STEP:
        if (event->ticket == trouble->step_ticket && trouble->has_op)
            repair_step(w, event->who);
        break;
    default:
        decide_person(w, event->who);
    }
}

static void to_job(struct world *w, const struct event_at *event)
{
    if (event->ticket != w->jobs[event->who].ticket)
        return;
    if (event->what == HAPPENS_NOTICED)
        job_noticed(w, event->who);
    else if (event->what == HAPPENS_RESTARTED)
        job_restarted(w, event->who);
    else
        job_planned_end(w, event->who);
}

static void to_fleet(struct world *w, const struct event_at *event)
{
    switch (event->what) {
    case HAPPENS_FAULT:
        fleet_fault(w, event->who);
        next_fault(w, event->who);
        break;
    case HAPPENS_RACK:
        lose_rack(w, event->who, w->now);
        next_rack(w);
        break;
    case HAPPENS_LOSS:
        fleet_loss(w, event->who);
        break;
    case HAPPENS_LOSS_BACK:
        fleet_loss_back(w, event->who);
        break;
    case HAPPENS_PLANNED:
        jobs_planned(w);
        next_planned(w);
        break;
    default:
        sample(w);
    }
}

static void happen(struct world *w, const struct event_at *event)
{
    switch (event->what) {
    case HAPPENS_VERDICT:
    case HAPPENS_UNHEARD:
    case HAPPENS_LOOK:
    case HAPPENS_ANSWER:
    case HAPPENS_STEP:
    case HAPPENS_PERSON:
        to_node(w, event);
        break;
    case HAPPENS_NOTICED:
    case HAPPENS_RESTARTED:
    case HAPPENS_PLANNED_END:
        to_job(w, event);
        break;
    default:
        to_fleet(w, event);
    }
}

void simulate_run(const struct simulate_scenario *scenario, int64_t seed, struct simulate_outcome *ret_outcome)
{
    *ret_outcome = (struct simulate_outcome){0};
    struct world w = {.scenario = scenario,
                      .out = ret_outcome,
                      .now = WORLD_T0,
                      .end = WORLD_T0 + scenario->number[SIMULATE_TIME],
                      .out_since = WORLD_T0};
    struct event_at event;
    world_chances(&w, seed);
    make(&w);
    while (world_next(&w, &event) && event.at <= w.end) {
        if (event.at > w.now && w.dirty_count > 0) { /* all that happened at one time is decided on at once */
            world_at(&w, event.at, event.what, event.who, event.ticket);
            decide_dirty(&w);
            continue;
        }
        w.now = event.at;
        ret_outcome->events++;
        happen(&w, &event);
    }
    w.now = w.end;
    sum_up(&w);
    unmake(&w);
}
