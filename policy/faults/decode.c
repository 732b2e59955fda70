/* The small readers of decode.h. Details come from kernel logs: any byte, any length, no zero at the end. */
#include "policy/faults/decode.h"

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void decode_note(struct decode_note *note, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(note->text, sizeof(note->text), fmt, ap);
    va_end(ap);
}

size_t decode_find(const struct decode_detail *detail, size_t from, const char *word)
{
    if (from >= detail->len)
        return detail->len;
    const char *hit = memmem(detail->text + from, detail->len - from, word, strlen(word));
    return hit == NULL ? detail->len : (size_t)(hit - detail->text);
}

bool decode_has(const struct decode_detail *detail, const char *word)
{
    return decode_find(detail, 0, word) < detail->len;
}

bool decode_hex(const struct decode_detail *detail, size_t *at, uint32_t *ret_value)
{
    size_t i = *at;
    while (i < detail->len && (detail->text[i] == ' ' || detail->text[i] == ','))
        i++;
    if (i + 2 >= detail->len || detail->text[i] != '0' || detail->text[i + 1] != 'x')
        return false;
    i += 2;
    uint32_t value = 0;
    int digits = 0;
    for (; i < detail->len && text_hex_digit(detail->text[i]) >= 0; i++, digits++) {
        if (digits == 8)
            return false;
        value = (value << 4) | (uint32_t)text_hex_digit(detail->text[i]);
    }
    if (digits == 0)
        return false;
    *at = i;
    *ret_value = value;
    return true;
}

bool decode_decimal(const struct decode_detail *detail, size_t *at, uint32_t *ret_value)
{
    size_t i = *at;
    uint32_t value = 0;
    int digits = 0;
    for (; i < detail->len && detail->text[i] >= '0' && detail->text[i] <= '9'; i++, digits++) {
        if (digits == 9)
            return false;
        value = value * 10 + (uint32_t)(detail->text[i] - '0');
    }
    if (digits == 0)
        return false;
    *at = i;
    *ret_value = value;
    return true;
}
