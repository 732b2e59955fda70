/* Nodes that are set apart: asked for, noted, given back, and wanted again meanwhile. */
#include "db_world.h"

#include "db/apart.h"

static struct apart get(struct world *w, int64_t node_id)
{
    struct apart apart;
    MUST(db_apart_get(w->tx, node_id, &apart));
    return apart;
}

static void test_a_wish_from_its_beginning_to_its_end(void **state)
{
    struct world *w = *state;
    struct rows rows = ROWS(struct apart);
    MUST(db_apart_ask(w->tx, 7, "gpu-7"));
    struct apart apart = get(w, 7);
    assert_string_equal(apart.name, "gpu-7");
    assert_true(apart.wanted);
    assert_int_equal(apart.state, APART_STATE_ASKED);
    apart.state = APART_STATE_REFUSED;
    apart.had = APART_HAD_MEMBER | APART_HAD_PARTITION;
    SET(apart.why, "because");
    apart.wanted = false; /* what a call was asked with says nothing of what is wanted now */
    MUST(db_apart_update(w->tx, &apart));
    MUST(db_apart_ask(w->tx, 7, "gpu-7"));
    apart = get(w, 7);
    assert_true(apart.wanted);
    assert_int_equal(apart.state, APART_STATE_REFUSED);
    assert_int_equal(apart.had, APART_HAD_MEMBER | APART_HAD_PARTITION);
    assert_string_equal(apart.why, "because");
    MUST(db_apart_leave(w->tx, 7));
    MUST(db_apart_leave(w->tx, 8));
    assert_false(get(w, 7).wanted);
    MUST(db_apart_list(w->tx, rows_add, &rows));
    assert_int_equal(rows.count, 1);
    MUST(db_apart_gone(w->tx, 7));
    assert_int_equal(db_apart_get(w->tx, 7, &apart), STATUS_NOT_FOUND);
}

static void test_wanted_again_begins_anew(void **state)
{
    struct world *w = *state;
    MUST(db_apart_ask(w->tx, 7, "gpu-7"));
    struct apart apart = get(w, 7);
    apart.state = APART_STATE_HELD;
    apart.had = APART_HAD_FEATURE;
    MUST(db_apart_update(w->tx, &apart));
    MUST(db_apart_gone(w->tx, 7)); /* while it was given back somebody wanted it */
    apart = get(w, 7);
    assert_true(apart.wanted);
    assert_int_equal(apart.state, APART_STATE_ASKED);
    assert_int_equal(apart.had, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_a_wish_from_its_beginning_to_its_end),
        WORLD_TEST(test_wanted_again_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
