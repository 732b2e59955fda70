/*
 * The gathered log: few calls a commit, nothing missing for whoever reads, and a transaction larger than the cache reads what
 * it has written itself. What failing writes do to it is test_faults.c's, what kill -9 does test_crash.c's.
 *
 * SQLite's calls to the system are counted by defining them here: the program's own come before the C library's.
 */
#include "db_world.h"

#include <stdatomic.h>
#include <sys/syscall.h>

static atomic_int writes, syncs, writes_after_sync;

ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at)
{
    atomic_fetch_add(&writes, 1);
    atomic_fetch_add(&writes_after_sync, 1);
    return syscall(SYS_pwrite64, fd, data, len, at);
}

int fdatasync(int fd)
{
    atomic_fetch_add(&syncs, 1);
    atomic_store(&writes_after_sync, 0);
    return (int)syscall(SYS_fdatasync, fd);
}

struct flood {
    struct world *w;
    int from, count;
    bool reads; /* what it has written itself, as it goes */
};

static void fill_verdict(const struct flood *flood, int number, struct verdict *ret_verdict)
{
    char key[16];
    snprintf(key, sizeof(key), "k%d", number);
    *ret_verdict = a_verdict(flood->w->nodes[number % WORLD_NODES].id, key);
    memset(ret_verdict->raw_line, 'a' + number % 26, sizeof(ret_verdict->raw_line) - 1);
}

static void assert_stored(struct db_tx *tx, const struct flood *flood, int number, int64_t id)
{
    struct verdict wanted, got;
    fill_verdict(flood, number, &wanted);
    MUST(db_verdict_get_row(tx, id, &got));
    assert_string_equal(got.key, wanted.key);
    assert_string_equal(got.raw_line, wanted.raw_line);
}

static int flood_write(struct db_tx *tx, void *arg)
{
    const struct flood *flood = arg;
    int64_t first = 0;
    for (int i = flood->from; i < flood->from + flood->count; i++) {
        struct verdict verdict;
        enum db_verdict_change change;
        fill_verdict(flood, i, &verdict);
        int status = db_verdict_put(tx, &verdict, &change);
        if (status < 0)
            return status;
        assert_int_equal(change, DB_VERDICT_NEW);
        first = first == 0 ? verdict.id : first;
        if (flood->reads && i % 7 == 0)
            assert_stored(tx, flood, flood->from + (i - flood->from) / 2, first + (i - flood->from) / 2);
    }
    return 0;
}

static void test_a_commit_is_few_calls(void **state)
{
    struct world *w = *state;
    struct flood flood = {w, 0, 60, false};
    atomic_store(&writes, 0);
    atomic_store(&syncs, 0);
    MUST(db_write(w->db, "flood", flood_write, &flood));
    /* More than 60 kB in frames of 4 kB; the log's own header and its sync may be among it. */
    assert_in_range(atomic_load(&writes), 1, 6);
    assert_in_range(atomic_load(&syncs), 1, 2);
    assert_int_equal(atomic_load(&writes_after_sync), 0);
}

static int count_row(const void *row, void *arg)
{
    (void)row;
    ++*(int *)arg;
    return 0;
}

static int count_verdicts(struct world *w)
{
    struct db_tx *tx = NULL;
    int count = 0;
    const struct db_verdict_filter filter = {.state = -1};
    MUST(db_read_begin(w->db, &tx));
    MUST(db_verdict_list(tx, &filter, count_row, &count));
    db_read_end(w->db, tx);
    return count;
}

static void test_what_is_committed_is_there_for_all(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < 50; i++) {
        struct flood flood = {w, i * 3, 3, false};
        MUST(db_write(w->db, "flood", flood_write, &flood));
        assert_int_equal(count_verdicts(w), (i + 1) * 3);
    }
    world_close(w);
    MUST(world_open(w, DB_INLINE));
    assert_int_equal(count_verdicts(w), 150);
}

#define LARGE 16000 /* of a kilobyte each: twice the writer's cache */
_Static_assert(LARGE > DB_WRITER_CACHE_KIB * 3 / 2, "a transaction has to spill");

static int fail_at_the_end(struct db_tx *tx, void *arg)
{
    int status = flood_write(tx, arg);
    return status < 0 ? status : STATUS_CONFLICT;
}

static void test_a_transaction_larger_than_the_cache(void **state)
{
    struct world *w = *state;
    struct flood flood = {w, 0, LARGE, true};
    assert_int_equal(db_write(w->db, "flood", fail_at_the_end, &flood), STATUS_CONFLICT);
    assert_int_equal(count_verdicts(w), 0);
    MUST(db_write(w->db, "flood", flood_write, &flood));
    assert_int_equal(count_verdicts(w), LARGE);
    world_close(w);
    MUST(world_open(w, DB_INLINE));
    assert_int_equal(count_verdicts(w), LARGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        INLINE_TEST(test_a_commit_is_few_calls),
        INLINE_TEST(test_what_is_committed_is_there_for_all),
        INLINE_TEST(test_a_transaction_larger_than_the_cache),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
