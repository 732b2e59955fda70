/* Daemons: those that ought to run and do not, a restart that is none, and those that nobody wants. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/checks/checks.h"
#include "tests/unit/agents/machine.h"

#define WANTS "/etc/systemd/system/multi-user.target.wants/"

static struct machine machine_with_systemd(void **state)
{
    struct machine machine = machine_new(*state, "");
    machine_file(&machine, "/run/systemd/system/a.scope", "");
    return machine;
}

static enum check_result look(struct machine *machine, const char *down)
{
    struct check_report report = machine_run(machine, &check_services);
    enum check_result result = report.result;
    if (down != NULL)
        assert_non_null(machine_sees(&report, "node.service.down", down));
    report_free(&report);
    return result;
}

static void end_process(const struct machine *machine, const char *name)
{
    machine_file(machine, name, "sh\n");
}

static void test_enabled_and_down(void **state)
{
    struct machine machine = machine_with_systemd(state);
    machine_file(&machine, "/proc/7/comm", "slurmd\n");
    machine_file(&machine, WANTS "slurmd.service", "");
    machine_file(&machine, "/lib/systemd/system/slurmd.service", "");
    assert_int_equal(look(&machine, NULL), CHECK_RESULT_OK);
    end_process(&machine, "/proc/7/comm");
    assert_int_equal(look(&machine, NULL), CHECK_RESULT_OK); /* perhaps it is being restarted */
    assert_int_equal(look(&machine, "slurmd"), CHECK_RESULT_FOUND);
    assert_int_equal(look(&machine, "slurmd"), CHECK_RESULT_FOUND);
    autofree char *wanted = own_printf("%s%s", machine.root, WANTS "slurmd.service");
    assert_int_equal(unlink(wanted), 0); /* somebody took it out */
    assert_int_equal(look(&machine, NULL), CHECK_RESULT_NOT_APPLICABLE);
    machine_free(&machine);
}

static void test_who_is_not_missed_here(void **state)
{
    struct machine machine = machine_with_systemd(state);
    struct agent_settings settings;
    machine_file(&machine, "/proc/7/comm", "sh\n");
    machine_file(&machine, WANTS "slurmd.service", "");
    machine_file(&machine, WANTS "munge.service", "");
    machine_said(&machine, &settings, "services.slurmd: false\nservices.grace: 0s\n");
    machine.uptime_ms = 0; /* no grace is asked for */
    (void)look(&machine, NULL);
    struct check_report report = machine_run(&machine, &check_services);
    assert_null(machine_sees(&report, "node.service.down", "slurmd"));
    assert_non_null(machine_sees(&report, "node.service.down", "munge"));
    report_free(&report);
    agent_settings_free(&settings);
    machine_free(&machine);
}

static void test_not_right_after_boot(void **state)
{
    struct machine machine = machine_with_systemd(state);
    machine.uptime_ms = 1000;
    machine_file(&machine, "/proc/7/comm", "init\n");
    machine_file(&machine, WANTS "kubelet.service", "");
    for (int i = 0; i < 5; i++)
        assert_int_equal(look(&machine, NULL), CHECK_RESULT_OK);
    assert_int_equal(look(&machine, "kubelet"), CHECK_RESULT_FOUND);
    machine_free(&machine);
}

static void test_masked_is_not_wanted(void **state)
{
    struct machine machine = machine_with_systemd(state);
    autofree char *unit = own_printf("%s/etc/systemd/system/slurmd.service", machine.root);
    machine_file(&machine, "/proc/7/comm", "init\n");
    machine_file(&machine, WANTS "slurmd.service", "");
    assert_int_equal(symlink("/dev/null", unit), 0);
    for (int i = 0; i < 3; i++)
        assert_int_equal(look(&machine, NULL), CHECK_RESULT_NOT_APPLICABLE);
    machine_free(&machine);
}

static void test_a_container_has_no_systemd(void **state)
{
    struct machine machine = machine_new(*state, "");
    machine_file(&machine, "/proc/7/comm", "init\n");
    machine_file(&machine, WANTS "slurmd.service", "");
    for (int i = 0; i < 3; i++)
        assert_int_equal(look(&machine, NULL), CHECK_RESULT_NOT_APPLICABLE);
    machine_free(&machine);
}

static void test_seen_without_systemd(void **state)
{
    struct machine machine = machine_new(*state, "");
    machine_file(&machine, "/proc/7/comm", "munged\n");
    assert_int_equal(look(&machine, NULL), CHECK_RESULT_OK);
    end_process(&machine, "/proc/7/comm");
    assert_int_equal(look(&machine, NULL), CHECK_RESULT_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(look(&machine, "munge"), CHECK_RESULT_FOUND);
    machine_file(&machine, "/proc/8/comm", "munged\n");
    assert_int_equal(look(&machine, NULL), CHECK_RESULT_OK);
    end_process(&machine, "/proc/8/comm");
    machine_file(&machine, "/lib/systemd/system/munge.service", ""); /* systemd knows it, and does not want it */
    for (int i = 0; i < 3; i++)
        assert_int_equal(look(&machine, NULL), CHECK_RESULT_NOT_APPLICABLE);
    machine_free(&machine);
}

static void test_a_machine_without_processes(void **state)
{
    struct machine machine = machine_new(*state, "");
    assert_int_equal(look(&machine, NULL), CHECK_RESULT_UNKNOWN);
    machine_free(&machine);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_place, remove_place)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_who_is_not_missed_here),      TEST(test_enabled_and_down),           TEST(test_not_right_after_boot),
        TEST(test_masked_is_not_wanted),        TEST(test_a_container_has_no_systemd), TEST(test_seen_without_systemd),
        TEST(test_a_machine_without_processes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
