/* Finds HyperPod's words for a fault: see hyperpod_words.h. */
#include "model/hyperpod_words.h"

#include "base/own.h"
#include "base/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

struct word {
    const char *code;
    const char *word;
};

static const struct word types[] = {
#define TYPE(code, word) {code, #word},
#define REASON(code, word)
/* clang-format off */
#include "model/hyperpod_words.def"
/* clang-format on */
#undef TYPE
#undef REASON
};

static const struct word reasons[] = {
#define TYPE(code, word)
#define REASON(code, word) {code, #word},
/* clang-format off */
#include "model/hyperpod_words.def"
/* clang-format on */
#undef TYPE
#undef REASON
};

/* Of the row that covers the most of the code; NULL: none does. */
static const char *find(const struct word *rows, size_t count, const char *code)
{
    const char *found = NULL;
    size_t longest = 0;
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(rows[i].code);
        if (len > longest && strncmp(rows[i].code, code, len) == 0 && (code[len] == '\0' || code[len] == '.')) {
            found = rows[i].word;
            longest = len;
        }
    }
    return found;
}

void hyperpod_fault_type(const char *code, bool replaces, char ret_type[HYPERPOD_WORD_MAX_BYTES])
{
    const char *part = find(types, ARRAY_LEN(types), code);
    snprintf(ret_type, HYPERPOD_WORD_MAX_BYTES, "%sError%s", part != NULL ? part : "Node",
             replaces ? "Terminate" : "Reboot");
}

void hyperpod_fault_reason(const char *code, char ret_reason[HYPERPOD_WORD_MAX_BYTES])
{
    const char *known = find(reasons, ARRAY_LEN(reasons), code);
    size_t len = 0;
    bool begins = true;
    for (const char *at = code; known == NULL && *at != '\0' && len + 1 < HYPERPOD_WORD_MAX_BYTES; at++) {
        bool word = isascii((unsigned char)*at) && isalnum((unsigned char)*at);
        if (word)
            ret_reason[len++] = begins ? (char)toupper((unsigned char)*at) : *at;
        begins = !word;
    }
    ret_reason[len] = '\0';
    if (len == 0)
        text_copy_cut(ret_reason, HYPERPOD_WORD_MAX_BYTES, known != NULL ? known : "Unknown");
}
