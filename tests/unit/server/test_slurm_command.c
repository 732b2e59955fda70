/*
 * The Slurm driver over scripted programs: what it makes of failures, garbage and silence, what it passes on and what it
 * does not, and that it believes no update it has not read back. The real thing is in test_slurm_live.c.
 */
#include "base/clock.h"
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/scheduler/slurm/slurm.h"
#include "tests/support/scheduler_owner.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define TIMEOUT_MS 10000
#define FILE_BYTES_MAX (1024 * 1024)

static char dir[] = "/tmp/holdfast-fake-XXXXXX";
static char error[SCHEDULER_ERROR_MAX];

static int make_dir(void **state)
{
    (void)state;
    return mkdtemp(dir) == NULL ? -1 : 0;
}

static int remove_dir(void **state)
{
    (void)state;
    return file_remove_tree(dir);
}

/* A program that notes its arguments, one a line, and then does body. $D is the directory, $T the time as told. */
static void script(const char *name, const char *body)
{
    autofree char *path = own_printf("%s/%s", dir, name);
    autofree char *text = own_printf("#!/bin/sh\nD=%s\nT=$(date +\"$SLURM_TIME_FORMAT\")\n"
                                     "printf '%%s\\n' \"%s\" \"$@\" . >>$D/calls\n%s\n",
                                     dir, name, body);
    assert_int_equal(file_write(path, text, strlen(text), 0700), 0);
}

static char *note(const char *name)
{
    char *data = NULL;
    size_t len;
    autofree char *path = own_printf("%s/%s", dir, name);
    return file_read(path, FILE_BYTES_MAX, &data, &len) == 0 ? data : own_strdup("");
}

static void forget(const char *name)
{
    autofree char *path = own_printf("%s/%s", dir, name);
    unlink(path);
}

static size_t count_of(const char *text, const char *what)
{
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        count++;
    return count;
}

static struct scheduler_driver driver(int64_t timeout_ms)
{
    struct slurm_options options = {.bin_dir = dir, .conf = "/nowhere/slurm.conf", .timeout_ms = timeout_ms};
    struct scheduler_driver made;
    forget("calls");
    assert_int_equal(slurm_new(&options, &made), 0);
    return made;
}

#define NODE "NodeName=gpu-1 NodeAddr=10.0.0.1 State="
#define JOB(id, het, batch, requeue, state) \
    "printf '%-40s%-16s%-8s%-8s%-24s%-64s\\n' " id " " het " " batch " " requeue " " state " ann"

static void test_failures(void **state)
{
    (void)state;
    static const struct {
        const char *body;
        int status;
        const char *says;
    } cases[] = {
        {"echo 'slurm_load_node error: Unable to contact slurm controller (connect failure)' >&2; exit 1",
         STATUS_UNAVAILABLE, "Unable to contact"},
        {"echo 'slurm_load_node error: Socket timed out on send/recv operation' >&2; exit 1", STATUS_UNAVAILABLE,
         "timed out"},
        {"echo x >&2; echo 'slurm_load_node error: Protocol authentication error' >&2; exit 1", STATUS_UNAVAILABLE,
         "authentication"},
        {"echo 'scontrol: fatal: Unable to process configuration file' >&2; exit 1", STATUS_UNAVAILABLE,
         "configuration"},
        {"echo 'slurm_load_node error: Access/permission denied' >&2; exit 1", STATUS_DENIED, "denied"},
        {"echo 'slurm_load_node error: Invalid user id' >&2; exit 1", STATUS_BACKEND, "Invalid user id"},
        {"exit 1", STATUS_BACKEND, "did not say why"},
        {"printf '\\033[31mred\\n\\n' >&2; exit 3", STATUS_BACKEND, "exit code 3:  [31mred"},
        {"kill -9 $$", STATUS_BACKEND, "137"},
        {"echo '<html>502 Bad Gateway</html>'", STATUS_BACKEND, "<html>502"},
        {"echo '" NODE "IDLE'; echo junk", STATUS_BACKEND, "junk"},
        {"printf 'NodeName=gpu-1 State=IDLE\\n\\000NodeName=gpu-2 State=IDLE\\n'", STATUS_BACKEND, "not text"},
        {"head -c 100000 /dev/zero | tr '\\0' 'N'", STATUS_BACKEND, "cannot be read"},
        {"exec sleep 60", STATUS_TIMEOUT, "400 ms"},
        {"echo '" NODE "IDLE'; exec sleep 60", STATUS_TIMEOUT, "400 ms"},
        {"trap '' TERM INT; sleep 60", STATUS_TIMEOUT, "400 ms"},
        {"echo '" NODE "IDLE'", 0, ""},
        {"echo 'No nodes in the system'", 0, ""},
        {"", 0, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool hangs = cases[i].status == STATUS_TIMEOUT;
        struct scheduler_driver slurm = driver(hangs ? 400 : TIMEOUT_MS);
        struct scheduler_observation observation = {0};
        script("scontrol", cases[i].body);
        error[0] = '\0';
        int64_t before = clock_mono_ms(clock_system());
        int status = slurm.ops->observe(slurm.self, &observation, error);
        if (status != cases[i].status || strstr(error, cases[i].says) == NULL)
            fail_msg("%s: %d, %s", cases[i].body, status, error);
        if (hangs)
            assert_true(clock_mono_ms(clock_system()) - before < TIMEOUT_MS);
        scheduler_observation_free(&observation);
        slurm.ops->free(slurm.self);
    }
}

static void test_programs_are_missing(void **state)
{
    (void)state;
    struct scheduler_observation observation = {0};
    struct slurm_options options = {.bin_dir = "/nonexistent", .timeout_ms = TIMEOUT_MS};
    struct scheduler_driver slurm;
    assert_int_equal(slurm_new(&options, &slurm), 0);
    assert_int_equal(slurm.ops->observe(slurm.self, &observation, error), STATUS_UNAVAILABLE);
    assert_non_null(strstr(error, "/nonexistent/scontrol could not be run"));
    slurm.ops->free(slurm.self);
    options.timeout_ms = 0;
    assert_int_equal(slurm_new(&options, &slurm), STATUS_INVALID);
}

static void test_environment(void **state)
{
    (void)state;
    setenv("SQUEUE_FORMAT", "%i", 1);
    setenv("SCONTROL_ALL", "1", 1);
    setenv("SLURM_CLUSTERS", "elsewhere", 1);
    setenv("SLURM_TIME_FORMAT", "relative", 1);
    setenv("LC_ALL", "de_DE.UTF-8", 1);
    struct scheduler_driver slurm = driver(TIMEOUT_MS);
    struct scheduler_observation observation = {0};
    script("scontrol", "env >$D/env; pwd >$D/pwd; ls -l /proc/self/fd >$D/fd");
    assert_int_equal(slurm.ops->observe(slurm.self, &observation, error), 0);
    autofree char *env = note("env");
    assert_non_null(strstr(env, "SLURM_CONF=/nowhere/slurm.conf\n"));
    assert_non_null(strstr(env, "LC_ALL=C\n"));
    assert_non_null(strstr(env, "SLURM_TIME_FORMAT=%s~"));
    assert_null(strstr(env, "SQUEUE_FORMAT"));
    assert_null(strstr(env, "SCONTROL_ALL"));
    assert_null(strstr(env, "SLURM_CLUSTERS"));
    scheduler_observation_free(&observation);
    slurm.ops->free(slurm.self);
    unsetenv("SLURM_TIME_FORMAT");
    unsetenv("LC_ALL");
}

/* The reason is one argument, whatever is in it; nothing of it is read by a shell. */
static void test_arguments(void **state)
{
    (void)state;
    const char *reason = "holdfast: $(touch /tmp/x) `id`; State=IDLE | a\\b 'c' %n ok";
    struct scheduler_driver slurm = driver(TIMEOUT_MS);
    script("scontrol", "case $1 in update) cat >$D/in; printf '%s' \"$4\" >$D/reason;;\n"
                       "*) if [ -e $D/reason ]; then printf '%s' '" NODE "IDLE+DRAIN '; cat $D/reason; "
                       "echo \" [root@$T]\"; else echo '" NODE "IDLE'; fi;; esac");
    int status = cordon_as(&slurm, "gpu-1", reason, NULL, error);
    if (status != 0)
        fail_msg("%d, %s", status, error);
    autofree char *calls = note("calls");
    autofree char *want = own_printf("scontrol\nupdate\nNodeName=gpu-1\nState=DRAIN\nReason=%s\n.\n", reason);
    assert_non_null(strstr(calls, want));
    assert_int_equal(count_of(calls, "update\n"), 1);
    assert_int_equal(cordon_as(&slurm, "gpu-1", reason, NULL, error), 0); /* is there: nothing to do */
    autofree char *again = note("calls");
    assert_int_equal(count_of(again, "update\n"), 1);
    forget("reason");
    slurm.ops->free(slurm.self);
}

static void test_updates_are_read_back(void **state)
{
    (void)state;
    static const struct {
        const char *shown; /* before and after */
        int mark, resume;
    } cases[] = {
        {NODE "IDLE", STATUS_BACKEND, 0},
        {NODE "IDLE+FAIL Reason=Action:Reboot [root@$T]", 0, STATUS_BACKEND},
        {NODE "IDLE+DRAIN Reason=Action:Reboot [root@$T]", STATUS_BACKEND, STATUS_BACKEND},
        {NODE "IDLE Reason=Action:Reboot [root@$T]", STATUS_BACKEND, 0},
        {NODE "DOWN* Reason=Not responding [slurm@$T]", STATUS_BACKEND, STATUS_BACKEND},
        {NODE "IDLE+DRAIN Reason=Kill task failed [root@$T]", STATUS_BACKEND, STATUS_BACKEND},
        {NODE "IDLE+DRAIN Reason=Low RealMemory (1 < 2) [root@$T]", STATUS_BACKEND, STATUS_CONFLICT},
        {NODE "IDLE+DRAIN Reason=gres/gpu count reported lower than configured (7 < 8) [root@$T]", STATUS_BACKEND,
         STATUS_CONFLICT},
        {NODE "IDLE+DRAIN Reason=holdfast: x [root@$T]", STATUS_BACKEND, STATUS_BACKEND},
        {NODE "IDLE+FAIL Reason=Action:Replace [root@$T]", STATUS_CONFLICT, STATUS_BACKEND},
        {NODE "IDLE+DRAIN Reason=NHC: disk [root@$T]", STATUS_CONFLICT, STATUS_CONFLICT},
        {NODE "IDLE+DRAIN", STATUS_CONFLICT, STATUS_CONFLICT},
        {"NodeName=gpu-10 State=IDLE", STATUS_BACKEND, STATUS_BACKEND},
        {"", STATUS_BACKEND, STATUS_BACKEND},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct scheduler_driver slurm = driver(TIMEOUT_MS);
        autofree char *body = own_printf("[ $1 = update ] || echo \"%s\"", cases[i].shown);
        script("scontrol", body);
        int marked = cordon_as(&slurm, "gpu-1", "Action:Reboot", NULL, error);
        int resumed = uncordon_as(&slurm, "gpu-1", NULL, error);
        if (marked != cases[i].mark || resumed != cases[i].resume)
            fail_msg("%s: mark %d, resume %d", cases[i].shown, marked, resumed);
        slurm.ops->free(slurm.self);
    }
}

static void test_evict(void **state)
{
    (void)state;
    static const struct {
        const char *squeue, *scontrol;
        int status;
        size_t requeues, cancels;
    } cases[] = {
        {"", "", 0, 0, 0},
        {JOB("1", "N/A", "1", "1", "RUNNING") ";" JOB("2", "N/A", "1", "0", "RUNNING") ";" JOB("3", "N/A", "0", "1",
                                                                                               "SUSPENDED"),
         "", 0, 1, 2},
        {JOB("1", "N/A", "1", "1", "COMPLETING") ";" JOB("2", "N/A", "1", "1", "PENDING"), "", 0, 0, 0},
        {JOB("4+0", "4", "1", "1", "RUNNING") ";" JOB("4+1", "4", "1", "1", "RUNNING"), "", 0, 1, 0},
        {JOB("5_1", "N/A", "1", "1", "RUNNING") ";" JOB("5_2", "N/A", "1", "1", "RUNNING"), "", 0, 2, 0},
        /* refused, and the job stays: an error, and no cancelling */
        {JOB("1", "N/A", "1", "1", "RUNNING"),
         "[ $1 != requeue ] || { echo 'Requested operation is disabled' >&2; exit 1; }", STATUS_BACKEND, 1, 0},
        /* refused because it has just ended */
        {"[ -e $D/asked ] || " JOB("1", "N/A", "1", "1", "RUNNING") "; touch $D/asked",
         "[ $1 != requeue ] || { echo 'Job/step already completing or completed' >&2; exit 1; }", 0, 1, 0},
        {JOB("1", "N/A", "1", "1", "RUNNING"), "[ $1 != requeue ] || { echo 'Invalid job id specified' >&2; exit 1; }",
         0, 1, 0},
        /* nobody can be told: it goes on all the same */
        {JOB("1", "N/A", "1", "1", "RUNNING"), "[ $1 != notify ] || exit 1", 0, 1, 0},
        {JOB("1", "N/A", "1", "1", "RUNNING"), "[ $1 != notify ] || exec sleep 60", 0, 1, 0},
        {"echo garbage", "", STATUS_BACKEND, 0, 0},
        {"echo 'squeue: error: Invalid node name gpu-1' >&2; exit 1", "", STATUS_NOT_FOUND, 0, 0},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct scheduler_driver slurm = driver(TIMEOUT_MS);
        forget("asked");
        script("squeue", cases[i].squeue);
        script("scontrol", cases[i].scontrol);
        script("scancel", "");
        int status = evict_as(&slurm, "gpu-1", "Action:Reboot", error);
        autofree char *calls = note("calls");
        if (status != cases[i].status || count_of(calls, "\nrequeue\n") != cases[i].requeues ||
            count_of(calls, "scancel\n") != cases[i].cancels)
            fail_msg("case %zu: %d (%s), calls:\n%s", i, status, error, calls);
        assert_int_equal(count_of(calls, "\nnotify\n"), cases[i].requeues + cases[i].cancels);
        slurm.ops->free(slurm.self);
    }
}

/* A job as squeue shows it for a command; priority 0: it is held. */
#define NOW(state, restarts, priority, nodes) \
    "printf '%-24s%-12s%-12s%-16s%-16s%-16s\\n' " state " " restarts " " priority " " nodes " 4 8"
#define CALL(words) "scontrol\n" words "\n.\n"

static const char refuses[] =
    "case $1 in notify) ;; *) echo 'Requested operation is presently disabled' >&2; exit 1;; esac";
static const struct {
    enum job_command_kind kind;
    const char *squeue, *scontrol;
    int status;
    const char *calls; /* of scontrol, but for notify */
} command_cases[] = {
    {JOB_COMMAND_RESTART, NOW("RUNNING", "2", "7", "2"), "", 0, CALL("requeue\n82_3")},
    {JOB_COMMAND_RESTART, NOW("SUSPENDED", "2", "7", "2"), "", 0, CALL("requeue\n82_3")},
    /* it came before, and somebody begins it anew all the same */
    {JOB_COMMAND_RESTART, NOW("RUNNING", "3", "7", "2"), "", 0, ""},
    {JOB_COMMAND_RESTART, NOW("PENDING", "3", "7", "2"), "", 0, ""},
    {JOB_COMMAND_RESTART, NOW("COMPLETING", "2", "7", "2"), "", STATUS_CONFLICT, ""},
    {JOB_COMMAND_RESTART, NOW("COMPLETING", "3", "7", "2"), "", 0, ""},
    {JOB_COMMAND_RESTART, NOW("FAILED", "2", "7", "2"), "", STATUS_INVALID, ""},
    {JOB_COMMAND_RESTART, NOW("RUNNING", "2", "7", "2"), refuses, STATUS_INVALID, CALL("requeue\n82_3")},
    {JOB_COMMAND_RESTART, NOW("RUNNING", "2", "7", "2"), "echo 'Access/permission denied' >&2; exit 1", STATUS_DENIED,
     CALL("requeue\n82_3")},
    {JOB_COMMAND_RESTART, NOW("RUNNING", "2", "7", "2"), "echo 'Unable to contact slurm controller' >&2; exit 1",
     STATUS_UNAVAILABLE, CALL("requeue\n82_3")},
    {JOB_COMMAND_RESTART, "", "", STATUS_NOT_FOUND, ""},
    {JOB_COMMAND_RESTART, NOW("RUNNING", "2", "7", "2") ";" NOW("RUNNING", "2", "7", "2"), "", STATUS_INVALID, ""},
    {JOB_COMMAND_RESTART, "echo garbage", "", STATUS_BACKEND, ""},
    {JOB_COMMAND_REMAKE, NOW("RUNNING", "2", "7", "2"), "", STATUS_INVALID, ""},
    {JOB_COMMAND_SUSPEND, NOW("RUNNING", "2", "7", "2"), "", 0, CALL("requeuehold\n82_3")},
    {JOB_COMMAND_SUSPEND, NOW("PENDING", "2", "7", "2-4"), "", 0, CALL("uhold\n82_3")},
    {JOB_COMMAND_SUSPEND, NOW("PENDING", "3", "0", "2"), "", 0, ""},
    {JOB_COMMAND_SUSPEND, NOW("COMPLETING", "3", "0", "2"), "", 0, ""},
    {JOB_COMMAND_SUSPEND, NOW("COMPLETING", "2", "7", "2"), "", STATUS_CONFLICT, ""},
    /* it came before, and its owner released the job since */
    {JOB_COMMAND_SUSPEND, NOW("RUNNING", "3", "7", "2"), "", 0, ""},
    {JOB_COMMAND_SUSPEND, NOW("PENDING", "3", "7", "2"), "", 0, ""},
    {JOB_COMMAND_RESUME, NOW("PENDING", "3", "0", "2"), "", 0, CALL("release\n82_3")},
    {JOB_COMMAND_RESUME, NOW("COMPLETING", "3", "0", "2"), "", STATUS_CONFLICT, ""},
    {JOB_COMMAND_RESUME, NOW("RUNNING", "3", "7", "2"), "", 0, ""},
    {JOB_COMMAND_RESUME, NOW("SUSPENDED", "3", "7", "2"), "", STATUS_INVALID, ""},
    {JOB_COMMAND_SCALE, NOW("PENDING", "0", "7", "2-4"), "", 0,
     CALL("update\nJobId=82_3\nNumNodes=3-3\nNumTasks=6\nNumCPUs=12")},
    {JOB_COMMAND_SCALE, NOW("RUNNING", "2", "7", "3"), "", 0, ""},
    {JOB_COMMAND_SCALE,
     "if [ -e $D/asked ]; then " NOW("PENDING", "3", "0", "2") "; else " NOW("RUNNING", "2", "7",
                                                                             "2") "; fi; touch $D/asked",
     "", 0,
     CALL("requeuehold\n82_3") CALL("update\nJobId=82_3\nNumNodes=3-3\nNumTasks=6\nNumCPUs=12") CALL("release\n82_3")},
    /* its first half was carried out before */
    {JOB_COMMAND_SCALE, NOW("PENDING", "3", "0", "2"), "", 0,
     CALL("update\nJobId=82_3\nNumNodes=3-3\nNumTasks=6\nNumCPUs=12") CALL("release\n82_3")},
    /* a size that it may not have: it goes on with the one that it had */
    {JOB_COMMAND_SCALE, NOW("PENDING", "3", "0", "2"),
     "[ $1 != update ] || { echo 'Node count specification invalid' >&2; exit 1; }", STATUS_INVALID,
     CALL("update\nJobId=82_3\nNumNodes=3-3\nNumTasks=6\nNumCPUs=12") CALL("release\n82_3")},
};

static void test_commands_for_jobs(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(command_cases); i++) {
        struct scheduler_driver slurm = driver(TIMEOUT_MS);
        struct job_command command = {
            .job = "82_3", .kind = command_cases[i].kind, .size = 3, .restarts = 2, .actor = "ann"};
        struct text seen AUTO(text) = {0};
        forget("asked");
        script("squeue", command_cases[i].squeue);
        script("scontrol", command_cases[i].scontrol);
        int status = slurm.ops->jobs->command(slurm.self, &command, error);
        autofree char *calls = note("calls");
        for (const char *at = calls; (at = strstr(at, "scontrol\n")) != NULL; at++)
            if (!text_starts_with(at, "scontrol\nnotify\n"))
                text_printf(&seen, "%.*s.\n", (int)(strstr(at, "\n.\n") + 1 - at), at);
        if (status != command_cases[i].status || strcmp(text_get(&seen), command_cases[i].calls) != 0)
            fail_msg("case %zu: %s (%s), calls:\n%s", i, status_text(status), error, calls);
        slurm.ops->free(slurm.self);
    }
    struct scheduler_driver slurm = driver(TIMEOUT_MS);
    for (const char *const *id = (const char *const[]){"82+1", "--help", "", "default/llama", NULL}; *id != NULL;
         id++) {
        struct job_command command = {.kind = JOB_COMMAND_RESTART};
        text_copy(command.job, sizeof(command.job), *id);
        assert_int_equal(slurm.ops->jobs->command(slurm.self, &command, error), STATUS_INVALID);
    }
    slurm.ops->free(slurm.self);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_programs_are_missing),
        cmocka_unit_test(test_environment),
        cmocka_unit_test(test_arguments),
        cmocka_unit_test(test_updates_are_read_back),
        cmocka_unit_test(test_evict),
        cmocka_unit_test(test_commands_for_jobs),
    };
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
