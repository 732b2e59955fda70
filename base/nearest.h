/*
 * The known word nearest to one that is not known: for errors about what people wrote by hand. The caller shows all words that it
 * knows; case does not count, and a word that is too far away is no guess.
 */
#ifndef HOLDFAST_BASE_NEAREST_H
#define HOLDFAST_BASE_NEAREST_H

#include <stddef.h>

struct nearest {
    const char *word;  /* as it was written */
    const char *found; /* NULL: none is near */
    size_t distance;
};
void nearest_see(struct nearest *nearest, const char *known);
/* `"instanceCont" is not known here (the nearest is "instanceCount")`, or without a guess. The word is shown cut and escaped.
 * Caller frees. */
char *nearest_say(const struct nearest *nearest);

#endif
