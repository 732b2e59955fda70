/* Instance groups: round trip, names within a cluster, the breaker. */
#include "db_world.h"

static void test_every_field_comes_back(void **state)
{
    struct world *w = *state;
    struct instance_group in = {
        .cluster_id = w->cluster.id, .desired = 6758, .breaker_opened_at = WORLD_NOW + 1, .created_at = WORLD_NOW + 2};
    SET(in.name, "h100");
    SET(in.instance_type, "ml.p5.48xlarge");
    SET(in.provider, "inventory");
    MUST(db_group_insert(w->tx, &in));
    for (int by_row = 0; by_row < 2; by_row++) {
        struct instance_group out;
        memset(&out, 0xee, sizeof(out));
        MUST(by_row ? db_group_get_row(w->tx, in.id, &out) : db_group_get(w->tx, w->cluster.id, "h100", &out));
        assert_int_equal(out.id, in.id);
        assert_int_equal(out.cluster_id, w->cluster.id);
        assert_string_equal(out.name, "h100");
        assert_string_equal(out.instance_type, "ml.p5.48xlarge");
        assert_string_equal(out.provider, "inventory");
        assert_int_equal(out.desired, 6758);
        assert_int_equal(out.breaker_opened_at, WORLD_NOW + 1);
        assert_int_equal(out.created_at, WORLD_NOW + 2);
    }
}

static void test_what_is_refused(void **state)
{
    struct world *w = *state;
    struct instance_group twin = a_group(w->cluster.id, "workers"), orphan = a_group(999, "workers"),
                          negative = a_group(w->cluster.id, "negative"), out;
    negative.desired = -1;
    assert_int_equal(db_group_insert(w->tx, &twin), STATUS_EXISTS);
    assert_int_equal(db_group_insert(w->tx, &orphan), STATUS_NOT_FOUND);
    assert_int_equal(db_group_insert(w->tx, &negative), STATUS_INVALID);
    assert_int_equal(db_group_get(w->tx, w->cluster.id, "none", &out), STATUS_NOT_FOUND);
    assert_int_equal(db_group_get_row(w->tx, 999, &out), STATUS_NOT_FOUND);
    assert_int_equal(db_group_set_breaker(w->tx, 999, 1), STATUS_NOT_FOUND);
}

static void test_the_breaker_opens_and_closes(void **state)
{
    struct world *w = *state;
    static const int64_t times[] = {WORLD_NOW, 0};
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        struct instance_group out;
        MUST(db_group_set_breaker(w->tx, w->group.id, times[i]));
        MUST(db_group_get_row(w->tx, w->group.id, &out));
        assert_int_equal(out.breaker_opened_at, times[i]);
    }
}

static void test_a_person_closes_the_breaker(void **state)
{
    struct world *w = *state;
    struct instance_group out;
    MUST(db_group_set_breaker(w->tx, w->group.id, WORLD_NOW));
    MUST(db_group_close_breaker(w->tx, w->group.id, WORLD_NOW + 5));
    MUST(db_group_get_row(w->tx, w->group.id, &out));
    assert_int_equal(out.breaker_opened_at, 0);
    assert_int_equal(out.breaker_closed_at, WORLD_NOW + 5);
    MUST(db_group_set_breaker(w->tx, w->group.id, WORLD_NOW + 9)); /* and when it closed last stays known */
    MUST(db_group_get_row(w->tx, w->group.id, &out));
    assert_int_equal(out.breaker_closed_at, WORLD_NOW + 5);
    assert_int_equal(db_group_close_breaker(w->tx, 999, 1), STATUS_NOT_FOUND);
}

static void test_lists_of_one_cluster_and_of_all(void **state)
{
    struct world *w = *state;
    struct cluster other = a_cluster("zzzzzzzzzzzz", "other");
    MUST(db_cluster_insert(w->tx, &other));
    struct instance_group a = a_group(other.id, "workers"), b = a_group(w->cluster.id, "head");
    MUST(db_group_insert(w->tx, &a));
    MUST(db_group_insert(w->tx, &b));
    struct rows rows = ROWS(struct instance_group);
    MUST(db_group_list(w->tx, w->cluster.id, rows_add, &rows));
    assert_int_equal(rows.count, 2);
    assert_string_equal(ROW(rows, struct instance_group, 0)->name, "head");
    assert_string_equal(ROW(rows, struct instance_group, 1)->name, "workers");
    rows = ROWS(struct instance_group);
    MUST(db_group_list(w->tx, 0, rows_add, &rows));
    assert_int_equal(rows.count, 3);
    assert_int_equal(ROW(rows, struct instance_group, 0)->id, w->group.id);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_every_field_comes_back),          WORLD_TEST(test_what_is_refused),
        WORLD_TEST(test_the_breaker_opens_and_closes),    WORLD_TEST(test_a_person_closes_the_breaker),
        WORLD_TEST(test_lists_of_one_cluster_and_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
