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
                       .message = "NVRM: Xid (PCI:0000:b9:00): 79",
                       .about = {.subject = "s", .state = "held", .actor = "policy", .was = "ready"}},
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
    assert_string_equal(out->about.subject, "s");
    assert_string_equal(out->about.state, "held");
    assert_string_equal(out->about.actor, "policy");
    assert_string_equal(out->about.was, "ready");
    assert_int_equal(empty->cluster_id, 0);
    assert_string_equal(empty->cluster, "");
    assert_string_equal(empty->message, "");
    assert_string_equal(empty->about.was, "");
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

/* From any writer: a scheduler's reason, a provider's error, a script. */
static void test_a_message_is_one_line(void **state)
{
    static const struct {
        const char *said, *stored;
    } cases[] = {
        {"held: x\nDecision: none", "held: x Decision: none"},
        {"held: \xe2\x80\xae"
         "enon",
         "held: ?enon"},
        {"a\x1b[2Jb", "a [2Jb"},
        {"a\xffz", "a?z"},
        {"gr\xc3\xbcn", "gr\xc3\xbcn"},
    };
    struct world *w = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct rows rows = ROWS(struct event);
        struct db_event_filter filter = {.after_id = say(w, "main", "gpu-1", 0, cases[i].said) - 1};
        MUST(db_event_list(w->tx, &filter, rows_add, &rows));
        assert_string_equal(ROW(rows, struct event, 0)->message, cases[i].stored);
    }
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
        {{0}, "abcde"},
        {{.after_id = b, .limit = 2}, "cd"},
        {{.newest_first = true, .limit = 2}, "ed"},
        {{.before_id = d, .newest_first = true}, "cba"},
        {{.after_id = b, .newest_first = true}, "cde"}, /* a place to go on from decides the direction */
        {{.cluster = "main"}, "abd"},
        {{.cluster = "main", .before_id = d, .newest_first = true, .limit = 1}, "b"},
        {{.node = "gpu-1"}, "ac"},
        {{.cluster = "other", .node = "gpu-1", .newest_first = true}, "c"},
        {{.operation_id = 7}, "bd"},
        {{.cluster = "main", .node = "gpu-2", .operation_id = 7, .newest_first = true}, "b"},
        {{.cluster = "other", .operation_id = 7}, ""},
        {{.cluster = "none", .newest_first = true}, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++)
        assert_listed(w, &rows[i].filter, rows[i].messages);
}

static void test_kinds_levels_and_times(void **state)
{
    struct world *w = *state;
    static const struct {
        int64_t at;
        enum event_level level;
        enum event_kind kind;
        const char *message;
    } events[] = {{10, EVENT_LEVEL_INFO, EVENT_KIND_DECISION, "a"},
                  {20, EVENT_LEVEL_WARN, EVENT_KIND_APPROVAL, "b"},
                  {30, EVENT_LEVEL_ERROR, EVENT_KIND_DECISION, "c"}};
    static const struct {
        struct db_event_filter filter;
        const char *messages;
    } rows[] = {
        {{.kind = "decision"}, "ac"},
        {{.kind = "nothing"}, ""},
        {{.min_level = EVENT_LEVEL_WARN}, "bc"},
        {{.min_level = EVENT_LEVEL_ERROR, .newest_first = true}, "c"},
        {{.since = 20}, "bc"},
        {{.since = 11, .kind = "decision", .newest_first = true, .limit = 1}, "c"},
    };
    for (size_t i = 0; i < ARRAY_LEN(events); i++) {
        struct event event = {.at = events[i].at, .level = events[i].level, .kind = events[i].kind};
        snprintf(event.message, sizeof(event.message), "%s", events[i].message);
        MUST(db_event_insert(w->tx, &event));
    }
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
        WORLD_TEST(test_a_message_is_one_line),
        WORLD_TEST(test_each_filter_in_both_directions),
        WORLD_TEST(test_kinds_levels_and_times),
        WORLD_TEST(test_pruning_drops_the_oldest_and_ids_go_on),
        WORLD_TEST(test_a_stream_misses_nothing_that_pruning_left),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
