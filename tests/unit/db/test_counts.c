/* Counts that are remembered: right at every moment that a reader may come, and of no other snapshot than the reader's. */
#include "db_world.h"

#include <pthread.h>
#include <stdatomic.h>

#define READERS 3
#define WRITES 300

static struct cluster_counts counts_in(struct db_tx *tx, const struct world *w, int64_t group_id)
{
    struct cluster_counts counts;
    MUST(db_cluster_count(tx, w->cluster.id, group_id, &counts));
    return counts;
}

static int64_t unhealthy_now(struct world *w, int64_t group_id)
{
    struct db_tx *tx = NULL;
    MUST(db_read_begin(w->db, &tx));
    int64_t unhealthy = counts_in(tx, w, group_id).by_health[HEALTH_UNHEALTHY];
    assert_int_equal(counts_in(tx, w, group_id).by_health[HEALTH_UNHEALTHY], unhealthy); /* and what is remembered */
    db_read_end(w->db, tx);
    return unhealthy;
}

/* A write: the first node is given this health; then it may fail. */
struct change {
    struct node node;
    int status;
};

static int change_write(struct db_tx *tx, void *arg)
{
    struct change *change = arg;
    int status = db_node_update(tx, &change->node);
    return status < 0 ? status : change->status;
}

static void set_health(struct world *w, enum health health, int status)
{
    struct change change = {.node = w->nodes[0], .status = status};
    change.node.health = health;
    assert_int_equal(db_write(w->db, "health", change_write, &change), status);
}

static void test_a_change_is_counted_at_once(void **state)
{
    struct world *w = *state;
    for (int round = 0; round < 3; round++) {
        assert_int_equal(unhealthy_now(w, w->group.id), 0);
        set_health(w, HEALTH_UNHEALTHY, 0);
        assert_int_equal(unhealthy_now(w, w->group.id), 1);
        assert_int_equal(unhealthy_now(w, 0), 1);
        set_health(w, HEALTH_HEALTHY, 0);
    }
}

static void test_what_was_undone_is_not_counted(void **state)
{
    struct world *w = *state;
    assert_int_equal(unhealthy_now(w, 0), 0);
    set_health(w, HEALTH_UNHEALTHY, STATUS_TIMEOUT);
    assert_int_equal(unhealthy_now(w, 0), 0);
}

/* The older reader's snapshot is not the newer one's, in whichever order they count. */
static void test_each_reader_counts_its_own_snapshot(void **state)
{
    struct world *w = *state;
    struct db_tx *before = NULL, *after = NULL;
    for (int old_first = 0; old_first <= 1; old_first++) {
        MUST(db_read_begin(w->db, &before));
        struct cluster cluster;
        MUST(db_cluster_get(before, w->cluster.name, &cluster)); /* its snapshot stands */
        set_health(w, HEALTH_UNHEALTHY, 0);
        MUST(db_read_begin(w->db, &after));
        for (int i = 0; i < 2; i++) {
            bool is_old = (i == 0) == (old_first == 1);
            assert_int_equal(counts_in(is_old ? before : after, w, 0).by_health[HEALTH_UNHEALTHY], is_old ? 0 : 1);
        }
        assert_int_equal(counts_in(before, w, 0).by_health[HEALTH_UNHEALTHY], 0);
        db_read_end(w->db, after);
        db_read_end(w->db, before);
        set_health(w, HEALTH_HEALTHY, 0);
    }
}

static int delete_node(struct db_tx *tx, void *arg)
{
    return db_node_delete(tx, ((struct node *)arg)->id);
}

static int delete_group(struct db_tx *tx, void *arg)
{
    return db_group_delete(tx, *(int64_t *)arg);
}

static int insert_node(struct db_tx *tx, void *arg)
{
    return db_node_insert(tx, arg);
}

static int64_t nodes_now(struct world *w)
{
    struct db_tx *tx = NULL;
    MUST(db_read_begin(w->db, &tx));
    int64_t nodes = counts_in(tx, w, w->group.id).nodes;
    db_read_end(w->db, tx);
    return nodes;
}

static void test_nodes_that_come_and_go(void **state)
{
    struct world *w = *state;
    struct node more = a_node(&w->group, "gpu-9");
    assert_int_equal(nodes_now(w), WORLD_NODES);
    MUST(db_write(w->db, "insert", insert_node, &more));
    assert_int_equal(nodes_now(w), WORLD_NODES + 1);
    MUST(db_write(w->db, "delete", delete_node, &more));
    assert_int_equal(nodes_now(w), WORLD_NODES);
    MUST(db_write(w->db, "delete", delete_group, &w->group.id));
    assert_int_equal(nodes_now(w), 0);
}

/* --- what a write need not read again ----------------------------------------------------------------------- */

struct ask {
    const struct world *w;
    uint64_t stamp;
    bool as_read, changes;
};

static int ask_write(struct db_tx *tx, void *arg)
{
    struct ask *ask = arg;
    int status = ask->changes ? db_node_update(tx, &ask->w->nodes[1]) : 0;
    ask->as_read = db_nodes_are_as_read(tx, ask->stamp);
    return status;
}

static bool as_read(struct world *w, uint64_t stamp, bool changes)
{
    struct ask ask = {.w = w, .stamp = stamp, .changes = changes};
    MUST(db_write(w->db, "ask", ask_write, &ask));
    return ask.as_read;
}

static uint64_t stamp_now(struct world *w)
{
    struct db_tx *tx = NULL;
    MUST(db_read_begin(w->db, &tx));
    uint64_t stamp = db_nodes_stamp(tx);
    assert_false(db_nodes_are_as_read(tx, stamp)); /* of no use to who only reads */
    db_read_end(w->db, tx);
    return stamp;
}

static void test_nodes_are_as_read_until_one_changes(void **state)
{
    struct world *w = *state;
    uint64_t before = stamp_now(w);
    assert_true(as_read(w, before, false));
    assert_true(as_read(w, before, false)); /* a write that changes none spoils nothing */
    assert_false(as_read(w, before, true)); /* not even within the write that does */
    assert_false(as_read(w, before, false));
    uint64_t after = stamp_now(w);
    assert_true(as_read(w, after, false));
    set_health(w, HEALTH_UNHEALTHY, 0);
    assert_false(as_read(w, after, false));
    assert_true(as_read(w, stamp_now(w), false));
}

/* --- many readers beside a writer ------------------------------------------------------------------------- */

struct race {
    struct world *w;
    atomic_bool over;
    atomic_int wrong;
};

/* In one snapshot the nodes' own rows and the counts must agree, whatever was remembered by whom. */
static int row_health(const void *row, void *arg)
{
    *(int64_t *)arg += ((const struct db_node_row *)row)->node.health == HEALTH_UNHEALTHY;
    return 0;
}

static void *read_on(void *arg)
{
    struct race *race = arg;
    do {
        struct db_tx *tx = NULL;
        struct cluster_counts counts = {0};
        struct db_node_filter filter = {.cluster_id = race->w->cluster.id, .state = -1, .health = -1};
        int64_t unhealthy = 0;
        bool is_fine = db_read_begin(race->w->db, &tx) == 0 && db_node_list(tx, &filter, row_health, &unhealthy) == 0 &&
                       db_cluster_count(tx, race->w->cluster.id, 0, &counts) == 0 &&
                       counts.by_health[HEALTH_UNHEALTHY] == unhealthy;
        db_read_end(race->w->db, tx);
        atomic_fetch_add(&race->wrong, is_fine ? 0 : 1);
    } while (!atomic_load(&race->over));
    return NULL;
}

static void test_counts_and_rows_agree_beside_a_writer(void **state)
{
    struct race race = {.w = *state};
    pthread_t threads[READERS];
    for (int i = 0; i < READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, read_on, &race), 0);
    for (int i = 0; i < WRITES; i++)
        set_health(race.w, i % 2 == 0 ? HEALTH_UNHEALTHY : HEALTH_HEALTHY, 0);
    atomic_store(&race.over, true);
    for (int i = 0; i < READERS; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(atomic_load(&race.wrong), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        THREADED_TEST(test_a_change_is_counted_at_once),
        THREADED_TEST(test_what_was_undone_is_not_counted),
        THREADED_TEST(test_each_reader_counts_its_own_snapshot),
        THREADED_TEST(test_nodes_that_come_and_go),
        THREADED_TEST(test_counts_and_rows_agree_beside_a_writer),
        THREADED_TEST(test_nodes_are_as_read_until_one_changes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
