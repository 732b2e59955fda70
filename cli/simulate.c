/*
 * hpctl simulate: a fleet that is not there, under the policy that is. Asks no server.
 */
#include "cli/simulate.h"

#include "base/clock.h"
#include "base/own.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define POINTS_WANTED 16

static int list_profiles(struct cli *cli)
{
    size_t count = 0;
    const struct simulate_profile *profiles = simulate_profiles(&count);
    auto_json json_t *json = simulation_profiles_json();
    char value[CLOCK_TEXT_MAX];
    if (cli_print_data(cli, json))
        return CLI_EXIT_OK;
    for (size_t i = 0; i < count; i++) {
        fprintf(cli->out, "%s: %s\n", profiles[i].name, profiles[i].about);
        cli_print_field(cli->out, "  Numbers", profiles[i].numbers);
        cli_print_field(cli->out, "  Source", profiles[i].source);
        fputc('\n', cli->out);
    }
    fputs("Numbers, for a file or as NAME=VALUE. What neither says is the profile's (rsc-1, where none is named), and "
          "what that does not "
          "say either is:\n",
          cli->out);
    for (size_t i = 0; i < SIMULATE_NUMBERS; i++)
        fprintf(cli->out, "  %-20s %-8s %s\n", simulate_numbers[i].name,
                simulation_value((enum simulate_number)i, simulate_numbers[i].standard, value, sizeof(value)),
                simulate_numbers[i].help);
    return CLI_EXIT_OK;
}

/* --- running -------------------------------------------------------------------------------------------------- */

static int run(struct cli *cli, const struct simulate_scenario *scenario, struct simulation *ret_simulation)
{
    struct simulation simulation = {.scenario = *scenario, .runs = scenario->number[SIMULATE_RUNS]};
    char error[SIMULATE_ERROR_MAX];
    if (simulate_check(&simulation.scenario, error) != 0)
        return cli_usage(cli, "%s", error);
    simulation.outcomes = own_calloc((size_t)simulation.runs, sizeof(*simulation.outcomes));
    for (int64_t i = 0; i < simulation.runs; i++)
        simulate_run(&simulation.scenario, scenario->number[SIMULATE_SEED] + i, &simulation.outcomes[i]);
    simulation.policy = cli->option[CLI_OPTION_POLICY];
    *ret_simulation = simulation;
    return CLI_EXIT_OK;
}

/* What a policy yields is said beside what its absence does. */
static void run_by_defaults(struct simulation *simulation)
{
    autofree struct simulate_scenario *plain = own_calloc(1, sizeof(*plain));
    *plain = simulation->scenario;
    plain->document = NULL;
    simulation->by_defaults = own_calloc((size_t)simulation->runs, sizeof(*simulation->by_defaults));
    for (int64_t i = 0; i < simulation->runs; i++)
        simulate_run(plain, plain->number[SIMULATE_SEED] + i, &simulation->by_defaults[i]);
}

static int run_one(struct cli *cli, const struct simulate_scenario *scenario)
{
    struct simulation simulation = {.runs = 0};
    int rc = run(cli, scenario, &simulation);
    if (rc != CLI_EXIT_OK)
        return rc;
    if (simulation.policy != NULL)
        run_by_defaults(&simulation);
    auto_json json_t *json = simulation_json(&simulation);
    if (!cli_print_data(cli, json))
        simulation_print(cli, &simulation);
    if (cli->option[CLI_OPTION_PLOT] != NULL) {
        struct text svg AUTO(text) = {0};
        simulation_svg(&simulation, &svg);
        rc = cli_write_file(cli, cli->option[CLI_OPTION_PLOT], &svg);
    }
    free(simulation.outcomes);
    free(simulation.by_defaults);
    return rc;
}

/* --- sweeps --------------------------------------------------------------------------------------------------- */

struct sweep {
    enum simulate_number number;
    int64_t from, to, step;
};

static int take_value(struct cli *cli, const char *name, const char *text, enum simulate_number number,
                      int64_t *ret_value)
{
    struct simulate_scenario scratch = {0};
    char error[SIMULATE_ERROR_MAX];
    if (simulate_set(&scratch, name, text, error) != 0)
        return cli_usage(cli, "--sweep: %s", error);
    *ret_value = scratch.number[number];
    return CLI_EXIT_OK;
}

/* NAME=FROM..TO or NAME=FROM..TO:STEP */
static int take_sweep(struct cli *cli, struct sweep *ret_sweep)
{
    char name[64], from[32], to[32];
    const char *text = cli->option[CLI_OPTION_SWEEP];
    const char *equals = strchr(text, '='), *dots = strstr(text, "..");
    const char *colon = dots != NULL ? strchr(dots, ':') : NULL;
    struct sweep sweep = {.number = SIMULATE_NUMBERS};
    if (equals == NULL || dots == NULL || dots < equals ||
        text_copy_bytes(name, sizeof(name), text, (size_t)(equals - text)) != 0 ||
        text_copy_bytes(from, sizeof(from), equals + 1, (size_t)(dots - equals - 1)) != 0 ||
        text_copy_bytes(to, sizeof(to), dots + 2, colon != NULL ? (size_t)(colon - dots - 2) : strlen(dots + 2)) != 0)
        return cli_usage(cli, "--sweep is NAME=FROM..TO or NAME=FROM..TO:STEP, as in spares=0..64:4");
    for (size_t i = 0; i < SIMULATE_NUMBERS; i++)
        if (strcmp(simulate_numbers[i].name, name) == 0)
            sweep.number = (enum simulate_number)i;
    if (sweep.number == SIMULATE_NUMBERS)
        return cli_usage(cli, "--sweep: there is no number \"%s\"; --list-profiles shows all", name);
    int rc = take_value(cli, name, from, sweep.number, &sweep.from);
    if (rc == CLI_EXIT_OK)
        rc = take_value(cli, name, to, sweep.number, &sweep.to);
    if (rc == CLI_EXIT_OK && colon != NULL)
        rc = take_value(cli, name, colon + 1, sweep.number, &sweep.step);
    if (rc != CLI_EXIT_OK)
        return rc;
    if (colon == NULL)
        sweep.step = (sweep.to - sweep.from + POINTS_WANTED - 1) / POINTS_WANTED;
    if (sweep.to < sweep.from || sweep.step <= 0 || (sweep.to - sweep.from) / sweep.step >= SIMULATION_POINTS_MAX)
        return cli_usage(cli, "--sweep goes upwards, in at most %d points", SIMULATION_POINTS_MAX);
    *ret_sweep = sweep;
    return CLI_EXIT_OK;
}

static int show_sweep(struct cli *cli, const struct simulation *points, size_t count, enum simulate_number swept)
{
    auto_json json_t *json = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(json, simulation_json(&points[i]));
    if (!cli_print_data(cli, json))
        simulation_print_sweep(cli, points, count, swept);
    if (cli->option[CLI_OPTION_PLOT] == NULL)
        return CLI_EXIT_OK;
    struct text svg AUTO(text) = {0};
    simulation_sweep_svg(points, count, swept, &svg);
    return cli_write_file(cli, cli->option[CLI_OPTION_PLOT], &svg);
}

static int run_sweep(struct cli *cli, struct simulate_scenario *scenario)
{
    struct sweep sweep = {0};
    size_t count = 0;
    int rc = take_sweep(cli, &sweep);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree struct simulation *points = own_calloc(SIMULATION_POINTS_MAX + 1, sizeof(*points));
    for (int64_t value = sweep.from; rc == CLI_EXIT_OK && value <= sweep.to; value += sweep.step) {
        scenario->number[sweep.number] = value;
        rc = run(cli, scenario, &points[count]);
        points[count].value = value;
        count += rc == CLI_EXIT_OK;
    }
    if (rc == CLI_EXIT_OK)
        rc = show_sweep(cli, points, count, sweep.number);
    for (size_t i = 0; i < count; i++)
        free(points[i].outcomes);
    return rc;
}

int cli_simulate(struct cli *cli)
{
    autofree struct simulate_scenario *scenario = own_calloc(1, sizeof(*scenario));
    if (cli->option[CLI_OPTION_LIST_PROFILES] != NULL)
        return list_profiles(cli);
    struct policy_document *document = NULL;
    int rc = simulation_take(cli, scenario, &document);
    if (rc == CLI_EXIT_OK)
        rc = cli->option[CLI_OPTION_SWEEP] != NULL ? run_sweep(cli, scenario) : run_one(cli, scenario);
    simulate_policy_free(document);
    return rc;
}
