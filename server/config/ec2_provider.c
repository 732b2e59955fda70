/* What providers.NAME of the kind ec2 may say, and the provider that is made of it. */
#include "server/config/ec2_provider.h"

#include "base/clock.h"
#include "base/status.h"
#include "base/text.h"
#include "server/config/config.h"
#include "server/config/section.h"

#include <stdio.h>
#include <string.h>

static int say(char *ret_error, const struct config_ec2 *ec2, const char *rule)
{
    snprintf(ret_error, CONFIG_ERROR_MAX, "providers.%s.%s", ec2->name, rule);
    return STATUS_INVALID;
}

/* What goes into a request, and onto a terminal. */
static bool is_plain(const char *text)
{
    for (const char *c = text; *c != '\0'; c++)
        if (*c <= ' ' || *c > '~')
            return false;
    return text[0] != '\0';
}

static int read_subnets(struct config_ec2 *ec2, const json_t *object, char *ret_error)
{
    const char *id;
    json_t *zone;
    struct ec2_shape *shape = &ec2->shape;
    if (object == NULL)
        return 0;
    if (!json_is_object(object) || json_object_size(object) > EC2_SUBNETS_MAX)
        return say(ret_error, ec2, "subnets must be a mapping of at most 16, as subnet-0a1b2c3d: us-west-2a");
    json_object_foreach((json_t *)(uintptr_t)object, id, zone)
    {
        struct ec2_subnet *subnet = &shape->subnets[shape->subnet_count++];
        const char *text = json_string_value(zone);
        if (!text_starts_with(id, "subnet-") || !is_plain(id) || text == NULL || !is_plain(text) ||
            text_copy(subnet->id, sizeof(subnet->id), id) != 0 ||
            text_copy(subnet->zone, sizeof(subnet->zone), text) != 0)
            return say(ret_error, ec2, "subnets must name ids with their zones, as subnet-0a1b2c3d: us-west-2a");
    }
    return 0;
}

static int read_security_groups(struct config_ec2 *ec2, const json_t *list, char *ret_error)
{
    struct ec2_shape *shape = &ec2->shape;
    if (list == NULL)
        return 0;
    if (!json_is_array(list) || json_array_size(list) > EC2_SECURITY_GROUPS_MAX)
        return say(ret_error, ec2, "securityGroups must be a list of at most 16 ids, as sg-0a1b2c3d");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *id = json_string_value(json_array_get(list, i));
        if (id == NULL || !text_starts_with(id, "sg-") || !is_plain(id) ||
            text_copy(shape->security_groups[shape->security_group_count++], EC2_WORD_MAX, id) != 0)
            return say(ret_error, ec2, "securityGroups must be ids, as sg-0a1b2c3d");
    }
    return 0;
}

static int read_tags(struct config_ec2 *ec2, const json_t *object, char *ret_error)
{
    const char *name;
    json_t *value;
    struct ec2_shape *shape = &ec2->shape;
    if (object == NULL)
        return 0;
    if (!json_is_object(object) || json_object_size(object) > EC2_TAGS_MAX)
        return say(ret_error, ec2, "tags must be a mapping of at most 32 tags");
    json_object_foreach((json_t *)(uintptr_t)object, name, value)
    {
        struct ec2_tag *tag = &shape->tags[shape->tag_count++];
        const char *text = json_string_value(value);
        if (text_starts_with(name, "holdfast-") || text_starts_with(name, "aws:") || text_equal(name, "Name"))
            return say(ret_error, ec2, "tags: Name, holdfast-* and aws:* are not the site's to set");
        if (text == NULL || text[0] == '\0' || text_copy(tag->name, sizeof(tag->name), name) != 0 ||
            text_copy(tag->value, sizeof(tag->value), text) != 0)
            return say(ret_error, ec2,
                       "tags must have texts of 1 to 256 bytes under names of at most 128; put numbers in quotes");
    }
    return 0;
}

static int check(const struct config_ec2 *ec2, const char *market, const char *reset, char *ret_error)
{
    char endpoint[AWS_ENDPOINT_MAX];
    const struct ec2_shape *shape = &ec2->shape;
    if (aws_endpoint("ec2", ec2->region, endpoint) != 0)
        return say(ret_error, ec2, "region must be a region of EC2, as us-west-2");
    if (market[0] != '\0' && ec2_market_parse(market, &(enum ec2_market){0}) != 0)
        return say(ret_error, ec2, "market must be on-demand, spot or capacity-block");
    if (reset[0] != '\0' && !text_equal(reset, "reboot") && !text_equal(reset, "stop-start"))
        return say(ret_error, ec2, "reset must be reboot or stop-start");
    if (ec2->stop_start && shape->market == EC2_MARKET_SPOT)
        return say(ret_error, ec2, "reset must be reboot where market is spot: EC2 does not stop such an instance");
    if (shape->image[0] == '\0' && shape->launch_template[0] == '\0')
        return say(ret_error, ec2,
                   "image, or launchTemplate in its place, is needed: an image with the package hp-agent");
    if (shape->market == EC2_MARKET_BLOCK && shape->capacity_reservation[0] == '\0')
        return say(ret_error, ec2, "capacityReservation is needed where market is capacity-block");
    if (!text_is_name(shape->tag))
        return say(ret_error, ec2, "tag must be a name of letters, digits and hyphens");
    return 0;
}

int config_ec2_read(struct config_ec2 *ec2, json_t *object, char *ret_error)
{
    static const char *const skip[] = {"subnets", "securityGroups", "tags", NULL};
    struct ec2_shape *shape = &ec2->shape;
    char kind[NAME_MAX_BYTES] = "", market[NAME_MAX_BYTES] = "", reset[NAME_MAX_BYTES] = "";
    autofree char *section = own_printf("providers.%s", ec2->name);
    const struct key keys[] = {
        {"kind", KEY_TEXT, kind, sizeof(kind), 0, 0},
        {"region", KEY_TEXT, ec2->region, sizeof(ec2->region), 0, 0},
        {"endpoint", KEY_TEXT, ec2->endpoint, sizeof(ec2->endpoint), 0, 0},
        {"credentialsFile", KEY_TEXT, ec2->credentials_file, sizeof(ec2->credentials_file), 0, 0},
        {"profile", KEY_TEXT, ec2->profile, sizeof(ec2->profile), 0, 0},
        {"tag", KEY_TEXT, shape->tag, sizeof(shape->tag), 0, 0},
        {"image", KEY_TEXT, shape->image, sizeof(shape->image), 0, 0},
        {"launchTemplate", KEY_TEXT, shape->launch_template, sizeof(shape->launch_template), 0, 0},
        {"launchTemplateVersion", KEY_TEXT, shape->launch_template_version, sizeof(shape->launch_template_version), 0,
         0},
        {"instanceProfile", KEY_TEXT, shape->instance_profile, sizeof(shape->instance_profile), 0, 0},
        {"keyName", KEY_TEXT, shape->key_name, sizeof(shape->key_name), 0, 0},
        {"placementGroup", KEY_TEXT, shape->placement_group, sizeof(shape->placement_group), 0, 0},
        {"capacityReservation", KEY_TEXT, shape->capacity_reservation, sizeof(shape->capacity_reservation), 0, 0},
        {"market", KEY_TEXT, market, sizeof(market), 0, 0},
        {"reset", KEY_TEXT, reset, sizeof(reset), 0, 0},
        {"endOrphans", KEY_BOOL, &ec2->end_orphans, 0, 0, 0},
        {"timeout", KEY_DURATION, &ec2->timeout_ms, 0, MS_PER_S, MS_PER_HOUR},
    };
    ec2->timeout_ms = EC2_TIMEOUT_MS;
    text_copy_cut(ec2->profile, sizeof(ec2->profile), "default");
    text_copy_cut(shape->tag, sizeof(shape->tag), ec2->name);
    int rc = section_read(object, section, keys, ARRAY_LEN(keys), skip, ret_error);
    if (rc == 0)
        rc = read_subnets(ec2, json_object_get(object, "subnets"), ret_error);
    if (rc == 0)
        rc = read_security_groups(ec2, json_object_get(object, "securityGroups"), ret_error);
    if (rc == 0)
        rc = read_tags(ec2, json_object_get(object, "tags"), ret_error);
    if (rc == 0 && market[0] != '\0')
        (void)ec2_market_parse(market, &shape->market);
    ec2->stop_start = text_equal(reset, "stop-start");
    return rc == 0 ? check(ec2, market, reset, ret_error) : rc;
}

int config_ec2_make(const struct config_ec2 *ec2, const char *state_dir, struct provider_driver *ret_driver,
                    char *ret_error)
{
    const char *metadata = getenv("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    autofree char *dir = own_printf("%s/providers/%s", state_dir, ec2->name);
    const struct ec2_options options = {
        .name = ec2->name,
        .state_dir = dir,
        .shape = &ec2->shape,
        .stop_start = ec2->stop_start,
        .end_orphans = ec2->end_orphans,
        .client = {.endpoint = ec2->endpoint,
                   .region = ec2->region,
                   .credentials = {.file = ec2->credentials_file,
                                   .profile = ec2->profile,
                                   .metadata_url = metadata != NULL ? metadata : EC2_METADATA_URL},
                   .timeout_ms = ec2->timeout_ms}};
    return ec2_new(&options, ret_driver, ret_error);
}
