/* What codes and devices may be called: all that tables and drivers have, and nothing that a shell or a terminal reads otherwise. */
#include "model/fault_name.h"

#include "base/own.h"
#include "policy/faults/faults.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void each_code_of_the_tables_is_a_name(void **state)
{
    size_t count = 0, codes = 0;
    (void)state;
    const struct fault_table *tables = fault_tables(&count);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < tables[i].count; j++, codes++)
            if (!fault_name_is_code(tables[i].rows[j].code))
                fail_msg("%s", tables[i].rows[j].code);
    assert_true(codes > 300);
}

static void a_code_has_few_characters(void **state)
{
    static const char *const good[] = {"xid.79", "sxid.20034", "net.ib.error-rate", "custom.critical", "x", "a1.2-3"};
    static const char *const bad[] = {"",         ".",      "xid.",          ".79",         "xid..79",
                                      "xid.-79",  "79",     "Xid.79",        "xid 79",      "xid.79;x",
                                      "xid.79\n", "xid_79", "xid/79",        "x\xc3\xa9",   "-x",
                                      "x-",       "<xid>",  "xid.79\x1b[2J", "\u202e97.dix"};
    char longest[CODE_MAX_BYTES + 1] = "";
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        if (!fault_name_is_code(good[i]))
            fail_msg("%s", good[i]);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (fault_name_is_code(bad[i]))
            fail_msg("%s", bad[i]);
    memset(longest, 'x', CODE_MAX_BYTES - 1);
    assert_true(fault_name_is_code(longest));
    longest[CODE_MAX_BYTES - 1] = 'x';
    assert_false(fault_name_is_code(longest));
}

static void a_device_has_few_characters(void **state)
{
    static const char *const good[] = {"0000:b9:00",
                                       "00000000:17:00.0",
                                       "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77",
                                       "MIG-GPU-5d5ba0d6/1/0",
                                       "mlx5_0",
                                       "mlx5_0/1",
                                       "bond0.100",
                                       "nvme0n1p1",
                                       "dm-3:",
                                       "mc0",
                                       "/fsx",
                                       "/",
                                       "10.1.0.4@o2ib",
                                       "neuron3",
                                       "rdmap0s6#1",
                                       "gpu+0"};
    static const char *const bad[] = {"",    ":",    "-",   "...",  "$(x)", "`x`",  "a b",      "a;b",       "a|b",
                                      "a&b", "a\"b", "a'b", "a\\b", "<b>",  "a\nb", "a\x1b[2J", "a\xc3\xa9", "a{b}",
                                      "a*",  "a?",   "a%b", "a=b",  "a,b",  "a~b",  "a!b",      "\u202e0upg"};
    char longest[DEVICE_MAX_BYTES + 1] = "";
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        if (!fault_name_is_device(good[i]))
            fail_msg("%s", good[i]);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (fault_name_is_device(bad[i]))
            fail_msg("%s", bad[i]);
    memset(longest, 'x', DEVICE_MAX_BYTES - 1);
    assert_true(fault_name_is_device(longest));
    longest[DEVICE_MAX_BYTES - 1] = 'x';
    assert_false(fault_name_is_device(longest));
}

static void what_an_agent_found(void **state)
{
    static const struct {
        const char *found, *name;
    } rows[] = {{"", ""},
                {"0000:b9:00", "0000:b9:00"},
                {"/mnt/a=b", "/mnt/a_b"},
                {"/mnt/x,y z", "/mnt/x_y_z"},
                {"\xc3\xa9", "x_"},
                {"___", "x__"},
                {":", "x"},
                {"$(x)", "__x_"}};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char name[DEVICE_MAX_BYTES];
        snprintf(name, sizeof(name), "%s", rows[i].found);
        fault_name_make_device(name);
        assert_string_equal(name, rows[i].name);
        assert_true(name[0] == '\0' || fault_name_is_device(name));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_code_of_the_tables_is_a_name),
        cmocka_unit_test(a_code_has_few_characters),
        cmocka_unit_test(a_device_has_few_characters),
        cmocka_unit_test(what_an_agent_found),
    };
    return cmocka_run_group_tests_name("model/fault_name", tests, NULL, NULL);
}
