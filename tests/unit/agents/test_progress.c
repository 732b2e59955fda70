/* How far the kernel log was read, on disk: with the windows that were open there, in this boot and after it, and as versions
 * before wrote it. */
#include "place.h"

#include "agents/node/progress.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define START_MS INT64_C(1795188470000)

struct kept {
    struct state state;
    struct windows windows;
};

static struct kept *kept_of(const struct place *place)
{
    struct kept *kept = own_calloc(1, sizeof(*kept));
    kept->state.dir = own_strdup(place->dir);
    windows_init(&kept->windows, "i-1", "boot-1");
    return kept;
}

static void kept_free(struct kept **kept)
{
    free((*kept)->state.dir);
    free(*kept);
}

#define AUTO_KEPT __attribute__((cleanup(kept_free)))

static void put(const struct kept *kept, const char *name, const char *data)
{
    autofree char *path = state_path(&kept->state, name);
    assert_int_equal(file_write(path, data, strlen(data), 0600), 0);
}

static void tell(const struct verdict *verdict, const struct reach *reach, void *arg)
{
    (void)reach;
    *(struct verdict *)arg = *verdict;
}

static void add(struct windows *windows, int64_t offset, int64_t now_ms, struct verdict *told)
{
    struct finding finding = {.source = "kmsg",
                              .severity = SEVERITY_CRITICAL,
                              .action = ACTION_CLASS_REBOOT,
                              .place = {77, offset},
                              .at_ms = START_MS + now_ms,
                              .mono_ms = now_ms,
                              .count = 1};
    text_copy_cut(finding.code, sizeof(finding.code), "xid.79");
    text_copy_cut(finding.raw_line, sizeof(finding.raw_line), "NVRM: Xid (PCI:0000:b9:00): 79, \"x\"");
    windows_add(windows, &finding, now_ms, tell, told);
}

static void test_windows_go_on(void **state)
{
    AUTO_KEPT struct kept *kept = kept_of(*state), *later = kept_of(*state);
    const struct kmsg_position at = {.file = 5, .offset = 1000, .emptied = 2};
    struct kmsg_position found;
    struct verdict first = {0}, told = {0};
    assert_int_equal(progress_load(&kept->state, "boot-1", &kept->windows, 10, &found), STATUS_NOT_FOUND);
    add(&kept->windows, 100, 1, &told);
    windows_flush(&kept->windows, 1, false, tell, &first);
    add(&kept->windows, 200, 2, &told); /* not told yet */
    assert_int_equal(progress_save(&kept->state, "boot-1", &at, &kept->windows), 0);

    assert_int_equal(progress_load(&later->state, "boot-1", &later->windows, 10, &found), 0);
    assert_memory_equal(&found, &at, sizeof(at));
    add(&later->windows, 200, 900, &told); /* read again */
    windows_flush(&later->windows, 10 + WINDOW_UPDATE_MS, false, tell, &told);
    assert_string_equal(told.key, first.key);
    assert_int_equal(told.count, 2);
    add(&later->windows, 300, 903, &told);
    windows_flush(&later->windows, 20 + 2 * WINDOW_UPDATE_MS, false, tell, &told);
    assert_string_equal(told.key, first.key);
    assert_int_equal(told.count, 3);
}

static void test_another_boot(void **state)
{
    AUTO_KEPT struct kept *kept = kept_of(*state), *later = kept_of(*state);
    const struct kmsg_position file = {.file = 5, .offset = 1000}, device = {.offset = 345};
    struct kmsg_position found;
    struct verdict told = {0};
    add(&kept->windows, 100, 1, &told);
    assert_int_equal(progress_save(&kept->state, "boot-1", &file, &kept->windows), 0);
    assert_int_equal(progress_load(&later->state, "boot-2", &later->windows, 10, &found), 0);
    assert_true(found.earlier_boot);
    assert_int_equal(found.offset, 1000);
    assert_int_equal(windows_due_ms(&later->windows), INT64_MAX); /* nothing of that boot is open */
    /* sequence numbers begin again with each boot */
    assert_int_equal(progress_save(&kept->state, "boot-1", &device, &kept->windows), 0);
    assert_int_equal(progress_load(&later->state, "boot-1", &later->windows, 10, &found), 0);
    assert_int_equal(found.offset, 345);
    assert_int_equal(progress_load(&later->state, "boot-2", &later->windows, 10, &found), STATUS_NOT_FOUND);
}

static void test_versions_before(void **state)
{
    AUTO_KEPT struct kept *kept = kept_of(*state);
    struct kmsg_position found;
    put(kept, "position", "boot-1 0 345 \n");
    assert_int_equal(progress_load(&kept->state, "boot-1", &kept->windows, 10, &found), 0);
    assert_int_equal(found.offset, 345);
    assert_string_equal(found.cursor, "");
    put(kept, "position", "boot-1 0 0 s=1;i=2\n");
    assert_int_equal(progress_load(&kept->state, "boot-1", &kept->windows, 10, &found), 0);
    assert_string_equal(found.cursor, "s=1;i=2");
    put(kept, "position", "boot-0 77 1000 \n");
    assert_int_equal(progress_load(&kept->state, "boot-1", &kept->windows, 10, &found), 0);
    assert_true(found.earlier_boot);
    /* the first new one takes its place */
    assert_int_equal(progress_save(&kept->state, "boot-1", &found, &kept->windows), 0);
    autofree char *before = state_path(&kept->state, "position");
    assert_int_equal(access(before, F_OK), -1);
}

static void test_files_without_sense(void **state)
{
    static const char *const bad[] = {
        "", "\n", "boot-1", "boot-1 0 5\n", "boot-1 x 5 0\n", "boot-1 7 -1 0\n", "boot-1 7 1 99999999999999999999\n"};
    AUTO_KEPT struct kept *kept = kept_of(*state);
    struct kmsg_position found;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        put(kept, "kernel-log", bad[i]);
        assert_int_equal(progress_load(&kept->state, "boot-1", &kept->windows, 10, &found), STATUS_NOT_FOUND);
    }
    put(kept, "kernel-log", "boot-1 7 1 0 \ntold\ntold {\nsaid {}\ngrew \n\n");
    assert_int_equal(progress_load(&kept->state, "boot-1", &kept->windows, 10, &found), 0);
    assert_int_equal(windows_due_ms(&kept->windows), INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(test_windows_go_on),
        PLACE_TEST(test_another_boot),
        PLACE_TEST(test_versions_before),
        PLACE_TEST(test_files_without_sense),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
