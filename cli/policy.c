/* hpctl policy show: the numbers that hpd decides by. */
#include "cli/cli.h"

/* The settings of all policies as one list. */
static json_t *flatten(const json_t *policies)
{
    size_t i;
    const json_t *policy;
    json_t *all = json_array();
    json_array_foreach(json_object_get(policies, "items"), i, policy)
        json_array_extend(all, json_object_get(policy, "settings"));
    return all;
}

int cli_policy_show(struct cli *cli)
{
    static const struct cli_column columns[] = {
        {"SETTING", "name"}, {"VALUE", "value"}, {"DEFAULT", "default"}, {"FROM", "source"}, {"WHAT", "description"}};
    const char *cluster = cli->option[CLI_OPTION_CLUSTER];
    autofree char *encoded = cli_encode(cluster != NULL ? cluster : "");
    autofree char *path =
        cluster != NULL ? own_printf("/v1/clusters/%s/policies", encoded) : own_strdup("/v1/policies");
    auto_json json_t *policies = NULL;
    int rc = cli_ask(cli, "GET", path, NULL, NULL, &policies);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, policies))
        return rc;
    char version[80];
    auto_json json_t *all = flatten(policies);
    cli_print_field(cli->out, "Fault tables", cli_value(policies, "faultTableVersion", version, sizeof(version)));
    fputc('\n', cli->out);
    cli_print_table(cli->out, all, columns, ARRAY_LEN(columns), "no settings");
    return CLI_EXIT_OK;
}
