/* Kernel lines in every dress they come in, in pieces, and with bytes that no kernel writes. */
#include "base/own.h"
#include "base/text.h"
#include "policy/faults/faults.h"
#include "tests/support/captured.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

static const struct {
    const char *line;
    int code;
    const char *device;
    int64_t pid;
    bool is_sxid;
} good[] = {
    {"NVRM: Xid (PCI:0000:b9:00): 79, GPU has fallen off the bus.", 79, "0000:b9:00", 0, false},
    {"NVRM: Xid (PCI:0000:B9:00): 79", 79, "0000:b9:00", 0, false},
    {"[ 6781.548779] NVRM: Xid (PCI:0000:91:00): 79, pid='<unknown>', name=<unknown>, gone", 79, "0000:91:00", 0,
     false},
    {"[  130.456250] [ T1946] NVRM: Xid (PCI:0000:2b:00): 31, pid=1942, name=bench, x", 31, "0000:2b:00", 1942, false},
    {"[Fri Nov 20 03:12:01 2026] NVRM: Xid (PCI:0000:65:00): 74, pid=<n/a>, x", 74, "0000:65:00", 0, false},
    {"Nov 20 03:12:01 gpu-1 kernel: NVRM: Xid (PCI:0000:01:00): 43, pid=9", 43, "0000:01:00", 9, false},
    {"Nov 20 03:12:01 gpu-1 kernel: [12345.678901] NVRM: Xid (PCI:0000:01:00): 43, pid=9", 43, "0000:01:00", 9, false},
    {"2026-11-20T03:12:01.123456+00:00 ip-10-0-0-1 kernel: NVRM: Xid (PCI:0000:01:00): 43", 43, "0000:01:00", 0, false},
    {"2026-11-20T03:12:01,470068+00:00 NVRM: Xid (PCI:0000:19:00): 48, x", 48, "0000:19:00", 0, false},
    {"kern  :warn  : 2026-11-20T03:12:01,498559+00:00 NVRM: Xid (PCI:0000:38:00): 13, x", 13, "0000:38:00", 0, false},
    {"kern  :err   : [  12.5] NVRM: Xid (PCI:0000:38:00): 13, x", 13, "0000:38:00", 0, false},
    {"4,1227,437812449932,-;NVRM: Xid (PCI:0000:01:00): 43, pid=7, name=x, Ch 00000018", 43, "0000:01:00", 7, false},
    {"4,1227,437812449932,-,caller=T77;NVRM: Xid (PCI:0000:01:00): 43, pid=7", 43, "0000:01:00", 7, false},
    {"4,1227,437812449932,c;NVRM: Xid PCI:0000:01:00: 43, pid=7", 43, "0000:01:00", 7, false},
    {"<4>[   12.5] NVRM: Xid (PCI:0000:01:00): 43", 43, "0000:01:00", 0, false},
    {"kernel: NVRM: Xid (PCI:0000:02:00.0): 63, pid=1, x\n", 63, "0000:02:00", 1, false},
    {"NVRM: Xid (0000:03:00): 14, Channel 00000001", 14, "0000:03:00", 0, false},
    {"NVRM: Xid (PCI:0000:01:00 GPU-I:05): 94, pid=7194, Contained", 94, "0000:01:00", 7194, false},
    {"NVRM: Xid (PCI:00010000:01:00): 94", 94, "00010000:01:00", 0, false},
    {"  \tNVRM: Xid (PCI:0000:01:00): 154 (", 154, "0000:01:00", 0, false},
    {"NVRM: Xid (PCI:0000:01:00): 31, name=pid=5", 31, "0000:01:00", 0, false},
    {"NVRM: Xid (PCI:0000:01:00): 31, pid=99999999999999999999", 31, "0000:01:00", 0, false},
    {"[1.2] nvidia-nvswitch2: SXid (PCI:0000:85:00.0): 12028, Non-fatal, Link 61", 12028, "0000:85:00", 0, true},
    {"nvidia-nvswitch10: SXid (PCI:0000:85:00.0): 20034, Fatal", 20034, "0000:85:00", 0, true},
};

static void good_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++) {
        struct xid_line xid;
        int status = xid_line_parse(good[i].line, strlen(good[i].line), &xid);
        if (status != 0)
            fail_msg("%s: %s", status_text(status), good[i].line);
        assert_int_equal(xid.code, good[i].code);
        assert_string_equal(xid.device, good[i].device);
        assert_int_equal(xid.pid, good[i].pid);
        assert_int_equal(xid.is_sxid, good[i].is_sxid);
    }
}

static void the_detail_is_what_follows(void **state)
{
    (void)state;
    const char *line = "kernel: NVRM: Xid (PCI:0000:b9:00): 79, GPU has fallen off the bus.\r\n";
    struct xid_line xid;
    assert_int_equal(xid_line_parse(line, strlen(line), &xid), 0);
    assert_int_equal(xid.detail_len, strlen("GPU has fallen off the bus."));
    assert_memory_equal(xid.detail, "GPU has fallen off the bus.", xid.detail_len);
}

static const struct {
    const char *line;
    int status;
} bad[] = {
    {"", STATUS_NOT_FOUND},
    {"NVRM: loading NVIDIA UNIX x86_64 Kernel Module", STATUS_NOT_FOUND},
    {"nvidia-nvswitch0: open (major=510)", STATUS_NOT_FOUND},
    /* Texts that others put into the log. */
    {"usb 1-1: Product: NVRM: Xid (PCI:0000:b9:00): 79, gone", STATUS_NOT_FOUND},
    {"[  1.0] usb 1-1: Product: NVRM: Xid (PCI:0000:b9:00): 79, gone", STATUS_NOT_FOUND},
    {"Nov 20 03:12:01 gpu-1 myjob[77]: NVRM: Xid (PCI:0000:b9:00): 79, gone", STATUS_NOT_FOUND},
    {"Nov 20 03:12:01 gpu-1 logger: kernel: NVRM: Xid (PCI:0000:b9:00): 79, gone", STATUS_NOT_FOUND},
    {"see also \"NVRM: Xid (PCI:0000:b9:00): 79, gone\"", STATUS_NOT_FOUND},
    {"x;NVRM: Xid (PCI:0000:b9:00): 79", STATUS_NOT_FOUND},
    {"] NVRM: Xid (PCI:0000:b9:00): 79", STATUS_NOT_FOUND},
    {"[a\tb] NVRM: Xid (PCI:0000:b9:00): 79", STATUS_NOT_FOUND},
    /* Broken ones. */
    {"NVRM: Xid", STATUS_INVALID},
    {"NVRM: Xid (PCI:0000:b9:00", STATUS_INVALID},
    {"NVRM: Xid (PCI:0000:b9:00):", STATUS_INVALID},
    {"NVRM: Xid (PCI:0000:b9:00): ,", STATUS_INVALID},
    {"NVRM: Xid (PCI:0000:b9:00): abc", STATUS_INVALID},
    {"NVRM: Xid (PCI:0000:b9:00): 7x", STATUS_INVALID},
    {"NVRM: Xid (PCI:0000:b9:00): -79", STATUS_INVALID},
    {"NVRM: Xid (PCI:0000:b9:00): 123456", STATUS_INVALID},
    {"NVRM: Xid (PCI:0000:b9): 79", STATUS_INVALID},
    {"NVRM: Xid (PCI:0000:b:00): 79", STATUS_INVALID},
    {"NVRM: Xid (PCI:000000000:b9:00): 79", STATUS_INVALID},
    {"NVRM: Xid (PCI:zz:b9:00): 79", STATUS_INVALID},
    {"NVRM: Xid (PCI:0000:b9:00.x): 79", STATUS_INVALID},
    {"NVRM: Xid : 32, pid=2280636", STATUS_INVALID},
    {"NVRM: Xid (invalid): some error", STATUS_INVALID},
    {"nvidia-nvswitch0: SXid (PCI:0000:00:00.0): xyz, Fatal error", STATUS_INVALID},
};

static void bad_lines(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct xid_line xid = {.code = -7};
        int status = xid_line_parse(bad[i].line, strlen(bad[i].line), &xid);
        if (status != bad[i].status)
            fail_msg("%s instead of %s: %s", status_text(status), status_text(bad[i].status), bad[i].line);
        assert_int_equal(xid.code, -7); /* written only on success */
    }
}

/* In memory that ends with the line, so that a sanitizer sees one byte too many. */
static int parse_exactly(const char *line, size_t len, struct xid_line *ret_xid)
{
    autofree char *copy = malloc(len > 0 ? len : 1);
    assert_non_null(copy);
    memcpy(copy, line, len);
    return xid_line_parse(copy, len, ret_xid);
}

static void every_piece_of_every_line(void **state)
{
    (void)state;
    struct xid_line xid;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        for (size_t len = 0; len <= strlen(good[i].line); len++) {
            int status = parse_exactly(good[i].line, len, &xid);
            assert_true(status == 0 || status == STATUS_NOT_FOUND || status == STATUS_INVALID);
        }
}

static void changed_bytes(void **state)
{
    (void)state;
    uint64_t random = 20261120;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        for (int round = 0; round < 500; round++) {
            autofree char *line = own_strdup(good[i].line);
            size_t len = strlen(line);
            for (int k = 0; k < 3; k++) {
                random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
                line[(random >> 33) % len] = (char)(random >> 20);
            }
            struct xid_line xid;
            if (parse_exactly(line, len, &xid) == 0)
                assert_true(xid.code >= 0 && xid.code <= 99999 && strlen(xid.device) >= strlen("0:00:00"));
        }
}

static void a_zero_is_only_a_byte(void **state)
{
    (void)state;
    static const char line[] = "[ 1.0]\0NVRM: Xid (PCI:0000:b9:00): 79\0, x";
    struct xid_line xid;
    assert_int_equal(xid_line_parse(line, sizeof(line) - 1, &xid), STATUS_NOT_FOUND);
    assert_int_equal(xid_line_parse(line + 7, sizeof(line) - 8, &xid), 0);
    assert_int_equal(xid.code, 79);
}

/* --- captured lines, where they are at hand ------------------------------------------------------------------- */

/* Lines that start like an Xid and are none: broken on purpose, printf formats, documentation. */
static const char *const justified[] = {
    "(PCI:0000:01:0", "): abc,", "): INVALID,", "): %d,", "Example: NVRM",
};

static bool is_justified(const char *line)
{
    for (size_t i = 0; i < ARRAY_LEN(justified); i++)
        if (strstr(line, justified[i]) != NULL)
            return true;
    return false;
}

static void read_captured(const char *path, size_t *lines)
{
    FILE *file = fopen(path, "rb");
    char *line = NULL;
    size_t size = 0;
    ssize_t len;
    while (file != NULL && (len = getline(&line, &size, file)) >= 0) {
        /* A few files are programs or documents that hold lines in quotes: from the line's own start then. */
        char *start = strstr(line, "NVRM: Xid (PCI");
        if (start == NULL)
            continue;
        struct xid_line xid;
        bool found = xid_line_parse(line, (size_t)len, &xid) == 0;
        if (!found && !is_justified(line))
            fail_msg("%s: %s", path, line);
        ++*lines;
    }
    free(line);
    if (file != NULL)
        fclose(file);
}

static void walk(const char *path, int depth, size_t *lines)
{
    DIR *dir = opendir(path);
    for (struct dirent *entry; dir != NULL && depth < 6 && (entry = readdir(dir)) != NULL;) {
        if (entry->d_name[0] == '.')
            continue;
        autofree char *inner = own_printf("%s/%s", path, entry->d_name);
        struct stat info;
        if (lstat(inner, &info) == 0 && S_ISDIR(info.st_mode))
            walk(inner, depth + 1, lines);
        else if (S_ISREG(info.st_mode))
            read_captured(inner, lines);
    }
    if (dir != NULL)
        closedir(dir);
}

static void captured_lines(void **state)
{
    (void)state;
    autofree char *path = captured_path("kmsg");
    if (path == NULL)
        skip();
    size_t lines = 0;
    walk(path, 0, &lines);
    assert_true(lines > 500);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(good_lines),     cmocka_unit_test(the_detail_is_what_follows),
        cmocka_unit_test(bad_lines),      cmocka_unit_test(every_piece_of_every_line),
        cmocka_unit_test(changed_bytes),  cmocka_unit_test(a_zero_is_only_a_byte),
        cmocka_unit_test(captured_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
