/* The record as JSON. Somebody may have edited it: each number is checked, and a list that does not fit ends where it does not. */
#include "server/scheduler/kubernetes/job_record.h"

#include "base/text.h"
#include "server/scheduler/kubernetes/object.h"

#include <stddef.h>
#include <string.h>

#define NUMBER(name, member)                      \
    {                                             \
        name, offsetof(struct job_record, member) \
    }
static const struct {
    const char *name;
    size_t at; /* of an int64_t */
} numbers[] = {
    NUMBER("since", since),
    NUMBER("startedAt", started_at),
    NUMBER("completedAt", completed_at),
    NUMBER("attempt", attempt),
    NUMBER("restarts", restarts),
    NUMBER("nodeRestarts", node_restarts),
    NUMBER("window", window),
    NUMBER("windowAt", window_at),
    NUMBER("windowRestarts", window_restarts),
    NUMBER("fullRestarts", full_restarts),
    NUMBER("firstRanAt", first_ran_at),
    NUMBER("ranAt", ran_at),
    NUMBER("progress", progress),
    NUMBER("fruitless", fruitless),
    NUMBER("faultAt", fault.at),
};

static int64_t *number_at(struct job_record *record, size_t i)
{
    return (int64_t *)(void *)((char *)record + numbers[i].at);
}

/* --- read ------------------------------------------------------------------------------------------------------------ */

static int64_t whole(const json_t *json, const char *key, int64_t min, int64_t max, int64_t otherwise)
{
    const json_t *value = json_object_get(json, key);
    if (!json_is_integer(value) || json_integer_value(value) < min || json_integer_value(value) > max)
        return otherwise;
    return json_integer_value(value);
}

static void read_fault(const json_t *json, struct job_fault *fault)
{
    if (job_cause_parse(kube_text(json, "cause"), &fault->cause) != 0)
        fault->cause = JOB_CAUSE_NONE;
    if (job_level_parse(kube_text(json, "level"), &fault->level) != 0)
        fault->level = JOB_LEVEL_PROCESS;
    fault->counted = json_is_true(json_object_get(json, "counted"));
    fault->pod = (int)whole(json, "pod", -1, JOB_PODS_MAX - 1, -1);
    fault->rank = (int)whole(json, "rank", -1, JOB_PODS_MAX - 1, -1);
    text_copy_cut(fault->node, sizeof(fault->node), kube_text(json, "node"));
    text_copy_cut(fault->reason, sizeof(fault->reason), kube_text(json, "reason"));
    text_copy_cut(fault->message, sizeof(fault->message), kube_text(json, "message"));
}

static void read_nodes(const json_t *json, struct job_record *record)
{
    const json_t *excluded = json_object_get(json, "excluded"), *offenders = json_object_get(json, "offenders");
    for (size_t i = 0; i < json_array_size(excluded) && i < JOB_EXCLUDED_MAX; i++) {
        const json_t *from = json_array_get(excluded, i);
        struct job_excluded *to = &record->excluded[record->excluded_count++];
        text_copy_cut(to->node, sizeof(to->node), kube_text(from, "node"));
        text_copy_cut(to->why, sizeof(to->why), kube_text(from, "why"));
        to->at = whole(from, "at", 0, INT64_MAX, 0);
        to->offender = json_is_true(json_object_get(from, "offender"));
    }
    for (size_t i = 0; i < json_array_size(offenders) && i < JOB_OFFENDERS_MAX; i++) {
        const json_t *from = json_array_get(offenders, i);
        struct job_offender *to = &record->offenders[record->offender_count++];
        text_copy_cut(to->node, sizeof(to->node), kube_text(from, "node"));
        to->faults = whole(from, "faults", 0, INT64_MAX, 0);
    }
}

static void read_lists(const json_t *json, struct job_record *record)
{
    const json_t *incarnations = json_object_get(json, "incarnations"), *ranks = json_object_get(json, "ranks");
    for (size_t i = 0; i < json_array_size(incarnations) && i < (size_t)record->pod_count; i++) {
        const json_t *value = json_array_get(incarnations, i);
        record->incarnations[i] =
            json_is_integer(value) && json_integer_value(value) >= 0 ? json_integer_value(value) : 0;
    }
    const json_t *nodes = json_object_get(json, "nodes");
    size_t count = 0, most = json_array_size(ranks) > JOB_PODS_MAX ? JOB_PODS_MAX : json_array_size(ranks);
    autofree int *list = own_calloc(most + 1, sizeof(*list));
    for (; count < most; count++) {
        const json_t *value = json_array_get(ranks, count);
        if (!json_is_integer(value) || json_integer_value(value) < 0 || json_integer_value(value) >= record->pod_count)
            break;
        list[count] = (int)json_integer_value(value);
    }
    job_record_rank(record, TAKE(list), (int)count);
    for (size_t i = 0; i < count; i++) {
        const char *node = json_string_value(json_array_get(nodes, i));
        record->rank_nodes[i] = own_strdup(node != NULL && strlen(node) < JOB_NODE_MAX ? node : "");
    }
}

struct job_record *kube_job_record_read(const json_t *json, const struct job_spec *spec)
{
    struct job_record *record = job_record_new(spec);
    if (!json_is_object(json))
        return record;
    if (job_state_parse(kube_text(json, "state"), &record->state) != 0)
        record->state = JOB_CREATED;
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        *number_at(record, i) = whole(json, numbers[i].name, -1, INT64_MAX, *number_at(record, i));
    record->faulty = json_is_true(json_object_get(json, "faulty"));
    record->growing = json_is_true(json_object_get(json, "growing"));
    text_copy_cut(record->asked, sizeof(record->asked), kube_text(json, "asked"));
    text_copy_cut(record->reason, sizeof(record->reason), kube_text(json, "reason"));
    text_copy_cut(record->message, sizeof(record->message), kube_text(json, "message"));
    read_fault(json_object_get(json, "fault"), &record->fault);
    read_nodes(json, record);
    read_lists(json, record);
    return record;
}

/* --- write ----------------------------------------------------------------------------------------------------------- */

static json_t *fault_json(const struct job_fault *fault)
{
    json_t *json = json_object();
    json_put_text(json, "cause", job_cause_text(fault->cause));
    json_put_text(json, "level", job_level_text(fault->level));
    json_object_set_new(json, "counted", json_boolean(fault->counted));
    json_put_i64(json, "pod", fault->pod);
    json_put_i64(json, "rank", fault->rank);
    json_put_text(json, "node", fault->node);
    json_put_text(json, "reason", fault->reason);
    json_put_text(json, "message", fault->message);
    return json;
}

static json_t *excluded_json(const struct job_record *record)
{
    json_t *all = json_array();
    for (size_t i = 0; i < record->excluded_count; i++) {
        json_t *one = json_object();
        json_put_text(one, "node", record->excluded[i].node);
        json_put_text(one, "why", record->excluded[i].why);
        json_put_i64(one, "at", record->excluded[i].at);
        json_object_set_new(one, "offender", json_boolean(record->excluded[i].offender));
        json_array_append_new(all, one);
    }
    return all;
}

static json_t *offenders_json(const struct job_record *record)
{
    json_t *all = json_array();
    for (size_t i = 0; i < record->offender_count; i++) {
        json_t *one = json_object();
        json_put_text(one, "node", record->offenders[i].node);
        json_put_i64(one, "faults", record->offenders[i].faults);
        json_array_append_new(all, one);
    }
    return all;
}

json_t *kube_job_record_json(const struct job_record *record)
{
    json_t *json = json_object(), *incarnations = json_array(), *ranks = json_array(), *nodes = json_array();
    json_put_text(json, "state", job_state_text(record->state));
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        json_put_i64(json, numbers[i].name, *(const int64_t *)(const void *)((const char *)record + numbers[i].at));
    json_object_set_new(json, "faulty", json_boolean(record->faulty));
    json_object_set_new(json, "growing", json_boolean(record->growing));
    json_object_set_new(json, "asked", json_string(record->asked));
    json_object_set_new(json, "reason", json_string(record->reason));
    json_object_set_new(json, "message", json_string(record->message));
    json_object_set_new(json, "fault",
                        record->fault.cause == JOB_CAUSE_NONE ? json_null() : fault_json(&record->fault));
    json_object_set_new(json, "excluded", excluded_json(record));
    json_object_set_new(json, "offenders", offenders_json(record));
    for (int i = 0; i < record->pod_count; i++)
        json_array_append_new(incarnations, json_integer(record->incarnations[i]));
    for (int i = 0; i < record->rank_count; i++) {
        json_array_append_new(ranks, json_integer(record->ranks[i]));
        json_array_append_new(nodes, json_string(record->rank_nodes[i]));
    }
    json_object_set_new(json, "incarnations", incarnations);
    json_object_set_new(json, "ranks", ranks);
    json_object_set_new(json, "nodes", nodes);
    return json;
}
