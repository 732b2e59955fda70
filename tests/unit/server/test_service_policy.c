/* The policy's versions: made by admins, guarded, gone back to, and a start with one that somebody broke. */
#include "tests/support/service_world.h"

#include "base/text.h"
#include "server/config/config.h"
#include "server/config/policy_registry.h"

#define FIRST "version: 1\ndefaults: {recovery: {rebootsMax: 5}}\n"
#define SECOND "version: 1\ndefaults: {recovery: {rebootsMax: 6}}\n"

static struct config config;

static int apply(struct world *world, const struct actor *actor, const char *text, int64_t expected,
                 struct policy_version *ret_version)
{
    const struct service_policy_change change = {.text = text, .comment = "why", .expected = expected};
    memset(ret_version, 0, sizeof(*ret_version));
    return service_policy_apply(&world->service, actor, &change, ret_version, &world->problem);
}

static int break_it(struct db_tx *tx, void *arg)
{
    struct policy_version *version = arg;
    return db_policy_insert(tx, version);
}

static void test_versions_and_a_broken_one(void **state)
{
    (void)state;
    struct world world;
    static struct policy_version version;
    struct loop_settings resolved;
    int64_t loaded = -1;
    config_default(&config);
    world_open(&world, DB_INLINE);
    world.service.registry = policy_registry_new(&config);
    assert_int_equal(apply(&world, &world_operator, FIRST, -1, &version), STATUS_DENIED);
    assert_int_equal(apply(&world, &world_admin, "version: 2\n", -1, &version), STATUS_INVALID);
    assert_string_equal(world.problem.detail, "line 1: version must be 1, which is that of this format");
    assert_int_equal(apply(&world, &world_admin, FIRST, 0, &version), 0);
    assert_int_equal(apply(&world, &world_admin, SECOND, 0, &version), STATUS_CONFLICT);
    assert_int_equal(apply(&world, &world_admin, SECOND, 1, &version), 0);
    assert_int_equal(version.version, 2);
    assert_string_equal(version.author, "token:admin");

    /* Somebody wrote into the database. */
    version = (struct policy_version){.version = 3, .text = "version: [\n"};
    assert_int_equal(db_write(world.service.db, "test", break_it, &version), 0);
    policy_registry_free(world.service.registry);
    world.service.registry = policy_registry_new(&config);
    assert_int_equal(service_policy_load(&world.service, &loaded, &world.problem), STATUS_INVALID);
    assert_int_equal(loaded, 2);
    assert_non_null(strstr(world.problem.detail, "version 3 of the policy document cannot be read"));
    assert_int_equal(policy_registry_resolve(world.service.registry, "a", "b", "c", &resolved), 2);
    assert_int_equal(resolved.policy.reboots_max, 6);

    const struct service_policy_change back = {.restores = 3, .comment = "", .expected = -1};
    assert_int_equal(service_policy_apply(&world.service, &world_admin, &back, &version, &world.problem),
                     STATUS_INVALID);
    const struct service_policy_change first = {.restores = 1, .comment = "", .expected = 3};
    assert_int_equal(service_policy_apply(&world.service, &world_admin, &first, &version, &world.problem), 0);
    assert_true(version.version == 4 && version.restores == 1);
    assert_int_equal(policy_registry_resolve(world.service.registry, "a", "b", "c", &resolved), 4);
    assert_int_equal(resolved.policy.reboots_max, 5);
    policy_registry_free(world.service.registry);
    world_close(&world);
}

static void add_line(const char *sentence, void *arg)
{
    text_printf(arg, "%s\n", sentence);
}

#define EVERYWHERE "no repair ever begins by itself in any group that no entry of groups is for: "
#define NO_HOUR "notDuring and onlyDuring leave no hour of the week, so only classes with anyTime are repaired\n"
#define NO_NODE "minHealthyPercent 100 lets no node be missing\n"

#define ALL_NODES "as many nodes have to be healthy (minHealthyCount, minHealthyPercent) as it shall have\n"

static void test_what_is_hardly_meant(void **state)
{
    (void)state;
    static const struct {
        const char *text, *warnings;
    } cases[] = {
        {"version: 1\n", ""},
        {"version: 1\ndefaults: {recovery: {notDuring: Mon-Sun}}\n", EVERYWHERE NO_HOUR},
        {"version: 1\ndefaults: {recovery: {notDuring: Mon-Sat}}\n", ""},
        {"version: 1\ndefaults: {recovery: {onlyDuring: Mon 08:00-10:00, notDuring: Mon}}\n", EVERYWHERE NO_HOUR},
        {"version: 1\ndefaults: {recovery: {minHealthyPercent: 100}}\n", EVERYWHERE NO_NODE},
        {"version: 1\ndefaults: {recovery: {minHealthyPercent: 75}}\n", ""},
        {"version: 1\ndefaults: {recovery: {minHealthyPercent: 76}}\n", /* of four that is four */
         "no repair ever begins by itself in the group cpu of ml: " ALL_NODES},
        {"version: 1\ndefaults: {recovery: {minHealthyCount: 3}}\n", ""},
        {"version: 1\ndefaults: {recovery: {minHealthyCount: 4}}\n",
         "no repair ever begins by itself in the group cpu of ml: " ALL_NODES},
        {"version: 1\ndefaults: {recovery: {minHealthyCount: 9}}\n",
         "no repair ever begins by itself in the group gpu of ml and 1 more: " ALL_NODES},
        {"version: 1\ngroups: [{match: {cluster: ml}, recovery: {minHealthyPercent: 100}}]\n",
         "no repair ever begins by itself in the group gpu of ml and 1 more: " NO_NODE},
        {"version: 1\ngroups: [{match: {cluster: m}, recovery: {minHealthyPercent: 100}}]\n",
         "entry 1 of groups is for no group that there is now\n"},
        {"version: 1\ngroups: [{match: {group: cp*}, recovery: {rebootsMax: 1}}]\n", ""},
        {"version: [\n", ""},
    };
    const struct policy_registry_group groups[] = {{{"ml", "gpu", "g"}, 8}, {{"ml", "cpu", "c"}, 4}};
    config_default(&config);
    struct policy_registry *registry = policy_registry_new(&config);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct text lines AUTO(text) = {0};
        policy_registry_warn(registry, cases[i].text, groups, ARRAY_LEN(groups), INT64_C(1763650000000), add_line,
                             &lines);
        assert_string_equal(text_get(&lines), cases[i].warnings);
    }
    policy_registry_free(registry);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_versions_and_a_broken_one),
                                       cmocka_unit_test(test_what_is_hardly_meant)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
