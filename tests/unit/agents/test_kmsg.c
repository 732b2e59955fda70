/* The kernel log check: what becomes a finding, from the device's records and from files; overruns; injection; and
 * every captured log that is at hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/kmsg.h"
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "tests/support/captured.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NOW_MS INT64_C(1795188470669)

struct findings {
    struct finding last;
    int count;
    int64_t sum; /* of the findings' counts */
};

static void collect(const struct finding *finding, void *arg)
{
    struct findings *findings = arg;
    findings->last = *finding;
    findings->count++;
    findings->sum += finding->count;
    /* what every finding owes to those who carry it on */
    assert_true(text_is_utf8(finding->raw_line, strlen(finding->raw_line)));
    for (const char *at = finding->raw_line; *at != '\0'; at++)
        assert_true((unsigned char)*at >= 0x20 && *at != 0x7f);
    assert_true(finding->count > 0);
    assert_string_equal(finding->source, "kmsg");
}

static struct kmsg *kmsg_on(const char *path, const struct kmsg_position *from, struct clock *clock)
{
    clock_fake_init(clock, NOW_MS);
    return kmsg_new(path, from, clock);
}

static void test_lines(void **state)
{
    static const struct {
        const char *line, *code, *device, *raw;
    } cases[] = {
        {"NVRM: Xid (PCI:0000:b9:00): 79, pid=<unknown>, GPU has fallen off the bus.", "xid.79", "0000:b9:00", NULL},
        {"Aug 10 15:36:05 gpu-node-a kernel: NVRM: Xid (PCI:0000:55:00): 48, DBE", "xid.48", "0000:55:00", NULL},
        {"kernel: NVRM: Xid (PCI:0000:b9:00): 74, pid=<unknown>, NVLink: fatal", "xid.74", "0000:b9:00", NULL},
        {"kern  :warn  : 2025-01-21T04:41:44,283302+00:00 NVRM: Xid (PCI:0000:38:00): 13, x", "xid.13", "0000:38:00",
         NULL},
        {"[111111111.111] NVRM: Xid (PCI:0000:05:00): 79, x", "xid.79", "0000:05:00", NULL},
        {"4,1227,437812449932,-;NVRM: Xid (PCI:0000:01:00): 43, x", "xid.43", "0000:01:00",
         "NVRM: Xid (PCI:0000:01:00): 43, x"},
        {"nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 30 LTSSM Fault Up", "sxid.20034", "0000:05:00",
         NULL},
        {"NVRM: Xid (PCI:0000:01:00): 43, tab\there \x01 and \x7f", "xid.43", "0000:01:00",
         "NVRM: Xid (PCI:0000:01:00): 43, tab here   and  "},
        {"NVRM: Xid (PCI:0000:01:00): 43, bad \xff\xfe bytes \xc3\xa9", "xid.43", "0000:01:00",
         "NVRM: Xid (PCI:0000:01:00): 43, bad ?? bytes ??"},
        {"NVRM: Xid (PCI:0000:01:00): 43, caf\xc3\xa9", "xid.43", "0000:01:00", NULL},
        {"", NULL, NULL, NULL},
        {"NVRM: loading NVIDIA UNIX x86_64 Kernel Module", NULL, NULL, NULL},
        {"usb 1-1: Product: NVRM: Xid (PCI:0000:b9:00): 79, x", NULL, NULL, NULL},
        {"NVRM: Xid error: xyz, invalid data", NULL, NULL, NULL},
        {"Xid", NULL, NULL, NULL},
    };
    struct clock clock;
    struct kmsg *kmsg = kmsg_on("/no/such/file", NULL, &clock);
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct findings findings = {0};
        kmsg_take_line(kmsg, cases[i].line, strlen(cases[i].line), collect, &findings);
        if (findings.count != (cases[i].code != NULL ? 1 : 0))
            fail_msg("%d findings: %s", findings.count, cases[i].line);
        if (cases[i].code == NULL)
            continue;
        assert_string_equal(findings.last.code, cases[i].code);
        assert_string_equal(findings.last.device, cases[i].device);
        assert_string_equal(findings.last.raw_line, cases[i].raw != NULL ? cases[i].raw : cases[i].line);
        assert_int_equal(findings.last.at_ms, NOW_MS);
    }
    kmsg_free(kmsg);
}

static void test_severity_is_the_tables(void **state)
{
    static const char critical[] = "NVRM: Xid (PCI:0000:b9:00): 79, x",
                      application[] = "NVRM: Xid (PCI:0000:b9:00): 13, x";
    struct clock clock;
    struct kmsg *kmsg = kmsg_on("/no/such/file", NULL, &clock);
    struct findings findings = {0};
    (void)state;
    kmsg_take_line(kmsg, critical, strlen(critical), collect, &findings);
    assert_int_equal(findings.last.severity, SEVERITY_CRITICAL);
    kmsg_take_line(kmsg, application, strlen(application), collect, &findings);
    assert_int_not_equal(findings.last.severity, SEVERITY_CRITICAL);
    assert_int_equal(findings.last.action, ACTION_CLASS_APP);
    kmsg_free(kmsg);
}

static void test_over_long_lines_are_cut(void **state)
{
    static const char head[] = "NVRM: Xid (PCI:0000:01:00): 43, ";
    struct clock clock;
    struct kmsg *kmsg = kmsg_on("/no/such/file", NULL, &clock);
    (void)state;
    for (size_t len = RAW_LINE_MAX_BYTES - 6; len < RAW_LINE_MAX_BYTES + 6; len++) {
        struct findings findings = {0};
        autofree char *line = own_calloc(len + 4, 1);
        memset(line, 'x', len);
        memcpy(line, head, sizeof(head) - 1);
        memcpy(line + len - 2, "\xe2\x82\xac", 3); /* a character that may lie across the cut */
        kmsg_take_line(kmsg, line, len + 1, collect, &findings);
        assert_int_equal(findings.count, 1);
        size_t kept = strlen(findings.last.raw_line);
        assert_true(kept == len + 1 || (kept < RAW_LINE_MAX_BYTES && kept >= RAW_LINE_MAX_BYTES - 3));
        assert_memory_equal(findings.last.raw_line, line, kept);
    }
    kmsg_free(kmsg);
}

static void take(struct kmsg *kmsg, const char *record, struct findings *findings)
{
    *findings = (struct findings){0};
    kmsg_take_record(kmsg, record, strlen(record), collect, findings);
}

static void test_records_and_overruns(void **state)
{
    struct clock clock;
    struct kmsg *kmsg = kmsg_on("/no/such/file", NULL, &clock);
    struct findings findings;
    (void)state;
    /* the fake clock stands at NOW_MS since boot as well, so a record of one second ago is dated so */
    autofree char *dated =
        own_printf("4,100,%lld,-;NVRM: Xid (PCI:0000:01:00): 43, x\n", (long long)(NOW_MS - 1000) * 1000);
    take(kmsg, dated, &findings);
    assert_int_equal(findings.count, 1);
    assert_int_equal(findings.last.at_ms, NOW_MS - 1000);
    take(kmsg, "4,101,9223372036854775807,-;NVRM: Xid (PCI:0000:01:00): 43, x\n", &findings);
    assert_int_equal(findings.last.at_ms, NOW_MS); /* not from the future */
    take(kmsg, "4,101,1,-;NVRM: Xid (PCI:0000:01:00): 43, again\n", &findings);
    assert_int_equal(findings.count, 0); /* seen already */
    take(kmsg, "not a record", &findings);
    assert_int_equal(findings.count, 0);
    /* overwritten before we came */
    assert_true(kmsg_take_error(kmsg, EPIPE));
    take(kmsg, "6,150,1,-;harmless\n", &findings);
    assert_int_equal(findings.count, 1);
    assert_string_equal(findings.last.code, "kernel.log.overrun");
    assert_string_equal(findings.last.device, "");
    assert_int_equal(findings.last.severity, SEVERITY_WARN);
    assert_int_equal(findings.sum, 48); /* 102..149 */
    take(kmsg, "6,151,1,-;harmless\n", &findings);
    assert_int_equal(findings.count, 0);
    assert_false(kmsg_take_error(kmsg, EAGAIN));
    assert_int_equal(kmsg_position(kmsg).file, 0);
    kmsg_free(kmsg);
}

/* The kernel's own records have facility 0, which no program can write (Linux: Documentation/ABI/testing/dev-kmsg). */
static void test_what_programs_wrote_is_not_the_kernels(void **state)
{
    static const struct {
        const char *record;
        bool kernels;
    } cases[] = {
        {"4,1,1,-;NVRM: Xid (PCI:0000:b9:00): 79, x\n", true},
        {"12,2,1,-;NVRM: Xid (PCI:0000:b9:00): 79, x\n", false},
        {"11,3,1,-;EXT4-fs (nvme0n1p1): Remounting filesystem read-only\n", false},
        {"30,4,1,-;NVRM: Xid (PCI:0000:b9:00): 79, x\n", false},
        {"0,5,1,-;Kernel panic - not syncing: x\n", true},
        {"7,6,1,-;NVRM: Xid (PCI:0000:b9:00): 79, x\n", true},
        {"8,7,1,-;NVRM: Xid (PCI:0000:b9:00): 79, x\n", false},
    };
    struct clock clock;
    (void)state;
    for (int drills = 0; drills <= 1; drills++) {
        struct kmsg *kmsg = kmsg_on("/no/such/file", NULL, &clock);
        kmsg_take_tests(kmsg, drills);
        for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
            struct findings findings;
            take(kmsg, cases[i].record, &findings);
            if (findings.count != (cases[i].kernels || drills))
                fail_msg("%d findings: %s", findings.count, cases[i].record);
        }
        kmsg_free(kmsg);
    }
}

/* A device that answers errors is not being looked at, whatever is open: the heartbeats must not say that it is. */
static void test_a_device_that_fails(void **state)
{
    (void)state;
    struct clock clock;
    clock_fake_init(&clock, NOW_MS);
    struct kmsg *kmsg = kmsg_new("/dev/null", NULL, &clock); /* a character device that always opens */
    assert_true(kmsg_is_open(kmsg));
    assert_false(kmsg_take_error(kmsg, EAGAIN));
    assert_true(kmsg_is_open(kmsg));
    assert_false(kmsg_take_error(kmsg, EIO));
    assert_false(kmsg_is_open(kmsg));
    assert_int_equal(kmsg_fd(kmsg), -1);
    assert_false(kmsg_read(kmsg, NULL, NULL));
    assert_true(kmsg_is_open(kmsg));
    kmsg_free(kmsg);
}

static void test_going_on_after_a_restart(void **state)
{
    static const struct kmsg_position from = {.file = 0, .offset = 200};
    struct clock clock;
    struct findings findings;
    struct kmsg *kmsg = kmsg_on("/no/such/file", &from, &clock);
    (void)state;
    take(kmsg, "4,199,1,-;NVRM: Xid (PCI:0000:01:00): 43, old\n", &findings);
    assert_int_equal(findings.count, 0);
    take(kmsg, "4,200,1,-;NVRM: Xid (PCI:0000:01:00): 43, new\n", &findings);
    assert_int_equal(findings.count, 1);
    kmsg_free(kmsg);
    /* records were lost while nobody looked */
    kmsg = kmsg_on("/no/such/file", &from, &clock);
    take(kmsg, "4,300,1,-;NVRM: Xid (PCI:0000:01:00): 43, new\n", &findings);
    assert_int_equal(findings.count, 2);
    assert_int_equal(findings.sum, 101);
    kmsg_free(kmsg);
}

static void test_a_file_and_injection(void **state)
{
    char dir[] = "/tmp/holdfast-kmsg-XXXXXX";
    struct clock clock;
    struct findings findings = {0};
    (void)state;
    assert_non_null(mkdtemp(dir));
    autofree char *path = own_printf("%s/kmsg", dir);
    struct kmsg *kmsg = kmsg_on(path, NULL, &clock);
    assert_false(kmsg_is_open(kmsg));
    assert_int_equal(kmsg_inject(kmsg, "NVRM: Xid"), STATUS_IO); /* it is not for us to make a kernel log */
    assert_int_equal(file_write(path, "", 0, 0600), 0);
    assert_false(kmsg_read(kmsg, collect, &findings));
    assert_true(kmsg_is_open(kmsg));
    assert_int_equal(kmsg_inject(kmsg, "NVRM: Xid (PCI:0000:b9:00): 79, GPU has fallen off the bus."), 0);
    assert_false(kmsg_read(kmsg, collect, &findings));
    assert_int_equal(findings.count, 1);
    static const char *const bad[] = {"", "two\nlines", "\x1b[2J", "tab\t", "\x7f"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_int_equal(kmsg_inject(kmsg, bad[i]), STATUS_INVALID);
    autofree char *longest = own_calloc(RAW_LINE_MAX_BYTES + 1, 1);
    memset(longest, 'x', RAW_LINE_MAX_BYTES);
    assert_int_equal(kmsg_inject(kmsg, longest), STATUS_INVALID);
    longest[RAW_LINE_MAX_BYTES - 1] = '\0';
    assert_int_equal(kmsg_inject(kmsg, longest), 0);
    assert_true(kmsg_position(kmsg).file != 0);
    kmsg_free(kmsg);
    kmsg_free(NULL);
    assert_int_equal(file_remove_tree(dir), 0);
}

/* --- captured logs ------------------------------------------------------------------------------------------- */

static struct findings captured;
static int captured_files, captured_files_with_xid;

static int read_captured(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    struct clock clock;
    (void)st;
    (void)ftw;
    if (type != FTW_F)
        return 0;
    int before = captured.count;
    struct kmsg *kmsg = kmsg_on(path, NULL, &clock);
    while (kmsg_read(kmsg, collect, &captured))
        ;
    kmsg_free(kmsg);
    captured_files++;
    captured_files_with_xid += captured.count > before;
    return 0;
}

static void test_captured_logs(void **state)
{
    (void)state;
    autofree char *path = captured_path("kmsg");
    if (path == NULL)
        skip();
    assert_int_equal(nftw(path, read_captured, 16, FTW_PHYS), 0);
    print_message("%d captured files, %d with Xid or SXid lines, %d lines\n", captured_files, captured_files_with_xid,
                  captured.count);
    assert_true(captured_files > 100);
    assert_true(captured.count > 500);
    assert_true(captured_files_with_xid > 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_severity_is_the_tables),
        cmocka_unit_test(test_over_long_lines_are_cut),
        cmocka_unit_test(test_records_and_overruns),
        cmocka_unit_test(test_what_programs_wrote_is_not_the_kernels),
        cmocka_unit_test(test_a_device_that_fails),
        cmocka_unit_test(test_going_on_after_a_restart),
        cmocka_unit_test(test_a_file_and_injection),
        cmocka_unit_test(test_captured_logs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
