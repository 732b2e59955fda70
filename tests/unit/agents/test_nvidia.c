/* The GPUs' check as a whole: a machine with a PCI bus, an nvidia-smi that says what it is told, run after run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/checks.h"
#include "base/text.h"
#include "policy/faults/faults.h"
#include "tests/unit/agents/machine.h"

#define SAMPLE_BYTES_MAX (1 << 20)
#define BOOT_ID "/proc/sys/kernel/random/boot_id"
#define ONE "0000:53:00"
#define TWO "0000:b9:00"

static char *sample(const char *name)
{
    autofree char *path = own_printf("tests/data/nvidia/%s", name);
    char *data = NULL;
    size_t len = 0;
    assert_int_equal(file_read(path, SAMPLE_BYTES_MAX, &data, &len), 0);
    return data;
}

static void gpu_on_bus(const struct machine *machine, const char *address)
{
    autofree char *dir = own_printf("/sys/bus/pci/devices/%s", address);
    autofree char *vendor = own_printf("%s/vendor", dir), *class = own_printf("%s/class", dir);
    autofree char *link = own_printf("%s%s/driver", machine->root, dir);
    machine_file(machine, vendor, "0x10de\n");
    machine_file(machine, class, "0x030200\n");
    assert_int_equal(symlink("../../../../bus/pci/drivers/nvidia", link), 0);
}

static struct machine machine_with_gpus(void **state, const char *instance_type)
{
    struct machine machine = machine_new(*state, instance_type);
    machine_tool(&machine, "nvidia-smi", "case $1 in nvlink) cat \"$0-links.out\";; *) cat \"$0.out\";; esac");
    machine_file(&machine, BOOT_ID, "11111111-2222-3333-4444-555555555555\n");
    gpu_on_bus(&machine, "0000:53:00.0");
    gpu_on_bus(&machine, "0000:b9:00.0");
    machine_file(&machine, "/sys/bus/pci/devices/0000:00:1f.0/vendor", "0x1d0f\n");
    machine_file(&machine, "/sys/bus/pci/devices/0000:00:1f.0/class", "0x020000\n");
    return machine;
}

static void says_text(const struct machine *machine, const char *text)
{
    machine_says(machine, "nvidia-smi", text, strlen(text));
}

static void says_sample(const struct machine *machine, const char *name)
{
    autofree char *data = sample(name);
    says_text(machine, data);
}

/* The sample with the first of a text replaced. */
static void says_altered(const struct machine *machine, const char *name, const char *from, const char *to)
{
    autofree char *data = sample(name);
    char *at = strstr(data, from);
    assert_non_null(at);
    autofree char *altered = own_printf("%.*s%s%s", (int)(at - data), data, to, at + strlen(from));
    says_text(machine, altered);
}

static void links(const struct machine *machine, const char *one, const char *two)
{
    autofree char *text =
        own_printf("GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-00000000-aaaa-bbbb-cccc-0123456789ab)\n%s"
                   "GPU 1: NVIDIA H100 80GB HBM3 (UUID: GPU-00000001-aaaa-bbbb-cccc-0123456789ab)\n%s",
                   one, two);
    machine_says(machine, "nvidia-smi-links", text, strlen(text));
}

static struct check_report run(struct machine *machine)
{
    struct check_report report = machine_run(machine, &check_nvidia);
    for (size_t i = 0; i < report.observation_count; i++)
        if (fault_find(report.observations[i].code) == NULL)
            fail_msg("no table has %s", report.observations[i].code);
    return report;
}

/* Runs, and wants these codes with their devices and no others, "code device …"; result is what the run comes to. */
static void expect(struct machine *machine, enum check_result result, const char *wanted)
{
    struct check_report report = run(machine);
    AUTO(text) struct text seen = {0};
    for (size_t i = 0; i < report.observation_count; i++)
        text_printf(&seen, "%s%s%s %s*%d", i > 0 ? ", " : "", report.observations[i].is_event ? "!" : "",
                    report.observations[i].code, report.observations[i].device, (int)report.observations[i].count);
    if (strcmp(text_get(&seen), wanted) != 0 || report.result != result)
        fail_msg("\"%s\" (%s, %s)", text_get(&seen), check_result_text(report.result), report.why);
    report_free(&report);
}

static void test_well(void **state)
{
    static const char *const samples[] = {"hopper.xml", "hopper.xml"};
    struct machine machine = machine_with_gpus(state, "");
    for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
        says_sample(&machine, samples[i]);
        struct check_report report = run(&machine);
        assert_int_equal(report.result, CHECK_RESULT_OK);
        assert_true(report.whole);
        assert_int_equal(report.observation_count, 0);
        bool power = false, info = false;
        for (size_t j = 0; j < report.measure_count; j++) {
            power |= strcmp(report.measures[j].metric, "holdfast_gpu_power_watts") == 0 &&
                     strstr(report.measures[j].labels, "gpu=\"" TWO "\"") != NULL && report.measures[j].value > 601;
            info |= strcmp(report.measures[j].metric, "holdfast_gpu_info") == 0 &&
                    strstr(report.measures[j].labels, "product=\"NVIDIA H100 80GB HBM3\"") != NULL;
        }
        assert_true(power && info);
        report_free(&report);
    }
    machine_free(&machine);
}

static void test_sick(void **state)
{
    struct machine machine = machine_with_gpus(state, "");
    says_sample(&machine, "sick.xml");
    static const char first[] =
        "nvidia.recovery.drain-reset " ONE "*1, nvidia.ecc.sram-threshold " ONE "*1, nvidia.row-remap.pending " ONE
        "*1, nvidia.clock.thermal " ONE "*1, nvidia.temperature.high " ONE "*1, !nvidia.ecc.uncorrected " ONE
        "*3, nvidia.row-remap.failed " TWO "*1, nvidia.clock.power-brake " TWO "*1, nvidia.fabric.failed " TWO "*1";
    expect(&machine, CHECK_RESULT_FOUND, first);
    /* States last, events are told once. */
    expect(&machine, CHECK_RESULT_FOUND,
           "nvidia.recovery.drain-reset " ONE "*1, nvidia.ecc.sram-threshold " ONE "*1, nvidia.row-remap.pending " ONE
           "*1, nvidia.clock.thermal " ONE "*1, nvidia.temperature.high " ONE "*1, nvidia.row-remap.failed " TWO
           "*1, nvidia.clock.power-brake " TWO "*1, nvidia.fabric.failed " TWO "*1");
    /* Another boot, and the counters stand where they stood: these are new errors. */
    machine_file(&machine, BOOT_ID, "99999999-2222-3333-4444-555555555555\n");
    expect(&machine, CHECK_RESULT_FOUND, first);
    machine_free(&machine);
}

static void test_recovery_actions(void **state)
{
    static const struct {
        const char *word, *seen;
    } cases[] = {
        {"None", ""},
        {"N/A", ""},
        {"Reset", "nvidia.recovery.reset " ONE "*1"},
        {"GPU Reset", "nvidia.recovery.reset " ONE "*1"},
        {"Reboot", "nvidia.recovery.reboot " ONE "*1"},
        {"Node Reboot Required", "nvidia.recovery.reboot " ONE "*1"},
        {"Drain P2P", "nvidia.recovery.drain-p2p " ONE "*1"},
        {"Drain and Reset", "nvidia.recovery.drain-reset " ONE "*1"},
        {"Bus Reset", "nvidia.recovery.unknown " ONE "*1"},
        {"Recover IMEX Domain", "nvidia.recovery.unknown " ONE "*1"},
        {"Pray", "nvidia.recovery.unknown " ONE "*1"},
    };
    struct machine machine = machine_with_gpus(state, "");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *element = own_printf("<gpu_recovery_action>%s<", cases[i].word);
        says_altered(&machine, "hopper.xml", "<gpu_recovery_action>None<", element);
        expect(&machine, cases[i].seen[0] != '\0' ? CHECK_RESULT_FOUND : CHECK_RESULT_OK, cases[i].seen);
    }
    says_altered(&machine, "ampere.xml", "<reset_required>No<", "<reset_required>Yes<");
    expect(&machine, CHECK_RESULT_FOUND, "nvidia.recovery.reset " ONE "*1, !nvidia.ecc.uncorrected " TWO "*2");
    machine_free(&machine);
}

static void test_small_signs(void **state)
{
    static const struct {
        const char *from, *to, *seen;
        enum check_result result;
    } cases[] = {
        {"<average_power_draw>601.25 W<", "<average_power_draw>ERR!<", "nvidia.power.unreadable " ONE "*1",
         CHECK_RESULT_FOUND},
        {"<gpu_temp>41 C<", "<gpu_temp>Unknown Error<", "", CHECK_RESULT_UNKNOWN},
        {"<gpu_temp_tlimit>46 C<", "<gpu_temp_tlimit>-2 C<", "nvidia.temperature.high " ONE "*1", CHECK_RESULT_FOUND},
        {"<gpu_temp_tlimit>46 C<", "<gpu_temp_tlimit>-1 C<", "", CHECK_RESULT_OK},
        {"<state>Completed<", "<state>In Progress<", "nvidia.fabric.incomplete " ONE "*1", CHECK_RESULT_FOUND},
        {"<state>Completed<", "<state>N/A<", "", CHECK_RESULT_OK},
        {"<state>Completed<", "<state>Not Supported<", "", CHECK_RESULT_OK},
        {"<summary>Healthy<", "<summary>Unhealthy<", "nvidia.fabric.degraded " TWO "*1", CHECK_RESULT_FOUND},
        {"<pending_mig>Disabled<", "<pending_mig>Enabled<", "nvidia.mig.pending " ONE "*1", CHECK_RESULT_FOUND},
        {"<current_link_width>16x<", "<current_link_width>8x<", "nvidia.pcie.degraded " ONE "*1", CHECK_RESULT_FOUND},
        {"<current_link_gen>5<", "<current_link_gen>1<", "nvidia.pcie.degraded " ONE "*1", CHECK_RESULT_FOUND},
        {"<gpu_util>97 %<", "<gpu_util>0 %<", "", CHECK_RESULT_OK},
        {"<persistence_mode>Enabled<", "<persistence_mode>Disabled<", "nvidia.persistence.off " ONE "*1",
         CHECK_RESULT_FOUND},
        {"<current_ecc>Enabled<", "<current_ecc>Disabled<", "nvidia.ecc.off " ONE "*1", CHECK_RESULT_FOUND},
        {"<replay_counter>12<", "<replay_counter>29<", "!nvidia.pcie.replays " ONE "*17", CHECK_RESULT_FOUND},
        {"<dram_uncorrectable>0<", "<dram_uncorrectable>GPU is lost<", "nvidia.gpu.lost " ONE "*1", CHECK_RESULT_FOUND},
    };
    struct machine machine = machine_with_gpus(state, "");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        says_sample(&machine, "hopper.xml");
        expect(&machine, CHECK_RESULT_OK, "");
        says_altered(&machine, "hopper.xml", cases[i].from, cases[i].to);
        expect(&machine, cases[i].result, cases[i].seen);
    }
    machine_free(&machine);
}

static void test_limits_of_the_site(void **state)
{
    struct machine machine = machine_with_gpus(state, "");
    struct agent_settings settings;
    says_sample(&machine, "hopper.xml");
    expect(&machine, CHECK_RESULT_OK, "");
    machine_said(&machine, &settings, "nvidia.temperature: 41\nnvidia.replays: 20\n");
    says_altered(&machine, "hopper.xml", "<replay_counter>12<", "<replay_counter>29<");
    struct check_report report = run(&machine);
    assert_non_null(machine_sees(&report, "nvidia.temperature.high", ONE));
    assert_null(machine_sees(&report, "nvidia.pcie.replays", NULL));
    report_free(&report);
    agent_settings_free(&settings);
    machine_said(&machine, &settings, "nvidia.temperature: 150\n");
    says_altered(&machine, "hopper.xml", "<gpu_temp_tlimit>46 C<", "<gpu_temp_tlimit>-2 C<");
    report = run(&machine);
    assert_non_null(machine_sees(&report, "nvidia.temperature.high", ONE)); /* by the GPU's own word, as ever */
    report_free(&report);
    agent_settings_free(&settings);
    machine_free(&machine);
}

/* A board that was never better is as it is. */
static void test_what_was_always_so(void **state)
{
    static const char *const changes[][2] = {{"<current_link_width>16x<", "<current_link_width>8x<"},
                                             {"<current_link_gen>5<", "<current_link_gen>3<"},
                                             {"<persistence_mode>Enabled<", "<persistence_mode>Disabled<"},
                                             {"<current_ecc>Enabled<", "<current_ecc>Disabled<"}};
    for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
        struct machine machine = machine_with_gpus(state, "");
        says_altered(&machine, "hopper.xml", changes[i][0], changes[i][1]);
        expect(&machine, CHECK_RESULT_OK, "");
        expect(&machine, CHECK_RESULT_OK, "");
        assert_int_equal(file_remove_tree(machine.root), 0);
        machine_free(&machine);
    }
}

/* What the driver cannot read now is not counted anew when it can again. */
static void test_counter_that_was_away(void **state)
{
    struct machine machine = machine_with_gpus(state, "");
    says_altered(&machine, "hopper.xml", "<dram_uncorrectable>0<", "<dram_uncorrectable>5<");
    expect(&machine, CHECK_RESULT_FOUND, "!nvidia.ecc.uncorrected " ONE "*5");
    says_altered(&machine, "hopper.xml", "<dram_uncorrectable>0<", "<dram_uncorrectable>N/A<");
    expect(&machine, CHECK_RESULT_OK, "");
    says_altered(&machine, "hopper.xml", "<dram_uncorrectable>0<", "<dram_uncorrectable>6<");
    expect(&machine, CHECK_RESULT_FOUND, "!nvidia.ecc.uncorrected " ONE "*1");
    says_altered(&machine, "hopper.xml", "<dram_uncorrectable>0<", "<dram_uncorrectable>2<"); /* reset in between */
    expect(&machine, CHECK_RESULT_FOUND, "!nvidia.ecc.uncorrected " ONE "*2");
    machine_free(&machine);
}

/* What daemons bring about after a boot is not missed before they had their time. */
static void test_soon_after_a_boot(void **state)
{
    struct machine machine = machine_with_gpus(state, "");
    says_sample(&machine, "hopper.xml");
    links(&machine, "\t Link 0: 26.562 GB/s\n", "\t Link 0: 26.562 GB/s\n");
    expect(&machine, CHECK_RESULT_OK, "");
    says_altered(&machine, "hopper.xml", "<persistence_mode>Enabled<", "<persistence_mode>Disabled<");
    links(&machine, "\t Link 0: <inactive>\n", "\t Link 0: 26.562 GB/s\n");
    machine.uptime_ms = 60000;
    expect(&machine, CHECK_RESULT_OK, "");
    expect(&machine, CHECK_RESULT_OK, "");
    machine.uptime_ms = MACHINE_OLD_MS;
    expect(&machine, CHECK_RESULT_FOUND, "nvidia.persistence.off " ONE "*1");
    expect(&machine, CHECK_RESULT_FOUND, "nvidia.persistence.off " ONE "*1, nvidia.nvlink.down " ONE "*1");
    says_altered(&machine, "hopper.xml", "<state>Completed<", "<state>In Progress<");
    machine.uptime_ms = 60000;
    expect(&machine, CHECK_RESULT_UNKNOWN, "");
    machine_free(&machine);
}

static void test_count(void **state)
{
    struct machine machine = machine_with_gpus(state, "p5.48xlarge");
    says_sample(&machine, "hopper.xml");
    expect(&machine, CHECK_RESULT_UNKNOWN, ""); /* it may be that somebody resets them just now */
    expect(&machine, CHECK_RESULT_FOUND, "nvidia.gpu.missing *6");
    machine.uptime_ms = 120000; /* GPUs come up late */
    expect(&machine, CHECK_RESULT_UNKNOWN, "");
    machine.uptime_ms = MACHINE_OLD_MS;
    expect(&machine, CHECK_RESULT_UNKNOWN, ""); /* what was missed while it was young does not count */
    expect(&machine, CHECK_RESULT_FOUND, "nvidia.gpu.missing *6");
    machine.instance_type = "ml.p5.4xlarge"; /* more than there should be */
    expect(&machine, CHECK_RESULT_OK, "");
    machine.instance_type = "my-own.2gpu";
    gpu_on_bus(&machine, "0000:ca:00.0"); /* on the bus, with the driver, and not listed */
    expect(&machine, CHECK_RESULT_UNKNOWN, "");
    expect(&machine, CHECK_RESULT_FOUND, "nvidia.gpu.missing 0000:ca:00*1");
    machine_free(&machine);
}

static void test_count_of_an_unknown_type(void **state)
{
    struct machine machine = machine_with_gpus(state, "my-own.2gpu");
    says_sample(&machine, "hopper.xml");
    expect(&machine, CHECK_RESULT_OK, "");
    assert_int_equal(file_remove_tree(machine.root), 0);
    machine_file(&machine, BOOT_ID, "22222222-2222-3333-4444-555555555555\n");
    says_sample(&machine, "volta.xml");
    struct check_report report = run(&machine);
    assert_null(machine_sees(&report, "nvidia.gpu.missing", ""));
    report_free(&report);
    report = run(&machine);
    assert_non_null(machine_sees(&report, "nvidia.gpu.missing", ""));
    report_free(&report);
    says_text(&machine, "No devices were found\n");
    expect(&machine, CHECK_RESULT_FOUND, "nvidia.gpu.missing *2");
    machine_free(&machine);
}

static void test_driver(void **state)
{
    static const struct {
        const char *said;
        enum check_result result, without;
        const char *seen;
    } cases[] = {
        {"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", CHECK_RESULT_FOUND,
         CHECK_RESULT_NOT_APPLICABLE, "nvidia.driver.failed *1"},
        {"Failed to initialize NVML: Driver/library version mismatch\n", CHECK_RESULT_FOUND,
         CHECK_RESULT_NOT_APPLICABLE, "nvidia.driver.mismatch *1"},
        {"No devices were found\n", CHECK_RESULT_FOUND, CHECK_RESULT_NOT_APPLICABLE,
         "nvidia.gpu.missing " ONE "*1, nvidia.gpu.missing " TWO "*1"},
        {"Failed to initialize NVML: Unknown Error\n", CHECK_RESULT_UNKNOWN, CHECK_RESULT_UNKNOWN, ""},
        {"Segmentation fault\n", CHECK_RESULT_UNKNOWN, CHECK_RESULT_UNKNOWN, ""},
        {"", CHECK_RESULT_UNKNOWN, CHECK_RESULT_UNKNOWN, ""},
        {"Unable to determine the device handle for GPU 0000:B9:00.0: Unknown Error\n", CHECK_RESULT_FOUND,
         CHECK_RESULT_FOUND, "nvidia.gpu.lost " TWO "*1"},
        {"Unable to determine the device handle for GPU 0000:B9:00.0: GPU requires reset\n", CHECK_RESULT_FOUND,
         CHECK_RESULT_FOUND, "nvidia.recovery.reset " TWO "*1"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct machine machine = machine_with_gpus(state, "");
        says_text(&machine, cases[i].said);
        struct check_report report = run(&machine);
        bool is_whole = report.whole;
        report_free(&report);
        expect(&machine, cases[i].result, cases[i].seen);
        assert_true(!is_whole || strstr(cases[i].said, "No devices") != NULL);
        assert_int_equal(file_remove_tree(machine.root), 0);
        report = run(&machine);
        if (report.result != cases[i].without)
            fail_msg("%s: %s", cases[i].said, check_result_text(report.result));
        report_free(&report);
        machine_free(&machine);
    }
}

static void test_no_tool(void **state)
{
    struct machine machine = machine_new(*state, "m5.large");
    expect(&machine, CHECK_RESULT_NOT_APPLICABLE, "");
    machine.instance_type = "trn1.32xlarge";
    expect(&machine, CHECK_RESULT_NOT_APPLICABLE, "");
    machine.instance_type = "p5.48xlarge";
    expect(&machine, CHECK_RESULT_UNKNOWN, "");
    machine.instance_type = "";
    gpu_on_bus(&machine, "0000:53:00.0");
    expect(&machine, CHECK_RESULT_UNKNOWN, "");
    machine_free(&machine);
}

static void test_links(void **state)
{
    static const char three[] = "\t Link 0: 26.562 GB/s\n\t Link 1: 26.562 GB/s\n\t Link 2: 26.562 GB/s\n";
    static const char two[] = "\t Link 0: 26.562 GB/s\n\t Link 1: <inactive>\n\t Link 2: 26.562 GB/s\n";
    static const char none[] = "NVML: Unable to retrieve NVLink information as all links are inactive\n";
    static const char mig[] = "Nvlink queries are not supported for Devices in MIG mode\n";
    struct machine machine = machine_with_gpus(state, "");
    says_sample(&machine, "hopper.xml");
    links(&machine, three, two); /* the second was never better */
    expect(&machine, CHECK_RESULT_OK, "");
    expect(&machine, CHECK_RESULT_OK, "");
    links(&machine, two, two);
    expect(&machine, CHECK_RESULT_OK, ""); /* seen once */
    expect(&machine, CHECK_RESULT_FOUND, "nvidia.nvlink.down " ONE "*1");
    links(&machine, none, mig);
    expect(&machine, CHECK_RESULT_FOUND, "nvidia.nvlink.down " ONE "*3");
    links(&machine, three, mig);
    expect(&machine, CHECK_RESULT_OK, "");
    machine_free(&machine);
}

/* Whatever was left there as memory: the run is as the first one. */
static void test_memory_of_others(void **state)
{
    static const char *const memories[] = {
        "x",
        "{",
        "[]",
        "{\"gpus\":[]}",
        "{\"gpus\":{\"GPU-00000000-aaaa-bbbb-cccc-0123456789ab\":7}}",
        "{\"count\":\"many\",\"boot\":7,\"gpus\":{\"GPU-00000000-aaaa-bbbb-cccc-0123456789ab\":{\"width\":\"x\"}}}",
        "{\"count\":99999999999}",
        "\xff\xfe"};
    for (size_t i = 0; i < ARRAY_LEN(memories); i++) {
        struct machine machine = machine_with_gpus(state, "");
        machine.memory = own_strdup(memories[i]);
        machine.memory_len = strlen(memories[i]);
        says_sample(&machine, "hopper.xml");
        expect(&machine, CHECK_RESULT_OK, "");
        expect(&machine, CHECK_RESULT_OK, "");
        assert_int_equal(file_remove_tree(machine.root), 0);
        machine_free(&machine);
    }
}

/* Half a report, bytes, a page: unknown, with no word about any GPU. */
static void test_hostile(void **state)
{
    autofree char *whole = sample("sick.xml");
    struct machine machine = machine_with_gpus(state, "p5.48xlarge");
    for (size_t len = 1; len < strlen(whole) - 20; len += 1501) {
        machine_says(&machine, "nvidia-smi", whole, len);
        expect(&machine, CHECK_RESULT_UNKNOWN, "");
    }
    AUTO(text) struct text noise = {0};
    for (int i = 0; i < 3 << 20; i++)
        text_add_char(&noise, (char)(i * 7 % 251));
    machine_says(&machine, "nvidia-smi", noise.data, noise.len);
    expect(&machine, CHECK_RESULT_UNKNOWN, "");
    machine_free(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(test_well),
        PLACE_TEST(test_sick),
        PLACE_TEST(test_recovery_actions),
        PLACE_TEST(test_small_signs),
        PLACE_TEST(test_limits_of_the_site),
        PLACE_TEST(test_what_was_always_so),
        PLACE_TEST(test_counter_that_was_away),
        PLACE_TEST(test_soon_after_a_boot),
        PLACE_TEST(test_count),
        PLACE_TEST(test_count_of_an_unknown_type),
        PLACE_TEST(test_driver),
        PLACE_TEST(test_no_tool),
        PLACE_TEST(test_links),
        PLACE_TEST(test_memory_of_others),
        PLACE_TEST(test_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
