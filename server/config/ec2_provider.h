/* Reads providers of the kind "ec2". */
#ifndef HOLDFAST_SERVER_CONFIG_EC2_PROVIDER_H
#define HOLDFAST_SERVER_CONFIG_EC2_PROVIDER_H

#include "base/json.h"
#include "server/provider/ec2/ec2.h"

#include <limits.h>

struct config_ec2 {
    char name[NAME_MAX_BYTES], region[AWS_REGION_MAX], endpoint[AWS_ENDPOINT_MAX];
    char credentials_file[PATH_MAX], profile[NAME_MAX_BYTES];
    struct ec2_shape shape;
    bool stop_start, end_orphans;
    int64_t timeout_ms;
};

/* name is set. INVALID with the key's path in ret_error (CONFIG_ERROR_MAX bytes). */
int config_ec2_read(struct config_ec2 *ec2, json_t *object, char *ret_error);
/* The provider. INVALID, IO, with a sentence (PROVIDER_ERROR_MAX bytes). */
int config_ec2_make(const struct config_ec2 *ec2, const char *state_dir, struct provider_driver *ret_driver,
                    char *ret_error);

#endif
