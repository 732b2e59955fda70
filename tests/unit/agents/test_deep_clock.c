/* Somebody sets the clock while a deep health check runs, or is interrupted: the time that it may take is what has passed. The
 * system's wall clock is this program's own: it answers clock_gettime with the kernel's time and what the test adds to it. */
#include "tests/unit/agents/deep_world.h"

#include "base/clock.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

static atomic_llong set_by_ms;

int clock_gettime(clockid_t id, struct timespec *ret)
{
    if (syscall(SYS_clock_gettime, id, ret) != 0)
        return -1;
    if (id == CLOCK_REALTIME)
        ret->tv_sec += (time_t)(atomic_load(&set_by_ms) / MS_PER_S);
    return 0;
}

static void test_a_step_of_the_clock_takes_no_time(void **state)
{
    static const int64_t steps[] = {MS_PER_DAY, -MS_PER_DAY, -MS_PER_DAY};
    struct world *world = *state;
    autofree char *body = own_printf("test -e %s/go || sleep 1000", world->dir);
    for (size_t i = 0; i < ARRAY_LEN(steps); i++) {
        autofree char *go = own_printf("%s/go", world->dir), *key = own_printf("k%zu", i);
        (void)unlink(go);
        world->key = key;
        put_stress(world, body);
        interrupt_by(world, SIGKILL);
        atomic_fetch_add(&set_by_ms, steps[i]);
        write_text(world->dir, "go", "", 0600);
        assert_int_equal(run_as(world, key, PATIENCE_MS), 0);
        assert_said(world, "running passed !"); /* and not that the time of the run was over */
    }
}

/* What an interrupted run has used counts for the one that goes on. */
static void test_what_has_passed_counts(void **state)
{
    struct world *world = *state;
    world->time_limit_ms = 300;
    put_stress(world, "sleep 1000");
    interrupt_by(world, SIGKILL);
    (void)poll(NULL, 0, 400);
    assert_int_equal(run(world), 0);
    assert_non_null(strstr(world->detail, "the time of this run was over"));
}

/* A version before remembered when it began, and nothing else. */
static void test_the_memory_of_a_version_before(void **state)
{
    struct world *world = *state;
    put_stress(world, "true");
    for (int hours = 0; hours <= 1; hours++) {
        autofree char *key = own_printf("k%d", hours), *dir = own_printf("%s/deep", world->state_dir);
        autofree char *memory = own_printf("{\"instanceId\":\"" INSTANCE
                                           "\",\"key\":\"%s\",\"bootId\":\"boot-1\",\"beganAt\":%lld,\"at\":0,"
                                           "\"begun\":0,\"testAt\":0,\"pid\":0,\"ticks\":0,\"over\":0}",
                                           key, (long long)(clock_wall_ms(clock_system()) - hours * MS_PER_HOUR));
        write_text(dir, "memory", memory, 0600);
        world->key = key;
        assert_int_equal(run_as(world, key, PATIENCE_MS), 0);
        assert_said(world, hours == 0 ? "running passed !" : "skipped !");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        DEEP_TEST(test_a_step_of_the_clock_takes_no_time),
        DEEP_TEST(test_what_has_passed_counts),
        DEEP_TEST(test_the_memory_of_a_version_before),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
