/*
 * Saying what is wrong with a document: where, what came, and the rule. Private to validate.c.
 *
 * The AWS API names a place as AWS does ('instanceGroups.1.member.instanceCount', counted from one), the REST API by
 * a JSON pointer ('/instanceGroups/0/instanceCount').
 */
#ifndef HOLDFAST_API_AWS_ISSUE_H
#define HOLDFAST_API_AWS_ISSUE_H

#include "api/aws/validate.h"

enum aws_place_kind { AWS_PLACE_MEMBER, AWS_PLACE_ITEM, AWS_PLACE_KEY, AWS_PLACE_VALUE };

/* A place in the document, from the inside out; lives on the stack of the walk. NULL is the document itself. */
struct aws_place {
    const struct aws_place *up;
    enum aws_place_kind kind;
    const char *name; /* of a member, or a map's key */
    size_t index;     /* of an item */
};

void issue_type(struct aws_issues *issues, enum aws_spelling spelling, const struct aws_place *place,
                const json_t *value, const char *wanted);
void issue_rule(struct aws_issues *issues, enum aws_spelling spelling, const struct aws_place *place,
                const json_t *value, const char *rule);
void issue_null(struct aws_issues *issues, enum aws_spelling spelling, const struct aws_place *place);
/* what is "length" or "value". */
void issue_limit(struct aws_issues *issues, enum aws_spelling spelling, const struct aws_place *place,
                 const json_t *value, const char *what, bool is_below, int64_t limit);
void issue_pattern(struct aws_issues *issues, enum aws_spelling spelling, const struct aws_place *place,
                   const json_t *value, const char *pattern);
void issue_values(struct aws_issues *issues, enum aws_spelling spelling, const struct aws_place *place,
                  const json_t *value, const struct aws_shape *shape);
void issue_union(struct aws_issues *issues, enum aws_spelling spelling, const struct aws_place *place,
                 const json_t *value, const struct aws_shape *shape);
/* The body as a whole is no JSON. */
void issue_body(struct aws_issues *issues, const char *why);

#endif
