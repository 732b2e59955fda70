/* Patterns of addresses. What comes from outside goes into an address only if it is made of the letters of one. */
#include "server/reboot/reboot.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <ctype.h>

static const char *value_of(char letter, const struct reboot_target *target)
{
    switch (letter) {
    case '%':
        return "%";
    case 'n':
        return target->node;
    case 'i':
        return target->instance_id;
    case 'r':
        return text_or_empty(target->ref)[0] != '\0' ? target->ref : target->instance_id;
    case 'a':
        return text_or_empty(target->address);
    default:
        return NULL;
    }
}

static bool is_safe(const char *value)
{
    for (const char *c = value; *c != '\0'; c++)
        if (!isalnum((unsigned char)*c) && strchr("-._:", *c) == NULL)
            return false;
    return value[0] != '\0' && value[0] != '-';
}

int reboot_expand(const char *pattern, const struct reboot_target *target, char *ret_text, size_t size)
{
    AUTO(text) struct text text = {0};
    for (const char *c = pattern; *c != '\0'; c++) {
        if (*c != '%') {
            text_add_char(&text, *c);
            continue;
        }
        const char *value = value_of(*++c, target);
        if (value == NULL)
            return STATUS_INVALID;
        if (*c != '%' && !is_safe(value))
            return STATUS_NOT_FOUND;
        text_add(&text, value);
    }
    return text_copy(ret_text, size, text_get(&text));
}
