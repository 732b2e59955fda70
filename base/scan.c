/*
 * Vectorscan in block mode with ^ and $ at lines.
 *
 * ".*x.*" asks for lines with x in them, so the ends of such a pattern are left out: without them it is a search for a literal. What is
 * not stripped is anchored at the start of a line. Constructs that Vectorscan lacks (references, looking around) are compiled to
 * something that finds more. Left to the caller: what means the start or end of the whole text (\A, \Z), options that change how lines are
 * seen, and repeats so large that compiling them could take minutes.
 */
#include "base/scan.h"

#include "base/text.h"

#include <hs/hs.h>
#include <string.h>

#define REGEX_BYTES_MAX 2048
#define REPEATS_MAX 2000 /* all numbers in braces, multiplied */

struct scan {
    hs_database_t *database; /* NULL: nothing to find */
    hs_scratch_t *scratch;
    size_t *done; /* of each pattern: where its last reported line of this block ends */
    size_t count;
};

struct hit {
    struct scan *scan;
    const char *block;
    size_t len;
    void (*on_line)(void *arg, size_t pattern, const char *line, size_t len);
    void *arg;
};

/* --- what a pattern is made into ---------------------------------------------------------------------- */

static bool has_top_level_choice(const char *regex)
{
    int depth = 0;
    bool class = false;
    for (const char *c = regex; *c != '\0'; c++) {
        if (*c == '\\' && c[1] != '\0')
            c++;
        else if (class)
            class = *c != ']';
        else if (*c == '[') {
            class = true;
            c += c[1] == '^';
            c += c[1] == ']'; /* the first one is a member */
        } else if (*c == '(')
            depth++;
        else if (*c == ')')
            depth--;
        else if (*c == '|' && depth <= 0)
            return true;
    }
    return false;
}

/* An escape that means a place in the whole text, quotes, or is read in another way here and there. */
static bool is_unsafe_escape(char c)
{
    return c != '\0' && strchr("AZzGKQERXNCcopux", c) != NULL;
}

/* "(?i)" and the like, and what else begins with "(?" but plain groups, names and looking around. */
static bool is_unsafe_group(const char *after)
{
    if (*after == '*')
        return true;
    if (*after != '?')
        return false;
    return after[1] == '\0' || strchr(":=!<P", after[1]) == NULL || (after[1] == 'P' && after[2] != '<');
}

/* The numbers in braces, multiplied: "(a{100}){100}" is 10,000 states, and more would take long to compile. */
static bool is_too_repetitive(const char *regex)
{
    int64_t product = 1;
    for (const char *c = strchr(regex, '{'); c != NULL; c = strchr(c + 1, '{')) {
        char *end;
        long most = strtol(c + 1, &end, 10);
        if (*end == ',')
            most = strtol(end + 1, NULL, 10) > most ? strtol(end + 1, NULL, 10) : most;
        product *= most > 1 ? most : 1;
        if (most > REPEATS_MAX || product > REPEATS_MAX)
            return true;
    }
    return false;
}

static bool can_be_found(const char *regex)
{
    if (strlen(regex) > REGEX_BYTES_MAX || is_too_repetitive(regex))
        return false;
    for (const char *c = regex; *c != '\0'; c++) {
        if ((unsigned char)*c >= 0x80 || *c == '\n')
            return false; /* letters of more than one byte: a scan sees bytes */
        if (*c == '(' && is_unsafe_group(c + 1))
            return false;
        if (*c == '\\' && (is_unsafe_escape(c[1]) || c[1] == '\0'))
            return false;
        if (*c == '\\')
            c++;
    }
    return true;
}

static bool ends_with_any(const char *regex, size_t len)
{
    return len >= 2 && strncmp(regex + len - 2, ".*", 2) == 0 && (len == 2 || regex[len - 3] != '\\');
}

/* Caller frees. NULL when nothing would be left. */
static char *prepare(const char *regex)
{
    if (has_top_level_choice(regex))
        return own_printf("^(?:%s)", regex);
    bool anywhere = false;
    while (strncmp(regex, ".*", 2) == 0 && regex[2] != '+') {
        anywhere = true;
        regex += regex[2] == '?' ? 3 : 2;
    }
    size_t len = strlen(regex);
    while (ends_with_any(regex, len))
        len -= 2;
    if (len == 0)
        return NULL;
    return own_printf("%s(?:%.*s)", anywhere ? "" : "^", (int)len, regex);
}

/* --- making ------------------------------------------------------------------------------------------- */

static bool compiles(const char *prepared, unsigned flags)
{
    hs_compile_error_t *error = NULL;
    hs_expr_info_t *info = NULL;
    bool ok = hs_expression_info(prepared, flags, &info, &error) == HS_SUCCESS && info->min_width > 0;
    free(info);
    if (error != NULL)
        hs_free_compile_error(error);
    return ok;
}

static unsigned flags_of(const char *prepared)
{
    unsigned plain = HS_FLAG_MULTILINE;
    return compiles(prepared, plain) ? plain : plain | HS_FLAG_PREFILTER;
}

static bool compile(struct scan *scan, const char *const prepared[], const unsigned flags[], const unsigned ids[],
                    unsigned count)
{
    hs_compile_error_t *error = NULL;
    if (hs_compile_multi(prepared, flags, ids, count, HS_MODE_BLOCK, NULL, &scan->database, &error) != HS_SUCCESS) {
        hs_free_compile_error(error);
        scan->database = NULL;
        return false;
    }
    if (hs_alloc_scratch(scan->database, &scan->scratch) != HS_SUCCESS)
        abort(); /* no memory: see own.h */
    return true;
}

struct scan *scan_new(const char *const regexes[], size_t count, bool ret_found[])
{
    struct scan *scan = own_calloc(1, sizeof(*scan));
    autofree char **prepared = own_calloc(count + 1, sizeof(*prepared));
    autofree unsigned *flags = own_calloc(count + 1, sizeof(*flags)), *ids = own_calloc(count + 1, sizeof(*ids));
    unsigned used = 0;
    scan->count = count;
    scan->done = own_calloc(count + 1, sizeof(*scan->done));
    bool usable = hs_valid_platform() == HS_SUCCESS;
    for (size_t i = 0; i < count; i++) {
        char *one = usable && can_be_found(regexes[i]) ? prepare(regexes[i]) : NULL;
        unsigned flag = one != NULL ? flags_of(one) : 0;
        ret_found[i] = one != NULL && compiles(one, flag);
        if (!ret_found[i]) {
            free(one);
            continue;
        }
        prepared[used] = one;
        flags[used] = flag;
        ids[used++] = (unsigned)i;
    }
    if (used > 0 && !compile(scan, (const char *const *)prepared, flags, ids, used))
        for (size_t i = 0; i < count; i++)
            ret_found[i] = false; /* too large together */
    for (unsigned i = 0; i < used; i++)
        free(prepared[i]);
    return scan;
}

void scan_free(struct scan *scan)
{
    if (scan == NULL)
        return;
    hs_free_scratch(scan->scratch);
    hs_free_database(scan->database);
    free(scan->done);
    free(scan);
}

/* --- scanning ----------------------------------------------------------------------------------------- */

static int on_hit(unsigned id, unsigned long long from, unsigned long long to, unsigned flags, void *arg)
{
    (void)from;
    (void)flags;
    struct hit *hit = arg;
    size_t at = (size_t)to;
    if (at <= hit->scan->done[id])
        return 0;           /* this line again */
    size_t inside = at - 1; /* a byte of the line that the match ends in; its \n is one */
    const char *before = inside > 0 ? memrchr(hit->block, '\n', inside) : NULL;
    const char *line = before != NULL ? before + 1 : hit->block;
    const char *end = memchr(hit->block + inside, '\n', hit->len - inside);
    if (end == NULL)
        end = hit->block + hit->len;
    hit->scan->done[id] = (size_t)(end - hit->block) + 1;
    hit->on_line(hit->arg, id, line, (size_t)(end - line));
    return 0;
}

void scan_block(struct scan *scan, const char *block, size_t len,
                void (*on_line)(void *arg, size_t pattern, const char *line, size_t len), void *arg)
{
    struct hit hit = {scan, block, len, on_line, arg};
    if (scan->database == NULL || len == 0)
        return;
    memset(scan->done, 0, scan->count * sizeof(*scan->done));
    hs_scan(scan->database, block, (unsigned)len, 0, scan->scratch, on_hit, &hit);
}
