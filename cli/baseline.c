/* Medians and the like (baseline.h). */
#include "cli/baseline.h"

#include "base/own.h"
#include "base/text.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SIGMAS 3
#define SIGMA_OF_DEVIATION 1.4826 /* of a normal distribution */
#define AWAY_MIN 0.05
#define NUMBER_DIGITS_MAX 15
#define COUNT_MAX 100000 /* a whole number up to here may be one of things */

bool baseline_number(const char *text, double *ret_value)
{
    size_t whole = strspn(text, "0123456789"), rest = 0;
    if (text[whole] == '.')
        rest = strspn(text + whole + 1, "0123456789");
    const char *end = text + whole + (rest > 0 ? rest + 1 : 0);
    if (whole == 0 || whole + rest > NUMBER_DIGITS_MAX || (*end != '\0' && *end != ' '))
        return false;
    for (const char *unit = end; *unit != '\0'; unit++)
        if (!isalpha((unsigned char)*unit) && strchr(" /%", *unit) == NULL)
            return false;
    *ret_value = strtod(text, NULL);
    return true;
}

void baseline_measure(const char *test, const char *name, char ret_measure[BASELINE_NAME_MAX])
{
    const char *space = strchr(name, ' ');
    bool adapter = text_starts_with(test, "EFA") && space != NULL;
    autofree char *measure = adapter ? own_printf("EFA%s", space) : own_strdup(name);
    text_copy_cut(ret_measure, BASELINE_NAME_MAX, measure);
}

bool baseline_less_is_better(const char *measure)
{
    static const char *const words[] = {"latency", "error", "replay", "temperature"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strstr(measure, words[i]) != NULL)
            return true;
    return text_ends_with(measure, " us") || text_ends_with(measure, " ms");
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

static double quantile(const double *sorted, size_t count, double at)
{
    double place = at * (double)(count - 1);
    size_t below = (size_t)place;
    double part = place - (double)below;
    return below + 1 < count ? sorted[below] + part * (sorted[below + 1] - sorted[below]) : sorted[count - 1];
}

/* Away from what is measured, so that rounding makes nobody an outlier. */
static double rounded(double limit, bool up)
{
    if (limit <= 0)
        return 0;
    double step = pow(10, floor(log10(limit)) - 2);
    step = step < 0.01 ? 0.01 : step;
    return (up ? ceil(limit / step) : floor(limit / step)) * step;
}

static bool is_count(const double *values, size_t count, double median, double deviation)
{
    for (size_t i = 0; i < count; i++)
        if (floor(values[i]) < values[i] || values[i] > COUNT_MAX)
            return false;
    return deviation <= 0 && median > 0;
}

void baseline_recount(double *values, size_t count, bool at_most, struct baseline *ret_baseline)
{
    struct baseline baseline = {.at_most = at_most, .proposes = count >= BASELINE_SAMPLES_MIN};
    autofree double *away = own_calloc(count, sizeof(*away));
    qsort(values, count, sizeof(*values), by_value);
    baseline.median = quantile(values, count, 0.5);
    baseline.p5 = quantile(values, count, 0.05);
    baseline.p95 = quantile(values, count, 0.95);
    for (size_t i = 0; i < count; i++)
        away[i] = fabs(values[i] - baseline.median);
    qsort(away, count, sizeof(*away), by_value);
    baseline.deviation = quantile(away, count, 0.5);
    double room = fmax(SIGMAS * SIGMA_OF_DEVIATION * baseline.deviation, AWAY_MIN * baseline.median);
    if (is_count(values, count, baseline.median, baseline.deviation))
        baseline.limit = baseline.median;
    else
        baseline.limit = rounded(at_most ? baseline.median + room : baseline.median - room, at_most);
    *ret_baseline = baseline;
}

bool baseline_is_outlier(const struct baseline *baseline, double value)
{
    return baseline->proposes && (baseline->at_most ? value > baseline->limit : value < baseline->limit);
}
