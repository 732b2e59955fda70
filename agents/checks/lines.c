/* Small and strict: a number that is followed by anything is none. */
#include "agents/checks/lines.h"

#include <string.h>

void lines_start(struct lines *lines, const char *data, size_t len)
{
    *lines = (struct lines){data, len > 0 ? data + len : data};
}

bool lines_next(struct lines *lines, struct word *ret_line)
{
    if (lines->at >= lines->end)
        return false;
    const char *feed = memchr(lines->at, '\n', (size_t)(lines->end - lines->at));
    *ret_line = (struct word){lines->at, (size_t)((feed != NULL ? feed : lines->end) - lines->at)};
    lines->at += ret_line->len + (feed != NULL);
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

size_t lines_words(struct word line, struct word *ret_words, size_t max)
{
    size_t count = 0;
    for (size_t i = 0; i < line.len;) {
        if (is_blank(line.at[i])) {
            i++;
            continue;
        }
        size_t from = i;
        while (i < line.len && !is_blank(line.at[i]))
            i++;
        if (count < max)
            ret_words[count] = (struct word){line.at + from, i - from};
        count++;
    }
    return count;
}

bool word_is(struct word word, const char *text)
{
    return word.len == strlen(text) && memcmp(word.at, text, word.len) == 0;
}

bool word_starts_with(struct word word, const char *prefix)
{
    size_t len = strlen(prefix);
    return word.len >= len && memcmp(word.at, prefix, len) == 0;
}

bool word_i64(struct word word, int64_t *ret_value)
{
    int64_t value = 0;
    for (size_t i = 0; i < word.len; i++) {
        if (word.at[i] < '0' || word.at[i] > '9' || value > (INT64_MAX - 9) / 10)
            return false;
        value = value * 10 + (word.at[i] - '0');
    }
    if (word.len == 0)
        return false;
    *ret_value = value;
    return true;
}

bool word_milli(struct word word, int64_t *ret_value)
{
    const char *dot = word.len > 0 ? memchr(word.at, '.', word.len) : NULL;
    struct word whole = {word.at, dot != NULL ? (size_t)(dot - word.at) : word.len};
    int64_t value, scale = 100;
    if (!word_i64(whole, &value) || value > INT64_MAX / 1000 - 1)
        return false;
    value *= 1000;
    for (size_t i = whole.len + 1; dot != NULL && i < word.len; i++) {
        if (word.at[i] < '0' || word.at[i] > '9')
            return false;
        value += (word.at[i] - '0') * scale;
        scale /= 10;
    }
    *ret_value = value;
    return true;
}

bool word_copy(struct word word, char *dst, size_t size)
{
    if (word.len >= size || (word.len > 0 && memchr(word.at, '\0', word.len) != NULL))
        return false;
    if (word.len > 0)
        memcpy(dst, word.at, word.len);
    dst[word.len] = '\0';
    return true;
}

bool lines_find_i64(const char *data, size_t len, const char *key, int64_t *ret_value)
{
    struct lines lines;
    struct word line, words[2];
    lines_start(&lines, data, len);
    while (lines_next(&lines, &line))
        if (word_starts_with(line, key) && lines_words(line, words, 2) >= 2 && word_is(words[0], key))
            return word_i64(words[1], ret_value);
    return false;
}
