/* Tags: who may, what is refused, how many there may be, and what the timeline hears. */
#include "tests/support/service_world.h"

#include "server/service/scheduler/governance.h"

static const struct service_tagged train = {.cluster = "train"};
static const struct service_governance_ref quota = {
    .kind = GOVERNANCE_KIND_COMPUTE_QUOTA, .cluster = "train", .name = "vision"};
static const struct service_tagged train_quota = {.governance = &quota};

static void open_world(struct world *world)
{
    struct service_governance_spec spec = {.name = "vision", .team = "vision", .active = -1};
    struct governance governance;
    const struct governance_spec config = {0};
    spec.config = &config;
    world_open(world, DB_INLINE);
    world_cluster(world, "train", "gpu", 1, ORCHESTRATOR_NONE);
    assert_int_equal(service_governance_create(&world->service, &world_admin, quota.kind, "train", &spec, &governance,
                                               &world->problem),
                     0);
}

static int count_row(const void *row, void *arg)
{
    assert_true(((const struct tag *)row)->key[0] != '\0');
    ++*(int *)arg;
    return 0;
}

static int count(struct world *world, const struct service_tagged *tagged)
{
    int number = 0;
    assert_int_equal(service_tag_list(&world->service, tagged, count_row, &number, &world->problem), 0);
    return number;
}

static void test_set_and_deleted(void **state)
{
    (void)state;
    static const struct service_tag tags[] = {{"team", "vision"}, {"cost", "12"}};
    static const char *const keys[] = {"team", "nothing"};
    static const struct service_tagged *const all[] = {&train, &train_quota};
    struct world world;
    size_t removed;
    open_world(&world);
    for (size_t i = 0; i < ARRAY_LEN(all); i++) {
        int heard = atomic_load(&world.events_heard);
        assert_int_equal(service_tag_add(&world.service, &world_operator, all[i], tags, 2, &world.problem), 0);
        assert_int_equal(service_tag_add(&world.service, &world_operator, all[i], tags, 1, &world.problem), 0);
        assert_int_equal(count(&world, all[i]), 2);
        assert_int_equal(atomic_load(&world.events_heard), heard + 2);
        assert_int_equal(service_tag_delete(&world.service, &world_operator, all[i], keys, 2, &removed, &world.problem),
                         STATUS_DENIED);
        assert_int_equal(service_tag_delete(&world.service, &world_admin, all[i], keys, 2, &removed, &world.problem),
                         0);
        assert_int_equal(removed, 1);
        assert_int_equal(service_tag_delete(&world.service, &world_admin, all[i], keys, 2, &removed, &world.problem),
                         0);
        assert_int_equal(removed, 0);
        assert_int_equal(atomic_load(&world.events_heard), heard + 3);
        assert_int_equal(count(&world, all[i]), 1);
    }
    world_close(&world);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    static const struct service_tag twice[] = {{"a", "1"}, {"b", "1"}, {"a", "2"}}, reserved = {"AWS:x", "1"};
    static const struct service_tagged nothing = {.cluster = "nothing"};
    static const struct service_governance_ref no_quota = {
        .kind = GOVERNANCE_KIND_COMPUTE_QUOTA, .cluster = "train", .name = "none"};
    static const struct service_tagged none = {.governance = &no_quota};
    const struct {
        const struct actor *actor;
        const struct service_tagged *tagged;
        const struct service_tag *tags;
        size_t count;
        enum problem_code code;
    } cases[] = {
        {&world_viewer, &train, twice, 1, PROBLEM_FORBIDDEN},
        {&world_admin, &train, twice, 3, PROBLEM_INVALID_VALUE},
        {&world_admin, &train, &reserved, 1, PROBLEM_INVALID_VALUE},
        {&world_admin, &nothing, twice, 1, PROBLEM_NOT_FOUND},
        {&world_admin, &none, twice, 1, PROBLEM_NOT_FOUND},
    };
    struct world world;
    open_world(&world);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_true(service_tag_add(&world.service, cases[i].actor, cases[i].tagged, cases[i].tags, cases[i].count,
                                    &world.problem) < 0);
        assert_problem(&world, cases[i].code);
    }
    assert_int_equal(count(&world, &train), 0);
    world_close(&world);
}

/* All or none: what would be too many leaves what was there. */
static void test_no_more_than_fifty(void **state)
{
    (void)state;
    static char keys[TAGS_MAX + 1][8];
    struct service_tag tags[TAGS_MAX + 1];
    struct world world;
    open_world(&world);
    for (int i = 0; i <= TAGS_MAX; i++) {
        snprintf(keys[i], sizeof(keys[i]), "k%d", i);
        tags[i] = (struct service_tag){keys[i], "v"};
    }
    assert_int_equal(service_tag_add(&world.service, &world_admin, &train, tags, 2, &world.problem), 0);
    assert_true(service_tag_add(&world.service, &world_admin, &train, tags, TAGS_MAX + 1, &world.problem) < 0);
    assert_problem(&world, PROBLEM_LIMIT_EXCEEDED);
    assert_int_equal(count(&world, &train), 2);
    assert_int_equal(service_tag_add(&world.service, &world_admin, &train, tags, TAGS_MAX, &world.problem), 0);
    assert_int_equal(count(&world, &train), TAGS_MAX);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_set_and_deleted),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_no_more_than_fifty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
