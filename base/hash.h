/*
 * FNV-1a, for tables and for telling apart: fast, and no protection against anybody who chooses the words. What an attacker can choose is
 * hashed by base/map.c, with a key.
 */
#ifndef HOLDFAST_BASE_HASH_H
#define HOLDFAST_BASE_HASH_H

#include <stdint.h>

#define HASH_BASIS UINT64_C(0xcbf29ce484222325)
#define HASH_PRIME UINT64_C(0x100000001b3)

/* A step may take more than a byte at a time: cheaper, and enough to tell numbers apart. */
static inline uint64_t hash_number(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * HASH_PRIME;
}

/* With its zero, so that "a" and "b" are not "ab". */
static inline uint64_t hash_text(uint64_t hash, const char *text)
{
    do
        hash = hash_number(hash, (unsigned char)*text);
    while (*text++ != '\0');
    return hash;
}

#endif
