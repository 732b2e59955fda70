/* Nodes: round trip, the lists by name, state, health and group, and pages while nodes change. */
#include "db_world.h"

static void full_node(const struct world *w, struct node *node)
{
    *node = (struct node){.cluster_id = w->cluster.id,
                          .group_id = w->group.id,
                          .state = NODE_STATE_HELD,
                          .health = HEALTH_UNHEALTHY,
                          .instance_row = 77,
                          .state_since = WORLD_NOW + 1,
                          .health_since = WORLD_NOW + 2,
                          .retry_at = WORLD_NOW + 3,
                          .opted_out = true,
                          .cordoned = true,
                          .served = true,
                          .launch_tries = 3,
                          .attention = ATTENTION_KEPT_OUT,
                          .created_at = WORLD_NOW + 4};
    SET(node->near_miss, "action:replace");
    SET(node->name, "gpu-full");
    SET(node->reason, "waits: 1 of 1 in repair");
}

static void assert_same_node(const struct node *a, const struct node *b)
{
    assert_int_equal(a->id, b->id);
    assert_int_equal(a->cluster_id, b->cluster_id);
    assert_int_equal(a->group_id, b->group_id);
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->state, b->state);
    assert_int_equal(a->health, b->health);
    assert_string_equal(a->reason, b->reason);
    assert_int_equal(a->instance_row, b->instance_row);
    assert_int_equal(a->state_since, b->state_since);
    assert_int_equal(a->health_since, b->health_since);
    assert_int_equal(a->retry_at, b->retry_at);
    assert_int_equal(a->opted_out, b->opted_out);
    assert_int_equal(a->cordoned, b->cordoned);
    assert_int_equal(a->served, b->served);
    assert_int_equal(a->launch_tries, b->launch_tries);
    assert_string_equal(a->near_miss, b->near_miss);
    assert_int_equal(a->attention, b->attention);
    assert_int_equal(a->created_at, b->created_at);
}

static void test_every_field_comes_back(void **state)
{
    struct world *w = *state;
    struct node in, out;
    full_node(w, &in);
    MUST(db_node_insert(w->tx, &in));
    MUST(db_node_get(w->tx, w->cluster.id, "gpu-full", &out));
    assert_same_node(&in, &out);
    memset(&out, 0xee, sizeof(out));
    MUST(db_node_get_row(w->tx, in.id, &out));
    assert_same_node(&in, &out);
}

static void test_an_update_writes_what_may_change(void **state)
{
    struct world *w = *state;
    struct node changed, out;
    full_node(w, &changed);
    changed.id = w->nodes[1].id;
    SET(changed.name, "gpu-2");
    changed.created_at = WORLD_NOW;
    MUST(db_node_update(w->tx, &changed));
    MUST(db_node_get_row(w->tx, changed.id, &out));
    assert_same_node(&changed, &out);
    changed.id = 999;
    assert_int_equal(db_node_update(w->tx, &changed), STATUS_NOT_FOUND);
}

static void test_what_is_refused(void **state)
{
    struct world *w = *state;
    struct node twin = a_node(&w->group, "gpu-1"), orphan = a_node(&w->group, "orphan"), out;
    orphan.group_id = 999;
    assert_int_equal(db_node_insert(w->tx, &twin), STATUS_EXISTS);
    assert_int_equal(db_node_insert(w->tx, &orphan), STATUS_NOT_FOUND);
    assert_int_equal(db_node_get(w->tx, w->cluster.id, "none", &out), STATUS_NOT_FOUND);
    assert_int_equal(db_node_get_row(w->tx, 999, &out), STATUS_NOT_FOUND);
    assert_int_equal(db_node_delete(w->tx, 999), STATUS_NOT_FOUND);
}

static void test_a_row_number_is_never_given_twice(void **state)
{
    struct world *w = *state;
    int64_t last = w->nodes[WORLD_NODES - 1].id;
    MUST(db_node_delete(w->tx, last));
    struct node again = a_node(&w->group, "gpu-again");
    MUST(db_node_insert(w->tx, &again));
    assert_true(again.id > last);
}

static void test_a_row_of_the_list_carries_instance_and_names(void **state)
{
    struct world *w = *state;
    struct instance instance = {.node_id = w->nodes[0].id, .state = INSTANCE_STATE_RUNNING};
    SET(instance.instance_id, "i-0123456789abcdef0");
    MUST(db_instance_insert(w->tx, &instance));
    w->nodes[0].instance_row = instance.id;
    MUST(db_node_update(w->tx, &w->nodes[0]));
    struct rows rows = ROWS(struct db_node_row);
    struct db_node_filter filter = {.cluster_id = w->cluster.id, .state = -1, .health = -1, .limit = 2};
    MUST(db_node_list(w->tx, &filter, rows_add, &rows));
    assert_int_equal(rows.count, 2);
    const struct db_node_row *with = ROW(rows, struct db_node_row, 0), *without = ROW(rows, struct db_node_row, 1);
    assert_same_node(&with->node, &w->nodes[0]);
    assert_string_equal(with->instance.instance_id, "i-0123456789abcdef0");
    assert_int_equal(with->instance.state, INSTANCE_STATE_RUNNING);
    assert_string_equal(with->group, "workers");
    assert_string_equal(with->cluster, "main");
    assert_int_equal(without->instance.id, 0);
    assert_string_equal(without->instance.instance_id, "");
    assert_string_equal(without->group, "workers");
    struct node node;
    struct instance filled;
    MUST(db_node_get_filled(w->tx, w->nodes[0].id, &node, &filled));
    assert_same_node(&node, &w->nodes[0]);
    assert_string_equal(filled.instance_id, "i-0123456789abcdef0");
    MUST(db_node_get_filled(w->tx, w->nodes[1].id, &node, &filled));
    assert_int_equal(filled.id, 0);
    assert_int_equal(db_node_get_filled(w->tx, 999, &node, &filled), STATUS_NOT_FOUND);
}

/* gpu-1 READY, gpu-2 HELD, gpu-3 HELD degraded, gpu-4 READY with a reason; spare-1 HELD in another group; far-1 elsewhere. */
static void six_nodes(struct world *w, int64_t *ret_spare_group)
{
    struct instance_group spare = a_group(w->cluster.id, "spare");
    MUST(db_group_insert(w->tx, &spare));
    struct node extra = a_node(&spare, "spare-1");
    extra.state = NODE_STATE_HELD;
    MUST(db_node_insert(w->tx, &extra));
    for (int i = 1; i < 3; i++) {
        w->nodes[i].state = NODE_STATE_HELD;
        w->nodes[i].health = i == 2 ? HEALTH_DEGRADED : HEALTH_HEALTHY;
        MUST(db_node_update(w->tx, &w->nodes[i]));
    }
    snprintf(w->nodes[3].reason, sizeof(w->nodes[3].reason), "held by a person");
    MUST(db_node_update(w->tx, &w->nodes[3]));
    struct cluster other = a_cluster("zzzzzzzzzzzz", "aaa");
    MUST(db_cluster_insert(w->tx, &other));
    struct instance_group group = a_group(other.id, "workers");
    MUST(db_group_insert(w->tx, &group));
    struct node far = a_node(&group, "far-1");
    MUST(db_node_insert(w->tx, &far));
    *ret_spare_group = spare.id;
}

static void test_each_filter_finds_its_nodes_in_order(void **state)
{
    struct world *w = *state;
    int64_t spare = 0;
    six_nodes(w, &spare);
    const int64_t c = w->cluster.id, g = w->group.id;
    const struct {
        struct db_node_filter filter;
        const char *names;
    } rows[] = {
        {{c, 0, NULL, -1, -1, 0, false}, "gpu-1 gpu-2 gpu-3 gpu-4 spare-1 "},
        {{c, 0, "gpu-2", -1, -1, 2, false}, "gpu-3 gpu-4 "},
        {{c, 0, NULL, NODE_STATE_HELD, -1, 0, false}, "gpu-2 gpu-3 spare-1 "},
        {{c, 0, "gpu-2", NODE_STATE_HELD, -1, 1, false}, "gpu-3 "},
        {{c, 0, NULL, -1, HEALTH_DEGRADED, 0, false}, "gpu-3 "},
        {{c, 0, NULL, NODE_STATE_HELD, HEALTH_HEALTHY, 0, false}, "gpu-2 spare-1 "},
        {{c, g, NULL, -1, -1, 0, false}, "gpu-1 gpu-2 gpu-3 gpu-4 "},
        {{c, g, "gpu-1", NODE_STATE_HELD, -1, 0, false}, "gpu-2 gpu-3 "},
        {{c, spare, NULL, -1, -1, 0, false}, "spare-1 "},
        {{c, g, NULL, NODE_STATE_FAILED, -1, 0, false}, ""},
        {{0, 0, NULL, -1, -1, 0, false}, "gpu-1 gpu-2 gpu-3 gpu-4 spare-1 far-1 "},
        {{0, 0, "ignored", NODE_STATE_READY, -1, 0, false}, "gpu-1 gpu-4 far-1 "},
        {{0, g, NULL, -1, -1, 3, false}, "gpu-1 gpu-2 gpu-3 "},
        {{c, 0, NULL, NODE_STATE_READY, -1, 0, true}, "gpu-4 "},
        {{c, 0, NULL, NODE_STATE_READY, HEALTH_UNKNOWN, 0, true}, ""},
        {{c, 0, "gpu-4", NODE_STATE_READY, -1, 0, true}, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rows found = ROWS(struct db_node_row);
        char names[256] = "";
        MUST(db_node_list(w->tx, &rows[i].filter, rows_add, &found));
        for (int n = 0; n < found.count; n++) {
            ADD(names, ROW(found, struct db_node_row, n)->node.name);
            ADD(names, " ");
        }
        assert_string_equal(names, rows[i].names);
    }
}

/* Reads pages of two while, between pages, nodes change state, go and come: what stays is seen exactly once. */
static void test_pages_hold_while_nodes_change(void **state)
{
    struct world *w = *state;
    char cursor[NODE_NAME_MAX_BYTES] = "", seen[256] = "";
    for (int page = 0; page < 8; page++) {
        struct db_node_filter filter = {
            .cluster_id = w->cluster.id, .after_name = cursor, .state = -1, .health = -1, .limit = 2};
        struct rows rows = ROWS(struct db_node_row);
        MUST(db_node_list(w->tx, &filter, rows_add, &rows));
        if (rows.count == 0)
            break;
        for (int n = 0; n < rows.count; n++) {
            ADD(seen, ROW(rows, struct db_node_row, n)->node.name);
            ADD(seen, " ");
        }
        SET(cursor, ROW(rows, struct db_node_row, rows.count - 1)->node.name);
        if (page == 0) {
            MUST(db_node_delete(w->tx, w->nodes[1].id)); /* the cursor's own */
            w->nodes[2].state = NODE_STATE_HELD;
            MUST(db_node_update(w->tx, &w->nodes[2]));
            struct node before = a_node(&w->group, "gpu-0"), after = a_node(&w->group, "gpu-5");
            MUST(db_node_insert(w->tx, &before));
            MUST(db_node_insert(w->tx, &after));
        }
    }
    assert_string_equal(seen, "gpu-1 gpu-2 gpu-3 gpu-4 gpu-5 ");
}

static int nested(const void *row, void *arg)
{
    struct world *w = arg;
    const struct db_node_row *outer = row;
    struct db_node_filter filter = {.cluster_id = outer->node.cluster_id, .state = -1, .health = -1};
    struct rows rows = ROWS(struct db_node_row);
    MUST(db_node_list(w->tx, &filter, rows_add, &rows));
    assert_int_equal(rows.count, WORLD_NODES);
    return 0;
}

static void test_a_list_may_be_asked_inside_itself(void **state)
{
    struct world *w = *state;
    struct db_node_filter filter = {.cluster_id = w->cluster.id, .state = -1, .health = -1};
    MUST(db_node_list(w->tx, &filter, nested, w));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_every_field_comes_back),
        WORLD_TEST(test_an_update_writes_what_may_change),
        WORLD_TEST(test_what_is_refused),
        WORLD_TEST(test_a_row_number_is_never_given_twice),
        WORLD_TEST(test_a_row_of_the_list_carries_instance_and_names),
        WORLD_TEST(test_each_filter_finds_its_nodes_in_order),
        WORLD_TEST(test_pages_hold_while_nodes_change),
        WORLD_TEST(test_a_list_may_be_asked_inside_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
