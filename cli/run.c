/* From a command line to an exit code: parse, find the server, run the verb. */
#include "cli/cli.h"
#include "cli/term.h"

/* Has its answer at hand, or asks by itself. */
static bool needs_no_server(const struct cli_verb *verb)
{
    return verb->run == cli_version || verb->run == cli_fault_list || verb->run == cli_fault_describe ||
           verb->run == cli_simulate || verb->run == cli_agent_settings_list || verb->run == cli_webhook_new_secret;
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
            rc = verb->run(&cli);
    }
    http_client_free(cli.client);
    json_decref(cli.profile);
    if (fflush(out) != 0 && rc == CLI_EXIT_OK)
        rc = CLI_EXIT_REFUSED;
    return rc;
}
