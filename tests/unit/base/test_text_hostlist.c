/* Hostlists as Slurm writes them, and as an enemy would. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

#define COUNT_MAX 1000

/* The names with a space between them. Caller frees. */
static char *expand(const char *list)
{
    AUTO(text) struct text out = {0};
    char **names = NULL;
    size_t count = 0;

    assert_int_equal(text_hostlist_expand(list, COUNT_MAX, &names, &count), 0);
    for (size_t i = 0; i < count; i++)
        text_printf(&out, "%s%s", i == 0 ? "" : " ", names[i]);
    text_list_free(names, count);
    return text_take(&out);
}

static void test_good(void **state)
{
    static const struct {
        const char *list, *expected;
    } rows[] = {
        {"login", "login"},
        {"a,b,c", "a b c"},
        {"gpu-[1-3]", "gpu-1 gpu-2 gpu-3"},
        {"gpu-[1-3,07],login", "gpu-1 gpu-2 gpu-3 gpu-07 login"},
        {"n[5]", "n5"},
        {"n[5-5]", "n5"},
        {"n[08-11]", "n08 n09 n10 n11"},
        {"n[098-101]", "n098 n099 n100 n101"},
        {"n[9-11]", "n9 n10 n11"},
        {"n[99-101]", "n99 n100 n101"},
        {"n[0001]", "n0001"},
        {"n[00-02]", "n00 n01 n02"},
        {"n[3,1,2]", "n3 n1 n2"},
        {"r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"},
        {"r[1-2]n[01-02,7]-ib", "r1n01-ib r1n02-ib r2n01-ib r2n02-ib r1n7-ib r2n7-ib"},
        {"[1-2]", "1 2"},
        {"[1-2]x", "1x 2x"},
        {"[1-2][3-4]", "13 14 23 24"},
        {"ip-10-1-2-3.ec2.internal", "ip-10-1-2-3.ec2.internal"},
        {"a_b", "a_b"},
        {"n[999999999999999998-999999999999999999]", "n999999999999999998 n999999999999999999"},
        {"rack[1-2]n[01-03]", "rack1n01 rack1n02 rack1n03 rack2n01 rack2n02 rack2n03"},
        {"n[005-9]", "n005 n006 n007 n008 n009"}, /* the lower end says how wide */
        {"n[1-3]-ib.cluster", "n1-ib.cluster n2-ib.cluster n3-ib.cluster"},
        {"n[7-8]5", "n75 n85"},
        {"n[000000000000000001]", "n000000000000000001"},
        {"[1-2][3][4][5-6]", "1345 1346 2345 2346"},
        {"a,a", "a a"}, /* who wants sets removes what comes twice */
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autofree char *names = expand(rows[i].list);
        assert_string_equal(names, rows[i].expected);
    }
}

static const char *const bad[] = {
    "",
    ",",
    "a,",
    ",a",
    "a,,b",
    " a",
    "a b",
    "a, b",
    "[",
    "]",
    "n[",
    "n]",
    "n[]",
    "n[1",
    "n[1-",
    "n[1-]",
    "n[-1]",
    "n[1,]",
    "n[,1]",
    "n[1,,2]",
    "n[3-1]",
    "n[1-2-3]",
    "n[1--2]",
    "n[a]",
    "n[1-b]",
    "n[[1-2]]",
    "n[1-[2]]",
    "n[1-2]]",
    "n[1-2",
    "n[ 1-2]",
    "n[1 -2]",
    "n[+1]",
    "n[0x1]",
    "n[1-010]",
    "n[01-0010]",
    "n[1.5]",
    "n{1-2}",
    "n(1)",
    "n*",
    "n;rm",
    "$(id)",
    "n\nb",
    "n/../b",
    "-n",
    "--all",
    "-[1-2]",
    ".n",
    "a,-b",
    "(null)",
    "n\xc3\xa9",
    "n[1\xc3\xa9]",
    "n[1]=4",
    "a=b",
    "n[1-2]x[",
    "n[1][2][3][4][5]",
    "n[1000000000000000000]",
    "n[0-99999999999999999999999999]",
    "n[18446744073709551615]",
    "n[9223372036854775807-9223372036854775808]",
    "n[0000000000000000001]", /* a digit too wide, whatever it is worth */
    "rack[1-2]n[01-03",
    "rack[1-2n[01-03]]",
    "rack[1-[2-3]]n1",
    "rack[1-2]]n[01-03]",
    "rack[[1]-2]n",
    "n[1-2][",
    "n[1-2][]",
    "n[1-2][3-]",
    "n[1-2],[",
    "n[1-2],n[3",
    "n[09-008]",
    "n[10-09]",
    "n[1-2]-ib,-[3]",
    "n[1-2]\tx",
    "n[1;2]",
    "n[1-2]/x",
    "n[1:2]",
    "n[%d]",
};

static void test_bad(void **state)
{
    char **names = NULL;
    size_t count = 77;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        int r = text_hostlist_expand(bad[i], COUNT_MAX, &names, &count);
        if (r != STATUS_INVALID)
            fail_msg("\"%s\" gave %d", bad[i], r);
    }
    assert_int_equal(text_hostlist_expand(NULL, COUNT_MAX, &names, &count), STATUS_INVALID);
    assert_null(names);
    assert_int_equal(count, 77);
}

static void test_limit(void **state)
{
    static const char *const too_many[] = {
        "n[0-1000]",
        "n[0-999999999999999999]",
        "n[0-500],m[0-499]",
        "n[1-500,1-501]",
        "n[0-31][0-31]",
        "n[0-99][0-99][0-99][0-99]",
        "n[0-999999999][0-999999999][0-999999999]",
        "n[0-999],one",
        "rack[1-100]n[01-11]",
        "n[0-1]x[0-1]y[0-1]z[0-999999999999999999]",
        "n[0-999999999999999999]-ib[0-999999999999999999]",
        "n[0-9],n[0-999999999999999999]",
    };
    char **names = NULL;
    size_t count = 0;

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(too_many); i++)
        assert_int_equal(text_hostlist_expand(too_many[i], COUNT_MAX, &names, &count), STATUS_TOO_LARGE);
    assert_int_equal(text_hostlist_expand("a", 0, &names, &count), STATUS_TOO_LARGE);
    assert_null(names);
    assert_int_equal(text_hostlist_expand("n[0-999]", COUNT_MAX, &names, &count), 0);
    assert_int_equal(count, COUNT_MAX);
    assert_string_equal(names[999], "n999");
    text_list_free(names, count);
    assert_int_equal(text_hostlist_expand("n[0-399],m[0-9][0-59]", COUNT_MAX, &names, &count), 0);
    assert_int_equal(count, COUNT_MAX);
    text_list_free(names, count);
    text_list_free(NULL, 0);
}

static void test_name_length(void **state)
{
    char list[600];
    char **names = NULL;
    size_t count = 0;

    (void)state;
    snprintf(list, sizeof(list), "%0*d", 255, 1);
    assert_int_equal(text_hostlist_expand(list, 10, &names, &count), 0);
    assert_int_equal(strlen(names[0]), 255);
    text_list_free(names, count);
    snprintf(list, sizeof(list), "%0*d", 256, 1);
    assert_int_equal(text_hostlist_expand(list, 10, &names, &count), STATUS_INVALID);
    snprintf(list, sizeof(list), "%0*d[1-3]", 255, 1);
    assert_int_equal(text_hostlist_expand(list, 10, &names, &count), STATUS_INVALID);
    snprintf(list, sizeof(list), "%0*d[1-3]%0*d", 200, 1, 55, 1);
    assert_int_equal(text_hostlist_expand(list, 10, &names, &count), STATUS_INVALID);
}

/* Every beginning of a list is either a list itself or refused; nothing leaks and nothing is read behind the end. */
static void test_all_beginnings(void **state)
{
    static const char whole[] = "r[1-2]n[01-03,9]-x,login,gpu-[007-012].a";

    (void)state;
    for (size_t len = 0; len < sizeof(whole); len++) {
        autofree char *cut = own_calloc(len + 1, 1);
        char **names = NULL;
        size_t count = 0;
        memcpy(cut, whole, len);
        int r = text_hostlist_expand(cut, COUNT_MAX, &names, &count);
        assert_true(r == 0 || r == STATUS_INVALID);
        assert_int_equal(r == 0, count > 0);
        text_list_free(names, count);
    }
}

static void lists_are_short(void **state)
{
    static const struct {
        const char *names[6];
        size_t count;
        const char *list;
    } cases[] = {
        {{"a10", "a9", "a11", "b"}, 4, "a[9-11],b"},
        {{"n-07", "n-08", "n-10"}, 3, "n-[07-08],n-10"},
        {{"12", "13"}, 2, "12,13"},
        {{"x"}, 1, "x"},
        {{NULL}, 0, ""},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char *names[6];
        for (size_t k = 0; k < cases[i].count; k++)
            names[k] = own_strdup(cases[i].names[k]);
        autofree char *list = text_hostlist_compress(names, cases[i].count);
        assert_string_equal(list, cases[i].list);
        for (size_t k = 0; k < cases[i].count; k++)
            free(names[k]);
    }
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* What Slurm might be told, told back: no name is lost, none is made up, and none is padded otherwise. */
static void lists_come_back(void **state)
{
    static const struct {
        const char *given, *list;
    } cases[] = {
        {"rack[1-2]n[01-03]", "rack1n[01-03],rack2n[01-03]"},
        {"n[9-11]", "n[9-11]"},
        {"n[99,098-101]", "n99,n[098-101]"},
        {"n[1,01,001]", "n1,n01,n001"},
        {"n[1-3]-ib", "n1-ib,n2-ib,n3-ib"}, /* a list that Slurm reads, if a longer one */
        {"n[999999998-1000000001]", NULL},  /* more digits than what is counted with */
        {"n[999999999999999998-999999999999999999]", NULL},
        {"n[00000000000000000-00000000000000003]", NULL},
        {"[1-3],[5]", "1,2,3,5"}, /* nothing before the number */
        {"a-1-[1-2],a-1[1-2],a-1,a", NULL},
        {"n1.[1-2],n1.3", "n1.[1-3]"},
        {"n[0-999]", "n[0-999]"},
        {"n9,n010", "n9,n010"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char **names = NULL, **again = NULL;
        size_t count = 0, again_count = 0;
        assert_int_equal(text_hostlist_expand(cases[i].given, 1000, &names, &count), 0);
        autofree char *list = text_hostlist_compress(names, count);
        if (cases[i].list != NULL)
            assert_string_equal(list, cases[i].list);
        assert_int_equal(text_hostlist_expand(list, 1000, &again, &again_count), 0);
        assert_int_equal(again_count, count);
        qsort(names, count, sizeof(*names), by_text);
        qsort(again, again_count, sizeof(*again), by_text);
        for (size_t k = 0; k < count; k++)
            assert_string_equal(again[k], names[k]);
        text_list_free(names, count);
        text_list_free(again, again_count);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),           cmocka_unit_test(test_bad),
        cmocka_unit_test(test_limit),          cmocka_unit_test(test_name_length),
        cmocka_unit_test(test_all_beginnings), cmocka_unit_test(lists_are_short),
        cmocka_unit_test(lists_come_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
