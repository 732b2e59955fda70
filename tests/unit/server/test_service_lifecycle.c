/* Lifecycle scripts: what an instance is given to read; what its agent says, each line once and no more than there can be. */
#include "server/service/private.h"
#include "tests/support/service_world.h"

#include "base/json.h"
#include "base/text.h"

static struct world world;
static int64_t node_id;

static int setup(void **state)
{
    (void)state;
    world_open(&world, DB_INLINE);
    world_cluster(&world, "train", "gpu", 3, ORCHESTRATOR_NONE);
    node_id = world_node_get(&world, "train", "gpu-1").id;
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    world_close(&world);
    return 0;
}

static int say(int64_t attempt, enum script_state script_state, bool final)
{
    struct service_node_view view;
    struct lifecycle_report report = {
        .script = "on_create.sh", .state = script_state, .final = final, .attempt = attempt, .exit_code = -1};
    assert_int_equal(service_node_describe(&world.service, "train", "gpu-1", &view, &world.problem), 0);
    snprintf(report.key, sizeof(report.key), "%s", view.active.uid);
    return service_agent_report_work(&world.service, node_id, &report, "", &world.problem);
}

static int told(void)
{
    struct event last;
    return world_events(&world, EVENT_KIND_LIFECYCLE_SCRIPT, &last);
}

static void test_every_attempt_there_can_be_is_told_once(void **state)
{
    enum { ATTEMPTS = 20 }; /* the most that a configuration allows */
    (void)state;
    for (int round = 0; round < 2; round++)
        for (int i = 1; i <= ATTEMPTS; i++) {
            assert_int_equal(say(i, SCRIPT_STATE_STARTED, false), 0);
            assert_int_equal(say(i, SCRIPT_STATE_FAILED, i == ATTEMPTS), 0);
        }
    assert_int_equal(told(), 2 * ATTEMPTS);
}

static int insert_events(struct db_tx *tx, void *arg)
{
    struct operation operation;
    int status = db_operation_active(tx, *(int64_t *)arg, &operation);
    for (int i = 0; i < 150 && status == 0; i++) {
        struct event event = {.kind = EVENT_KIND_OPERATION_STEP, .operation_id = operation.id, .node_id = node_id};
        snprintf(event.message, sizeof(event.message), "something later");
        status = db_event_insert(tx, &event);
    }
    return status;
}

/* However much else is told of the operation, a repeat is known and what is new is told. */
static void test_a_repeat_is_known_after_many_events(void **state)
{
    (void)state;
    assert_int_equal(say(1, SCRIPT_STATE_STARTED, false), 0);
    world_write(&world, insert_events, &node_id);
    assert_int_equal(say(1, SCRIPT_STATE_STARTED, false), 0);
    assert_int_equal(told(), 1);
    assert_int_equal(say(1, SCRIPT_STATE_FAILED, false), 0);
    assert_int_equal(told(), 2);
}

static void test_an_agent_that_never_ends_fills_no_timeline(void **state)
{
    (void)state;
    for (int i = 1; i <= 300; i++)
        assert_int_equal(say(i, SCRIPT_STATE_STARTED, false), 0);
    struct event last;
    assert_in_range(world_events(&world, EVENT_KIND_LIFECYCLE_SCRIPT, &last), 82, 128);
    assert_non_null(
        strstr(last.message, "further reports are not written down")); /* and the timeline says where it ends */
}

/* --- resource_config.json ---------------------------------------------------------------------------- */

static const char *const instances[] = {"i-00000000000000001", "i-00000000000000002", "i-00000000000000003"};

static void launch(int number)
{
    char name[16], token[SERVICE_TOKEN_TEXT_MAX];
    struct lifecycle_job job = {.key = "order", .source = "file:///srv", .scripts = {"a.sh"}};
    snprintf(name, sizeof(name), "gpu-%d", number);
    snprintf(job.instance_id, sizeof(job.instance_id), "%s", instances[number - 1]);
    world_launch(&world, "train", name, job.instance_id, token);
    agent_tasks_put(fleet_agent_tasks(world.service.fleet), world_node_get(&world, "train", name).id, &job);
}

/* "1:10.0.0.1 2: " is what that node is told: instances and the addresses that are known. Caller frees. */
static char *resources_of(int number)
{
    char name[16], address[16], error[JSON_ERROR_MAX];
    struct lifecycle_job job;
    struct text seen = {0};
    autofree char *text = NULL;
    auto_json json_t *json = NULL;
    size_t i;
    const json_t *one;
    snprintf(name, sizeof(name), "gpu-%d", number);
    snprintf(address, sizeof(address), "10.0.0.%d", number);
    assert_int_equal(service_agent_work(&world.service, world_node_get(&world, "train", name).id, address, &job, &text,
                                        &world.problem),
                     0);
    assert_string_equal(job.instance_id, instances[number - 1]);
    assert_int_equal(json_parse(text, strlen(text), strlen(text) + 1, &json, error), 0);
    const json_t *group = json_array_get(json_object_get(json, "InstanceGroups"), 0);
    json_array_foreach(json_object_get(group, "Instances"), i, one)
    {
        const char *id = json_string_value(json_object_get(one, "InstanceId"));
        const char *agent = json_string_value(json_object_get(one, "AgentIpAddress"));
        assert_string_equal(agent, json_string_value(json_object_get(one, "CustomerIpAddress")));
        text_printf(&seen, "%c:%s ", id[strlen(id) - 1], agent);
    }
    return text_take(&seen);
}

#define assert_resources(number, expected)             \
    do {                                               \
        autofree char *told_it = resources_of(number); \
        assert_string_equal(told_it, expected);        \
    } while (0)

static void test_each_reads_its_own_address_and_everybody(void **state)
{
    (void)state;
    launch(1);
    launch(2);
    assert_resources(1, "1:10.0.0.1 2: ");
    assert_resources(2, "1: 2:10.0.0.2 ");
    launch(3); /* who asks is in it, whatever was made for others a moment ago */
    assert_resources(3, "1: 2: 3:10.0.0.3 ");
    assert_resources(1, "1:10.0.0.1 2: 3: ");
}

static void tell_address(int number, int64_t seq, const char *address)
{
    char name[16];
    snprintf(name, sizeof(name), "gpu-%d", number);
    struct fleet_heartbeat beat = world_heartbeat(&world, instances[number - 1], WORLD_BOOT, seq);
    snprintf(beat.address, sizeof(beat.address), "%s", address);
    assert_int_equal(
        service_agent_heartbeat(&world.service, world_node_get(&world, "train", name).id, &beat, &world.problem), 0);
}

/* Addresses that were told are everybody's to read, soon; one's own at once, and before the connection's. */
static void test_addresses_that_were_told(void **state)
{
    (void)state;
    launch(1);
    launch(2);
    tell_address(2, 1, "192.0.2.2");
    assert_resources(1, "1:10.0.0.1 2:192.0.2.2 ");
    assert_resources(2, "1: 2:192.0.2.2 ");
    tell_address(1, 1, "2001:db8::1");
    tell_address(2, 2, "2001:db8::2");
    assert_resources(1, "1:2001:db8::1 2:192.0.2.2 ");
    assert_resources(2, "1: 2:2001:db8::2 ");
    clock_fake_advance(&world.clock, 2000);
    assert_resources(1, "1:2001:db8::1 2:2001:db8::2 ");
}

static void test_others_are_in_it_soon(void **state)
{
    (void)state;
    launch(1);
    assert_resources(1, "1:10.0.0.1 ");
    launch(2);
    assert_resources(1, "1:10.0.0.1 "); /* the same as a moment ago */
    clock_fake_advance(&world.clock, 2000);
    assert_resources(1, "1:10.0.0.1 2: ");
}

/* What is not sent yet is memory; who comes while there is too much of it comes again. */
static void test_no_more_is_under_way_than_there_is_room_for(void **state)
{
    enum { ROOM = 128 << 20 };
    struct lifecycle_job job;
    autofree char *text = NULL;
    (void)state;
    launch(1);
    assert_true(memory_resources_enter(world.service.memory, ROOM));
    assert_int_equal(service_agent_work(&world.service, node_id, "10.0.0.1", &job, &text, &world.problem),
                     STATUS_UNAVAILABLE);
    assert_problem(&world, PROBLEM_UNAVAILABLE);
    assert_null(text);
    service_agent_work_sent(&world.service, ROOM);
    assert_int_equal(service_agent_work(&world.service, node_id, "10.0.0.1", &job, &text, &world.problem), 0);
    assert_false(memory_resources_enter(world.service.memory, ROOM));
    service_agent_work_sent(&world.service, strlen(text));
    assert_true(memory_resources_enter(world.service.memory, ROOM + 1)); /* alone, any goes */
}

/* The longer it took, the longer it is good for. */
static void test_making_it_takes_a_part_of_the_time_only(void **state)
{
    struct service_memory *memory = service_memory_new();
    (void)state;
    memory_resources_put(memory, 7, 1000, 1000, own_strdup("quick"));
    assert_string_equal(memory_resources_get(memory, 7, 2999), "quick");
    assert_null(memory_resources_get(memory, 7, 3000));
    assert_null(memory_resources_get(memory, 8, 1000));
    memory_resources_put(memory, 7, 1000, 2000, own_strdup("slow"));
    assert_string_equal(memory_resources_get(memory, 7, 11999), "slow");
    assert_null(memory_resources_get(memory, 7, 12000));
    service_memory_free(memory);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_every_attempt_there_can_be_is_told_once, setup, teardown),
        cmocka_unit_test_setup_teardown(test_an_agent_that_never_ends_fills_no_timeline, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_repeat_is_known_after_many_events, setup, teardown),
        cmocka_unit_test_setup_teardown(test_each_reads_its_own_address_and_everybody, setup, teardown),
        cmocka_unit_test_setup_teardown(test_addresses_that_were_told, setup, teardown),
        cmocka_unit_test_setup_teardown(test_others_are_in_it_soon, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_more_is_under_way_than_there_is_room_for, setup, teardown),
        cmocka_unit_test(test_making_it_takes_a_part_of_the_time_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
