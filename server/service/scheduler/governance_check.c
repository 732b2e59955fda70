/*
 * What a scheduler configuration or a quota must be beyond its shape, and finding one. The door has checked types, ranges,
 * patterns and enums by the model; here are the rules between values.
 */
#include "server/service/private.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

static const char *const amounts[] = {"Count", "Accelerators", "VCpu", "MemoryInGiB", "AcceleratorPartition"};

static const char *member(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text == NULL ? "" : text;
}

const char *governance_noun(enum governance_kind kind)
{
    return kind == GOVERNANCE_KIND_SCHEDULER_CONFIG ? "scheduler configuration" : "compute quota";
}

/* --- meaning ---------------------------------------------------------------------------------------- */

/* The model's pattern bounds no length. */
static int check_word(const char *what, const char *word, struct problem *problem)
{
    if (strlen(word) < TEAM_MAX_BYTES)
        return 0;
    return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                       "%s \"%.48s...\" has %zu characters; it may have %d.", what, word, strlen(word),
                       TEAM_MAX_BYTES - 1);
}

static int check_scheduler(const json_t *config, struct problem *problem)
{
    const json_t *classes = json_object_get(config, "PriorityClasses");
    for (size_t i = 0; i < json_array_size(classes); i++) {
        const char *name = member(json_array_get(classes, i), "Name");
        int status = check_word("The priority class", name, problem);
        if (status < 0)
            return status;
        for (size_t k = 0; k < i; k++)
            if (strcmp(member(json_array_get(classes, k), "Name"), name) == 0)
                return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                                   "The priority class \"%s\" comes twice: it can have only one weight.", name);
    }
    return 0;
}

/* An instance type may come once as a whole and once for each kind of part of its accelerators. */
static bool is_same_resource(const json_t *a, const json_t *b)
{
    return strcmp(member(a, "InstanceType"), member(b, "InstanceType")) == 0 &&
           strcmp(member(json_object_get(a, "AcceleratorPartition"), "Type"),
                  member(json_object_get(b, "AcceleratorPartition"), "Type")) == 0;
}

static int check_resources(const json_t *resources, const char *where, struct problem *problem)
{
    for (size_t i = 0; i < json_array_size(resources); i++) {
        const json_t *resource = json_array_get(resources, i);
        size_t said = 0;
        for (size_t a = 0; a < ARRAY_LEN(amounts); a++)
            said += json_object_get(resource, amounts[a]) != NULL;
        if (said == 0)
            return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                               "%s names %s without an amount: say its count, accelerators, CPUs, memory or partition.",
                               where, member(resource, "InstanceType"));
        for (size_t k = 0; k < i; k++)
            if (is_same_resource(resource, json_array_get(resources, k)))
                return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                                   "%s names %s twice: put its amounts into one entry.", where,
                                   member(resource, "InstanceType"));
    }
    return 0;
}

static int check_quota(const json_t *config, struct problem *problem)
{
    const json_t *sharing = json_object_get(config, "ResourceSharingConfig");
    const json_t *absolute = json_object_get(sharing, "AbsoluteBorrowLimits");
    const char *strategy = member(sharing, "Strategy");
    bool limits = json_object_get(sharing, "BorrowLimit") != NULL || json_array_size(absolute) > 0;
    if (limits && strcmp(strategy, "LendAndBorrow") != 0)
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "ResourceSharingConfig limits what is borrowed, and its strategy %s borrows nothing: leave "
                           "the limits out, or choose LendAndBorrow.",
                           strategy);
    int status = check_resources(json_object_get(config, "ComputeQuotaResources"), "ComputeQuotaResources", problem);
    return status < 0 ? status : check_resources(absolute, "AbsoluteBorrowLimits", problem);
}

int governance_check(enum governance_kind kind, const struct service_governance_spec *spec, struct problem *problem)
{
    int status = tags_check(spec->tags, spec->tag_count, problem);
    if (status == 0 && spec->team != NULL)
        status = check_word("The team", spec->team, problem);
    if (status < 0 || spec->config == NULL)
        return status;
    return kind == GOVERNANCE_KIND_SCHEDULER_CONFIG ? check_scheduler(spec->config, problem)
                                                    : check_quota(spec->config, problem);
}

/* --- finding ---------------------------------------------------------------------------------------- */

static int find_in_cluster(struct db_tx *tx, const struct service_governance_ref *ref, int64_t version,
                           struct governance *ret_governance, struct problem *problem)
{
    struct cluster cluster;
    int status = place_find_cluster(tx, ref->cluster, &cluster, problem);
    if (status < 0)
        return status;
    status = ref->name == NULL ? db_governance_of_cluster(tx, ref->kind, cluster.id, version, ret_governance)
                               : db_governance_by_name(tx, ref->kind, ref->name, version, ret_governance);
    if (status == STATUS_NOT_FOUND || (status == 0 && ret_governance->cluster_id != cluster.id))
        return problem_say(problem, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND, "The cluster \"%s\" has no %s%s%s%s%s.",
                           cluster.name, governance_noun(ref->kind), ref->name == NULL ? "" : " named \"",
                           ref->name == NULL ? "" : ref->name, ref->name == NULL ? "" : "\"",
                           version == 0 ? "" : " of that version");
    return status;
}

int governance_find(struct db_tx *tx, const struct service_governance_ref *ref, int64_t version,
                    struct governance *ret_governance, struct problem *problem)
{
    if (ref->uid == NULL)
        return find_in_cluster(tx, ref, version, ret_governance, problem);
    int status = db_governance_get(tx, ref->kind, ref->uid, version, ret_governance);
    if (status == STATUS_NOT_FOUND)
        return problem_say(problem, status, PROBLEM_NOT_FOUND,
                           version == 0 ? "There is no %s with the id \"%s\"."
                                        : "There is no %s with the id \"%s\" and that version.",
                           governance_noun(ref->kind), ref->uid);
    return status;
}
