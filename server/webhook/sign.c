/* Standard Webhooks 1.0: how a secret is written, and what of a message is signed. */
#include "server/webhook/sign.h"

#include "base/base64.h"
#include "base/hmac.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

#define SPACE " \t\r"

int webhook_secrets_read(const char *text, struct webhook_secret ret_secrets[WEBHOOK_SECRETS_MAX], size_t *ret_count,
                         const char **ret_why)
{
    *ret_count = 0;
    for (const char *line = text, *end; *line != '\0'; line = *end == '\n' ? end + 1 : end) {
        const size_t prefix = strlen(WEBHOOK_SECRET_PREFIX);
        end = line + strcspn(line, "\n");
        line += strspn(line, SPACE);
        size_t len = (size_t)(end - line);
        while (len > 0 && strchr(SPACE, line[len - 1]) != NULL)
            len--;
        if (line >= end || len == 0 || line[0] == '#')
            continue;
        struct webhook_secret *secret = &ret_secrets[*ret_count];
        *ret_why = "it has more than 4 secrets";
        if (*ret_count == WEBHOOK_SECRETS_MAX)
            return STATUS_INVALID;
        *ret_why = "a secret is whsec_ and base 64 of 24 to 64 random bytes, on a line of its own; hpctl webhook "
                   "new-secret makes one";
        if (len <= prefix || memcmp(line, WEBHOOK_SECRET_PREFIX, prefix) != 0 ||
            base64_decode(line + prefix, len - prefix, secret->bytes, sizeof(secret->bytes), &secret->len) != 0 ||
            secret->len < WEBHOOK_SECRET_BYTES_MIN)
            return STATUS_INVALID;
        (*ret_count)++;
    }
    *ret_why = "it has no secret; hpctl webhook new-secret makes one";
    return *ret_count > 0 ? 0 : STATUS_INVALID;
}

void webhook_sign(const struct webhook_secret *secrets, size_t count, const char *id, int64_t at_s, const char *body,
                  char ret_signature[WEBHOOK_SIGNATURE_MAX])
{
    struct text all AUTO(text) = {0}, line AUTO(text) = {0};
    text_printf(&all, "%s.%" PRId64 ".%s", id, at_s, body);
    for (size_t i = 0; i < count; i++) {
        uint8_t mac[ID_SHA256_BYTES];
        char encoded[BASE64_TEXT_MAX(ID_SHA256_BYTES)];
        hmac_sha256(secrets[i].bytes, secrets[i].len, text_get(&all), all.len, mac);
        base64_encode(mac, sizeof(mac), encoded);
        text_printf(&line, "%sv1,%s", i > 0 ? " " : "", encoded);
    }
    text_copy_cut(ret_signature, WEBHOOK_SIGNATURE_MAX, text_get(&line));
}
