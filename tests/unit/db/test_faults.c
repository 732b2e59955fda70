/*
 * The disk's bad days: the n-th write or sync fails, the disk fills up and has room again. What was acknowledged stays,
 * what was not is refused with a status that says which of the two it was, and the store goes on.
 *
 * SQLite's calls to the system are caught by defining them here: the program's own come before the C library's.
 */
#include "db_world.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* --- the failing disk ---------------------------------------------------------------------------- */

enum call { CALL_WRITE, CALL_SYNC, CALL_COUNT };

/* Calls seen since the disk was told to fail; from the at-th on, `times` of them fail with error. */
static struct {
    atomic_int seen[CALL_COUNT];
    atomic_int at, times, error;
    enum call call;
} fault;

static bool call_fails(enum call call)
{
    int seen = atomic_fetch_add(&fault.seen[call], 1) + 1;
    int at = atomic_load(&fault.at);
    if (call != fault.call || at == 0 || seen < at || seen >= at + atomic_load(&fault.times))
        return false;
    errno = atomic_load(&fault.error);
    return true;
}

static void fail_from(enum call call, int at, int times, int error)
{
    fault.call = call;
    for (int i = 0; i < CALL_COUNT; i++)
        atomic_store(&fault.seen[i], 0);
    atomic_store(&fault.times, times);
    atomic_store(&fault.error, error);
    atomic_store(&fault.at, at);
}

static void fail_no_more(void)
{
    atomic_store(&fault.at, 0);
}

ssize_t pwrite64(int fd, const void *data, size_t len, off64_t at)
{
    return call_fails(CALL_WRITE) ? -1 : syscall(SYS_pwrite64, fd, data, len, at);
}

/* A directory's sync is none of ours to fail: SQLite goes on whatever comes of it. */
int fdatasync(int fd)
{
    struct stat info;
    bool file = fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
    return file && call_fails(CALL_SYNC) ? -1 : (int)syscall(SYS_fdatasync, fd);
}

/* --- a store under test -------------------------------------------------------------------------- */

static void set_file_limit(rlim_t bytes)
{
    struct rlimit limit;
    MUST(getrlimit(RLIMIT_FSIZE, &limit));
    limit.rlim_cur = bytes;
    MUST(setrlimit(RLIMIT_FSIZE, &limit));
}

static int setup(void **state)
{
    fail_no_more();
    return world_setup_inline(state);
}

static int teardown(void **state)
{
    char disk[128];
    fail_no_more();
    set_file_limit(RLIM_INFINITY);
    world_file(*state, "disk", disk, sizeof(disk));
    umount2(disk, MNT_DETACH); /* still there only when its test failed */
    return world_teardown(state);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* Writes a verdict of a thousand bytes and more, and an event: a write of several statements. */
struct entry {
    struct world *w;
    int number;
};

static int entry_write(struct db_tx *tx, void *arg)
{
    const struct entry *entry = arg;
    char key[16];
    snprintf(key, sizeof(key), "%d", entry->number);
    struct verdict verdict = a_verdict(entry->w->nodes[entry->number % WORLD_NODES].id, key);
    memset(verdict.raw_line, 'x', sizeof(verdict.raw_line) - 1);
    enum db_verdict_change change;
    struct event event = {.kind = EVENT_KIND_VERDICT, .operation_id = entry->number + 1};
    int status = db_verdict_put(tx, &verdict, &change);
    return status < 0 ? status : db_event_insert(tx, &event);
}

static int write_entry(struct world *w, int number)
{
    struct entry entry = {w, number};
    return db_write(w->db, "entry", entry_write, &entry);
}

/* --- the n-th call fails ------------------------------------------------------------------------- */

#define ENTRIES 6

/* Ends when n is past the last call that the work makes. */
static bool nth_call_fails(struct world *w, enum call call, int n, int times, int error, int want)
{
    int base = n * 100, failed = 0;
    bool acked[ENTRIES];
    fail_from(call, n, times, error);
    for (int i = 0; i < ENTRIES; i++) {
        int status = write_entry(w, base + i);
        acked[i] = status == 0;
        if (status != 0)
            assert_int_equal(status, want);
        failed += status != 0;
    }
    bool reached = atomic_load(&fault.seen[call]) >= n;
    fail_no_more();
    assert_int_equal(failed > 0, reached);
    MUST(write_entry(w, base + ENTRIES)); /* it has recovered by itself */
    for (int i = 0; i < ENTRIES; i++)
        assert_int_equal(events_of(w, base + i), acked[i]);
    assert_sound(w);
    world_close(w);
    MUST(world_open(w, DB_INLINE));
    for (int i = 0; i < ENTRIES; i++)
        assert_int_equal(events_of(w, base + i), acked[i]);
    return reached;
}

static void every_call_fails_once(struct world *w, enum call call, int times, int error, int want)
{
    int n = 1;
    while (nth_call_fails(w, call, n, times, error, want))
        n++;
    assert_true(n > ENTRIES);
}

static void test_each_write_call_fails(void **state)
{
    every_call_fails_once(*state, CALL_WRITE, 1, EIO, STATUS_IO);
}

static void test_each_write_call_finds_the_disk_full(void **state)
{
    every_call_fails_once(*state, CALL_WRITE, 1, ENOSPC, STATUS_FULL);
}

static void test_each_write_call_finds_the_quota_used_up(void **state)
{
    every_call_fails_once(*state, CALL_WRITE, 1, EDQUOT, STATUS_FULL);
}

static void test_each_sync_fails(void **state)
{
    every_call_fails_once(*state, CALL_SYNC, 1, EIO, STATUS_IO);
}

static void test_the_disk_stays_away_for_a_while(void **state)
{
    every_call_fails_once(*state, CALL_WRITE, 1000000, EIO, STATUS_IO);
}

/* --- a whole batch ------------------------------------------------------------------------------- */

#define BATCH 50

struct hold {
    sem_t entered, open;
};

static int hold_write(struct db_tx *tx, void *arg)
{
    (void)tx;
    struct hold *hold = arg;
    sem_post(&hold->entered);
    sem_wait(&hold->open);
    return 0;
}

static void hold_done(int status, void *arg)
{
    (void)status;
    (void)arg;
}

struct told {
    struct entry entry;
    sem_t *done;
    int status;
};

static void told_done(int status, void *arg)
{
    struct told *told = arg;
    told->status = status;
    sem_post(told->done);
}

static int told_write(struct db_tx *tx, void *arg)
{
    return entry_write(tx, &((struct told *)arg)->entry);
}

/* Queues a batch behind a write that holds the writer, then lets the disk fail (or not) under its commit. */
static void one_batch(struct world *w, int base, int error, int want)
{
    static struct told told[BATCH];
    struct hold hold;
    sem_t done;
    sem_init(&hold.entered, 0, 0);
    sem_init(&hold.open, 0, 0);
    sem_init(&done, 0, 0);
    MUST(db_write_async(w->db, "hold", hold_write, hold_done, &hold));
    sem_wait(&hold.entered);
    for (int i = 0; i < BATCH; i++) {
        told[i] = (struct told){{w, base + i}, &done, 1};
        MUST(db_write_async(w->db, "told", told_write, told_done, &told[i]));
    }
    if (error != 0)
        fail_from(CALL_SYNC, 1, 1, error);
    sem_post(&hold.open);
    for (int i = 0; i < BATCH; i++)
        sem_wait(&done);
    fail_no_more();
    for (int i = 0; i < BATCH; i++) {
        assert_int_equal(told[i].status, want);
        assert_int_equal(events_of(w, base + i), want == 0);
    }
}

static void test_a_failing_commit_fails_all_of_its_batch_and_nothing_else(void **state)
{
    struct world *w = *state;
    world_close(w);
    MUST(world_open(w, 0));
    one_batch(w, 1000, 0, 0);
    one_batch(w, 2000, EIO, STATUS_IO);
    one_batch(w, 3000, ENOSPC, STATUS_FULL);
    one_batch(w, 4000, 0, 0);
    for (int i = 0; i < BATCH; i++)
        assert_int_equal(events_of(w, 1000 + i), 1);
    assert_sound(w);
}

/* --- a disk that fills up ------------------------------------------------------------------------ */

/* Writes until the store says FULL and, having folded the log, says so again; returns how many were acknowledged. */
static int fill_up(struct world *w, int base)
{
    for (int i = 0; i < 100000; i++) {
        int status = write_entry(w, base + i);
        if (status == STATUS_FULL)
            status = write_entry(w, base + i);
        if (status == STATUS_FULL)
            return i;
        assert_int_equal(status, 0);
    }
    fail_msg("the disk never filled up");
    return 0;
}

static void assert_all(struct world *w, int base, int count)
{
    for (int i = 0; i < count; i++)
        assert_int_equal(events_of(w, base + i), 1);
}

static int write_nothing(struct db_tx *tx, void *arg)
{
    (void)tx;
    (void)arg;
    return 0;
}

static void test_a_file_that_may_not_grow(void **state)
{
    struct world *w = *state;
    signal(SIGXFSZ, SIG_IGN);
    set_file_limit(1 << 20);
    int first = fill_up(w, 0);
    assert_true(first > 10);
    assert_all(w, 0, first);
    struct db_stats stats;
    assert_int_equal(write_entry(w, 90000), STATUS_FULL); /* and again, without harm */
    set_file_limit(0);
    assert_true(db_touch(w->db) < 0);
    MUST(db_write(w->db, "nothing", write_nothing, NULL)); /* says nothing of the disk */
    db_stats(w->db, &stats);
    assert_true(stats.failing_since > 0);
    set_file_limit(RLIM_INFINITY);
    MUST(db_touch(w->db));
    db_stats(w->db, &stats);
    assert_int_equal(stats.failing_since, 0);
    MUST(write_entry(w, 90001));
    assert_all(w, 0, first);
    world_close(w);
    MUST(world_open(w, DB_INLINE));
    assert_all(w, 0, first);
    assert_int_equal(events_of(w, 90000), 0);
    assert_int_equal(events_of(w, 90001), 1);
    assert_sound(w);
}

/* Wherever in its making a store meets the limit: words that say what to do, and with the limit gone it is made. */
static void test_a_store_without_room_names_the_limit_and_is_made_later(void **state)
{
    struct world *w = *state;
    signal(SIGXFSZ, SIG_IGN);
    world_close(w);
    for (rlim_t kib = 0; kib < 1200; kib = kib * 2 + 1) {
        autofree char *dir = own_printf("%s/small-%llu", w->dir, (unsigned long long)kib);
        struct db *db = NULL;
        set_file_limit(kib * 1024);
        w->error[0] = '\0';
        int status = db_open(dir, &w->clock, DB_INLINE, &db, w->error);
        bool fits = status == 0;
        set_file_limit(RLIM_INFINITY);
        db_close(db);
        if (!fits && (status != STATUS_FULL || strstr(w->error, "raise the limit of ") == NULL))
            fail_msg("%llu KiB: %s", (unsigned long long)kib, w->error);
        if (fits && kib < 100)
            fail_msg("%llu KiB: a store cannot be so small", (unsigned long long)kib);
        db = NULL;
        MUST(db_open(dir, &w->clock, DB_INLINE, &db, w->error));
        db_close(db);
    }
}

#define ROWS_AGAIN 200

static int write_again(struct db_tx *tx, void *arg)
{
    (void)arg;
    return db_script(tx, "UPDATE verdict SET count = count + 1");
}

static void write_rows(struct world *w)
{
    for (int i = 0; i < ROWS_AGAIN; i++)
        MUST(write_entry(w, i));
}

/* Writes the same pages until the log has had as many bytes; how often there was no room for it. */
static int write_rows_again(struct world *w, int64_t bytes)
{
    int refused = 0, times = (int)(bytes / ((int64_t)ROWS_AGAIN * RAW_LINE_MAX_BYTES));
    bool before = false;
    for (int i = 0; i < times; i++) {
        int status = db_write(w->db, "again", write_again, NULL);
        assert_true(status == 0 || (status == STATUS_FULL && !before)); /* a refused one has the log folded */
        before = status != 0;
        refused += before;
    }
    return refused;
}

/* The file has its pages already: nothing but the log wants room. */
static void test_a_log_that_may_not_grow_starts_again(void **state)
{
    struct world *w = *state;
    write_rows(w);
    world_close(w);
    MUST(world_open(w, DB_INLINE));
    signal(SIGXFSZ, SIG_IGN);
    set_file_limit(1 << 20);
    assert_true(write_rows_again(w, 20 << 20) > 3);
    set_file_limit(RLIM_INFINITY);
    assert_sound(w);
}

/* A real file system of four megabytes, where this program may mount one: in three a new store has no room to fold its log. */
static void mount_small(const struct world *w, struct world *ret_small)
{
    char path[128];
    world_file(w, "disk", path, sizeof(path));
    MUST(file_make_dirs(path, 0700));
    if (mount("none", path, "tmpfs", 0, "size=4m") != 0)
        skip();
    *ret_small = (struct world){.clock = w->clock};
    SET(ret_small->dir, path);
}

static void a_log_leaves_room_to_fold_it(struct world *w, unsigned flags)
{
    struct world small;
    mount_small(w, &small);
    MUST(world_open(&small, flags));
    MUST(db_write(small.db, "populate", world_populate, &small));
    write_rows(&small);
    assert_int_equal(write_rows_again(&small, 30 << 20), 0);
    assert_sound(&small);
    world_close(&small);
    MUST(umount(small.dir));
}

static void test_a_log_leaves_room_to_fold_it(void **state)
{
    a_log_leaves_room_to_fold_it(*state, DB_INLINE);
}

static void test_a_log_leaves_room_to_fold_it_beside_the_writer(void **state)
{
    a_log_leaves_room_to_fold_it(*state, 0);
}

static void test_a_disk_that_is_full(void **state)
{
    char ballast[128];
    struct world small;
    mount_small(*state, &small);
    world_file(&small, "ballast", ballast, sizeof(ballast));
    autofree char *zeros = own_calloc(1, 1 << 20);
    MUST(file_write(ballast, zeros, 1 << 20, 0600));
    MUST(world_open(&small, 0));
    MUST(db_write(small.db, "populate", world_populate, &small));
    int first = fill_up(&small, 0);
    assert_true(first > 10);
    assert_all(&small, 0, first);
    MUST(unlink(ballast));
    MUST(write_entry(&small, 90001));
    world_close(&small);
    MUST(world_open(&small, DB_INLINE));
    assert_all(&small, 0, first);
    assert_int_equal(events_of(&small, 90001), 1);
    assert_sound(&small);
    world_close(&small);
    MUST(umount(small.dir));
}

static void test_no_room_to_begin_with(void **state)
{
    struct world *w = *state;
    world_close(w);
    struct world fresh;
    signal(SIGXFSZ, SIG_IGN);
    static const rlim_t rooms[] = {0, 1000, 5000, 20000, 60000};
    for (size_t i = 0; i < ARRAY_LEN(rooms); i++) {
        world_dir(&fresh);
        set_file_limit(rooms[i]);
        int status = world_open(&fresh, DB_INLINE);
        set_file_limit(RLIM_INFINITY);
        assert_int_equal(status, STATUS_FULL);
        assert_true(strlen(fresh.error) > 10);
        MUST(world_open(&fresh, DB_INLINE)); /* what a failed opening leaves is no obstacle */
        MUST(db_write(fresh.db, "populate", world_populate, &fresh));
        world_end(&fresh);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_each_write_call_fails),
        TEST(test_each_write_call_finds_the_disk_full),
        TEST(test_each_write_call_finds_the_quota_used_up),
        TEST(test_each_sync_fails),
        TEST(test_the_disk_stays_away_for_a_while),
        TEST(test_a_failing_commit_fails_all_of_its_batch_and_nothing_else),
        TEST(test_a_file_that_may_not_grow),
        TEST(test_a_store_without_room_names_the_limit_and_is_made_later),
        TEST(test_a_log_that_may_not_grow_starts_again),
        TEST(test_a_log_leaves_room_to_fold_it),
        TEST(test_a_log_leaves_room_to_fold_it_beside_the_writer),
        TEST(test_a_disk_that_is_full),
        TEST(test_no_room_to_begin_with),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
