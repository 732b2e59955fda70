/*
 * Descriptions of clusters and groups as the REST API takes and shows them: spec_words.h has the words, this is what they mean.
 */
#ifndef HOLDFAST_API_V1_SPEC_H
#define HOLDFAST_API_V1_SPEC_H

#include "api/call.h"
#include "api/v1/spec_words.h"
#include "server/service/cluster/cluster.h"

/* A body that was read, and its groups as the use cases take them. Freed with api_cluster_body_free, also when reading it failed. */
struct api_cluster_body {
    struct cluster_words words;
    struct service_group_spec *groups; /* point into words */
    size_t group_count;
};
void api_cluster_body_free(struct api_cluster_body *body);
static inline void auto_api_cluster_body_cleanup(struct api_cluster_body *body)
{
    api_cluster_body_free(body);
}
/* change: what is left out stays as it is, instead of being required or having a default. False: it has answered. */
bool api_cluster_body_read(struct api_call *call, const json_t *json, bool change, struct api_cluster_body *ret_body);

/* The body, {} without one, by its record. False: it has answered. */
bool api_record(struct api_call *call, const struct record *record, void *ret_words);
/* The cluster as describe shows it. changed: what a change returned (NULL: there was none), with the operation that carries it
 * out; it answers, too, for one that is gone by now. */
void api_reply_cluster(struct api_call *call, unsigned status, const char *name, const struct cluster *changed);
/* The operation of a change of a whole cluster; NULL when there is none to show. */
json_t *api_show_operation(struct api_call *call, const char *uid);

#endif
