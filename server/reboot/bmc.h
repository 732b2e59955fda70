/* Reboots by a machine's BMC: ComputerSystem.Reset of Redfish. */
#ifndef HOLDFAST_SERVER_REBOOT_BMC_H
#define HOLDFAST_SERVER_REBOOT_BMC_H

#include "server/reboot/reboot.h"

#define BMC_CREDENTIALS_BYTES_MAX (1 << 20)

struct reboot_bmc_options {
    const char *address;     /* a pattern of "https://host" */
    const char *credentials; /* a file: docs/real-machines.md */
    const char *ca_file;     /* NULL or "": the system's CAs */
    const char *system;      /* a pattern of a system's id; NULL or "": the only one there is */
    int64_t timeout_ms;      /* of each request */
};

/* Copies what it needs, and connects to nothing. */
struct reboot_driver reboot_bmc_new(const struct reboot_bmc_options *options);

struct bmc_credentials {
    char user[128], password[256];
    char fingerprint[128]; /* "sha256:…" of its public key; "": its certificate is verified */
};
/* Of one BMC, by its address. NOT_FOUND, INVALID with a sentence in ret_error. */
int bmc_credentials_read(const char *text, size_t len, const char *address, struct bmc_credentials *ret_credentials,
                         char ret_error[REBOOT_ERROR_MAX]);

#endif
