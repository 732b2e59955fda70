/*
 * What it costs to verify a signature: the server's own functions on requests that the official SDK signed, in this process.
 * Prints one JSON line: microseconds for each, the least of several rounds, since whatever disturbs only adds.
 *
 *   sigv4 tests/data/aws/sigv4.json
 */
#include "api/aws/sigv4.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/own.h"
#include "base/seal.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#define ROUNDS 10
#define CALLS 1000

/* Headers are a list of [name, value], taken out of JSON beforehand: the server has them at hand as well. */
#define HEADERS_MAX 16
struct vector {
    const char *name, *secret;
    struct sigv4_request request;
    const char *headers[HEADERS_MAX][2];
    size_t count;
};

static size_t header(void *arg, const char *name, const char **ret_value)
{
    const struct vector *vector = arg;
    size_t count = 0;
    for (size_t i = 0; i < vector->count; i++)
        if (strcasecmp(vector->headers[i][0], name) == 0 && count++ == 0)
            *ret_value = vector->headers[i][1];
    return count;
}

static const char *member(const json_t *json, const char *name)
{
    return json_string_value(json_object_get(json, name));
}

static void read_vector(const json_t *json, struct vector *ret_vector)
{
    size_t i;
    const json_t *pair;
    *ret_vector = (struct vector){.name = member(json, "name"), .secret = member(json, "secret")};
    json_array_foreach(json_object_get(json, "headers"), i, pair)
    {
        if (ret_vector->count == HEADERS_MAX)
            exit(1);
        ret_vector->headers[ret_vector->count][0] = json_string_value(json_array_get(pair, 0));
        ret_vector->headers[ret_vector->count++][1] = json_string_value(json_array_get(pair, 1));
    }
    ret_vector->request = (struct sigv4_request){.method = member(json, "method"),
                                                 .path = member(json, "path"),
                                                 .query = member(json, "query"),
                                                 .header = header,
                                                 .arg = ret_vector,
                                                 .body = member(json, "body"),
                                                 .body_len = json_string_length(json_object_get(json, "body")),
                                                 .now_ms = json_integer_value(json_object_get(json, "now"))};
}

static void verify(const struct vector *vector, struct sigv4_cache *cache)
{
    struct sigv4 sigv4;
    struct sigv4_refusal refusal;
    if (sigv4_parse(&vector->request, &sigv4, &refusal) == 0 &&
        sigv4_verify(&vector->request, &sigv4, vector->secret, cache, &refusal) == 0)
        return;
    fprintf(stderr, "sigv4: %s: %s\n", vector->name, refusal.why);
    exit(1);
}

static double least_us(const struct vector *vector, struct sigv4_cache *cache)
{
    int64_t least = INT64_MAX;
    for (int round = 0; round < ROUNDS; round++) {
        int64_t from = clock_stopwatch_us();
        for (int i = 0; i < CALLS; i++)
            verify(vector, cache);
        int64_t took = clock_stopwatch_us() - from;
        least = took < least ? took : least;
    }
    return (double)least / CALLS;
}

/* Before a signature is verified the key's secret is unsealed. */
static double unseal_us(void)
{
    const struct seal_key key = {.bytes = {1, 2, 3}};
    uint8_t sealed[40 + SEAL_EXTRA_BYTES];
    char secret[41] = "0123456789abcdefghijklmnopqrstuvwxyz+/ab";
    int64_t least = INT64_MAX;
    seal_close(&key, NULL, "HFAKEXAMPLE0123456789", secret, 40, sealed);
    for (int round = 0; round < ROUNDS; round++) {
        int64_t from = clock_stopwatch_us();
        for (int i = 0; i < CALLS; i++)
            if (seal_open(&key, "HFAKEXAMPLE0123456789", sealed, sizeof(sealed), secret) != 0)
                exit(1);
        int64_t took = clock_stopwatch_us() - from;
        least = took < least ? took : least;
    }
    return (double)least / CALLS;
}

int main(int argc, char **argv)
{
    json_error_t error;
    auto_json json_t *vectors = argc == 2 ? json_load_file(argv[1], 0, &error) : NULL;
    const json_t *json;
    size_t i;
    if (vectors == NULL) {
        fputs("usage: sigv4 VECTORS.json\n", stderr);
        return 2;
    }
    struct sigv4_cache *cache = sigv4_cache_new();
    printf("{\"unseal\":%.2f", unseal_us());
    json_array_foreach(vectors, i, json)
    {
        struct vector vector;
        read_vector(json, &vector);
        printf(",\"%s\":%.2f,\"%s, first\":%.2f", vector.name, least_us(&vector, cache), vector.name,
               least_us(&vector, NULL));
    }
    puts("}");
    sigv4_cache_free(cache);
    return 0;
}
