/*
 * hpctl check baseline: the newest results of each node, taken together for each type of instance and measure. Shows what they have
 * in common, who stands out, and proposes limits in the shape of hpd's checks.limits; nothing is changed by it.
 */
#include "base/json.h"
#include "cli/baseline.h"
#include "cli/cli.h"
#include "cli/plot.h"
#include "model/deep_limit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NODES_MAX 500
#define PLOTS_MAX 4 /* in the terminal, those that have outliers */
#define LIMIT_TEXT_MAX 96

struct sample {
    char type[BASELINE_NAME_MAX], measure[BASELINE_NAME_MAX], node[BASELINE_NAME_MAX];
    double value;
};

struct samples {
    struct sample *items;
    size_t count, unreadable;
};

/* Samples of one type and measure. */
struct kind {
    const struct sample *samples;
    size_t count;
    struct baseline baseline;
};

/* --- the newest results --------------------------------------------------------------------------------- */

static void take_measure(struct samples *samples, const json_t *check, const json_t *test, const json_t *measure)
{
    struct sample sample;
    if (!baseline_number(json_member_text(measure, "value"), &sample.value)) {
        samples->unreadable++;
        return;
    }
    text_copy_cut(sample.type, sizeof(sample.type), json_member_text(check, "instanceType"));
    text_copy_cut(sample.node, sizeof(sample.node), json_member_text(check, "node"));
    baseline_measure(json_member_text(test, "name"), json_member_text(measure, "name"), sample.measure);
    samples->items = own_realloc(samples->items, samples->count + 1, sizeof(*samples->items));
    samples->items[samples->count++] = sample;
}

static int take_check(struct cli *cli, const char *id, struct samples *samples)
{
    size_t i, k;
    const json_t *test, *measure;
    auto_json json_t *check = NULL;
    autofree char *encoded = cli_encode(id), *path = own_printf("/v1/checks/%s", encoded);
    int rc = cli_ask(cli, "GET", path, NULL, NULL, &check);
    if (rc != CLI_EXIT_OK)
        return rc;
    json_array_foreach(json_object_get(check, "tests"), i, test)
    {
        if (!text_equal(json_member_text(test, "state"), "passed") &&
            !text_equal(json_member_text(test, "state"), "failed"))
            continue;
        json_array_foreach(json_object_get(test, "measures"), k, measure) take_measure(samples, check, test, measure);
    }
    return CLI_EXIT_OK;
}

static bool is_named(char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(names[i], name))
            return true;
    return count == 0;
}

static int take_all(struct cli *cli, const json_t *checks, char *const *names, size_t count, struct samples *samples)
{
    size_t i;
    const json_t *check;
    const char *group = cli->option[CLI_OPTION_GROUP];
    auto_json json_t *seen = json_object();
    json_array_foreach(checks, i, check) /* newest first */
    {
        const char *node = json_member_text(check, "node"), *state = json_member_text(check, "state");
        if ((!text_equal(state, "passed") && !text_equal(state, "failed")) || json_object_get(seen, node) != NULL ||
            (group != NULL && !text_equal(group, json_member_text(check, "group"))) || !is_named(names, count, node))
            continue;
        json_object_set_new(seen, node, json_true());
        int rc = take_check(cli, json_member_text(check, "id"), samples);
        if (rc != CLI_EXIT_OK)
            return rc;
    }
    return CLI_EXIT_OK;
}

static int gather(struct cli *cli, struct samples *samples)
{
    char **names = NULL;
    size_t count = 0;
    autofree char *cluster = NULL;
    auto_json json_t *checks = NULL;
    const char *given = cli->option[CLI_OPTION_NODES];
    if (given != NULL && text_hostlist_expand(given, NODES_MAX, &names, &count) != 0)
        return cli_usage(cli, "--nodes is a list of at most %d names such as gpu-[1-4],gpu-7, not \"%s\"", NODES_MAX,
                         given);
    int rc = cli_cluster_name(cli, &cluster);
    if (rc == CLI_EXIT_OK) {
        struct text path AUTO(text) = {0};
        text_add(&path, "/v1/checks");
        cli_add_query(&path, "cluster", cluster);
        rc = cli_ask_list(cli, text_get(&path), 0, &checks);
    }
    if (rc == CLI_EXIT_OK)
        rc = take_all(cli, checks, names, count, samples);
    text_list_free(names, count);
    return rc;
}

/* --- by type and measure -------------------------------------------------------------------------------- */

static int by_kind(const void *left, const void *right)
{
    const struct sample *a = left, *b = right;
    int order = strcmp(a->type, b->type);
    order = order != 0 ? order : strcmp(a->measure, b->measure);
    return order != 0 ? order : strcmp(a->node, b->node);
}

static struct kind recount(const struct sample *samples, size_t count)
{
    struct kind kind = {.samples = samples, .count = count};
    autofree double *values = own_calloc(count, sizeof(*values));
    for (size_t i = 0; i < count; i++)
        values[i] = samples[i].value;
    baseline_recount(values, count, baseline_less_is_better(samples[0].measure), &kind.baseline);
    return kind;
}

static size_t make_kinds(struct cli *cli, struct samples *samples, struct kind *ret_kinds)
{
    size_t kinds = 0;
    const char *metric = cli->option[CLI_OPTION_METRIC];
    if (samples->count > 0)
        qsort(samples->items, samples->count, sizeof(*samples->items), by_kind);
    for (size_t i = 0, next; i < samples->count; i = next) {
        const struct sample *first = &samples->items[i];
        for (next = i + 1; next < samples->count && text_equal(samples->items[next].type, first->type) &&
                           text_equal(samples->items[next].measure, first->measure);)
            next++;
        if (metric == NULL || text_equal(metric, first->measure))
            ret_kinds[kinds++] = recount(first, next - i);
    }
    return kinds;
}

/* "EFA MB/s >= 9000"; "" when nothing can be asked for. */
static void proposal(const struct kind *kind, char ret_text[LIMIT_TEXT_MAX])
{
    struct deep_limit parsed;
    const struct baseline *b = &kind->baseline;
    snprintf(ret_text, LIMIT_TEXT_MAX, b->limit >= 100 ? "%s %s %.0f" : "%s %s %.2f", kind->samples[0].measure,
             b->at_most ? "<=" : ">=", b->limit);
    if (!b->proposes || b->limit <= 0 || deep_limit_parse(ret_text, &parsed) != 0)
        ret_text[0] = '\0';
}

static size_t count_outliers(const struct kind *kind)
{
    size_t count = 0;
    for (size_t i = 0; i < kind->count; i++)
        count += baseline_is_outlier(&kind->baseline, kind->samples[i].value);
    return count;
}

static json_t *kind_json(const struct kind *kind)
{
    char limit[LIMIT_TEXT_MAX];
    const struct baseline *b = &kind->baseline;
    json_t *outliers = json_array();
    for (size_t i = 0; i < kind->count; i++)
        if (baseline_is_outlier(b, kind->samples[i].value))
            json_array_append_new(
                outliers, json_pack("{s:s, s:f}", "node", kind->samples[i].node, "value", kind->samples[i].value));
    proposal(kind, limit);
    json_t *json = json_pack("{s:s, s:s, s:i, s:f, s:f, s:f, s:f, s:o}", "instanceType", kind->samples[0].type,
                             "measure", kind->samples[0].measure, "samples", (int)kind->count, "median", b->median,
                             "deviation", b->deviation, "p5", b->p5, "p95", b->p95, "outliers", outliers);
    if (limit[0] != '\0')
        json_object_set_new(json, "proposal", json_string(limit));
    return json;
}

/* --- shown ---------------------------------------------------------------------------------------------- */

struct drawing {
    double *x, *y, *odd_x, *odd_y, line_x[2], line_y[2];
    const char **labels;
    struct plot_series series[3];
    char title[2 * BASELINE_NAME_MAX + 8];
    struct plot_field field;
};

static void drawing_free(struct drawing *drawing)
{
    free(drawing->x);
    free(drawing->y);
    free(drawing->odd_x);
    free(drawing->odd_y);
    free(drawing->labels);
}

/* A point for each sample, in the order of the nodes' names; the proposed limit as a line. */
static void draw(const struct kind *kind, struct drawing *ret_drawing)
{
    struct drawing *d = ret_drawing;
    size_t plain = 0, odd = 0;
    *d = (struct drawing){.line_x = {1, (double)kind->count}, .line_y = {kind->baseline.limit, kind->baseline.limit}};
    d->x = own_calloc(kind->count, sizeof(*d->x));
    d->y = own_calloc(kind->count, sizeof(*d->y));
    d->odd_x = own_calloc(kind->count, sizeof(*d->odd_x));
    d->odd_y = own_calloc(kind->count, sizeof(*d->odd_y));
    d->labels = own_calloc(kind->count, sizeof(*d->labels));
    for (size_t i = 0; i < kind->count; i++) {
        bool stands_out = baseline_is_outlier(&kind->baseline, kind->samples[i].value);
        (stands_out ? d->odd_x : d->x)[stands_out ? odd : plain] = (double)(i + 1);
        (stands_out ? d->odd_y : d->y)[stands_out ? odd : plain] = kind->samples[i].value;
        if (stands_out)
            d->labels[odd++] = kind->samples[i].node;
        else
            plain++;
    }
    d->series[0] = (struct plot_series){.name = "measured", .mark = PLOT_POINTS, .x = d->x, .y = d->y, .count = plain};
    d->series[1] = (struct plot_series){
        .name = "outliers", .mark = PLOT_OUTLIERS, .x = d->odd_x, .y = d->odd_y, .labels = d->labels, .count = odd};
    d->series[2] =
        (struct plot_series){.name = "proposed limit", .mark = PLOT_LINE, .x = d->line_x, .y = d->line_y, .count = 2};
    snprintf(d->title, sizeof(d->title), "%s: %s", kind->samples[0].type, kind->samples[0].measure);
    d->field = (struct plot_field){.title = d->title,
                                   .x_label = "samples, by node",
                                   .y_label = kind->samples[0].measure,
                                   .series = d->series,
                                   .series_count = kind->baseline.proposes ? 3 : 2};
}

static void print_plots(struct cli *cli, const struct kind *kinds, size_t count)
{
    const struct plot_style style = plot_style_here(cli->option[CLI_OPTION_ASCII] != NULL);
    bool chosen = cli->option[CLI_OPTION_METRIC] != NULL;
    size_t shown = 0;
    for (size_t i = 0; i < count && shown < PLOTS_MAX; i++) {
        if (!chosen && count_outliers(&kinds[i]) == 0)
            continue;
        struct drawing drawing;
        struct text text AUTO(text) = {0};
        draw(&kinds[i], &drawing);
        plot_field_text(&drawing.field, &style, &text);
        fprintf(cli->out, "\n%s", text_get(&text));
        drawing_free(&drawing);
        shown++;
    }
}

static void print_table(struct cli *cli, const json_t *rows)
{
    bool some = cli->option[CLI_OPTION_GROUP] != NULL || cli->option[CLI_OPTION_NODES] != NULL ||
                cli->option[CLI_OPTION_METRIC] != NULL;
    static const struct cli_column columns[] = {{"TYPE", "instanceType"},
                                                {"MEASURE", "measure"},
                                                {"N", "samples"},
                                                {"MEDIAN", "_median"},
                                                {"P5", "_p5"},
                                                {"P95", "_p95"},
                                                {"PROPOSED", "proposal"},
                                                {"OUTLIERS", "_outliers"}};
    static const char *const numbers[][2] = {{"median", "_median"}, {"p5", "_p5"}, {"p95", "_p95"}};
    size_t i, k;
    const json_t *outlier;
    json_t *row;
    json_array_foreach(rows, i, row)
    {
        char number[32];
        struct text names AUTO(text) = {0};
        for (k = 0; k < ARRAY_LEN(numbers); k++) {
            snprintf(number, sizeof(number), "%.6g", json_real_value(json_object_get(row, numbers[k][0])));
            json_object_set_new(row, numbers[k][1], json_string(number));
        }
        json_array_foreach(json_object_get(row, "outliers"), k, outlier)
            text_printf(&names, "%s%s (%.6g)", k > 0 ? ", " : "", json_member_text(outlier, "node"),
                        json_real_value(json_object_get(outlier, "value")));
        json_object_set_new(row, "_outliers", json_string(text_get(&names)));
    }
    cli_print_table(
        cli->out, rows, columns, ARRAY_LEN(columns),
        some ? "nothing was measured of what was asked for; hpctl check baseline by itself shows what there is"
             : "nothing was measured yet: hpctl check start, or --run");
}

/* --- written -------------------------------------------------------------------------------------------- */

/* The measure that most stands out, or the first. */
static int write_plot(struct cli *cli, const char *path, const struct kind *kinds, size_t count)
{
    const struct kind *most = kinds;
    if (count == 0)
        return cli_usage(cli, "there is nothing to draw%s",
                         cli->option[CLI_OPTION_METRIC] != NULL ? " of that metric" : "");
    for (size_t i = 1; i < count; i++)
        if (count_outliers(&kinds[i]) > count_outliers(most))
            most = &kinds[i];
    struct drawing drawing;
    struct text svg AUTO(text) = {0};
    draw(most, &drawing);
    plot_field_svg(&drawing.field, &svg);
    drawing_free(&drawing);
    return cli_write_file(cli, path, &svg);
}

static int write_limits(struct cli *cli, const char *path, const struct kind *kinds, size_t count)
{
    char limit[LIMIT_TEXT_MAX];
    const char *type = NULL;
    struct text yaml AUTO(text) = {0};
    text_add(&yaml, "# Proposed by hpctl check baseline: the median less (for times, more) three standard deviations "
                    "that a few bad\n"
                    "# machines cannot move, and at least 5 %. Read it, then put it into hpd's configuration.\n"
                    "checks:\n  limits:\n");
    for (size_t i = 0; i < count; i++) {
        proposal(&kinds[i], limit);
        if (limit[0] == '\0' || kinds[i].samples[0].type[0] == '\0')
            continue;
        auto_json json_t *json = json_string(limit), *name = json_string(kinds[i].samples[0].type);
        autofree char *quoted = json_dumps(json, JSON_ENCODE_ANY), *key = json_dumps(name, JSON_ENCODE_ANY);
        if (type == NULL || !text_equal(type, kinds[i].samples[0].type))
            text_printf(&yaml, "    %s:\n", key);
        type = kinds[i].samples[0].type;
        text_printf(&yaml, "      - %s # of %zu samples, median %.6g\n", quoted, kinds[i].count,
                    kinds[i].baseline.median);
    }
    if (type == NULL)
        return cli_usage(cli, "nothing can be proposed: a limit wants %d samples of a measure, and a type of instance",
                         BASELINE_SAMPLES_MIN);
    return cli_write_file(cli, path, &yaml);
}

/* --- all of it ------------------------------------------------------------------------------------------ */

/* A quick run on the group or nodes first; what becomes of it is told beside our own words. */
static int run_first(struct cli *cli)
{
    struct cli first = *cli;
    if (cli->option[CLI_OPTION_RUN] == NULL)
        return CLI_EXIT_OK;
    first.out = cli->err;
    first.format = CLI_FORMAT_TABLE;
    first.option[CLI_OPTION_WAIT] = "";
    int rc = cli_check_start(&first);
    return rc == CLI_EXIT_REFUSED ? CLI_EXIT_OK : rc; /* what failed its test is measured all the same */
}

static int show(struct cli *cli, const struct samples *samples, const struct kind *kinds, size_t count)
{
    int rc = CLI_EXIT_OK;
    auto_json json_t *rows = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(rows, kind_json(&kinds[i]));
    if (!cli_print_data(cli, rows)) {
        print_table(cli, rows);
        print_plots(cli, kinds, count);
    }
    if (samples->unreadable > 0)
        fprintf(cli->err, "hpctl: %zu measures are no numbers, and were left out\n", samples->unreadable);
    if (cli->option[CLI_OPTION_PLOT] != NULL)
        rc = write_plot(cli, cli->option[CLI_OPTION_PLOT], kinds, count);
    if (rc == CLI_EXIT_OK && cli->option[CLI_OPTION_WRITE] != NULL)
        rc = write_limits(cli, cli->option[CLI_OPTION_WRITE], kinds, count);
    return rc;
}

int cli_check_baseline(struct cli *cli)
{
    struct samples samples = {0};
    int rc = run_first(cli);
    if (rc == CLI_EXIT_OK)
        rc = gather(cli, &samples);
    if (rc == CLI_EXIT_OK) {
        autofree struct kind *kinds = own_calloc(samples.count + 1, sizeof(*kinds));
        rc = show(cli, &samples, kinds, make_kinds(cli, &samples, kinds));
    }
    free(samples.items);
    return rc;
}
