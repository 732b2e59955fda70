/* hpctl check …: deep health checks, which have the ids of their operations. */
#include "cli/cli.h"

#include "base/clock.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#define NODES_MAX 500
#define WATCH_PAUSE_NS 500000000
#define FAILED_STATE "failed"

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

/* --- watch ----------------------------------------------------------------------------------------------- */

static const char *text_of(const json_t *json, const char *member)
{
    const char *text = json_string_value(json_object_get(json, member));
    return text != NULL ? text : "";
}

struct shown {
    char state[16];
    size_t tests;
    bool bar; /* a line that is written over again and again stands on the terminal */
};

#define BAR_CELLS 20

static void wipe_bar(struct cli *cli, struct shown *shown)
{
    if (shown->bar)
        fputs("\r\033[K", cli->err);
    shown->bar = false;
}

/* "[#########...........] 3 of 7, DCGM": only where somebody looks on. */
static void draw_bar(struct cli *cli, const json_t *check, struct shown *shown)
{
    size_t i, ended = 0;
    const json_t *test;
    const char *running = "";
    size_t total = (size_t)json_integer_value(json_object_get(check, "total"));
    if (!isatty(fileno(cli->err)) || total == 0)
        return;
    json_array_foreach(json_object_get(check, "tests"), i, test)
    {
        bool runs = text_equal(text_of(test, "state"), "running");
        ended += !runs;
        running = runs ? text_of(test, "name") : running;
    }
    size_t full = ended >= total ? BAR_CELLS : BAR_CELLS * ended / total;
    wipe_bar(cli, shown);
    fputc('[', cli->err);
    for (i = 0; i < BAR_CELLS; i++)
        fputc(i < full ? '#' : '.', cli->err);
    fprintf(cli->err, "] %zu of %zu%s%s", ended, total, running[0] != '\0' ? ", " : "", running);
    fflush(cli->err);
    shown->bar = true;
}

/* A new state before the last one, and the tests that have ended since the last look. */
static void print_news(struct cli *cli, const json_t *check, struct shown *shown)
{
    const json_t *tests = json_object_get(check, "tests");
    if (json_object_get(check, "finishedAt") == NULL && !text_equal(shown->state, text_of(check, "state"))) {
        text_copy_cut(shown->state, sizeof(shown->state), text_of(check, "state"));
        fprintf(cli->err, "  %s\n", shown->state);
    }
    for (; shown->tests < json_array_size(tests); shown->tests++) {
        const json_t *test = json_array_get(tests, shown->tests);
        const char *state = text_of(test, "state"), *why = text_of(test, "detail");
        if (text_equal(state, "running"))
            return;
        fprintf(cli->out, "%s %s%s%s\n", text_of(test, "name"), state, why[0] != '\0' ? ": " : "", why);
    }
}

int cli_check_watch(struct cli *cli)
{
    int64_t timeout_ms;
    struct shown shown = {0};
    int rc = cli_parse_timeout(cli, &timeout_ms);
    int64_t until = clock_mono_ms(clock_system()) + timeout_ms;
    autofree char *id = cli_encode(cli->argument[0]), *path = own_printf("/v1/checks/%s", id);
    for (bool known = false; rc == CLI_EXIT_OK; known = true) {
        auto_json json_t *check = NULL;
        rc = cli_ask_again(cli, path, known ? until : 0, &check);
        if (rc != CLI_EXIT_OK)
            return rc;
        bool table = cli->format == CLI_FORMAT_TABLE;
        if (table) {
            wipe_bar(cli, &shown);
            print_news(cli, check, &shown);
        }
        if (json_object_get(check, "finishedAt") != NULL) {
            const char *state = text_of(check, "state"), *why = text_of(check, "detail");
            if (!cli_print_data(cli, check))
                fprintf(cli->out, "%s%s%s\n", state, why[0] != '\0' ? ": " : "", why);
            return text_equal(state, FAILED_STATE) ? CLI_EXIT_REFUSED : CLI_EXIT_OK;
        }
        if (clock_mono_ms(clock_system()) >= until) {
            fprintf(cli->err, "hpctl: check %s is still %s; it goes on without us\n", cli->argument[0],
                    text_of(check, "state"));
            return CLI_EXIT_TIMEOUT;
        }
        if (table)
            draw_bar(cli, check, &shown);
        struct timespec pause = {.tv_nsec = WATCH_PAUSE_NS};
        nanosleep(&pause, NULL);
    }
    return rc;
}

/* --- logs ------------------------------------------------------------------------------------------------ */

int cli_check_logs(struct cli *cli)
{
    auto_json json_t *logs = NULL;
    int rc = ask_one(cli, "/logs", &logs);
    if (rc == CLI_EXIT_OK && !cli_print_data(cli, logs))
        cli_print_harmless(cli->out, text_of(logs, "log"));
    return rc;
}
