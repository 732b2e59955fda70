/*
 * Enums from one list: ENUM_DECLARE makes the enum, a count and the two look-ups;
 * ENUM_DEFINE makes their bodies. A list is a macro of X(SYMBOL, "text"), whose rows may have more columns.
 */
#ifndef HOLDFAST_BASE_ENUM_H
#define HOLDFAST_BASE_ENUM_H

#include "base/status.h"

#include <string.h>

/* x_text: never NULL ("?" out of range). x_parse: STATUS_INVALID when no text matches exactly. */
#define ENUM_DECLARE(name)                    \
    const char *name##_text(enum name value); \
    int name##_parse(const char *text, enum name *ret_value)

#define ENUM_DEFINE(name, LIST)                                                              \
    static const char *const name##_texts[] = {LIST(ENUM_TEXT_)};                            \
    const char *name##_text(enum name value)                                                 \
    {                                                                                        \
        size_t at = (size_t)value;                                                           \
        return at < sizeof(name##_texts) / sizeof(name##_texts[0]) ? name##_texts[at] : "?"; \
    }                                                                                        \
    int name##_parse(const char *text, enum name *ret_value)                                 \
    {                                                                                        \
        if (text == NULL)                                                                    \
            return STATUS_INVALID;                                                           \
        for (size_t i = 0; i < sizeof(name##_texts) / sizeof(name##_texts[0]); i++)          \
            if (strcmp(name##_texts[i], text) == 0) {                                        \
                *ret_value = (enum name)i;                                                   \
                return 0;                                                                    \
            }                                                                                \
        return STATUS_INVALID;                                                               \
    }
#define ENUM_TEXT_(SYMBOL, text, ...) text,

#endif
