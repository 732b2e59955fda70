/* Rolling software updates of whole groups, as they are asked for. */
#include "change_world.h"

static struct world world;

static int setup(void **state)
{
    static const struct service_backends backends = {.providers = {"local"}, .provider_count = 1, .release = "1.0.0"};
    struct service_group_spec groups[] = {a_spec("a", 2), a_spec("b", 1)};
    (void)state;
    world_open(&world, DB_INLINE);
    world.service.backends = &backends;
    snprintf(groups[1].image_id, sizeof(groups[1].image_id), "ami-01234567");
    snprintf(groups[1].release, sizeof(groups[1].release), "0.9.0");
    change_world_create(&world, PROVISIONING_CONTINUOUS, groups, ARRAY_LEN(groups));
    change_world_state_set(&world, CLUSTER_STATE_IN_SERVICE);
    change_world_group_set(&world, "a", GROUP_STATE_IN_SERVICE);
    change_world_group_set(&world, "b", GROUP_STATE_DEGRADED);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_close(&world);
    return 0;
}

static struct service_software_group a_request(const char *group, const char *release)
{
    struct service_software_group request = {.group = ""};
    snprintf(request.group, sizeof(request.group), "%s", group);
    snprintf(request.release, sizeof(request.release), "%s", release);
    return request;
}

static int update(const struct rollout *how, const struct service_software_group *groups, size_t count)
{
    struct cluster cluster;
    return service_cluster_update_software(&world.service, &world_operator, "ml", how, groups, count, &cluster,
                                           &world.problem);
}

static struct rollout rollout_of(const char *name)
{
    struct service_cluster_view view = change_world_view(&world);
    struct rollout found = {.group_id = 0};
    for (size_t i = 0; i < view.group_count; i++)
        if (text_equal(view.groups[i].group.name, name))
            found = view.groups[i].rollout;
    service_cluster_view_free(&view);
    return found;
}

#define assert_refused(expr, status, problem_code) \
    do {                                           \
        assert_int_equal(expr, status);            \
        assert_problem(&world, problem_code);      \
    } while (0)

static void test_all_groups_roll_to_the_default(void **state)
{
    const struct rollout how = {.image_id = "default", .batch_value = 2, .wait_ms = 5000};
    (void)state;
    assert_int_equal(update(&how, NULL, 0), 0);
    const struct rollout a = rollout_of("a"), b = rollout_of("b");
    assert_true(a.state == ROLLOUT_STATE_PENDING && a.batch_value == 2 && a.wait_ms == 5000 && a.batch == 0);
    assert_string_equal(b.release, "1.0.0");
    assert_string_equal(b.previous_release, "0.9.0");
    assert_string_equal(b.image_id, "default");
    assert_string_equal(b.previous_image_id, "ami-01234567");
    assert_string_equal(change_world_group(&world, "b").release, "1.0.0"); /* what new instances get from now on */
    assert_int_equal(change_world_group(&world, "a").state, GROUP_STATE_SYSTEM_UPDATING);
    struct service_cluster_view view = change_world_view(&world);
    assert_int_equal(view.cluster.state, CLUSTER_STATE_SYSTEM_UPDATING);
    service_cluster_view_free(&view);
    assert_refused(update(&how, NULL, 0), STATUS_CONFLICT, PROBLEM_CONFLICT);
    assert_true(world_events(&world, EVENT_KIND_ROLLOUT, NULL) > 0);
}

/* What somebody made is left only when that is asked for. */
static void test_an_image_of_ones_own(void **state)
{
    const struct rollout how = {.batch_value = 1};
    const struct service_software_group both[] = {a_request("a", ""), a_request("b", "")},
                                        only_b[] = {a_request("b", "")}, without_b[] = {a_request("a", "")},
                                        release_of_b[] = {a_request("b", "2.0.0")};
    (void)state;
    assert_refused(update(&how, NULL, 0), STATUS_INVALID, PROBLEM_INVALID_VALUE);
    assert_non_null(strstr(world.problem.detail, "\"b\" runs an image of its own, ami-01234567"));
    assert_refused(update(&how, both, 2), STATUS_INVALID, PROBLEM_INVALID_VALUE);
    assert_refused(update(&how, only_b, 1), STATUS_INVALID, PROBLEM_INVALID_VALUE);
    assert_int_equal(rollout_of("a").group_id, 0); /* all or none */
    assert_int_equal(update(&how, release_of_b, 1), 0);
    assert_string_equal(rollout_of("b").image_id, "ami-01234567");
    assert_string_equal(rollout_of("b").release, "2.0.0");
    change_world_state_set(&world, CLUSTER_STATE_IN_SERVICE);
    assert_int_equal(update(&how, without_b, 1), 0);
    assert_string_equal(rollout_of("a").image_id, "");
    assert_string_equal(rollout_of("a").release, "1.0.0");
}

static void test_only_named_groups_roll_each_to_its_own(void **state)
{
    struct rollout how = {.batch_value = 50, .batch_is_percent = true};
    const struct service_software_group requests[] = {a_request("b", "2.0.0")};
    (void)state;
    snprintf(how.image_id, sizeof(how.image_id), "ami-89abcdef");
    assert_int_equal(update(&how, requests, 1), 0);
    assert_int_equal(rollout_of("a").group_id, 0);
    const struct rollout b = rollout_of("b");
    assert_string_equal(b.release, "2.0.0");
    assert_string_equal(b.image_id, "ami-89abcdef");
    assert_true(b.batch_is_percent);
    assert_int_equal(change_world_group(&world, "a").state, GROUP_STATE_IN_SERVICE);
}

static void test_groups_that_are_not_ready(void **state)
{
    const struct rollout how = {.batch_value = 1};
    const struct service_software_group requests[] = {a_request("a", ""), a_request("b", "")},
                                        strange[] = {a_request("c", "")};
    (void)state;
    change_world_group_set(&world, "b", GROUP_STATE_CREATING);
    assert_refused(update(&how, requests, 2), STATUS_CONFLICT, PROBLEM_CONFLICT); /* named: all or none */
    assert_int_equal(rollout_of("a").group_id, 0);
    assert_int_equal(change_world_group(&world, "a").state, GROUP_STATE_IN_SERVICE);
    assert_refused(update(&how, strange, 1), STATUS_NOT_FOUND, PROBLEM_NOT_FOUND);
    assert_int_equal(update(&how, NULL, 0), 0); /* not named: those that are */
    assert_int_equal(rollout_of("b").group_id, 0);
    assert_true(rollout_of("a").group_id != 0);
}

static void test_states_of_clusters_that_do_not_roll(void **state)
{
    const struct rollout how = {.batch_value = 1};
    (void)state;
    for (int s = 0; s < CLUSTER_STATE_COUNT; s++) {
        if (s == CLUSTER_STATE_IN_SERVICE)
            continue;
        change_world_state_set(&world, (enum cluster_state)s);
        assert_refused(update(&how, NULL, 0), STATUS_CONFLICT, PROBLEM_CONFLICT);
    }
    struct cluster cluster;
    assert_refused(
        service_cluster_update_software(&world.service, &world_viewer, "ml", &how, NULL, 0, &cluster, &world.problem),
        STATUS_DENIED, PROBLEM_FORBIDDEN);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_all_groups_roll_to_the_default),         TEST(test_an_image_of_ones_own),
        TEST(test_only_named_groups_roll_each_to_its_own), TEST(test_groups_that_are_not_ready),
        TEST(test_states_of_clusters_that_do_not_roll),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
