/* A site's own checks: exit codes as Nagios knows them, heads, and what is not run because others could have written it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/custom.h"

#include "base/clock.h"
#include "base/status.h"
#include "tests/unit/agents/machine.h"

/* The directory of programs is the machine's bin. */
static struct check_report run_named(struct machine *machine, const char *name)
{
    struct custom_list list;
    struct check_report report = {.result = CHECK_RESULT_OK};
    bool found = false;
    custom_load(machine->bin, &list);
    for (size_t i = 0; i < list.count; i++)
        if (strcmp(list.checks[i]->name, name) == 0) {
            found = true;
            report = machine_run(machine, list.checks[i]);
        }
    custom_free(&list);
    assert_true(found);
    return report;
}

static struct check_report run_script(struct machine *machine, const char *script)
{
    machine_tool(machine, "probe", script);
    return run_named(machine, "probe");
}

static void test_exit_codes(void **state)
{
    struct machine machine = machine_new(*state, "");
    static const struct {
        const char *script;
        enum check_result result;
        const char *code, *text;
    } cases[] = {
        {"echo all is well", CHECK_RESULT_OK, NULL, NULL},
        {"echo; echo ' warm | temp=70'; exit 1", CHECK_RESULT_FOUND, "custom.warning", " warm "},
        {"echo hot; echo second line; exit 2", CHECK_RESULT_FOUND, "custom.critical", "hot"},
        {"echo only here >&2; exit 2", CHECK_RESULT_FOUND, "custom.critical", "only here"},
        {"echo no sensor; exit 3", CHECK_RESULT_UNKNOWN, NULL, "no sensor"},
        {"exit 4", CHECK_RESULT_UNKNOWN, NULL, "it ended with exit code 4"},
        {"kill -9 $$", CHECK_RESULT_UNKNOWN, NULL, "it ended with exit code 137"},
        {"# holdfast: severity=critical reason=Call the night desk.\necho low; exit 1", CHECK_RESULT_FOUND,
         "custom.critical", "low; Call the night desk."},
        {"# holdfast: severity=warn\nexit 2", CHECK_RESULT_FOUND, "custom.warning", ""},
        {"# holdfast: severity=loud\nexit 2", CHECK_RESULT_UNKNOWN, NULL, NULL},
        {"printf 'a\\033[31mb\\377'; exit 1", CHECK_RESULT_FOUND, "custom.warning", "a [31mb?"},
        {"head -c 100000 /dev/zero | tr '\\0' x; exit 1", CHECK_RESULT_FOUND, "custom.warning", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct check_report report = run_script(&machine, cases[i].script);
        if (report.result != cases[i].result)
            fail_msg("%s: %s %s", cases[i].script, check_result_text(report.result), report.why);
        if (cases[i].code != NULL) {
            assert_string_equal(report.observations[0].code, cases[i].code);
            assert_string_equal(report.observations[0].device, "probe");
        }
        if (cases[i].text != NULL)
            assert_string_equal(cases[i].code != NULL ? report.observations[0].text : report.why, cases[i].text);
        report_free(&report);
    }
    machine_free(&machine);
}

static void test_one_that_hangs(void **state)
{
    struct machine machine = machine_new(*state, "");
    struct check_report report = run_script(&machine, "# holdfast: timeout=1s\nexec sleep 1000");
    assert_int_equal(report.result, CHECK_RESULT_UNKNOWN);
    assert_string_equal(report.why, "it did not answer within 1 s");
    report_free(&report);
    machine_free(&machine);
}

static void test_whose_it_is(void **state)
{
    struct machine machine = machine_new(*state, "");
    autofree char *path = own_printf("%s/probe", machine.bin), *link = own_printf("%s/link", machine.bin);
    static const struct {
        mode_t file, dir;
        const char *why;
    } cases[] = {{0775, 0755, "can be written by others"},
                 {0757, 0755, "can be written by others"},
                 {0755, 0775, "can be written by others"},
                 {0755, 0757, "can be written by others"},
                 {0644, 0755, "is not executable"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        machine_tool(&machine, "probe", "exit 2");
        assert_int_equal(chmod(path, cases[i].file), 0);
        assert_int_equal(chmod(machine.bin, cases[i].dir), 0);
        struct check_report report = run_named(&machine, "probe");
        assert_int_equal(report.result, CHECK_RESULT_UNKNOWN);
        assert_non_null(strstr(report.why, cases[i].why));
        report_free(&report);
    }
    assert_int_equal(chmod(machine.bin, 0755), 0);
    assert_int_equal(symlink("/bin/false", link), 0);
    struct check_report report = run_named(&machine, "link");
    assert_non_null(strstr(report.why, "is no plain file"));
    report_free(&report);
    if (geteuid() == 0) {
        assert_int_equal(chmod(path, 0755), 0);
        assert_int_equal(chown(path, 4711, 0), 0);
        report = run_named(&machine, "probe");
        assert_non_null(strstr(report.why, "belongs neither"));
        report_free(&report);
    }
    machine_free(&machine);
}

static void test_heads(void **state)
{
    static const char *const bad[] = {
        "# holdfast: period=1s",  "# holdfast: period=2d",      "# holdfast: period=soon", "# holdfast: timeout=0s",
        "# holdfast: timeout=1h", "# holdfast: severity=",      "# holdfast: perid=1m",    "# holdfast: period",
        "# holdfast: =",          "# holdfast: period=1m extra"};
    static const char good[] =
        "#!/bin/sh\n# another comment\n#\n# holdfast: period=5m  timeout=30s\n"
        "# holdfast: severity=warn reason=Ask Ann, period=1s or not\necho # holdfast: period=1s\n";
    struct custom_header header;
    (void)state;
    assert_int_equal(custom_parse_header(good, strlen(good), &header), 0);
    assert_int_equal(header.period_ms, 5 * MS_PER_MIN);
    assert_int_equal(header.timeout_ms, 30 * MS_PER_S);
    assert_int_equal(header.severity, CUSTOM_WARN);
    assert_string_equal(header.reason, "Ask Ann, period=1s or not");
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        assert_int_equal(custom_parse_header(bad[i], strlen(bad[i]), &header), STATUS_INVALID);
        assert_int_equal(header.period_ms, MS_PER_MIN);
    }
    assert_int_equal(custom_parse_header("\x7f"
                                         "ELF\0\0#",
                                         7, &header),
                     0);
    assert_int_equal(custom_parse_header("", 0, &header), 0);
}

static void test_names(void **state)
{
    static const char *const bad[] = {"",     ".hidden", "-x", "a b", "a/b", "a\nb", "a-name-longer-than-may-be",
                                      "kmsg", "deep"};
    struct machine machine = machine_new(*state, "");
    struct custom_list list;
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        assert_false(custom_is_name(bad[i]));
    assert_true(custom_is_name("ib-cables.sh"));
    machine_tool(&machine, "b", "exit 0");
    machine_tool(&machine, "a", "exit 0");
    machine_tool(&machine, "c~", "exit 0");
    machine_tool(&machine, ".d", "exit 0");
    machine_tool(&machine, "not a name", "exit 0");
    custom_load(machine.bin, &list);
    assert_int_equal(list.count, 2);
    assert_string_equal(list.checks[0]->name, "a");
    custom_free(&list);
    custom_load("/no/such/directory", &list);
    assert_int_equal(list.count, 0);
    machine_free(&machine);
}

static struct custom_list load(struct machine *machine)
{
    struct custom_list list;
    custom_load(machine->bin, &list);
    return list;
}

/* A name that is gone takes no place for ever: it can be named until the next look, and then another may have its place. */
static void test_names_that_come_and_go(void **state)
{
    struct machine machine = machine_new(*state, "");
    struct custom_list list = {.count = 0}, found;
    for (int turn = 0; turn < 4; turn++) {
        for (int i = 0; i < CUSTOM_MAX; i++) {
            autofree char *name = own_printf("p%d-%d", turn, i),
                          *old = own_printf("%s/p%d-%d", machine.bin, turn - 1, i);
            assert_true(turn == 0 || unlink(old) == 0);
            machine_tool(&machine, name, "exit 0");
        }
        found = load(&machine);
        custom_merge(&list, &found);
        assert_int_equal(list.passed_over, 0);
        size_t there = 0;
        for (size_t i = 0; i < list.count; i++) {
            there += list.is_there[i];
            assert_true(list.checks[i]->name[1] == '0' + turn || !list.is_there[i]);
        }
        assert_int_equal(there, CUSTOM_MAX);
    }
    found = load(&machine);
    custom_merge(&list, &found);
    assert_int_equal(list.count, CUSTOM_MAX);
    machine_tool(&machine, "one-more", "exit 0");
    found = load(&machine);
    assert_int_equal(found.passed_over, 1);
    custom_free(&found);
    custom_free(&list);
    machine_free(&machine);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_exit_codes),        TEST(test_one_that_hangs), TEST(test_whose_it_is),
        cmocka_unit_test(test_heads), TEST(test_names),          TEST(test_names_that_come_and_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
