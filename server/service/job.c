/*
 * A scheduler's jobs as the last picture has them, for one cluster: those that have, or had, one of its nodes, and those that wait in
 * a partition with one. Beside a job stands what hpd knows of its nodes since its last start: which faults they had, and which
 * repairs were begun. Slurm forgets where a job ran before it was requeued: of its earlier attempts only those are known that
 * srun's --auto-resume told of (diagnosis.c).
 */
#include "base/map.h"
#include "base/text.h"
#include "db/attempt.h"
#include "db/operation.h"
#include "db/verdict.h"
#include "server/service/private.h"

#include <string.h>

#define JOB_VERDICTS_MAX 200 /* of one node that are looked through */

/* --- which jobs are the cluster's -------------------------------------------------------------- */
struct known {
    struct map *nodes;      /* name → 1 + row id */
    struct map *partitions; /* with one of them; name → anything */
    int64_t cluster_id;
    struct problem *problem;
    struct job_picture *picture; /* NULL: the cluster has no scheduler, and no jobs */
};

static void known_free(struct known *known)
{
    map_free(known->nodes);
    map_free(known->partitions);
    job_picture_free(known->picture);
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
    char why[SERVICE_SCHEDULER_ERROR_MAX];
    int status = place_find_cluster(tx, name, &cluster, known->problem);
    if (status < 0 || cluster.orchestrator != ORCHESTRATOR_SLURM)
        return status;
    known->cluster_id = cluster.id;
    known->picture = service_scheduler_picture(s->scheduler, clock_wall_ms(s->clock), why);
    if (known->picture == NULL)
        return problem_say(known->problem, STATUS_UNAVAILABLE, PROBLEM_UNAVAILABLE,
                           "What Slurm's jobs are is not known now: %s.", why);
    const struct db_node_filter filter = {.cluster_id = cluster.id, .state = -1, .health = -1};
    status = db_node_list(tx, &filter, add_node, known);
    for (size_t i = 0; i < known->picture->node_count && status == 0; i++)
        if (map_get(known->nodes, known->picture->nodes[i].name) != NULL)
            each_word_in(known->picture->nodes[i].partitions, known->partitions, true);
    return status;
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

/* --- list ------------------------------------------------------------------------------------------ */
struct job_listing {
    struct service *s;
    const char *cluster;
    struct known known;
};

static int list_read(struct db_tx *tx, void *arg)
{
    struct job_listing *listing = arg;
    return know(listing->s, tx, listing->cluster, &listing->known);
}

static int newest_first(const void *a, const void *b)
{
    return strverscmp((*(const struct cluster_job *const *)b)->id, (*(const struct cluster_job *const *)a)->id);
}

static struct known known_new(struct problem *problem)
{
    return (struct known){.nodes = map_new(), .partitions = map_new(), .problem = problem};
}

int service_job_list(struct service *s, const char *cluster, const char *before_id, int limit, db_row_fn fn, void *arg,
                     struct problem *ret_problem)
{
    struct job_listing listing = {.s = s, .cluster = cluster, .known = known_new(ret_problem)};
    const struct known *known = &listing.known;
    int status = service_read(s, list_read, &listing, ret_problem);
    size_t count = 0, all = status == 0 && known->picture != NULL ? known->picture->count : 0;
    autofree const struct cluster_job **jobs = own_calloc(all + 1, sizeof(*jobs));
    for (size_t i = 0; i < all; i++)
        if (before_id[0] == '\0' || strverscmp(known->picture->jobs[i].id, before_id) < 0)
            jobs[count++] = &known->picture->jobs[i];
    qsort(jobs, count, sizeof(*jobs), newest_first);
    for (size_t i = 0; i < count && limit > 0 && status == 0; i++)
        if (is_of(known, jobs[i])) {
            status = fn(jobs[i], arg);
            limit--;
        }
    known_free(&listing.known);
    return status;
}

/* --- one of them ------------------------------------------------------------------------------- */
struct job_look {
    struct service *s;
    const char *cluster, *id;
    struct known known;
    const struct service_job_readers *readers;
    const char *node; /* whose rows are read */
    int64_t since, until;
};

static int tell_fault(const void *row, void *arg)
{
    const struct verdict *verdict = row;
    const struct job_look *look = arg;
    if (!verdict->node_fault || verdict->last_at < look->since || verdict->first_at > look->until)
        return 0;
    return look->readers->fault(look->node, verdict, look->readers->arg);
}

static int tell_repair(const void *row, void *arg)
{
    const struct operation *operation = row;
    const struct job_look *look = arg;
    return operation->created_at > look->until ? 0 : look->readers->repair(look->node, operation, look->readers->arg);
}

static int tell_node(struct db_tx *tx, struct job_look *look, const char *name)
{
    uintptr_t id = (uintptr_t)map_get(look->known.nodes, name);
    if (id == 0)
        return 0; /* it is not this cluster's */
    look->node = name;
    const struct db_verdict_filter filter = {.node_id = (int64_t)id - 1, .state = -1, .limit = JOB_VERDICTS_MAX};
    int status = db_verdict_list(tx, &filter, tell_fault, look);
    return status < 0 ? status : db_operation_repairs(tx, (int64_t)id - 1, look->since, tell_repair, look);
}

static int tell_attempt(const void *row, void *arg)
{
    const struct job_look *look = arg;
    return look->readers->attempt(row, look->readers->arg);
}

static int look_read(struct db_tx *tx, void *arg)
{
    struct job_look *look = arg;
    const struct cluster_job *job = NULL;
    int status = know(look->s, tx, look->cluster, &look->known);
    for (size_t i = 0; status == 0 && look->known.picture != NULL && i < look->known.picture->count; i++)
        if (strcmp(look->known.picture->jobs[i].id, look->id) == 0 &&
            is_of(&look->known, &look->known.picture->jobs[i]))
            job = &look->known.picture->jobs[i];
    if (status < 0)
        return status;
    if (job == NULL)
        return problem_say(look->known.problem, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND,
                           "The scheduler knows no job \"%s\" of this cluster; what ended it soon forgets.", look->id);
    status = look->readers->job(job, look->readers->arg);
    if (status == 0)
        status = db_attempt_list(tx, look->known.cluster_id, look->id, tell_attempt, look);
    if (status < 0 || job->nodes[0] == '\0' || job->started_at == 0)
        return status;
    int64_t now = clock_wall_ms(look->s->clock);
    char **names = NULL;
    size_t count = 0;
    look->since = job->started_at;
    look->until = job->ends_at > 0 && job->ends_at < now ? job->ends_at : now;
    status = text_hostlist_expand(job->nodes, JOB_HOSTLIST_MAX, &names, &count);
    for (size_t i = 0; i < count && status == 0; i++)
        status = tell_node(tx, look, names[i]);
    text_list_free(names, count);
    return status;
}

int service_job_get(struct service *s, const char *cluster, const char *id, const struct service_job_readers *readers,
                    struct problem *ret_problem)
{
    struct job_look look = {.s = s, .cluster = cluster, .id = id, .known = known_new(ret_problem), .readers = readers};
    int status = service_read(s, look_read, &look, ret_problem);
    known_free(&look.known);
    return status;
}
