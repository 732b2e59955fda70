/* Scheduler configurations, quotas and tags as documents in the model's spelling. */
#ifndef HOLDFAST_API_AWS_GOVERNANCE_DOCUMENT_H
#define HOLDFAST_API_AWS_GOVERNANCE_DOCUMENT_H

#include "api/aws/model.h"
#include "base/json.h"
#include "server/service/scheduler/governance.h"

/* The input of a Create or Update as the use case takes it. spec points into this and into the document. */
struct governance_input {
    struct service_governance_spec spec;
    struct governance_spec config;
    struct service_tag *tags;
};
/* input has been checked against the model. */
void governance_input_read(enum governance_kind kind, const json_t *input, struct governance_input *ret_input);
void governance_input_free(struct governance_input *input);
static inline void auto_governance_input_cleanup(struct governance_input *input)
{
    governance_input_free(input);
}

/* What its Describe answers, but for the members that are ARNs, which depend on the caller's region. */
json_t *governance_output(const struct governance *governance);

/* What the two kinds call the same. */
struct governance_words {
    const char *id, *version, *arn, *arn_kind, *config, *items;
    enum aws_operation_id create, update;
    enum aws_shape_id config_shape, describe_shape, summary_shape;
};
extern const struct governance_words governance_words[GOVERNANCE_KIND_COUNT];

/* Borrows from a TagList; returns how many. Caller frees *ret_tags. */
size_t tags_read(const json_t *list, struct service_tag **ret_tags);
json_t *tag_output(const struct tag *tag);

#endif
