/* Credentials: one for each node, replaced rather than added. */
#include "db_world.h"

static struct credential a_credential(int64_t node_id, const char *instance_id, uint8_t fill)
{
    struct credential credential = {.node_id = node_id, .created_at = WORLD_NOW + fill};
    SET(credential.instance_id, instance_id);
    memset(credential.hash, fill, sizeof(credential.hash));
    return credential;
}

static void test_a_new_one_replaces_the_old(void **state)
{
    struct world *w = *state;
    struct credential first = a_credential(w->nodes[1].id, "i-1", 1), second = a_credential(w->nodes[1].id, "i-2", 2),
                      other = a_credential(w->nodes[0].id, "i-3", 0);
    MUST(db_credential_set(w->tx, &first));
    MUST(db_credential_set(w->tx, &second));
    MUST(db_credential_set(w->tx, &other));
    struct rows rows = ROWS(struct credential);
    MUST(db_credential_list(w->tx, rows_add, &rows));
    assert_int_equal(rows.count, 2);
    const struct credential *zeros = ROW(rows, struct credential, 0), *kept = ROW(rows, struct credential, 1);
    assert_int_equal(zeros->node_id, w->nodes[0].id);
    assert_memory_equal(zeros->hash, other.hash, sizeof(other.hash));
    assert_int_equal(kept->node_id, w->nodes[1].id);
    assert_string_equal(kept->instance_id, "i-2");
    assert_memory_equal(kept->hash, second.hash, sizeof(second.hash));
    assert_int_equal(kept->created_at, WORLD_NOW + 2);
}

static void test_dropping_is_for_good_and_may_be_repeated(void **state)
{
    struct world *w = *state;
    struct credential credential = a_credential(w->nodes[0].id, "i-1", 1);
    MUST(db_credential_set(w->tx, &credential));
    MUST(db_credential_drop(w->tx, w->nodes[0].id));
    MUST(db_credential_drop(w->tx, w->nodes[0].id));
    struct rows rows = ROWS(struct credential);
    MUST(db_credential_list(w->tx, rows_add, &rows));
    assert_int_equal(rows.count, 0);
}

static void test_no_credential_without_its_node(void **state)
{
    struct world *w = *state;
    struct credential orphan = a_credential(999, "i-1", 1), own = a_credential(w->nodes[0].id, "i-1", 1);
    assert_int_equal(db_credential_set(w->tx, &orphan), STATUS_NOT_FOUND);
    MUST(db_credential_set(w->tx, &own));
    MUST(db_node_delete(w->tx, w->nodes[0].id));
    struct rows rows = ROWS(struct credential);
    MUST(db_credential_list(w->tx, rows_add, &rows));
    assert_int_equal(rows.count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_a_new_one_replaces_the_old),
        WORLD_TEST(test_dropping_is_for_good_and_may_be_repeated),
        WORLD_TEST(test_no_credential_without_its_node),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
