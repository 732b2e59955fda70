/* The timeline: round trip, both directions, each filter, and the oldest going without an id coming back. */
#include "db_world.h"

static int64_t say(struct world *w, const char *cluster, const char *node, int64_t operation_id, const char *message)
{
    struct event event = {.kind = EVENT_KIND_JOBS, .operation_id = operation_id};
    SET(event.cluster, cluster);
    SET(event.node, node);
    SET(event.message, message);
    MUST(db_event_insert(w->tx, &event));
    return event.id;
}

static void test_every_field_comes_back(void **state)
{
    struct world *w = *state;
    struct event in = {.at = WORLD_NOW - 7,
                       .level = EVENT_LEVEL_ERROR,
                       .kind = EVENT_KIND_INJECTED,
                       .cluster_id = 1,
                       .node_id = 2,
                       .operation_id = 3,
                       .cluster = "main",
                       .group = "workers",
                       .node = "gpu-1",
                       .instance_id = "i-1",
                       .operation = "op",
                       .message = "NVRM: Xid (PCI:0000:b9:00): 79"},
                 bare = {0};
    MUST(db_event_insert(w->tx, &in));
    MUST(db_event_insert(w->tx, &bare));
    assert_int_equal(bare.at, WORLD_NOW); /* 0 is now */
    struct rows rows = ROWS(struct event);
    struct db_event_filter filter = {0};
    MUST(db_event_list(w->tx, &filter, rows_add, &rows));
    assert_int_equal(rows.count, 2);
    const struct event *out = ROW(rows, struct event, 0), *empty = ROW(rows, struct event, 1);
    assert_int_equal(out->id, in.id);
    assert_int_equal(out->at, WORLD_NOW - 7);
    assert_int_equal(out->level, EVENT_LEVEL_ERROR);
    assert_int_equal(out->kind, EVENT_KIND_INJECTED);
    assert_int_equal(out->cluster_id, 1);
    assert_int_equal(out->node_id, 2);
    assert_int_equal(out->operation_id, 3);
    assert_string_equal(out->cluster, "main");
    assert_string_equal(out->group, "workers");
    assert_string_equal(out->node, "gpu-1");
    assert_string_equal(out->instance_id, "i-1");
    assert_string_equal(out->operation, "op");
    assert_string_equal(out->message, in.message);
    assert_int_equal(empty->cluster_id, 0);
    assert_string_equal(empty->cluster, "");
    assert_string_equal(empty->message, "");
}

static void assert_listed(struct world *w, const struct db_event_filter *filter, const char *messages)
{
    struct rows rows = ROWS(struct event);
    char found[64] = "";
    MUST(db_event_list(w->tx, filter, rows_add, &rows));
    for (int i = 0; i < rows.count; i++)
        ADD(found, ROW(rows, struct event, i)->message);
    assert_string_equal(found, messages);
}

static void test_each_filter_in_both_directions(void **state)
{
    struct world *w = *state;
    say(w, "main", "gpu-1", 0, "a");
    int64_t b = say(w, "main", "gpu-2", 7, "b");
    say(w, "other", "gpu-1", 0, "c");
    int64_t d = say(w, "main", "", 7, "d");
    say(w, "", "", 0, "e");
    const struct {
        struct db_event_filter filter;
        const char *messages;
    } rows[] = {
        {{NULL, NULL, 0, 0, 0, false, 0}, "abcde"}, {{NULL, NULL, 0, b, 0, false, 2}, "cd"},
        {{NULL, NULL, 0, 0, 0, true, 2}, "ed"},     {{NULL, NULL, 0, 0, d, true, 0}, "cba"},
        {{NULL, NULL, 0, b, 0, true, 0}, "cde"}, /* a place to go on from decides the direction */
        {{"main", NULL, 0, 0, 0, false, 0}, "abd"}, {{"main", NULL, 0, 0, d, true, 1}, "b"},
        {{NULL, "gpu-1", 0, 0, 0, false, 0}, "ac"}, {{"other", "gpu-1", 0, 0, 0, true, 0}, "c"},
        {{NULL, NULL, 7, 0, 0, false, 0}, "bd"},    {{"main", "gpu-2", 7, 0, 0, true, 0}, "b"},
        {{"other", NULL, 7, 0, 0, false, 0}, ""},   {{"none", NULL, 0, 0, 0, true, 0}, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_listed(w, &rows[i].filter, rows[i].messages);
}

/* 0: there is none. */
static int64_t last_id(struct world *w)
{
    struct rows rows = ROWS(struct event);
    MUST(db_event_list(w->tx, &(struct db_event_filter){.newest_first = true, .limit = 1}, rows_add, &rows));
    return rows.count > 0 ? ROW(rows, struct event, 0)->id : 0;
}

static void test_pruning_drops_the_oldest_and_ids_go_on(void **state)
{
    struct world *w = *state;
    assert_int_equal(last_id(w), 0);
    MUST(db_event_prune(w->tx, 10)); /* nothing to drop */
    int64_t id = 0;
    for (char c = 'a'; c <= 'h'; c++)
        id = say(w, "main", "gpu-1", 0, (char[]){c, '\0'});
    static const struct {
        int64_t keep;
        const char *left;
    } rows[] = {{100, "abcdefgh"}, {8, "abcdefgh"}, {3, "fgh"}, {3, "fgh"}, {0, "h"}, {-5, "h"}};
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        MUST(db_event_prune(w->tx, rows[i].keep));
        assert_listed(w, &(struct db_event_filter){0}, rows[i].left);
        assert_int_equal(last_id(w), id);
    }
    assert_int_equal(say(w, "main", "gpu-1", 0, "i"), id + 1);
}

static void test_a_stream_misses_nothing_that_pruning_left(void **state)
{
    struct world *w = *state;
    struct db_event_filter filter = {.limit = 1};
    char seen[16] = "";
    for (char c = 'a'; c <= 'f'; c++) {
        say(w, "main", "gpu-1", 0, (char[]){c, '\0'});
        struct rows rows = ROWS(struct event);
        MUST(db_event_list(w->tx, &filter, rows_add, &rows));
        assert_int_equal(rows.count, 1);
        ADD(seen, ROW(rows, struct event, 0)->message);
        filter.after_id = ROW(rows, struct event, 0)->id;
        MUST(db_event_prune(w->tx, 2));
    }
    assert_string_equal(seen, "abcdef");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_every_field_comes_back),
        WORLD_TEST(test_each_filter_in_both_directions),
        WORLD_TEST(test_pruning_drops_the_oldest_and_ids_go_on),
        WORLD_TEST(test_a_stream_misses_nothing_that_pruning_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
