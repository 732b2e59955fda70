/* Readers: one snapshot for as long as a read lasts, a bounded pool, no writing through it. */
#include "db_world.h"

#include <stdatomic.h>

static int write_node(struct db_tx *tx, void *arg)
{
    return db_node_insert(tx, arg);
}

static int64_t nodes_now(struct world *w, struct db_tx *tx)
{
    struct cluster_counts counts;
    MUST(db_cluster_count(tx, w->cluster.id, 0, &counts));
    return counts.nodes;
}

static void test_a_read_sees_one_snapshot(void **state)
{
    struct world *w = *state;
    struct db_tx *before = NULL, *after = NULL;
    struct node node = a_node(&w->group, "gpu-9");
    MUST(db_read_begin(w->db, &before));
    assert_int_equal(nodes_now(w, before), WORLD_NODES);
    MUST(db_write(w->db, "node", write_node, &node));
    assert_int_equal(nodes_now(w, before), WORLD_NODES);
    MUST(db_read_begin(w->db, &after));
    assert_int_equal(nodes_now(w, after), WORLD_NODES + 1);
    db_read_end(w->db, after);
    db_read_end(w->db, before);
    db_read_end(w->db, NULL);
}

static void test_a_reader_cannot_write(void **state)
{
    struct world *w = *state;
    struct db_tx *tx = NULL;
    struct node node = a_node(&w->group, "gpu-9");
    MUST(db_read_begin(w->db, &tx));
    assert_true(db_node_insert(tx, &node) < 0);
    db_read_end(w->db, tx);
    MUST(db_read_begin(w->db, &tx));
    assert_int_equal(nodes_now(w, tx), WORLD_NODES);
    assert_ptr_equal(db_tx_clock(tx), &w->clock);
    db_read_end(w->db, tx);
}

static void test_connections_come_back_to_the_pool(void **state)
{
    struct world *w = *state;
    for (int round = 0; round < 3; round++) {
        struct db_tx *tx[DB_READERS_MAX];
        for (int i = 0; i < DB_READERS_MAX; i++)
            MUST(db_read_begin(w->db, &tx[i]));
        for (int i = 0; i < DB_READERS_MAX; i++) {
            assert_int_equal(nodes_now(w, tx[i]), WORLD_NODES);
            db_read_end(w->db, tx[i]);
        }
        assert_int_equal(w->db->reader_count, DB_READERS_MAX);
    }
}

struct waiter {
    struct world *w;
    atomic_int *returned; /* how many connections the holder has given back */
    int early;            /* got one while none had been */
};

static void *waiter_main(void *arg)
{
    struct waiter *waiter = arg;
    struct db_tx *tx = NULL;
    if (db_read_begin(waiter->w->db, &tx) != 0)
        return arg;
    waiter->early = atomic_load(waiter->returned) == 0;
    db_read_end(waiter->w->db, tx);
    return NULL;
}

static void test_an_empty_pool_is_waited_for(void **state)
{
    struct world *w = *state;
    struct db_tx *tx[DB_READERS_MAX];
    atomic_int returned = 0;
    struct waiter waiters[4];
    pthread_t threads[4];
    for (int i = 0; i < DB_READERS_MAX; i++)
        MUST(db_read_begin(w->db, &tx[i]));
    for (int i = 0; i < 4; i++) {
        waiters[i] = (struct waiter){w, &returned, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, waiter_main, &waiters[i]), 0);
    }
    for (int i = 0; i < DB_READERS_MAX; i++) {
        atomic_fetch_add(&returned, 1);
        db_read_end(w->db, tx[i]);
    }
    for (int i = 0; i < 4; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        assert_null(failed);
        assert_false(waiters[i].early);
    }
}

/* What a newer or a careless hand may have put into the file is a status, not a crash and not a guess. */
static void test_a_row_this_binary_cannot_read_is_an_error(void **state)
{
    struct world *w = *state;
    static const char *const spoils[] = {
        "UPDATE node SET state = 'confused' WHERE name = 'gpu-1'",
        "UPDATE node SET reason = printf('%.*c', 4000, 'x') WHERE name = 'gpu-2'",
        "UPDATE node SET name = printf('%.*c', 64, 'x') WHERE name = 'gpu-3'",
    };
    for (size_t i = 0; i < ARRAY_LEN(spoils); i++) {
        struct db_tx *tx = NULL;
        struct node out;
        struct rows rows = ROWS(struct db_node_row);
        struct db_node_filter filter = {.cluster_id = w->cluster.id, .state = -1, .health = -1};
        MUST(sqlite3_exec(w->db->writer->sqlite, spoils[i], NULL, NULL, NULL));
        MUST(db_read_begin(w->db, &tx));
        assert_int_equal(db_node_get_row(tx, w->nodes[i].id, &out), STATUS_IO);
        assert_int_equal(db_node_list(tx, &filter, rows_add, &rows), STATUS_IO);
        MUST(db_node_get_row(tx, w->nodes[3].id, &out)); /* its neighbours are read as ever */
        db_read_end(w->db, tx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        THREADED_TEST(test_a_read_sees_one_snapshot),
        THREADED_TEST(test_a_reader_cannot_write),
        THREADED_TEST(test_connections_come_back_to_the_pool),
        THREADED_TEST(test_an_empty_pool_is_waited_for),
        THREADED_TEST(test_a_row_this_binary_cannot_read_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
