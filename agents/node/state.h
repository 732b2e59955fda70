/*
 * The agent's state directory.
 *
 *     lock          held while an agent runs
 *     credential    mode 0600: credential, instance it was given to, heartbeat interval
 *     kernel-log    agents/node/progress.h
 *     instance-id   made once when none is given
 *     machine       the machine that the id belongs to, as "NAME VALUE" lines
 *     spool         agents/node/spool.h
 *     standing      agents/node/standing.h
 *     memory-CHECK  what a check stores for its next run
 */
#ifndef HOLDFAST_AGENTS_NODE_STATE_H
#define HOLDFAST_AGENTS_NODE_STATE_H

#include "agents/node/message.h"

#include <stdbool.h>

struct state {
    char *dir;
    int lock_fd;
};

/* Makes the directory (0700). CONFLICT when another agent uses it. */
int state_open(const char *dir, struct state *ret_state);
void state_close(struct state *state);
/* Caller frees. */
char *state_path(const struct state *state, const char *name);

/* NOT_FOUND also when it belongs to another instance: a copied disk must not act as its origin. */
int state_load_credential(const struct state *state, const char *instance_id, struct message_enrolled *ret_enrolled);
/* Of a machine that a site owns: its own credential, "" when there is none, and what it is from now on. */
void state_load_machine(const struct state *state, char ret_credential[CREDENTIAL_MAX_BYTES]);
int state_save_machine(const struct state *state, const char *credential);
/* What is kept of the instance before goes with it. */
int state_become(const struct state *state, const char *instance_id);
int state_save_credential(const struct state *state, const char *instance_id, const struct message_enrolled *enrolled);
/* CONFLICT when it was made on another machine: the disk is a copy, and two machines must not share an id. root is a prefix of
 * /sys and /etc, for tests; else "". */
int state_own_instance_id(const struct state *state, const char *root, char ret_id[ID_INSTANCE_MAX]);

/* First line of a small file: a token, a boot id. INVALID when it is empty, too long or not printable. */
int state_read_line(const char *path, char *dst, size_t size);

#endif
