/* Base 64 (RFC 4648, part 4: with + and /, padded), by Nettle. */
#ifndef HOLDFAST_BASE_BASE64_H
#define HOLDFAST_BASE_BASE64_H

#include <stddef.h>

#define BASE64_TEXT_MAX(bytes) (((bytes) + 2) / 3 * 4 + 1) /* the zero included */

/* ret_text has BASE64_TEXT_MAX(len). */
void base64_encode(const void *data, size_t len, char *ret_text);
/* INVALID for anything but one whole text without white space; TOO_LARGE when it does not fit into size. */
int base64_decode(const char *text, size_t text_len, void *ret_data, size_t size, size_t *ret_len);

#endif
