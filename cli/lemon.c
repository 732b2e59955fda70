/* hpctl lemon list: the nodes whose past weighs most. */
#include "cli/cli.h"

#include "base/own.h"

int cli_lemon_list(struct cli *cli)
{
    static const struct cli_column columns[] = {
        {"NODE", "node"},     {"GROUP", "group"},       {"SCORE", "score"},       {"SLOT", "slotScore"},
        {"LIMIT", "limit"},   {"LEMON", "isLemon"},     {"REPAIRS", "repairs"},   {"FAILED", "failedReturns"},
        {"DEVICE", "device"}, {"OF IT", "deviceScore"}, {"LAST", "~lastRepairAt"}};
    autofree char *cluster = NULL;
    int rc = cli_cluster_name(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *encoded = cli_encode(cluster), *path = own_printf("/v1/clusters/%s/lemons", encoded);
    auto_json json_t *list = NULL;
    rc = cli_ask(cli, "GET", path, NULL, NULL, &list);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, list))
        cli_print_table(cli->out, json_object_get(list, "items"), columns, ARRAY_LEN(columns),
                        "no node was repaired lately");
    return rc;
}
