/*
 * One call of the AWS API as an operation sees it, apart from HTTP: who asks, what for, from which region's view.
 *
 *      input     checked against the model before the operation sees it
 *      output    a new document in the model's spelling, or a refusal by aws_refuse
 *
 * The table in operation.c says which operations are carried out. Any other of the model's is refused by name.
 */
#ifndef HOLDFAST_API_AWS_OPERATION_H
#define HOLDFAST_API_AWS_OPERATION_H

#include "api/aws/error.h"
#include "api/aws/model.h"
#include "api/aws/sigv4.h"
#include "api/aws/token.h"
#include "base/json.h"
#include "server/service/service.h"

#define AWS_INVOCATION_MAX 64

struct aws_call {
    struct service *service;
    struct actor actor;
    const struct aws_operation *operation;
    const json_t *input;
    char region[SIGV4_REGION_MAX];
    char invocation[AWS_INVOCATION_MAX]; /* the same in every try of a request; "" when the client sends none */
    enum aws_error error;                /* of a refusal */
    char message[AWS_ERROR_MESSAGE_MAX];
};

/* Whether the role is enough. 0, or negative with error and message. */
int aws_permit(struct aws_call *call);
/* The operation itself, for who is permitted. 0 with a new *ret_output, or negative with error and message. */
int aws_perform(struct aws_call *call, json_t **ret_output);
bool aws_is_carried_out(enum aws_operation_id id);
/* Who may: viewer to look, operator to act on what there is, admin to make and to delete. */
enum role aws_operation_role(const struct aws_operation *operation);

/* Fill the refusal and return STATUS_INVALID, so that it is one line. */
int aws_refuse(struct aws_call *call, enum aws_error error, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
int aws_refuse_problem(struct aws_call *call, const struct problem *problem);

/* --- the input's members; absent is "", 0, false --- */
const char *aws_text(const struct aws_call *call, const char *member);
int64_t aws_number(const struct aws_call *call, const char *member, int64_t absent);
int64_t aws_time_ms(const struct aws_call *call, const char *member);
bool aws_flag(const struct aws_call *call, const char *member);
/* SortOrder is Descending; otherwise says what is meant when it is absent. */
bool aws_descending(const struct aws_call *call, bool otherwise);

/* --- names --- */
#define AWS_ARN_MAX 160
#define AWS_CLUSTER_REF_MAX (NAME_MAX_BYTES + sizeof(SERVICE_CLUSTER_ID_PREFIX))
#define AWS_NODE_REF_MAX (NODE_NAME_MAX_BYTES + sizeof(SERVICE_INSTANCE_PREFIX))
#define AWS_ACCOUNT "000000000000" /* there is one tenant, and the pattern wants twelve digits */
/* kind is "cluster", "compute-quota", ... */
void aws_arn(const struct aws_call *call, const char *kind, const char *uid, char ret_arn[AWS_ARN_MAX]);
void aws_cluster_arn(const struct aws_call *call, const struct cluster *cluster, char ret_arn[AWS_ARN_MAX]);
void aws_put_cluster_arn(const struct aws_call *call, json_t *json, const struct cluster *cluster);
/* For one part of a request: the same in every try of it, and in no other request. "" when the client numbers no tries. */
void aws_repeat_key(const struct aws_call *call, const char *of, char ret_key[ID_SHA256_HEX_MAX]);
/* Member ClusterName, a name or an ARN, as the use cases take it. Refuses another account's. */
int aws_cluster_ref(struct aws_call *call, char ret_ref[AWS_CLUSTER_REF_MAX]);
/* The same for member ClusterArn. */
int aws_cluster_arn_ref(struct aws_call *call, char ret_ref[AWS_CLUSTER_REF_MAX]);
/* A NodeId as the use cases take it. */
void aws_instance_ref(const char *node_id, char ret_ref[AWS_NODE_REF_MAX]);

/* --- pages --- */
#define AWS_PAGE_DEFAULT 100 /* MaxResults goes up to that as well */
struct aws_page {
    char list[128]; /* what the token is good for */
    int64_t limit;
    bool has_cursor;
    char cursor[AWS_TOKEN_KEY_MAX];
    json_t *items;
    char last[AWS_TOKEN_KEY_MAX];
    bool more;
};
/* cluster is "" or the cluster as it was named. Refuses a token of another list. */
int aws_page_begin(struct aws_call *call, const char *cluster, struct aws_page *ret_page);
/* True while there is room; then aws_page_add. */
bool aws_page_wants(struct aws_page *page);
void aws_page_add(struct aws_page *page, json_t *item, const char *key);
/* Takes the items and puts them under member, with NextToken when there is more. */
json_t *aws_page_output(struct aws_page *page, const char *member);
void aws_page_free(struct aws_page *page);
static inline void auto_aws_page_cleanup(struct aws_page *page)
{
    aws_page_free(page);
}

/* --- what they are, one file a noun --- */
int aws_list_clusters(struct aws_call *call, json_t **ret_output);
int aws_describe_cluster(struct aws_call *call, json_t **ret_output);
int aws_delete_cluster(struct aws_call *call, json_t **ret_output);
int aws_create_cluster(struct aws_call *call, json_t **ret_output);
int aws_update_cluster(struct aws_call *call, json_t **ret_output);
int aws_update_cluster_software(struct aws_call *call, json_t **ret_output);
int aws_start_cluster_health_check(struct aws_call *call, json_t **ret_output);
int aws_list_cluster_nodes(struct aws_call *call, json_t **ret_output);
int aws_describe_cluster_node(struct aws_call *call, json_t **ret_output);
int aws_batch_add_cluster_nodes(struct aws_call *call, json_t **ret_output);
int aws_batch_delete_cluster_nodes(struct aws_call *call, json_t **ret_output);
int aws_batch_reboot_cluster_nodes(struct aws_call *call, json_t **ret_output);
int aws_batch_replace_cluster_nodes(struct aws_call *call, json_t **ret_output);
int aws_attach_cluster_node_volume(struct aws_call *call, json_t **ret_output);
int aws_detach_cluster_node_volume(struct aws_call *call, json_t **ret_output);
int aws_attach_cluster_node_network_interface(struct aws_call *call, json_t **ret_output);
/* What DescribeClusterEvent answers for the event. */
json_t *aws_event_details(const struct aws_call *call, const struct cluster *cluster, const struct event *event);
int aws_list_cluster_events(struct aws_call *call, json_t **ret_output);
int aws_describe_cluster_event(struct aws_call *call, json_t **ret_output);
int aws_create_cluster_scheduler_config(struct aws_call *call, json_t **ret_output);
int aws_describe_cluster_scheduler_config(struct aws_call *call, json_t **ret_output);
int aws_update_cluster_scheduler_config(struct aws_call *call, json_t **ret_output);
int aws_delete_cluster_scheduler_config(struct aws_call *call, json_t **ret_output);
int aws_list_cluster_scheduler_configs(struct aws_call *call, json_t **ret_output);
int aws_create_compute_quota(struct aws_call *call, json_t **ret_output);
int aws_describe_compute_quota(struct aws_call *call, json_t **ret_output);
int aws_update_compute_quota(struct aws_call *call, json_t **ret_output);
int aws_delete_compute_quota(struct aws_call *call, json_t **ret_output);
int aws_list_compute_quotas(struct aws_call *call, json_t **ret_output);
int aws_add_tags(struct aws_call *call, json_t **ret_output);
int aws_list_tags(struct aws_call *call, json_t **ret_output);
int aws_delete_tags(struct aws_call *call, json_t **ret_output);

#endif
