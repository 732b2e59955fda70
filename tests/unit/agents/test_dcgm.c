/* DCGM: its health report in both dresses, diagnoses of three versions, its list of GPUs, and the check as a whole. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/checks.h"
#include "agents/checks/dcgm_diag.h"
#include "agents/checks/dcgm_health.h"
#include "agents/checks/dcgm_violations.h"
#include "base/status.h"
#include "base/text.h"
#include "policy/faults/faults.h"
#include "tests/unit/agents/machine.h"

#include <stdio.h>

#define SAMPLE_BYTES_MAX (1 << 20)

static struct dcgm_health health; /* large, as is the next one */
static struct dcgm_diag diag;

static char *sample(const char *name)
{
    autofree char *path = own_printf("tests/data/dcgm/%s", name);
    char *data = NULL;
    size_t len = 0;
    assert_int_equal(file_read(path, SAMPLE_BYTES_MAX, &data, &len), 0);
    return data;
}

static void parse_health(const char *data, size_t len)
{
    autofree char *exact = own_calloc(len > 0 ? len : 1, 1); /* so that the sanitizers see a byte too many */
    memcpy(exact, data, len);
    memset(&health, 0xa5, sizeof(health));
    dcgm_health_parse(exact, len, &health);
}

static int parse_diag(const char *data, size_t len)
{
    autofree char *exact = own_calloc(len > 0 ? len : 1, 1);
    memcpy(exact, data, len);
    return dcgm_diag_parse(exact, len, &diag);
}

/* --- health ---------------------------------------------------------------------------------------------------------- */

static void test_health_in_both_dresses(void **state)
{
    static const char *const names[] = {"health-failure.json", "health-failure.txt"};
    static const struct {
        const char *group, *system, *begins, *code;
        int entity;
        bool is_failure;
    } wanted[] = {
        {"GPU", "Memory system", "GPU 0 had memory errors and row remappings are pending Drain",
         "dcgm.pending-row-remap", 0, false},
        {"GPU", "NVLINK system", "GPU 0's NvLink link 3 is currently down, GPU 0's NvLink link 5", "dcgm.health.nvlink",
         0, true},
        {"GPU", "Driver", "Detected XID 79", "dcgm.xid-error", 3, true},
        {"Switch", "NvSwitch Nonfatal", "Something", "dcgm.health.nvswitch-nonfatal", 1, false},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        autofree char *data = sample(names[i]);
        parse_health(data, strlen(data));
        assert_int_equal(health.answer, DCGM_HEALTH_REPORT);
        assert_string_equal(health.overall, "Failure");
        assert_int_equal(health.incident_count, ARRAY_LEN(wanted));
        for (size_t j = 0; j < ARRAY_LEN(wanted); j++) {
            const struct dcgm_incident *incident = &health.incidents[j];
            char code[CODE_MAX_BYTES];
            dcgm_incident_code(incident, code);
            assert_string_equal(incident->group, wanted[j].group);
            assert_string_equal(incident->system, wanted[j].system);
            assert_int_equal(incident->entity, wanted[j].entity);
            assert_true(incident->is_failure == wanted[j].is_failure);
            assert_true(text_starts_with(incident->message, wanted[j].begins));
            assert_string_equal(code, wanted[j].code);
        }
    }
}

static void test_health_answers(void **state)
{
    static const struct {
        const char *said;
        enum dcgm_health_answer answer;
    } cases[] = {
        {"Error: Health watches not enabled. Please enable watches. \n", DCGM_HEALTH_NOT_WATCHED},
        {"Error: unable to establish a connection to the specified host: localhost\nError: Unable to connect to host "
         "engine. Host engine connection invalid/disconnected.\n",
         DCGM_HEALTH_NO_SERVICE},
        {"", DCGM_HEALTH_BROKEN},
        {"{}", DCGM_HEALTH_BROKEN},
        {"[]", DCGM_HEALTH_BROKEN},
        {"{\"body\":{}}", DCGM_HEALTH_BROKEN},
        {"{\"body\":[]}", DCGM_HEALTH_BROKEN},
        {"{\"body\":{\"Overall Health\":{\"value\":\"Internal error\"}}}", DCGM_HEALTH_BROKEN},
        {"{\"body\":{\"Overall Health\":{\"value\":7}}}", DCGM_HEALTH_BROKEN},
        {"{\"body\":{\"Overall Health\":\"Healthy\"}}", DCGM_HEALTH_BROKEN},
        {"{\"body\":{\"Overall Health\":{\"value\":\"Healthy\"},\"GPU\":[1,2],\"x\":{\"children\":7}}}",
         DCGM_HEALTH_REPORT},
        {"{\"body\":{\"GPU\":{\"children\":{\"x\":{\"children\":{\"Errors\":{\"children\":{\"SM "
         "system\":{\"value\":\"Failure\"}}}}}}}}}",
         DCGM_HEALTH_BROKEN},
        {"{\"body\":{\"GPU\":{\"children\":{\"0\":{\"children\":{\"Errors\":{\"children\":{\"SM "
         "system\":{\"value\":\"Failure\"}}}}}}}}}",
         DCGM_HEALTH_BROKEN}, /* cut off before its verdict, as a table may be */
        {"| GPU | |\n| -> 0 | Failure |\n|    -> Errors | |\n|       -> SM system | Failure |\n", DCGM_HEALTH_BROKEN},
        {"| Overall Health | Sick |\n", DCGM_HEALTH_BROKEN},
        {"| Overall Health", DCGM_HEALTH_BROKEN},
        {"| Overall Health | Healthy |", DCGM_HEALTH_REPORT},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        parse_health(cases[i].said, strlen(cases[i].said));
        if (health.answer != cases[i].answer || health.incident_count != 0)
            fail_msg("%s: %s", cases[i].said, dcgm_health_answer_text(health.answer));
    }
}

/* Cut anywhere, a report that is not well never becomes one that is. */
static void test_health_cut(void **state)
{
    static const char *const names[] = {"health-failure.json", "health-failure.txt"};
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        autofree char *data = sample(names[i]);
        for (size_t len = 0; len < strlen(data); len++) {
            parse_health(data, len);
            assert_string_not_equal(health.overall, "Healthy");
            assert_true(health.incident_count <= 4);
        }
    }
}

static void test_health_of_too_many(void **state)
{
    AUTO(text) struct text data = {0};
    (void)state;
    text_add(&data, "| Overall Health | Failure |\n| GPU | |\n");
    for (int i = 0; i < DCGM_INCIDENTS_MAX + 50; i++)
        text_printf(&data, "| -> %d | Failure |\n|    -> Errors | |\n|       -> SM system | Failure |\n|  | %0600d |\n",
                    i, i);
    parse_health(data.data, data.len);
    assert_int_equal(health.answer, DCGM_HEALTH_REPORT);
    assert_int_equal(health.incident_count, DCGM_INCIDENTS_MAX);
}

/* --- diagnoses ------------------------------------------------------------------------------------------------------- */

static void assert_result(size_t i, enum dcgm_status status, const char *test, int entity, int number, const char *code)
{
    char seen[CODE_MAX_BYTES];
    assert_true(i < diag.result_count);
    dcgm_diag_code(&diag.results[i], seen);
    if (diag.results[i].status != status || strcmp(diag.results[i].test, test) != 0 ||
        diag.results[i].entity != entity || diag.results[i].number != number || strcmp(seen, code) != 0)
        fail_msg("%zu: %s of %d, %d, %s", i, diag.results[i].test, diag.results[i].entity, diag.results[i].number,
                 seen);
    assert_non_null(fault_find(seen));
}

static void test_diag_2(void **state)
{
    autofree char *data = sample("diag-2.json");
    (void)state;
    assert_int_equal(parse_diag(data, strlen(data)), 0);
    assert_string_equal(diag.version, "");
    assert_int_equal(diag.counts[DCGM_STATUS_PASS], 3);
    assert_int_equal(diag.counts[DCGM_STATUS_FAIL], 3);
    assert_int_equal(diag.result_count, 5);
    assert_result(0, DCGM_STATUS_FAIL, "CUDA Main Library", -1, 0, "dcgm.cannot-open-lib");
    assert_result(1, DCGM_STATUS_WARN, "Environment Variables", -1, 0, "dcgm.bad-cuda-env");
    assert_result(2, DCGM_STATUS_FAIL, "GPU Memory", 2, 0, "dcgm.row-remap-failure");
    assert_result(3, DCGM_STATUS_FAIL, "GPU Memory", 3, 0, "dcgm.row-remap-failure");
    assert_result(4, DCGM_STATUS_SKIP, "EUD Test", 0, 0, "dcgm.diag.failed");
    assert_string_equal(diag.results[2].category, "Hardware");
    assert_string_equal(diag.results[2].group, "GPU");
}

static void test_diag_3(void **state)
{
    autofree char *data = sample("diag-3.json");
    (void)state;
    assert_int_equal(parse_diag(data, strlen(data)), 0);
    assert_string_equal(diag.version, "3.3.9");
    assert_string_equal(diag.driver, "550.54.15");
    assert_int_equal(diag.counts[DCGM_STATUS_PASS], 5);
    assert_int_equal(diag.result_count, 3);
    assert_result(0, DCGM_STATUS_SKIP, "memory", 0, 55, "dcgm.ecc-disabled");
    assert_result(1, DCGM_STATUS_FAIL, "memory", 1, 50, "dcgm.stress-level");
    assert_result(2, DCGM_STATUS_FAIL, "memory", 2, 0, "dcgm.faulty-memory");
}

static void test_diag_4(void **state)
{
    autofree char *data = sample("diag-4.json");
    (void)state;
    assert_int_equal(parse_diag(data, strlen(data)), 0);
    assert_string_equal(diag.version, "4.2.3");
    assert_string_equal(diag.driver, "580.82.09");
    assert_int_equal(diag.counts[DCGM_STATUS_FAIL], 3);
    assert_int_equal(diag.counts[DCGM_STATUS_SKIP], 1);
    assert_result(0, DCGM_STATUS_FAIL, "software", 0, 29, "dcgm.persistence-mode");
    assert_result(1, DCGM_STATUS_FAIL, "memory", 3, 80, "dcgm.row-remap-failure");
    assert_result(2, DCGM_STATUS_SKIP, "diagnostic", 0, 0, "dcgm.diag.failed");
    assert_result(3, DCGM_STATUS_FAIL, "nvbandwidth", -1, 9999, "dcgm.diag.failed");
    assert_true(text_starts_with(diag.results[1].message, "GPU 3 had"));
}

static void test_no_diagnoses(void **state)
{
    static const char *const cases[] = {
        "",
        "Error: unable to establish a connection to the specified host: localhost\n",
        "{",
        "}",
        "}{",
        "[]",
        "{}",
        "{\"DCGM Diagnostic\":7}",
        "{\"DCGM GPU Diagnostic\":[{\"category\":\"Deployment\",\"tests\":[]}]}",
        "{\"DCGM Diagnostic\":{\"test_categories\":{}}}",
        "{\"DCGM Diagnostic\":{\"test_categories\":[{\"tests\":[{\"results\":7}]}]}}",
        "{\"version\":\"4.2.3\",\"tests\":[{\"name\":\"memory\",\"results\":[{\"status\":\"fail\"}]}]}",
        "{\"DCGM Diagnostic\":{},\"DCGM Diagnostic\":{}}",
    };
    (void)state;
    memset(&diag, 0x5a, sizeof(diag));
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (parse_diag(cases[i], strlen(cases[i])) != STATUS_INVALID)
            fail_msg("taken: %s", cases[i]);
    assert_int_equal(diag.counts[0], 0x5a5a5a5a); /* untouched */
    static const char error[] = "{\"DCGM Diagnostic\":{\"runtime_error\":\"no GPU is idle\"}}";
    assert_int_equal(parse_diag(error, strlen(error)), 0);
    assert_string_equal(diag.runtime_error, "no GPU is idle");
}

static void test_diag_cut_and_odd(void **state)
{
    static const char odd[] =
        "{\"DCGM "
        "Diagnostic\":{\"test_categories\":[{\"category\":7,\"tests\":[{\"name\":null,\"results\":[{\"status\":\"Not "
        "Run\"},{\"gpu_ids\":\"all\",\"status\":\"FAIL\",\"warnings\":[]},{\"gpu_ids\":\"99999999999\",\"status\":7},"
        "{\"entity_id\":-4,\"status\":\"Pass\"},7,null]}]}]}}";
    autofree char *data = sample("diag-4.json");
    (void)state;
    for (size_t len = 0; len < strlen(data) - 2; len += 3)
        assert_int_equal(parse_diag(data, len), STATUS_INVALID);
    assert_int_equal(parse_diag(odd, strlen(odd)), 0);
    assert_int_equal(diag.counts[DCGM_STATUS_FAIL], 1);
    assert_int_equal(diag.counts[DCGM_STATUS_PASS], 1);
    assert_int_equal(diag.counts[DCGM_STATUS_OTHER], 4);
}

/* --- names ----------------------------------------------------------------------------------------------------------- */

static void test_discovery(void **state)
{
    autofree char *data = sample("discovery.txt");
    struct dcgm_gpu gpus[DCGM_GPUS_MAX];
    char name[DEVICE_MAX_BYTES];
    (void)state;
    size_t count = dcgm_discovery_parse(data, strlen(data), gpus);
    assert_int_equal(count, 3);
    assert_string_equal(gpus[2].uuid, "GPU-00000003-aaaa-bbbb-cccc-0123456789ab");
    dcgm_entity_name(gpus, count, "GPU", 3, name);
    assert_string_equal(name, "0000:b9:00");
    dcgm_entity_name(gpus, count, "GPU", 2, name);
    assert_string_equal(name, "GPU:2");
    dcgm_entity_name(gpus, count, "Switch", 3, name);
    assert_string_equal(name, "Switch:3");
    for (size_t len = 0; len < strlen(data); len++) {
        autofree char *exact = own_calloc(len > 0 ? len : 1, 1);
        memcpy(exact, data, len);
        assert_true(dcgm_discovery_parse(exact, len, gpus) <= 3);
    }
}

/* Each number that a sentence stands for is one of the table, and the table's own code comes out. */
static void test_codes(void **state)
{
    static const struct {
        int number;
        const char *message, *code;
    } cases[] = {
        {85, "", "dcgm.pending-row-remap"},
        {85, "GPU 1 had uncorrectable memory errors and row remapping failed.", "dcgm.pending-row-remap"},
        {0, "GPU 1 had uncorrectable memory errors and row remapping failed.", "dcgm.row-remap-failure"},
        {0, "GPU had an uncontained error (XID 95)", "dcgm.uncontained-error"},
        {101, "Detected XID 48 for GPU 1", "dcgm.xid-error"},
        {101, "Detected XID 4242 for GPU 1", "dcgm.xid-error"},
        {0, "Detected XID for GPU 1", "dcgm.xid-error"},
        {0, "Detected XID 99999999999999999999 for GPU 1", "dcgm.xid-error"},
        {0, "Detected 12 volatile double-bit ECC error(s) in GPU 7.", "dcgm.volatile-dbe-detected"},
        {0, "GPU 0's NvLink link 3 is currently down", "dcgm.diag.failed"},
        {0, "", "dcgm.diag.failed"},
        {-7, "", "dcgm.diag.failed"},
        {100000, "", "dcgm.diag.failed"},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char code[CODE_MAX_BYTES];
        dcgm_code(cases[i].number, cases[i].message, "dcgm.diag.failed", code);
        if (strcmp(code, cases[i].code) != 0)
            fail_msg("%d \"%s\": %s", cases[i].number, cases[i].message, code);
    }
}

/* --- the check ------------------------------------------------------------------------------------------------------- */

static struct machine machine_with_dcgm(void **state)
{
    struct machine machine = machine_new(*state, "");
    autofree char *discovery = sample("discovery.txt");
    machine_tool(&machine, "dcgmi",
                 "case \"$1 $2\" in 'discovery -l') cat \"$0-discovery.out\";; 'health -c') cat \"$0.out\";;"
                 " 'health -s') echo \"$3\" >>\"$0-set\"; echo Health monitor systems set successfully.;; esac");
    machine_says(&machine, "dcgmi-discovery", discovery, strlen(discovery));
    return machine;
}

static void says(const struct machine *machine, const char *text)
{
    machine_says(machine, "dcgmi", text, strlen(text));
}

static void expect(struct machine *machine, enum check_result result, const char *wanted)
{
    struct check_report report = machine_run(machine, &check_dcgm);
    AUTO(text) struct text seen = {0};
    for (size_t i = 0; i < report.observation_count; i++) {
        text_printf(&seen, "%s%s %s", i > 0 ? ", " : "", report.observations[i].code, report.observations[i].device);
        assert_non_null(fault_find(report.observations[i].code));
    }
    if (strcmp(text_get(&seen), wanted) != 0 || report.result != result)
        fail_msg("\"%s\" (%s, %s)", text_get(&seen), check_result_text(report.result), report.why);
    report_free(&report);
}

static void test_check(void **state)
{
    struct machine machine = machine_with_dcgm(state);
    autofree char *failure = sample("health-failure.json"), *well = sample("health-well.json");
    says(&machine, failure);
    expect(&machine, CHECK_RESULT_FOUND,
           "dcgm.pending-row-remap 0000:53:00, dcgm.health.nvlink 0000:53:00, dcgm.xid-error 0000:b9:00, "
           "dcgm.health.nvswitch-nonfatal Switch:1");
    says(&machine, well);
    expect(&machine, CHECK_RESULT_OK, "");
    says(&machine, "{\"body\":{\"Overall Health\":{\"value\":\"Failure\"}}}");
    expect(&machine, CHECK_RESULT_UNKNOWN, "");
    says(&machine, "\x01\x02");
    expect(&machine, CHECK_RESULT_UNKNOWN, "");
    machine_free(&machine);
}

static void test_service(void **state)
{
    static const char down[] = "Error: unable to establish a connection to the specified host: localhost\n";
    struct machine machine = machine_with_dcgm(state);
    autofree char *well = sample("health-well.json");
    says(&machine, down); /* it was never up: this machine does without */
    expect(&machine, CHECK_RESULT_NOT_APPLICABLE, "");
    says(&machine, well);
    expect(&machine, CHECK_RESULT_OK, "");
    says(&machine, down);
    expect(&machine, CHECK_RESULT_FOUND, "dcgm.service.down ");
    machine.uptime_ms = 60000;
    expect(&machine, CHECK_RESULT_UNKNOWN, "");
    assert_int_equal(file_remove_tree(machine.bin), 0);
    expect(&machine, CHECK_RESULT_NOT_APPLICABLE, "");
    machine_free(&machine);
}

static void test_watches_are_enabled(void **state)
{
    struct machine machine = machine_with_dcgm(state);
    autofree char *path = own_printf("%s/dcgmi-set", machine.bin), *set = NULL;
    size_t len = 0;
    says(&machine, "Error: Health watches not enabled. Please enable watches. \n");
    expect(&machine, CHECK_RESULT_UNKNOWN, "");
    assert_int_equal(file_read(path, 100, &set, &len), 0);
    assert_string_equal(set, "a\n");
    machine_free(&machine);
}

/* --- policies ------------------------------------------------------------------------------------------------------- */

static void test_policies(void **state)
{
    static const struct {
        const char *said;
        enum dcgm_policy policy;
    } cases[] = {
        {"", DCGM_POLICY_BROKEN},
        {"{}", DCGM_POLICY_BROKEN},
        {"{\"body\":{\"Violation conditions\":{\"value\":7}}}", DCGM_POLICY_BROKEN},
        {"{\"body\":{\"Violation conditions\":{\"value\":\"None\"}}}", DCGM_POLICY_NONE},
        {"{\"body\":{\"Violation conditions\":{\"value\":\"****\"}}}", DCGM_POLICY_SET},
        {"| Violation conditions | None", DCGM_POLICY_BROKEN},
        {"| Violation conditions | None |", DCGM_POLICY_NONE},
        {"| Violation conditions |  PCI errors and replays |", DCGM_POLICY_SET},
        {"| Violation conditions |  |", DCGM_POLICY_BROKEN},
        {"Error: Cannot get policy info from remote node. Return: Not supported\n", DCGM_POLICY_BROKEN},
        {"Error: unable to establish a connection to the specified host: localhost\n", DCGM_POLICY_NO_SERVICE},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (dcgm_policy_parse(cases[i].said, strlen(cases[i].said)) != cases[i].policy)
            fail_msg("%s", cases[i].said);
    autofree char *set = sample("policy-set.json"), *none = sample("policy-none.txt");
    assert_int_equal(dcgm_policy_parse(set, strlen(set)), DCGM_POLICY_SET);
    assert_int_equal(dcgm_policy_parse(none, strlen(none)), DCGM_POLICY_NONE);
}

static void test_violations(void **state)
{
    struct dcgm_violations violations;
    autofree char *data = sample("policy-violations.txt");
    (void)state;
    dcgm_violations_parse(data, strlen(data), &violations);
    assert_int_equal(violations.sum, 9);
    for (size_t i = 0; i < DCGM_VIOLATION_COUNT; i++)
        assert_int_equal(violations.counts[i], i == DCGM_VIOLATION_XID ? 2 : 1);
    assert_int_equal(violations.last[DCGM_VIOLATION_XID], 79);
    assert_int_equal(violations.last[DCGM_VIOLATION_THERMAL], 91);
    assert_int_equal(violations.last[DCGM_VIOLATION_PAGES], 12);
    assert_int_equal(violations.last[DCGM_VIOLATION_NVLINK], 6);
    assert_int_equal(violations.last[DCGM_VIOLATION_OTHER], -1);
    for (size_t len = 0; len < strlen(data); len++) { /* cut anywhere */
        autofree char *exact = own_calloc(len > 0 ? len : 1, 1);
        memcpy(exact, data, len);
        dcgm_violations_parse(exact, len, &violations);
        assert_true(violations.sum <= 9);
    }
}

/* A dcgmi whose policies are these, and which hears that while it listens. */
static void put_policies(const struct machine *machine, const char *get, const char *reg)
{
    autofree char *script = own_printf("echo \"$*\" >>\"$0.ran\"\ncase \"$*\" in\n\"policy --get -j\") %s;;\n"
                                       "\"policy --reg\") %s;;\n*) exit 9;;\nesac",
                                       get, reg);
    machine_tool(machine, "dcgmi", script);
    machine_tool(machine, "timeout",
                 "test \"$1 $2 $3 $4 $5\" = \"--foreground -s INT -k 3\" || exit 9\nshift 6\n\"$@\"");
}

static void expect_policy(struct machine *machine, enum check_result result, int64_t count, const char *text)
{
    struct check_report report = machine_run(machine, &check_violations);
    if (report.result != result)
        fail_msg("%s: %s", check_result_text(report.result), report.why);
    assert_int_equal(report.observation_count, count > 0);
    if (count > 0) {
        assert_true(report.observations[0].is_event);
        assert_string_equal(report.observations[0].code, "dcgm.policy.violation");
        assert_int_equal(report.observations[0].count, count);
        assert_non_null(fault_find(report.observations[0].code));
    }
    assert_non_null(strstr(count > 0 ? report.observations[0].text : report.why, text));
    report_free(&report);
}

static void test_check_of_policies(void **state)
{
    struct machine machine = machine_new(*state, "");
    autofree char *said = own_printf("echo 'XID error 79 detected.'; exit 124"), *ran = NULL;
    autofree char *ran_path = own_printf("%s/dcgmi.ran", machine.bin);
    size_t len;
    expect_policy(&machine, CHECK_RESULT_NOT_APPLICABLE, 0, "no dcgmi");
    put_policies(&machine, "echo '| Violation conditions | None |'", "exit 9");
    expect_policy(&machine, CHECK_RESULT_NOT_APPLICABLE, 0, "no policy is set in DCGM");
    put_policies(&machine, "echo '| Violation conditions | XID error detected. |'", said);
    for (int minute = 1; minute < 5; minute++) /* not each time */
        expect_policy(&machine, CHECK_RESULT_NOT_APPLICABLE, 0, "no policy is set in DCGM");
    expect_policy(&machine, CHECK_RESULT_FOUND, 1, "Xid 1 times, last 79");
    assert_int_equal(file_read(ran_path, 4096, &ran, &len), 0);
    assert_string_equal(ran, "policy --get -j\npolicy --get -j\npolicy --reg\n");
    put_policies(&machine, "exit 9", "exit 124");
    expect_policy(&machine, CHECK_RESULT_OK, 0, "");
    put_policies(&machine, "exit 9", "echo 'Error: Cannot register to receive policy violations.'; exit 1");
    expect_policy(&machine, CHECK_RESULT_UNKNOWN, 0, "does not listen: Error: Cannot register");
    machine.uptime_ms += 600000;
    put_policies(&machine, "echo; exit 1", "exit 9");
    expect_policy(&machine, CHECK_RESULT_UNKNOWN, 0, "not what dcgmi policy says");
    machine_free(&machine);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_health_in_both_dresses),
        cmocka_unit_test(test_health_answers),
        cmocka_unit_test(test_health_cut),
        cmocka_unit_test(test_health_of_too_many),
        cmocka_unit_test(test_diag_2),
        cmocka_unit_test(test_diag_3),
        cmocka_unit_test(test_diag_4),
        cmocka_unit_test(test_no_diagnoses),
        cmocka_unit_test(test_diag_cut_and_odd),
        cmocka_unit_test(test_discovery),
        cmocka_unit_test(test_codes),
        PLACE_TEST(test_check),
        PLACE_TEST(test_service),
        PLACE_TEST(test_watches_are_enabled),
        cmocka_unit_test(test_policies),
        cmocka_unit_test(test_violations),
        PLACE_TEST(test_check_of_policies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
