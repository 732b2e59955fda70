/* hpctl group …: what a person says to an instance group. */
#include "cli/cli.h"

#include "base/own.h"

int cli_group_resume(struct cli *cli)
{
    autofree char *cluster = NULL;
    auto_json json_t *body = json_object(), *group = NULL;
    int rc = cli_cluster_name(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    json_put_text(body, "reason", cli->option[CLI_OPTION_REASON]);
    autofree char *c = cli_encode(cluster), *g = cli_encode(cli->argument[0]);
    autofree char *path = own_printf("/v1/clusters/%s/groups/%s/resume", c, g);
    rc = cli_ask(cli, "POST", path, body, NULL, &group);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, group))
        fprintf(cli->out,
                "%s: protected mode and the breaker hold its repairs no more; hpctl event list shows what was ended\n",
                cli->argument[0]);
    return rc;
}
