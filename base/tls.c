/*
 * The server's certificate: loaded, or made at the first start (GnuTLS).
 *
 * ECDSA P-256, because a handshake with it costs a tenth of RSA's. Clients pin the public key and not the
 * certificate: when only the certificate is missing, lacks a name or is near its end, it is made again for the key that is there, and
 * every fingerprint that was handed out stays true. A certificate without its key cannot be repaired and is refused.
 */
#include "base/tls.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "base/own.h"
#include "base/status.h"

#include <arpa/inet.h>
#include <gnutls/abstract.h>
#include <gnutls/gnutls.h>
#include <gnutls/x509.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PEM_BYTES_MAX 65536 /* a chain of several certificates */
#define SERIAL_BYTES 16
#define LIFETIME_S (10 * 365 * 24 * 3600L)
#define EARLY_S (24 * 3600L)       /* clocks of new nodes may be behind */
#define RENEW_S (365 * 24 * 3600L) /* who trusts the certificate by its file needs time to get the next one */
#define HOST_NAME_MAX_BYTES 256
#define COMMON_NAME "holdfast"

static void x509_key_free(gnutls_x509_privkey_t key)
{
    if (key != NULL)
        gnutls_x509_privkey_deinit(key);
}

static void x509_crt_free(gnutls_x509_crt_t crt)
{
    if (crt != NULL)
        gnutls_x509_crt_deinit(crt);
}

AUTO_DEFINE(gnutls_x509_privkey_t, x509_key, x509_key_free)
AUTO_DEFINE(gnutls_x509_crt_t, x509_crt, x509_crt_free)

static char *take_datum(gnutls_datum_t *datum)
{
    char *copy = own_calloc(datum->size + 1, 1);
    memcpy(copy, datum->data, datum->size);
    gnutls_free(datum->data);
    return copy;
}

/* SHA-256 over the SubjectPublicKeyInfo. */
static int fingerprint_of(gnutls_x509_crt_t crt, char ret_fingerprint[TLS_FINGERPRINT_MAX])
{
    gnutls_pubkey_t public_key;
    gnutls_datum_t spki = {0}, base64 = {0};
    uint8_t digest[ID_SHA256_BYTES];
    if (gnutls_pubkey_init(&public_key) != 0)
        return STATUS_IO;
    int rc = gnutls_pubkey_import_x509(public_key, crt, 0);
    if (rc == 0)
        rc = gnutls_pubkey_export2(public_key, GNUTLS_X509_FMT_DER, &spki);
    gnutls_pubkey_deinit(public_key);
    if (rc != 0)
        return STATUS_INVALID;
    id_sha256(spki.data, spki.size, digest);
    gnutls_free(spki.data);
    const gnutls_datum_t raw = {digest, sizeof(digest)};
    if (gnutls_base64_encode2(&raw, &base64) != 0)
        return STATUS_IO;
    snprintf(ret_fingerprint, TLS_FINGERPRINT_MAX, "sha256:%.*s", (int)base64.size, (char *)base64.data);
    gnutls_free(base64.data);
    return 0;
}

static int load_key(const char *path, gnutls_x509_privkey_t *ret_key, char **ret_pem)
{
    autofree char *pem = NULL;
    size_t len;
    int status = file_read(path, PEM_BYTES_MAX, &pem, &len);
    if (status != 0)
        return status;
    gnutls_x509_privkey_t key AUTO(x509_key) = NULL;
    const gnutls_datum_t datum = {(unsigned char *)pem, (unsigned)len};
    if (gnutls_x509_privkey_init(&key) != 0)
        return STATUS_IO;
    if (gnutls_x509_privkey_import2(key, &datum, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN) != 0)
        return STATUS_INVALID;
    *ret_key = TAKE(key);
    *ret_pem = TAKE(pem);
    return 0;
}

/* Of a chain the first one, the server's own. */
static int load_certificate(const char *path, gnutls_x509_crt_t *ret_crt, char **ret_pem)
{
    autofree char *pem = NULL;
    size_t len;
    int status = file_read(path, PEM_BYTES_MAX, &pem, &len);
    if (status != 0)
        return status;
    gnutls_x509_crt_t crt AUTO(x509_crt) = NULL;
    const gnutls_datum_t datum = {(unsigned char *)pem, (unsigned)len};
    if (gnutls_x509_crt_init(&crt) != 0)
        return STATUS_IO;
    if (gnutls_x509_crt_import(crt, &datum, GNUTLS_X509_FMT_PEM) != 0)
        return STATUS_INVALID;
    *ret_crt = TAKE(crt);
    *ret_pem = TAKE(pem);
    return 0;
}

static bool belong_together(gnutls_x509_crt_t crt, gnutls_x509_privkey_t key)
{
    unsigned char of_crt[64], of_key[64];
    size_t crt_len = sizeof(of_crt), key_len = sizeof(of_key);
    return gnutls_x509_crt_get_key_id(crt, GNUTLS_KEYID_USE_SHA256, of_crt, &crt_len) == 0 &&
           gnutls_x509_privkey_get_key_id(key, GNUTLS_KEYID_USE_SHA256, of_key, &key_len) == 0 && crt_len == key_len &&
           memcmp(of_crt, of_key, crt_len) == 0;
}

static int make_key(const char *path, gnutls_x509_privkey_t *ret_key, char **ret_pem)
{
    gnutls_x509_privkey_t key AUTO(x509_key) = NULL;
    gnutls_datum_t datum = {0};
    if (gnutls_x509_privkey_init(&key) != 0 ||
        gnutls_x509_privkey_generate(key, GNUTLS_PK_ECDSA, GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1), 0) != 0 ||
        gnutls_x509_privkey_export2_pkcs8(key, GNUTLS_X509_FMT_PEM, NULL, GNUTLS_PKCS_PLAIN, &datum) != 0)
        return STATUS_IO;
    autofree char *pem = take_datum(&datum);
    int status = file_write(path, pem, strlen(pem), 0600);
    if (status != 0)
        return status;
    *ret_key = TAKE(key);
    *ret_pem = TAKE(pem);
    return 0;
}

static int add_name(gnutls_x509_crt_t crt, const char *name)
{
    unsigned char address[sizeof(struct in6_addr)];
    if (inet_pton(AF_INET, name, address) == 1)
        return gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, address, sizeof(struct in_addr),
                                                    GNUTLS_FSAN_APPEND);
    if (inet_pton(AF_INET6, name, address) == 1)
        return gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_IPADDRESS, address, sizeof(address),
                                                    GNUTLS_FSAN_APPEND);
    return gnutls_x509_crt_set_subject_alt_name(crt, GNUTLS_SAN_DNSNAME, name, (unsigned)strlen(name),
                                                GNUTLS_FSAN_APPEND);
}

/* Beside what the request names. */
static const char *own_name(size_t at, char own[HOST_NAME_MAX_BYTES])
{
    static const char *const fixed[] = {"localhost", "127.0.0.1", "::1"};
    if (at < ARRAY_LEN(fixed))
        return fixed[at];
    own[0] = '\0';
    return gethostname(own, HOST_NAME_MAX_BYTES - 1) == 0 ? own : "";
}
#define OWN_NAMES 4

static int add_names(gnutls_x509_crt_t crt, const struct tls_request *request)
{
    char own[HOST_NAME_MAX_BYTES] = "";
    size_t count = OWN_NAMES + request->name_count + request->also_count;
    for (size_t i = 0; i < count; i++) {
        size_t at = i - OWN_NAMES; /* used only where it is one */
        const char *name = i < OWN_NAMES              ? own_name(i, own)
                           : at < request->name_count ? request->names[at]
                                                      : request->also[at - request->name_count];
        if (name != NULL && name[0] != '\0' && !gnutls_x509_crt_check_hostname(crt, name) && add_name(crt, name) != 0)
            return STATUS_INVALID;
    }
    return 0;
}

static bool has_names(gnutls_x509_crt_t crt, const struct tls_request *request)
{
    char own[HOST_NAME_MAX_BYTES] = "";
    bool has = true;
    for (size_t i = 0; has && i < OWN_NAMES + request->name_count; i++) {
        const char *name = i < OWN_NAMES ? own_name(i, own) : request->names[i - OWN_NAMES];
        has = name == NULL || name[0] == '\0' || gnutls_x509_crt_check_hostname(crt, name) != 0;
    }
    return has;
}

static int64_t now_s(const struct tls_request *request)
{
    return clock_true_ms(request->clock != NULL ? request->clock : clock_system()) / MS_PER_S;
}

/* Signed by itself, and under the name that fill_certificate gives. */
static bool is_self_made(gnutls_x509_crt_t crt)
{
    char name[HOST_NAME_MAX_BYTES];
    size_t len = sizeof(name);
    return gnutls_x509_crt_check_issuer(crt, crt) != 0 &&
           gnutls_x509_crt_get_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, 0, name, &len) == 0 &&
           strcmp(name, COMMON_NAME) == 0;
}

static bool is_out_of_date(gnutls_x509_crt_t crt, const struct tls_request *request)
{
    return !has_names(crt, request) || gnutls_x509_crt_get_expiration_time(crt) - now_s(request) < RENEW_S;
}

/* Verifiers that go by the letter (X509_V_FLAG_X509_STRICT) want to see by which key it is signed. */
static int add_key_ids(gnutls_x509_crt_t crt, gnutls_x509_privkey_t key)
{
    unsigned char id[64];
    size_t len = sizeof(id);
    if (gnutls_x509_privkey_get_key_id(key, GNUTLS_KEYID_USE_SHA1, id, &len) != 0 ||
        gnutls_x509_crt_set_subject_key_id(crt, id, len) != 0 ||
        gnutls_x509_crt_set_authority_key_id(crt, id, len) != 0)
        return STATUS_IO;
    return 0;
}

static int fill_certificate(gnutls_x509_crt_t crt, gnutls_x509_privkey_t key, const struct tls_request *request)
{
    unsigned char serial[SERIAL_BYTES];
    time_t now = (time_t)now_s(request);
    id_bytes(NULL, serial, sizeof(serial));
    serial[0] = (serial[0] & 0x7f) | 0x40; /* a positive number that keeps its length */
    if (gnutls_x509_crt_set_version(crt, 3) != 0 || gnutls_x509_crt_set_serial(crt, serial, sizeof(serial)) != 0 ||
        gnutls_x509_crt_set_activation_time(crt, now - EARLY_S) != 0 ||
        gnutls_x509_crt_set_expiration_time(crt, now + LIFETIME_S) != 0 ||
        gnutls_x509_crt_set_dn_by_oid(crt, GNUTLS_OID_X520_COMMON_NAME, 0, COMMON_NAME, sizeof(COMMON_NAME) - 1) != 0 ||
        gnutls_x509_crt_set_basic_constraints(crt, 0, -1) != 0 ||
        gnutls_x509_crt_set_key_usage(crt, GNUTLS_KEY_DIGITAL_SIGNATURE) != 0 ||
        gnutls_x509_crt_set_key_purpose_oid(crt, GNUTLS_KP_TLS_WWW_SERVER, 0) != 0 ||
        gnutls_x509_crt_set_key(crt, key) != 0 || add_key_ids(crt, key) != 0)
        return STATUS_IO;
    int status = add_names(crt, request);
    if (status != 0)
        return status;
    return gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0) == 0 ? 0 : STATUS_IO;
}

static int make_certificate(const struct tls_request *request, gnutls_x509_privkey_t key, gnutls_x509_crt_t *ret_crt,
                            char **ret_pem)
{
    gnutls_x509_crt_t crt AUTO(x509_crt) = NULL;
    gnutls_datum_t datum = {0};
    if (gnutls_x509_crt_init(&crt) != 0)
        return STATUS_IO;
    int status = fill_certificate(crt, key, request);
    if (status != 0)
        return status;
    if (gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &datum) != 0)
        return STATUS_IO;
    autofree char *pem = take_datum(&datum);
    status = file_write(request->cert_path, pem, strlen(pem), 0644);
    if (status != 0)
        return status;
    *ret_crt = TAKE(crt);
    *ret_pem = TAKE(pem);
    return 0;
}

/* The one that is there, or another for the same key. */
static int load_or_renew(const struct tls_request *request, gnutls_x509_privkey_t key, gnutls_x509_crt_t *ret_crt,
                         struct tls_pair *pair)
{
    gnutls_x509_crt_t crt AUTO(x509_crt) = NULL;
    autofree char *pem = NULL;
    int status = load_certificate(request->cert_path, &crt, &pem);
    if (status == 0 && !belong_together(crt, key))
        status = STATUS_CONFLICT;
    if (status != 0)
        return status;
    pair->renewed = is_self_made(crt) && is_out_of_date(crt, request);
    if (pair->renewed)
        return make_certificate(request, key, ret_crt, &pair->cert_pem);
    *ret_crt = TAKE(crt);
    pair->cert_pem = TAKE(pem);
    return 0;
}

int tls_ensure_certificate(const struct tls_request *request, struct tls_pair *ret_pair)
{
    gnutls_x509_privkey_t key AUTO(x509_key) = NULL;
    gnutls_x509_crt_t crt AUTO(x509_crt) = NULL;
    struct tls_pair pair = {0};
    bool has_cert = file_exists(request->cert_path);
    int status = !has_cert && !file_exists(request->key_path) ? make_key(request->key_path, &key, &pair.key_pem)
                                                              : load_key(request->key_path, &key, &pair.key_pem);
    if (status == 0)
        status =
            has_cert ? load_or_renew(request, key, &crt, &pair) : make_certificate(request, key, &crt, &pair.cert_pem);
    if (status == 0)
        status = fingerprint_of(crt, pair.fingerprint);
    if (status != 0) {
        tls_pair_free(&pair);
        return status;
    }
    pair.self_made = is_self_made(crt);
    pair.ends_at = (int64_t)gnutls_x509_crt_get_expiration_time(crt) * MS_PER_S;
    *ret_pair = pair;
    return 0;
}

void tls_pair_free(struct tls_pair *pair)
{
    free(pair->cert_pem);
    free(pair->key_pem);
    pair->cert_pem = pair->key_pem = NULL;
}
