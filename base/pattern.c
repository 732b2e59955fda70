/*
 * Regular expressions by PCRE2's matcher (not its JIT, which needs memory that is writable and executable).
 *
 * Three limits bound a match: how often the matcher may be entered, how deep it may go back, and its memory. They are
 * some ten times what the longest honest value needs.
 */
#include "base/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdint.h>

#define ENTRIES_MAX 50000 /* about a millisecond of a core */
#define DEPTH_MAX 20000
#define HEAP_KIB_MAX 8192

struct pattern {
    pcre2_code *code;
    pcre2_match_context *limits;
};

struct pattern *pattern_new(const char *regex)
{
    struct pattern *pattern = own_calloc(1, sizeof(*pattern));
    int error;
    size_t at;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);

    pattern->limits = pcre2_match_context_create(NULL);
    if (context == NULL || pattern->limits == NULL)
        abort(); /* no memory: see own.h */
    pcre2_set_newline(context, PCRE2_NEWLINE_ANYCRLF);
    pattern->code =
        pcre2_compile((PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED,
                      PCRE2_UTF | PCRE2_ANCHORED | PCRE2_ENDANCHORED | PCRE2_DOLLAR_ENDONLY, &error, &at, context);
    pcre2_compile_context_free(context);
    pcre2_set_match_limit(pattern->limits, ENTRIES_MAX);
    pcre2_set_depth_limit(pattern->limits, DEPTH_MAX);
    pcre2_set_heap_limit(pattern->limits, HEAP_KIB_MAX);
    if (pattern->code == NULL) {
        pattern_free(pattern);
        return NULL;
    }
    return pattern;
}

void pattern_free(struct pattern *pattern)
{
    if (pattern == NULL)
        return;
    pcre2_code_free(pattern->code);
    pcre2_match_context_free(pattern->limits);
    free(pattern);
}

bool pattern_matches(const struct pattern *pattern, const char *text, size_t len)
{
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);

    if (data == NULL)
        abort(); /* no memory: see own.h */
    int r = pcre2_match(pattern->code, (PCRE2_SPTR)text, len, 0, 0, data, pattern->limits);
    pcre2_match_data_free(data);
    return r >= 0;
}
