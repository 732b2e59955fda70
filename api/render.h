/*
 * Model structs as JSON. One renderer for both doors: a door is a spelling, which turns the one vocabulary
 * (lowerCamelCase names, times in milliseconds) into its own words. Absent values are left out.
 * What belongs to a noun but is not in its struct is an argument: names for row numbers, above all.
 */
#ifndef HOLDFAST_API_RENDER_H
#define HOLDFAST_API_RENDER_H

#include "base/json.h"
#include "server/service/service.h"

struct spelling {
    /* Writes the door's member name for a word of the vocabulary into ret_name. */
    void (*name)(const char *word, char *ret_name, size_t size);
    void (*time)(json_t *object, const char *name, int64_t at_ms);
};
extern const struct spelling spelling_rest;

/* A text as JSON. One that was cut to its limit inside of a character loses the rest of that character. */
json_t *render_text(const char *text);

json_t *render_cluster(const struct spelling *sp, const struct cluster *cluster, const struct cluster_counts *counts);
/* names: for view->active, one each. */
json_t *render_cluster_view(const struct spelling *sp, const struct service_cluster_view *view,
                            const struct service_names *names);
json_t *render_node(const struct spelling *sp, const struct db_node_row *row);
/* decision_operation: the uid of what the last decision started, or "". */
json_t *render_node_view(const struct spelling *sp, const struct service_node_view *view,
                         const char *decision_operation);
json_t *render_operation(const struct spelling *sp, const struct operation *operation, const char *cluster,
                         const char *node);
json_t *render_decision(const struct spelling *sp, const struct decision *decision, const char *operation);
json_t *render_verdict(const struct spelling *sp, const struct verdict *verdict);
json_t *render_explanation(const struct spelling *sp, const struct service_explanation *explanation,
                           const struct db_node_row *row);
json_t *render_event(const struct spelling *sp, const struct event *event);
json_t *render_token(const struct spelling *sp, const struct token *token, const char *cluster, const char *node);

#endif
