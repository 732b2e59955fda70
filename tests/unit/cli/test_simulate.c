/* hpctl simulate: the answer, the plot, the JSON that can be run again, and every way to ask wrongly. */
#include "base/file.h"
#include "base/own.h"
#include "cli/cli.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>
#include <string.h>

#define ARGS_MAX 12

static int hpctl(char **ret_out, char **ret_err, const char *const *words)
{
    char *argv[ARGS_MAX + 1] = {(char *)(uintptr_t) "hpctl"};
    int argc = 1;
    for (; words[argc - 1] != NULL; argc++)
        argv[argc] = (char *)(uintptr_t)words[argc - 1];
    size_t out_len, err_len;
    FILE *out = open_memstream(ret_out, &out_len), *err = open_memstream(ret_err, &err_len);
    int rc = cli_main(argc, argv, out, err);
    fclose(out);
    fclose(err);
    return rc;
}
#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void test_answers(void **state)
{
    (void)state;
    autofree char *out = NULL, *err = NULL;
    assert_int_equal(hpctl(&out, &err, WORDS("simulate", "--ascii", "--profile", "llama3", "time=5d")), 0);
    assert_string_equal(err, "");
    static const char *const said[] = {"llama3: 2048 nodes (16384 GPUs) and 64 spares, over 5d; seed 1\n",
                                       "Effective time",
                                       "Goodput",
                                       "Spares needed",
                                       "Jobs of 16384",
                                       "work lost again",
                                       "faulty GPU",
                                       "table-reboot",
                                       "nodes out of service",
                                       "arXiv 2407.21783"};
    for (size_t i = 0; i < ARRAY_LEN(said); i++)
        if (strstr(out, said[i]) == NULL)
            fail_msg("\"%s\" is missing of %s", said[i], out);
    for (const char *c = out; *c != '\0'; c++)
        assert_true((unsigned char)*c < 0x80);
}

/* The scenario of the JSON, given back as a file, is the same run. */
static void test_json_runs_again(void **state)
{
    (void)state;
    autofree char *first = NULL, *again = NULL, *err = NULL, *err2 = NULL;
    char path[] = "/tmp/hf-simulate-XXXXXX", wrong[JSON_ERROR_MAX];
    assert_int_equal(hpctl(&first, &err, WORDS("simulate", "-o", "json", "nodes=300", "time=9d", "runs=2", "seed=5")),
                     0);
    auto_json json_t *json = NULL;
    assert_int_equal(json_parse(first, strlen(first), 1 << 24, &json, wrong), 0);
    assert_int_equal(json_array_size(json_object_get(json, "runs")), 2);
    int fd = mkostemp(path, 0);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(json_dump_file(json_object_get(json, "scenario"), path, 0), 0);
    assert_int_equal(hpctl(&again, &err2, WORDS("simulate", "-o", "json", "-f", path)), 0);
    assert_string_equal(first, again);
    unlink(path);
}

static void test_sweeps_and_draws(void **state)
{
    (void)state;
    autofree char *out = NULL, *err = NULL, *svg = NULL;
    char path[] = "/tmp/hf-simulate-XXXXXX.svg";
    int fd = mkostemps(path, 4, 0);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(
        hpctl(&out, &err,
              WORDS("simulate", "--profile", "llama3", "time=4d", "--sweep", "spares=0..6:3", "--plot", path)),
        0);
    assert_non_null(strstr(out, "\n0 "));
    assert_non_null(strstr(out, "\n3 "));
    assert_non_null(strstr(out, "\n6 "));
    assert_non_null(strstr(out, "The most goodput: "));
    assert_non_null(strstr(out, "Spares to keep: "));
    size_t len;
    assert_int_equal(file_read(path, 1 << 20, &svg, &len), 0);
    assert_non_null(strstr(svg, "<title>llama3: what spares does</title>"));
    unlink(path);
}

static void test_lists_profiles(void **state)
{
    (void)state;
    autofree char *out = NULL, *err = NULL;
    assert_int_equal(hpctl(&out, &err, WORDS("simulate", "--list-profiles")), 0);
    assert_non_null(strstr(out, "rsc-2: "));
    assert_non_null(strstr(out, "arXiv 2410.21680"));
    assert_non_null(strstr(out, "checkpointEvery"));
}

static void write_file(char path[], const char *text)
{
    int fd = mkostemps(path, 5, 0);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

/* What is wrong in a file is said with its line; what -o json printed is a file, too. */
static void test_files_are_refused_by_line(void **state)
{
    (void)state;
    static const struct {
        const char *option, *text, *says;
    } cases[] = {
        {"-f", "profile: llama3\n\nnodes: none\n", ".yaml: line 3: nodes must be a whole number"},
        {"-f", "nodes: 100\nx: 1\n", ".yaml: line 2: there is no number x"},
        {"-f", "jobs:\n  - {nodes: 4, share: 10}\n  - {nodes: 0, share: 10}\n", ".yaml: line 3: each of jobs has"},
        {"-f", "losses:\n  - rack: 1\n    at: 1d\n  - at: 1d\n", ".yaml: line 4: each of losses has"},
        {"-f", "{\"mean\": {},\n \"scenario\": {\"nodes\": 100,\n  \"time\": \"soon\"}}",
         ".yaml: line 3: time must be"},
        {"-f", "a: [\n", ".yaml: line "},
        {"--policy", "version: 1\ndefaults:\n  recovery: {mode: sometimes}\n", ".yaml: line 3: mode must be"},
        {"--policy", "defaults: {}\n", ".yaml: line 1: version is missing"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *out = NULL, *err = NULL;
        char path[] = "/tmp/hf-simulate-XXXXXX.yaml";
        write_file(path, cases[i].text);
        assert_int_equal(hpctl(&out, &err, WORDS("simulate", "time=1d", cases[i].option, path)), CLI_EXIT_USAGE);
        unlink(path);
        if (strstr(err, cases[i].says) == NULL)
            fail_msg("%s: %s", cases[i].text, err);
    }
}

/* What a policy yields stands beside what its absence does, and what a lost rack did beside both. */
static void test_a_policy_decides(void **state)
{
    (void)state;
    char path[] = "/tmp/hf-simulate-XXXXXX.yaml", wrong[JSON_ERROR_MAX];
    autofree char *out = NULL, *err = NULL, *data = NULL, *err2 = NULL;
    write_file(path, "version: 1\ndefaults: {recovery: {mode: approve}}\n");
    assert_int_equal(
        hpctl(&out, &err, WORDS("simulate", "--ascii", "--policy", path, "--lose", "rack=3@1d+3h", "time=9d")), 0);
    static const char *const said[] = {"; policy /tmp/hf-simulate-", "By the defaults  effective time ",
                                       "repairs waited for a person's approval",
                                       "Lost rack 3      at 1d, dark for 3h: 16 nodes, "};
    for (size_t i = 0; i < ARRAY_LEN(said); i++)
        if (strstr(out, said[i]) == NULL)
            fail_msg("\"%s\" is missing of %s", said[i], out);
    assert_int_equal(hpctl(&data, &err2, WORDS("simulate", "-o", "json", "--policy", path, "time=9d")), 0);
    unlink(path);
    auto_json json_t *json = NULL;
    assert_int_equal(json_parse(data, strlen(data), 1 << 24, &json, wrong), 0);
    assert_non_null(json_object_get(json, "meanByDefaults"));
    json_t *run = json_array_get(json_object_get(json, "runs"), 0);
    assert_true(json_integer_value(json_object_get(run, "approvalsAsked")) > 0);
}

static void test_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *words[6];
        const char *says;
    } cases[] = {
        {{"simulate", "nodes"}, "takes NAME=VALUE"},
        {{"simulate", "nodes=x"}, "nodes must be a whole number"},
        {{"simulate", "x=1"}, "there is no number x"},
        {{"simulate", "nodes=10", "jobNodes=11"}, "jobNodes is more than nodes"},
        {{"simulate", "--profile", "x"}, "there is no profile \"x\""},
        {{"simulate", "--sweep", "spares"}, "NAME=FROM..TO"},
        {{"simulate", "--sweep", "x=1..2"}, "there is no number \"x\""},
        {{"simulate", "--sweep", "spares=5..2"}, "goes upwards"},
        {{"simulate", "--sweep", "spares=1..2:0"}, "goes upwards"},
        {{"simulate", "--sweep", "spares=0..2000:1"}, "at most 128 points"},
        {{"simulate", "--sweep", "spares=a..2"}, "spares must be"},
        {{"simulate", "-f", "/nowhere/x.yaml"}, "cannot read"},
        {{"simulate", "time=1h", "--plot", "/nowhere/x.svg"}, "cannot write"},
        {{"simulate", "time=1h", "--plot", "x.png"}, "--plot draws SVG and nothing else"},
        {{"simulate", "--policy", "/nowhere/p.yaml"}, "cannot read"},
        {{"simulate", "--lose", "rack=1"}, "--lose rack=1: a loss is LEVEL=NUMBER@WHEN"},
        {{"simulate", "--lose", "rack=1@1d,rack=999@1d"}, "there is no rack 999"},
        {{"simulate", "--lose", "rack=1@999d"}, "only after the end"},
        {{"simulate", "--lose", "rack=1@1d", "--lose", "rack=2@1d"}, "--lose is given twice"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *out = NULL, *err = NULL;
        assert_int_equal(hpctl(&out, &err, cases[i].words), CLI_EXIT_USAGE);
        if (strstr(err, cases[i].says) == NULL)
            fail_msg("%s: %s", cases[i].words[1], err);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),          cmocka_unit_test(test_json_runs_again),
        cmocka_unit_test(test_sweeps_and_draws), cmocka_unit_test(test_lists_profiles),
        cmocka_unit_test(test_refuses),          cmocka_unit_test(test_files_are_refused_by_line),
        cmocka_unit_test(test_a_policy_decides),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
