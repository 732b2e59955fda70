/* Plots to the letter: what a terminal shows, what an SVG holds, and what data can do to neither. */
#include "base/own.h"
#include "base/status.h"
#include "base/xml.h"
#include "cli/plot.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

static const struct plot_style unicode = {.width = 44, .height = 13, .ascii = false};
static const struct plot_style ascii = {.width = 44, .height = 13, .ascii = true};

static const double days[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
static const double rises[] = {0, 2, 3, 5, 8, 8, 9, 11, 14, 15, 20};
static const double falls[] = {10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0};
static const double odd_x[] = {2, 9.9}, odd_y[] = {18, 4};
static const char *const odd_names[] = {"gpu-17", "gpu-\xc3\xa4"};
static const struct plot_series two_lines_and_outliers[] = {
    {.name = "repairs", .mark = PLOT_LINE, .x = days, .y = rises, .count = ARRAY_LEN(days)},
    {.name = "spares", .mark = PLOT_STEPS, .x = days, .y = falls, .count = ARRAY_LEN(days)},
    {.name = "odd", .mark = PLOT_OUTLIERS, .x = odd_x, .y = odd_y, .labels = odd_names, .count = ARRAY_LEN(odd_x)},
};
static const struct plot_field field = {.title = "A week and a half",
                                        .x_label = "days",
                                        .y_label = "nodes",
                                        .series = two_lines_and_outliers,
                                        .series_count = ARRAY_LEN(two_lines_and_outliers),
                                        .y_from_zero = true};

static const struct plot_bar causes[] = {
    {.label = "GPU", .value = 148},
    {.label = "network & switches", .value = 35, .note = "leaf-3", .stands_out = true},
    {.label = "host", .value = 0.5},
    {.label = "none", .value = 0},
    {.label = "unknown", .value = NAN},
};
static const struct plot_bars bars = {
    .title = "Why jobs ended", .label = "interruptions", .bars = causes, .count = ARRAY_LEN(causes)};

/* What is printed is what is wanted, and the text is free again. */
static void expect(struct text *text, const char *wanted)
{
    assert_string_equal(text_get(text), wanted);
    text_free(text);
}

static void test_field(void **state)
{
    (void)state;
    struct text text = {0};
    plot_field_text(&field, &unicode, &text);
    expect(&text, "A week and a half\n"
                  "nodes\n"
                  " 20┤                                     ⡠⠊\n"
                  "   │        ● gpu-17                   ⡠⠊\n"
                  "   │                             ⣀⠤⠒⠒⠉⠉\n"
                  "   │                         ⣀⡠⠔⠊\n"
                  " 10┤oooooooooooo   ⣀⣀⣀⣀⣀⡠⠤⠔⠒⠉\n"
                  "   │           ooooooooooooo        gpu-ä\n"
                  "   │     ⣀⣀⠤⠔⠊⠉            oooooooooooo   ●\n"
                  "  0┤⣀⠤⠒⠊⠉                             ooooo\n"
                  "   └┴──────────────────┴──────────────────┴\n"
                  "    0                  5                 10\n"
                  "                                       days\n"
                  "  ⠤ repairs   o spares   ● odd\n");
    plot_field_text(&field, &ascii, &text);
    expect(&text, "A week and a half\n"
                  "nodes\n"
                  " 20+                                     **\n"
                  "   |        @ gpu-17                   **\n"
                  "   |                             ******\n"
                  "   |                         ****\n"
                  " 10+oooooooooooo ************\n"
                  "   |          *ooooooooooooo        gpu-ä\n"
                  "   |  ********             oooooooooooo   @\n"
                  "  0+**                                ooooo\n"
                  "   ++------------------+------------------+\n"
                  "    0                  5                 10\n"
                  "                                       days\n"
                  "  * repairs   o spares   @ odd\n");
}

static void test_bars(void **state)
{
    (void)state;
    struct text text = {0};
    plot_bars_text(&bars, &unicode, &text);
    expect(&text, "Why jobs ended\n"
                  "               GPU │███████████ 148\n"
                  "network & switches │▒▒▒ 35  leaf-3\n"
                  "              host │▏ 0.5\n"
                  "              none │ 0\n"
                  "           unknown │ -\n"
                  "                    interruptions\n");
    plot_bars_text(&bars, &ascii, &text);
    expect(&text, "Why jobs ended\n"
                  "               GPU |########### 148\n"
                  "network & switches |@@@ 35  leaf-3\n"
                  "              host |# 0.5\n"
                  "              none | 0\n"
                  "           unknown | -\n"
                  "                    interruptions\n");
}

/* --- SVG ------------------------------------------------------------------------------------------------------ */

struct seen {
    int texts, circles, paths;
    char all[1024];
};

static void see_open(const char *path, const char *const attributes[], void *arg)
{
    struct seen *seen = arg;
    (void)attributes;
    seen->circles += text_ends_with(path, "/circle");
    seen->paths += text_ends_with(path, "/path");
}

static void see_close(const char *path, const char *text, void *arg)
{
    struct seen *seen = arg;
    if (!text_ends_with(path, "/text"))
        return;
    seen->texts++;
    size_t len = strlen(seen->all);
    snprintf(seen->all + len, sizeof(seen->all) - len, "%s|", text);
}

static struct seen read_svg(struct text *svg)
{
    static const struct xml_reader reader = {see_open, see_close};
    struct seen seen = {0};
    char error[XML_ERROR_MAX];
    assert_int_equal(xml_read(text_get(svg), svg->len, 1 << 20, &reader, &seen, error), 0);
    text_free(svg);
    return seen;
}

static void test_svg(void **state)
{
    (void)state;
    struct text svg = {0};
    plot_field_svg(&field, &svg);
    assert_non_null(strstr(text_get(&svg), "prefers-color-scheme:dark"));
    assert_non_null(strstr(text_get(&svg), "d=\"M76.0 404.0L151.6 369.8L227.2 352.7"));
    assert_non_null(strstr(text_get(&svg), "stroke-dasharray=\"7 4\" d=\"M76.0 233.0L151.6 233.0L151.6 250.1"));
    struct seen seen = read_svg(&svg);
    assert_string_equal(seen.all, "A week and a half|0|5|10|15|20|0|1|2|3|4|5|6|7|8|9|10|nodes|days|gpu-17|gpu-ä|odd|"
                                  "spares|repairs|");
    assert_int_equal(seen.paths, 2);
    assert_int_equal(seen.circles, 2);
}

/* Names come from elsewhere: no mark-up, no control character, no end of a line gets through. */
static void test_hostile_names(void **state)
{
    (void)state;
    const char *const names[] = {"</text><script>\x01\"&"};
    const struct plot_series odd = {"<b>", PLOT_OUTLIERS, NULL, odd_y, names, 1};
    const struct plot_field hostile = {.title = "<a>", .x_label = "&", .y_label = "\x7f", .series = &odd, 1};
    struct text out = {0};
    plot_field_svg(&hostile, &out);
    assert_null(strstr(text_get(&out), "<script"));
    struct seen seen = read_svg(&out);
    assert_non_null(strstr(seen.all, "<a>|"));
    assert_non_null(strstr(seen.all, "|</text><script>?\"&|"));
    const struct plot_bar bar = {.label = "a\nb\x1b[2J", .value = 1, .note = "\x07"};
    plot_bars_text(&(struct plot_bars){.title = "t\xc2\x9b", .bars = &bar, .count = 1}, &ascii, &out);
    expect(&out, "t?\na?b?[2J |############################ 1  ?\n");
    plot_field_text(&hostile, &ascii, &out);
    for (const char *c = text_get(&out); *c != '\0'; c++)
        assert_true(*c == '\n' || (*c >= 0x20 && *c < 0x7f));
    text_free(&out);
}

/* --- odd data ------------------------------------------------------------------------------------------------- */

static void test_odd_data(void **state)
{
    (void)state;
    static const double nothing[] = {NAN, INFINITY}, one[] = {7}, flat[] = {0, 0, 0}, huge[] = {1e300, -1e300};
    static const struct {
        const double *y;
        size_t count;
        const char *says;
    } cases[] = {
        {nothing, 2, "nothing to draw"}, {NULL, 0, "nothing to draw"}, {one, 1, "10"}, {flat, 3, "0"}, {huge, 2, "G"}};
    struct text out = {0};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct plot_series series = {"", PLOT_LINE, NULL, cases[i].y, NULL, cases[i].count};
        const struct plot_field odd = {.title = "", .series = &series, .series_count = 1};
        plot_field_text(&odd, &unicode, &out);
        assert_non_null(strstr(text_get(&out), cases[i].says));
        text_clear(&out);
        plot_field_svg(&odd, &out);
        assert_null(strstr(text_get(&out), "nan"));
        read_svg(&out);
    }
    plot_bars_text(&(struct plot_bars){.title = "none"}, &ascii, &out);
    expect(&out, "none\n  nothing to draw\n");
}

static void test_numbers(void **state)
{
    (void)state;
    static const struct {
        double value, step;
        const char *text;
    } cases[] = {{0, 1, "0"},          {1e-17, 0.1, "0"}, {0.30000000000000004, 0.1, "0.3"},
                 {9999, 1, "9999"},    {20000, 0, "20k"}, {125000, 0, "125k"},
                 {1500000, 0, "1.5M"}, {-3, 1, "-3"},     {2e9, 0, "2G"},
                 {5000, 5000, "5000"}};
    char number[PLOT_NUMBER_MAX];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        assert_string_equal(plot_number(cases[i].value, cases[i].step, number), cases[i].text);
}

static void test_style(void **state)
{
    (void)state;
    unsetenv("LC_ALL");
    setenv("LC_CTYPE", "en_GB.UTF-8", 1);
    setenv("COLUMNS", "100", 1);
    assert_int_equal(plot_style_here(false).width, 100);
    assert_false(plot_style_here(false).ascii);
    assert_true(plot_style_here(true).ascii);
    setenv("LC_ALL", "C", 1); /* goes before LC_CTYPE */
    assert_true(plot_style_here(false).ascii);
    setenv("COLUMNS", "3", 1);
    assert_true(plot_style_here(false).width >= 40);
    setenv("COLUMNS", "wide", 1);
    assert_true(plot_style_here(false).width >= 40);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_field),         cmocka_unit_test(test_bars),     cmocka_unit_test(test_svg),
        cmocka_unit_test(test_hostile_names), cmocka_unit_test(test_odd_data), cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_style),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
