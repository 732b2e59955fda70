/*
 * What workers say to their launcher: a Unix socket with HyperPod's framing (four bytes of length, then JSON) and its messages, and one of
 * ours, the heartbeat. Whoever may connect is the user that we run as: the socket is nobody else's.
 */
#ifndef HOLDFAST_AGENTS_LAUNCHER_SOCKET_H
#define HOLDFAST_AGENTS_LAUNCHER_SOCKET_H

#include "agents/launcher/launcher.h"

struct socket_server;

/* STATUS_IO, said. */
int socket_open(struct launcher *launcher, struct socket_server **ret_server);
void socket_close(struct socket_server *server); /* accepts NULL */
const char *socket_path(const struct socket_server *server);

/* What the last workers have said is of no interest any more, but the checkpoints. */
void socket_forget(struct socket_server *server);
/* For /status: progress {prefix: {progressData, progressCount}}, worker_data, rank_labels; each left out where there is none. */
void socket_describe(const struct socket_server *server, json_t *status);
/* What the operator says that all have agreed on. */
void socket_set_progress(struct socket_server *server, const json_t *progress);

#endif
