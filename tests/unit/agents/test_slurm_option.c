/* The words of --auto-resume: what each says, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/slurm/option.h"

#include <string.h>

static struct resume_option option;
static char error[RESUME_OPTION_ERROR_MAX];

static void reads(const char *text, bool on, int crash, int attempts, const char *progress)
{
    assert_true(resume_option_parse(text, &option, error));
    assert_int_equal(option.on, on);
    assert_int_equal(option.crash_max, crash);
    assert_int_equal(option.attempts_max, attempts);
    assert_string_equal(option.progress, progress);
}

static void refuses(const char *text)
{
    const struct resume_option before = option;
    error[0] = '\0';
    assert_false(resume_option_parse(text, &option, error));
    assert_non_null(strstr(error, "is none of 0, 1, crash:N"));
    assert_memory_equal(&option, &before, sizeof(before));
}

static void test_words(void **state)
{
    (void)state;
    reads("0", false, 0, 0, "");
    reads("1", true, 0, 0, "");
    reads("crash:2", true, 2, 0, "");
    reads("crash:100", true, 100, 0, "");
    reads("1,crash:1,attempts:20,progress:/fsx/ckpt", true, 1, 20, "/fsx/ckpt");
    reads("progress:a:b", true, 0, 0, "a:b");
}

static void test_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"",
                                        "2",
                                        "01",
                                        "yes",
                                        ",",
                                        "1,",
                                        ",1",
                                        "1,1",
                                        "1,0",
                                        "crash",
                                        "crash:",
                                        "crash:0",
                                        "crash:+1",
                                        "crash:-1",
                                        "crash:101",
                                        "crash:1000",
                                        "crash:1 ",
                                        "crash:2,crash:2",
                                        "Crash:1",
                                        "attempts:",
                                        "progress:",
                                        "0,crash:2",
                                        "0,attempts:3",
                                        "crash:1x"};
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        refuses(texts[i]);
    char longest[RESUME_PATH_MAX + 16] = "progress:";
    memset(longest + strlen("progress:"), 'x', RESUME_PATH_MAX - 1);
    assert_true(resume_option_parse(longest, &option, error));
    longest[strlen("progress:") + RESUME_PATH_MAX - 1] = 'x';
    refuses(longest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words), cmocka_unit_test(test_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
