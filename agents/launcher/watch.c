/*
 * Streams are cut into lines as Python's text files are (\n, \r\n and \r end one) and handed on in blocks of whole lines. Lines of
 * ASCII go through the scan; a line with other bytes, and a rule that the scan does not take, go to PCRE2 directly.
 */
#include "agents/launcher/watch.h"

#include "base/pattern.h"
#include "base/scan.h"
#include "base/text.h"

#include <string.h>

#define BLOCK_BYTES_MAX 65536

struct rule_patterns {
    struct pattern *line, *stop;
    int too_much;
    bool off, off_told;
};

struct stream {
    struct text pending; /* whole lines and the beginning of one; bounded by BLOCK_BYTES_MAX */
    size_t line_bytes;   /* of the line that has no end yet */
    bool after_return;   /* \r was the last byte: a \n now belongs to it */
};

struct watch {
    int ranks;
    struct rules *rules;
    struct rule_patterns *patterns;
    size_t count;
    struct scan *scan;
    bool *found; /* by the scan: logPattern of rule i is 2i, stopPattern 2i + 1 */
    bool all_found;
    struct stream *streams;
    /* of the block in hand */
    int rank;
    int64_t now_ms;
    const char *line; /* in hand */
    size_t line_len;
    uint64_t hit, hit_stop; /* bits of rules whose patterns the line may match */
    char readable[WATCH_LINE_MAX + 1];
};

/* --- making ------------------------------------------------------------------------------------------- */

struct watch *watch_new(int ranks)
{
    struct watch *watch = own_calloc(1, sizeof(*watch));
    watch->ranks = ranks < 1 ? 1 : ranks > RULE_RANKS_MAX ? RULE_RANKS_MAX : ranks;
    watch->rules = rules_new(watch->ranks);
    watch->streams = own_calloc((size_t)watch->ranks * WATCH_STREAMS_A_RANK, sizeof(*watch->streams));
    return watch;
}

static void free_patterns(struct watch *watch)
{
    for (size_t i = 0; i < watch->count; i++) {
        pattern_free(watch->patterns[i].line);
        pattern_free(watch->patterns[i].stop);
    }
    free(watch->patterns);
    free(watch->found);
    scan_free(watch->scan);
    watch->patterns = NULL;
    watch->found = NULL;
    watch->scan = NULL;
    watch->count = 0;
}

void watch_free(struct watch *watch)
{
    if (watch == NULL)
        return;
    free_patterns(watch);
    rules_free(watch->rules);
    for (int i = 0; i < watch->ranks * WATCH_STREAMS_A_RANK; i++)
        text_free(&watch->streams[i].pending);
    free(watch->streams);
    free(watch);
}

struct rules *watch_rules(struct watch *watch)
{
    return watch->rules;
}

void watch_set_rules(struct watch *watch, struct rule_list *list, int64_t now_ms)
{
    const char *regexes[2 * RULES_MAX];
    char error[PATTERN_ERROR_MAX];
    free_patterns(watch);
    rules_set(watch->rules, list, now_ms);
    const struct rule_list *rules = rules_list(watch->rules);
    watch->count = rules->count;
    watch->patterns = own_calloc(rules->count + 1, sizeof(*watch->patterns));
    watch->found = own_calloc(2 * RULES_MAX, sizeof(*watch->found));
    for (size_t i = 0; i < rules->count; i++) {
        const struct rule *rule = &rules->rules[i];
        watch->patterns[i].line = pattern_new_line(rule->pattern, error);
        watch->patterns[i].stop = rule->stop_pattern != NULL ? pattern_new_line(rule->stop_pattern, error) : NULL;
        regexes[2 * i] = rule->pattern;
        regexes[2 * i + 1] = rule->stop_pattern != NULL ? rule->stop_pattern : rule->pattern;
    }
    watch->scan = scan_new(regexes, 2 * rules->count, watch->found);
    watch->all_found = true;
    for (size_t i = 0; i < rules->count; i++) {
        /* A rule's lines are judged in their order: both of its patterns by the scan, or both line by line. */
        bool both = watch->found[2 * i] && watch->found[2 * i + 1];
        watch->found[2 * i] = watch->found[2 * i + 1] = both;
        watch->all_found = watch->all_found && both;
    }
}

const char *watch_next_switched_off(struct watch *watch)
{
    for (size_t i = 0; i < watch->count; i++)
        if (watch->patterns[i].off && !watch->patterns[i].off_told) {
            watch->patterns[i].off_told = true;
            return rules_list(watch->rules)->rules[i].name;
        }
    return NULL;
}

/* --- one line ----------------------------------------------------------------------------------------- */

static bool confirm(struct watch *watch, size_t rule, struct pattern *pattern, struct pattern_group *group)
{
    struct rule_patterns *patterns = &watch->patterns[rule];
    /* The end of the line is part of it, as in Python: "done\s" matches at its end. */
    enum pattern_result result = pattern_match_line(pattern, watch->line, watch->line_len + 1, group);
    if (result == PATTERN_TOO_MUCH && ++patterns->too_much >= WATCH_TOO_MUCH_MAX) {
        patterns->off = true;
        rules_stop(watch->rules, rule);
    }
    return result == PATTERN_YES;
}

static void judge(struct watch *watch, size_t rule)
{
    struct rule_patterns *patterns = &watch->patterns[rule];
    uint64_t bit = UINT64_C(1) << rule;
    struct pattern_group group;
    if (rules_is_stopped(watch->rules, rule))
        return;
    if ((watch->hit & bit) != 0 && patterns->line != NULL && confirm(watch, rule, patterns->line, &group))
        rules_match(watch->rules, rule, watch->rank, watch->now_ms, watch->line, watch->line_len, group.data,
                    group.len);
    if ((watch->hit_stop & bit) != 0 && patterns->stop != NULL && confirm(watch, rule, patterns->stop, &group))
        rules_stop(watch->rules, rule);
}

/* What was found of the line in hand, and the rules that have to look at every line. */
static void finish_line(struct watch *watch)
{
    if (watch->line == NULL)
        return;
    for (size_t i = 0; i < watch->count; i++)
        if (((watch->hit | watch->hit_stop) & (UINT64_C(1) << i)) != 0)
            judge(watch, i);
    watch->line = NULL;
    watch->hit = watch->hit_stop = 0;
}

static void take_line(struct watch *watch, const char *line, size_t len)
{
    if (line == watch->line)
        return;
    finish_line(watch);
    watch->line = line;
    watch->line_len = len < WATCH_LINE_MAX ? len : WATCH_LINE_MAX;
}

static void on_line(void *arg, size_t pattern, const char *line, size_t len)
{
    struct watch *watch = arg;
    uint64_t bit = UINT64_C(1) << (pattern / 2);
    if (!watch->found[pattern])
        return;
    take_line(watch, line, len);
    if (pattern % 2 == 0)
        watch->hit |= bit;
    else
        watch->hit_stop |= bit;
}

/* --- a block of whole lines --------------------------------------------------------------------------- */

static bool is_ascii(const char *bytes, size_t len)
{
    size_t i = 0;
    for (; i + sizeof(uint64_t) <= len; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes + i, sizeof(word));
        if ((word & UINT64_C(0x8080808080808080)) != 0)
            return false;
    }
    for (; i < len; i++)
        if ((unsigned char)bytes[i] >= 0x80)
            return false;
    return true;
}

static const char *line_end(const char *from, const char *end)
{
    const char *newline = memchr(from, '\n', (size_t)(end - from));
    return newline != NULL ? newline : end;
}

/* A line that is no UTF-8, in ASCII: what is not is a question mark. */
static const char *make_readable(struct watch *watch, const char *line, size_t len)
{
    size_t shown = len < WATCH_LINE_MAX ? len : WATCH_LINE_MAX;
    for (size_t i = 0; i < shown; i++)
        watch->readable[i] = (unsigned char)line[i] < 0x80 ? line[i] : '?';
    watch->readable[shown] = '\n';
    return watch->readable;
}

/* Every rule that the scan does not know, or every rule, on each line. */
static void look_at_each(struct watch *watch, const char *block, size_t len, bool every_rule)
{
    const char *end = block + len;
    uint64_t hit = 0, hit_stop = 0;
    for (size_t i = 0; i < watch->count; i++) {
        hit |= every_rule || !watch->found[2 * i] ? UINT64_C(1) << i : 0;
        hit_stop |= every_rule || !watch->found[2 * i + 1] ? UINT64_C(1) << i : 0;
    }
    for (const char *line = block; line < end;) {
        const char *line_over = line_end(line, end);
        size_t line_len = (size_t)(line_over - line);
        take_line(watch, text_is_utf8(line, line_len) ? line : make_readable(watch, line, line_len), line_len);
        watch->hit = hit;
        watch->hit_stop = hit_stop;
        finish_line(watch);
        line = line_over + 1;
    }
}

static void scan_lines(struct watch *watch, const char *block, size_t len)
{
    scan_block(watch->scan, block, len, on_line, watch);
    finish_line(watch);
    if (!watch->all_found)
        look_at_each(watch, block, len, false);
}

/* Runs of lines in ASCII, and single lines of more. The last line may have no end: the byte behind the block is a \n then. */
static void look(struct watch *watch, const char *block, size_t len)
{
    const char *end = block + len, *run = block;
    if (is_ascii(block, len)) {
        scan_lines(watch, block, len);
        return;
    }
    for (const char *line = block; line < end;) {
        const char *over = line_end(line, end);
        if (!is_ascii(line, (size_t)(over - line))) {
            scan_lines(watch, run, (size_t)(line - run));
            look_at_each(watch, line, (size_t)(over - line), true);
            run = over < end ? over + 1 : end;
        }
        line = over + 1;
    }
    if (run < end)
        scan_lines(watch, run, (size_t)(end - run));
}

/* --- streams ------------------------------------------------------------------------------------------ */

static struct stream *stream_of(struct watch *watch, int rank, int stream)
{
    return &watch->streams[rank * WATCH_STREAMS_A_RANK + stream];
}

/* Whole lines go to the rules; the beginning of the last one stays. */
static void flush(struct watch *watch, struct stream *stream)
{
    size_t rest = stream->line_bytes < WATCH_LINE_MAX ? stream->line_bytes : WATCH_LINE_MAX;
    size_t whole = stream->pending.len - rest;
    if (whole > 0 && stream->pending.data != NULL) {
        look(watch, stream->pending.data, whole);
        memmove(stream->pending.data, stream->pending.data + whole, rest);
        stream->pending.len = rest;
    }
}

/* A piece without the end of a line. What is too much of a line is left out. */
static void add_piece(struct stream *stream, const char *bytes, size_t len)
{
    size_t room = stream->line_bytes < WATCH_LINE_MAX ? WATCH_LINE_MAX - stream->line_bytes : 0;
    text_add_bytes(&stream->pending, bytes, len < room ? len : room);
    stream->line_bytes += len;
}

static const char *piece_end(const char *from, const char *end)
{
    const char *newline = line_end(from, end);
    const char *back = memchr(from, '\r', (size_t)(newline - from));
    return back != NULL ? back : newline;
}

/* Any bytes, line by line through memory of the stream. */
static void feed_slowly(struct watch *watch, struct stream *stream, const char *bytes, size_t len)
{
    const char *end = bytes + len;
    while (bytes < end) {
        if (stream->after_return && *bytes == '\n') {
            stream->after_return = false;
            bytes++;
            continue;
        }
        const char *over = piece_end(bytes, end);
        add_piece(stream, bytes, (size_t)(over - bytes));
        stream->after_return = over < end && *over == '\r';
        if (over < end) {
            text_add_char(&stream->pending, '\n');
            stream->line_bytes = 0;
        }
        bytes = over < end ? over + 1 : end;
        if (stream->pending.len >= BLOCK_BYTES_MAX)
            flush(watch, stream);
    }
    flush(watch, stream);
}

/* Ordinary lines are looked at where they are; only what has no beginning or no end here is copied. */
void watch_feed(struct watch *watch, int rank, int stream_number, const char *bytes, size_t len, int64_t now_ms)
{
    if (rank < 0 || rank >= watch->ranks || watch->count == 0)
        return;
    struct stream *stream = stream_of(watch, rank, stream_number);
    watch->rank = rank;
    watch->now_ms = now_ms;
    const char *last = memrchr(bytes, '\n', len);
    if (last == NULL || stream->after_return || memchr(bytes, '\r', len) != NULL) {
        feed_slowly(watch, stream, bytes, len);
        return;
    }
    const char *whole = bytes, *rest = last + 1;
    if (stream->line_bytes > 0) {
        whole = line_end(bytes, rest) + 1;
        feed_slowly(watch, stream, bytes, (size_t)(whole - bytes));
    }
    if (whole < rest)
        look(watch, whole, (size_t)(rest - whole));
    feed_slowly(watch, stream, rest, len - (size_t)(rest - bytes));
}

void watch_end(struct watch *watch, int rank, int stream_number, int64_t now_ms)
{
    if (rank < 0 || rank >= watch->ranks)
        return;
    struct stream *stream = stream_of(watch, rank, stream_number);
    if (stream->line_bytes > 0)
        watch_feed(watch, rank, stream_number, "\n", 1, now_ms);
    text_clear(&stream->pending);
    *stream = (struct stream){.pending = stream->pending};
}
