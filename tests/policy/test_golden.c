/*
 * The golden cases: one test per file in tests/policy/cases. UPDATE=1 writes down what the policy says now, for a
 * person to read in the diff; a case that nobody read is no test.
 */
#include "tests/policy/case_said.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <dirent.h>

#define CASES_DIR "tests/policy/cases"
#define CASES_MAX 512
#define CASES_AT_LEAST 150

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
    autofree char *said = case_render(&c, &plan);
    bool update = getenv("UPDATE") != NULL;
    bool same = strcmp(source + c.expect_at, said) == 0;
    if (!same && update)
        write_case(path, source, c.expect_at, said);
    if (!same && !update) {
        print_error("%s: %s\n", path, c.story);
        show_difference(source + c.expect_at, said);
    }
    policy_plan_free(&plan);
    case_free(&c);
    assert_true(same || update);
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
    static struct CMUnitTest tests[CASES_MAX];
    size_t count = find_cases(paths);
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
    return _cmocka_run_group_tests("golden", tests, count, NULL, NULL);
}
