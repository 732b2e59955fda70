/*
 * Cursors: base64url of a list's letter and a key. One place has one text: whatever else decodes to it is refused.
 */
#include "api/cursor.h"

#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void cursor_encode(char list, const char *key, char *ret_cursor)
{
    unsigned char bytes[PAGE_KEY_MAX + 2];
    int len = snprintf((char *)bytes, sizeof bytes, "%c%s", list, key);
    unsigned bits = 0;
    int have = 0;
    char *out = ret_cursor;
    for (int i = 0; i < len; i++) {
        bits = bits << 8 | bytes[i];
        for (have += 8; have >= 6; have -= 6)
            *out++ = alphabet[bits >> (have - 6) & 63];
    }
    if (have > 0)
        *out++ = alphabet[bits << (6 - have) & 63];
    *out = '\0';
}

int cursor_decode(const char *cursor, char list, char *ret_key)
{
    char bytes[PAGE_KEY_MAX + 2], again[PAGE_CURSOR_MAX];
    unsigned bits = 0;
    int have = 0;
    size_t len = 0;
    for (const char *c = cursor; *c != '\0'; c++) {
        const char *at = strchr(alphabet, *c);
        if (at == NULL || len + 1 >= sizeof bytes)
            return STATUS_INVALID;
        bits = bits << 6 | (unsigned)(at - alphabet);
        have += 6;
        if (have >= 8) {
            have -= 8;
            bytes[len++] = (char)(bits >> have & 255);
        }
    }
    bytes[len] = '\0';
    if (len < 2 || bytes[0] != list || strlen(bytes) != len || text_copy(ret_key, PAGE_KEY_MAX, bytes + 1) != 0)
        return STATUS_INVALID;
    cursor_encode(list, ret_key, again); /* one text for one place: no second spelling of the same cursor */
    return strcmp(again, cursor) == 0 && text_is_utf8(bytes, len) ? 0 : STATUS_INVALID;
}
