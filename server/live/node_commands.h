/*
 * Commands that people run on nodes through hpd: a few threads of their own, a short queue, and the output of the newest. In memory: a
 * restart forgets them, and what the timeline says of them stays. Thread-safe.
 *
 * A node that hangs holds one of these threads until its command's deadline, and nothing else of hpd. One node holds at most
 * NODE_COMMANDS_OF_NODE_MAX of them, so the others stay free for other nodes.
 */
#ifndef HOLDFAST_SERVER_NODE_COMMANDS_H
#define HOLDFAST_SERVER_NODE_COMMANDS_H

#include "base/clock.h"
#include "base/enum.h"
#include "base/id.h"
#include "model/limits.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#define NODE_COMMANDS_MAX 64 /* that wait, run or are remembered */
#define NODE_COMMANDS_OF_NODE_MAX 2
#define NODE_COMMAND_WAIT_MAX_MS \
    30000 /* for a thread: a command that waited longer does not run, as its caller has given up */
#define NODE_COMMAND_TEXT_MAX 401 /* the event that records it has all of it */
#define NODE_COMMAND_KEYS_MAX 1024
#define NODE_COMMAND_OUT_BYTES_MAX ((size_t)256 * 1024)
#define NODE_COMMAND_ERROR_MAX 256

#define NODE_COMMAND_STATE_LIST(X)                         \
    X(WAITING, "waiting") /* for a thread */               \
    X(RUNNING, "running")                                  \
    X(ENDED, "ended")   /* with an exit code, whichever */ \
    X(FAILED, "failed") /* it did not run, or its end is not known */
enum node_command_state {
#define X(SYMBOL, text) NODE_COMMAND_STATE_##SYMBOL,
    NODE_COMMAND_STATE_LIST(X)
#undef X
};
ENUM_DECLARE(node_command_state);

struct node_command {
    char id[ID_UUID_MAX];
    int64_t node_id;
    char cluster[NAME_MAX_BYTES], node[NODE_NAME_MAX_BYTES], actor[NAME_MAX_BYTES], address[ADDRESS_MAX_BYTES];
    char host_keys[NODE_COMMAND_KEYS_MAX]; /* that the node's agent reports, as lines of OpenSSH's known hosts */
    char text[NODE_COMMAND_TEXT_MAX];
    int64_t timeout_ms;
    enum node_command_state state;
    int64_t asked_at, started_at, ended_at; /* 0: not yet */
    int exit_code;
    char *out, *err;                    /* once ended; owned */
    bool cut;                           /* more came than is kept */
    char error[NODE_COMMAND_ERROR_MAX]; /* why it failed */
};
void node_command_release(struct node_command *command); /* what it owns */

/* Runs it and writes exit_code, out, err and cut, or error with a negative status. Ends soon once *stop is set. */
typedef int (*node_command_run_fn)(struct node_command *command, const atomic_bool *stop, void *arg);

struct node_commands;
/* NULL: no thread could be started. run and arg stay the caller's, until node_commands_free. */
struct node_commands *node_commands_new(node_command_run_fn run, void *arg, const struct clock *clock, int threads);
/* Ends what runs. Accepts NULL. */
void node_commands_free(struct node_commands *commands);

/* Takes a place for the command, which does not run yet. FULL: too many wait or run, of this node or of all. */
int node_commands_add(struct node_commands *commands, const struct node_command *command);
/* It runs from now on, or it is forgotten. */
void node_commands_go(struct node_commands *commands, const char *id);
void node_commands_drop(struct node_commands *commands, const char *id);
/* A copy, released by node_command_release. NOT_FOUND. */
int node_commands_get(struct node_commands *commands, const char *id, struct node_command *ret_command);

#endif
