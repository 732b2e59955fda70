/* Verdicts: round trip, repeats, who is undecided, who failed lately, pages newest first. */
#include "db_world.h"

static enum db_verdict_change put(struct world *w, struct verdict *verdict)
{
    enum db_verdict_change change = (enum db_verdict_change)99;
    MUST(db_verdict_put(w->tx, verdict, &change));
    return change;
}

static void test_every_field_comes_back(void **state)
{
    struct world *w = *state;
    struct verdict in = {.node_id = w->nodes[2].id,
                         .key = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                         .instance_id = "i-0123456789abcdef0",
                         .boot_id = "0bb2b5a7-0ef0-4e42-b0bb-4b2d6a0e8e01",
                         .device = "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b8a77",
                         .source = "kmsg",
                         .code = "xid.79",
                         .table_version = "2026-11-20",
                         .severity = SEVERITY_WARN,
                         .state = VERDICT_STATE_STALE,
                         .first_at = WORLD_NOW + 1,
                         .last_at = WORLD_NOW + 2,
                         .count = 3,
                         .received_at = WORLD_NOW + 4,
                         .node_fault = true};
    memset(in.raw_line, 'x', sizeof(in.raw_line) - 1);
    memcpy(in.raw_line, "\x01\x1b[0m \xc3\xa9 \xf0\x9f\x92\xa5 '; DROP TABLE verdict; --", 40);
    struct verdict out;
    memset(&out, 0xee, sizeof(out));
    assert_int_equal(put(w, &in), DB_VERDICT_NEW);
    MUST(db_verdict_get_row(w->tx, in.id, &out));
    assert_int_equal(out.id, in.id);
    assert_int_equal(out.node_id, in.node_id);
    assert_string_equal(out.key, in.key);
    assert_string_equal(out.instance_id, in.instance_id);
    assert_string_equal(out.boot_id, in.boot_id);
    assert_string_equal(out.device, in.device);
    assert_string_equal(out.source, in.source);
    assert_string_equal(out.code, in.code);
    assert_string_equal(out.raw_line, in.raw_line);
    assert_string_equal(out.table_version, in.table_version);
    assert_int_equal(out.severity, in.severity);
    assert_int_equal(out.state, in.state);
    assert_int_equal(out.first_at, in.first_at);
    assert_int_equal(out.last_at, in.last_at);
    assert_int_equal(out.count, in.count);
    assert_int_equal(out.received_at, in.received_at);
    assert_true(out.node_fault);
    assert_int_equal(db_verdict_get_row(w->tx, 999, &out), STATUS_NOT_FOUND);
}

/* One verdict delivered again and again; what is stored only ever grows. */
static void repeats(struct world *w, const char *key, enum verdict_state first_state, enum verdict_state then_state)
{
    static const struct {
        int64_t count, last_at;
        enum db_verdict_change change;
        int64_t stored_count, stored_last_at;
    } rows[] = {
        {5, 50, DB_VERDICT_NEW, 5, 50},  {5, 50, DB_VERDICT_SAME, 5, 50}, {7, 50, DB_VERDICT_GREW, 7, 50},
        {7, 70, DB_VERDICT_GREW, 7, 70}, {6, 60, DB_VERDICT_SAME, 7, 70}, {1, 1, DB_VERDICT_SAME, 7, 70},
        {9, 60, DB_VERDICT_GREW, 9, 70}, {8, 90, DB_VERDICT_GREW, 9, 90}, {9, 90, DB_VERDICT_SAME, 9, 90},
    };
    int64_t id = 0;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct verdict verdict = a_verdict(w->nodes[0].id, key), out;
        verdict.state = i == 0 ? first_state : then_state;
        verdict.first_at = i == 0 ? 10 : 11;
        verdict.count = rows[i].count;
        verdict.last_at = rows[i].last_at;
        assert_int_equal(put(w, &verdict), rows[i].change);
        id = i == 0 ? verdict.id : id;
        assert_int_equal(verdict.id, id);
        MUST(db_verdict_get_row(w->tx, id, &out));
        assert_int_equal(out.count, rows[i].stored_count);
        assert_int_equal(out.last_at, rows[i].stored_last_at);
        assert_int_equal(out.first_at, 10);
        assert_int_equal(out.state, first_state);
    }
}

static void test_a_repeat_only_grows(void **state)
{
    struct world *w = *state;
    repeats(w, "open then open", VERDICT_STATE_OPEN, VERDICT_STATE_OPEN);
    repeats(w, "stale then stale", VERDICT_STATE_STALE, VERDICT_STATE_STALE);
    repeats(w, "open then stale", VERDICT_STATE_OPEN, VERDICT_STATE_STALE);
    repeats(w, "stale then open", VERDICT_STATE_STALE, VERDICT_STATE_OPEN);
}

static void test_what_was_resolved_stays_so_when_it_comes_again(void **state)
{
    struct world *w = *state;
    struct verdict first = a_verdict(w->nodes[0].id, "k"), again = first, out;
    put(w, &first);
    MUST(db_verdict_resolve(w->tx, first.node_id, 0, NULL));
    assert_int_equal(put(w, &again), DB_VERDICT_SAME);
    assert_int_equal(again.id, first.id);
    again.count = 2;
    assert_int_equal(put(w, &again), DB_VERDICT_GREW);
    MUST(db_verdict_get_row(w->tx, first.id, &out));
    assert_int_equal(out.state, VERDICT_STATE_RESOLVED);
    assert_int_equal(out.count, 2);
}

/* A person released the node; what its agent counts on under the same key is a fault that nobody has dealt with. */
static void test_what_is_seen_after_it_was_resolved_is_new(void **state)
{
    struct world *w = *state;
    const int64_t now_ms = clock_wall_ms(db_tx_clock(w->tx));
    struct verdict first = a_verdict(w->nodes[0].id, "k"), again = first, out;
    put(w, &first);
    MUST(db_verdict_resolve(w->tx, first.node_id, 0, NULL));
    again.count = 2;
    again.last_at = now_ms; /* told late, but seen before */
    assert_int_equal(put(w, &again), DB_VERDICT_GREW);
    again.last_at = now_ms + 1; /* told again, not seen again */
    assert_int_equal(put(w, &again), DB_VERDICT_GREW);
    again.count = 3;
    assert_int_equal(put(w, &again), DB_VERDICT_AGAIN);
    assert_true(again.id > first.id);
    MUST(db_verdict_get_row(w->tx, again.id, &out));
    assert_int_equal(out.state, VERDICT_STATE_OPEN);
    MUST(db_verdict_get_row(w->tx, first.id, &out));
    assert_int_equal(out.state, VERDICT_STATE_RESOLVED);
    assert_int_equal(out.count, 2);
    assert_int_equal(put(w, &again), DB_VERDICT_SAME);
    again.count = 4;
    assert_int_equal(put(w, &again), DB_VERDICT_GREW);
    MUST(db_verdict_resolve(w->tx, first.node_id, 0, NULL)); /* and once more */
    again.count = 5;
    again.last_at = now_ms + 60000;
    assert_int_equal(put(w, &again), DB_VERDICT_AGAIN);
}

static void test_what_comes_back_after_it_was_over_is_new(void **state)
{
    struct world *w = *state;
    struct verdict first = a_verdict(w->nodes[0].id, "k"), over = a_verdict(w->nodes[0].id, "over"), again = first;
    put(w, &first);
    over.last_at = first.last_at + 1000;
    over.state = VERDICT_STATE_RESOLVED;
    put(w, &over);
    MUST(db_verdict_resolve_like(w->tx, &over, NULL));
    again.count = 2;
    again.last_at = over.last_at;
    assert_int_equal(put(w, &again), DB_VERDICT_GREW);
    again.count = 3;
    again.last_at = over.last_at + 1;
    assert_int_equal(put(w, &again), DB_VERDICT_AGAIN);
}

static void test_keys_are_told_quarantine_to_their_last_character(void **state)
{
    struct world *w = *state;
    struct verdict a = a_verdict(w->nodes[0].id, "0000000000000000000000000000000000000000000000000000000000000001");
    struct verdict b = a_verdict(w->nodes[0].id, "0000000000000000000000000000000000000000000000000000000000000002");
    struct verdict c = a_verdict(w->nodes[1].id, a.key), empty = a_verdict(w->nodes[0].id, "");
    assert_int_equal(put(w, &a), DB_VERDICT_NEW);
    assert_int_equal(put(w, &b), DB_VERDICT_NEW);
    assert_int_equal(put(w, &c), DB_VERDICT_NEW);
    assert_int_equal(put(w, &empty), DB_VERDICT_NEW);
}

static void test_no_verdict_without_its_node(void **state)
{
    struct world *w = *state;
    struct verdict orphan = a_verdict(999, "k"), own = a_verdict(w->nodes[0].id, "k"), out;
    enum db_verdict_change change;
    assert_int_equal(db_verdict_put(w->tx, &orphan, &change), STATUS_NOT_FOUND);
    put(w, &own);
    MUST(db_node_delete(w->tx, w->nodes[0].id));
    assert_int_equal(db_verdict_get_row(w->tx, own.id, &out), STATUS_NOT_FOUND);
}

static void test_resolving_takes_the_open_ones_up_to_a_row(void **state)
{
    struct world *w = *state;
    struct verdict v[4], out;
    for (int i = 0; i < 4; i++) {
        char key[8];
        snprintf(key, sizeof(key), "k%d", i);
        v[i] = a_verdict(w->nodes[i == 3].id, key);
        v[i].state = i == 1 ? VERDICT_STATE_STALE : VERDICT_STATE_OPEN;
        put(w, &v[i]);
    }
    int64_t count = -1;
    MUST(db_verdict_resolve(w->tx, w->nodes[0].id, v[1].id, &count));
    assert_int_equal(count, 1);
    static const enum verdict_state states[] = {VERDICT_STATE_RESOLVED, VERDICT_STATE_STALE, VERDICT_STATE_OPEN,
                                                VERDICT_STATE_OPEN};
    for (int i = 0; i < 4; i++) {
        MUST(db_verdict_get_row(w->tx, v[i].id, &out));
        assert_int_equal(out.state, states[i]);
    }
    MUST(db_verdict_resolve(w->tx, w->nodes[0].id, 0, &count));
    assert_int_equal(count, 1);
    MUST(db_verdict_resolve(w->tx, w->nodes[0].id, 0, &count));
    assert_int_equal(count, 0);
}

/* v1 open, v2 stale, v3 resolved, v4 open on gpu-1; v5 open on gpu-2. */
static void five_verdicts(struct world *w, struct verdict v[5])
{
    for (int i = 0; i < 5; i++) {
        char key[8];
        snprintf(key, sizeof(key), "v%d", i + 1);
        v[i] = a_verdict(w->nodes[i == 4].id, key);
        v[i].state = i == 1 ? VERDICT_STATE_STALE : i == 2 ? VERDICT_STATE_RESOLVED : VERDICT_STATE_OPEN;
        put(w, &v[i]);
    }
}

static void test_each_filter_finds_its_verdicts_newest_first(void **state)
{
    struct world *w = *state;
    struct verdict v[5];
    five_verdicts(w, v);
    const int64_t n = w->nodes[0].id;
    const struct {
        struct db_verdict_filter filter;
        const char *keys;
    } rows[] = {
        {{.node_id = n, .state = -1}, "v4 v3 v2 v1 "},
        {{.node_id = n, .state = -1, .before_id = v[3].id, .limit = 2}, "v3 v2 "},
        {{.node_id = n, .state = VERDICT_STATE_OPEN}, "v4 v1 "},
        {{.node_id = n, .state = VERDICT_STATE_OPEN, .before_id = v[3].id}, "v1 "},
        {{.node_id = n, .state = VERDICT_STATE_STALE}, "v2 "},
        {{.node_id = n, .state = VERDICT_STATE_RESOLVED, .before_id = v[2].id}, ""},
        {{.state = -1, .limit = 3}, "v5 v4 v3 "},
        {{.state = VERDICT_STATE_OPEN, .before_id = v[4].id}, "v4 v1 "},
        {{.state = VERDICT_STATE_RESOLVED}, "v3 "},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct rows found = ROWS(struct verdict);
        char keys[64] = "";
        MUST(db_verdict_list(w->tx, &rows[i].filter, rows_add, &found));
        for (int k = 0; k < found.count; k++) {
            ADD(keys, ROW(found, struct verdict, k)->key);
            ADD(keys, " ");
        }
        assert_string_equal(keys, rows[i].keys);
    }
}

static void test_a_page_is_not_moved_by_what_comes_meanwhile(void **state)
{
    struct world *w = *state;
    struct verdict v[5], late = a_verdict(w->nodes[0].id, "late");
    five_verdicts(w, v);
    struct db_verdict_filter filter = {.node_id = w->nodes[0].id, .state = -1, .limit = 1};
    char keys[64] = "";
    for (int page = 0; page < 8; page++) {
        struct rows found = ROWS(struct verdict);
        MUST(db_verdict_list(w->tx, &filter, rows_add, &found));
        if (found.count == 0)
            break;
        ADD(keys, ROW(found, struct verdict, 0)->key);
        ADD(keys, " ");
        filter.before_id = ROW(found, struct verdict, 0)->id;
        if (page == 0) {
            put(w, &late);
            MUST(db_verdict_resolve(w->tx, w->nodes[0].id, v[0].id, NULL));
        }
    }
    assert_string_equal(keys, "v4 v3 v2 v1 ");
}

static void assert_undecided(struct world *w, int count, int64_t first)
{
    struct rows found = ROWS(int64_t);
    MUST(db_verdict_undecided_nodes(w->tx, rows_add, &found));
    assert_int_equal(found.count, count);
    if (count > 0)
        assert_int_equal(*ROW(found, int64_t, 0), first);
}

static void test_a_node_is_undecided_until_a_decision_saw_its_newest_verdict(void **state)
{
    struct world *w = *state;
    struct verdict first = a_verdict(w->nodes[1].id, "1"), second = a_verdict(w->nodes[1].id, "2"),
                   stale = a_verdict(w->nodes[2].id, "3");
    stale.state = VERDICT_STATE_STALE;
    assert_undecided(w, 0, 0);
    put(w, &first);
    put(w, &stale);
    assert_undecided(w, 1, w->nodes[1].id);
    struct decision decision = {.node_id = w->nodes[1].id, .evidence = {first.id}, .evidence_count = 1};
    MUST(db_decision_insert(w->tx, &decision));
    assert_undecided(w, 0, 0);
    put(w, &second);
    assert_undecided(w, 1, w->nodes[1].id);
    /* One that does not look at verdicts (the node fell silent) does not count as having seen them. */
    struct decision silent = {.node_id = w->nodes[1].id};
    MUST(db_decision_insert(w->tx, &silent));
    assert_undecided(w, 1, w->nodes[1].id);
    MUST(db_verdict_resolve(w->tx, w->nodes[1].id, 0, NULL));
    assert_undecided(w, 0, 0);
}

/* hpd may die between the report that made a verdict grow and the look at its node: the row number says nothing of that. */
static void test_a_verdict_that_grew_is_looked_at_after_a_start(void **state)
{
    struct world *w = *state;
    for (int which = 0; which < 2; which++) {
        struct verdict verdict = a_verdict(w->nodes[1].id, which == 0 ? "1" : "2");
        verdict.last_at = verdict.first_at;
        verdict.count = 1;
        put(w, &verdict);
        struct decision decision = {.node_id = w->nodes[1].id, .evidence = {verdict.id}, .evidence_count = 1};
        MUST(db_decision_insert(w->tx, &decision));
        assert_undecided(w, 0, 0);
        verdict.count += which == 0;
        verdict.last_at += which; /* one more line of the same moment; and a later one that was counted before */
        put(w, &verdict);
        assert_undecided(w, 1, w->nodes[1].id);
        MUST(db_verdict_resolve(w->tx, w->nodes[1].id, 0, NULL));
    }
}

static void test_failed_nodes_are_told_once_each_by_time(void **state)
{
    struct world *w = *state;
    const struct {
        int64_t node_id, received_at;
        enum severity severity;
        bool fault, later; /* later: found out after it was stored */
        enum verdict_state state;
    } rows[] = {
        {w->nodes[0].id, WORLD_NOW, SEVERITY_CRITICAL, true, false, VERDICT_STATE_OPEN},
        {w->nodes[0].id, WORLD_NOW + 2, SEVERITY_WARN, true, false, VERDICT_STATE_OPEN},
        {w->nodes[1].id, WORLD_NOW + 1, SEVERITY_CRITICAL, true, false, VERDICT_STATE_RESOLVED},
        {w->nodes[2].id, WORLD_NOW, SEVERITY_CRITICAL, true, false, VERDICT_STATE_STALE},
        {w->nodes[3].id, WORLD_NOW, SEVERITY_WARN, false, false, VERDICT_STATE_OPEN},
        {w->nodes[3].id, WORLD_NOW - 1, SEVERITY_WARN, false, true, VERDICT_STATE_OPEN},
    };
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char key[8];
        snprintf(key, sizeof(key), "%zu", i);
        struct verdict verdict = a_verdict(rows[i].node_id, key);
        verdict.received_at = rows[i].received_at;
        verdict.severity = rows[i].severity;
        verdict.state = rows[i].state;
        verdict.node_fault = rows[i].fault;
        put(w, &verdict);
        if (rows[i].later)
            MUST(db_verdict_set_fault(w->tx, verdict.id));
    }
    const struct {
        int64_t since_at;
        int count, nodes[WORLD_NODES];
    } looks[] = {
        {WORLD_NOW - 2, 3, {3, 1, 0}}, {WORLD_NOW - 1, 2, {1, 0}}, {WORLD_NOW + 1, 1, {0}}, {WORLD_NOW + 2, 0, {0}}};
    for (size_t i = 0; i < ARRAY_LEN(looks); i++) {
        struct rows found = ROWS(struct db_verdict_failed);
        MUST(db_verdict_failed_nodes(w->tx, looks[i].since_at, rows_add, &found));
        assert_int_equal(found.count, looks[i].count);
        for (int k = 0; k < found.count; k++)
            assert_int_equal(ROW(found, struct db_verdict_failed, k)->node_id, w->nodes[looks[i].nodes[k]].id);
    }
}

static void test_critical_ones_first_when_asked(void **state)
{
    struct world *w = *state;
    static const enum severity severities[] = {SEVERITY_CRITICAL, SEVERITY_WARN, SEVERITY_CRITICAL, SEVERITY_OK};
    char keys[16] = "", key[] = "a";
    for (size_t i = 0; i < ARRAY_LEN(severities); i++, key[0]++) {
        struct verdict verdict = a_verdict(w->nodes[0].id, key);
        verdict.severity = severities[i];
        put(w, &verdict);
    }
    const struct db_verdict_filter filter = {
        .node_id = w->nodes[0].id, .state = VERDICT_STATE_OPEN, .limit = 3, .critical_first = true};
    struct rows found = ROWS(struct verdict);
    MUST(db_verdict_list(w->tx, &filter, rows_add, &found));
    for (int i = 0; i < found.count; i++)
        ADD(keys, ROW(found, struct verdict, i)->key);
    assert_string_equal(keys, "cad");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_every_field_comes_back),
        WORLD_TEST(test_a_repeat_only_grows),
        WORLD_TEST(test_what_was_resolved_stays_so_when_it_comes_again),
        WORLD_TEST(test_what_is_seen_after_it_was_resolved_is_new),
        WORLD_TEST(test_what_comes_back_after_it_was_over_is_new),
        WORLD_TEST(test_keys_are_told_quarantine_to_their_last_character),
        WORLD_TEST(test_no_verdict_without_its_node),
        WORLD_TEST(test_resolving_takes_the_open_ones_up_to_a_row),
        WORLD_TEST(test_each_filter_finds_its_verdicts_newest_first),
        WORLD_TEST(test_a_page_is_not_moved_by_what_comes_meanwhile),
        WORLD_TEST(test_a_node_is_undecided_until_a_decision_saw_its_newest_verdict),
        WORLD_TEST(test_a_verdict_that_grew_is_looked_at_after_a_start),
        WORLD_TEST(test_a_verdict_that_grew_is_looked_at_after_a_start),
        WORLD_TEST(test_failed_nodes_are_told_once_each_by_time),
        WORLD_TEST(test_critical_ones_first_when_asked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
