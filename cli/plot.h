/*
 * Plots of numbers, for the terminal and as SVG. Pure: data and a style go in, text comes out.
 *
 * Two kinds: a field with two axes (lines, steps, points, and outliers with their names), and bars, one under the other
 * (counts by kind, histograms). In the terminal the first line or cloud of points is drawn in braille, what follows in a
 * letter of its own; in ASCII everything is letters. An SVG stands alone, is readable in light and dark, and every text of
 * it is escaped. What is no finite number is left out.
 */
#ifndef HOLDFAST_CLI_PLOT_H
#define HOLDFAST_CLI_PLOT_H

#include "base/text.h"

#include <stdbool.h>
#include <stddef.h>

enum plot_mark {
    PLOT_LINE,
    PLOT_STEPS,    /* holds each value until the next x */
    PLOT_POINTS,   /* a cloud */
    PLOT_OUTLIERS, /* points that stand out, each with its label */
};

struct plot_series {
    const char *name; /* for the legend; NULL or "": not in it */
    enum plot_mark mark;
    const double *x, *y;       /* x may be NULL: 0, 1, 2, … */
    const char *const *labels; /* of outliers; may be NULL */
    size_t count;
};

struct plot_field {
    const char *title;
    const char *x_label, *y_label; /* with the unit: "days", "goodput (%)" */
    const struct plot_series *series;
    size_t series_count;
    bool y_from_zero;
};

struct plot_bar {
    const char *label;
    double value;     /* below 0 counts as 0 */
    const char *note; /* said beside the value: "gpu-17, gpu-33"; may be NULL */
    bool stands_out;
};

struct plot_bars {
    const char *title;
    const char *label; /* what the values are, with the unit */
    const struct plot_bar *bars;
    size_t count;
};

struct plot_style {
    int width, height; /* characters, with all that stands around the field; bars take as many lines as they are */
    bool ascii;
};
/* As wide as COLUMNS or the terminal says (80 otherwise); ASCII when asked for, or when the locale is not UTF-8. */
struct plot_style plot_style_here(bool ascii);

void plot_field_text(const struct plot_field *field, const struct plot_style *style, struct text *ret_text);
void plot_bars_text(const struct plot_bars *bars, const struct plot_style *style, struct text *ret_text);
void plot_field_svg(const struct plot_field *field, struct text *ret_text);

/* --- between plot.c, plot_text.c and plot_svg.c ----------------------------------------------------------- */

#define PLOT_TICKS_MAX 16
#define PLOT_NUMBER_MAX 32

/* A range with ticks at round numbers. */
struct plot_scale {
    double min, max;
    double ticks[PLOT_TICKS_MAX];
    int tick_count;
    double step;
};
/* Over the x (or y) of all series; wanted ticks are about so many. False when no point is finite. */
bool plot_scale_x(const struct plot_field *field, int wanted, struct plot_scale *ret_scale);
bool plot_scale_y(const struct plot_field *field, int wanted, struct plot_scale *ret_scale);
/* Where value lies, 0 to 1. */
double plot_scale_at(const struct plot_scale *scale, double value);
double plot_series_x(const struct plot_series *series, size_t i);
/* The i-th point of a series; false when it is not finite. */
bool plot_point(const struct plot_series *series, size_t i, double *ret_x, double *ret_y);
/* "12", "0.5", "20k", "3M", as exact as a step of the scale asks for; step 0: four digits. */
const char *plot_number(double value, double step, char ret_number[PLOT_NUMBER_MAX]);
/* Characters that a text takes. */
int plot_width(const char *text);

#endif
