/*
 * Signed calls to EC2's query API (2016-11-15). A call that EC2 throttles is asked again, later and later, within the time of the call, and
 * holds up the provider's other calls meanwhile. Any thread.
 */
#ifndef HOLDFAST_SERVER_PROVIDER_EC2_CLIENT_H
#define HOLDFAST_SERVER_PROVIDER_EC2_CLIENT_H

#include "base/text.h"
#include "server/provider/ec2/answer.h"
#include "server/provider/ec2/credentials.h"

struct ec2_client;
struct ec2_client_options {
    const char *endpoint, *region;
    struct ec2_credentials_source credentials;
    int64_t timeout_ms; /* of one call, with what is asked again */
};

/* INVALID with a sentence. */
int ec2_client_new(const struct ec2_client_options *options, struct ec2_client **ret_client, char *ret_error);
void ec2_client_free(struct ec2_client *client);

/* Adds "&name=value", encoded. */
void ec2_form_add(struct text *form, const char *name, const char *value);

struct ec2_answer {
    char *data; /* owned */
    size_t len;
    struct ec2_refusal refusal; /* where the call failed */
    char code[EC2_CODE_MAX];
};
/* form is what follows the action. 0 with an answer of status 200; else what refusal.status says, with EC2's own words. */
int ec2_call(struct ec2_client *client, const char *action, const char *form, struct ec2_answer *ret_answer,
             char *ret_error);
void ec2_answer_free(struct ec2_answer *answer);

#endif
