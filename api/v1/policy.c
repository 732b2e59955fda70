/* The policy in force: which numbers hpd decides by, where each is from, and what of a cluster is its own choice. */
#include "api/call.h"
#include "api/v1/v1.h"
#include "base/clock.h"
#include "base/text.h"

#include <stdio.h>

#define BUILT_IN "built-in"

static void put_value(json_t *json, const char *member, const struct service_setting *setting, int64_t value)
{
    char text[CLOCK_TEXT_MAX];
    if (setting->is_duration)
        json_put_text(json, member, clock_write_duration(value, text));
    else
        json_put_i64(json, member, value);
}

static json_t *render_setting(const struct service_setting *setting)
{
    char name[NAME_MAX_BYTES];
    json_t *json = json_object();
    snprintf(name, sizeof name, "%s%s%s", setting->section, setting->section[0] != '\0' ? "." : "", setting->name);
    json_put_text(json, "name", name);
    put_value(json, "value", setting, setting->value);
    put_value(json, "default", setting, setting->standard);
    if (setting->source != SETTING_SOURCE_FIXED) {
        put_value(json, "minimum", setting, setting->min);
        put_value(json, "maximum", setting, setting->max);
    }
    json_put_text(json, "source", setting_source_text(setting->source));
    json_put_text(json, "description", setting->help);
    return json;
}

/* The settings of one section, "" being those that no file has. */
static json_t *render_section(const struct service_policy *policy, const char *section)
{
    json_t *list = json_array();
    for (size_t i = 0; i < policy->count; i++)
        if (text_equal(policy->settings[i].section, section))
            json_array_append_new(list, render_setting(&policy->settings[i]));
    return json_pack("{s:s, s:o}", "name", section[0] != '\0' ? section : BUILT_IN, "settings", list);
}

/* In the order of the list, in which a section stands together. */
static json_t *render_policies(const struct service_policy *policy, const char *fault_version)
{
    json_t *items = json_array();
    for (size_t i = 0; i < policy->count; i++)
        if (i == 0 || !text_equal(policy->settings[i].section, policy->settings[i - 1].section))
            json_array_append_new(items, render_section(policy, policy->settings[i].section));
    return json_pack("{s:s, s:o}", "faultTableVersion", fault_version, "items", items);
}

static json_t *render_choice(const char *name, const char *value, const char *standard, const char *description)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "name", name, "value", value, "default", standard, "source",
                     setting_source_text(SETTING_SOURCE_CLUSTER), "description", description);
}

static json_t *render_choices(const struct cluster *cluster)
{
    return json_pack(
        "{s:s, s:[o, o]}", "name", "cluster", "settings",
        render_choice("nodeRecovery", node_recovery_text(cluster->recovery),
                      node_recovery_text(NODE_RECOVERY_AUTOMATIC), "whether faults lead to repairs or only to a mark"),
        render_choice("nodeProvisioningMode", provisioning_text(cluster->provisioning),
                      provisioning_text(PROVISIONING_CONTINUOUS),
                      "whether nodes come one by one, or a change succeeds with all of them or is taken back"));
}

void api_policy_list(struct api_call *call)
{
    struct problem problem;
    const struct service_policy *policy;
    if (service_policy_list(call->service, NULL, &policy, NULL, &problem) != 0)
        api_problem(call, &problem);
    else
        api_reply_json(call, 200, render_policies(policy, service_fault_version(call->service)));
}

void api_policy_list_of_cluster(struct api_call *call)
{
    struct problem problem;
    struct cluster cluster;
    const struct service_policy *policy;
    if (service_policy_list(call->service, call->params[0], &policy, &cluster, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    json_t *json = render_policies(policy, service_fault_version(call->service));
    json_put_text(json, "cluster", cluster.name);
    json_array_insert_new(json_object_get(json, "items"), 0, render_choices(&cluster));
    api_reply_json(call, 200, json);
}
