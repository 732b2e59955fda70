/* hpctl cluster …: make, list, describe, switch recovery, delete. */
#include "cli/cli.h"

#include <string.h>
#include <unistd.h>

int cli_read_cluster_file(struct cli *cli, const char *verb, json_t **ret_spec)
{
    return cli_read_file(cli, verb, "a cluster", "name and instanceGroups", ret_spec);
}

int cli_cluster_create(struct cli *cli)
{
    auto_json json_t *spec = NULL;
    int64_t timeout_ms;
    int rc = cli_parse_timeout(cli, &timeout_ms);
    if (rc == CLI_EXIT_OK)
        rc = cli_read_cluster_file(cli, "cluster create", &spec);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *key =
        own_printf("Idempotency-Key: %s", cli->option[CLI_OPTION_KEY] != NULL ? cli->option[CLI_OPTION_KEY] : "");
    const char *headers[] = {cli->option[CLI_OPTION_KEY] != NULL ? key : NULL, NULL};
    auto_json json_t *cluster = NULL;
    rc = cli_ask(cli, "POST", "/v1/clusters", spec, headers, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    char name[80];
    autofree char *said = own_printf("cluster %s is being created", cli_value(cluster, "name", name, sizeof(name)));
    return cli_follow_change(cli, cluster, said, timeout_ms);
}

/* Adds "counts" texts to each item for the table. */
static void add_counts(json_t *item)
{
    struct text states AUTO(text) = {0};
    struct text health AUTO(text) = {0};
    cli_counts(json_object_get(item, "nodesByState"), &states);
    cli_counts(json_object_get(item, "nodesByHealth"), &health);
    json_object_set_new(item, "_recovery",
                        json_string(json_object_get(item, "pause") != NULL
                                        ? "paused"
                                        : json_string_value(json_object_get(item, "nodeRecovery"))));
    json_object_set_new(item, "_states", json_string(text_get(&states)));
    json_object_set_new(item, "_health", json_string(text_get(&health)));
}

int cli_cluster_list(struct cli *cli)
{
    static const struct cli_column columns[] = {
        {"NAME", "name"},        {"STATE", "state"},       {"RECOVERY", "_recovery"}, {"NODES", "nodeCount"},
        {"BY STATE", "_states"}, {"BY HEALTH", "_health"}, {"AGE", "~createdAt"}};
    auto_json json_t *items = NULL;
    int64_t limit;
    int rc = cli_parse_limit(cli, 0, &limit);
    if (rc == CLI_EXIT_OK)
        rc = cli_ask_list(cli, "/v1/clusters", limit, &items);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, items))
        return rc;
    for (size_t i = 0; i < json_array_size(items); i++)
        add_counts(json_array_get(items, i));
    cli_print_table(cli->out, items, columns, ARRAY_LEN(columns),
                    "no clusters yet; make one with: hpctl cluster create -f FILE");
    return CLI_EXIT_OK;
}

static int change_pause(struct cli *cli, const char *verb, const char *said)
{
    autofree char *name = cli->argument_count > 0 ? own_strdup(cli->argument[0]) : NULL;
    auto_json json_t *body = json_object(), *cluster = NULL;
    int rc = name != NULL ? CLI_EXIT_OK : cli_cluster_name(cli, &name);
    if (rc != CLI_EXIT_OK)
        return rc;
    json_put_text(body, "reason", cli->option[CLI_OPTION_REASON]);
    autofree char *encoded = cli_encode(name), *path = own_printf("/v1/clusters/%s/%s", encoded, verb);
    rc = cli_ask(cli, "POST", path, body, NULL, &cluster);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, cluster))
        fprintf(cli->out, "%s: %s\n", name, said);
    return rc;
}

int cli_cluster_pause(struct cli *cli)
{
    return change_pause(cli, "pause",
                        "paused; nothing new is done to its nodes by itself, and what is at work (hpctl operation list "
                        "--state running) goes on to its end");
}

int cli_cluster_resume(struct cli *cli)
{
    return change_pause(cli, "resume", "not paused; what is open is decided on now");
}

int cli_cluster_describe(struct cli *cli)
{
    autofree char *name = cli->argument_count > 0 ? own_strdup(cli->argument[0]) : NULL;
    int rc = name != NULL ? CLI_EXIT_OK : cli_cluster_name(cli, &name);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *encoded = cli_encode(name), *path = own_printf("/v1/clusters/%s", encoded);
    auto_json json_t *view = NULL;
    rc = cli_ask(cli, "GET", path, NULL, NULL, &view);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, view))
        return rc;
    return cli_cluster_page(cli, name, view);
}

int cli_top(struct cli *cli)
{
    auto_json json_t *clusters = NULL;
    size_t i;
    json_t *cluster;
    int rc = cli_ask_list(cli, "/v1/clusters", 0, &clusters);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, clusters))
        return rc;
    json_array_foreach(clusters, i, cluster)
    {
        auto_json json_t *view = NULL;
        const char *name = json_string_value(json_object_get(cluster, "name"));
        autofree char *encoded = cli_encode(name), *path = own_printf("/v1/clusters/%s", encoded);
        if (rc == CLI_EXIT_OK)
            rc = cli_ask(cli, "GET", path, NULL, NULL, &view);
        if (i > 0)
            fputc('\n', cli->out);
        if (rc == CLI_EXIT_OK)
            rc = cli_cluster_short(cli, name, view);
    }
    if (json_array_size(clusters) == 0)
        fputs("no clusters yet; make one with: hpctl cluster create -f FILE\n", cli->out);
    return rc;
}

int cli_cluster_update(struct cli *cli)
{
    const char *recovery = cli->option[CLI_OPTION_NODE_RECOVERY];
    if (recovery == NULL)
        return cli_usage(cli, "cluster update needs --node-recovery Automatic or None");
    autofree char *name = cli->argument_count > 0 ? own_strdup(cli->argument[0]) : NULL;
    int rc = name != NULL ? CLI_EXIT_OK : cli_cluster_name(cli, &name);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *encoded = cli_encode(name), *path = own_printf("/v1/clusters/%s", encoded);
    auto_json json_t *body = json_pack("{s:s}", "nodeRecovery", recovery);
    auto_json json_t *cluster = NULL;
    rc = cli_ask(cli, "PATCH", path, body, NULL, &cluster);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, cluster))
        fprintf(cli->out, "NodeRecovery of %s is %s\n", name, recovery);
    return rc;
}

bool cli_confirm(struct cli *cli, const char *question, const char *expected)
{
    char answer[128] = "";
    fputs(question, cli->err);
    fflush(cli->err);
    if (fgets(answer, sizeof(answer), stdin) == NULL)
        return false;
    answer[strcspn(answer, "\n")] = 0;
    return text_equal(answer, expected);
}

int cli_cluster_delete(struct cli *cli)
{
    const char *name = cli->argument[0];
    int64_t timeout_ms;
    int rc = cli_parse_timeout(cli, &timeout_ms);
    if (rc != CLI_EXIT_OK)
        return rc;
    if (cli->option[CLI_OPTION_YES] == NULL) {
        if (!isatty(STDIN_FILENO))
            return cli_usage(cli, "cluster delete asks first; add --yes in scripts");
        autofree char *question =
            own_printf("This ends every instance of cluster %s and its jobs. Type its name to go on: ", name);
        if (!cli_confirm(cli, question, name))
            return cli_usage(cli, "nothing was deleted");
    }
    autofree char *encoded = cli_encode(name), *path = own_printf("/v1/clusters/%s", encoded);
    auto_json json_t *cluster = NULL;
    rc = cli_ask(cli, "DELETE", path, NULL, NULL, &cluster);
    autofree char *said = own_printf("cluster %s is being deleted", name);
    return rc != CLI_EXIT_OK ? rc : cli_follow_change(cli, cluster, said, timeout_ms);
}
