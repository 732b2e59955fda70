/* hpctl lemon list: the nodes whose past weighs most. */
#include "cli/cli.h"

#include "base/own.h"

int cli_lemon_list(struct cli *cli)
{
    static const struct cli_column columns[] = {
        {"NODE", "node"},     {"GROUP", "group"},       {"SCORE", "score"},       {"SLOT", "slotScore"},
        {"LIMIT", "_limit"},  {"LEMON", "isLemon"},     {"REPAIRS", "repairs"},   {"FAILED", "failedReturns"},
        {"DEVICE", "device"}, {"OF IT", "deviceScore"}, {"LAST", "~lastRepairAt"}};
    autofree char *cluster = NULL;
    int rc = cli_cluster_name(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *encoded = cli_encode(cluster), *path = own_printf("/v1/clusters/%s/lemons", encoded);
    auto_json json_t *list = NULL;
    json_t *lemon;
    size_t i;
    rc = cli_ask(cli, "GET", path, NULL, NULL, &list);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, list))
        return rc;
    json_array_foreach(json_object_get(list, "items"), i, lemon)
    {
        char limit[24];
        bool any = json_integer_value(json_object_get(lemon, "limit")) > 0;
        json_put_text(lemon, "_limit", any ? cli_value(lemon, "limit", limit, sizeof(limit)) : "none");
    }
    cli_print_table(cli->out, json_object_get(list, "items"), columns, ARRAY_LEN(columns),
                    "no node was repaired lately");
    return rc;
}
