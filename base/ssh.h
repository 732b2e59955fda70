/*
 * Commands on another machine over SSH (libssh2): known host keys only, a key file or an agent, one deadline for
 * all of it, connections that are used again.
 *
 * A host is known when the file of known hosts holds its key; nothing is learnt on first contact, as what is run over this
 * drains and reboots nodes. Thread-safe: each command has a connection to itself.
 */
#ifndef HOLDFAST_BASE_SSH_H
#define HOLDFAST_BASE_SSH_H

#include "base/child.h"

#include <stdatomic.h>

#define SSH_ERROR_MAX 256
#define SSH_PORT 22

struct ssh_options {
    const char *host, *user;
    int port;             /* 0: SSH_PORT */
    const char *key_file; /* a private key without passphrase that nobody else may read; NULL or "": the agent's keys */
    const char *agent;    /* its socket; NULL or "": $SSH_AUTH_SOCK */
    const char *known_hosts; /* a file as of OpenSSH; NULL: known_keys */
    const char *known_keys;  /* lines as of such a file */
    const atomic_bool *stop; /* commands end soon once it is set, as if their deadline had passed; NULL: never */
};

struct ssh;
/* Copies what it needs and connects to nothing yet. Caller frees with ssh_free when no command runs. */
struct ssh *ssh_new(const struct ssh_options *options);
void ssh_free(struct ssh *ssh); /* accepts NULL */

/* argv as text for a POSIX shell: each word is quoted. Caller frees. */
char *ssh_quote(const char *const argv[]);

/* Runs command through the user's shell there, and waits for it until timeout_ms. 0 when its exit code is known: ret_result, freed
 * with child_result_free. Else TIMEOUT, UNAVAILABLE (nobody answers, or it broke off: the command may have been run), DENIED
 * (an unknown or another host key, or we are not let in) or IO (files of ours cannot be read), with a sentence in
 * ret_error. The command that passed its deadline goes on there unless it ends itself. Two things block beyond the deadline: the
 * lookup of a host's name, which takes as long as the resolver's own limits say, and an agent of this machine that does not answer. */
int ssh_run(struct ssh *ssh, const char *command, int64_t timeout_ms, size_t out_bytes_max,
            struct child_result *ret_result, char ret_error[SSH_ERROR_MAX]);

#endif
