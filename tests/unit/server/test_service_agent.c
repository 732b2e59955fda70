/* How agents come in: by which token, as which instance, and who is turned away at the API. */
#include "tests/support/service_world.h"

#include "base/text.h"
#include "server/live/provider_registry.h"

struct arrival {
    char credential[SERVICE_TOKEN_TEXT_MAX];
    int64_t node_id;
};

static int enroll(struct world *world, const char *token, const char *node, const char *instance_id,
                  const char *boot_id, struct arrival *ret_arrival)
{
    struct service_enrollment enrollment = {.node = ""};
    snprintf(enrollment.node, sizeof(enrollment.node), "%s", node);
    snprintf(enrollment.instance_id, sizeof(enrollment.instance_id), "%s", instance_id);
    snprintf(enrollment.boot_id, sizeof(enrollment.boot_id), "%s", boot_id);
    return service_agent_enroll(&world->service, token, &enrollment, &ret_arrival->node_id, ret_arrival->credential,
                                &world->problem);
}

static void free_token(struct world *world, const char *cluster, const char *node, char *ret_text)
{
    struct token token;
    assert_int_equal(service_token_create_enrollment(&world->service, &world_admin, cluster, node, 0, &token, ret_text,
                                                     &world->problem),
                     0);
}

static int authenticate(struct world *world, const char *credential, int64_t *ret_node_id)
{
    return service_agent_authenticate(&world->service, credential, strlen(credential), ret_node_id);
}

static void open_with_cluster(struct world *world)
{
    world_open(world, DB_INLINE);
    world_cluster(world, "ml", "gpu", 3, ORCHESTRATOR_NONE);
}

/* --- a launched instance --------------------------------------------------------------------------- */

static void test_a_launched_instance_comes_in(void **state)
{
    (void)state;
    struct world world;
    struct arrival arrival;
    struct event event;
    char token[SERVICE_TOKEN_TEXT_MAX], expected[SERVICE_TOKEN_TEXT_MAX];
    open_with_cluster(&world);
    world_launch(&world, "ml", "gpu-1", "i-1", token);
    assert_int_equal(enroll(&world, token, "", "i-1", WORLD_BOOT, &arrival), 0);
    assert_int_equal(arrival.node_id, world_node_get(&world, "ml", "gpu-1").id);
    snprintf(expected, sizeof(expected), "hfn_%" PRId64 ".", arrival.node_id);
    assert_true(text_starts_with(arrival.credential, expected));

    struct instance instance = world_instance(&world, "i-1");
    assert_int_equal(instance.state, INSTANCE_STATE_RUNNING);
    assert_string_equal(instance.boot_id, WORLD_BOOT);
    assert_int_equal(instance.boot_at, WORLD_T0);
    assert_int_equal(world.agent_changes, 1);
    assert_int_equal(world_events(&world, EVENT_KIND_AGENT_ENROLLED, &event), 1);
    assert_string_equal(event.node, "gpu-1");
    assert_string_equal(event.instance_id, "i-1");

    int64_t node_id = 0;
    assert_int_equal(authenticate(&world, arrival.credential, &node_id), 0);
    assert_int_equal(node_id, arrival.node_id);
    assert_int_equal(world_beat(&world, node_id, "i-1", WORLD_BOOT, 1), 0);
    world_close(&world);
}

static void test_enrolling_again_replaces_the_credential(void **state)
{
    (void)state;
    struct world world;
    struct arrival first, second;
    int64_t node_id;
    char token[SERVICE_TOKEN_TEXT_MAX];
    open_with_cluster(&world);
    world_launch(&world, "ml", "gpu-1", "i-1", token);
    assert_int_equal(enroll(&world, token, "gpu-1", "i-1", WORLD_BOOT, &first), 0);
    clock_fake_advance(&world.clock, 5000);
    assert_int_equal(enroll(&world, token, "gpu-1", "i-1", WORLD_BOOT, &second), 0);
    assert_int_equal(authenticate(&world, first.credential, &node_id), STATUS_UNAUTHENTICATED);
    assert_int_equal(authenticate(&world, second.credential, &node_id), 0);
    assert_int_equal(world_instance(&world, "i-1").boot_at, WORLD_T0); /* the same boot: its time stays */
    assert_int_equal(enroll(&world, token, "gpu-1", "i-1", WORLD_BOOT_2, &second), 0);
    assert_int_equal(world_instance(&world, "i-1").boot_at, WORLD_T0 + 5000);
    world_close(&world);
}

/* A credential survives a restart of the server: the reconcile loop fills the fleet from the store. */
static int note_credential(const void *row, void *arg)
{
    const struct credential *credential = row;
    struct world *world = arg;
    fleet_set_credential(world->service.fleet, credential->node_id, credential->instance_id, credential->hash);
    return 0;
}

static void test_a_credential_survives_a_restart(void **state)
{
    (void)state;
    struct world world;
    char credential[SERVICE_TOKEN_TEXT_MAX];
    int64_t node_id;
    struct db_tx *tx = NULL;
    open_with_cluster(&world);
    int64_t id = world_ready(&world, "ml", "gpu-1", "i-1", credential);
    fleet_free(world.service.fleet);
    world.service.fleet = fleet_new();
    assert_int_equal(authenticate(&world, credential, &node_id), STATUS_UNAUTHENTICATED);
    struct fleet_slot slot = {.node_id = id, .instance_id = "i-1", .boot_id = WORLD_BOOT};
    fleet_put(world.service.fleet, &slot);
    assert_int_equal(db_read_begin(world.service.db, &tx), 0);
    assert_int_equal(db_credential_list(tx, note_credential, &world), 0);
    db_read_end(world.service.db, tx);
    assert_int_equal(authenticate(&world, credential, &node_id), 0);
    world_close(&world);
}

/* --- who is turned away ---------------------------------------------------------------------------- */

static void test_enrolments_that_are_refused(void **state)
{
    (void)state;
    struct world world;
    struct arrival arrival;
    char own[SERVICE_TOKEN_TEXT_MAX], any[SERVICE_TOKEN_TEXT_MAX], bound[SERVICE_TOKEN_TEXT_MAX];
    open_with_cluster(&world);
    world_launch(&world, "ml", "gpu-1", "i-1", own);
    free_token(&world, "ml", "", any);
    free_token(&world, "ml", "gpu-2", bound);
    const struct {
        const char *token, *node, *instance_id, *boot_id;
        int status;
        enum problem_code code;
    } table[] = {
        {NULL, "gpu-1", "i-1", WORLD_BOOT, STATUS_UNAUTHENTICATED, PROBLEM_UNAUTHENTICATED},
        {"hfe_x", "gpu-1", "i-1", WORLD_BOOT, STATUS_UNAUTHENTICATED, PROBLEM_UNAUTHENTICATED},
        {"hfe_0123456789012345678901234567890123456789012", "gpu-1", "i-1", WORLD_BOOT, STATUS_UNAUTHENTICATED,
         PROBLEM_UNAUTHENTICATED},
        {own, "gpu-1", "i-2", WORLD_BOOT, STATUS_DENIED, PROBLEM_FORBIDDEN},
        {own, "gpu-2", "i-1", WORLD_BOOT, STATUS_DENIED, PROBLEM_FORBIDDEN},
        {own, "gpu-1", "", WORLD_BOOT, STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {own, "gpu-1", "i 1", WORLD_BOOT, STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {own, "gpu-1", "i-1", "", STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {own, "gpu-1", "i-1", "a\nb", STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {any, "", "i-9", WORLD_BOOT, STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {any, "gpu-9", "i-9", WORLD_BOOT, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND},
        {any, "gpu-1", "i-9", WORLD_BOOT, STATUS_CONFLICT, PROBLEM_CONFLICT},  /* filled by a provider */
        {any, "gpu-2", "i-1", WORLD_BOOT, STATUS_STALE, PROBLEM_STALE_REPORT}, /* fills another slot */
        {bound, "gpu-3", "i-9", WORLD_BOOT, STATUS_DENIED, PROBLEM_FORBIDDEN},
    };
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        int status = enroll(&world, table[i].token, table[i].node, table[i].instance_id, table[i].boot_id, &arrival);
        if (status != table[i].status)
            fail_msg("row %zu: %s, %s", i, status_text(status), world.problem.detail);
        assert_problem(&world, table[i].code);
    }
    assert_int_equal(world.agent_changes, 0);
    world_close(&world);
}

/* An agent without the instance id of its launch makes one up. */
static void test_a_made_up_instance_takes_no_slot_of_a_provider(void **state)
{
    (void)state;
    struct world world;
    struct arrival arrival;
    char any[SERVICE_TOKEN_TEXT_MAX], own[SERVICE_TOKEN_TEXT_MAX];
    open_with_cluster(&world);
    world.service.providers = provider_registry_new();
    provider_registry_add(world.service.providers, "other", "ec2", false, true);
    provider_registry_add(world.service.providers, "local", "ec2", false, true);
    free_token(&world, "ml", "", any);
    assert_int_equal(enroll(&world, any, "gpu-1", "i-9", WORLD_BOOT, &arrival), STATUS_CONFLICT);
    assert_string_equal(world.problem.detail,
                        "The provider local launches the machines of \"gpu-1\", and did not launch i-9. The agent of a "
                        "launched machine has the --instance-id and the token of its launch.");
    world_launch(&world, "ml", "gpu-1", "i-1", own);
    assert_int_equal(enroll(&world, any, "gpu-1", "i-9", WORLD_BOOT, &arrival), STATUS_CONFLICT);
    assert_string_equal(
        world.problem.detail,
        "The slot of \"gpu-1\" is filled by the instance i-1, which a provider launched. Its agent needs "
        "--instance-id i-1. To fill the slot with another machine, replace the node.");
    assert_int_equal(enroll(&world, any, "ip-10-0-0-1", "i-1", WORLD_BOOT, &arrival), STATUS_NOT_FOUND);
    assert_non_null(strstr(world.problem.detail, "hpctl node list"));
    assert_int_equal(enroll(&world, any, "gpu-1", "i-1", WORLD_BOOT, &arrival), 0);
    provider_registry_free(TAKE(world.service.providers));

    /* People bring machines, and their agents come by themselves. */
    world.service.providers = provider_registry_new();
    provider_registry_add(world.service.providers, "local", "manual", true, false);
    assert_int_equal(enroll(&world, any, "gpu-2", "i-8", WORLD_BOOT, &arrival), 0);
    provider_registry_free(TAKE(world.service.providers));
    world_close(&world);
}

static void test_an_expired_token_enrols_nobody(void **state)
{
    (void)state;
    struct world world;
    struct arrival arrival;
    char token[SERVICE_TOKEN_TEXT_MAX];
    open_with_cluster(&world);
    world_launch(&world, "ml", "gpu-1", "i-1", token);
    clock_fake_advance(&world.clock, MS_PER_HOUR);
    assert_int_equal(enroll(&world, token, "gpu-1", "i-1", WORLD_BOOT, &arrival), STATUS_UNAUTHENTICATED);
    world_close(&world);
}

static void test_what_was_replaced_does_not_come_back(void **state)
{
    (void)state;
    struct world world;
    struct arrival arrival;
    char old_token[SERVICE_TOKEN_TEXT_MAX], new_token[SERVICE_TOKEN_TEXT_MAX], any[SERVICE_TOKEN_TEXT_MAX];
    open_with_cluster(&world);
    world_launch(&world, "ml", "gpu-1", "i-1", old_token);
    assert_int_equal(enroll(&world, old_token, "", "i-1", WORLD_BOOT, &arrival), 0);
    char old_credential[SERVICE_TOKEN_TEXT_MAX];
    memcpy(old_credential, arrival.credential, sizeof(old_credential));
    int64_t node_id;
    world_instance_set(&world, "i-1", INSTANCE_STATE_TERMINATED);
    world_launch(&world, "ml", "gpu-1", "i-2", new_token);
    assert_int_equal(authenticate(&world, old_credential, &node_id), STATUS_UNAUTHENTICATED);
    assert_int_equal(enroll(&world, old_token, "", "i-1", WORLD_BOOT, &arrival), STATUS_STALE);
    assert_problem(&world, PROBLEM_STALE_REPORT);
    free_token(&world, "ml", "", any);
    assert_int_equal(enroll(&world, any, "gpu-1", "i-1", WORLD_BOOT, &arrival), STATUS_CONFLICT);
    assert_int_equal(enroll(&world, new_token, "", "i-2", WORLD_BOOT_2, &arrival), 0);
    world_close(&world);
}

static void test_what_is_being_terminated_does_not_come_in(void **state)
{
    (void)state;
    struct world world;
    struct arrival arrival;
    char token[SERVICE_TOKEN_TEXT_MAX];
    open_with_cluster(&world);
    world_launch(&world, "ml", "gpu-1", "i-1", token);
    world_instance_set(&world, "i-1", INSTANCE_STATE_TERMINATING);
    assert_int_equal(enroll(&world, token, "", "i-1", WORLD_BOOT, &arrival), STATUS_STALE);
    world_node_set(&world, "ml", "gpu-1", NODE_STATE_DELETING, HEALTH_UNKNOWN);
    assert_int_equal(enroll(&world, token, "", "i-1", WORLD_BOOT, &arrival), STATUS_CONFLICT);
    world_close(&world);
}

/* A machine that is about to reboot still speaks; only another boot ends that. */
static void test_rebooting_ends_with_another_boot(void **state)
{
    (void)state;
    struct world world;
    struct arrival arrival;
    char token[SERVICE_TOKEN_TEXT_MAX];
    open_with_cluster(&world);
    world_launch(&world, "ml", "gpu-1", "i-1", token);
    assert_int_equal(enroll(&world, token, "", "i-1", WORLD_BOOT, &arrival), 0);
    world_instance_set(&world, "i-1", INSTANCE_STATE_REBOOTING);
    assert_int_equal(enroll(&world, token, "", "i-1", WORLD_BOOT, &arrival), 0);
    assert_int_equal(world_instance(&world, "i-1").state, INSTANCE_STATE_REBOOTING);
    assert_int_equal(enroll(&world, token, "", "i-1", WORLD_BOOT_2, &arrival), 0);
    assert_int_equal(world_instance(&world, "i-1").state, INSTANCE_STATE_RUNNING);
    world_close(&world);
}

/* --- bare machines --------------------------------------------------------------------------------- */

static void test_a_bare_machine_registers_itself(void **state)
{
    (void)state;
    struct world world;
    struct arrival first, second;
    int64_t node_id;
    char token[SERVICE_TOKEN_TEXT_MAX];
    open_with_cluster(&world);
    free_token(&world, "ml", "gpu-2", token);
    assert_int_equal(enroll(&world, token, "", "i-bare", WORLD_BOOT, &first), 0);
    struct node node = world_node_get(&world, "ml", "gpu-2");
    struct instance instance = world_instance(&world, "i-bare");
    assert_int_equal(node.instance_row, instance.id);
    assert_int_equal(instance.state, INSTANCE_STATE_RUNNING);
    assert_int_equal(authenticate(&world, first.credential, &node_id), 0);
    assert_int_equal(world_beat(&world, node_id, "i-bare", WORLD_BOOT, 1), 0);
    assert_int_equal(enroll(&world, token, "", "i-bare", WORLD_BOOT, &first), 0); /* again */

    /* Another board in the same rack place: the earlier one makes way, and stays away. */
    assert_int_equal(enroll(&world, token, "gpu-2", "i-board2", WORLD_BOOT_2, &second), 0);
    assert_int_equal(world_instance(&world, "i-bare").state, INSTANCE_STATE_TERMINATED);
    assert_int_equal(world_node_get(&world, "ml", "gpu-2").instance_row, world_instance(&world, "i-board2").id);
    assert_int_equal(authenticate(&world, first.credential, &node_id), STATUS_UNAUTHENTICATED);
    assert_int_equal(enroll(&world, token, "gpu-2", "i-bare", WORLD_BOOT, &first), STATUS_STALE);
    world_close(&world);
}

/* A wrong --node takes no slot from a machine that works; a token for that very node does. */
static void test_a_slot_that_speaks_is_not_taken_by_name_alone(void **state)
{
    (void)state;
    struct world world;
    struct arrival first, second;
    char shared[SERVICE_TOKEN_TEXT_MAX], own[SERVICE_TOKEN_TEXT_MAX];
    open_with_cluster(&world);
    free_token(&world, "ml", "", shared);
    free_token(&world, "ml", "gpu-2", own);
    assert_int_equal(enroll(&world, shared, "gpu-2", "i-bare", WORLD_BOOT, &first), 0);
    assert_int_equal(enroll(&world, shared, "gpu-2", "i-bare2", WORLD_BOOT, &second), 0); /* the first never spoke */
    assert_int_equal(world_beat(&world, second.node_id, "i-bare2", WORLD_BOOT, 1), 0);
    assert_int_equal(enroll(&world, shared, "gpu-2", "i-other", WORLD_BOOT_2, &first), STATUS_CONFLICT);
    assert_non_null(strstr(world.problem.detail, "i-bare2"));
    assert_int_equal(world_beat(&world, second.node_id, "i-bare2", WORLD_BOOT, 2), 0);
    assert_int_equal(enroll(&world, shared, "gpu-2", "i-bare2", WORLD_BOOT, &second), 0); /* itself may */
    assert_int_equal(world_beat(&world, second.node_id, "i-bare2", WORLD_BOOT, 1), 0);
    assert_int_equal(enroll(&world, own, "gpu-2", "i-other", WORLD_BOOT_2, &first), 0);
    assert_int_equal(world_instance(&world, "i-bare2").state, INSTANCE_STATE_TERMINATED);
    world_close(&world);
}

/* --- credentials ----------------------------------------------------------------------------------- */

static void test_credentials_that_open_nothing(void **state)
{
    (void)state;
    struct world world;
    char credential[SERVICE_TOKEN_TEXT_MAX], other[SERVICE_TOKEN_TEXT_MAX], bad[SERVICE_TOKEN_TEXT_MAX + 16];
    int64_t node_id = -1;
    open_with_cluster(&world);
    int64_t id = world_ready(&world, "ml", "gpu-1", "i-1", credential);
    int64_t other_id = world_ready(&world, "ml", "gpu-2", "i-2", other);
    static const char *const shapes[] = {"",
                                         "hfn_",
                                         "hfn_1",
                                         "hfn_1.",
                                         "hfn_.0123456789012345678901234567890123456789012",
                                         "hfn_0.0123456789012345678901234567890123456789012",
                                         "hfn_-1.0123456789012345678901234567890123456789012",
                                         "hfn_99999999999999999999.0123456789012345678901234567890123456789012",
                                         "hfn_9223372036854775807.0123456789012345678901234567890123456789012",
                                         "hfn_1x.0123456789012345678901234567890123456789012",
                                         "hfa_0123456789012345678901234567890123456789012"};
    for (size_t i = 0; i < ARRAY_LEN(shapes); i++)
        assert_int_equal(authenticate(&world, shapes[i], &node_id), STATUS_UNAUTHENTICATED);
    assert_int_equal(service_agent_authenticate(&world.service, NULL, 0, &node_id), STATUS_UNAUTHENTICATED);
    /* The secret of one node does not speak for another. */
    snprintf(bad, sizeof(bad), "hfn_%" PRId64 "%s", other_id, strchr(credential, '.'));
    assert_int_equal(authenticate(&world, bad, &node_id), STATUS_UNAUTHENTICATED);
    snprintf(bad, sizeof(bad), "%sx", credential);
    assert_int_equal(authenticate(&world, bad, &node_id), STATUS_UNAUTHENTICATED);
    assert_int_equal(service_agent_authenticate(&world.service, credential, strlen(credential) - 1, &node_id),
                     STATUS_UNAUTHENTICATED);
    assert_int_equal(node_id, -1);
    /* The text need not end with a zero. */
    assert_int_equal(service_agent_authenticate(&world.service, bad, strlen(credential), &node_id), 0);
    assert_int_equal(node_id, id);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_launched_instance_comes_in),
        cmocka_unit_test(test_enrolling_again_replaces_the_credential),
        cmocka_unit_test(test_a_credential_survives_a_restart),
        cmocka_unit_test(test_enrolments_that_are_refused),
        cmocka_unit_test(test_a_made_up_instance_takes_no_slot_of_a_provider),
        cmocka_unit_test(test_an_expired_token_enrols_nobody),
        cmocka_unit_test(test_what_was_replaced_does_not_come_back),
        cmocka_unit_test(test_what_is_being_terminated_does_not_come_in),
        cmocka_unit_test(test_rebooting_ends_with_another_boot),
        cmocka_unit_test(test_a_bare_machine_registers_itself),
        cmocka_unit_test(test_a_slot_that_speaks_is_not_taken_by_name_alone),
        cmocka_unit_test(test_credentials_that_open_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
