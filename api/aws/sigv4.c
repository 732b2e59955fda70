/*
 * Verifies Signature Version 4. Everything a client sends is bounded before it is looked at, secrets are wiped, and the
 * signatures are compared in constant time. The canonical request and the key are made in base/sigv4.c.
 */
#include "api/aws/sigv4.h"

#include "base/clock.h"
#include "base/hmac.h"
#include "base/status.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define ALGORITHM SIGV4_ALGORITHM
#define TERMINATOR SIGV4_TERMINATOR
#define DAY_LENGTH SIGV4_DAY_LENGTH
#define SIGNATURE_HEX_LENGTH (2 * ID_SHA256_BYTES)
#define CACHE_SLOTS 256 /* keys in use on one day; a clash costs a computation, no more */

static int refuse(struct sigv4_refusal *ret_refusal, enum aws_error error, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

static int refuse(struct sigv4_refusal *ret_refusal, enum aws_error error, const char *fmt, ...)
{
    va_list ap;

    ret_refusal->error = error;
    va_start(ap, fmt);
    vsnprintf(ret_refusal->why, sizeof(ret_refusal->why), fmt, ap);
    va_end(ap);
    return STATUS_UNAUTHENTICATED;
}

static bool consists_of(const char *text, size_t len, const char *others)
{
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        bool is_common = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
        if (c == '\0' || (!is_common && strchr(others, c) == NULL))
            return false;
    }
    return true;
}

/* --- the Authorization header ------------------------------------------------------------------------------------ */

struct span {
    const char *at;
    size_t len;
};

/* KEY/DAY/REGION/sagemaker/aws4_request */
static int parse_scope(struct span scope, struct sigv4 *ret_sigv4, char ret_day[DAY_LENGTH + 1],
                       struct sigv4_refusal *ret_refusal)
{
    struct span parts[5];
    size_t count = 0;

    for (const char *at = scope.at, *end = scope.at + scope.len;; count++) {
        const char *slash = memchr(at, '/', (size_t)(end - at));
        if (count < ARRAY_LEN(parts))
            parts[count] = (struct span){at, (size_t)((slash != NULL ? slash : end) - at)};
        if (slash == NULL)
            break;
        at = slash + 1;
    }
    if (++count != ARRAY_LEN(parts))
        return refuse(ret_refusal, AWS_ERROR_INCOMPLETE_SIGNATURE,
                      "Credential should be KEY/DAY/REGION/" SIGV4_SERVICE "/" TERMINATOR);
    if (parts[0].len == 0)
        return refuse(ret_refusal, AWS_ERROR_UNRECOGNIZED_CLIENT,
                      "the access key id is empty: is the client configured?");
    if (!consists_of(parts[0].at, parts[0].len, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") ||
        text_copy_bytes(ret_sigv4->key, sizeof(ret_sigv4->key), parts[0].at, parts[0].len) < 0)
        return refuse(ret_refusal, AWS_ERROR_UNRECOGNIZED_CLIENT, "the access key id is none that was made here");
    if (parts[1].len != DAY_LENGTH || !consists_of(parts[1].at, DAY_LENGTH, ""))
        return refuse(ret_refusal, AWS_ERROR_INCOMPLETE_SIGNATURE,
                      "the day in Credential should be written as 20261120");
    if (parts[2].len == 0 || !consists_of(parts[2].at, parts[2].len, "") ||
        text_copy_bytes(ret_sigv4->region, sizeof(ret_sigv4->region), parts[2].at, parts[2].len) < 0)
        return refuse(ret_refusal, AWS_ERROR_INCOMPLETE_SIGNATURE, "Credential names no region");
    if (parts[3].len != strlen(SIGV4_SERVICE) || memcmp(parts[3].at, SIGV4_SERVICE, parts[3].len) != 0)
        return refuse(ret_refusal, AWS_ERROR_INVALID_SIGNATURE,
                      "Credential should be scoped to the service " SIGV4_SERVICE);
    if (parts[4].len != strlen(TERMINATOR) || memcmp(parts[4].at, TERMINATOR, parts[4].len) != 0)
        return refuse(ret_refusal, AWS_ERROR_INVALID_SIGNATURE, "Credential should end in " TERMINATOR);
    return text_copy_bytes(ret_day, DAY_LENGTH + 1, parts[1].at, DAY_LENGTH);
}

/* Small letters, in order, none twice, and the three that say what the request is and when. */
static int parse_signed_headers(struct span list, struct sigv4 *ret_sigv4, struct sigv4_refusal *ret_refusal)
{
    static const char *const wanted[] = {"host", "x-amz-date", "x-amz-target"};
    const char *previous = "";
    size_t previous_len = 0, count = 0, found = 0;

    if (list.len == 0 || !consists_of(list.at, list.len, ";_") ||
        text_copy_bytes(ret_sigv4->signed_headers, sizeof(ret_sigv4->signed_headers), list.at, list.len) < 0)
        return refuse(ret_refusal, AWS_ERROR_INCOMPLETE_SIGNATURE, "SignedHeaders should be names in small letters");
    for (const char *at = ret_sigv4->signed_headers;; at++) {
        size_t len = strcspn(at, ";");
        size_t common = len < previous_len ? len : previous_len;
        int order = memcmp(previous, at, common);
        if (len == 0 || ++count > SIGV4_HEADERS_MAX || order > 0 || (order == 0 && previous_len >= len))
            return refuse(ret_refusal, AWS_ERROR_INCOMPLETE_SIGNATURE,
                          "SignedHeaders should be sorted, each once, at most %d", SIGV4_HEADERS_MAX);
        for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
            found += strlen(wanted[i]) == len && memcmp(wanted[i], at, len) == 0;
        previous = at;
        previous_len = len;
        at += len;
        if (*at == '\0')
            break;
    }
    if (found != ARRAY_LEN(wanted))
        return refuse(ret_refusal, AWS_ERROR_INCOMPLETE_SIGNATURE, "host, x-amz-date and x-amz-target must be signed");
    return 0;
}

static int parse_signature(struct span hex, struct sigv4 *ret_sigv4, struct sigv4_refusal *ret_refusal)
{
    static const char digits[] = "0123456789abcdef";

    if (hex.len != SIGNATURE_HEX_LENGTH || strspn(hex.at, digits) < hex.len)
        return refuse(ret_refusal, AWS_ERROR_INCOMPLETE_SIGNATURE, "Signature should be %d hex digits in small letters",
                      SIGNATURE_HEX_LENGTH);
    for (size_t i = 0; i < ID_SHA256_BYTES; i++)
        ret_sigv4->signature[i] = (uint8_t)(text_hex_digit(hex.at[2 * i]) << 4 | text_hex_digit(hex.at[2 * i + 1]));
    return 0;
}

/* "Credential=…, SignedHeaders=…, Signature=…": each once, in any order, nothing else. */
static int split(const char *at, struct span ret_parts[3], struct sigv4_refusal *ret_refusal)
{
    static const char *const names[] = {"Credential=", "SignedHeaders=", "Signature="};

    memset(ret_parts, 0, 3 * sizeof(ret_parts[0]));
    while (*at != '\0') {
        size_t len = strcspn(at, ", "), which = 0;
        while (which < ARRAY_LEN(names) && !text_starts_with(at, names[which]))
            which++;
        if (which == ARRAY_LEN(names) || ret_parts[which].at != NULL)
            return refuse(ret_refusal, AWS_ERROR_INCOMPLETE_SIGNATURE,
                          "Authorization should hold Credential, SignedHeaders and Signature, each once");
        size_t name_len = strlen(names[which]);
        ret_parts[which] = (struct span){at + name_len, len - name_len};
        at += len;
        at += strspn(at, ", ");
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (ret_parts[i].at == NULL)
            return refuse(ret_refusal, AWS_ERROR_INCOMPLETE_SIGNATURE, "Authorization has no %.*s",
                          (int)strlen(names[i]) - 1, names[i]);
    return 0;
}

/* The value of a header that may come once; NULL and 0 when it did not come. */
static int single(const struct sigv4_request *request, const char *name, const char **ret_value,
                  struct sigv4_refusal *ret_refusal)
{
    size_t count = request->header(request->arg, name, ret_value);

    if (count == 0)
        *ret_value = NULL;
    if (count > 1)
        return refuse(ret_refusal, AWS_ERROR_INCOMPLETE_SIGNATURE, "the header %s came more than once", name);
    return 0;
}

static int find_authorization(const struct sigv4_request *request, const char **ret_parts,
                              struct sigv4_refusal *ret_refusal)
{
    const char *value, *token;

    if (single(request, "authorization", &value, ret_refusal) < 0 ||
        single(request, "x-amz-security-token", &token, ret_refusal) < 0)
        return STATUS_UNAUTHENTICATED;
    if (value == NULL || !text_starts_with(value, "AWS4-"))
        return refuse(ret_refusal, AWS_ERROR_MISSING_TOKEN, "the request is not signed: sign it with " ALGORITHM);
    if (strlen(value) >= SIGV4_TEXT_MAX)
        return refuse(ret_refusal, AWS_ERROR_INCOMPLETE_SIGNATURE, "Authorization is longer than %d bytes",
                      SIGV4_TEXT_MAX - 1);
    if (!text_starts_with(value, ALGORITHM " "))
        return refuse(ret_refusal, AWS_ERROR_INCOMPLETE_SIGNATURE, "the algorithm should be " ALGORITHM);
    if (token != NULL)
        return refuse(ret_refusal, AWS_ERROR_UNRECOGNIZED_CLIENT,
                      "a session token was sent, and none are issued here: use an access key of Holdfast's");
    *ret_parts = value + strlen(ALGORITHM " ");
    return 0;
}

/* --- the date ----------------------------------------------------------------------------------------------------- */

/* 20261120T150000Z to milliseconds. */
static int parse_date(const char *date, int64_t *ret_ms)
{
    char text[CLOCK_TEXT_MAX];

    if (strlen(date) != SIGV4_DATE_MAX - 1 || date[8] != 'T' || date[15] != 'Z')
        return STATUS_INVALID;
    snprintf(text, sizeof(text), "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", date, date + 4, date + 6, date + 9, date + 11,
             date + 13);
    return clock_parse(text, ret_ms);
}

static int check_date(const struct sigv4_request *request, const char *day, struct sigv4 *ret_sigv4,
                      struct sigv4_refusal *ret_refusal)
{
    const char *date;
    char now[CLOCK_TEXT_MAX];
    int64_t at_ms;

    if (single(request, "x-amz-date", &date, ret_refusal) < 0)
        return STATUS_UNAUTHENTICATED;
    if (date == NULL || parse_date(date, &at_ms) < 0)
        return refuse(ret_refusal, AWS_ERROR_INCOMPLETE_SIGNATURE, "X-Amz-Date should be written as 20261120T150000Z");
    if (memcmp(date, day, DAY_LENGTH) != 0)
        return refuse(ret_refusal, AWS_ERROR_INVALID_SIGNATURE,
                      "X-Amz-Date is not on the day that Credential names, %s", day);
    if (at_ms < request->now_ms - SIGV4_SKEW_MS_MAX)
        return refuse(ret_refusal, AWS_ERROR_INVALID_SIGNATURE, "Signature expired: %s is more than %d min before %s",
                      date, (int)(SIGV4_SKEW_MS_MAX / MS_PER_MIN), clock_format(request->now_ms, now));
    if (at_ms > request->now_ms + SIGV4_SKEW_MS_MAX)
        return refuse(ret_refusal, AWS_ERROR_INVALID_SIGNATURE,
                      "Signature not yet current: %s is more than %d min after %s", date,
                      (int)(SIGV4_SKEW_MS_MAX / MS_PER_MIN), clock_format(request->now_ms, now));
    return text_copy(ret_sigv4->date, sizeof(ret_sigv4->date), date);
}

int sigv4_parse(const struct sigv4_request *request, struct sigv4 *ret_sigv4, struct sigv4_refusal *ret_refusal)
{
    struct span parts[3];
    char day[DAY_LENGTH + 1];
    const char *text = NULL;

    int r = find_authorization(request, &text, ret_refusal);
    if (r == 0)
        r = split(text, parts, ret_refusal);
    if (r == 0)
        r = parse_scope(parts[0], ret_sigv4, day, ret_refusal);
    if (r == 0)
        r = parse_signed_headers(parts[1], ret_sigv4, ret_refusal);
    if (r == 0)
        r = parse_signature(parts[2], ret_sigv4, ret_refusal);
    if (r == 0)
        r = check_date(request, day, ret_sigv4, ret_refusal);
    return r;
}

/* --- the signature ------------------------------------------------------------------------------------------------ */

struct cached_key {
    uint8_t tag[ID_SHA256_BYTES]; /* SHA-256 of secret, day and region */
    uint8_t key[ID_SHA256_BYTES];
};

struct sigv4_cache {
    pthread_mutex_t mutex;
    struct cached_key slots[CACHE_SLOTS];
};

struct sigv4_cache *sigv4_cache_new(void)
{
    struct sigv4_cache *cache = own_calloc(1, sizeof(*cache));

    pthread_mutex_init(&cache->mutex, NULL);
    return cache;
}

void sigv4_cache_free(struct sigv4_cache *cache)
{
    if (cache == NULL)
        return;
    pthread_mutex_destroy(&cache->mutex);
    explicit_bzero(cache, sizeof(*cache));
    free(cache);
}

static struct sigv4_scope scope_of(const struct sigv4 *sigv4)
{
    return (struct sigv4_scope){.date = sigv4->date, .region = sigv4->region, .service = SIGV4_SERVICE};
}

/* Tags are hashes of secrets: who could choose one to clash could forge signatures anyway. */
static bool cache_get(struct sigv4_cache *cache, const uint8_t tag[ID_SHA256_BYTES], uint8_t ret_key[ID_SHA256_BYTES])
{
    const struct cached_key *slot = &cache->slots[tag[0] % CACHE_SLOTS];

    pthread_mutex_lock(&cache->mutex);
    bool hit = id_equal(slot->tag, tag, ID_SHA256_BYTES);
    if (hit)
        memcpy(ret_key, slot->key, ID_SHA256_BYTES);
    pthread_mutex_unlock(&cache->mutex);
    return hit;
}

static void cache_put(struct sigv4_cache *cache, const uint8_t tag[ID_SHA256_BYTES], const uint8_t key[ID_SHA256_BYTES])
{
    struct cached_key *slot = &cache->slots[tag[0] % CACHE_SLOTS];

    pthread_mutex_lock(&cache->mutex);
    memcpy(slot->tag, tag, ID_SHA256_BYTES);
    memcpy(slot->key, key, ID_SHA256_BYTES);
    pthread_mutex_unlock(&cache->mutex);
}

static void signing_key(const struct sigv4 *sigv4, const char *secret, struct sigv4_cache *cache,
                        uint8_t ret_key[ID_SHA256_BYTES])
{
    uint8_t tag[ID_SHA256_BYTES] = {0};
    char *seed = own_printf("AWS4%s", secret);

    if (cache != NULL) {
        char *tagged = own_printf("%s\n%.*s\n%s", seed, DAY_LENGTH, sigv4->date, sigv4->region);
        id_sha256(tagged, strlen(tagged), tag);
        explicit_bzero(tagged, strlen(tagged));
        free(tagged);
    }
    if (cache == NULL || !cache_get(cache, tag, ret_key)) {
        const struct sigv4_scope scope = scope_of(sigv4);
        sigv4_derive_key(seed, &scope, ret_key);
        if (cache != NULL)
            cache_put(cache, tag, ret_key);
    }
    explicit_bzero(seed, strlen(seed));
    free(seed);
}

/* The body is always hashed: most clients send no hash, and one that does must have sent the right one. */
static int hash_body(const struct sigv4_request *request, char ret_hex[ID_SHA256_HEX_MAX],
                     struct sigv4_refusal *ret_refusal)
{
    const char *claimed;

    if (single(request, "x-amz-content-sha256", &claimed, ret_refusal) < 0)
        return STATUS_UNAUTHENTICATED;
    id_sha256_hex(request->body_len > 0 ? request->body : "", request->body_len, ret_hex);
    if (claimed != NULL && strcmp(claimed, ret_hex) != 0)
        return refuse(ret_refusal, AWS_ERROR_INVALID_SIGNATURE,
                      "X-Amz-Content-Sha256 is not the hash of the body that came");
    return 0;
}

int sigv4_verify(const struct sigv4_request *request, const struct sigv4 *sigv4, const char *secret,
                 struct sigv4_cache *cache, struct sigv4_refusal *ret_refusal)
{
    AUTO(text) struct text canonical = {0}, to_sign = {0};
    char body_hash[ID_SHA256_HEX_MAX], name[SIGV4_NAME_MAX];
    uint8_t key[ID_SHA256_BYTES], signature[ID_SHA256_BYTES];

    if (hash_body(request, body_hash, ret_refusal) < 0)
        return STATUS_UNAUTHENTICATED;
    if (sigv4_canonical(request, sigv4->signed_headers, body_hash, &canonical, name) < 0)
        return name[0] != '\0' ? refuse(ret_refusal, AWS_ERROR_INVALID_SIGNATURE,
                                        "the header %s is signed and did not come exactly once", name)
                               : refuse(ret_refusal, AWS_ERROR_INCOMPLETE_SIGNATURE, "the query cannot be read");
    const struct sigv4_scope scope = scope_of(sigv4);
    sigv4_to_sign(&scope, &canonical, &to_sign);
    signing_key(sigv4, secret, cache, key);
    hmac_sha256(key, sizeof(key), to_sign.data, to_sign.len, signature);
    explicit_bzero(key, sizeof(key));
    if (!id_equal(signature, sigv4->signature, sizeof(signature)))
        return refuse(ret_refusal, AWS_ERROR_INVALID_SIGNATURE,
                      "the signature is not the one that this request gives with the secret of key %s: check the "
                      "secret, and that "
                      "nothing on the way changes host, path or signed headers",
                      sigv4->key);
    return 0;
}

int sigv4_refuse_key(const struct sigv4 *sigv4, struct sigv4_refusal *ret_refusal)
{
    return refuse(ret_refusal, AWS_ERROR_UNRECOGNIZED_CLIENT, "there is no access key %s", sigv4->key);
}
