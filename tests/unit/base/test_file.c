/* Files: read with a limit, written whole or not at all, trees removed without following links. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* The steps of a write that the world can fail, taken before the C library's: the fail_at-th of them fails. */
static int fail_at, fail_errno, steps;

static bool step_fails(void)
{
    if (++steps != fail_at)
        return false;
    errno = fail_errno;
    return true;
}

int fsync(int fd)
{
    return step_fails() ? -1 : (int)syscall(SYS_fsync, fd);
}

int fchmod(int fd, mode_t mode)
{
    return step_fails() ? -1 : (int)syscall(SYS_fchmod, fd, mode);
}

int rename(const char *from, const char *to)
{
    return step_fails() ? -1 : (int)syscall(SYS_rename, from, to);
}

/* A directory of this test's own; *state is its path. */
static int make_place(void **state)
{
    char *place = own_strdup("/tmp/holdfast-file-XXXXXX");

    *state = mkdtemp(place);
    return *state == NULL ? -1 : 0;
}

static int remove_place(void **state)
{
    int r = file_remove_tree(*state);

    free(*state);
    return r;
}

static int count_entries(const char *path)
{
    DIR *dir = opendir(path);
    int count = 0;

    assert_non_null(dir);
    while (readdir(dir) != NULL)
        count++;
    closedir(dir);
    return count - 2;
}

static void assert_content(const char *path, const char *expected)
{
    autofree char *data = NULL;
    size_t len = 0;

    assert_int_equal(file_read(path, 1 << 20, &data, &len), 0);
    assert_int_equal(len, strlen(expected));
    assert_string_equal(data, expected);
}

static void test_write_then_read(void **state)
{
    autofree char *path = own_printf("%s/a", (char *)*state);

    assert_int_equal(file_write(path, "one", 3, 0644), 0);
    assert_content(path, "one");
    assert_int_equal(file_write(path, "second", 6, 0644), 0);
    assert_content(path, "second");
    assert_int_equal(file_write(path, NULL, 0, 0644), 0);
    assert_content(path, "");
    assert_int_equal(count_entries(*state), 1);
}

static void test_read_limits(void **state)
{
    enum { BIG = 200000 };
    autofree char *path = own_printf("%s/big", (char *)*state), *big = own_calloc(BIG, 1), *data = NULL;
    size_t len = 0;

    memset(big, 'x', BIG);
    big[7] = '\0';
    assert_int_equal(file_write(path, big, BIG, 0600), 0);
    assert_int_equal(file_read(path, BIG - 1, &data, &len), STATUS_TOO_LARGE);
    assert_null(data);
    assert_int_equal(file_read(path, BIG, &data, &len), 0);
    assert_int_equal(len, BIG);
    assert_memory_equal(data, big, BIG);
    assert_int_equal(data[BIG], '\0');
}

static void test_read_what_is_not_there(void **state)
{
    autofree char *path = own_printf("%s/none", (char *)*state), *below = NULL, *data = NULL;
    size_t len = 77;

    assert_int_equal(file_read(path, 10, &data, &len), STATUS_NOT_FOUND);
    assert_int_equal(file_read(*state, 10, &data, &len), STATUS_IO);
    assert_int_equal(file_write(path, "x", 1, 0600), 0);
    below = own_printf("%s/below", path);
    assert_int_equal(file_read(below, 10, &data, &len), STATUS_NOT_FOUND);
    assert_null(data);
    assert_int_equal(len, 77);
    assert_true(file_exists(path));
    assert_false(file_exists(below));
}

/* Files of /proc say they are empty. */
static void test_read_proc(void **state)
{
    autofree char *data = NULL;
    size_t len = 0;

    (void)state;
    assert_int_equal(file_read("/proc/self/status", 1 << 16, &data, &len), 0);
    assert_true(len > 100);
}

static void test_mode_is_exact(void **state)
{
    static const mode_t modes[] = {0600, 0644, 0640};
    autofree char *path = own_printf("%s/secret", (char *)*state);
    mode_t before = umask(0077);
    struct stat st;

    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        assert_int_equal(file_write(path, "x", 1, modes[i]), 0);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, modes[i]);
    }
    umask(before);
}

/* In a child that may write limit bytes a file: the status of file_write, in its exit code. */
static int write_limited(const char *path, rlim_t limit)
{
    int status = 0;
    pid_t pid = fork();

    if (pid == 0) {
        struct rlimit rl = {limit, limit};
        char data[8192] = {0};
        signal(SIGXFSZ, SIG_IGN);
        setrlimit(RLIMIT_FSIZE, &rl);
        _exit(-file_write(path, data, sizeof(data), 0600));
    }
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return -WEXITSTATUS(status);
}

/* Wherever in the file the disk refuses: the old content stays, and nothing else is left. */
static void test_failed_write_changes_nothing(void **state)
{
    static const rlim_t limits[] = {0, 1, 4096, 8191};
    autofree char *path = own_printf("%s/kept", (char *)*state);

    assert_int_equal(file_write(path, "old", 3, 0600), 0);
    for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
        assert_int_equal(write_limited(path, limits[i]), STATUS_FULL);
        assert_content(path, "old");
        assert_int_equal(count_entries(*state), 1);
    }
    assert_int_equal(write_limited(path, 8192), 0);
}

/* Each step in turn. Only when the last one fails, the sync of the directory, is the new content there already. */
static void test_nth_step_fails(void **state)
{
    static const int errors[] = {EIO, ENOSPC, EDQUOT};
    enum { STEPS = 4 }; /* mode, sync, rename, sync of the directory */
    autofree char *path = own_printf("%s/kept", (char *)*state);

    for (size_t i = 0; i < ARRAY_LEN(errors); i++)
        for (int n = 1; n <= STEPS + 1; n++) {
            fail_at = 0;
            assert_int_equal(file_write(path, "old", 3, 0600), 0);
            steps = 0;
            fail_at = n;
            fail_errno = errors[i];
            int expected = n > STEPS ? 0 : errors[i] == EIO ? STATUS_IO : STATUS_FULL;
            assert_int_equal(file_write(path, "new", 3, 0600), expected);
            fail_at = 0;
            assert_content(path, n < STEPS ? "old" : "new");
            assert_int_equal(count_entries(*state), 1);
            assert_int_equal(steps, n < STEPS ? n : STEPS);
        }
}

static void test_write_beside_us(void **state)
{
    autofree char *before = getcwd(NULL, 0);

    assert_int_equal(chdir(*state), 0);
    int r = file_write("bare", "x", 1, 0600);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(r, 0);
    assert_int_equal(count_entries(*state), 1);
}

static void test_write_where_nothing_can_be(void **state)
{
    autofree char *nowhere = own_printf("%s/no/where", (char *)*state);
    autofree char *directory = own_printf("%s/dir", (char *)*state);

    assert_int_equal(file_write(nowhere, "x", 1, 0600), STATUS_IO);
    assert_int_equal(file_make_dirs(directory, 0700), 0);
    assert_int_equal(file_write(directory, "x", 1, 0600), STATUS_IO);
    assert_int_equal(count_entries(*state), 1);
}

static void test_make_dirs(void **state)
{
    autofree char *deep = own_printf("%s/a//b/c/", (char *)*state), *file = own_printf("%s/f", (char *)*state);
    autofree char *through = own_printf("%s/x", file);

    assert_int_equal(file_make_dirs(deep, 0700), 0);
    assert_int_equal(file_make_dirs(deep, 0700), 0);
    assert_true(file_exists(deep));
    assert_int_equal(file_write(file, "x", 1, 0600), 0);
    assert_int_equal(file_make_dirs(file, 0700), STATUS_IO);
    assert_int_equal(file_make_dirs(through, 0700), STATUS_IO);
    assert_int_equal(file_make_dirs("", 0700), STATUS_INVALID);
}

static void test_remove_tree(void **state)
{
    autofree char *tree = own_printf("%s/t", (char *)*state), *deep = own_printf("%s/t/a/b", (char *)*state);
    autofree char *inside = own_printf("%s/t/a/b/f", (char *)*state), *kept = own_printf("%s/kept", (char *)*state);
    autofree char *link_to_file = own_printf("%s/t/link", (char *)*state);
    autofree char *link_to_dir = own_printf("%s/t/a/up", (char *)*state);

    assert_int_equal(file_make_dirs(deep, 0700), 0);
    assert_int_equal(file_write(inside, "x", 1, 0400), 0);
    assert_int_equal(file_write(kept, "kept", 4, 0600), 0);
    assert_int_equal(symlink(kept, link_to_file), 0);
    assert_int_equal(symlink(*state, link_to_dir), 0);
    assert_int_equal(file_remove_tree(tree), 0);
    assert_false(file_exists(tree));
    assert_content(kept, "kept");
    assert_int_equal(file_remove_tree(tree), 0);
    assert_int_equal(file_remove_tree(kept), 0);
    assert_int_equal(count_entries(*state), 0);
}

/* A tree without a bottom is given up, not followed until the descriptors end. */
static void test_remove_tree_that_is_too_deep(void **state)
{
    enum { DEEP = 140 };
    AUTO(text) struct text path = {0};

    text_add(&path, *state);
    for (int i = 0; i < DEEP; i++)
        text_add(&path, "/d");
    assert_int_equal(file_make_dirs(text_get(&path), 0700), 0);
    assert_int_equal(file_remove_tree(*state), STATUS_IO);
    /* From the middle it can be done, and then the rest too. */
    path.data[strlen(*state) + DEEP] = '\0';
    assert_int_equal(file_remove_tree(path.data), 0);
}

/* The link goes, what it points to stays. */
static void test_remove_link(void **state)
{
    autofree char *dir = own_printf("%s/d", (char *)*state), *file = own_printf("%s/d/f", (char *)*state);
    autofree char *link = own_printf("%s/l", (char *)*state);

    assert_int_equal(file_make_dirs(dir, 0700), 0);
    assert_int_equal(file_write(file, "x", 1, 0600), 0);
    assert_int_equal(symlink(dir, link), 0);
    assert_int_equal(file_remove_tree(link), 0);
    assert_content(file, "x");
    assert_int_equal(count_entries(*state), 1);
}

/* Run as root these would be the last test: they are tried in a child whose root is this place. */
static void test_remove_refuses_root(void **state)
{
    static const char *const roots[] = {"", "/", "//", "/.", "/..", "/tmp/.."};
    int status = 0;
    pid_t pid;

    if (geteuid() != 0)
        skip(); /* chroot needs root */
    autofree char *tmp = own_printf("%s/tmp", (char *)*state);
    assert_int_equal(file_make_dirs(tmp, 0700), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        int refused = 0;
        if (chroot(*state) < 0 || chdir("/") < 0)
            _exit(99);
        for (size_t i = 0; i < ARRAY_LEN(roots); i++)
            refused += file_remove_tree(roots[i]) == STATUS_INVALID ? 1 : 0;
        _exit(refused);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), ARRAY_LEN(roots));
    assert_true(file_exists(tmp));
}

static void test_lock(void **state)
{
    autofree char *path = own_printf("%s/lock", (char *)*state), *nowhere = own_printf("%s/no/lock", (char *)*state);
    int fd = -1, other = -1, status = 0;

    assert_int_equal(file_lock(path, &fd), 0);
    pid_t pid = fork();
    if (pid == 0)
        _exit(-file_lock(path, &other));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(-WEXITSTATUS(status), STATUS_CONFLICT);
    assert_int_equal(file_lock(path, &other), STATUS_CONFLICT);
    assert_int_equal(other, -1);
    assert_int_equal(file_lock_within(path, 50, &other), STATUS_CONFLICT);
    close(fd);
    assert_int_equal(file_lock(path, &other), 0);
    close(other);
    assert_int_equal(file_lock(nowhere, &other), STATUS_IO);
    assert_int_equal(file_lock_within(nowhere, 60000, &other), STATUS_IO); /* at once */
}

/* What matters is the open file, not who opened it: the one here stands for one that was there at birth. */
static void test_lock_inherited(void **state)
{
    autofree char *path = own_printf("%s/lock", (char *)*state), *elsewhere = own_printf("%s/other", (char *)*state);
    int fd = -1, other = -1;

    assert_int_equal(file_lock(path, &fd), 0);
    assert_int_equal(file_lock(elsewhere, &other), 0);
    assert_int_equal(file_lock_inherited(path, -1), STATUS_NOT_FOUND);
    assert_int_equal(file_lock_inherited(path, other), STATUS_NOT_FOUND);
    close(other);
    other = open(path, O_RDWR);
    assert_int_equal(file_lock_inherited(path, other), STATUS_CONFLICT);
    assert_int_equal(file_lock_inherited(path, fd), 0);
    close(fd);
    assert_int_equal(file_lock_inherited(path, other), 0);
    assert_int_equal(fcntl(other, F_GETFD), FD_CLOEXEC);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(file_lock_inherited(path, other), STATUS_NOT_FOUND);
    close(other);
}

#define IN_PLACE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_PLACE(test_write_then_read),
        IN_PLACE(test_read_limits),
        IN_PLACE(test_read_what_is_not_there),
        cmocka_unit_test(test_read_proc),
        IN_PLACE(test_mode_is_exact),
        IN_PLACE(test_failed_write_changes_nothing),
        IN_PLACE(test_nth_step_fails),
        IN_PLACE(test_write_beside_us),
        IN_PLACE(test_write_where_nothing_can_be),
        IN_PLACE(test_make_dirs),
        IN_PLACE(test_remove_tree),
        IN_PLACE(test_remove_tree_that_is_too_deep),
        IN_PLACE(test_remove_link),
        IN_PLACE(test_remove_refuses_root),
        IN_PLACE(test_lock),
        IN_PLACE(test_lock_inherited),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
