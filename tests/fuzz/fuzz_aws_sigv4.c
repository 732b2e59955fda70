/*
 * Signed requests: "METHOD path query\n", headers as "name:value\n", an empty line, and the body. What is taken apart is
 * what it says, and what is refused is refused in one clean sentence, the same with a cache and without.
 */
// ROOMS: base api
#include "tests/fuzz/fuzz.h"

#include "api/aws/sigv4.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <strings.h>

#define HEADERS_MAX 100
#define SECRET "hold+fast/SECRET0123456789abcdefghijklmn"
#define NOW_MS INT64_C(1795187045000) /* the time of the seeds */

struct headers {
    const char *names[HEADERS_MAX], *values[HEADERS_MAX];
    size_t count;
};

static size_t header(void *arg, const char *name, const char **ret_value)
{
    const struct headers *headers = arg;
    size_t count = 0;

    for (size_t i = 0; i < headers->count; i++) {
        if (strcasecmp(headers->names[i], name) != 0)
            continue;
        if (count++ == 0)
            *ret_value = headers->values[i];
    }
    return count;
}

/* The line at *at, without its end; *at moves behind it. */
static char *next_line(char **at)
{
    char *line = *at;
    size_t len = strcspn(line, "\n");

    *at = line + len + (line[len] == '\n');
    line[len] = '\0';
    return line;
}

static char *next_word(char **at)
{
    char *word = *at;
    size_t len = strcspn(word, " ");

    *at = word + len + (word[len] == ' ');
    word[len] = '\0';
    return word;
}

static void require_clean(const struct sigv4_refusal *refusal)
{
    size_t len = strnlen(refusal->why, sizeof(refusal->why));

    REQUIRE(len > 0 && len < sizeof(refusal->why) && strstr(refusal->why, SECRET) == NULL);
    REQUIRE(aws_error_http(refusal->error) == 400 || aws_error_http(refusal->error) == 403);
    for (size_t i = 0; i < len; i++)
        REQUIRE(refusal->why[i] >= 0x20 && refusal->why[i] < 0x7f);
}

static void verify(const struct sigv4_request *request)
{
    static struct sigv4_cache *cache;
    struct sigv4 sigv4;
    struct sigv4_refusal refusal = {.error = AWS_ERROR_COUNT};

    if (sigv4_parse(request, &sigv4, &refusal) < 0) {
        require_clean(&refusal);
        return;
    }
    REQUIRE(sigv4.key[0] != '\0' && sigv4.region[0] != '\0' && strlen(sigv4.date) == SIGV4_DATE_MAX - 1);
    REQUIRE(strstr(sigv4.signed_headers, "x-amz-target") != NULL);
    if (cache == NULL)
        cache = sigv4_cache_new();
    int r = sigv4_verify(request, &sigv4, SECRET, NULL, &refusal);
    if (r < 0)
        require_clean(&refusal);
    REQUIRE(sigv4_verify(request, &sigv4, SECRET, cache, &refusal) == r);
    REQUIRE(sigv4_verify(request, &sigv4, SECRET "x", cache, &refusal) == STATUS_UNAUTHENTICATED);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    autofree char *text = fuzz_text(data, size);
    struct headers headers = {.count = 0};
    struct sigv4_request request = {.header = header, .arg = &headers, .now_ms = NOW_MS};
    char *at = text, *line = next_line(&at);

    request.method = next_word(&line);
    request.path = next_word(&line);
    request.query = next_word(&line);
    while (*(line = next_line(&at)) != '\0' && headers.count < HEADERS_MAX) {
        char *colon = strchr(line, ':');
        if (colon == NULL)
            continue;
        *colon = '\0';
        headers.names[headers.count] = line;
        headers.values[headers.count++] = colon + 1;
    }
    request.body = at;
    request.body_len = strlen(at);
    verify(&request);
    return 0;
}
