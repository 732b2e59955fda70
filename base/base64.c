/*
 * Base 64 by Nettle, which skips white space and tells nothing of what is missing at the end: both are refused here.
 */
#include "base/base64.h"

#include "base/own.h"
#include "base/status.h"

#include <nettle/base64.h>
#include <string.h>

void base64_encode(const void *data, size_t len, char *ret_text)
{
    base64_encode_raw(ret_text, len, data);
    ret_text[BASE64_ENCODE_RAW_LENGTH(len)] = '\0';
}

int base64_decode(const char *text, size_t text_len, void *ret_data, size_t size, size_t *ret_len)
{
    struct base64_decode_ctx context;
    size_t len = BASE64_DECODE_LENGTH(text_len);
    for (size_t i = 0; i < text_len; i++)
        if (strchr(" \t\r\n\v\f", text[i]) != NULL) /* a zero, too */
            return STATUS_INVALID;
    autofree uint8_t *data = own_calloc(len + 1, 1);
    base64_decode_init(&context);
    if (text_len % 4 != 0 || !base64_decode_update(&context, &len, data, text_len, text) ||
        !base64_decode_final(&context))
        return STATUS_INVALID;
    int status = len <= size ? 0 : STATUS_TOO_LARGE;
    if (status == 0) {
        memcpy(ret_data, data, len);
        *ret_len = len;
    }
    explicit_bzero(data, len);
    return status;
}
