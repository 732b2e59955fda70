/* hpctl scheduler-config …, quota …, tag …: who of a cluster's users gets how much of it, and tags. */
#include "cli/cli.h"

#include "base/own.h"

#include <string.h>

/* "/v1/clusters/train/quotas/vision"; part is "" or begins with a slash, name may be NULL. */
static int path_of(struct cli *cli, const char *part, const char *name, char **ret_path)
{
    autofree char *cluster = NULL;
    int rc = cli_cluster_name(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *encoded = cli_encode(cluster), *last = cli_encode(name != NULL ? name : "");
    *ret_path = own_printf("/v1/clusters/%s%s%s%s", encoded, part, name != NULL ? "/" : "", last);
    return CLI_EXIT_OK;
}

/* People are told what is not so before anything else. */
static void print_one(struct cli *cli, json_t *json, const char *version, const char *config)
{
    char buffer[1200];
    if (cli_print_data(cli, json))
        return;
    autofree char *text = json_dumps(json_object_get(json, config), JSON_INDENT(2));
    cli_print_field(cli->out, "Name", cli_value(json, "name", buffer, sizeof(buffer)));
    cli_print_field(cli->out, "Cluster", cli_value(json, "cluster", buffer, sizeof(buffer)));
    cli_print_field(cli->out, "Version", cli_value(json, version, buffer, sizeof(buffer)));
    cli_print_field(cli->out, "Status", cli_value(json, "status", buffer, sizeof(buffer)));
    cli_print_field(cli->out, "Applied", cli_value(json, "applied", buffer, sizeof(buffer)));
    cli_print_field(cli->out, "Because", cli_value(json, "appliedReason", buffer, sizeof(buffer)));
    cli_print_field(cli->out, "Team", cli_value(json, "computeQuotaTarget.teamName", buffer, sizeof(buffer)));
    cli_print_field(cli->out, "Weight", cli_value(json, "computeQuotaTarget.fairShareWeight", buffer, sizeof(buffer)));
    cli_print_field(cli->out, "Activation", cli_value(json, "activationState", buffer, sizeof(buffer)));
    cli_print_field(cli->out, "Description", cli_value(json, "description", buffer, sizeof(buffer)));
    cli_print_field(cli->out, "Changed", cli_value(json, "lastModifiedTime", buffer, sizeof(buffer)));
    cli_print_field(cli->out, "By", cli_value(json, "lastModifiedBy.iamIdentity.principalId", buffer, sizeof(buffer)));
    cli_print_harmless(cli->out, text != NULL ? text : "");
    fputc('\n', cli->out);
}

struct noun {
    const char *part, *create, *update, *what, *members, *version, *config;
};
static const struct noun scheduler_config = {.part = "/scheduler-config",
                                             .create = "scheduler-config create",
                                             .update = "scheduler-config update",
                                             .what = "a scheduler configuration",
                                             .members = "name and schedulerConfig",
                                             .version = "clusterSchedulerConfigVersion",
                                             .config = "schedulerConfig"};
static const struct noun quota = {.part = "/quotas",
                                  .create = "quota create",
                                  .update = "quota update",
                                  .what = "a compute quota",
                                  .members = "name, computeQuotaConfig and computeQuotaTarget",
                                  .version = "computeQuotaVersion",
                                  .config = "computeQuotaConfig"};

static int create(struct cli *cli, const struct noun *noun)
{
    autofree char *path = NULL;
    auto_json json_t *body = NULL, *made = NULL;
    int rc = cli_read_file(cli, noun->create, noun->what, noun->members, &body);
    if (rc == CLI_EXIT_OK)
        rc = path_of(cli, noun->part, NULL, &path);
    if (rc == CLI_EXIT_OK)
        rc = cli_ask(cli, "POST", path, body, NULL, &made);
    if (rc == CLI_EXIT_OK)
        print_one(cli, made, noun->version, noun->config);
    return rc;
}

static int describe(struct cli *cli, const struct noun *noun)
{
    autofree char *path = NULL;
    auto_json json_t *json = NULL;
    AUTO(text) struct text full = {0};
    int rc = path_of(cli, noun->part, cli->argument[0], &path);
    if (rc != CLI_EXIT_OK)
        return rc;
    text_add(&full, path);
    cli_add_query(&full, "version", cli->option[CLI_OPTION_AT_VERSION]);
    rc = cli_ask(cli, "GET", text_get(&full), NULL, NULL, &json);
    if (rc == CLI_EXIT_OK)
        print_one(cli, json, noun->version, noun->config);
    return rc;
}

static int update(struct cli *cli, const struct noun *noun)
{
    const char *version = cli->option[CLI_OPTION_AT_VERSION];
    autofree char *path = NULL, *if_match = own_printf("If-Match: \"%s\"", version != NULL ? version : "");
    const char *const headers[] = {version != NULL ? if_match : NULL, NULL};
    auto_json json_t *body = NULL, *changed = NULL;
    int64_t number;
    if (version != NULL && text_parse_i64(version, 1, INT32_MAX, &number) != 0)
        return cli_usage(cli, "--at-version is a number such as 3, not \"%s\"", version);
    int rc = cli_read_file(cli, noun->update, noun->what, noun->config, &body);
    if (rc == CLI_EXIT_OK)
        rc = path_of(cli, noun->part, cli->argument[0], &path);
    if (rc == CLI_EXIT_OK)
        rc = cli_ask(cli, "PATCH", path, body, headers, &changed);
    if (rc == CLI_EXIT_OK)
        print_one(cli, changed, noun->version, noun->config);
    return rc;
}

static int delete_one(struct cli *cli, const struct noun *noun)
{
    autofree char *path = NULL;
    int rc = path_of(cli, noun->part, cli->argument[0], &path);
    if (rc == CLI_EXIT_OK)
        rc = cli_ask(cli, "DELETE", path, NULL, NULL, NULL);
    if (rc == CLI_EXIT_OK && cli->format == CLI_FORMAT_TABLE)
        fprintf(cli->out, "%s is gone\n", noun->what);
    return rc;
}

int cli_scheduler_config_create(struct cli *cli)
{
    return create(cli, &scheduler_config);
}

int cli_scheduler_config_describe(struct cli *cli)
{
    return describe(cli, &scheduler_config);
}

int cli_scheduler_config_update(struct cli *cli)
{
    return update(cli, &scheduler_config);
}

int cli_scheduler_config_delete(struct cli *cli)
{
    return delete_one(cli, &scheduler_config);
}

int cli_quota_create(struct cli *cli)
{
    return create(cli, &quota);
}

int cli_quota_describe(struct cli *cli)
{
    return describe(cli, &quota);
}

int cli_quota_update(struct cli *cli)
{
    return update(cli, &quota);
}

int cli_quota_delete(struct cli *cli)
{
    return delete_one(cli, &quota);
}

int cli_quota_list(struct cli *cli)
{
    static const struct cli_column columns[] = {{"NAME", "name"},
                                                {"TEAM", "computeQuotaTarget.teamName"},
                                                {"WEIGHT", "computeQuotaTarget.fairShareWeight"},
                                                {"ACTIVATION", "activationState"},
                                                {"VERSION", "computeQuotaVersion"},
                                                {"STATUS", "status"},
                                                {"APPLIED", "applied"}};
    autofree char *path = NULL;
    auto_json json_t *items = NULL;
    int64_t limit;
    int rc = cli_parse_limit(cli, 0, &limit);
    if (rc == CLI_EXIT_OK)
        rc = path_of(cli, quota.part, NULL, &path);
    if (rc == CLI_EXIT_OK)
        rc = cli_ask_list(cli, path, limit, &items);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, items))
        cli_print_table(cli->out, items, columns, ARRAY_LEN(columns), "no compute quotas");
    return rc;
}

/* --- tags ------------------------------------------------------------------------------------------------ */

static int tags_path(struct cli *cli, char **ret_path)
{
    const char *of_quota = cli->option[CLI_OPTION_QUOTA];
    bool of_config = cli->option[CLI_OPTION_SCHEDULER_CONFIG] != NULL;
    autofree char *path = NULL;
    if (of_quota != NULL && of_config)
        return cli_usage(cli, "--quota or --scheduler-config, not both");
    int rc = path_of(cli, of_quota != NULL ? quota.part : of_config ? scheduler_config.part : "", of_quota, &path);
    if (rc == CLI_EXIT_OK)
        *ret_path = own_printf("%s/tags", path);
    return rc;
}

static void print_tags(struct cli *cli, const json_t *reply)
{
    static const struct cli_column columns[] = {{"KEY", "key"}, {"VALUE", "value"}};
    json_t *items = json_object_get(reply, "items");
    if (!cli_print_data(cli, items))
        cli_print_table(cli->out, items, columns, ARRAY_LEN(columns), "no tags");
}

int cli_tag_list(struct cli *cli)
{
    autofree char *path = NULL;
    auto_json json_t *reply = NULL;
    int rc = tags_path(cli, &path);
    if (rc == CLI_EXIT_OK)
        rc = cli_ask(cli, "GET", path, NULL, NULL, &reply);
    if (rc == CLI_EXIT_OK)
        print_tags(cli, reply);
    return rc;
}

int cli_tag_add(struct cli *cli)
{
    autofree char *path = NULL;
    auto_json json_t *body = json_object(), *reply = NULL;
    json_t *tags = json_array();
    json_put(body, "tags", tags);
    for (int i = 0; i < cli->argument_count; i++) {
        const char *equals = strchr(cli->argument[i], '=');
        if (equals == NULL || equals == cli->argument[i] || !text_is_utf8(cli->argument[i], strlen(cli->argument[i])))
            return cli_usage(cli, "\"%s\" is no KEY=VALUE in UTF-8", cli->argument[i]);
        json_t *tag = json_object();
        json_put(tag, "key", json_stringn(cli->argument[i], (size_t)(equals - cli->argument[i])));
        json_put(tag, "value", json_string(equals + 1));
        json_array_append_new(tags, tag);
    }
    int rc = tags_path(cli, &path);
    if (rc == CLI_EXIT_OK)
        rc = cli_ask(cli, "POST", path, body, NULL, &reply);
    if (rc == CLI_EXIT_OK)
        print_tags(cli, reply);
    return rc;
}

int cli_tag_delete(struct cli *cli)
{
    autofree char *path = NULL;
    AUTO(text) struct text full = {0};
    int rc = tags_path(cli, &path);
    if (rc != CLI_EXIT_OK)
        return rc;
    text_add(&full, path);
    cli_add_query(&full, "key", cli->argument[0]);
    rc = cli_ask(cli, "DELETE", text_get(&full), NULL, NULL, NULL);
    if (rc == CLI_EXIT_OK && cli->format == CLI_FORMAT_TABLE)
        fprintf(cli->out, "tag %s is gone\n", cli->argument[0]);
    return rc;
}
