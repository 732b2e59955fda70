/* hpctl cluster update-software and hpctl cluster check: what is done to the nodes of whole groups. */
#include "cli/cli.h"

#include "base/clock.h"

#include <string.h>

#define WAIT_SECONDS_MAX 3600

/* "2", or "10%". */
static int read_batch(struct cli *cli, json_t **ret_size)
{
    char number[16];
    int64_t value;
    const char *given = cli->option[CLI_OPTION_BATCH];
    bool percent = given != NULL && text_ends_with(given, "%");
    *ret_size = NULL;
    if (given == NULL)
        return CLI_EXIT_OK;
    if (text_copy_bytes(number, sizeof(number), given, strlen(given) - percent) != 0 ||
        text_parse_i64(number, 1, percent ? 100 : CLI_NODES_MAX, &value) != 0)
        return cli_usage(cli, "--batch is a number of nodes, or percent of a group such as 10%%, not \"%s\"", given);
    *ret_size =
        json_pack("{s:s, s:I}", "type", percent ? "CAPACITY_PERCENTAGE" : "INSTANCE_COUNT", "value", (json_int_t)value);
    return CLI_EXIT_OK;
}

static int read_pause(struct cli *cli, int64_t *ret_seconds)
{
    int64_t ms = 0;
    const char *given = cli->option[CLI_OPTION_PAUSE];
    if (given != NULL && (clock_parse_duration(given, &ms) != 0 || ms > WAIT_SECONDS_MAX * MS_PER_S))
        return cli_usage(cli, "--pause is a duration of at most 1h, such as 30s, not \"%s\"", given);
    *ret_seconds = (ms + MS_PER_S - 1) / MS_PER_S;
    return CLI_EXIT_OK;
}

/* The group that is named, or every group of the cluster when a release is asked for: each is told its own. */
static int put_groups(struct cli *cli, const char *cluster, json_t *body)
{
    const char *release = cli->option[CLI_OPTION_RELEASE], *only = cli->option[CLI_OPTION_GROUP];
    auto_json json_t *view = NULL;
    size_t i;
    const json_t *group;
    if (release == NULL && only == NULL)
        return CLI_EXIT_OK;
    autofree char *encoded = cli_encode(cluster), *path = own_printf("/v1/clusters/%s", encoded);
    int rc = only != NULL ? CLI_EXIT_OK : cli_ask(cli, "GET", path, NULL, NULL, &view);
    if (rc != CLI_EXIT_OK)
        return rc;
    json_t *groups = json_array();
    if (only != NULL)
        json_array_append_new(groups, json_pack("{s:s}", "instanceGroupName", only));
    json_array_foreach(json_object_get(view, "instanceGroups"), i, group)
        json_array_append_new(groups, json_pack("{s:O}", "instanceGroupName", json_object_get(group, "name")));
    for (i = 0; release != NULL && i < json_array_size(groups); i++)
        json_put_text(json_array_get(groups, i), "imageReleaseVersion", release);
    json_put(body, "instanceGroups", groups);
    return CLI_EXIT_OK;
}

static int post(struct cli *cli, const char *cluster, const char *what, const json_t *body, json_t **ret_view)
{
    autofree char *encoded = cli_encode(cluster), *path = own_printf("/v1/clusters/%s/%s", encoded, what);
    return cli_ask(cli, "POST", path, body, NULL, ret_view);
}

int cli_cluster_update_software(struct cli *cli)
{
    autofree char *cluster = cli->argument_count > 0 ? own_strdup(cli->argument[0]) : NULL;
    auto_json json_t *body = json_object(), *size = NULL, *deployment = json_object(), *view = NULL;
    int64_t pause_s = 0, timeout_ms;
    int rc = cli_parse_timeout(cli, &timeout_ms);
    if (rc == CLI_EXIT_OK && cluster == NULL)
        rc = cli_cluster_name(cli, &cluster);
    if (rc == CLI_EXIT_OK)
        rc = read_batch(cli, &size);
    if (rc == CLI_EXIT_OK)
        rc = read_pause(cli, &pause_s);
    if (rc == CLI_EXIT_OK)
        rc = put_groups(cli, cluster, body);
    if (rc != CLI_EXIT_OK)
        return rc;
    json_put_text(body, "imageId", cli->option[CLI_OPTION_IMAGE]);
    if (size != NULL)
        json_put(deployment, "rollingUpdatePolicy", json_pack("{s:O}", "maximumBatchSize", size));
    if (pause_s > 0)
        json_put_i64(deployment, "waitIntervalInSeconds", pause_s);
    if (json_object_size(deployment) > 0)
        json_object_set(body, "deploymentConfig", deployment);
    rc = post(cli, cluster, "software-update", body, &view);
    return rc != CLI_EXIT_OK ? rc : cli_follow_change(cli, view, "the software update begins", timeout_ms);
}

int cli_cluster_check(struct cli *cli)
{
    const char *group = cli->option[CLI_OPTION_GROUP], *check = cli->option[CLI_OPTION_CHECK];
    autofree char *cluster = cli->argument_count > 0 ? own_strdup(cli->argument[0]) : NULL;
    int rc = cluster != NULL ? CLI_EXIT_OK : cli_cluster_name(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    if (group == NULL)
        return cli_usage(cli, "cluster check needs --group NAME");
    if (check != NULL && !text_equal(check, "stress") && !text_equal(check, "connectivity"))
        return cli_usage(cli, "--check is stress or connectivity, not \"%s\"", check);
    json_t *checks = json_array();
    if (!text_equal(check, "connectivity"))
        json_array_append_new(checks, json_string("InstanceStress"));
    if (!text_equal(check, "stress"))
        json_array_append_new(checks, json_string("InstanceConnectivity"));
    auto_json json_t *body = json_pack("{s:[{s:s, s:o}]}", "deepHealthCheckConfigurations", "instanceGroupName", group,
                                       "deepHealthChecks", checks);
    auto_json json_t *view = NULL;
    rc = post(cli, cluster, "health-check", body, &view);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, view))
        fprintf(cli->out, "the checks begin; follow them with: hpctl event list --follow -c %s\n", cluster);
    return rc;
}
