/* Nodes that are quarantined: asked for, noted, given back, and wanted again meanwhile. */
#include "db_world.h"

#include "db/quarantine.h"

static struct quarantine get(struct world *w, int64_t node_id)
{
    struct quarantine quarantine;
    MUST(db_quarantine_get(w->tx, node_id, &quarantine));
    return quarantine;
}

static void test_a_request_from_its_beginning_to_its_end(void **state)
{
    struct world *w = *state;
    struct rows rows = ROWS(struct quarantine);
    MUST(db_quarantine_ask(w->tx, "slurm", 7, "gpu-7"));
    struct quarantine quarantine = get(w, 7);
    assert_string_equal(quarantine.name, "gpu-7");
    assert_true(quarantine.wanted);
    assert_int_equal(quarantine.state, QUARANTINE_STATE_ASKED);
    quarantine.state = QUARANTINE_STATE_REFUSED;
    quarantine.had = QUARANTINE_HAD_MEMBER | QUARANTINE_HAD_PARTITION;
    SET(quarantine.why, "because");
    quarantine.wanted = false; /* what a call was asked with says nothing of what is wanted now */
    MUST(db_quarantine_update(w->tx, &quarantine));
    MUST(db_quarantine_ask(w->tx, "slurm", 7, "gpu-7"));
    quarantine = get(w, 7);
    assert_true(quarantine.wanted);
    assert_int_equal(quarantine.state, QUARANTINE_STATE_REFUSED);
    assert_int_equal(quarantine.had, QUARANTINE_HAD_MEMBER | QUARANTINE_HAD_PARTITION);
    assert_string_equal(quarantine.why, "because");
    MUST(db_quarantine_leave(w->tx, 7));
    MUST(db_quarantine_leave(w->tx, 8));
    assert_false(get(w, 7).wanted);
    MUST(db_quarantine_list(w->tx, "slurm", rows_add, &rows));
    assert_int_equal(rows.count, 1);
    MUST(db_quarantine_gone(w->tx, 7));
    assert_int_equal(db_quarantine_get(w->tx, 7, &quarantine), STATUS_NOT_FOUND);
}

static void test_wanted_again_begins_anew(void **state)
{
    struct world *w = *state;
    MUST(db_quarantine_ask(w->tx, "slurm", 7, "gpu-7"));
    struct quarantine quarantine = get(w, 7);
    quarantine.state = QUARANTINE_STATE_HELD;
    quarantine.had = QUARANTINE_HAD_FEATURE;
    MUST(db_quarantine_update(w->tx, &quarantine));
    MUST(db_quarantine_gone(w->tx, 7)); /* while it was given back somebody wanted it */
    quarantine = get(w, 7);
    assert_true(quarantine.wanted);
    assert_int_equal(quarantine.state, QUARANTINE_STATE_ASKED);
    assert_int_equal(quarantine.had, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_a_request_from_its_beginning_to_its_end),
        WORLD_TEST(test_wanted_again_begins_anew),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
