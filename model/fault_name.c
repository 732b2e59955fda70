/* Which names codes and devices may have. The marks are those of what names devices: PCI, UUIDs, ports, mount points, LNet. */
#include "model/fault_name.h"

#include <string.h>

static bool is_small(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
    return is_small(c) || (c >= 'A' && c <= 'Z');
}

bool fault_name_has(char c)
{
    return is_letter(c) || is_digit(c) || (c != '\0' && strchr("_-.:/@#+", c) != NULL);
}

bool fault_name_is_code(const char *text)
{
    if (!is_small(*text) || strlen(text) >= CODE_MAX_BYTES)
        return false;
    for (char before = '.'; *text != '\0'; before = *text++) {
        bool mark = *text == '.' || *text == '-', after_mark = before == '.' || before == '-';
        if (mark ? after_mark || text[1] == '\0' : !is_small(*text) && !is_digit(*text))
            return false;
    }
    return true;
}

static bool names(char c)
{
    return is_letter(c) || is_digit(c) || c == '/'; /* "/" is a mount point */
}

bool fault_name_is_device(const char *text)
{
    bool named = false;
    size_t len = 0;
    for (; text[len] != '\0'; len++) {
        if (!fault_name_has(text[len]))
            return false;
        named = named || names(text[len]);
    }
    return named && len < DEVICE_MAX_BYTES;
}

void fault_name_make_device(char *name)
{
    bool named = false;
    for (char *at = name; *at != '\0'; at++) {
        if (!fault_name_has(*at))
            *at = '_';
        named = named || names(*at);
    }
    if (!named && *name != '\0')
        *name = 'x';
}
