/*
 * Plots as SVG: one file that needs nothing else, no script, no font of its own. Its colours follow the reader's light or dark
 * scheme; series differ by dash and shape too, for people who do not tell the colours apart.
 */
#include "base/own.h"
#include "cli/plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WIDTH 860
#define HEIGHT 470
#define LEFT 76
#define RIGHT 28
#define TOP 62
#define BOTTOM 66
#define COLOURS 6
#define LABEL_LINE 15
#define LETTER_WIDTH 7 /* about, at 13 px */
#define LABEL_ROWS_MAX 64

static const char *plain(const char *text)
{
    return text != NULL ? text : "";
}

/* As text of an element. What XML cannot hold becomes a question mark. */
static void escape(struct text *svg, const char *text)
{
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '&')
            text_add(svg, "&amp;");
        else if (c == '<')
            text_add(svg, "&lt;");
        else if (c == '>')
            text_add(svg, "&gt;");
        else if (c == '"')
            text_add(svg, "&quot;");
        else
            text_add_char(svg, c < 0x20 || c == 0x7f ? '?' : *text);
    }
}

static void element(struct text *svg, const char *what, const char *text)
{
    text_printf(svg, "<text %s>", what);
    escape(svg, text);
    text_add(svg, "</text>\n");
}

static void begin(struct text *svg, const char *title, int height)
{
    text_printf(svg,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" "
                "role=\"img\">\n<title>",
                WIDTH, height, WIDTH, height);
    escape(svg, title);
    text_add(svg, "</title>\n<style>\n"
                  "svg{color-scheme:light dark;--bg:#fff;--ink:#1d2733;--dim:#5b6875;--grid:#e3e8ee;"
                  "--c0:#1f6feb;--c1:#c2570c;--c2:#15803d;--c3:#8b3fd1;--c4:#0e7490;--c5:#7a6a00;--out:#cf222e}\n"
                  "@media(prefers-color-scheme:dark){svg{--bg:#12171d;--ink:#e4eaf0;--dim:#98a5b3;--grid:#29323c;"
                  "--c0:#6cb0ff;--c1:#f5a15d;--c2:#5ed68a;--c3:#c79bff;--c4:#4fcbe3;--c5:#dcc94a;--out:#ff7b72}}\n"
                  ".bg{fill:var(--bg)}text{font:13px system-ui,sans-serif;fill:var(--dim)}"
                  ".t{font-size:17px;font-weight:600;fill:var(--ink)}.k{fill:var(--ink)}"
                  ".g{stroke:var(--grid);stroke-width:1}.a{stroke:var(--dim);stroke-width:1}"
                  ".l{fill:none;stroke-width:2;stroke-linejoin:round}"
                  ".e{text-anchor:end}.m{text-anchor:middle}.o{fill:var(--out)}\n</style>\n");
    text_printf(svg, "<rect class=\"bg\" width=\"%d\" height=\"%d\"/>\n", WIDTH, height);
    element(svg, "class=\"t\" x=\"20\" y=\"28\"", title);
}

struct frame {
    struct text *svg;
    struct plot_scale x, y;
};

static double x_of(const struct frame *frame, double x)
{
    return LEFT + plot_scale_at(&frame->x, x) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct frame *frame, double y)
{
    return TOP + (1 - plot_scale_at(&frame->y, y)) * (HEIGHT - TOP - BOTTOM);
}

static void draw_axes(const struct frame *frame, const struct plot_field *field)
{
    char number[PLOT_NUMBER_MAX], place[80];
    for (int i = 0; i < frame->y.tick_count; i++) {
        double y = y_of(frame, frame->y.ticks[i]);
        text_printf(frame->svg, "<line class=\"g\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>\n", LEFT,
                    WIDTH - RIGHT, y, y);
        snprintf(place, sizeof(place), "class=\"e\" x=\"%d\" y=\"%.1f\"", LEFT - 8, y + 4.5);
        element(frame->svg, place, plot_number(frame->y.ticks[i], frame->y.step, number));
    }
    for (int i = 0; i < frame->x.tick_count; i++) {
        double x = x_of(frame, frame->x.ticks[i]);
        text_printf(frame->svg, "<line class=\"a\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/>\n", x, x,
                    HEIGHT - BOTTOM, HEIGHT - BOTTOM + 5);
        snprintf(place, sizeof(place), "class=\"m\" x=\"%.1f\" y=\"%d\"", x, HEIGHT - BOTTOM + 20);
        element(frame->svg, place, plot_number(frame->x.ticks[i], frame->x.step, number));
    }
    text_printf(frame->svg, "<line class=\"a\" x1=\"%d\" x2=\"%d\" y1=\"%d\" y2=\"%d\"/>\n", LEFT, WIDTH - RIGHT,
                HEIGHT - BOTTOM, HEIGHT - BOTTOM);
    snprintf(place, sizeof(place), "x=\"20\" y=\"%d\"", TOP - 14);
    element(frame->svg, place, plain(field->y_label));
    snprintf(place, sizeof(place), "class=\"e\" x=\"%d\" y=\"%d\"", WIDTH - RIGHT, HEIGHT - BOTTOM + 40);
    element(frame->svg, place, plain(field->x_label));
}

static void draw_line(const struct frame *frame, const struct plot_series *series, size_t colour)
{
    static const char *const dashes[COLOURS] = {"", "7 4", "2 3", "10 3 2 3", "4 2", "12 4"};
    double x, y, last_y = 0;
    bool open = false;
    text_printf(frame->svg, "<path class=\"l\" stroke=\"var(--c%zu)\"", colour);
    if (dashes[colour][0] != '\0')
        text_printf(frame->svg, " stroke-dasharray=\"%s\"", dashes[colour]);
    text_add(frame->svg, " d=\"");
    for (size_t i = 0; i < series->count; i++) {
        bool there = plot_point(series, i, &x, &y);
        if (there && open && series->mark == PLOT_STEPS)
            text_printf(frame->svg, "L%.1f %.1f", x_of(frame, x), last_y);
        if (there)
            text_printf(frame->svg, "%c%.1f %.1f", open ? 'L' : 'M', x_of(frame, x), y_of(frame, y));
        last_y = there ? y_of(frame, y) : last_y;
        open = there;
    }
    text_add(frame->svg, "\"/>\n");
}

static void draw_points(const struct frame *frame, const struct plot_series *series, size_t colour)
{
    double x, y;
    text_printf(frame->svg, "<g fill=\"var(--c%zu)\" fill-opacity=\".65\">\n", colour);
    for (size_t i = 0; i < series->count; i++)
        if (plot_point(series, i, &x, &y))
            text_printf(frame->svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"/>\n", x_of(frame, x), y_of(frame, y));
    text_add(frame->svg, "</g>\n");
}

/* Names stand beside their points, and a line higher (in the upper half lower) where another name is near already. */
static void draw_outliers(const struct frame *frame, const struct plot_series *series)
{
    double x, y, taken_x[LABEL_ROWS_MAX], taken_y[LABEL_ROWS_MAX];
    size_t taken = 0;
    char place[96];
    text_add(frame->svg, "<g class=\"o\">\n");
    for (size_t i = 0; i < series->count; i++)
        if (plot_point(series, i, &x, &y))
            text_printf(frame->svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\"/>\n", x_of(frame, x), y_of(frame, y));
    text_add(frame->svg, "</g>\n");
    for (size_t i = 0; series->labels != NULL && i < series->count && taken < LABEL_ROWS_MAX; i++) {
        if (plain(series->labels[i])[0] == '\0' || !plot_point(series, i, &x, &y))
            continue;
        double at_x = x_of(frame, x), at_y = y_of(frame, y) + 4.5;
        int width = LETTER_WIDTH * plot_width(series->labels[i]);
        for (size_t t = 0; t < taken; t++)
            if (fabs(taken_x[t] - at_x) < width + 16 && fabs(taken_y[t] - at_y) < LABEL_LINE)
                at_y = taken_y[t] + (at_y > HEIGHT / 2.0 ? -LABEL_LINE : LABEL_LINE);
        taken_x[taken] = at_x;
        taken_y[taken++] = at_y;
        bool right = at_x + 10 + width < WIDTH - RIGHT;
        snprintf(place, sizeof(place), "class=\"k%s\" x=\"%.1f\" y=\"%.1f\"", right ? "" : " e",
                 right ? at_x + 9 : at_x - 9, at_y);
        element(frame->svg, place, series->labels[i]);
    }
}

/* One line below the field's title, from the right. */
static void draw_legend(const struct frame *frame, const struct plot_field *field)
{
    double x = WIDTH - RIGHT;
    char place[80];
    size_t colour = 0, colours[PLOT_TICKS_MAX] = {0};
    for (size_t s = 0; s < field->series_count && s < PLOT_TICKS_MAX; s++)
        colours[s] = field->series[s].mark == PLOT_OUTLIERS ? COLOURS : colour++ % COLOURS;
    for (size_t s = field->series_count > PLOT_TICKS_MAX ? PLOT_TICKS_MAX : field->series_count; s-- > 0;) {
        const char *name = plain(field->series[s].name);
        if (name[0] == '\0')
            continue;
        x -= LETTER_WIDTH * plot_width(name);
        snprintf(place, sizeof(place), "class=\"k\" x=\"%.1f\" y=\"%d\"", x, TOP - 14);
        element(frame->svg, place, name);
        char fill[16];
        snprintf(fill, sizeof(fill), colours[s] == COLOURS ? "--out" : "--c%zu", colours[s]);
        text_printf(frame->svg, "<rect x=\"%.1f\" y=\"%d\" width=\"12\" height=\"4\" fill=\"var(%s)\"/>\n", x - 18,
                    TOP - 20, fill);
        x -= 36;
    }
}

void plot_field_svg(const struct plot_field *field, struct text *ret_text)
{
    struct frame frame = {.svg = ret_text};
    size_t colour = 0;
    begin(ret_text, plain(field->title), HEIGHT);
    if (!plot_scale_x(field, 10, &frame.x) || !plot_scale_y(field, 6, &frame.y)) {
        element(ret_text, "class=\"k\" x=\"20\" y=\"70\"", "nothing to draw");
        text_add(ret_text, "</svg>\n");
        return;
    }
    draw_axes(&frame, field);
    for (size_t s = 0; s < field->series_count; s++) {
        const struct plot_series *series = &field->series[s];
        if (series->mark == PLOT_POINTS)
            draw_points(&frame, series, colour++ % COLOURS);
        else if (series->mark != PLOT_OUTLIERS)
            draw_line(&frame, series, colour++ % COLOURS);
    }
    for (size_t s = 0; s < field->series_count; s++)
        if (field->series[s].mark == PLOT_OUTLIERS)
            draw_outliers(&frame, &field->series[s]);
    draw_legend(&frame, field);
    text_add(ret_text, "</svg>\n");
}
