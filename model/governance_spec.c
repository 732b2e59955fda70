/* See governance_spec.h. The words of the store are in the records below; the store's migrations know them, too. */
#include "model/governance_spec.h"

#include "model/governance.h"

#include <string.h>

#define DIGITS 15 /* as many as a number needs to come back as it was written */

ENUM_DEFINE(sharing_strategy, SHARING_STRATEGY_LIST)

static const char *const strategies[] = {SHARING_STRATEGY_LIST(ENUM_TEXT_)};

#define AT(holder, member) .at = offsetof(struct holder, member)
#define ANY .min = INT64_MIN, .max = INT64_MAX

static const struct record_field class_fields[] = {
    {.name = "name", .type = RECORD_TEXT, AT(priority_class_spec, name)},
    {.name = "weight", .type = RECORD_NUMBER, AT(priority_class_spec, weight), ANY},
};
static const struct record class = RECORD(struct priority_class_spec, class_fields);

static const struct record_field slice_fields[] = {
    {.name = "kind", .type = RECORD_TEXT, AT(slice_spec, kind)},
    {.name = "count", .type = RECORD_NUMBER, AT(slice_spec, count), ANY},
};
static const struct record slice = RECORD(struct slice_spec, slice_fields);

static const struct record_field amount_fields[] = {
    {.name = "instanceType", .type = RECORD_TEXT, AT(amount_spec, instance_type)},
    {.name = "nodes", .type = RECORD_NUMBER, AT(amount_spec, nodes), ANY},
    {.name = "accelerators", .type = RECORD_NUMBER, AT(amount_spec, accelerators), ANY},
    {.name = "cpus", .type = RECORD_REAL, AT(amount_spec, cpus), ANY},
    {.name = "memoryGib", .type = RECORD_REAL, AT(amount_spec, memory_gib), ANY},
    {.name = "slice", .type = RECORD_OBJECT, AT(amount_spec, slice), .record = &slice},
};
static const struct record amount = RECORD(struct amount_spec, amount_fields);

static const struct record_field sharing_fields[] = {
    {.name = "strategy",
     .type = RECORD_WORD,
     AT(sharing_spec, strategy),
     .words = strategies,
     .word_count = ARRAY_LEN(strategies)},
    {.name = "borrowPercent", .type = RECORD_NUMBER, AT(sharing_spec, borrow_percent), ANY},
    {.name = "borrowAtMost", .type = RECORD_LIST, AT(sharing_spec, borrow_at_most), .record = &amount},
};
static const struct record sharing = RECORD(struct sharing_spec, sharing_fields);

static const struct record_field fields[] = {
    {.name = "classes", .type = RECORD_LIST, AT(governance_spec, classes), .record = &class},
    {.name = "fairShare", .type = RECORD_FLAG, AT(governance_spec, fair_share)},
    {.name = "idleSharing", .type = RECORD_FLAG, AT(governance_spec, idle_sharing)},
    {.name = "amounts", .type = RECORD_LIST, AT(governance_spec, amounts), .record = &amount},
    {.name = "sharing", .type = RECORD_OBJECT, AT(governance_spec, sharing), .record = &sharing},
    {.name = "preempts", .type = RECORD_FLAG, AT(governance_spec, preempts)},
};
static const struct record governance = RECORD(struct governance_spec, fields);

char *governance_spec_write(const struct governance_spec *spec)
{
    auto_json json_t *json = record_write(&governance, spec);
    return json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS));
}

int governance_spec_read(const char *text, struct governance_spec *ret_spec)
{
    char error[RECORD_ERROR_MAX];
    auto_json json_t *json = NULL;
    *ret_spec = (struct governance_spec){0};
    int status = json_parse(text, strlen(text), GOVERNANCE_CONFIG_MAX_BYTES, &json, error);
    return status < 0 ? status : record_read(&governance, json, "", ret_spec, error);
}

void governance_spec_free(struct governance_spec *spec)
{
    record_free(&governance, spec);
}
