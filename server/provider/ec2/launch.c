/* What a launch asks for. Pure. */
#include "base/base64.h"
#include "base/json.h"
#include "base/own.h"
#include "server/provider/ec2/ec2.h"

#include <stdio.h>
#include <string.h>

ENUM_DEFINE(ec2_market, EC2_MARKET_LIST)

#define HYPERPOD_PREFIX "ml." /* HyperPod's names of instance types are EC2's with this before them */

void ec2_client_token(const char *key, const char *subnet, char ret_token[EC2_HASH_MAX])
{
    autofree char *text = own_printf("%s\n%s", key, subnet);
    id_sha256_hex(text, strlen(text), ret_token);
}

static void add_unless_empty(struct text *form, const char *name, const char *value)
{
    if (value[0] != '\0')
        ec2_form_add(form, name, value);
}

static json_t *file_json(const char *path, const char *permissions, const char *content)
{
    json_t *file = json_object();
    json_put_text(file, "path", path);
    json_put_text(file, "permissions", permissions);
    json_put_text(file, "content", content);
    return file;
}

/* For cloud-init, in an image that has the package hp-agent: the machine's token, and the agent's settings. JSON is YAML. */
static char *user_data(const struct provider_launch *launch)
{
    autofree char *env =
        own_printf("HPD_URL=%s\nHP_AGENT_OPTIONS=--node %s --instance-id %s%s%s\n", launch->server_url, launch->node,
                   launch->instance_id, launch->fingerprint[0] != '\0' ? " --fingerprint " : "", launch->fingerprint);
    auto_json json_t *config = json_object();
    json_t *files = json_array(), *commands = json_array();
    json_array_append_new(files, file_json("/etc/holdfast/agent.token", "0600", launch->enrollment_token));
    json_array_append_new(files, file_json("/etc/holdfast/agent.env", "0644", env));
    json_array_append_new(commands, json_pack("[s,s,s]", "systemctl", "enable", "hp-agent"));
    json_array_append_new(commands, json_pack("[s,s,s]", "systemctl", "restart", "hp-agent"));
    json_put(config, "write_files", files);
    json_put(config, "runcmd", commands);
    autofree char *text = json_dumps(config, 0), *whole = own_printf("#cloud-config\n%s", text == NULL ? "" : text);
    char *encoded = own_calloc(1, BASE64_TEXT_MAX(strlen(whole)));
    base64_encode(whole, strlen(whole), encoded);
    return encoded;
}

static void add_tag(struct text *form, size_t *count, const char *name, const char *value)
{
    char key[64];
    if (value[0] == '\0')
        return;
    (*count)++;
    snprintf(key, sizeof(key), "TagSpecification.1.Tag.%zu.Key", *count);
    ec2_form_add(form, key, name);
    snprintf(key, sizeof(key), "TagSpecification.1.Tag.%zu.Value", *count);
    ec2_form_add(form, key, value);
}

static void add_tags(const struct ec2_shape *shape, const struct provider_launch *launch, struct text *form)
{
    char hash[EC2_HASH_MAX];
    size_t count = 0;
    ec2_key_hash(launch->key, hash);
    ec2_form_add(form, "TagSpecification.1.ResourceType", "instance");
    add_tag(form, &count, "Name", launch->node);
    add_tag(form, &count, EC2_TAG_PROVIDER, shape->tag);
    add_tag(form, &count, EC2_TAG_INSTANCE, launch->instance_id);
    add_tag(form, &count, EC2_TAG_LAUNCH, hash);
    add_tag(form, &count, "holdfast-cluster", launch->cluster);
    add_tag(form, &count, "holdfast-group", launch->group);
    add_tag(form, &count, "holdfast-node", launch->node);
    for (size_t i = 0; i < shape->tag_count; i++)
        add_tag(form, &count, shape->tags[i].name, shape->tags[i].value);
}

static void add_template(const struct ec2_shape *shape, struct text *form)
{
    if (shape->launch_template[0] == '\0')
        return;
    ec2_form_add(form,
                 text_starts_with(shape->launch_template, "lt-") ? "LaunchTemplate.LaunchTemplateId"
                                                                 : "LaunchTemplate.LaunchTemplateName",
                 shape->launch_template);
    add_unless_empty(form, "LaunchTemplate.Version", shape->launch_template_version);
}

void ec2_write_launch(const struct ec2_shape *shape, const struct provider_launch *launch, const char *subnet,
                      struct text *form)
{
    char token[EC2_HASH_MAX], key[64];
    autofree char *data = user_data(launch);
    const char *type = launch->instance_type;
    ec2_client_token(launch->key, subnet, token);
    ec2_form_add(form, "MinCount", "1");
    ec2_form_add(form, "MaxCount", "1");
    ec2_form_add(form, "ClientToken", token);
    add_template(shape, form);
    add_unless_empty(form, "ImageId", launch->image_id[0] != '\0' ? launch->image_id : shape->image);
    add_unless_empty(form, "InstanceType",
                     text_starts_with(type, HYPERPOD_PREFIX) ? type + strlen(HYPERPOD_PREFIX) : type);
    add_unless_empty(form, "KeyName", shape->key_name);
    add_unless_empty(form, "SubnetId", subnet);
    for (size_t i = 0; i < shape->security_group_count; i++) {
        snprintf(key, sizeof(key), "SecurityGroupId.%zu", i + 1);
        ec2_form_add(form, key, shape->security_groups[i]);
    }
    add_unless_empty(
        form, text_starts_with(shape->instance_profile, "arn:") ? "IamInstanceProfile.Arn" : "IamInstanceProfile.Name",
        shape->instance_profile);
    add_unless_empty(form, "Placement.GroupName", shape->placement_group);
    if (subnet[0] == '\0') /* a subnet is in one zone */
        add_unless_empty(form, "Placement.AvailabilityZone", launch->zone);
    add_unless_empty(form, "CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId",
                     shape->capacity_reservation);
    if (shape->market != EC2_MARKET_ON_DEMAND)
        ec2_form_add(form, "InstanceMarketOptions.MarketType", ec2_market_text(shape->market));
    ec2_form_add(form, "UserData", data);
    explicit_bzero(data, strlen(data));
    add_tags(shape, launch, form);
}
