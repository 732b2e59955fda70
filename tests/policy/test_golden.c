/*
 * The golden cases: one test per file in tests/policy/cases, and one for the words that they share (said.h). UPDATE=1 writes down
 * what the policy says now, for a person to read in the diff; a case that nobody read is no test.
 */
#include "tests/policy/case_said.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <dirent.h>

#define CASES_DIR "tests/policy/cases"
#define SAID_RULES "tests/policy/said/rules"
#define SAID_FAULTS "tests/policy/said/faults"
#define CASES_MAX 2048
#define CASES_AT_LEAST 150

static struct said words_said;

static char *read_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    struct text content = {0};
    char block[4096];
    size_t len;
    while ((len = fread(block, 1, sizeof(block), file)) > 0)
        text_add_bytes(&content, block, len);
    fclose(file);
    return text_take(&content);
}

static void write_case(const char *path, const char *source, size_t keep, const char *said)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(source, 1, keep, file), keep);
    assert_int_equal(fwrite(said, 1, strlen(said), file), strlen(said));
    assert_int_equal(fclose(file), 0);
}

/* Line by line: what was expected and is missing with '-', what came instead with '+'. */
static void show_difference(const char *expected, const char *said)
{
    while (*expected != '\0' || *said != '\0') {
        size_t a = strcspn(expected, "\n"), b = strcspn(said, "\n");
        if (a == b && memcmp(expected, said, a) == 0) {
            print_error("    %.*s\n", (int)a, expected);
        } else {
            if (*expected != '\0')
                print_error("  - %.*s\n", (int)a, expected);
            if (*said != '\0')
                print_error("  + %.*s\n", (int)b, said);
        }
        expected += a + (expected[a] == '\n' ? 1 : 0);
        said += b + (said[b] == '\n' ? 1 : 0);
    }
}

/* What this case is the first to say. */
static void show_new_texts(size_t known)
{
    for (size_t i = known; i < words_said.count; i++) {
        const struct said_text *text = &words_said.texts[i];
        print_error("  ? %s does not have: %s%s%s\n", text->is_fault ? SAID_FAULTS : SAID_RULES,
                    text->is_fault ? "" : decision_rule_text(text->rule), text->is_fault ? "" : " ", text->text);
    }
    if (known < words_said.count)
        print_error("  UPDATE=1 tests/policy/test_golden writes it down: read it in the diff\n");
}

static void run_case(void **state)
{
    const char *path = *state;
    autofree char *source = read_file(path);
    struct policy_case c;
    if (!case_read(source, &c)) {
        print_error("%s: %s\n", path, c.error);
        case_free(&c);
        fail();
    }
    struct policy_plan plan;
    policy_decide(&c.snapshot, &plan);
    size_t known = words_said.count;
    autofree char *rendered = case_render(&c, &plan, &words_said);
    bool same = strcmp(source + c.expect_at, rendered) == 0;
    if (!same && words_said.may_add)
        write_case(path, source, c.expect_at, rendered);
    if (!same && !words_said.may_add) {
        print_error("%s: %s\n", path, c.story);
        show_difference(source + c.expect_at, rendered);
        show_new_texts(known);
    }
    policy_plan_free(&plan);
    case_free(&c);
    assert_true(same || words_said.may_add);
}

/* Each text is said by a case, each rule of the policy says something, and the lists have the rules' own sentences. */
static void the_words_of_the_rules(void **state)
{
    bool has[RULE_COUNT] = {[RULE_NONE] = true, [RULE_FORMER] = true, [RULE_PERSON_REQUEST] = true};
    int wrong = 0;
    (void)state;
    for (size_t i = 0; i < words_said.count; i++) {
        const struct said_text *text = &words_said.texts[i];
        has[text->rule] = has[text->rule] || text->is_used;
        if (text->is_used || text->is_new || words_said.may_add)
            continue;
        print_error("no case says this any more: %s %d %s\n", decision_rule_text(text->rule), text->number, text->text);
        wrong++;
    }
    for (int rule = 0; rule < RULE_COUNT; rule++) {
        if (words_said.wrong[rule] != NULL && !words_said.may_add)
            print_error("%s has another sentence in " SAID_RULES "\n", decision_rule_text((enum decision_rule)rule));
        if (!has[rule])
            print_error("no case has the rule %s\n", decision_rule_text((enum decision_rule)rule));
        wrong += (words_said.wrong[rule] != NULL && !words_said.may_add) + !has[rule];
    }
    if (wrong > 0 && !words_said.may_add)
        print_error("UPDATE=1 tests/policy/test_golden writes them down as they are\n");
    assert_int_equal(wrong, 0);
    if (!words_said.may_add)
        return;
    autofree char *rules = said_render(&words_said, false), *faults = said_render(&words_said, true);
    write_case(SAID_RULES, "", 0, rules);
    write_case(SAID_FAULTS, "", 0, faults);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static size_t find_cases(char *paths[CASES_MAX])
{
    DIR *dir = opendir(CASES_DIR);
    size_t count = 0;
    for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL && count < CASES_MAX;)
        if (text_ends_with(entry->d_name, ".case"))
            paths[count++] = own_printf("%s/%s", CASES_DIR, entry->d_name);
    if (dir != NULL)
        closedir(dir);
    qsort(paths, count, sizeof(paths[0]), by_text);
    return count;
}

int main(void)
{
    static char *paths[CASES_MAX];
    static struct CMUnitTest tests[CASES_MAX + 1];
    size_t count = find_cases(paths);
    if (count == CASES_MAX) {
        print_error("more cases in %s than this runs: none is to be left out unseen\n", CASES_DIR);
        return 1;
    }
    if (count < CASES_AT_LEAST) {
        print_error("only %zu cases in %s (run from the root of the repository)\n", count, CASES_DIR);
        return 1;
    }
    for (size_t i = 0; i < count; i++) {
        const char *name = strrchr(paths[i], '/') + 1;
        tests[i] = (struct CMUnitTest){.name = own_printf("%.*s", (int)(strlen(name) - strlen(".case")), name),
                                       .test_func = run_case,
                                       .initial_state = paths[i]};
    }
    tests[count] = (struct CMUnitTest){.name = "the_words_of_the_rules", .test_func = the_words_of_the_rules};
    words_said.may_add = getenv("UPDATE") != NULL;
    autofree char *rules = read_file(SAID_RULES), *faults = read_file(SAID_FAULTS);
    if (!said_read_rules(&words_said, rules)) {
        print_error(SAID_RULES " is not understood: a line is \"rule: sentence\" or \"number text\"\n");
        return 1;
    }
    said_read_faults(&words_said, faults);
    int failed = _cmocka_run_group_tests("golden", tests, count + 1, NULL, NULL);
    said_free(&words_said);
    return failed;
}
