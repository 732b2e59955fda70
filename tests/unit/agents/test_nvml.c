/*
 * NVML by a library that the test makes (tests/data/nvidia/libnvidia-ml.c): it says of a GPU what nvidia-smi's report of the same
 * machine says, and the facts have to be the same. And a library that is another version's, lacks what is needed, hangs,
 * crashes or has no driver.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/checks.h"
#include "agents/checks/nvidia_ask.h"
#include "agents/checks/nvidia_smi.h"
#include "agents/checks/run.h"
#include "base/clock.h"
#include "base/text.h"
#include "tests/support/captured.h"
#include "tests/unit/agents/machine.h"

#include <ftw.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>

#define SAMPLE_BYTES_MAX (32 << 20)
#define PATIENCE_MS 120000

static char *read_file(const char *path)
{
    char *data = NULL;
    size_t len = 0;
    assert_int_equal(file_read(path, SAMPLE_BYTES_MAX, &data, &len), 0);
    return data;
}

/* --- the library --------------------------------------------------------------------------------------------------- */

static void build(const struct machine *machine, const char *option)
{
    autofree char *out = own_printf("%s/" NVML_LIBRARY, machine->bin);
    const char *compiler = getenv("CC");
    const char *const argv[] = {compiler != NULL ? compiler : "cc", "-shared", "-fPIC", "-w", option, "-o", out,
                                "tests/data/nvidia/libnvidia-ml.c", NULL};
    const struct child_options options = {.timeout_ms = PATIENCE_MS, .out_bytes_max = 65536};
    struct child_result result;
    assert_int_equal(child_run(argv, &options, &result), 0);
    if (result.exit_code != 0)
        fail_msg("%s", result.err);
    child_result_free(&result);
}

static void tell(const struct machine *machine, const char *facts)
{
    autofree char *path = own_printf("%s/facts", machine->bin);
    assert_int_equal(file_write(path, facts, strlen(facts), 0600), 0);
    setenv("FAKE_NVML", path, 1);
}

static void put_value(struct text *out, size_t gpu, const char *name, double value, double unit)
{
    if (!isnan(value))
        text_printf(out, "%zu %s %.0f\n", gpu, name, value * unit);
}

static void put_word(struct text *out, size_t gpu, const char *name, const char *word, const char *const *list)
{
    for (int i = 0; word[0] != '\0' && list[i] != NULL; i++)
        if (strcmp(list[i], word) == 0)
            text_printf(out, "%zu %s %d\n", gpu, name, i);
}

/* What nvidia-smi said of a GPU, as NVML would. */
static void put_gpu(struct text *out, size_t i, const struct nvidia_gpu *gpu)
{
    static const char *const actions[] = {"None", "Reset", "Reboot", "Drain P2P", "Drain and Reset", "Bus Reset", NULL};
    static const char *const states[] = {"", "Not Started", "In Progress", "Completed", NULL};
    static const char *const health[] = {"", "Healthy", "Unhealthy", "Limited Capacity", NULL};
    static const struct {
        const char *name;
        enum nvidia_value value;
        double unit;
    } values[] = {{"temperature", NVIDIA_TEMPERATURE, 1},
                  {"slowdown", NVIDIA_TEMPERATURE_SLOW, 1},
                  {"margin", NVIDIA_TEMPERATURE_LEFT, 1},
                  {"field-194", NVIDIA_TEMPERATURE_LEFT_SLOW, 1},
                  {"field-82", NVIDIA_TEMPERATURE_MEMORY, 1},
                  {"memory-max", NVIDIA_TEMPERATURE_MEMORY_MAX, 1},
                  {"power", NVIDIA_POWER, 1000},
                  {"power-limit", NVIDIA_POWER_LIMIT, 1000},
                  {"utilization", NVIDIA_UTILIZATION, 1},
                  {"memory-used", NVIDIA_MEMORY_USED, 1 << 20},
                  {"memory-total", NVIDIA_MEMORY_TOTAL, 1 << 20},
                  {"sm-clock", NVIDIA_CLOCK_SM, 1},
                  {"ecc", NVIDIA_ECC_ON, 1},
                  {"corrected-now", NVIDIA_ECC_CORRECTED, 1},
                  {"corrected-ever", NVIDIA_ECC_CORRECTED_EVER, 1},
                  {"uncorrected-now-dram", NVIDIA_ECC_DRAM, 1},
                  {"uncorrected-ever-dram", NVIDIA_ECC_DRAM_EVER, 1},
                  {"uncorrected-now-sram", NVIDIA_ECC_SRAM, 1},
                  {"uncorrected-ever-sram", NVIDIA_ECC_SRAM_EVER, 1},
                  {"sram-threshold", NVIDIA_SRAM_THRESHOLD, 1},
                  {"repair", NVIDIA_REPAIR_PENDING, 1},
                  {"rows-corrected", NVIDIA_ROWS_CORRECTED, 1},
                  {"rows-uncorrected", NVIDIA_ROWS_UNCORRECTED, 1},
                  {"rows-pending", NVIDIA_ROWS_PENDING, 1},
                  {"rows-failed", NVIDIA_ROWS_FAILURE, 1},
                  {"rows-low", NVIDIA_ROWS_LOW, 1},
                  {"pages", NVIDIA_PAGES_RETIRED, 1},
                  {"pages-pending", NVIDIA_PAGES_PENDING, 1},
                  {"gen", NVIDIA_PCIE_GEN, 1},
                  {"width", NVIDIA_PCIE_WIDTH, 1},
                  {"replays", NVIDIA_PCIE_REPLAYS, 1},
                  {"persistence", NVIDIA_PERSISTENCE, 1},
                  {"mig", NVIDIA_MIG, 1},
                  {"mig-pending", NVIDIA_MIG_PENDING, 1},
                  {"field-226", NVIDIA_RESET_REQUIRED, 1},
                  {"field-227", NVIDIA_DRAIN_RECOMMENDED, 1}};
    static const struct {
        enum nvidia_value value;
        int bit;
    } clocks[] = {{NVIDIA_SLOW_HW, 0x8},
                  {NVIDIA_SLOW_SW_THERMAL, 0x20},
                  {NVIDIA_SLOW_HW_THERMAL, 0x40},
                  {NVIDIA_SLOW_HW_POWER, 0x80}};
    int bits = 0;
    for (size_t j = 0; j < ARRAY_LEN(values); j++)
        put_value(out, i, values[j].name, gpu->values[values[j].value], values[j].unit);
    for (size_t j = 0; j < ARRAY_LEN(clocks); j++)
        bits |= gpu->values[clocks[j].value] > 0 ? clocks[j].bit : 0;
    if (!isnan(gpu->values[NVIDIA_SLOW_HW]))
        text_printf(out, "%zu clocks %d\n", i, bits | 0x1);
    text_printf(out, "%zu pci 0000%s.0\n%zu uuid %s\n%zu product %s\n%zu serial %s\n%zu board %s\n", i, gpu->name, i,
                gpu->uuid, i, gpu->product, i, gpu->serial, i, gpu->board_part);
    if (gpu->performance_state[0] == 'P')
        text_printf(out, "%zu state %s\n", i, gpu->performance_state + 1);
    put_word(out, i, "field-230", gpu->recovery_action, actions);
    put_word(out, i, "fabric", gpu->fabric_state, states);
    put_word(out, i, "fabric-health", gpu->fabric_health, health);
    if (gpu->fabric_status[0] != '\0' && strcmp(gpu->fabric_status, "Success") != 0)
        text_printf(out, "%zu fabric-status 999\n", i);
}

static void tell_report(const struct machine *machine, const struct nvidia_report *report)
{
    AUTO(text) struct text facts = {0};
    text_printf(&facts, "* count %zu\n", report->gpu_count);
    for (size_t i = 0; i < report->gpu_count; i++)
        put_gpu(&facts, i, &report->gpus[i]);
    tell(machine, text_get(&facts));
}

static struct nvidia_facts *ask(const struct machine *machine, struct text *ret_said)
{
    struct check_out out = {.fd = -1};
    const struct check_context context = {.root = machine->root, .path = machine->bin, .uptime_ms = MACHINE_OLD_MS};
    struct nvidia_facts *facts = nvidia_ask(&context, &out, true);
    *ret_said = out.text;
    return facts;
}

/* --- the same facts ------------------------------------------------------------------------------------------------ */

static void compare(const char *file, const struct nvidia_gpu *smi, const struct nvidia_gpu *nvml)
{
    const struct {
        const char *smi, *nvml;
    } texts[] = {{smi->name, nvml->name},
                 {smi->uuid, nvml->uuid},
                 {smi->product, nvml->product},
                 {smi->serial, nvml->serial},
                 {smi->board_part, nvml->board_part},
                 {smi->performance_state, nvml->performance_state},
                 {smi->recovery_action, nvml->recovery_action},
                 {smi->fabric_state, nvml->fabric_state},
                 {smi->fabric_health, nvml->fabric_health}};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        if (strcmp(texts[i].smi, texts[i].nvml) != 0)
            fail_msg("%s: \"%s\" and \"%s\"", file, texts[i].smi, texts[i].nvml);
    for (size_t i = 0; i < NVIDIA_VALUE_COUNT; i++) {
        double a = smi->values[i], b = nvml->values[i];
        bool same = (isnan(a) && isnan(b)) || fabs(a - b) < 0.001;
        bool is_zero = b == 0 && isnan(a); /* a bit that is not set is known by NVML, too */
        bool clocks = i == NVIDIA_SLOW_HW_THERMAL || i == NVIDIA_SLOW_HW_POWER || i == NVIDIA_SLOW_SW_THERMAL;
        if (!same && i != NVIDIA_UNREPAIRABLE && !(clocks && is_zero))
            fail_msg("%s: value %zu is %g and %g", file, i, a, b);
    }
    assert_true((smi->fabric_status[0] == '\0') == (nvml->fabric_status[0] == '\0'));
}

static void same_facts(const struct machine *machine, const char *path)
{
    static struct nvidia_report smi;
    autofree char *data = read_file(path);
    nvidia_smi_parse(data, strlen(data), &smi);
    if (smi.answer != NVIDIA_ANSWER_REPORT || smi.gpus[0].is_lost || smi.gpus[0].unreadable != 0)
        return;
    AUTO(text) struct text said = {0};
    tell_report(machine, &smi);
    autofree struct nvidia_facts *facts = ask(machine, &said);
    assert_non_null(facts);
    assert_string_equal(facts->report.source, "NVML");
    assert_int_equal(facts->report.answer, NVIDIA_ANSWER_REPORT);
    assert_int_equal(facts->report.gpu_count, smi.gpu_count);
    assert_int_equal(facts->report.attached, (int)smi.gpu_count);
    for (size_t i = 0; i < smi.gpu_count; i++)
        compare(path, &smi.gpus[i], &facts->report.gpus[i]);
}

static const struct machine *captured_on;
static int captured_count;

static int on_captured(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st;
    (void)ftw;
    if (type == FTW_F && text_ends_with(path, ".xml")) {
        same_facts(captured_on, path);
        captured_count++;
    }
    return 0;
}

static void test_the_same_facts(void **state)
{
    static const char *const samples[] = {"hopper.xml", "ampere.xml", "sick.xml", "volta.xml"};
    struct machine machine = machine_new(*state, "");
    build(&machine, "-O1");
    for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
        autofree char *path = own_printf("tests/data/nvidia/%s", samples[i]);
        same_facts(&machine, path);
    }
    captured_on = &machine;
    autofree char *path = captured_path("nvidia-smi");
    if (path != NULL) {
        assert_int_equal(nftw(path, on_captured, 16, FTW_PHYS), 0);
        assert_true(captured_count > 10);
    }
    machine_free(&machine);
}

/* The check judges by the facts, whoever told them: the same findings, word for word. */
static void test_the_same_verdicts(void **state)
{
    struct machine machine = machine_new(*state, "");
    struct machine other = {.place = machine.place,
                            .root = machine.root,
                            .bin = own_printf("%s/smi", machine.bin),
                            .instance_type = "",
                            .uptime_ms = machine.uptime_ms};
    autofree char *data = read_file("tests/data/nvidia/sick.xml");
    static struct nvidia_report smi;
    nvidia_smi_parse(data, strlen(data), &smi);
    build(&machine, "-O1");
    tell_report(&machine, &smi);
    assert_int_equal(file_make_dirs(other.bin, 0755), 0);
    machine_tool(&other, "nvidia-smi", "case $1 in nvlink) exit 1;; *) cat \"$0.out\";; esac");
    machine_says(&other, "nvidia-smi", data, strlen(data));
    for (int run = 0; run < 2; run++) {
        struct check_report by_nvml = machine_run(&machine, &check_nvidia), by_smi = machine_run(&other, &check_nvidia);
        assert_int_equal(by_nvml.observation_count, by_smi.observation_count);
        assert_true(by_nvml.observation_count > 5);
        for (size_t i = 0; i < by_smi.observation_count; i++) {
            assert_string_equal(by_nvml.observations[i].code, by_smi.observations[i].code);
            assert_string_equal(by_nvml.observations[i].device, by_smi.observations[i].device);
            assert_int_equal(by_nvml.observations[i].count, by_smi.observations[i].count);
            assert_int_equal(by_nvml.observations[i].is_event, by_smi.observations[i].is_event);
        }
        report_free(&by_nvml);
        report_free(&by_smi);
    }
    free(machine.memory);
    free(other.memory);
    free(other.bin);
    free(machine.root);
    free(machine.bin);
}

/* --- what is not as it should be ------------------------------------------------------------------------------------- */

static const char one[] = "* count 1\n0 pci 00000000:B9:00.0\n0 uuid GPU-1\n0 product H100\n";

static void test_errors_of_a_value(void **state)
{
    struct machine machine = machine_new(*state, "");
    build(&machine, "-O1");
    static const struct {
        const char *line;
        bool is_lost, requires_reset, is_inforom_corrupt, is_unreadable;
    } cases[] = {
        {"0 power !3\n", false, false, false, false},          {"0 power !4\n", false, false, false, false},
        {"0 power !999\n", false, false, false, true},         {"0 power !10\n", false, false, false, true},
        {"0 power !15\n", true, false, false, true},           {"0 ecc !16\n", false, true, false, true},
        {"0 rows-corrected !14\n", false, false, true, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(text) struct text said = {0};
        autofree char *text = own_printf("%s%s", one, cases[i].line);
        tell(&machine, text);
        autofree struct nvidia_facts *facts = ask(&machine, &said);
        assert_non_null(facts);
        const struct nvidia_gpu *gpu = &facts->report.gpus[0];
        assert_string_equal(gpu->name, "0000:b9:00");
        assert_true(isnan(gpu->values[NVIDIA_POWER]));
        assert_int_equal(gpu->is_lost, cases[i].is_lost);
        assert_int_equal(gpu->requires_reset, cases[i].requires_reset);
        assert_int_equal(gpu->is_inforom_corrupt, cases[i].is_inforom_corrupt);
        assert_int_equal(gpu->unreadable != 0, cases[i].is_unreadable);
    }
    machine_free(&machine);
}

static void test_links_and_an_older_fabric(void **state)
{
    struct machine machine = machine_new(*state, "");
    AUTO(text) struct text said = {0};
    build(&machine, "-O1");
    autofree char *text = own_printf("%s0 links 18\n0 links-up 16\n0 fabric 3\n0 fabric-v2 1\n", one);
    tell(&machine, text);
    autofree struct nvidia_facts *facts = ask(&machine, &said);
    assert_non_null(facts);
    assert_int_equal(facts->links[0].up, 16);
    assert_string_equal(facts->links[0].down, "16, 17");
    assert_string_equal(facts->report.gpus[0].fabric_state, "Completed");
    assert_string_equal(facts->report.gpus[0].fabric_status, "Success");
    assert_string_equal(facts->report.gpus[0].fabric_health, ""); /* the second version has none */
    machine_free(&machine);
}

/* Each of these has no ordinary answer, so nvidia-smi is asked, where there is one. */
static void test_nvidia_smi_is_asked_then(void **state)
{
    static const struct {
        const char *option, *facts;
        enum nvidia_answer alone; /* where there is no nvidia-smi; BROKEN with "": no answer at all */
        const char *why;
    } cases[] = {
        {"-O1", "* nvmlInit_v2 9\n", NVIDIA_ANSWER_NO_DRIVER, "Driver Not Loaded"},
        {"-O1", "* nvmlInit_v2 18\n", NVIDIA_ANSWER_MISMATCH, "Driver/library version mismatch"},
        {"-O1", "* nvmlInit_v2 999\n", NVIDIA_ANSWER_BROKEN, "Unknown Error"},
        {"-O1", "* count 0\n", NVIDIA_ANSWER_NO_DEVICES, "NVML counts no GPU"},
        {"-O1", "* count 1\n0 handle 15\n", NVIDIA_ANSWER_BROKEN, "GPU is lost"},
        {"-O1", "* count 1\n0 pci nonsense\n", NVIDIA_ANSWER_BROKEN,
         "a GPU without a PCI address, or more of them than a machine has"},
        {"-O1", "* crash 1\n", NVIDIA_ANSWER_BROKEN, ""},
        {"-DWITHOUT_COUNT", one, NVIDIA_ANSWER_BROKEN, ""},
    };
    struct machine machine = machine_new(*state, "");
    autofree char *data = read_file("tests/data/nvidia/hopper.xml");
    autofree char *tool = own_printf("%s/nvidia-smi", machine.bin);
    machine_says(&machine, "nvidia-smi", data, strlen(data));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO(text) struct text said = {0}, said_alone = {0};
        build(&machine, cases[i].option);
        tell(&machine, cases[i].facts);
        machine_tool(&machine, "nvidia-smi", "case $1 in nvlink) exit 1;; *) cat \"$0.out\";; esac");
        autofree struct nvidia_facts *facts = ask(&machine, &said);
        assert_non_null(facts);
        assert_string_equal(facts->report.source, "nvidia-smi");
        assert_int_equal(facts->report.gpu_count, 2);
        assert_int_equal(facts->links[0].up, -1);
        assert_int_equal(unlink(tool), 0);
        autofree struct nvidia_facts *alone = ask(&machine, &said_alone);
        assert_int_equal(alone != NULL, cases[i].why[0] != '\0');
        if (alone == NULL)
            continue;
        assert_int_equal(alone->report.answer, cases[i].alone);
        assert_string_equal(alone->report.why, cases[i].why);
    }
    machine_free(&machine);
}

/* A driver that never answers: who asked it goes with the check's deadline. */
static void test_it_hangs(void **state)
{
    struct machine machine = machine_new(*state, "");
    struct check check = check_nvidia;
    const struct check_context context = {.root = machine.root, .path = machine.bin, .memory = "", .instance_type = ""};
    autofree char *path = own_printf("%s/facts.pid", machine.bin), *data = NULL;
    struct check_report report;
    struct run run;
    pid_t left = 0;
    size_t len = 0;
    uint64_t ticks;
    int64_t until = clock_mono_ms(clock_system()) + PATIENCE_MS;
    build(&machine, "-O1");
    tell(&machine, "* hang 1\n");
    check.deadline_ms = PATIENCE_MS;
    assert_int_equal(run_start(&check, &context, clock_mono_ms(clock_system()), &run), 0);
    for (; len == 0; (void)poll(NULL, 0, 10)) {
        assert_true(clock_mono_ms(clock_system()) < until);
        free(TAKE(data));
        (void)file_read(path, 64, &data, &len);
    }
    pid_t pid = (pid_t)strtol(data, NULL, 10);
    assert_int_equal(child_start_time(pid, &ticks), 0);
    assert_true(run_turn(&run, run.deadline_at, &report, &left)); /* the deadline has come */
    assert_int_equal(report.result, CHECK_RESULT_UNKNOWN);
    assert_non_null(strstr(report.why, "did not answer"));
    while ((left > 0 && !run_is_gone(left)) || child_alive(pid, ticks)) {
        assert_true(clock_mono_ms(clock_system()) < until);
        (void)poll(NULL, 0, 10);
    }
    report_free(&report);
    machine_free(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PLACE_TEST(test_the_same_facts),           PLACE_TEST(test_the_same_verdicts),
        PLACE_TEST(test_errors_of_a_value),        PLACE_TEST(test_links_and_an_older_fabric),
        PLACE_TEST(test_nvidia_smi_is_asked_then), PLACE_TEST(test_it_hangs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
