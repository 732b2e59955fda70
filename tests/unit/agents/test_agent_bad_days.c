/* The agent while its server is away, refuses, answers by halves or not at all, and after its own sudden end. */
#include "tests/unit/agents/agent_world.h"

#include "agents/checks/kmsg.h"
#include "agents/node/spool.h"

/* --- bad days of the server ---------------------------------------------------------------------------------- */

static void test_server_away(void **state)
{
    struct world *world = *state;
    struct agent *agent = start(world);
    turn_until(world, agent, has_beaten);
    server_down(world);
    log_lines(world, XID_79);
    turn_until(world, agent, has_spooled);
    agent_free(agent); /* even over the agent's own end */
    agent = start(world);
    log_lines(world, XID_79);
    for (int i = 0; i < 10; i++)
        assert_true(agent_turn(agent, -1, 20));
    assert_int_equal(agent_figures(agent).spooled, 1);
    server_up(world);
    turn_until(world, agent, has_delivered_one);
    poke(world, &world->heartbeats, 0);
    turn_until(world, agent, has_beaten);
    agent_free(agent); /* tells the last count */
    agent = start(world);
    turn_until(world, agent, has_delivered_one);
    assert_int_equal(only_delivery(world).count, 2);
    assert_int_equal(peek(world, &world->enrolled), 1);
    agent_free(agent);
}

/* Killed without a chance to tidy up, and without the position of what it had read. */
static void test_agent_killed(void **state)
{
    struct world *world = *state;
    server_down(world); /* no thread of ours in the child */
    pid_t pid = fork();
    if (pid == 0) {
        char url[64], error[AGENT_ERROR_MAX];
        struct agent_options options = options_of(world, url);
        struct agent *agent = NULL;
        if (agent_new(&options, &agent, error) != 0)
            _exit(1);
        log_lines(world, XID_79);
        for (int i = 0; i < 1000 && agent_figures(agent).spooled == 0; i++)
            agent_turn(agent, -1, 20);
        _exit(agent_figures(agent).spooled == 1 ? 0 : 2);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(WEXITSTATUS(status), 0);
    autofree char *position = own_printf("%s/kernel-log", world->state_dir);
    assert_int_equal(unlink(position), 0);
    server_up(world);
    struct agent *agent = start(world);
    turn_until(world, agent, has_delivered_one);
    poke(world, &world->heartbeats, 0);
    turn_until(world, agent, has_beaten);
    agent_free(agent);
    agent = start(world);
    turn_until(world, agent, has_delivered_one);
    assert_int_equal(map_count(world->delivered), 1); /* the line was read twice, and is one verdict all the same */
    agent_free(agent);
}

static void ignore_finding(const struct finding *finding, void *arg)
{
    (void)finding;
    (void)arg;
}

/* How far the log was read, as versions before wrote it. */
static void put_old_position(const struct world *world)
{
    struct kmsg *kmsg = kmsg_new(world->kmsg, NULL, clock_system());
    while (kmsg_read(kmsg, ignore_finding, NULL))
        ;
    struct kmsg_position at = kmsg_position(kmsg);
    kmsg_free(kmsg);
    autofree char *position = own_printf("boot-1 %lld %lld \n", (long long)at.file, (long long)at.offset);
    autofree char *path = own_printf("%s/position", world->state_dir);
    put(path, position);
}

static bool has_counted_two(struct world *world, struct agent *agent)
{
    size_t cursor = 0;
    const char *key;
    void *delivery;
    return agent_figures(agent).spooled == 0 && map_next(world->delivered, &cursor, &key, &delivery) &&
           ((const struct delivery *)delivery)->count == 2;
}

/* A verdict that waits in the spool of a version before, under the key that it made, goes on growing. */
static void test_files_of_the_version_before(void **state)
{
    struct world *world = *state;
    autofree char *path = own_printf("%s/spool", world->state_dir);
    long long now = (long long)clock_wall_ms(clock_system());
    autofree char *record = own_printf(
        "{\"instanceId\":\"i-0123456789abcdef0\",\"bootId\":\"boot-1\",\"key\":\"0123456789abcdef\",\"device\":"
        "\"0000:b9:00\",\"source\":\"kmsg\",\"code\":\"xid.79\",\"rawLine\":\"%.*s\",\"firstAtMs\":%lld,"
        "\"lastAtMs\":%lld,\"count\":1,\"severity\":\"critical\",\"tableVersion\":\"t.1\"}",
        (int)strlen(XID_79) - 1, XID_79, now, now);
    struct spool *spool = NULL;
    size_t damaged;
    assert_int_equal(file_make_dirs(world->state_dir, 0700), 0);
    assert_int_equal(spool_open(path, SPOOL_BYTES_MAX, &spool, &damaged), 0);
    assert_int_equal(spool_append(spool, 0x0123456789abcdef, true, record, strlen(record)), 0);
    spool_free(spool);
    log_lines(world, XID_79);
    put_old_position(world);
    struct agent *agent = start(world);
    log_lines(world, XID_79);
    turn_until(world, agent, has_delivered_one);
    agent_free(agent);
    agent = start(world);
    turn_until(world, agent, has_counted_two);
    agent_free(agent);
    assert_int_equal(only_delivery(world).count, 2); /* one of then, one of now; none is read again */
}

static bool was_refused(struct world *world, struct agent *agent)
{
    (void)agent;
    return world->refused_reports >= 3;
}

static void test_refusals_that_pass(void **state)
{
    static const int statuses[] = {500, 503, 507, 429, 404, 302};
    struct world *world = *state;
    struct agent *agent = start(world);
    turn_until(world, agent, has_beaten);
    log_lines(world, XID_79);
    for (size_t i = 0; i < ARRAY_LEN(statuses); i++) {
        pthread_mutex_lock(&world->lock);
        world->report_status = statuses[i];
        world->refused_reports = 0;
        pthread_mutex_unlock(&world->lock);
        turn_until(world, agent, was_refused);
        assert_int_equal(agent_figures(agent).spooled, 1);
    }
    pthread_mutex_lock(&world->lock);
    world->report_status = 0;
    pthread_mutex_unlock(&world->lock);
    turn_until(world, agent, has_delivered_one);
    assert_int_equal(only_delivery(world).times, 1);
    assert_int_equal(agent_figures(agent).dropped, 0);
    agent_free(agent);
}

/* One verdict that the server will never take must not hold up the others. */
static void test_a_poisoned_verdict(void **state)
{
    struct world *world = *state;
    world->poison = "0000:3b:00";
    log_lines(world, XID_79 XID_48 "NVRM: Xid (PCI:0000:5c:00): 79, x\n");
    struct agent *agent = start(world);
    turn_until(world, agent, has_delivered_two);
    assert_int_equal(map_count(world->delivered), 2);
    assert_int_equal(agent_figures(agent).refused, 1);
    agent_free(agent);
}

static void test_half_replies(void **state)
{
    struct world *world = *state;
    struct agent *agent = start(world);
    turn_until(world, agent, has_beaten);
    poke(world, &world->half_reports, 1);
    log_lines(world, XID_79);
    int64_t until = clock_mono_ms(clock_system()) + PATIENCE_MS;
    while (peek(world, &world->reports) < 3 && clock_mono_ms(clock_system()) < until)
        assert_true(agent_turn(agent, -1, 20));
    assert_int_equal(agent_figures(agent).spooled, 1);
    pthread_mutex_lock(&world->lock);
    world->half_reports = false;
    pthread_mutex_unlock(&world->lock);
    turn_until(world, agent, has_delivered_one);
    assert_true(only_delivery(world).times >= 3); /* repeated, under one key */
    assert_int_equal(only_delivery(world).count, 1);
    agent_free(agent);
}

/* While the server makes no sound, lines are read and spooled all the same. */
static void test_slow_replies(void **state)
{
    struct world *world = *state;
    char url[64];
    struct agent_options options = options_of(world, url);
    options.timeout_ms = 5000;
    struct agent *agent = start_with(&options);
    turn_until(world, agent, has_beaten);
    pthread_mutex_lock(&world->lock);
    world->hold_heartbeats = true;
    world->heartbeats = 0;
    pthread_mutex_unlock(&world->lock);
    turn_until(world, agent, has_beaten_once);
    log_lines(world, XID_79);
    turn_until(world, agent, has_spooled);
    pthread_mutex_lock(&world->lock);
    assert_int_equal(world->heartbeats, 1); /* the one without an answer is waited for all the while */
    world->hold_heartbeats = false;
    pthread_mutex_unlock(&world->lock);
    turn_until(world, agent, has_delivered_one);
    agent_free(agent);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, make_world, remove_world)
    const struct CMUnitTest tests[] = {
        CASE(test_server_away),        CASE(test_agent_killed),       CASE(test_files_of_the_version_before),
        CASE(test_refusals_that_pass), CASE(test_a_poisoned_verdict), CASE(test_half_replies),
        CASE(test_slow_replies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
