/*
 * Descriptions of clusters and groups at the REST door, without HTTP. What is taken lies within its limits, keeps everything that was
 * said, and is shown in the same words as it came; what is refused is refused once, in one clean sentence.
 */
// ROOMS: base model policy db server api
#include "tests/fuzz/fuzz.h"

#include "api/v1/spec.h"
#include "base/own.h"
#include "base/text.h"

#include <stdarg.h>

#define DETAIL_BYTES_MAX 16384 /* before the reply cuts it: ten complaints of the model's */

struct http_request {
    int problems;
};

static void note_problem(struct api_call *call, enum problem_code code, const char *detail)
{
    size_t len = strlen(detail);
    REQUIRE(code == PROBLEM_INVALID_VALUE || code == PROBLEM_UNAVAILABLE); /* of a Slurm that is not there */
    REQUIRE(len > 0 && len < DETAIL_BYTES_MAX && text_is_utf8(detail, len));
    for (size_t i = 0; i < len; i++)
        REQUIRE((unsigned char)detail[i] >= 0x20 && detail[i] != 0x7f);
    call->http->problems++;
}

/* All that reading a description does to its request. */
void api_problem_printf(struct api_call *call, enum problem_code code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *detail = own_vprintf(fmt, ap);
    va_end(ap);
    note_problem(call, code, detail);
}

void api_problem(struct api_call *call, const struct problem *problem)
{
    note_problem(call, problem->code, problem->detail);
}

/* A document that is kept, as it is shown: all of it, and nothing that did not come. Caller frees. */
static json_t *require_shown(const json_t *came, const char *shape, const char *document)
{
    char error[JSON_ERROR_MAX];
    auto_json json_t *kept = NULL;
    json_t *shown = json_object(), *value;
    const char *name;

    api_show_document(shown, shape, document);
    REQUIRE(json_parse(document, strlen(document), CLUSTER_DOCUMENT_BYTES_MAX, &kept, error) == 0);
    REQUIRE(json_object_size(kept) == json_object_size(shown));
    json_object_foreach(shown, name, value) REQUIRE(json_object_get(came, name) != NULL);
    return shown;
}

static void require_same(const char *one, const char *two)
{
    auto_json json_t *a = json_loads(one, 0, NULL), *b = two != NULL ? json_loads(two, 0, NULL) : NULL;

    REQUIRE(json_equal(a, b));
}

/* What is shown of a group can be sent back, and makes the same group. */
static void require_group_again(struct api_call *call, const json_t *came, const struct service_group_spec *group)
{
    auto_json json_t *list = json_array();
    json_t *shown = require_shown(came, "ClusterInstanceGroupSpecification", group->document);
    struct api_groups read;

    json_array_append_new(list, shown);
    json_object_set_new(shown, "name", json_string(group->name));
    REQUIRE(api_groups_read(call, list, true, &read) && read.list[0].document != NULL);
    require_same(group->document, read.list[0].document);
    api_groups_free(&read);
}

static void read_groups(struct api_call *call, const json_t *groups, bool partial)
{
    struct api_groups read;
    int before = call->http->problems;
    bool taken = api_groups_read(call, groups, partial, &read);

    REQUIRE(taken == (call->http->problems == before) && call->http->problems <= before + 1);
    for (size_t i = 0; taken && i < read.count; i++) {
        const struct service_group_spec *group = &read.list[i];
        REQUIRE(group->name[0] != '\0' && group->instance_count >= (partial ? -1 : 0));
        REQUIRE(group->instance_count <= GROUP_NODES_MAX_LOCAL && group->min_count <= GROUP_NODES_MAX_LOCAL);
        for (int64_t n = 0; group->node_names != NULL && n < group->instance_count; n++)
            REQUIRE(group->node_names[n][0] != '\0');
        if (group->document != NULL)
            require_group_again(call, json_array_get(groups, i), group);
    }
    api_groups_free(&read);
}

static void read_cluster(struct api_call *call, json_t *body)
{
    static const char *const own[] = {"name", "orchestrator", "nodeRecovery", "instanceGroups"};
    auto_json json_t *whole = json_deep_copy(body);
    size_t before = json_object_size(body);
    auto_json json_t *rest = api_split(body, own, ARRAY_LEN(own));
    int problems = call->http->problems;
    char *document = NULL, *again = NULL;

    REQUIRE(json_object_size(body) + json_object_size(rest) == before);
    bool taken = api_cluster_document(call, rest, &document);
    REQUIRE(taken == (call->http->problems == problems));
    REQUIRE(taken || document == NULL);
    if (document != NULL) {
        auto_json json_t *shown = require_shown(whole, "CreateClusterRequest", document);
        REQUIRE(api_cluster_document(call, shown, &again));
        require_same(document, again);
    }
    free(document);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autofree char *text = fuzz_text(data, size);
    struct http_request http = {.problems = 0};
    struct service service = {.clock = clock_system()};
    struct api_call call = {.http = &http, .service = &service};
    char error[JSON_ERROR_MAX];
    auto_json json_t *body = NULL;

    if (json_parse(text, size, CLUSTER_DOCUMENT_BYTES_MAX, &body, error) != 0 || !json_is_object(body))
        return 0;
    for (int partial = 0; partial <= 1; partial++)
        read_groups(&call, json_object_get(body, "instanceGroups"), partial == 1);
    read_cluster(&call, body);
    return 0;
}
