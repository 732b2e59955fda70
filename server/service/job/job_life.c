/* Intervals of one job, counted. */
#include "server/service/job/job_life.h"

#include "base/own.h"
#include "model/attempt.h"

#include <stdlib.h>
#include <string.h>

#define UNSEEN_MS (2 * MS_PER_MIN) /* an attempt that runs is told of every minute at least */
#define LAST_MS MS_PER_MIN         /* so close to the end of its job's start an attempt is what ended it */

struct span {
    int64_t from, to;
};

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void job_life_add_attempt(struct job_life *life, const struct job_attempt *attempt)
{
    bool well = attempt->state == ATTEMPT_STATE_ENDED && attempt->exit_code == 0;
    bool runs = attempt->state == ATTEMPT_STATE_RUNNING;
    life->attempts = own_realloc(life->attempts, life->attempt_count + 1, sizeof(*life->attempts));
    life->attempts[life->attempt_count++] = (struct life_attempt){
        .restart = attempt->restart,
        .step = attempt->step,
        .nodes = attempt->node_count,
        .from = attempt->started_at,
        .useful = well || runs                ? 0
                  : attempt->progress_at != 0 ? attempt->progress_at
                                              : attempt->fault_at,
        .to = attempt->ended_at,
        .seen = attempt->seen_at,
        .well = well,
        .state = attempt->state,
    };
}

static struct life_run *add_run(struct job_life *life, const struct life_run *run)
{
    life->runs = own_realloc(life->runs, life->run_count + 1, sizeof(*life->runs));
    life->runs[life->run_count] = *run;
    return &life->runs[life->run_count++];
}

void job_life_add_run(struct job_life *life, const struct job_run *run)
{
    bool failed = run->state == CLUSTER_JOB_REQUEUED || run->state == CLUSTER_JOB_NODE_FAIL ||
                  run->state == CLUSTER_JOB_PREEMPTED;
    bool evicted = run->evicted_at != 0 && run->ended_at != 0 && run->state != CLUSTER_JOB_COMPLETED;
    add_run(life, &(struct life_run){.restart = run->restart,
                                     .nodes = run->node_count,
                                     .from = run->started_at,
                                     .to = run->ended_at,
                                     .cut = failed || evicted});
}

void job_life_add_signal(struct job_life *life, const struct job_signalled *signalled)
{
    for (size_t i = 0; i < life->run_count; i++) {
        struct life_run *run = &life->runs[i];
        if (signalled->asked == JOB_ASKED_SENT && signalled->asked_at >= run->from &&
            (run->to == 0 || signalled->asked_at <= run->to))
            run->asked = later(run->asked, signalled->asked_at);
    }
}

static struct life_run *run_of(struct job_life *life, const struct life_attempt *attempt)
{
    for (size_t i = 0; i < life->run_count; i++)
        if (life->runs[i].restart == attempt->restart)
            return &life->runs[i];
    return add_run(
        life, &(struct life_run){
                  .restart = attempt->restart, .nodes = attempt->nodes, .from = attempt->from, .to = attempt->seen});
}

/* Attempts were told of by other clocks' owners than runs were, and what is left out of either the other one has. */
static void settle(struct job_life *life, struct life_attempt *attempt, int64_t now_ms)
{
    struct life_run *run = run_of(life, attempt);
    if (attempt->to == 0)
        attempt->to = run->to != 0                         ? later(run->to, attempt->from)
                      : now_ms > attempt->seen + UNSEEN_MS ? attempt->seen
                                                           : now_ms;
    attempt->useful = attempt->useful == 0 ? attempt->to : later(attempt->from, earlier(attempt->useful, attempt->to));
    run->from = run->from == 0 ? attempt->from : earlier(run->from, attempt->from);
    run->to = run->to == 0 ? 0 : later(run->to, attempt->to);
    run->nodes = later(run->nodes, attempt->nodes);
}

/* When the job went on after it; its own end when it did not. */
static int64_t next_begin(const struct job_life *life, size_t at, const struct life_run *run, int64_t now_ms)
{
    const struct life_attempt *attempt = &life->attempts[at], *next = NULL;
    int64_t last = 0;
    if (at + 1 < life->attempt_count && attempt[1].restart == attempt->restart && attempt[1].step == attempt->step)
        return later(attempt->to, attempt[1].from);
    for (size_t i = 0; i < life->attempt_count; i++) {
        const struct life_attempt *other = &life->attempts[i];
        if (other->restart == attempt->restart)
            last = later(last, other->to);
        else if (other->restart > attempt->restart && (next == NULL || other->restart < next->restart ||
                                                       (other->restart == next->restart && other->from < next->from)))
            next = other;
    }
    if (attempt->well)
        return attempt->to;
    if (next != NULL)
        return attempt->to + LAST_MS >= last ? later(attempt->to, next->from) : attempt->to;
    bool may_follow = attempt->state == ATTEMPT_STATE_FAILED || attempt->state == ATTEMPT_STATE_WAITING;
    return may_follow && run->to == 0 ? later(attempt->to, now_ms) : attempt->to;
}

static enum attempt_state state_now(const struct job_life *life, size_t at, const struct life_run *run)
{
    const struct life_attempt *attempt = &life->attempts[at];
    bool followed =
        at + 1 < life->attempt_count && attempt[1].restart == attempt->restart && attempt[1].step == attempt->step;
    if (attempt->state == ATTEMPT_STATE_RUNNING && run->to != 0)
        return ATTEMPT_STATE_ENDED;
    if (attempt->state == ATTEMPT_STATE_WAITING && (followed || run->to != 0))
        return ATTEMPT_STATE_FAILED;
    return attempt->state;
}

static int by_begin(const void *a, const void *b)
{
    const struct span *one = a, *other = b;
    return (one->from > other->from) - (one->from < other->from);
}

static int64_t cover(struct span *spans, size_t count)
{
    int64_t sum = 0, end = INT64_MIN;
    qsort(spans, count, sizeof(*spans), by_begin);
    for (size_t i = 0; i < count; i++) {
        int64_t from = later(spans[i].from, end);
        sum += spans[i].to > from ? spans[i].to - from : 0;
        end = later(end, spans[i].to);
    }
    return sum;
}

static void add_goodput(const struct job_life *life, const struct life_run *run, int64_t now_ms,
                        struct job_goodput *goodput)
{
    autofree struct span *useful = own_calloc(life->attempt_count, sizeof(*useful));
    autofree struct span *all = own_calloc(life->attempt_count, sizeof(*all));
    size_t count = 0;
    for (size_t i = 0; i < life->attempt_count; i++) {
        const struct life_attempt *attempt = &life->attempts[i];
        if (attempt->restart != run->restart)
            continue;
        useful[count] = (struct span){attempt->from, attempt->useful};
        all[count++] = (struct span){attempt->from, attempt->useful + attempt->cost.lost_ms};
    }
    int64_t productive = cover(useful, count), end = run->to != 0 ? run->to : later(now_ms, run->from);
    goodput->productive_ms += productive * run->nodes;
    goodput->lost_ms += (cover(all, count) - productive) * run->nodes;
    goodput->allocated_ms += (end - run->from) * run->nodes;
}

/* Between two starts that follow each other; what lies between others is not known. */
static int64_t wait_after(const struct job_life *life, size_t at, int64_t now_ms)
{
    const struct life_run *run = &life->runs[at];
    if (at + 1 < life->run_count)
        return run[1].restart == run->restart + 1 && run->to != 0 ? later(run[1].from - run->to, 0) : 0;
    return life->waits && run->cut && run->to != 0 ? later(now_ms - run->to, 0) : 0;
}

static void recount_run(struct job_life *life, size_t at, int64_t now_ms, struct job_goodput *goodput)
{
    struct life_run *run = &life->runs[at];
    int64_t end = run->to != 0 ? later(run->to, run->from) : later(now_ms, run->from);
    run->cut = run->cut || at + 1 < life->run_count;
    int64_t useful = !run->cut ? end : run->asked != 0 ? earlier(run->asked, end) : run->from;
    run->cost =
        (struct run_cost){.lost_max_ms = end - useful, .waited_ms = wait_after(life, at, now_ms), .cut = run->cut};
    goodput->allocated_ms += (end - run->from) * run->nodes;
    goodput->productive_ms += (useful - run->from) * run->nodes;
    goodput->lost_ms += run->cost.waited_ms * run->nodes;
    goodput->lost_max_ms += (run->cost.waited_ms + run->cost.lost_max_ms) * run->nodes;
    goodput->waited_ms += run->cost.waited_ms;
    goodput->asked = goodput->asked || (run->cut && run->asked != 0);
}

static void recount_runs(struct job_life *life, int64_t now_ms, struct job_goodput *goodput)
{
    goodput->by_runs = true;
    goodput->starts_unseen = life->runs[life->run_count - 1].restart + 1 - (int64_t)life->run_count;
    for (size_t i = 0; i < life->run_count; i++)
        recount_run(life, i, now_ms, goodput);
}

void job_life_recount(struct job_life *life, int64_t now_ms, struct job_goodput *ret_goodput)
{
    *ret_goodput = (struct job_goodput){0};
    for (size_t i = 0; i < life->attempt_count; i++)
        settle(life, &life->attempts[i], now_ms);
    for (size_t i = 0; i < life->attempt_count; i++) {
        struct life_attempt *attempt = &life->attempts[i];
        attempt->cost.productive_ms = attempt->useful - attempt->from;
        attempt->cost.state = state_now(life, i, run_of(life, attempt));
        attempt->cost.lost_ms = next_begin(life, i, run_of(life, attempt), now_ms) - attempt->useful;
    }
    for (size_t i = 0; i < life->run_count && life->attempt_count > 0; i++)
        add_goodput(life, &life->runs[i], now_ms, ret_goodput);
    ret_goodput->lost_max_ms = ret_goodput->lost_ms;
    if (life->attempt_count == 0 && life->run_count > 0)
        recount_runs(life, now_ms, ret_goodput);
}

void job_life_free(struct job_life *life)
{
    free(life->attempts);
    free(life->runs);
    *life = (struct job_life){0};
}
