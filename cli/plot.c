/* Scales, ticks, numbers and bins: what both ways to draw share (plot.h). */
#include "cli/plot.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define WIDTH_DEFAULT 80
#define WIDTH_MIN 40
#define WIDTH_MAX 200 /* wider is harder to read, not more exact */
#define HEIGHT_DEFAULT 20

double plot_series_x(const struct plot_series *series, size_t i)
{
    return series->x != NULL ? series->x[i] : (double)i;
}

bool plot_point(const struct plot_series *series, size_t i, double *ret_x, double *ret_y)
{
    double x = plot_series_x(series, i), y = series->y[i];
    if (!isfinite(x) || !isfinite(y))
        return false;
    *ret_x = x;
    *ret_y = y;
    return true;
}

/* The smallest of 1, 2 and 5 times a power of ten that is not below. */
static double round_step(double step)
{
    double power = pow(10, floor(log10(step)));
    double digit = step / power;
    return power * (digit <= 1.0000001 ? 1 : digit <= 2.0000001 ? 2 : digit <= 5.0000001 ? 5 : 10);
}

/* Widens to whole steps, so that a tick stands at either end. */
static void scale_make(double min, double max, int wanted, struct plot_scale *ret_scale)
{
    if (!(max > min)) {
        double half = max == 0 ? 0.5 : fabs(max) / 2;
        min -= min == 0 ? 0 : half;
        max += half;
    }
    struct plot_scale scale = {.step = round_step((max - min) / wanted)};
    scale.min = floor(min / scale.step + 1e-9) * scale.step;
    scale.max = ceil(max / scale.step - 1e-9) * scale.step;
    int64_t steps = llround((scale.max - scale.min) / scale.step);
    for (int64_t i = 0; i <= steps && scale.tick_count < PLOT_TICKS_MAX; i++)
        scale.ticks[scale.tick_count++] = scale.min + (double)i * scale.step;
    *ret_scale = scale;
}

static bool scale_over(const struct plot_field *field, bool of_y, int wanted, struct plot_scale *ret_scale)
{
    double min = INFINITY, max = -INFINITY;
    for (size_t s = 0; s < field->series_count; s++)
        for (size_t i = 0; i < field->series[s].count; i++) {
            double x, y;
            if (!plot_point(&field->series[s], i, &x, &y))
                continue;
            min = fmin(min, of_y ? y : x);
            max = fmax(max, of_y ? y : x);
        }
    if (!(min <= max))
        return false;
    if (of_y && field->y_from_zero) {
        min = fmin(min, 0);
        max = fmax(max, 0);
    }
    scale_make(min, max, wanted, ret_scale);
    return true;
}

bool plot_scale_x(const struct plot_field *field, int wanted, struct plot_scale *ret_scale)
{
    return scale_over(field, false, wanted, ret_scale);
}

bool plot_scale_y(const struct plot_field *field, int wanted, struct plot_scale *ret_scale)
{
    return scale_over(field, true, wanted, ret_scale);
}

double plot_scale_at(const struct plot_scale *scale, double value)
{
    return (value - scale->min) / (scale->max - scale->min);
}

const char *plot_number(double value, double step, char ret_number[PLOT_NUMBER_MAX])
{
    const char *suffix = "";
    double unit = fmax(fabs(value), step);
    double divisor = unit >= 1e9 ? 1e9 : unit >= 1e6 ? 1e6 : unit >= 1e4 ? 1e3 : 1;
    if (divisor > 1)
        suffix = divisor >= 1e9 ? "G" : divisor >= 1e6 ? "M" : "k";
    if (step > 0 && fabs(value) < step / 1000)
        value = 0, suffix = ""; /* rounding left something of it */
    snprintf(ret_number, PLOT_NUMBER_MAX, step > 0 ? "%.6g%s" : "%.4g%s", value / (suffix[0] != '\0' ? divisor : 1),
             suffix);
    return ret_number;
}

int plot_width(const char *text)
{
    int width = 0;
    for (; *text != '\0'; text++)
        width += ((unsigned char)*text & 0xc0) != 0x80;
    return width;
}

static bool locale_is_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const char *value = getenv(names[i]);
        if (value != NULL && *value != '\0')
            return strcasestr(value, "utf-8") != NULL || strcasestr(value, "utf8") != NULL;
    }
    return false;
}

struct plot_style plot_style_here(bool ascii)
{
    struct winsize size = {0};
    int64_t columns = 0;
    const char *said = getenv("COLUMNS");
    if (said == NULL || text_parse_i64(said, 1, 100000, &columns) != 0)
        columns = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : WIDTH_DEFAULT;
    columns = columns < WIDTH_MIN ? WIDTH_MIN : columns > WIDTH_MAX ? WIDTH_MAX : columns;
    return (struct plot_style){.width = (int)columns, .height = HEIGHT_DEFAULT, .ascii = ascii || !locale_is_utf8()};
}
