/*
 * hpctl completion bash|zsh|fish: a script for the shell, which asks `hpctl completion words LINE` for what may come next: nouns, verbs,
 * options, the words that an option takes, and names of clusters and nodes as the server has them.
 */
#include "cli/cli.h"

#include "base/json.h"
#include "base/own.h"

#include <string.h>

#define WORDS_MAX 32
#define ASK_TIMEOUT_MS 2000 /* a shell waits for it */

static const char BASH[] = "_hpctl() {\n"
                           "    local IFS=$'\\n'\n"
                           "    COMPREPLY=($(hpctl completion words \"${COMP_LINE:0:COMP_POINT}\" 2>/dev/null))\n"
                           "}\n"
                           "complete -o default -F _hpctl hpctl\n";
static const char ZSH[] = "#compdef hpctl\n"
                          "_hpctl() {\n"
                          "    local -a found\n"
                          "    found=(${(f)\"$(hpctl completion words \"${LBUFFER}\" 2>/dev/null)\"})\n"
                          "    compadd -a found\n"
                          "}\n"
                          "compdef _hpctl hpctl\n";
static const char FISH[] = "complete -c hpctl -f -a '(hpctl completion words (commandline -cp) 2>/dev/null)'\n";

struct completion {
    struct cli *cli;
    char *words[WORDS_MAX]; /* before the last */
    size_t count;
    const char *last; /* what has been typed of the word that is completed */
    const struct cli_verb *verb;
};

static void offer(const struct completion *c, const char *word)
{
    if (*word != '\0' && text_starts_with(word, c->last))
        fprintf(c->cli->out, "%s\n", word);
}

/* Words of the line without "hpctl"; the last one may be empty. */
static void split(struct completion *c, char *line)
{
    for (;;) {
        line += strspn(line, " ");
        size_t len = strcspn(line, " ");
        if (line[len] == '\0' || c->count == WORDS_MAX) {
            c->last = line;
            return;
        }
        line[len] = '\0';
        c->words[c->count++] = line;
        line += len + 1;
    }
}

/* --- what the server knows ----------------------------------------------------------------------------------- */

static void offer_names(const struct completion *c, const char *path)
{
    struct cli *cli = c->cli;
    auto_json json_t *items = NULL;
    size_t i;
    json_t *item;
    FILE *err = cli->err, *nowhere = fopen("/dev/null", "we");
    if (nowhere == NULL)
        return;
    cli->err = nowhere;
    if (cli->client != NULL || cli_connect(cli) == CLI_EXIT_OK) {
        http_client_limit(cli->client, ASK_TIMEOUT_MS);
        (void)cli_ask_list(cli, path, 1000, &items);
    }
    cli->err = err;
    fclose(nowhere);
    json_array_foreach(items, i, item) offer(c, json_member_text(item, "name"));
}

static void offer_nodes(const struct completion *c)
{
    struct cli *cli = c->cli;
    autofree char *cluster = NULL;
    FILE *err = cli->err, *nowhere = fopen("/dev/null", "we");
    for (size_t i = 0; i + 1 < c->count; i++)
        if (text_equal(c->words[i], "-c") || text_equal(c->words[i], "--cluster"))
            cli->option[CLI_OPTION_CLUSTER] = c->words[i + 1];
    if (nowhere == NULL)
        return;
    cli->err = nowhere;
    int rc = cli_connect(cli);
    if (rc == CLI_EXIT_OK) {
        http_client_limit(cli->client, ASK_TIMEOUT_MS);
        rc = cli_cluster_name(cli, &cluster);
    }
    cli->err = err;
    fclose(nowhere);
    if (rc != CLI_EXIT_OK)
        return;
    autofree char *encoded = cli_encode(cluster), *path = own_printf("/v1/clusters/%s/nodes", encoded);
    offer_names(c, path);
}

/* --- what the table knows ------------------------------------------------------------------------------------- */

static void offer_nouns(const struct completion *c)
{
    for (size_t i = 0; i < cli_verb_count; i++)
        if (i == 0 || !text_equal(cli_verbs[i].noun, cli_verbs[i - 1].noun))
            offer(c, cli_verbs[i].noun);
}

static void offer_verbs(const struct completion *c)
{
    for (size_t i = 0; i < cli_verb_count; i++)
        if (text_equal(cli_verbs[i].noun, c->words[0]))
            offer(c, cli_verbs[i].verb);
}

static void offer_options(const struct completion *c)
{
    for (int i = 0; i < CLI_OPTIONS; i++) {
        autofree char *name = own_printf("--%s", cli_option_name((enum cli_option)i));
        if (cli_verb_takes(c->verb, (enum cli_option)i))
            offer(c, name);
    }
}

/* The option whose value is being typed; CLI_OPTIONS: none. */
static enum cli_option option_before(const struct completion *c)
{
    const char *before = c->count > 0 ? c->words[c->count - 1] : "";
    for (int i = 0; i < CLI_OPTIONS; i++) {
        autofree char *name = own_printf("--%s", cli_option_name((enum cli_option)i));
        if (cli_option_takes_value((enum cli_option)i) &&
            (text_equal(before, name) || (before[0] == '-' && before[1] != '\0' && before[2] == '\0' &&
                                          cli_option_letter((enum cli_option)i) == before[1])))
            return (enum cli_option)i;
    }
    return CLI_OPTIONS;
}

static void offer_value(const struct completion *c, enum cli_option option)
{
    const char *const *words = cli_words(c->verb, option);
    for (size_t i = 0; words != NULL && words[i] != NULL; i++)
        offer(c, words[i]);
    if (option == CLI_OPTION_CLUSTER)
        offer_names(c, "/v1/clusters");
    else if (option == CLI_OPTION_NODE || option == CLI_OPTION_NODES)
        offer_nodes(c);
}

static void complete(struct completion *c)
{
    const char *noun = c->count > 0 ? c->words[0] : "", *name = c->count > 1 ? c->words[1] : "";
    c->verb = cli_find_verb(noun, name);
    if (c->count == 0) {
        offer_nouns(c);
        return;
    }
    if (c->verb == NULL) {
        if (c->count == 1)
            offer_verbs(c);
        return;
    }
    enum cli_option option = option_before(c);
    if (option != CLI_OPTIONS)
        offer_value(c, option);
    else if (*c->last == '-')
        offer_options(c);
    else if (text_starts_with(c->verb->arguments, "NODE") || text_starts_with(c->verb->arguments, "[NODE]"))
        offer_nodes(c);
    else if (text_equal(c->verb->noun, "cluster") && strstr(c->verb->arguments, "NAME") != NULL)
        offer_names(c, "/v1/clusters");
}

int cli_completion_words(struct cli *cli)
{
    struct completion c = {.cli = cli};
    autofree char *line = own_strdup(cli->argument[0]);
    char *from = line + strspn(line, " ");
    from += strcspn(from, " "); /* hpctl itself */
    split(&c, from);
    complete(&c);
    return CLI_EXIT_OK;
}

int cli_completion_bash(struct cli *cli)
{
    fputs(BASH, cli->out);
    return CLI_EXIT_OK;
}

int cli_completion_zsh(struct cli *cli)
{
    fputs(ZSH, cli->out);
    return CLI_EXIT_OK;
}

int cli_completion_fish(struct cli *cli)
{
    fputs(FISH, cli->out);
    return CLI_EXIT_OK;
}
