/*
 * HMAC-SHA-256. The context is wiped: it holds as much as the key.
 */
#include "base/hmac.h"

#include <nettle/hmac.h>
#include <string.h>

void hmac_sha256(const void *key, size_t key_len, const void *data, size_t len, uint8_t ret_mac[ID_SHA256_BYTES])
{
    struct hmac_sha256_ctx context;

    hmac_sha256_set_key(&context, key_len, key);
    hmac_sha256_update(&context, len, data);
    hmac_sha256_digest(&context, ID_SHA256_BYTES, ret_mac);
    explicit_bzero(&context, sizeof(context));
}
