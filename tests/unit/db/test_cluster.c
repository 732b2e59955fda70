/* Clusters: round trip, names, revisions, pages, counts, and what goes with a cluster. */
#include "db_world.h"

static void test_every_field_comes_back(void **state)
{
    struct world *w = *state;
    struct cluster in = a_cluster("zzzzzzzzzzzz", "other"), out;
    in.state = CLUSTER_STATE_IN_SERVICE;
    in.recovery = NODE_RECOVERY_NONE;
    in.orchestrator = ORCHESTRATOR_NONE;
    in.updated_at = WORLD_NOW + 5;
    MUST(db_cluster_insert(w->tx, &in));
    assert_true(in.id > w->cluster.id);
    assert_int_equal(in.revision, 1);
    for (int by_row = 0; by_row < 2; by_row++) {
        memset(&out, 0xee, sizeof(out));
        MUST(by_row ? db_cluster_get_row(w->tx, in.id, &out) : db_cluster_get(w->tx, "other", &out));
        assert_int_equal(out.id, in.id);
        assert_string_equal(out.uid, "zzzzzzzzzzzz");
        assert_string_equal(out.name, "other");
        assert_int_equal(out.state, CLUSTER_STATE_IN_SERVICE);
        assert_int_equal(out.recovery, NODE_RECOVERY_NONE);
        assert_int_equal(out.orchestrator, ORCHESTRATOR_NONE);
        assert_int_equal(out.created_at, WORLD_NOW);
        assert_int_equal(out.updated_at, WORLD_NOW + 5);
        assert_int_equal(out.revision, 1);
    }
}

static void test_what_is_not_there_is_not_found(void **state)
{
    struct world *w = *state;
    struct cluster cluster = {.id = 12345};
    assert_int_equal(db_cluster_get(w->tx, "none", &cluster), STATUS_NOT_FOUND);
    assert_int_equal(db_cluster_get_row(w->tx, 12345, &cluster), STATUS_NOT_FOUND);
    assert_int_equal(db_cluster_update(w->tx, &cluster, 0), STATUS_NOT_FOUND);
    assert_int_equal(db_cluster_delete(w->tx, 12345), STATUS_NOT_FOUND);
    assert_int_equal(cluster.id, 12345);
}

static void test_a_name_is_taken_until_its_cluster_is_gone(void **state)
{
    struct world *w = *state;
    struct cluster twin = a_cluster("mnopqrstuvwx", "main");
    assert_int_equal(db_cluster_insert(w->tx, &twin), STATUS_EXISTS);
    MUST(db_cluster_delete(w->tx, w->cluster.id));
    MUST(db_cluster_insert(w->tx, &twin));
    assert_true(twin.id > w->cluster.id);
}

static void test_an_update_counts_the_revision_and_may_ask_for_one(void **state)
{
    struct world *w = *state;
    static const struct {
        int64_t if_revision;
        int status;
        int64_t revision;
    } rows[] = {{0, 0, 2}, {2, 0, 3}, {2, STATUS_CONFLICT, 3}, {9, STATUS_CONFLICT, 3}, {3, 0, 4}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct cluster out;
        w->cluster.state = CLUSTER_STATE_IN_SERVICE;
        w->cluster.recovery = NODE_RECOVERY_NONE;
        w->cluster.updated_at++;
        assert_int_equal(db_cluster_update(w->tx, &w->cluster, rows[i].if_revision), rows[i].status);
        MUST(db_cluster_get(w->tx, "main", &out));
        assert_int_equal(out.revision, rows[i].revision);
        assert_int_equal(out.recovery, NODE_RECOVERY_NONE);
        if (rows[i].status == 0) {
            assert_int_equal(w->cluster.revision, out.revision);
            assert_int_equal(w->cluster.updated_at, out.updated_at);
        }
    }
}

static void test_pages_go_by_name_while_clusters_come_and_go(void **state)
{
    struct world *w = *state;
    static const char *const names[] = {"a", "b", "c", "d", "e"};
    struct cluster made[5];
    for (size_t i = 0; i < 5; i++) {
        char uid[ID_CLUSTER_MAX];
        snprintf(uid, sizeof(uid), "uid-%zu", i);
        made[i] = a_cluster(uid, names[i]);
        MUST(db_cluster_insert(w->tx, &made[i]));
    }
    struct rows rows = ROWS(struct cluster);
    MUST(db_cluster_list(w->tx, "", 2, rows_add, &rows));
    assert_int_equal(rows.count, 2);
    assert_string_equal(ROW(rows, struct cluster, 1)->name, "b");
    /* The row the cursor names goes, one before it comes, one after it comes: nothing is seen twice or missed. */
    MUST(db_cluster_delete(w->tx, made[1].id));
    struct cluster early = a_cluster("uid-early", "aa"), late = a_cluster("uid-late", "cc");
    MUST(db_cluster_insert(w->tx, &early));
    MUST(db_cluster_insert(w->tx, &late));
    rows = ROWS(struct cluster);
    MUST(db_cluster_list(w->tx, "b", 0, rows_add, &rows));
    static const char *const rest[] = {"c", "cc", "d", "e", "main"};
    assert_int_equal(rows.count, 5);
    for (int i = 0; i < 5; i++)
        assert_string_equal(ROW(rows, struct cluster, i)->name, rest[i]);
}

static void test_a_walk_stops_when_told(void **state)
{
    struct world *w = *state;
    struct rows rows = ROWS(struct cluster);
    rows.stop_after = 1;
    assert_int_equal(db_cluster_list(w->tx, NULL, 0, rows_add, &rows), STATUS_TIMEOUT);
    assert_int_equal(rows.count, 1);
}

static void test_counts_of_cluster_and_group(void **state)
{
    struct world *w = *state;
    struct instance_group second = a_group(w->cluster.id, "spare");
    MUST(db_group_insert(w->tx, &second));
    struct node extra = a_node(&second, "spare-1");
    extra.state = NODE_STATE_HELD;
    extra.health = HEALTH_UNHEALTHY;
    MUST(db_node_insert(w->tx, &extra));
    w->nodes[0].health = HEALTH_DEGRADED;
    MUST(db_node_update(w->tx, &w->nodes[0]));

    struct cluster_counts counts;
    MUST(db_cluster_count(w->tx, w->cluster.id, 0, &counts));
    assert_int_equal(counts.nodes, 5);
    assert_int_equal(counts.by_state[NODE_STATE_READY], 4);
    assert_int_equal(counts.by_state[NODE_STATE_HELD], 1);
    assert_int_equal(counts.by_health[HEALTH_HEALTHY], 3);
    assert_int_equal(counts.by_health[HEALTH_DEGRADED], 1);
    assert_int_equal(counts.by_health[HEALTH_UNHEALTHY], 1);
    MUST(db_cluster_count(w->tx, w->cluster.id, second.id, &counts));
    assert_int_equal(counts.nodes, 1);
    assert_int_equal(counts.by_state[NODE_STATE_HELD], 1);
    MUST(db_cluster_count(w->tx, 999, 0, &counts));
    assert_int_equal(counts.nodes, 0);
}

static int64_t rows_in(struct world *w, const char *table)
{
    char sql[64];
    sqlite3_stmt *stmt = NULL;
    snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", table);
    assert_int_equal(sqlite3_prepare_v2(w->tx->sqlite, sql, -1, &stmt, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
    int64_t count = sqlite3_column_int64(stmt, 0);
    sqlite3_finalize(stmt);
    return count;
}

static void fill_every_table(struct world *w, const struct node *node, const char *tag)
{
    char text[ID_INSTANCE_MAX];
    snprintf(text, sizeof(text), "i-%s", tag);
    struct instance instance = {.node_id = node->id};
    SET(instance.instance_id, text);
    MUST(db_instance_insert(w->tx, &instance));
    struct credential credential = {.node_id = node->id};
    MUST(db_credential_set(w->tx, &credential));
    enum db_verdict_change change;
    struct verdict open = a_verdict(node->id, "open"), past = a_verdict(node->id, "past");
    past.state = VERDICT_STATE_STALE;
    MUST(db_verdict_put(w->tx, &open, &change));
    MUST(db_verdict_put(w->tx, &past, &change));
    struct decision decision = {.node_id = node->id, .evidence = {open.id}, .evidence_count = 1};
    decision.gates[GATE_OWNER].result = GATE_RESULT_PASSED;
    MUST(db_decision_insert(w->tx, &decision));
    struct operation operation = an_operation(node, tag, tag);
    MUST(db_operation_insert(w->tx, &operation));
    struct token token = {.kind = TOKEN_KIND_ENROLLMENT, .cluster_id = node->cluster_id, .node_id = node->id};
    SET(token.uid, tag);
    memcpy(token.hash, tag, strlen(tag));
    MUST(db_token_insert(w->tx, &token));
    struct event event = {.kind = EVENT_KIND_VERDICT, .cluster_id = node->cluster_id, .node_id = node->id};
    MUST(db_event_insert(w->tx, &event));
}

static void test_a_cluster_takes_all_of_its_own_and_nothing_else(void **state)
{
    struct world *w = *state;
    struct cluster other = a_cluster("zzzzzzzzzzzz", "other");
    MUST(db_cluster_insert(w->tx, &other));
    struct instance_group group = a_group(other.id, "workers");
    MUST(db_group_insert(w->tx, &group));
    struct node node = a_node(&group, "gpu-1");
    MUST(db_node_insert(w->tx, &node));
    fill_every_table(w, &node, "other");
    fill_every_table(w, &w->nodes[0], "main");

    static const struct {
        const char *table;
        int64_t left;
    } tables[] = {{"cluster", 1},    {"instance_group", 1}, {"node", 1},           {"instance", 1},
                  {"credential", 1}, {"operation", 1},      {"operation_step", 2}, {"verdict", 2},
                  {"decision", 1},   {"token", 1},          {"event", 2}};
    MUST(db_cluster_delete(w->tx, w->cluster.id));
    for (size_t i = 0; i < ARRAY_LEN(tables); i++)
        assert_int_equal(rows_in(w, tables[i].table), tables[i].left);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_every_field_comes_back),
        WORLD_TEST(test_what_is_not_there_is_not_found),
        WORLD_TEST(test_a_name_is_taken_until_its_cluster_is_gone),
        WORLD_TEST(test_an_update_counts_the_revision_and_may_ask_for_one),
        WORLD_TEST(test_pages_go_by_name_while_clusters_come_and_go),
        WORLD_TEST(test_a_walk_stops_when_told),
        WORLD_TEST(test_counts_of_cluster_and_group),
        WORLD_TEST(test_a_cluster_takes_all_of_its_own_and_nothing_else),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
