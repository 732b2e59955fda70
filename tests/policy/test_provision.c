/*
 * What becomes of clusters, by tables: one group at a time where it stands for itself, several where they depend on each other;
 * and laws that hold for whatever is counted.
 */
#include "policy/provision.h"

#include "base/own.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define T0 INT64_C(1795176000000)
#define MINUTE INT64_C(60000)
#define HOUR (60 * MINUTE)

#define C(SYMBOL) CLUSTER_STATE_##SYMBOL
#define G(SYMBOL) GROUP_STATE_##SYMBOL

/* serving, starting, never provisioned, broken, leaving, gone */
#define SLOTS(...)  \
    {               \
        __VA_ARGS__ \
    }

static struct provision_snapshot snapshot_of(enum cluster_state state, enum provisioning provisioning,
                                             const struct provision_group *groups, size_t count)
{
    struct provision_snapshot s = {.now_ms = T0, .state = state, .provisioning = provisioning, .failure = ""};
    provision_settings_default(&s.settings);
    s.groups = groups;
    s.group_count = count;
    return s;
}

/* --- one group of a continuous cluster --------------------------------------------------------- */
struct one {
    const char *story;
    enum group_state state;
    int64_t age_ms, desired, min, previous;
    int64_t slots[SLOT_KIND_COUNT];
    const char *rule; /* NULL: nothing changes */
    enum group_state to;
    int64_t to_desired, remove;
    const char *failure; /* a part of it; NULL: none */
};

static const struct one ones[] = {
    {"all came up", G(CREATING), 0, 3, 0, -1, SLOTS(3), "all-ready", G(IN_SERVICE), 3, 0, NULL},
    {"one is still coming", G(CREATING), 0, 3, 0, -1, SLOTS(2, 1), NULL, G(CREATING), 3, 0, NULL},
    {"slots are not known yet", G(CREATING), 0, 3, 0, -1, SLOTS(2), NULL, G(CREATING), 3, 0, NULL},
    {"one failed, one is coming", G(CREATING), 0, 3, 0, -1, SLOTS(1, 1, 1), NULL, G(CREATING), 3, 0, NULL},
    {"one failed, all tried", G(CREATING), 0, 3, 0, -1, SLOTS(2, 0, 1), "all-tried", G(DEGRADED), 3, 0, "bad-1"},
    {"none came up, all tried", G(CREATING), 0, 2, 0, -1, SLOTS(0, 0, 2), "all-tried", G(DEGRADED), 2, 0, "1 more"},
    {"came up and broke", G(CREATING), 0, 2, 0, -1, SLOTS(1, 0, 0, 1), "all-ready", G(DEGRADED), 2, 0, "broken-1"},
    {"the minimum is there", G(CREATING), 0, 5, 3, -1, SLOTS(3, 2), "min-count-reached", G(IN_SERVICE), 5, 0, NULL},
    {"and some failed", G(CREATING), 0, 5, 3, -1, SLOTS(3, 1, 1), "min-count-reached", G(DEGRADED), 5, 0, "bad-1"},
    {"the minimum is not there", G(CREATING), 0, 5, 3, -1, SLOTS(2, 0, 3), NULL, G(CREATING), 5, 0, NULL},
    {"nor before the deadline", G(CREATING), 3 * HOUR - 1, 5, 3, -1, SLOTS(2, 3), NULL, G(CREATING), 5, 0, NULL},
    {"a new group ends", G(CREATING), 3 * HOUR, 5, 3, -1, SLOTS(2, 3), "min-count-expired", G(FAILED), 0, 5, "2 of at"},
    {"an old one goes back", G(UPDATING), 3 * HOUR, 5, 5, 2, SLOTS(4, 0, 1), "min-count-expired", G(IN_SERVICE), 2, 3,
     "bad-1"},
    {"the minimum is all", G(UPDATING), 3 * HOUR, 2, 2, 1, SLOTS(2), "all-ready", G(IN_SERVICE), 2, 0, NULL},
    {"no minimum, no deadline", G(CREATING), 9 * HOUR, 2, 0, -1, SLOTS(1, 1), NULL, G(CREATING), 2, 0, NULL},
    {"too many", G(IN_SERVICE), 0, 3, 0, -1, SLOTS(5), NULL, G(IN_SERVICE), 3, 2, NULL},
    {"those that go are gone soon", G(IN_SERVICE), 0, 3, 0, -1, SLOTS(3, 0, 0, 0, 2), NULL, G(IN_SERVICE), 3, 0, NULL},
    {"an update waits for them", G(UPDATING), 0, 3, 0, 5, SLOTS(3, 0, 0, 0, 2), NULL, G(UPDATING), 3, 0, NULL},
    {"but not for their rows", G(UPDATING), 0, 3, 0, 5, SLOTS(3, 0, 0, 0, 0, 2), "all-ready", G(IN_SERVICE), 3, 0,
     NULL},
    {"one broke", G(IN_SERVICE), 0, 3, 0, -1, SLOTS(2, 0, 0, 1), "some-failed", G(DEGRADED), 3, 0, "broken-1"},
    {"all is well again", G(DEGRADED), 0, 3, 0, -1, SLOTS(3), "all-well", G(IN_SERVICE), 3, 0, NULL},
    {"a failed group loses what it has", G(FAILED), 0, 0, 0, -1, SLOTS(1, 0, 1), NULL, G(FAILED), 0, 2, NULL},
    {"so does one that is deleted", G(DELETING), 0, 0, 0, -1, SLOTS(2), NULL, G(DELETING), 0, 2, NULL},
};

static struct provision_group group_of(const struct one *one)
{
    struct provision_group g = {.name = "gpu", .state = one->state, .failure = ""};
    g.state_since = T0 - one->age_ms;
    g.desired = one->desired;
    g.min_count = one->min;
    g.previous_desired = one->previous;
    memcpy(g.slots, one->slots, sizeof(g.slots));
    g.unprovisioned = g.slots[SLOT_UNPROVISIONED] > 0 ? "bad-1" : NULL;
    g.unprovisioned_why = g.unprovisioned == NULL ? NULL : "launch failed at launch: no capacity";
    g.broken = g.slots[SLOT_BROKEN] > 0 ? "broken-1" : NULL;
    return g;
}

static void a_group_by_itself(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(ones); i++) {
        const struct one *one = &ones[i];
        const struct provision_group group = group_of(one);
        const struct provision_snapshot s = snapshot_of(C(IN_SERVICE), PROVISIONING_CONTINUOUS, &group, 1);
        struct provision_plan plan;
        policy_provision(&s, &plan);
        const struct provision_group_plan *p = &plan.groups[0];
        bool same = text_equal(p->rule == NULL ? "-" : p->rule, one->rule == NULL ? "-" : one->rule) &&
                    p->state == one->to && p->desired == one->to_desired && p->remove == one->remove &&
                    (one->failure == NULL ? p->failure[0] == '\0' : strstr(p->failure, one->failure) != NULL);
        if (!same)
            fail_msg("%s: %s, %s, %d wanted, %d go, \"%s\"", one->story, p->rule == NULL ? "-" : p->rule,
                     group_state_text(p->state), (int)p->desired, (int)p->remove, p->failure);
        policy_provision_free(&plan);
    }
}

/* --- a cluster of two groups ------------------------------------------------------------------- */
struct two {
    const char *story;
    enum provisioning provisioning;
    enum cluster_state state;
    struct one groups[2];
    const char *rule;
    enum cluster_state to;
    enum group_state to_groups[2];
    int64_t remove[2];
};
#define WHOLE PROVISIONING_ALL_OR_NOTHING
#define CONT PROVISIONING_CONTINUOUS
#define GROUP(SYMBOL, want, prev, ...)                                                         \
    {                                                                                          \
        .state = G(SYMBOL), .desired = (want), .previous = (prev), .slots = SLOTS(__VA_ARGS__) \
    }

static const struct two twos[] = {
    {"one is still coming",
     WHOLE,
     C(CREATING),
     {GROUP(CREATING, 1, -1, 1), GROUP(CREATING, 2, -1, 1, 1)},
     NULL,
     C(CREATING),
     {G(CREATING), G(CREATING)},
     {0, 0}},
    {"all are there",
     WHOLE,
     C(CREATING),
     {GROUP(CREATING, 1, -1, 1), GROUP(CREATING, 2, -1, 2)},
     "all-ready",
     C(IN_SERVICE),
     {G(IN_SERVICE), G(IN_SERVICE)},
     {0, 0}},
    {"one failed: all go",
     WHOLE,
     C(CREATING),
     {GROUP(CREATING, 1, -1, 1), GROUP(CREATING, 2, -1, 1, 0, 1)},
     "creation-failed",
     C(ROLLING_BACK),
     {G(FAILED), G(FAILED)},
     {1, 2}},
    {"they are going",
     WHOLE,
     C(ROLLING_BACK),
     {GROUP(FAILED, 0, -1, 0), GROUP(FAILED, 0, -1, 0, 0, 0, 0, 1)},
     NULL,
     C(ROLLING_BACK),
     {G(FAILED), G(FAILED)},
     {0, 0}},
    {"they are gone",
     WHOLE,
     C(ROLLING_BACK),
     {GROUP(FAILED, 0, -1, 0), GROUP(FAILED, 0, -1, 0, 0, 0, 0, 0, 2)},
     "taken-down",
     C(FAILED),
     {G(FAILED), G(FAILED)},
     {0, 0}},
    {"nothing goes before all has come",
     WHOLE,
     C(UPDATING),
     {GROUP(UPDATING, 1, 3, 3), GROUP(UPDATING, 2, 1, 1, 1)},
     NULL,
     C(UPDATING),
     {G(UPDATING), G(UPDATING)},
     {0, 0}},
    {"all has come: the rest goes",
     WHOLE,
     C(UPDATING),
     {GROUP(UPDATING, 1, 3, 3), GROUP(UPDATING, 2, 1, 2)},
     NULL,
     C(UPDATING),
     {G(UPDATING), G(UPDATING)},
     {2, 0}},
    {"and is gone",
     WHOLE,
     C(UPDATING),
     {GROUP(UPDATING, 1, 3, 1), GROUP(UPDATING, 2, 1, 2)},
     "all-ready",
     C(IN_SERVICE),
     {G(IN_SERVICE), G(IN_SERVICE)},
     {0, 0}},
    {"an update fails",
     WHOLE,
     C(UPDATING),
     {GROUP(UPDATING, 3, 1, 2, 0, 1), GROUP(CREATING, 2, 0, 1, 1)},
     "update-failed",
     C(ROLLING_BACK),
     {G(UPDATING), G(DELETING)},
     {2, 2}},
    {"and is taken back",
     WHOLE,
     C(ROLLING_BACK),
     {GROUP(UPDATING, 1, -1, 1), GROUP(IN_SERVICE, 2, -1, 2)},
     "taken-back",
     C(IN_SERVICE),
     {G(IN_SERVICE), G(IN_SERVICE)},
     {0, 0}},
    {"a group that is to go waits for what comes",
     WHOLE,
     C(UPDATING),
     {GROUP(DELETING, 0, 2, 2), GROUP(CREATING, 1, 0, 0, 1)},
     NULL,
     C(UPDATING),
     {G(DELETING), G(CREATING)},
     {0, 0}},
    {"and goes when that is there",
     WHOLE,
     C(UPDATING),
     {GROUP(DELETING, 0, 2, 2), GROUP(CREATING, 1, 0, 1)},
     NULL,
     C(UPDATING),
     {G(DELETING), G(CREATING)},
     {2, 0}},
    {"or stays when it does not come",
     WHOLE,
     C(UPDATING),
     {GROUP(DELETING, 0, 2, 2), GROUP(CREATING, 1, 0, 0, 0, 1)},
     "update-failed",
     C(ROLLING_BACK),
     {G(UPDATING), G(DELETING)},
     {0, 1}},
    {"one that was deleted before does not come back",
     WHOLE,
     C(UPDATING),
     {GROUP(DELETING, 0, -1, 2), GROUP(CREATING, 1, 0, 0, 0, 1)},
     "update-failed",
     C(ROLLING_BACK),
     {G(DELETING), G(DELETING)},
     {2, 1}},
    {"a group that is being deleted is waited for",
     WHOLE,
     C(UPDATING),
     {GROUP(IN_SERVICE, 1, -1, 1), GROUP(DELETING, 0, -1, 0, 0, 0, 0, 1)},
     NULL,
     C(UPDATING),
     {G(IN_SERVICE), G(DELETING)},
     {0, 0}},
    {"continuous: one group arrived",
     CONT,
     C(CREATING),
     {GROUP(CREATING, 1, -1, 1), GROUP(CREATING, 2, -1, 1, 1)},
     NULL,
     C(CREATING),
     {G(IN_SERVICE), G(CREATING)},
     {0, 0}},
    {"continuous: the other, too",
     CONT,
     C(CREATING),
     {GROUP(IN_SERVICE, 1, -1, 1), GROUP(CREATING, 2, -1, 1, 0, 1)},
     "all-settled",
     C(IN_SERVICE),
     {G(IN_SERVICE), G(DEGRADED)},
     {0, 0}},
    {"continuous: none came up",
     CONT,
     C(CREATING),
     {GROUP(FAILED, 0, -1, 0), GROUP(FAILED, 0, -1, 0)},
     "no-group-came-up",
     C(ROLLING_BACK),
     {G(FAILED), G(FAILED)},
     {0, 0}},
    {"a deleted cluster waits",
     CONT,
     C(DELETING),
     {GROUP(IN_SERVICE, 1, -1, 1), GROUP(CREATING, 2, -1, 0)},
     NULL,
     C(DELETING),
     {G(IN_SERVICE), G(CREATING)},
     {0, 0}},
};

static void a_cluster_as_a_whole(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(twos); i++) {
        const struct two *two = &twos[i];
        const struct provision_group groups[2] = {group_of(&two->groups[0]), group_of(&two->groups[1])};
        const struct provision_snapshot s = snapshot_of(two->state, two->provisioning, groups, 2);
        struct provision_plan plan;
        policy_provision(&s, &plan);
        bool same = text_equal(plan.rule == NULL ? "-" : plan.rule, two->rule == NULL ? "-" : two->rule) &&
                    plan.state == two->to;
        for (int g = 0; g < 2; g++)
            same = same && plan.groups[g].state == two->to_groups[g] && plan.groups[g].remove == two->remove[g];
        if (!same)
            fail_msg("%s: %s, %s; %s, %d go; %s, %d go", two->story, plan.rule == NULL ? "-" : plan.rule,
                     cluster_state_text(plan.state), group_state_text(plan.groups[0].state), (int)plan.groups[0].remove,
                     group_state_text(plan.groups[1].state), (int)plan.groups[1].remove);
        policy_provision_free(&plan);
    }
}

static void a_failure_says_who_and_why(void **state)
{
    (void)state;
    const struct one one = GROUP(CREATING, 2, -1, 1, 0, 1);
    const struct provision_group group = group_of(&one);
    const struct provision_snapshot s = snapshot_of(C(CREATING), WHOLE, &group, 1);
    struct provision_plan plan;
    policy_provision(&s, &plan);
    assert_string_equal(plan.failure, "The creation failed in group gpu: bad-1 could not be provisioned: launch failed "
                                      "at launch: no capacity");
    policy_provision_free(&plan);
}

static void a_deadline_is_looked_at_when_it_comes(void **state)
{
    (void)state;
    const struct one one = {.state = G(CREATING), .age_ms = HOUR, .desired = 2, .min = 2, .slots = SLOTS(1, 1)};
    const struct provision_group group = group_of(&one);
    const struct provision_snapshot s = snapshot_of(C(CREATING), CONT, &group, 1);
    struct provision_plan plan;
    policy_provision(&s, &plan);
    assert_int_equal(plan.look_at, T0 + 2 * HOUR);
    policy_provision_free(&plan);
}

/* --- when a change of the whole cluster is over ------------------------------------------------- */
#define OP(SYMBOL) OPERATION_KIND_##SYMBOL

static void a_change_is_over_when_its_cluster_has_arrived(void **state)
{
    static const struct {
        const char *story;
        enum operation_kind kind;
        enum provisioning provisioning;
        enum cluster_state state;
        struct one group;
        bool over;
        const char *failure; /* a part of it; NULL: none */
    } rows[] = {
        {"still comes up", OP(CREATE_CLUSTER), CONT, C(CREATING), GROUP(CREATING, 2, -1, 1, 1), false, NULL},
        {"is there", OP(CREATE_CLUSTER), CONT, C(CREATING), GROUP(CREATING, 2, -1, 2), true, NULL},
        {"each was tried", OP(CREATE_CLUSTER), CONT, C(CREATING), GROUP(CREATING, 2, -1, 1, 0, 1), true, NULL},
        {"is taken down", OP(CREATE_CLUSTER), WHOLE, C(CREATING), GROUP(CREATING, 2, -1, 1, 0, 1), false, "bad-1"},
        {"is down", OP(CREATE_CLUSTER), WHOLE, C(ROLLING_BACK), GROUP(FAILED, 0, -1, 0), true, "none of its"},
        {"grows", OP(UPDATE_CLUSTER), CONT, C(IN_SERVICE), GROUP(IN_SERVICE, 3, -1, 2, 1), false, NULL},
        {"has grown", OP(UPDATE_CLUSTER), CONT, C(IN_SERVICE), GROUP(IN_SERVICE, 3, -1, 3), true, NULL},
        {"slots are not known yet", OP(UPDATE_CLUSTER), CONT, C(IN_SERVICE), GROUP(IN_SERVICE, 3, -1, 2), false, NULL},
        {"has too many", OP(UPDATE_CLUSTER), CONT, C(IN_SERVICE), GROUP(IN_SERVICE, 3, -1, 4), false, NULL},
        {"one leaves", OP(UPDATE_CLUSTER), CONT, C(IN_SERVICE), GROUP(IN_SERVICE, 3, -1, 3, 0, 0, 0, 1), false, NULL},
        {"its row is there", OP(UPDATE_CLUSTER), CONT, C(IN_SERVICE), GROUP(IN_SERVICE, 3, -1, 3, 0, 0, 0, 0, 1), true,
         NULL},
        {"one fails, one comes", OP(UPDATE_CLUSTER), CONT, C(IN_SERVICE), GROUP(DEGRADED, 3, -1, 1, 1, 1), false, NULL},
        {"one fails", OP(UPDATE_CLUSTER), CONT, C(IN_SERVICE), GROUP(DEGRADED, 3, -1, 2, 0, 1), true, NULL},
        {"a group goes", OP(UPDATE_CLUSTER), CONT, C(IN_SERVICE), GROUP(DELETING, 0, -1, 0, 0, 0, 0, 1), false, NULL},
        {"a group has gone", OP(UPDATE_CLUSTER), CONT, C(IN_SERVICE), GROUP(DELETING, 0, -1, 0), true, NULL},
        {"waits for all", OP(UPDATE_CLUSTER), WHOLE, C(UPDATING), GROUP(UPDATING, 3, 2, 2, 1), false, NULL},
        {"has all", OP(UPDATE_CLUSTER), WHOLE, C(UPDATING), GROUP(UPDATING, 3, 2, 3), true, NULL},
        {"goes back", OP(UPDATE_CLUSTER), WHOLE, C(ROLLING_BACK), GROUP(UPDATING, 2, -1, 2, 0, 0, 0, 1), false, "none"},
        {"is back", OP(UPDATE_CLUSTER), WHOLE, C(ROLLING_BACK), GROUP(UPDATING, 2, -1, 2), true, "taken back"},
        {"another's business", OP(UPDATE_SOFTWARE), CONT, C(IN_SERVICE), GROUP(IN_SERVICE, 3, -1, 2, 1), true, NULL},
        {"rolls", OP(UPDATE_SOFTWARE), CONT, C(SYSTEM_UPDATING), GROUP(SYSTEM_UPDATING, 2, -1, 2), false, NULL},
        {"goes", OP(DELETE_CLUSTER), CONT, C(DELETING), GROUP(DELETING, 2, -1, 0, 0, 0, 0, 1), false, NULL},
        {"is gone", OP(DELETE_CLUSTER), CONT, C(DELETING), GROUP(DELETING, 2, -1, 0, 0, 0, 0, 0, 2), true, NULL},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char failure[SENTENCE_MAX_BYTES];
        const struct provision_group group = group_of(&rows[i].group);
        const struct provision_snapshot s = snapshot_of(rows[i].state, rows[i].provisioning, &group, 1);
        struct provision_plan plan;
        policy_provision(&s, &plan);
        bool over = policy_change_is_over(&s, &plan, rows[i].kind, failure);
        bool told = rows[i].failure == NULL ? failure[0] == '\0' : strstr(failure, rows[i].failure) != NULL;
        if (over != rows[i].over || !told)
            fail_msg("%s: %s, \"%s\"", rows[i].story, over ? "over" : "goes on", failure);
        policy_provision_free(&plan);
    }
}

/* --- laws -------------------------------------------------------------------------------------- */
static uint32_t draw(uint64_t *random, uint32_t below)
{
    *random = *random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*random >> 33) % below;
}

/* Whatever is counted: moves are legal, no more goes than is there, and nothing goes of a group that has too few. */
static void any_plan_is_legal(void **state)
{
    uint64_t random = 4711;
    (void)state;
    for (int round = 0; round < 200000; round++) {
        struct provision_group groups[3];
        struct rollout rollout = {.state = (enum rollout_state)draw(&random, ROLLOUT_STATE_COUNT), .release = "v2"};
        rollout.batch_value = draw(&random, 4);
        rollout.batch_is_percent = draw(&random, 2) == 0;
        rollout.batch = draw(&random, 3);
        size_t count = draw(&random, 4);
        for (size_t i = 0; i < count; i++) {
            struct one one = {.state = (enum group_state)draw(&random, GROUP_STATE_COUNT)};
            one.age_ms = draw(&random, 4) * HOUR;
            one.desired = draw(&random, 5);
            one.min = draw(&random, 2) * draw(&random, 5);
            one.previous = (int64_t)draw(&random, 5) - 1;
            for (int kind = 0; kind < SLOT_KIND_COUNT; kind++)
                one.slots[kind] = draw(&random, 2) * draw(&random, 4);
            groups[i] = group_of(&one);
            groups[i].rollout = draw(&random, 2) == 0 ? &rollout : NULL;
            groups[i].outdated = draw(&random, 3);
            groups[i].updatable = groups[i].outdated > 0 ? draw(&random, 2) : 0;
            groups[i].members = draw(&random, 3);
            groups[i].members_done = draw(&random, 2) == 0 ? groups[i].members : 0;
            groups[i].members_bad = draw(&random, 4) == 0;
        }
        struct provision_snapshot s = snapshot_of((enum cluster_state)draw(&random, CLUSTER_STATE_COUNT),
                                                  draw(&random, 2) == 0 ? WHOLE : CONT, groups, count);
        struct provision_plan plan;
        policy_provision(&s, &plan);
        assert_true(plan.state == s.state || sm_may(&cluster_state_machine, (int)s.state, (int)plan.state));
        for (size_t i = 0; i < count; i++) {
            const struct provision_group *g = &groups[i];
            const struct provision_group_plan *p = &plan.groups[i];
            int64_t alive =
                g->slots[SLOT_SERVING] + g->slots[SLOT_STARTING] + g->slots[SLOT_UNPROVISIONED] + g->slots[SLOT_BROKEN];
            if (p->state != g->state && !sm_may(&group_state_machine, (int)g->state, (int)p->state))
                fail_msg("round %d: %s to %s in a cluster that is %s", round, group_state_text(g->state),
                         group_state_text(p->state), cluster_state_text(s.state));
            assert_true(p->state == g->state || p->rule != NULL);
            assert_in_range(p->remove, 0, alive);
            assert_true(p->remove == 0 || p->state == G(DELETING) || alive - p->remove == p->desired);
            assert_true(p->desired >= 0 && p->min_count <= (g->min_count > p->desired ? g->min_count : p->desired));
            assert_true(p->batch_size <= g->updatable);
            assert_true(!p->forget || alive + g->slots[SLOT_LEAVING] + g->slots[SLOT_GONE] == 0);
        }
        policy_provision_free(&plan);
    }
}

/* --- who goes, and when it is tried again ------------------------------------------------------ */
static void the_least_valuable_go_first(void **state)
{
    (void)state;
    struct victim victims[] = {
        {1, VICTIM_IDLE}, {2, VICTIM_BUSY},          {3, VICTIM_IDLE},     {4, VICTIM_OUT},
        {5, VICTIM_BUSY}, {6, VICTIM_UNPROVISIONED}, {7, VICTIM_STARTING}, {8, VICTIM_OPTED_OUT},
    };
    static const int64_t order[] = {6, 7, 4, 3, 1, 5, 2, 8};
    policy_order_victims(victims, ARRAY_LEN(victims));
    for (size_t i = 0; i < ARRAY_LEN(order); i++)
        assert_int_equal(victims[i].node_id, order[i]);
}

static void pauses_grow_to_a_bound(void **state)
{
    struct provision_settings settings;
    (void)state;
    provision_settings_default(&settings);
    static const int64_t pauses[] = {1, 1, 2, 4, 8, 16, 30, 30};
    for (int tries = 0; tries < (int)ARRAY_LEN(pauses); tries++)
        assert_int_equal(policy_launch_pause(&settings, tries), pauses[tries] * MINUTE);
    assert_int_equal(policy_launch_pause(&settings, 255), 30 * MINUTE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_by_itself),
        cmocka_unit_test(a_cluster_as_a_whole),
        cmocka_unit_test(a_failure_says_who_and_why),
        cmocka_unit_test(a_deadline_is_looked_at_when_it_comes),
        cmocka_unit_test(a_change_is_over_when_its_cluster_has_arrived),
        cmocka_unit_test(any_plan_is_legal),
        cmocka_unit_test(the_least_valuable_go_first),
        cmocka_unit_test(pauses_grow_to_a_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
