/* The lines of decision.beside: "RULE CODE DEVICE", each code of each device once. */
#include "model/beside.h"

#include "base/text.h"

#include <string.h>

static const char *after_line(const char *at)
{
    const char *end = at + strcspn(at, "\n");
    return *end == '\n' ? end + 1 : end;
}

static bool has_line(const char *lines, const char *line, size_t len)
{
    for (const char *at = lines; *at != '\0'; at = after_line(at))
        if (strcspn(at, "\n") == len && memcmp(at, line, len) == 0)
            return true;
    return false;
}

bool decision_beside_is_new(const char *lines, const char *before)
{
    for (const char *at = lines; *at != '\0'; at = after_line(at))
        if (!has_line(before, at, strcspn(at, "\n")))
            return true;
    return false;
}

bool decision_beside_next(const char **at, struct decision_beside *ret_beside)
{
    const char *line = *at, *end = line + strcspn(line, "\n");
    const char *code = memchr(line, ' ', (size_t)(end - line));
    const char *device = code != NULL ? memchr(code + 1, ' ', (size_t)(end - code - 1)) : NULL;
    char rule[64];
    if (device == NULL || text_copy_bytes(rule, sizeof(rule), line, (size_t)(code - line)) != 0 ||
        text_copy_bytes(ret_beside->code, sizeof(ret_beside->code), code + 1, (size_t)(device - code - 1)) != 0 ||
        text_copy_bytes(ret_beside->device, sizeof(ret_beside->device), device + 1, (size_t)(end - device - 1)) != 0)
        return false;
    if (decision_rule_parse(rule, &ret_beside->rule) != 0)
        ret_beside->rule = RULE_FORMER;
    *at = after_line(line);
    return true;
}
