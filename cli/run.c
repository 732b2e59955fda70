/* From a command line to an exit code: parse, find the server, run the verb. */
#include "cli/cli.h"

int cli_main(int argc, char **argv, FILE *out, FILE *err)
{
    struct cli cli = {.out = out, .err = err};
    const struct cli_verb *verb;
    int rc = cli_parse(&cli, argc, argv, &verb);
    if (rc == CLI_EXIT_OK && verb != NULL) {
        rc = cli_profile_load(&cli);
        if (rc == CLI_EXIT_OK && verb->run != cli_version)
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
