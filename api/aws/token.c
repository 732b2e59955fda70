/*
 * Page tokens of the AWS API: the REST API's cursor around a digest and the key of the last row. The digest is of the
 * list, its cluster and its order, for which alone the place means anything.
 */
#include "api/aws/token.h"

#include "api/cursor.h"
#include "base/id.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define TOKEN_LETTER 'A'
#define DIGEST_LENGTH 6 /* hex digits: against mistakes, not against forgery, which gains nothing */

_Static_assert(AWS_TOKEN_MAX >= PAGE_CURSOR_MAX && AWS_TOKEN_KEY_MAX + DIGEST_LENGTH < PAGE_KEY_MAX, "a key fits");

static void digest(const char *list, char ret_hex[ID_SHA256_HEX_MAX])
{
    id_sha256_hex(list, strlen(list), ret_hex);
    ret_hex[DIGEST_LENGTH] = '\0';
}

void aws_token_encode(const char *list, const char *key, char ret_token[AWS_TOKEN_MAX])
{
    char hex[ID_SHA256_HEX_MAX], whole[PAGE_KEY_MAX];

    digest(list, hex);
    snprintf(whole, sizeof whole, "%.*s%s", DIGEST_LENGTH, hex, key);
    cursor_encode(TOKEN_LETTER, whole, ret_token);
}

int aws_token_decode(const char *token, const char *list, char ret_key[AWS_TOKEN_KEY_MAX])
{
    char hex[ID_SHA256_HEX_MAX], whole[PAGE_KEY_MAX];

    digest(list, hex);
    if (cursor_decode(token, TOKEN_LETTER, whole) < 0 || strncmp(whole, hex, DIGEST_LENGTH) != 0 ||
        strlen(whole) == DIGEST_LENGTH)
        return STATUS_INVALID;
    return text_copy(ret_key, AWS_TOKEN_KEY_MAX, whole + DIGEST_LENGTH) < 0 ? STATUS_INVALID : 0;
}
