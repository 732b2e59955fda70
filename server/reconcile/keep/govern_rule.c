/* See reconcile/keep/govern_rule.h. What is stored was checked by the API that took it. */
#include "server/reconcile/keep/govern_rule.h"

#include "base/json.h"
#include "base/text.h"
#include "model/governance_spec.h"

#include <string.h>

#define CPU_MILLI 1000.0
#define MIB_OF_GIB 1024.0
#define NEARLY 1e-6 /* so that 2.3 CPUs, which is a little less in binary, are 2300 thousandths */
#define SLICE_PREFIX "mig-"

/* times factor, rounded down: nobody gets more than was said. Negative when it is not said. */
static int64_t amount_of(struct optional_real amount, double factor)
{
    return amount.given ? (int64_t)(amount.value * factor + NEARLY) : -1;
}

static int64_t count_of(struct optional count)
{
    return count.given ? count.value : -1;
}

static void read_classes(const struct optional_list *classes, struct scheduler_rule *rule)
{
    const struct priority_class_spec *from = classes->items;
    for (size_t i = 0; i < classes->count && i < SCHEDULER_CLASSES_MAX; i++) {
        struct scheduler_class *class = &rule->classes[rule->class_count++];
        text_copy_cut(class->name, sizeof(class->name), from[i].name);
        class->weight = from[i].weight.value;
    }
}

static void read_amounts(const struct optional_list *amounts, struct scheduler_amount *into, size_t *ret_count)
{
    for (size_t i = 0; i < amounts->count && i < SCHEDULER_AMOUNTS_MAX; i++) {
        const struct amount_spec *from = (const struct amount_spec *)amounts->items + i;
        const char *kind = text_or_empty(from->slice.kind);
        struct scheduler_amount *amount = &into[(*ret_count)++];
        text_copy_cut(amount->instance_type, sizeof(amount->instance_type), from->instance_type);
        amount->nodes = count_of(from->nodes);
        amount->accelerators = count_of(from->accelerators);
        amount->cpu_milli = amount_of(from->cpus, CPU_MILLI);
        amount->memory_mib = amount_of(from->memory_gib, MIB_OF_GIB);
        if (text_starts_with(kind, SLICE_PREFIX))
            kind += strlen(SLICE_PREFIX);
        text_copy_cut(amount->slice, sizeof(amount->slice), kind);
        amount->slices = count_of(from->slice.count);
    }
}

int govern_rule_make(const struct governance *governance, struct scheduler_rule *ret_rule)
{
    AUTO(governance_spec) struct governance_spec config;
    struct scheduler_rule rule = {.kind = governance->kind, .weight = governance->weight};
    if (governance_spec_read(governance->config, &config) != 0)
        return STATUS_INVALID;
    text_copy_cut(rule.uid, sizeof(rule.uid), governance->uid);
    text_copy_cut(rule.cluster_uid, sizeof(rule.cluster_uid), governance->cluster_uid);
    text_copy_cut(rule.team, sizeof(rule.team), governance->team);
    rule.asked[SCHEDULER_PART_PRIORITY_CLASSES] = config.classes.given;
    rule.asked[SCHEDULER_PART_FAIR_SHARE] = config.fair_share.given;
    rule.asked[SCHEDULER_PART_IDLE_SHARING] = config.idle_sharing.given;
    rule.asked[SCHEDULER_PART_RESOURCES] = config.amounts.given;
    rule.asked[SCHEDULER_PART_LENDING] = config.sharing.given;
    rule.asked[SCHEDULER_PART_PREEMPTION] = config.preempts.given;
    read_classes(&config.classes, &rule);
    read_amounts(&config.amounts, rule.amounts, &rule.amount_count);
    read_amounts(&config.sharing.borrow_at_most, rule.borrow_at_most, &rule.borrow_count);
    rule.borrow_percent = count_of(config.sharing.borrow_percent);
    rule.fair_share = config.fair_share.value != 0;
    rule.idle_sharing = config.idle_sharing.value != 0;
    bool is_default = !config.sharing.strategy.given; /* HyperPod's: LendAndBorrow */
    rule.lends = is_default || config.sharing.strategy.value != SHARING_STRATEGY_DONT_LEND;
    rule.borrows = is_default || config.sharing.strategy.value == SHARING_STRATEGY_LEND_AND_BORROW;
    rule.preempts = config.preempts.value != 0;
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
    if (text_get(&failed)[0] != '\0') {
        outcome = SCHEDULER_OUTCOME_FAILED;
        reason = own_printf("Stored, but not applied in full.%s", text_get(&failed));
    } else if (text_get(&later)[0] != '\0') {
        outcome = SCHEDULER_OUTCOME_LATER;
        reason = own_printf("Stored, but not applied yet.%s", text_get(&later));
    } else {
        reason = own_strdup("Applied: the scheduler goes by all of it.");
    }
    text_copy_cut(ret_reason, SENTENCE_MAX_BYTES, reason);
    write_details(rule, ret_details);
    return outcome;
}

bool govern_rule_is_undecided(const struct scheduler_rule *rule)
{
    for (int part = 0; part < SCHEDULER_PART_COUNT; part++)
        if (rule->answers[part].outcome == SCHEDULER_OUTCOME_LATER)
            return true;
    return false;
}
