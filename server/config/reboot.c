/* Patterns are checked when the file is read, and not when the first machine is rebooted. */
#include "server/config/reboot.h"

#include "base/clock.h"
#include "base/ssh.h"
#include "base/status.h"
#include "base/text.h"
#include "base/url.h"
#include "server/config/config.h"
#include "server/config/section.h"
#include "server/reboot/bmc.h"
#include "server/reboot/ssh.h"

#include <stdio.h>

#define TIMEOUT_MS (30 * MS_PER_S)
#define LETTERS "%n (node), %i (instance), %r (the provider's id) and %a (address) stand for what is known of a machine"

static int refuse(char *ret_error, const char *path, const char *rule)
{
    snprintf(ret_error, CONFIG_ERROR_MAX, "%s %s", path, rule);
    return STATUS_INVALID;
}

/* A machine of which everything is known, to try a pattern on. */
static int try_pattern(const char *path, const char *pattern, char *ret_text, size_t size, char *ret_error)
{
    const struct reboot_target target = {
        .node = "n", .instance_id = "i-0", .ref = "r", .address = "127.0.0.1", .bmc = "", .boot_id = "b", .key = "k"};
    if (reboot_expand(pattern, &target, ret_text, size) == 0)
        return 0;
    return refuse(ret_error, path, "has a % that stands for nothing: " LETTERS);
}

int config_reboot_read_ssh(struct config_reboot *reboot, json_t *json, char *ret_error)
{
    char text[1024];
    text_copy_cut(reboot->ssh.address, sizeof(reboot->ssh.address), "%n");
    text_copy_cut(reboot->ssh.command, sizeof(reboot->ssh.command), "systemctl reboot");
    text_copy_cut(reboot->ssh.boot_id_file, sizeof(reboot->ssh.boot_id_file), "/proc/sys/kernel/random/boot_id");
    reboot->ssh.port = SSH_PORT;
    reboot->ssh.timeout_ms = TIMEOUT_MS;
    const struct key keys[] = {
        {"address", KEY_TEXT, reboot->ssh.address, sizeof(reboot->ssh.address), 0, 0},
        {"port", KEY_INT, &reboot->ssh.port, sizeof(reboot->ssh.port), 1, UINT16_MAX},
        {"user", KEY_TEXT, reboot->ssh.user, sizeof(reboot->ssh.user), 0, 0},
        {"keyFile", KEY_TEXT, reboot->ssh.key_file, sizeof(reboot->ssh.key_file), 0, 0},
        {"agent", KEY_TEXT, reboot->ssh.agent, sizeof(reboot->ssh.agent), 0, 0},
        {"knownHosts", KEY_TEXT, reboot->ssh.known_hosts, sizeof(reboot->ssh.known_hosts), 0, 0},
        {"command", KEY_TEXT, reboot->ssh.command, sizeof(reboot->ssh.command), 0, 0},
        {"bootIdFile", KEY_TEXT, reboot->ssh.boot_id_file, sizeof(reboot->ssh.boot_id_file), 0, 0},
        {"timeout", KEY_DURATION, &reboot->ssh.timeout_ms, 0, MS_PER_S, 10 * MS_PER_MIN},
    };
    int rc = section_read(json, "ssh", keys, ARRAY_LEN(keys), NULL, ret_error);
    if (rc == 0 && reboot->ssh.user[0] == '\0')
        rc = refuse(ret_error, "ssh", "needs user, who may reboot the machines");
    if (rc == 0 && reboot->ssh.known_hosts[0] == '\0')
        rc = refuse(ret_error, "ssh", "needs knownHosts, a file with the machines' host keys");
    if (rc == 0)
        rc = try_pattern("ssh.address", reboot->ssh.address, text, sizeof(text), ret_error);
    if (rc == 0)
        rc = try_pattern("ssh.command", reboot->ssh.command, text, sizeof(text), ret_error);
    if (rc == 0)
        rc = try_pattern("ssh.bootIdFile", reboot->ssh.boot_id_file, text, sizeof(text), ret_error);
    reboot->ssh.given = rc == 0;
    return rc;
}

int config_reboot_read_bmc(struct config_reboot *reboot, json_t *json, char *ret_error)
{
    char text[1024];
    struct url url;
    const char *why;
    reboot->bmc.timeout_ms = TIMEOUT_MS;
    const struct key keys[] = {
        {"address", KEY_TEXT, reboot->bmc.address, sizeof(reboot->bmc.address), 0, 0},
        {"credentialsFile", KEY_PATH, reboot->bmc.credentials, sizeof(reboot->bmc.credentials), 0, 0},
        {"caFile", KEY_PATH, reboot->bmc.ca_file, sizeof(reboot->bmc.ca_file), 0, 0},
        {"system", KEY_TEXT, reboot->bmc.system, sizeof(reboot->bmc.system), 0, 0},
        {"timeout", KEY_DURATION, &reboot->bmc.timeout_ms, 0, MS_PER_S, 10 * MS_PER_MIN},
    };
    int rc = section_read(json, "bmc", keys, ARRAY_LEN(keys), NULL, ret_error);
    if (rc == 0 && reboot->bmc.credentials[0] == '\0')
        rc = refuse(ret_error, "bmc", "needs credentialsFile, a file with users and passwords");
    if (rc == 0)
        rc = try_pattern("bmc.address", reboot->bmc.address, text, sizeof(text), ret_error);
    if (rc == 0 && text[0] != '\0' && url_parse(text, &url, &why) != 0) {
        snprintf(ret_error, CONFIG_ERROR_MAX, "bmc.address %s: %s", reboot->bmc.address, why);
        rc = STATUS_INVALID;
    }
    if (rc == 0)
        rc = try_pattern("bmc.system", reboot->bmc.system, text, sizeof(text), ret_error);
    reboot->bmc.given = rc == 0;
    return rc;
}

struct reboot_drivers config_reboot_make(const struct config_reboot *reboot)
{
    struct reboot_drivers drivers = {.ssh.ops = NULL};
    const struct reboot_ssh_options ssh = {.address = reboot->ssh.address,
                                           .port = (int)reboot->ssh.port,
                                           .user = reboot->ssh.user,
                                           .key_file = reboot->ssh.key_file,
                                           .agent = reboot->ssh.agent,
                                           .known_hosts = reboot->ssh.known_hosts,
                                           .command = reboot->ssh.command,
                                           .boot_id_file = reboot->ssh.boot_id_file,
                                           .timeout_ms = reboot->ssh.timeout_ms};
    const struct reboot_bmc_options bmc = {.address = reboot->bmc.address,
                                           .credentials = reboot->bmc.credentials,
                                           .ca_file = reboot->bmc.ca_file,
                                           .system = reboot->bmc.system,
                                           .timeout_ms = reboot->bmc.timeout_ms};
    if (reboot->ssh.given)
        drivers.ssh = reboot_ssh_new(&ssh);
    if (reboot->bmc.given)
        drivers.bmc = reboot_bmc_new(&bmc);
    return drivers;
}

void config_reboot_end(struct reboot_drivers *drivers)
{
    const struct reboot_driver all[] = {drivers->ssh, drivers->bmc};
    for (size_t i = 0; i < ARRAY_LEN(all); i++)
        if (all[i].ops != NULL && all[i].ops->free != NULL)
            all[i].ops->free(all[i].self);
    *drivers = (struct reboot_drivers){.ssh.ops = NULL};
}
