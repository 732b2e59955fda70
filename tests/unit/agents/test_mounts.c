/* What is mounted and what should be: the lines of mountinfo and fstab, disks gone read-only, mounts that are missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/checks.h"
#include "agents/checks/mountinfo.h"
#include "tests/unit/agents/machine.h"

static char *sample(const char *name)
{
    autofree char *path = own_printf("tests/data/mounts/%s", name);
    char *data = NULL;
    assert_int_equal(file_read(path, 1 << 16, &data, NULL), 0);
    return data;
}

static struct word word_of(const char *text)
{
    return (struct word){text, strlen(text)};
}

static void test_mountinfo(void **state)
{
    autofree char *data = sample("mountinfo");
    struct mount mounts[16];
    struct lines lines;
    struct word line;
    int count = 0;
    (void)state;
    lines_start(&lines, data, strlen(data));
    while (lines_next(&lines, &line))
        assert_true(mountinfo_parse(line, &mounts[count++]));
    assert_int_equal(count, 8);
    assert_string_equal(mounts[0].place, "/");
    assert_string_equal(mounts[0].device, "259:1");
    assert_true(mount_is_disk(&mounts[0]) && mounts[0].is_whole && !mounts[0].read_only);
    assert_false(mounts[3].is_whole);
    assert_false(mounts[3].read_only); /* the bind mount is; the disk is not */
    assert_true(mount_is_remote(&mounts[4]));
    assert_string_equal(mounts[5].place, "/home of all");
    assert_true(mount_is_remote(&mounts[5]) && !mount_is_disk(&mounts[5]));
    assert_true(mounts[6].read_only && !mount_is_disk(&mounts[6]));
    assert_true(mounts[7].is_broken);
}

static void test_lines_that_are_none(void **state)
{
    static const char *const bad[] = {"",
                                      "22 1 259:1 / / rw - ext4 /dev/x",           /* no options */
                                      "22 1 259:1 / / rw shared:1 ext4 /dev/x rw", /* no dash */
                                      "22 1 259:1 / nowhere rw - ext4 /dev/x rw",  /* no path */
                                      "22 1 259:1 / /a\\000b rw - ext4 /dev/x rw", /* a zero in it */
                                      "22 1 a-device-number-that-is-too-long / / rw - ext4 /dev/x rw"};
    struct mount mount;
    autofree char *long_place = own_printf("22 1 259:1 / /%0300d rw - ext4 /dev/x rw", 0);
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (mountinfo_parse(word_of(bad[i]), &mount))
            fail_msg("%s", bad[i]);
    assert_false(mountinfo_parse(word_of(long_place), &mount));
    assert_false(fstab_parse(word_of("# a comment here"), &mount));
    assert_false(fstab_parse(word_of("/dev/sda1 /"), &mount));
    assert_true(fstab_parse(word_of("/dev/sda1 /x\\9 ext4"), &mount)); /* no escape: as it stands */
    assert_string_equal(mount.place, "/x\\9");
}

static void test_what_is_missing(void **state)
{
    struct machine machine = machine_new(*state, "");
    autofree char *mountinfo = sample("mountinfo"), *fstab = sample("fstab");
    machine_file(&machine, "/proc/self/mountinfo", mountinfo);
    machine_file(&machine, "/etc/fstab", fstab);
    struct check_report report = machine_run(&machine, &check_mounts);
    assert_true(report.whole);
    assert_int_equal(report.observation_count,
                     2); /* neither what is optional nor what is there, by whatever spelling */
    assert_non_null(machine_sees(&report, "node.mount.missing", "/gone"));
    assert_non_null(machine_sees(&report, "node.mount.missing", "/archive"));
    report_free(&report);
    machine_free(&machine);
}

static void test_a_probe_that_hangs_is_not_sent_again(void **state)
{
    struct machine machine = machine_new(*state, "");
    uint64_t ticks;
    machine_file(&machine, "/proc/self/mountinfo", "33 22 0:44 / /fsx rw - lustre 10.0.0.7@tcp:/a rw\n");
    assert_int_equal(child_start_time(getpid(), &ticks), 0);
    machine.memory = own_printf("%d %llu /fsx\n", (int)getpid(), (unsigned long long)ticks); /* we are still there */
    machine.memory_len = strlen(machine.memory);
    struct check_report report = machine_run(&machine, &check_mounts);
    assert_non_null(machine_sees(&report, "node.mount.hung", "/fsx"));
    report_free(&report);
    free(machine.memory);
    machine.memory = own_printf("%d %llu /fsx\n", (int)getpid(), (unsigned long long)ticks + 1); /* another process */
    machine.memory_len = strlen(machine.memory);
    report = machine_run(&machine, &check_mounts);
    assert_int_equal(report.result, CHECK_RESULT_OK);
    report_free(&report);
    machine_free(&machine);
}

static void test_a_disk_that_became_read_only(void **state)
{
    struct machine machine = machine_new(*state, "");
    static const char format[] =
        "22 1 259:1 / / rw - ext4 /dev/nvme0n1p1 %s\n31 22 259:3 / /scratch rw - xfs /dev/nvme1n1 %s\n";
    autofree char *good = own_printf(format, "rw", "ro"), *bad = own_printf(format, "ro", "ro");
    autofree char *shut = own_printf(format, "rw", "rw,shutdown");
    machine_file(&machine, "/proc/self/mountinfo", bad);
    struct check_report report = machine_run(&machine, &check_disk);
    assert_null(machine_sees(&report, "node.disk.read-only", NULL)); /* as it always was, for all we know */
    report_free(&report);
    machine_file(&machine, "/proc/self/mountinfo", good);
    report = machine_run(&machine, &check_disk);
    report_free(&report);
    machine_file(&machine, "/proc/self/mountinfo", bad);
    report = machine_run(&machine, &check_disk);
    assert_null(machine_sees(&report, "node.disk.read-only", NULL)); /* a reboot is not asked for after one look */
    assert_int_equal(report.result, CHECK_RESULT_UNKNOWN);
    report_free(&report);
    machine_file(&machine, "/proc/self/mountinfo", good); /* somebody was at work on it */
    report = machine_run(&machine, &check_disk);
    assert_true(report.whole);
    report_free(&report);
    machine_file(&machine, "/proc/self/mountinfo", bad);
    report = machine_run(&machine, &check_disk);
    assert_null(machine_sees(&report, "node.disk.read-only", NULL));
    report_free(&report);
    for (int i = 0; i < 2; i++) {
        report = machine_run(&machine, &check_disk);
        assert_non_null(machine_sees(&report, "node.disk.read-only", ""));
        assert_null(machine_sees(&report, "node.mount.read-only", NULL));
        report_free(&report);
    }
    machine_file(&machine, "/etc/fstab", "/dev/nvme0n1p1 / ext4 ro\n"); /* somebody wants it so */
    report = machine_run(&machine, &check_disk);
    assert_null(machine_sees(&report, "node.disk.read-only", NULL));
    report_free(&report);
    machine_file(&machine, "/proc/self/mountinfo", shut);
    report = machine_run(&machine, &check_disk);
    report_free(&report);
    report = machine_run(&machine, &check_disk);
    assert_non_null(machine_sees(&report, "node.mount.read-only", "/scratch"));
    report_free(&report);
    machine_free(&machine);
}

static void test_without_a_list_nothing_is_known(void **state)
{
    struct machine machine = machine_new(*state, "");
    struct check_report report = machine_run(&machine, &check_mounts);
    assert_int_equal(report.result, CHECK_RESULT_UNKNOWN);
    report_free(&report);
    report = machine_run(&machine, &check_disk);
    assert_false(report.whole);
    report_free(&report);
    machine_free(&machine);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mountinfo),
        cmocka_unit_test(test_lines_that_are_none),
        TEST(test_what_is_missing),
        TEST(test_a_probe_that_hangs_is_not_sent_again),
        TEST(test_a_disk_that_became_read_only),
        TEST(test_without_a_list_nothing_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
