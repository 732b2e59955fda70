/*
 * Lines as they come, with the metrics' table among them:
 *
 *     stress-ng: metrc: [22695] cpu                3901      2.05      2.24      0.05      1901.69        1704.84 …
 *     stress-ng: fail:  [22700] vm: detected 3 bit errors …
 *
 * Versions before 0.15 call the table's lines "info:".
 */
#include "agents/deep/stress.h"

#include "base/text.h"

#include <string.h>

#define PREFIX "stress-ng: "
#define WORDS_MAX 6 /* stressor, bogo ops, real, usr, sys, rate */
#define RATE_WORD 5

struct words {
    struct {
        const char *at;
        size_t len;
    } word[WORDS_MAX];
    size_t count;
};

static void split(const char *line, size_t len, struct words *ret_words)
{
    ret_words->count = 0;
    for (size_t at = 0; at < len && ret_words->count < WORDS_MAX;) {
        while (at < len && line[at] == ' ')
            at++;
        size_t from = at;
        while (at < len && line[at] != ' ')
            at++;
        if (at > from) {
            ret_words->word[ret_words->count].at = line + from;
            ret_words->word[ret_words->count++].len = at - from;
        }
    }
}

static bool all_of(const char *text, size_t len, const char *set)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] == '\0' || strchr(set, text[i]) == NULL)
            return false;
    return len > 0;
}

static void read_metric(const char *line, size_t len, struct stress_report *report)
{
    struct words words;
    split(line, len, &words);
    if (words.count < WORDS_MAX || report->metric_count == STRESS_METRICS_MAX ||
        !all_of(words.word[0].at, words.word[0].len, "abcdefghijklmnopqrstuvwxyz0123456789-"))
        return;
    for (size_t i = 1; i < WORDS_MAX; i++)
        if (!all_of(words.word[i].at, words.word[i].len, "0123456789."))
            return;
    char *stressor = report->metrics[report->metric_count].stressor, *rate = report->metrics[report->metric_count].rate;
    if (text_copy_bytes(stressor, STRESS_NAME_MAX, words.word[0].at, words.word[0].len) == 0 &&
        text_copy_bytes(rate, sizeof(report->metrics[0].rate), words.word[RATE_WORD].at, words.word[RATE_WORD].len) ==
            0)
        report->metric_count++;
}

static void read_complaint(const char *line, size_t len, struct stress_report *report)
{
    size_t room = sizeof(report->complaint) - 1;
    if (report->complaint[0] != '\0' || len == 0)
        return;
    len = len < room ? len : room;
    for (size_t i = 0; i < len; i++) /* it goes onto terminals */
        report->complaint[i] = line[i] >= ' ' && line[i] < 0x7f ? line[i] : '?';
    report->complaint[len] = '\0';
}

static bool skip_prefix(const char **line, size_t *len, const char *prefix)
{
    size_t n = strlen(prefix);
    if (*len < n || memcmp(*line, prefix, n) != 0)
        return false;
    *line += n;
    *len -= n;
    return true;
}

static void read_line(const char *line, size_t len, struct stress_report *report)
{
    if (!skip_prefix(&line, &len, PREFIX))
        return;
    bool complains = false;
    if (skip_prefix(&line, &len, "fail:") || skip_prefix(&line, &len, "error:"))
        complains = true;
    else if (!skip_prefix(&line, &len, "metrc:") && !skip_prefix(&line, &len, "info:"))
        return;
    const char *bracket = memchr(line, ']', len);
    if (bracket == NULL)
        return;
    len -= (size_t)(bracket + 1 - line);
    line = bracket + 1;
    while (len > 0 && *line == ' ')
        line++, len--;
    if (complains)
        read_complaint(line, len, report);
    else
        read_metric(line, len, report);
}

void stress_read(const char *output, size_t len, struct stress_report *ret_report)
{
    struct stress_report report = {.metric_count = 0};
    while (len > 0) {
        const char *end = memchr(output, '\n', len);
        size_t line = end == NULL ? len : (size_t)(end - output);
        read_line(output, line, &report);
        output += line + (end != NULL);
        len -= line + (end != NULL);
    }
    *ret_report = report;
}
