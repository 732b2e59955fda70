/* See reconcile/keep/govern_rule.h. The documents are in HyperPod's spelling and were checked by its model. */
#include "server/reconcile/keep/govern_rule.h"

#include "base/json.h"
#include "base/text.h"

#include <string.h>

#define CPU_MILLI 1000.0
#define MIB_OF_GIB 1024.0
#define NEARLY 1e-6 /* so that 2.3 CPUs, which is a little less in binary, are 2300 thousandths */
#define SLICE_PREFIX "mig-"

static const char *text_of(const json_t *object, const char *member)
{
    const char *text = json_string_value(json_object_get(object, member));
    return text == NULL ? "" : text;
}

static bool is(const json_t *object, const char *member, const char *value)
{
    return strcmp(text_of(object, member), value) == 0;
}

/* times factor, rounded down: nobody gets more than was said. Negative when it is not said. */
static int64_t amount_of(const json_t *object, const char *member, double factor)
{
    const json_t *value = json_object_get(object, member);
    return json_is_number(value) ? (int64_t)(json_number_value(value) * factor + NEARLY) : -1;
}

static void read_classes(const json_t *config, struct scheduler_rule *rule)
{
    const json_t *classes = json_object_get(config, "PriorityClasses");
    for (size_t i = 0; i < json_array_size(classes) && i < SCHEDULER_CLASSES_MAX; i++) {
        const json_t *from = json_array_get(classes, i);
        struct scheduler_class *class = &rule->classes[rule->class_count++];
        text_copy_cut(class->name, sizeof(class->name), text_of(from, "Name"));
        class->weight = json_integer_value(json_object_get(from, "Weight"));
    }
}

static void read_amounts(const json_t *config, struct scheduler_rule *rule)
{
    const json_t *resources = json_object_get(config, "ComputeQuotaResources");
    for (size_t i = 0; i < json_array_size(resources) && i < SCHEDULER_AMOUNTS_MAX; i++) {
        const json_t *from = json_array_get(resources, i), *slice = json_object_get(from, "AcceleratorPartition");
        const char *kind = text_of(slice, "Type");
        struct scheduler_amount *amount = &rule->amounts[rule->amount_count++];
        text_copy_cut(amount->instance_type, sizeof(amount->instance_type), text_of(from, "InstanceType"));
        amount->nodes = amount_of(from, "Count", 1);
        amount->accelerators = amount_of(from, "Accelerators", 1);
        amount->cpu_milli = amount_of(from, "VCpu", CPU_MILLI);
        amount->memory_mib = amount_of(from, "MemoryInGiB", MIB_OF_GIB);
        if (text_starts_with(kind, SLICE_PREFIX))
            kind += strlen(SLICE_PREFIX);
        text_copy_cut(amount->slice, sizeof(amount->slice), kind);
        amount->slices = amount_of(slice, "Count", 1);
    }
}

int govern_rule_make(const struct governance *governance, struct scheduler_rule *ret_rule)
{
    auto_json json_t *config = NULL;
    char error[JSON_ERROR_MAX];
    struct scheduler_rule rule = {.kind = governance->kind, .weight = governance->weight};
    int status =
        json_parse(governance->config, strlen(governance->config), GOVERNANCE_CONFIG_MAX_BYTES, &config, error);
    if (status != 0)
        return STATUS_INVALID;
    text_copy_cut(rule.uid, sizeof(rule.uid), governance->uid);
    text_copy_cut(rule.team, sizeof(rule.team), governance->team);
    for (int part = 0; part < SCHEDULER_PART_COUNT; part++)
        rule.asked[part] = json_object_get(config, scheduler_part_text((enum scheduler_part)part)) != NULL;
    read_classes(config, &rule);
    read_amounts(config, &rule);
    rule.fair_share = is(config, "FairShare", "Enabled");
    rule.idle_sharing = is(config, "IdleResourceSharing", "Enabled");
    const json_t *sharing = json_object_get(config, "ResourceSharingConfig");
    rule.lends = !is(sharing, "Strategy", "DontLend");
    rule.borrows = is(sharing, "Strategy", "LendAndBorrow");
    rule.preempts = is(config, "PreemptTeamTasks", "LowerPriority");
    if (governance->kind == GOVERNANCE_KIND_COMPUTE_QUOTA) {
        rule.off = !governance->active;
        rule.asked[SCHEDULER_PART_RESOURCES] = true; /* also of nothing: the team has a place in the scheduler */
        rule.asked[SCHEDULER_PART_WEIGHT] = rule.weight > 0;
    }
    *ret_rule = rule;
    return 0;
}

/* --- what came of it ---------------------------------------------------------------------------------- */

static void write_details(const struct scheduler_rule *rule, char ret_details[GOVERNANCE_DETAILS_MAX_BYTES])
{
    auto_json json_t *details = json_object();
    for (int part = 0; part < SCHEDULER_PART_COUNT; part++) {
        const struct scheduler_answer *answer = &rule->answers[part];
        if (rule->asked[part] && !rule->off)
            json_object_set_new(details, scheduler_part_text((enum scheduler_part)part),
                                json_string(answer->outcome == SCHEDULER_OUTCOME_HOLDS ? "" : answer->why));
    }
    autofree char *text = json_dumps(details, JSON_COMPACT);
    if (text == NULL || text_copy(ret_details, GOVERNANCE_DETAILS_MAX_BYTES, text) != 0)
        text_copy_cut(ret_details, GOVERNANCE_DETAILS_MAX_BYTES, "{}");
}

enum scheduler_outcome govern_rule_judge(const struct scheduler_rule *rule, char ret_reason[SENTENCE_MAX_BYTES],
                                         char ret_details[GOVERNANCE_DETAILS_MAX_BYTES])
{
    enum scheduler_outcome outcome = SCHEDULER_OUTCOME_HOLDS;
    AUTO(text) struct text failed = {0}, later = {0};
    for (int part = 0; part < SCHEDULER_PART_COUNT; part++) {
        const struct scheduler_answer *answer = &rule->answers[part];
        const char *name = scheduler_part_text((enum scheduler_part)part);
        if (answer->outcome == SCHEDULER_OUTCOME_FAILED)
            text_printf(&failed, " %s: %s.", name, answer->why);
        if (answer->outcome == SCHEDULER_OUTCOME_LATER && text_get(&later)[0] == '\0')
            text_printf(&later, " %s: %s.", name, answer->why);
    }
    autofree char *reason = NULL;
    if (text_get(&later)[0] != '\0') {
        outcome = SCHEDULER_OUTCOME_LATER;
        reason = own_printf("Stored, but not applied yet.%s", text_get(&later));
    } else if (text_get(&failed)[0] != '\0') {
        outcome = SCHEDULER_OUTCOME_FAILED;
        reason = own_printf("Stored, but not applied in full.%s", text_get(&failed));
    } else {
        reason = own_strdup("Applied: Slurm goes by all of it.");
    }
    text_copy_cut(ret_reason, SENTENCE_MAX_BYTES, reason);
    write_details(rule, ret_details);
    return outcome;
}
