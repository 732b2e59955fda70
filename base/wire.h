/*
 * The small HTTP/1.1 client of hp-agent and of the load generator: POST and GET over one kept
 * connection, plain or TLS (GnuTLS), with deadlines. Why not libcurl: its thirty shared
 * libraries alone cost more memory than the whole agent may use.
 */
#ifndef HOLDFAST_BASE_WIRE_H
#define HOLDFAST_BASE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WIRE_ERROR_MAX 160
#define WIRE_REPLY_BYTES_MAX 65536

struct wire;

struct wire_options {
    const char *url;         /* http://host:port or https://host:port */
    const char *fingerprint; /* as in base/http.h; https without it verifies against ca_file or the system */
    const char *ca_file;
    int64_t timeout_ms;     /* for a whole exchange, connecting included */
    size_t reply_bytes_max; /* of a body; 0: WIRE_REPLY_BYTES_MAX */
};

int wire_new(const struct wire_options *options, struct wire **ret_wire, char ret_error[WIRE_ERROR_MAX]);
void wire_free(struct wire *wire);
/* POSTs JSON with Authorization: Bearer token (NULL: none). Reconnects once when a kept connection
 * turns out to be closed before any reply byte came. *ret_body points into wire and lives until the
 * next call. UNAVAILABLE, TIMEOUT, DENIED (certificate), BACKEND (not HTTP, or a body above the limit). */
int wire_post(struct wire *wire, const char *path, const char *token, const void *body, size_t len, int *ret_status,
              const char **ret_body, size_t *ret_len, char ret_error[WIRE_ERROR_MAX]);

/* Whole lines of headers, each with its end, for the exchanges that follow; NULL: none. */
void wire_headers(struct wire *wire, const char *lines);
/* For the exchanges that follow: the time of each, and the bytes of a body. */
void wire_limits(struct wire *wire, int64_t timeout_ms, size_t reply_bytes_max);
/* What its requests say as Host: without the port where that is the scheme's. */
#define WIRE_HOST_MAX 272
void wire_host(const struct wire *wire, char ret_host[WIRE_HOST_MAX]);

/* The same as a GET, of a path that needs no escaping any more. */
int wire_get(struct wire *wire, const char *path, const char *token, int *ret_status, const char **ret_body,
             size_t *ret_len, char ret_error[WIRE_ERROR_MAX]);

/*
 * The same without waiting, for a program with a loop of its own:
 *
 *     wire_start(...);
 *     wait until wire_fd() is ready for wire_events() or wire_deadline_ms() (monotonic) is reached; then
 *     wire_step(..., &done, ...) until it fails or done; then wire_reply().
 *
 * The descriptor may change with every step. Only looking up a host name blocks; an address does not.
 * After a failure the exchange is over and the connection closed; the next start makes a new one.
 */
/* body NULL: a GET. */
int wire_start(struct wire *wire, const char *path, const char *token, const void *body, size_t len,
               char ret_error[WIRE_ERROR_MAX]);
int wire_step(struct wire *wire, bool *ret_done, char ret_error[WIRE_ERROR_MAX]);
/* This end of the connection that was made last, kept or not; "" before the first. */
const char *wire_address(const struct wire *wire);
void wire_reply(const struct wire *wire, int *ret_status, const char **ret_body, size_t *ret_len);
bool wire_is_busy(const struct wire *wire);
int wire_fd(const struct wire *wire);
short wire_events(const struct wire *wire); /* POLLIN or POLLOUT */
int64_t wire_deadline_ms(const struct wire *wire);
/* Gives up what is under way and closes the connection. */
void wire_abort(struct wire *wire);

#endif
