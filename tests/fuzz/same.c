/*
 * The kernel's random bytes, for fuzz programs the same in each run: tables of names are hashed under a random key, and a search that
 * follows what code runs would go another way each time.
 */
#include <stddef.h>
#include <stdint.h>
#include <sys/random.h>

ssize_t getrandom(void *ret_bytes, size_t len, unsigned flags)
{
    static uint64_t state = 1;
    uint8_t *out = ret_bytes;
    (void)flags;
    for (size_t i = 0; i < len; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        out[i] = (uint8_t)(state >> 56);
    }
    return (ssize_t)len;
}
