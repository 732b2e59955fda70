/* hpctl check …: deep health checks, which have the ids of their operations. */
#include "cli/cli.h"

#include "base/clock.h"

#include <string.h>

#define NODES_MAX 500

/* --- start ----------------------------------------------------------------------------------------------- */

static int put_nodes(struct cli *cli, json_t *body)
{
    char **names = NULL;
    size_t count = 0;
    const char *given = cli->option[CLI_OPTION_NODES];
    if (given == NULL)
        return CLI_EXIT_OK;
    if (text_hostlist_expand(given, NODES_MAX, &names, &count) != 0)
        return cli_usage(cli, "--nodes is a list of at most %d names such as gpu-[1-4],gpu-7, not \"%s\"", NODES_MAX,
                         given);
    json_t *nodes = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(nodes, json_string(names[i]));
    text_list_free(names, count);
    json_put(body, "nodes", nodes);
    return CLI_EXIT_OK;
}

static int make_body(struct cli *cli, json_t *body)
{
    const char *check = cli->option[CLI_OPTION_CHECK];
    if (cli->option[CLI_OPTION_GROUP] == NULL && cli->option[CLI_OPTION_NODES] == NULL)
        return cli_usage(cli, "check start needs --group NAME or --nodes NODES");
    if (cli->option[CLI_OPTION_QUICK] != NULL && cli->option[CLI_OPTION_DEEP] != NULL)
        return cli_usage(cli, "--quick and --deep exclude each other");
    if (check != NULL && !text_equal(check, "stress") && !text_equal(check, "connectivity"))
        return cli_usage(cli, "--check is stress or connectivity, not \"%s\"", check);
    json_put_text(body, "group", cli->option[CLI_OPTION_GROUP]);
    json_put_text(body, "profile", cli->option[CLI_OPTION_DEEP] != NULL ? "deep" : "quick");
    json_put(body, "force", json_boolean(cli->option[CLI_OPTION_FORCE] != NULL));
    if (check != NULL)
        json_put(body, "checks",
                 json_pack("[s]", text_equal(check, "stress") ? "instance-stress" : "instance-connectivity"));
    return put_nodes(cli, body);
}

static int wait_all(struct cli *cli, const json_t *checks, int64_t timeout_ms)
{
    size_t i;
    const json_t *check;
    int rc = CLI_EXIT_OK;
    json_array_foreach(checks, i, check)
    {
        int one = cli_wait_operation(cli, json_string_value(json_object_get(check, "id")), timeout_ms);
        rc = rc == CLI_EXIT_OK ? one : rc;
    }
    return rc;
}

int cli_check_start(struct cli *cli)
{
    static const struct cli_column started[] = {{"CHECK", "id"}, {"NODE", "node"}};
    static const struct cli_column refused[] = {{"NOT CHECKED", "node"}, {"WHY", "detail"}};
    autofree char *cluster = NULL;
    int64_t timeout_ms = 0;
    auto_json json_t *body = json_object(), *reply = NULL;
    int rc = make_body(cli, body);
    if (rc == CLI_EXIT_OK)
        rc = cli_parse_timeout(cli, &timeout_ms);
    if (rc == CLI_EXIT_OK)
        rc = cli_cluster_name(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *encoded = cli_encode(cluster), *path = own_printf("/v1/clusters/%s/checks", encoded);
    rc = cli_ask(cli, "POST", path, body, NULL, &reply);
    if (rc != CLI_EXIT_OK)
        return rc;
    const json_t *checks = json_object_get(reply, "checks"), *left = json_object_get(reply, "refused");
    if (!cli_print_data(cli, reply)) {
        cli_print_table(cli->out, checks, started, ARRAY_LEN(started), "no node is checked");
        if (json_array_size(left) > 0)
            cli_print_table(cli->out, left, refused, ARRAY_LEN(refused), "");
    }
    if (json_array_size(checks) == 0)
        return CLI_EXIT_CONFLICT;
    return cli->option[CLI_OPTION_WAIT] != NULL ? wait_all(cli, checks, timeout_ms) : CLI_EXIT_OK;
}

/* --- list and describe ----------------------------------------------------------------------------------- */

int cli_check_list(struct cli *cli)
{
    static const struct cli_column columns[] = {{"ID", "id"},           {"CLUSTER", "cluster"}, {"NODE", "node"},
                                                {"PROFILE", "profile"}, {"STATE", "state"},     {"PASSED", "passed"},
                                                {"FAILED", "failed"},   {"SKIPPED", "skipped"}, {"AGE", "~createdAt"},
                                                {"WHY", "detail"}};
    int64_t limit;
    autofree char *cluster = NULL;
    int rc = cli_parse_limit(cli, CLI_LIMIT_DEFAULT, &limit);
    if (rc == CLI_EXIT_OK && cli->option[CLI_OPTION_NODE] != NULL)
        rc = cli_cluster_name(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    struct text path AUTO(text) = {0};
    text_add(&path, "/v1/checks");
    cli_add_query(&path, "cluster", cluster != NULL ? cluster : cli->option[CLI_OPTION_CLUSTER]);
    cli_add_query(&path, "node", cli->option[CLI_OPTION_NODE]);
    auto_json json_t *items = NULL;
    rc = cli_ask_list(cli, text_get(&path), limit, &items);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, items))
        cli_print_table(cli->out, items, columns, ARRAY_LEN(columns), "no deep health checks");
    return rc;
}

static int ask_one(struct cli *cli, const char *suffix, json_t **ret_json)
{
    autofree char *id = cli_encode(cli->argument[0]), *path = own_printf("/v1/checks/%s%s", id, suffix);
    return cli_ask(cli, "GET", path, NULL, NULL, ret_json);
}

static void print_measures(FILE *f, const json_t *tests)
{
    static const struct cli_column columns[] = {
        {"TEST", "test"}, {"MEASURED", "name"}, {"VALUE", "value"}, {"LIMIT", "limit"}, {"", "mark"}};
    size_t i, k;
    const json_t *test;
    json_t *measure;
    auto_json json_t *all = json_array();
    json_array_foreach(tests, i, test) json_array_foreach(json_object_get(test, "measures"), k, measure)
    {
        json_object_set(measure, "test", json_object_get(test, "name"));
        json_array_append(all, measure);
    }
    if (json_array_size(all) == 0)
        return;
    fputc('\n', f);
    cli_print_table(f, all, columns, ARRAY_LEN(columns), "");
}

static void add_spans(const json_t *tests)
{
    size_t i;
    json_t *test;
    char span[CLOCK_TEXT_MAX];
    json_array_foreach(tests, i, test)
        json_put_text(test, "_took",
                      json_is_string(json_object_get(test, "startedAt"))
                          ? clock_format_duration(json_integer_value(json_object_get(test, "durationMs")), span)
                          : "");
}

static void print_check(FILE *f, const json_t *check)
{
    static const struct cli_column columns[] = {
        {"TEST", "name"}, {"CHECK", "check"}, {"STATE", "state"}, {"TOOK", "_took"}, {"WHY", "detail"}};
    static const struct {
        const char *title, *path;
    } fields[] = {{"Check", "id"},          {"Cluster", "cluster"},     {"Group", "group"},
                  {"Node", "node"},         {"Instance", "instanceId"}, {"Instance type", "instanceType"},
                  {"Profile", "profile"},   {"State", "state"},         {"Why", "detail"},
                  {"By", "actor"},          {"Tests", "total"},         {"Created", "createdAt"},
                  {"Started", "startedAt"}, {"Finished", "finishedAt"}};
    char buffer[600];
    const json_t *tests = json_object_get(check, "tests");
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        cli_print_field(f, fields[i].title, cli_value(check, fields[i].path, buffer, sizeof(buffer)));
    fputc('\n', f);
    add_spans(tests);
    cli_print_table(f, tests, columns, ARRAY_LEN(columns), "no test has begun");
    print_measures(f, tests);
}

int cli_check_describe(struct cli *cli)
{
    auto_json json_t *check = NULL;
    int rc = ask_one(cli, "", &check);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, check))
        print_check(cli->out, check);
    return rc;
}

/* --- logs ------------------------------------------------------------------------------------------------ */

int cli_check_logs(struct cli *cli)
{
    auto_json json_t *logs = NULL;
    int rc = ask_one(cli, "/logs", &logs);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, logs))
        cli_print_harmless(cli->out, json_string_value(json_object_get(logs, "log")));
    return rc;
}
