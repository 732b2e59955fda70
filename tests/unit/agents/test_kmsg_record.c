/* Records of /dev/kmsg: the ABI's forms, and bytes that are none of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/kmsg_record.h"
#include "base/own.h"
#include "base/status.h"

#include <string.h>

static void test_taken(void **state)
{
    static const struct {
        const char *data, *text;
        int priority;
        int64_t seq, at_us;
    } cases[] = {
        {"7,160,424069,-;pci_root PNP0A03:00: host bridge\n", "pci_root PNP0A03:00: host bridge", 7, 160, 424069},
        {"4,1227,437812449932,c;NVRM: Xid\n", "NVRM: Xid", 4, 1227, 437812449932},
        {"6,339,5140900,-;NET: Registered\n SUBSYSTEM=net\n DEVICE=n1\n", "NET: Registered", 6, 339, 5140900},
        {"30,340,5690716,-,caller=T1;udevd[80]: starting\n", "udevd[80]: starting", 30, 340, 5690716},
        {"3,0,0,-;", "", 3, 0, 0},
        {"3,1,2,-;a;b\n", "a;b", 3, 1, 2},
        {"3,1,2,-;no line feed", "no line feed", 3, 1, 2},
        {"1023,9223372036854775807,9223372036854775807,+;x\n", "x", 1023, INT64_MAX, INT64_MAX},
        {"3,1,2,;x\n", "x", 3, 1, 2},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct kmsg_record record;
        assert_int_equal(kmsg_record_parse(cases[i].data, strlen(cases[i].data), &record), 0);
        assert_int_equal(record.priority, cases[i].priority);
        assert_int_equal(record.seq, cases[i].seq);
        assert_int_equal(record.at_us, cases[i].at_us);
        assert_int_equal(record.len, strlen(cases[i].text));
        assert_memory_equal(record.text, cases[i].text, record.len);
    }
}

static void test_refused(void **state)
{
    static const char *const cases[] = {
        "",
        "3",
        "3,",
        "3,1",
        "3,1,2",
        "3,1,2,",
        "3,1,2,-",
        "3,1,2,-\n;x",
        ",1,2,-;x",
        "3,,2,-;x",
        "3,1,,-;x",
        "-3,1,2,-;x",
        "3,-1,2,-;x",
        "3,1,-2,-;x",
        " 3,1,2,-;x",
        "3 ,1,2,-;x",
        "x,1,2,-;x",
        "1024,1,2,-;x",
        "3,9223372036854775808,2,-;x",
        "3,1,99999999999999999999999,-;x",
        "<3>NVRM: Xid",
        "NVRM: Xid (PCI:0000:b9:00): 79, x",
        "3;1;2;-;x",
        "0x3,1,2,-;x",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct kmsg_record record;
        if (kmsg_record_parse(cases[i], strlen(cases[i]), &record) != STATUS_INVALID)
            fail_msg("taken: %s", cases[i]);
    }
}

/* Every prefix and every single changed byte, in memory that ends where the record ends. */
static void test_any_bytes(void **state)
{
    static const char good[] = "4,1227,437812449932,c;NVRM: Xid (PCI:0000:01:00): 43\n SUBSYSTEM=pci\n";
    (void)state;
    for (size_t len = 0; len < sizeof(good); len++) {
        autofree char *copy = own_calloc(len > 0 ? len : 1, 1);
        struct kmsg_record record;
        memcpy(copy, good, len);
        if (kmsg_record_parse(copy, len, &record) == 0)
            assert_true(record.text >= copy && record.text + record.len <= copy + len);
        for (size_t i = 0; i < len; i++)
            for (int byte = 0; byte < 256; byte += 5) {
                copy[i] = (char)byte;
                if (kmsg_record_parse(copy, len, &record) == 0)
                    assert_true(record.text >= copy && record.text + record.len <= copy + len);
                copy[i] = good[i];
            }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_taken),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
