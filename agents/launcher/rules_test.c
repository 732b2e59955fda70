/*
 * The log's own times drive the rules, from limit to limit, so that a finding has the time at which a running job would have had it.
 * A line without a time has that of the one before.
 */
#include "agents/launcher/rules_test.h"

#include "agents/launcher/rule_read.h"
#include "agents/launcher/watch.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/option.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define RULES_BYTES_MAX (1 << 20)
#define TIME_WITHIN 80 /* bytes from the beginning of a line */
#define SECONDS_A_LINE_MAX 86400.0
#define EXIT_FINDINGS 1
#define EXIT_NOT_DONE 2

struct review {
    struct watch *watch;
    int64_t now_ms, line, findings;
    double line_ms; /* 0: only the log's own times */
    bool begun, timed;
};

/* --- what a line says of itself ----------------------------------------------------------------------- */

/* "2026-01-02" and so on: d is a digit. */
static bool looks_like(const char *text, size_t len, const char *shape)
{
    for (size_t i = 0; shape[i] != '\0'; i++)
        if (i >= len || (shape[i] == 'd'   ? !isdigit((unsigned char)text[i])
                         : shape[i] == 'T' ? text[i] != 'T' && text[i] != ' ' && text[i] != '_'
                                           : text[i] != shape[i]))
            return false;
    return true;
}

static int parse_time(const char *text, size_t len, int64_t *ret_ms)
{
    char rfc[CLOCK_TEXT_MAX];
    size_t at = strlen("dddd-dd-ddTdd:dd:dd"), digits = 0;
    int ms = 0;
    if (at < len && (text[at] == '.' || text[at] == ','))
        while (at + 1 + digits < len && isdigit((unsigned char)text[at + 1 + digits])) {
            if (digits < 3)
                ms = ms * 10 + (text[at + 1 + digits] - '0');
            digits++;
        }
    for (size_t i = digits; i < 3 && digits > 0; i++)
        ms *= 10;
    const char *zone = text + at + (digits > 0 ? digits + 1 : 0);
    bool has_zone = looks_like(zone, len - (size_t)(zone - text), "+dd:dd") ||
                    looks_like(zone, len - (size_t)(zone - text), "-dd:dd");
    snprintf(rfc, sizeof(rfc), "%.10sT%.8s.%03d%.*s", text, text + 11, ms, has_zone ? 6 : 1, has_zone ? zone : "Z");
    return clock_parse(rfc, ret_ms);
}

int rules_time_of(const char *line, size_t len, int64_t *ret_ms)
{
    for (size_t i = 0; i < len && i < TIME_WITHIN; i++)
        if (looks_like(line + i, len - i, "dddd-dd-ddTdd:dd:dd") && parse_time(line + i, len - i, ret_ms) == 0)
            return 0;
    return STATUS_NOT_FOUND;
}

int rules_rank_of(const char *line, size_t len)
{
    char head[TIME_WITHIN + 1];
    int64_t rank;
    size_t shown = len < TIME_WITHIN ? len : TIME_WITHIN;
    memcpy(head, line, shown);
    head[shown] = '\0';
    const char *from = head, *end = strstr(head, "]:");
    if (head[0] == '[' && end != NULL) {
        for (from = end; from > head + 1 && isdigit((unsigned char)from[-1]);)
            from--;
    } else {
        while (*from == ' ')
            from++;
        end = from + strspn(from, "0123456789");
        if (end[0] != ':' || end[1] != ' ')
            return 0;
    }
    autofree char *digits = own_printf("%.*s", (int)(end - from), from);
    return text_parse_i64(digits, 0, RULE_RANKS_MAX - 1, &rank) == 0 ? (int)rank : 0;
}

/* --- the review --------------------------------------------------------------------------------------- */

static void say_findings(struct review *review)
{
    struct rule_finding finding;
    char when[CLOCK_TEXT_MAX];
    struct rules *rules = watch_rules(review->watch);
    while (rules_next(rules, &finding)) {
        autofree char *reason = rules_reason(rules, &finding), *sentence = rules_sentence(rules, &finding);
        review->findings++;
        if (review->timed || review->line_ms > 0)
            printf("%s ", clock_format(finding.at_ms, when));
        printf("line %lld %s: %s\n", (long long)review->line, reason, sentence);
    }
    const char *off;
    while ((off = watch_next_switched_off(review->watch)) != NULL)
        printf("line %lld rule %s is off: its pattern costs too much on these lines\n", (long long)review->line, off);
}

static void advance(struct review *review, int64_t to_ms)
{
    struct rules *rules = watch_rules(review->watch);
    int64_t due;
    while ((due = rules_due_ms(rules)) <= to_ms) {
        rules_tick(rules, due);
        say_findings(review);
    }
    review->now_ms = to_ms > review->now_ms ? to_ms : review->now_ms;
}

static int64_t time_of(struct review *review, const char *line, size_t len)
{
    int64_t at;
    if (review->line_ms > 0)
        return MS_PER_DAY + (int64_t)((double)review->line * review->line_ms);
    if (rules_time_of(line, len, &at) != 0)
        return review->now_ms;
    review->timed = true;
    return at;
}

static void take_line(struct review *review, struct rule_list *rules, const char *line, size_t len)
{
    int64_t at = time_of(review, line, len);
    review->line++;
    if (!review->begun && (review->timed || review->line_ms > 0)) {
        review->begun = true; /* lines before the first time have it, too: the rules begin here */
        review->now_ms = at;
        struct rule_list again = *rules;
        *rules = (struct rule_list){0};
        watch_set_rules(review->watch, &again, at);
    }
    if (review->begun)
        advance(review, at);
    watch_feed(review->watch, rules_rank_of(line, len), 0, line, len, review->now_ms);
    say_findings(review);
}

static void say_summary(const struct review *review)
{
    const struct rule_list *list = rules_list(watch_rules(review->watch));
    for (size_t i = 0; i < list->count; i++)
        printf("rule %s: %lld line%s\n", list->rules[i].name, (long long)rules_matches(watch_rules(review->watch), i),
               text_plural(rules_matches(watch_rules(review->watch), i)));
    if (!review->begun)
        printf("No line has a time: limits in seconds are not judged. --line-seconds N gives each line so many.\n");
    printf("%lld line%s, %lld finding%s\n", (long long)review->line, text_plural(review->line),
           (long long)review->findings, text_plural(review->findings));
}

static int review_log(struct review *review, const char *path, struct rule_list *rules)
{
    FILE *log = strcmp(path, "-") == 0 ? stdin : fopen(path, "re");
    autofree char *line = NULL;
    size_t room = 0;
    ssize_t len;
    if (log == NULL) {
        fprintf(stderr, "hprun: %s cannot be read\n", path);
        return STATUS_IO;
    }
    while ((len = getline(&line, &room, log)) > 0)
        take_line(review, rules, line, (size_t)len);
    if (log != stdin)
        fclose(log);
    return 0;
}

/* Without any time the rules still judge lines. */
static int begin_untimed(const char *path, struct rule_list *rules, struct review *review)
{
    FILE *log = strcmp(path, "-") == 0 ? NULL : fopen(path, "re");
    autofree char *line = NULL;
    size_t room = 0;
    int64_t at;
    bool timed = review->line_ms > 0 || log == NULL;
    while (!timed && getline(&line, &room, log) > 0)
        timed = rules_time_of(line, strlen(line), &at) == 0;
    if (log != NULL)
        fclose(log);
    if (!timed)
        watch_set_rules(review->watch, rules, 0);
    return 0;
}

struct request {
    const char *file;
    double line_ms;
};

static int set_line_seconds(void *request, const char *value)
{
    double *line_ms = &((struct request *)request)->line_ms;
    if (!rule_value(value, strlen(value), line_ms) || !(*line_ms > 0) || *line_ms > SECONDS_A_LINE_MAX)
        return STATUS_INVALID;
    *line_ms *= (double)MS_PER_S;
    return 0;
}

static const struct option_row rows[] = {
    {.name = "file",
     .letter = 'f',
     .kind = OPTION_TEXT,
     .offset = offsetof(struct request, file),
     .placeholder = "RULES"},
    OPTION_ROW_SET("line-seconds", set_line_seconds, "N", NULL),
};
static const struct option_table table = {.rows = rows, .count = ARRAY_LEN(rows)};

static int usage(void)
{
    fprintf(stderr, "usage: hprun rules test LOG -f RULES [--line-seconds N]\n");
    return EXIT_NOT_DONE;
}

int rules_command(int argc, char *const argv[])
{
    struct request request = {0};
    struct review review = {0};
    __attribute__((cleanup(auto_rule_list_cleanup))) struct rule_list rules = {0};
    char error[RULE_ERROR_MAX] = "cannot be read", wrong[OPTION_ERROR_MAX];
    autofree const char **words = own_calloc((size_t)argc + 1, sizeof(*words));
    if (option_read(&table, argc, argv, &request, words, wrong) != 0 || words[0] == NULL || words[1] == NULL ||
        words[2] != NULL || strcmp(words[0], "test") != 0)
        return usage();
    const char *log = words[1], *file = request.file;
    review.line_ms = request.line_ms;
    if (file == NULL)
        return usage();
    autofree char *data = NULL;
    size_t len = 0;
    if (file_read(file, RULES_BYTES_MAX, &data, &len) != 0 || rule_read_text(data, len, &rules, error) != 0) {
        fprintf(stderr, "hprun: %s: %s\n", file, error);
        return EXIT_NOT_DONE;
    }
    AUTO(watch) struct watch *watch = watch_new(RULE_RANKS_MAX);
    review.watch = watch;
    (void)begin_untimed(log, &rules, &review);
    if (review_log(&review, log, &rules) != 0)
        return EXIT_NOT_DONE;
    say_summary(&review);
    return review.findings > 0 ? EXIT_FINDINGS : 0;
}
