/*
 * What a scheduler configuration or a quota must be beyond its shape, and finding one. The API has checked types, ranges,
 * patterns and enums by the model; here are the rules between values.
 */
#include "server/service/private.h"

#include "base/text.h"

#include <stdio.h>
#include <string.h>

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

static int check_scheduler(const struct governance_spec *config, struct problem *problem)
{
    const struct priority_class_spec *classes = config->classes.items;
    for (size_t i = 0; i < config->classes.count; i++) {
        int status = check_word("The priority class", classes[i].name, problem);
        if (status < 0)
            return status;
        for (size_t k = 0; k < i; k++)
            if (strcmp(classes[k].name, classes[i].name) == 0)
                return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                                   "The priority class \"%s\" comes twice: it can have only one weight.",
                                   classes[i].name);
    }
    return 0;
}

/* An instance type may come once as a whole and once for each kind of part of its accelerators. */
static bool is_same_resource(const struct amount_spec *a, const struct amount_spec *b)
{
    return text_equal(a->instance_type, b->instance_type) && text_equal(a->slice.kind, b->slice.kind);
}

static int check_resources(const struct optional_list *list, const char *where, struct problem *problem)
{
    const struct amount_spec *amounts = list->items;
    for (size_t i = 0; i < list->count; i++) {
        const struct amount_spec *amount = &amounts[i];
        if (!amount->nodes.given && !amount->accelerators.given && !amount->cpus.given && !amount->memory_gib.given &&
            !amount->slice.given)
            return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                               "%s names %s without an amount: say its count, accelerators, CPUs, memory or partition.",
                               where, amount->instance_type);
        for (size_t k = 0; k < i; k++)
            if (is_same_resource(amount, &amounts[k]))
                return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                                   "%s names %s twice: put its amounts into one entry.", where, amount->instance_type);
    }
    return 0;
}

static int check_quota(const struct governance_spec *config, struct problem *problem)
{
    static const char *const words[] = {[SHARING_STRATEGY_DONT_LEND] = "DontLend",
                                        [SHARING_STRATEGY_LEND] = "Lend",
                                        [SHARING_STRATEGY_LEND_AND_BORROW] = "LendAndBorrow"};
    const struct sharing_spec *sharing = &config->sharing;
    bool limits = sharing->borrow_percent.given || sharing->borrow_at_most.count > 0;
    bool borrows = !sharing->strategy.given || sharing->strategy.value == SHARING_STRATEGY_LEND_AND_BORROW;
    if (limits && !borrows)
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "ResourceSharingConfig limits what is borrowed, and its strategy %s borrows nothing: leave "
                           "the limits out, or choose LendAndBorrow.",
                           words[sharing->strategy.value]);
    int status = check_resources(&config->amounts, "ComputeQuotaResources", problem);
    return status < 0 ? status : check_resources(&sharing->borrow_at_most, "AbsoluteBorrowLimits", problem);
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
