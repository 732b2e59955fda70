/* The state directory: private, one agent at a time, and files that make no sense are as good as none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/node/state.h"
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct place {
    char dir[64];
    struct state state;
};

static int make_place(void **state)
{
    struct place *place = own_calloc(1, sizeof(*place));
    text_copy_cut(place->dir, sizeof(place->dir), "/tmp/holdfast-state-XXXXXX");
    if (mkdtemp(place->dir) == NULL)
        return -1;
    autofree char *dir = own_printf("%s/a/b", place->dir);
    *state = place;
    return state_open(dir, &place->state);
}

static int remove_place(void **state)
{
    struct place *place = *state;
    state_close(&place->state);
    int status = file_remove_tree(place->dir);
    free(place);
    return status;
}

static void put(const struct place *place, const char *name, const char *data)
{
    autofree char *path = state_path(&place->state, name);
    assert_int_equal(file_write(path, data, strlen(data), 0600), 0);
}

static void test_private_and_alone(void **state)
{
    const struct place *place = *state;
    struct state second;
    struct stat st;
    assert_int_equal(stat(place->state.dir, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0700);
    assert_int_equal(state_open(place->state.dir, &second), STATUS_CONFLICT);
    assert_int_not_equal(state_open("/proc/no/such", &second), 0);
}

static void test_credential(void **state)
{
    const struct place *place = *state;
    struct message_enrolled enrolled = {.credential = "hfn_17.abc", .heartbeat_interval_ms = 5000}, found;
    struct stat st;
    assert_int_equal(state_load_credential(&place->state, "i-1", &found), STATUS_NOT_FOUND);
    assert_int_equal(state_save_credential(&place->state, "i-1", &enrolled), 0);
    autofree char *path = state_path(&place->state, "credential");
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(state_load_credential(&place->state, "i-1", &found), 0);
    assert_string_equal(found.credential, "hfn_17.abc");
    assert_int_equal(found.heartbeat_interval_ms, 5000);
    /* a disk that was copied from another instance */
    assert_int_equal(state_load_credential(&place->state, "i-2", &found), STATUS_NOT_FOUND);
    static const char *const bad[] = {
        "", "\n", "hfn_1.x", "hfn_1.x i-1", "hfn_1.x i-1 x", "hfn_1.x i-1 0", "hfn_1.x i-1 -5"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        put(place, "credential", bad[i]);
        assert_int_equal(state_load_credential(&place->state, "i-1", &found), STATUS_NOT_FOUND);
    }
    autofree char *longest = own_printf("hfn_%0200d i-1 5000", 1);
    put(place, "credential", longest);
    assert_int_equal(state_load_credential(&place->state, "i-1", &found), STATUS_NOT_FOUND);
}

static void mark(const struct place *place, const char *name, const char *value)
{
    autofree char *path = own_printf("%s/root%s", place->dir, name), *dir = own_strdup(path);
    *strrchr(dir, '/') = '\0';
    assert_int_equal(file_make_dirs(dir, 0755), 0);
    if (value == NULL)
        assert_int_equal(unlink(path), 0);
    else
        assert_int_equal(file_write(path, value, strlen(value), 0644), 0);
}

/* An image that was made of a machine with an agent: its id is that machine's. */
static void test_a_copied_disk_is_noticed(void **state)
{
    static const char firmware[] = "/sys/class/dmi/id/product_uuid", installation[] = "/etc/machine-id";
    const struct place *place = *state;
    char first[ID_INSTANCE_MAX], second[ID_INSTANCE_MAX];
    autofree char *root = own_printf("%s/root", place->dir), *id = state_path(&place->state, "instance-id");
    mark(place, installation, "0123\n");
    assert_int_equal(state_own_instance_id(&place->state, root, first), 0);
    mark(place, firmware, "ec2-1\n"); /* an agent that may read more than the one before */
    assert_int_equal(state_own_instance_id(&place->state, root, second), 0);
    assert_string_equal(first, second);
    mark(place, firmware, NULL); /* and one that may not */
    assert_int_equal(state_own_instance_id(&place->state, root, second), 0);
    mark(place, firmware, "ec2-2\n");
    assert_int_equal(state_own_instance_id(&place->state, root, second), STATUS_CONFLICT);
    assert_int_equal(state_own_instance_id(&place->state, root, second), STATUS_CONFLICT);
    mark(place, firmware, "ec2-1\n");
    mark(place, installation, "4567\n");
    assert_int_equal(state_own_instance_id(&place->state, root, second), STATUS_CONFLICT);
    assert_int_equal(unlink(id), 0); /* emptied, as it says: another id, of this machine */
    assert_int_equal(state_own_instance_id(&place->state, root, second), 0);
    assert_string_not_equal(first, second);
    assert_int_equal(state_own_instance_id(&place->state, root, first), 0);
    assert_string_equal(first, second);
}

static void test_own_instance_id(void **state)
{
    const struct place *place = *state;
    char first[ID_INSTANCE_MAX], second[ID_INSTANCE_MAX];
    assert_int_equal(state_own_instance_id(&place->state, place->dir, first), 0);
    assert_true(text_starts_with(first, "i-"));
    assert_int_equal(state_own_instance_id(&place->state, place->dir, second), 0);
    assert_string_equal(first, second);
}

static void test_lines(void **state)
{
    static const struct {
        const char *data;
        int status;
    } cases[] = {
        {"token\n", 0},
        {"token", 0},
        {"token\r\n", 0},
        {"", STATUS_INVALID},
        {"\n", STATUS_INVALID},
        {"two words\n", STATUS_INVALID},
        {"two\nlines\n", STATUS_INVALID},
        {"\ntoken", STATUS_INVALID},
        {"tok\ten", STATUS_INVALID},
        {"tok\x7f", STATUS_INVALID},
        {"tok\xc3\xa9", STATUS_INVALID},
        {"far too long for it", STATUS_INVALID},
    };
    const struct place *place = *state;
    autofree char *path = state_path(&place->state, "line");
    char line[8];
    assert_int_equal(state_read_line(path, line, sizeof(line)), STATUS_NOT_FOUND);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        put(place, "line", cases[i].data);
        assert_int_equal(state_read_line(path, line, sizeof(line)), cases[i].status);
        if (cases[i].status == 0)
            assert_string_equal(line, "token");
    }
    assert_int_equal(file_write(path, "a\0b", 3, 0600), 0);
    assert_int_equal(state_read_line(path, line, sizeof(line)), STATUS_INVALID);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, make_place, remove_place)
    const struct CMUnitTest tests[] = {
        CASE(test_private_and_alone), CASE(test_credential), CASE(test_a_copied_disk_is_noticed),
        CASE(test_own_instance_id),   CASE(test_lines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
