/* What the policy knows of single codes, as a table (trait.def), and how a word of a table covers codes. */
#include "policy/faults/faults.h"

#include <string.h>

static const struct {
    const char *code;
    size_t len;
    enum fault_trait trait;
} rows[] = {
#define TRAIT(code, SYMBOL) {code, sizeof(code) - 1, FAULT_TRAIT_##SYMBOL},
/* clang-format off */
#include "policy/faults/trait.def"
/* clang-format on */
#undef TRAIT
};

bool fault_word_covers(const char *word, size_t word_len, const char *code, size_t len)
{
    return word_len <= len && (code[word_len] == '\0' || code[word_len] == '.') && memcmp(word, code, word_len) == 0;
}

bool fault_has_trait(const char *code, enum fault_trait trait)
{
    const size_t len = strlen(code);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].trait == trait && fault_word_covers(rows[i].code, rows[i].len, code, len))
            return true;
    return false;
}
