/* nvidia-smi: samples of our own in the shapes of three generations of drivers, its messages, and what is no report. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/nvidia_smi.h"
#include "base/file.h"
#include "base/own.h"
#include "base/text.h"

#include <math.h>
#include <string.h>

#define SAMPLE_BYTES_MAX (1 << 20)

static struct nvidia_report report; /* large */

static void parse(const char *data, size_t len)
{
    autofree char *exact = own_calloc(len > 0 ? len : 1, 1); /* so that the sanitizers see a byte too many */
    memcpy(exact, data, len);
    memset(&report, 0xa5, sizeof(report));
    nvidia_smi_parse(exact, len, &report);
}

static void parse_text(const char *text)
{
    parse(text, strlen(text));
}

static char *sample(const char *name)
{
    autofree char *path = own_printf("tests/data/nvidia/%s", name);
    char *data = NULL;
    size_t len = 0;
    assert_int_equal(file_read(path, SAMPLE_BYTES_MAX, &data, &len), 0);
    return data;
}

/* The sample with one text in place of another, each time it is there. Caller frees. */
static char *altered(const char *name, const char *from, const char *to)
{
    autofree char *data = sample(name);
    AUTO(text) struct text out = {0};
    assert_non_null(strstr(data, from));
    for (const char *p = data, *at; *p != '\0'; p = at + strlen(from)) {
        at = strstr(p, from);
        if (at == NULL) {
            text_add(&out, p);
            break;
        }
        text_add_bytes(&out, p, (size_t)(at - p));
        text_add(&out, to);
    }
    return text_take(&out);
}

static void assert_value(const struct nvidia_gpu *gpu, enum nvidia_value value, double wanted)
{
    if (isnan(wanted) ? !isnan(gpu->values[value]) : !(fabs(gpu->values[value] - wanted) < 1e-9))
        fail_msg("value %d of %s is %g, not %g", (int)value, gpu->name, gpu->values[value], wanted);
}

static void test_hopper(void **state)
{
    autofree char *data = sample("hopper.xml");
    (void)state;
    parse_text(data);
    assert_int_equal(report.answer, NVIDIA_ANSWER_REPORT);
    assert_int_equal(report.gpu_count, 2);
    assert_int_equal(report.attached, 2);
    const struct nvidia_gpu *gpu = &report.gpus[0];
    assert_string_equal(gpu->name, "0000:53:00");
    assert_string_equal(report.gpus[1].name, "0000:b9:00");
    assert_string_equal(gpu->uuid, "GPU-00000000-aaaa-bbbb-cccc-0123456789ab");
    assert_string_equal(gpu->serial, "1650000000000");
    assert_string_equal(gpu->board_part, "692-0A000-0200-000");
    assert_string_equal(gpu->product, "NVIDIA H100 80GB HBM3");
    assert_string_equal(gpu->performance_state, "P0");
    assert_string_equal(gpu->recovery_action, "None");
    assert_string_equal(gpu->fabric_state, "Completed");
    assert_string_equal(gpu->fabric_status, "Success");
    assert_string_equal(gpu->fabric_health, "");
    assert_string_equal(report.gpus[1].fabric_health, "Healthy");
    assert_false(gpu->is_lost || gpu->requires_reset || gpu->is_inforom_corrupt);
    assert_int_equal(gpu->unreadable,
                     0); /* although its addressing mode, which nobody asked for, is an "Unknown Error" */
    static const struct {
        enum nvidia_value value;
        double wanted;
    } values[] = {
        {NVIDIA_TEMPERATURE, 41},
        {NVIDIA_TEMPERATURE_SLOW, NAN},
        {NVIDIA_TEMPERATURE_LEFT, 46},
        {NVIDIA_POWER, 601.25},
        {NVIDIA_TEMPERATURE_LEFT_SLOW, -2},
        {NVIDIA_POWER_LIMIT, 700},
        {NVIDIA_UTILIZATION, 97},
        {NVIDIA_MEMORY_USED, 70123},
        {NVIDIA_CLOCK_SM, 1410},
        {NVIDIA_ECC_ON, 1},
        {NVIDIA_ECC_CORRECTED, 3},
        {NVIDIA_ECC_DRAM, 0},
        {NVIDIA_ECC_SRAM, 0},
        {NVIDIA_SRAM_THRESHOLD, 0},
        {NVIDIA_REPAIR_PENDING, 0},
        {NVIDIA_UNREPAIRABLE, NAN},
        {NVIDIA_ROWS_PENDING, 0},
        {NVIDIA_ROWS_FAILURE, 0},
        {NVIDIA_PAGES_PENDING, NAN},
        {NVIDIA_SLOW_HW, 0},
        {NVIDIA_PCIE_GEN, 5},
        {NVIDIA_PCIE_WIDTH, 16},
        {NVIDIA_PCIE_REPLAYS, 12},
        {NVIDIA_PERSISTENCE, 1},
        {NVIDIA_MIG, 0},
        {NVIDIA_RESET_REQUIRED, NAN},
    };
    for (size_t i = 0; i < ARRAY_LEN(values); i++)
        assert_value(gpu, values[i].value, values[i].wanted);
}

static void test_older_generations(void **state)
{
    autofree char *ampere = sample("ampere.xml"), *volta = sample("volta.xml");
    (void)state;
    parse_text(ampere);
    assert_int_equal(report.gpu_count, 2);
    assert_value(&report.gpus[1], NVIDIA_ECC_SRAM, 2);
    assert_value(&report.gpus[1], NVIDIA_ECC_CORRECTED, 3);
    assert_value(&report.gpus[0], NVIDIA_TEMPERATURE_SLOW, 89);
    assert_value(&report.gpus[0], NVIDIA_POWER, 251.25);
    assert_value(&report.gpus[0], NVIDIA_RESET_REQUIRED, 0);
    assert_string_equal(report.gpus[0].recovery_action, "");
    parse_text(volta);
    assert_int_equal(report.gpu_count, 1);
    assert_string_equal(report.gpus[0].name, "0000:00:1e");
    assert_value(&report.gpus[0], NVIDIA_ECC_CORRECTED, 3);
    assert_value(&report.gpus[0], NVIDIA_ECC_DRAM, 4);
    assert_value(&report.gpus[0], NVIDIA_ECC_SRAM, 1);
    assert_value(&report.gpus[0], NVIDIA_ROWS_PENDING, NAN);
    assert_value(&report.gpus[0], NVIDIA_PAGES_PENDING, 0);
}

static void test_sick(void **state)
{
    autofree char *data = sample("sick.xml");
    (void)state;
    parse_text(data);
    const struct nvidia_gpu *one = &report.gpus[0], *two = &report.gpus[1];
    assert_string_equal(one->recovery_action, "Drain and Reset");
    assert_value(one, NVIDIA_ECC_DRAM, 3);
    assert_value(one, NVIDIA_ROWS_PENDING, 1);
    assert_value(one, NVIDIA_SRAM_THRESHOLD, 1);
    assert_value(one, NVIDIA_SLOW_HW, 1);
    assert_value(one, NVIDIA_SLOW_HW_THERMAL, 1);
    assert_value(one, NVIDIA_TEMPERATURE_LEFT, -3);
    assert_value(two, NVIDIA_ROWS_FAILURE, 1);
    assert_value(two, NVIDIA_SLOW_HW_POWER, 1);
    assert_string_equal(two->fabric_status, "Insufficient Resources");
    assert_string_equal(two->fabric_health, "Unhealthy");
}

static void test_lost(void **state)
{
    autofree char *data = sample("lost.xml"), *reset = altered("lost.xml", "GPU is lost", "GPU requires reset");
    (void)state;
    parse_text(data);
    assert_false(report.gpus[0].is_lost);
    assert_true(report.gpus[1].is_lost);
    assert_true(report.gpus[1].unreadable & UINT64_C(1) << NVIDIA_POWER);
    assert_value(&report.gpus[1], NVIDIA_ECC_DRAM, NAN);
    parse_text(reset);
    assert_true(report.gpus[1].requires_reset);
    assert_false(report.gpus[1].is_lost);
}

static void test_values_that_are_none(void **state)
{
    static const struct {
        const char *text;
        bool unreadable;
    } cases[] = {
        {"N/A", false},
        {"[N/A]", false},
        {"Not Supported", false},
        {"Requested functionality has been deprecated", false},
        {"Insufficient Permissions", false},
        {"", false},
        {"-", false},
        {"C", false},
        {"41C", false}, /* a unit stands apart */
        {"99999999999999999999 C", false},
        {"0x29", false},
        {"nan", false},
        {"ERR!", true},
        {"[Unknown Error]", true},
        {"Unknown Error", true},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        autofree char *element = own_printf("<gpu_temp>%s</gpu_temp>", cases[i].text);
        autofree char *data = altered("hopper.xml", "<gpu_temp>41 C</gpu_temp>", element);
        parse_text(data);
        assert_int_equal(report.answer, NVIDIA_ANSWER_REPORT);
        assert_value(&report.gpus[0], NVIDIA_TEMPERATURE, NAN);
        assert_true(report.gpus[0].unreadable == (cases[i].unreadable ? UINT64_C(1) << NVIDIA_TEMPERATURE : 0));
        if (cases[i].unreadable)
            assert_string_equal(report.gpus[0].unreadable_first, "temperature/gpu_temp");
    }
}

/* What a user calls his program is no word of the driver's. */
static void test_names_of_programs(void **state)
{
    static const char *const names[] = {"GPU is lost", "GPU requires reset", "infoROM is corrupted", "ERR!",
                                        "x\nUnable to determine the device handle for GPU 0000:53:00.0: GPU is lost\n"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        autofree char *data = altered("hopper.xml", "/usr/bin/python3 &lt;train&gt;", names[i]);
        parse_text(data);
        assert_int_equal(report.answer, NVIDIA_ANSWER_REPORT);
        for (size_t j = 0; j < report.gpu_count; j++) {
            assert_false(report.gpus[j].is_lost || report.gpus[j].requires_reset || report.gpus[j].is_inforom_corrupt);
            assert_int_equal(report.gpus[j].unreadable, 0);
        }
        *strstr(data, "</process_name>") = '\0'; /* and it breaks off behind that */
        parse_text(data);
        assert_int_equal(report.answer, NVIDIA_ANSWER_BROKEN);
        assert_int_equal(report.gpu_count, 0);
    }
}

static void test_messages(void **state)
{
    static const struct {
        const char *text;
        enum nvidia_answer answer;
        const char *lost, *reset, *why;
    } cases[] = {
        {"No devices were found\n", NVIDIA_ANSWER_NO_DEVICES, NULL, NULL, "No devices were found"},
        {"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest "
         "NVIDIA "
         "driver is installed and running.\n\n",
         NVIDIA_ANSWER_NO_DRIVER, NULL, NULL, "NVIDIA-SMI has failed because"},
        {"Failed to initialize NVML: Driver Not Loaded\n", NVIDIA_ANSWER_NO_DRIVER, NULL, NULL, "Failed to"},
        {"Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 580.10\n",
         NVIDIA_ANSWER_MISMATCH, NULL, NULL, "Failed to initialize NVML: Driver/library version mismatch"},
        {"Failed to initialize NVML: Unknown Error\n", NVIDIA_ANSWER_BROKEN, NULL, NULL, "Failed to"},
        {"Failed to initialize NVML: GPU access blocked by the operating system", NVIDIA_ANSWER_BROKEN, NULL, NULL, ""},
        {"Unable to determine the device handle for GPU 0000:BA:00.0: GPU is lost.  Reboot the system to recover this "
         "GPU\n",
         NVIDIA_ANSWER_BROKEN, "0000:ba:00", NULL, "Unable to"},
        {"Unable to determine the device handle for GPU0000:20:00.0: Unknown Error\n", NVIDIA_ANSWER_BROKEN,
         "0000:20:00", NULL, "Unable to"},
        {"Unable to determine the device handle for gpu 00000000:0B:00.0: GPU requires reset", NVIDIA_ANSWER_BROKEN,
         NULL, "0000:0b:00", "Unable to"},
        {"Unable to determine the device handle for GPU 0000:BA:00.0: Insufficient Permissions\n", NVIDIA_ANSWER_BROKEN,
         NULL, NULL, "Unable to"},
        {"Unable to determine the device handle for GPU: Unknown Error\n", NVIDIA_ANSWER_BROKEN, NULL, NULL, ""},
        {"/usr/bin/nvidia-smi: not a program\n", NVIDIA_ANSWER_BROKEN, NULL, NULL, "/usr/bin"},
        {"", NVIDIA_ANSWER_BROKEN, NULL, NULL, "nvidia-smi printed nothing"},
        {" \n\r\n", NVIDIA_ANSWER_BROKEN, NULL, NULL, "nvidia-smi printed nothing"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        parse_text(cases[i].text);
        if (report.answer != cases[i].answer || !text_starts_with(report.why, cases[i].why))
            fail_msg("%s: %s, %s", cases[i].text, nvidia_answer_text(report.answer), report.why);
        bool found_lost = false, found_reset = false;
        for (size_t j = 0; j < report.gpu_count; j++) {
            found_lost |= report.gpus[j].is_lost && text_equal(cases[i].lost, report.gpus[j].name);
            found_reset |= report.gpus[j].requires_reset && text_equal(cases[i].reset, report.gpus[j].name);
            assert_true(report.gpus[j].is_lost == (cases[i].lost != NULL));
        }
        assert_true(found_lost == (cases[i].lost != NULL));
        assert_true(found_reset == (cases[i].reset != NULL));
    }
}

static void test_messages_around_a_report(void **state)
{
    autofree char *data = sample("hopper.xml");
    autofree char *around =
        own_printf("Warning: persistence mode is disabled\n%s\nWARNING: infoROM is corrupted at gpu "
                   "0000:B9:00.0\n",
                   data);
    autofree char *beside =
        own_printf("%sUnable to determine the device handle for GPU 0000:CA:00.0: GPU is lost\n", data);
    (void)state;
    parse_text(around);
    assert_int_equal(report.answer, NVIDIA_ANSWER_REPORT);
    assert_int_equal(report.gpu_count, 2);
    assert_false(report.gpus[0].is_inforom_corrupt);
    assert_true(report.gpus[1].is_inforom_corrupt);
    parse_text(beside);
    assert_int_equal(report.answer, NVIDIA_ANSWER_REPORT);
    assert_int_equal(report.gpu_count, 3);
    assert_true(report.gpus[2].is_lost);
    assert_string_equal(report.gpus[2].name, "0000:ca:00");
}

/* A list of GPUs that breaks off would be missing GPUs: it is no list. */
static void test_every_cut_is_broken(void **state)
{
    autofree char *data = sample("sick.xml");
    const char *end = strstr(data, "</nvidia_smi_log>");
    (void)state;
    for (size_t len = 0; data + len < end + strlen("</nvidia_smi_log>"); len += 1 + len % 7) {
        parse(data, len);
        assert_int_equal(report.answer, NVIDIA_ANSWER_BROKEN);
        assert_int_equal(report.gpu_count, 0);
        assert_true(report.why[0] != '\0');
    }
}

static void test_no_reports(void **state)
{
    static const char *const cases[] = {
        "<?xml version=\"1.0\"?><other/>",
        "<?xml version=\"1.0\"?><html><body>502</body></html>",
        "<nvidia_smi_log><gpu id=\"\"></gpu></nvidia_smi_log>",
        "<nvidia_smi_log><gpu></gpu></nvidia_smi_log>",
        "<nvidia_smi_log><gpu id=\"0\"></gpu></nvidia_smi_log>",
        "<nvidia_smi_log><gpu id=\"0000:zz:00.0\"></gpu></nvidia_smi_log>",
        "<nvidia_smi_log><gpu id=\"0000:01:00.0\"/><gpu id=\"00000000:01:00.0\"/></nvidia_smi_log>",
        "<!DOCTYPE nvidia_smi_log [<!ENTITY a \"b\">]><nvidia_smi_log><gpu id=\"0:1:0\">&a;</gpu></nvidia_smi_log>",
        "{\"gpu\": []}",
        "\x7f"
        "ELF\x02\x01\x01",
        "\xff\xfe<\x00?\x00",
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        parse_text(cases[i]);
        if (report.answer != NVIDIA_ANSWER_BROKEN || report.gpu_count != 0 || report.why[0] == '\0')
            fail_msg("taken: %s", cases[i]);
    }
    parse_text("<nvidia_smi_log><attached_gpus>0</attached_gpus></nvidia_smi_log>");
    assert_int_equal(report.answer, NVIDIA_ANSWER_NO_DEVICES);
    assert_int_equal(report.attached, 0);
}

static void test_too_many_gpus(void **state)
{
    AUTO(text) struct text document = {0};
    (void)state;
    for (int gpus = NVIDIA_GPUS_MAX; gpus <= NVIDIA_GPUS_MAX + 1; gpus++) {
        text_clear(&document);
        text_add(&document, "<nvidia_smi_log>");
        for (int i = 0; i < gpus; i++)
            text_printf(&document, "<gpu id=\"0000:%02x:00.0\"><serial>%d</serial></gpu>", i, i);
        text_add(&document, "</nvidia_smi_log>");
        parse_text(text_get(&document));
        assert_int_equal(report.answer, gpus > NVIDIA_GPUS_MAX ? NVIDIA_ANSWER_BROKEN : NVIDIA_ANSWER_REPORT);
    }
}

static void test_megabytes_of_garbage(void **state)
{
    AUTO(text) struct text garbage = {0};
    (void)state;
    while (garbage.len < (5 << 20))
        text_add(&garbage, "Unable to determine the device handle for GPU 0000:01:00.0\n\x01\x02<nvidia_smi_log>");
    parse(garbage.data, garbage.len);
    assert_int_equal(report.answer, NVIDIA_ANSWER_BROKEN);
    assert_true(report.gpu_count <= 1);
    for (const char *c = report.why; *c != '\0'; c++)
        assert_true(*c >= 0x20 && *c < 0x7f);
}

static void test_pci_names(void **state)
{
    static const struct {
        const char *text, *name;
    } cases[] = {
        {"00000000:53:00.0", "0000:53:00"}, {"0000:B9:1e.0", "0000:b9:1e"},   {"00000001:00:00.0", "0001:00:00"},
        {"GPU0000:20:00.0", "0000:20:00"},  {"GPU 0000:20:00", "0000:20:00"}, {"10000:01:00.0", "10000:01:00"},
        {"0000:b9:00", "0000:b9:00"},
    };
    static const char *const none[] = {"",
                                       "0000",
                                       "0000:53",
                                       "0000:53:",
                                       "0000:53:00.",
                                       "0000:53:20",
                                       "0000:153:00.0",
                                       "000000000:53:00",
                                       "0000:53:00.0.0",
                                       "0000-53-00",
                                       "0000:53:00.8",
                                       ":53:00",
                                       "GPU",
                                       " 0000:53:00 "};
    char name[DEVICE_MAX_BYTES];
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_true(nvidia_pci_name(cases[i].text, strlen(cases[i].text), name));
        assert_string_equal(name, cases[i].name);
    }
    for (size_t i = 0; i < ARRAY_LEN(none); i++)
        if (nvidia_pci_name(none[i], strlen(none[i]), name))
            fail_msg("taken: \"%s\" as %s", none[i], name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hopper),
        cmocka_unit_test(test_older_generations),
        cmocka_unit_test(test_sick),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_values_that_are_none),
        cmocka_unit_test(test_names_of_programs),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_messages_around_a_report),
        cmocka_unit_test(test_every_cut_is_broken),
        cmocka_unit_test(test_no_reports),
        cmocka_unit_test(test_too_many_gpus),
        cmocka_unit_test(test_megabytes_of_garbage),
        cmocka_unit_test(test_pci_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
