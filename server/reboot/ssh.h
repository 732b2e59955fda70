/* Reboots over SSH: a command on the machine itself. */
#ifndef HOLDFAST_SERVER_REBOOT_SSH_H
#define HOLDFAST_SERVER_REBOOT_SSH_H

#include "server/reboot/reboot.h"

struct reboot_ssh_options {
    const char *address; /* a pattern: server/reboot/reboot.h */
    int port;            /* 0: that of SSH */
    const char *user, *key_file, *agent, *known_hosts;
    const char *command;      /* for the user's shell there; a pattern, too */
    const char *boot_id_file; /* there; a pattern, too */
    int64_t timeout_ms;       /* of each of the two commands */
};

/* Copies what it needs, and connects to nothing. */
struct reboot_driver reboot_ssh_new(const struct reboot_ssh_options *options);

#endif
