/*
 * hpctl node exec and hpctl node logs: commands that hpd runs on a node over SSH, with a key of its own, and writes down. hpctl asks, waits, and
 * ends as the command did.
 */
#include "cli/cli.h"

#include "base/clock.h"
#include "base/json.h"

#include <time.h>

#define PAUSE_NS 200000000
#define LATE_MS (30 * MS_PER_S) /* after the command's own deadline: it may wait for a thread */
#define TIMEOUT_MS (30 * MS_PER_S)
#define LINES_MAX 1000 /* hpd keeps the first 256 KiB of an output, and the newest lines come last */

static bool goes_on(const json_t *command)
{
    return text_equal(json_member_text(command, "state"), "waiting") ||
           text_equal(json_member_text(command, "state"), "running");
}

static int await_end(struct cli *cli, int64_t until_ms, json_t **command)
{
    const struct timespec pause = {.tv_nsec = PAUSE_NS};
    autofree char *path = own_printf("/v1/node-commands/%s", json_member_text(*command, "id"));
    while (goes_on(*command)) {
        json_t *now = NULL;
        if (clock_mono_ms(clock_system()) > until_ms) {
            fprintf(cli->err, "hpctl: gave up waiting for the command %s, which may still run\n",
                    json_member_text(*command, "id"));
            return CLI_EXIT_TIMEOUT;
        }
        nanosleep(&pause, NULL);
        int rc = cli_ask(cli, "GET", path, NULL, NULL, &now);
        if (rc != CLI_EXIT_OK)
            return rc;
        json_decref(*command);
        *command = now;
    }
    return CLI_EXIT_OK;
}

static int show(struct cli *cli, const json_t *command)
{
    if (text_equal(json_member_text(command, "state"), "failed")) {
        cli_say(cli->err, "hpctl: %s\n", json_member_text(command, "error"));
        return CLI_EXIT_REFUSED;
    }
    cli_print_harmless(cli->out, json_member_text(command, "output"));
    fflush(cli->out);
    cli_print_harmless(cli->err, json_member_text(command, "errorOutput"));
    if (json_is_true(json_object_get(command, "cut")))
        fprintf(cli->err, "hpctl: the output was cut: hpd keeps 256 KiB of it, and 4 KiB of its errors\n");
    return (int)json_integer_value(json_object_get(command, "exitCode"));
}

static int run(struct cli *cli, const char *text)
{
    int64_t timeout_ms = TIMEOUT_MS;
    autofree char *path = NULL;
    auto_json json_t *command = NULL, *body = NULL;
    int rc = cli->option[CLI_OPTION_TIMEOUT] != NULL ? cli_parse_timeout(cli, &timeout_ms) : CLI_EXIT_OK;
    if (rc == CLI_EXIT_OK)
        rc = cli_node_path(cli, cli->argument[0], "/commands", &path);
    if (rc != CLI_EXIT_OK)
        return rc;
    body = json_pack("{s:s, s:I}", "command", text, "timeoutSeconds",
                     (json_int_t)((timeout_ms + MS_PER_S - 1) / MS_PER_S));
    rc = cli_ask(cli, "POST", path, body, NULL, &command);
    if (rc == CLI_EXIT_OK)
        rc = await_end(cli, clock_mono_ms(clock_system()) + timeout_ms + LATE_MS, &command);
    if (rc != CLI_EXIT_OK || cli_print_data(cli, command))
        return rc;
    return show(cli, command);
}

int cli_node_exec(struct cli *cli)
{
    struct text words AUTO(text) = {0};
    for (int i = 1; i < cli->argument_count; i++)
        text_printf(&words, "%s%s", i > 1 ? " " : "", cli->argument[i]);
    return run(cli, text_get(&words));
}

int cli_node_logs(struct cli *cli)
{
    static const char *const logs[][2] = {{"kernel", " -k"}, {"agent", " -u hp-agent"}, {"all", ""}};
    const char *which = cli->argument_count > 1 ? cli->argument[1] : logs[0][0];
    int64_t lines;
    int rc = cli_parse_lines(cli, LINES_MAX, &lines);
    if (rc != CLI_EXIT_OK)
        return rc;
    for (size_t i = 0; i < ARRAY_LEN(logs); i++) {
        if (!text_equal(which, logs[i][0]))
            continue;
        autofree char *text = own_printf("journalctl%s --no-pager -o short-iso -n %lld", logs[i][1], (long long)lines);
        return run(cli, text);
    }
    return cli_usage(cli, "node logs: \"%s\" is no log of a node: kernel, agent or all", which);
}
