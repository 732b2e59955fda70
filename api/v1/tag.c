/* Tags, under the noun that carries them: clusters, their scheduler configurations and their quotas. */
#include "api/v1/tag.h"
#include "api/v1/spec.h"
#include "api/v1/v1.h"
#include "base/status.h"
#include "server/service/scheduler/governance.h"

#define CHARACTERS .pattern = "[\\p{L}\\p{Z}\\p{N}_.:/=+@-]*", .rule = "letters, digits, spaces and _.:/=+-@"

struct tags_words {
    struct optional_list tags; /* struct tag_words */
};
static const struct record_field tag_fields[] = {
    {.name = "key",
     .type = RECORD_TEXT,
     .required = true,
     .at = offsetof(struct tag_words, key),
     .min = 1,
     .max = 128,
     CHARACTERS},
    {.name = "value",
     .type = RECORD_TEXT,
     .required = true,
     .at = offsetof(struct tag_words, value),
     .max = 256,
     CHARACTERS},
};
const struct record api_tag_record = RECORD(struct tag_words, tag_fields);
static const struct record_field tags_fields[] = {
    {.name = "tags",
     .type = RECORD_LIST,
     .required = true,
     .at = offsetof(struct tags_words, tags),
     .items_max = TAGS_MAX,
     .record = &api_tag_record},
    {.name = "resourceArn", .type = RECORD_NEVER, .rule = "the path says it"},
};
static const struct record tags_record = RECORD(struct tags_words, tags_fields);

/* What carries them, by the route's path. ret_ref is used by the result. */
static struct service_tagged tagged_of(const struct api_call *call, enum governance_kind kind,
                                       struct service_governance_ref *ret_ref)
{
    *ret_ref = (struct service_governance_ref){.kind = kind,
                                               .cluster = call->params[0],
                                               .name = kind == GOVERNANCE_KIND_COMPUTE_QUOTA ? call->params[1] : NULL};
    return (struct service_tagged){.cluster = call->params[0],
                                   .governance = kind == GOVERNANCE_KIND_COUNT ? NULL : ret_ref};
}

static int list_row(const void *row, void *arg)
{
    const struct tag *tag = row;
    json_t *json = json_pack("{s:s, s:s}", "key", tag->key, "value", tag->value);
    return json_array_append_new(arg, json) < 0 ? STATUS_INVALID : 0;
}

/* There are at most 50, so there are no pages. */
static void reply(struct api_call *call, const struct service_tagged *tagged)
{
    struct problem problem;
    json_t *json = json_object(), *items = json_array();
    json_put(json, "items", items);
    if (service_tag_list(call->service, tagged, list_row, items, &problem) == 0) {
        api_reply_json(call, 200, json);
        return;
    }
    json_decref(json);
    api_problem(call, &problem);
}

static void list(struct api_call *call, enum governance_kind kind)
{
    struct service_governance_ref ref;
    const struct service_tagged tagged = tagged_of(call, kind, &ref);
    reply(call, &tagged);
}

static void add(struct api_call *call, enum governance_kind kind)
{
    struct service_governance_ref ref;
    struct problem problem;
    struct tags_words words = {0};
    const struct service_tagged tagged = tagged_of(call, kind, &ref);
    if (!api_record(call, &tags_record, &words))
        return;
    const struct tag_words *from = words.tags.items;
    autofree struct service_tag *tags = own_calloc(words.tags.count + 1, sizeof *tags);
    for (size_t i = 0; i < words.tags.count; i++)
        tags[i] = (struct service_tag){from[i].key, from[i].value};
    if (service_tag_add(call->service, &call->actor, &tagged, tags, words.tags.count, &problem) < 0)
        api_problem(call, &problem);
    else
        reply(call, &tagged);
    record_free(&tags_record, &words);
}

static void delete_one(struct api_call *call, enum governance_kind kind)
{
    struct service_governance_ref ref;
    struct problem problem;
    char key[TAG_KEY_MAX_BYTES] = "";
    const char *const keys[] = {key};
    size_t removed = 0;
    const struct service_tagged tagged = tagged_of(call, kind, &ref);
    const struct api_query query[] = {{.name = "key",
                                       .type = API_QUERY_TEXT,
                                       .target = key,
                                       .size = sizeof key,
                                       .rule = "a tag key of 1 to 128 characters"}};
    if (api_query(call, query, ARRAY_LEN(query)) != 0)
        return;
    if (key[0] == '\0')
        api_problem_printf(call, PROBLEM_INVALID_VALUE, "The query parameter \"key\" must say which tag is to go.");
    else if (service_tag_delete(call->service, &call->actor, &tagged, keys, 1, &removed, &problem) < 0)
        api_problem(call, &problem);
    else if (removed == 0)
        api_problem_printf(call, PROBLEM_NOT_FOUND, "There is no tag with that key.");
    else
        api_reply_empty(call, 204);
}

/* --- by noun ------------------------------------------------------------------------------------------- */

#define HANDLER(name, function, kind) \
    void name(struct api_call *call)  \
    {                                 \
        function(call, kind);         \
    }

HANDLER(api_tag_list_of_cluster, list, GOVERNANCE_KIND_COUNT)
HANDLER(api_tag_add_to_cluster, add, GOVERNANCE_KIND_COUNT)
HANDLER(api_tag_delete_from_cluster, delete_one, GOVERNANCE_KIND_COUNT)
HANDLER(api_tag_list_of_scheduler_config, list, GOVERNANCE_KIND_SCHEDULER_CONFIG)
HANDLER(api_tag_add_to_scheduler_config, add, GOVERNANCE_KIND_SCHEDULER_CONFIG)
HANDLER(api_tag_delete_from_scheduler_config, delete_one, GOVERNANCE_KIND_SCHEDULER_CONFIG)
HANDLER(api_tag_list_of_quota, list, GOVERNANCE_KIND_COMPUTE_QUOTA)
HANDLER(api_tag_add_to_quota, add, GOVERNANCE_KIND_COMPUTE_QUOTA)
HANDLER(api_tag_delete_from_quota, delete_one, GOVERNANCE_KIND_COMPUTE_QUOTA)
