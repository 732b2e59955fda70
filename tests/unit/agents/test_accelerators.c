/* The table of instance types: what is asked for is found, once, and nothing else is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/accelerators.h"
#include "base/own.h"

#include <string.h>

static void test_types(void **state)
{
    static const struct {
        const char *type;
        int gpus, devices, cores;
    } cases[] = {
        {"p4d.24xlarge", 8, 0, 0},       {"p5.48xlarge", 8, 0, 0},    {"ml.p5.48xlarge", 8, 0, 0},
        {"p5.4xlarge", 1, 0, 0},         {"p5en.48xlarge", 8, 0, 0},  {"ml.p6-b200.48xlarge", 8, 0, 0},
        {"p6e-gb200.36xlarge", 4, 0, 0}, {"g5.12xlarge", 4, 0, 0},    {"g6.48xlarge", 8, 0, 0},
        {"ml.trn1.32xlarge", 0, 16, 2},  {"trn2.48xlarge", 0, 16, 8}, {"inf2.24xlarge", 0, 6, 2},
    };
    static const char *const unknown[] = {"",        "ml.", "p5", "p5.48xlarge ", "P5.48XLARGE", "ml.ml.p5.48xlarge",
                                          "m5.large"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct accelerators *found = accelerators_find(cases[i].type);
        assert_non_null(found);
        assert_int_equal(found->gpus, cases[i].gpus);
        assert_int_equal(found->neuron_devices, cases[i].devices);
        assert_int_equal(found->neuron_cores, cases[i].cores);
        assert_ptr_equal(accelerators_find(found->instance_type), found);
    }
    for (size_t i = 0; i < ARRAY_LEN(unknown); i++)
        assert_null(accelerators_find(unknown[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_types)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
