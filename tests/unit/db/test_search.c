/* What people search by: clusters, nodes and events in each order, within their windows, from a place on. */
#include "db_world.h"

static void names_of(const struct rows *rows, bool nodes, char *ret_names, size_t size)
{
    size_t len = 0;
    ret_names[0] = '\0';
    for (int i = 0; i < rows->count; i++)
        len += (size_t)snprintf(ret_names + len, size - len, "%s%s", i > 0 ? " " : "",
                                nodes ? ROW(*rows, struct db_node_row, i)->node.name
                                      : ROW(*rows, struct cluster, i)->name);
}

static void expect_clusters(struct world *w, struct db_cluster_search search, const char *expected)
{
    struct rows rows = ROWS(struct cluster);
    char names[256];
    if (search.name_contains == NULL)
        search.name_contains = "";
    MUST(db_cluster_search(w->tx, &search, rows_add, &rows));
    names_of(&rows, false, names, sizeof(names));
    assert_string_equal(names, expected);
}

static void test_clusters(void **state)
{
    struct world *w = *state;
    struct cluster zulu = a_cluster("zzzzzzzzzzzz", "zulu"), alpha = a_cluster("aaaaaaaaaaaa", "alpha"), found;
    zulu.created_at = WORLD_NOW - 10;
    alpha.created_at = w->cluster.created_at; /* the same moment: by row then */
    MUST(db_cluster_insert(w->tx, &zulu));
    MUST(db_cluster_insert(w->tx, &alpha));
    expect_clusters(w, (struct db_cluster_search){0}, "zulu main alpha");
    expect_clusters(w, (struct db_cluster_search){.descending = true}, "alpha main zulu");
    expect_clusters(w, (struct db_cluster_search){.by_name = true}, "alpha main zulu");
    expect_clusters(w, (struct db_cluster_search){.by_name = true, .descending = true, .limit = 2}, "zulu main");
    expect_clusters(w, (struct db_cluster_search){.name_contains = "a", .by_name = true}, "alpha main");
    expect_clusters(w, (struct db_cluster_search){.name_contains = "%"}, "");
    expect_clusters(w, (struct db_cluster_search){.created_after = zulu.created_at}, "main alpha");
    expect_clusters(w, (struct db_cluster_search){.created_before = alpha.created_at}, "zulu");
    struct db_cluster_search from = {.has_cursor = true, .cursor_at = alpha.created_at, .cursor_id = w->cluster.id};
    expect_clusters(w, from, "alpha");
    from.descending = true;
    expect_clusters(w, from, "zulu");
    MUST(db_cluster_by_uid(w->tx, "zzzzzzzzzzzz", &found));
    assert_string_equal(found.name, "zulu");
    assert_int_equal(db_cluster_by_uid(w->tx, "zulu", &found), STATUS_NOT_FOUND);
}

static void expect_nodes(struct world *w, struct db_node_search search, const char *expected)
{
    struct rows rows = ROWS(struct db_node_row);
    char names[256];
    search.cluster_id = w->cluster.id;
    if (search.group_contains == NULL)
        search.group_contains = "";
    MUST(db_node_search(w->tx, &search, rows_add, &rows));
    names_of(&rows, true, names, sizeof(names));
    assert_string_equal(names, expected);
}

static void test_nodes(void **state)
{
    struct world *w = *state;
    struct instance instance = {.node_id = w->nodes[1].id, .instance_id = "i-1", .launch_key = "k"};
    struct node first = a_node(&w->group, "a-late-one");
    char all[256] = "", down[256] = "", name[64];
    first.created_at = WORLD_NOW + 5;
    MUST(db_node_insert(w->tx, &first));
    for (int i = 0; i < WORLD_NODES; i++) {
        snprintf(name, sizeof(name), "%s ", w->nodes[i].name);
        memmove(down + strlen(name), down, strlen(down) + 1);
        memcpy(down, name, strlen(name));
        strncat(all, name, sizeof(all) - strlen(all) - 1);
    }
    autofree char *in_order = own_printf("%sa-late-one", all),
                  *by_name = own_printf("a-late-one %.*s", (int)strlen(all) - 1, all);
    autofree char *reversed = own_printf("%sa-late-one", down);
    expect_nodes(w, (struct db_node_search){0}, in_order);
    expect_nodes(w, (struct db_node_search){.by_name = true}, by_name);
    expect_nodes(w, (struct db_node_search){.by_name = true, .descending = true}, reversed);
    expect_nodes(w, (struct db_node_search){.descending = true, .limit = 1}, "a-late-one");
    expect_nodes(w, (struct db_node_search){.group_contains = "orker", .limit = 1}, w->nodes[0].name);
    expect_nodes(w, (struct db_node_search){.group_contains = "x"}, "");
    expect_nodes(w, (struct db_node_search){.created_after = WORLD_NOW + 4}, "a-late-one");
    expect_nodes(w, (struct db_node_search){.created_before = first.created_at, .descending = true, .limit = 1},
                 w->nodes[WORLD_NODES - 1].name);
    expect_nodes(w, (struct db_node_search){.filled_only = true}, "");
    MUST(db_instance_insert(w->tx, &instance));
    w->nodes[1].instance_row = instance.id;
    MUST(db_node_update(w->tx, &w->nodes[1]));
    expect_nodes(w, (struct db_node_search){.filled_only = true}, w->nodes[1].name);
    expect_nodes(w, (struct db_node_search){.has_cursor = true, .cursor_id = w->nodes[WORLD_NODES - 1].id},
                 "a-late-one");
    expect_nodes(w,
                 (struct db_node_search){.by_name = true, .has_cursor = true, .cursor_name = "a-late-one", .limit = 1},
                 w->nodes[0].name);
}

static int64_t add_event(struct world *w, const char *group, const char *node, const char *instance, int64_t at)
{
    struct event event = {.at = at, .cluster_id = w->cluster.id};
    SET(event.cluster, w->cluster.name);
    SET(event.group, group);
    SET(event.node, node);
    SET(event.instance_id, instance);
    MUST(db_event_insert(w->tx, &event));
    return event.id;
}

static void expect_events(struct world *w, struct db_event_search search, int count, int64_t first)
{
    struct rows rows = ROWS(struct event);
    search.cluster = &w->cluster;
    search.group = search.group == NULL ? "" : search.group;
    search.instance_id = search.instance_id == NULL ? "" : search.instance_id;
    MUST(db_event_search(w->tx, &search, rows_add, &rows));
    assert_int_equal(rows.count, count);
    if (count > 0)
        assert_int_equal(ROW(rows, struct event, 0)->id, first);
}

static void test_events(void **state)
{
    struct world *w = *state;
    int64_t c = add_event(w, "", "", "", 100), g = add_event(w, "workers", "", "", 200),
            n = add_event(w, "workers", "gpu-1", "i-1", 300);
    struct event other = {.at = 150, .cluster_id = w->cluster.id + 1}, found; /* an earlier cluster of the same name */
    SET(other.cluster, w->cluster.name);
    MUST(db_event_insert(w->tx, &other));
    expect_events(w, (struct db_event_search){.scope = -1}, 3, c);
    expect_events(w, (struct db_event_search){.scope = -1, .descending = true}, 3, n);
    expect_events(w, (struct db_event_search){.scope = EVENT_SCOPE_CLUSTER}, 1, c);
    expect_events(w, (struct db_event_search){.scope = EVENT_SCOPE_GROUP}, 1, g);
    expect_events(w, (struct db_event_search){.scope = EVENT_SCOPE_NODE}, 1, n);
    expect_events(w, (struct db_event_search){.scope = -1, .group = "workers"}, 2, g);
    expect_events(w, (struct db_event_search){.scope = -1, .instance_id = "i-1"}, 1, n);
    expect_events(w, (struct db_event_search){.scope = -1, .instance_id = "i-2"}, 0, 0);
    expect_events(w, (struct db_event_search){.scope = -1, .after_at = 100, .before_at = 300}, 1, g);
    expect_events(w, (struct db_event_search){.scope = -1, .cursor_id = c}, 2, g);
    expect_events(w, (struct db_event_search){.scope = -1, .cursor_id = n, .descending = true, .limit = 1}, 1, g);
    MUST(db_event_get(w->tx, g, &found));
    assert_int_equal(event_scope(&found), EVENT_SCOPE_GROUP);
    assert_int_equal(db_event_get(w->tx, 999, &found), STATUS_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {WORLD_TEST(test_clusters), WORLD_TEST(test_nodes), WORLD_TEST(test_events)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
