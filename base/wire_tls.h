/*
 * TLS for base/wire.c, loaded when the first https address is used. Not for others.
 */
#ifndef HOLDFAST_BASE_WIRE_TLS_H
#define HOLDFAST_BASE_WIRE_TLS_H

#include "base/id.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define WIRE_TLS_AGAIN 1 /* wait for *ret_events, then call again */

struct wire_tls;

struct wire_tls_options {
    const char *host;    /* for the server's name and, without a pin, its certificate */
    const uint8_t *pin;  /* ID_SHA256_BYTES over the SubjectPublicKeyInfo; NULL: verify against CAs */
    const char *ca_file; /* NULL: the system's CAs */
};

/* On a connected non-blocking socket, which stays the caller's. UNSUPPORTED when there is no GnuTLS here, INVALID for a
 * broken CA file; a sentence goes to ret_error. */
int wire_tls_new(int fd, const struct wire_tls_options *options, struct wire_tls **ret_tls, char *ret_error,
                 size_t error_size);
void wire_tls_free(struct wire_tls *tls);
/* 0, AGAIN, DENIED when the certificate is not the right one, UNAVAILABLE. */
int wire_tls_handshake(struct wire_tls *tls, short *ret_events, char *ret_error, size_t error_size);
/* 0 with *ret_len > 0, AGAIN, or UNAVAILABLE; receiving 0 bytes with status 0 is the end. */
int wire_tls_send(struct wire_tls *tls, const void *data, size_t len, size_t *ret_len, short *ret_events);
int wire_tls_receive(struct wire_tls *tls, void *ret_data, size_t size, size_t *ret_len, short *ret_events);

#endif
