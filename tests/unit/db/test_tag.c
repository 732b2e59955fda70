/* Tags: set, set anew, listed by key, and gone with what carried them. */
#include "db_world.h"

#include "db/governance.h"
#include "db/tag.h"

static void put(struct world *w, enum tag_owner owner, int64_t id, const char *key, const char *value)
{
    MUST(db_tag_put(w->tx, owner, id, key, value));
}

static int64_t count(struct world *w, enum tag_owner owner, int64_t id)
{
    int64_t number = -1;
    MUST(db_tag_count(w->tx, owner, id, &number));
    return number;
}

static int64_t a_governance(struct world *w)
{
    struct governance governance = {.kind = GOVERNANCE_KIND_COMPUTE_QUOTA, .cluster_id = w->cluster.id};
    SET(governance.uid, "quotaquota12");
    SET(governance.name, "quota");
    MUST(db_governance_insert(w->tx, &governance));
    return governance.id;
}

static void test_set_again_and_listed(void **state)
{
    struct world *w = *state;
    const int64_t ids[] = {w->cluster.id, a_governance(w)};
    for (int owner = 0; owner < TAG_OWNER_COUNT; owner++) {
        struct rows rows = ROWS(struct tag);
        put(w, (enum tag_owner)owner, ids[owner], "team", "vision");
        put(w, (enum tag_owner)owner, ids[owner], "Cost:Center", "");
        put(w, (enum tag_owner)owner, ids[owner], "größe", "große Wörter");
        put(w, (enum tag_owner)owner, ids[owner], "team", "speech");
        MUST(db_tag_list(w->tx, (enum tag_owner)owner, ids[owner], rows_add, &rows));
        assert_int_equal(rows.count, 3);
        assert_string_equal(ROW(rows, struct tag, 0)->key, "Cost:Center");
        assert_string_equal(ROW(rows, struct tag, 0)->value, "");
        assert_string_equal(ROW(rows, struct tag, 1)->key, "größe");
        assert_string_equal(ROW(rows, struct tag, 1)->value, "große Wörter");
        assert_string_equal(ROW(rows, struct tag, 2)->value, "speech");
        assert_int_equal(count(w, (enum tag_owner)owner, ids[owner]), 3);
        MUST(db_tag_delete(w->tx, (enum tag_owner)owner, ids[owner], "team"));
        assert_int_equal(db_tag_delete(w->tx, (enum tag_owner)owner, ids[owner], "team"), STATUS_NOT_FOUND);
        assert_int_equal(db_tag_put(w->tx, (enum tag_owner)owner, 999, "team", "x"), STATUS_NOT_FOUND);
        assert_int_equal(count(w, (enum tag_owner)owner, ids[owner]), 2);
    }
}

/* The longest that the model lets through: 128 and 256 characters of four bytes. */
static void test_the_longest_fit(void **state)
{
    struct world *w = *state;
    struct tag tag = {{0}, {0}};
    struct rows rows = ROWS(struct tag);
    for (int i = 0; i < 128; i++)
        ADD(tag.key, "𐌰");
    for (int i = 0; i < 256; i++)
        ADD(tag.value, "𐌰");
    put(w, TAG_OWNER_CLUSTER, w->cluster.id, tag.key, tag.value);
    MUST(db_tag_list(w->tx, TAG_OWNER_CLUSTER, w->cluster.id, rows_add, &rows));
    assert_memory_equal(ROW(rows, struct tag, 0), &tag, sizeof(tag));
}

static void test_they_go_with_their_owner(void **state)
{
    struct world *w = *state;
    int64_t id = a_governance(w);
    put(w, TAG_OWNER_GOVERNANCE, id, "a", "b");
    put(w, TAG_OWNER_CLUSTER, w->cluster.id, "a", "b");
    MUST(db_governance_delete(w->tx, id));
    assert_int_equal(count(w, TAG_OWNER_GOVERNANCE, id), 0);
    assert_int_equal(count(w, TAG_OWNER_CLUSTER, w->cluster.id), 1);
    id = a_governance(w);
    put(w, TAG_OWNER_GOVERNANCE, id, "a", "b");
    MUST(db_cluster_delete(w->tx, w->cluster.id));
    assert_int_equal(count(w, TAG_OWNER_CLUSTER, w->cluster.id), 0);
    assert_int_equal(count(w, TAG_OWNER_GOVERNANCE, id), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_set_again_and_listed),
        WORLD_TEST(test_the_longest_fit),
        WORLD_TEST(test_they_go_with_their_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
