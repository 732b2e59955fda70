/* Lines are taken one by one; the number of a violation stands in its own line or in one behind it. */
#include "agents/checks/dcgm_violations.h"

#include "agents/checks/dcgm_words.h"
#include "agents/checks/lines.h"
#include "base/own.h"
#include "base/text.h"

#include <string.h>

static const char conditions[] = "Violation conditions";

const char *dcgm_policy_text(enum dcgm_policy policy)
{
    static const char *const texts[] = {
#define X(SYMBOL, text) text,
        DCGM_POLICY_LIST(X)
#undef X
    };
    return texts[policy];
}

static const struct {
    const char *begins, *words, *detail;
} kinds[] = {
#define X(SYMBOL, begins, words, detail) {begins, words, detail},
    DCGM_VIOLATIONS_LIST(X)
#undef X
};

const char *dcgm_violation_text(enum dcgm_violation violation)
{
    return kinds[violation].words;
}

/* --- --get ---------------------------------------------------------------------------------------------------- */

static bool has(const char *data, size_t len, const char *word)
{
    return len > 0 && memmem(data, len, word, strlen(word)) != NULL;
}

/* The second column of the row; its first column ends in blanks. */
static bool in_table(const char *data, size_t len, char *ret_value, size_t size)
{
    const char *row = len > 0 ? memmem(data, len, conditions, sizeof(conditions) - 1) : NULL;
    const char *end = data + len, *bar = row != NULL ? memchr(row, '|', (size_t)(end - row)) : NULL;
    const char *close = bar != NULL ? memchr(bar + 1, '|', (size_t)(end - bar - 1)) : NULL;
    if (close == NULL)
        return false;
    for (bar++; bar < close && *bar == ' ';)
        bar++;
    while (close > bar && close[-1] == ' ')
        close--;
    text_copy_clean(ret_value, size, bar, (size_t)(close - bar));
    return true;
}

enum dcgm_policy dcgm_policy_parse(const char *data, size_t len)
{
    char value[DCGM_TEXT_BYTES_MAX] = "";
    auto_json json_t *json = dcgm_json(data, len);
    const json_t *row = json_object_get(json_object_get(json, "body"), conditions);
    if (row != NULL)
        dcgm_text(json_object_get(row, "value"), value, sizeof(value));
    else if (!in_table(data, len, value, sizeof(value)))
        value[0] = '\0';
    if (value[0] != '\0')
        return strcmp(value, "None") == 0 ? DCGM_POLICY_NONE : DCGM_POLICY_SET;
    bool no_service = has(data, len, "establish a connection") || has(data, len, "connect to host engine");
    return no_service ? DCGM_POLICY_NO_SERVICE : DCGM_POLICY_BROKEN;
}

/* --- --reg ---------------------------------------------------------------------------------------------------- */

/* The first number behind the word; -1. */
static int64_t number_behind(struct word line, size_t from)
{
    char digits[20];
    int64_t number = -1;
    while (from < line.len && (line.at[from] < '0' || line.at[from] > '9'))
        from++;
    size_t len = 0;
    while (from + len < line.len && line.at[from + len] >= '0' && line.at[from + len] <= '9')
        len++;
    if (len == 0 || text_copy_bytes(digits, sizeof(digits), line.at + from, len) != 0 ||
        text_parse_i64(digits, 0, INT64_MAX, &number) != 0)
        return -1;
    return number;
}

static void take_line(struct word line, struct dcgm_violations *violations)
{
    for (size_t i = 0; i < DCGM_VIOLATION_COUNT; i++) {
        const char *detail = kinds[i].detail;
        if (detail != NULL && word_starts_with(line, detail)) {
            violations->last[i] = number_behind(line, strlen(detail));
            return;
        }
    }
    for (size_t i = 0; i < DCGM_VIOLATION_COUNT; i++) {
        if (!word_starts_with(line, kinds[i].begins))
            continue;
        violations->counts[i]++;
        violations->sum++;
        if (i == DCGM_VIOLATION_XID)
            violations->last[i] = number_behind(line, strlen(kinds[i].begins));
        return;
    }
}

void dcgm_violations_parse(const char *data, size_t len, struct dcgm_violations *ret_violations)
{
    struct dcgm_violations violations = {.sum = 0};
    struct lines lines;
    struct word line;
    for (size_t i = 0; i < DCGM_VIOLATION_COUNT; i++)
        violations.last[i] = -1;
    lines_start(&lines, data, len);
    while (lines_next(&lines, &line))
        take_line(line, &violations);
    *ret_violations = violations;
}
