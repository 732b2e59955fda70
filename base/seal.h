/*
 * Sealing small secrets for the disk: AES-256-GCM (NIST SP 800-38D), by Nettle. A seal is 12 random bytes, the
 * ciphertext and a tag of 16 bytes. What it belongs to (a row's name) is bound into it, so that a seal that was moved to
 * another place does not open there.
 *
 * Nonces are random: with one key, far fewer than 2^32 seals may be made, which rows that people make never reach.
 */
#ifndef HOLDFAST_BASE_SEAL_H
#define HOLDFAST_BASE_SEAL_H

#include "base/id.h"

#define SEAL_KEY_BYTES 32
#define SEAL_EXTRA_BYTES 28 /* how much longer a seal is than what it holds */

#define SEAL_FINGERPRINT_MAX 20

struct seal_key {
    uint8_t bytes[SEAL_KEY_BYTES];
};

/* The key of a file, as 64 hex digits; made with mode 0600 when there is none. NOT a key: INVALID; IO, FULL. */
int seal_key_file(const char *path, struct seal_key *ret_key);
/* 16 hex digits by which people know a key; nothing of the key can be found out from them. */
void seal_key_fingerprint(const struct seal_key *key, char ret_fingerprint[SEAL_FINGERPRINT_MAX]);
/* ret_seal has room for len + SEAL_EXTRA_BYTES. */
void seal_close(const struct seal_key *key, struct id_source *ids, const char *bound_to, const void *data, size_t len,
                uint8_t *ret_seal);
/* ret_data has room for len - SEAL_EXTRA_BYTES, and is written only on success. INVALID for another key, another place, or
 * a changed byte. */
int seal_open(const struct seal_key *key, const char *bound_to, const uint8_t *seal, size_t len, void *ret_data);

#endif
