/* What tells a machine from another, and all that only seems to; and how the runs of checks become what the server is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/checks.h"
#include "agents/node/inventory.h"
#include "agents/node/message.h"
#include "tests/unit/agents/tree.h"

static void test_identities(void **state)
{
    static const char *const good[] = {"GPU-7c1c0a0e-5a0b-4a53-9f6d-2f2f0f7a9b31",
                                       "1654123456789",
                                       "S491234X1234567",
                                       "0x9ff5434815c8bd80",
                                       "b8ce:f603:00a1:b2c3",
                                       "CN7475158"};
    static const char *const bad[] = {"",
                                      "0",
                                      "None",
                                      "N/A",
                                      "Not Specified",
                                      "NOT SPECIFIED",
                                      "To be filled by O.E.M.",
                                      "To Be Filled By O.E.M.",
                                      "Default string",
                                      "System Serial Number",
                                      "0123456789",
                                      "00000000",
                                      "0000:0000:0000:0000",
                                      "00000000-0000-0000-0000-000000000000",
                                      "ffff:ffff:ffff:ffff",
                                      "0x0000000000000000",
                                      "........",
                                      "XXXXXXXX",
                                      "12",
                                      "abc",
                                      "ec2c8f1a-1111-2222-3333-444455556666",
                                      "VMware-42 1e 4a 5b 6c 7d 8e 9f-00 11 22 33 44 55 66 77",
                                      "GoogleCloud-4D1F0A2B3C4D5E6F",
                                      "serial\x1b[2J",
                                      "sérial-1234"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(good); i++)
        if (!hardware_identifies(good[i]))
            fail_msg("no identity: %s", good[i]);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        if (hardware_identifies(bad[i]))
            fail_msg("an identity: %s", bad[i]);
}

static const struct hardware *piece(const struct check_report *report, enum hardware_kind kind, const char *location)
{
    for (size_t i = 0; i < report->hardware_count; i++)
        if (report->hardware[i].kind == kind && strcmp(report->hardware[i].location, location) == 0)
            return &report->hardware[i];
    fail_msg("not told: %s %s", hardware_kind_text(kind), location);
    return NULL;
}

static void test_bare_metal(void **state)
{
    struct machine machine = machine_new(*state, "");
    tree_grow(&machine, "machine/bare-metal.tree");
    struct check_report report = machine_run(&machine, &check_machine);
    assert_int_equal(report.result, CHECK_RESULT_OK);
    assert_int_equal(report.hardware_count, 5);
    const struct hardware *chassis = piece(&report, HARDWARE_KIND_CHASSIS, "");
    assert_string_equal(chassis->identity,
                        "S491234X1234567"); /* the chassis' own is a placeholder, the board's another */
    assert_string_equal(chassis->serial, "WM22AS001122");
    assert_string_equal(chassis->detail, "Example Systems EX-821");
    assert_string_equal(piece(&report, HARDWARE_KIND_NIC, "mlx5_0")->identity, "b8ce:f603:00a1:b2c3");
    assert_string_equal(piece(&report, HARDWARE_KIND_NIC, "mlx5_7")->identity, ""); /* a virtual function */
    assert_string_equal(piece(&report, HARDWARE_KIND_NIC, "rxe0")->identity, "");   /* software */
    assert_string_equal(piece(&report, HARDWARE_KIND_NEURON, "neuron0")->identity, "9ff5434815c8bd80");
    report_free(&report);
    machine_free(&machine);
}

/* The key of its sshd, which is no identity: images carry it. What is none is not told. */
static void test_host_key(void **state)
{
    static const char key[] = "AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl";
    static const char *const none[] = {
        "",
        "ssh-ed25519",
        "ssh-ed25519 \n",
        "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQC7",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJ root@a",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GK,*",
        "@cert-authority * ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl",
    };
    struct machine machine = machine_new(*state, "");
    autofree char *line = own_printf("ssh-ed25519 %s root@gpu-1\n", key);
    tree_file(&machine, "/etc/ssh/ssh_host_ed25519_key.pub", line);
    struct check_report report = machine_run(&machine, &check_machine);
    const struct hardware *told = piece(&report, HARDWARE_KIND_HOST_KEY, "ssh-ed25519");
    assert_string_equal(told->detail, key);
    assert_string_equal(told->identity, "");
    assert_string_equal(told->serial, "");
    assert_null(hardware_find(told, 1, "ssh-ed25519")); /* no verdict means it */
    assert_null(hardware_find(told, 1, "host-key0"));
    report_free(&report);
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        tree_file(&machine, "/etc/ssh/ssh_host_ed25519_key.pub", none[i]);
        report = machine_run(&machine, &check_machine);
        for (size_t k = 0; k < report.hardware_count; k++)
            assert_int_not_equal(report.hardware[k].kind, HARDWARE_KIND_HOST_KEY);
        report_free(&report);
    }
    machine_free(&machine);
}

/* The short one; what cannot be one, and what each machine is called, is not told. */
static void test_host_name(void **state)
{
    static const char *const none[] = {"",
                                       "\n",
                                       ".example.com\n",
                                       "localhost\n",
                                       "localhost.localdomain\n",
                                       "-a\n",
                                       "a-\n",
                                       "a b\n",
                                       "a=b\n",
                                       "a,b\n",
                                       "a\tb\n",
                                       "$(x)\n",
                                       "0123456789012345678901234567890123456789012345678901234567890123\n"};
    struct machine machine = machine_new(*state, "");
    tree_file(&machine, "/proc/sys/kernel/hostname", "ip-10-1-2-3.ec2.internal\n");
    struct check_report report = machine_run(&machine, &check_machine);
    const struct hardware *told = piece(&report, HARDWARE_KIND_HOST_NAME, "");
    assert_string_equal(told->detail, "ip-10-1-2-3");
    assert_string_equal(told->identity, "");
    assert_null(hardware_find(told, 1, "")); /* the chassis */
    assert_null(hardware_find(told, 1, "host-name0"));
    report_free(&report);
    for (size_t i = 0; i < ARRAY_LEN(none); i++) {
        tree_file(&machine, "/proc/sys/kernel/hostname", none[i]);
        report = machine_run(&machine, &check_machine);
        assert_int_equal(report.hardware_count, 0);
        report_free(&report);
    }
    machine_free(&machine);
}

/* Only root may read serials, and some machines have none of their own: the board's, then the chassis', or none. */
static void test_serials_that_are_not_there(void **state)
{
    struct machine machine = machine_new(*state, "");
    tree_grow(&machine, "machine/bare-metal.tree");
    tree_cut(&machine, "/sys/class/dmi/id/product_serial");
    struct check_report report = machine_run(&machine, &check_machine);
    assert_string_equal(piece(&report, HARDWARE_KIND_CHASSIS, "")->identity, "WM22AS001122");
    assert_string_equal(piece(&report, HARDWARE_KIND_CHASSIS, "")->serial, "");
    report_free(&report);
    tree_file(&machine, "/sys/class/dmi/id/board_serial", "Not Specified");
    report = machine_run(&machine, &check_machine);
    assert_string_equal(piece(&report, HARDWARE_KIND_CHASSIS, "")->identity, "");
    report_free(&report);
    machine_free(&machine);
}

/* Whatever a hypervisor or a cloud says, it is of the instance. */
static void test_virtual_machines(void **state)
{
    static const struct {
        const char *file, *text;
    } tells[] = {{"/sys/class/dmi/id/sys_vendor", "Amazon EC2"},
                 {"/sys/class/dmi/id/sys_vendor", "QEMU"},
                 {"/sys/class/dmi/id/product_name", "Virtual Machine"},
                 {"/sys/class/dmi/id/product_name", "VMware7,1"},
                 {"/sys/hypervisor/type", "xen"},
                 {"/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme hypervisor lahf_lm\nbugs\t\t:"}};
    for (size_t i = 0; i < ARRAY_LEN(tells); i++) {
        struct machine machine = machine_new(*state, "");
        tree_grow(&machine, "machine/bare-metal.tree");
        tree_file(&machine, tells[i].file, tells[i].text);
        struct check_report report = machine_run(&machine, &check_machine);
        assert_string_equal(piece(&report, HARDWARE_KIND_CHASSIS, "")->identity, "");
        assert_string_equal(piece(&report, HARDWARE_KIND_CHASSIS, "")->serial, "");
        assert_string_equal(piece(&report, HARDWARE_KIND_NIC, "mlx5_0")->identity, "");
        assert_string_equal(piece(&report, HARDWARE_KIND_NEURON, "neuron0")->identity, "9ff5434815c8bd80");
        report_free(&report);
        tree_cut(&machine, "");
        machine_free(&machine);
    }
}

static void test_nothing_is_told(void **state)
{
    struct machine machine = machine_new(*state, "");
    struct check_report report = machine_run(&machine, &check_machine);
    assert_int_equal(report.result, CHECK_RESULT_NOT_APPLICABLE);
    assert_int_equal(report.hardware_count, 0);
    report_free(&report);
    machine_free(&machine);
}

/* --- what the server is told --------------------------------------------------------------------------------- */

static const struct hardware gpu_a = {.kind = HARDWARE_KIND_GPU,
                                      .identity = "GPU-7c1c0a0e-5a0b-4a53-9f6d-2f2f0f7a9b31",
                                      .serial = "1654123456789",
                                      .location = "0000:b9:00",
                                      .detail = "NVIDIA H100"},
                             gpu_b = {.kind = HARDWARE_KIND_GPU, .identity = "0", .location = "0000:c9:00"};

#define PARTLY 10 /* and what it says beside is not all there is */

static void look_at_gpus(const struct check_context *context, struct check_out *out)
{
    int64_t count = context->uptime_ms >= PARTLY ? context->uptime_ms - PARTLY : context->uptime_ms;
    if (count > 0)
        check_hardware(out, &gpu_a);
    if (count > 1)
        check_hardware(out, &gpu_b);
    if (count < 0 || context->uptime_ms >= PARTLY)
        check_unknown(out, "nvidia-smi did not answer");
}

static void tell(struct inventory *inventory, const char *name, int64_t count)
{
    const struct check check = {.name = name, .run = look_at_gpus};
    const struct check_context context = {.root = "", .memory = "", .uptime_ms = count};
    struct check_report report;
    report_of(&check, &context, &report);
    inventory_take(inventory, name, &report);
    report_free(&report);
}

static bool changed(struct inventory *inventory)
{
    bool was = inventory->changed;
    inventory->changed = false;
    return was;
}

static void test_what_changes_is_told(void **state)
{
    struct inventory *inventory = own_calloc(1, sizeof(*inventory));
    (void)state;
    inventory_init(inventory, "i-1", "boot-1");
    inventory_expect(inventory, "machine");
    inventory_expect(inventory, "nvidia");
    assert_true(changed(inventory));
    tell(inventory, "nvidia", 2);
    assert_true(changed(inventory));
    assert_false(inventory->report.hardware_known); /* "machine" has not looked */
    tell(inventory, "machine", 0);
    assert_true(changed(inventory));
    assert_true(inventory->report.hardware_known);
    assert_int_equal(inventory->report.hardware_count, 2);
    assert_string_equal(inventory->report.hardware[1].identity, "");
    tell(inventory, "nvidia", 2);
    assert_false(changed(inventory));
    tell(inventory, "nvidia", -1); /* it says nothing of the GPUs */
    assert_true(changed(inventory));
    assert_int_equal(inventory->report.hardware_count, 2);
    tell(inventory, "nvidia", 1);
    assert_true(changed(inventory));
    assert_int_equal(inventory->report.hardware_count, 1);
    free(inventory);
}

/* A GPU that one look missed is there until a whole look does not find it. */
static void test_what_is_not_whole_takes_nothing_away(void **state)
{
    struct inventory *inventory = own_calloc(1, sizeof(*inventory));
    (void)state;
    inventory_init(inventory, "i-1", "boot-1");
    inventory_expect(inventory, "machine");
    inventory_expect(inventory, "nvidia");
    tell(inventory, "machine", 0);
    tell(inventory, "nvidia", PARTLY + 1);
    assert_int_equal(inventory->report.hardware_count, 1);
    assert_false(inventory->report.hardware_known); /* or the server would take the other one for gone */
    tell(inventory, "nvidia", 2);
    assert_true(inventory->report.hardware_known);
    assert_true(changed(inventory));
    tell(inventory, "nvidia", PARTLY + 1);
    assert_int_equal(inventory->report.hardware_count, 2);
    (void)changed(inventory); /* how the check stands did change */
    tell(inventory, "nvidia", PARTLY + 2);
    assert_false(changed(inventory));
    text_copy_cut(inventory->report.hardware[0].identity, HARDWARE_IDENTITY_MAX_BYTES, "GPU-another");
    tell(inventory, "nvidia", PARTLY + 1); /* another piece in the same place */
    assert_true(changed(inventory));
    assert_int_equal(inventory->report.hardware_count, 2);
    assert_string_equal(inventory->report.hardware[0].identity, "GPU-7c1c0a0e-5a0b-4a53-9f6d-2f2f0f7a9b31");
    free(inventory);
}

static void test_the_message(void **state)
{
    struct inventory *inventory = own_calloc(1, sizeof(*inventory));
    AUTO(text) struct text out = {0};
    (void)state;
    inventory_init(inventory, "i-1", "boot-1");
    inventory_expect(inventory, "machine");
    inventory_expect(inventory, "nvidia");
    tell(inventory, "nvidia", -1);
    tell(inventory, "nvidia", 1);
    message_write_machine(&out, &inventory->report, 7);
    assert_string_equal(text_get(&out),
                        "{\"instanceId\":\"i-1\",\"bootId\":\"boot-1\",\"sentAtMs\":7,\"hardwareKnown\":false,"
                        "\"hardware\":[{\"kind\":\"gpu\",\"identity\":\"GPU-7c1c0a0e-5a0b-4a53-9f6d-2f2f0f7a9b31\","
                        "\"serial\":\"1654123456789\",\"location\":\"0000:b9:00\",\"detail\":\"NVIDIA H100\"}],"
                        "\"checks\":[{\"name\":\"machine\"},{\"name\":\"nvidia\",\"result\":\"ok\"}]}");
    free(inventory);
}

static void test_devices_of_verdicts(void **state)
{
    const struct hardware all[] = {{.kind = HARDWARE_KIND_CHASSIS, .identity = "S491234X1234567"},
                                   gpu_a,
                                   gpu_b,
                                   {.kind = HARDWARE_KIND_NEURON, .location = "neuron0"}};
    (void)state;
    assert_ptr_equal(hardware_find(all, 4, ""), &all[0]);
    assert_ptr_equal(hardware_find(all, 4, "0000:b9:00"), &all[1]);
    assert_ptr_equal(hardware_find(all, 4, "gpu-7C1C0A0E-5a0b-4a53-9f6d-2f2f0f7a9b31"), &all[1]);
    assert_ptr_equal(hardware_find(all, 4, "gpu1"), &all[2]);
    assert_ptr_equal(hardware_find(all, 4, "neuron0"), &all[3]);
    assert_null(hardware_find(all, 4, "gpu2"));
    assert_null(hardware_find(all, 4, "chassis0"));
    assert_null(hardware_find(all + 1, 3, ""));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_identities),
        TEST(test_bare_metal),
        TEST(test_host_key),
        TEST(test_host_name),
        TEST(test_serials_that_are_not_there),
        TEST(test_virtual_machines),
        TEST(test_nothing_is_told),
        cmocka_unit_test(test_what_changes_is_told),
        cmocka_unit_test(test_what_is_not_whole_takes_nothing_away),
        cmocka_unit_test(test_the_message),
        cmocka_unit_test(test_devices_of_verdicts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
