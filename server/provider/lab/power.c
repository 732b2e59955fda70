/*
 * The power button. hpd and the supervisor speak through files, because either may die at any moment; a signal only says
 * "look". Who starts a machine looks for leftovers of an earlier supervisor that was killed: that is the supervisor itself,
 * under the lock, so that nobody's fresh service is taken for a leftover.
 */
#include "server/provider/lab/power.h"

#include "base/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/provider/lab/instance.h"
#include "server/provider/lab/processes.h"

#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define POLL_MS 20
#define UP_MS 10000    /* that one call waits; the next one goes on waiting for the same start */
#define CYCLE_MS 30000 /* killing what runs is quick unless something hangs in the kernel */
#define STARTS_MAX 3   /* in one power cycle: more means that it cannot run */
#define OFF_MS 10000   /* then the supervisor itself is killed */
#define KILLED_MS 5000
#define LOCK_MS 10000 /* a supervisor that is just starting has yet to see that its end was asked for */
#define PID_BYTES_MAX 64
#define COMMAND_BYTES_MAX 16384

struct supervisor {
    pid_t pid;
    uint64_t ticks;
};

static int64_t now_ms(void)
{
    return clock_mono_ms(clock_system());
}

/* "hpd machine DIR": after a boot of the host the number may be anybody's. */
static bool serves(pid_t pid, const char *dir)
{
    char path[64];
    autofree char *data = NULL;
    size_t len = 0;
    snprintf(path, sizeof(path), "/proc/%ld/cmdline", (long)pid);
    if (file_read(path, COMMAND_BYTES_MAX, &data, &len) != 0)
        return false;
    const char *verb = data + strlen(data) + 1;
    if (verb >= data + len || !text_equal(verb, "machine"))
        return false;
    const char *named = verb + strlen(verb) + 1;
    return named < data + len && text_equal(named, dir);
}

static bool find_supervisor(const char *dir, struct supervisor *ret_supervisor)
{
    autofree char *path = instance_path(dir, POWER_PID);
    autofree char *data = NULL;
    long pid;
    uint64_t ticks;
    if (file_read(path, PID_BYTES_MAX, &data, NULL) != 0 || sscanf(data, "%ld %" SCNu64, &pid, &ticks) != 2 || pid <= 1)
        return false;
    if (!child_alive((pid_t)pid, ticks) || !serves((pid_t)pid, dir))
        return false;
    *ret_supervisor = (struct supervisor){.pid = (pid_t)pid, .ticks = ticks};
    return true;
}

bool power_is_on(const char *dir)
{
    struct supervisor ignored;
    return find_supervisor(dir, &ignored);
}

/* The lock is taken before the start and goes over with it. So a start is under way for exactly as long as somebody has the
 * lock, which no clock has to judge: CONFLICT, and nobody else is started beside it. */
static int start(const char *self_path, const char *dir, struct supervisor *ret_started, char *ret_error)
{
    autofree char *log = instance_path(dir, "log/machine.log"), *path = instance_path(dir, POWER_LOCK);
    const char *const argv[] = {self_path, "machine", dir, NULL};
    struct supervisor started = {0};
    int lock = -1;
    int status = file_lock(path, &lock);
    if (status == STATUS_CONFLICT)
        return status;
    if (status == 0)
        status = child_spawn_detached(argv, NULL, NULL, log, lock, &started.pid);
    if (lock >= 0)
        close(lock);
    if (status != 0) {
        snprintf(ret_error, PROVIDER_ERROR_MAX, "the machine's supervisor cannot be started: %s",
                 status_meaning(status));
        return STATUS_UNAVAILABLE;
    }
    (void)child_start_time(started.pid, &started.ticks); /* 0: it is gone already */
    *ret_started = started;
    return 0;
}

int power_on(const char *self_path, const char *dir, char *ret_error)
{
    struct supervisor started = {0};
    bool ended = false;
    for (int64_t until = now_ms() + UP_MS; !ended && now_ms() < until; poll(NULL, 0, POLL_MS)) {
        ended = started.pid != 0 && !child_alive(started.pid, started.ticks);
        if (power_is_on(dir))
            return 0;
        int status = started.pid == 0 ? start(self_path, dir, &started, ret_error) : 0;
        if (status != 0 && status != STATUS_CONFLICT)
            return status;
    }
    snprintf(ret_error, PROVIDER_ERROR_MAX, "the machine's supervisor %s; see its log/machine.log",
             ended ? "ended at once" : "is not up yet");
    return STATUS_UNAVAILABLE;
}

/* One look at the cycle: signals a supervisor that has not been told, starts one that is missing. */
static int push(const char *self_path, const char *dir, struct supervisor *told, int *starts, char *ret_error)
{
    struct supervisor now;
    if (!find_supervisor(dir, &now)) {
        if (++*starts > STARTS_MAX) {
            snprintf(ret_error, PROVIDER_ERROR_MAX,
                     "the machine's supervisor ends again and again; see its log/machine.log");
            return STATUS_UNAVAILABLE;
        }
        return power_on(self_path, dir, ret_error);
    }
    if (now.pid != told->pid || now.ticks != told->ticks) {
        *told = now;
        (void)processes_signal(now.pid, now.ticks, SIGHUP);
    }
    return 0;
}

int power_cycle(const char *self_path, const char *dir, const char *key, char *ret_error)
{
    struct supervisor told = {0};
    int starts = 0;
    if (instance_reboot_is_done(dir, key))
        return power_on(self_path, dir, ret_error);
    int status = instance_reboot_ask(dir, key);
    if (status != 0) {
        snprintf(ret_error, PROVIDER_ERROR_MAX, "the request to reboot cannot be written: %s", status_meaning(status));
        return status;
    }
    for (int64_t until = now_ms() + CYCLE_MS; now_ms() < until; poll(NULL, 0, POLL_MS)) {
        status = push(self_path, dir, &told, &starts, ret_error);
        if (status != 0)
            return status;
        if (instance_reboot_is_done(dir, key))
            return 0;
    }
    snprintf(ret_error, PROVIDER_ERROR_MAX, "the machine has not gone down within %d s", CYCLE_MS / 1000);
    return STATUS_TIMEOUT;
}

static bool wait_end(const struct supervisor *supervisor, int64_t timeout_ms)
{
    int64_t until = now_ms() + timeout_ms;
    while (child_alive(supervisor->pid, supervisor->ticks)) {
        if (now_ms() >= until)
            return false;
        poll(NULL, 0, POLL_MS);
    }
    return true;
}

static void stop_supervisor(const char *dir)
{
    struct supervisor supervisor;
    if (!find_supervisor(dir, &supervisor))
        return;
    (void)processes_signal(supervisor.pid, supervisor.ticks, SIGTERM);
    if (wait_end(&supervisor, OFF_MS))
        return;
    (void)processes_signal(supervisor.pid, supervisor.ticks, SIGKILL);
    (void)wait_end(&supervisor, KILLED_MS);
}

static int take_lock(const char *dir, int *ret_fd)
{
    autofree char *path = instance_path(dir, POWER_LOCK);
    int status = file_lock(path, ret_fd);
    for (int64_t until = now_ms() + LOCK_MS; status == STATUS_CONFLICT && now_ms() < until;) {
        stop_supervisor(dir);
        poll(NULL, 0, POLL_MS);
        status = file_lock(path, ret_fd);
    }
    return status;
}

int power_off(const char *dir, char *ret_error)
{
    autofree char *record = instance_path(dir, POWER_PROCESSES);
    int lock = -1;
    stop_supervisor(dir);
    int status = take_lock(dir, &lock);
    if (status == 0)
        status = processes_kill_leftovers(record, dir, KILLED_MS);
    if (lock >= 0)
        close(lock);
    if (status != 0)
        snprintf(ret_error, PROVIDER_ERROR_MAX, "not all processes of the machine end: %s", status_meaning(status));
    return status == STATUS_CONFLICT ? STATUS_TIMEOUT : status;
}
