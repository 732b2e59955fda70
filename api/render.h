/*
 * Model structs as JSON, as the REST API speaks: lowerCamelCase names, RFC 3339 times. Absent values are left out.
 * What belongs to a noun but is not in its struct is an argument: names for row numbers, above all.
 */
#ifndef HOLDFAST_API_RENDER_H
#define HOLDFAST_API_RENDER_H

#include "base/json.h"
#include "server/service/cluster/cluster.h"
#include "server/service/event/webhook.h"
#include "server/service/node/lemon.h"
#include "server/service/node/node.h"
#include "server/service/scheduler/scheduler.h"
#include "server/service/service.h"

/* A text as JSON. One that was cut to its limit inside of a character loses the rest of that character. */
json_t *render_text(const char *text);

/* Who holds the cluster; NULL: nobody does. */
json_t *render_pause(const struct cluster *cluster);
json_t *render_cluster(const struct cluster *cluster, const struct cluster_counts *counts);
/* names: for view->active, one each. */
/* What may hold its repairs. */
json_t *render_group_held(const struct instance_group *group);
json_t *render_cluster_view(const struct service_cluster_view *view, const struct service_names *names);
json_t *render_scheduler(const struct service_scheduler_status *scheduler);
json_t *render_node(const struct db_node_row *row);
/* decision_operation: the uid of what the last decision started, or "". */
json_t *render_node_view(const struct service_node_view *view, const char *decision_operation);
json_t *render_lemon(const struct service_lemon *lemon);
json_t *render_incident(const struct shared_incident *incident);
json_t *render_incident_node(const struct incident_node *node);
json_t *render_operation(const struct operation *operation, const char *cluster, const char *node);
json_t *render_decision(const struct decision *decision, const char *operation);
json_t *render_verdict(const struct verdict *verdict);
json_t *render_job(const struct cluster_job *job);
json_t *render_explanation(const struct service_explanation *explanation, const struct db_node_row *row);
json_t *render_event(const struct event *event);
/* What a webhook is told: the event as above and, while it asks a question, that. */
json_t *render_webhook_data(const struct service_webhook_item *item);
json_t *render_deep_run(const struct deep_run *run);
json_t *render_deep_test(const struct deep_test *test);
json_t *render_token(const struct token *token, const char *cluster, const char *node);

#endif
