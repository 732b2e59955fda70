/* When a disk counts as full, and when a large one that is nearly full does not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/disk.h"
#include "base/own.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)
#define TIB (UINT64_C(1) << 40)

static void test_thresholds(void **state)
{
    static const struct {
        struct disk_use use;
        const char *code;
    } cases[] = {
        {{100 * GIB, 50 * GIB, 1000000, 900000}, NULL},
        {{100 * GIB, 0, 0, 0}, "node.disk.full"},
        {{100 * GIB, GIB / 2, 0, 0}, "node.disk.full"},
        {{100 * GIB, 4 * GIB, 0, 0}, "node.disk.low"},
        {{100 * GIB, 6 * GIB, 0, 0}, NULL},
        {{8 * TIB, 60 * GIB, 0, 0}, NULL}, /* under 1 %, and room for much */
        {{8 * TIB, 10 * GIB, 0, 0}, "node.disk.full"},
        {{4 * GIB, 90 * MIB, 0, 0}, "node.disk.full"},
        {{500 * MIB, 90 * MIB, 0, 0}, NULL}, /* small: its share alone */
        {{500 * MIB, 20 * MIB, 0, 0}, "node.disk.low"},
        {{100 * GIB, 50 * GIB, 1000000, 0}, "node.disk.inodes"},
        {{100 * GIB, 50 * GIB, 1000000, 9000}, "node.disk.inodes"},
        {{100 * GIB, 50 * GIB, 1000000, 90000}, NULL},
        {{0, 0, 0, 0}, NULL}, /* a file system of the kernel's own */
        {{UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX}, NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const char *code = disk_judge(&cases[i].use, NULL);
        if (cases[i].code == NULL)
            assert_null(code);
        else
            assert_string_equal(code, cases[i].code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_thresholds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
