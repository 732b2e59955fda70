/* Command templates: what is replaced, what stays, what vanishes and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/own.h"
#include "base/status.h"
#include "server/provider/lab/local.h"
#include "server/provider/lab/template.h"

#include <stdio.h>
#include <string.h>

#define ARGS_MAX 8

/* Arguments are shown joined by blanks. */
struct row {
    const char *argv[ARGS_MAX];
    const char *fingerprint;
    const char *expanded; /* NULL: refused */
};

static int expand(const char *const argv[], const char *fingerprint, char ***ret_argv, char *ret_error)
{
    const struct template_value values[] = {
        {"node", "gpu-1"}, {"dir", "/x/i-1"}, {"fingerprint", fingerprint}, {"empty", ""}, {"nested", "{node}"},
    };
    char *copy[LOCAL_ARGS_MAX + 1] = {0};
    for (size_t i = 0; i < LOCAL_ARGS_MAX && argv[i] != NULL; i++)
        copy[i] = own_strdup(argv[i]);
    int status = template_expand(copy, values, ARRAY_LEN(values), ret_argv, ret_error);
    for (size_t i = 0; copy[i] != NULL; i++)
        free(copy[i]);
    return status;
}

static void test_expansion(void **state)
{
    static const struct row rows[] = {
        {{"slurmd", "-N", "{node}"}, "", "slurmd -N gpu-1"},
        {{"a", "{dir}/agent", "{node}{node}"}, "", "a /x/i-1/agent gpu-1gpu-1"},
        {{"a", "--x={node}", "pre-{node}-post"}, "", "a --x=gpu-1 pre-gpu-1-post"},
        {{"a", "{empty}", "b"}, "", "a  b"},
        {{"a", "", "b"}, "", "a  b"},
        /* replaced once: a value is no template */
        {{"a", "{nested}"}, "", "a {node}"},
        /* braces that name nothing */
        {{"sh", "-c", "f() { echo $1; }; awk '{print $1}' {}"}, "", "sh -c f() { echo $1; }; awk '{print $1}' {}"},
        {{"a", "{", "}", "{node", "node}", "{{node}}"}, "", "a { } {node node} {gpu-1}"},
        {{"a", "{no-de}", "{1}", "{ node }"}, "", "a {no-de} {1} { node }"},
        /* a fingerprint, and none */
        {{"a", "--fingerprint", "{fingerprint}", "--node", "{node}"},
         "sha256:ab",
         "a --fingerprint sha256:ab --node gpu-1"},
        {{"a", "--fingerprint", "{fingerprint}", "--node", "{node}"}, "", "a --node gpu-1"},
        {{"a", "--fingerprint={fingerprint}", "b"}, "sha256:ab", "a --fingerprint=sha256:ab b"},
        {{"a", "--fingerprint={fingerprint}", "b"}, "", "a b"},
        {{"a", "-f", "{fingerprint}"}, "", "a"},
        {{"a", "b", "{fingerprint}"}, "", "a b"},
        {{"a", "-", "{fingerprint}"}, "", "a -"},
        {{"{fingerprint}", "b"}, "", "b"},
        {{"-x", "{fingerprint}"}, "", ""},
        {{"a", "--x", "{fingerprint}", "{fingerprint}"}, "", "a"},
        /* unknown */
        {{"a", "{nodename}"}, "", NULL},
        {{"a", "x{Node}y"}, "", NULL},
        {{"a", "${HOME}"}, "", NULL},
        {{"a", "\xff\xfe"}, "", NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char **argv = NULL, error[PROVIDER_ERROR_MAX] = "", joined[512] = "";
        int status = expand(rows[i].argv, rows[i].fingerprint, &argv, error);
        assert_int_equal(status, rows[i].expanded == NULL ? STATUS_INVALID : 0);
        assert_int_equal(status != 0, error[0] != '\0');
        for (size_t k = 0; argv != NULL && argv[k] != NULL; k++)
            snprintf(joined + strlen(joined), sizeof(joined) - strlen(joined), "%s%s", k == 0 ? "" : " ", argv[k]);
        assert_string_equal(joined, rows[i].expanded == NULL ? "" : rows[i].expanded);
        template_free(argv);
    }
}

static void test_limits(void **state)
{
    char long_arg[TEMPLATE_ARG_BYTES_MAX + 1], error[PROVIDER_ERROR_MAX], **argv = NULL;
    const char *args[LOCAL_ARGS_MAX + 1] = {0};
    (void)state;
    memset(long_arg, 'x', sizeof(long_arg));
    long_arg[TEMPLATE_ARG_BYTES_MAX] = '\0';
    args[0] = long_arg;
    assert_int_equal(expand(args, "", &argv, error), STATUS_TOO_LARGE);
    assert_null(argv);
    long_arg[TEMPLATE_ARG_BYTES_MAX - 1] = '\0';
    assert_int_equal(expand(args, "", &argv, error), 0);
    assert_string_equal(argv[0], long_arg);
    template_free(argv);
    for (size_t i = 0; i < LOCAL_ARGS_MAX; i++)
        args[i] = "{node}";
    assert_int_equal(expand(args, "", &argv, error), 0);
    assert_string_equal(argv[LOCAL_ARGS_MAX - 1], "gpu-1");
    assert_null(argv[LOCAL_ARGS_MAX]);
    template_free(argv);
    template_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_expansion),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
