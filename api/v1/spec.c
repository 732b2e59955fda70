/* What descriptions of clusters and groups mean at the REST API; see spec.h. */
#include "api/v1/spec.h"

#include "base/status.h"
#include "server/service/agent/agent.h"
#include "server/service/cluster/cluster.h"
#include "server/service/scheduler/discovery.h"

#include <stdio.h>
#include <string.h>

#define PROVIDER_DEFAULT "local"
#define WHERE_MAX 40

bool api_record(struct api_call *call, const struct record *record, void *ret_words)
{
    char error[RECORD_ERROR_MAX];
    auto_json json_t *body = NULL;
    if (api_json(call, &body) != 0)
        return false;
    if (record_read(record, body, "", ret_words, error) == 0)
        return true;
    api_problem_printf(call, PROBLEM_INVALID_VALUE, "%s.", error);
    return false;
}

/* --- groups ---------------------------------------------------------------------------------------- */

/* "gpu-[1-4]" to exactly instance_count names. False: it has answered. */
static bool read_node_names(struct api_call *call, const char *where, struct service_group_spec *group,
                            const char *list)
{
    char **names;
    size_t count;
    int rc = text_hostlist_expand(list, GROUP_NODES_MAX_LOCAL, &names, &count);
    if (rc != 0) {
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "%s.nodeNames is not a host list such as \"gpu-[1-4]\".",
                           where);
        return false;
    }
    if (count == (size_t)group->instance_count) {
        group->node_names = names;
        return true;
    }
    text_list_free(names, count);
    api_problem_printf(call, PROBLEM_INVALID_VALUE,
                       "%s.nodeNames makes %zu name%s and instanceCount is %lld; they must agree.", where, count,
                       text_plural((int64_t)count), (long long)group->instance_count);
    return false;
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static bool same_names(char **names, char **others, size_t count)
{
    bool same = true;
    qsort(names, count, sizeof(*names), by_text);
    qsort(others, count, sizeof(*others), by_text);
    for (size_t i = 0; i < count && same; i++)
        same = strcmp(names[i], others[i]) == 0;
    return same;
}

/* What the group has by its source. Names and a count that were said besides are what the sender has seen there, and hold as that. False:
 * it has answered. */
static bool take_source(struct api_call *call, const char *where, const char *scheduler,
                        struct service_group_spec *group)
{
    struct problem problem;
    char **names = NULL;
    size_t count = 0;
    bool same = true;
    if (service_discovery_take(call->service, scheduler, &group->source, &names, &count, &problem) != 0) {
        api_problem(call, &problem);
        return false;
    }
    if (group->instance_count >= 0)
        same = (size_t)group->instance_count == count;
    if (same && group->node_names != NULL) {
        same = same_names(names, group->node_names, count);
        text_list_free(group->node_names, count);
    } else if (!same && group->node_names != NULL) {
        text_list_free(TAKE(group->node_names), (size_t)group->instance_count);
    }
    qsort(names, count, sizeof(*names), text_by_name);
    group->node_names = names;
    group->instance_count = (int64_t)count;
    if (!same)
        api_problem_printf(
            call, PROBLEM_INVALID_VALUE,
            "%s: the scheduler has %zu nodes for its nodesFrom now, and not those that nodeNames and instanceCount "
            "say. Leave these out, or look again and repeat.",
            where, count);
    return same;
}

/* False: it has answered. */
static bool read_source(struct api_call *call, const char *where, const struct source_words *words,
                        struct service_group_spec *group)
{
    if (words->partition == NULL && words->feature == NULL) {
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "%s.nodesFrom must name a partition, a feature, or both.",
                           where);
        return false;
    }
    text_copy_cut(group->source.partition, sizeof group->source.partition, text_or_empty(words->partition));
    text_copy_cut(group->source.feature, sizeof group->source.feature, text_or_empty(words->feature));
    return true;
}

/* A group's type may be said among its requirements; that of an exported file says it twice. False: it has answered. */
static bool read_type(struct api_call *call, const char *where, const struct requirements_spec *requirements,
                      struct service_group_spec *group)
{
    const struct optional_list *types = &requirements->instance_types;
    const char *only = types->count == 1 ? ((char **)types->items)[0] : NULL;
    if (!requirements->given)
        return true;
    if (only == NULL || (group->instance_type[0] != '\0' && !text_equal(group->instance_type, only))) {
        api_problem_printf(call, PROBLEM_INVALID_VALUE,
                           "%s.instanceRequirements must name one of instanceTypes, and the same as instanceType: no "
                           "provider here chooses among several.",
                           where);
        return false;
    }
    text_copy_cut(group->instance_type, sizeof group->instance_type, only);
    return true;
}

/* False: it has answered. */
static bool check_scripts(struct api_call *call, const char *where, const struct lifecycle_spec *spec)
{
    static const char *const members[] = {[LIFECYCLE_SOURCE] = "sourceS3Uri",
                                          [LIFECYCLE_ON_CREATE] = "onCreate",
                                          [LIFECYCLE_ON_INIT_COMPLETE] = "onInitComplete"};
    struct lifecycle_job job;
    enum lifecycle_part part = LIFECYCLE_SOURCE;
    int status = lifecycle_spec_read(spec, &job);
    const char *why = status == 0 ? service_lifecycle_refusal(&job, &part) : "it or the name of a script is too long";
    if (status == STATUS_NOT_FOUND || why == NULL)
        return true;
    api_problem_printf(call, PROBLEM_INVALID_VALUE, "%s.lifeCycleConfig.%s: %s.", where, members[part], why);
    return false;
}

/* The fields of a use case's group. Texts are within their limits, unless they are of longer characters. */
static bool copy_texts(struct api_call *call, const char *where, const struct group_words *words,
                       struct service_group_spec *group)
{
    const struct {
        const char *name, *text;
        char *dst;
        size_t size;
    } texts[] = {
        {"name", words->name, group->name, sizeof group->name},
        {"instanceType", words->instance_type, group->instance_type, sizeof group->instance_type},
        {"provider", words->provider, group->provider, sizeof group->provider},
        {"imageId", words->image_id, group->image_id, sizeof group->image_id},
        {"imageReleaseVersion", words->release, group->release, sizeof group->release},
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        if (texts[i].text == NULL || text_copy(texts[i].dst, texts[i].size, texts[i].text) == 0)
            continue;
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "%s.%s has more than %zu bytes.", where, texts[i].name,
                           texts[i].size - 1);
        return false;
    }
    return true;
}

static int64_t said_or(struct optional number, int64_t otherwise)
{
    return number.given ? number.value : otherwise;
}

/* scheduler: by which the cluster is scheduled; "": by the only one. */
static bool read_group(struct api_call *call, const struct group_words *words, size_t at, const char *scheduler,
                       bool change, struct service_group_spec *group)
{
    char where[WHERE_MAX];
    const bool counted = change || words->source.given;
    *group = (struct service_group_spec){.instance_count = said_or(words->instance_count, -1),
                                         .min_count = said_or(words->min_count, change ? -1 : 0),
                                         .spec = group_spec_is_empty(&words->spec) ? NULL : &words->spec};
    if (!change)
        text_copy_cut(group->provider, sizeof group->provider, PROVIDER_DEFAULT);
    snprintf(where, sizeof where, "instanceGroups[%zu]", at);
    if (!counted && !words->instance_count.given) {
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "%s.instanceCount is missing; it is required.", where);
        return false;
    }
    if (words->node_names != NULL && group->instance_count < 0) {
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "%s names nodes without an instanceCount.", where);
        return false;
    }
    return copy_texts(call, where, words, group) && check_scripts(call, where, &words->spec.lifecycle) &&
           read_type(call, where, &words->spec.requirements, group) &&
           (words->node_names == NULL || read_node_names(call, where, group, words->node_names)) &&
           (!words->source.given ||
            (read_source(call, where, &words->source, group) && take_source(call, where, scheduler, group)));
}

/* Here already, because names of all groups would take much memory. */
static bool check_node_count(struct api_call *call, const struct cluster_words *words)
{
    const struct group_words *groups = words->groups.items;
    int64_t nodes = 0;
    for (size_t i = 0; i < words->groups.count; i++)
        nodes += groups[i].instance_count.value;
    if (nodes <= GROUP_NODES_MAX_LOCAL)
        return true;
    api_problem_printf(call, PROBLEM_INVALID_VALUE,
                       "The groups have %lld nodes together, and a cluster has at most %d.", (long long)nodes,
                       GROUP_NODES_MAX_LOCAL);
    return false;
}

/* A cluster that is changed keeps the scheduler that it has. False: it has answered. */
static bool find_scheduler(struct api_call *call, const char *named, bool change, char ret_scheduler[NAME_MAX_BYTES])
{
    struct problem problem;
    text_copy_cut(ret_scheduler, NAME_MAX_BYTES, text_or_empty(named));
    if (!change || service_cluster_scheduler(call->service, call->params[0], ret_scheduler, &problem) == 0)
        return true;
    api_problem(call, &problem);
    return false;
}

bool api_cluster_body_read(struct api_call *call, const json_t *json, bool change, struct api_cluster_body *ret_body)
{
    char error[RECORD_ERROR_MAX];
    *ret_body = (struct api_cluster_body){0};
    struct cluster_words *words = &ret_body->words;
    if (record_read(change ? &cluster_words_change : &cluster_words_new, json, "", words, error) < 0) {
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "%s.", error);
        return false;
    }
    char scheduler[NAME_MAX_BYTES];
    if (!check_node_count(call, words) || !find_scheduler(call, words->scheduler, change, scheduler))
        return false;
    const struct group_words *groups = words->groups.items;
    ret_body->groups = own_calloc(words->groups.count + 1, sizeof *ret_body->groups);
    while (ret_body->group_count < words->groups.count) {
        size_t at = ret_body->group_count++;
        if (!read_group(call, &groups[at], at, scheduler, change, &ret_body->groups[at]))
            return false;
    }
    return true;
}

void api_cluster_body_free(struct api_cluster_body *body)
{
    for (size_t i = 0; i < body->group_count; i++)
        if (body->groups[i].node_names != NULL)
            text_list_free(body->groups[i].node_names, (size_t)body->groups[i].instance_count);
    free(TAKE(body->groups));
    record_free(&cluster_words_new, &body->words);
    record_free(&cluster_words_change, &body->words);
    body->group_count = 0;
}
