/*
 * SlurmConfig: what each group is to Slurm, and all of a cluster together, refused in HyperPod's words where it has some. A cluster
 * without a Controller group is none of HyperPod's; here slurmctld may be a machine that belongs to no group.
 */
#include "server/service/cluster/provisioning.h"
#include "server/service/private.h"

#include "base/json.h"
#include "base/text.h"
#include "db/cluster.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

const json_t *slurm_config_of(const json_t *group_document)
{
    const json_t *asked = json_object_get(group_document, "SlurmConfig");
    return asked != NULL ? asked : json_object_get(group_document, PROVISIONING_MEMBER);
}

static int read_config(struct slurm_config_check *check, const char *group, const json_t *config, bool by_file)
{
    const json_t *names = json_object_get(config, "PartitionNames");
    const char *type = json_string_value(json_object_get(config, "NodeType"));
    check->controllers += text_equal(type, "Controller");
    check->logins += text_equal(type, "Login");
    if (json_array_size(names) > 0 && !text_equal(type, "Compute"))
        return problem_say(check->problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "Partitions can only be assigned to Compute node types; the group \"%s\" is none.", group);
    const char *name = json_string_value(json_array_get(names, 0));
    if (name == NULL || by_file) /* whose partitions may have any name that Slurm takes */
        return 0;
    if (!text_is_name(name) || strcasecmp(name, "DEFAULT") == 0 || strcasecmp(name, "ALL") == 0)
        return problem_say(check->problem, STATUS_INVALID, PROBLEM_INVALID_VALUE,
                           "PartitionNames of the group \"%s\" has \"%.80s\"; a partition's name has 1 to 63 letters, "
                           "digits and inner hyphens, and is neither DEFAULT nor ALL.",
                           group, name);
    return 0;
}

int slurm_config_add(struct slurm_config_check *check, const char *group, const char *document)
{
    char error[JSON_ERROR_MAX];
    auto_json json_t *json = NULL;
    if (document == NULL || json_parse(document, strlen(document), CLUSTER_DOCUMENT_BYTES_MAX, &json, error) < 0)
        return 0;
    return read_config(check, group, slurm_config_of(json), json_object_get(json, "SlurmConfig") == NULL);
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
    autofree char *document = NULL;
    if (group->state == GROUP_STATE_DELETING)
        return 0;
    int status = db_group_document_get(stored->tx, group->id, &document);
    if (status < 0)
        return status == STATUS_NOT_FOUND ? 0 : status;
    return slurm_config_add(&stored->check, group->name, document);
}

int slurm_config_check_stored(struct db_tx *tx, int64_t cluster_id, struct problem *problem)
{
    struct stored stored = {.tx = tx, .check = {.problem = problem}};
    int status = db_group_list(tx, cluster_id, add_stored, &stored);
    return status < 0 ? status : slurm_config_end(&stored.check);
}
