/*
 * A reboot over SSH: two commands over one connection. The first only reads the boot id, so what fails there has done nothing; a
 * machine of another boot, or the wrong machine, is left alone. The second reboots, and only while the boot id is still that one:
 * so a command that was sent twice, or late, reboots no machine that has rebooted already.
 */
#include "server/reboot/ssh.h"

#include "base/own.h"
#include "base/ssh.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUT_BYTES_MAX 4096
#define COMMAND_MAX_BYTES 1024
#define HOST_MAX_BYTES 256

struct reboot_device {
    char *address, *user, *key_file, *agent, *known_hosts, *command, *boot_id_file;
    int port;
    int64_t timeout_ms;
};

/* The last line of what a command wrote, for people. */
static void last_line(const char *text, char *ret_line, size_t size)
{
    size_t end = strlen(text);
    while (end > 0 && (unsigned char)text[end - 1] <= ' ')
        end--;
    size_t begin = end;
    while (begin > 0 && text[begin - 1] != '\n')
        begin--;
    size_t used = 0;
    for (size_t i = begin; i < end && used + 1 < size; i++)
        ret_line[used++] = (unsigned char)text[i] >= ' ' && (unsigned char)text[i] < 0x7f ? text[i] : '?';
    ret_line[used] = '\0';
}

#define SIGNALLED 128 /* and more: a shell's exit status of what a signal ended */

static int refuse(const char *host, const struct child_result *result, const char *what, char *ret_error)
{
    char line[128];
    last_line(result->err != NULL && result->err[0] != '\0' ? result->err : text_or_empty(result->out), line,
              sizeof(line));
    snprintf(ret_error, REBOOT_ERROR_MAX, "%.80s: %s ended with exit code %d%s%s", host, what, result->exit_code,
             line[0] != '\0' ? ": " : "", line);
    return STATUS_BACKEND;
}

/* UNAVAILABLE: nobody answered in time, and nothing was done. */
static int check_boot(const struct reboot_device *device, struct ssh *ssh, const char *host, const char *file,
                      const char *boot_id, char *ret_error)
{
    const char *const argv[] = {"cat", file, NULL};
    autofree char *command = ssh_quote(argv);
    struct child_result result;
    int status = ssh_run(ssh, command, device->timeout_ms, OUT_BYTES_MAX, &result, ret_error);
    if (status != 0)
        return status == STATUS_TIMEOUT ? STATUS_UNAVAILABLE : status;
    if (result.exit_code != 0) {
        status = refuse(host, &result, "reading the boot id", ret_error);
    } else {
        char seen[BOOT_ID_MAX_BYTES];
        last_line(result.out, seen, sizeof(seen));
        if (!text_equal(seen, boot_id)) {
            snprintf(ret_error, REBOOT_ERROR_MAX, "%.80s runs the boot %.60s, and %.60s was to end", host, seen,
                     boot_id);
            status = STATUS_CONFLICT;
        }
    }
    child_result_free(&result);
    return status;
}

/* TIMEOUT: whether the command ran is not known. */
static int run(const struct reboot_device *device, struct ssh *ssh, const char *host, const char *file,
               const char *boot_id, const char *command, char *ret_error)
{
    const char *const words[] = {file, NULL}, *const boot[] = {boot_id, NULL};
    autofree char *quoted = ssh_quote(words), *expected = ssh_quote(boot);
    autofree char *guarded = own_printf("test \"$(cat %s)\" = %s || { echo 'it has another boot' >&2; exit 1; }\n%s",
                                        quoted, expected, command);
    struct child_result result;
    int status = ssh_run(ssh, guarded, device->timeout_ms, OUT_BYTES_MAX, &result, ret_error);
    if (status != 0)
        return status == STATUS_UNAVAILABLE || status == STATUS_IO ? STATUS_TIMEOUT : status;
    if (result.exit_code >= SIGNALLED) { /* by the shutdown that it began, perhaps: the new boot is waited for */
        snprintf(ret_error, REBOOT_ERROR_MAX, "%.100s: the command was ended by a signal", host);
        status = STATUS_TIMEOUT;
    } else if (result.exit_code != 0) {
        status = refuse(host, &result, "the command", ret_error);
    }
    child_result_free(&result);
    return status;
}

static int expand(const char *what, const char *pattern, const struct reboot_target *target, char *ret_text,
                  size_t size, char *ret_error)
{
    int status = reboot_expand(pattern, target, ret_text, size);
    if (status == 0)
        return 0;
    snprintf(ret_error, REBOOT_ERROR_MAX, "%s %.100s: %s", what, pattern,
             status == STATUS_NOT_FOUND ? "it is not known of this machine" : status_meaning(status));
    return STATUS_INVALID;
}

static int over_ssh(struct reboot_device *device, const struct reboot_target *target, enum reboot_method method,
                    char ret_error[REBOOT_ERROR_MAX])
{
    char host[HOST_MAX_BYTES], file[COMMAND_MAX_BYTES], command[COMMAND_MAX_BYTES];
    (void)method;
    if (target->boot_id[0] == '\0') {
        snprintf(ret_error, REBOOT_ERROR_MAX, "no agent has told the boot id that is to end");
        return STATUS_INVALID;
    }
    int status = expand("ssh.address", device->address, target, host, sizeof(host), ret_error);
    if (status == 0)
        status = expand("ssh.bootIdFile", device->boot_id_file, target, file, sizeof(file), ret_error);
    if (status == 0)
        status = expand("ssh.command", device->command, target, command, sizeof(command), ret_error);
    if (status != 0)
        return status;
    const struct ssh_options options = {.host = host,
                                        .user = device->user,
                                        .port = device->port,
                                        .key_file = device->key_file,
                                        .agent = device->agent,
                                        .known_hosts = device->known_hosts};
    struct ssh *ssh = ssh_new(&options);
    status = check_boot(device, ssh, host, file, target->boot_id, ret_error);
    if (status == 0)
        status = run(device, ssh, host, file, target->boot_id, command, ret_error);
    ssh_free(ssh);
    return status;
}

static void device_free(struct reboot_device *device)
{
    free(device->address);
    free(device->user);
    free(device->key_file);
    free(device->agent);
    free(device->known_hosts);
    free(device->command);
    free(device->boot_id_file);
    free(device);
}

struct reboot_driver reboot_ssh_new(const struct reboot_ssh_options *options)
{
    static const struct reboot_ops ops = {.reboot = over_ssh, .free = device_free};
    struct reboot_device *device = own_calloc(1, sizeof(*device));
    device->address = own_strdup(options->address);
    device->user = own_strdup(options->user);
    device->key_file = own_strdup(text_or_empty(options->key_file));
    device->agent = own_strdup(text_or_empty(options->agent));
    device->known_hosts = own_strdup(options->known_hosts);
    device->command = own_strdup(options->command);
    device->boot_id_file = own_strdup(options->boot_id_file);
    device->port = options->port;
    device->timeout_ms = options->timeout_ms;
    return (struct reboot_driver){.ops = &ops, .self = device};
}
