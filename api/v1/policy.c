/* The policy in force: which numbers hpd decides by, where each is from, and what of a cluster is its own choice. */
#include "server/service/policy/policy.h"
#include "api/call.h"
#include "api/v1/v1.h"
#include "base/clock.h"
#include "base/text.h"

#include <stdio.h>

#define BUILT_IN "built-in"

static void put_value(json_t *json, const char *member, const struct service_setting *setting, int64_t value)
{
    char text[CLOCK_TEXT_MAX];
    if (setting->kind == SETTING_KIND_DURATION)
        json_put_text(json, member, clock_write_duration(value, text));
    else if (setting_word(setting->kind, value) != NULL)
        json_put_text(json, member, setting_word(setting->kind, value));
    else
        json_put_i64(json, member, value);
}

/* As the document says it, where the document can. */
static void put_name(json_t *json, const struct service_setting *setting)
{
    char name[2 * NAME_MAX_BYTES];
    if (setting->fault != FAULT_CLASS_COUNT)
        snprintf(name, sizeof name, "classes.%s.%s", fault_class_text(setting->fault), setting->name);
    else
        snprintf(name, sizeof name, "%s%s%s", setting->section, setting->section[0] != '\0' ? "." : "", setting->name);
    json_put_text(json, "name", name);
}

static json_t *render_setting(const struct service_setting *setting)
{
    json_t *json = json_object();
    put_name(json, setting);
    if (setting->kind == SETTING_KIND_WINDOWS) {
        char hours[POLICY_WINDOWS_TEXT_MAX];
        bool none = setting->windows.count == 0;
        json_put_text(json, "value", none ? "none" : policy_windows_text(&setting->windows, hours));
        json_put_text(json, "default", "none");
    } else {
        put_value(json, "value", setting, setting->value);
        put_value(json, "default", setting, setting->standard);
    }
    bool word = setting->kind == SETTING_KIND_WINDOWS || setting_word(setting->kind, setting->value) != NULL;
    if (setting->source != SETTING_SOURCE_FIXED && !word) {
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

static bool is_first_of_section(const struct service_policy *policy, size_t at)
{
    for (size_t i = 0; i < at; i++)
        if (text_equal(policy->settings[i].section, policy->settings[at].section))
            return false;
    return true;
}

/* In the order of the list, in which a section stands together. */
static json_t *render_policies(struct api_call *call, const struct service_policy *policy, int64_t version)
{
    json_t *items = json_array();
    for (size_t i = 0; i < policy->count; i++)
        if (is_first_of_section(policy, i))
            json_array_append_new(items, render_section(policy, policy->settings[i].section));
    json_t *json = json_pack("{s:s, s:o}", "faultTableVersion", service_fault_version(call->service), "items", items);
    json_put_i64(json, "policyVersion", version);
    return json;
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

static void reply_list(struct api_call *call, const char *cluster_name, const char *group)
{
    struct problem problem;
    struct cluster cluster;
    int64_t version = 0;
    autofree struct service_policy *policy = own_calloc(1, sizeof *policy);
    if (service_policy_list(call->service, cluster_name, group, policy, &version, &cluster, &problem) != 0) {
        api_problem(call, &problem);
        return;
    }
    json_t *json = render_policies(call, policy, version);
    if (cluster_name != NULL) {
        json_put_text(json, "cluster", cluster.name);
        json_array_insert_new(json_object_get(json, "items"), 0, render_choices(&cluster));
    }
    json_put_text(json, "group", group);
    api_reply_json(call, 200, json);
}

void api_policy_list(struct api_call *call)
{
    reply_list(call, NULL, NULL);
}

void api_policy_list_of_cluster(struct api_call *call)
{
    reply_list(call, call->params[0], NULL);
}

void api_policy_list_of_group(struct api_call *call)
{
    reply_list(call, call->params[0], call->params[1]);
}
