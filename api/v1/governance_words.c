/*
 * The words of task governance in the REST API, and what each may be. They are HyperPod's in another spelling, so that a file for one is
 * soon a file for the other. Rules between values are the use case's (governance_check.c).
 */
#include "api/v1/governance_words.h"
#include "api/v1/spec_words.h"

#define AMOUNT_MAX 10000000
#define TYPE_PATTERN "[a-zA-Z0-9._-]+"
#define TYPE_RULE "letters, digits, dots and hyphens, such as \"ml.p5.48xlarge\""
#define TEAM_PATTERN "[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
#define TEAM_RULE "1 to 40 lower-case letters, digits and inner hyphens"
#define SLICE_PATTERN "mig-[0-9]+g\\.[0-9]+gb"
#define SLICE_RULE "a profile of multi-instance GPU, such as \"mig-1g.5gb\""

static const char *const switches[] = {"Disabled", "Enabled"};
static const char *const preemptions[] = {"Never", "LowerPriority"};
static const char *const strategies[] = {[SHARING_STRATEGY_DONT_LEND] = "DontLend",
                                         [SHARING_STRATEGY_LEND] = "Lend",
                                         [SHARING_STRATEGY_LEND_AND_BORROW] = "LendAndBorrow"};

#define AT(holder, member) .at = offsetof(struct holder, member)
#define WORDS(list) .words = (list), .word_count = ARRAY_LEN(list)
#define MATCHES(what) .pattern = what##_PATTERN, .rule = what##_RULE
#define TEXT(word, holder, member, shortest, longest) \
    .name = (word), .type = RECORD_TEXT, AT(holder, member), .min = (shortest), .max = (longest)
#define NUMBER(word, holder, member, most) .name = (word), .type = RECORD_NUMBER, AT(holder, member), .max = (most)
#define REAL(word, holder, member, most) .name = (word), .type = RECORD_REAL, AT(holder, member), .max = (most)
#define LIST(word, holder, member, most, of) \
    .name = (word), .type = RECORD_LIST, AT(holder, member), .items_max = (most), .record = (of)
#define OBJECT(word, holder, member, of) .name = (word), .type = RECORD_OBJECT, AT(holder, member), .record = (of)
#define NEVER(word) .name = (word), .type = RECORD_NEVER, .rule = "the path or If-Match says it"

/* --- what a scheduler configuration asks for ----------------------------------------------------------- */

static const struct record_field class_fields[] = {
    {TEXT("name", priority_class_spec, name, 1, TEAM_MAX_BYTES - 1), MATCHES(TEAM), .required = true},
    {NUMBER("weight", priority_class_spec, weight, 100), .required = true},
};
static const struct record class = RECORD(struct priority_class_spec, class_fields);

#define SCHEDULER_ROWS                                                                                             \
    {LIST("priorityClasses", governance_config_words, spec.classes, 10, &class)},                                  \
        {.name = "fairShare", .type = RECORD_WORD, AT(governance_config_words, spec.fair_share), WORDS(switches)}, \
    {                                                                                                              \
        .name = "idleResourceSharing", .type = RECORD_WORD, AT(governance_config_words, spec.idle_sharing),        \
        WORDS(switches)                                                                                            \
    }
static const struct record_field scheduler_fields[] = {SCHEDULER_ROWS};
static const struct record scheduler = RECORD(struct governance_config_words, scheduler_fields);

/* --- what a quota asks for ---------------------------------------------------------------------------- */

static const struct record_field slice_fields[] = {
    {TEXT("type", slice_spec, kind, 1, NAME_MAX_BYTES - 1), MATCHES(SLICE), .required = true},
    {NUMBER("count", slice_spec, count, AMOUNT_MAX), .required = true},
};
static const struct record slice = RECORD(struct slice_spec, slice_fields);

static const struct record_field amount_fields[] = {
    {TEXT("instanceType", amount_spec, instance_type, 1, NAME_MAX_BYTES - 1), MATCHES(TYPE), .required = true},
    {NUMBER("count", amount_spec, nodes, GROUP_NODES_MAX)},
    {NUMBER("accelerators", amount_spec, accelerators, AMOUNT_MAX)},
    {REAL("vcpu", amount_spec, cpus, AMOUNT_MAX)},
    {REAL("memoryInGiB", amount_spec, memory_gib, AMOUNT_MAX)},
    {OBJECT("acceleratorPartition", amount_spec, slice, &slice)},
};
static const struct record amount = RECORD(struct amount_spec, amount_fields);

static const struct record_field sharing_fields[] = {
    {.name = "strategy", .type = RECORD_WORD, .required = true, AT(sharing_spec, strategy), WORDS(strategies)},
    {NUMBER("borrowLimit", sharing_spec, borrow_percent, 10000)},
    {LIST("absoluteBorrowLimits", sharing_spec, borrow_at_most, 15, &amount)},
};
static const struct record sharing = RECORD(struct sharing_spec, sharing_fields);

#define QUOTA_ROWS                                                                                   \
    {LIST("computeQuotaResources", governance_config_words, spec.amounts, 15, &amount)},             \
        {OBJECT("resourceSharingConfig", governance_config_words, spec.sharing, &sharing)},          \
    {                                                                                                \
        .name = "preemptTeamTasks", .type = RECORD_WORD, AT(governance_config_words, spec.preempts), \
        WORDS(preemptions)                                                                           \
    }
static const struct record_field quota_fields[] = {QUOTA_ROWS};
static const struct record quota = RECORD(struct governance_config_words, quota_fields);

static const struct record_field target_fields[] = {
    {TEXT("teamName", governance_target_words, team, 1, TEAM_MAX_BYTES - 1), MATCHES(TEAM), .required = true},
    {NUMBER("fairShareWeight", governance_target_words, weight, 100)},
};
static const struct record target = RECORD(struct governance_target_words, target_fields);

/* --- bodies --------------------------------------------------------------------------------------------- */

#define NAME                                                                                        \
    {                                                                                               \
        TEXT("name", governance_body, name, 1, NAME_MAX_BYTES - 1), API_NAME_RULE, .required = true \
    }
#define DESCRIPTION                                                \
    {                                                              \
        TEXT("description", governance_body, description, 0, 1024) \
    }
#define TAGS                                                           \
    {                                                                  \
        LIST("tags", governance_body, tags, TAGS_MAX, &api_tag_record) \
    }
#define OF_PATH(id)                     \
    {NEVER("clusterArn")}, {NEVER(id)}, \
    {                                   \
        NEVER("targetVersion")          \
    }

static const struct record_field scheduler_new_fields[] = {
    NAME,
    DESCRIPTION,
    {OBJECT("schedulerConfig", governance_body, config, &scheduler), .required = true},
    TAGS,
    OF_PATH("clusterSchedulerConfigId"),
};
static const struct record_field scheduler_change_fields[] = {
    DESCRIPTION,
    {OBJECT("schedulerConfig", governance_body, config, &scheduler)},
    OF_PATH("clusterSchedulerConfigId"),
};
#define ACTIVATION                                                                                   \
    {                                                                                                \
        .name = "activationState", .type = RECORD_WORD, AT(governance_body, active), WORDS(switches) \
    }
static const struct record_field quota_new_fields[] = {
    NAME,
    DESCRIPTION,
    {OBJECT("computeQuotaConfig", governance_body, config, &quota), .required = true},
    {OBJECT("computeQuotaTarget", governance_body, target, &target), .required = true},
    ACTIVATION,
    TAGS,
    OF_PATH("computeQuotaId"),
};
static const struct record_field quota_change_fields[] = {
    DESCRIPTION,
    {OBJECT("computeQuotaConfig", governance_body, config, &quota)},
    {OBJECT("computeQuotaTarget", governance_body, target, &target)},
    ACTIVATION,
    OF_PATH("computeQuotaId"),
};

const struct record *governance_record(enum governance_kind kind, bool change)
{
    static const struct record scheduler_new = RECORD(struct governance_body, scheduler_new_fields);
    static const struct record scheduler_change = RECORD(struct governance_body, scheduler_change_fields);
    static const struct record quota_new = RECORD(struct governance_body, quota_new_fields);
    static const struct record quota_change = RECORD(struct governance_body, quota_change_fields);
    if (kind == GOVERNANCE_KIND_SCHEDULER_CONFIG)
        return change ? &scheduler_change : &scheduler_new;
    return change ? &quota_change : &quota_new;
}

/* Of either kind: a record frees what it knows. */
void governance_body_free(struct governance_body *words)
{
    static const struct record_field config_fields[] = {SCHEDULER_ROWS, QUOTA_ROWS};
    static const struct record config = RECORD(struct governance_config_words, config_fields);
    static const struct record_field fields[] = {
        NAME,
        DESCRIPTION,
        {OBJECT("", governance_body, config, &config)},
        {OBJECT("", governance_body, target, &target)},
        TAGS,
    };
    static const struct record all = RECORD(struct governance_body, fields);
    record_free(&all, words);
}

json_t *governance_show_config(enum governance_kind kind, const struct governance_spec *spec)
{
    const struct governance_config_words words = {.given = true, .spec = *spec};
    return record_write(kind == GOVERNANCE_KIND_SCHEDULER_CONFIG ? &scheduler : &quota, &words);
}
