/*
 * What is there, as documents in the model's spelling: the store's columns, and beside them what was asked for and kept.
 *
 * What a reply says of Current… and Desired… is what the instances run and what new ones will get.
 */
#include "api/aws/cluster_document.h"
#include "api/aws/orchestrator.h"
#include "api/aws/render.h"
#include "api/aws/spec.h"
#include "api/aws/status.h"
#include "api/aws/validate.h"
#include "base/address.h"
#include "base/clock.h"
#include "base/own.h"
#include "server/service/cluster/cluster.h"
#include "server/service/node/node.h"

#include <string.h>

/* Those of what was asked for that the shape has as well, under the same name and with the same meaning. Takes document. */
static json_t *kept_members(enum aws_shape_id shape, json_t *document)
{
    auto_json json_t *taken = document;
    json_t *json = aws_canonical(aws_shape(shape), taken);

    (void)json_object_del(json, "InstanceRequirements"); /* these look different on their way out */
    (void)json_object_del(json, "KubernetesConfig");
    return json;
}

/* --- images --------------------------------------------------------------------------------------------------------- */

struct image {
    const char *id, *release;
};

static void put_release(json_t *json, struct image current, struct image desired)
{
    json_put_text(json, "CurrentImageReleaseVersion", current.release);
    if (current.release[0] != '\0' && desired.release[0] != '\0')
        json_put_text(json, "ImageVersionStatus",
                      text_equal(current.release, desired.release) && text_equal(current.id, desired.id)
                          ? "UpToDate"
                          : "UpdateAvailable");
}

static void put_image(json_t *json, struct image current, struct image desired)
{
    put_release(json, current, desired);
    json_put_text(json, "CurrentImageId", current.id);
    json_put_text(json, "DesiredImageId", desired.id);
    json_put_text(json, "DesiredImageReleaseVersion", desired.release);
}

/* --- rolling updates ------------------------------------------------------------------------------------------------ */

static const char *software_status(enum rollout_state state)
{
    static const char *const words[] = {[ROLLOUT_STATE_PENDING] = "Pending",
                                        [ROLLOUT_STATE_IN_PROGRESS] = "InProgress",
                                        [ROLLOUT_STATE_SUCCEEDED] = "Succeeded",
                                        [ROLLOUT_STATE_FAILED] = "Failed",
                                        [ROLLOUT_STATE_ROLLING_BACK] = "RollbackInProgress",
                                        [ROLLOUT_STATE_ROLLED_BACK] = "RollbackComplete"};

    return words[state];
}

static bool is_rolling(const struct rollout *rollout)
{
    return rollout->group_id != 0 &&
           (rollout->state == ROLLOUT_STATE_PENDING || rollout->state == ROLLOUT_STATE_IN_PROGRESS ||
            rollout->state == ROLLOUT_STATE_ROLLING_BACK);
}

static json_t *batch_size(int64_t value, bool is_percent)
{
    return json_pack("{s:s, s:I}", "Type", is_percent ? "CAPACITY_PERCENTAGE" : "INSTANCE_COUNT", "Value",
                     (json_int_t)value);
}

static json_t *deployment(const struct rollout *rollout)
{
    json_t *json = json_object(), *policy = json_object();

    if (rollout->batch_value > 0) {
        json_put(policy, "MaximumBatchSize", batch_size(rollout->batch_value, rollout->batch_is_percent));
        if (rollout->rollback_batch_value > 0)
            json_put(policy, "RollbackMaximumBatchSize",
                     batch_size(rollout->rollback_batch_value, rollout->rollback_is_percent));
        json_put(json, "RollingUpdatePolicy", policy);
    } else {
        json_decref(policy);
    }
    json_put_i64(json, "WaitIntervalInSeconds", rollout->wait_ms / MS_PER_S);
    return json;
}

static void put_software(json_t *json, const struct service_group_view *view)
{
    const struct instance_group *group = &view->group;
    const struct rollout *rollout = &view->rollout;
    struct image wanted = {group->image_id, group->release}, current = wanted;

    if (is_rolling(rollout)) {
        bool back = rollout->state == ROLLOUT_STATE_ROLLING_BACK;
        const struct image before = {rollout->previous_image_id, rollout->previous_release};
        const struct image target = {rollout->image_id, rollout->release};
        current = back ? target : before;
        wanted = back ? before : target;
        json_put_i64(json, "TargetStateCount", view->on_image);
        json_put(json, "ActiveSoftwareUpdateConfig", deployment(rollout));
    }
    if (rollout->group_id != 0)
        json_put_text(json, "SoftwareUpdateStatus", software_status(rollout->state));
    put_image(json, current, wanted);
}

/* --- groups --------------------------------------------------------------------------------------------------------- */

static const char *type_of(const struct instance_group *group)
{
    return group->instance_type[0] != '\0' ? group->instance_type : group->provider;
}

/* A group that names its type among requirements shows it so, too. */
static void put_types(json_t *json, const struct instance_group *group, const struct group_spec *spec, int64_t count)
{
    json_t *detail;

    if (!spec->requirements.given) {
        json_put_text(json, "InstanceType", type_of(group));
        return;
    }
    json_put(
        json, "InstanceRequirements",
        json_pack("{s:[s], s:[s]}", "CurrentInstanceTypes", type_of(group), "DesiredInstanceTypes", type_of(group)));
    detail = json_pack("{s:s, s:I}", "InstanceType", type_of(group), "CurrentCount", (json_int_t)count);
    if (spec->threads_per_core.given)
        json_put_i64(detail, "ThreadsPerCore", spec->threads_per_core.value);
    json_put(json, "InstanceTypeDetails", json_pack("[o]", detail));
}

/* What ListClusterNodes calls Pending of a node that was never in service. */
static int64_t coming(const struct service_group_view *view)
{
    return view->counts.by_state[NODE_STATE_PENDING] + view->counts.by_state[NODE_STATE_STARTING] + view->unproven;
}

/* Nodes that come, or are too many. Those under repair neither come nor go, and an update that gives slots other machines does not
 * change how many there are. */
static bool is_scaling(const struct service_group_view *view)
{
    const struct cluster_counts *counts = &view->counts;
    bool moving = coming(view) > 0 || counts->by_state[NODE_STATE_DELETING] > 0;

    return counts->nodes != view->group.desired || (moving && !is_rolling(&view->rollout));
}

static json_t *group_output(const struct service_group_view *view)
{
    const struct instance_group *group = &view->group;
    const struct cluster_counts *counts = &view->counts;
    json_t *json = kept_members(AWS_SHAPE_ClusterInstanceGroupDetails, aws_group_spec_write(&view->spec));
    int64_t current = counts->nodes - coming(view);

    json_put_i64(json, "CurrentCount", current);
    json_put_i64(json, "TargetCount", group->desired);
    if (group->min_count > 0)
        json_put_i64(json, "MinCount", group->min_count);
    json_put_text(json, "InstanceGroupName", group->name);
    put_types(json, group, &view->spec, current);
    json_put_text(json, "Status", aws_group_status(group, counts));
    if (is_scaling(view))
        json_put(json, "ActiveOperations", json_pack("{s:i}", "Scaling", 1));
    put_software(json, view);
    json_put(json, "KubernetesConfig", aws_kubernetes_write(&view->spec.kubernetes, &view->carried));
    return json;
}

/* --- clusters ------------------------------------------------------------------------------------------------------- */

/* A group's failure is the cluster's as well, as there is no member for it. */
static const char *failure_of(const struct service_cluster_view *view)
{
    if (view->cluster.failure[0] != '\0')
        return view->cluster.failure;
    for (size_t i = 0; i < view->group_count; i++)
        if (view->groups[i].group.state == GROUP_STATE_FAILED)
            return view->groups[i].group.failure;
    return "";
}

json_t *cluster_output(const struct service *s, const struct service_cluster_view *view)
{
    const struct cluster *cluster = &view->cluster;
    json_t *json = kept_members(AWS_SHAPE_DescribeClusterResponse, aws_cluster_spec_write(&view->spec));
    json_t *groups = json_array();
    json_t *scaling = json_object_get(json, "AutoScaling");

    json_put_text(json, "ClusterName", cluster->name);
    json_put_text(json, "ClusterStatus", aws_cluster_status(cluster->state));
    json_put(json, "CreationTime", aws_time_json(cluster->created_at));
    json_put_text(json, "FailureMessage", failure_of(view));
    for (size_t i = 0; i < view->group_count; i++)
        json_array_append_new(groups, group_output(&view->groups[i]));
    json_put(json, "InstanceGroups", groups);
    if (scaling != NULL) /* which is off, or it would have been refused */
        json_put_text(scaling, "Status", "InService");
    aws_orchestrator_put(json, s, cluster);
    json_put_text(json, "NodeRecovery", node_recovery_text(cluster->recovery));
    if (cluster->provisioning == PROVISIONING_CONTINUOUS)
        json_put_text(json, "NodeProvisioningMode", "Continuous");
    return json;
}

/* --- nodes ---------------------------------------------------------------------------------------------------------- */

bool zone_is_the_models(const char *zone)
{
    AUTO(aws_issues) struct aws_issues issues = {0};
    auto_json json_t *text = json_string(zone);

    return aws_validate(aws_shape(AWS_SHAPE_ClusterAvailabilityZone), text, (struct aws_rules){0}, &issues) == 0;
}

json_t *node_status_output(const struct db_node_row *row)
{
    json_t *json = json_object();

    json_put_text(json, "Status", aws_instance_status(row));
    json_put_text(json, "Message", aws_instance_message(&row->node));
    return json;
}

const char *node_type_of(const struct db_node_row *row)
{
    return row->instance_type[0] != '\0' ? row->instance_type : row->provider;
}

json_t *node_launch_time(const struct db_node_row *row)
{
    return aws_time_json(row->instance.launched_at > 0 ? row->instance.launched_at : row->node.created_at);
}

static struct image runs(const struct db_node_row *row)
{
    return (struct image){row->instance.image_id, row->instance.release};
}

static struct image wants(const struct db_node_row *row)
{
    return (struct image){row->image_id, row->release};
}

void node_put_release(json_t *json, const struct db_node_row *row)
{
    put_release(json, runs(row), wants(row));
}

/* Of an IPv4 address, as the model has it: ip-10-1-2-3.DOMAIN. */
static void put_hostname(json_t *json, const struct service *s, const char *address)
{
    const char *domain = s->backends != NULL && s->backends->dns_domain != NULL && *s->backends->dns_domain != '\0'
                             ? s->backends->dns_domain
                             : AWS_DNS_DOMAIN;
    if (*address == '\0' || address_is_ipv6(address))
        return;
    autofree char *name = own_printf("ip-%s.%s", address, domain);
    for (char *at = name; at < name + strlen("ip-") + strlen(address); at++)
        *at = *at == '.' ? '-' : *at;
    json_put_text(json, "PrivateDnsHostname", name);
}

/* The software of a machine is that of its image, so it is as new as the machine: an update gives the slot another one. */
void node_put_common(json_t *json, const struct service *s, const struct db_node_row *row)
{
    json_put(json, "LastSoftwareUpdateTime", node_launch_time(row));
    put_hostname(json, s, row->instance.address);
}

json_t *node_output(const struct service *s, const struct service_node_view *view, const struct group_spec *spec,
                    const struct kubernetes_spec *carried)
{
    const struct db_node_row *row = &view->row;
    json_t *json = kept_members(AWS_SHAPE_ClusterNodeDetails, aws_group_spec_write(spec));

    json_put_text(json, "InstanceGroupName", row->group);
    json_put_text(json, "InstanceId", row->instance.instance_id);
    json_put_text(json, "NodeLogicalId", row->node.name);
    json_put(json, "InstanceStatus", node_status_output(row));
    json_put_text(json, "InstanceType", node_type_of(row));
    if (row->instance.launched_at > 0)
        json_put(json, "LaunchTime", node_launch_time(row));
    if (row->instance.address[0] != '\0')
        json_put_text(json, address_is_ipv6(row->instance.address) ? "PrivatePrimaryIpv6" : "PrivatePrimaryIp",
                      row->instance.address);
    node_put_common(json, s, row);
    if (row->node.zone[0] != '\0' && zone_is_the_models(row->node.zone))
        json_put(json, "Placement", json_pack("{s:s}", "AvailabilityZone", row->node.zone));
    if (spec->capacity.on_demand.given)
        json_put_text(json, "CapacityType", "OnDemand");
    put_image(json, runs(row), wants(row));
    json_put(json, "KubernetesConfig", aws_kubernetes_write(&spec->kubernetes, carried));
    return json;
}
