/* The words of clusters and groups at the REST API, as spec_words.c has them: which members there are, and what each may be. */
#ifndef HOLDFAST_API_V1_SPEC_WORDS_H
#define HOLDFAST_API_V1_SPEC_WORDS_H

#include "model/group_spec.h"

#define API_NAME_RULE .pattern = "[a-zA-Z0-9](?:-*[a-zA-Z0-9])*", .rule = "1 to 63 letters, digits and inner hyphens"
#define API_RELEASE_RULE .pattern = "[0-9]+\\.[0-9]+\\.[0-9]+", .rule = "three numbers, such as 1.2.3"

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
    char *name, *scheduler;
    struct optional recovery, orchestrator, provisioning; /* of the enums in model/ */
    struct optional_list groups;                          /* struct group_words */
    struct optional_list deleted;                         /* names of groups */
    struct cluster_spec spec;
};
/* A new cluster, and a change of one. */
extern const struct record cluster_words_new, cluster_words_change;
/* Adds what was asked for to a description that is shown. */
void api_show_group_spec(json_t *json, const struct group_spec *spec);
void api_show_kubernetes(json_t *json, const struct kubernetes_spec *wanted);
/* And what of its labels and taints nodes carry, where there is any. */
void api_show_carried(json_t *json, const struct kubernetes_spec *carried);
void api_show_cluster_spec(json_t *json, const struct cluster_spec *spec);

#endif
