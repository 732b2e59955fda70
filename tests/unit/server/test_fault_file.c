/* The file of fault overrides: what it takes, what each refusal says and where, and what the tables then answer. */
#include "server/config/fault_file.h"

#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_text(const char *yaml, struct fault_overrides **ret_overrides, char *error)
{
    char path[] = "/tmp/holdfast-faults.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, yaml, strlen(yaml)), (ssize_t)strlen(yaml));
    close(fd);
    int rc = fault_file_read(path, ret_overrides, error);
    unlink(path);
    return rc;
}

static struct fault_judgement judge(const struct fault_overrides *overrides, const char *type, const char *code,
                                    const char *line)
{
    const struct fault_scope scope = {overrides, type};
    struct fault_judgement judgement;
    fault_judge_in(&scope, "kmsg", code, line, &judgement);
    return judgement;
}

static void test_what_it_takes(void **state)
{
    (void)state;
    struct fault_overrides *overrides = NULL;
    char error[FAULT_FILE_ERROR_MAX] = "";
    int rc = read_text("# ours\n"
                       "overrides:\n"
                       "  - code: xid.119\n"
                       "    instanceTypes: [ml.p5.48xlarge, ml.p5e.48xlarge]\n"
                       "    action: watch\n"
                       "    rate: { count: 5, withinHours: 24, action: support }\n"
                       "    why: firmware 96.00 does that without harm\n"
                       "  - code: xid.119\n"
                       "    action: reboot\n"
                       "    again: replace\n"
                       "    urgency: now\n"
                       "    why: elsewhere it is real\n"
                       "  - { code: xid.74, action: watch, why: our switches are noisy }\n"
                       "  - { code: xid.4711, action: support, why: a driver of the future }\n"
                       "  - { code: node.disk.full, action: support, why: our jobs need the disk }\n",
                       &overrides, error);
    if (rc != 0)
        fail_msg("%s", error);
    assert_int_equal(fault_overrides_count(overrides), 6);
    struct fault_judgement j = judge(overrides, "ml.p5e.48xlarge", "xid.119", "");
    assert_int_equal(j.action, ACTION_CLASS_WATCH);
    assert_int_equal(j.again, ACTION_CLASS_WATCH);
    assert_int_equal(j.severity, SEVERITY_WARN);
    assert_int_equal(j.row->rate_count, 5);
    assert_int_equal(j.row->rate_action, ACTION_CLASS_SUPPORT);
    assert_non_null(strstr(j.row->sources, "[site] firmware 96.00"));
    assert_non_null(strstr(j.row->sources, "without it: [V]"));
    assert_true(j.by_site);
    j = judge(overrides, "ml.g5.xlarge", "xid.119", "");
    assert_int_equal(j.action, ACTION_CLASS_REBOOT);
    assert_int_equal(j.urgency, URGENCY_NOW);
    assert_int_equal(j.severity, SEVERITY_CRITICAL);
    assert_int_equal(j.row->rate_count, 0);
    /* the site stands above what the line adds, too */
    const char *seating = "NVRM: Xid (PCI:0000:9b:00): 74, pid='<unknown>', NVLink: fatal error detected on link "
                          "3(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)";
    assert_int_equal(judge(NULL, "", "xid.74", seating).action, ACTION_CLASS_RESET);
    j = judge(overrides, "", "xid.74", seating);
    assert_int_equal(j.action, ACTION_CLASS_WATCH);
    assert_non_null(strstr(j.why, "register 1 bit 16"));
    assert_int_equal(judge(overrides, NULL, "xid.4711", "").action, ACTION_CLASS_SUPPORT);
    assert_int_equal(judge(overrides, "", "node.disk.full", "").action, ACTION_CLASS_SUPPORT);
    assert_int_equal(judge(overrides, "", "xid.79", "").action, ACTION_CLASS_REBOOT);
    assert_false(judge(overrides, "", "xid.79", "").by_site);
    assert_true(fault_is_overridden(overrides, "xid.119") && !fault_is_overridden(overrides, "xid.79"));
    const struct fault_scope scope = {overrides, ""};
    assert_true(strlen(fault_version_in(&scope)) < TABLE_VERSION_MAX_BYTES);
    assert_true(text_starts_with(fault_version_in(&scope), fault_table_version()));
    assert_string_not_equal(fault_version_in(&scope), fault_table_version());
    assert_string_equal(fault_version_in(NULL), fault_table_version());
    fault_overrides_free(overrides);
    fault_overrides_free(NULL);
}

static void test_an_empty_file_says_nothing(void **state)
{
    (void)state;
    struct fault_overrides *overrides = NULL;
    char error[FAULT_FILE_ERROR_MAX] = "";
    assert_int_equal(read_text("# nothing yet\n", &overrides, error), 0);
    assert_int_equal(fault_overrides_count(overrides), 0);
    fault_overrides_free(overrides);
    assert_int_equal(read_text("overrides: []\n", &overrides, error), 0);
    fault_overrides_free(overrides);
}

#define GOOD "  - {code: xid.13, action: watch, why: x}\n"

static void test_what_it_refuses(void **state)
{
    (void)state;
    static const struct {
        const char *yaml, *says[2];
    } cases[] = {
        {"overrides:\n" GOOD "  - {code: xid.x, action: watch, why: x}\n",
         {"line 3: override 2:", "xid.x is in no table"}},
        {"overrides:\n" GOOD GOOD, {"line 3:", "xid.13 is there twice"}},
        {"overrides:\n" GOOD "# words\n\n  - code: node.disk.full\n    action: repair\n    why: x\n",
         {"line 5:", "action must be ignore, app"}},
        {"overrides:\n  - {code: xid.13, why: x}\n", {"line 2:", "action is missing"}},
        {"overrides:\n  - {code: xid.13, action: watch}\n", {"line 2:", "why must say"}},
        {"overrides:\n  - {code: xid.13, action: watch, why: \"a\\nb\"}\n", {"line 2:", "why must say"}},
        {"overrides:\n  - {action: watch, why: x}\n", {"line 2:", "code must be"}},
        {"overrides:\n  - {code: 13, action: watch, why: x}\n", {"line 2:", "code must be"}},
        {"overrides:\n  - {code: xid.13, action: watch, why: x, sev: y}\n", {"line 2:", "sev is not a key"}},
        {"overrides:\n  - xid.13\n", {"line 2:", "must be a mapping"}},
        {"overrides:\n  - {code: xid.154, action: watch, why: x}\n", {"line 2:", "driver's own word"}},
        {"overrides:\n  - {code: nvidia.recovery.reset, action: watch, why: x}\n", {"line 2:", "driver's own word"}},
        {"overrides:\n  - {code: xid.13, action: watch, urgency: now, why: x}\n",
         {"line 2:", "urgent without a repair"}},
        {"overrides:\n  - {code: xid.13, action: watch, urgency: soon, why: x}\n", {"line 2:", "now or after-jobs"}},
        {"overrides:\n  - {code: xid.13, action: watch, again: 7, why: x}\n", {"line 2:", "again must be"}},
        {"overrides:\n  - {code: xid.13, action: watch, instanceTypes: p5, why: x}\n", {"line 2:", "a list of names"}},
        {"overrides:\n  - {code: xid.13, action: watch, instanceTypes: [], why: x}\n", {"line 2:", "a list of names"}},
        {"overrides:\n  - {code: xid.13, action: watch, instanceTypes: [7], why: x}\n", {"line 2:", "a list of names"}},
        {"overrides:\n  - {code: xid.13, action: watch, instanceTypes: [a, a], why: x}\n", {"line 2:", "there twice"}},
        {"overrides:\n  - {code: xid.13, action: watch, rate: 3, why: x}\n", {"line 2:", "rate must be a mapping"}},
        {"overrides:\n  - {code: xid.13, action: watch, rate: {count: 1, withinHours: 1, action: support}, why: x}\n",
         {"line 2:", "rate.count must be"}},
        {"overrides:\n  - {code: xid.13, action: watch, rate: {count: 3, withinHours: 0, action: support}, why: x}\n",
         {"line 2:", "rate.withinHours must be"}},
        {"overrides:\n  - {code: xid.13, action: watch, rate: {count: 3, withinHours: 1}, why: x}\n",
         {"line 2:", "rate.action is missing"}},
        {"overrides:\n  - {code: xid.13, action: watch, rate: {count: 3, withinHours: 1, action: app}, why: x}\n",
         {"line 2:", "asks for no more when it comes often"}},
        {"overrides:\n  - {code: xid.13, action: reboot, rate: {count: 3, withinHours: 1, action: support}, why: x}\n",
         {"line 2:", "a rate, which is for what is watched"}},
        {"overrides: {}\n", {"must hold one key, overrides, with a list", ""}},
        {"faults: []\n", {"must hold one key, overrides, with a list", ""}},
        {"[]\n", {"must hold one key, overrides, with a list", ""}},
        {"overrides:\n  - {code: xid.13\n  more: :\n", {"line 3", ""}},
        {"overrides: &a []\n", {"line 1", ""}},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fault_overrides *overrides = NULL;
        char error[FAULT_FILE_ERROR_MAX] = "";
        int rc = read_text(cases[i].yaml, &overrides, error);
        if (rc != STATUS_INVALID || overrides != NULL)
            fail_msg("case %zu: %d %s", i, rc, error);
        for (size_t k = 0; k < ARRAY_LEN(cases[i].says); k++)
            if (strstr(error, cases[i].says[k]) == NULL)
                fail_msg("case %zu does not say \"%s\": %s", i, cases[i].says[k], error);
        assert_non_null(strstr(error, "/tmp/holdfast-faults."));
    }
    struct fault_overrides *overrides = NULL;
    char error[FAULT_FILE_ERROR_MAX] = "";
    assert_int_equal(fault_file_read("/no/such/file", &overrides, error), STATUS_NOT_FOUND);
    assert_non_null(strstr(error, "/no/such/file"));
}

static void test_the_example_is_taken(void **state)
{
    (void)state;
    struct fault_overrides *overrides = NULL;
    char error[FAULT_FILE_ERROR_MAX] = "";
    if (fault_file_read("docs/examples/faults.yaml", &overrides, error) != 0)
        fail_msg("%s", error);
    assert_int_equal(fault_overrides_count(overrides), 2);
    fault_overrides_free(overrides);
}

/* The lines of HyperPod's own test (ai-on-sagemaker-hyperpod, eks-resiliency.md), in our words, and what its agent was seen to do. */
static void test_the_same_line_gets_what_hyperpod_gives_it(void **state)
{
    static const struct {
        const char *code, *line;
        enum action_class ours, hyperpods;
    } cases[] = {
        {"xid.74",
         "NVRM: Xid (PCI:0000:b9:00): 74, pid=<unknown>, name=<unknown>, NVLink: fatal error detected on link 0"
         "(0x10000, 0x0, 0x0, 0x0, 0x0, 0x0, 0x0)",
         ACTION_CLASS_RESET, ACTION_CLASS_REPLACE},
        {"xid.73", "NVRM: Xid (PCI:0000:b9:00): 73, pid=1234, name=python3, Ch 00000008", ACTION_CLASS_WATCH,
         ACTION_CLASS_REBOOT},
        {"xid.31", "NVRM: Xid (PCI:0000:b9:00): 31, pid=1234, name=python3, Ch 00000008", ACTION_CLASS_APP,
         ACTION_CLASS_APP},
        {"xid.94", "NVRM: Xid (PCI:0000:b9:00): 94, pid=1234, name=python3, Contained: SM (0x1). RST: No, D-RST: No",
         ACTION_CLASS_RESET, ACTION_CLASS_WATCH},
        {"xid.71", "NVRM: Xid (PCI:0000:b9:00): 71, pid=1234, name=python3, Ch 00000008", ACTION_CLASS_REBOOT,
         ACTION_CLASS_REBOOT},
        {"xid.79", "NVRM: Xid (PCI:0000:b9:00): 79, pid=<unknown>, name=<unknown>, GPU has fallen off the bus.",
         ACTION_CLASS_REBOOT, ACTION_CLASS_REBOOT},
    };
    struct fault_overrides *overrides = NULL;
    char error[FAULT_FILE_ERROR_MAX] = "";
    (void)state;
    if (fault_file_read("docs/examples/policies/hyperpod.yaml", &overrides, error) != 0)
        fail_msg("%s", error);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fault_judgement ours = judge(NULL, "", cases[i].code, cases[i].line);
        struct fault_judgement theirs = judge(overrides, "", cases[i].code, cases[i].line);
        if (ours.action != cases[i].ours || theirs.action != cases[i].hyperpods)
            fail_msg("%s: %s, and with the document %s", cases[i].code, action_class_text(ours.action),
                     action_class_text(theirs.action));
    }
    fault_overrides_free(overrides);
}

static void test_how_many(void **state)
{
    (void)state;
    struct text yaml = {0};
    struct fault_overrides *overrides = NULL;
    char error[FAULT_FILE_ERROR_MAX] = "";
    text_add(&yaml, "overrides:\n");
    for (int i = 0; i < FAULT_OVERRIDES_MAX + 1; i++)
        text_printf(&yaml, "  - {code: xid.%d, action: watch, why: x}\n", 200 + i);
    autofree char *data = text_take(&yaml);
    assert_int_equal(read_text(data, &overrides, error), STATUS_INVALID);
    assert_non_null(strstr(error, "is one too many"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_it_takes),
        cmocka_unit_test(test_an_empty_file_says_nothing),
        cmocka_unit_test(test_what_it_refuses),
        cmocka_unit_test(test_the_example_is_taken),
        cmocka_unit_test(test_the_same_line_gets_what_hyperpod_gives_it),
        cmocka_unit_test(test_how_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
