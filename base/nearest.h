/*
 * The known word nearest to one that is not known: for errors about what people wrote by hand. The caller shows all words that it
 * knows; case does not count, and a word that is too far away is no guess.
 */
#ifndef HOLDFAST_BASE_NEAREST_H
#define HOLDFAST_BASE_NEAREST_H

#include <stddef.h>

#define NEAREST_WORD_MAX 65 /* no word that we know is longer */
#define NEAREST_HINT_MAX 96

struct nearest {
    const char *word;             /* as it was written */
    char found[NEAREST_WORD_MAX]; /* "": none is near */
    size_t distance;
};
void nearest_see(struct nearest *nearest, const char *known);
/* ` (the nearest is "instanceCount")`, for the middle of a sentence; "" without a guess. */
const char *nearest_hint(const struct nearest *nearest, char ret_hint[NEAREST_HINT_MAX]);
/* The same of a list that ends with NULL. */
const char *nearest_hint_of(const char *word, const char *const *known, char ret_hint[NEAREST_HINT_MAX]);
/* `"instanceCont" is not known here (the nearest is "instanceCount")`. The word is shown cut and escaped. Caller frees. */
char *nearest_say(const struct nearest *nearest);

#endif
