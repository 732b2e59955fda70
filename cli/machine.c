/* hpctl machine …: the machines that a site owns, their spares, and the bench. */
#include "cli/cli.h"

#include <string.h>

static char *path_of(const char *name, const char *below)
{
    autofree char *encoded = cli_encode(name);
    return own_printf("/v1/machines/%s%s", encoded, below);
}

/* Why it is as it is: for a spare that is not ready, what it lacks. */
static void say_note(json_t *machine)
{
    const char *not_ready = json_string_value(json_object_get(machine, "notReady"));
    const char *trouble = json_string_value(json_object_get(machine, "trouble"));
    const char *reason = json_string_value(json_object_get(machine, "reason"));
    const char *node = json_string_value(json_object_get(json_object_get(machine, "use"), "node"));
    bool ready = json_is_true(json_object_get(machine, "ready"));
    const char *note = node != NULL ? node : trouble != NULL ? trouble : not_ready != NULL ? not_ready : reason;
    json_put_text(machine, "_state", ready ? "spare, ready" : json_string_value(json_object_get(machine, "state")));
    json_put_text(machine, "_note", ready ? "" : note);
}

int cli_machine_list(struct cli *cli)
{
    static const struct cli_column columns[] = {{"MACHINE", "name"},     {"TYPE", "type"},     {"STATE", "_state"},
                                                {"RACK", "rack"},        {"SWITCH", "switch"}, {"ADDRESS", "address"},
                                                {"SINCE", "~changedAt"}, {"NOTE", "_note"}};
    AUTO(text) struct text path = {0};
    auto_json json_t *items = NULL;
    text_add(&path, "/v1/machines");
    cli_add_query(&path, "state", cli->option[CLI_OPTION_STATE]);
    int rc = cli_ask_list(cli, text_get(&path), 0, &items);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, items))
        return rc;
    size_t i;
    json_t *item;
    json_array_foreach(items, i, item) say_note(item);
    cli_print_table(cli->out, items, columns, ARRAY_LEN(columns), "no machines; hpctl machine add NAME");
    return rc;
}

static void print_machine(struct cli *cli, json_t *machine)
{
    static const struct {
        const char *title, *path;
    } fields[] = {{"Machine", "name"},  {"Inventory", "provider"},     {"Type", "type"},       {"State", "_state"},
                  {"Note", "_note"},    {"Agent seen", "agentSeenAt"}, {"Address", "address"}, {"BMC", "bmc"},
                  {"Rack", "rack"},     {"Switch", "switch"},          {"Chassis", "chassis"}, {"Serial", "serial"},
                  {"Node", "use.node"}, {"Instance", "use.instanceId"}};
    char buffer[600];
    say_note(machine);
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        cli_print_field(cli->out, fields[i].title, cli_value(machine, fields[i].path, buffer, sizeof(buffer)));
}

int cli_machine_describe(struct cli *cli)
{
    static const struct cli_column columns[] = {
        {"NODE", "node"},     {"CLUSTER", "cluster"},        {"INSTANCE", "instanceId"},
        {"TAKEN", "takenAt"}, {"GIVEN BACK", "givenBackAt"}, {"BROKEN", "broken"},
        {"REASON", "reason"}};
    autofree char *path = path_of(cli->argument[0], "");
    auto_json json_t *machine = NULL;
    int rc = cli_ask(cli, "GET", path, NULL, NULL, &machine);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, machine))
        return rc;
    print_machine(cli, machine);
    fputs("\nWhat it was:\n", cli->out);
    cli_print_table(cli->out, json_object_get(machine, "uses"), columns, ARRAY_LEN(columns), "it was never in use");
    return rc;
}

/* --- evidence ---------------------------------------------------------------------------------------------- */

static void print_lines(FILE *f, const json_t *use, const char *list, const char *title, const char *const *paths,
                        size_t count)
{
    const json_t *items = json_object_get(use, list);
    size_t i;
    const json_t *item;
    char value[600];
    if (json_array_size(items) == 0)
        return;
    fprintf(f, "  %s\n", title);
    json_array_foreach(items, i, item)
    {
        fputs("   ", f);
        for (size_t k = 0; k < count; k++) {
            cli_value(item, paths[k], value, sizeof(value));
            if (value[0] != '\0') {
                fputs(" ", f);
                cli_print_harmless(f, value);
            }
        }
        fputc('\n', f);
    }
}

static void print_use(FILE *f, const json_t *use)
{
    static const char *const verdicts[] = {"firstAt", "code", "device", "count", "rawLine"};
    static const char *const decisions[] = {"at", "sentence"};
    static const char *const repairs[] = {"createdAt", "kind", "state", "reason", "error"};
    static const char *const tests[] = {"createdAt", "profile", "state", "detail"};
    static const char *const hardware[] = {"kind", "location", "identity", "serial", "detail"};
    static const char *const checks[] = {"name", "result", "why"};
    char value[300];
    fprintf(f, "\nAs %s", cli_value(use, "node", value, sizeof(value)));
    fprintf(f, " of %s", cli_value(use, "cluster", value, sizeof(value)));
    fprintf(f, " from %s", cli_value(use, "takenAt", value, sizeof(value)));
    fprintf(f, " to %s", cli_value(use, "givenBackAt", value, sizeof(value)));
    fprintf(f, "\n  %s\n", cli_value(use, "reason", value, sizeof(value)));
    print_lines(f, use, "verdicts", "What its agent saw:", verdicts, ARRAY_LEN(verdicts));
    print_lines(f, use, "decisions", "What was decided:", decisions, ARRAY_LEN(decisions));
    print_lines(f, use, "repairs", "What was tried:", repairs, ARRAY_LEN(repairs));
    print_lines(f, use, "tests", "Deep checks:", tests, ARRAY_LEN(tests));
    print_lines(f, use, "hardware", "What it is made of:", hardware, ARRAY_LEN(hardware));
    print_lines(f, use, "checks", "Checks of its agent:", checks, ARRAY_LEN(checks));
}

int cli_machine_evidence(struct cli *cli)
{
    autofree char *path = path_of(cli->argument[0], "/evidence");
    auto_json json_t *bundle = NULL;
    size_t i;
    const json_t *use;
    int rc = cli_ask(cli, "GET", path, NULL, NULL, &bundle);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, bundle))
        return rc;
    print_machine(cli, json_object_get(bundle, "machine"));
    json_array_foreach(json_object_get(bundle, "uses"), i, use) print_use(cli->out, use);
    return rc;
}

/* --- add --------------------------------------------------------------------------------------------------- */

static int done(struct cli *cli, const json_t *machine, const char *what)
{
    char name[200], state[40];
    if (cli_print_data(cli, machine))
        return CLI_EXIT_OK;
    fprintf(cli->out, "machine %s %s; its state is %s\n", cli_value(machine, "name", name, sizeof(name)), what,
            cli_value(machine, "state", state, sizeof(state)));
    return CLI_EXIT_OK;
}

static int add_one(struct cli *cli, const json_t *body)
{
    auto_json json_t *machine = NULL;
    int rc = cli_ask(cli, "POST", "/v1/machines", body, NULL, &machine);
    return rc != CLI_EXIT_OK ? rc : done(cli, machine, "was added");
}

/* -f: a list of them under "machines". */
static int add_file(struct cli *cli)
{
    auto_json json_t *file = NULL;
    int rc = cli_read_file(cli, "machine add", "an inventory", "machines", &file);
    const json_t *list = json_object_get(file, "machines");
    size_t i;
    const json_t *item;
    if (rc == CLI_EXIT_OK && (!json_is_array(list) || json_object_size(file) != 1))
        return cli_usage(cli, "the file must have a list under \"machines\", and nothing else");
    json_array_foreach(list, i, item)
    {
        rc = add_one(cli, item);
        if (rc != CLI_EXIT_OK)
            return rc;
    }
    return rc;
}

/* KEY=VALUE words, as the API names them. */
static int add_words(struct cli *cli, json_t *body, int from)
{
    for (int i = from; i < cli->argument_count; i++) {
        const char *word = cli->argument[i], *equals = strchr(word, '=');
        if (equals == NULL || equals == word)
            return cli_usage(cli,
                             "\"%s\" is no KEY=VALUE; keys are type, address, bmc, rack, switch, chassis, serial "
                             "and provider",
                             word);
        autofree char *key = own_printf("%.*s", (int)(equals - word), word);
        json_object_set_new(body, key, json_string(equals + 1));
    }
    return CLI_EXIT_OK;
}

int cli_machine_add(struct cli *cli)
{
    if (cli->option[CLI_OPTION_FILE] != NULL)
        return cli->argument_count > 0 ? cli_usage(cli, "machine add takes a name or -f, not both") : add_file(cli);
    if (cli->argument_count == 0)
        return cli_usage(cli, "machine add needs a name, or -f FILE");
    auto_json json_t *body = json_object();
    json_put_text(body, "name", cli->argument[0]);
    int rc = add_words(cli, body, 1);
    return rc != CLI_EXIT_OK ? rc : add_one(cli, body);
}

int cli_machine_update(struct cli *cli)
{
    autofree char *path = path_of(cli->argument[0], "");
    auto_json json_t *body = json_object(), *machine = NULL;
    int rc = add_words(cli, body, 1);
    if (rc == CLI_EXIT_OK)
        rc = cli_ask(cli, "PUT", path, body, NULL, &machine);
    return rc != CLI_EXIT_OK ? rc : done(cli, machine, "was changed");
}

/* --- moves ------------------------------------------------------------------------------------------------- */

static int move(struct cli *cli, const char *below, const char *what)
{
    autofree char *path = path_of(cli->argument[0], below);
    auto_json json_t *body = json_object(), *machine = NULL;
    json_put_text(body, "reason", cli->option[CLI_OPTION_REASON]);
    int rc = cli_ask(cli, "POST", path, body, NULL, &machine);
    return rc != CLI_EXIT_OK ? rc : done(cli, machine, what);
}

int cli_machine_retire(struct cli *cli)
{
    return move(cli, "/retire", "left the inventory");
}

int cli_machine_bench(struct cli *cli)
{
    return move(cli, "/bench", "is at the bench");
}

int cli_machine_return(struct cli *cli)
{
    return move(cli, "/return", "was returned");
}

int cli_machine_release(struct cli *cli)
{
    return move(cli, "/release", "was released");
}
