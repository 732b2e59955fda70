/*
 * HMAC-SHA-256 (RFC 2104, FIPS 180-4), by Nettle. Compare what it gives with id_equal, which takes constant time.
 */
#ifndef HOLDFAST_BASE_HMAC_H
#define HOLDFAST_BASE_HMAC_H

#include "base/id.h"

void hmac_sha256(const void *key, size_t key_len, const void *data, size_t len, uint8_t ret_mac[ID_SHA256_BYTES]);

#endif
