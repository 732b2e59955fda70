/*
 * The local provider: an instance is a directory and a few processes on this machine, held
 * together by one supervisor that plays the part of the machine itself.
 *
 *   DIR/<instance id>/instance.json   what it is (key, node, services), written before it starts
 *                     boot_id         a new UUID at each boot
 *                     kmsg            its kernel log, begun anew at each boot
 *                     agent/          hp-agent's state (credential, spool); gone with the instance
 *                     log/            output of each service
 *                     machine.pid     the supervisor's pid and start time
 *
 * Services are command templates from the configuration; {node}, {instance}, {dir}, {kmsg},
 * {bootIdFile}, {server}, {fingerprint}, {tokenFile}, {group}, {cluster}, {image}, {release}, {zone} are replaced in each
 * argument. An argument {firstStart:X} is X when the service starts with the machine and left out when it is started again after it ended.
 */
#ifndef HOLDFAST_SERVER_PROVIDER_LOCAL_LOCAL_H
#define HOLDFAST_SERVER_PROVIDER_LOCAL_LOCAL_H

#include "server/provider/provider.h"

#define LOCAL_SERVICES_MAX 8
#define LOCAL_ARGS_MAX 32

struct local_service {
    char name[NAME_MAX_BYTES];
    char *argv[LOCAL_ARGS_MAX + 1]; /* templates; NULL-terminated */
};

struct local_options {
    const char *dir;
    const char *self_path; /* the hpd binary: "hpd machine DIR/<id>" is the supervisor */
    const struct local_service *services;
    size_t service_count;
    int64_t boot_delay_ms; /* how long a pretend boot takes */
};

/* Whether a service's command can be expanded at all. INVALID or TOO_LARGE with a sentence (PROVIDER_ERROR_MAX bytes). */
int local_check_command(char *const argv[], char *ret_error);
/* Copies what it needs. */
int local_new(const struct local_options *options, struct provider_driver *ret_driver);

/* The body of "hpd machine DIR": runs the services, kills every descendant on SIGTERM (power off),
 * boots again on SIGHUP (reboot). Returns an exit code. */
int local_machine_main(const char *instance_dir);
/* The body of "hpd machine-reboot DIR": what a machine's own agent, or a command over SSH, reboots it by. Returns an exit code; it is
 * among the processes that the reboot ends. */
int local_machine_reboot_main(const char *instance_dir);

#endif
