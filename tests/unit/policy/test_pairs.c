/*
 * Pairs: stories told one by one, and fleets of every size with what is wrong in them put in by chance. A node that is bad fails with
 * everybody; a link that is bad fails for its two ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/own.h"
#include "policy/pairs.h"

#include <stdio.h>
#include <string.h>

#define FLEET_MAX 64
#define MATCHES_MAX 2048

struct fleet {
    size_t count;
    struct pairs_member members[FLEET_MAX];
    struct pairs_match matches[MATCHES_MAX];
    size_t match_count;
    bool bad[FLEET_MAX];
    bool bad_link[FLEET_MAX][FLEET_MAX];
    enum pairs_verdict ends[FLEET_MAX]; /* PAIRS_WAIT: not told yet */
    size_t arrived;
    uint64_t random;
};

static size_t by_chance(struct fleet *fleet, size_t below)
{
    fleet->random = fleet->random * 6364136223846793005u + 1442695040888963407u;
    return (size_t)(fleet->random >> 33) % below;
}

static struct pairs snapshot(const struct fleet *fleet)
{
    return (struct pairs){fleet->members, fleet->count, fleet->matches, fleet->match_count};
}

static struct fleet *fleet_of(size_t count)
{
    struct fleet *fleet = own_calloc(1, sizeof(*fleet));
    fleet->count = count;
    fleet->random = count;
    return fleet;
}

static void arrive(struct fleet *fleet)
{
    if (fleet->arrived < fleet->count)
        fleet->members[fleet->arrived++].here = true;
}

static void begin_matches(struct fleet *fleet)
{
    struct pairs_match next[FLEET_MAX];
    const struct pairs pairs = snapshot(fleet);
    size_t count = pairs_next(&pairs, next);
    assert_true(count <= fleet->count / 2);
    for (size_t i = 0; i < count; i++) {
        assert_true(next[i].a != next[i].b && next[i].result == PAIRS_OPEN);
        assert_true(fleet->members[next[i].a].here && fleet->members[next[i].b].here);
        assert_false(fleet->members[next[i].a].left || fleet->members[next[i].b].left);
        for (size_t k = 0; k < fleet->match_count; k++) {
            const struct pairs_match *other = &fleet->matches[k];
            bool same =
                (other->a == next[i].a && other->b == next[i].b) || (other->a == next[i].b && other->b == next[i].a);
            assert_false(same);              /* never twice */
            if (other->result == PAIRS_OPEN) /* and nobody twice at once */
                assert_false(other->a == next[i].a || other->b == next[i].a || other->a == next[i].b ||
                             other->b == next[i].b);
        }
        assert_true(fleet->match_count < MATCHES_MAX);
        fleet->matches[fleet->match_count++] = next[i];
    }
}

static void end_one(struct fleet *fleet)
{
    size_t open = 0;
    for (size_t i = 0; i < fleet->match_count; i++)
        open += fleet->matches[i].result == PAIRS_OPEN;
    if (open == 0)
        return;
    size_t which = by_chance(fleet, open);
    for (size_t i = 0; i < fleet->match_count; i++) {
        struct pairs_match *match = &fleet->matches[i];
        if (match->result != PAIRS_OPEN || which-- > 0)
            continue;
        bool fails = fleet->bad[match->a] || fleet->bad[match->b] || fleet->bad_link[match->a][match->b];
        match->result = fails ? PAIRS_FAILED : PAIRS_PASSED;
        return;
    }
}

static void ask(struct fleet *fleet, size_t member)
{
    const struct pairs pairs = snapshot(fleet);
    if (!fleet->members[member].here || fleet->members[member].left)
        return;
    enum pairs_verdict verdict = pairs_judge(&pairs, member, fleet->arrived < fleet->count);
    if (verdict <= PAIRS_STAY)
        return;
    fleet->members[member].left = true;
    fleet->ends[member] = verdict;
}

static size_t still_there(const struct fleet *fleet)
{
    size_t count = 0;
    for (size_t i = 0; i < fleet->count; i++)
        count += !fleet->members[i].left;
    return count;
}

/* Until all have been told their end. */
static void play(struct fleet *fleet)
{
    for (int turn = 0; still_there(fleet) > 0; turn++) {
        if (turn > 200000)
            fail_msg("a fleet of %zu does not come to an end", fleet->count);
        switch (by_chance(fleet, 4)) {
        case 0:
            arrive(fleet);
            break;
        case 1:
            begin_matches(fleet);
            break;
        case 2:
            end_one(fleet);
            break;
        default:
            ask(fleet, by_chance(fleet, fleet->count));
        }
    }
}

static void assert_end(const struct fleet *fleet, size_t member, enum pairs_verdict wanted)
{
    if (fleet->ends[member] != wanted)
        fail_msg("of %zu nodes, node %zu ends with %d and not %d", fleet->count, member, fleet->ends[member], wanted);
}

/* --- tests --------------------------------------------------------------------------------------------------- */

static void test_one_alone_was_not_tested(void **state)
{
    autofree struct fleet *fleet = fleet_of(1);
    (void)state;
    play(fleet);
    assert_end(fleet, 0, PAIRS_ALONE);
}

static void test_two_that_fail_blame_nobody(void **state)
{
    autofree struct fleet *fleet = fleet_of(2);
    (void)state;
    fleet->bad[1] = true;
    play(fleet);
    assert_end(fleet, 0, PAIRS_INCONCLUSIVE);
    assert_end(fleet, 1, PAIRS_INCONCLUSIVE);
    assert_int_equal(fleet->match_count, 1);
}

static void test_good_fleets_pass(void **state)
{
    (void)state;
    for (size_t count = 2; count <= FLEET_MAX; count++) {
        autofree struct fleet *fleet = fleet_of(count);
        play(fleet);
        for (size_t i = 0; i < count; i++)
            assert_end(fleet, i, PAIRS_GOOD);
        assert_true(fleet->match_count <= count); /* no node is tested for nothing, but for partners of the odd ones */
    }
}

/* Whichever it is, in whatever order things happen. */
static void test_one_bad_node_is_found(void **state)
{
    (void)state;
    for (size_t count = 3; count <= FLEET_MAX; count++)
        for (size_t bad = 0; bad < count; bad++) {
            autofree struct fleet *fleet = fleet_of(count);
            fleet->random += bad * 7919;
            fleet->bad[bad] = true;
            play(fleet);
            for (size_t i = 0; i < count; i++)
                assert_end(fleet, i, i == bad ? PAIRS_BLAMED : PAIRS_GOOD);
        }
}

static void test_some_bad_nodes_are_found_while_two_are_good(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 600; seed++) {
        autofree struct fleet *fleet = fleet_of(3 + seed % 22);
        fleet->random = seed * 104729;
        size_t good = fleet->count, bad = by_chance(fleet, fleet->count);
        for (size_t i = 0; i < bad; i++) {
            size_t which = by_chance(fleet, fleet->count);
            good -= !fleet->bad[which];
            fleet->bad[which] = true;
        }
        play(fleet);
        for (size_t i = 0; i < fleet->count; i++) {
            if (good >= 2)
                assert_end(fleet, i, fleet->bad[i] ? PAIRS_BLAMED : PAIRS_GOOD);
            else
                assert_end(fleet, i, PAIRS_INCONCLUSIVE); /* nobody proves anything */
        }
    }
}

/* The two of a bad link prove good with others, so it costs no node. */
static void test_a_bad_link_blames_no_node(void **state)
{
    (void)state;
    for (size_t count = 3; count <= FLEET_MAX; count++)
        for (size_t a = 0; a < count; a++) {
            autofree struct fleet *fleet = fleet_of(count);
            size_t b = (a + 1) % count;
            fleet->random += a * 7919;
            fleet->bad_link[a][b] = fleet->bad_link[b][a] = true;
            play(fleet);
            for (size_t i = 0; i < count; i++)
                assert_end(fleet, i, PAIRS_GOOD);
        }
}

static void test_a_node_that_vanishes_holds_nobody_up(void **state)
{
    autofree struct fleet *fleet = fleet_of(3);
    (void)state;
    for (int i = 0; i < 3; i++)
        arrive(fleet);
    begin_matches(fleet); /* 0 and 1 */
    assert_int_equal(fleet->match_count, 1);
    fleet->matches[0].result = PAIRS_FAILED;
    fleet->members[1].here = false;
    fleet->members[1].left = true; /* there is no end to tell it */
    play(fleet);
    assert_end(fleet, 0, PAIRS_GOOD);
    assert_end(fleet, 2, PAIRS_GOOD);
}

static void test_what_came_to_nothing_is_tried_once_more(void **state)
{
    autofree struct fleet *fleet = fleet_of(2);
    struct pairs_match next[1];
    (void)state;
    arrive(fleet);
    arrive(fleet);
    for (int i = 0; i < 2; i++) {
        const struct pairs pairs = snapshot(fleet);
        assert_int_equal(pairs_next(&pairs, next), 1);
        fleet->matches[fleet->match_count] = next[0];
        fleet->matches[fleet->match_count++].result = PAIRS_VOID;
    }
    const struct pairs pairs = snapshot(fleet);
    assert_int_equal(pairs_next(&pairs, next), 0);
    assert_int_equal(pairs_judge(&pairs, 0, true), PAIRS_WAIT);
    assert_int_equal(pairs_judge(&pairs, 0, false), PAIRS_ALONE);
}

/* Of a fleet in which nothing can be started nobody tries all the others. */
static void test_nothing_that_can_be_started_is_not_tried_for_ever(void **state)
{
    autofree struct fleet *fleet = fleet_of(9);
    (void)state;
    for (int i = 0; i < 9; i++)
        arrive(fleet);
    for (size_t other = 1; other < 5; other++) {
        const struct pairs before = snapshot(fleet);
        assert_int_equal(pairs_judge(&before, 0, false), PAIRS_WAIT);
        fleet->matches[fleet->match_count++] = (struct pairs_match){0, other, PAIRS_VOID};
    }
    const struct pairs pairs = snapshot(fleet);
    assert_int_equal(pairs_judge(&pairs, 0, true), PAIRS_ALONE);
    assert_int_equal(pairs_judge(&pairs, 1, true), PAIRS_WAIT); /* it may be the other's doing */
}

/* Those who passed go, but for two that others may need. */
static void test_two_stay_for_those_who_come_late(void **state)
{
    autofree struct fleet *fleet = fleet_of(9);
    (void)state;
    for (int i = 0; i < 8; i++)
        arrive(fleet);
    begin_matches(fleet);
    assert_int_equal(fleet->match_count, 4);
    for (int i = 0; i < 4; i++)
        fleet->matches[i].result = PAIRS_PASSED;
    const struct pairs pairs = snapshot(fleet);
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(pairs_judge(&pairs, i, true), i < 2 ? PAIRS_STAY : PAIRS_GOOD);
        assert_int_equal(pairs_judge(&pairs, i, false), PAIRS_GOOD);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_alone_was_not_tested),
        cmocka_unit_test(test_two_that_fail_blame_nobody),
        cmocka_unit_test(test_good_fleets_pass),
        cmocka_unit_test(test_one_bad_node_is_found),
        cmocka_unit_test(test_some_bad_nodes_are_found_while_two_are_good),
        cmocka_unit_test(test_a_bad_link_blames_no_node),
        cmocka_unit_test(test_a_node_that_vanishes_holds_nobody_up),
        cmocka_unit_test(test_what_came_to_nothing_is_tried_once_more),
        cmocka_unit_test(test_nothing_that_can_be_started_is_not_tried_for_ever),
        cmocka_unit_test(test_two_stay_for_those_who_come_late),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
