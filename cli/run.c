/* From a command line to an exit code: parse, find the server, run the verb. */
#include "cli/cli.h"
#include "cli/term.h"

#include <string.h>
#include <time.h>

#define WATCH_PAUSE_S 1
#define WATCH_PAUSE_NS 0
#define CLI_HOSTS_MAX 1000

/* Has its answer at hand, or asks by itself. */
static bool needs_no_server(const struct cli_verb *verb)
{
    return verb->run == cli_version || verb->run == cli_fault_list || verb->run == cli_fault_describe ||
           verb->run == cli_simulate || verb->run == cli_login || text_equal(verb->noun, "context") ||
           text_equal(verb->noun, "completion") || verb->run == cli_agent_settings_list ||
           verb->run == cli_webhook_new_secret;
}

/* --- over and over ----------------------------------------------------------------------------------------- */

/* Prints into memory, so that a terminal does not flicker and a pipe gets only what has changed. */
static int run_once(struct cli *cli, const struct cli_verb *verb, char **ret_text)
{
    size_t len;
    FILE *out = cli->out;
    cli->out = open_memstream(ret_text, &len);
    if (cli->out == NULL)
        abort();
    int rc = verb->run(cli);
    fclose(cli->out);
    cli->out = out;
    return rc;
}

static int watch(struct cli *cli, const struct cli_verb *verb)
{
    autofree char *before = NULL;
    for (;;) {
        autofree char *now = NULL;
        int rc = run_once(cli, verb, &now);
        if (rc != CLI_EXIT_OK && (before == NULL || (rc != CLI_EXIT_UNREACHABLE && rc != CLI_EXIT_TIMEOUT)))
            return rc;
        if (rc == CLI_EXIT_OK && !text_equal(before, now)) {
            fprintf(cli->out, "%s%s", cli_term()->people ? "\033[H\033[J" : before != NULL ? "\n" : "", now);
            if (fflush(cli->out) != 0)
                return CLI_EXIT_REFUSED;
            free(before);
            before = TAKE(now);
        }
        nanosleep(&(struct timespec){.tv_nsec = WATCH_PAUSE_NS, .tv_sec = WATCH_PAUSE_S}, NULL);
    }
}

/* --- of many nodes ------------------------------------------------------------------------------------------ */

static bool is_list_of_nodes(const struct cli *cli, const struct cli_verb *verb)
{
    return text_starts_with(verb->arguments, "NODE") && strpbrk(cli->argument[0], "[,") != NULL;
}

/* "gpu-[1-4]": the verb for each, in order. Ends with the first exit code that is not 0; the others are tried all the same. */
static int run_each(struct cli *cli, const struct cli_verb *verb)
{
    char **names = NULL;
    size_t count = 0;
    int rc = CLI_EXIT_OK;
    if (text_hostlist_expand(cli->argument[0], CLI_HOSTS_MAX, &names, &count) != 0)
        return cli_usage(cli, "\"%s\" is no list of at most %d nodes, such as gpu-[1-4],gpu-7", cli->argument[0],
                         CLI_HOSTS_MAX);
    if (count > 1 && cli->option[CLI_OPTION_KEY] != NULL)
        rc = cli_usage(cli, "--idempotency-key is for one node, not for %zu", count);
    for (size_t i = 0; i < count && rc != CLI_EXIT_USAGE; i++) {
        cli->argument[0] = names[i];
        int one = verb->run(cli);
        rc = rc == CLI_EXIT_OK ? one : rc;
    }
    text_list_free(names, count);
    return rc;
}

static int run_verb(struct cli *cli, const struct cli_verb *verb)
{
    autofree char *id = NULL;
    if (cli->argument_count > 0 && is_list_of_nodes(cli, verb))
        return run_each(cli, verb);
    if (cli->argument_count > 0 && text_starts_with(verb->arguments, "ID")) {
        int rc = cli_full_id(cli, verb, cli->argument[0], &id);
        if (rc != CLI_EXIT_OK)
            return rc;
        cli->argument[0] = id != NULL ? id : cli->argument[0];
    }
    bool again = cli->option[CLI_OPTION_WATCH] != NULL || (verb->run == cli_top && cli_term()->people);
    return again ? watch(cli, verb) : verb->run(cli);
}

int cli_main(int argc, char **argv, FILE *out, FILE *err)
{
    struct cli cli = {.out = out, .err = err};
    const struct cli_verb *verb;
    cli_term_open(out);
    cli_table_options = (struct cli_table_options){0};
    int rc = cli_parse(&cli, argc, argv, &verb);
    if (rc == CLI_EXIT_OK && verb != NULL) {
        rc = cli_profile_load(&cli);
        if (rc == CLI_EXIT_OK && !needs_no_server(verb))
            rc = cli_connect(&cli);
        if (rc == CLI_EXIT_OK)
            rc = run_verb(&cli, verb);
    }
    http_client_free(cli.client);
    json_decref(cli.profile);
    if (fflush(out) != 0 && rc == CLI_EXIT_OK)
        rc = CLI_EXIT_REFUSED;
    return rc;
}
