/*
 * Descriptions of clusters and groups at the REST API, without HTTP. What is taken lies within its limits, keeps everything that was
 * said, and is shown in the same words as it came; what is refused is refused once, in one clean sentence.
 */
// ROOMS: base model policy db server api
#include "tests/fuzz/fuzz.h"

#include "api/v1/spec.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/service/cluster/cluster.h"
#include "server/service/scheduler/discovery.h"

#include <stdarg.h>

#define DETAIL_BYTES_MAX 1024 /* before the reply cuts it */

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

/* There is no store here, and no scheduler that could be asked. */
int service_discovery_take(struct service *s, const char *scheduler, const struct node_source *source,
                           char ***ret_names, size_t *ret_count, struct problem *ret_problem)
{
    (void)s;
    (void)scheduler;
    (void)source;
    (void)ret_names;
    (void)ret_count;
    *ret_problem = (struct problem){.code = PROBLEM_UNAVAILABLE, .detail = "no scheduler"};
    return STATUS_UNAVAILABLE;
}

int service_cluster_scheduler(struct service *s, const char *name, char ret_scheduler[NAME_MAX_BYTES],
                              struct problem *ret_problem)
{
    (void)s;
    (void)name;
    (void)ret_problem;
    ret_scheduler[0] = '\0';
    return 0;
}

static void require_same(json_t *one, json_t *two)
{
    auto_json json_t *a = one, *b = two;
    REQUIRE(json_equal(a, b));
}

/* What is shown of a group can be sent back, and asks for the same. */
static void require_again(struct api_call *call, const struct api_cluster_body *body)
{
    auto_json json_t *again = json_object(), *groups = json_array();
    AUTO(api_cluster_body) struct api_cluster_body read = {0};
    api_show_cluster_spec(again, &body->words.spec);
    for (size_t i = 0; i < body->group_count; i++) {
        json_t *shown = json_pack("{s:s}", "name", body->groups[i].name);
        if (body->groups[i].spec != NULL)
            api_show_group_spec(shown, body->groups[i].spec);
        json_array_append_new(groups, shown);
    }
    if (json_array_size(groups) > 0)
        json_object_set(again, "instanceGroups", groups);
    REQUIRE(api_cluster_body_read(call, again, true, &read) && read.group_count == body->group_count);
    autofree char *one = cluster_spec_write(&body->words.spec), *two = cluster_spec_write(&read.words.spec);
    REQUIRE(strcmp(one, two) == 0);
    for (size_t i = 0; i < read.group_count; i++) {
        const struct group_words *came = body->words.groups.items, *comes = read.words.groups.items;
        autofree char *a = group_spec_write(&came[i].spec), *b = group_spec_write(&comes[i].spec);
        require_same(json_loads(a, 0, NULL), json_loads(b, 0, NULL));
        struct group_spec stored;
        REQUIRE(group_spec_read(a, &stored) == 0);
        group_spec_free(&stored);
    }
}

static void read_body(struct api_call *call, const json_t *json, bool change)
{
    AUTO(api_cluster_body) struct api_cluster_body body = {0};
    int before = call->http->problems;
    bool taken = api_cluster_body_read(call, json, change, &body);

    REQUIRE(taken == (call->http->problems == before) && call->http->problems <= before + 1);
    for (size_t i = 0; taken && i < body.group_count; i++) {
        const struct service_group_spec *group = &body.groups[i];
        REQUIRE(group->name[0] != '\0' && group->instance_count >= (change ? -1 : 0));
        REQUIRE(group->instance_count <= GROUP_NODES_MAX_LOCAL && group->min_count <= GROUP_NODES_MAX_LOCAL);
        for (int64_t n = 0; group->node_names != NULL && n < group->instance_count; n++)
            REQUIRE(group->node_names[n][0] != '\0');
    }
    if (taken)
        require_again(call, &body);
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
    for (int change = 0; change <= 1; change++)
        read_body(&call, body, change == 1);
    return 0;
}
