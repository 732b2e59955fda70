/* hpctl provider …: where machines come from, how each provider stands, and a test of a site's own executables. */
#include "cli/cli.h"

#include "base/clock.h"

#include <string.h>
#include <unistd.h>

#define POLL_US 200000
#define TEST_MAX_MS (10 * MS_PER_MIN) /* a launch, two minutes until the machine is gone, and slow executables */

static char *path_of(const char *name, const char *below)
{
    autofree char *encoded = cli_encode(name);
    return own_printf("/v1/providers/%s%s", encoded, below);
}

int cli_provider_list(struct cli *cli)
{
    static const struct cli_column columns[] = {
        {"PROVIDER", "name"}, {"KIND", "kind"},         {"STATE", "state"},          {"MACHINES", "machines"},
        {"CALLS", "calls"},   {"FAILURES", "failures"}, {"LAST OK", "~succeededAt"}, {"LAST ERROR", "error"}};
    auto_json json_t *reply = NULL;
    int rc = cli_ask(cli, "GET", "/v1/providers", NULL, NULL, &reply);
    const json_t *items = json_object_get(reply, "items");
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, items))
        cli_print_table(cli->out, items, columns, ARRAY_LEN(columns), "no providers");
    return rc;
}

static void print_test(struct cli *cli, const json_t *test)
{
    size_t i;
    const json_t *item;
    char check[300], detail[300];
    json_array_foreach(json_object_get(test, "findings"), i, item)
    {
        fprintf(cli->out, "%-4s  %s\n", json_is_true(json_object_get(item, "passed")) ? "ok" : "FAIL",
                cli_value(item, "check", check, sizeof(check)));
        cli_value(item, "detail", detail, sizeof(detail));
        if (detail[0] != '\0') {
            fputs("      ", cli->out);
            cli_print_harmless(cli->out, detail);
            fputc('\n', cli->out);
        }
    }
}

static void print_provider(struct cli *cli, const json_t *provider)
{
    static const struct {
        const char *title, *path;
    } fields[] = {{"Provider", "name"},       {"Kind", "kind"},       {"State", "state"},
                  {"Machines", "machines"},   {"Calls", "calls"},     {"Failures", "failures"},
                  {"Last ok", "succeededAt"}, {"Failed", "failedAt"}, {"Error", "error"}};
    char buffer[600];
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        cli_print_field(cli->out, fields[i].title, cli_value(provider, fields[i].path, buffer, sizeof(buffer)));
    const json_t *test = json_object_get(provider, "test");
    if (test == NULL)
        return;
    fprintf(cli->out, "\nTest: %s\n", cli_value(test, "state", buffer, sizeof(buffer)));
    print_test(cli, test);
}

int cli_provider_describe(struct cli *cli)
{
    autofree char *path = path_of(cli->argument[0], "");
    auto_json json_t *provider = NULL;
    int rc = cli_ask(cli, "GET", path, NULL, NULL, &provider);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, provider))
        print_provider(cli, provider);
    return rc;
}

/* Until the test has ended. */
static int wait_for_test(struct cli *cli, json_t **ret_provider)
{
    autofree char *path = path_of(cli->argument[0], "");
    char state[40];
    int64_t end = clock_mono_ms(clock_system()) + TEST_MAX_MS;
    for (;;) {
        auto_json json_t *provider = NULL;
        int rc = cli_ask(cli, "GET", path, NULL, NULL, &provider);
        if (rc != CLI_EXIT_OK)
            return rc;
        if (strcmp(cli_value(provider, "test.state", state, sizeof(state)), "running") != 0) {
            *ret_provider = json_incref(provider);
            return strcmp(state, "passed") == 0 ? CLI_EXIT_OK : CLI_EXIT_REFUSED;
        }
        if (clock_mono_ms(clock_system()) >= end)
            return CLI_EXIT_TIMEOUT;
        usleep(POLL_US);
    }
}

int cli_provider_test(struct cli *cli)
{
    autofree char *path = path_of(cli->argument[0], "/test");
    auto_json json_t *body = json_object(), *begun = NULL, *provider = NULL;
    json_put(body, "launch", json_boolean(cli->option[CLI_OPTION_LAUNCH] != NULL));
    int rc = cli_ask(cli, "POST", path, body, NULL, &begun);
    if (rc != CLI_EXIT_OK)
        return rc;
    rc = wait_for_test(cli, &provider);
    const json_t *test = json_object_get(provider, "test");
    if (provider == NULL) {
        if (rc == CLI_EXIT_TIMEOUT)
            fputs("hpctl: the test goes on; hpctl provider describe shows how it ends\n", cli->err);
        return rc;
    }
    if (!cli_print_data(cli, test))
        print_test(cli, test);
    return rc;
}
