/* What agents tell of their machines: who may, what is kept of it, and what is not believed. */
#include "tests/support/service_world.h"

#include "db/hardware.h"
#include "db/verdict.h"
#include "server/service/agent/machine.h"

static struct machine_report *a_report(const char *instance_id, const char *boot_id)
{
    struct machine_report *report = own_calloc(1, sizeof(*report));
    snprintf(report->instance_id, sizeof(report->instance_id), "%s", instance_id);
    snprintf(report->boot_id, sizeof(report->boot_id), "%s", boot_id);
    report->hardware_known = true;
    report->hardware[0] = (struct hardware){
        .kind = HARDWARE_KIND_CHASSIS, .identity = "To be filled by O.E.M.", .serial = "None", .detail = "Example"};
    report->hardware[1] = (struct hardware){.kind = HARDWARE_KIND_GPU,
                                            .identity = "GPU-7c1c0a0e-5a0b-4a53-9f6d-2f2f0f7a9b31",
                                            .serial = "0",
                                            .location = "0000:b9:00"};
    report->hardware_count = 2;
    report->checks[0] = (struct check_state){.name = "disk", .has_run = true, .result = CHECK_RESULT_OK};
    report->checks[1] = (struct check_state){.name = "nvidia"};
    report->check_count = 2;
    return report;
}

static int count_row(const void *row, void *arg)
{
    (void)row;
    ++*(size_t *)arg;
    return 0;
}

static int copy_verdict(const void *row, void *arg)
{
    *(struct verdict *)arg = *(const struct verdict *)row;
    return 0;
}

static void test_what_is_told_is_shown(void **state)
{
    struct world world;
    (void)state;
    int64_t id = world_open_ready(&world, DB_INLINE, 1);
    autofree struct machine_report *report = a_report("i-1", WORLD_BOOT);
    autofree struct service_machine *machine = own_calloc(1, sizeof(*machine));
    assert_int_equal(service_agent_machine(&world.service, id, report, &world.problem), 0);
    assert_int_equal(service_node_hardware(&world.service, "ml", "gpu-1", machine, &world.problem), 0);
    assert_string_equal(machine->instance_id, "i-1");
    assert_int_equal(machine->hardware_count, 2);
    assert_string_equal(machine->hardware[0].identity, ""); /* an agent that believes a placeholder is not believed */
    assert_string_equal(machine->hardware[0].serial, "");
    assert_string_equal(machine->hardware[1].identity, "GPU-7c1c0a0e-5a0b-4a53-9f6d-2f2f0f7a9b31");
    assert_string_equal(machine->hardware[1].serial, "");
    assert_int_equal(machine->hardware[1].first_at, WORLD_T0);
    assert_int_equal(machine->check_count, 2);
    assert_true(machine->checks[0].has_run);
    assert_false(machine->checks[1].has_run);
    clock_fake_advance(&world.clock, 60000);
    report->check_count = 1;
    report->hardware_count = 1;
    assert_int_equal(service_agent_machine(&world.service, id, report, &world.problem), 0);
    assert_int_equal(service_node_hardware(&world.service, "ml", "gpu-1", machine, &world.problem), 0);
    assert_int_equal(machine->check_count, 1); /* the agent has no check "nvidia" any more */
    assert_int_equal(machine->checks[0].at, WORLD_T0);
    assert_true(machine->hardware[0].present);
    assert_false(machine->hardware[1].present);
    world_close(&world);
}

static void test_what_was_not_looked_at_is_not_gone(void **state)
{
    struct world world;
    (void)state;
    int64_t id = world_open_ready(&world, DB_INLINE, 1);
    autofree struct machine_report *report = a_report("i-1", WORLD_BOOT);
    autofree struct service_machine *machine = own_calloc(1, sizeof(*machine));
    assert_int_equal(service_agent_machine(&world.service, id, report, &world.problem), 0);
    clock_fake_advance(&world.clock, 60000);
    report->hardware_known = false;
    report->hardware_count = 0;
    assert_int_equal(service_agent_machine(&world.service, id, report, &world.problem), 0);
    assert_int_equal(service_node_hardware(&world.service, "ml", "gpu-1", machine, &world.problem), 0);
    assert_true(machine->hardware[0].present && machine->hardware[1].present);
    world_close(&world);
}

/* Nothing else of the machine is lost for one name. */
static void test_an_odd_location_is_written_as_a_name(void **state)
{
    struct world world;
    (void)state;
    int64_t id = world_open_ready(&world, DB_INLINE, 1);
    autofree struct machine_report *report = a_report("i-1", WORLD_BOOT);
    autofree struct service_machine *machine = own_calloc(1, sizeof(*machine));
    snprintf(report->hardware[1].location, sizeof(report->hardware[1].location), "slot 1,a=b");
    assert_int_equal(service_agent_machine(&world.service, id, report, &world.problem), 0);
    assert_int_equal(service_node_hardware(&world.service, "ml", "gpu-1", machine, &world.problem), 0);
    assert_int_equal(machine->hardware_count, 2);
    assert_string_equal(machine->hardware[1].location, "slot_1_a_b");
    assert_int_equal(machine->check_count, 2);
    world_close(&world);
}

static void note_status(int status, const struct problem *problem, void *arg)
{
    (void)problem;
    *(int *)arg = status;
}

/* Of a device that is called so. Its row in *ret_row is the newest that is open; false: none is. */
static bool say_full(struct world *world, int64_t id, const char *key, const char *device, enum severity severity,
                     struct verdict *ret_row)
{
    int answer = 1;
    size_t open = 0;
    struct verdict verdict = world_verdict(world, "i-1", key, "node.disk.full");
    snprintf(verdict.source, sizeof(verdict.source), "disk");
    snprintf(verdict.device, sizeof(verdict.device), "%s", device);
    verdict.severity = severity;
    verdict.over = severity == SEVERITY_OK;
    assert_int_equal(service_agent_verdicts(&world->service, id, &verdict, 1, clock_wall_ms(&world->clock), note_status,
                                            &answer, &world->problem),
                     0);
    assert_int_equal(answer, 0);
    struct db_tx *tx = NULL;
    const struct db_verdict_filter filter = {.node_id = id, .state = VERDICT_STATE_OPEN, .limit = 1};
    assert_int_equal(db_read_begin(world->service.db, &tx), 0);
    assert_int_equal(db_verdict_list(tx, &filter, count_row, &open), 0);
    assert_int_equal(db_verdict_list(tx, &filter, copy_verdict, ret_row), 0);
    db_read_end(world->service.db, tx);
    return open > 0;
}

/* An agent drops what is refused, and older ones have other names in their spools. */
static void test_an_odd_device_is_written_as_a_name(void **state)
{
    static const struct {
        const char *said, *stored;
    } rows[] = {{"/mnt/a=b", "/mnt/a_b"}, {"/mnt/x,y", "/mnt/x_y"}, {"$(x)", "__x_"}, {"___", "x__"}};
    struct world world;
    struct verdict row;
    (void)state;
    int64_t id = world_open_ready(&world, DB_INLINE, 1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        char key[VERDICT_KEY_MAX_BYTES];
        snprintf(key, sizeof(key), "k%zu", i);
        assert_true(say_full(&world, id, key, rows[i].said, SEVERITY_CRITICAL, &row));
        assert_string_equal(row.device, rows[i].stored);
        snprintf(key, sizeof(key), "over%zu", i);
        assert_false(say_full(&world, id, key, rows[i].said, SEVERITY_OK, &row));
    }
    world_close(&world);
}

/* One that never says that it has looked at everything, and names other pieces each time. */
static void test_an_agent_fills_no_disk(void **state)
{
    struct world world;
    (void)state;
    int64_t id = world_open_ready(&world, DB_INLINE, 1);
    autofree struct machine_report *report = a_report("i-1", WORLD_BOOT);
    struct db_tx *tx = NULL;
    size_t count = 0;
    report->hardware_known = false;
    report->hardware_count = HARDWARE_MAX;
    for (int turn = 0; turn < 4; turn++) {
        clock_fake_advance(&world.clock, 60000);
        for (size_t i = 0; i < HARDWARE_MAX; i++) {
            report->hardware[i] = (struct hardware){.kind = HARDWARE_KIND_GPU};
            snprintf(report->hardware[i].location, sizeof(report->hardware[i].location), "%d.%zu", turn, i);
        }
        assert_int_equal(service_agent_machine(&world.service, id, report, &world.problem), 0);
    }
    int64_t row = world_node_get(&world, "ml", "gpu-1").instance_row;
    assert_int_equal(db_read_begin(world.service.db, &tx), 0);
    assert_int_equal(db_hardware_list(tx, row, count_row, &count), 0);
    db_read_end(world.service.db, tx);
    assert_int_equal(count, HARDWARE_STORED_MAX);
    world_close(&world);
}

static void test_whom_it_counts_from(void **state)
{
    static const struct {
        const char *instance_id, *boot_id;
        int status;
        enum problem_code code;
    } rows[] = {{"i-2", WORLD_BOOT, STATUS_STALE, PROBLEM_STALE_REPORT},
                {"i-1", WORLD_BOOT_2, STATUS_CONFLICT, PROBLEM_CONFLICT},
                {"i-1", "", STATUS_INVALID, PROBLEM_INVALID_VALUE},
                {"i 1", WORLD_BOOT, STATUS_INVALID, PROBLEM_INVALID_VALUE}};
    struct world world;
    (void)state;
    int64_t id = world_open_ready(&world, DB_INLINE, 1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        autofree struct machine_report *report = a_report(rows[i].instance_id, rows[i].boot_id);
        assert_int_equal(service_agent_machine(&world.service, id, report, &world.problem), rows[i].status);
        assert_int_equal(world.problem.code, rows[i].code);
    }
    autofree struct machine_report *report = a_report("i-1", WORLD_BOOT);
    snprintf(report->hardware[1].detail, sizeof(report->hardware[1].detail), "\x1b[2J");
    assert_int_equal(service_agent_machine(&world.service, id, report, &world.problem), STATUS_INVALID);
    report->hardware[1].detail[0] = '\0';
    snprintf(report->checks[0].name, sizeof(report->checks[0].name), "a b");
    assert_int_equal(service_agent_machine(&world.service, id, report, &world.problem), STATUS_INVALID);
    world_close(&world);
}

#define KEY_A "AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl"
#define KEY_B "AAAAC3NzaC1lZDI1NTE5AAAAIAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

static void tell_key(struct world *world, int64_t id, const char *instance_id, const char *key)
{
    autofree struct machine_report *report = a_report(instance_id, WORLD_BOOT);
    clock_fake_advance(&world->clock, 1000);
    report->hardware_count = 1;
    report->hardware[0] =
        (struct hardware){.kind = HARDWARE_KIND_HOST_KEY, .location = "ssh-ed25519", .identity = "GPU-of-another"};
    snprintf(report->hardware[0].detail, sizeof(report->hardware[0].detail), "%s", key);
    assert_int_equal(service_agent_machine(&world->service, id, report, &world->problem), 0);
}

static int add_key(const void *row, void *arg)
{
    const struct host_key *key = row;
    assert_string_equal(key->key.identity, ""); /* charges nobody with another's past */
    text_printf(arg, "%s=%s ", key->node, key->key.detail);
    return 0;
}

static void keys_are(struct world *world, const char *node, const char *after, int limit, const char *expected)
{
    AUTO(text) struct text text = {0};
    assert_int_equal(service_host_key_list(&world->service, "ml", node, after, limit, add_key, &text, &world->problem),
                     0);
    assert_string_equal(text_get(&text), expected);
}

/* Of the machine that is there now; what no file of known hosts may hold is left out. */
static void test_host_keys(void **state)
{
    struct world world;
    (void)state;
    int64_t one = world_open_ready(&world, DB_INLINE, 2);
    int64_t two = world_ready(&world, "ml", "gpu-2", "i-2", NULL);
    keys_are(&world, "", "", 0, "");
    tell_key(&world, one, "i-1", KEY_A);
    tell_key(&world, two, "i-2", KEY_A);
    keys_are(&world, "", "", 0, "gpu-1=" KEY_A " gpu-2=" KEY_A " ");
    keys_are(&world, "", "", 1, "gpu-1=" KEY_A " ");
    keys_are(&world, "", "gpu-1", 1, "gpu-2=" KEY_A " ");
    keys_are(&world, "gpu-2", "", 0, "gpu-2=" KEY_A " ");
    tell_key(&world, two, "i-2", KEY_B);
    keys_are(&world, "gpu-2", "", 0, "gpu-2=" KEY_B " ");
    tell_key(&world, two, "i-2", "* ssh-rsa AAAA");
    keys_are(&world, "", "", 0, "gpu-1=" KEY_A " ");
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_told_is_shown),
        cmocka_unit_test(test_what_was_not_looked_at_is_not_gone),
        cmocka_unit_test(test_an_odd_location_is_written_as_a_name),
        cmocka_unit_test(test_an_odd_device_is_written_as_a_name),
        cmocka_unit_test(test_an_agent_fills_no_disk),
        cmocka_unit_test(test_whom_it_counts_from),
        cmocka_unit_test(test_host_keys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
