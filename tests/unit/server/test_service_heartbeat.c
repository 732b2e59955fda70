/* Heartbeats: what is news and what is not, what has to be on disk before it counts, and many agents at once. */
#include "tests/support/service_world.h"

#include <pthread.h>

static int64_t open_with_node(struct world *world, unsigned flags)
{
    int64_t id = world_open_ready(world, flags, 2);
    world->agent_changes = world->events_heard = 0;
    return id;
}

static uint64_t writes_of(struct world *world)
{
    struct db_stats stats;
    db_stats(world->service.db, &stats);
    return stats.writes;
}

static void test_an_ordinary_heartbeat_touches_no_store(void **state)
{
    (void)state;
    struct world world;
    int64_t id = open_with_node(&world, DB_INLINE);
    uint64_t before = writes_of(&world);
    for (int64_t seq = 1; seq <= 100; seq++)
        assert_int_equal(world_beat(&world, id, "i-1", WORLD_BOOT, seq), 0);
    assert_int_equal(writes_of(&world), before);
    assert_int_equal(world.agent_changes, 0);
    world_close(&world);
}

static void test_heartbeats_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        int64_t node_offset;
        const char *instance_id, *boot_id;
        int64_t seq, sent_at;
        int status;
        enum problem_code code;
    } table[] = {
        {0, "i-1", WORLD_BOOT, 10, WORLD_T0, STATUS_STALE, PROBLEM_REPLAYED},
        {0, "i-1", WORLD_BOOT, 9, WORLD_T0, STATUS_STALE, PROBLEM_REPLAYED},
        {0, "i-1", WORLD_BOOT, -1, WORLD_T0, STATUS_STALE, PROBLEM_REPLAYED},
        {0, "i-0", WORLD_BOOT, 11, WORLD_T0, STATUS_STALE, PROBLEM_STALE_REPORT},
        {0, "", WORLD_BOOT, 11, WORLD_T0, STATUS_STALE, PROBLEM_STALE_REPORT},
        {0, "i-1", "", 11, WORLD_T0, STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {0, "i-1", "a b", 11, WORLD_T0, STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {0, "i-1", WORLD_BOOT, 11, -1, STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {0, "i-1", WORLD_BOOT, 11, INT64_MIN, STATUS_INVALID, PROBLEM_INVALID_VALUE},
        {77, "i-1", WORLD_BOOT, 11, WORLD_T0, STATUS_UNAUTHENTICATED, PROBLEM_UNAUTHENTICATED},
    };
    struct world world;
    int64_t id = open_with_node(&world, DB_INLINE);
    assert_int_equal(world_beat(&world, id, "i-1", WORLD_BOOT, 10), 0);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct fleet_heartbeat beat = world_heartbeat(&world, table[i].instance_id, table[i].boot_id, table[i].seq);
        beat.sent_at = table[i].sent_at;
        assert_int_equal(service_agent_heartbeat(&world.service, id + table[i].node_offset, &beat, &world.problem),
                         table[i].status);
        assert_problem(&world, table[i].code);
    }
    struct fleet_view view;
    assert_int_equal(fleet_get(world.service.fleet, id, &view), 0);
    assert_int_equal(view.last_seq, 10);
    world_close(&world);
}

static void test_a_new_boot_is_stored_before_it_counts(void **state)
{
    (void)state;
    struct world world;
    struct event event;
    struct fleet_view view;
    int64_t id = open_with_node(&world, DB_INLINE);
    assert_int_equal(world_beat(&world, id, "i-1", WORLD_BOOT, 500), 0);
    world_instance_set(&world, "i-1", INSTANCE_STATE_REBOOTING);
    clock_fake_advance(&world.clock, 90000);
    assert_int_equal(world_beat(&world, id, "i-1", WORLD_BOOT_2, 3), 0);
    struct instance instance = world_instance(&world, "i-1");
    assert_int_equal(instance.state, INSTANCE_STATE_RUNNING);
    assert_string_equal(instance.boot_id, WORLD_BOOT_2);
    assert_int_equal(instance.boot_at, WORLD_T0 + 90000);
    assert_int_equal(world_events(&world, EVENT_KIND_AGENT_BOOTED, &event), 1);
    assert_non_null(strstr(event.message, WORLD_BOOT_2));
    assert_int_equal(world.agent_changes, 1);
    assert_int_equal(fleet_get(world.service.fleet, id, &view), 0);
    assert_string_equal(view.slot.boot_id, WORLD_BOOT_2);
    assert_int_equal(view.last_seq, 3);
    /* What the earlier boot still had on the wire is too late, and writes nothing. */
    uint64_t before = writes_of(&world);
    assert_int_equal(world_beat(&world, id, "i-1", WORLD_BOOT, 501), STATUS_STALE);
    assert_problem(&world, PROBLEM_STALE_REPORT);
    assert_int_equal(writes_of(&world), before);
    assert_int_equal(world_beat(&world, id, "i-1", WORLD_BOOT_2, 4), 0);
    assert_int_equal(world_events(&world, EVENT_KIND_AGENT_BOOTED, NULL), 1);
    world_close(&world);
}

static struct fleet_heartbeat beat_from(struct world *world, const char *boot_id, int64_t seq, const char *address)
{
    struct fleet_heartbeat beat = world_heartbeat(world, "i-1", boot_id, seq);
    snprintf(beat.address, sizeof(beat.address), "%s", address);
    return beat;
}

static void test_an_address_is_stored_when_it_is_new(void **state)
{
    (void)state;
    static const struct {
        const char *boot_id;
        int64_t seq;
        const char *address, *stored;
        int status, writes;
    } table[] = {
        {WORLD_BOOT, 1, "10.0.0.1", "10.0.0.1", 0, 1},
        {WORLD_BOOT, 2, "10.0.0.1", "10.0.0.1", 0, 0},
        {WORLD_BOOT, 3, "", "10.0.0.1", 0, 0},
        {WORLD_BOOT, 3, "10.0.0.2", "10.0.0.1", STATUS_STALE, 0},
        {WORLD_BOOT, 4, "gpu-1", "10.0.0.1", STATUS_INVALID, 0},
        {WORLD_BOOT, 4, "0.0.0.0", "10.0.0.1", STATUS_INVALID, 0},
        {WORLD_BOOT, 4, "::ffff:10.0.0.2", "10.0.0.2", 0, 1},
        {WORLD_BOOT_2, 1, "2001:db8::7", "2001:db8::7", 0, 2},
    };
    struct world world;
    int64_t id = open_with_node(&world, DB_INLINE);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct fleet_heartbeat beat = beat_from(&world, table[i].boot_id, table[i].seq, table[i].address);
        uint64_t before = writes_of(&world);
        assert_int_equal(service_agent_heartbeat(&world.service, id, &beat, &world.problem), table[i].status);
        assert_int_equal(writes_of(&world) - before, table[i].writes);
        assert_string_equal(world_instance(&world, "i-1").address, table[i].stored);
    }
    world_close(&world);
}

/* What cannot be stored now is stored by a later heartbeat, and nobody is taken for silent meanwhile. */
static void test_an_address_that_cannot_be_stored(void **state)
{
    (void)state;
    struct world world;
    struct fleet_view view;
    int64_t id = open_with_node(&world, DB_INLINE);
    struct fleet_slot slot = {.node_id = id, .instance_id = "i-9", .boot_id = WORLD_BOOT}; /* the store knows no i-9 */
    fleet_put(world.service.fleet, &slot);
    struct fleet_heartbeat beat = beat_from(&world, WORLD_BOOT, 1, "10.0.0.1");
    snprintf(beat.instance_id, sizeof(beat.instance_id), "i-9");
    assert_int_equal(service_agent_heartbeat(&world.service, id, &beat, &world.problem), 0);
    assert_int_equal(fleet_get(world.service.fleet, id, &view), 0);
    assert_int_equal(view.last_seq, 1);
    bool waits = false;
    beat.seq = 2;
    assert_int_equal(service_agent_heartbeat_now(&world.service, id, &beat, &waits, &world.problem), 0);
    assert_true(waits);
    world_close(&world);
}

/* An event loop takes what it can; a new boot is nothing until someone who may wait brings it. */
static void test_now_never_waits(void **state)
{
    (void)state;
    struct world world;
    struct fleet_view view;
    int64_t id = open_with_node(&world, DB_INLINE);
    struct fleet_heartbeat beat = world_heartbeat(&world, "i-1", WORLD_BOOT, 1);
    bool waits = true;
    assert_int_equal(service_agent_heartbeat_now(&world.service, id, &beat, &waits, &world.problem), 0);
    assert_false(waits);
    assert_int_equal(service_agent_heartbeat_now(&world.service, id, &beat, &waits, &world.problem), STATUS_STALE);
    assert_false(waits);
    assert_problem(&world, PROBLEM_REPLAYED);
    uint64_t before = writes_of(&world);
    beat = world_heartbeat(&world, "i-1", WORLD_BOOT_2, 5);
    assert_int_equal(service_agent_heartbeat_now(&world.service, id, &beat, &waits, &world.problem), 0);
    assert_true(waits);
    assert_int_equal(writes_of(&world), before);
    assert_int_equal(fleet_get(world.service.fleet, id, &view), 0);
    assert_string_equal(view.slot.boot_id, WORLD_BOOT);
    assert_int_equal(view.last_seq, 1);
    assert_int_equal(service_agent_heartbeat(&world.service, id, &beat, &world.problem), 0);
    assert_int_equal(service_agent_heartbeat_now(&world.service, id, &beat, &waits, &world.problem), STATUS_STALE);
    assert_false(waits);
    world_close(&world);
}

/* The fleet lags behind the store: the instance was ended, or another request was faster. */
static void test_the_store_has_the_last_word_on_a_boot(void **state)
{
    (void)state;
    struct world world;
    int64_t id = open_with_node(&world, DB_INLINE);
    struct instance instance = world_instance(&world, "i-1");
    snprintf(instance.boot_id, sizeof(instance.boot_id), "%s", WORLD_BOOT_2);
    world_write(&world, world_instance_write, &instance);
    assert_int_equal(world_beat(&world, id, "i-1", WORLD_BOOT_2, 1), 0);
    assert_int_equal(world_events(&world, EVENT_KIND_AGENT_BOOTED, NULL), 0); /* it was told already */
    world_instance_set(&world, "i-1", INSTANCE_STATE_TERMINATING);
    assert_int_equal(world_beat(&world, id, "i-1", "another-boot", 1), STATUS_STALE);
    assert_problem(&world, PROBLEM_STALE_REPORT);
    assert_string_equal(world_instance(&world, "i-1").boot_id, WORLD_BOOT_2);
    world_close(&world);
}

static void test_back_after_silence(void **state)
{
    (void)state;
    struct world world;
    int64_t id = open_with_node(&world, DB_INLINE);
    assert_int_equal(world_beat(&world, id, "i-1", WORLD_BOOT, 1), 0);
    clock_fake_advance(&world.clock, 61000);
    world_sweep(&world);
    assert_int_equal(world_beat(&world, id, "i-1", WORLD_BOOT, 2), 0);
    assert_int_equal(world_events(&world, EVENT_KIND_AGENT_BACK, NULL), 1);
    assert_int_equal(world.agent_changes, 1);
    assert_int_equal(world_beat(&world, id, "i-1", WORLD_BOOT, 3), 0);
    assert_int_equal(world_events(&world, EVENT_KIND_AGENT_BACK, NULL), 1);
    world_close(&world);
}

static void test_a_wrong_clock_is_told_when_it_changes(void **state)
{
    (void)state;
    static const struct {
        int64_t skew_ms;
        int events;
        const char *word;
    } table[] = {
        {0, 0, NULL},
        {5 * MS_PER_MIN, 0, NULL},
        {MS_PER_HOUR, 1, "ahead"},
        {MS_PER_HOUR + 30, 1, NULL},
        {100, 2, "right again"},
        {-MS_PER_HOUR, 3, "behind"},
        {INT64_MAX - WORLD_T0 - 1000, 3, NULL},
        {-WORLD_T0, 3, NULL},
        {0, 4, "right again"},
    };
    struct world world;
    struct event event;
    int64_t id = open_with_node(&world, DB_INLINE);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        struct fleet_heartbeat beat = world_heartbeat(&world, "i-1", WORLD_BOOT, (int64_t)i + 1);
        beat.sent_at += table[i].skew_ms;
        assert_int_equal(service_agent_heartbeat(&world.service, id, &beat, &world.problem), 0);
        assert_int_equal(world_events(&world, EVENT_KIND_CLOCK_SKEW, &event), table[i].events);
        if (table[i].word != NULL)
            assert_non_null(strstr(event.message, table[i].word));
    }
    world_close(&world);
}

/* --- many at once, on the threaded store ----------------------------------------------------------- */

#define AGENTS 8
#define BEATS 300

struct agent {
    struct world *world;
    int64_t node_id;
    char instance_id[ID_INSTANCE_MAX];
    int refused;
};

/* Reboots now and then; every heartbeat must be taken. */
static void *agent_lives(void *arg)
{
    struct agent *agent = arg;
    struct problem problem;
    for (int64_t i = 0; i < BEATS; i++) {
        char boot[BOOT_ID_MAX_BYTES];
        snprintf(boot, sizeof(boot), "boot-%" PRId64, i / 100);
        struct fleet_heartbeat beat = world_heartbeat(agent->world, agent->instance_id, boot, i);
        if (service_agent_heartbeat(&agent->world->service, agent->node_id, &beat, &problem) < 0)
            agent->refused++;
    }
    return NULL;
}

static void test_many_agents_at_once(void **state)
{
    (void)state;
    struct world world;
    struct agent agents[AGENTS];
    pthread_t threads[AGENTS];
    world_open(&world, 0);
    world_cluster(&world, "ml", "gpu", AGENTS, ORCHESTRATOR_NONE);
    for (int i = 0; i < AGENTS; i++) {
        char name[32];
        agents[i] = (struct agent){.world = &world};
        snprintf(name, sizeof(name), "gpu-%d", i + 1);
        snprintf(agents[i].instance_id, sizeof(agents[i].instance_id), "i-%d", i);
        agents[i].node_id = world_ready(&world, "ml", name, agents[i].instance_id, NULL);
    }
    for (int i = 0; i < AGENTS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, agent_lives, &agents[i]), 0);
    for (int i = 0; i < AGENTS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < AGENTS; i++) {
        assert_int_equal(agents[i].refused, 0);
        assert_string_equal(world_instance(&world, agents[i].instance_id).boot_id, "boot-2");
    }
    assert_int_equal(world_events(&world, EVENT_KIND_AGENT_BOOTED, NULL), AGENTS * 3);
    struct fleet_counts counts;
    fleet_counts(world.service.fleet, &counts);
    assert_int_equal(counts.heartbeats, AGENTS * BEATS);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_ordinary_heartbeat_touches_no_store),
        cmocka_unit_test(test_now_never_waits),
        cmocka_unit_test(test_heartbeats_that_are_refused),
        cmocka_unit_test(test_a_new_boot_is_stored_before_it_counts),
        cmocka_unit_test(test_the_store_has_the_last_word_on_a_boot),
        cmocka_unit_test(test_an_address_is_stored_when_it_is_new),
        cmocka_unit_test(test_an_address_that_cannot_be_stored),
        cmocka_unit_test(test_back_after_silence),
        cmocka_unit_test(test_a_wrong_clock_is_told_when_it_changes),
        cmocka_unit_test(test_many_agents_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
