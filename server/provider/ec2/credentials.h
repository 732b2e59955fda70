/*
 * Whose requests to EC2 are: the keys of a file that only its owner may read, of hpd's environment, or of the role of the machine on which
 * hpd runs (its instance metadata, IMDSv2). Keys of a role end; they are asked for again before they do.
 */
#ifndef HOLDFAST_SERVER_PROVIDER_EC2_CREDENTIALS_H
#define HOLDFAST_SERVER_PROVIDER_EC2_CREDENTIALS_H

#include "base/aws.h"
#include "server/provider/provider.h"

#include <stdbool.h>

#define EC2_METADATA_URL "http://169.254.169.254"

struct ec2_credentials_source {
    const char *file;         /* as of the AWS command line; "": the environment, and then the role */
    const char *profile;      /* of the file */
    const char *metadata_url; /* of the role; http */
};

/* The profile's keys of such a file. INVALID, NOT_FOUND (no such profile), with a sentence that quotes nothing of it. Pure. */
int ec2_credentials_parse(char *text, const char *profile, struct aws_credentials *ret_credentials, char *ret_error);
/* What the metadata answers of a role. Pure. */
int ec2_credentials_parse_role(const char *data, size_t len, struct aws_credentials *ret_credentials, char *ret_error);
/* DENIED: the configuration has to change; UNAVAILABLE: the metadata does not answer. */
int ec2_credentials_find(const struct ec2_credentials_source *source, struct aws_credentials *ret_credentials,
                         char *ret_error);
/* Whether they have to be asked for again. A file is read each time. */
bool ec2_credentials_are_old(const struct aws_credentials *credentials, int64_t now_ms);

#endif
