/*
 * EMBED(symbol, "path") puts a file of the repository into the binary, so that one
 * file is all there is to deploy. The path is relative to the repository's root.
 * symbol##_data is zero-terminated; symbol##_size does not count the zero.
 */
#ifndef HOLDFAST_BASE_EMBED_H
#define HOLDFAST_BASE_EMBED_H

#include <stddef.h>

#define EMBED(symbol, path)                                \
    __asm__(".pushsection .rodata\n"                       \
            ".balign 16\n"                                 \
            ".globl " #symbol "_data\n" #symbol "_data:\n" \
            ".incbin \"" path "\"\n"                       \
            ".globl " #symbol "_end\n" #symbol "_end:\n"   \
            ".byte 0\n"                                    \
            ".popsection\n");                              \
    extern const char symbol##_data[];                     \
    extern const char symbol##_end[]

#endif
