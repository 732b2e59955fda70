/* Reboots by a machine's BMC: ComputerSystem.Reset of Redfish. */
#ifndef HOLDFAST_SERVER_REBOOT_BMC_H
#define HOLDFAST_SERVER_REBOOT_BMC_H

#include "server/reboot/reboot.h"

#define BMC_ADDRESS_MAX_BYTES 300
#define BMC_CREDENTIALS_BYTES_MAX (1 << 20)

struct reboot_bmc_options {
    const char *address; /* a pattern of "https://host", for machines of which no inventory says it; NULL or "": none */
    const char *credentials; /* a file: docs/real-machines.md */
    const char *ca_file;     /* NULL or "": the system's CAs */
    const char *system;      /* a pattern of a system's id; NULL or "": the only one there is */
    int64_t timeout_ms;      /* of each request */
};

/* Copies what it needs, and connects to nothing. */
struct reboot_driver reboot_bmc_new(const struct reboot_bmc_options *options);

/* What people write for a BMC: "10.1.0.7", "bmc-7.example:8443", "https://bmc-7.example/redfish/v1/Systems/1". ret_address is "https://host"
 * and ret_path of a system, or "". INVALID: none of these. */
int bmc_locate(const char *bmc, char ret_address[BMC_ADDRESS_MAX_BYTES], char ret_path[BMC_ADDRESS_MAX_BYTES]);

struct bmc_credentials {
    char user[128], password[256];
    char fingerprint[128]; /* "sha256:…" of its public key; "": its certificate is verified */
    bool for_all;          /* the entry default: the file does not name this address */
};
/* Of one BMC, by its address. NOT_FOUND, INVALID with a sentence in ret_error. */
int bmc_credentials_read(const char *text, size_t len, const char *address, struct bmc_credentials *ret_credentials,
                         char ret_error[REBOOT_ERROR_MAX]);

#endif
