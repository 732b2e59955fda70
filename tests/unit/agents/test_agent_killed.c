/* The agent is killed in front of each thing that it does to the disk or sends, one after the other, in the middle of lines that
 * come; the next one goes on. However it was: each line is told, none is counted twice, and what was one verdict stays one.
 *
 * The life that ends so is another process of this same program, in which the calls that leave a trace count themselves. */
#include "tests/unit/agents/agent_world.h"

#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define TURNS_A_BATCH 12
#define STEPS_MIN 60  /* fewer, and the calls are no longer those that the agent makes */
#define STEPS_MAX 600 /* a life that never ends */

extern char **environ;

/* --- a life that ends at a step ---------------------------------------------------------------------------------- */

static atomic_int steps; /* our own server counts too, on its thread */
static int last_step;    /* 0: it is not killed */

static void step(void)
{
    if (atomic_fetch_add(&steps, 1) + 1 == last_step)
        kill(getpid(), SIGKILL);
}

/* In front of libc's own. */
ssize_t pwrite(int fd, const void *data, size_t len, off_t offset)
{
    step();
    return syscall(SYS_pwrite64, fd, data, len, offset);
}

int fdatasync(int fd)
{
    step();
    return (int)syscall(SYS_fdatasync, fd);
}

int fsync(int fd)
{
    step();
    return (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
    step();
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int ftruncate(int fd, off_t len)
{
    step();
    return (int)syscall(SYS_ftruncate, fd, len);
}

int unlink(const char *path)
{
    step();
    return (int)syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

ssize_t send(int fd, const void *data, size_t len, int flags)
{
    step();
    ssize_t n = syscall(SYS_sendto, fd, data, len, flags, NULL, 0);
    step();
    return n;
}

/* --- what happens in it ------------------------------------------------------------------------------------------ */

#define A "NVRM: Xid (PCI:0000:0a:00): 79, GPU has fallen off the bus.\n"
#define B "NVRM: Xid (PCI:0000:0b:00): 48, DBE\n"
#define C "NVRM: Xid (PCI:0000:0c:00): 95, Uncontained\n"
#define D "EXT4-fs (nvme0n1p1): Remounting filesystem read-only\n"

/* Windows that are told at once, that grow in silence while others are told, and lines that say nothing. */
static const char *const batches[] = {A "nothing\n", A "nothing\n" B, "nothing\n" A A C, B B A, D "nothing\n" D, A};

static const struct {
    const char *fault;
    int64_t lines;
} faults[] = {
    {"xid.79 0000:0a:00", 6}, {"xid.48 0000:0b:00", 3}, {"xid.95 0000:0c:00", 1}, {"kernel.fs.read-only nvme0n1p1", 2}};

/* What the log has of batches is what earlier lives have put there. */
static void append_rest(const char *log, size_t until)
{
    struct stat st;
    size_t size = 0;
    assert_int_equal(stat(log, &st), 0);
    int fd = open(log, O_WRONLY | O_APPEND | O_CLOEXEC);
    for (size_t i = 0; i < until; i++) {
        if ((size_t)st.st_size <= size)
            assert_int_equal(write(fd, batches[i], strlen(batches[i])), strlen(batches[i]));
        size += strlen(batches[i]);
    }
    close(fd);
}

static void turn_some(struct agent *agent)
{
    for (int i = 0; i < TURNS_A_BATCH; i++)
        (void)agent_turn(agent, -1, 1);
}

static int live(const struct world *world, int port)
{
    char url[64];
    struct agent_options options = options_of(world, url);
    snprintf(url, sizeof(url), "http://127.0.0.1:%d", port);
    struct agent *agent = start_with(&options);
    for (size_t i = 0; i < ARRAY_LEN(batches); i++) {
        append_rest(world->kmsg, i + 1);
        turn_some(agent);
    }
    agent_free(agent); /* what grew is told at the end */
    agent = start_with(&options);
    int64_t until = clock_mono_ms(clock_system()) + PATIENCE_MS;
    while ((agent_figures(agent).spooled > 0 || !agent_figures(agent).known) && clock_mono_ms(clock_system()) < until)
        (void)agent_turn(agent, -1, 5);
    agent_free(agent);
    return 0;
}

/* argv: "live", the directory, the port, the step. */
static int live_as(char **argv)
{
    struct world world = {.interval_ms = 100};
    log_set_level(LOG_LEVEL_ERROR);
    world.state_dir = own_printf("%s/state", argv[2]);
    world.kmsg = own_printf("%s/kmsg", argv[2]);
    world.token = own_printf("%s/token", argv[2]);
    world.boot = own_printf("%s/boot", argv[2]);
    last_step = (int)strtol(argv[4], NULL, 10);
    int rc = live(&world, (int)strtol(argv[3], NULL, 10));
    free(world.state_dir);
    free(world.kmsg);
    free(world.token);
    free(world.boot);
    return rc;
}

/* True when it was killed. */
static bool one_life(const struct world *world, int at_step)
{
    char port[16], at[16];
    pid_t pid;
    int status;
    snprintf(port, sizeof(port), "%d", world->port);
    snprintf(at, sizeof(at), "%d", at_step);
    char *argv[] = {(char[]){"test"}, (char[]){"live"}, (char *)(uintptr_t)world->dir, port, at, NULL};
    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
        return true;
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        fail_msg("the life that was to end at step %d ended with %x", at_step, status);
    return false;
}

/* --- what was told ------------------------------------------------------------------------------------------------ */

static void expect_each_once(struct world *world, int at_step)
{
    pthread_mutex_lock(&world->lock);
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        int64_t lines = 0;
        int verdicts = 0;
        size_t cursor = 0;
        const char *key;
        void *found;
        while (map_next(world->delivered, &cursor, &key, &found)) {
            const struct delivery *delivery = found;
            if (strcmp(delivery->fault, faults[i].fault) != 0)
                continue;
            verdicts++;
            lines += delivery->count;
        }
        if (verdicts != 1 || lines != faults[i].lines)
            fail_msg("killed at step %d: %s is %d verdicts of %d lines together", at_step, faults[i].fault, verdicts,
                     (int)lines);
    }
    pthread_mutex_unlock(&world->lock);
}

static void begin_anew(struct world *world)
{
    size_t cursor = 0;
    const char *key;
    void *delivery;
    pthread_mutex_lock(&world->lock);
    while (map_next(world->delivered, &cursor, &key, &delivery))
        free(delivery);
    map_free(world->delivered);
    world->delivered = map_new();
    pthread_mutex_unlock(&world->lock);
    if (access(world->state_dir, F_OK) == 0)
        assert_int_equal(file_remove_tree(world->state_dir), 0);
    put(world->kmsg, "");
}

static void test_killed_at_each_step(void **state)
{
    struct world *world = *state;
    bool killed = true;
    int at = 0;
    while (killed) {
        assert_true(++at < STEPS_MAX);
        begin_anew(world);
        killed = one_life(world, at);
        if (killed)
            assert_false(one_life(world, 0));
        expect_each_once(world, at);
    }
    assert_true(at > STEPS_MIN);
    printf("killed in front of each of %d steps\n", at - 1);
}

/* A life that is killed again and again, a little later each time, over one and the same log. */
static void test_killed_all_the_time(void **state)
{
    struct world *world = *state;
    begin_anew(world);
    for (int at = 3; at < STEPS_MIN; at += 3)
        (void)one_life(world, at);
    assert_false(one_life(world, 0));
    expect_each_once(world, 0);
}

int main(int argc, char **argv)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, make_world, remove_world)
    const struct CMUnitTest tests[] = {CASE(test_killed_at_each_step), CASE(test_killed_all_the_time)};
    if (argc > 1)
        return live_as(argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
