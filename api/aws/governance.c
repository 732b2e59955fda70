/*
 * Task governance through the AWS API: Create, Describe, Update, Delete and List of ClusterSchedulerConfigs and ComputeQuotas.
 * The two kinds differ in words and in two members, so each operation is one function of the kind.
 *
 * Status is what is so in the cluster: Creating or Updating while the reconcile loop brings it about, then Created or Updated, or
 * CreateFailed or UpdateFailed with a FailureReason where a part of it does not hold there, so that a client that waits for
 * Created does not go on as if it did.
 */
#include "api/aws/governance_document.h"
#include "api/aws/operation.h"
#include "api/aws/render.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CONFIG GOVERNANCE_KIND_SCHEDULER_CONFIG
#define QUOTA GOVERNANCE_KIND_COMPUTE_QUOTA

static struct service_governance_ref ref_of(const struct aws_call *call, enum governance_kind kind)
{
    return (struct service_governance_ref){.kind = kind, .uid = aws_text(call, governance_words[kind].id)};
}

/* 0 when it is not said; a number that no version has when it is less than the first. */
static int64_t version_of(const struct aws_call *call, const char *member)
{
    int64_t version = aws_number(call, member, 1);

    return json_object_get(call->input, member) == NULL ? 0 : version < 1 ? -1 : version;
}

static void put_arns(const struct aws_call *call, const struct governance *governance, json_t *json)
{
    const struct governance_words *words = &governance_words[governance->kind];
    char arn[AWS_ARN_MAX];

    aws_arn(call, words->arn_kind, governance->uid, arn);
    json_put_text(json, words->arn, arn);
    aws_arn(call, "cluster", governance->cluster_uid, arn);
    json_put_text(json, "ClusterArn", arn);
}

/* Answers with the members of it that this operation's output has. */
static int answer(const struct aws_call *call, const struct governance *governance, json_t **ret_output)
{
    auto_json json_t *json = governance_output(governance);

    put_arns(call, governance, json);
    *ret_output = aws_canonical(aws_shape(call->operation->output), json);
    return 0;
}

static int create(struct aws_call *call, enum governance_kind kind, json_t **ret_output)
{
    char cluster[AWS_CLUSTER_REF_MAX];
    struct problem problem;
    autofree struct governance *governance = own_calloc(1, sizeof *governance);
    AUTO(governance_input) struct governance_input input = {.tags = NULL};

    int status = aws_cluster_arn_ref(call, cluster);
    if (status < 0)
        return status;
    governance_input_read(kind, call->input, &input);
    if (service_governance_create(call->service, &call->actor, kind, cluster, &input.spec, governance, &problem) < 0)
        return aws_refuse_problem(call, &problem);
    return answer(call, governance, ret_output);
}

static int describe(struct aws_call *call, enum governance_kind kind, json_t **ret_output)
{
    const struct service_governance_ref ref = ref_of(call, kind);
    int64_t version = version_of(call, governance_words[kind].version);
    autofree struct governance *governance = own_calloc(1, sizeof *governance);
    struct problem problem;

    if (service_governance_describe(call->service, &ref, version, governance, &problem) < 0)
        return aws_refuse_problem(call, &problem);
    return answer(call, governance, ret_output);
}

static int update(struct aws_call *call, enum governance_kind kind, json_t **ret_output)
{
    const struct service_governance_ref ref = ref_of(call, kind);
    int64_t target = version_of(call, "TargetVersion");
    autofree struct governance *governance = own_calloc(1, sizeof *governance);
    AUTO(governance_input) struct governance_input input = {.tags = NULL};
    struct problem problem;

    governance_input_read(kind, call->input, &input);
    if (service_governance_update(call->service, &call->actor, &ref, &input.spec, target, governance, &problem) < 0)
        return aws_refuse_problem(call, &problem);
    return answer(call, governance, ret_output);
}

static int delete_one(struct aws_call *call, enum governance_kind kind, json_t **ret_output)
{
    const struct service_governance_ref ref = ref_of(call, kind);
    struct problem problem;

    if (service_governance_delete(call->service, &call->actor, &ref, &problem) < 0)
        return aws_refuse_problem(call, &problem);
    *ret_output = json_object();
    return 0;
}

/* --- list -------------------------------------------------------------------------------------------- */

struct listing {
    const struct aws_call *call;
    struct aws_page *page;
    const struct db_governance_search *search;
};

/* The place of a row: a name, which is nobody else's, or what it is sorted by and the row's number. */
static void row_key(const struct governance *governance, enum governance_order order, char ret_key[AWS_TOKEN_KEY_MAX])
{
    if (order == GOVERNANCE_BY_NAME)
        snprintf(ret_key, AWS_TOKEN_KEY_MAX, "%s", governance->name);
    else if (order == GOVERNANCE_BY_TIME)
        snprintf(ret_key, AWS_TOKEN_KEY_MAX, "%" PRId64 ".%" PRId64, governance->created_at, governance->id);
    else
        snprintf(ret_key, AWS_TOKEN_KEY_MAX, "%s.%" PRId64,
                 order == GOVERNANCE_BY_STATUS ? governance_status_text(governance->status) : governance->cluster_uid,
                 governance->id);
}

static int read_cursor(struct db_governance_search *search, const char *key)
{
    const char *dot = strrchr(key, '.');

    if (search->order == GOVERNANCE_BY_NAME) {
        search->cursor_id = search->descending ? -1 : INT64_MAX; /* before and behind every row of that name */
        return text_copy(search->cursor_text, sizeof search->cursor_text, key);
    }
    if (dot == NULL || text_parse_i64(dot + 1, 1, INT64_MAX, &search->cursor_id) < 0 ||
        text_copy_bytes(search->cursor_text, sizeof search->cursor_text, key, (size_t)(dot - key)) < 0)
        return STATUS_INVALID;
    return search->order == GOVERNANCE_BY_TIME ? text_parse_i64(search->cursor_text, 0, INT64_MAX, &search->cursor_at)
                                               : 0;
}

static int list_row(const void *row, void *arg)
{
    const struct governance *governance = row;
    struct listing *listing = arg;
    char key[AWS_TOKEN_KEY_MAX];

    if (!aws_page_wants(listing->page))
        return 0;
    auto_json json_t *json = governance_output(governance);
    put_arns(listing->call, governance, json);
    row_key(governance, listing->search->order, key);
    aws_page_add(listing->page, aws_canonical(aws_shape(governance_words[governance->kind].summary_shape), json), key);
    return 0;
}

static enum governance_order order_of(const struct aws_call *call)
{
    static const struct {
        const char *text;
        enum governance_order order;
    } orders[] = {
        {"Name", GOVERNANCE_BY_NAME}, {"Status", GOVERNANCE_BY_STATUS}, {"ClusterArn", GOVERNANCE_BY_CLUSTER}};
    const char *by = aws_text(call, "SortBy");

    for (size_t i = 0; i < ARRAY_LEN(orders); i++)
        if (strcmp(orders[i].text, by) == 0)
            return orders[i].order;
    return GOVERNANCE_BY_TIME;
}

/* The id in ClusterArn, "" when there is none; of another account nobody has any. */
static int cluster_filter(struct aws_call *call, char ret_ref[AWS_CLUSTER_REF_MAX], bool *ret_none)
{
    ret_ref[0] = '\0';
    *ret_none = aws_text(call, "ClusterArn")[0] != '\0' && aws_cluster_arn_ref(call, ret_ref) < 0;
    return *ret_none ? 0 : (int)strlen(ret_ref);
}

static int list(struct aws_call *call, enum governance_kind kind, json_t **ret_output)
{
    char cluster[AWS_CLUSTER_REF_MAX];
    bool none;
    struct problem problem;
    AUTO(aws_page) struct aws_page page = {.items = NULL};
    bool filtered = cluster_filter(call, cluster, &none) > 0;
    struct db_governance_search search = {.kind = kind,
                                          .name_contains = aws_text(call, "NameContains"),
                                          .cluster_uid = filtered ? cluster + strlen(SERVICE_CLUSTER_ID_PREFIX) : "",
                                          .status = aws_text(call, "Status"),
                                          .created_after = aws_time_ms(call, "CreatedAfter"),
                                          .created_before = aws_time_ms(call, "CreatedBefore"),
                                          .order = order_of(call),
                                          .descending = aws_descending(call, true)};

    int status = aws_page_begin(call, cluster, &page);
    if (status < 0)
        return status;
    search.limit = (int)page.limit + 1;
    if (page.has_cursor && read_cursor(&search, page.cursor) < 0)
        return aws_refuse(call, AWS_ERROR_VALIDATION, "NextToken is not one that %s gave", call->operation->name);
    struct listing listing = {call, &page, &search};
    if (!none && service_governance_search(call->service, &search, NULL, list_row, &listing, &problem) < 0)
        return aws_refuse_problem(call, &problem);
    *ret_output = aws_page_output(&page, governance_words[kind].items);
    return 0;
}

/* --- by name ------------------------------------------------------------------------------------------ */

#define OPERATION(name, function, kind)                  \
    int name(struct aws_call *call, json_t **ret_output) \
    {                                                    \
        return function(call, kind, ret_output);         \
    }

OPERATION(aws_create_cluster_scheduler_config, create, CONFIG)
OPERATION(aws_describe_cluster_scheduler_config, describe, CONFIG)
OPERATION(aws_update_cluster_scheduler_config, update, CONFIG)
OPERATION(aws_delete_cluster_scheduler_config, delete_one, CONFIG)
OPERATION(aws_list_cluster_scheduler_configs, list, CONFIG)
OPERATION(aws_create_compute_quota, create, QUOTA)
OPERATION(aws_describe_compute_quota, describe, QUOTA)
OPERATION(aws_update_compute_quota, update, QUOTA)
OPERATION(aws_delete_compute_quota, delete_one, QUOTA)
OPERATION(aws_list_compute_quotas, list, QUOTA)
