/*
 * The provider kind "command": a site's executables, one for each action, in one directory. hpd(8) and
 * docs/provider-command.schema.json say what they get and what they answer; docs/examples/providers has some.
 *
 *   STATE/calls/<hash of action and key>/lock           held by the process that runs it
 *                                       request.json    what it is to run; gone once it has read it, as it holds the token
 *                                       outcome.json    what came of it
 *
 * What has an effect (launch, reboot, terminate) runs in a process of its own, "hpd provider-call DIR", which outlives hpd: whoever asks
 * again under the same key waits for it, or gets what it answered. An action that was done is never run again under its key.
 */
#ifndef HOLDFAST_SERVER_PROVIDER_COMMAND_COMMAND_H
#define HOLDFAST_SERVER_PROVIDER_COMMAND_COMMAND_H

#include "server/provider/provider.h"

#define COMMAND_VARIABLES_MAX 32
#define COMMAND_TIMEOUT_MS INT64_C(120000)

struct command_options {
    const char *name;             /* of the provider */
    const char *directory;        /* of the executables; an absolute path */
    const char *state_dir;        /* ours */
    const char *self_path;        /* the hpd binary */
    const char *const *variables; /* NAME=VALUE, added to the small environment; NULL-terminated, NULL: none */
    int64_t timeout_ms;           /* of one call */
    bool end_orphans;             /* see provider_ops */
};

/* Copies what it needs. INVALID, with a sentence (PROVIDER_ERROR_MAX bytes), for an executable that is missing; IO. */
int command_new(const struct command_options *options, struct provider_driver *ret_driver, char *ret_error);

/* The body of "hpd provider-call DIR". Returns an exit code. */
int command_call_main(const char *dir);

#endif
