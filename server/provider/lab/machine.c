/*
 * The supervisor: one process that plays the machine. It adopts everything its services leave behind, so that a power cut
 * can reach all of it, and lives in a session of its own, so that hpd's death means nothing to it.
 *
 * A boot is: nothing runs, a new boot id, an empty kernel log, a pause, the services. A reboot is recorded between the end
 * of the old processes and the new boot; whoever dies before that line reboots again by starting, whoever dies after it has
 * rebooted. So a key counts once.
 */
#include "server/provider/lab/local.h"

#include "base/child.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/id.h"
#include "base/log.h"
#include "base/own.h"
#include "base/status.h"
#include "base/text.h"
#include "server/provider/lab/instance.h"
#include "server/provider/lab/power.h"
#include "server/provider/lab/processes.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXIT_FAILED 1
#define EXIT_USAGE 2
#define EXIT_BUSY 3
#define LEFTOVERS_MS 10000
#define KILL_PASS_MS 50
#define KILL_COMPLAIN_MS 10000
#define BACKOFF_FIRST_MS 500
#define BACKOFF_MAX_MS 10000
#define STEADY_MS 30000     /* a service that ran so long begins at the first backoff again */
#define RECORD_FIRST_MS 100 /* the record of descendants is young after a start, when most of them appear, */
#define RECORD_MAX_MS 2000  /* and never older than this */
#define LOG_BYTES_MAX (64 * 1024 * 1024)
#define EXIT_NO_PROGRAM 127
#define LAST_WORDS_BYTES 200

struct service {
    const struct instance_service *spec;
    pid_t pid;    /* 0: not running */
    bool started; /* since the machine came up */
    int64_t start_at, started_at, backoff_ms;
};

struct machine {
    char *dir;
    int lock;
    struct instance_spec spec;
    struct service services[LOCAL_SERVICES_MAX];
    int64_t record_at, record_every_ms;
    char *record; /* as it stands on disk */
};

static int64_t now_ms(void)
{
    return clock_mono_ms(clock_system());
}

static int write_file(const struct machine *m, const char *name, const char *content)
{
    autofree char *path = instance_path(m->dir, name);
    int status = file_write(path, content, strlen(content), 0644);
    if (status != 0)
        log_error("%s cannot be written: %s", name, status_meaning(status));
    return status;
}

/* --- services ---------------------------------------------------------------------------------- */

/* "{firstStart:-b}" is -b when the service starts with the machine, and nothing when it is started again: slurmd -b tells
 * slurmctld that the machine has just booted, and a service that only crashed must not say so. */
#define FIRST_START "{firstStart:"
static void choose_arguments(const struct service *service, char *ret_argv[LOCAL_ARGS_MAX + 1])
{
    size_t count = 0;
    for (char **arg = service->spec->argv; *arg != NULL && count < LOCAL_ARGS_MAX; arg++) {
        if (!text_starts_with(*arg, FIRST_START) || !text_ends_with(*arg, "}"))
            ret_argv[count++] = *arg;
        else if (!service->started) {
            ret_argv[count] = own_strdup(*arg + strlen(FIRST_START));
            ret_argv[count][strlen(ret_argv[count]) - 1] = '\0';
            count++;
        }
    }
    ret_argv[count] = NULL;
}

static void become_service(const struct service *service, int log, pid_t supervisor)
{
    char *argv[LOCAL_ARGS_MAX + 1];
    sigset_t none;
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    /* When the supervisor is killed, the machine has lost its power. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != supervisor)
        _exit(EXIT_FAILED);
    setsid();
    umask(022);
    dup2(null, STDIN_FILENO);
    dup2(log, STDOUT_FILENO);
    dup2(log, STDERR_FILENO);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    choose_arguments(service, argv);
    execvp(argv[0], argv);
    dprintf(STDERR_FILENO, "%s cannot be started: %s\n", argv[0], strerror(errno));
    _exit(EXIT_NO_PROGRAM);
}

static char *log_path(const struct machine *m, const char *name)
{
    return own_printf("%s/log/%s.log", m->dir, name);
}

static void schedule_again(struct service *service)
{
    int64_t now = now_ms();
    bool steady = service->started_at != 0 && now - service->started_at >= STEADY_MS;
    int64_t doubled = service->backoff_ms * 2 < BACKOFF_MAX_MS ? service->backoff_ms * 2 : BACKOFF_MAX_MS;
    service->backoff_ms = steady || service->backoff_ms == 0 ? BACKOFF_FIRST_MS : doubled;
    service->start_at = now + service->backoff_ms;
    service->pid = 0;
}

static void start_service(struct machine *m, struct service *service)
{
    autofree char *path = log_path(m, service->spec->name);
    pid_t supervisor = getpid(), pid = -1;
    int log = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    service->started_at = now_ms();
    if (log >= 0)
        pid = fork();
    if (pid == 0)
        become_service(service, log, supervisor);
    if (pid < 0) {
        log_error("service %s cannot be started: %s", service->spec->name, strerror(errno));
        schedule_again(service);
    } else {
        service->pid = pid;
        service->started = true;
        m->record_at = 0;
        m->record_every_ms = RECORD_FIRST_MS;
        log_info("service %s started pid=%ld", service->spec->name, (long)pid);
    }
    if (log >= 0)
        close(log);
}

static void start_due(struct machine *m)
{
    for (size_t i = 0; i < m->spec.service_count; i++)
        if (m->services[i].pid == 0 && now_ms() >= m->services[i].start_at)
            start_service(m, &m->services[i]);
}

/* The last line of its log, which says most often why it ended; "" for none. */
static void read_last_words(const struct machine *m, const char *name, char ret_words[LAST_WORDS_BYTES])
{
    autofree char *path = log_path(m, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : 0;
    off_t from = size < LAST_WORDS_BYTES ? 0 : size - (LAST_WORDS_BYTES - 1);
    ssize_t len = fd >= 0 ? pread(fd, ret_words, LAST_WORDS_BYTES - 1, from) : 0;
    if (fd >= 0)
        close(fd);
    while (len > 0 && ret_words[len - 1] == '\n')
        len--;
    ret_words[len > 0 ? len : 0] = '\0';
    const char *newline = strrchr(ret_words, '\n');
    if (newline != NULL)
        memmove(ret_words, newline + 1, strlen(newline));
}

static void service_ended(const struct machine *m, struct service *service, int wait_status)
{
    const char *name = service->spec->name;
    char words[LAST_WORDS_BYTES];
    bool killed = WIFSIGNALED(wait_status);
    autofree char *what =
        own_printf("its service %s %s %d", name, killed ? "was ended by signal" : "ended with exit code",
                   killed ? WTERMSIG(wait_status) : WEXITSTATUS(wait_status));
    schedule_again(service);
    log_warn("%s, again in %" PRId64 " ms", what, service->backoff_ms);
    read_last_words(m, name, words);
    (void)instance_trouble_write(m->dir, what, words);
}

/* Services and orphans alike. False when there is no child left at all. */
static bool reap(struct machine *m)
{
    int wait_status;
    pid_t pid;
    while ((pid = waitpid(-1, &wait_status, WNOHANG)) > 0)
        for (size_t i = 0; i < m->spec.service_count; i++)
            if (m->services[i].pid == pid)
                service_ended(m, &m->services[i], wait_status);
    return pid == 0;
}

/* A log that nobody reads must not fill the disk. Its writers append, so cutting it is safe. */
static void bound_logs(const struct machine *m)
{
    struct stat st;
    for (size_t i = 0; i < m->spec.service_count; i++) {
        autofree char *path = log_path(m, m->spec.services[i].name);
        if (stat(path, &st) == 0 && st.st_size > LOG_BYTES_MAX && truncate(path, 0) == 0)
            log_warn("the log of %s grew too large and was emptied", m->spec.services[i].name);
    }
}

/* For the one who has to clean up when this process is killed: what daemonises and clears its environment is known by this
 * list only. */
static void record_due(struct machine *m)
{
    if (now_ms() < m->record_at)
        return;
    autofree char *record = processes_record();
    m->record_at = now_ms() + m->record_every_ms;
    m->record_every_ms = m->record_every_ms * 2 < RECORD_MAX_MS ? m->record_every_ms * 2 : RECORD_MAX_MS;
    bound_logs(m);
    if (text_equal(record, m->record) || write_file(m, POWER_PROCESSES, record) != 0)
        return;
    free(m->record);
    m->record = TAKE(record);
}

/* --- power ------------------------------------------------------------------------------------- */
/* The kernel says when nobody is left: a subreaper that has no child has no descendant. There is no giving up, since two
 * generations of one machine must not run side by side; hpd kills this process when it takes too long. */
static void kill_all(struct machine *m)
{
    const struct timespec pass = {.tv_nsec = KILL_PASS_MS * 1000000L};
    int64_t complain_at = now_ms() + KILL_COMPLAIN_MS;
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    for (size_t i = 0; i < m->spec.service_count; i++)
        m->services[i].pid = 0; /* what ends now has not failed */
    while (reap(m)) {
        processes_kill_descendants();
        if (!reap(m))
            break;
        (void)sigtimedwait(&child, NULL, &pass);
        if (now_ms() >= complain_at) {
            log_warn("processes of this machine do not end although they were killed");
            complain_at = now_ms() + KILL_COMPLAIN_MS;
        }
    }
}

/* With nothing running: takes note of the reboot that this is, if it is one, and begins anew. */
static int boot(struct machine *m)
{
    char key[KEY_MAX_BYTES], boot_id[ID_UUID_MAX];
    int status = instance_reboot_pending(m->dir, key);
    if (status == 0) {
        status = instance_reboot_done(m->dir, key);
        if (status != 0) {
            log_error("the reboot cannot be recorded: %s", status_meaning(status));
            return status;
        }
        log_info("rebooted for %s", key);
    }
    id_uuid(NULL, boot_id);
    autofree char *line = own_printf("%s\n", boot_id);
    instance_trouble_clear(m->dir);
    status = write_file(m, "kmsg", "");
    if (status == 0)
        status = write_file(m, "boot_id", line);
    int64_t at = now_ms() + m->spec.boot_delay_ms;
    for (size_t i = 0; i < m->spec.service_count; i++)
        m->services[i] = (struct service){.spec = &m->spec.services[i], .start_at = at};
    if (status == 0)
        log_info("boot %s of %s, node %s", boot_id, m->spec.id, m->spec.node);
    return status;
}

static int next_signal(struct machine *m, const sigset_t *signals)
{
    int64_t until = m->record_at, now = now_ms();
    for (size_t i = 0; i < m->spec.service_count; i++)
        if (m->services[i].pid == 0 && m->services[i].start_at < until)
            until = m->services[i].start_at;
    int64_t left = until > now ? until - now : 0;
    const struct timespec wait = {.tv_sec = left / MS_PER_S, .tv_nsec = left % MS_PER_S * 1000000L};
    return sigtimedwait(signals, NULL, &wait);
}

static int run(struct machine *m, const sigset_t *signals)
{
    char key[KEY_MAX_BYTES];
    int status = boot(m);
    while (status == 0) {
        start_due(m);
        record_due(m);
        int signal_number = next_signal(m, signals);
        reap(m);
        if (signal_number == SIGTERM || signal_number == SIGINT)
            break;
        /* A second signal for the same request, or one for a request that starting has fulfilled, means nothing. */
        if (signal_number == SIGHUP && instance_reboot_pending(m->dir, key) == 0) {
            log_info("going down for %s", key);
            kill_all(m);
            status = boot(m);
        }
    }
    kill_all(m);
    return status;
}

/* --- start ------------------------------------------------------------------------------------- */
/* hpd hands it over with the start; who starts this by hand gets it when nobody has it. */
static int take_lock(struct machine *m)
{
    autofree char *path = instance_path(m->dir, POWER_LOCK);
    int status = file_lock_inherited(path, CHILD_KEPT_FD);
    if (status == STATUS_NOT_FOUND)
        return file_lock(path, &m->lock);
    if (status == 0)
        m->lock = CHILD_KEPT_FD;
    return status;
}

static int write_pid(const struct machine *m)
{
    uint64_t ticks;
    int status = child_start_time(getpid(), &ticks);
    if (status != 0)
        return status;
    autofree char *line = own_printf("%ld %" PRIu64 "\n", (long)getpid(), ticks);
    return write_file(m, POWER_PID, line);
}

/* What a service inherits: our environment, without what was meant for us or for a person. */
static void prepare_environment(const struct machine *m)
{
    static const char *const not_theirs[] = {"HPCTL_TOKEN", "NOTIFY_SOCKET", "LISTEN_FDS", "LISTEN_PID",
                                             "LISTEN_FDNAMES"};
    for (size_t i = 0; i < ARRAY_LEN(not_theirs); i++)
        unsetenv(not_theirs[i]);
    setenv(PROCESSES_VARIABLE, m->dir, 1);
}

static int prepare_directories(const struct machine *m)
{
    autofree char *log = instance_path(m->dir, "log"), *agent = instance_path(m->dir, "agent");
    int status = file_make_dirs(log, 0700);
    return status != 0 ? status : file_make_dirs(agent, 0700);
}

static int begin(struct machine *m)
{
    char error[PROVIDER_ERROR_MAX] = "";
    autofree char *record = instance_path(m->dir, POWER_PROCESSES);
    int status = instance_spec_read(m->dir, &m->spec, error);
    if (status != 0) {
        log_error("%s", error[0] != '\0' ? error : "there is no instance.json");
        return status;
    }
    status = prepare_directories(m);
    if (status == 0)
        status = write_pid(m);
    if (status == 0)
        status = processes_kill_leftovers(record, m->dir, LEFTOVERS_MS);
    if (status != 0)
        log_error("the machine cannot start: %s", status_meaning(status));
    prepare_environment(m);
    return status;
}

static int serve(struct machine *m, const sigset_t *signals)
{
    autofree char *pid_path = instance_path(m->dir, POWER_PID);
    int status = take_lock(m);
    if (status != 0) {
        log_warn("another supervisor has this machine: %s", status_meaning(status));
        return EXIT_BUSY;
    }
    if (instance_is_ending(m->dir)) {
        log_info("the instance is terminated");
        return 0;
    }
    status = begin(m);
    if (status == 0)
        status = run(m, signals);
    (void)unlink(pid_path);
    log_info("power off");
    return status == 0 ? 0 : EXIT_FAILED;
}

int local_machine_main(const char *instance_dir)
{
    struct machine m = {.lock = -1, .record_every_ms = RECORD_FIRST_MS};
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGHUP);
    sigaddset(&signals, SIGCHLD);
    sigprocmask(SIG_BLOCK, &signals, NULL);
    m.dir = realpath(instance_dir, NULL);
    const char *name = m.dir == NULL ? NULL : strrchr(m.dir, '/') + 1;
    if (!instance_id_is_valid(name) || !text_equal(m.dir, instance_dir)) {
        log_error("%s is not the directory of an instance; hpd starts machines by itself", instance_dir);
        free(m.dir);
        return EXIT_USAGE;
    }
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    int code = serve(&m, &signals);
    instance_spec_free(&m.spec);
    if (m.lock >= 0)
        close(m.lock);
    free(m.record);
    free(m.dir);
    return code;
}

/* --- a reboot from within ------------------------------------------------------------------------ */
/* Once for each boot: whoever asks twice has one. */
int local_machine_reboot_main(const char *instance_dir)
{
    char self[PATH_MAX], key[KEY_MAX_BYTES], error[PROVIDER_ERROR_MAX] = "";
    autofree char *path = instance_path(instance_dir, "boot_id");
    autofree char *boot_id = NULL;
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
    if (len <= 0 || file_read(path, BOOT_ID_MAX_BYTES, &boot_id, NULL) != 0) {
        fprintf(stderr, "%s is no machine that runs\n", instance_dir);
        return EXIT_USAGE;
    }
    self[len] = '\0';
    boot_id[strcspn(boot_id, "\n")] = '\0';
    snprintf(key, sizeof(key), "inside/%.40s", boot_id);
    if (power_cycle(self, instance_dir, key, error) == 0)
        return 0;
    fprintf(stderr, "%s\n", error);
    return EXIT_FAILED;
}
