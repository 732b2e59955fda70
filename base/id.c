/*
 * Random identities and SHA-256. Randomness is the kernel's; a seeded source exists so
 * that a simulation can be run again, and must never make a secret that leaves it.
 */
#include "base/id.h"

#include <errno.h>
#include <nettle/sha2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define SECRET_BYTES 32
#define INSTANCE_HEX_DIGITS 17
#define CLUSTER_CHARACTERS 12

static const char hex_digits[] = "0123456789abcdef";

void id_source_seed(struct id_source *source, uint64_t seed)
{
    *source = (struct id_source){true, seed};
}

/* SplitMix64 (Steele, Lea, Flood 2014): small, and good enough to tell simulated things apart. */
static uint64_t next_seeded(struct id_source *source)
{
    uint64_t z = source->state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static void kernel_bytes(uint8_t *out, size_t len)
{
    while (len > 0) {
        ssize_t n = getrandom(out, len, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) { /* without randomness there are no secrets: better no process */
            fputs("holdfast: the kernel gives no random bytes\n", stderr);
            abort();
        }
        out += n;
        len -= (size_t)n;
    }
}

void id_bytes(struct id_source *source, void *ret_bytes, size_t len)
{
    uint8_t *out = ret_bytes;

    if (source == NULL || !source->seeded) {
        kernel_bytes(out, len);
        return;
    }
    while (len > 0) {
        uint64_t word = next_seeded(source);
        size_t n = len < sizeof(word) ? len : sizeof(word);
        memcpy(out, &word, n);
        out += n;
        len -= n;
    }
}

static void write_hex(const uint8_t *bytes, size_t digits, char *out)
{
    for (size_t i = 0; i < digits; i++)
        out[i] = hex_digits[(bytes[i / 2] >> (i % 2 == 0 ? 4 : 0)) & 15];
    out[digits] = '\0';
}

void id_instance(struct id_source *source, char ret_id[ID_INSTANCE_MAX])
{
    uint8_t bytes[(INSTANCE_HEX_DIGITS + 1) / 2];

    id_bytes(source, bytes, sizeof(bytes));
    memcpy(ret_id, "i-", 2);
    write_hex(bytes, INSTANCE_HEX_DIGITS, ret_id + 2);
}

void id_cluster(struct id_source *source, char ret_id[ID_CLUSTER_MAX])
{
    static const char alphabet[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    const uint8_t fair = 252; /* 7 x 36: bytes above would favour the first letters */
    size_t at = 0;

    while (at < CLUSTER_CHARACTERS) {
        uint8_t bytes[16];
        id_bytes(source, bytes, sizeof(bytes));
        for (size_t i = 0; i < sizeof(bytes) && at < CLUSTER_CHARACTERS; i++)
            if (bytes[i] < fair)
                ret_id[at++] = alphabet[bytes[i] % 36];
    }
    ret_id[at] = '\0';
}

/* Version 4, RFC 9562. */
void id_uuid(struct id_source *source, char ret_id[ID_UUID_MAX])
{
    uint8_t bytes[16];
    char hex[2 * sizeof(bytes) + 1];

    id_bytes(source, bytes, sizeof(bytes));
    bytes[6] = (uint8_t)((bytes[6] & 0x0f) | 0x40);
    bytes[8] = (uint8_t)((bytes[8] & 0x3f) | 0x80);
    write_hex(bytes, 2 * sizeof(bytes), hex);
    snprintf(ret_id, ID_UUID_MAX, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8, hex + 12, hex + 16, hex + 20);
}

/* base64url without padding, RFC 4648. */
void id_secret(struct id_source *source, char ret_secret[ID_SECRET_MAX])
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    uint8_t bytes[SECRET_BYTES + 1] = {0}; /* a zero behind, so that the last group is whole */
    size_t at = 0;

    id_bytes(source, bytes, SECRET_BYTES);
    for (size_t i = 0; i < SECRET_BYTES; i += 3) {
        uint32_t group = (uint32_t)bytes[i] << 16 | (uint32_t)bytes[i + 1] << 8 | bytes[i + 2];
        for (int shift = 18; shift >= 0; shift -= 6)
            ret_secret[at++] = alphabet[group >> shift & 63];
    }
    ret_secret[at - 1] = '\0'; /* 32 bytes are 42 characters and two thirds */
}

void id_sha256(const void *data, size_t len, uint8_t ret_digest[ID_SHA256_BYTES])
{
    struct sha256_ctx context;

    sha256_init(&context);
    sha256_update(&context, len, data);
    sha256_digest(&context, ID_SHA256_BYTES, ret_digest);
}

void id_sha256_hex(const void *data, size_t len, char ret_hex[ID_SHA256_HEX_MAX])
{
    uint8_t digest[ID_SHA256_BYTES];

    id_sha256(data, len, digest);
    write_hex(digest, 2 * sizeof(digest), ret_hex);
}

bool id_equal(const void *a, const void *b, size_t len)
{
    const volatile uint8_t *left = a, *right = b;
    uint8_t difference = 0;

    for (size_t i = 0; i < len; i++)
        difference = (uint8_t)(difference | (left[i] ^ right[i]));
    return difference == 0;
}
