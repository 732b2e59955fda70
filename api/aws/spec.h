/*
 * What is asked for of groups and clusters (model/group_spec.h) in the words of the AWS model, and back. Documents were checked against
 * the model before they come here, so what has a column of its own, or is refused elsewhere, is skipped.
 */
#ifndef HOLDFAST_API_AWS_SPEC_H
#define HOLDFAST_API_AWS_SPEC_H

#include "base/json.h"
#include "model/group_spec.h"

/* INVALID and a sentence for what the model takes and nobody could use, as control characters. Caller frees the contents. */
int aws_group_spec_read(const json_t *document, struct group_spec *ret_spec, char ret_error[RECORD_ERROR_MAX]);
/* Empties what this API has words for; what only others can say stays. */
void aws_group_spec_forget(struct group_spec *spec);
int aws_cluster_spec_read(const json_t *document, struct cluster_spec *ret_spec, char ret_error[RECORD_ERROR_MAX]);
/* Caller owns. */
json_t *aws_group_spec_write(const struct group_spec *spec);
/* Labels and taints as they are shown: what is asked for, and what the nodes have. NULL: neither is said. */
json_t *aws_kubernetes_write(const struct kubernetes_spec *desired, const struct kubernetes_spec *current);
json_t *aws_cluster_spec_write(const struct cluster_spec *spec);

#endif
