/*
 * Regular expressions by PCRE2's matcher. Patterns of whole texts are for hpd, which may have no memory that is writable and executable: so
 * without PCRE2's JIT. Those of lines are compiled by it where it can be had; the limits hold there, too.
 *
 * Three limits bound a match: how often the matcher may be entered, how deep it may go back, and its memory. They are
 * some ten times what the longest honest value needs.
 */
#include "base/pattern.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdint.h>
#include <stdio.h>

#define ENTRIES_MAX 50000 /* about a millisecond of a core */
#define DEPTH_MAX 20000
#define HEAP_KIB_MAX 8192
/* A line's ".*" alone goes back once for each byte. */
#define LINE_ENTRIES_MAX 100000
#define LINE_PARENTHESES_MAX 64

struct pattern {
    pcre2_code *code;
    pcre2_match_context *limits;
    pcre2_match_data *data; /* of a pattern for lines */
};

/* NULL with ret_error when regex is not one. */
static struct pattern *compile(const char *regex, uint32_t options, uint32_t newline, uint32_t entries_max,
                               char ret_error[PATTERN_ERROR_MAX])
{
    struct pattern *pattern = own_calloc(1, sizeof(*pattern));
    int error;
    size_t at;
    pcre2_compile_context *context = pcre2_compile_context_create(NULL);

    pattern->limits = pcre2_match_context_create(NULL);
    if (context == NULL || pattern->limits == NULL)
        abort(); /* no memory: see own.h */
    pcre2_set_newline(context, newline);
    pcre2_set_parens_nest_limit(context, LINE_PARENTHESES_MAX);
    pattern->code = pcre2_compile((PCRE2_SPTR)regex, PCRE2_ZERO_TERMINATED, PCRE2_UTF | PCRE2_ANCHORED | options,
                                  &error, &at, context);
    pcre2_compile_context_free(context);
    pcre2_set_match_limit(pattern->limits, entries_max);
    pcre2_set_depth_limit(pattern->limits, DEPTH_MAX);
    pcre2_set_heap_limit(pattern->limits, HEAP_KIB_MAX);
    if (pattern->code != NULL)
        return pattern;
    PCRE2_UCHAR why[PATTERN_ERROR_MAX / 2] = "";
    pcre2_get_error_message(error, why, sizeof(why));
    snprintf(ret_error, PATTERN_ERROR_MAX, "%s (at character %zu)", (const char *)why, at + 1);
    pattern_free(pattern);
    return NULL;
}

struct pattern *pattern_new(const char *regex)
{
    char error[PATTERN_ERROR_MAX];
    return compile(regex, PCRE2_ENDANCHORED | PCRE2_DOLLAR_ENDONLY, PCRE2_NEWLINE_ANYCRLF, ENTRIES_MAX, error);
}

struct pattern *pattern_new_line(const char *regex, char ret_error[PATTERN_ERROR_MAX])
{
    /* Not \C: it splits characters. */
    struct pattern *pattern = compile(regex, PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C, PCRE2_NEWLINE_LF,
                                      LINE_ENTRIES_MAX, ret_error);
    if (pattern == NULL)
        return NULL;
    (void)pcre2_jit_compile(pattern->code, PCRE2_JIT_COMPLETE); /* ten times as fast; without it the matcher does it */
    pattern->data = pcre2_match_data_create(2, NULL);
    if (pattern->data == NULL)
        abort(); /* no memory: see own.h */
    return pattern;
}

void pattern_free(struct pattern *pattern)
{
    if (pattern == NULL)
        return;
    pcre2_code_free(pattern->code);
    pcre2_match_context_free(pattern->limits);
    pcre2_match_data_free(pattern->data);
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

enum pattern_result pattern_match_line(struct pattern *pattern, const char *line, size_t len,
                                       struct pattern_group *ret_group)
{
    int r = pcre2_match(pattern->code, (PCRE2_SPTR)line, len, 0, 0, pattern->data, pattern->limits);
    if (r < 0)
        return r == PCRE2_ERROR_NOMATCH ? PATTERN_NO : PATTERN_TOO_MUCH;
    const PCRE2_SIZE *offsets = pcre2_get_ovector_pointer(pattern->data);
    *ret_group = (struct pattern_group){0};
    /* 0: there are more groups than we have room for, and those there is room for are set. */
    if (r != 1 && offsets[2] != PCRE2_UNSET && offsets[3] >= offsets[2])
        *ret_group = (struct pattern_group){line + offsets[2], offsets[3] - offsets[2]};
    return PATTERN_YES;
}
