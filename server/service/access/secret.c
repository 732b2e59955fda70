/*
 * Secrets: 32 random bytes as base64url behind a prefix that says what they open. Only their SHA-256 is kept
 * anywhere, which is enough for a secret that nobody chose.
 */
#include "server/service/access/access.h"
#include "server/service/private.h"

#include <stdio.h>
#include <string.h>

static void hash_bytes(const char *secret, uint8_t ret_hash[ID_SHA256_BYTES])
{
    id_sha256(secret, SECRET_CHARACTERS, ret_hash);
}

void secret_make(struct service *s, const char *prefix, char ret_text[SERVICE_TOKEN_TEXT_MAX],
                 uint8_t ret_hash[ID_SHA256_BYTES])
{
    char secret[ID_SECRET_MAX];
    id_secret(s->ids, secret);
    hash_bytes(secret, ret_hash);
    snprintf(ret_text, SERVICE_TOKEN_TEXT_MAX, "%s%s", prefix, secret);
}

int secret_hash(const char *text, size_t len, uint8_t ret_hash[ID_SHA256_BYTES])
{
    if (len != SECRET_CHARACTERS)
        return STATUS_UNAUTHENTICATED;
    hash_bytes(text, ret_hash);
    return 0;
}

int secret_hash_of(const char *prefix, const char *text, uint8_t ret_hash[ID_SHA256_BYTES])
{
    size_t skip = strlen(prefix);
    if (strncmp(text, prefix, skip) != 0)
        return STATUS_UNAUTHENTICATED;
    return secret_hash(text + skip, strlen(text + skip), ret_hash);
}
