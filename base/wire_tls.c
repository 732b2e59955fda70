/*
 * TLS 1.2 and 1.3 over a socket that is ready (GnuTLS).
 *
 * The library is opened at the first https address and not linked: with its seven dependencies it brings 2.5 MB
 * into a process, more than all the rest of an agent, and an agent on the loopback needs none of it.
 *
 * A pinned key is the whole proof: names, dates and authorities are then not looked at, because the
 * fingerprint came over a channel that was already trusted (the enrolment token). Without a pin all of them are.
 */
#include "base/wire_tls.h"

#include "base/own.h"
#include "base/status.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libgnutls.so.30"
/* Sessions are not resumed: a connection is kept for days, and tickets would cost memory for nothing. */
#define SESSION_FLAGS (GNUTLS_CLIENT | GNUTLS_NONBLOCK | GNUTLS_NO_SIGNAL | GNUTLS_NO_TICKETS)
#define PRIORITY "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

#define FUNCTIONS(X)                            \
    X(gnutls_init)                              \
    X(gnutls_deinit)                            \
    X(gnutls_strerror)                          \
    X(gnutls_error_is_fatal)                    \
    X(gnutls_free)                              \
    X(gnutls_priority_set_direct)               \
    X(gnutls_credentials_set)                   \
    X(gnutls_server_name_set)                   \
    X(gnutls_transport_set_int2)                \
    X(gnutls_handshake)                         \
    X(gnutls_record_send)                       \
    X(gnutls_record_recv)                       \
    X(gnutls_record_get_direction)              \
    X(gnutls_session_set_ptr)                   \
    X(gnutls_session_get_ptr)                   \
    X(gnutls_session_set_verify_cert)           \
    X(gnutls_certificate_allocate_credentials)  \
    X(gnutls_certificate_free_credentials)      \
    X(gnutls_certificate_get_peers)             \
    X(gnutls_certificate_set_verify_function)   \
    X(gnutls_certificate_set_x509_system_trust) \
    X(gnutls_certificate_set_x509_trust_file)   \
    X(gnutls_pcert_import_x509_raw)             \
    X(gnutls_pcert_deinit)                      \
    X(gnutls_pubkey_export2)

/* gnutls_free is a variable that holds a function, so its pointer has one star more. */
static struct library {
#define X(name) __typeof__(&name) name;
    FUNCTIONS(X)
#undef X
    bool loaded;
} tls_library;

static pthread_once_t once = PTHREAD_ONCE_INIT;

struct wire_tls {
    gnutls_session_t session;
    gnutls_certificate_credentials_t credentials;
    uint8_t pin[ID_SHA256_BYTES];
    bool pinned, key_seen, key_matches;
};

/* Never closed again: a library with destructors and thread keys is not made for it. */
static void load_library(void)
{
    void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL)
        return;
    bool complete = true;
#define X(name)                                                 \
    *(void **)(void *)&tls_library.name = dlsym(handle, #name); \
    complete = complete && *(void **)(void *)&tls_library.name != NULL;
    FUNCTIONS(X)
#undef X
    tls_library.loaded = complete;
}

#define CALL(name) tls_library.name

/* GnuTLS asks this in the middle of the handshake; anything but 0 ends it. */
static int verify_pin(gnutls_session_t session)
{
    struct wire_tls *tls = CALL(gnutls_session_get_ptr)(session);
    unsigned count = 0;
    gnutls_pcert_st certificate;
    gnutls_datum_t spki = {0};
    uint8_t digest[ID_SHA256_BYTES];
    tls->key_seen = true;
    const gnutls_datum_t *chain = CALL(gnutls_certificate_get_peers)(session, &count);
    if (chain == NULL || count == 0 ||
        CALL(gnutls_pcert_import_x509_raw)(&certificate, &chain[0], GNUTLS_X509_FMT_DER, 0) != 0)
        return -1;
    int rc = CALL(gnutls_pubkey_export2)(certificate.pubkey, GNUTLS_X509_FMT_DER, &spki);
    CALL(gnutls_pcert_deinit)(&certificate);
    if (rc != 0)
        return -1;
    id_sha256(spki.data, spki.size, digest);
    (*CALL(gnutls_free))(spki.data);
    tls->key_matches = id_equal(digest, tls->pin, sizeof(digest));
    return tls->key_matches ? 0 : -1;
}

static bool is_address(const char *host)
{
    unsigned char ignored[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, host, ignored) == 1 || inet_pton(AF_INET6, host, ignored) == 1;
}

static int set_trust(struct wire_tls *tls, const struct wire_tls_options *options, char *ret_error, size_t error_size)
{
    if (options->pin != NULL) {
        tls->pinned = true;
        memcpy(tls->pin, options->pin, sizeof(tls->pin));
        CALL(gnutls_certificate_set_verify_function)(tls->credentials, verify_pin);
        return 0;
    }
    int rc = options->ca_file != NULL
                 ? CALL(gnutls_certificate_set_x509_trust_file)(tls->credentials, options->ca_file, GNUTLS_X509_FMT_PEM)
                 : CALL(gnutls_certificate_set_x509_system_trust)(tls->credentials);
    if (rc <= 0 && options->ca_file != NULL) {
        snprintf(ret_error, error_size, "no certificate can be read from %s", options->ca_file);
        return STATUS_INVALID;
    }
    CALL(gnutls_session_set_verify_cert)(tls->session, options->host, 0);
    return 0;
}

int wire_tls_new(int fd, const struct wire_tls_options *options, struct wire_tls **ret_tls, char *ret_error,
                 size_t error_size)
{
    pthread_once(&once, load_library);
    if (!tls_library.loaded) {
        snprintf(ret_error, error_size, "https needs " LIBRARY ", which is not installed here");
        return STATUS_UNSUPPORTED;
    }
    struct wire_tls *tls = own_calloc(1, sizeof(*tls));
    int rc = CALL(gnutls_init)(&tls->session, SESSION_FLAGS);
    if (rc == 0)
        rc = CALL(gnutls_certificate_allocate_credentials)(&tls->credentials);
    if (rc == 0)
        rc = CALL(gnutls_priority_set_direct)(tls->session, PRIORITY, NULL);
    if (rc == 0)
        rc = CALL(gnutls_credentials_set)(tls->session, GNUTLS_CRD_CERTIFICATE, tls->credentials);
    if (rc == 0 && !is_address(options->host))
        rc = CALL(gnutls_server_name_set)(tls->session, GNUTLS_NAME_DNS, options->host, strlen(options->host));
    int status = rc == 0 ? 0 : STATUS_IO;
    if (rc != 0)
        snprintf(ret_error, error_size, "TLS: %s", CALL(gnutls_strerror)(rc));
    else
        status = set_trust(tls, options, ret_error, error_size);
    if (status != 0) {
        wire_tls_free(tls);
        return status;
    }
    CALL(gnutls_session_set_ptr)(tls->session, tls);
    CALL(gnutls_transport_set_int2)(tls->session, fd, fd);
    *ret_tls = tls;
    return 0;
}

/* No farewell is sent: the socket may be dead, and nobody waits for it. */
void wire_tls_free(struct wire_tls *tls)
{
    if (tls == NULL)
        return;
    if (tls->session != NULL)
        CALL(gnutls_deinit)(tls->session);
    if (tls->credentials != NULL)
        CALL(gnutls_certificate_free_credentials)(tls->credentials);
    free(tls);
}

static int again(const struct wire_tls *tls, short *ret_events)
{
    *ret_events = CALL(gnutls_record_get_direction)(tls->session) == 0 ? POLLIN : POLLOUT;
    return WIRE_TLS_AGAIN;
}

int wire_tls_handshake(struct wire_tls *tls, short *ret_events, char *ret_error, size_t error_size)
{
    int rc;
    do
        rc = CALL(gnutls_handshake)(tls->session);
    while (rc == GNUTLS_E_INTERRUPTED);
    if (rc == 0 && (!tls->pinned || tls->key_matches))
        return 0;
    if (rc != 0 && !CALL(gnutls_error_is_fatal)(rc))
        return again(tls, ret_events);
    if (tls->pinned && (tls->key_seen || rc == 0)) {
        snprintf(ret_error, error_size, "the server's key does not match the fingerprint");
        return STATUS_DENIED;
    }
    snprintf(ret_error, error_size, "TLS: %s", CALL(gnutls_strerror)(rc));
    return rc == GNUTLS_E_CERTIFICATE_VERIFICATION_ERROR || rc == GNUTLS_E_CERTIFICATE_ERROR ? STATUS_DENIED
                                                                                             : STATUS_UNAVAILABLE;
}

static int result(struct wire_tls *tls, ssize_t n, size_t *ret_len, short *ret_events)
{
    if (n < 0)
        return CALL(gnutls_error_is_fatal)((int)n) ? STATUS_UNAVAILABLE : again(tls, ret_events);
    *ret_len = (size_t)n;
    return 0;
}

int wire_tls_send(struct wire_tls *tls, const void *data, size_t len, size_t *ret_len, short *ret_events)
{
    ssize_t n;
    do
        n = CALL(gnutls_record_send)(tls->session, data, len);
    while (n == GNUTLS_E_INTERRUPTED);
    return result(tls, n, ret_len, ret_events);
}

int wire_tls_receive(struct wire_tls *tls, void *ret_data, size_t size, size_t *ret_len, short *ret_events)
{
    ssize_t n;
    do
        n = CALL(gnutls_record_recv)(tls->session, ret_data, size);
    while (n == GNUTLS_E_INTERRUPTED);
    return result(tls, n, ret_len, ret_events);
}
