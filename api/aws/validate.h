/*
 * Checking a JSON document against a shape of the model.
 *
 * Everything the model says is checked: types, required members, lengths in characters, ranges, patterns, values of
 * enums, sizes of lists and maps, unions. Clients check next to nothing, so this is the only check there is.
 *
 * As AWS does, null counts as absent, and members that the model does not know are passed over: a newer client may
 * send what this server has not heard of. The REST API is stricter and has them refused.
 *
 * Two kinds of complaint are told apart, as AWS does: a value of another JSON type is a SerializationException, a
 * value that breaks a rule is a ValidationException. Where both are found the first kind wins.
 */
#ifndef HOLDFAST_API_AWS_VALIDATE_H
#define HOLDFAST_API_AWS_VALIDATE_H

#include "api/aws/error.h"
#include "api/aws/model.h"
#include "base/json.h"
#include "base/text.h"

#define AWS_ISSUES_MAX 10                    /* then checking stops: it bounds the message and the work */
#define AWS_BODY_BYTES_MAX (1024 * 1024)     /* 3,000 node ids are 66 KB; 100 groups with everything about 300 KB */
#define AWS_TIME_MAX_S INT64_C(253402300799) /* the last second of the year 9999, what RFC 3339 can write */

/* Complaints about one document. Start with {0}. */
struct aws_issues {
    size_t types;      /* values of another JSON type */
    size_t rules;      /* values that break a rule */
    struct text texts; /* sentences of the kind that wins, joined */
};

void aws_issues_free(struct aws_issues *issues); /* accepts NULL */
static inline void auto_aws_issues_cleanup(struct aws_issues *issues)
{
    aws_issues_free(issues);
}
/* AWS_ERROR_SERIALIZATION or AWS_ERROR_VALIDATION. */
enum aws_error aws_issues_error(const struct aws_issues *issues);
/* "2 validation errors detected: Value …; Value …". Caller frees. */
char *aws_issues_message(const struct aws_issues *issues);

struct aws_rules {
    enum aws_spelling spelling;
    bool unknown_refused;
};

/* 0, or INVALID with what is wrong in *issues. Never changes json. Any thread. */
int aws_validate(const struct aws_shape *shape, const json_t *json, struct aws_rules rules, struct aws_issues *issues);

/* True of 3.0 and 1e21, for which JSON has no other form than that of a fraction. */
static inline bool aws_is_whole(double real)
{
    const double all_whole_from = 0x1p53;

    return real >= all_whole_from || real <= -all_whole_from || real == (double)(int64_t)real;
}

/* Parses the body of a request to the AWS API and checks it against the operation's input. The body must be an
 * object. INVALID with *issues, TOO_LARGE likewise. Whole numbers may have come as
 * 3.0 or 3e0: aws_render gives them as integers. Caller owns *ret_json. */
int aws_body_read(const struct aws_operation *operation, const char *data, size_t len, json_t **ret_json,
                  struct aws_issues *issues);

#endif
