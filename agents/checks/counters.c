/* In memory: a line with the boot and the time, then "name from_at from last" for each. */
#include "agents/checks/counters.h"

#include "agents/checks/lines.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

#define BOOT_ID_FILE "/proc/sys/kernel/random/boot_id"

static void read_boot_id(const struct check_context *context, char boot_id[BOOT_ID_MAX_BYTES])
{
    autofree char *data = NULL;
    size_t len;
    boot_id[0] = '\0';
    if (check_read(context, BOOT_ID_FILE, 4096, &data, &len) == 0)
        (void)word_copy((struct word){data, strcspn(data, " \n")}, boot_id, BOOT_ID_MAX_BYTES);
}

static struct counter *find(struct counters *counters, const char *name)
{
    for (size_t i = 0; i < counters->count; i++)
        if (strcmp(counters->rows[i].name, name) == 0)
            return &counters->rows[i];
    return NULL;
}

static struct counter *add(struct counters *counters, const char *name)
{
    if (counters->count == COUNTERS_MAX)
        return NULL;
    counters->rows = own_realloc(counters->rows, counters->count + 1, sizeof(*counters->rows));
    struct counter *row = &counters->rows[counters->count++];
    *row = (struct counter){.from_at = counters->at_ms, .fresh = true};
    text_copy_cut(row->name, sizeof(row->name), name);
    return row;
}

static void read_rows(struct counters *counters, struct lines *lines)
{
    struct word line, words[4];
    char name[COUNTER_NAME_MAX_BYTES];
    while (lines_next(lines, &line)) {
        struct counter row;
        if (lines_words(line, words, 4) != 4 || !word_copy(words[0], name, sizeof(name)) ||
            !word_i64(words[1], &row.from_at) || !word_i64(words[2], &row.from) || !word_i64(words[3], &row.last) ||
            find(counters, name) != NULL)
            continue;
        struct counter *kept = add(counters, name);
        if (kept == NULL)
            return;
        kept->fresh = false;
        kept->from_at = row.from_at;
        kept->from = row.from;
        kept->last = row.last;
    }
}

void counters_load(struct counters *counters, const struct check_context *context)
{
    struct lines lines;
    struct word line, words[2];
    *counters = (struct counters){.at_ms = context->now_ms};
    read_boot_id(context, counters->boot_id);
    lines_start(&lines, context->memory, context->memory_len);
    if (!lines_next(&lines, &line) || lines_words(line, words, 2) != 2 ||
        !word_is(words[0], counters->boot_id[0] != '\0' ? counters->boot_id : "-") ||
        !word_i64(words[1], &counters->before_ms)) {
        counters->before_ms = 0;
        return;
    }
    read_rows(counters, &lines);
}

int64_t counters_over(struct counters *counters, const char *name, int64_t value, int64_t threshold, int64_t window_ms,
                      bool from_boot)
{
    struct counter *row = find(counters, name);
    if (row == NULL && (value == 0 || (row = add(counters, name)) == NULL))
        return 0;
    if (row->fresh && counters->before_ms == 0 && !from_boot)
        row->from = value;
    if (!row->fresh && value < row->last)
        row->from = 0;
    row->seen = true;
    row->last = value;
    int64_t more = value - row->from;
    bool over = more >= threshold;
    if (over || counters->at_ms - row->from_at >= window_ms || counters->at_ms < row->from_at) {
        row->from = value;
        row->from_at = counters->at_ms;
    }
    return over ? more : 0;
}

int64_t counters_rate_milli(struct counters *counters, const char *name, int64_t value)
{
    struct counter *row = find(counters, name);
    int64_t span_ms = counters->at_ms - counters->before_ms, rate = -1;
    if (row == NULL && (row = add(counters, name)) == NULL)
        return -1;
    if (!row->fresh && span_ms > 0 && value >= row->last)
        rate = (int64_t)((double)(value - row->last) * 1e6 / (double)span_ms);
    row->seen = true;
    row->last = row->from = value;
    return rate;
}

int64_t counters_same(struct counters *counters, const char *name, bool is_so)
{
    struct counter *row = find(counters, name);
    if (!is_so || (row == NULL && (row = add(counters, name)) == NULL))
        return 0; /* and what was not seen is not kept */
    row->seen = true;
    row->last = row->from = row->last + 1;
    return row->last;
}

int64_t counters_most(struct counters *counters, const char *name, int64_t value)
{
    struct counter *row = find(counters, name);
    if (row == NULL && (row = add(counters, name)) == NULL)
        return value;
    row->seen = true;
    row->last = row->from = value > row->last ? value : row->last;
    return row->last;
}

bool counters_known(struct counters *counters, const char *name)
{
    const struct counter *row = find(counters, name);
    return row != NULL && !row->fresh;
}

void counters_keep(const struct counters *counters, struct check_out *out)
{
    AUTO(text) struct text text = {0};
    text_printf(&text, "%s %" PRId64 "\n", counters->boot_id[0] != '\0' ? counters->boot_id : "-", counters->at_ms);
    for (size_t i = 0; i < counters->count; i++)
        if (counters->rows[i].seen)
            text_printf(&text, "%s %" PRId64 " %" PRId64 " %" PRId64 "\n", counters->rows[i].name,
                        counters->rows[i].from_at, counters->rows[i].from, counters->rows[i].last);
    check_remember(out, text.data, text.len);
}

void counters_free(struct counters *counters)
{
    free(TAKE(counters->rows));
    counters->count = 0;
}
