/* hpctl node … and hpctl inject …: look at nodes, act on them, and ask why. */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/status.h"

#include <unistd.h>

int cli_node_path(struct cli *cli, const char *node, const char *suffix, char **ret_path)
{
    autofree char *cluster = NULL, *instance = NULL;
    int rc = CLI_EXIT_OK, target = cli_node_target(node, &cluster, &instance);
    if (target == STATUS_INVALID)
        return cli_usage(cli, "a target is sagemaker-cluster:CLUSTER-ID_GROUP-INSTANCE-ID, not \"%s\"", node);
    if (target != 0)
        rc = cli_cluster_name(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *c = cli_encode(cluster), *n = cli_encode(instance != NULL ? instance : node);
    *ret_path = own_printf("/v1/clusters/%s/nodes/%s%s", c, n, suffix);
    return CLI_EXIT_OK;
}

int cli_parse_limit(struct cli *cli, int64_t without, int64_t *ret_limit)
{
    *ret_limit = without;
    const char *text = cli->option[CLI_OPTION_LIMIT];
    if (text != NULL && text_parse_i64(text, 0, 10000000, ret_limit) != 0)
        return cli_usage(cli, "--limit is a number from 0 (all) to 10000000, not \"%s\"", text);
    return CLI_EXIT_OK;
}

int cli_parse_lines(struct cli *cli, int64_t max, int64_t *ret_lines)
{
    const char *text = cli->option[CLI_OPTION_LINES];
    *ret_lines = JOB_LOG_LINES;
    if (text != NULL && text_parse_i64(text, 1, max, ret_lines) != 0)
        return cli_usage(cli, "--lines is a number from 1 to %lld, not \"%s\"", (long long)max, text);
    return CLI_EXIT_OK;
}

/* That nothing is done to it by itself is seen before all else. */
static void put_opted_out(json_t *node)
{
    if (!json_is_true(json_object_get(node, "optedOut")))
        return;
    const char *reason = json_string_value(json_object_get(node, "reason"));
    autofree char *why = own_printf("opted out%s%s", reason != NULL ? "; " : "", reason != NULL ? reason : "");
    json_put_text(node, "reason", why);
}

int cli_node_list(struct cli *cli)
{
    static const struct cli_column columns[] = {
        {"NODE", "name"},         {"GROUP", "group"},         {"STATE", "state"}, {"HEALTH", "health"},
        {"SINCE", "~stateSince"}, {"INSTANCE", "instanceId"}, {"WHY", "reason"}};
    autofree char *cluster = NULL;
    int64_t limit;
    int rc = cli_parse_limit(cli, 0, &limit);
    if (rc == CLI_EXIT_OK)
        rc = cli_cluster_name(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *encoded = cli_encode(cluster);
    struct text path AUTO(text) = {0};
    text_printf(&path, "/v1/clusters/%s/nodes", encoded);
    cli_add_query(&path, "group", cli->option[CLI_OPTION_GROUP]);
    cli_add_query(&path, "state", cli->option[CLI_OPTION_STATE]);
    cli_add_query(&path, "health", cli->option[CLI_OPTION_HEALTH]);
    auto_json json_t *items = NULL;
    rc = cli_ask_list(cli, text_get(&path), limit, &items);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, items))
        return rc;
    size_t i;
    json_t *node;
    json_array_foreach(items, i, node) put_opted_out(node);
    cli_print_table(cli->out, items, columns, ARRAY_LEN(columns), "no such nodes");
    return rc;
}

static void print_node(FILE *f, const json_t *node)
{
    static const struct {
        const char *title, *path;
    } fields[] = {{"Node", "name"},
                  {"Cluster", "cluster"},
                  {"Group", "group"},
                  {"Zone", "zone"},
                  {"Rack", "rack"},
                  {"Power domain", "powerDomain"},
                  {"Switch", "switch"},
                  {"Chassis", "chassis"},
                  {"UltraServer", "ultraserver"},
                  {"State", "state"},
                  {"In it for", "~stateSince"},
                  {"Why", "reason"},
                  {"Health", "health"},
                  {"Opted out", "optedOut"},
                  {"Looked at again", "retryAt"},
                  {"Instance", "instanceId"},
                  {"Provider's id", "providerRef"},
                  {"Instance state", "instanceState"},
                  {"Address", "address"},
                  {"Boot id", "bootId"},
                  {"Booted", "bootAt"},
                  {"Last heartbeat", "live.lastHeartbeatAt"},
                  {"Agent silent", "live.silent"},
                  {"Clock skew (ms)", "live.clockSkewMs"},
                  {"Lemon score", "lemon.score"},
                  {"… of its slot", "lemon.slotScore"},
                  {"Open verdicts", "openVerdicts"},
                  {"Last decision", "lastDecision.action"},
                  {"By rule", "lastDecision.rule"},
                  {"Because", "lastDecision.sentence"}};
    char buffer[600];
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        cli_print_field(f, fields[i].title,
                        fields[i].path[0] == '~' ? cli_age(node, fields[i].path + 1, buffer, sizeof(buffer))
                                                 : cli_value(node, fields[i].path, buffer, sizeof(buffer)));
}

static void print_labels(FILE *f, const json_t *node)
{
    autofree char *wanted = cli_labels(json_object_get(node, "kubernetesConfig"));
    autofree char *carried = cli_labels(json_object_get(node, "currentKubernetesConfig"));
    cli_print_field(f, "Labels wanted", wanted);
    cli_print_field(f, "Labels carried", carried);
}

/* What its agent goes by where anything is said of it, and which of its checks could not find out. */
static void print_agent(FILE *f, const json_t *node)
{
    static const struct cli_column settings[] = {{"SETTING", "name"}, {"VALUE", "value"}, {"FROM", "source"}};
    static const struct cli_column checks[] = {{"CHECK", "name"}, {"SINCE", "~since"}, {"WHY", "why"}};
    const json_t *agent = json_object_get(node, "agentSettings"), *unknown = json_object_get(node, "unknownChecks");
    char buffer[600];
    if (agent != NULL) {
        fputs("\nAgent settings\n", f);
        cli_print_field(f, "Revision in force", cli_value(agent, "revision", buffer, sizeof(buffer)));
        cli_print_field(f, "Revision of the group", cli_value(agent, "groupRevision", buffer, sizeof(buffer)));
        cli_print_field(f, "Refused", cli_value(agent, "refused", buffer, sizeof(buffer)));
        cli_print_field(f, "Its file refused", cli_value(agent, "fileRefused", buffer, sizeof(buffer)));
        cli_print_table(f, json_object_get(agent, "settings"), settings, ARRAY_LEN(settings), "all is as built in");
    }
    if (unknown != NULL) {
        fputs("\nChecks that could not find out\n", f);
        cli_print_table(f, unknown, checks, ARRAY_LEN(checks), "");
    }
}

int cli_node_describe(struct cli *cli)
{
    autofree char *path = NULL;
    auto_json json_t *node = NULL;
    int rc = cli_node_path(cli, cli->argument[0], "", &path);
    if (rc == CLI_EXIT_OK)
        rc = cli_ask(cli, "GET", path, NULL, NULL, &node);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, node))
        return rc;
    print_node(cli->out, node);
    print_labels(cli->out, node);
    print_agent(cli->out, node);
    const json_t *active = json_object_get(node, "activeOperation");
    if (active != NULL) {
        fputs("\nActive operation\n", cli->out);
        cli_print_operation(cli->out, active);
    }
    fprintf(cli->out, "\nhpctl node explain %s tells why.\n", cli->argument[0]);
    return CLI_EXIT_OK;
}

int cli_node_hardware(struct cli *cli)
{
    static const struct cli_column pieces[] = {{"KIND", "kind"},    {"WHERE", "location"}, {"IDENTITY", "identity"},
                                               {"BOARD", "serial"}, {"THERE", "present"},  {"SEEN FOR", "~firstSeenAt"},
                                               {"DETAIL", "detail"}};
    static const struct cli_column checks[] = {
        {"CHECK", "name"}, {"RESULT", "result"}, {"SINCE", "~since"}, {"WHY", "why"}};
    autofree char *path = NULL;
    auto_json json_t *machine = NULL;
    int rc = cli_node_path(cli, cli->argument[0], "/hardware", &path);
    if (rc == CLI_EXIT_OK)
        rc = cli_ask(cli, "GET", path, NULL, NULL, &machine);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, machine))
        return rc;
    cli_print_table(cli->out, json_object_get(machine, "hardware"), pieces, ARRAY_LEN(pieces),
                    "the agent has told of no hardware yet");
    fputc('\n', cli->out);
    cli_print_table(cli->out, json_object_get(machine, "checks"), checks, ARRAY_LEN(checks),
                    "the agent has told of no checks yet");
    return rc;
}

/* Nobody told of: nothing, which ssh takes for nobody known. */
int cli_node_known_hosts(struct cli *cli)
{
    size_t i;
    const json_t *key;
    char address[128];
    autofree char *cluster = NULL;
    auto_json json_t *items = NULL;
    int rc = cli_cluster_name(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *encoded = cli_encode(cluster);
    struct text path AUTO(text) = {0};
    text_printf(&path, "/v1/clusters/%s/host-keys", encoded);
    cli_add_query(&path, "node", cli->argument_count > 0 ? cli->argument[0] : NULL);
    rc = cli_ask_list(cli, text_get(&path), 0, &items);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, items))
        return rc;
    json_array_foreach(items, i, key)
    {
        struct text line AUTO(text) = {0};
        text_printf(&line, "%s", json_string_value(json_object_get(key, "node")));
        const char *shown = cli_value(key, "address", address, sizeof(address));
        text_printf(&line, "%s%s %s %s", *shown != '\0' ? "," : "", shown,
                    json_string_value(json_object_get(key, "type")), json_string_value(json_object_get(key, "key")));
        cli_print_harmless(cli->out, text_get(&line));
        fputc('\n', cli->out);
    }
    return CLI_EXIT_OK;
}

int cli_node_explain(struct cli *cli)
{
    autofree char *path = NULL;
    auto_json json_t *explanation = NULL;
    int rc = cli_node_path(cli, cli->argument[0], "/explanation", &path);
    if (rc == CLI_EXIT_OK)
        rc = cli_ask(cli, "GET", path, NULL, NULL, &explanation);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, explanation))
        return rc;
    const char *text = json_string_value(json_object_get(explanation, "text"));
    cli_print_harmless(cli->out, text != NULL ? text : "");
    if (text == NULL || !text_ends_with(text, "\n"))
        fputc('\n', cli->out);
    return CLI_EXIT_OK;
}

int cli_node_verdicts(struct cli *cli)
{
    static const struct cli_column columns[] = {
        {"LAST", "~lastAt"}, {"SEVERITY", "severity"},   {"STATE", "state"}, {"CODE", "code"},   {"DEVICE", "device"},
        {"COUNT", "count"},  {"INSTANCE", "instanceId"}, {"DATE", "+dueAt"}, {"LINE", "rawLine"}};
    autofree char *base = NULL;
    int64_t limit;
    int rc = cli_parse_limit(cli, CLI_LIMIT_DEFAULT, &limit);
    if (rc == CLI_EXIT_OK)
        rc = cli_node_path(cli, cli->argument[0], "/verdicts", &base);
    if (rc != CLI_EXIT_OK)
        return rc;
    struct text path AUTO(text) = {0};
    text_add(&path, base);
    cli_add_query(&path, "state", cli->option[CLI_OPTION_STATE]);
    auto_json json_t *items = NULL;
    rc = cli_ask_list(cli, text_get(&path), limit, &items);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, items))
        cli_print_table(cli->out, items, columns, ARRAY_LEN(columns), "nothing of note was reported");
    return rc;
}

/* Waits for what was begun, or says how to. */
static int follow(struct cli *cli, json_t *operation, const char *what, int64_t timeout_ms)
{
    char id[80];
    cli_value(operation, "id", id, sizeof(id));
    if (cli->option[CLI_OPTION_WAIT] != NULL)
        return cli_wait_operation(cli, id, timeout_ms);
    if (!cli_print_data(cli, operation))
        fprintf(cli->out, "operation %s: %s of %s; follow it with: hpctl operation wait %s\n", id, what,
                cli->argument[0], id);
    return CLI_EXIT_OK;
}

static int operate(struct cli *cli, const char *verb)
{
    autofree char *suffix = own_printf("/%s", verb), *path = NULL;
    int64_t timeout_ms;
    int rc = cli_parse_timeout(cli, &timeout_ms);
    if (rc == CLI_EXIT_OK)
        rc = cli_node_path(cli, cli->argument[0], suffix, &path);
    if (rc != CLI_EXIT_OK)
        return rc;
    auto_json json_t *body = json_object();
    json_put_text(body, "reason", cli->option[CLI_OPTION_REASON]);
    if (cli->option[CLI_OPTION_NOW] != NULL)
        json_put_text(body, "urgency", "now");
    autofree char *key =
        own_printf("Idempotency-Key: %s", cli->option[CLI_OPTION_KEY] != NULL ? cli->option[CLI_OPTION_KEY] : "");
    const char *headers[] = {cli->option[CLI_OPTION_KEY] != NULL ? key : NULL, NULL};
    auto_json json_t *operation = NULL;
    rc = cli_ask(cli, "POST", path, body, headers, &operation);
    if (rc != CLI_EXIT_OK)
        return rc;
    return follow(cli, operation, verb, timeout_ms);
}

int cli_node_reboot(struct cli *cli)
{
    return operate(cli, "reboot");
}

int cli_node_replace(struct cli *cli)
{
    return operate(cli, "replace");
}

int cli_node_release(struct cli *cli)
{
    return operate(cli, "release");
}

/* A reporter reads nothing, the list of clusters neither. */
static int say_cluster(const struct cli *cli, int rc)
{
    if (rc == CLI_EXIT_AUTH)
        fprintf(cli->err, "hpctl: name the cluster with --cluster: without it, hpctl reads the list of clusters\n");
    return rc;
}

/* A document about many nodes, as epilogs and training jobs write it. */
static int report_many(struct cli *cli)
{
    static const struct cli_column left_out[] = {{"REFUSED", "node"}, {"WHY", "detail"}};
    autofree char *cluster = NULL;
    auto_json json_t *body = NULL, *reply = NULL;
    int rc = cli_read_file(cli, "node report", "reports of nodes", "reports or stepTimes", &body);
    if (rc == CLI_EXIT_OK)
        rc = cli_cluster_name(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return say_cluster(cli, rc);
    autofree char *name = cli_encode(cluster), *path = own_printf("/v1/clusters/%s/reports", name);
    rc = cli_ask(cli, "POST", path, body, NULL, &reply);
    if (rc != CLI_EXIT_OK)
        return rc;
    const json_t *taken = json_object_get(reply, "taken"), *refused = json_object_get(reply, "refused");
    if (!cli_print_data(cli, reply)) {
        fprintf(cli->out, "%zu %s taken\n", json_array_size(taken), json_array_size(taken) == 1 ? "report" : "reports");
        if (json_array_size(refused) > 0)
            cli_print_table(cli->out, refused, left_out, ARRAY_LEN(left_out), "");
    }
    return json_array_size(refused) > 0 ? CLI_EXIT_REFUSED : CLI_EXIT_OK;
}

int cli_node_report(struct cli *cli)
{
    const char *hours = cli->option[CLI_OPTION_HOURS], *given = cli->option[CLI_OPTION_KEY];
    autofree char *path = NULL, *key = own_printf("Idempotency-Key: %s", given != NULL ? given : "");
    int64_t count = 0;
    if (cli->option[CLI_OPTION_FILE] != NULL) {
        bool more = cli->argument_count > 0 || given != NULL || hours != NULL;
        more = more || cli->option[CLI_OPTION_DEVICE] != NULL || cli->option[CLI_OPTION_USER] != NULL ||
               cli->option[CLI_OPTION_JOB] != NULL;
        return more
                   ? cli_usage(cli, "-f FILE takes no NODE, --device, --user, --job, --hours or --idempotency-key: the "
                                    "file has them")
                   : report_many(cli);
    }
    if (cli->argument_count != 3)
        return cli_usage(cli, "node report takes NODE KIND TEXT, or -f FILE for many");
    if (hours != NULL && text_parse_i64(hours, 1, INT64_C(2160), &count) != 0)
        return cli_usage(cli, "--hours is a number from 1 to 2160, not \"%s\"", hours);
    int rc = cli_node_path(cli, cli->argument[0], "/reports", &path);
    if (rc != CLI_EXIT_OK)
        return say_cluster(cli, rc);
    auto_json json_t *body = json_object();
    json_put_text(body, "kind", cli->argument[1]);
    json_put_text(body, "text", cli->argument[2]);
    json_put_text(body, "device", cli->option[CLI_OPTION_DEVICE]);
    json_put_text(body, "user", cli->option[CLI_OPTION_USER]);
    json_put_text(body, "job", cli->option[CLI_OPTION_JOB]);
    if (count > 0)
        json_put_i64(body, "hours", count);
    const char *headers[] = {given != NULL ? key : NULL, NULL};
    auto_json json_t *verdict = NULL;
    rc = cli_ask(cli, "POST", path, body, headers, &verdict);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, verdict))
        fprintf(cli->out, "reported; what follows: hpctl node explain %s\n", cli->argument[0]);
    return rc;
}

int cli_node_add(struct cli *cli)
{
    const char *group = cli->option[CLI_OPTION_GROUP], *given = cli->option[CLI_OPTION_COUNT];
    autofree char *cluster = NULL;
    int64_t count = 1, timeout_ms;
    if (group == NULL)
        return cli_usage(cli, "node add needs --group NAME");
    if (given != NULL && text_parse_i64(given, 1, 50, &count) != 0)
        return cli_usage(cli, "--count is a number from 1 to 50, not \"%s\"", given);
    int rc = cli_parse_timeout(cli, &timeout_ms);
    if (rc == CLI_EXIT_OK)
        rc = cli_cluster_name(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *encoded = cli_encode(cluster), *path = own_printf("/v1/clusters/%s/nodes", encoded);
    autofree char *key =
        own_printf("Idempotency-Key: %s", cli->option[CLI_OPTION_KEY] != NULL ? cli->option[CLI_OPTION_KEY] : "");
    const char *headers[] = {cli->option[CLI_OPTION_KEY] != NULL ? key : NULL, NULL};
    auto_json json_t *reply = NULL;
    auto_json json_t *body = json_pack("{s:[{s:s, s:I}]}", "nodesToAdd", "group", group, "count", (json_int_t)count);
    rc = cli_ask(cli, "POST", path, body, headers, &reply);
    if (rc != CLI_EXIT_OK)
        return rc;
    const json_t *refused = json_array_get(json_object_get(reply, "refused"), 0);
    if (refused != NULL) {
        char why[600];
        fprintf(cli->err, "hpctl: %s\n", cli_value(refused, "detail", why, sizeof(why)));
        return text_equal(json_string_value(json_object_get(refused, "code")), "instance-group-not-found")
                   ? CLI_EXIT_NOT_FOUND
                   : CLI_EXIT_REFUSED;
    }
    static const struct cli_column columns[] = {
        {"NODE", "name"}, {"GROUP", "group"}, {"ZONE", "zone"}, {"STATE", "state"}};
    if (cli->format == CLI_FORMAT_TABLE)
        cli_print_table(cli->out, json_object_get(reply, "nodes"), columns, ARRAY_LEN(columns), "none");
    return cli_follow_change(cli, reply, "they are on their way", timeout_ms);
}

int cli_node_remove(struct cli *cli)
{
    autofree char *path = NULL;
    int64_t timeout_ms;
    int rc = cli_parse_timeout(cli, &timeout_ms);
    if (rc == CLI_EXIT_OK && cli->option[CLI_OPTION_YES] == NULL) {
        autofree char *question =
            own_printf("This ends the instance of %s for good. Type its name to go on: ", cli->argument[0]);
        if (!isatty(STDIN_FILENO))
            return cli_usage(cli, "node remove asks first; add --yes in scripts");
        if (!cli_confirm(cli, question, cli->argument[0]))
            return cli_usage(cli, "nothing was removed");
    }
    if (rc == CLI_EXIT_OK)
        rc = cli_node_path(cli, cli->argument[0], "", &path);
    if (rc != CLI_EXIT_OK)
        return rc;
    struct text full AUTO(text) = {0};
    text_add(&full, path);
    cli_add_query(&full, "urgency", cli->option[CLI_OPTION_NOW] != NULL ? "now" : "after-jobs");
    cli_add_query(&full, "reason", cli->option[CLI_OPTION_REASON]);
    auto_json json_t *operation = NULL;
    rc = cli_ask(cli, "DELETE", text_get(&full), NULL, NULL, &operation);
    if (rc != CLI_EXIT_OK)
        return rc;
    return follow(cli, operation, "removal", timeout_ms);
}

static int opt(struct cli *cli, bool out)
{
    autofree char *path = NULL;
    auto_json json_t *node = NULL, *body = json_pack("{s:b}", "optedOut", (int)out);
    int rc = cli_node_path(cli, cli->argument[0], "", &path);
    if (rc == CLI_EXIT_OK)
        rc = cli_ask(cli, "PATCH", path, body, NULL, &node);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, node))
        fprintf(cli->out, "%s is %s\n", cli->argument[0],
                out ? "opted out: no automatic decision touches it" : "in automatic care again");
    return rc;
}

int cli_node_opt_out(struct cli *cli)
{
    return opt(cli, true);
}

int cli_node_opt_in(struct cli *cli)
{
    return opt(cli, false);
}

int cli_inject_xid(struct cli *cli)
{
    int64_t code;
    if (text_parse_i64(cli->argument[0], 1, 999, &code) != 0)
        return cli_usage(cli, "an Xid is a number from 1 to 999 such as 79, not \"%s\"", cli->argument[0]);
    if (cli->option[CLI_OPTION_NODE] == NULL)
        return cli_usage(cli, "inject xid needs --node NAME");
    autofree char *path = NULL;
    int rc = cli_node_path(cli, cli->option[CLI_OPTION_NODE], "/inject", &path);
    if (rc != CLI_EXIT_OK)
        return rc;
    auto_json json_t *body = json_pack("{s:I}", "xid", (json_int_t)code), *reply = NULL;
    json_put_text(body, "pci", cli->option[CLI_OPTION_PCI]);
    rc = cli_ask(cli, "POST", path, body, NULL, &reply);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, reply))
        return rc;
    char line[600];
    fprintf(cli->out,
            "the agent of %s, if it was started with --allow-inject, writes this into its kernel log at its next "
            "heartbeat:\n  %s\n",
            cli->option[CLI_OPTION_NODE], cli_value(reply, "line", line, sizeof(line)));
    return CLI_EXIT_OK;
}
