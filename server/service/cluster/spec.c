/*
 * The description of a cluster, checked as far as it can be without the store: names by HyperPod's rule, counts,
 * that no name is given twice, and that this hpd has the scheduler and the providers that are asked for.
 *
 * Counts: HyperPod allows 0..6758 per group, and so do we where a real scheduler has to carry them. Without a
 * scheduler (orchestrator none) a group may be as large as our own bound, which then holds for the whole cluster too. What this refuses is named with its place in the request.
 */
#include "server/service/cluster/cluster.h"
#include "server/service/private.h"

#include "base/map.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define PROVIDER_DEFAULT "local" /* where nothing is known of the backends */

AUTO_DEFINE(struct map *, map, map_free)

const char *spec_provider(const struct service_group_spec *group, const struct service_backends *backends)
{
    if (group->provider[0] != '\0')
        return group->provider;
    return backends != NULL && backends->provider_count > 0 ? backends->providers[0] : PROVIDER_DEFAULT;
}

int64_t spec_group_nodes_max(enum orchestrator orchestrator)
{
    return orchestrator == ORCHESTRATOR_NONE ? GROUP_NODES_MAX_LOCAL : GROUP_NODES_MAX;
}

int spec_node_name(const struct service_group_spec *group, int64_t at, char *ret_name)
{
    int len = group->node_names != NULL ? snprintf(ret_name, NODE_NAME_MAX_BYTES, "%s", group->node_names[at])
                                        : snprintf(ret_name, NODE_NAME_MAX_BYTES, "%s-%" PRId64, group->name, at + 1);
    return len < NODE_NAME_MAX_BYTES ? 0 : STATUS_TOO_LARGE;
}

int64_t spec_node_count(const struct service_cluster_spec *spec)
{
    int64_t count = 0;
    for (size_t i = 0; i < spec->group_count; i++)
        count += spec->groups[i].instance_count;
    return count;
}

/* Instance types look like "ml.p5.48xlarge"; a provider may have none. */
static bool is_instance_type(const char *text)
{
    return strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == strlen(text);
}

static int group_check(const struct service_group_spec *group, size_t at, int64_t count_max, struct problem *problem)
{
    if (!text_is_name(group->name))
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "instanceGroups[%zu].name is \"%s\"; a name has 1 to 63 letters, digits and inner hyphens.",
                           at, group->name);
    if (group->provider[0] != '\0' && !text_is_name(group->provider))
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "instanceGroups[%zu].provider is \"%s\", which is no name; \"local\" is one.", at,
                           group->provider);
    if (!is_instance_type(group->instance_type))
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "instanceGroups[%zu].instanceType is \"%s\"; use letters, digits, dots and hyphens.", at,
                           group->instance_type);
    if (group->instance_count < 0 || group->instance_count > count_max)
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "instanceGroups[%zu].instanceCount is %" PRId64 "; it must be 0 to %" PRId64 ".", at,
                           group->instance_count, count_max);
    if (group->min_count < 0 || group->min_count > group->instance_count)
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "instanceGroups[%zu].minInstanceCount is %" PRId64
                           "; it must be 0 to instanceCount, which is "
                           "%" PRId64 ".",
                           at, group->min_count, group->instance_count);
    return 0;
}

static int group_check_nodes(struct service_group_spec *group, size_t at, struct map *seen, struct problem *problem)
{
    char name[NODE_NAME_MAX_BYTES];
    for (int64_t i = 0; i < group->instance_count; i++) {
        if (spec_node_name(group, i, name) < 0 || !text_is_name(name))
            return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                               "instanceGroups[%zu]: \"%s\" cannot be a node's name; a host name has 1 to 63 letters, "
                               "digits and inner hyphens.",
                               at, name);
        struct service_group_spec *earlier = map_set(seen, name, group);
        if (earlier != NULL)
            return problem_say(
                problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                "The node name \"%s\" comes twice, in the groups \"%s\" and \"%s\"; names are unique in a "
                "cluster.",
                name, earlier->name, group->name);
    }
    return 0;
}

static int groups_check_unique(const struct service_group_spec *groups, size_t count, struct problem *problem)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < i; k++)
            if (strcmp(groups[i].name, groups[k].name) == 0)
                return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                                   "The group name \"%s\" comes twice; names of groups are unique in a cluster.",
                                   groups[i].name);
    return 0;
}

int spec_check_source(enum orchestrator orchestrator, const struct service_group_spec *group, struct problem *problem)
{
    if (orchestrator != ORCHESTRATOR_NONE || !node_source_is_given(&group->source))
        return 0;
    return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                       "The group \"%s\" has nodesFrom, and its cluster has no scheduler that it could take nodes from "
                       "(orchestrator none).",
                       group->name);
}

int spec_check(const struct service_cluster_spec *spec, struct problem *problem)
{
    if (!text_is_name(spec->name))
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "name is \"%s\"; a name has 1 to 63 letters, digits and inner hyphens.", spec->name);
    if (spec->group_count < 1 || spec->group_count > CLUSTER_GROUPS_MAX)
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "instanceGroups has %zu elements; a cluster has 1 to %d groups.", spec->group_count,
                           CLUSTER_GROUPS_MAX);
    for (size_t i = 0; i < spec->group_count; i++) {
        int64_t count_max = spec_group_nodes_max(spec->orchestrator);
        int status = spec_check_source(spec->orchestrator, &spec->groups[i], problem);
        if (status == 0)
            status = group_check(&spec->groups[i], i, count_max, problem);
        if (status < 0)
            return status;
    }
    if (spec_node_count(spec) > GROUP_NODES_MAX_LOCAL)
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "The groups have %" PRId64 " nodes together; a cluster has at most %d.",
                           spec_node_count(spec), GROUP_NODES_MAX_LOCAL);
    int status = groups_check_unique(spec->groups, spec->group_count, problem);
    struct slurm_config_check slurm = {.problem = problem};
    for (size_t i = 0; status == 0 && i < spec->group_count; i++)
        status = slurm_config_add(&slurm, spec->groups[i].name, spec->groups[i].spec);
    if (status == 0)
        status = slurm_config_end(&slurm);
    AUTO(map) struct map *seen = map_new();
    for (size_t i = 0; status == 0 && i < spec->group_count; i++)
        status = group_check_nodes(&spec->groups[i], i, seen, problem);
    return status;
}

static bool has_provider(const struct service_backends *backends, const char *name)
{
    for (size_t i = 0; i < backends->provider_count; i++)
        if (strcmp(backends->providers[i], name) == 0)
            return true;
    return false;
}

static int say_no_provider(const struct service_backends *backends, const char *provider, size_t at,
                           struct problem *problem)
{
    AUTO(text) struct text names = {0};
    for (size_t i = 0; i < backends->provider_count; i++)
        text_printf(&names, "%s\"%s\"", i > 0 ? ", " : "", backends->providers[i]);
    return problem_say(
        problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
        "instanceGroups[%zu].provider is \"%s\", and this hpd has no such provider, only: %s. Name one of "
        "these, or give hpd's configuration a section for it under providers.",
        at, provider, text_get(&names));
}

static bool needs_bmc(enum reboot_method method)
{
    return method == REBOOT_METHOD_BMC_GRACEFUL || method == REBOOT_METHOD_BMC_FORCE ||
           method == REBOOT_METHOD_BMC_CYCLE;
}

/* Told now, and not when the first machine is to be rebooted. */
static int check_reboots(const struct service_backends *backends, const struct group_spec *spec, size_t at,
                         struct problem *problem)
{
    struct reboot_order order = {.count = 0};
    if (spec != NULL)
        reboot_order_read(&spec->reboot_methods, &order);
    for (int i = 0; i < order.count; i++) {
        bool bmc = needs_bmc(order.list[i]);
        if ((bmc && !backends->has_bmc) || (order.list[i] == REBOOT_METHOD_SSH && !backends->has_ssh))
            return problem_say(
                problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                "instanceGroups[%zu].rebootMethods names %s, and this hpd's configuration has no section "
                "\"%s\". Add one, or leave the method out.",
                at, reboot_method_text(order.list[i]), bmc ? "bmc" : "ssh");
    }
    return 0;
}

const char *spec_default_release(const struct service_backends *backends)
{
    return backends != NULL && backends->release != NULL ? backends->release : "";
}

int spec_check_change(const struct service_cluster_change *change, const struct service_backends *backends,
                      struct problem *problem)
{
    if (change->group_count > CLUSTER_GROUPS_MAX || change->delete_count > CLUSTER_GROUPS_MAX)
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "More groups are named than the %d that a cluster may have.", CLUSTER_GROUPS_MAX);
    int status = groups_check_unique(change->groups, change->group_count, problem);
    AUTO(map) struct map *seen = map_new();
    for (size_t i = 0; status == 0 && i < change->group_count; i++) {
        struct service_group_spec *group = &change->groups[i], named = *group;
        if (change->merge && named.instance_count < 0) /* stays what it is */
            named.instance_count = named.min_count = 0;
        if (change->merge && named.min_count < 0)
            named.min_count = 0;
        const char *provider = spec_provider(group, backends);
        status = group_check(&named, i, GROUP_NODES_MAX_LOCAL, problem);
        if (status == 0 && backends != NULL && !has_provider(backends, provider))
            status = say_no_provider(backends, provider, i, problem);
        if (status == 0 && backends != NULL)
            status = check_reboots(backends, group->spec, i, problem);
        if (status == 0 && group->node_names != NULL)
            status = group_check_nodes(group, i, seen, problem);
    }
    return status;
}

/* --- backends -------------------------------------------------------------------------------------- */

static bool has_kind(const struct service_backends *backends, enum orchestrator orchestrator)
{
    for (size_t i = 0; i < backends->kind_count; i++)
        if (backends->kinds[i] == orchestrator)
            return true;
    return orchestrator == ORCHESTRATOR_NONE;
}

static int say_no_kind(const struct service_backends *backends, enum orchestrator orchestrator, struct problem *problem)
{
    if (backends->kind_count > 0)
        return problem_say(problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "orchestrator is \"%s\", and this hpd drives no scheduler of that kind: give its "
                           "configuration one under schedulers, or create the cluster with orchestrator \"%s\".",
                           orchestrator_text(orchestrator), orchestrator_text(backends->kinds[0]));
    return problem_say(
        problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
        "orchestrator is \"%s\"%s, and this hpd drives no scheduler: give its configuration schedulers or a slurm "
        "section, or create the cluster with orchestrator \"none\".",
        orchestrator_text(orchestrator), orchestrator == ORCHESTRATOR_DEFAULT ? " (the default)" : "");
}

int spec_check_backends(const struct service_cluster_spec *spec, const struct service_backends *backends,
                        struct problem *problem)
{
    if (backends == NULL)
        return 0;
    if (!has_kind(backends, spec->orchestrator))
        return say_no_kind(backends, spec->orchestrator, problem);
    for (size_t i = 0; i < spec->group_count; i++) {
        const char *provider = spec_provider(&spec->groups[i], backends);
        if (!has_provider(backends, provider))
            return say_no_provider(backends, provider, i, problem);
        int status = check_reboots(backends, spec->groups[i].spec, i, problem);
        if (status != 0)
            return status;
    }
    return 0;
}
