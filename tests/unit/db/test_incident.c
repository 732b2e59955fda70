/* Incidents of many nodes: what has ended stays as it is. */
#include "db/incident.h"

#include "db_world.h"

/* A person ends it while the loop still believes that it goes on. */
static void test_an_end_is_not_taken_back(void **state)
{
    struct world *w = *state;
    struct shared_incident told, loop = {.cluster_id = w->cluster.id,
                                         .level = TOPOLOGY_LEVEL_RACK,
                                         .cause = INCIDENT_CAUSE_POWER,
                                         .started_at = WORLD_NOW};
    SET(loop.domain, "r1");
    MUST(db_incident_insert(w->tx, &loop));
    loop.settled_since = WORLD_NOW + 1;
    MUST(db_incident_update(w->tx, &loop));
    struct shared_incident person = loop;
    person.ended_at = WORLD_NOW + 2;
    SET(person.ended_by, "alice says so");
    person.part_of = 12;
    MUST(db_incident_update(w->tx, &person));
    loop.settled_since = 0;
    assert_int_equal(db_incident_update(w->tx, &loop), STATUS_NOT_FOUND);
    MUST(db_incident_get(w->tx, loop.id, &told));
    assert_int_equal(told.ended_at, WORLD_NOW + 2);
    assert_int_equal(told.settled_since, WORLD_NOW + 1);
    assert_string_equal(told.ended_by, "alice says so");
    assert_int_equal(told.part_of, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_an_end_is_not_taken_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
