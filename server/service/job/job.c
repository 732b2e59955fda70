/*
 * A scheduler's jobs as the last snapshot has them, for one cluster: those that have, or had, one of its nodes, and those that wait in
 * a partition with one; and those that the scheduler has forgotten since of whom starts are kept: that told of attempts
 * (srun --auto-resume, diagnosis.c), or that something happened to (job_start.c). Beside a job stands what hpd knows of its nodes while it
 * had them: which faults they had, and which repairs were begun.
 */
#include "db/job.h"
#include "base/map.h"
#include "base/text.h"
#include "db/attempt.h"
#include "db/job_run.h"
#include "db/operation.h"
#include "db/verdict.h"
#include "server/service/job/job_life.h"
#include "server/service/job/job_run.h"
#include "server/service/private.h"
#include "server/service/scheduler/scheduler.h"

#include <string.h>

/* --- which jobs are the cluster's -------------------------------------------------------------- */
struct known {
    struct map *nodes;      /* name → 1 + row id */
    struct map *partitions; /* with one of them; name → anything */
    int64_t cluster_id;
    struct problem *problem;
    struct job_snapshot *snapshot; /* NULL: the cluster has no scheduler, and no jobs; or what they are is not known */
    char why[SERVICE_SCHEDULER_ERROR_MAX]; /* it is not known */
};

static void known_free(struct known *known)
{
    map_free(known->nodes);
    map_free(known->partitions);
    job_snapshot_free(known->snapshot);
}

static int add_node(const void *row, void *arg)
{
    const struct db_node_row *node = row;
    struct known *known = arg;
    map_set(known->nodes, node->node.name, (void *)(uintptr_t)(node->node.id + 1));
    return 0;
}

static bool each_word_in(const char *list, struct map *words, bool add)
{
    autofree char *copy = own_strdup(list);
    for (char *save = NULL, *word = strtok_r(copy, ",", &save); word != NULL; word = strtok_r(NULL, ",", &save))
        if (add)
            map_set(words, word, words);
        else if (map_get(words, word) != NULL)
            return true;
    return false;
}

static int know(struct service *s, struct db_tx *tx, const char *name, struct known *known)
{
    struct cluster cluster;
    int status = place_find_cluster(tx, name, &cluster, known->problem);
    known->cluster_id = cluster.id;
    if (status < 0 || cluster.orchestrator == ORCHESTRATOR_NONE)
        return status;
    known->snapshot =
        service_scheduler_snapshot(service_scheduler_of(s, &cluster), clock_wall_ms(s->clock), known->why);
    const struct db_node_filter filter = {.cluster_id = cluster.id, .state = -1, .health = -1};
    status = db_node_list(tx, &filter, add_node, known);
    for (size_t i = 0; known->snapshot != NULL && i < known->snapshot->node_count && status == 0; i++)
        if (map_get(known->nodes, known->snapshot->nodes[i].name) != NULL)
            each_word_in(known->snapshot->nodes[i].partitions, known->partitions, true);
    return status;
}

static int refuse_unknown(const struct known *known)
{
    return known->why[0] == '\0' || known->snapshot != NULL
               ? 0
               : problem_say(known->problem, STATUS_UNAVAILABLE, PROBLEM_UNAVAILABLE,
                             "The scheduler's jobs are not known now: %s.", known->why);
}

static bool is_of(const struct known *known, const struct cluster_job *job)
{
    char **names = NULL;
    size_t count = 0;
    bool found = false;
    if (job->nodes[0] == '\0')
        return each_word_in(job->partition, known->partitions, false);
    if (text_hostlist_expand(job->nodes, JOB_HOSTLIST_MAX, &names, &count) != 0)
        return false;
    for (size_t i = 0; i < count && !found; i++)
        found = map_get(known->nodes, names[i]) != NULL;
    text_list_free(names, count);
    return found;
}

/* --- what the store keeps of them --------------------------------------------------------------- */

/* A job that the scheduler forgot, as it was last. */
static struct cluster_job remember(const struct job_run *run)
{
    return (struct cluster_job){.id = run->job,
                                .name = run->name,
                                .user = run->user,
                                .account = run->account,
                                .partition = run->partition,
                                .state = run->state,
                                .reason = "",
                                .nodes = run->nodes,
                                .tasks = 1,
                                .cpus = run->cpus,
                                .gpus = run->gpus,
                                .node_count = run->node_count,
                                .restarts = run->restart,
                                .submitted_at = run->submitted_at,
                                .started_at = run->started_at,
                                .ends_at = run->ended_at};
}

static int add_run(const void *row, void *arg)
{
    job_life_add_run(arg, row);
    return 0;
}

static int add_attempt(const void *row, void *arg)
{
    job_life_add_attempt(arg, row);
    return 0;
}

static int add_signal(const void *row, void *arg)
{
    job_life_add_signal(arg, row);
    return 0;
}

/* Without attempts and starts there is nothing to count. */
static int load_life(struct db_tx *tx, int64_t cluster_id, const struct cluster_job *job, int64_t now_ms,
                     struct job_life *life, struct job_goodput *ret_goodput)
{
    life->waits = job->state == CLUSTER_JOB_PENDING;
    int status = db_attempt_list(tx, cluster_id, job->id, add_attempt, life);
    if (status == 0)
        status = db_job_run_list(tx, cluster_id, job->id, add_run, life);
    if (status == 0 && life->run_count > 0)
        status = db_job_signalled(tx, cluster_id, job->id, add_signal, life);
    job_life_recount(life, now_ms, ret_goodput);
    return status;
}

static bool is_known(const struct job_life *life)
{
    return life->attempt_count > 0 || life->run_count > 0;
}

/* --- list ------------------------------------------------------------------------------------------ */
struct listed {
    struct cluster_job job;
    struct job_run *run; /* its texts, where the snapshot has none */
    struct job_goodput goodput;
    bool is_watched;
};

struct job_listing {
    struct service *s;
    const char *cluster, *before_id;
    int limit;
    struct known known;
    struct map *shown; /* by the snapshot; id → anything */
    struct listed *listed;
    size_t count;
};

static struct listed *add_listed(struct job_listing *listing, const struct cluster_job *job)
{
    listing->listed = own_realloc(listing->listed, listing->count + 1, sizeof(*listing->listed));
    listing->listed[listing->count] = (struct listed){.job = *job};
    return &listing->listed[listing->count++];
}

static bool is_asked_for(const struct job_listing *listing, const char *id)
{
    return listing->before_id[0] == '\0' || strverscmp(id, listing->before_id) < 0;
}

/* Job by job, oldest start first: the last one is the job. */
static int list_run(const void *row, void *arg)
{
    struct job_listing *listing = arg;
    const struct job_run *run = row;
    struct listed *last = listing->count > 0 ? &listing->listed[listing->count - 1] : NULL;
    if (run->ended_at == 0 || map_get(listing->shown, run->job) != NULL || !is_asked_for(listing, run->job))
        return 0;
    if (last == NULL || last->run == NULL || strcmp(last->run->job, run->job) != 0) {
        last = add_listed(listing, &(struct cluster_job){0});
        last->run = own_calloc(1, sizeof(*last->run));
    }
    *last->run = *run;
    last->job = remember(last->run);
    return 0;
}

static int newest_first(const void *a, const void *b)
{
    return strverscmp(((const struct listed *)b)->job.id, ((const struct listed *)a)->job.id);
}

static void list_snapshot(struct job_listing *listing)
{
    const struct job_snapshot *snapshot = listing->known.snapshot;
    for (size_t i = 0; i < snapshot->count; i++)
        if (is_asked_for(listing, snapshot->jobs[i].id))
            add_listed(listing, &snapshot->jobs[i]);
}

/* What is not this cluster's goes last, and so far as nobody asked for more: reading a host list costs more than sorting it. */
static void keep_page(struct job_listing *listing)
{
    size_t kept = 0;
    if (listing->count > 0)
        qsort(listing->listed, listing->count, sizeof(*listing->listed), newest_first);
    for (size_t i = 0; i < listing->count; i++) {
        struct listed *listed = &listing->listed[i];
        bool wanted = kept < (size_t)listing->limit && (listed->run != NULL || is_of(&listing->known, &listed->job));
        if (wanted)
            listing->listed[kept++] = *listed;
        else
            free(listed->run);
    }
    listing->count = kept;
}

static int list_read(struct db_tx *tx, void *arg)
{
    struct job_listing *listing = arg;
    int64_t now_ms = clock_wall_ms(listing->s->clock);
    int status = know(listing->s, tx, listing->cluster, &listing->known);
    if (status == 0)
        status = refuse_unknown(&listing->known);
    if (status < 0 || listing->known.snapshot == NULL)
        return status;
    int64_t cluster_id = listing->known.cluster_id;
    for (size_t i = 0; i < listing->known.snapshot->count; i++)
        map_set(listing->shown, listing->known.snapshot->jobs[i].id, listing->shown);
    status = db_job_run_list(tx, cluster_id, "", list_run, listing);
    list_snapshot(listing);
    keep_page(listing);
    for (size_t i = 0; i < listing->count && status == 0; i++) {
        AUTO(job_life) struct job_life life = {0};
        struct listed *listed = &listing->listed[i];
        status = load_life(tx, cluster_id, &listed->job, now_ms, &life, &listed->goodput);
        listed->is_watched = is_known(&life);
    }
    return status;
}

static struct known known_new(struct problem *problem)
{
    return (struct known){.nodes = map_new(), .partitions = map_new(), .problem = problem};
}

int service_job_list(struct service *s, const char *cluster, const char *before_id, int limit, db_row_fn fn, void *arg,
                     struct problem *ret_problem)
{
    struct job_listing listing = {.s = s,
                                  .cluster = cluster,
                                  .before_id = before_id,
                                  .limit = limit,
                                  .known = known_new(ret_problem),
                                  .shown = map_new()};
    int status = service_read(s, list_read, &listing, ret_problem);
    for (size_t i = 0; i < listing.count; i++) {
        const struct listed *listed = &listing.listed[i];
        const struct service_job row = {&listed->job, listed->is_watched ? &listed->goodput : NULL};
        if (status == 0)
            status = fn(&row, arg);
        free(listed->run);
    }
    free(listing.listed);
    map_free(listing.shown);
    known_free(&listing.known);
    return status;
}

/* --- all that run ------------------------------------------------------------------------------- */
#define RUNNING_MAX 1000 /* of so many jobs the goodput is counted; it takes three queries for each */

struct running {
    struct service *s;
    const char *cluster;
    char **jobs;
    size_t count;
    struct job_goodput *goodput;
    struct problem *problem;
};

static int add_running(const void *row, void *arg)
{
    struct running *running = arg;
    running->jobs = own_realloc(running->jobs, running->count + 1, sizeof(*running->jobs));
    running->jobs[running->count++] = own_strdup(row);
    return 0;
}

static int goodput_read(struct db_tx *tx, void *arg)
{
    struct running *running = arg;
    struct cluster cluster;
    int status = place_find_cluster(tx, running->cluster, &cluster, running->problem);
    if (status == 0)
        status = db_job_run_running(tx, cluster.id, RUNNING_MAX, add_running, running);
    for (size_t i = 0; i < running->count && status == 0; i++) {
        AUTO(job_life) struct job_life life = {0};
        struct job_goodput one = {0}, *all = running->goodput;
        const struct cluster_job job = {.id = running->jobs[i], .state = CLUSTER_JOB_RUNNING};
        status = load_life(tx, cluster.id, &job, clock_wall_ms(running->s->clock), &life, &one);
        all->allocated_ms += one.allocated_ms + (one.by_runs ? one.lost_ms : 0);
        all->productive_ms += one.productive_ms;
        all->lost_ms += one.lost_ms;
    }
    return status;
}

int service_job_goodput(struct service *s, const char *cluster, struct job_goodput *ret_goodput, int64_t *ret_jobs,
                        struct problem *ret_problem)
{
    *ret_goodput = (struct job_goodput){0};
    struct running running = {.s = s, .cluster = cluster, .goodput = ret_goodput, .problem = ret_problem};
    int status = service_read(s, goodput_read, &running, ret_problem);
    *ret_jobs = (int64_t)running.count;
    text_list_free(running.jobs, running.count);
    return status;
}

/* --- one of them ------------------------------------------------------------------------------- */
struct window { /* in which a node was the job's */
    char node[NODE_NAME_MAX_BYTES];
    int64_t since, until;
};

struct job_look {
    struct service *s;
    const char *cluster, *id;
    struct known known;
    const struct service_job_readers *readers;
    struct job_run *last; /* the job's last start that the store knows; NULL: none */
    struct job_life life;
    size_t told; /* attempts */
    size_t told_runs;
    struct map *places; /* node → 1 + its window */
    struct window *windows;
    size_t window_count;
    const struct window *window; /* whose rows are read */
    int64_t now_ms;
};

static int tell_fault(const void *row, void *arg)
{
    const struct verdict *verdict = row;
    const struct job_look *look = arg;
    if (!verdict->node_fault || verdict->last_at < look->window->since || verdict->first_at > look->window->until)
        return 0;
    return look->readers->fault(look->window->node, verdict, look->readers->arg);
}

static int tell_repair(const void *row, void *arg)
{
    const struct operation *operation = row;
    const struct job_look *look = arg;
    if (operation->created_at > look->window->until)
        return 0;
    return look->readers->repair(look->window->node, operation, look->readers->arg);
}

static int tell_node(struct db_tx *tx, struct job_look *look, const struct window *window)
{
    uintptr_t id = (uintptr_t)map_get(look->known.nodes, window->node);
    if (id == 0)
        return 0; /* it is not this cluster's */
    look->window = window;
    const struct db_verdict_filter filter = {.node_id = (int64_t)id - 1, .state = -1};
    int status = db_verdict_list(tx, &filter, tell_fault, look);
    return status < 0 ? status : db_operation_repairs(tx, (int64_t)id - 1, window->since, tell_repair, look);
}

/* A node that the job had twice, and had not in between, is looked at from the first to the last. */
static void add_window(struct job_look *look, const char *node, int64_t since, int64_t until)
{
    uintptr_t place = (uintptr_t)map_get(look->places, node);
    if (place == 0) {
        look->windows = own_realloc(look->windows, look->window_count + 1, sizeof(*look->windows));
        struct window *window = &look->windows[look->window_count++];
        *window = (struct window){.since = since, .until = until};
        text_copy_cut(window->node, sizeof(window->node), node);
        map_set(look->places, node, (void *)(uintptr_t)look->window_count);
        return;
    }
    struct window *window = &look->windows[place - 1];
    window->since = since < window->since ? since : window->since;
    window->until = until > window->until ? until : window->until;
}

static int add_windows(struct job_look *look, const char *nodes, int64_t since, int64_t until)
{
    char **names = NULL;
    size_t count = 0;
    if (nodes[0] == '\0' || since == 0)
        return 0;
    int status = text_hostlist_expand(nodes, JOB_HOSTLIST_MAX, &names, &count);
    for (size_t i = 0; i < count && status == 0; i++)
        add_window(look, names[i], since, until);
    text_list_free(names, count);
    return status;
}

/* A fault is often known, and its repair begun, after the attempt that it ended: until the next one runs it is this one's. */
static int tell_attempt(const void *row, void *arg)
{
    struct job_look *look = arg;
    const struct job_attempt *attempt = row;
    const struct life_attempt *life = &look->life.attempts[look->told++];
    int status = add_windows(look, attempt->nodes, life->from, life->useful + life->cost.lost_ms);
    return status != 0 ? status : look->readers->attempt(attempt, &life->cost, look->readers->arg);
}

/* Earlier starts had nodes, too. */
static int tell_run(const void *row, void *arg)
{
    struct job_look *look = arg;
    const struct job_run *run = row;
    const struct life_run *life = &look->life.runs[look->told_runs++];
    int status = add_windows(look, run->nodes, run->started_at, run->ended_at > 0 ? run->ended_at : look->now_ms);
    return status != 0 || look->readers->run == NULL ? status
                                                     : look->readers->run(run, &life->cost, look->readers->arg);
}

static int tell_signal(const void *row, void *arg)
{
    struct job_look *look = arg;
    return look->readers->signal == NULL ? 0 : look->readers->signal(row, look->readers->arg);
}

static int take_last(const void *row, void *arg)
{
    struct job_look *look = arg;
    if (look->last == NULL)
        look->last = own_calloc(1, sizeof(*look->last));
    *look->last = *(const struct job_run *)row;
    return 0;
}

/* As the scheduler shows it, or as the store remembers it; ret_job's texts are theirs. */
static int find_job(struct db_tx *tx, struct job_look *look, struct cluster_job *ret_job)
{
    const struct known *known = &look->known;
    const struct cluster_job *job = known->snapshot == NULL ? NULL : job_run_find(known->snapshot, look->id);
    int status = db_job_run_list(tx, known->cluster_id, look->id[0] == '\0' ? "-" : look->id, take_last, look);
    if (status != 0)
        return status;
    if (job != NULL && is_of(known, job))
        *ret_job = *job;
    else if (job == NULL && look->last != NULL && look->last->ended_at != 0)
        *ret_job = remember(look->last);
    else if (refuse_unknown(known) != 0)
        return STATUS_UNAVAILABLE;
    else
        return problem_say(known->problem, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND,
                           "The scheduler knows no job \"%s\" of this cluster; what ended it soon forgets.", look->id);
    return 0;
}

static int look_read(struct db_tx *tx, void *arg)
{
    struct job_look *look = arg;
    struct cluster_job job = {0};
    struct job_goodput goodput;
    int status = know(look->s, tx, look->cluster, &look->known);
    if (status == 0)
        status = find_job(tx, look, &job);
    if (status == 0)
        status = load_life(tx, look->known.cluster_id, &job, look->now_ms, &look->life, &goodput);
    if (status < 0)
        return status;
    const struct service_job row = {&job, is_known(&look->life) ? &goodput : NULL};
    status = look->readers->job(&row, look->readers->arg);
    if (status == 0)
        status = add_windows(look, job.nodes, job.started_at,
                             job.ends_at > 0 && job.ends_at < look->now_ms ? job.ends_at : look->now_ms);
    if (status == 0)
        status = db_attempt_list(tx, look->known.cluster_id, look->id, tell_attempt, look);
    if (status == 0)
        status = db_job_run_list(tx, look->known.cluster_id, look->id, tell_run, look);
    if (status == 0)
        status = db_job_signalled(tx, look->known.cluster_id, look->id, tell_signal, look);
    for (size_t i = 0; i < look->window_count && status == 0; i++)
        status = tell_node(tx, look, &look->windows[i]);
    return status;
}

int service_job_get(struct service *s, const char *cluster, const char *id, const struct service_job_readers *readers,
                    struct problem *ret_problem)
{
    struct job_look look = {.s = s,
                            .cluster = cluster,
                            .id = id,
                            .known = known_new(ret_problem),
                            .readers = readers,
                            .places = map_new(),
                            .now_ms = clock_wall_ms(s->clock)};
    int status = service_read(s, look_read, &look, ret_problem);
    job_life_free(&look.life);
    map_free(look.places);
    free(look.windows);
    free(look.last);
    known_free(&look.known);
    return status;
}
