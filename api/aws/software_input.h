/* What is asked for of the nodes of whole groups: from documents in the model's spelling. */
#ifndef HOLDFAST_API_AWS_SOFTWARE_INPUT_H
#define HOLDFAST_API_AWS_SOFTWARE_INPUT_H

#include "api/aws/cluster_document.h"
#include "server/service/cluster/cluster.h"
#include "server/service/node/check.h"

/* The input of UpdateClusterSoftware. */
struct software_input {
    struct rollout how;
    struct service_software_group *groups;
    size_t group_count;
};
/* input fits the operation's shape. INVALID with a problem. Freed in any case. */
int software_input_read(const json_t *input, struct software_input *ret_input, struct problem *ret_problem);
void software_input_free(struct software_input *input); /* the contents */
static inline void auto_software_input_cleanup(struct software_input *input)
{
    software_input_free(input);
}

/* DeepHealthCheckConfigurations of StartClusterHealthCheck. The ids point into the list. */
struct check_input {
    struct service_check_request *requests;
    size_t count;
};
void check_input_read(const json_t *list, struct check_input *ret_input);
void check_input_free(struct check_input *input); /* the contents */
static inline void auto_check_input_cleanup(struct check_input *input)
{
    check_input_free(input);
}

#endif
