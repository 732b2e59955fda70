/* Text for decisions: bounded, in UTC, without a clock or a locale. */
#include "policy/evaluate.h"

#include "base/own.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>

/* By way of a text of its own: what is said may be made of what stands there. Few sentences are longer than its room on the stack. */
void policy_say(char *dst, size_t size, const char *fmt, ...)
{
    char near[SENTENCE_MAX_BYTES];
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int len = vsnprintf(near, sizeof(near), fmt, ap);
    autofree char *whole = len < 0 || (size_t)len >= sizeof(near) ? own_vprintf(fmt, again) : NULL;
    va_end(again);
    va_end(ap);
    text_copy_cut(dst, size, whole != NULL ? whole : near);
}

const char *policy_span(int64_t ms, char buffer[POLICY_SPAN_MAX])
{
    static const struct {
        int64_t ms;
        const char *text;
    } units[] = {{86400000, "d"}, {3600000, "h"}, {60000, "min"}, {1000, "s"}};
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (ms >= units[i].ms && ms % units[i].ms == 0) {
            snprintf(buffer, POLICY_SPAN_MAX, "%" PRId64 " %s", ms / units[i].ms, units[i].text);
            return buffer;
        }
    if (ms >= 1000)
        snprintf(buffer, POLICY_SPAN_MAX, "%" PRId64 " s", ms / 1000);
    else
        snprintf(buffer, POLICY_SPAN_MAX, "%" PRId64 " ms", ms);
    return buffer;
}

const char *policy_time(int64_t ms, char buffer[POLICY_TIME_MAX])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm tm;
    if (gmtime_r(&seconds, &tm) == NULL || strftime(buffer, POLICY_TIME_MAX, "%Y-%m-%d %H:%M:%S UTC", &tm) == 0)
        text_copy_cut(buffer, POLICY_TIME_MAX, "at an unknown time");
    return buffer;
}

void policy_add(struct decision *decision, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    autofree char *more = own_vprintf(fmt, ap);
    va_end(ap);
    autofree char *before = own_strdup(decision->sentence);
    policy_say(decision->sentence, sizeof(decision->sentence), "%s %s", before, more);
}

void policy_gate(struct decision *decision, enum gate gate, enum gate_result result, const char *detail)
{
    decision->gates[gate].result = result;
    text_copy_cut(decision->gates[gate].detail, sizeof(decision->gates[gate].detail), detail);
}

void policy_rule(struct decision *decision, enum action action, enum decision_rule rule)
{
    decision->action = action;
    decision->rule = rule;
}

void policy_refuse(struct decision *decision, enum action action, const char *why)
{
    decision->refused = action;
    text_copy_cut(decision->refused_why, sizeof(decision->refused_why), why);
}
