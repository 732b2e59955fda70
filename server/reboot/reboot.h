/*
 * Ways to reboot a machine that need no provider: over SSH, and by its BMC. Calls block and run on the executor's threads.
 *
 * A call may be answered by 0 (accepted: the machine goes down), TIMEOUT (it may have been accepted: whoever called waits for the new
 * boot), UNAVAILABLE (nothing was done, and another time it may work), or another status: nothing was done, and repeating it changes
 * nothing. ret_error is "" or a sentence, also of a call that was accepted.
 */
#ifndef HOLDFAST_SERVER_REBOOT_REBOOT_H
#define HOLDFAST_SERVER_REBOOT_REBOOT_H

#include "model/model.h"

#define REBOOT_ERROR_MAX 256

struct reboot_target {
    const char *node;
    const char *instance_id;
    const char *ref;     /* the provider's id of the machine; "": it took ours */
    const char *address; /* of the instance, or of its machine in the inventory; "": not known */
    const char *bmc;     /* as the inventory has it: an address or a URL; "": not known */
    const char *boot_id; /* that is to end; "": not known */
    const char *key;     /* of the try */
};

struct reboot_device;
struct reboot_ops {
    int (*reboot)(struct reboot_device *device, const struct reboot_target *target, enum reboot_method method,
                  char ret_error[REBOOT_ERROR_MAX]);
    void (*free)(struct reboot_device *device); /* may be NULL */
};
struct reboot_driver {
    const struct reboot_ops *ops; /* NULL: it is not configured */
    struct reboot_device *self;
};
struct reboot_drivers {
    struct reboot_driver ssh, bmc;
};

/* Where a machine is, from a pattern: %n node, %i instance id, %r the provider's id, %a address, %% a percent sign. INVALID: another
 * letter; NOT_FOUND: what it names is not known of this machine, or has letters that no address has; TOO_LARGE. */
int reboot_expand(const char *pattern, const struct reboot_target *target, char *ret_text, size_t size);

#endif
