/*
 * A store in a directory of its own, on a clock that stands still, with one cluster, one group and a few nodes.
 *
 * The tests of the table families work on the writer's connection inside one open transaction, as a write would; the
 * tests of the traffic (writer, readers, crash) go through the public functions.
 */
#ifndef HOLDFAST_TESTS_UNIT_DB_WORLD_H
#define HOLDFAST_TESTS_UNIT_DB_WORLD_H

#include "base/file.h"
#include "base/text.h"
#include "db/cluster.h"
#include "db/event.h"
#include "db/intern.h"
#include "db/node.h"
#include "db/operation.h"
#include "db/token.h"
#include "db/verdict.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#define WORLD_NOW INT64_C(1763650000123)
#define WORLD_NODES 4

struct world {
    char dir[64];
    struct clock clock;
    struct db *db;
    struct db_tx *tx; /* the writer's, inside a transaction, in the tests that ask for it */
    struct cluster cluster;
    struct instance_group group;
    struct node nodes[WORLD_NODES];
    char error[DB_ERROR_MAX];
};

#define MUST(call) assert_int_equal((call), 0)
/* Text into a named array: what does not fit fails the test. */
#define SET(array, text) MUST(text_copy((array), sizeof(array), (text)))
#define ADD(array, text) MUST(text_copy((array) + strlen(array), sizeof(array) - strlen(array), (text)))

static inline void world_dir(struct world *w)
{
    memset(w, 0, sizeof(*w));
    snprintf(w->dir, sizeof(w->dir), "/tmp/holdfast-db-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    clock_fake_init(&w->clock, WORLD_NOW);
}

static inline int world_open(struct world *w, unsigned flags)
{
    return db_open(w->dir, &w->clock, flags, &w->db, w->error);
}

static inline void world_close(struct world *w)
{
    db_close(w->db);
    w->db = NULL;
}

static inline void world_end(struct world *w)
{
    world_close(w);
    file_remove_tree(w->dir);
}

static inline void world_file(const struct world *w, const char *name, char *ret_path, size_t size)
{
    snprintf(ret_path, size, "%s/%s", w->dir, name);
}

/* --- things to store ----------------------------------------------------------------------------- */

static inline struct cluster a_cluster(const char *uid, const char *name)
{
    struct cluster cluster = {.state = CLUSTER_STATE_CREATING,
                              .recovery = NODE_RECOVERY_AUTOMATIC,
                              .orchestrator = ORCHESTRATOR_SLURM,
                              .scheduler = "slurm",
                              .created_at = WORLD_NOW,
                              .updated_at = WORLD_NOW};
    SET(cluster.uid, uid);
    SET(cluster.name, name);
    return cluster;
}

static inline struct instance_group a_group(int64_t cluster_id, const char *name)
{
    struct instance_group group = {.cluster_id = cluster_id, .desired = WORLD_NODES, .created_at = WORLD_NOW};
    SET(group.name, name);
    SET(group.provider, "local");
    return group;
}

static inline struct node a_node(const struct instance_group *group, const char *name)
{
    struct node node = {.cluster_id = group->cluster_id,
                        .group_id = group->id,
                        .state = NODE_STATE_READY,
                        .health = HEALTH_HEALTHY,
                        .state_since = WORLD_NOW,
                        .health_since = WORLD_NOW,
                        .created_at = WORLD_NOW};
    SET(node.name, name);
    return node;
}

static inline struct verdict a_verdict(int64_t node_id, const char *key)
{
    struct verdict verdict = {.node_id = node_id,
                              .severity = SEVERITY_CRITICAL,
                              .state = VERDICT_STATE_OPEN,
                              .first_at = WORLD_NOW,
                              .last_at = WORLD_NOW,
                              .count = 1,
                              .received_at = WORLD_NOW};
    SET(verdict.key, key);
    SET(verdict.code, "xid.79");
    SET(verdict.source, "kmsg");
    return verdict;
}

static inline struct operation an_operation(const struct node *node, const char *uid, const char *key)
{
    struct operation operation = {
        .cluster_id = node->cluster_id,
        .node_id = node->id,
        .kind = OPERATION_KIND_REBOOT,
        .state = OPERATION_STATE_PENDING,
        .created_at = WORLD_NOW,
        .step_count = 2,
        .steps = {{.ordinal = 0, .kind = STEP_KIND_MARK}, {.ordinal = 1, .kind = STEP_KIND_REBOOT}}};
    SET(operation.uid, uid);
    SET(operation.key, key);
    return operation;
}

/* --- a world to work in -------------------------------------------------------------------------- */

static inline int world_populate(struct db_tx *tx, void *arg)
{
    struct world *w = arg;
    w->cluster = a_cluster("abcdefghijkl", "main");
    int status = db_cluster_insert(tx, &w->cluster);
    if (status == 0) {
        w->group = a_group(w->cluster.id, "workers");
        status = db_group_insert(tx, &w->group);
    }
    for (int i = 0; i < WORLD_NODES && status == 0; i++) {
        char name[16];
        snprintf(name, sizeof(name), "gpu-%d", i + 1);
        w->nodes[i] = a_node(&w->group, name);
        status = db_node_insert(tx, &w->nodes[i]);
    }
    return status;
}

/* A directory, and nothing in it yet. */
static inline int world_setup_empty(void **state)
{
    struct world *w = own_calloc(1, sizeof(*w));
    world_dir(w);
    *state = w;
    return 0;
}

static inline int world_setup_populated(void **state, unsigned flags)
{
    world_setup_empty(state);
    struct world *w = *state;
    MUST(world_open(w, flags));
    MUST(db_write(w->db, "populate", world_populate, w));
    return 0;
}

/* With the writer's own thread. */
static inline int world_setup_threaded(void **state)
{
    return world_setup_populated(state, 0);
}

static inline int world_setup_inline(void **state)
{
    return world_setup_populated(state, DB_INLINE);
}

/* Leaves a transaction open in w->tx. */
static inline int world_setup(void **state)
{
    MUST(world_setup_inline(state));
    struct world *w = *state;
    w->tx = w->db->writer;
    MUST(db_exec(w->tx, "BEGIN IMMEDIATE"));
    return 0;
}

static inline int world_teardown(void **state)
{
    struct world *w = *state;
    if (w->tx != NULL && !sqlite3_get_autocommit(w->tx->sqlite))
        db_exec(w->tx, "ROLLBACK");
    world_end(w);
    free(w);
    return 0;
}

#define WORLD_TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
#define EMPTY_TEST(name) cmocka_unit_test_setup_teardown(name, world_setup_empty, world_teardown)
#define THREADED_TEST(name) cmocka_unit_test_setup_teardown(name, world_setup_threaded, world_teardown)
#define INLINE_TEST(name) cmocka_unit_test_setup_teardown(name, world_setup_inline, world_teardown)

/* --- lists --------------------------------------------------------------------------------------- */

/* Keeps up to 16 rows of any list. */
struct rows {
    size_t size;
    int count, stop_after;
    unsigned char data[16][sizeof(struct operation)];
};

static inline int rows_add(const void *row, void *arg)
{
    struct rows *rows = arg;
    assert_in_range(rows->count, 0, 15);
    assert_true(rows->size <= sizeof(rows->data[0]));
    memcpy(rows->data[rows->count++], row, rows->size);
    return rows->count == rows->stop_after ? STATUS_TIMEOUT : 0;
}

#define ROWS(type) ((struct rows){.size = sizeof(type)})
#define ROW(rows, type, i) ((const type *)(const void *)(rows).data[i])

static inline int count_rows(const void *row, void *arg)
{
    (void)row;
    ++*(int *)arg;
    return 0;
}

/* --- what the store holds, through the front API ------------------------------------------------- */

/* Tests number their writes from 0 and give the event of each the operation number + 1, for 0 filters nothing. */
static inline int events_of(struct world *w, int number)
{
    struct db_tx *tx = NULL;
    int count = 0;
    MUST(db_read_begin(w->db, &tx));
    struct db_event_filter filter = {.operation_id = number + 1};
    MUST(db_event_list(tx, &filter, count_rows, &count));
    db_read_end(w->db, tx);
    return count;
}

static inline void assert_sound(struct world *w)
{
    sqlite3_stmt *stmt = NULL;
    MUST(sqlite3_prepare_v2(w->db->writer->sqlite, "PRAGMA integrity_check", -1, &stmt, NULL));
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    assert_string_equal((const char *)sqlite3_column_text(stmt, 0), "ok");
    sqlite3_finalize(stmt);
}

#endif
