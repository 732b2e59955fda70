/* Lists of nodes and features as scontrol prints them, in the shape that 22.05 gives them, and hostile twins. */
#include "server/scheduler/slurm/quarantine.h"

#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void lists_of_nodes(void **state)
{
    static const struct {
        const char *line;
        int status;
        size_t count;
        const char *last;
    } cases[] = {
        {"PartitionName=p AllocNodes=ALL MaxNodes=UNLIMITED MinNodes=1 Nodes=gpu-[1-2],login State=UP\n", 0, 3,
         "login"},
        {"ReservationName=r Duration=01:00:00 Nodes=gpu-1 NodeCnt=1\n", 0, 1, "gpu-1"},
        {"PartitionName=p Nodes=(null) State=UP", 0, 0, NULL},
        {"PartitionName=p Nodes= State=UP", 0, 0, NULL},
        {"PartitionName=p Nodes=gpu-[1-", STATUS_BACKEND, 0, NULL},
        {"PartitionName=p Nodes=gpu-[1-99999]", STATUS_BACKEND, 0, NULL},
        {"PartitionName=p Nodes=--all", STATUS_BACKEND, 0, NULL},
        {"PartitionName=p AllocNodes=ALL", STATUS_BACKEND, 0, NULL},
        {"", STATUS_BACKEND, 0, NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char **names = NULL;
        size_t count = 0;
        int status = slurm_parse_members(cases[i].line, &names, &count);
        if (status != cases[i].status || count != cases[i].count)
            fail_msg("%s: %d, %zu", cases[i].line, status, count);
        if (count > 0)
            assert_string_equal(names[count - 1], cases[i].last);
        text_list_free(names, count);
    }
}

static void features_of_nodes(void **state)
{
    struct slurm_features features;
    (void)state;
    assert_int_equal(
        slurm_parse_features("NodeName=gpu-1 Arch=x86_64 AvailableFeatures=a,b ActiveFeatures=a Gres=(null) "
                             "Reason=x AvailableFeatures=c [root@now]",
                             &features),
        0);
    assert_string_equal(features.name, "gpu-1");
    assert_string_equal(features.available, "a,b");
    assert_string_equal(features.active, "a");
    assert_int_equal(slurm_parse_features("NodeName=n AvailableFeatures=(null) ActiveFeatures= Gres=", &features), 0);
    assert_string_equal(features.available, "");
    assert_string_equal(features.active, "");
    static const char *const refused[] = {
        "",
        "PartitionName=n AvailableFeatures=a ActiveFeatures=a",
        "NodeName=-n AvailableFeatures=a ActiveFeatures=a",
        "NodeName=n AvailableFeatures=a",
        "NodeName=n AvailableFeatures=a\"b ActiveFeatures=a",
        "NodeName=n AvailableFeatures=a=b ActiveFeatures=a",
    };
    for (size_t i = 0; i < ARRAY_LEN(refused); i++)
        assert_int_equal(slurm_parse_features(refused[i], &features), STATUS_BACKEND);
}

static void words_of_lists(void **state)
{
    static const char *const cases[][3] = {
        {"a,b,c", "b", "a,c"},   {"b", "b", ""},   {"ab,b", "b", "ab"}, {"", "b", ""},
        {"a,b:c", "b", "a,b:c"}, {"b,b", "b", ""}, {"a,b,", "b", "a"},  {",a,,b,,", "b", "a"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *rest = slurm_list_without(cases[i][0], cases[i][1]);
        assert_string_equal(rest, cases[i][2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_of_nodes),
        cmocka_unit_test(features_of_nodes),
        cmocka_unit_test(words_of_lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
