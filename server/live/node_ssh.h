/* Runs commands on nodes over SSH. */
#ifndef HOLDFAST_SERVER_NODE_SSH_H
#define HOLDFAST_SERVER_NODE_SSH_H

#include "server/live/node_commands.h"

/* As whom hpd logs in; all borrowed. */
struct node_ssh {
    const char *user, *key_file, *agent; /* "": without that one */
    int port;
};
/* A node_command_run_fn; arg is a struct node_ssh. */
int node_ssh_run(struct node_command *command, const atomic_bool *stop, void *arg);

#endif
