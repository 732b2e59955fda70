/*
 * hprun: starts, watches and restarts the workers of a training job on one node. Installed as hyperpodrun, too.
 */
#include "agents/launcher/drive.h"
#include "agents/launcher/rule_read.h"
#include "agents/launcher/rules_test.h"
#include "base/file.h"
#include "base/log.h"
#include "base/version.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXIT_USAGE 2
#define FILE_BYTES_MAX (1 << 20)

/* What has to be right from the beginning, though it may change later. */
static int check_files(const struct options *options)
{
    char error[RULE_ERROR_MAX] = "cannot be read";
    size_t len;
    autofree char *rules = NULL, *token = NULL;
    __attribute__((cleanup(auto_rule_list_cleanup))) struct rule_list list = {0};
    if (options->rules_file != NULL && (file_read(options->rules_file, FILE_BYTES_MAX, &rules, &len) != 0 ||
                                        rule_read_text(rules, len, &list, error) != 0)) {
        fprintf(stderr, "hprun: --log-rules %s: %s\n", options->rules_file, error);
        return EXIT_USAGE;
    }
    if (options->token_file != NULL &&
        (file_read(options->token_file, FILE_BYTES_MAX, &token, &len) != 0 || len == 0)) {
        fprintf(stderr, "hprun: --server-token-file %s cannot be read or is empty\n", options->token_file);
        return EXIT_USAGE;
    }
    return 0;
}

static int run(const struct options *options)
{
    enum log_level level;
    if (log_level_parse(options->server_log_level, &level) == 0)
        log_set_level(level);
    int rc = check_files(options);
    return rc != 0 ? rc : drive(options, environ);
}

int main(int argc, char **argv)
{
    struct options options = {0};
    char error[OPTION_ERROR_MAX];
    if (argc > 1 && strcmp(argv[1], "rules") == 0)
        return rules_command(argc - 1, argv + 1);
    if (options_read(argc, argv, environ, &options, error) != 0) {
        fprintf(stderr, "hprun: %s. --help lists the options.\n", error);
        return EXIT_USAGE;
    }
    int rc = 0;
    if (options.version)
        puts("hprun " HOLDFAST_VERSION);
    else if (options.help)
        options_help(stdout);
    else
        rc = run(&options);
    options_free(&options);
    return rc;
}
