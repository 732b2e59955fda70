/*
 * The reset of one device: what an instance is asked to do, once. What its agent says of it is a lifecycle_report without a script.
 */
#ifndef HOLDFAST_MODEL_RESET_H
#define HOLDFAST_MODEL_RESET_H

#include "base/id.h"
#include "model/limits.h"

#include <stdint.h>

struct reset_job {
    char key[KEY_MAX_BYTES]; /* of the operation: under one key nothing is reset twice */
    char instance_id[ID_INSTANCE_MAX];
    char boot_id
        [BOOT_ID_MAX_BYTES];       /* in which the device has this name: after a boot an address may be another GPU's */
    char device[DEVICE_MAX_BYTES]; /* as the agent named it: an address on the PCI bus, or a UUID */
    int64_t time_limit_ms;
};

#endif
