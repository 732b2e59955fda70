/* Injected lines: genuine, only from administrators, only to an agent that is there, and never without a trace. */
#include "tests/support/service_world.h"

#include "policy/faults/faults.h"

static int64_t open_with_node(struct world *world)
{
    int64_t id = world_open_ready(world, DB_INLINE, 2);
    assert_int_equal(world_beat(world, id, "i-1", WORLD_BOOT, 1), 0);
    return id;
}

static int inject(struct world *world, int code, const char *pci, char *ret_line)
{
    return service_node_inject_xid(&world->service, &world_admin, "ml", "gpu-1", code, pci, ret_line, &world->problem);
}

static void test_lines_are_what_the_driver_writes(void **state)
{
    (void)state;
    static const struct {
        int code;
        const char *pci, *line;
    } table[] = {
        {79, NULL, "NVRM: Xid (PCI:0000:b9:00): 79, GPU has fallen off the bus."},
        {79, "", "NVRM: Xid (PCI:0000:b9:00): 79, GPU has fallen off the bus."},
        {79, "0001:0A:00.0", "NVRM: Xid (PCI:0001:0A:00.0): 79, GPU has fallen off the bus."},
        {74, NULL,
         "NVRM: Xid (PCI:0000:b9:00): 74, pid=<unknown>, name=<unknown>, NVLink: fatal error detected on link "
         "6(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)"},
        {109, NULL, "NVRM: Xid (PCI:0000:b9:00): 109, pid=<unknown>, name=<unknown>, injected by hpctl"},
    };
    struct world world;
    char line[RAW_LINE_MAX_BYTES];
    int64_t id = open_with_node(&world);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        char taken[RAW_LINE_MAX_BYTES];
        assert_int_equal(inject(&world, table[i].code, table[i].pci, line), 0);
        assert_string_equal(line, table[i].line);
        assert_true(fleet_take_directive(world.service.fleet, id, taken));
        assert_string_equal(taken, line);
    }
    struct event event;
    assert_int_equal(world_events(&world, EVENT_KIND_INJECTED, &event), (int)ARRAY_LEN(table));
    assert_non_null(strstr(event.message, "injected by hpctl"));
    assert_non_null(strstr(event.message, "token:admin"));
    world_close(&world);
}

/* Whatever code is asked for, the agent's own parser must know the line as that code. */
static void test_every_line_is_understood_by_the_agent(void **state)
{
    (void)state;
    struct world world;
    char line[RAW_LINE_MAX_BYTES];
    char taken[RAW_LINE_MAX_BYTES];
    int64_t id = open_with_node(&world);
    for (int code = 1; code <= 175; code++) {
        struct xid_line xid;
        assert_int_equal(inject(&world, code, NULL, line), 0);
        assert_true(fleet_take_directive(world.service.fleet, id, taken));
        assert_int_equal(xid_line_parse(line, strlen(line), &xid), 0);
        assert_int_equal(xid.code, code);
        assert_string_equal(xid.device, "0000:b9:00");
    }
    /* The exercise's NVLink line must ask for something, or nobody could practise with it. */
    struct fault_judgement judgement;
    assert_int_equal(inject(&world, 74, NULL, line), 0);
    fault_judge("kmsg", "xid.74", line, &judgement);
    /* A second line while the first one waits is refused, so that none is lost unseen. */
    assert_int_equal(inject(&world, 154, NULL, line), STATUS_CONFLICT);
    assert_non_null(strstr(world.problem.detail, "still waits"));
    assert_true(fleet_take_directive(world.service.fleet, id, taken));
    assert_true(judgement.action == ACTION_CLASS_RESET || judgement.action == ACTION_CLASS_REBOOT ||
                judgement.action == ACTION_CLASS_REPLACE);
    assert_int_equal(inject(&world, 154, NULL, line), 0);
    fault_judge("kmsg", "xid.154", line, &judgement);
    assert_true(judgement.driver_word);
    assert_int_equal(judgement.action, ACTION_CLASS_REBOOT);
    world_close(&world);
}

static void test_injections_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        const struct actor *actor;
        const char *node;
        int code;
        const char *pci;
        int status;
        enum problem_code problem;
    } table[] = {
        {&world_operator, "gpu-1", 79, NULL, STATUS_DENIED, PROBLEM_FORBIDDEN},
        {&world_admin, "gpu-9", 79, NULL, STATUS_NOT_FOUND, PROBLEM_NOT_FOUND},
        {&world_admin, "gpu-1", 0, NULL, STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {&world_admin, "gpu-1", -79, NULL, STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {&world_admin, "gpu-1", 1000, NULL, STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {&world_admin, "gpu-1", 79, "b9:00", STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {&world_admin, "gpu-1", 79, "0000:b9:00): 1, \n", STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {&world_admin, "gpu-1", 79, "0000:b9:0g", STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {&world_admin, "gpu-1", 79, "0000:b9:00.", STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {&world_admin, "gpu-2", 79, NULL, STATUS_CONFLICT, PROBLEM_CONFLICT}, /* empty slot */
    };
    struct world world;
    char line[RAW_LINE_MAX_BYTES] = "untouched";
    (void)open_with_node(&world);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        assert_int_equal(service_node_inject_xid(&world.service, table[i].actor, "ml", table[i].node, table[i].code,
                                                 table[i].pci, line, &world.problem),
                         table[i].status);
        assert_problem(&world, table[i].problem);
    }
    assert_string_equal(line, "untouched");
    assert_int_equal(world_events(&world, EVENT_KIND_INJECTED, NULL), 0);
    world_close(&world);
}

static void test_nothing_waits_for_a_silent_agent(void **state)
{
    (void)state;
    struct world world;
    char line[RAW_LINE_MAX_BYTES];
    int64_t id = open_with_node(&world);
    clock_fake_advance(&world.clock, 61000);
    world_sweep(&world);
    assert_int_equal(inject(&world, 79, NULL, line), STATUS_CONFLICT);
    assert_false(fleet_take_directive(world.service.fleet, id, line));
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_are_what_the_driver_writes),
        cmocka_unit_test(test_every_line_is_understood_by_the_agent),
        cmocka_unit_test(test_injections_that_are_refused),
        cmocka_unit_test(test_nothing_waits_for_a_silent_agent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
