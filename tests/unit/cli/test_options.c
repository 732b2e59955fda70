/*
 * hpctl's command line: every way to write it, every way to get it wrong, and the man page against the table of verbs.
 */
#include "base/file.h"
#include "cli/cli.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#define ARGS_MAX 12

static int parse(struct cli *cli, const struct cli_verb **verb, char **message, const char *const *words)
{
    char *argv[ARGS_MAX + 1] = {(char *)(uintptr_t) "hpctl"};
    int argc = 1;
    for (; words[argc - 1] != NULL; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    size_t len;
    FILE *f = open_memstream(message, &len);
    *cli = (struct cli){.out = f, .err = f};
    int rc = cli_parse(cli, argc, argv, verb);
    fclose(f);
    return rc;
}

static void test_accepts(void **state)
{
    (void)state;
    static const struct {
        const char *words[ARGS_MAX];
        const char *noun, *verb, *argument;
        enum cli_option option;
        const char *value;
    } cases[] = {
        {{"node", "reboot", "gpu-1", "--wait"}, "node", "reboot", "gpu-1", CLI_OPTION_WAIT, ""},
        {{"--wait", "node", "reboot", "gpu-1"}, "node", "reboot", "gpu-1", CLI_OPTION_WAIT, ""},
        {{"node", "reboot", "gpu-1", "--reason", "two words"},
         "node",
         "reboot",
         "gpu-1",
         CLI_OPTION_REASON,
         "two words"},
        {{"node", "reboot", "--reason=a=b", "gpu-1"}, "node", "reboot", "gpu-1", CLI_OPTION_REASON, "a=b"},
        {{"node", "list", "-c", "prod"}, "node", "list", NULL, CLI_OPTION_CLUSTER, "prod"},
        {{"node", "list", "-c=prod", "-o=json"}, "node", "list", NULL, CLI_OPTION_CLUSTER, "prod"},
        {{"node", "list", "-cprod", "-ojson"}, "node", "list", NULL, CLI_OPTION_CLUSTER, "prod"},
        {{"cluster", "describe", "--", "--wait"}, "cluster", "describe", "--wait", CLI_OPTIONS, NULL},
        {{"version"}, "version", "", NULL, CLI_OPTIONS, NULL},
        {{"--version"}, "version", "", NULL, CLI_OPTIONS, NULL},
        {{"node", "list", "-c", "--version"}, "node", "list", NULL, CLI_OPTION_CLUSTER, "--version"},
        {{"inject", "xid", "79", "-n", "gpu-1"}, "inject", "xid", "79", CLI_OPTION_NODE, "gpu-1"},
        {{"cluster", "create", "-f", "-"}, "cluster", "create", NULL, CLI_OPTION_FILE, "-"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cli cli;
        const struct cli_verb *verb = NULL;
        autofree char *message = NULL;
        assert_int_equal(parse(&cli, &verb, &message, cases[i].words), CLI_EXIT_OK);
        assert_non_null(verb);
        assert_string_equal(verb->noun, cases[i].noun);
        assert_string_equal(verb->verb, cases[i].verb);
        if (cases[i].argument != NULL)
            assert_string_equal(cli.argument[0], cases[i].argument);
        if (cases[i].option != CLI_OPTIONS)
            assert_string_equal(cli.option[cases[i].option], cases[i].value);
    }
}

static void test_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *words[ARGS_MAX];
        const char *says;
    } cases[] = {
        {{"nodes", "list"}, "there is no \"nodes\""},
        {{"node"}, "node what?"},
        {{"node", "destroy", "x"}, "no verb \"destroy\""},
        {{"node", "reboot"}, "needs NODE"},
        {{"node", "reboot", "a", "b"}, "does not take \"b\""},
        {{"node", "reboot", "a", "--wait=yes"}, "takes no value"},
        {{"node", "reboot", "a", "--reason"}, "needs a value"},
        {{"node", "list", "--wait"}, "not an option of node list"},
        {{"node", "list", "--nonsense"}, "unknown option --nonsense; add"},
        {{"node", "list", "--ouput=json"}, "unknown option --ouput (the nearest is \"--output\")"},
        {{"node", "lits"}, "node has no verb \"lits\" (the nearest is \"list\")"},
        {{"nod", "list"}, "there is no \"nod\" (the nearest is \"node\")"},
        {{"node", "list", "-Z"}, "unknown option -Z"},
        {{"node", "list", "-o", "xml"}, "table, wide, json, yaml"},
        {{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"}, "too many words"},
        {{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "--version"}, "too many words"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct cli cli;
        const struct cli_verb *verb = NULL;
        autofree char *message = NULL;
        assert_int_equal(parse(&cli, &verb, &message, cases[i].words), CLI_EXIT_USAGE);
        assert_null(verb);
        if (strstr(message, cases[i].says) == NULL)
            fail_msg("case %zu says \"%s\" instead of \"%s\"", i, message, cases[i].says);
    }
}

static void test_help(void **state)
{
    (void)state;
    struct cli cli;
    const struct cli_verb *verb = NULL;
    char *message = NULL;
    assert_int_equal(parse(&cli, &verb, &message, (const char *[]){"--help", NULL}), CLI_EXIT_OK);
    assert_null(verb);
    for (size_t i = 0; i < cli_verb_count; i++)
        assert_non_null(strstr(message, cli_verbs[i].help));
    free(TAKE(message));
    assert_int_equal(parse(&cli, &verb, &message, (const char *[]){"node", "reboot", "-h", NULL}), CLI_EXIT_OK);
    assert_non_null(strstr(message, "usage: hpctl node reboot NODE"));
    assert_non_null(strstr(message, "--idempotency-key"));
    assert_null(strstr(message, "--enrollment"));
    free(TAKE(message));
    assert_int_equal(parse(&cli, &verb, &message, (const char *[]){"node", "--help", NULL}), CLI_EXIT_OK);
    assert_non_null(strstr(message, "  node reboot NODE "));
    assert_null(strstr(message, "  cluster "));
    free(TAKE(message));
    assert_int_equal(parse(&cli, &verb, &message, (const char *[]){"help", "node", "reboot", NULL}), CLI_EXIT_OK);
    assert_non_null(strstr(message, "usage: hpctl node reboot NODE"));
    free(TAKE(message));
    assert_int_equal(parse(&cli, &verb, &message, (const char *[]){"help", NULL}), CLI_EXIT_OK);
    assert_non_null(strstr(message, "  cluster list "));
    free(TAKE(message));
    assert_int_equal(parse(&cli, &verb, &message, (const char *[]){"nodes", "--help", NULL}), CLI_EXIT_USAGE);
    assert_non_null(strstr(message, "there is no \"nodes\""));
    free(TAKE(message));
    assert_int_equal(parse(&cli, &verb, &message, (const char *[]){NULL}), CLI_EXIT_USAGE);
    free(message);
}

static void test_man_page_names_every_verb_and_exit_code(void **state)
{
    (void)state;
    autofree char *page = NULL;
    size_t len;
    assert_int_equal(file_read("docs/man/hpctl.1", 1 << 20, &page, &len), 0);
    for (size_t i = 0; i < cli_verb_count; i++) {
        autofree char *words =
            own_printf("Cm %s%s%s", cli_verbs[i].noun, *cli_verbs[i].verb ? " " : "", cli_verbs[i].verb);
        if (strstr(page, words) == NULL)
            fail_msg("docs/man/hpctl.1 does not name \"%s\"", words);
    }
#define X(SYMBOL, code, meaning) assert_non_null(strstr(page, meaning));
    CLI_EXIT_LIST(X)
#undef X
}

static void test_table_shows_no_control_characters(void **state)
{
    (void)state;
    static const struct cli_column columns[] = {{"A", "a"}, {"LONGER", "b.c"}};
    auto_json json_t *items = json_pack("[{s:s, s:{s:i}}, {s:s}]", "a", "x\033[31mred", "b", "c", 7, "a", "long value");
    char *text = NULL;
    size_t len;
    FILE *f = open_memstream(&text, &len);
    cli_print_table(f, items, columns, ARRAY_LEN(columns), "none");
    cli_print_table(f, json_object_get(items, "none"), columns, ARRAY_LEN(columns), "nothing here");
    fclose(f);
    assert_string_equal(text, "A           LONGER\nx?[31mred   7\nlong value  -\nnothing here\n");
    free(TAKE(text));

    char buffer[32];
    auto_json json_t *c1 = json_pack("{s:s}", "a", "x\302\23331m\303\251");
    assert_string_equal(cli_value(c1, "a", buffer, sizeof(buffer)), "x??31m\303\251");
    memset(buffer, 'x', sizeof(buffer)); /* who reads the buffer finds nothing in it either */
    assert_string_equal(cli_value(c1, "a.b", buffer, sizeof(buffer)), "");
    assert_int_equal(buffer[0], 0);
    buffer[0] = 'x';
    assert_string_equal(cli_value(c1, "none", buffer, sizeof(buffer)), "");
    assert_int_equal(buffer[0], 0);
    f = open_memstream(&text, &len);
    cli_print_harmless(f, "two\nlines \033[2J\302\2332J\177 \303\251\n");
    fclose(f);
    assert_string_equal(text, "two\nlines ?[2J?2J? \303\251\n");
    free(text);
}

static void test_event_words(void **state)
{
    static const struct {
        const char *event, *words;
    } cases[] = {
        {"{\"node\":\"a-1\",\"group\":\"a\",\"message\":\"ready\"}", "ready"},
        {"{\"group\":\"a\",\"message\":\"all are in service\"}", "group a: all are in service"},
        {"{\"message\":\"the cluster\"}", "the cluster"},
        {"{\"message\":\"failed\",\"failureMessage\":\"code 3:\\nno\\nspace\\n\\n\"}", "failed: code 3: no space"},
        {"{\"message\":\"failed\",\"failureMessage\":\"\"}", "failed"},
        {"{\"message\":\"launch failed at join: late\",\"failureMessage\":\"join: late\"}",
         "launch failed at join: late"},
        {"{}", ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        auto_json json_t *event = json_loads(cases[i].event, 0, NULL);
        assert_non_null(event);
        cli_event_words(event);
        assert_string_equal(json_string_value(json_object_get(event, "_what")), cases[i].words);
    }
}

static void test_encode(void **state)
{
    (void)state;
    autofree char *text = cli_encode("a/b?c=ä ~");
    assert_string_equal(text, "a%2Fb%3Fc%3D%C3%A4%20~");
    struct text path = {0};
    text_add(&path, "/v1/events");
    cli_add_query(&path, "cluster", NULL);
    cli_add_query(&path, "node", "a b");
    cli_add_query(&path, "after", "7");
    assert_string_equal(text_get(&path), "/v1/events?node=a%20b&after=7");
    text_free(&path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_accepts),
        cmocka_unit_test(test_refuses),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_man_page_names_every_verb_and_exit_code),
        cmocka_unit_test(test_table_shows_no_control_characters),
        cmocka_unit_test(test_event_words),
        cmocka_unit_test(test_encode),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
