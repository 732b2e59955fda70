/* Instances: round trip, the ids and keys that are unique once they are known, newest first. */
#include "db_world.h"

static struct instance full_instance(int64_t node_id)
{
    struct instance instance = {.node_id = node_id,
                                .state = INSTANCE_STATE_REBOOTING,
                                .boot_at = WORLD_NOW + 1,
                                .launched_at = WORLD_NOW + 2,
                                .terminated_at = WORLD_NOW + 3};
    SET(instance.instance_id, "i-0123456789abcdef0");
    SET(instance.boot_id, "0bb2b5a7-0ef0-4e42-b0bb-4b2d6a0e8e01");
    SET(instance.launch_key, "op-1/launch");
    SET(instance.provider_ref, "projects/p/zones/z/instances/4711");
    return instance;
}

static void assert_same_instance(const struct instance *a, const struct instance *b)
{
    assert_int_equal(a->id, b->id);
    assert_int_equal(a->node_id, b->node_id);
    assert_string_equal(a->instance_id, b->instance_id);
    assert_int_equal(a->state, b->state);
    assert_string_equal(a->boot_id, b->boot_id);
    assert_int_equal(a->boot_at, b->boot_at);
    assert_int_equal(a->launched_at, b->launched_at);
    assert_int_equal(a->terminated_at, b->terminated_at);
    assert_string_equal(a->launch_key, b->launch_key);
    assert_string_equal(a->provider_ref, b->provider_ref);
}

static void test_every_field_comes_back(void **state)
{
    struct world *w = *state;
    struct instance in = full_instance(w->nodes[0].id), out[3];
    MUST(db_instance_insert(w->tx, &in));
    MUST(db_instance_get(w->tx, in.instance_id, &out[0]));
    MUST(db_instance_get_row(w->tx, in.id, &out[1]));
    MUST(db_instance_by_key(w->tx, in.launch_key, &out[2]));
    for (size_t i = 0; i < ARRAY_LEN(out); i++)
        assert_same_instance(&in, &out[i]);
}

static void test_ids_and_keys_are_used_once(void **state)
{
    struct world *w = *state;
    struct instance first = full_instance(w->nodes[0].id), same_key = first, same_id = first, orphan = first, out;
    MUST(db_instance_insert(w->tx, &first));
    SET(same_key.instance_id, "i-other");
    assert_int_equal(db_instance_insert(w->tx, &same_key), STATUS_EXISTS);
    SET(same_id.launch_key, "other");
    assert_int_equal(db_instance_insert(w->tx, &same_id), STATUS_EXISTS);
    SET(orphan.instance_id, "i-orphan");
    SET(orphan.launch_key, "orphan");
    orphan.node_id = 999;
    assert_int_equal(db_instance_insert(w->tx, &orphan), STATUS_NOT_FOUND);
    assert_int_equal(db_instance_get(w->tx, "i-none", &out), STATUS_NOT_FOUND);
    assert_int_equal(db_instance_by_key(w->tx, "none", &out), STATUS_NOT_FOUND);
    assert_int_equal(db_instance_get_row(w->tx, 999, &out), STATUS_NOT_FOUND);
}

/* A launch that was asked for and not answered has no id yet, and there may be many of them. */
static void test_what_is_not_known_yet_is_not_unique(void **state)
{
    struct world *w = *state;
    struct instance a = {.node_id = w->nodes[0].id}, b = {.node_id = w->nodes[1].id}, out;
    MUST(db_instance_insert(w->tx, &a));
    MUST(db_instance_insert(w->tx, &b));
    assert_int_equal(db_instance_get(w->tx, "", &out), STATUS_NOT_FOUND);
    assert_int_equal(db_instance_by_key(w->tx, "", &out), STATUS_NOT_FOUND);
}

static void test_an_update_writes_what_may_change(void **state)
{
    struct world *w = *state;
    struct instance in = {.node_id = w->nodes[0].id}, out;
    SET(in.launch_key, "op-1/launch");
    MUST(db_instance_insert(w->tx, &in));
    struct instance changed = full_instance(in.node_id);
    changed.id = in.id;
    MUST(db_instance_update(w->tx, &changed));
    MUST(db_instance_get_row(w->tx, in.id, &out));
    assert_same_instance(&changed, &out);
    changed.id = 999;
    assert_int_equal(db_instance_update(w->tx, &changed), STATUS_NOT_FOUND);
}

/* Whoever writes what a provider says may hold a row of before the agent spoke. */
static void test_the_address_is_written_by_itself(void **state)
{
    struct world *w = *state;
    struct instance in = full_instance(w->nodes[0].id), out;
    MUST(db_instance_insert(w->tx, &in));
    MUST(db_instance_get_row(w->tx, in.id, &out));
    assert_string_equal(out.address, "");
    MUST(db_instance_set_address(w->tx, in.id, "2001:db8::7"));
    MUST(db_instance_update(w->tx, &in));
    MUST(db_instance_get(w->tx, in.instance_id, &out));
    assert_string_equal(out.address, "2001:db8::7");
    assert_int_equal(db_instance_set_address(w->tx, 999, "10.0.0.1"), STATUS_NOT_FOUND);
}

static void test_newest_first(void **state)
{
    struct world *w = *state;
    for (int i = 0; i < 4; i++) {
        struct instance instance = {.node_id = w->nodes[i == 3].id};
        snprintf(instance.instance_id, sizeof(instance.instance_id), "i-%d", i);
        MUST(db_instance_insert(w->tx, &instance));
    }
    struct rows rows = ROWS(struct instance);
    MUST(db_instance_list(w->tx, w->nodes[0].id, 2, rows_add, &rows));
    assert_int_equal(rows.count, 2);
    assert_string_equal(ROW(rows, struct instance, 0)->instance_id, "i-2");
    assert_string_equal(ROW(rows, struct instance, 1)->instance_id, "i-1");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_every_field_comes_back),
        WORLD_TEST(test_ids_and_keys_are_used_once),
        WORLD_TEST(test_what_is_not_known_yet_is_not_unique),
        WORLD_TEST(test_an_update_writes_what_may_change),
        WORLD_TEST(test_the_address_is_written_by_itself),
        WORLD_TEST(test_newest_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
