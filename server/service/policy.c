/* The policy in force: what hpd was told when it started, and of a cluster what was asked for with it. */
#include "server/service/private.h"

#include "policy/policy.h"

#include <stdatomic.h>

ENUM_DEFINE(setting_source, SETTING_SOURCE_LIST)

struct lookup {
    const char *name;
    struct problem *problem;
    struct cluster cluster;
};

static int find(struct db_tx *tx, void *arg)
{
    struct lookup *lookup = arg;
    return place_find_cluster(tx, lookup->name, &lookup->cluster, lookup->problem);
}

const char *service_fault_version(struct service *s)
{
    const struct fault_scope scope = {.overrides = atomic_load(&s->fault_overrides), .instance_type = ""};
    return fault_version_in(&scope);
}

int service_policy_list(struct service *s, const char *cluster, const struct service_policy **ret_policy,
                        struct cluster *ret_cluster, struct problem *ret_problem)
{
    static const struct service_policy unknown = {.count = 0};
    struct lookup lookup = {.name = cluster, .problem = ret_problem};
    int status = cluster == NULL ? 0 : service_read(s, find, &lookup, ret_problem);
    if (status < 0)
        return status;
    *ret_policy = s->policy != NULL ? s->policy : &unknown;
    if (cluster != NULL)
        *ret_cluster = lookup.cluster;
    return 0;
}
