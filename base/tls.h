/*
 * Server certificates: load a given pair, or make one (ECDSA P-256, ten years) at the
 * first start. The fingerprint is "sha256:" and base64 of SHA-256 over the public key's
 * SubjectPublicKeyInfo, the form libcurl pins, so it survives a renewal with the same key.
 */
#ifndef HOLDFAST_BASE_TLS_H
#define HOLDFAST_BASE_TLS_H

#include "base/clock.h"

#include <stdbool.h>

#define TLS_FINGERPRINT_MAX 64

struct tls_request {
    const char *cert_path, *key_path;
    const struct clock *clock; /* NULL: the system's */
    /* Names and addresses that a certificate of ours must have beside localhost; NULL and "" are left out. */
    const char *const *names;
    size_t name_count;
    /* Those that a new one gets as well, and whose absence is no reason to make one: a machine's addresses come and go. */
    const char *const *also;
    size_t also_count;
};

struct tls_pair {
    char *cert_pem, *key_pem;
    char fingerprint[TLS_FINGERPRINT_MAX];
    bool self_made;  /* by us, and so its own authority */
    int64_t ends_at; /* of the first certificate; 0: not known */
    bool renewed;    /* the one that was there lacked a name or was near its end */
};

/* Reads cert_path and key_path; makes and writes both (0644, 0600) when neither exists. A certificate of ours that lacks a name, or has
 * less than a year left, is made again for the same key; anybody else's is never touched. tls_pair_free frees what it made. */
int tls_ensure_certificate(const struct tls_request *request, struct tls_pair *ret_pair);
void tls_pair_free(struct tls_pair *pair); /* the contents; accepts empty ones */

#endif
