/*
 * Fuzzing of what looks at every line of a kernel log: the scan, the stamps and the patterns. The line is handed over
 * without a zero at its end, as the log's reader does.
 */
// ROOMS: base model policy agents
#include "agents/checks/kmsg_pattern.h"
#include "agents/checks/kmsg_scan.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What the scan must not miss: each pattern compared by itself. */
static bool any_matches(const char *text, size_t len)
{
    const char *code, *pattern;
    char device[DEVICE_MAX_BYTES];
    for (size_t i = 0; kmsg_patterns_row(i, &code, &pattern); i++)
        if (kmsg_pattern_matches(pattern, text, len, device))
            return code != NULL;
    return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct kmsg_patterns *patterns;
    if (patterns == NULL)
        patterns = kmsg_patterns_new();
    const char *line = (const char *)data;
    size_t start = kmsg_text_start(line, size);
    struct kmsg_hit hit = {.code = ""};
    bool found = kmsg_patterns_find(patterns, line, size, &hit);
    assert(start <= size);
    assert(found == any_matches(line + start, size - start));
    if (!found)
        return 0;
    assert(hit.code != NULL && hit.code[0] != '\0');
    for (const char *c = hit.device; *c != '\0'; c++)
        assert(*c > ' ' && *c < 0x7f);
    assert(strlen(hit.device) < sizeof(hit.device));
    return 0;
}
