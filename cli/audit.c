/* hpctl audit …: who asked for which change, from where, and what became of it. */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/own.h"

/* A time as it was given, or so long ago. */
int cli_add_time(struct cli *cli, struct text *path, enum cli_option option, const char *parameter)
{
    const char *given = cli->option[option];
    char text[CLOCK_TEXT_MAX];
    int64_t ms;
    if (given == NULL)
        return CLI_EXIT_OK;
    if (clock_parse_duration(given, &ms) == 0)
        ms = clock_wall_ms(clock_system()) - ms;
    else if (clock_parse(given, &ms) != 0)
        return cli_usage(cli, "--%s is a time such as 2026-11-20T15:00:00Z or a duration such as 2h, not \"%s\"",
                         cli_option_name(option), given);
    cli_add_query(path, parameter, clock_format(ms, text));
    return CLI_EXIT_OK;
}

int cli_audit_list(struct cli *cli)
{
    static const struct cli_column columns[] = {
        {"AT", "at"},           {"WHO", "actor"},         {"FROM", "peer"},       {"WHAT", "operation"},
        {"CLUSTER", "cluster"}, {"RESOURCE", "resource"}, {"OUTCOME", "outcome"}, {"CODE", "code"},
        {"COUNT", "count"},     {"REQUEST", "requestId"}};
    int64_t limit;
    AUTO(text) struct text path = {0};
    text_add(&path, "/v1/audit");
    int rc = cli_parse_limit(cli, CLI_LIMIT_DEFAULT, &limit);
    if (rc == CLI_EXIT_OK)
        rc = cli_add_time(cli, &path, CLI_OPTION_SINCE, "after");
    if (rc == CLI_EXIT_OK)
        rc = cli_add_time(cli, &path, CLI_OPTION_UNTIL, "before");
    if (rc != CLI_EXIT_OK)
        return rc;
    cli_add_query(&path, "cluster", cli->option[CLI_OPTION_CLUSTER]);
    cli_add_query(&path, "actor", cli->option[CLI_OPTION_ACTOR]);
    cli_add_query(&path, "resource", cli->option[CLI_OPTION_RESOURCE]);
    cli_add_query(&path, "outcome", cli->option[CLI_OPTION_OUTCOME]);
    auto_json json_t *items = NULL;
    rc = cli_ask_list(cli, text_get(&path), limit, &items);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, items))
        cli_print_table(cli->out, items, columns, ARRAY_LEN(columns), "nothing was asked for");
    return rc;
}
