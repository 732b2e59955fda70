/*
 * Jobs. They never end: what matters is which share of their machines' time became work that was kept. A job that loses a node
 * stops as a whole, somebody notices, it gets its nodes together again (spares first), restarts, and goes on from its last
 * checkpoint. Nodes that shall leave, for a fault that can wait, leave when their job stops for any cause.
 */
#include "simulate/world.h"

#include "base/own.h"

static double node_hours(const struct job *job, int64_t ms)
{
    return (double)ms * (double)job->need / (double)MS_PER_HOUR;
}

/* in_order: it wrote a checkpoint before it stopped. */
static void count_training(struct world *w, struct job *job, int64_t ms, bool in_order)
{
    struct simulate_hours *hours = &w->out->hours;
    int64_t every = world_number(w, SIMULATE_CHECKPOINT), cost = world_number(w, SIMULATE_CHECKPOINT_COST);
    int64_t rounds = ms / (every + cost), rest = ms % (every + cost);
    hours->useful += node_hours(job, rounds * every + (in_order ? rest : 0));
    hours->checkpoints += node_hours(job, rounds * cost);
    hours->lost += node_hours(job, in_order ? 0 : rest);
}

/* What it was until now is counted. */
static void move(struct world *w, struct job *job, enum job_state state, bool in_order)
{
    struct simulate_hours *hours = &w->out->hours;
    int64_t ms = w->now - job->since;
    double spent = node_hours(job, ms);
    hours->all += spent;
    if (job->state == JOB_TRAINING || job->state == JOB_RESTARTING)
        w->out->mttf[job->size].job_hours += (double)ms / (double)MS_PER_HOUR;
    switch (job->state) {
    case JOB_TRAINING:
        count_training(w, job, ms, in_order);
        w->training_nodes -= job->need;
        break;
    case JOB_WAITING:
        hours->waiting += spent;
        break;
    case JOB_RESTARTING:
        hours->restarting += spent;
        break;
    case JOB_NOTICING:
        hours->noticing += spent;
        break;
    case JOB_PLANNED:
        hours->planned += spent;
        break;
    }
    w->training_nodes += state == JOB_TRAINING ? job->need : 0;
    job->state = state;
    job->since = w->now;
    job->ticket++;
}

bool job_runs(const struct world *w, int32_t job)
{
    return job != NONE && (w->jobs[job].state == JOB_TRAINING || w->jobs[job].state == JOB_RESTARTING);
}

/* --- nodes ------------------------------------------------------------------------------------------------- */

static void pool_add(struct world *w, int32_t node)
{
    w->machines[node].pool_at = w->pool_count;
    w->pool[w->pool_count++] = node;
    fleet_group(w, node)->idle++;
}

static void pool_remove(struct world *w, int32_t node)
{
    int32_t at = w->machines[node].pool_at, last = w->pool[--w->pool_count];
    w->pool[at] = last;
    w->machines[last].pool_at = at;
    w->machines[node].pool_at = NONE;
    fleet_group(w, node)->idle--;
}

static bool is_usable(const struct machine *machine)
{
    return machine->state == NODE_STATE_READY && !machine->unheard;
}

void node_take(struct world *w, int32_t node)
{
    struct machine *machine = &w->machines[node];
    if (machine->pool_at != NONE)
        pool_remove(w, node);
    if (machine->job != NONE) {
        w->jobs[machine->job].have--;
        w->jobs[machine->job].sick -= machine->sick;
    }
    machine->job = NONE;
    machine->leaving = false;
}

static void queue_job(struct world *w, int32_t job)
{
    if (w->jobs[job].queued)
        return;
    w->jobs[job].queued = true;
    w->waiting[(w->waiting_head + w->waiting_count++) % w->job_count] = job;
}

/* Takes what is free; begins when it has all. */
static void fill(struct world *w, int32_t at)
{
    struct job *job = &w->jobs[at];
    while (job->have < job->need && w->pool_count > 0) {
        int32_t node = w->pool[w->pool_count - 1];
        pool_remove(w, node);
        w->machines[node].job = at;
        job->have++;
        if (w->machines[node].sick) {
            job->sick++;
            job->sick_class = w->machines[node].trouble->sick;
        }
    }
    if (job->have < job->need) {
        queue_job(w, at);
        return;
    }
    move(w, job, JOB_RESTARTING, false);
    world_at(w, w->now + world_about(w, world_number(w, SIMULATE_RESTART)), HAPPENS_RESTARTED, at, job->ticket);
}

void node_give(struct world *w, int32_t node)
{
    struct machine *machine = &w->machines[node];
    if (!is_usable(machine) || machine->pool_at != NONE || machine->job != NONE)
        return;
    pool_add(w, node);
    while (w->waiting_count > 0 && w->pool_count > 0) {
        int32_t at = w->waiting[w->waiting_head];
        if (w->jobs[at].state == JOB_WAITING)
            fill(w, at);
        if (w->jobs[at].state == JOB_WAITING)
            return;
        w->jobs[at].queued = false;
        w->waiting_head = (w->waiting_head + 1) % w->job_count;
        w->waiting_count--;
    }
}

void node_leave(struct world *w, int32_t node)
{
    struct machine *machine = &w->machines[node];
    if (!job_runs(w, machine->job)) {
        node_take(w, node);
    } else if (!machine->leaving) {
        machine->leaving = true;
        machine->next = w->jobs[machine->job].leaving;
        w->jobs[machine->job].leaving = node;
    }
}

/* --- what happens to a job ------------------------------------------------------------------------------------ */

static void let_go(struct world *w, struct job *job)
{
    while (job->leaving != NONE) {
        int32_t node = job->leaving;
        job->leaving = w->machines[node].next;
        if (!w->machines[node].leaving)
            continue; /* it went already, or stays after all */
        node_take(w, node);
        repair_freed(w, node);
    }
}

void job_interrupt(struct world *w, int32_t at, int class, int64_t notice_after)
{
    if (!job_runs(w, at))
        return;
    struct job *job = &w->jobs[at];
    w->out->interruptions++;
    w->out->classes[class].interruptions++;
    w->out->mttf[job->size].interruptions++;
    move(w, job, JOB_NOTICING, false);
    world_at(w, w->now + notice_after + 1, HAPPENS_NOTICED, at,
             job->ticket); /* what is decided meanwhile comes first */
    let_go(w, job);
}

void job_noticed(struct world *w, int32_t at)
{
    move(w, &w->jobs[at], JOB_WAITING, false);
    fill(w, at);
}

void job_restarted(struct world *w, int32_t at)
{
    struct job *job = &w->jobs[at];
    move(w, job, JOB_TRAINING, false);
    if (job->sick > 0) /* what the policy left in service is broken still */
        job_interrupt(w, at, job->sick_class, world_number(w, SIMULATE_DETECT));
}

void jobs_planned(struct world *w)
{
    for (int32_t at = 0; at < w->job_count; at++) {
        struct job *job = &w->jobs[at];
        if (job->state != JOB_TRAINING)
            continue;
        w->out->planned++;
        move(w, job, JOB_PLANNED, true);
        let_go(w, job);
        world_at(w, w->now + world_number(w, SIMULATE_PLANNED_FOR), HAPPENS_PLANNED_END, at, job->ticket);
    }
}

void job_planned_end(struct world *w, int32_t at)
{
    job_noticed(w, at);
}

void job_close(struct world *w, int32_t at)
{
    move(w, &w->jobs[at], w->jobs[at].state, true);
}

/* --- the mix ---------------------------------------------------------------------------------------------------- */

static int size_of(struct simulate_outcome *out, int64_t nodes)
{
    for (size_t i = 0; i < out->mttf_count; i++)
        if (out->mttf[i].nodes == nodes)
            return (int)i;
    out->mttf[out->mttf_count].nodes = nodes;
    return (int)out->mttf_count++;
}

static void add_jobs(struct world *w, int64_t nodes, int64_t count)
{
    for (; count > 0; count--)
        w->jobs[w->job_count++] =
            (struct job){.need = nodes, .since = w->now, .size = size_of(w->out, nodes), .leaving = NONE};
}

/* A job that is larger than the fleet is as large as the fleet. What a share is too small for, one job more of its size, goes to smaller ones: machines left over would be spares that nobody
 * asked for. */
static void add_mix(struct world *w, const struct simulate_scenario *s, int64_t for_jobs)
{
    bool done[SIMULATE_SIZES_MAX] = {false};
    double rest = 0;
    for (size_t n = 0; n < s->size_count; n++) {
        size_t largest = SIMULATE_SIZES_MAX;
        for (size_t i = 0; i < s->size_count; i++)
            if (!done[i] && (largest == SIMULATE_SIZES_MAX || s->sizes[i].nodes > s->sizes[largest].nodes))
                largest = i;
        done[largest] = true;
        const int64_t nodes = s->sizes[largest].nodes < for_jobs ? s->sizes[largest].nodes : for_jobs;
        rest += (double)for_jobs * s->sizes[largest].share / 100;
        int64_t count = (int64_t)(rest + 1e-6) / nodes;
        add_jobs(w, nodes, count);
        rest -= (double)(count * nodes);
    }
}

void jobs_make(struct world *w)
{
    const struct simulate_scenario *s = w->scenario;
    int64_t for_jobs = s->number[SIMULATE_NODES];
    int64_t nodes = s->number[SIMULATE_JOB_NODES] > 0 ? s->number[SIMULATE_JOB_NODES] : for_jobs;
    w->jobs = own_calloc((size_t)for_jobs, sizeof(*w->jobs));
    w->waiting = own_calloc((size_t)for_jobs, sizeof(*w->waiting));
    bool mixed = s->size_count > 0 && s->number[SIMULATE_JOB_NODES] == 0;
    if (mixed)
        add_mix(w, s, for_jobs);
    else
        add_jobs(w, nodes, for_jobs / nodes);
    for (int32_t at = 0; at < w->job_count; at++)
        fill(w, at);
}
