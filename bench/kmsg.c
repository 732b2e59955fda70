/*
 * How fast the agent reads a kernel log: its own functions on a log of our making, and the same patterns as one regular
 * expression for grep and Python to do the same work with.
 *
 *   kmsg make LINES LOG EXPRESSION     writes both; prints how many lines match a row, and how many are findings
 *   kmsg read LOG                      prints the findings and how long a pass took, by records and from the file
 *
 * The expression is what the pattern language says, part by part: {} is ".*?", {word} "[…]+?", {device} the same in a group, {n}
 * "[0-9]+", the rows are alternatives in the order of the table, behind the head of a record. Two differences, both to the
 * others' good: a regular expression may go back where a pattern may not, and the stamps of syslog are not looked for. That both
 * find the same lines of this log is checked with every run.
 */
#include "agents/checks/kmsg.h"
#include "agents/checks/kmsg_pattern.h"
#include "agents/checks/kmsg_record.h"
#include "base/file.h"
#include "base/own.h"
#include "base/text.h"
#include "bench/kmsg_corpus.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define LOG_BYTES_MAX (256 << 20)
#define MEASURE_US 500000 /* a pass over the log takes less, so there are several */
#define US_PER_S 1000000.0

/* --- the rows as a regular expression ------------------------------------------------------------------------ */

#define WORD "[0-9A-Za-z_.:/@#+-]+"
static const struct {
    const char *part, *before_text, *at_end;
} parts[] = {{"{}", ".*?", ""},
             {"{word}", WORD "?", WORD},
             {"{device}", "(" WORD "?)", "(" WORD ")"},
             {"{n}", "[0-9]+", "[0-9]+"}};

static void add_row(struct text *text, const char *pattern)
{
    while (*pattern != '\0') {
        size_t part = 0;
        while (part < ARRAY_LEN(parts) && !text_starts_with(pattern, parts[part].part))
            part++;
        if (part < ARRAY_LEN(parts)) {
            pattern += strlen(parts[part].part);
            text_add(text, *pattern == '\0' || *pattern == '{' ? parts[part].at_end : parts[part].before_text);
            continue;
        }
        if (strchr("\\^$.|?*+()[]{}#", *pattern) != NULL)
            text_add_char(text, '\\');
        text_add_char(text, *pattern++);
    }
}

static int write_expression(const char *path)
{
    AUTO(text) struct text text = {0};
    const char *code, *pattern;
    text_add(&text, "^[0-9]+,[0-9]+,[0-9]+,[^;]*;(?:");
    for (size_t i = 0; kmsg_patterns_row(i, &code, &pattern); i++) {
        text_add(&text, i > 0 ? "|" : "");
        add_row(&text, pattern);
    }
    text_add(&text, ")");
    return file_write(path, text.data, text.len, 0600);
}

/* --- the log ------------------------------------------------------------------------------------------------- */

/* Row after row, as nobody would who is in a hurry: what the others' answers are compared with. */
static bool first_row(const char *record, size_t len, const char **ret_code)
{
    struct kmsg_record taken;
    const char *pattern;
    char device[DEVICE_MAX_BYTES];
    if (kmsg_record_parse(record, len, &taken) != 0)
        return false;
    size_t start = kmsg_text_start(taken.text, taken.len);
    for (size_t i = 0; kmsg_patterns_row(i, ret_code, &pattern); i++)
        if (kmsg_pattern_matches(pattern, taken.text + start, taken.len - start, device))
            return true;
    return false;
}

static int make(const char *count, const char *log, const char *expression)
{
    AUTO(text) struct text text = {0};
    int64_t lines, known = 0, findings = 0;
    const char *code;
    char record[CORPUS_LINE_MAX];
    if (text_parse_i64(count, 1, LOG_BYTES_MAX / CORPUS_LINE_MAX, &lines) != 0)
        return 2;
    for (int64_t i = 0; i < lines; i++) {
        size_t len = corpus_record((uint64_t)i, record);
        text_add_bytes(&text, record, len);
        if (!first_row(record, len, &code))
            continue;
        known++;
        findings += code != NULL;
    }
    if (file_write(log, text.data, text.len, 0600) != 0 || write_expression(expression) != 0)
        return 1;
    printf("{\"lines\":%" PRId64 ",\"bytes\":%zu,\"known\":%" PRId64 ",\"findings\":%" PRId64 "}\n", lines, text.len,
           known, findings);
    return 0;
}

/* --- the agent's ways ---------------------------------------------------------------------------------------- */

static void on_finding(const struct finding *finding, void *arg)
{
    (void)finding;
    ++*(int64_t *)arg;
}

/* Each record as the device gives it, one by one, out of memory: what a read of the device costs is not in it. */
static int64_t by_records(const char *log, size_t len)
{
    int64_t findings = 0;
    struct kmsg *kmsg = kmsg_new("/no/such/file", NULL, clock_system());
    for (const char *at = log, *end = log + len, *feed; at < end; at = feed + 1) {
        feed = memchr(at, '\n', (size_t)(end - at));
        kmsg_take_record(kmsg, at, (size_t)(feed + 1 - at), on_finding, &findings);
    }
    kmsg_free(kmsg);
    return findings;
}

/* The file in the device's place, as the agent follows it from its beginning. */
static int64_t from_file(const char *path)
{
    int64_t findings = 0;
    struct kmsg *kmsg = kmsg_new(path, NULL, clock_system());
    while (kmsg_read(kmsg, on_finding, &findings))
        ;
    kmsg_free(kmsg);
    return findings;
}

static int measure(const char *path)
{
    autofree char *log = NULL;
    size_t len, passes[2] = {0};
    int64_t took[2], findings[2];
    if (file_read(path, LOG_BYTES_MAX, &log, &len) != 0 || len == 0 || log[len - 1] != '\n')
        return 1;
    for (int way = 0; way < 2; way++) {
        int64_t from = clock_stopwatch_us();
        do {
            findings[way] = way == 0 ? by_records(log, len) : from_file(path);
            passes[way]++;
            took[way] = clock_stopwatch_us() - from;
        } while (took[way] < MEASURE_US);
    }
    if (findings[0] != findings[1])
        return 1;
    printf("{\"findings\":%" PRId64 ",\"recordSeconds\":%.6f,\"fileSeconds\":%.6f}\n", findings[0],
           (double)took[0] / US_PER_S / (double)passes[0], (double)took[1] / US_PER_S / (double)passes[1]);
    return 0;
}

int main(int argc, char **argv)
{
    int code = 2;
    if (argc == 5 && text_equal(argv[1], "make"))
        code = make(argv[2], argv[3], argv[4]);
    else if (argc == 3 && text_equal(argv[1], "read"))
        code = measure(argv[2]);
    if (code != 0)
        fputs("usage: kmsg make LINES LOG EXPRESSION | kmsg read LOG\n", stderr);
    return code;
}
