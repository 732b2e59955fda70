/* The log is folded back and starts again, beside writes as well as inline, and a long read only delays it. */
#include "db_world.h"

#include <sys/stat.h>

#define VERDICTS_A_WRITE 3000
#define WRITES_MAX 60

struct load {
    struct world *w;
    int written;
};

/* About 1,300 pages. */
static int load_write(struct db_tx *tx, void *arg)
{
    const struct load *load = arg;
    for (int i = 0; i < VERDICTS_A_WRITE; i++) {
        char key[16];
        snprintf(key, sizeof(key), "%d", load->written + i);
        struct verdict verdict = a_verdict(load->w->nodes[i % WORLD_NODES].id, key);
        memset(verdict.raw_line, 'x', sizeof(verdict.raw_line) - 1);
        enum db_verdict_change change;
        int status = db_verdict_put(tx, &verdict, &change);
        if (status < 0)
            return status;
    }
    return 0;
}

static int64_t frames_now(struct world *w)
{
    pthread_mutex_lock(&w->db->mutex);
    int64_t frames = w->db->wal_frames;
    pthread_mutex_unlock(&w->db->mutex);
    return frames;
}

/* Writes until the log has started from its beginning; false when it has not within WRITES_MAX. */
static bool write_until_restart(struct world *w, struct load *load)
{
    int64_t before = frames_now(w);
    for (int i = 0; i < WRITES_MAX; i++) {
        MUST(db_write(w->db, "load", load_write, load));
        load->written += VERDICTS_A_WRITE;
        if (frames_now(w) < before)
            return true;
        before = frames_now(w);
    }
    return false;
}

static int64_t count_open(struct world *w)
{
    sqlite3_stmt *stmt = NULL;
    MUST(sqlite3_prepare_v2(w->db->writer->sqlite, "SELECT count(*) FROM verdict", -1, &stmt, NULL));
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    int64_t count = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return count;
}

static void the_log_starts_again(struct world *w, unsigned flags)
{
    struct load load = {w, 0};
    MUST(world_open(w, flags));
    MUST(db_write(w->db, "populate", world_populate, w));
    assert_true(write_until_restart(w, &load));
    assert_true(write_until_restart(w, &load));
    world_close(w);
    MUST(world_open(w, DB_INLINE));
    assert_int_equal(count_open(w), load.written);
}

static void test_beside_the_writer(void **state)
{
    the_log_starts_again(*state, 0);
}

static void test_inline(void **state)
{
    the_log_starts_again(*state, DB_INLINE);
}

static void test_a_long_read_delays_it_and_sees_its_own_snapshot(void **state)
{
    struct world *w = *state;
    struct load load = {w, 0};
    struct db_tx *tx = NULL;
    struct cluster_counts counts;
    struct db_verdict_filter filter = {.state = -1, .limit = 1};
    struct rows rows = ROWS(struct verdict);
    MUST(world_open(w, 0));
    MUST(db_write(w->db, "populate", world_populate, w));
    MUST(db_read_begin(w->db, &tx));
    MUST(db_cluster_count(tx, w->cluster.id, 0, &counts));
    for (int i = 0; i < 12; i++) {
        MUST(db_write(w->db, "load", load_write, &load));
        load.written += VERDICTS_A_WRITE;
    }
    assert_true(frames_now(w) > 12000); /* past the mark, and not begun again */
    MUST(db_verdict_list(tx, &filter, rows_add, &rows));
    assert_int_equal(rows.count, 0);
    db_read_end(w->db, tx);
    assert_true(write_until_restart(w, &load));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        EMPTY_TEST(test_beside_the_writer),
        EMPTY_TEST(test_inline),
        EMPTY_TEST(test_a_long_read_delays_it_and_sees_its_own_snapshot),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
