/*
 * hpctl login and hpctl context …: several servers by name, in ~/.config/holdfast/hpctl.yaml, which only its owner may read.
 *
 * The file's own url, token and so on are what counts without a context. A token is asked for without an echo, or read from a pipe: it
 * never has to stand on a command line.
 */
#include "cli/cli.h"

#include "base/file.h"
#include "base/own.h"
#include "base/yaml.h"

#include <string.h>
#include <termios.h>
#include <unistd.h>

#define TOKEN_MAX 4096

static int save(struct cli *cli)
{
    autofree char *path = cli_profile_path(), *text = yaml_dump(cli->profile);
    autofree char *directory = own_strdup(path);
    char *slash = strrchr(directory, '/');
    int rc = 0;
    if (slash != NULL && slash != directory) {
        *slash = '\0';
        rc = file_make_dirs(directory, 0700);
    }
    if (rc == 0)
        rc = text != NULL ? file_write(path, text, strlen(text), 0600) : STATUS_INVALID;
    return rc == 0 ? CLI_EXIT_OK : cli_usage(cli, "cannot write %s: %s", path, status_meaning(rc));
}

/* The mapping of contexts; made when there is none. */
static json_t *contexts(struct cli *cli)
{
    if (cli->profile == NULL)
        cli->profile = json_object();
    json_t *all = json_object_get(cli->profile, "contexts");
    if (all == NULL) {
        all = json_object();
        json_put(cli->profile, "contexts", all);
    }
    return all;
}

/* --- login ---------------------------------------------------------------------------------------------------- */

/* A line from the terminal, without an echo, or the first of a pipe. */
static int read_token(struct cli *cli, char token[TOKEN_MAX])
{
    struct termios before, quiet;
    bool terminal = isatty(STDIN_FILENO) && tcgetattr(STDIN_FILENO, &before) == 0;
    if (terminal) {
        quiet = before;
        quiet.c_lflag &= ~(tcflag_t)ECHO;
        fputs("API token: ", cli->err);
        fflush(cli->err);
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
    }
    bool got = fgets(token, TOKEN_MAX, stdin) != NULL;
    if (terminal) {
        tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
        fputc('\n', cli->err);
    }
    if (got)
        token[strcspn(token, "\r\n")] = '\0';
    return got && token[0] != '\0' ? CLI_EXIT_OK : cli_usage(cli, "no token was given");
}

/* "head-1" of "https://head-1:8700". Caller frees. */
static char *host_of(const char *url)
{
    const char *host = strstr(url, "://");
    host = host != NULL ? host + 3 : url;
    return own_printf("%.*s", (int)strcspn(host, ":/"), host);
}

/* Whether the server takes the token. */
static int try(struct cli *cli, const char *url, const char *token, char role[32])
{
    auto_json json_t *version = NULL;
    cli->option[CLI_OPTION_SERVER] = url;
    cli->option[CLI_OPTION_TOKEN] = token;
    int rc = cli_connect(cli);
    if (rc == CLI_EXIT_OK)
        rc = cli_ask(cli, "GET", "/v1/version", NULL, NULL, &version);
    cli_value(version, "role", role, 32);
    return rc;
}

int cli_login(struct cli *cli)
{
    const char *url = cli->argument[0], *given = cli->option[CLI_OPTION_TOKEN];
    char typed[TOKEN_MAX] = "", role[32];
    autofree char *host = host_of(url);
    const char *name = cli->option[CLI_OPTION_NAME] != NULL ? cli->option[CLI_OPTION_NAME] : host;
    if (given == NULL && getenv("HPCTL_TOKEN") != NULL)
        given = getenv("HPCTL_TOKEN");
    int rc = given != NULL ? CLI_EXIT_OK : read_token(cli, typed);
    const char *token = given != NULL ? given : typed;
    if (rc == CLI_EXIT_OK)
        rc = try(cli, url, token, role);
    if (rc != CLI_EXIT_OK)
        return rc;
    json_t *context = json_object();
    json_put_text(context, "url", url);
    json_put_text(context, "token", token);
    json_put_text(context, "fingerprint", cli->option[CLI_OPTION_FINGERPRINT]);
    json_put_text(context, "caFile", cli->option[CLI_OPTION_CA_FILE]);
    json_put_text(context, "cluster", cli->option[CLI_OPTION_CLUSTER]);
    json_object_set_new(contexts(cli), name, context);
    json_put(cli->profile, "current", json_string(name));
    rc = save(cli);
    explicit_bzero(typed, sizeof(typed));
    if (rc == CLI_EXIT_OK)
        fprintf(cli->out, "context %s: signed in at %s%s%s\n", name, url, *role != '\0' ? " as " : "", role);
    return rc;
}

/* --- contexts -------------------------------------------------------------------------------------------------- */

int cli_context_list(struct cli *cli)
{
    static const struct cli_column columns[] = {
        {"CURRENT", "current"}, {"NAME", "name"}, {"URL", "url"}, {"CLUSTER", "cluster"}};
    auto_json json_t *rows = json_array();
    const char *name, *current = json_string_value(json_object_get(cli->profile, "current"));
    json_t *context;
    json_object_foreach(json_object_get(cli->profile, "contexts"), name, context)
    {
        json_t *row = json_object();
        json_put(row, "current", json_boolean(text_equal(name, current)));
        json_put(row, "name", json_string(name));
        json_put_text(row, "url", json_string_value(json_object_get(context, "url")));
        json_put_text(row, "cluster", json_string_value(json_object_get(context, "cluster")));
        json_array_append_new(rows, row);
    }
    if (!cli_print_data(cli, rows))
        cli_print_table(cli->out, rows, columns, ARRAY_LEN(columns), "no contexts; make one with: hpctl login URL");
    return CLI_EXIT_OK;
}

static int unknown(struct cli *cli)
{
    fprintf(cli->err, "hpctl: there is no context \"%s\"; hpctl context list shows them\n", cli->argument[0]);
    return CLI_EXIT_NOT_FOUND;
}

int cli_context_use(struct cli *cli)
{
    if (json_object_get(json_object_get(cli->profile, "contexts"), cli->argument[0]) == NULL)
        return unknown(cli);
    json_put(cli->profile, "current", json_string(cli->argument[0]));
    int rc = save(cli);
    if (rc == CLI_EXIT_OK)
        fprintf(cli->out, "context %s is current\n", cli->argument[0]);
    return rc;
}

int cli_context_delete(struct cli *cli)
{
    if (json_object_del(json_object_get(cli->profile, "contexts"), cli->argument[0]) != 0)
        return unknown(cli);
    if (text_equal(json_string_value(json_object_get(cli->profile, "current")), cli->argument[0]))
        json_object_del(cli->profile, "current");
    int rc = save(cli);
    if (rc == CLI_EXIT_OK)
        fprintf(cli->out, "context %s is deleted\n", cli->argument[0]);
    return rc;
}
