/*
 * Random identities (the kernel's getrandom) and hashes (Nettle and not GnuTLS, which hashes with
 * Nettle too but would bring 2 MB into an agent).
 */
#ifndef HOLDFAST_BASE_ID_H
#define HOLDFAST_BASE_ID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ID_INSTANCE_MAX 24 /* "i-" and 17 hex digits, as EC2 writes them */
#define ID_CLUSTER_MAX 16  /* 12 lower-case letters and digits, as in HyperPod's ARNs */
#define ID_UUID_MAX 40
#define ID_SECRET_MAX 48 /* 43 base64url characters of 32 random bytes */
#define ID_SHA256_BYTES 32
#define ID_SHA256_HEX_MAX 65

/* Where identities come from; NULL seed means the kernel. A seeded source is for simulation only. */
struct id_source {
    bool seeded;
    uint64_t state;
};

void id_source_seed(struct id_source *source, uint64_t seed);
void id_bytes(struct id_source *source, void *ret_bytes, size_t len);
void id_instance(struct id_source *source, char ret_id[ID_INSTANCE_MAX]);
void id_cluster(struct id_source *source, char ret_id[ID_CLUSTER_MAX]);
void id_uuid(struct id_source *source, char ret_id[ID_UUID_MAX]);
void id_secret(struct id_source *source, char ret_secret[ID_SECRET_MAX]);

void id_sha256(const void *data, size_t len, uint8_t ret_digest[ID_SHA256_BYTES]);
void id_sha256_hex(const void *data, size_t len, char ret_hex[ID_SHA256_HEX_MAX]);
/* Constant time. */
bool id_equal(const void *a, const void *b, size_t len);

#endif
