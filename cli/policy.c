/* hpctl policy …: the numbers that hpd decides by, and the document that says them. */
#include "cli/cli.h"

#include "base/clock.h"

#include <inttypes.h>
#include <string.h>

/* The settings of all policies as one list. */
static json_t *flatten(const json_t *policies)
{
    size_t i;
    const json_t *policy;
    json_t *all = json_array();
    json_array_foreach(json_object_get(policies, "items"), i, policy)
        json_array_extend(all, json_object_get(policy, "settings"));
    return all;
}

static char *path_of(struct cli *cli, const char *cluster)
{
    const char *group = cli->option[CLI_OPTION_GROUP];
    if (cluster == NULL)
        return own_strdup("/v1/policies");
    autofree char *encoded = cli_encode(cluster), *encoded_group = cli_encode(group != NULL ? group : "");
    return group != NULL ? own_printf("/v1/clusters/%s/groups/%s/policies", encoded, encoded_group)
                         : own_printf("/v1/clusters/%s/policies", encoded);
}

int cli_policy_show(struct cli *cli)
{
    static const struct cli_column columns[] = {
        {"SETTING", "name"}, {"VALUE", "value"}, {"DEFAULT", "default"}, {"FROM", "source"}, {"WHAT", "description"}};
    autofree char *cluster = own_strdup(cli->option[CLI_OPTION_CLUSTER]);
    int rc = cluster == NULL && cli->option[CLI_OPTION_GROUP] != NULL ? cli_cluster_name(cli, &cluster) : CLI_EXIT_OK;
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *path = path_of(cli, cluster);
    auto_json json_t *policies = NULL;
    rc = cli_ask(cli, "GET", path, NULL, NULL, &policies);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, policies))
        return rc;
    char version[80];
    auto_json json_t *all = flatten(policies);
    cli_print_field(cli->out, "Fault tables", cli_value(policies, "faultTableVersion", version, sizeof(version)));
    cli_print_field(cli->out, "Document",
                    json_integer_value(json_object_get(policies, "policyVersion")) > 0
                        ? cli_value(policies, "policyVersion", version, sizeof(version))
                        : "none");
    fputc('\n', cli->out);
    cli_print_table(cli->out, all, columns, ARRAY_LEN(columns), "no settings");
    if (cli->option[CLI_OPTION_GROUP] == NULL && json_integer_value(json_object_get(policies, "policyVersion")) > 0)
        fputs(
            "\nThe document may say otherwise of some groups: --group NAME shows one, hpctl policy export all of it.\n",
            cli->out);
    return CLI_EXIT_OK;
}

/* --- the document ------------------------------------------------------------------------------------------------ */

int cli_policy_export(struct cli *cli)
{
    autofree char *number = cli_encode(cli->argument_count > 0 ? cli->argument[0] : "");
    autofree char *path =
        cli->argument_count > 0 ? own_printf("/v1/policy/versions/%s", number) : own_strdup("/v1/policy");
    auto_json json_t *version = NULL;
    int rc = cli_ask(cli, "GET", path, NULL, NULL, &version);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, version))
        return rc;
    const char *text = json_string_value(json_object_get(version, "document"));
    if (text != NULL)
        cli_print_harmless(cli->out, text);
    else
        fputs("# There is no policy document. A first one:\nversion: 1\n", cli->out);
    return CLI_EXIT_OK;
}

/* The file as the body of a request. */
static int read_document(struct cli *cli, const char *path, json_t **ret_body)
{
    autofree char *text = NULL;
    size_t len = 0;
    int rc = cli_read_input(cli, path, &text, &len);
    if (rc != CLI_EXIT_OK)
        return rc;
    json_t *document = strlen(text) == len ? json_stringn(text, len) : NULL;
    if (document == NULL)
        return cli_usage(cli, "%s is no text in UTF-8", path);
    *ret_body = json_pack("{s:o}", "document", document);
    return CLI_EXIT_OK;
}

/* -o json and yaml have them in the answer. */
static void print_warnings(struct cli *cli, const json_t *reply)
{
    size_t i;
    const json_t *warning;
    json_array_foreach(json_object_get(reply, "warnings"), i, warning)
        cli_say(cli->err, "hpctl: warning: %s\n", json_string_value(warning));
}

int cli_policy_validate(struct cli *cli)
{
    auto_json json_t *body = NULL, *reply = NULL;
    const char *file = cli->argument_count > 0 ? cli->argument[0] : cli->option[CLI_OPTION_FILE];
    if (cli->argument_count > 0 && cli->option[CLI_OPTION_FILE] != NULL)
        return cli_usage(cli, "policy validate takes one file: %s, or -f %s", file, cli->option[CLI_OPTION_FILE]);
    if (file == NULL)
        return cli_usage(cli, "policy validate needs -f FILE: a policy document in YAML");
    int rc = read_document(cli, file, &body);
    if (rc == CLI_EXIT_OK)
        rc = cli_ask(cli, "POST", "/v1/policy/validate", body, NULL, &reply);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, reply)) {
        fprintf(cli->out, "%s is a policy that would be taken\n", file);
        print_warnings(cli, reply);
    }
    return rc;
}

/* Of a change nobody sees that somebody else's came between: it is refused unless the version read before still counts. */
static int expect(struct cli *cli, json_t *body)
{
    const char *said = cli->option[CLI_OPTION_AT_VERSION];
    int64_t expected = 0;
    auto_json json_t *newest = NULL;
    if (said != NULL && text_parse_i64(said, 0, INT64_MAX, &expected) != 0)
        return cli_usage(cli, "--at-version takes the number of a version");
    int rc = said != NULL ? CLI_EXIT_OK : cli_ask(cli, "GET", "/v1/policy", NULL, NULL, &newest);
    if (rc != CLI_EXIT_OK)
        return rc;
    if (said == NULL)
        expected = json_integer_value(json_object_get(newest, "version"));
    json_put_i64(body, "expectedVersion", expected);
    json_put_text(body, "comment", cli->option[CLI_OPTION_REASON]);
    return CLI_EXIT_OK;
}

static int change(struct cli *cli, const char *method, const char *path, json_t *body)
{
    auto_json json_t *version = NULL;
    int rc = expect(cli, body);
    if (rc == CLI_EXIT_OK)
        rc = cli_ask(cli, method, path, body, NULL, &version);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, version)) {
        fprintf(cli->out, "version %" PRId64 " of the policy is in force\n",
                (int64_t)json_integer_value(json_object_get(version, "version")));
        print_warnings(cli, version);
    }
    return rc;
}

int cli_policy_apply(struct cli *cli)
{
    const char *file = cli->option[CLI_OPTION_FILE];
    auto_json json_t *body = NULL;
    if (file == NULL)
        return cli_usage(cli, "policy apply needs -f FILE: a policy document in YAML");
    int rc = read_document(cli, file, &body);
    return rc != CLI_EXIT_OK ? rc : change(cli, "PUT", "/v1/policy", body);
}

int cli_policy_history(struct cli *cli)
{
    static const struct cli_column columns[] = {{"VERSION", "version"},   {"AGE", "~createdAt"}, {"BY", "author"},
                                                {"RESTORES", "restores"}, {"SHA-256", "_sha"},   {"WHY", "comment"}};
    int64_t limit;
    size_t i;
    json_t *version;
    auto_json json_t *items = NULL;
    int rc = cli_parse_limit(cli, CLI_LIMIT_DEFAULT, &limit);
    if (rc == CLI_EXIT_OK)
        rc = cli_ask_list(cli, "/v1/policy/versions", limit, &items);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, items))
        return rc;
    json_array_foreach(items, i, version)
    {
        char sha[13];
        const char *whole = json_string_value(json_object_get(version, "sha256"));
        text_copy_cut(sha, sizeof(sha), whole != NULL ? whole : "");
        json_put_text(version, "_sha", sha);
    }
    cli_print_table(cli->out, items, columns, ARRAY_LEN(columns), "no versions");
    return rc;
}

int cli_policy_rollback(struct cli *cli)
{
    int64_t version;
    if (text_parse_i64(cli->argument[0], 1, INT64_MAX, &version) != 0)
        return cli_usage(cli, "policy rollback takes the number of a version; hpctl policy history lists them");
    auto_json json_t *body = json_pack("{s:I}", "version", (json_int_t)version);
    return change(cli, "POST", "/v1/policy/rollback", body);
}

/* --- what another document would have led to ------------------------------------------------------------------- */

static const char *const diff_counts[] = {"nodes", "decisions", "same", "different", "unknown", "left"};

/* All parts as one. */
static int ask_diff(struct cli *cli, const char *path, json_t *body, json_t **ret_whole)
{
    auto_json json_t *whole = json_pack("{s:[]}", "items");
    for (bool more = true; more;) {
        auto_json json_t *part = NULL;
        int rc = cli_ask(cli, "POST", path, body, NULL, &part);
        if (rc != CLI_EXIT_OK)
            return rc;
        json_array_extend(json_object_get(whole, "items"), json_object_get(part, "items"));
        for (size_t i = 0; i < ARRAY_LEN(diff_counts); i++)
            json_put_i64(whole, diff_counts[i],
                         json_integer_value(json_object_get(whole, diff_counts[i])) +
                             json_integer_value(json_object_get(part, diff_counts[i])));
        const char *next = json_string_value(json_object_get(part, "next"));
        more = next != NULL;
        json_put_text(body, "after", next);
    }
    *ret_whole = TAKE(whole);
    return CLI_EXIT_OK;
}

static int64_t count_of(const json_t *whole, const char *name)
{
    return json_integer_value(json_object_get(whole, name));
}

static void print_diff(struct cli *cli, const json_t *whole)
{
    static const struct cli_column columns[] = {
        {"NODE", "node"},        {"AT", "at"},        {"CODE", "code"},          {"DEVICE", "device"},
        {"THEN", "then.action"}, {"BY", "then.rule"}, {"OTHER", "other.action"}, {"BY", "other.rule"}};
    cli_print_table(cli->out, json_object_get(whole, "items"), columns, ARRAY_LEN(columns),
                    "no decision would have been another");
    fprintf(cli->out,
            "\n%" PRId64 " of %" PRId64 " decisions about %" PRId64 " node%s would have been others, %" PRId64
            " the same.\n",
            count_of(whole, "different"), count_of(whole, "decisions"), count_of(whole, "nodes"),
            text_plural(count_of(whole, "nodes")), count_of(whole, "same"));
    if (count_of(whole, "unknown") > 0)
        fprintf(cli->out, "Of %" PRId64 " nothing can be said: what is stored does not lead to them again.\n",
                count_of(whole, "unknown"));
    if (count_of(whole, "left") > 0)
        fprintf(cli->out, "Of %" PRId64 " nodes only the newest hundred were looked at.\n", count_of(whole, "left"));
    fputs("Each was looked at for itself: what would have followed from another decision cannot be known.\n", cli->out);
}

int cli_policy_diff(struct cli *cli)
{
    const char *file = cli->option[CLI_OPTION_FILE], *since = cli->option[CLI_OPTION_SINCE];
    autofree char *cluster = NULL;
    auto_json json_t *body = NULL, *whole = NULL;
    char time[CLOCK_TEXT_MAX];
    int64_t ms;
    if (file == NULL)
        return cli_usage(cli, "policy diff needs -f FILE: a policy document in YAML");
    if (since == NULL)
        since = "30d";
    if (clock_parse_duration(since, &ms) == 0)
        ms = clock_wall_ms(clock_system()) - ms;
    else if (clock_parse(since, &ms) != 0)
        return cli_usage(cli, "--since is a time such as 2026-11-20T15:00:00Z or a duration such as 30d, not \"%s\"",
                         since);
    int rc = cli_cluster_name(cli, &cluster);
    if (rc == CLI_EXIT_OK)
        rc = read_document(cli, file, &body);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *encoded = cli_encode(cluster), *path = own_printf("/v1/clusters/%s/policies/diff", encoded);
    json_put_text(body, "since", clock_format(ms, time));
    rc = ask_diff(cli, path, body, &whole);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, whole))
        print_diff(cli, whole);
    return rc;
}
