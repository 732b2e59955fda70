/* What a node's checks go by: the text, whose word counts, what survives a new start, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/checks.h"
#include "agents/node/settings.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "tests/unit/agents/machine.h"

#include <sys/time.h>

#define GROUP AGENT_SETTING_SOURCE_GROUP

static int parse(const char *text, struct agent_settings *ret_settings, char why[AGENT_SETTINGS_ERROR_MAX])
{
    return agent_settings_parse(text, strlen(text), GROUP, ret_settings, why);
}

static void test_what_is_said(void **state)
{
    static const char text[] = "--- \n# scratch disks\ndisk.lowPercent: 10 # of bytes\r\n\n  load.enabled:\tfalse\n"
                               "dcgm.period: 5m\nnvidia.deadline: 20s\ncustom.a.b.timeout: 90s\nlog.level: debug";
    struct agent_settings settings;
    char why[AGENT_SETTINGS_ERROR_MAX], value[AGENT_SETTING_VALUE_MAX_BYTES];
    (void)state;
    assert_int_equal(parse(text, &settings, why), 0);
    assert_int_equal(settings.count, 6);
    assert_int_equal(agent_settings_limit(&settings, AGENT_LIMIT_DISK_LOW), 10);
    assert_int_equal(agent_settings_limit(&settings, AGENT_LIMIT_DISK_FULL), 1);
    assert_int_equal(agent_settings_limit(NULL, AGENT_LIMIT_DISK_LOW), 5);
    assert_int_equal(agent_settings_of(&settings, "", "load", "enabled", 1), 0);
    assert_int_equal(agent_settings_of(&settings, "", "dcgm", "period", 7), 5 * MS_PER_MIN);
    assert_int_equal(agent_settings_of(&settings, "custom.", "a.b", "timeout", 7), 90 * MS_PER_S);
    assert_int_equal(agent_settings_of(&settings, "", "memory", "period", 7), 7);
    assert_string_equal(agent_setting_value(&settings.rows[1], value), "false");
    assert_string_equal(agent_setting_value(&settings.rows[2], value), "5m");
    assert_string_equal(agent_setting_value(&settings.rows[5], value), "debug");
    agent_settings_free(&settings);
    assert_int_equal(parse("", &settings, why), 0);
    assert_int_equal(settings.count, 0);
}

static void test_what_is_refused(void **state)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"disk.lowPercent 10", "line 1: it must be \"name: value\""},
        {"disk.lowPercent:10", "line 1: it must be \"name: value\""},
        {"\n\ndisk.colour: red", "line 3: \"disk.colour\" is no setting of agents"},
        {"disk: {period: 5m}", "line 1: \"disk\" is no setting of agents"},
        {"kmsg.enabled: false", "line 1: \"kmsg.enabled\" is no setting of agents"},
        {"custom..timeout: 5s", "line 1: \"custom..timeout\" is no setting of agents"},
        {"custom.-x.timeout: 5s", "line 1: \"custom.-x.timeout\" is no setting of agents"},
        {"custom.a/b.timeout: 5s", "line 1: \"custom.a/b.timeout\" is no setting of agents"},
        {"custom.timeout: 5s", "line 1: \"custom.timeout\" is no setting of agents"},
        {"custom.abcdefghijklmnopqrstuvwxyz.timeout: 5s",
         "line 1: \"custom.abcdefghijklmnopqrstuvwxyz.timeout\" is no setting of agents"},
        {"load.perCpu: 3\nload.perCpu: 4", "line 2: load.perCpu is there twice"},
        {"disk.lowPercent: 51", "line 1: disk.lowPercent must be a whole number from 1 to 50"},
        {"disk.lowPercent: 5.5", "line 1: disk.lowPercent must be a whole number from 1 to 50"},
        {"disk.lowPercent:  ", "line 1: it must be \"name: value\""},
        {"disk.period: 1s", "line 1: disk.period must be a duration from 5s to 1d"},
        {"disk.period: 99999999999999999999d", "line 1: disk.period must be a duration from 5s to 1d"},
        {"disk.enabled: no", "line 1: disk.enabled must be true or false"},
        {"log.level: loud", "line 1: log.level must be debug, info, warn or error"},
        {"log.level: info\n\x1b[2J", "line 1: it is no text in UTF-8, or has control characters"},
        {"log.level: \xff", "line 1: it is no text in UTF-8, or has control characters"},
        {"# one\rlog.level: debug", "line 1: it is no text in UTF-8, or has control characters"},
        {"disk.fullPercent: 8\ndisk.lowPercent: 7\n# end",
         "line 2: disk.fullPercent is 8 and more than disk.lowPercent, which is 7"},
        {"disk.lowPercent: 7\ndisk.fullPercent: 8\nload.perCpu: 2",
         "line 2: disk.fullPercent is 8 and more than disk.lowPercent, which is 7"},
        {"\ndisk.fullPercent: 6", "line 2: disk.fullPercent is 6 and more than disk.lowPercent, which is 5"},
        {"nvidia.temperature: 151", "line 1: nvidia.temperature must be a whole number from 0 to 150"},
        {"services.slurmd: no", "line 1: services.slurmd must be true or false"},
    };
    struct agent_settings settings = {.count = 0};
    char why[AGENT_SETTINGS_ERROR_MAX] = "";
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(parse(cases[i].text, &settings, why), STATUS_INVALID);
        assert_string_equal(why, cases[i].why);
    }
    assert_null(settings.rows); /* written on success alone */
    autofree char *large = own_calloc(AGENT_SETTINGS_TEXT_MAX_BYTES + 1, 1);
    memset(large, '\n', AGENT_SETTINGS_TEXT_MAX_BYTES);
    assert_int_equal(parse(large, &settings, why), STATUS_TOO_LARGE);
    AUTO(text) struct text many = {0};
    for (int i = 0; i <= AGENT_SETTINGS_MAX; i++)
        text_printf(&many, "custom.p%d.enabled: false\n", i);
    assert_int_equal(parse(many.data, &settings, why), STATUS_INVALID);
    assert_string_equal(why, "line 129: more than 128 settings");
}

/* A node's file stands over what its group says, which it does not know. */
static void test_an_order_of_two_texts(void **state)
{
    struct agent_settings settings;
    char why[AGENT_SETTINGS_ERROR_MAX];
    static const char half[] = "disk.fullPercent: 6", both[] = "disk.fullPercent: 6\ndisk.lowPercent: 5";
    (void)state;
    assert_int_equal(agent_settings_parse(half, strlen(half), AGENT_SETTING_SOURCE_FILE, &settings, why), 0);
    agent_settings_free(&settings);
    assert_int_equal(agent_settings_parse(both, strlen(both), AGENT_SETTING_SOURCE_FILE, &settings, why),
                     STATUS_INVALID);
    assert_int_equal(parse("disk.fullPercent: 5\n", &settings, why), 0); /* as much is no more */
    agent_settings_free(&settings);
}

static void test_ends_of_lines(void **state)
{
    (void)state;
    autofree char *plain = agent_settings_plain("a: 1\r\n# two\r\n\nb: 2\r"), *none = agent_settings_plain("");
    assert_string_equal(plain, "a: 1\n# two\n\nb: 2");
    assert_string_equal(none, "");
}

static void test_lines_of_reports(void **state)
{
    (void)state;
    assert_true(agent_settings_line_is_fine("disk.period 5m file"));
    assert_true(agent_settings_line_is_fine("custom.x.enabled false group"));
    assert_true(agent_settings_line_is_fine("dcgm.enabled false command-line"));
    static const char *const wrong[] = {"",
                                        "disk.period",
                                        "disk.period 5m",
                                        "disk.period 5m nobody",
                                        "disk.period  file",
                                        "disk.period 5m  file",
                                        "disk.period 1ms file",
                                        "disk.colour red file"};
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++)
        assert_false(agent_settings_line_is_fine(wrong[i]));
}

static void test_tags(void **state)
{
    uint64_t tag = 7;
    (void)state;
    assert_int_equal(agent_settings_tag(""), 0);
    assert_true(agent_settings_tag("a") != 0 && agent_settings_tag("a") != agent_settings_tag("b"));
    assert_int_equal(agent_settings_tag_parse("ffffffffffffffff", &tag), 0);
    assert_true(tag == UINT64_MAX);
    assert_int_equal(agent_settings_tag_parse("0", &tag), 0);
    assert_int_equal(tag, 0);
    assert_int_equal(agent_settings_tag_parse("", &tag), STATUS_INVALID);
    assert_int_equal(agent_settings_tag_parse("g", &tag), STATUS_INVALID);
    assert_int_equal(agent_settings_tag_parse("0ffffffffffffffff", &tag), STATUS_INVALID);
}

/* --- on a node ------------------------------------------------------------------------------------------------ */

static int take(struct settings *settings, const char *body)
{
    return settings_take(settings, body, strlen(body));
}

static void write_file(const char *path, const char *text, time_t at)
{
    const struct timeval times[2] = {{.tv_sec = at}, {.tv_sec = at}};
    assert_int_equal(file_write(path, text, strlen(text), 0644), 0);
    assert_int_equal(utimes(path, times), 0);
}

static void test_whose_word_counts(void **state)
{
    struct machine machine = machine_new(*state, "");
    autofree char *file = own_printf("%s/agent.yaml", machine.bin);
    struct settings settings;
    AUTO(text) struct text report = {0};
    settings_open(&settings, file, machine.bin, "i-1");
    assert_false(settings_are_said(&settings));
    assert_true(settings_is_news(&settings, 5));
    assert_int_equal(take(&settings, "{\"revision\":3,\"document\":\"disk.period: 5m\\nload.enabled: false\\n\"}"), 0);
    assert_int_equal(settings.revision, 3);
    assert_false(settings_is_news(&settings, agent_settings_tag("disk.period: 5m\nload.enabled: false\n")));
    write_file(file, "disk.period: 2m\n", 1000);
    assert_true(settings_scan(&settings, 0));
    assert_int_equal(agent_settings_of(&settings.both, "", "disk", "period", 0), 2 * MS_PER_MIN);
    assert_int_equal(agent_settings_of(&settings.both, "", "load", "enabled", 1), 0);
    settings_write_report(&settings, &report);
    assert_string_equal(report.data, "{\"instanceId\":\"i-1\",\"revision\":3,\"refused\":\"\",\"fileRefused\":\"\","
                                     "\"settings\":[\"disk.period 2m file\",\"load.enabled false group\"]}");
    /* a wrong file changes nothing; one that is gone says nothing */
    write_file(file, "disk.period: 1\n", 2000);
    settings.look_at = 0;
    assert_true(settings_scan(&settings, 0));
    assert_string_equal(settings.own_refused, "line 1: disk.period must be a duration from 5s to 1d");
    assert_int_equal(agent_settings_of(&settings.both, "", "disk", "period", 0), 2 * MS_PER_MIN);
    settings.look_at = 0;
    assert_false(settings_scan(&settings, 0)); /* said once */
    assert_int_equal(unlink(file), 0);
    settings.look_at = 0;
    assert_true(settings_scan(&settings, 0));
    assert_int_equal(agent_settings_of(&settings.both, "", "disk", "period", 0), 5 * MS_PER_MIN);
    assert_string_equal(settings.own_refused, "");
    /* the command line has the last word, and says so where somebody else spoke */
    settings_leave_out(&settings, "disk,probe");
    assert_false(agent_settings_of(&settings.both, "", "load", "enabled", 1));
    assert_int_equal(take(&settings, "{\"revision\":4,\"document\":\"dcgm.enabled: true\\ndisk.period: 5m\\n"
                                     "custom.probe.period: 1m\\ncustom.other.period: 1m\\nlog.level: warn\\n\"}"),
                     0);
    text_clear(&report);
    settings_write_report(&settings, &report);
    assert_string_equal(report.data, "{\"instanceId\":\"i-1\",\"revision\":4,\"refused\":\"\",\"fileRefused\":\"\","
                                     "\"settings\":[\"dcgm.enabled false command-line\",\"disk.period 5m group\","
                                     "\"custom.probe.period 1m group\",\"custom.other.period 1m group\","
                                     "\"log.level warn group\",\"custom.other.enabled false command-line\"]}");
    settings_close(&settings);
    machine_free(&machine);
}

static void test_a_wrong_text_of_the_group(void **state)
{
    struct machine machine = machine_new(*state, "");
    struct settings settings;
    settings_open(&settings, NULL, machine.bin, "i-1");
    assert_int_equal(take(&settings, "{\"revision\":1,\"document\":\"disk.lowPercent: 9\"}"), 0);
    assert_int_equal(take(&settings, "{\"revision\":2,\"document\":\"warp.factor: 9\"}"), 0);
    assert_int_equal(settings.revision, 1);
    assert_string_equal(settings.refused, "line 1: \"warp.factor\" is no setting of agents");
    assert_int_equal(agent_settings_limit(&settings.both, AGENT_LIMIT_DISK_LOW), 9);
    assert_false(settings_is_news(&settings, agent_settings_tag("warp.factor: 9"))); /* not fetched again and again */
    assert_true(settings_is_news(&settings, 0));
    static const char *const noise[] = {"",
                                        "{}",
                                        "{\"revision\":1}",
                                        "{\"revision\":-1,\"document\":\"\"}",
                                        "{\"revision\":1,\"document\":\"\",\"more\":1}",
                                        "[]"};
    for (size_t i = 0; i < ARRAY_LEN(noise); i++)
        assert_int_equal(take(&settings, noise[i]), STATUS_INVALID);
    assert_int_equal(take(&settings, "{\"revision\":3,\"document\":\"\"}"), 0);
    assert_int_equal(settings.both.count, 0);
    assert_string_equal(settings.refused, "");
    settings_close(&settings);
    machine_free(&machine);
}

static void test_a_start_without_a_server(void **state)
{
    struct machine machine = machine_new(*state, "");
    autofree char *kept = own_printf("%s/settings", machine.bin);
    struct settings settings;
    settings_open(&settings, NULL, machine.bin, "i-1");
    assert_int_equal(take(&settings, "{\"revision\":4,\"document\":\"# why\\ndisk.lowPercent: 9\\n\"}"), 0);
    settings_close(&settings);
    settings_open(&settings, NULL, machine.bin, "i-1");
    assert_int_equal(settings.revision, 4);
    assert_true(settings.tag == agent_settings_tag("# why\ndisk.lowPercent: 9\n"));
    assert_int_equal(agent_settings_limit(&settings.both, AGENT_LIMIT_DISK_LOW), 9);
    settings_close(&settings);
    settings_open(&settings, NULL, machine.bin, "i-2"); /* the disk is a copy */
    assert_int_equal(settings.revision, 0);
    settings_close(&settings);
    settings_open(&settings, NULL, machine.bin, NULL); /* a person who asks */
    assert_int_equal(settings.revision, 4);
    settings_close(&settings);
    static const char *const noise[] = {"", "i-1", "i-1 4", "i-1 x\ndisk.lowPercent: 9\n", "i-1 0\n", "i-1 4\nx"};
    for (size_t i = 0; i < ARRAY_LEN(noise); i++) {
        assert_int_equal(file_write(kept, noise[i], strlen(noise[i]), 0600), 0);
        settings_open(&settings, NULL, machine.bin, "i-1");
        assert_int_equal(settings.revision, 0);
        settings_close(&settings);
    }
    machine_free(&machine);
}

/* --- what the clockwork makes of it --------------------------------------------------------------------------- */

static void on_report(const struct check *check, const struct check_report *report, void *arg)
{
    struct check_report *last = arg;
    (void)check;
    last->result = report->result;
    text_copy_cut(last->why, sizeof(last->why), report->why);
}

static struct check_report run_probe(struct machine *machine, const struct agent_settings *settings)
{
    char error[CHECKS_ERROR_MAX];
    struct checks *checks;
    struct pollfd fds[CHECKS_FDS_MAX];
    struct check_report last = {.result = CHECK_RESULT_NOT_APPLICABLE};
    const struct checks_options options = {.names = "probe",
                                           .root = machine->root,
                                           .instance_type = "",
                                           .state_dir = "",
                                           .boot_id = "",
                                           .instance_id = "",
                                           .dir = machine->bin,
                                           .settings = settings,
                                           .once = true};
    assert_int_equal(checks_new(&options, &checks, error), 0);
    for (checks_turn(checks, on_report, &last); checks_due_ms(checks) < INT64_MAX;
         checks_turn(checks, on_report, &last))
        (void)poll(fds, checks_fds(checks, fds), 100);
    checks_free(checks);
    return last;
}

static void test_a_timeout_of_checks_d(void **state)
{
    struct machine machine = machine_new(*state, "");
    struct agent_settings settings;
    char why[AGENT_SETTINGS_ERROR_MAX];
    machine_tool(&machine, "probe", "# holdfast: timeout=600s\nsleep 600");
    assert_int_equal(parse("custom.probe.timeout: 1s", &settings, why), 0);
    struct check_report last = run_probe(&machine, &settings);
    assert_int_equal(last.result, CHECK_RESULT_UNKNOWN);
    assert_string_equal(last.why, "it did not answer within 1 s");
    agent_settings_free(&settings);
    machine_free(&machine);
}

static void test_checks_come_and_go(void **state)
{
    struct machine machine = machine_new(*state, "");
    struct agent_settings off, none = {.count = 0};
    char error[CHECKS_ERROR_MAX], why[AGENT_SETTINGS_ERROR_MAX];
    struct checks *checks;
    machine_tool(&machine, "probe", "exit 0");
    const struct checks_options options = {.names = "disk,load,probe",
                                           .root = machine.root,
                                           .instance_type = "",
                                           .state_dir = "",
                                           .boot_id = "",
                                           .instance_id = "i-1",
                                           .dir = machine.bin,
                                           .first_within_ms = MS_PER_HOUR};
    assert_int_equal(parse("disk.enabled: false\ncustom.probe.enabled: false\nmemory.enabled: true\n", &off, why), 0);
    assert_int_equal(checks_new(&options, &checks, error), 0);
    assert_true(checks_tune(checks, &off));
    assert_null(checks_find(checks, "disk"));
    assert_null(checks_find(checks, "probe"));
    assert_null(checks_find(checks, "memory")); /* not among those that this agent was started with */
    assert_non_null(checks_find(checks, "load"));
    assert_false(checks_tune(checks, &off));
    assert_true(checks_tune(checks, &none));
    assert_non_null(checks_find(checks, "disk"));
    assert_true(checks_scan(checks)); /* programs come back with the next look at their directory */
    assert_non_null(checks_find(checks, "probe"));
    checks_free(checks);
    agent_settings_free(&off);
    machine_free(&machine);
}

static void test_a_shorter_period_counts_at_once(void **state)
{
    struct machine machine = machine_new(*state, "");
    struct agent_settings soon;
    char error[CHECKS_ERROR_MAX], why[AGENT_SETTINGS_ERROR_MAX];
    struct checks *checks;
    const struct checks_options options = {.names = "machine",
                                           .root = machine.root,
                                           .instance_type = "",
                                           .state_dir = "",
                                           .boot_id = "",
                                           .instance_id = "i-1",
                                           .first_within_ms = MS_PER_HOUR};
    assert_int_equal(parse("machine.period: 5s", &soon, why), 0);
    assert_int_equal(checks_new(&options, &checks, error), 0);
    (void)checks_tune(checks, &soon);
    assert_true(checks_due_ms(checks) <= clock_mono_ms(clock_system()) + 5 * MS_PER_S);
    checks_free(checks);
    agent_settings_free(&soon);
    machine_free(&machine);
}

int main(void)
{
    log_set_level(LOG_LEVEL_ERROR + 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_said),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_an_order_of_two_texts),
        cmocka_unit_test(test_ends_of_lines),
        cmocka_unit_test(test_lines_of_reports),
        cmocka_unit_test(test_tags),
        cmocka_unit_test_setup_teardown(test_whose_word_counts, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_a_wrong_text_of_the_group, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_a_start_without_a_server, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_a_timeout_of_checks_d, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_checks_come_and_go, make_place, remove_place),
        cmocka_unit_test_setup_teardown(test_a_shorter_period_counts_at_once, make_place, remove_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
