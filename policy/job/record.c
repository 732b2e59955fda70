/* What is kept of a job, and the small look-ups in it. */
#include "policy/job/job.h"

#include <string.h>

int job_pod_count(const struct job_spec *spec)
{
    int count = 0;
    for (size_t i = 0; i < spec->set_count; i++)
        count += spec->sets[i].replicas + spec->sets[i].spares;
    return count;
}

int job_rank_count(const struct job_spec *spec)
{
    int count = 0;
    for (size_t i = 0; i < spec->set_count; i++)
        count += spec->sets[i].replicas;
    return count;
}

static bool is_size(const struct job_elastic *elastic, int size)
{
    if (elastic->step > 0)
        return size >= elastic->least && (size - elastic->least) % elastic->step == 0;
    for (size_t i = 0; i < elastic->size_count; i++)
        if (elastic->sizes[i] == size)
            return size >= elastic->least;
    return false;
}

bool job_is_size(const struct job_spec *spec, int ranks)
{
    int all = job_rank_count(spec);
    return ranks == all || (spec->elastic.on && is_size(&spec->elastic, ranks));
}

/* 0: none. */
static int size_below(const struct job_spec *spec, int pods)
{
    int all = job_rank_count(spec);
    for (int size = pods < all ? pods : all; size > 0; size--)
        if (job_is_size(spec, size))
            return size;
    return 0;
}

int job_size_most(const struct job_spec *spec)
{
    int all = job_rank_count(spec), asked = spec->elastic.most;
    if (!spec->elastic.on || asked <= 0 || asked >= all)
        return all;
    int size = size_below(spec, asked);
    while (size == 0 && asked < all) /* fewer than it can have: the least, then */
        size = size_below(spec, ++asked);
    return size;
}

int job_size_for(const struct job_spec *spec, int pods)
{
    int most = job_size_most(spec);
    if (pods >= most)
        return most;
    return spec->elastic.on ? size_below(spec, pods) : 0;
}

bool job_wants_pod(const struct job_spec *spec, int pod)
{
    return pod < job_pod_count(spec) - job_rank_count(spec) + job_size_most(spec);
}

const struct job_set *job_pod_set(const struct job_spec *spec, int pod, int *ret_number)
{
    for (size_t i = 0; i < spec->set_count; i++) {
        int count = spec->sets[i].replicas + spec->sets[i].spares;
        if (pod < count) {
            *ret_number = pod;
            return &spec->sets[i];
        }
        pod -= count;
    }
    return NULL;
}

struct job_record *job_record_new(const struct job_spec *spec)
{
    struct job_record *record = own_calloc(1, sizeof(*record));
    record->progress = -1;
    record->fault.pod = record->fault.rank = -1;
    job_record_fit(record, spec);
    return record;
}

void job_record_rank(struct job_record *record, int *ranks, int count)
{
    for (int i = 0; i < record->rank_count; i++)
        free(record->rank_nodes[i]);
    free(record->rank_nodes);
    free(record->ranks);
    record->ranks = ranks;
    record->rank_nodes = ranks == NULL ? NULL : own_calloc((size_t)count + 1, sizeof(*record->rank_nodes));
    record->rank_count = count;
}

void job_record_free(struct job_record *record)
{
    if (record == NULL)
        return;
    free(record->incarnations);
    job_record_rank(record, NULL, 0);
    free(record);
}

void job_record_fit(struct job_record *record, const struct job_spec *spec)
{
    int count = job_pod_count(spec);
    if (count != record->pod_count) {
        record->incarnations = own_realloc(record->incarnations, (size_t)count + 1, sizeof(*record->incarnations));
        for (int i = record->pod_count; i < count; i++)
            record->incarnations[i] = 0;
        record->pod_count = count;
    }
    for (int i = 0; i < record->rank_count; i++)
        if (record->ranks[i] < 0 || record->ranks[i] >= count) {
            job_record_rank(record, NULL, 0); /* what is stored does not fit */
            break;
        }
}

bool job_is_excluded(const struct job_record *record, const char *node)
{
    for (size_t i = 0; i < record->excluded_count && node[0] != '\0'; i++)
        if (strcmp(record->excluded[i].node, node) == 0)
            return true;
    return false;
}

int job_rank_of(const struct job_record *record, int pod)
{
    for (int i = 0; i < record->rank_count; i++)
        if (record->ranks[i] == pod)
            return i;
    return -1;
}

struct job_plan *job_plan_new(const struct job_spec *spec)
{
    struct job_plan *plan = own_calloc(1, sizeof(*plan));
    plan->acts = own_calloc((size_t)job_pod_count(spec) + 1, sizeof(*plan->acts));
    return plan;
}

void job_plan_free(struct job_plan *plan)
{
    if (plan == NULL)
        return;
    free(plan->acts);
    free(plan);
}
