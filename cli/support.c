/*
 * hpctl support-bundle: what somebody needs who shall help from afar, as one JSON file. It has what the REST API shows to the token that asks,
 * without what opens anything: links that answer questions are left out, and the file is for its owner alone.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/file.h"
#include "base/json.h"

#include <string.h>
#include <time.h>

#define EVENTS 2000
#define OPERATIONS 500

/* Members that open something, wherever they stand. */
static const char *const secrets[] = {"approvalUrl", "token", "secret", "secretKey", "password", "certificate"};

static void remove_secrets(json_t *json)
{
    const char *key;
    json_t *value;
    size_t i;
    for (i = 0; i < ARRAY_LEN(secrets); i++)
        if (json_is_object(json))
            json_object_del(json, secrets[i]);
    if (json_is_array(json)) {
        json_array_foreach(json, i, value) remove_secrets(value);
    } else {
        json_object_foreach(json, key, value) remove_secrets(value);
    }
}

/* What one request answers, or why it does not: a bundle with a hole is better than none. */
static void add(struct cli *cli, json_t *bundle, const char *name, const char *path, int64_t limit)
{
    auto_json json_t *answer = NULL;
    int rc = limit > 0 ? cli_ask_list(cli, path, limit, &answer) : cli_ask(cli, "GET", path, NULL, NULL, &answer);
    if (rc == CLI_EXIT_OK && answer != NULL)
        json_object_set(bundle, name, answer);
    else
        json_put(bundle, name, json_pack("{s:i}", "exitCode", rc));
}

static void add_cluster(struct cli *cli, json_t *clusters, const char *name)
{
    json_t *one = json_object();
    autofree char *encoded = cli_encode(name), *path = own_printf("/v1/clusters/%s", encoded);
    autofree char *nodes = own_printf("%s/nodes", path), *policies = own_printf("%s/policies", path);
    add(cli, one, "description", path, 0);
    add(cli, one, "nodes", nodes, CLI_NODES_MAX);
    add(cli, one, "policies", policies, 0);
    json_object_set_new(clusters, name, one);
}

static json_t *collect(struct cli *cli)
{
    static const struct {
        const char *name, *path;
        int64_t limit; /* 0: it has no pages */
    } parts[] = {
        {"version", "/v1/version", 0},       {"schedulers", "/v1/schedulers", 0},
        {"webhooks", "/v1/webhooks", 0},     {"failedMessages", "/v1/webhooks/failed", 0},
        {"policies", "/v1/policies", 0},     {"approvals", "/v1/approvals", OPERATIONS},
        {"incidents", "/v1/incidents", 100}, {"operations", "/v1/operations", OPERATIONS},
        {"events", "/v1/events", EVENTS},
    };
    json_t *bundle = json_object(), *clusters = json_object(), *item;
    auto_json json_t *list = NULL;
    size_t i;
    json_put_time(bundle, "at", clock_wall_ms(clock_system()));
    for (i = 0; i < ARRAY_LEN(parts); i++)
        add(cli, bundle, parts[i].name, parts[i].path, parts[i].limit);
    if (cli_ask_list(cli, "/v1/clusters", 0, &list) == CLI_EXIT_OK)
        json_array_foreach(list, i, item) add_cluster(cli, clusters, json_member_text(item, "name"));
    json_put(bundle, "clusters", clusters);
    remove_secrets(bundle);
    return bundle;
}

/* "holdfast-support-20261120T150211Z.json"; caller frees. */
static char *default_name(void)
{
    char at[32];
    time_t now = (time_t)(clock_wall_ms(clock_system()) / MS_PER_S);
    struct tm utc;
    if (gmtime_r(&now, &utc) == NULL || strftime(at, sizeof(at), "%Y%m%dT%H%M%SZ", &utc) == 0)
        return own_strdup("holdfast-support.json");
    return own_printf("holdfast-support-%s.json", at);
}

int cli_support_bundle(struct cli *cli)
{
    auto_json json_t *version = NULL;
    autofree char *path = cli->argument_count > 0 ? own_strdup(cli->argument[0]) : default_name();
    int rc = cli_ask(cli, "GET", "/v1/version", NULL, NULL, &version); /* no server: no bundle */
    if (rc != CLI_EXIT_OK)
        return rc;
    auto_json json_t *bundle = collect(cli);
    autofree char *text = json_dumps(bundle, JSON_INDENT(1));
    rc = text != NULL ? file_write(path, text, strlen(text), 0600) : STATUS_INVALID;
    if (rc != 0)
        return cli_usage(cli, "cannot write %s: %s", path, status_meaning(rc));
    fprintf(cli->out, "%s: names of nodes, users and jobs are in it, tokens and secrets are not\n", path);
    return CLI_EXIT_OK;
}
