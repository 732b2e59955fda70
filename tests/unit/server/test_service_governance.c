/* Scheduler configurations and quotas: what is refused, versions, what their status claims, and how they go. */
#include "tests/support/service_world.h"

#include "server/service/scheduler/governance.h"

#define CONFIG GOVERNANCE_KIND_SCHEDULER_CONFIG
#define QUOTA GOVERNANCE_KIND_COMPUTE_QUOTA
#define LONG_WORD "a23456789-123456789-123456789-123456789-1"

static void open_world(struct world *world)
{
    world_open(world, DB_INLINE);
    world_cluster(world, "train", "gpu", 1, ORCHESTRATOR_SLURM);
    world_cluster(world, "serve", "cpu", 1, ORCHESTRATOR_NONE);
}

/* config as JSON text; "" stands for none. */
struct sketch {
    enum governance_kind kind;
    const char *cluster, *name, *team, *config, *description;
    int active;
};

static int change(struct world *world, const struct sketch *sketch, const char *uid, int64_t if_version,
                  const struct actor *actor, struct governance *ret_governance)
{
    AUTO(governance_spec) struct governance_spec config = {0};
    bool says = sketch->config != NULL && sketch->config[0] != '\0';
    if (says)
        assert_int_equal(governance_spec_read(sketch->config, &config), 0);
    const struct service_governance_spec spec = {.name = sketch->name,
                                                 .team = sketch->team,
                                                 .weight = 5,
                                                 .description = sketch->description,
                                                 .config = says ? &config : NULL,
                                                 .active = sketch->active};
    const struct service_governance_ref ref = {.kind = sketch->kind, .uid = uid};
    if (uid == NULL)
        return service_governance_create(&world->service, actor, sketch->kind, sketch->cluster, &spec, ret_governance,
                                         &world->problem);
    return service_governance_update(&world->service, actor, &ref, &spec, if_version, ret_governance, &world->problem);
}

static struct governance must(struct world *world, const struct sketch *sketch)
{
    struct governance governance;
    if (change(world, sketch, NULL, 0, &world_admin, &governance) < 0)
        fail_msg("%s", world->problem.detail);
    return governance;
}

static const struct sketch a_quota = {
    .kind = QUOTA, .cluster = "train", .name = "vision", .team = "vision", .config = "{}", .active = -1};
static const struct sketch a_config = {
    .kind = CONFIG, .cluster = "train", .name = "main", .config = "{}", .active = -1};

static void test_what_has_no_meaning_is_refused(void **state)
{
    (void)state;
    static const struct {
        enum governance_kind kind;
        const char *config, *names_it;
    } cases[] = {
        {CONFIG, "{\"classes\":[{\"name\":\"a\",\"weight\":1},{\"name\":\"a\",\"weight\":2}]}", "\"a\""},
        {CONFIG, "{\"classes\":[{\"name\":\"" LONG_WORD "\",\"weight\":1}]}", "41 characters"},
        {QUOTA, "{\"amounts\":[{\"instanceType\":\"ml.p5.48xlarge\"}]}", "without an amount"},
        {QUOTA,
         "{\"amounts\":[{\"instanceType\":\"ml.p5.48xlarge\",\"nodes\":1},"
         "{\"instanceType\":\"ml.p5.48xlarge\",\"cpus\":1.5}]}",
         "twice"},
        {QUOTA, "{\"sharing\":{\"strategy\":\"lend\",\"borrowPercent\":50}}", "Lend"},
        {QUOTA,
         "{\"sharing\":{\"strategy\":\"dont-lend\",\"borrowAtMost\":"
         "[{\"instanceType\":\"ml.p5.48xlarge\",\"nodes\":1}]}}",
         "DontLend"},
        {QUOTA,
         "{\"sharing\":{\"strategy\":\"lend-and-borrow\",\"borrowAtMost\":"
         "[{\"instanceType\":\"ml.p5.48xlarge\"}]}}",
         "AbsoluteBorrowLimits"},
    };
    struct world world;
    struct governance governance;
    open_world(&world);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sketch sketch = cases[i].kind == QUOTA ? a_quota : a_config;
        sketch.config = cases[i].config;
        assert_true(change(&world, &sketch, NULL, 0, &world_admin, &governance) < 0);
        assert_problem(&world, PROBLEM_INVALID_VALUE);
        if (strstr(world.problem.detail, cases[i].names_it) == NULL)
            fail_msg("\"%s\" does not name %s", world.problem.detail, cases[i].names_it);
    }
    struct sketch sketch = a_quota;
    sketch.team = LONG_WORD;
    assert_true(change(&world, &sketch, NULL, 0, &world_admin, &governance) < 0);
    assert_problem(&world, PROBLEM_INVALID_VALUE);
    world_close(&world);
}

static void test_parts_of_a_type_are_entries_of_their_own(void **state)
{
    (void)state;
    struct world world;
    struct sketch sketch = a_quota;
    open_world(&world);
    sketch.config = "{\"amounts\":[{\"instanceType\":\"ml.p5.48xlarge\",\"nodes\":1},"
                    "{\"instanceType\":\"ml.p5.48xlarge\",\"slice\":{\"kind\":\"mig-1g.10gb\",\"count\":2}}],"
                    "\"sharing\":{\"strategy\":\"lend-and-borrow\",\"borrowPercent\":50}}";
    struct governance governance = must(&world, &sketch);
    assert_string_equal(governance.config, sketch.config);
    world_close(&world);
}

/* HyperPod's default strategy is LendAndBorrow. */
static void test_limits_need_no_strategy(void **state)
{
    (void)state;
    struct world world;
    struct sketch sketch = a_quota;
    open_world(&world);
    sketch.config = "{\"sharing\":{\"borrowPercent\":50}}";
    struct governance governance = must(&world, &sketch);
    assert_string_equal(governance.config, sketch.config);
    world_close(&world);
}

static void test_who_may_and_what_is_taken(void **state)
{
    (void)state;
    struct world world;
    struct governance governance;
    const struct {
        const struct actor *actor;
        struct sketch sketch;
        enum problem_code code;
    } cases[] = {
        {&world_operator, {QUOTA, "train", "a", "a", "{}", NULL, -1}, PROBLEM_FORBIDDEN},
        {&world_admin, {QUOTA, "nothing", "a", "a", "{}", NULL, -1}, PROBLEM_NOT_FOUND},
        {&world_admin, {QUOTA, "train", "a", "vision", "{}", NULL, -1}, PROBLEM_CONFLICT},
        {&world_admin, {QUOTA, "serve", "vision", "a", "{}", NULL, -1}, PROBLEM_NAME_TAKEN},
        {&world_admin, {CONFIG, "train", "other", NULL, "{}", NULL, -1}, PROBLEM_CONFLICT},
        {&world_admin, {CONFIG, "serve", "main", NULL, "{}", NULL, -1}, PROBLEM_NAME_TAKEN},
    };
    open_world(&world);
    must(&world, &a_quota);
    must(&world, &a_config);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_true(change(&world, &cases[i].sketch, NULL, 0, cases[i].actor, &governance) < 0);
        assert_problem(&world, cases[i].code);
    }
    struct sketch elsewhere = a_quota;
    elsewhere.cluster = "serve";
    elsewhere.name = "vision-2";
    must(&world, &elsewhere); /* a team has a quota in each cluster */
    world_close(&world);
}

static void test_what_is_not_applied_says_so(void **state)
{
    (void)state;
    struct world world;
    struct governance governance;
    struct sketch off = a_quota, bare = a_config;
    off.cluster = bare.cluster = "serve"; /* which has no scheduler */
    off.active = 0;
    open_world(&world);
    governance = must(&world, &bare);
    assert_int_equal(governance.status, GOVERNANCE_STATUS_CREATE_FAILED);
    assert_non_null(strstr(governance.reason, "not applied"));
    assert_non_null(strstr(governance.reason, "no scheduler"));
    governance = must(&world, &off); /* what is off needs no scheduler to be so */
    assert_int_equal(governance.status, GOVERNANCE_STATUS_CREATED);
    assert_int_equal(governance.applied_at, 0);
    char uid[ID_CLUSTER_MAX];
    snprintf(uid, sizeof(uid), "%s", governance.uid);
    const struct sketch on = {.kind = QUOTA, .active = 1}, again = {.kind = QUOTA, .active = 0};
    assert_int_equal(change(&world, &on, uid, 1, &world_operator, &governance), 0);
    assert_int_equal(governance.status, GOVERNANCE_STATUS_UPDATE_FAILED);
    assert_int_equal(change(&world, &again, uid, 2, &world_operator, &governance), 0);
    assert_int_equal(governance.status, GOVERNANCE_STATUS_UPDATED);
    world_close(&world);
}

static void count_wakes(void *arg, enum service_wake what, int64_t id)
{
    assert_int_equal(what, SERVICE_WAKE_GOVERNANCE);
    assert_int_equal(id, 0);
    ++*(int *)arg;
}

static void test_what_a_scheduler_is_to_go_by_is_pending_until_it_was_seen(void **state)
{
    (void)state;
    struct world world;
    struct governance governance;
    int wakes = 0;
    open_world(&world);
    world.service.wake = count_wakes;
    world.service.wake_arg = &wakes;
    governance = must(&world, &a_quota);
    assert_int_equal(governance.status, GOVERNANCE_STATUS_CREATING);
    assert_non_null(strstr(governance.reason, "not applied yet"));
    assert_int_equal(wakes, 1);
    char uid[ID_CLUSTER_MAX];
    snprintf(uid, sizeof(uid), "%s", governance.uid);
    const struct sketch off = {.kind = QUOTA, .active = 0};
    assert_int_equal(change(&world, &off, uid, 1, &world_operator, &governance), 0);
    assert_int_equal(governance.status, GOVERNANCE_STATUS_UPDATING); /* what was made for it may have to go */
    assert_int_equal(wakes, 2);
    const struct service_governance_ref ref = {.kind = QUOTA, .uid = uid};
    assert_int_equal(service_governance_describe(&world.service, &ref, 1, &governance, &world.problem), 0);
    assert_int_equal(governance.status, GOVERNANCE_STATUS_CREATE_FAILED); /* it never will be */
    assert_non_null(strstr(governance.reason, "version 2"));
    assert_int_equal(service_governance_delete(&world.service, &world_admin, &ref, &world.problem), 0);
    assert_int_equal(wakes, 3);
    world.service.wake = NULL;
    world.service.wake_arg = NULL;
    world_close(&world);
}

static void test_versions(void **state)
{
    (void)state;
    struct world world;
    struct governance governance, read;
    struct sketch first = a_quota;
    first.description = "first";
    open_world(&world);
    governance = must(&world, &first);
    char uid[ID_CLUSTER_MAX];
    snprintf(uid, sizeof(uid), "%s", governance.uid);
    struct sketch second = {.kind = QUOTA, .team = "speech", .config = "{\"preempts\":false}", .active = -1};
    struct sketch third = {.kind = QUOTA, .description = "third", .active = -1};
    assert_true(change(&world, &second, uid, 1, &world_viewer, &governance) < 0);
    assert_problem(&world, PROBLEM_FORBIDDEN);
    clock_fake_advance(&world.clock, 1000);
    assert_int_equal(change(&world, &second, uid, 1, &world_operator, &governance), 0);
    assert_int_equal(governance.version, 2);
    assert_true(change(&world, &third, uid, 1, &world_operator, &governance) < 0);
    assert_problem(&world, PROBLEM_PRECONDITION_FAILED);
    assert_true(change(&world, &third, uid, -1, &world_operator, &governance) < 0);
    assert_problem(&world, PROBLEM_PRECONDITION_FAILED);
    assert_int_equal(change(&world, &third, uid, 0, &world_operator, &governance), 0);
    const struct service_governance_ref ref = {.kind = QUOTA, .uid = uid},
                                        named = {.kind = QUOTA, .cluster = "train", .name = "vision"};
    const struct {
        int64_t version;
        const char *team, *config, *description;
        int64_t made_at;
    } wanted[] = {{1, "vision", "{}", "first", WORLD_T0},
                  {2, "speech", "{\"preempts\":false}", "first", WORLD_T0 + 1000},
                  {3, "speech", "{\"preempts\":false}", "third", WORLD_T0 + 1000}};
    for (size_t i = 0; i < ARRAY_LEN(wanted); i++) {
        assert_int_equal(service_governance_describe(&world.service, i % 2 == 0 ? &ref : &named, wanted[i].version,
                                                     &read, &world.problem),
                         0);
        assert_int_equal(read.version, wanted[i].version);
        assert_int_equal(read.newest, 3);
        assert_string_equal(read.team, wanted[i].team);
        assert_string_equal(read.config, wanted[i].config);
        assert_string_equal(read.description, wanted[i].description);
        assert_int_equal(read.made_at, wanted[i].made_at);
        assert_int_equal(read.created_at, WORLD_T0);
        assert_string_equal(read.created_by, world_admin.name);
    }
    assert_int_equal(service_governance_describe(&world.service, &ref, 4, &read, &world.problem), STATUS_NOT_FOUND);
    assert_int_equal(service_governance_describe(&world.service, &named, 4, &read, &world.problem), STATUS_NOT_FOUND);
    assert_int_equal(service_governance_describe(&world.service, &ref, 0, &read, &world.problem), 0);
    assert_int_equal(read.version, 3);
    world_close(&world);
}

static void test_a_team_cannot_be_taken_from_another_quota(void **state)
{
    (void)state;
    struct world world;
    struct governance governance;
    struct sketch other = a_quota;
    other.name = other.team = "speech";
    open_world(&world);
    must(&world, &a_quota);
    governance = must(&world, &other);
    char uid[ID_CLUSTER_MAX];
    snprintf(uid, sizeof(uid), "%s", governance.uid);
    const struct sketch grab = {.kind = QUOTA, .team = "vision", .active = -1};
    assert_true(change(&world, &grab, uid, 0, &world_admin, &governance) < 0);
    assert_problem(&world, PROBLEM_CONFLICT);
    world_close(&world);
}

static int note_name(const void *row, void *arg)
{
    snprintf(arg, NAME_MAX_BYTES, "%s", ((const struct governance *)row)->name);
    return 0;
}

static void test_they_go_alone_and_with_their_cluster(void **state)
{
    (void)state;
    struct world world;
    struct governance governance;
    struct cluster cluster;
    char name[NAME_MAX_BYTES] = "";
    open_world(&world);
    struct sketch bare = a_config;
    bare.cluster = "empty";
    struct service_cluster_spec spec = {.name = "empty", .orchestrator = ORCHESTRATOR_NONE};
    struct service_group_spec group = {.name = "g", .provider = "local"};
    spec.groups = &group;
    spec.group_count = 1;
    assert_int_equal(service_cluster_create(&world.service, &world_admin, &spec, &cluster, &world.problem), 0);
    must(&world, &bare);
    governance = must(&world, &a_quota);
    const struct service_governance_ref ref = {.kind = QUOTA, .cluster = "train", .name = "vision"};
    assert_int_equal(service_governance_delete(&world.service, &world_operator, &ref, &world.problem), STATUS_DENIED);
    assert_int_equal(service_governance_delete(&world.service, &world_admin, &ref, &world.problem), 0);
    assert_int_equal(service_governance_delete(&world.service, &world_admin, &ref, &world.problem), STATUS_NOT_FOUND);
    must(&world, &a_quota); /* name and team are free again */
    assert_int_equal(service_cluster_delete(&world.service, &world_admin, "empty", &cluster, &world.problem), 0);
    struct db_governance_search search = {.kind = CONFIG, .name_contains = "", .cluster_uid = "", .status = ""};
    assert_int_equal(service_governance_search(&world.service, &search, NULL, note_name, name, &world.problem), 0);
    assert_string_equal(name, "");
    assert_int_equal(service_governance_search(&world.service, &search, "empty", note_name, name, &world.problem),
                     STATUS_NOT_FOUND);
    search.kind = QUOTA;
    assert_int_equal(service_governance_search(&world.service, &search, "train", note_name, name, &world.problem), 0);
    assert_string_equal(name, "vision");
    assert_int_equal(service_cluster_delete(&world.service, &world_admin, "train", &cluster, &world.problem), 0);
    assert_true(change(&world, &a_config, NULL, 0, &world_admin, &governance) < 0); /* it is being deleted */
    assert_problem(&world, PROBLEM_CONFLICT);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_has_no_meaning_is_refused),
        cmocka_unit_test(test_parts_of_a_type_are_entries_of_their_own),
        cmocka_unit_test(test_limits_need_no_strategy),
        cmocka_unit_test(test_who_may_and_what_is_taken),
        cmocka_unit_test(test_what_is_not_applied_says_so),
        cmocka_unit_test(test_what_a_scheduler_is_to_go_by_is_pending_until_it_was_seen),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_a_team_cannot_be_taken_from_another_quota),
        cmocka_unit_test(test_they_go_alone_and_with_their_cluster),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
