/* A file that is not the one that was written here, or not all of it: noticed at the start, and while the server runs. And copies that are good. */
#include "db_world.h"

#include "db/backup.h"
#include "db/fact.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

static void copy_file(const char *from, const char *into)
{
    autofree char *data = NULL;
    size_t len = 0;
    MUST(file_read(from, 1 << 24, &data, &len));
    MUST(file_write(into, data, len, 0600));
}

static void populate(struct world *w)
{
    MUST(db_write(w->db, "populate", world_populate, w));
}

struct paths {
    char db[128], wal[128], marker[128], copy[128];
};

static struct paths paths_of(struct world *w)
{
    struct paths p;
    world_file(w, DB_FILE, p.db, sizeof(p.db));
    world_file(w, DB_FILE "-wal", p.wal, sizeof(p.wal));
    world_file(w, DB_MARKER_FILE, p.marker, sizeof(p.marker));
    world_file(w, "copy", p.copy, sizeof(p.copy));
    return p;
}

static void assert_opens(struct world *w)
{
    int status = world_open(w, 0);
    if (status != 0)
        fail_msg("%s", w->error);
    world_close(w);
}

static void assert_conflict(struct world *w, const char *words)
{
    assert_int_equal(world_open(w, 0), STATUS_CONFLICT);
    if (strstr(w->error, words) == NULL || strstr(w->error, "hpd restore") == NULL)
        fail_msg("%s", w->error);
}

/* What people do: they copy the file while hpd runs, and forget that the log has the rest. */
static void test_a_bare_copy_of_a_store_in_use_is_refused(void **state)
{
    struct world *w = *state;
    struct paths p = paths_of(w);
    MUST(world_open(w, 0));
    populate(w);
    copy_file(p.db, p.copy);
    world_close(w);
    /* into its own directory, where the marker says more */
    autofree char *good = own_printf("%s.good", p.db);
    copy_file(p.db, good);
    copy_file(p.copy, p.db);
    assert_conflict(w, "is older than what hpd last stored here");
    /* elsewhere, without a marker */
    MUST(unlink(p.marker));
    assert_conflict(w, "without its log");
    copy_file(good, p.db);
    assert_opens(w);
}

static void test_an_older_file_is_refused_and_not_touched(void **state)
{
    struct world *w = *state;
    struct paths p = paths_of(w);
    autofree char *before = NULL, *after = NULL;
    size_t before_len = 0, after_len = 0;
    assert_opens(w);
    copy_file(p.db, p.copy);
    MUST(world_open(w, 0));
    populate(w);
    world_close(w);
    copy_file(p.copy, p.db);
    MUST(file_read(p.db, 1 << 24, &before, &before_len));
    assert_conflict(w, "is older");
    MUST(file_read(p.db, 1 << 24, &after, &after_len));
    assert_int_equal(before_len, after_len);
    assert_memory_equal(before, after, after_len);
    MUST(unlink(p.db));
    assert_conflict(w, "is gone");
    assert_false(file_exists(p.db));
    MUST(unlink(p.marker)); /* what hpd restore does for a file that it was given */
    assert_opens(w);
}

/* The end of hpd by a signal, and then a person's sqlite3, which folds the log and removes it. */
static void test_what_is_whole_opens(void **state)
{
    struct world *w = *state;
    struct paths p = paths_of(w);
    assert_opens(w);
    pid_t pid = fork();
    if (pid == 0) {
        if (world_open(w, 0) != 0 || db_write(w->db, "populate", world_populate, w) != 0)
            _exit(1);
        kill(getpid(), SIGKILL);
    }
    int code = 0;
    assert_int_equal(waitpid(pid, &code, 0), pid);
    assert_true(WIFSIGNALED(code));
    assert_true(file_exists(p.wal));
    sqlite3 *sqlite = NULL;
    assert_int_equal(sqlite3_open(p.db, &sqlite), SQLITE_OK);
    assert_int_equal(sqlite3_exec(sqlite, "SELECT count(*) FROM event", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(sqlite);
    assert_false(file_exists(p.wal));
    assert_opens(w);
    MUST(file_write(p.marker, "\0\0\0\0", 4, 0600)); /* after a power cut it may be anything */
    assert_opens(w);
}

static int write_nothing(struct db_tx *tx, void *arg)
{
    (void)arg;
    return db_fact_put(tx, "test", "1");
}

static void test_nothing_is_acknowledged_into_a_removed_file(void **state)
{
    struct world *w = *state;
    struct paths p = paths_of(w);
    const char *const removed[] = {p.db, p.wal};
    for (size_t i = 0; i < ARRAY_LEN(removed); i++) {
        struct db_stats stats;
        MUST(world_open(w, 0));
        MUST(db_write(w->db, "test", write_nothing, NULL));
        assert_true(db_is_in_place(w->db));
        MUST(rename(removed[i], p.copy));
        assert_false(db_is_in_place(w->db));
        assert_int_equal(db_write(w->db, "test", write_nothing, NULL), STATUS_IO);
        db_stats(w->db, &stats);
        assert_true(stats.failing_since != 0);
        MUST(rename(p.copy, removed[i])); /* and back: it is the same one */
        MUST(db_write(w->db, "test", write_nothing, NULL));
        db_stats(w->db, &stats);
        assert_int_equal(stats.failing_since, 0);
        world_close(w);
    }
}

static void test_a_backup_is_whole_and_says_what_it_is(void **state)
{
    struct world *w = *state;
    struct paths p = paths_of(w);
    int fd = -1;
    int64_t bytes = 0;
    char value[DB_FACT_MAX_BYTES];
    MUST(world_open(w, 0));
    populate(w);
    MUST(db_backup(w->db, &fd, &bytes));
    autofree char *data = own_calloc((size_t)bytes, 1);
    assert_int_equal(read(fd, data, (size_t)bytes), bytes);
    close(fd);
    world_close(w);
    autofree char *left = own_printf("%s.backup", p.db);
    assert_false(file_exists(left));
    MUST(unlink(p.db));
    MUST(unlink(p.marker));
    MUST(file_write(p.db, data, (size_t)bytes, 0600));
    MUST(world_open(w, DB_INLINE));
    MUST(db_verify(w->db, w->error));
    struct db_tx *tx = NULL;
    struct node out;
    MUST(db_read_begin(w->db, &tx));
    MUST(db_fact_get(tx, DB_FACT_STATE, value));
    assert_string_equal(value, DB_FACT_STATE_BACKUP);
    MUST(db_node_get(tx, w->cluster.id, "gpu-4", &out));
    db_read_end(w->db, tx);
    world_close(w);
    assert_opens(w);
}

/* Each byte of the header, as a failing disk would have it: refused in words or taken, and never the end of the process. */
static void test_a_damaged_header_ends_in_words(void **state)
{
    struct world *w = *state;
    struct paths p = paths_of(w);
    autofree char *data = NULL;
    size_t len = 0;
    static const char damage[] = {127};
    MUST(world_open(w, 0));
    populate(w);
    world_close(w);
    MUST(file_read(p.db, 1 << 24, &data, &len));
    for (size_t at = 0; at < 108; at++)
        for (size_t i = 0; i < ARRAY_LEN(damage); i++) {
            char was = data[at];
            data[at] = damage[i];
            MUST(file_write(p.db, data, len, 0600));
            data[at] = was;
            fflush(NULL);
            pid_t pid = fork();
            if (pid == 0) {
                int status = world_open(w, 0);
                if (status == 0)
                    world_close(w);
                _exit(status == 0 || strlen(w->error) > 0 ? 0 : 1);
            }
            int code = 0;
            assert_int_equal(waitpid(pid, &code, 0), pid);
            if (!WIFEXITED(code) || WEXITSTATUS(code) != 0)
                fail_msg("byte %zu as %d: status %x", at, damage[i], (unsigned)code);
            unlink(p.wal);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMPTY_TEST(test_a_bare_copy_of_a_store_in_use_is_refused),
        EMPTY_TEST(test_an_older_file_is_refused_and_not_touched),
        EMPTY_TEST(test_what_is_whole_opens),
        EMPTY_TEST(test_nothing_is_acknowledged_into_a_removed_file),
        EMPTY_TEST(test_a_backup_is_whole_and_says_what_it_is),
        EMPTY_TEST(test_a_damaged_header_ends_in_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
