/* Clusters through the AWS API: ListClusters, DescribeCluster, DeleteCluster. */
#include "server/service/cluster/cluster.h"
#include "api/aws/cluster_document.h"
#include "api/aws/operation.h"
#include "api/aws/render.h"
#include "api/aws/status.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- list ---------------------------------------------------------------------------------------------------------- */

struct listing {
    struct aws_call *call;
    struct aws_page *page;
    bool by_name;
};

static int list_row(const void *row, void *arg)
{
    const struct cluster *cluster = row;
    struct listing *listing = arg;
    char key[AWS_TOKEN_KEY_MAX];

    if (!aws_page_wants(listing->page))
        return 0;
    json_t *json = json_object();
    aws_put_cluster_arn(listing->call, json, cluster);
    json_put_text(json, "ClusterName", cluster->name);
    json_put(json, "CreationTime", aws_time_json(cluster->created_at));
    json_put_text(json, "ClusterStatus", aws_cluster_status(cluster->state));
    snprintf(key, sizeof key, "%" PRId64 ".%" PRId64, cluster->created_at, cluster->id);
    aws_page_add(listing->page, json, listing->by_name ? cluster->name : key);
    return 0;
}

/* "created.row" of the token. */
static int read_cursor(struct db_cluster_search *search, const char *key)
{
    char at[AWS_TOKEN_KEY_MAX];
    const char *dot = strchr(key, '.');

    if (search->by_name)
        return text_copy(search->cursor_name, sizeof search->cursor_name, key);
    if (dot == NULL || text_copy_bytes(at, sizeof at, key, (size_t)(dot - key)) < 0 ||
        text_parse_i64(at, 0, INT64_MAX, &search->cursor_at) < 0 ||
        text_parse_i64(dot + 1, 1, INT64_MAX, &search->cursor_id) < 0)
        return STATUS_INVALID;
    return 0;
}

int aws_list_clusters(struct aws_call *call, json_t **ret_output)
{
    struct problem problem;
    AUTO(aws_page) struct aws_page page = {.items = NULL};
    struct db_cluster_search search = {.name_contains = aws_text(call, "NameContains"),
                                       .created_after = aws_time_ms(call, "CreationTimeAfter"),
                                       .created_before = aws_time_ms(call, "CreationTimeBefore"),
                                       .by_name = strcmp(aws_text(call, "SortBy"), "NAME") == 0,
                                       .descending = aws_descending(call, false)};
    int status = aws_page_begin(call, "", &page);
    if (status < 0)
        return status;
    search.has_cursor = page.has_cursor;
    search.limit = (int)page.limit + 1;
    if (page.has_cursor && read_cursor(&search, page.cursor) < 0)
        return aws_refuse(call, AWS_ERROR_VALIDATION, "NextToken is not one that ListClusters gave");
    struct listing listing = {call, &page, search.by_name};
    /* Nothing here belongs to a training plan, so asking for one's clusters finds none. */
    if (aws_text(call, "TrainingPlanArn")[0] == '\0' &&
        service_cluster_search(call->service, &search, list_row, &listing, &problem) < 0)
        return aws_refuse_problem(call, &problem);
    *ret_output = aws_page_output(&page, "ClusterSummaries");
    return 0;
}

/* --- describe ------------------------------------------------------------------------------------------------------ */

int aws_describe_cluster(struct aws_call *call, json_t **ret_output)
{
    char ref[AWS_CLUSTER_REF_MAX];
    struct problem problem;
    struct service_cluster_view view;

    int status = aws_cluster_ref(call, ref);
    if (status < 0)
        return status;
    if (service_cluster_describe(call->service, ref, &view, &problem) < 0)
        return aws_refuse_problem(call, &problem);
    *ret_output = cluster_output(call->service, &view);
    aws_put_cluster_arn(call, *ret_output, &view.cluster);
    service_cluster_view_free(&view);
    return 0;
}

/* --- delete -------------------------------------------------------------------------------------------------------- */

int aws_delete_cluster(struct aws_call *call, json_t **ret_output)
{
    char ref[AWS_CLUSTER_REF_MAX];
    struct problem problem;
    struct cluster cluster;

    int status = aws_cluster_ref(call, ref);
    if (status < 0)
        return status;
    if (service_cluster_delete(call->service, &call->actor, ref, &cluster, &problem) < 0)
        return aws_refuse_problem(call, &problem);
    *ret_output = json_object();
    aws_put_cluster_arn(call, *ret_output, &cluster);
    return 0;
}
