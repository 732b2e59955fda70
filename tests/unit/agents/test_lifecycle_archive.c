/* Archives of scripts: what tar makes is unpacked, and nothing that leaves the directory, links or is cut. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/node/lifecycle.h"
#include "base/child.h"
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LONG \
    "a-directory-with-a-name-that-is-longer-than-fifty-characters-are/and-another-one-of-that-kind-below-it/file.txt"

static char dir[64];
static char error[LIFECYCLE_ERROR_MAX];

static int setup(void **state)
{
    (void)state;
    snprintf(dir, sizeof(dir), "/tmp/holdfast-archive-XXXXXX");
    return mkdtemp(dir) == NULL;
}

static int teardown(void **state)
{
    (void)state;
    return file_remove_tree(dir);
}

static void shell(const char *fmt, const char *arg)
{
    autofree char *rest = own_printf(fmt, arg);
    autofree char *command = own_printf("cd %s && %s", dir, rest);
    const char *const argv[] = {"sh", "-ec", command, NULL};
    const struct child_options options = {.timeout_ms = 60000, .out_bytes_max = 4096};
    struct child_result result;
    assert_int_equal(child_run(argv, &options, &result), 0);
    if (result.exit_code != 0)
        fail_msg("%s: %s", command, result.err);
    child_result_free(&result);
}

static int unpack(const char *name, size_t cut)
{
    autofree char *path = own_printf("%s/%s", dir, name), *into = own_printf("%s/out", dir), *data = NULL;
    size_t len = 0;
    assert_int_equal(file_read(path, 1 << 24, &data, &len), 0);
    assert_int_equal(file_remove_tree(into), 0);
    assert_int_equal(file_make_dirs(into, 0755), 0);
    error[0] = '\0';
    return lifecycle_unpack(data, cut > 0 && cut < len ? cut : len, into, error);
}

static void test_what_tar_makes(void **state)
{
    static const char *const how[] = {"--format=ustar", "--format=gnu", "--format=pax", "-z --format=gnu",
                                      "-z --format=pax"};
    (void)state;
    shell("mkdir -p src/sub src/$(dirname %s) && printf 'echo hi' >src/on_create.sh && chmod 755 src/on_create.sh && "
          "printf data >src/sub/data && printf deep >src/" LONG,
          LONG);
    for (size_t i = 0; i < ARRAY_LEN(how); i++) {
        shell("tar %s -cf a.tar -C src .", how[i]);
        assert_int_equal(unpack("a.tar", 0), 0);
        shell("diff -r src %s && test -x out/on_create.sh", "out");
    }
}

static void test_what_is_refused(void **state)
{
    (void)state;
    shell("mkdir src && printf x >src/a && %s", "tar -cf up.tar -P --transform=s,^a$,../escaped, -C src a");
    assert_int_equal(unpack("up.tar", 0), STATUS_INVALID);
    shell("tar -cf root.tar -P --transform=s,^a$,%s/escaped, -C src a", dir);
    assert_int_equal(unpack("root.tar", 0), STATUS_INVALID);
    shell("ln -s /etc/passwd src/link && %s", "tar -cf link.tar -C src .");
    assert_int_equal(unpack("link.tar", 0), STATUS_INVALID);
    assert_non_null(strstr(error, "neither a file nor a directory"));
    shell("rm src/link && ln src/a src/hard && %s", "tar -cf hard.tar -C src .");
    assert_int_equal(unpack("hard.tar", 0), STATUS_INVALID);
    shell("printf '%s' >none.tar", "not an archive");
    assert_int_equal(unpack("none.tar", 0), STATUS_INVALID);
    shell("head -c 70000000 /dev/zero >src/big && %s", "tar -czf bomb.tar -C src big");
    assert_int_equal(unpack("bomb.tar", 0), STATUS_INVALID);
    assert_non_null(strstr(error, "64 MiB"));
    autofree char *escaped = own_printf("%s/escaped", dir);
    assert_false(file_exists(escaped));
}

/* Every place where a transfer may have ended. */
static void test_what_was_cut(void **state)
{
    (void)state;
    shell("mkdir src && printf x >src/a && %s", "tar -cf a.tar -C src a");
    for (size_t cut = 1; cut <= 1024; cut += 31)
        assert_int_equal(unpack("a.tar", cut), STATUS_INVALID);
    shell("%s", "tar -czf a.tgz -C src a");
    for (size_t cut = 3; cut < 90; cut += 7)
        assert_int_equal(unpack("a.tgz", cut), STATUS_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_what_tar_makes, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_was_cut, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
