/*
 * Descriptions of clusters and groups as the REST door takes them.
 *
 * What Holdfast has a field for is read by a spec of its own; every other member is HyperPod's, is checked against the tables
 * of its model in our spelling (lifeCycleConfig for LifeCycleConfig), and kept as a document for whoever needs it.
 */
#ifndef HOLDFAST_API_V1_SPEC_H
#define HOLDFAST_API_V1_SPEC_H

#include "api/aws/model.h"
#include "api/call.h"

/* The groups of a body. Freed with api_groups_free, also when reading them failed. */
struct api_groups {
    struct service_group_spec *list;
    size_t count;
};
void api_groups_free(struct api_groups *groups);
/* partial: what is left out stays as it is, instead of being required or having a default. False: it has answered. */
bool api_groups_read(struct api_call *call, const json_t *json, bool partial, struct api_groups *ret_groups);

/* What of a cluster's description has no field, as a document; "*ret_document" NULL when there is nothing. Caller frees. False: it has
 * answered. */
bool api_cluster_document(struct api_call *call, json_t *rest, char **ret_document);
/* A whole body of the model, in its own spelling; members that the path names need not be there. False: it has answered. */
bool api_model_input(struct api_call *call, enum aws_shape_id shape, json_t *body, json_t **ret_input);
/* Moves the members of body that are not among own into a new object. Caller owns. */
json_t *api_split(json_t *body, const char *const *own, size_t count);
/* The cluster as describe shows it. changed: what a change returned (NULL: there was none), with the operation that carries it
 * out; it answers, too, for one that is gone by now. */
void api_reply_cluster(struct api_call *call, unsigned status, const char *name, const struct cluster *changed);
/* The operation of a change of a whole cluster; NULL when there is none to show. */
json_t *api_show_operation(struct api_call *call, const char *uid);
/* Adds the members of a document to a description that is shown. */
void api_show_document(json_t *json, const char *shape, const char *document);
void api_show_strategy(json_t *json, const char *document);

#endif
