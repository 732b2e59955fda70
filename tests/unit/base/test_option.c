/* Command lines: every way to write an option, every way to get it wrong, the two kinds of tables, and the help. */
#include "base/option.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define ARGS_MAX 16

struct wanted {
    const char *node, *given, *group;
    int64_t count;
    bool force;
    char even[8];
};

static int set_even(void *wanted, const char *value)
{
    text_copy_cut(((struct wanted *)wanted)->even, sizeof(((struct wanted *)wanted)->even), value);
    return strlen(value) % 2 == 0 ? 0 : STATUS_INVALID;
}

static int set_four(void *wanted, const char *value)
{
    assert_string_equal(value, "");
    return set_even(wanted, "four");
}

static const struct option_row rows[] = {
    {.kind = OPTION_TITLE, .help = "Nodes"},
    {.name = "node-name",
     .letter = 'n',
     .kind = OPTION_TEXT,
     .offset = offsetof(struct wanted, node),
     .placeholder = "NAME",
     .help = "the node",
     .fallback = "none"},
    {.name = "given", .kind = OPTION_GIVEN, .offset = offsetof(struct wanted, given), .help = "given or not"},
    {.name = "group",
     .kind = OPTION_TEXT,
     .offset = offsetof(struct wanted, group),
     .placeholder = "NAME",
     .help = "the group",
     .once = true},
    {.name = "count",
     .letter = 'c',
     .kind = OPTION_NUMBER,
     .offset = offsetof(struct wanted, count),
     .placeholder = "N",
     .max = 10,
     .help = "how many"},
    OPTION_ROW_FLAG(struct wanted, "force", force, "at any price"),
    OPTION_ROW_SET("even", set_even, "WORD", "an even word"),
    OPTION_ROW_SET("four", set_four, NULL, "a word of four"),
    OPTION_ROW_TEXT(struct wanted, "hidden", node, "NAME", NULL),
};
static const struct option_table plain = {.rows = rows, .count = ARRAY_LEN(rows)};
static const struct option_table torchrun = {
    .rows = rows, .count = ARRAY_LEN(rows), .abbreviated = true, .underscores = true, .ends_at_a_word = true};

/* The words that are left, with blanks between; on an error the message. Caller frees. */
static char *read_line(const struct option_table *table, const char *line, struct wanted *ret_wanted, int *ret_rc)
{
    static char copy[256]; /* what is read points into it */
    char *argv[ARGS_MAX + 1] = {copy}, *save = NULL, error[OPTION_ERROR_MAX] = "";
    const char *words[ARGS_MAX + 1];
    int argc = 0;
    text_copy_cut(copy, sizeof(copy), line);
    for (char *word = strtok_r(copy, " ", &save); word != NULL; word = strtok_r(NULL, " ", &save))
        argv[argc++] = word;
    *ret_wanted = (struct wanted){.count = -1};
    *ret_rc = option_read(table, argc, argv, ret_wanted, words, error);
    struct text text = {0};
    for (size_t i = 0; *ret_rc == 0 && words[i] != NULL; i++)
        text_printf(&text, "%s%s", i > 0 ? " " : "", words[i]);
    if (*ret_rc != 0)
        text_add(&text, error);
    text_add(&text, "");
    return text_take(&text);
}

static void test_values(void **state)
{
    (void)state;
    static const struct {
        const char *line, *node, *words;
        int64_t count;
    } cases[] = {
        {"p --node-name a --count 3", "a", "", 3},
        {"p --node-name=a --count=3", "a", "", 3},
        {"p -n a -c 3", "a", "", 3},
        {"p -na -c3", "a", "", 3},
        {"p -n=a -c=3", "a", "", 3},
        {"p x --node-name a y -c 0 z", "a", "x y z", 0},
        {"p --node-name a --node-name b", "b", "", -1},
        {"p --node-name=a=b", "a=b", "", -1},
        {"p --node-name --count", "--count", "", -1},
        {"p -- --node-name a", NULL, "--node-name a", -1},
        {"p - -- --", NULL, "- --", -1},
        {"p --hidden a", "a", "", -1},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct wanted wanted;
        int rc;
        autofree char *words = read_line(&plain, cases[i].line, &wanted, &rc);
        if (rc != 0 || !text_equal(words, cases[i].words) || !text_equal(wanted.node, cases[i].node) ||
            wanted.count != cases[i].count)
            fail_msg("%s: %s, node %s", cases[i].line, words, text_or_empty(wanted.node));
    }
}

static void test_what_takes_no_value(void **state)
{
    (void)state;
    struct wanted wanted;
    int rc;
    autofree char *words = read_line(&plain, "p --force x --given --four y", &wanted, &rc);
    assert_int_equal(rc, 0);
    assert_string_equal(words, "x y");
    assert_true(wanted.force);
    assert_string_equal(wanted.given, "");
    assert_string_equal(wanted.even, "four");
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"p --nope", "unknown option --nope"},
        {"p --node-nam a", "unknown option --node-nam (the nearest is \"--node-name\")"},
        {"p --node_name a", "unknown option --node_name (the nearest is \"--node-name\")"},
        {"p --hiden a", "unknown option --hiden"},
        {"p --=a", "unknown option --"},
        {"p -z", "unknown option -z"},
        {"p -\x01", "unknown option -?"},
        {"p --node-name", "--node-name needs a value: NAME"},
        {"p -n", "--node-name needs a value: NAME"},
        {"p --force=1", "--force takes no value"},
        {"p --given=1", "--given takes no value"},
        {"p --four=1", "--four takes no value"},
        {"p --group a --group b", "--group is given twice"},
        {"p --count 11", "--count has to be a number from 0 to 10, not \"11\""},
        {"p --count=", "--count has to be a number from 0 to 10, not \"\""},
        {"p --even odd", "--even cannot be \"odd\"; it takes WORD: an even word"},
        {"p --aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
         "unknown option --aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct wanted wanted;
        int rc;
        autofree char *message = read_line(&plain, cases[i].line, &wanted, &rc);
        assert_int_equal(rc, STATUS_INVALID);
        assert_string_equal(message, cases[i].message);
    }
}

static void test_as_torchrun_reads(void **state)
{
    (void)state;
    struct wanted wanted;
    int rc;
    autofree char *words = read_line(&torchrun, "p --node_name a --cou 3 --even=ab script -n b --nope", &wanted, &rc);
    assert_int_equal(rc, 0);
    assert_string_equal(words, "script -n b --nope");
    assert_string_equal(wanted.node, "a");
    assert_int_equal(wanted.count, 3);
    free(TAKE(words));
    words = read_line(&torchrun, "p --g a", &wanted, &rc);
    assert_int_equal(rc, STATUS_INVALID);
    assert_string_equal(words, "--g may be --given or --group");
    free(TAKE(words));
    words = read_line(&torchrun, "p --no a", &wanted, &rc);
    assert_int_equal(rc, 0);
    assert_string_equal(wanted.node, "a");
}

static void test_help(void **state)
{
    (void)state;
    char *help = NULL;
    size_t len;
    FILE *out = open_memstream(&help, &len);
    option_print_all(&plain, out);
    fclose(out);
    assert_string_equal(help, "\nNodes:\n"
                              "  -n, --node-name NAME               the node (none)\n"
                              "      --given                        given or not\n"
                              "      --group NAME                   the group\n"
                              "  -c, --count N                      how many\n"
                              "      --force                        at any price\n"
                              "      --even WORD                    an even word\n"
                              "      --four                         a word of four\n");
    free(help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),  cmocka_unit_test(test_what_takes_no_value),
        cmocka_unit_test(test_refused), cmocka_unit_test(test_as_torchrun_reads),
        cmocka_unit_test(test_help),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
