/*
 * hprun's HTTP server: libmicrohttpd without a thread of its own, in hprun's loop. The only file that knows it is http.c.
 */
#ifndef HOLDFAST_AGENTS_LAUNCHER_HTTP_H
#define HOLDFAST_AGENTS_LAUNCHER_HTTP_H

#include "agents/launcher/launcher.h"

struct http_server;

/* Listens as the options say and tries again for a while where the port is taken. STATUS_IO, said. */
int http_open(struct launcher *launcher, struct http_server **ret_server);
void http_close(struct http_server *server); /* accepts NULL */
int http_port(const struct http_server *server);
/* Lets libmicrohttpd do what has become due; returns how long it may be left alone, -1: until something comes. */
int64_t http_run(struct http_server *server);

#endif
