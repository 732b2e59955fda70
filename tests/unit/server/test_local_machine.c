/* The pretend machine: what a boot makes, that a power cut reaches everything, and that a reboot happens once for a key,
 * whoever is killed on the way. */
#include "tests/unit/server/test_local.h"

#include "server/provider/lab/instance.h"

#define ID "i-0123456789abcdef0"

/* Boots that the supervisor began, also those whose services did not get to run. */
static size_t count_boots(const struct local_world *w)
{
    autofree char *log = world_read(w, ID, "log/machine.log");
    size_t count = 0;
    for (const char *at = log; (at = strstr(at, " of " ID)) != NULL; at++)
        count++;
    return count;
}

static void start(struct local_world *w, const char *script)
{
    world_open(w, script);
    world_launch(w, "launch/1", ID);
    world_wait_lines(w, ID, "boots", 1);
}

static void test_boot(void **state)
{
    struct local_world *w = *state;
    start(w, "echo out; echo err >&2; read x || echo no input; " SCRIPT_BOOTS);
    autofree char *log = world_read(w, ID, "log/boots.log"), *boot_id = world_read(w, ID, "boot_id");
    assert_string_equal(log, "out\nerr\nno input\n");
    assert_int_equal(strlen(boot_id), 37);
    assert_true(world_has(w, ID, "kmsg"));
    autofree char *kmsg = world_read(w, ID, "kmsg");
    assert_string_equal(kmsg, "");
    assert_true(world_has(w, ID, "agent"));
    /* "pid ticks", as others read it. */
    autofree char *pid_file = world_read(w, ID, "machine.pid");
    long pid;
    uint64_t ticks;
    assert_int_equal(sscanf(pid_file, "%ld %" SCNu64, &pid, &ticks), 2);
    assert_true(child_alive((pid_t)pid, ticks));
    assert_int_equal(getsid((pid_t)pid), pid);
}

static void test_reboot_counts_once_for_a_key(void **state)
{
    struct local_world *w = *state;
    start(w, SCRIPT_BOOTS);
    autofree char *path = world_path(w, ID, "kmsg"), *first = world_read(w, ID, "boot_id");
    assert_int_equal(file_write(path, "oops\n", 5, 0644), 0);
    pid_t service = world_pid(w, ID, "boots");
    world_reboot(w, ID, "reboot/1");
    assert_false(process_lives(service));
    world_wait_boots(w, ID, 2);
    autofree char *kmsg = world_read(w, ID, "kmsg"), *second = world_read(w, ID, "boot_id");
    assert_string_equal(kmsg, "");
    assert_string_not_equal(first, second);
    world_reboot(w, ID, "reboot/1");
    world_close(w);
    world_open(w, SCRIPT_BOOTS);
    world_reboot(w, ID, "reboot/1");
    autofree char *still = world_read(w, ID, "boot_id");
    assert_string_equal(second, still);
    world_reboot(w, ID, "reboot/2");
    world_wait_boots(w, ID, 3);
    world_reboot(w, ID, "reboot/1"); /* long done */
    world_reboot(w, ID, "reboot/2");
    autofree char *third = world_read(w, ID, "boot_id");
    assert_string_not_equal(second, third);
    assert_int_equal(world_lines(w, ID, "boots"), 3);
}

static void test_daemons_die_with_the_machine(void **state)
{
    struct local_world *w = *state;
    start(w, SCRIPT_DAEMON);
    pid_t daemon = world_wait_daemon(w, ID);
    autofree char *path = world_path(w, ID, "daemon");
    assert_int_equal(unlink(path), 0);
    world_reboot(w, ID, "reboot/1");
    assert_false(process_lives(daemon));
    world_wait_boots(w, ID, 2);
    pid_t next = world_wait_daemon(w, ID);
    assert_true(next != daemon);
    world_terminate(w, ID, "terminate/1");
    assert_false(process_lives(next));
    assert_int_equal(world_count_processes(w, ID), 0);
}

/* A family that forks while it is being killed. */
static void test_forking_family(void **state)
{
    struct local_world *w = *state;
    start(w, "trap '' TERM HUP INT; sh -c 'while :; do setsid sleep 1000 & sleep 0.05; done' & " SCRIPT_BOOTS);
    world_reboot(w, ID, "reboot/1");
    world_wait_boots(w, ID, 2);
    world_terminate(w, ID, "terminate/1");
    assert_int_equal(world_count_processes(w, ID), 0);
}

/* The supervisor is killed: its services lose their power with it, and whoever asks next switches on again, once. */
static void test_describe_after_kill(void **state)
{
    struct local_world *w = *state;
    start(w, SCRIPT_DAEMON);
    pid_t daemon = world_wait_daemon(w, ID), service = world_pid(w, ID, "boots");
    world_wait_recorded(w, ID, daemon);
    world_kill_supervisor(w, ID);
    world_wait_gone(service);
    world_wait_running(w, ID);
    world_wait_boots(w, ID, 2);
    assert_false(process_lives(daemon));
    world_wait_running(w, ID);
    assert_int_equal(world_lines(w, ID, "boots"), 2);
}

static void test_reboot_after_kill(void **state)
{
    struct local_world *w = *state;
    start(w, SCRIPT_DAEMON);
    pid_t daemon = world_wait_daemon(w, ID);
    world_wait_recorded(w, ID, daemon);
    world_kill_supervisor(w, ID);
    world_reboot(w, ID, "reboot/1");
    world_wait_boots(w, ID, 2);
    assert_false(process_lives(daemon));
    world_reboot(w, ID, "reboot/1");
    assert_int_equal(world_lines(w, ID, "boots"), 2);
}

static void test_terminate_after_kill(void **state)
{
    struct local_world *w = *state;
    start(w, SCRIPT_DAEMON);
    pid_t daemon = world_wait_daemon(w, ID);
    world_wait_recorded(w, ID, daemon);
    world_kill_supervisor(w, ID);
    world_terminate(w, ID, "terminate/1");
    assert_false(process_lives(daemon));
    assert_int_equal(world_describe(w, ID), PROVIDER_INSTANCE_GONE);
}

/* Leftovers that nobody had the time to write down are known by what they inherited. */
static void test_leftover_by_environment(void **state)
{
    struct local_world *w = *state;
    start(w, "(setsid sh -c 'echo $$ >{dir}/daemon.new; mv {dir}/daemon.new {dir}/daemon; exec sleep 1000' &) "
             "; " SCRIPT_BOOTS);
    pid_t daemon = world_wait_daemon(w, ID);
    autofree char *record = world_path(w, ID, "processes");
    world_kill_supervisor(w, ID);
    (void)unlink(record);
    assert_true(process_lives(daemon));
    world_terminate(w, ID, "terminate/1");
    assert_false(process_lives(daemon));
}

/* A record of another boot of the host names numbers that are somebody else's by now: ours, here. */
static void test_record_of_another_host_boot(void **state)
{
    struct local_world *w = *state;
    start(w, SCRIPT_BOOTS);
    world_kill_supervisor(w, ID);
    const char *const argv[] = {"sleep", "1000", NULL};
    pid_t bystander;
    uint64_t ticks;
    assert_int_equal(child_spawn_detached(argv, NULL, NULL, "/dev/null", -1, &bystander), 0);
    assert_int_equal(child_start_time(bystander, &ticks), 0);
    autofree char *path = world_path(w, ID, "processes");
    autofree char *record =
        own_printf("00000000-0000-4000-8000-000000000000\n%ld %" PRIu64 "\n", (long)bystander, ticks);
    assert_int_equal(file_write(path, record, strlen(record), 0600), 0);
    world_terminate(w, ID, "terminate/1");
    bool lives = process_lives(bystander);
    kill(bystander, SIGKILL);
    assert_true(lives);
}

/* Another hpd on this host, or a second run of these tests, has an instance of the same name. */
static void test_same_name_elsewhere(void **state)
{
    struct local_world *w = *state, other = *w;
    autofree char *dir = own_printf("%s/other", w->dir);
    assert_int_equal(text_copy(other.dir, sizeof(other.dir), dir), 0);
    start(w, SCRIPT_BOOTS);
    pid_t service = world_pid(w, ID, "boots");
    start(&other, SCRIPT_BOOTS);
    world_terminate(&other, ID, "terminate/1");
    world_close(&other);
    assert_true(process_lives(service));
    assert_int_equal(world_lines(w, ID, "boots"), 1);
}

/* --- crashes on the way to a reboot ------------------------------------------------------------ */
static void test_hpd_died_before_the_signal(void **state)
{
    struct local_world *w = *state;
    autofree char *dir = own_printf("%s/%s", w->dir, ID);
    start(w, SCRIPT_BOOTS);
    assert_int_equal(instance_reboot_ask(dir, "reboot/1"), 0);
    world_reboot(w, ID, "reboot/1");
    world_wait_boots(w, ID, 2);
    world_reboot(w, ID, "reboot/1");
    assert_int_equal(world_lines(w, ID, "boots"), 2);
}

static void test_hpd_died_after_the_signal(void **state)
{
    struct local_world *w = *state;
    autofree char *dir = own_printf("%s/%s", w->dir, ID);
    start(w, SCRIPT_BOOTS);
    assert_int_equal(instance_reboot_ask(dir, "reboot/1"), 0);
    assert_int_equal(kill(world_pid(w, ID, "machine.pid"), SIGHUP), 0);
    world_reboot(w, ID, "reboot/1"); /* signals a second time, perhaps in the middle of the first */
    world_wait_boots(w, ID, 2);
    world_reboot(w, ID, "reboot/2"); /* passes only after a second one would have */
    world_wait_boots(w, ID, 3);
    assert_int_equal(world_lines(w, ID, "rebooted"), 2);
    assert_int_equal(count_boots(w), 3);
}

static void test_supervisor_died_with_the_request(void **state)
{
    struct local_world *w = *state;
    autofree char *dir = own_printf("%s/%s", w->dir, ID);
    start(w, SCRIPT_BOOTS);
    assert_int_equal(instance_reboot_ask(dir, "reboot/1"), 0);
    world_kill_supervisor(w, ID);
    world_wait_running(w, ID); /* starting fulfils the request */
    world_wait_boots(w, ID, 2);
    world_reboot(w, ID, "reboot/1");
    assert_int_equal(world_lines(w, ID, "boots"), 2);
}

/* The reboot is on record and the supervisor died before the services ran: they start, and the key is spent. */
static void test_supervisor_died_after_the_record(void **state)
{
    struct local_world *w = *state;
    autofree char *dir = own_printf("%s/%s", w->dir, ID);
    start(w, SCRIPT_BOOTS);
    world_kill_supervisor(w, ID);
    assert_int_equal(instance_reboot_ask(dir, "reboot/1"), 0);
    assert_int_equal(instance_reboot_done(dir, "reboot/1"), 0);
    world_reboot(w, ID, "reboot/1");
    world_wait_boots(w, ID, 2);
    world_reboot(w, ID, "reboot/1");
    assert_int_equal(world_lines(w, ID, "boots"), 2);
}

/* Two signals of the same number are one while the first has not been taken. */
static void wait_signal_taken(pid_t pid)
{
    autofree char *path = own_printf("/proc/%ld/status", (long)pid);
    for (int64_t until = world_now() + WAIT_MS; world_now() < until; poll(NULL, 0, 10)) {
        autofree char *status = NULL;
        assert_int_equal(file_read(path, 1 << 16, &status, NULL), 0);
        const char *pending = strstr(status, "ShdPnd:");
        assert_non_null(pending);
        if (strtoull(pending + strlen("ShdPnd:"), NULL, 16) == 0)
            return;
    }
    fail_msg("the signal was never taken");
}

static void test_signal_without_a_request(void **state)
{
    struct local_world *w = *state;
    start(w, SCRIPT_BOOTS);
    pid_t supervisor = world_pid(w, ID, "machine.pid");
    assert_int_equal(kill(supervisor, SIGHUP), 0);
    wait_signal_taken(supervisor);
    world_reboot(w, ID, "reboot/1");
    world_wait_boots(w, ID, 2);
    assert_int_equal(count_boots(w), 2);
    assert_int_equal(world_lines(w, ID, "rebooted"), 1);
}

/* --- services and the supervisor itself -------------------------------------------------------- */
static void test_service_is_started_again(void **state)
{
    struct local_world *w = *state;
    int64_t began = world_now();
    start(w, "date +%s%N >>{dir}/boots; exit 3");
    world_wait_lines(w, ID, "boots", 3);
    assert_true(world_now() - began >= 500 + 1000); /* twice as long each time */
    autofree char *log = world_read(w, ID, "log/machine.log");
    assert_non_null(strstr(log, "boots ended with exit code 3"));
}

/* Who waits for a machine whose agent cannot start is told why; a new boot begins without it. */
static void test_what_a_service_said_last_is_told(void **state)
{
    struct local_world *w = *state;
    struct provider_instance instance = {.trouble = ""};
    start(w, "echo x >>{dir}/boots; if [ -e {dir}/fine ]; then exec sleep 1000; fi; printf 'one\\nno \\033 such "
             "node\\n'; exit 3");
    for (int64_t end = world_now() + WAIT_MS; instance.trouble[0] == '\0' && world_now() < end; poll(NULL, 0, 20))
        assert_int_equal(
            w->driver.ops->describe(w->driver.self, &(struct provider_target){.instance_id = ID}, &instance, w->error),
            0);
    assert_string_equal(instance.trouble, "its service boots ended with exit code 3: no ? such node");
    autofree char *fine = own_printf("%s/%s/fine", w->dir, ID), *trouble = own_printf("%s/%s/trouble", w->dir, ID);
    assert_int_equal(file_write(fine, "", 0, 0644), 0);
    world_reboot(w, ID, "r1");
    for (int64_t end = world_now() + WAIT_MS; file_exists(trouble) && world_now() < end; poll(NULL, 0, 20))
        ;
    assert_int_equal(
        w->driver.ops->describe(w->driver.self, &(struct provider_target){.instance_id = ID}, &instance, w->error), 0);
    assert_string_equal(instance.trouble, "");
}

/* Only the start with the machine is a first start: the shell's $0 is the argument, or "sh" when there is none. */
static void test_first_start_says_so(void **state)
{
    struct local_world *w = *state;
    start(w, "echo $0 >>{dir}/boots; sleep 0.1; exit 3");
    world_wait_lines(w, ID, "boots", 2);
    world_reboot(w, ID, "r1");
    const char *again = NULL;
    for (int64_t end = world_now() + WAIT_MS; again == NULL && world_now() < end; poll(NULL, 0, 20)) {
        autofree char *starts = world_read(w, ID, "boots");
        assert_true(text_starts_with(starts, "first\nsh\n"));
        again = strstr(starts + 1, "first\n") != NULL ? "told again after the reboot" : NULL;
    }
    assert_non_null(again);
}

static void test_program_that_cannot_be_started(void **state)
{
    struct local_world *w = *state;
    autofree char *missing = own_printf("%s/odd", w->dir);
    const char odd[] = "#!/nonexistent/shell\n"; /* can be executed, as far as can be seen beforehand */
    assert_int_equal(file_write(missing, odd, sizeof(odd) - 1, 0755), 0);
    const struct local_service service = {.name = "missing", .argv = {missing}};
    const struct local_options options = {
        .dir = w->dir, .self_path = w->self, .services = &service, .service_count = 1, .boot_delay_ms = 0};
    assert_int_equal(local_new(&options, &w->driver), 0);
    world_launch(w, "launch/1", ID);
    world_wait_lines(w, ID, "log/missing.log", 1);
    autofree char *log = world_read(w, ID, "log/missing.log");
    assert_non_null(strstr(log, "/odd cannot be started"));
}

static int run_machine(const struct local_world *w, const char *dir)
{
    const char *const argv[] = {w->self, "machine", dir, NULL};
    const struct child_options options = {.timeout_ms = WAIT_MS, .out_bytes_max = 4096};
    struct child_result result;
    assert_int_equal(child_run(argv, &options, &result), 0);
    int code = result.exit_code;
    child_result_free(&result);
    return code;
}

static void test_one_supervisor_for_one_machine(void **state)
{
    struct local_world *w = *state;
    autofree char *dir = own_printf("%s/%s", w->dir, ID);
    start(w, SCRIPT_BOOTS);
    pid_t first = world_pid(w, ID, "machine.pid");
    assert_int_equal(run_machine(w, dir), 3);
    assert_int_equal(world_pid(w, ID, "machine.pid"), first);
    assert_true(process_lives(first));
    assert_int_equal(world_lines(w, ID, "boots"), 1);
}

static void test_supervisor_refuses_other_directories(void **state)
{
    struct local_world *w = *state;
    autofree char *plain = own_printf("%s/plain", w->dir), *empty = own_printf("%s/%s", w->dir, ID),
                  *dotted = own_printf("%s/../%s", plain, ID);
    assert_int_equal(file_make_dirs(plain, 0700), 0);
    assert_int_equal(file_make_dirs(empty, 0700), 0);
    assert_int_equal(run_machine(w, "/"), 2);
    assert_int_equal(run_machine(w, "/nonexistent"), 2);
    assert_int_equal(run_machine(w, plain), 2);
    assert_int_equal(run_machine(w, dotted), 2);
    assert_int_equal(run_machine(w, empty), 1);
}

static void test_power_off_by_signal(void **state)
{
    struct local_world *w = *state;
    start(w, SCRIPT_DAEMON);
    pid_t daemon = world_wait_daemon(w, ID), supervisor = world_pid(w, ID, "machine.pid");
    assert_int_equal(kill(supervisor, SIGTERM), 0);
    world_wait_gone(supervisor);
    assert_false(process_lives(daemon));
    assert_int_equal(world_count_processes(w, ID), 0);
    assert_false(world_has(w, ID, "machine.pid"));
}

/* A number in machine.pid that is alive but no supervisor of this machine is nobody to signal. */
static void test_pid_of_a_stranger(void **state)
{
    struct local_world *w = *state;
    start(w, SCRIPT_BOOTS);
    world_kill_supervisor(w, ID);
    uint64_t ticks;
    assert_int_equal(child_start_time(getpid(), &ticks), 0);
    autofree char *path = world_path(w, ID, "machine.pid"),
                  *line = own_printf("%ld %" PRIu64 "\n", (long)getpid(), ticks);
    assert_int_equal(file_write(path, line, strlen(line), 0644), 0);
    world_reboot(w, ID, "reboot/1"); /* SIGHUP would end this test */
    world_wait_boots(w, ID, 2);
}

int main(int argc, char **argv)
{
    if (argc == 3 && text_equal(argv[1], "machine"))
        return local_machine_main(argv[2]);
    const struct CMUnitTest tests[] = {
        WORLD_TEST(test_boot),
        WORLD_TEST(test_reboot_counts_once_for_a_key),
        WORLD_TEST(test_daemons_die_with_the_machine),
        WORLD_TEST(test_forking_family),
        WORLD_TEST(test_describe_after_kill),
        WORLD_TEST(test_reboot_after_kill),
        WORLD_TEST(test_terminate_after_kill),
        WORLD_TEST(test_leftover_by_environment),
        WORLD_TEST(test_record_of_another_host_boot),
        WORLD_TEST(test_same_name_elsewhere),
        WORLD_TEST(test_hpd_died_before_the_signal),
        WORLD_TEST(test_hpd_died_after_the_signal),
        WORLD_TEST(test_supervisor_died_with_the_request),
        WORLD_TEST(test_supervisor_died_after_the_record),
        WORLD_TEST(test_signal_without_a_request),
        WORLD_TEST(test_service_is_started_again),
        WORLD_TEST(test_what_a_service_said_last_is_told),
        WORLD_TEST(test_first_start_says_so),
        WORLD_TEST(test_program_that_cannot_be_started),
        WORLD_TEST(test_one_supervisor_for_one_machine),
        WORLD_TEST(test_supervisor_refuses_other_directories),
        WORLD_TEST(test_power_off_by_signal),
        WORLD_TEST(test_pid_of_a_stranger),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
