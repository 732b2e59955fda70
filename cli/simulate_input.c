/*
 * What a simulation is asked for: a profile, then a file, then --lose and NAME=VALUE of the command line; what comes later counts.
 * Beside it the policy document that decides. What is wrong in a file is said with its line.
 */
#include "cli/simulate.h"

#include "base/own.h"
#include "base/yaml.h"

#include <inttypes.h>
#include <string.h>

#define PROFILE_DEFAULT "rsc-1"

static int take_words(struct cli *cli, struct simulate_scenario *scenario)
{
    char error[SIMULATE_ERROR_MAX];
    for (int i = 0; i < cli->argument_count; i++) {
        char name[64];
        const char *equals = strchr(cli->argument[i], '=');
        if (equals == NULL ||
            text_copy_bytes(name, sizeof(name), cli->argument[i], (size_t)(equals - cli->argument[i])) != 0)
            return cli_usage(cli, "simulate takes NAME=VALUE, not \"%s\"; --list-profiles shows the names",
                             cli->argument[i]);
        if (simulate_set(scenario, name, equals + 1, error) != 0)
            return cli_usage(cli, "%s", error);
    }
    return CLI_EXIT_OK;
}

/* --- the file -------------------------------------------------------------------------------------------------- */

/* What -o json printed holds the scenario beside what came of it. */
static const json_t *scenario_of(const json_t *root, const char **ret_outer)
{
    const json_t *inner = json_object_get(root, "scenario");
    *ret_outer = json_is_object(inner) ? "scenario" : NULL;
    return json_is_object(inner) ? inner : root;
}

static int refuse_at(struct cli *cli, const char *path, const char *data, size_t len, const char *outer,
                     const struct simulate_place *place, const char *error)
{
    const char *parts[3];
    size_t depth = 0;
    if (outer != NULL)
        parts[depth++] = outer;
    parts[depth++] = place->key;
    if (place->element[0] != '\0')
        parts[depth++] = place->element;
    size_t line = yaml_line(data, len, parts, depth);
    return line > 0 ? cli_usage(cli, "%s: line %zu: %s", path, line, error) : cli_usage(cli, "%s: %s", path, error);
}

static int take_file(struct cli *cli, struct simulate_scenario *scenario)
{
    const char *path = cli->option[CLI_OPTION_FILE], *outer = NULL;
    autofree char *data = NULL;
    auto_json json_t *root = NULL;
    size_t len = 0;
    char wrong[JSON_ERROR_MAX], error[SIMULATE_ERROR_MAX];
    struct simulate_place place;
    int rc = cli_read_input(cli, path, &data, &len);
    if (rc != CLI_EXIT_OK)
        return rc;
    if (yaml_parse(data, len, CLI_FILE_BYTES_MAX, &root, wrong) != 0)
        return cli_usage(cli, "%s: %s", path, wrong);
    if (!json_is_object(root))
        return cli_usage(cli, "%s must be a mapping with profile, numbers, faults, jobs, groups or losses", path);
    const json_t *document = scenario_of(root, &outer);
    if (simulate_read(scenario, document, error, &place) != 0)
        return refuse_at(cli, path, data, len, outer, &place, error);
    return CLI_EXIT_OK;
}

/* --- places that go dark ----------------------------------------------------------------------------------------- */

static int take_losses(struct cli *cli, struct simulate_scenario *scenario)
{
    char one[64], error[SIMULATE_ERROR_MAX];
    for (const char *at = cli->option[CLI_OPTION_LOSE]; at != NULL && *at != '\0';) {
        size_t len = strcspn(at, ",");
        if (text_copy_bytes(one, sizeof(one), at, len) != 0 || simulate_lose(scenario, one, error) != 0)
            return cli_usage(cli, "--lose %s: %s", at, len >= sizeof(one) ? "that is too long" : error);
        at += len + (at[len] == ',');
    }
    return CLI_EXIT_OK;
}

/* --- the policy -------------------------------------------------------------------------------------------------- */

static int take_policy(struct cli *cli, struct policy_document **ret_document)
{
    const char *path = cli->option[CLI_OPTION_POLICY];
    autofree char *data = NULL;
    size_t len = 0;
    char error[SIMULATE_POLICY_ERROR_MAX];
    int rc = cli_read_input(cli, path, &data, &len);
    if (rc == CLI_EXIT_OK && simulate_policy_read(data, len, ret_document, error) != 0)
        return cli_usage(cli, "%s: %s", path, error);
    return rc;
}

/* What is written for another cluster or group would count for nothing without a word. */
static void warn_of_others(struct cli *cli, const struct simulate_scenario *scenario)
{
    size_t first = 0, count = simulate_policy_unmatched(scenario, &first);
    if (count == 0)
        return;
    struct simulate_group group;
    (void)simulate_group_at(scenario, 0, &group);
    fprintf(cli->err,
            "hpctl: %s: %zu %s of groups (the first is number %zu) %s for no group of this fleet and %s for nothing: "
            "the cluster is \"" SIMULATE_CLUSTER "\", its groups are those of the file, else \"%s\" and so on\n",
            cli->option[CLI_OPTION_POLICY], count, count == 1 ? "entry" : "entries", first, count == 1 ? "is" : "are",
            count == 1 ? "counts" : "count", group.name);
}

/* The profile's spares, which somebody forgot to say for a smaller fleet, would work instead of it. */
static void warn_of_spares(struct cli *cli, const struct simulate_scenario *scenario)
{
    int64_t nodes = scenario->number[SIMULATE_NODES], spares = scenario->number[SIMULATE_SPARES];
    if (spares > nodes)
        fprintf(cli->err, "hpctl: %" PRId64 " spares for %" PRId64 " nodes: say spares=N for a fleet of this size\n",
                spares, nodes);
}

int simulation_take(struct cli *cli, struct simulate_scenario *ret_scenario, struct policy_document **ret_document)
{
    const char *profile = cli->option[CLI_OPTION_PROFILE];
    int rc = CLI_EXIT_OK;
    if (simulate_profile_load(profile != NULL ? profile : PROFILE_DEFAULT, ret_scenario) != 0)
        return cli_usage(cli, "there is no profile \"%s\"; --list-profiles shows those there are", profile);
    if (cli->option[CLI_OPTION_FILE] != NULL)
        rc = take_file(cli, ret_scenario);
    if (rc == CLI_EXIT_OK)
        rc = take_losses(cli, ret_scenario);
    if (rc == CLI_EXIT_OK)
        rc = take_words(cli, ret_scenario);
    if (rc == CLI_EXIT_OK && cli->option[CLI_OPTION_POLICY] != NULL)
        rc = take_policy(cli, ret_document);
    ret_scenario->document = *ret_document;
    if (rc == CLI_EXIT_OK) {
        warn_of_others(cli, ret_scenario);
        warn_of_spares(cli, ret_scenario);
    }
    return rc;
}
