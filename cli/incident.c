/* hpctl incident …, and hpctl node place: what takes many nodes at once, and what nodes share. */
#include "cli/cli.h"

#include "base/own.h"

#include <string.h>

int cli_incident_list(struct cli *cli)
{
    static const struct cli_column columns[] = {{"ID", "id"},         {"CLUSTER", "cluster"}, {"WHERE", "level"},
                                                {"NAME", "domain"},   {"CAUSE", "cause"},     {"NODES", "nodes"},
                                                {"DOWN", "affected"}, {"AGE", "~startedAt"},  {"ENDED", "endedAt"}};
    int64_t limit;
    int rc = cli_parse_limit(cli, CLI_LIMIT_DEFAULT, &limit);
    if (rc != CLI_EXIT_OK)
        return rc;
    struct text path AUTO(text) = {0};
    text_add(&path, "/v1/incidents");
    cli_add_query(&path, "cluster", cli->option[CLI_OPTION_CLUSTER]);
    auto_json json_t *items = NULL;
    rc = cli_ask_list(cli, text_get(&path), limit, &items);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, items))
        cli_print_table(cli->out, items, columns, ARRAY_LEN(columns), "no incidents of many nodes");
    return rc;
}

static void print_incident(struct cli *cli, const json_t *incident)
{
    static const struct cli_column members[] = {
        {"NODE", "node"}, {"SHOWS", "cause"}, {"SINCE", "since"}, {"BACK", "backAt"}};
    static const struct {
        const char *title, *path;
    } fields[] = {{"Incident", "id"},         {"Cluster", "cluster"}, {"Where", "level"},
                  {"Name", "domain"},         {"Cause", "cause"},     {"Nodes", "nodes"},
                  {"Still down", "affected"}, {"Since", "startedAt"}, {"Back since", "settledSince"},
                  {"Ended", "endedAt"},       {"Because", "endedBy"}};
    char buffer[600];
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        cli_print_field(cli->out, fields[i].title, cli_value(incident, fields[i].path, buffer, sizeof(buffer)));
    fputc('\n', cli->out);
    cli_print_table(cli->out, json_object_get(incident, "members"), members, ARRAY_LEN(members), "no nodes");
}

static int one_incident(struct cli *cli, const char *method, const char *suffix)
{
    autofree char *id = cli_encode(cli->argument[0]), *path = own_printf("/v1/incidents/%s%s", id, suffix);
    auto_json json_t *incident = NULL;
    int rc = cli_ask(cli, method, path, NULL, NULL, &incident);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, incident))
        print_incident(cli, incident);
    return rc;
}

int cli_incident_describe(struct cli *cli)
{
    return one_incident(cli, "GET", "");
}

int cli_incident_end(struct cli *cli)
{
    return one_incident(cli, "POST", "/end");
}

int cli_node_place(struct cli *cli)
{
    autofree char *cluster = NULL;
    auto_json json_t *node = NULL, *body = json_object();
    json_t *topology = json_object();
    json_put(body, "topology", topology);
    for (int i = 1; i < cli->argument_count; i++) {
        const char *equals = strchr(cli->argument[i], '=');
        if (equals == NULL || equals == cli->argument[i])
            return cli_usage(cli,
                             "say where it is as chassis=NAME, rack=NAME, switch=NAME, ultraserver=NAME or "
                             "powerDomain=NAME, not \"%s\"",
                             cli->argument[i]);
        autofree char *level = own_printf("%.*s", (int)(equals - cli->argument[i]), cli->argument[i]);
        json_object_set_new(topology, level, json_string(equals + 1));
    }
    int rc = cli_cluster_name(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *c = cli_encode(cluster), *n = cli_encode(cli->argument[0]);
    autofree char *path = own_printf("/v1/clusters/%s/nodes/%s", c, n);
    rc = cli_ask(cli, "PATCH", path, body, NULL, &node);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, node))
        fprintf(cli->out, "%s: what it shares with others is known\n", cli->argument[0]);
    return rc;
}
