/* Limits as texts, which is how they stand in tables, in configurations and in orders. */
#include "model/deep_limit.h"

#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGITS_MAX 16

static bool is_measure(const char *name)
{
    for (const char *c = name; *c != '\0'; c++)
        if (*c < ' ' || *c > '~' || *c == '"' || *c == '\\')
            return false;
    return name[0] > ' ';
}

static bool parse_number(const char *text, double *ret_value)
{
    char *end = NULL;
    if (strlen(text) > DIGITS_MAX || text[0] < '0' || text[0] > '9' || text[strspn(text, "0123456789.")] != '\0')
        return false;
    *ret_value = strtod(text, &end);
    return *end == '\0';
}

int deep_limit_parse(const char *text, struct deep_limit *ret_limit)
{
    struct deep_limit limit = {.at_most = false};
    const char *sign = strstr(text, " >= ");
    if (sign == NULL) {
        sign = strstr(text, " <= ");
        limit.at_most = true;
    }
    if (sign == NULL || text_copy_bytes(limit.measure, sizeof(limit.measure), text, (size_t)(sign - text)) != 0 ||
        !is_measure(limit.measure) || !parse_number(sign + 4, &limit.value))
        return STATUS_INVALID;
    *ret_limit = limit;
    return 0;
}

void deep_limit_text(const struct deep_limit *limit, char ret_text[DEEP_LIMIT_TEXT_MAX_BYTES])
{
    snprintf(ret_text, DEEP_LIMIT_TEXT_MAX_BYTES, "%s %.15g", limit->at_most ? "<=" : ">=", limit->value);
}

bool deep_limit_holds(const struct deep_limit *limit, double value)
{
    return limit->at_most ? value <= limit->value : value >= limit->value;
}

const struct deep_limit *deep_limit_find(const struct deep_limit *limits, size_t count, const char *measure)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(limits[i].measure, measure))
            return &limits[i];
    return NULL;
}
