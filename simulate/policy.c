/* What the policy document says of a group of the simulated fleet: read by the code that hpd reads it with. */
#include "simulate/simulate.h"

#include "server/config/policy_document.h"

#include <stdio.h>

_Static_assert(SIMULATE_POLICY_ERROR_MAX >= POLICY_DOCUMENT_ERROR_MAX, "errors of documents have room");

int simulate_policy_read(const char *data, size_t len, struct policy_document **ret_document,
                         char ret_error[SIMULATE_POLICY_ERROR_MAX])
{
    return policy_document_parse(data, len, ret_document, ret_error);
}

void simulate_policy_free(struct policy_document *document)
{
    policy_document_free(document);
}

/* The numbers of a scenario that are settings of the policy, too. Said by hand they count more than a document. */
static void take_numbers(const struct simulate_scenario *scenario, struct policy_settings *policy)
{
    const struct {
        enum simulate_number number;
        int *setting;
    } taken[] = {{SIMULATE_RESETS_MAX, &policy->resets_max},
                 {SIMULATE_REBOOTS_MAX, &policy->reboots_max},
                 {SIMULATE_REPLACES_MAX, &policy->replaces_max},
                 {SIMULATE_BUDGET, &policy->budget_percent},
                 {SIMULATE_BREAKER, &policy->breaker_percent}};
    for (size_t i = 0; i < ARRAY_LEN(taken); i++)
        if (scenario->number[taken[i].number] >= 0)
            *taken[i].setting = (int)scenario->number[taken[i].number];
}

static void take_drain(const struct simulate_scenario *scenario, struct policy_settings *policy)
{
    for (int fault = 0; fault < FAULT_CLASS_COUNT; fault++)
        policy->drain_deadline_ms[fault] = scenario->number[SIMULATE_DRAIN];
}

void simulate_rules(const struct simulate_scenario *scenario, const char *group, const char *instance_type,
                    struct simulate_rules *ret_rules)
{
    const struct policy_place place = {.cluster = SIMULATE_CLUSTER, .group = group, .instance_type = instance_type};
    struct loop_settings loop;
    loop_settings_default(&loop);
    take_drain(scenario, &loop.policy);
    policy_document_apply(scenario->document, &place, &loop, NULL);
    take_numbers(scenario, &loop.policy);
    if (scenario->said[SIMULATE_DRAIN])
        take_drain(scenario, &loop.policy);
    *ret_rules = (struct simulate_rules){.policy = loop.policy, .approval_expires_ms = loop.approval_expires_ms};
}

bool simulate_group_at(const struct simulate_scenario *scenario, size_t number, struct simulate_group *ret_group)
{
    int64_t nodes = scenario->number[SIMULATE_NODES] + scenario->number[SIMULATE_SPARES];
    int64_t size = scenario->number[SIMULATE_GROUP_NODES];
    if (scenario->group_count > 0) {
        if (number < scenario->group_count)
            *ret_group = scenario->groups[number];
        return number < scenario->group_count;
    }
    size = size == 0 ? nodes : size;
    *ret_group = (struct simulate_group){.nodes = size};
    snprintf(ret_group->name, sizeof(ret_group->name), "group-%zu", number + 1);
    return (int64_t)number * size < nodes;
}

static bool is_for_some(const struct simulate_scenario *scenario, size_t entry)
{
    struct simulate_group group;
    for (size_t i = 0; simulate_group_at(scenario, i, &group); i++)
        if (policy_document_is_for(scenario->document, entry,
                                   &(struct policy_place){.cluster = SIMULATE_CLUSTER,
                                                          .group = group.name,
                                                          .instance_type = group.instance_type}))
            return true;
    return false;
}

size_t simulate_policy_unmatched(const struct simulate_scenario *scenario, size_t *ret_first)
{
    size_t unmatched = 0;
    for (size_t entry = 0; entry < policy_document_entries(scenario->document); entry++)
        if (!is_for_some(scenario, entry) && unmatched++ == 0)
            *ret_first = entry + 1;
    return unmatched;
}
