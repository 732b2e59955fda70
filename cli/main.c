/* hpctl's process; everything else is in cli_main, so that tests can call it. */
#include "cli/cli.h"

#include <signal.h>

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_DFL); /* "hpctl … | head" ends quietly */
    return cli_main(argc, argv, stdout, stderr);
}
