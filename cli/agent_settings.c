/* hpctl agent-settings …: what the agents of an instance group do otherwise than is built in. */
#include "cli/cli.h"

#include "model/agent_settings.h"

#include <inttypes.h>
#include <unistd.h>

static int path_of(struct cli *cli, char **ret_path)
{
    autofree char *cluster = NULL;
    const char *group = cli->option[CLI_OPTION_GROUP];
    if (group == NULL)
        return cli_usage(cli, "agent-settings are of an instance group: --group NAME");
    int rc = cli_cluster_name(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    autofree char *encoded = cli_encode(cluster), *encoded_group = cli_encode(group);
    *ret_path = own_printf("/v1/clusters/%s/groups/%s/agent-settings", encoded, encoded_group);
    return CLI_EXIT_OK;
}

int cli_agent_settings_show(struct cli *cli)
{
    autofree char *path = NULL;
    auto_json json_t *settings = NULL;
    char revision[32], author[80], age[80];
    int rc = path_of(cli, &path);
    if (rc == CLI_EXIT_OK)
        rc = cli_ask(cli, "GET", path, NULL, NULL, &settings);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, settings))
        return rc;
    const char *text = json_string_value(json_object_get(settings, "document"));
    if (text == NULL) {
        fputs("# Nothing is said of this group. hpctl agent-settings list shows what can be.\n", cli->out);
        return rc;
    }
    fprintf(cli->out, "# revision %s, by %s, %s ago\n", cli_value(settings, "revision", revision, sizeof(revision)),
            cli_value(settings, "author", author, sizeof(author)), cli_age(settings, "updatedAt", age, sizeof(age)));
    cli_print_harmless(cli->out, text);
    return rc;
}

static bool says_something(const char *text, size_t len)
{
    struct agent_settings read;
    char why[AGENT_SETTINGS_ERROR_MAX];
    if (agent_settings_parse(text, len, AGENT_SETTING_SOURCE_GROUP, &read, why) != 0)
        return true; /* the server says why not */
    bool something = read.count > 0;
    agent_settings_free(&read);
    return something;
}

/* Nobody's change is lost under another: it is refused unless the revision that was read still counts. */
static int expect(struct cli *cli, const char *path, json_t *body)
{
    const char *said = cli->option[CLI_OPTION_AT_VERSION];
    int64_t expected = 0;
    auto_json json_t *now = NULL;
    if (said != NULL && text_parse_i64(said, 0, INT64_MAX, &expected) != 0)
        return cli_usage(cli, "--at-version takes the number of a revision");
    int rc = said != NULL ? CLI_EXIT_OK : cli_ask(cli, "GET", path, NULL, NULL, &now);
    if (rc != CLI_EXIT_OK)
        return rc;
    json_put_i64(body, "expectedRevision",
                 said != NULL ? expected : json_integer_value(json_object_get(now, "revision")));
    json_put_text(body, "comment", cli->option[CLI_OPTION_REASON]);
    return CLI_EXIT_OK;
}

int cli_agent_settings_apply(struct cli *cli)
{
    const char *file = cli->option[CLI_OPTION_FILE];
    autofree char *path = NULL, *text = NULL;
    auto_json json_t *body = NULL, *settings = NULL;
    size_t len = 0;
    if (file == NULL)
        return cli_usage(cli, "agent-settings apply needs -f FILE: lines of \"name: value\"");
    int rc = path_of(cli, &path);
    if (rc == CLI_EXIT_OK)
        rc = cli_read_input(cli, file, &text, &len);
    if (rc != CLI_EXIT_OK)
        return rc;
    if (!says_something(text, len) && cli->option[CLI_OPTION_YES] == NULL) {
        if (!isatty(STDIN_FILENO))
            return cli_usage(cli, "%s says nothing, which takes all settings from the group; add --yes if it shall",
                             file);
        if (!cli_confirm(cli, "Nothing is said in it: all settings of the group would go. Type yes to go on: ", "yes"))
            return cli_usage(cli, "nothing was changed");
    }
    json_t *document = strlen(text) == len ? json_stringn(text, len) : NULL;
    if (document == NULL)
        return cli_usage(cli, "%s is no text in UTF-8", file);
    body = json_pack("{s:o}", "document", document);
    rc = expect(cli, path, body);
    if (rc == CLI_EXIT_OK)
        rc = cli_ask(cli, "PUT", path, body, NULL, &settings);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, settings))
        fprintf(cli->out, "revision %" PRId64 " counts; agents take it with their next heartbeat\n",
                (int64_t)json_integer_value(json_object_get(settings, "revision")));
    return rc;
}

static void list_one(json_t *all, const char *name, const char *standard, const char *help)
{
    json_array_append_new(all, json_pack("{s:s, s:s, s:s}", "name", name, "default", standard, "description", help));
}

/* "*.period" of each check, with its own. */
static void list_of_checks(json_t *all, const struct agent_setting_rule *rule)
{
    char value[AGENT_SETTING_VALUE_MAX_BYTES];
    for (size_t i = 0; i < agent_check_count; i++) {
        const struct agent_check_times *times = &agent_check_times[i];
        autofree char *name = own_printf("%s%s", times->name, rule->name + 1);
        const struct agent_setting own = {.kind = rule->kind,
                                          .value = rule->standard >= 0                  ? rule->standard
                                                   : text_equal(rule->name, "*.period") ? times->period_ms
                                                                                        : times->deadline_ms};
        list_one(all, name, agent_setting_value(&own, value), rule->help);
    }
}

int cli_agent_settings_list(struct cli *cli)
{
    static const struct cli_column columns[] = {{"SETTING", "name"}, {"BUILT IN", "default"}, {"WHAT", "description"}};
    char value[AGENT_SETTING_VALUE_MAX_BYTES];
    auto_json json_t *all = json_array();
    for (size_t i = 0; i < agent_setting_rule_count; i++) {
        const struct agent_setting_rule *rule = &agent_setting_rules[i];
        const struct agent_setting standard = {.kind = rule->kind, .value = rule->standard};
        if (rule->name[0] == '*')
            list_of_checks(all, rule);
        else
            list_one(all, rule->name, rule->standard >= 0 ? agent_setting_value(&standard, value) : "the program's own",
                     rule->help);
    }
    if (!cli_print_data(cli, all))
        cli_print_table(cli->out, all, columns, ARRAY_LEN(columns), "");
    return CLI_EXIT_OK;
}
