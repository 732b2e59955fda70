/*
 * Takes the command line apart by the one list of options, and prints help from the same list. An option that the verb does not have
 * is an error.
 */
#include "cli/cli.h"

#include "base/nearest.h"
#include "base/option.h"
#include "base/own.h"

#include <stdarg.h>
#include <string.h>

static const struct option_row rows[CLI_OPTIONS] = {
#define X(SYMBOL, NAME, LETTER, PLACEHOLDER, HELP)                                  \
    {.name = (NAME),                                                                \
     .letter = (LETTER),                                                            \
     .kind = (PLACEHOLDER) != NULL ? OPTION_TEXT : OPTION_GIVEN,                    \
     .offset = offsetof(struct cli, option) + CLI_OPTION_##SYMBOL * sizeof(char *), \
     .placeholder = (PLACEHOLDER),                                                  \
     .help = (HELP),                                                                \
     .once = CLI_OPTION_##SYMBOL == CLI_OPTION_LOSE},
    CLI_OPTION_LIST(X)
#undef X
};
static const struct option_table table = {.rows = rows, .count = CLI_OPTIONS};

#define COMMON                                                                                                         \
    (CLI_BIT(SERVER) | CLI_BIT(TOKEN) | CLI_BIT(FINGERPRINT) | CLI_BIT(CA_FILE) | CLI_BIT(CONTEXT) | CLI_BIT(OUTPUT) | \
     CLI_BIT(HELP))

int cli_usage(struct cli *cli, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fputs("hpctl: ", cli->err);
    vfprintf(cli->err, fmt, ap);
    fputc('\n', cli->err);
    va_end(ap);
    return CLI_EXIT_USAGE;
}

static void print_options(FILE *f, cli_option_set set)
{
    for (int i = 0; i < CLI_OPTIONS; i++)
        if ((set & CLI_BIT_OF(i)) != 0)
            option_print(&rows[i], f);
}

/* noun NULL: of all. Returns how many there are. */
static size_t print_verbs(FILE *f, const char *noun)
{
    size_t count = 0;
    for (size_t i = 0; i < cli_verb_count; i++) {
        char left[64];
        const struct cli_verb *v = &cli_verbs[i];
        if (noun != NULL && !text_equal(v->noun, noun))
            continue;
        snprintf(left, sizeof(left), "%s%s%s %s", v->noun, *v->verb == 0 ? "" : " ", v->verb, v->arguments);
        fprintf(f, "  %-30s  %s\n", left, v->help);
        count++;
    }
    return count;
}

static void print_noun_help(FILE *f, const char *noun)
{
    fprintf(f, "usage: hpctl %s VERB [ARGUMENTS] [OPTIONS]\n\n", noun);
    print_verbs(f, noun);
    fprintf(f, "\nhpctl %s VERB --help shows the options of a verb.\n", noun);
}

void cli_print_help(FILE *f)
{
    fputs("hpctl drives Holdfast, which keeps GPU clusters training through hardware failure.\n\n"
          "usage: hpctl NOUN VERB [ARGUMENTS] [OPTIONS]\n\n",
          f);
    print_verbs(f, NULL);
    fputs("\noptions of every verb:\n", f);
    print_options(f, COMMON);
    fputs("\nThe server and the token are looked for in the options, in HPCTL_URL, HPCTL_TOKEN and HPCTL_FINGERPRINT,\n"
          "and in ~/.config/holdfast/hpctl.yaml (or the file HPCTL_CONFIG names): contexts as hpctl login makes them, "
          "or url,\n"
          "token, fingerprint, cluster.\n\n"
          "exit codes:\n",
          f);
#define X(SYMBOL, code, meaning) fprintf(f, "  %d  %s\n", code, meaning);
    CLI_EXIT_LIST(X)
#undef X
}

void cli_print_verb_help(FILE *f, const struct cli_verb *verb)
{
    fprintf(f, "usage: hpctl %s%s%s%s%s [OPTIONS]\n\n%s\n\n", verb->noun, *verb->verb ? " " : "", verb->verb,
            *verb->arguments ? " " : "", verb->arguments, verb->help);
    print_options(f, verb->options | COMMON);
}

const struct cli_verb *cli_find_verb(const char *noun, const char *name)
{
    for (size_t i = 0; i < cli_verb_count; i++)
        if (text_equal(cli_verbs[i].noun, noun) && (*cli_verbs[i].verb == 0 || text_equal(cli_verbs[i].verb, name)))
            return &cli_verbs[i];
    return NULL;
}

static bool is_noun(const char *word)
{
    for (size_t i = 0; i < cli_verb_count; i++)
        if (text_equal(cli_verbs[i].noun, word))
            return true;
    return false;
}

static int unknown_noun(struct cli *cli, const char *noun)
{
    char hint[NEAREST_HINT_MAX];
    struct nearest nearest = {.word = noun};
    for (size_t i = 0; i < cli_verb_count; i++)
        nearest_see(&nearest, cli_verbs[i].noun);
    return cli_usage(cli, "there is no \"%s\"%s; hpctl --help lists the nouns and verbs", noun,
                     nearest_hint(&nearest, hint));
}

static int unknown_verb(struct cli *cli, const char *noun, const char *name)
{
    struct text verbs AUTO(text) = {0};
    for (size_t i = 0; i < cli_verb_count; i++)
        if (text_equal(cli_verbs[i].noun, noun))
            text_printf(&verbs, "%s%s", verbs.len > 0 ? ", " : "", cli_verbs[i].verb);
    if (verbs.len == 0)
        return unknown_noun(cli, noun);
    if (name == NULL)
        return cli_usage(cli, "%s what? Verbs: %s", noun, text_get(&verbs));
    struct nearest nearest = {.word = name};
    for (size_t i = 0; i < cli_verb_count; i++)
        if (text_equal(cli_verbs[i].noun, noun))
            nearest_see(&nearest, cli_verbs[i].verb);
    char hint[NEAREST_HINT_MAX];
    return cli_usage(cli, "%s has no verb \"%s\"%s; verbs: %s", noun, name, nearest_hint(&nearest, hint),
                     text_get(&verbs));
}

const char *cli_option_name(enum cli_option option)
{
    return rows[option].name;
}

char cli_option_letter(enum cli_option option)
{
    return rows[option].letter;
}

bool cli_option_takes_value(enum cli_option option)
{
    return rows[option].kind == OPTION_TEXT;
}

bool cli_verb_takes(const struct cli_verb *verb, enum cli_option option)
{
    return ((verb->options | COMMON) & CLI_BIT_OF(option)) != 0;
}

/* "jsonpath=" and what follows: the rest is the expression. */
static int read_format(struct cli *cli, const char *format)
{
    static const struct {
        const char *name;
        enum cli_format format;
        bool expression;
    } formats[] = {{"table", CLI_FORMAT_TABLE, false},       {"wide", CLI_FORMAT_TABLE, false},
                   {"json", CLI_FORMAT_JSON, false},         {"yaml", CLI_FORMAT_YAML, false},
                   {"name", CLI_FORMAT_NAME, false},         {"hosts", CLI_FORMAT_HOSTS, false},
                   {"jsonpath=", CLI_FORMAT_JSONPATH, true}, {"custom-columns=", CLI_FORMAT_COLUMNS, true}};
    char hint[NEAREST_HINT_MAX];
    struct nearest nearest = {.word = format};
    cli_table_options.wide = text_equal(format, "wide");
    cli_table_options.no_headers = cli->option[CLI_OPTION_NO_HEADERS] != NULL;
    for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
        size_t len = strlen(formats[i].name);
        nearest_see(&nearest, formats[i].name);
        if (formats[i].expression ? !text_starts_with(format, formats[i].name) || format[len] == '\0'
                                  : !text_equal(format, formats[i].name))
            continue;
        cli->format = formats[i].format;
        cli->expression = formats[i].expression ? format + len : NULL;
        return CLI_EXIT_OK;
    }
    return cli_usage(
        cli,
        "--output is table, wide, json, yaml, name, hosts, jsonpath=PATH or custom-columns=TITLE:path,…, not "
        "\"%s\"%s",
        format, nearest_hint(&nearest, hint));
}

static int check_options(struct cli *cli, const struct cli_verb *verb)
{
    for (int i = 0; i < CLI_OPTIONS; i++)
        if (cli->option[i] != NULL && !cli_verb_takes(verb, (enum cli_option)i))
            return cli_usage(cli, "--%s is not an option of %s %s; add --help to see those", rows[i].name, verb->noun,
                             verb->verb);
    const char *format = cli->option[CLI_OPTION_OUTPUT], *plot = cli->option[CLI_OPTION_PLOT];
    if (plot != NULL && !text_ends_with(plot, ".svg"))
        return cli_usage(cli, "--plot draws SVG and nothing else: name a file that ends with .svg, not \"%s\"", plot);
    int rc = read_format(cli, format != NULL ? format : "table");
    return rc == CLI_EXIT_OK ? cli_check_words(cli, verb) : rc;
}

static int take_arguments(struct cli *cli, const struct cli_verb *verb, const char *const *words, int count)
{
    int used = *verb->verb == 0 ? 1 : 2;
    int left = count - used;
    if (left < verb->arguments_min)
        return cli_usage(cli, "%s%s%s needs %s", verb->noun, *verb->verb == 0 ? "" : " ", verb->verb, verb->arguments);
    if (left > verb->arguments_max)
        return cli_usage(cli, "%s%s%s does not take \"%s\"; add --help to see what it takes", verb->noun,
                         *verb->verb == 0 ? "" : " ", verb->verb, words[used + verb->arguments_max]);
    for (int i = 0; i < left; i++)
        cli->argument[i] = words[used + i];
    cli->argument_count = left;
    return CLI_EXIT_OK;
}

/* As near to what was typed as there is something to say. Not asked for, it is an error. */
static int help(struct cli *cli, const struct cli_verb *verb, const char *const *words, int count, bool asked)
{
    if (verb != NULL)
        cli_print_verb_help(cli->out, verb);
    else if (count > 0 && (count > 1 || !is_noun(words[0])))
        return unknown_verb(cli, words[0], count > 1 ? words[1] : NULL);
    else if (count > 0)
        print_noun_help(cli->out, words[0]);
    else
        cli_print_help(asked ? cli->out : cli->err);
    return asked ? CLI_EXIT_OK : CLI_EXIT_USAGE;
}

int cli_parse(struct cli *cli, int argc, char **argv, const struct cli_verb **ret_verb)
{
    char error[OPTION_ERROR_MAX];
    int count = 0;
    autofree const char **words = own_calloc((size_t)argc + 2, sizeof(*words));
    *ret_verb = NULL;
    if (option_read(&table, argc, argv, cli, words, error) != 0)
        return cli_usage(cli, "%s; add --help to see the options of the verb", error);
    while (words[count] != NULL)
        count++;
    if (TAKE(cli->option[CLI_OPTION_VERSION]) != NULL)
        words[count++] = "version";
    if (count > 2 + CLI_POSITIONAL_MAX)
        return cli_usage(cli, "too many words: \"%s\"", words[2 + CLI_POSITIONAL_MAX]);
    bool asked = count > 0 && text_equal(words[0], "help"); /* "help node list" is "node list --help" */
    if (asked)
        memmove(words, words + 1, (size_t)--count * sizeof(*words));
    asked = asked || cli->option[CLI_OPTION_HELP] != NULL;
    const struct cli_verb *verb = count > 0 ? cli_find_verb(words[0], count > 1 ? words[1] : NULL) : NULL;
    if (asked || count == 0)
        return help(cli, verb, words, count, asked);
    if (verb == NULL)
        return unknown_verb(cli, words[0], count > 1 ? words[1] : NULL);
    int rc = check_options(cli, verb);
    if (rc == CLI_EXIT_OK)
        rc = take_arguments(cli, verb, words, count);
    if (rc == CLI_EXIT_OK)
        *ret_verb = verb;
    return rc;
}
