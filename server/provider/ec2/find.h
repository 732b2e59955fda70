/* Looks for instances. Private to the driver. */
#ifndef HOLDFAST_SERVER_PROVIDER_EC2_FIND_H
#define HOLDFAST_SERVER_PROVIDER_EC2_FIND_H

#include "server/provider/ec2/client.h"
#include "server/provider/ec2/memory.h"

struct ec2_finder {
    struct ec2_client *client;
    const char *tag; /* the value of the provider's tag */
    const char *state_dir;
};

/* All of the provider's that are not gone. The caller frees. */
int ec2_find_all(const struct ec2_finder *finder, struct ec2_instances *ret_instances, char *ret_error);
/* The provider's one that is not gone and has the tag. NOT_FOUND; CONFLICT, with their ids, when there are more. */
int ec2_find_tagged(const struct ec2_finder *finder, const char *tag, const char *value,
                    struct ec2_instance *ret_instance, char *ret_error);
/* Whatever a client token made, gone or not. */
int ec2_find_made(const struct ec2_finder *finder, const char *token, struct ec2_instance *ret_instance,
                  char *ret_error);
/* What EC2 says of instances, of whomever in the account, is added to what there is. The caller frees. */
int ec2_find_notices(const struct ec2_finder *finder, struct ec2_notices *notices, char *ret_error);
/* Likewise which spot instances it takes back. */
int ec2_find_interruptions(const struct ec2_finder *finder, struct ec2_notices *notices, char *ret_error);
/* By its id, gone or not. NOT_FOUND. */
int ec2_find_id(const struct ec2_finder *finder, const char *id, struct ec2_instance *ret_instance, char *ret_error);
/* The machine of a target. NOT_FOUND: it is gone, or never was. UNAVAILABLE: EC2 may not show it yet. */
int ec2_find_target(const struct ec2_finder *finder, const struct provider_target *target,
                    struct ec2_instance *ret_instance, char *ret_error);

#endif
