/* Where the scheduler was told that machines live: the present one's, and those of the machines before. */
#include "db_world.h"

#include "db/address.h"

struct found {
    int count;
    char text[256];
};

static int add(const void *row, void *arg)
{
    struct found *found = arg;
    found->count++;
    ADD(found->text, ((const struct address_row *)row)->address);
    ADD(found->text, " ");
    return 0;
}

static void assert_told(struct world *w, const char *expected)
{
    struct found found = {0};
    MUST(db_address_list_reported(w->tx, add, &found));
    assert_string_equal(found.text, expected);
}

static void assert_past(struct world *w, const char *expected)
{
    struct found found = {0};
    MUST(db_address_list_former(w->tx, w->nodes[0].id, add, &found));
    assert_string_equal(found.text, expected);
}

static void test_one_is_told_and_all_others_are_past(void **state)
{
    struct world *w = *state;
    const int64_t node = w->nodes[0].id;
    MUST(db_address_tell(w->tx, node, "10.0.0.1", "gpu-1"));
    assert_told(w, "10.0.0.1 ");
    assert_past(w, "gpu-1 ");
    MUST(db_address_tell(w->tx, node, "10.0.0.2", "10.0.0.1"));
    MUST(db_address_tell(w->tx, node, "10.0.0.2", "10.0.0.2")); /* again: it is no address of before */
    assert_told(w, "10.0.0.2 ");
    assert_past(w, "10.0.0.1 gpu-1 ");
    MUST(db_address_tell(w->tx, node, "10.0.0.1", "")); /* a machine stands where one stood before */
    assert_told(w, "10.0.0.1 ");
    assert_past(w, "10.0.0.2 gpu-1 ");
    MUST(db_address_leave(w->tx, node));
    assert_told(w, "");
    assert_past(w, "10.0.0.1 10.0.0.2 gpu-1 ");
    MUST(db_node_delete(w->tx, node));
    assert_past(w, "");
}

static void test_what_is_asked_is_not_yet_told(void **state)
{
    struct world *w = *state;
    const int64_t node = w->nodes[0].id;
    MUST(db_address_ask(w->tx, node, "10.0.0.2"));
    assert_int_equal(db_address_ask(w->tx, node, "10.0.0.2"), STATUS_EXISTS);
    assert_told(w, "");
    MUST(db_address_tell(w->tx, node, "10.0.0.2", "10.0.0.1"));
    MUST(db_address_drop(w->tx, node, "10.0.0.2")); /* what was told is not dropped */
    assert_told(w, "10.0.0.2 ");
    MUST(db_address_drop(w->tx, node, "10.0.0.1"));
    assert_past(w, "");
}

static void test_what_agents_told_of_earlier_machines(void **state)
{
    struct world *w = *state;
    struct instance one = {.node_id = w->nodes[0].id, .state = INSTANCE_STATE_RUNNING}, two = one;
    SET(one.instance_id, "i-1");
    SET(two.instance_id, "i-2");
    MUST(db_instance_insert(w->tx, &one));
    MUST(db_instance_insert(w->tx, &two));
    MUST(db_instance_set_address(w->tx, one.id, "10.0.0.1"));
    MUST(db_instance_set_address(w->tx, two.id, "10.0.0.2"));
    w->nodes[0].instance_row = two.id;
    MUST(db_node_update(w->tx, &w->nodes[0]));
    assert_past(w, "10.0.0.1 ");
    w->nodes[0].instance_row = 0;
    MUST(db_node_update(w->tx, &w->nodes[0]));
    assert_past(w, "10.0.0.1 10.0.0.2 ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_one_is_told_and_all_others_are_past),
        WORLD_TEST(test_what_is_asked_is_not_yet_told),
        WORLD_TEST(test_what_agents_told_of_earlier_machines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
