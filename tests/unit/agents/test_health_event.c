/* What is found as HyperPod's agent logs it: the words, and what is not printed. */
#include "agents/node/health_event.h"
#include "base/json.h"
#include "base/own.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define AT INT64_C(1724240135000)
#define LINE(xid) "NVRM: Xid (PCI:0000:b9:00): " xid ", pid=<unknown>, \"name\""

static struct verdict verdict_of(const char *code, enum severity severity, const char *line)
{
    struct verdict verdict = {.severity = severity, .first_at = AT};
    text_copy_cut(verdict.code, sizeof(verdict.code), code);
    text_copy_cut(verdict.raw_line, sizeof(verdict.raw_line), line);
    return verdict;
}

static void test_the_line(void **state)
{
    (void)state;
    const struct verdict verdict = verdict_of("xid.79", SEVERITY_CRITICAL, LINE("79"));
    autofree char *line = health_event_line(&verdict, AT + 1500);
    assert_string_equal(
        line,
        "{\"level\":\"info\",\"ts\":\"2024-08-21T11:35:36.500Z\",\"msg\":\"NPD caught event: %v\",\"details\":{"
        "\"severity\":\"warn\",\"timestamp\":\"2024-08-21T11:35:35.000Z\",\"reason\":\"NvidiaGPUUnhealthy\","
        "\"message\":\"Node condition NvidiaErrorReboot is now: True, reason: NvidiaGPUUnhealthy, message: \\\"NVRM: "
        "Xid (PCI:0000:b9:00): 79, pid=<unknown>, \\\"name\\\"\\\"\"},\"HealthMonitoringAgentDetectionEvent\":"
        "\"HealthEvent\"}");
}

static void test_words(void **state)
{
    (void)state;
    static const struct {
        const char *code;
        enum severity severity;
        const char *says; /* NULL: nothing is printed */
    } cases[] = {
        {"xid.48", SEVERITY_CRITICAL, "NvidiaErrorReboot is now: True, reason: XidHardwareFailure"},
        {"neuron.hbm", SEVERITY_CRITICAL, "NeuronErrorReboot is now: True, reason: NeuronHbm"},
        {"site.\x01\xff", SEVERITY_CRITICAL, "NodeErrorReboot"},
        {"xid.31", SEVERITY_WARN, NULL},
        {"xid.92", SEVERITY_WARN, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct verdict verdict = verdict_of(cases[i].code, cases[i].severity, "");
        autofree char *line = health_event_line(&verdict, AT);
        if ((line == NULL) != (cases[i].says == NULL) || (line != NULL && strstr(line, cases[i].says) == NULL))
            fail_msg("%s: %s", cases[i].code, line == NULL ? "nothing" : line);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_the_line), cmocka_unit_test(test_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
