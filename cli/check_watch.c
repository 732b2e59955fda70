/*
 * hpctl check watch: one deep health check by its tests, or all that go on by their nodes, with a bar where somebody looks on.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/json.h"

#include <time.h>
#include <unistd.h>

#define PAUSE_NS 500000000
#define PAUSE_ALL_S 2
#define ALL_MAX 1000 /* of the newest: more nodes are not asked for at once */
#define FAILED_STATE "failed"
#define BAR_CELLS 20

struct shown {
    char state[16];
    size_t tests;
    bool bar; /* a line that is written over again and again stands on the terminal */
};

static void wipe_bar(struct cli *cli, struct shown *shown)
{
    if (shown->bar)
        fputs("\r\033[K", cli->err);
    shown->bar = false;
}

static void draw_cells(struct cli *cli, size_t ended, size_t total)
{
    size_t full = ended >= total ? BAR_CELLS : BAR_CELLS * ended / total;
    fputc('[', cli->err);
    for (size_t i = 0; i < BAR_CELLS; i++)
        fputc(i < full ? '#' : '.', cli->err);
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
        bool runs = text_equal(json_member_text(test, "state"), "running");
        ended += !runs;
        running = runs ? json_member_text(test, "name") : running;
    }
    wipe_bar(cli, shown);
    draw_cells(cli, ended, total);
    fprintf(cli->err, "] %zu of %zu%s%s", ended, total, running[0] != '\0' ? ", " : "", running);
    fflush(cli->err);
    shown->bar = true;
}

/* A new state before the last one, and the tests that have ended since the last look. */
static void print_news(struct cli *cli, const json_t *check, struct shown *shown)
{
    const json_t *tests = json_object_get(check, "tests");
    if (json_object_get(check, "finishedAt") == NULL && !text_equal(shown->state, json_member_text(check, "state"))) {
        text_copy_cut(shown->state, sizeof(shown->state), json_member_text(check, "state"));
        fprintf(cli->err, "  %s\n", shown->state);
    }
    for (; shown->tests < json_array_size(tests); shown->tests++) {
        const json_t *test = json_array_get(tests, shown->tests);
        const char *state = json_member_text(test, "state"), *why = json_member_text(test, "detail");
        if (text_equal(state, "running"))
            return;
        cli_say(cli->out, "%s %s%s%s\n", json_member_text(test, "name"), state, why[0] != '\0' ? ": " : "", why);
    }
}

static int watch_one(struct cli *cli)
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
            const char *state = json_member_text(check, "state"), *why = json_member_text(check, "detail");
            if (!cli_print_data(cli, check))
                cli_say(cli->out, "%s%s%s\n", state, why[0] != '\0' ? ": " : "", why);
            return text_equal(state, FAILED_STATE) ? CLI_EXIT_REFUSED : CLI_EXIT_OK;
        }
        if (clock_mono_ms(clock_system()) >= until) {
            fprintf(cli->err, "hpctl: check %s is still %s; it goes on without us\n", cli->argument[0],
                    json_member_text(check, "state"));
            return CLI_EXIT_TIMEOUT;
        }
        if (table)
            draw_bar(cli, check, &shown);
        struct timespec pause = {.tv_nsec = PAUSE_NS};
        nanosleep(&pause, NULL);
    }
    return rc;
}

/* --- all that go on --------------------------------------------------------------------------------------- */

struct watched {
    json_t *left; /* ids of those that have not ended */
    size_t count, ended;
    bool failed;
    struct shown shown;
};

static bool is_meant(const struct cli *cli, const json_t *check)
{
    const char *group = cli->option[CLI_OPTION_GROUP], *node = cli->option[CLI_OPTION_NODE];
    return (group == NULL || text_equal(group, json_member_text(check, "group"))) &&
           (node == NULL || text_equal(node, json_member_text(check, "node")));
}

/* What goes on at the first look, and no others, is followed to its end. */
static void take_look(struct cli *cli, const json_t *checks, bool first, struct watched *watched)
{
    size_t i;
    const json_t *check;
    json_array_foreach(checks, i, check)
    {
        const char *id = json_member_text(check, "id"), *state = json_member_text(check, "state"),
                   *why = json_member_text(check, "detail");
        bool over = json_object_get(check, "finishedAt") != NULL;
        if (first && !over && is_meant(cli, check)) {
            json_object_set_new(watched->left, id, json_true());
            watched->count++;
        }
        if (!over || json_object_get(watched->left, id) == NULL)
            continue;
        json_object_del(watched->left, id);
        watched->ended++;
        watched->failed = watched->failed || text_equal(state, FAILED_STATE);
        if (cli->format == CLI_FORMAT_TABLE)
            cli_say(cli->out, "%s %s%s%s\n", json_member_text(check, "node"), state, why[0] != '\0' ? ": " : "", why);
    }
    fflush(cli->out);
}

/* "[#########...........] 9 of 20 nodes, 80 of 140 tests"; tests of what waits are not counted yet. */
static void draw_all(struct cli *cli, const json_t *checks, struct watched *watched)
{
    size_t i;
    const json_t *check;
    int64_t ended = 0, total = 0;
    if (cli->format != CLI_FORMAT_TABLE || !isatty(fileno(cli->err)))
        return;
    json_array_foreach(checks, i, check)
    {
        if (json_object_get(watched->left, json_member_text(check, "id")) == NULL)
            continue;
        total += json_integer_value(json_object_get(check, "total"));
        ended += json_integer_value(json_object_get(check, "passed")) +
                 json_integer_value(json_object_get(check, "failed")) +
                 json_integer_value(json_object_get(check, "skipped"));
    }
    draw_cells(cli, watched->ended, watched->count);
    fprintf(cli->err, "] %zu of %zu nodes; of the others %lld of %lld tests", watched->ended, watched->count,
            (long long)ended, (long long)total);
    fflush(cli->err);
    watched->shown.bar = true;
}

static int follow_all(struct cli *cli, const char *path, int64_t until, struct watched *watched)
{
    for (bool first = true;; first = false) {
        auto_json json_t *checks = NULL;
        int rc = cli_ask_list(cli, path, ALL_MAX, &checks);
        if (rc != CLI_EXIT_OK)
            return rc;
        wipe_bar(cli, &watched->shown);
        take_look(cli, checks, first, watched);
        if (json_object_size(watched->left) == 0) {
            if (!cli_print_data(cli, checks))
                fprintf(cli->out, watched->count > 0 ? "all have ended\n" : "no deep health check goes on\n");
            return watched->failed ? CLI_EXIT_REFUSED : CLI_EXIT_OK;
        }
        if (clock_mono_ms(clock_system()) >= until) {
            fprintf(cli->err, "hpctl: %zu checks still go on, without us\n", json_object_size(watched->left));
            return CLI_EXIT_TIMEOUT;
        }
        draw_all(cli, checks, watched);
        struct timespec pause = {.tv_sec = PAUSE_ALL_S};
        nanosleep(&pause, NULL);
    }
}

static int watch_all(struct cli *cli)
{
    int64_t timeout_ms;
    autofree char *cluster = NULL;
    auto_json json_t *left = json_object();
    struct watched watched = {.left = left};
    int rc = cli_parse_timeout(cli, &timeout_ms);
    if (rc == CLI_EXIT_OK)
        rc = cli_cluster_name(cli, &cluster);
    if (rc != CLI_EXIT_OK)
        return rc;
    struct text path AUTO(text) = {0};
    text_add(&path, "/v1/checks");
    cli_add_query(&path, "cluster", cluster);
    return follow_all(cli, text_get(&path), clock_mono_ms(clock_system()) + timeout_ms, &watched);
}

int cli_check_watch(struct cli *cli)
{
    return cli->argument_count > 0 ? watch_one(cli) : watch_all(cli);
}
