/*
 * What every fuzz target shares. A target is one file fuzz_<x>.c with a line "// ROOMS: base model"
 * that says which rooms it links, and seeds of our own in corpus/<x>/; mk/fuzz.mk finds both.
 *
 * REQUIRE is for what must hold of any input: it ends the run as a crash does, and libFuzzer keeps the input.
 */
#ifndef HOLDFAST_TESTS_FUZZ_H
#define HOLDFAST_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define REQUIRE(condition)                                                                 \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                       \
        }                                                                                  \
    } while (0)

/* The input with a zero behind, in memory of its own, so that the sanitizers see a byte too many. Caller frees. */
static inline char *fuzz_text(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);

    if (text == NULL)
        abort();
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    return text;
}

#endif
