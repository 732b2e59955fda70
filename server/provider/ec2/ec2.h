/*
 * The provider kind "ec2": instances of Amazon EC2, by its own API.
 *
 * Nothing is launched, rebooted or stopped twice under one key, whenever hpd is killed: what is asked for is on our disk before it is
 * asked (memory.h), a launch has a client token that follows from its key and subnet, and what it makes has the key as a tag. A launch
 * whose answer was lost is asked again for the same subnet only. Only instances that have the provider's tag are ended.
 */
#ifndef HOLDFAST_SERVER_PROVIDER_EC2_EC2_H
#define HOLDFAST_SERVER_PROVIDER_EC2_EC2_H

#include "base/enum.h"
#include "server/provider/ec2/client.h"
#include "server/provider/ec2/memory.h"

#define EC2_SUBNETS_MAX 16
#define EC2_SECURITY_GROUPS_MAX 16
#define EC2_TAGS_MAX 32
#define EC2_WORD_MAX 256
#define EC2_TIMEOUT_MS INT64_C(120000)

#define EC2_MARKET_LIST(X)    \
    X(ON_DEMAND, "on-demand") \
    X(SPOT, "spot")           \
    X(BLOCK, "capacity-block")
enum ec2_market {
#define X(SYMBOL, text) EC2_MARKET_##SYMBOL,
    EC2_MARKET_LIST(X)
#undef X
};
ENUM_DECLARE(ec2_market);

struct ec2_subnet {
    char id[EC2_SUBNET_MAX], zone[ZONE_MAX_BYTES];
};
struct ec2_tag {
    char name[129], value[EC2_WORD_MAX + 1];
};

/* What an instance is made of. "": the launch template says it, or EC2's own choice. */
struct ec2_shape {
    char tag
        [NAME_MAX_BYTES]; /* the value of the tag holdfast-provider; unlike that of every other Holdfast of the account */
    char image[EC2_WORD_MAX], key_name[EC2_WORD_MAX], instance_profile[EC2_WORD_MAX];
    char launch_template[EC2_WORD_MAX], launch_template_version[EC2_WORD_MAX]; /* lt-… or a name */
    char placement_group[EC2_WORD_MAX], capacity_reservation[EC2_WORD_MAX];
    enum ec2_market market;
    struct ec2_subnet subnets[EC2_SUBNETS_MAX]; /* tried in this order */
    size_t subnet_count;
    char security_groups[EC2_SECURITY_GROUPS_MAX][EC2_WORD_MAX];
    size_t security_group_count;
    struct ec2_tag tags[EC2_TAGS_MAX];
    size_t tag_count;
};

struct ec2_options {
    const char *name; /* of the provider */
    const char *state_dir;
    const struct ec2_shape *shape; /* copied */
    bool stop_start;               /* a reboot is a stop and a start: the instance goes to other hardware */
    bool end_orphans;              /* see provider_ops */
    struct ec2_client_options client;
};

/* INVALID with a sentence; IO. */
int ec2_new(const struct ec2_options *options, struct provider_driver *ret_driver, char *ret_error);

/* The parameters of RunInstances, but for the action; subnet "": none is named. Pure. */
void ec2_write_launch(const struct ec2_shape *shape, const struct provider_launch *launch, const char *subnet,
                      struct text *form);
/* The client token of a launch in a subnet. */
void ec2_client_token(const char *key, const char *subnet, char ret_token[EC2_HASH_MAX]);

#endif
