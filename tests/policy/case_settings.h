/* The words of a golden case's lines (case.h), and those that set what the policy goes by. */
#ifndef HOLDFAST_TESTS_POLICY_CASE_SETTINGS_H
#define HOLDFAST_TESTS_POLICY_CASE_SETTINGS_H

#include "base/text.h"
#include "policy/policy.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define CASE_NOW_MS INT64_C(1795176000000) /* 2026-11-20 12:00:00 UTC */
#define CASE_WORDS_MAX 24

/* --- words and values ------------------------------------------------------------------------------------------ */

static inline bool case_time(const char *word, int64_t *ret_ms)
{
    static const struct {
        const char *unit;
        int64_t ms;
    } units[] = {{"ms", 1}, {"s", 1000}, {"m", 60000}, {"h", 3600000}, {"d", 86400000}};
    bool negative = word[0] == '-';
    char *end = NULL;
    int64_t value = strtoll(word + (negative ? 1 : 0), &end, 10);
    if (end == word + (negative ? 1 : 0))
        return false;
    int64_t factor = *end == '\0' ? 1 : 0;
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (strcmp(units[i].unit, end) == 0)
            factor = units[i].ms;
    *ret_ms = (negative ? -1 : 1) * value * factor;
    return factor != 0;
}

/* Splits at blanks; "…" keeps blanks. Changes line. */
static inline int case_words(char *line, char *words[CASE_WORDS_MAX])
{
    int count = 0;
    char *at = line;
    while (count < CASE_WORDS_MAX) {
        while (*at == ' ')
            at++;
        if (*at == '\0')
            break;
        words[count++] = at;
        bool quoted = false;
        char *out = at;
        for (; *at != '\0' && (quoted || *at != ' '); at++) {
            if (*at == '"')
                quoted = !quoted;
            else
                *out++ = *at;
        }
        bool last = *at == '\0';
        *out = '\0';
        if (last)
            break;
        at++;
    }
    return count;
}

/* "name=value" → value; a bare "name" → "". NULL when the word is another. */
static inline const char *case_value(const char *word, const char *name)
{
    size_t len = strlen(name);
    if (strncmp(word, name, len) != 0 || (word[len] != '=' && word[len] != '\0'))
        return NULL;
    return word[len] == '=' ? word + len + 1 : "";
}

static inline bool case_when(const char *word, const char *name, int64_t *ret_at)
{
    const char *value = case_value(word, name);
    int64_t ms = 0;
    if (value == NULL || !case_time(value, &ms))
        return false;
    *ret_at = CASE_NOW_MS + ms;
    return true;
}

/* --- what it goes by ---------------------------------------------------------------------------------------------- */

static inline bool case_set(struct policy_settings *s, const char *name, const char *value)
{
    int64_t ms = 0;
    if (!case_time(value, &ms))
        return false;
    struct {
        const char *name;
        int64_t *ms;
        int *number;
    } table[] = {
        {"repeat_window", &s->repeat_window_ms, NULL},
        {"resets_max", NULL, &s->resets_max},
        {"reboots_max", NULL, &s->reboots_max},
        {"replaces_max", NULL, &s->replaces_max},
        {"budget_percent", NULL, &s->budget_percent},
        {"without_replacement", NULL, &s->without_replacement},
        {"spares_min", NULL, &s->spares_min},
        {"protect_after", NULL, &s->protect_after},
        {"protect_pause", &s->protect_pause_ms, NULL},
        {"budget_max", NULL, &s->budget_max},
        {"min_healthy_percent", NULL, &s->min_healthy_percent},
        {"min_healthy_count", NULL, &s->min_healthy_count},
        {"breaker_percent", NULL, &s->breaker_percent},
        {"breaker_min", NULL, &s->breaker_min},
        {"breaker_window", &s->breaker_window_ms, NULL},
        {"breaker_close_after", &s->breaker_close_after_ms, NULL},
        {"silent_after", &s->silent_after_ms, NULL},
        {"unreachable_after", &s->unreachable_after_ms, NULL},
        {"fold_window", &s->fold_window_ms, NULL},
        {"notice_lead", &s->notice_lead_ms, NULL},
        {"probation", &s->probation_ms, NULL},
        {"lemon_score", NULL, &s->lemon_score},
        {"lemon_action", NULL, &s->lemon_action},
        {"lemon_window", &s->lemon_window_ms, NULL},
        {"recurring", NULL, &s->recurring},
        {"incident_nodes", NULL, &s->incident_nodes},
        {"incident_window", &s->incident_window_ms, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (strcmp(table[i].name, name) == 0) {
            if (table[i].ms != NULL)
                *table[i].ms = ms;
            else
                *table[i].number = (int)ms;
            return true;
        }
    return false;
}

static inline bool case_modes(struct policy_settings *settings, char **words, int count)
{
    for (int i = 1; i < count; i++) {
        char *value = strchr(words[i], '=');
        enum fault_class fault = FAULT_CLASS_NONE;
        if (value == NULL)
            return false;
        *value = '\0';
        if (fault_class_parse(words[i], &fault) != 0 || repair_mode_parse(value + 1, &settings->modes[fault]) != 0)
            return false;
    }
    return count > 1;
}

static inline bool case_hours(struct policy_settings *settings, char **words, int count)
{
    for (int i = 1; i + 1 < count; i += 2) {
        struct policy_windows *windows = strcmp(words[i], "not") == 0    ? &settings->not_during
                                         : strcmp(words[i], "only") == 0 ? &settings->only_during
                                                                         : NULL;
        enum fault_class fault = FAULT_CLASS_NONE;
        bool ok = false;
        if (windows != NULL)
            ok = windows->count < POLICY_WINDOWS_MAX &&
                 policy_window_parse(words[i + 1], &windows->windows[windows->count++]) == 0;
        else if (strcmp(words[i], "spacing") == 0)
            ok = case_time(words[i + 1], &settings->spacing_ms);
        else if (strcmp(words[i], "anytime") == 0 && fault_class_parse(words[i + 1], &fault) == 0)
            ok = (settings->any_time[fault] = 1) == 1;
        if (!ok)
            return false;
    }
    return count > 1 && count % 2 == 1;
}

static inline bool case_budgets(struct policy_settings *settings, char **words, int count)
{
    for (int i = 1; i < count; i++) {
        char *value = strchr(words[i], '='), *percent = strchr(words[i], '%');
        enum fault_class fault = FAULT_CLASS_NONE;
        int64_t number = 0;
        if (value == NULL)
            return false;
        *value = '\0';
        if (percent != NULL)
            *percent = '\0';
        if (fault_class_parse(words[i], &fault) != 0 || text_parse_i64(value + 1, 0, 100000, &number) != 0)
            return false;
        *(percent != NULL ? &settings->class_budget_percent[fault] : &settings->class_budget_max[fault]) = (int)number;
    }
    return count > 1;
}

static inline bool case_jobs_time(struct policy_settings *settings, const char *word)
{
    const char *wait = case_value(word, "wait_for"), *ask = case_value(word, "signal_for");
    int64_t ms = 0, ok = (wait != NULL || ask != NULL) && case_time(wait != NULL ? wait : ask, &ms);
    for (int fault = 0; ok && fault < FAULT_CLASS_COUNT; fault++)
        (wait != NULL ? settings->drain_deadline_ms : settings->signal_deadline_ms)[fault] = ms;
    return ok != 0;
}

static inline bool case_jobs(struct policy_settings *settings, char **words, int count)
{
    for (int i = 1; i < count; i++) {
        char *value = strchr(words[i], '='), *signal = strchr(words[i], ':');
        enum fault_class fault = FAULT_CLASS_NONE;
        if (case_jobs_time(settings, words[i]))
            continue;
        if (value == NULL)
            return false;
        *value = '\0';
        if (signal != NULL)
            *signal++ = '\0';
        if (fault_class_parse(words[i], &fault) != 0 || jobs_rule_parse(value + 1, &settings->jobs[fault]) != 0 ||
            (signal != NULL && job_signal_parse(signal, &settings->job_signal[fault]) != 0))
            return false;
    }
    return count > 1;
}

#endif
