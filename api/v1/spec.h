/*
 * Descriptions of clusters and groups as the REST door takes and shows them: spec_words.c has the words, spec.c what they mean.
 */
#ifndef HOLDFAST_API_V1_SPEC_H
#define HOLDFAST_API_V1_SPEC_H

#include "api/aws/model.h"
#include "api/call.h"
#include "model/group_spec.h"

/* --- the words (spec_words.c) ------------------------------------------------------------------------ */

struct source_words {
    bool given;
    char *partition, *feature;
};
struct group_words {
    char *name, *instance_type, *provider, *image_id, *release, *node_names;
    struct optional instance_count, min_count;
    struct source_words source;
    struct group_spec spec;
};
struct cluster_words {
    char *name;
    struct optional recovery, orchestrator, provisioning; /* of the enums in model/ */
    struct optional_list groups;                          /* struct group_words */
    struct optional_list deleted;                         /* names of groups */
    struct cluster_spec spec;
};
/* A new cluster, and a change of one. */
extern const struct record cluster_words_new, cluster_words_change;
/* Adds what was asked for to a description that is shown. */
void api_show_group_spec(json_t *json, const struct group_spec *spec);
void api_show_cluster_spec(json_t *json, const struct cluster_spec *spec);

/* --- what they mean (spec.c) ------------------------------------------------------------------------- */

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

/* A whole body of the model, in its own spelling; members that the path names need not be there. False: it has answered. */
bool api_model_input(struct api_call *call, enum aws_shape_id shape, json_t *body, json_t **ret_input);
/* The cluster as describe shows it. changed: what a change returned (NULL: there was none), with the operation that carries it
 * out; it answers, too, for one that is gone by now. */
void api_reply_cluster(struct api_call *call, unsigned status, const char *name, const struct cluster *changed);
/* The operation of a change of a whole cluster; NULL when there is none to show. */
json_t *api_show_operation(struct api_call *call, const char *uid);

#endif
