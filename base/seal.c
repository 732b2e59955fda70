/*
 * Seals. Contexts and what did not open are wiped: they hold as much as the key or the secret.
 */
#include "base/seal.h"

#include "base/file.h"
#include "base/hmac.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <nettle/gcm.h>
#include <stdio.h>
#include <string.h>

#define KEY_HEX_LENGTH (2 * SEAL_KEY_BYTES)
#define KEY_FILE_BYTES_MAX 256
#define KEY_FILE_MODE 0600
#define FINGERPRINT_BYTES 8

_Static_assert(SEAL_EXTRA_BYTES == GCM_IV_SIZE + GCM_DIGEST_SIZE, "a nonce before and a tag behind");

static int read_hex(const char *text, struct seal_key *ret_key)
{
    static const char digits[] = "0123456789abcdef";

    if (strspn(text, digits) != KEY_HEX_LENGTH || strcspn(text, "\n") != KEY_HEX_LENGTH)
        return STATUS_INVALID;
    for (size_t i = 0; i < SEAL_KEY_BYTES; i++)
        ret_key->bytes[i] = (uint8_t)(text_hex_digit(text[2 * i]) << 4 | text_hex_digit(text[2 * i + 1]));
    return 0;
}

static int make_file(const char *path, struct seal_key *ret_key)
{
    struct seal_key key;
    char text[KEY_HEX_LENGTH + 2];

    id_bytes(NULL, key.bytes, sizeof(key.bytes)); /* a seeded source is good enough for names, never for this */
    for (size_t i = 0; i < SEAL_KEY_BYTES; i++)
        snprintf(text + 2 * i, 3, "%02x", key.bytes[i]);
    text[KEY_HEX_LENGTH] = '\n';
    int status = file_write(path, text, KEY_HEX_LENGTH + 1, KEY_FILE_MODE);
    if (status == 0)
        *ret_key = key;
    explicit_bzero(text, sizeof(text));
    explicit_bzero(&key, sizeof(key));
    return status;
}

int seal_key_file(const char *path, struct seal_key *ret_key)
{
    char *text = NULL;
    size_t len = 0;

    int status = file_read(path, KEY_FILE_BYTES_MAX, &text, &len);
    if (status == STATUS_NOT_FOUND)
        return make_file(path, ret_key);
    if (status < 0)
        return status;
    status = read_hex(text, ret_key);
    explicit_bzero(text, len);
    free(text);
    return status;
}

void seal_key_fingerprint(const struct seal_key *key, char ret_fingerprint[SEAL_FINGERPRINT_MAX])
{
    static const char purpose[] = "holdfast: the fingerprint of secret.key";
    uint8_t digest[ID_SHA256_BYTES];
    hmac_sha256(key->bytes, sizeof(key->bytes), purpose, sizeof(purpose) - 1, digest);
    for (size_t i = 0; i < FINGERPRINT_BYTES; i++)
        snprintf(ret_fingerprint + 2 * i, 3, "%02x", digest[i]);
}

static void begin(struct gcm_aes256_ctx *context, const struct seal_key *key, const uint8_t *nonce,
                  const char *bound_to)
{
    gcm_aes256_set_key(context, key->bytes);
    gcm_aes256_set_iv(context, GCM_IV_SIZE, nonce);
    gcm_aes256_update(context, strlen(bound_to), (const uint8_t *)bound_to);
}

void seal_close(const struct seal_key *key, struct id_source *ids, const char *bound_to, const void *data, size_t len,
                uint8_t *ret_seal)
{
    struct gcm_aes256_ctx context;

    id_bytes(ids, ret_seal, GCM_IV_SIZE);
    begin(&context, key, ret_seal, bound_to);
    gcm_aes256_encrypt(&context, len, ret_seal + GCM_IV_SIZE, data);
    gcm_aes256_digest(&context, GCM_DIGEST_SIZE, ret_seal + GCM_IV_SIZE + len);
    explicit_bzero(&context, sizeof(context));
}

int seal_open(const struct seal_key *key, const char *bound_to, const uint8_t *seal, size_t len, void *ret_data)
{
    struct gcm_aes256_ctx context;
    uint8_t tag[GCM_DIGEST_SIZE];

    if (len < SEAL_EXTRA_BYTES)
        return STATUS_INVALID;
    size_t data_len = len - SEAL_EXTRA_BYTES;
    uint8_t *data = own_calloc(data_len + 1, 1);
    begin(&context, key, seal, bound_to);
    gcm_aes256_decrypt(&context, data_len, data, seal + GCM_IV_SIZE);
    gcm_aes256_digest(&context, sizeof(tag), tag);
    bool genuine = id_equal(tag, seal + GCM_IV_SIZE + data_len, sizeof(tag));
    if (genuine)
        memcpy(ret_data, data, data_len);
    explicit_bzero(data, data_len);
    explicit_bzero(&context, sizeof(context));
    free(data);
    return genuine ? 0 : STATUS_INVALID;
}
