/* Reboots an instance, each under its key once. Private to the driver. */
#ifndef HOLDFAST_SERVER_PROVIDER_EC2_RESET_H
#define HOLDFAST_SERVER_PROVIDER_EC2_RESET_H

#include "server/provider/ec2/find.h"

struct ec2_reset {
    const struct ec2_finder *finder;
    struct ec2_entry entry;
    struct ec2_memory memory;
    char *ret_error;
};

/* RebootInstances. */
int ec2_reboot(struct ec2_reset *reset, const struct ec2_instance *found);
/* StopInstances, and StartInstances once it has stopped. UNAVAILABLE: it goes on at the next call under the key. */
int ec2_stop_start(struct ec2_reset *reset, const struct ec2_instance *found);

#endif
