/* The sections ssh and bmc of hpd's configuration: how machines are rebooted that no provider reboots. */
#ifndef HOLDFAST_SERVER_CONFIG_REBOOT_H
#define HOLDFAST_SERVER_CONFIG_REBOOT_H

#include "base/json.h"
#include "server/reboot/reboot.h"

#include <limits.h>

struct config_reboot {
    struct {
        bool given;
        char address[ADDRESS_MAX_BYTES], user[NAME_MAX_BYTES], key_file[PATH_MAX], agent[PATH_MAX],
            known_hosts[PATH_MAX], command[512], boot_id_file[PATH_MAX];
        int64_t port, timeout_ms;
    } ssh;
    struct {
        bool given;
        char address[ADDRESS_MAX_BYTES], credentials[PATH_MAX], ca_file[PATH_MAX], system[ADDRESS_MAX_BYTES];
        int64_t timeout_ms;
    } bmc;
};

/* INVALID with the key's path in ret_error (CONFIG_ERROR_MAX bytes). */
int config_reboot_read_ssh(struct config_reboot *reboot, json_t *json, char *ret_error);
int config_reboot_read_bmc(struct config_reboot *reboot, json_t *json, char *ret_error);
/* What is not configured has no ops. */
struct reboot_drivers config_reboot_make(const struct config_reboot *reboot);
void config_reboot_end(struct reboot_drivers *drivers);

#endif
