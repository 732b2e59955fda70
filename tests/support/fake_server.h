/*
 * A scripted HTTP server on the loopback, in a thread of the test: one connection at a time, each request handed to a
 * function that says, byte by byte, what comes back.
 */
#ifndef HOLDFAST_TESTS_SUPPORT_FAKE_SERVER_H
#define HOLDFAST_TESTS_SUPPORT_FAKE_SERVER_H

#include <stdbool.h>
#include <stddef.h>

#define FAKE_PIECES_MAX 64

struct fake_answer {
    const char *pieces[FAKE_PIECES_MAX]; /* sent one after the other; must stay valid until they are */
    size_t lens[FAKE_PIECES_MAX];        /* 0: the piece is text */
    int count;
    bool close; /* hang up after the last piece */
    bool hold;  /* then send nothing until the client hangs up */
};

/* Runs in the server's thread. request is one whole request, zero-terminated. */
typedef void fake_handler(const char *request, size_t len, struct fake_answer *answer, void *arg);

struct fake_server;

/* host NULL: 127.0.0.1; port 0: any. With PEM texts it speaks TLS. */
struct fake_server *fake_server_start(const char *host, int port, const char *cert_pem, const char *key_pem,
                                      fake_handler *handler, void *arg);
/* Hangs up and ends the thread. */
void fake_server_stop(struct fake_server *server);
int fake_server_port(const struct fake_server *server);
const char *fake_server_url(const struct fake_server *server);
/* Connections accepted so far. */
int fake_server_connections(const struct fake_server *server);

/* Adds a piece "HTTP/1.1 status …" with a JSON body; memory lives as long as the server. */
void fake_answer_json(struct fake_answer *answer, struct fake_server *server, int status, const char *body);

#endif
