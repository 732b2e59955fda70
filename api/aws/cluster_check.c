/*
 * What the shapes of CreateCluster, UpdateCluster and UpdateClusterSoftware allow and this server does not do. Three kinds:
 *
 *      refused    it asks for something to be done, and it would not be: no plans, no clock that starts updates
 *      kept       it describes machines that others make; it is stored and shown, and the timeline says that nothing acts on it
 *      wrong      it contradicts itself
 *
 * A client that asks for what is refused must know at once, and not after a long wait.
 */
#include "api/aws/cluster_document.h"
#include "api/aws/render.h"
#include "api/aws/spec.h"
#include "base/own.h"
#include "base/status.h"
#include "server/service/agent/agent.h"

#include <stdio.h>
#include <string.h>

/* "A.B" is a member of a member, "A[].B" one of each item; value NULL: whatever it is. */
struct rule {
    const char *path, *value;
    const char *why;
};

static const struct rule refused[] = {
    {"AutoScaling.Mode", "Enable",
     "nothing here scales a cluster by itself. Use UpdateCluster or BatchAddClusterNodes"},
    {"RestrictedInstanceGroups", NULL, "there are no restricted groups here. Name them as InstanceGroups"},
    {"RestrictedInstanceGroupsConfig", NULL, "there are no restricted groups here"},
    {"TieredStorageConfig.Mode", "Enable", "no storage for checkpoints is set up here"},
    {"InstanceGroups[].TrainingPlanArn", NULL, "there are no training plans"},
    {"InstanceGroups[].ScheduledUpdateConfig", NULL,
     "no update is started by the clock here. Use UpdateClusterSoftware when it is time"},
    {"InstanceGroups[].AutoPatchConfig", NULL,
     "no update starts by itself here. Use UpdateClusterSoftware when it is time"},
    {"InstanceGroups[].CapacityRequirements.Spot", NULL, "no provider here has instances that it may take back"},
    {"DeploymentConfig.AutoRollbackConfiguration", NULL,
     "there are no alarms here. An update is rolled back by itself when nodes of a batch do not become ready"},
};

static const struct rule kept[] = {
    {"InstanceGroups[].ThreadsPerCore", NULL, NULL},        {"InstanceGroups[].InstanceStorageConfigs", NULL, NULL},
    {"InstanceGroups[].NetworkInterface", NULL, NULL},      {"InstanceGroups[].OnStartDeepHealthChecks", NULL, NULL},
    {"Orchestrator.Slurm.SlurmConfigStrategy", NULL, NULL}, {"ClusterRole", NULL, NULL},
};

static bool matches(const json_t *json, const char *path, const char *value)
{
    char name[64];
    size_t len = strcspn(path, ".[");
    bool each = path[len] == '[';
    const char *rest = path + len + (each ? 2 : 0);

    snprintf(name, sizeof name, "%.*s", (int)len, path);
    const json_t *member = json_object_get(json, name);
    if (member == NULL || json_is_null(member))
        return false;
    if (rest[0] == '\0')
        return value == NULL || text_equal(json_string_value(member), value);
    if (!each)
        return matches(member, rest + 1, value);
    for (size_t i = 0; i < json_array_size(member); i++)
        if (matches(json_array_get(member, i), rest + 1, value))
            return true;
    return false;
}

int input_invalid(struct problem *problem, const char *fmt, ...)
{
    va_list ap;

    problem->code = PROBLEM_INVALID_VALUE;
    va_start(ap, fmt);
    autofree char *detail = own_vprintf(fmt, ap);
    va_end(ap);
    text_copy_cut(problem->detail, sizeof problem->detail, detail);
    return STATUS_INVALID;
}

/* --- one group ------------------------------------------------------------------------------------------------------ */

static int check_types(const char *name, const json_t *group, struct problem *problem)
{
    const json_t *type = json_object_get(group, "InstanceType");
    const json_t *requirements = json_object_get(group, "InstanceRequirements");
    bool has_type = json_is_string(type), has_requirements = json_is_object(requirements);

    if (has_type == has_requirements)
        return input_invalid(
            problem, "InstanceGroups: the group \"%s\" must have exactly one of InstanceType and InstanceRequirements.",
            name);
    if (has_requirements && json_array_size(json_object_get(requirements, "InstanceTypes")) != 1)
        return input_invalid(
            problem,
            "InstanceGroups: InstanceRequirements of the group \"%s\" names several InstanceTypes, and no "
            "provider here chooses among them: name one, and make a group for each other.",
            name);
    return 0;
}

static int check_scripts(const char *name, const json_t *group, struct problem *problem)
{
    static const char *const members[] = {[LIFECYCLE_SOURCE] = "SourceS3Uri",
                                          [LIFECYCLE_ON_CREATE] = "OnCreate",
                                          [LIFECYCLE_ON_INIT_COMPLETE] = "OnInitComplete"};
    char error[RECORD_ERROR_MAX];
    AUTO(group_spec) struct group_spec spec;
    struct lifecycle_job job;
    enum lifecycle_part part = LIFECYCLE_SOURCE;
    auto_json json_t *document = aws_canonical(aws_shape(AWS_SHAPE_ClusterInstanceGroupSpecification), group);
    if (aws_group_spec_read(document, &spec, error) < 0)
        return input_invalid(problem, "InstanceGroups: the group \"%s\": %s.", name, error);
    int status = lifecycle_spec_read(&spec.lifecycle, &job);
    const char *why = status == 0 ? service_lifecycle_refusal(&job, &part) : "it or the name of a script is too long";
    if (status == STATUS_NOT_FOUND || (status == 0 && why == NULL)) /* none, or one that can be run */
        return 0;
    return input_invalid(problem, "LifeCycleConfig.%s of the group \"%s\": %s.", members[part], name, why);
}

static const char *name_of(const json_t *group)
{
    const char *name = json_string_value(json_object_get(group, "InstanceGroupName"));

    return name != NULL ? name : "";
}

/* --- all ------------------------------------------------------------------------------------------------------------ */

int cluster_input_refuse(const json_t *input, struct problem *ret_problem)
{
    const json_t *groups = json_object_get(input, "InstanceGroups");
    int status = 0;

    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        if (matches(input, refused[i].path, refused[i].value))
            return input_invalid(ret_problem, "%s%s%s cannot be done: %s.", refused[i].path,
                                 refused[i].value != NULL ? " " : "", refused[i].value != NULL ? refused[i].value : "",
                                 refused[i].why);
    for (size_t i = 0; status == 0 && i < json_array_size(groups); i++)
        status = check_scripts(name_of(json_array_get(groups, i)), json_array_get(groups, i), ret_problem);
    return status;
}

int cluster_input_check(const json_t *input, struct problem *ret_problem)
{
    const json_t *orchestrator = json_object_get(input, "Orchestrator");
    const json_t *groups = json_object_get(input, "InstanceGroups");
    /* Groups of a software update have a name and a version only. */
    bool described = json_object_get(json_array_get(groups, 0), "InstanceCount") != NULL;
    int status = cluster_input_refuse(input, ret_problem);

    if (status == 0 && json_is_object(orchestrator) &&
        json_is_object(json_object_get(orchestrator, "Slurm")) == json_is_object(json_object_get(orchestrator, "Eks")))
        return input_invalid(ret_problem, "Orchestrator must have exactly one of Eks and Slurm.");
    for (size_t i = 0; status == 0 && described && i < json_array_size(groups); i++)
        status = check_types(name_of(json_array_get(groups, i)), json_array_get(groups, i), ret_problem);
    return status;
}

char *cluster_input_notice(const json_t *input)
{
    AUTO(text) struct text names = {0};

    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        const char *dot = strrchr(kept[i].path, '.');
        if (matches(input, kept[i].path, NULL))
            text_printf(&names, "%s%s", names.len > 0 ? ", " : "", dot != NULL ? dot + 1 : kept[i].path);
    }
    return names.len > 0 ? text_take(&names) : NULL;
}
