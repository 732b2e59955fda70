/*
 * SlurmConfig: what each group is to Slurm, and all of a cluster together, refused in HyperPod's words where it has some. A cluster
 * without a Controller group is none of HyperPod's; here slurmctld may be a machine that belongs to no group.
 */
#include "server/service/private.h"

#include "base/text.h"
#include "db/cluster.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

int slurm_config_add(struct slurm_config_check *check, const char *group, const struct group_spec *spec)
{
    if (spec == NULL)
        return 0;
    const bool by_file = !spec->slurm.given;
    const enum slurm_role role = group_spec_role(spec);
    const char *partition = group_spec_partition(spec);
    check->controllers += role == SLURM_ROLE_CONTROLLER;
    check->logins += role == SLURM_ROLE_LOGIN;
    if (partition != NULL && role != SLURM_ROLE_COMPUTE)
        return problem_say(check->problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "Partitions can only be assigned to Compute node types; the group \"%s\" is none.", group);
    if (partition == NULL || by_file) /* whose partitions may have any name that Slurm takes */
        return 0;
    if (!text_is_name(partition) || strcasecmp(partition, "DEFAULT") == 0 || strcasecmp(partition, "ALL") == 0)
        return problem_say(check->problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "The group \"%s\" has the partition \"%.80s\"; a partition's name has 1 to 63 letters, "
                           "digits and inner hyphens, and is neither DEFAULT nor ALL.",
                           group, partition);
    return 0;
}

int slurm_config_end(const struct slurm_config_check *check)
{
    if (check->controllers > 1)
        return problem_say(check->problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "%zu Controller Groups found: SlurmConfig for InstanceGroups may only have one Controller "
                           "Group.",
                           check->controllers);
    if (check->logins > 1)
        return problem_say(check->problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "%zu Login Groups found: SlurmConfig for InstanceGroups may only have one Login Group.",
                           check->logins);
    return 0;
}

struct stored {
    struct db_tx *tx;
    struct slurm_config_check check;
};

static int add_stored(const void *row, void *arg)
{
    const struct instance_group *group = row;
    struct stored *stored = arg;
    AUTO(group_spec) struct group_spec spec = {0};
    if (group->state == GROUP_STATE_DELETING)
        return 0;
    int status = db_group_spec_get(stored->tx, group->id, &spec);
    return status < 0 ? status : slurm_config_add(&stored->check, group->name, &spec);
}

int slurm_config_check_stored(struct db_tx *tx, int64_t cluster_id, struct problem *problem)
{
    struct stored stored = {.tx = tx, .check = {.problem = problem}};
    int status = db_group_list(tx, cluster_id, add_stored, &stored);
    return status < 0 ? status : slurm_config_end(&stored.check);
}
