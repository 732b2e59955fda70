/* What came of a simulation, for people: the answer first, then where it comes from, then the plot. */
#include "cli/simulate.h"

#include "base/clock.h"
#include "base/own.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#define TEXT_MAX 256

static void field(struct cli *cli, const char *name, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void field(struct cli *cli, const char *name, const char *fmt, ...)
{
    char text[TEXT_MAX];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    cli_print_field(cli->out, name, text);
}

static void print_head(struct cli *cli, const struct simulation *simulation)
{
    const int64_t *number = simulation->scenario.number;
    char time[CLOCK_TEXT_MAX];
    fprintf(cli->out, "%s: %" PRId64 " nodes (%" PRId64 " GPUs) and %" PRId64 " spares, over %s; seed %" PRId64,
            simulation->scenario.name, number[SIMULATE_NODES], number[SIMULATE_NODES] * number[SIMULATE_GPUS],
            number[SIMULATE_SPARES], simulation_value(SIMULATE_TIME, number[SIMULATE_TIME], time, sizeof(time)),
            number[SIMULATE_SEED]);
    if (simulation->runs > 1)
        fprintf(cli->out, " and the next %" PRId64 ", means", simulation->runs - 1);
    if (simulation->policy != NULL)
        fprintf(cli->out, "; policy %s", simulation->policy);
    fputs("\n\n", cli->out);
}

/* What the document makes of it. */
static void print_policy(struct cli *cli, const struct simulation *s)
{
    double asked = SIMULATION_MEAN(s, approvals_asked), said = SIMULATION_MEAN(s, only_said);
    if (asked > 0)
        field(cli, "Approvals", "%.0f repairs waited for a person's approval", asked);
    if (said > 0)
        field(cli, "Only said", "%.0f faults about which the policy lets nothing be done; people dealt with them",
              said);
    if (s->by_defaults == NULL)
        return;
    const struct simulation plain = {.outcomes = s->by_defaults, .runs = s->runs};
    field(cli, "By the defaults", "effective time %.1f %%, goodput %.1f %%, %.0f interruptions, %.0f cases for people",
          SIMULATION_MEAN(&plain, effective_percent), SIMULATION_MEAN(&plain, goodput_percent),
          SIMULATION_MEAN(&plain, interruptions), SIMULATION_MEAN(&plain, people));
}

#define LOSSES_SHOWN 8

static void print_losses(struct cli *cli, const struct simulate_outcome *outcome)
{
    int shown = 0;
    for (size_t i = 0; i < outcome->loss_count; i++) {
        const struct simulate_loss_outcome *lost = &outcome->losses[i];
        char name[64], at[CLOCK_TEXT_MAX], lasts[CLOCK_TEXT_MAX], back[64];
        if (lost->nodes == 0 || shown++ >= LOSSES_SHOWN)
            continue;
        snprintf(name, sizeof(name), "Lost %s %" PRId64, topology_level_text(lost->loss.level), lost->loss.number);
        snprintf(back, sizeof(back), lost->still_out > 0 ? "%" PRId64 " are still out" : "all were back",
                 lost->still_out);
        field(cli, name,
              "at %s, dark for %s: %" PRId64 " nodes, %" PRId64 " jobs interrupted, %" PRId64
              " repaired one by one; %s after %.1f h",
              clock_write_duration(lost->loss.at, at), clock_write_duration(lost->loss.lasts, lasts), lost->nodes,
              lost->interruptions, lost->repairs, back, lost->back_hours);
    }
    if (outcome->racks_lost > LOSSES_SHOWN)
        field(cli, "Places lost", "%" PRId64 " in all", outcome->racks_lost);
}

/* A policy that leaves much to people is as good as they are quick: their time is an assumption, and not free. */
static void print_people(struct cli *cli, const struct simulation *s)
{
    double done = SIMULATION_MEAN(s, by_people);
    char time[CLOCK_TEXT_MAX];
    if (done >= 0.5)
        field(cli, "By people", "%.0f nodes repaired, each after about %s: with another person= it is another answer",
              done, simulation_value(SIMULATE_PERSON, s->scenario.number[SIMULATE_PERSON], time, sizeof(time)));
}

static void print_answer(struct cli *cli, const struct simulation *s)
{
    double hours = (double)s->scenario.number[SIMULATE_TIME] / (double)MS_PER_HOUR;
    double interruptions = SIMULATION_MEAN(s, interruptions), planned = SIMULATION_MEAN(s, planned);
    field(cli, "Effective time", "%.1f %% of the jobs' time became work that was kept",
          SIMULATION_MEAN(s, effective_percent));
    field(cli, "Goodput", "%.1f %% of all machines' time; %.1f %% is all that there is, as %.1f %% of them have no job",
          SIMULATION_MEAN(s, goodput_percent), SIMULATION_MEAN(s, goodput_possible),
          100 - SIMULATION_MEAN(s, goodput_possible));
    field(cli, "Interruptions", "%.0f of jobs, one in %.2f h; %.0f planned ones beside them", interruptions,
          interruptions > 0 ? hours / interruptions : hours, planned);
    field(cli, "Repairs",
          "%.0f reboots and %.0f replacements; %.0f of all these failed and led to more; %.0f cases for people",
          SIMULATION_MEAN(s, reboots), SIMULATION_MEAN(s, replaces), SIMULATION_MEAN(s, ops_failed),
          SIMULATION_MEAN(s, people));
    if (SIMULATION_MEAN(s, resets) > 0)
        field(cli, "Resets", "%.0f, beside these", SIMULATION_MEAN(s, resets));
    field(cli, "Lemons",
          "%.0f replaced or left to a person by the lemon rule, of which %.0f fail no more often than the rest",
          SIMULATION_MEAN(s, lemons), SIMULATION_MEAN(s, lemons_sound));
    field(cli, "Back in service", "%.1f h after a fault", SIMULATION_MEAN(s, repair_hours_mean));
    field(cli, "Out of service", "%.1f nodes on average, %.0f at most, %.0f at the end", SIMULATION_MEAN(s, out_mean),
          SIMULATION_MEAN(s, out_max), SIMULATION_MEAN(s, out_end));
    print_people(cli, s);
    field(cli, "Spares needed", "%.0f for half of the time, %.0f for 99 %%, %.0f for 99.9 %%, %.0f for all of it",
          SIMULATION_MEAN(s, out_p50), SIMULATION_MEAN(s, out_p99), SIMULATION_MEAN(s, out_p999),
          SIMULATION_MEAN(s, out_max));
    print_policy(cli, s);
    double refused = SIMULATION_MEAN(s, no_capacity), provision_failed = SIMULATION_MEAN(s, provision_failed);
    if (refused + provision_failed > 0)
        field(cli, "New machines", "%.0f refused, %.0f did not come up; groups protected %.0f times", refused,
              provision_failed, SIMULATION_MEAN(s, protections));
    double breakers = SIMULATION_MEAN(s, breaker_opened);
    if (breakers > 0)
        field(cli, "Breaker opened", "%.0f times", breakers);
    print_losses(cli, &s->outcomes[0]);
}

static void print_plot(struct cli *cli, struct text *text)
{
    fputc('\n', cli->out);
    fputs(text_get(text), cli->out);
    text_free(text);
}

static void print_hours(struct cli *cli, const struct simulate_outcome *outcome)
{
    const struct simulate_hours *h = &outcome->hours;
    double all = h->all > 0 ? h->all / 100 : 1;
    const struct plot_bar bars[] = {
        {.label = "work that was kept", .value = h->useful / all},
        {.label = "work lost again", .value = h->lost / all, .stands_out = true},
        {.label = "checkpoints", .value = h->checkpoints / all, .stands_out = true},
        {.label = "until it was noticed", .value = h->noticing / all, .stands_out = true},
        {.label = "waiting for nodes", .value = h->waiting / all, .stands_out = true},
        {.label = "restarting", .value = h->restarting / all, .stands_out = true},
        {.label = "planned stops", .value = h->planned / all, .stands_out = true},
    };
    struct text text = {0};
    const struct plot_style style = plot_style_here(cli->option[CLI_OPTION_ASCII] != NULL);
    plot_bars_text(
        &(struct plot_bars){
            .title = "Where the jobs' time went", .label = "percent", .bars = bars, .count = ARRAY_LEN(bars)},
        &style, &text);
    print_plot(cli, &text);
}

static void print_causes(struct cli *cli, const struct simulation *s)
{
    static const struct cli_column columns[] = {
        {"CAUSE", "name"}, {"FAULTS", "faults"}, {"INTERRUPTIONS", "interruptions"}, {"REPAIRS", "repairs"}};
    auto_json json_t *json = simulation_json(s);
    const json_t *first = json_array_get(json_object_get(json, "runs"), 0);
    static const struct cli_column rules[] = {{"DECISION", "action"}, {"RULE", "rule"}, {"TIMES", "count"}};
    fputc('\n', cli->out);
    cli_print_table(cli->out, json_object_get(first, "classes"), columns, ARRAY_LEN(columns), "no faults");
    fputc('\n', cli->out);
    cli_print_table(cli->out, json_object_get(first, "rules"), rules, ARRAY_LEN(rules), "no decisions");
}

static void print_mttf(struct cli *cli, const struct simulate_outcome *outcome, int64_t gpus)
{
    fputc('\n', cli->out);
    for (size_t i = 0; i < outcome->mttf_count; i++) {
        const struct simulate_mttf *mttf = &outcome->mttf[i];
        char name[64];
        snprintf(name, sizeof(name), "Jobs of %" PRId64, mttf->nodes * gpus);
        if (mttf->interruptions == 0)
            field(cli, name, "never interrupted in %.0f h", mttf->job_hours);
        else
            field(cli, name, "GPUs: interrupted after %.1f h on average, %" PRId64 " times",
                  mttf->job_hours / (double)mttf->interruptions, mttf->interruptions);
    }
}

/* --- over time ---------------------------------------------------------------------------------------------------- */

struct snapshot {
    double days[SIMULATE_SAMPLES], out[SIMULATE_SAMPLES], effective[SIMULATE_SAMPLES];
    struct plot_series series[2];
    char title[TEXT_MAX];
    struct plot_field field;
};

static void draw_out(const struct simulation *s, struct snapshot *ret_snapshot)
{
    const struct simulate_outcome *outcome = &s->outcomes[0];
    *ret_snapshot = (struct snapshot){0};
    for (size_t i = 0; i < outcome->sample_count; i++) {
        ret_snapshot->days[i] = outcome->samples[i].days;
        ret_snapshot->out[i] = outcome->samples[i].out;
    }
    snprintf(ret_snapshot->title, TEXT_MAX, "%s: nodes out of service", s->scenario.name);
    ret_snapshot->series[0] =
        (struct plot_series){NULL, PLOT_STEPS, ret_snapshot->days, ret_snapshot->out, NULL, outcome->sample_count};
    ret_snapshot->field = (struct plot_field){.title = ret_snapshot->title,
                                              .x_label = "days",
                                              .y_label = "nodes",
                                              .series = ret_snapshot->series,
                                              .series_count = 1,
                                              .y_from_zero = true};
}

void simulation_svg(const struct simulation *simulation, struct text *ret_svg)
{
    struct snapshot snapshot;
    draw_out(simulation, &snapshot);
    plot_field_svg(&snapshot.field, ret_svg);
}

void simulation_print(struct cli *cli, const struct simulation *simulation)
{
    struct snapshot snapshot;
    struct text text = {0};
    const struct plot_style style = plot_style_here(cli->option[CLI_OPTION_ASCII] != NULL);
    print_head(cli, simulation);
    print_answer(cli, simulation);
    print_mttf(cli, &simulation->outcomes[0], simulation->scenario.number[SIMULATE_GPUS]);
    print_hours(cli, &simulation->outcomes[0]);
    print_causes(cli, simulation);
    draw_out(simulation, &snapshot);
    plot_field_text(&snapshot.field, &style, &text);
    print_plot(cli, &text);
    if (simulation->scenario.source[0] != '\0') {
        fputc('\n', cli->out);
        cli_print_field(cli->out, "Source", simulation->scenario.source);
    }
}

/* --- sweeps ------------------------------------------------------------------------------------------------------- */

static double unit_of(enum simulate_number swept)
{
    return simulate_numbers[swept].unit == SIMULATE_UNIT_TIME ? (double)MS_PER_MIN : 1;
}

static void draw_sweep(const struct simulation *points, size_t count, enum simulate_number swept,
                       struct snapshot *ret_snapshot)
{
    struct snapshot *p = ret_snapshot;
    *p = (struct snapshot){0};
    for (size_t i = 0; i < count && i < SIMULATE_SAMPLES; i++) {
        p->days[i] = (double)points[i].value / unit_of(swept);
        p->out[i] = SIMULATION_MEAN(&points[i], goodput_percent);
        p->effective[i] = SIMULATION_MEAN(&points[i], effective_percent);
    }
    snprintf(p->title, TEXT_MAX, "%s: what %s does", points[0].scenario.name, simulate_numbers[swept].name);
    p->series[0] = (struct plot_series){"goodput of all machines", PLOT_LINE, p->days, p->out, NULL, count};
    p->series[1] = (struct plot_series){"effective time of jobs", PLOT_LINE, p->days, p->effective, NULL, count};
    p->field = (struct plot_field){
        .title = p->title,
        .x_label = simulate_numbers[swept].unit == SIMULATE_UNIT_TIME ? "minutes" : simulate_numbers[swept].name,
        .y_label = "percent",
        .series = p->series,
        .series_count = 2};
}

void simulation_sweep_svg(const struct simulation *points, size_t count, enum simulate_number swept,
                          struct text *ret_svg)
{
    struct snapshot snapshot;
    draw_sweep(points, count, swept, &snapshot);
    plot_field_svg(&snapshot.field, ret_svg);
}

#define WAITING_ENOUGH_PERCENT 1

/* How many to keep: the fewest with which jobs hardly wait for nodes. */
static void print_enough(struct cli *cli, const struct simulation *points, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double all = SIMULATION_MEAN(&points[i], hours.all);
        if (all > 0 && 100 * SIMULATION_MEAN(&points[i], hours.waiting) / all < WAITING_ENOUGH_PERCENT) {
            fprintf(cli->out,
                    "Spares to keep: %" PRId64
                    ", the fewest of these with which jobs wait less than %d %% of their time\n",
                    points[i].value, WAITING_ENOUGH_PERCENT);
            return;
        }
    }
    fprintf(cli->out, "Spares to keep: more than these, for jobs wait %d %% of their time or longer with each\n",
            WAITING_ENOUGH_PERCENT);
}

void simulation_print_sweep(struct cli *cli, const struct simulation *points, size_t count, enum simulate_number swept)
{
    struct snapshot snapshot;
    struct text text = {0};
    const struct plot_style style = plot_style_here(cli->option[CLI_OPTION_ASCII] != NULL);
    char value[CLOCK_TEXT_MAX];
    size_t best = 0;
    fprintf(cli->out, "%-20s %9s %9s %14s %9s %7s\n", simulate_numbers[swept].name, "GOODPUT", "EFFECTIVE",
            "INTERRUPTIONS", "WAITING", "PEOPLE");
    draw_sweep(points, count, swept, &snapshot);
    for (size_t i = 0; i < count; i++) {
        const struct simulation *p = &points[i];
        double waiting = SIMULATION_MEAN(p, hours.waiting), all = SIMULATION_MEAN(p, hours.all);
        fprintf(cli->out, "%-20s %7.2f %% %7.2f %% %14.0f %7.2f %% %7.0f\n",
                simulation_value(swept, p->value, value, sizeof(value)), snapshot.out[i], snapshot.effective[i],
                SIMULATION_MEAN(p, interruptions), all > 0 ? 100 * waiting / all : 0, SIMULATION_MEAN(p, people));
        best = snapshot.out[i] > snapshot.out[best] ? i : best;
    }
    fprintf(cli->out, "\nThe most goodput: %.2f %%, at %s=%s\n", snapshot.out[best], simulate_numbers[swept].name,
            simulation_value(swept, points[best].value, value, sizeof(value)));
    if (swept == SIMULATE_SPARES)
        print_enough(cli, points, count);
    plot_field_text(&snapshot.field, &style, &text);
    print_plot(cli, &text);
}
