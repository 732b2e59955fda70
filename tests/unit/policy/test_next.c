/* What follows from a node's state alone. */
#include "base/clock.h"
#include "policy/next.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW INT64_C(1795186800000)
#define LINGER (15 * MS_PER_S)

static const struct provision_settings provision = {.launch_pause_min_ms = MS_PER_MIN,
                                                    .launch_pause_max_ms = 30 * MS_PER_MIN};

/* A node of a cluster in service that was in service itself, and that nothing is against. */
static struct policy_standing standing(enum node_state state)
{
    return (struct policy_standing){.now_ms = NOW,
                                    .state = state,
                                    .state_since = NOW - MS_PER_S,
                                    .cluster = CLUSTER_STATE_IN_SERVICE,
                                    .group = GROUP_STATE_IN_SERVICE,
                                    .was_ready = true,
                                    .clear = true,
                                    .seen = true,
                                    .heard = true,
                                    .linger_ms = LINGER,
                                    .deletion_pause_ms = MS_PER_MIN,
                                    .provision = &provision};
}

static int64_t look_at;

#define assert_next(s, next) assert_int_equal(policy_next(s, &look_at), next)

static void what_is_at_work_goes_first(void **state)
{
    (void)state;
    for (int i = 0; i < NODE_STATE_COUNT; i++) {
        struct policy_standing s = standing((enum node_state)i);
        s.claims.at_work = s.lifted = s.downed = true;
        assert_next(&s, POLICY_NEXT_NOTHING);
        assert_int_equal(look_at, 0);
    }
}

static void an_empty_slot_is_filled(void **state)
{
    struct policy_standing s = standing(NODE_STATE_PENDING);
    (void)state;
    assert_next(&s, POLICY_NEXT_FILL);
    s.last.known = true;
    s.last.kind = OPERATION_KIND_LAUNCH;
    s.last.state = OPERATION_STATE_CANCELLED; /* by a person, who has the next word */
    assert_next(&s, POLICY_NEXT_NOTHING);
    s.cluster = CLUSTER_STATE_DELETING;
    assert_next(&s, POLICY_NEXT_EMPTY);
}

static void a_deletion_is_tried_until_it_succeeds(void **state)
{
    struct policy_standing s = standing(NODE_STATE_DELETING);
    (void)state;
    assert_next(&s, POLICY_NEXT_EMPTY);
    s.last.known = true;
    s.last.kind = OPERATION_KIND_DELETE;
    s.last.state = OPERATION_STATE_FAILED;
    s.last.finished_at = NOW - MS_PER_S;
    assert_next(&s, POLICY_NEXT_NOTHING);
    assert_int_equal(look_at, NOW - MS_PER_S + MS_PER_MIN);
    s.now_ms = look_at;
    assert_next(&s, POLICY_NEXT_EMPTY);
    s.now_ms = NOW;
    s.last.kind = OPERATION_KIND_REBOOT; /* that failed is no reason to wait */
    assert_next(&s, POLICY_NEXT_EMPTY);
}

static void a_deleted_slot_is_shown_for_a_while(void **state)
{
    struct policy_standing s = standing(NODE_STATE_DELETED);
    (void)state;
    assert_next(&s, POLICY_NEXT_NOTHING);
    assert_int_equal(look_at, s.state_since + LINGER);
    s.now_ms = look_at;
    assert_next(&s, POLICY_NEXT_FORGET);
    s.now_ms = NOW;
    s.group = GROUP_STATE_DELETING;
    assert_next(&s, POLICY_NEXT_FORGET);
    s.cluster = CLUSTER_STATE_DELETING; /* which goes as a whole */
    assert_next(&s, POLICY_NEXT_NOTHING);
    assert_int_equal(look_at, 0);
}

static struct policy_standing failed_launch(void)
{
    struct policy_standing s = standing(NODE_STATE_FAILED);
    s.was_ready = s.heard = false;
    s.provisioning = PROVISIONING_CONTINUOUS;
    s.launch_tries = 1;
    s.last.known = true;
    s.last.kind = OPERATION_KIND_LAUNCH;
    s.last.state = OPERATION_STATE_FAILED;
    s.last.finished_at = NOW;
    return s;
}

static void a_failed_launch_is_tried_again_at_a_growing_pace(void **state)
{
    struct policy_standing s = failed_launch();
    (void)state;
    for (s.launch_tries = 1; s.launch_tries < 9; s.launch_tries++) {
        s.now_ms = NOW;
        assert_next(&s, POLICY_NEXT_NOTHING);
        assert_int_equal(look_at, NOW + policy_launch_pause(&provision, s.launch_tries));
        s.now_ms = look_at;
        assert_next(&s, POLICY_NEXT_RETRY);
    }
}

static void a_failed_launch_that_nobody_wants_is_left(void **state)
{
    (void)state;
    for (int i = 0; i < 7; i++) {
        struct policy_standing s = failed_launch();
        s.now_ms = NOW + MS_PER_DAY;
        assert_next(&s, POLICY_NEXT_RETRY);
        s.cluster = i == 0 ? CLUSTER_STATE_ROLLING_BACK : i == 1 ? CLUSTER_STATE_FAILED : s.cluster;
        s.group = i == 2 ? GROUP_STATE_FAILED : i == 3 ? GROUP_STATE_DELETING : s.group;
        s.claims.opted_out = i == 4;
        s.claims.paused = i == 5;
        s.provisioning = i == 6 ? PROVISIONING_ALL_OR_NOTHING : s.provisioning;
        assert_next(&s, POLICY_NEXT_NOTHING);
        assert_int_equal(look_at, 0);
    }
    struct policy_standing s = failed_launch();
    s.was_ready = true; /* a repair failed: a person's */
    s.now_ms = NOW + MS_PER_DAY;
    assert_next(&s, POLICY_NEXT_NOTHING);
}

static void a_held_node_comes_back_when_nothing_speaks_against_it(void **state)
{
    (void)state;
    for (int i = 0; i < 7; i++) {
        struct policy_standing s = standing(NODE_STATE_HELD);
        s.clear = i != 1;
        s.seen = i != 2;
        s.heard = i != 3;
        s.claims.opted_out = i == 4;
        s.claims.paused = i == 5;
        s.claims.external_drain = i == 6;
        assert_next(&s, i == 0 ? POLICY_NEXT_BRING_BACK : POLICY_NEXT_NOTHING);
    }
}

static void a_persons_word_in_the_scheduler_counts(void **state)
{
    struct policy_standing s = standing(NODE_STATE_HELD);
    (void)state;
    s.lifted = true;
    s.clear = false;
    assert_next(&s, POLICY_NEXT_GIVE_BACK);
    s.state = NODE_STATE_FAILED;
    assert_next(&s, POLICY_NEXT_GIVE_BACK);
    s.state = NODE_STATE_READY;
    assert_next(&s, POLICY_NEXT_NOTHING);
}

static void a_node_that_was_only_away_is_returned(void **state)
{
    struct policy_standing s = standing(NODE_STATE_READY);
    (void)state;
    assert_next(&s, POLICY_NEXT_NOTHING);
    s.downed = true;
    for (int returns = POLICY_RETURN_TO_SERVICE_NOW; returns <= POLICY_RETURN_TO_SERVICE_SERIES; returns++) {
        s.returns = (enum policy_return_to_service)returns;
        assert_next(&s, returns == POLICY_RETURN_TO_SERVICE_NOW ? POLICY_NEXT_RETURN : POLICY_NEXT_NOTHING);
    }
    s.returns = POLICY_RETURN_TO_SERVICE_NOW;
    s.clear = false;
    assert_next(&s, POLICY_NEXT_NOTHING);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_at_work_goes_first),
        cmocka_unit_test(an_empty_slot_is_filled),
        cmocka_unit_test(a_deletion_is_tried_until_it_succeeds),
        cmocka_unit_test(a_deleted_slot_is_shown_for_a_while),
        cmocka_unit_test(a_failed_launch_is_tried_again_at_a_growing_pace),
        cmocka_unit_test(a_failed_launch_that_nobody_wants_is_left),
        cmocka_unit_test(a_held_node_comes_back_when_nothing_speaks_against_it),
        cmocka_unit_test(a_persons_word_in_the_scheduler_counts),
        cmocka_unit_test(a_node_that_was_only_away_is_returned),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
