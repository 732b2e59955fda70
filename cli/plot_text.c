/*
 * Plots for the terminal. The field is a grid of cells; a braille cell is two dots wide and four high (U+2800 and eight bits), a
 * letter takes the cell whole. What is drawn later stands before what was drawn earlier, names of outliers before all.
 */
#include "base/own.h"
#include "cli/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TICK_WIDTH_MAX 12
#define LABEL_WIDTH_MAX 32 /* of bars */
#define FIELD_HEIGHT_MIN 4
#define FIELD_WIDTH_MIN 10
#define AROUND 5 /* lines: title, name of y, axis, its numbers, its name */
#define GLYPH_BYTES_MAX 5

/* Blanks, what is said, and what follows. Names come from elsewhere: no control character gets to the terminal. */
static void say(struct text *text, int blanks, const char *said, const char *then)
{
    text_printf(text, "%*s", blanks, "");
    for (; said != NULL && *said != '\0'; said++) {
        unsigned char c = (unsigned char)*said, next = (unsigned char)said[1];
        bool long_control = c == 0xc2 && next >= 0x80 && next < 0xa0;
        text_add_char(text, long_control || c < 0x20 || c == 0x7f ? '?' : *said);
        said += long_control;
    }
    text_add(text, then);
}

struct cell {
    unsigned char dots;
    char glyph[GLYPH_BYTES_MAX]; /* "": the dots */
};

struct canvas {
    struct cell *cells;
    int width, height;
    bool ascii;
};

static struct cell *cell_at(struct canvas *canvas, int column, int row)
{
    if (column < 0 || column >= canvas->width || row < 0 || row >= canvas->height)
        return NULL;
    return &canvas->cells[row * canvas->width + column];
}

static void put_glyph(struct canvas *canvas, int column, int row, const char *glyph, size_t len)
{
    struct cell *cell = cell_at(canvas, column, row);
    if (cell != NULL && len < GLYPH_BYTES_MAX) {
        memcpy(cell->glyph, glyph, len);
        cell->glyph[len] = '\0';
    }
}

/* One dot of the fine grid: braille numbers its eight dots this way. */
static void put_dot(struct canvas *canvas, int x, int y)
{
    static const unsigned char bits[4][2] = {{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}};
    struct cell *cell = x < 0 || y < 0 ? NULL : cell_at(canvas, x / 2, y / 4);
    if (cell != NULL)
        cell->dots |= bits[y % 4][x % 2];
}

/* What a series is drawn with: "" is braille. */
static const char *glyph_of(const struct plot_field *field, size_t s, bool ascii)
{
    static const char *const letters[] = {"*", "o", "+", "x", "#", "%"};
    if (field->series[s].mark == PLOT_OUTLIERS)
        return ascii ? "@" : "●";
    size_t before = 0;
    for (size_t i = 0; i < s; i++)
        before += field->series[i].mark != PLOT_OUTLIERS;
    return before == 0 && !ascii ? "" : letters[before % ARRAY_LEN(letters)];
}

struct brush {
    struct canvas *canvas;
    const char *glyph;
    struct plot_scale x, y;
};

/* Places in dots, or in cells for a letter. */
static void place(const struct brush *brush, double x, double y, int *ret_x, int *ret_y)
{
    bool fine = brush->glyph[0] == '\0';
    int width = brush->canvas->width * (fine ? 2 : 1), height = brush->canvas->height * (fine ? 4 : 1);
    *ret_x = (int)lround(plot_scale_at(&brush->x, x) * (width - 1));
    *ret_y = (int)lround((1 - plot_scale_at(&brush->y, y)) * (height - 1));
}

static void touch(const struct brush *brush, int x, int y)
{
    if (brush->glyph[0] == '\0')
        put_dot(brush->canvas, x, y);
    else
        put_glyph(brush->canvas, x, y, brush->glyph, strlen(brush->glyph));
}

static void stroke(const struct brush *brush, int x0, int y0, int x1, int y1)
{
    int across = x1 - x0, down = y1 - y0;
    int steps = abs(across) > abs(down) ? abs(across) : abs(down);
    for (int i = 0; i <= steps; i++) {
        double part = steps == 0 ? 0 : (double)i / steps;
        touch(brush, x0 + (int)lround(part * across), y0 + (int)lround(part * down));
    }
}

static bool is_free(struct canvas *canvas, int from, int row, int width)
{
    for (int i = 0; i < width; i++) {
        const struct cell *cell = cell_at(canvas, from + i, row);
        if (cell == NULL || cell->glyph[0] != '\0')
            return false;
    }
    return true;
}

/* The name stands right of its point, or left of it where it would not fit; a row higher or lower where another name or point is,
 * and nowhere when that is taken, too. */
static void put_label(const struct brush *brush, int column, int row, const char *label)
{
    static const int beside[] = {0, -1, 1};
    struct canvas *canvas = brush->canvas;
    int width = plot_width(label);
    int from = column + 2 + width <= canvas->width ? column + 2 : column - 1 - width;
    for (size_t b = 0; b < ARRAY_LEN(beside); b++) {
        if (!is_free(canvas, from, row + beside[b], width))
            continue;
        for (int i = 0; *label != '\0'; i++) {
            size_t len = 1;
            while (((unsigned char)label[len] & 0xc0) == 0x80)
                len++;
            bool control =
                (unsigned char)*label < 0x20 || *label == 0x7f || (len == 2 && *label == '\xc2' && label[1] < '\xa0');
            put_glyph(canvas, from + i, row + beside[b], control ? "?" : label, control ? 1 : len);
            label += len;
        }
        return;
    }
}

static void draw_series(const struct brush *brush, const struct plot_series *series)
{
    bool open = false;
    int last_x = 0, last_y = 0;
    for (size_t i = 0; i < series->count; i++) {
        double x, y;
        int at_x, at_y;
        if (!plot_point(series, i, &x, &y)) {
            open = false;
            continue;
        }
        place(brush, x, y, &at_x, &at_y);
        if (open && series->mark == PLOT_LINE)
            stroke(brush, last_x, last_y, at_x, at_y);
        if (open && series->mark == PLOT_STEPS) {
            stroke(brush, last_x, last_y, at_x, last_y);
            stroke(brush, at_x, last_y, at_x, at_y);
        }
        touch(brush, at_x, at_y);
        open = true;
        last_x = at_x;
        last_y = at_y;
    }
}

static void draw_labels(const struct brush *brush, const struct plot_series *series)
{
    for (size_t i = 0; series->mark == PLOT_OUTLIERS && series->labels != NULL && i < series->count; i++) {
        double x, y;
        int column, row;
        if (series->labels[i] == NULL || !plot_point(series, i, &x, &y))
            continue;
        place(brush, x, y, &column, &row);
        put_label(brush, column, row, series->labels[i]);
    }
}

static void print_row(const struct canvas *canvas, int row, struct text *text)
{
    int last = canvas->width - 1;
    const struct cell *cells = &canvas->cells[row * canvas->width];
    while (last >= 0 && cells[last].glyph[0] == '\0' && cells[last].dots == 0)
        last--;
    for (int column = 0; column <= last; column++) {
        const struct cell *cell = &cells[column];
        if (cell->glyph[0] != '\0')
            text_add(text, cell->glyph);
        else if (cell->dots == 0)
            text_add_char(text, ' ');
        else /* U+2800 and the dots, in UTF-8 */
            text_add_bytes(
                text, (const char[]){'\xe2', (char)(0xa0 | cell->dots >> 6), (char)(0x80 | (cell->dots & 0x3f))}, 3);
    }
    text_add_char(text, '\n');
}

static void print_repeated(struct text *text, const char *what, int times)
{
    for (int i = 0; i < times; i++)
        text_add(text, what);
}

/* Numbers below the axis, each in the middle below its tick, those left out that would touch another. */
static void print_x_axis(const struct canvas *canvas, const struct plot_scale *scale, int margin, const char *label,
                         struct text *text)
{
    char numbers[512] = "", number[PLOT_NUMBER_MAX];
    memset(numbers, ' ', sizeof(numbers) - 1);
    autofree bool *ticked = own_calloc((size_t)canvas->width, sizeof(*ticked));
    int free_from = 0, end = margin + canvas->width;
    for (int i = 0; i < scale->tick_count; i++) {
        int column = (int)lround(plot_scale_at(scale, scale->ticks[i]) * (canvas->width - 1));
        int len = plot_width(plot_number(scale->ticks[i], scale->step, number));
        int from = margin + 1 + column - len / 2;
        if (from + len > end + 1)
            from = end + 1 - len;
        if (column < 0 || column >= canvas->width || from < free_from || from + len >= (int)sizeof(numbers))
            continue;
        ticked[column] = true;
        memcpy(numbers + from, number, (size_t)len);
        free_from = from + len + 2;
    }
    print_repeated(text, " ", margin);
    text_add(text, canvas->ascii ? "+" : "└");
    for (int i = 0; i < canvas->width; i++)
        text_add(text, canvas->ascii ? (ticked[i] ? "+" : "-") : (ticked[i] ? "┴" : "─"));
    int last = (int)strlen(numbers) - 1;
    while (last >= 0 && numbers[last] == ' ')
        numbers[last--] = '\0';
    text_printf(text, "\n%s\n", numbers);
    int pad = end - plot_width(label);
    if (*label != '\0')
        say(text, pad > 0 ? pad + 1 : 0, label, "\n");
}

static void print_legend(const struct plot_field *field, bool ascii, struct text *text)
{
    bool any = false;
    for (size_t s = 0; s < field->series_count; s++) {
        const struct plot_series *series = &field->series[s];
        if (series->name == NULL || series->name[0] == '\0')
            continue;
        const char *glyph = glyph_of(field, s, ascii);
        const char *sample = glyph[0] != '\0' ? glyph : series->mark == PLOT_POINTS ? "⠢" : "⠤";
        text_printf(text, "%s%s ", any ? "   " : "  ", sample);
        say(text, 0, series->name, "");
        any = true;
    }
    if (any)
        text_add_char(text, '\n');
}

static const char *plain(const char *text)
{
    return text != NULL ? text : "";
}

static void print_field(const struct brush *brush, int margin, struct text *text)
{
    const struct canvas *canvas = brush->canvas;
    char number[PLOT_NUMBER_MAX];
    for (int row = 0; row < canvas->height; row++) {
        const char *tick = "", *bar = canvas->ascii ? "|" : "│";
        for (int i = 0; i < brush->y.tick_count; i++)
            if ((int)lround((1 - plot_scale_at(&brush->y, brush->y.ticks[i])) * (canvas->height - 1)) == row) {
                tick = plot_number(brush->y.ticks[i], brush->y.step, number);
                bar = canvas->ascii ? "+" : "┤";
            }
        text_printf(text, "%*.*s%s", margin, margin - 1, tick, bar);
        print_row(canvas, row, text);
    }
}

static void draw(struct brush *brush, const struct plot_field *field)
{
    for (int labels = 0; labels <= 1; labels++)
        for (size_t s = 0; s < field->series_count; s++) {
            brush->glyph = glyph_of(field, s, brush->canvas->ascii);
            if (labels)
                draw_labels(brush, &field->series[s]);
            else
                draw_series(brush, &field->series[s]);
        }
}

/* Room left of the field for the widest number. */
static int margin_of(const struct plot_scale *scale)
{
    int margin = 0;
    char number[PLOT_NUMBER_MAX];
    for (int i = 0; i < scale->tick_count; i++) {
        int len = plot_width(plot_number(scale->ticks[i], scale->step, number));
        margin = len + 1 > margin ? len + 1 : margin;
    }
    return margin > TICK_WIDTH_MAX ? TICK_WIDTH_MAX : margin;
}

void plot_field_text(const struct plot_field *field, const struct plot_style *style, struct text *ret_text)
{
    int height = style->height - AROUND > FIELD_HEIGHT_MIN ? style->height - AROUND : FIELD_HEIGHT_MIN;
    struct canvas canvas = {.height = height, .ascii = style->ascii};
    struct brush brush = {.canvas = &canvas};
    say(ret_text, 0, field->title, "\n");
    if (!plot_scale_y(field, height / 4 > 1 ? height / 4 : 2, &brush.y)) {
        text_add(ret_text, "  nothing to draw\n");
        return;
    }
    int margin = margin_of(&brush.y);
    canvas.width = style->width - margin - 2 > FIELD_WIDTH_MIN ? style->width - margin - 2 : FIELD_WIDTH_MIN;
    plot_scale_x(field, canvas.width / 12 > 1 ? canvas.width / 12 : 2, &brush.x);
    autofree struct cell *cells = own_calloc((size_t)(canvas.width * canvas.height), sizeof(*cells));
    canvas.cells = cells;
    draw(&brush, field);
    if (plain(field->y_label)[0] != '\0')
        say(ret_text, 0, field->y_label, "\n");
    print_field(&brush, margin, ret_text);
    print_x_axis(&canvas, &brush.x, margin, plain(field->x_label), ret_text);
    print_legend(field, style->ascii, ret_text);
}

/* --- bars -------------------------------------------------------------------------------------------------- */

/* An eighth of a character is the smallest piece of a bar. */
static void print_bar(double cells, bool stands_out, bool ascii, struct text *text)
{
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int eighths = (int)lround(cells * 8);
    eighths = eighths == 0 && cells > 0 ? 1 : eighths;
    if (ascii)
        print_repeated(text, stands_out ? "@" : "#", (eighths + 4) / 8 > 0 || eighths == 0 ? (eighths + 4) / 8 : 1);
    else if (stands_out)
        print_repeated(text, "▒", (eighths + 7) / 8);
    else {
        print_repeated(text, "█", eighths / 8);
        text_add(text, parts[eighths % 8]);
    }
}

void plot_bars_text(const struct plot_bars *bars, const struct plot_style *style, struct text *ret_text)
{
    int label_width = 0, tail = 0;
    double max = 0;
    char number[PLOT_NUMBER_MAX];
    say(ret_text, 0, bars->title, "\n");
    for (size_t i = 0; i < bars->count; i++) {
        const struct plot_bar *bar = &bars->bars[i];
        int width = plot_width(plain(bar->label));
        int after = plot_width(plot_number(bar->value, 0, number)) + 1;
        after += plain(bar->note)[0] != '\0' ? plot_width(bar->note) + 2 : 0;
        label_width = width > label_width ? width : label_width;
        tail = after > tail ? after : tail;
        max = isfinite(bar->value) ? fmax(max, bar->value) : max;
    }
    label_width = label_width > LABEL_WIDTH_MAX ? LABEL_WIDTH_MAX : label_width;
    tail = tail > style->width / 3 ? style->width / 3 : tail; /* a long note may hang over */
    int room = style->width - label_width - 4 - tail;
    room = room < 8 ? 8 : room;
    if (bars->count == 0)
        text_add(ret_text, "  nothing to draw\n");
    for (size_t i = 0; i < bars->count; i++) {
        const struct plot_bar *bar = &bars->bars[i];
        int pad = label_width - plot_width(plain(bar->label));
        say(ret_text, pad > 0 ? pad : 0, bar->label, style->ascii ? " |" : " │");
        if (isfinite(bar->value))
            print_bar(max > 0 ? fmax(bar->value, 0) / max * room : 0, bar->stands_out, style->ascii, ret_text);
        text_printf(ret_text, " %s", isfinite(bar->value) ? plot_number(bar->value, 0, number) : "-");
        if (plain(bar->note)[0] != '\0')
            say(ret_text, 2, bar->note, "");
        text_add_char(ret_text, '\n');
    }
    if (plain(bars->label)[0] != '\0')
        say(ret_text, label_width + 2, bars->label, "\n");
}
