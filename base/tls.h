/*
 * Server certificates: load a given pair, or make one (ECDSA P-256, ten years) at the
 * first start. The fingerprint is "sha256:" and base64 of SHA-256 over the public key's
 * SubjectPublicKeyInfo, the form libcurl pins, so it survives a renewal with the same key.
 */
#ifndef HOLDFAST_BASE_TLS_H
#define HOLDFAST_BASE_TLS_H

#define TLS_FINGERPRINT_MAX 64

/* Reads cert_path and key_path; makes and writes both (0644, 0600) when neither exists. host goes into
 * the subject alternative names beside localhost. ret_cert_pem and ret_key_pem are freed by the caller. */
int tls_ensure_certificate(const char *cert_path, const char *key_path, const char *host, char **ret_cert_pem,
                           char **ret_key_pem, char ret_fingerprint[TLS_FINGERPRINT_MAX]);

#endif
