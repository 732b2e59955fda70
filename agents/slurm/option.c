/* The words of --auto-resume, separated by commas: each at most once, none that is not known. */
#include "agents/slurm/option.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORD_SHOWN 40

static bool refuse(char ret_error[RESUME_OPTION_ERROR_MAX], const char *word, size_t len)
{
    snprintf(ret_error, RESUME_OPTION_ERROR_MAX,
             "\"%.*s\" is none of 0, 1, crash:N, attempts:N (N from 1 to %d) and progress:PATH, each once",
             (int)(len < WORD_SHOWN ? len : WORD_SHOWN), word, RESUME_COUNT_MAX);
    return false;
}

/* The part after the colon, when the word begins so. */
static const char *value_of(const char *word, size_t len, const char *name, size_t *ret_len)
{
    size_t name_len = strlen(name);
    if (len <= name_len || strncmp(word, name, name_len) != 0)
        return NULL;
    *ret_len = len - name_len;
    return word + name_len;
}

static bool read_count(const char *digits, size_t len, int *count)
{
    int value = 0;
    if (*count != 0 || len > 3)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return false;
        value = 10 * value + (digits[i] - '0');
    }
    if (value < 1 || value > RESUME_COUNT_MAX)
        return false;
    *count = value;
    return true;
}

static bool read_path(const char *path, size_t len, struct resume_option *option)
{
    if (option->progress[0] != '\0' || len >= RESUME_PATH_MAX)
        return false;
    memcpy(option->progress, path, len);
    option->progress[len] = '\0';
    return true;
}

static bool read_word(const char *word, size_t len, struct resume_option *option)
{
    size_t value_len = 0;
    const char *value = value_of(word, len, "crash:", &value_len);
    if (value != NULL)
        return read_count(value, value_len, &option->crash_max);
    value = value_of(word, len, "attempts:", &value_len);
    if (value != NULL)
        return read_count(value, value_len, &option->attempts_max);
    value = value_of(word, len, "progress:", &value_len);
    return value != NULL && read_path(value, value_len, option);
}

bool resume_option_parse(const char *text, struct resume_option *ret_option, char ret_error[RESUME_OPTION_ERROR_MAX])
{
    struct resume_option option = {.on = true};
    bool told = false; /* 0 or 1 */
    for (const char *word = text;; word++) {
        size_t len = strcspn(word, ",");
        bool is_switch = len == 1 && (*word == '0' || *word == '1');
        if (is_switch ? told : !read_word(word, len, &option))
            return refuse(ret_error, word, len);
        if (is_switch)
            option.on = *word == '1';
        told = told || is_switch;
        word += len;
        if (*word == '\0')
            break;
    }
    if (!option.on && (option.crash_max != 0 || option.attempts_max != 0 || option.progress[0] != '\0'))
        return refuse(ret_error, text, strlen(text));
    *ret_option = option;
    return true;
}
