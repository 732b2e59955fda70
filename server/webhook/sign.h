/* The signatures of messages, as Standard Webhooks 1.0 has them: "v1," and base 64 of HMAC-SHA-256 over "ID.SECONDS.BODY". */
#ifndef HOLDFAST_SERVER_WEBHOOK_SIGN_H
#define HOLDFAST_SERVER_WEBHOOK_SIGN_H

#include <stddef.h>
#include <stdint.h>

#define WEBHOOK_SECRETS_MAX 4 /* more than one while they are being changed */
#define WEBHOOK_SECRET_BYTES_MIN 24
#define WEBHOOK_SECRET_BYTES_MAX 64
#define WEBHOOK_SECRET_PREFIX "whsec_"
#define WEBHOOK_SIGNATURE_MAX (WEBHOOK_SECRETS_MAX * 48 + 1)

struct webhook_secret {
    uint8_t bytes[WEBHOOK_SECRET_BYTES_MAX];
    size_t len;
};

/* A secret a line: whsec_ and base 64; empty lines and those that begin with # are skipped. INVALID with a sentence, which has
 * nothing of the secret. */
int webhook_secrets_read(const char *text, struct webhook_secret ret_secrets[WEBHOOK_SECRETS_MAX], size_t *ret_count,
                         const char **ret_why);
/* By each of the secrets, with a space between; at_s: seconds since 1970. */
void webhook_sign(const struct webhook_secret *secrets, size_t count, const char *id, int64_t at_s, const char *body,
                  char ret_signature[WEBHOOK_SIGNATURE_MAX]);

#endif
