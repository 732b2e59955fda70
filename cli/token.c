/* hpctl token … and hpctl access-key …: credentials of the server. And hpctl version. */
#include "cli/cli.h"

#include "base/version.h"
#include "policy/faults/faults.h"

/* The lists that have no pages. */
static int list_all(struct cli *cli, const char *path, const struct cli_column *columns, size_t count, const char *none)
{
    auto_json json_t *reply = NULL;
    int rc = cli_ask(cli, "GET", path, NULL, NULL, &reply);
    json_t *items = json_object_get(reply, "items");
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, items))
        cli_print_table(cli->out, items, columns, count, none);
    return rc;
}

static int make_worthless(struct cli *cli, const char *list, const char *what)
{
    autofree char *id = cli_encode(cli->argument[0]), *path = own_printf("%s/%s", list, id);
    int rc = cli_ask(cli, "DELETE", path, NULL, NULL, NULL);
    if (rc == CLI_EXIT_OK && cli->format == CLI_FORMAT_TABLE)
        fprintf(cli->out, "%s %s is worthless now\n", what, cli->argument[0]);
    return rc;
}

/* --- tokens ---------------------------------------------------------------------------------------------- */

static int enrollment_body(struct cli *cli, json_t *body)
{
    autofree char *cluster = NULL;
    if (cli->option[CLI_OPTION_MACHINES] != NULL) {
        json_put_text(body, "kind", "machines");
        return CLI_EXIT_OK;
    }
    int rc = cli_cluster_name(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    json_put_text(body, "kind", "enrollment");
    json_put_text(body, "cluster", cluster);
    json_put_text(body, "node", cli->option[CLI_OPTION_NODE]);
    return CLI_EXIT_OK;
}

int cli_token_create(struct cli *cli)
{
    bool machines = cli->option[CLI_OPTION_MACHINES] != NULL;
    bool enrollment = machines || cli->option[CLI_OPTION_ENROLLMENT] != NULL;
    if (machines && (cli->option[CLI_OPTION_NODE] != NULL || cli->option[CLI_OPTION_CLUSTER] != NULL))
        return cli_usage(cli, "--machines is for machines of no cluster yet: leave out --cluster and --node");
    const char *role = cli->option[CLI_OPTION_ROLE], *name = cli->option[CLI_OPTION_NAME];
    if (!enrollment && (role == NULL || name == NULL))
        return cli_usage(cli, "token create needs --role and --name, --enrollment or --machines");
    if (enrollment && (role != NULL || name != NULL))
        return cli_usage(cli, "--role and --name are for API tokens, not for --enrollment");
    auto_json json_t *body = json_object(), *token = NULL;
    int rc = enrollment ? enrollment_body(cli, body) : CLI_EXIT_OK;
    if (rc != CLI_EXIT_OK)
        return rc;
    if (!enrollment) {
        json_put_text(body, "kind", "api");
        json_put_text(body, "role", role);
        json_put_text(body, "name", name);
    }
    json_put_text(body, "ttl", cli->option[CLI_OPTION_TTL]);
    rc = cli_ask(cli, "POST", "/v1/tokens", body, NULL, &token);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, token))
        return rc;
    char buffer[200];
    cli_print_field(cli->out, "Token", cli_value(token, "secret", buffer, sizeof(buffer)));
    cli_print_field(cli->out, "Id", cli_value(token, "id", buffer, sizeof(buffer)));
    cli_print_field(cli->out, "Expires", cli_value(token, "expiresAt", buffer, sizeof(buffer)));
    cli_print_field(cli->out, "Server", cli_value(token, "serverUrl", buffer, sizeof(buffer)));
    cli_print_field(cli->out, "Fingerprint", cli_value(token, "fingerprint", buffer, sizeof(buffer)));
    fputs("\nThe token is shown this once; the server keeps only its hash.\n", cli->out);
    return CLI_EXIT_OK;
}

int cli_token_list(struct cli *cli)
{
    static const struct cli_column columns[] = {
        {"ID", "id"},     {"KIND", "kind"},         {"NAME", "name"},         {"ROLE", "role"},  {"CLUSTER", "cluster"},
        {"NODE", "node"}, {"CREATED", "createdAt"}, {"EXPIRES", "expiresAt"}, {"USED", "usedAt"}};
    return list_all(cli, "/v1/tokens", columns, ARRAY_LEN(columns), "no tokens");
}

int cli_token_delete(struct cli *cli)
{
    return make_worthless(cli, "/v1/tokens", "token");
}

/* --- access keys: what the AWS SDK and command sign with ------------------------------------------------- */

int cli_access_key_create(struct cli *cli)
{
    const char *role = cli->option[CLI_OPTION_ROLE], *name = cli->option[CLI_OPTION_NAME];
    if (role == NULL || name == NULL)
        return cli_usage(cli, "access-key create needs --role and --name");
    auto_json json_t *body = json_object(), *key = NULL;
    json_put_text(body, "name", name);
    json_put_text(body, "role", role);
    int rc = cli_ask(cli, "POST", "/v1/access-keys", body, NULL, &key);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, key))
        return rc;
    char buffer[200];
    cli_print_field(cli->out, "Access key", cli_value(key, "accessKeyId", buffer, sizeof(buffer)));
    cli_print_field(cli->out, "Secret", cli_value(key, "secretAccessKey", buffer, sizeof(buffer)));
    cli_print_field(cli->out, "Endpoint", cli_value(key, "endpoint", buffer, sizeof(buffer)));
    fputs("\nThe secret is shown this once; the server keeps it sealed.\n", cli->out);
    return CLI_EXIT_OK;
}

int cli_access_key_list(struct cli *cli)
{
    static const struct cli_column columns[] = {
        {"KEY", "accessKeyId"}, {"NAME", "name"}, {"ROLE", "role"}, {"CREATED", "createdAt"}, {"USED", "usedAt"}};
    return list_all(cli, "/v1/access-keys", columns, ARRAY_LEN(columns), "no access keys");
}

int cli_access_key_delete(struct cli *cli)
{
    return make_worthless(cli, "/v1/access-keys", "access key");
}

/* --- version --------------------------------------------------------------------------------------------- */

int cli_version(struct cli *cli)
{
    auto_json json_t *versions =
        json_pack("{s:s, s:s}", "hpctl", HOLDFAST_VERSION, "faultTable", fault_table_version());
    auto_json json_t *server = NULL;
    bool asked = false;
    int rc = CLI_EXIT_OK;
    if (cli->option[CLI_OPTION_SERVER] != NULL || cli->profile != NULL || getenv("HPCTL_URL") != NULL) {
        rc = cli_connect(cli);
        if (rc == CLI_EXIT_OK)
            rc = cli_ask(cli, "GET", "/v1/version", NULL, NULL, &server);
        asked = rc == CLI_EXIT_OK;
        if (asked)
            json_object_set(versions, "server", server);
    }
    if (cli_print_data(cli, versions))
        return rc;
    char buffer[80];
    fprintf(cli->out, "hpctl %s, fault table %s\n", HOLDFAST_VERSION, fault_table_version());
    if (asked)
        fprintf(cli->out, "hpd %s\n", cli_value(server, "version", buffer, sizeof(buffer)));
    return rc;
}
