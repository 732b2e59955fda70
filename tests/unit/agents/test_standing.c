/* States that last: one verdict and its repeats, over when whole runs do not find it, and known again after a restart. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "agents/node/standing.h"
#include "base/clock.h"

#include <stdio.h>
#include <string.h>

#define START_MS INT64_C(1795188470000)

struct world {
    struct standing standing;
    int64_t at;   /* since START_MS, on both clocks */
    int64_t skew; /* of the wall clock */
    struct verdict last;
    int told;
    bool saved;
    int told_at_save;
    struct text kept;
};

static void tell(const struct verdict *verdict, const struct reach *reach, void *arg)
{
    struct world *world = arg;
    assert_null(reach);
    world->last = *verdict;
    world->told++;
}

static void save(void *arg)
{
    struct world *world = arg;
    text_clear(&world->kept);
    standing_write(&world->standing, &world->kept);
    world->saved = true;
    world->told_at_save = world->told;
}

static struct world *world_new(void)
{
    struct world *world = own_calloc(1, sizeof(*world));
    standing_init(&world->standing, "i-1", "boot-1");
    return world;
}

static void world_free(struct world **world)
{
    standing_clear(&(*world)->standing);
    text_free(&(*world)->kept);
    free(*world);
}

#define AUTO_WORLD __attribute__((cleanup(world_free)))

/* A run of "disk" a minute later that found these devices full; NULL: none. */
static bool run(struct world *world, const char *first, const char *second, bool whole)
{
    struct check_observation observations[2] = {0};
    struct check_report report = {.whole = whole, .observations = observations};
    const char *devices[] = {first, second};
    for (size_t i = 0; i < ARRAY_LEN(devices); i++) {
        if (devices[i] == NULL)
            continue;
        struct check_observation *observation = &observations[report.observation_count++];
        snprintf(observation->code, sizeof(observation->code), "node.disk.full");
        snprintf(observation->device, sizeof(observation->device), "%s", devices[i]);
        snprintf(observation->text, sizeof(observation->text), "%s is full", devices[i]);
        observation->count = 1;
    }
    world->at += MS_PER_MIN;
    const struct standing_to to = {tell, save, world};
    world->saved = false;
    standing_take(&world->standing, "disk", &report, world->at, START_MS + world->at + world->skew, &to);
    return world->saved;
}

static void test_it_begins_lasts_and_is_over(void **state)
{
    AUTO_WORLD struct world *world = world_new();
    (void)state;
    assert_true(run(world, "/", NULL, true));
    assert_int_equal(world->told, 1);
    assert_string_equal(world->last.source, "disk");
    assert_string_equal(world->last.raw_line, "/ is full");
    assert_int_not_equal(world->last.severity, SEVERITY_OK);
    struct verdict begun = world->last;
    for (int i = 0; i < 9; i++)
        assert_false(run(world, "/", NULL, true));
    assert_int_equal(world->told, 1);
    assert_true(run(world, "/", NULL, true)); /* ten minutes later */
    assert_int_equal(world->told, 2);
    assert_string_equal(world->last.key, begun.key);
    assert_int_equal(world->last.count, 11);
    assert_int_equal(world->last.last_at, START_MS + world->at);
    assert_false(run(world, NULL, NULL, true)); /* once proves nothing */
    assert_true(run(world, NULL, NULL, true));
    assert_int_equal(world->told, 3);
    assert_int_equal(world->last.severity, SEVERITY_OK);
    assert_true(world->last.over && !begun.over);
    assert_string_equal(world->last.code, begun.code);
    assert_string_equal(world->last.device, begun.device);
    assert_string_not_equal(world->last.key, begun.key);
    assert_int_equal(world->standing.count, 0);
    assert_false(run(world, NULL, NULL, true));
    assert_true(run(world, "/", NULL, true)); /* and again: another story */
    assert_string_not_equal(world->last.key, begun.key);
}

static void test_an_hour_makes_it_new(void **state)
{
    AUTO_WORLD struct world *world = world_new();
    (void)state;
    run(world, "/", NULL, true);
    struct verdict begun = world->last;
    for (int i = 0; i < 60; i++)
        run(world, "/", NULL, true);
    assert_string_not_equal(world->last.key, begun.key);
    assert_int_equal(world->last.count, 1);
    assert_int_equal(world->last.first_at, begun.first_at + MS_PER_HOUR);
    assert_int_equal(world->standing.count, 1);
}

static void test_who_did_not_look_takes_nothing_back(void **state)
{
    AUTO_WORLD struct world *world = world_new();
    (void)state;
    run(world, "/", "/var", true);
    assert_int_equal(world->told, 2);
    for (int i = 0; i < 5; i++)
        run(world, "/var", NULL, false); /* it could not see all */
    assert_int_equal(world->standing.count, 2);
    run(world, "/var", NULL, true);
    run(world, "/var", "/", true); /* swings around a threshold */
    run(world, "/var", NULL, true);
    assert_int_equal(world->standing.count, 2);
    assert_int_equal(world->told, 2);
    struct check_report other = {.whole = true};
    for (int i = 0; i < 3; i++)
        standing_take(&world->standing, "memory", &other, world->at, START_MS,
                      &(struct standing_to){tell, save, world});
    assert_int_equal(world->standing.count, 2);
}

static void test_events_are_not_its_business(void **state)
{
    AUTO_WORLD struct world *world = world_new();
    struct check_observation event = {.is_event = true, .code = "node.memory.uncorrected", .count = 2};
    const struct check_report report = {.whole = true, .observations = &event, .observation_count = 1};
    (void)state;
    standing_take(&world->standing, "edac", &report, 0, START_MS, &(struct standing_to){tell, save, world});
    assert_false(world->saved);
    assert_int_equal(world->told, 0);
}

static void test_it_is_known_after_a_restart(void **state)
{
    AUTO_WORLD struct world *world = world_new(), *again = world_new();
    AUTO(text) struct text kept = {0};
    (void)state;
    run(world, "/", "/var", true);
    standing_write(&world->standing, &kept);
    text_add(&kept, "{\"half\":");
    standing_read(&again->standing, kept.data, kept.len, 0);
    standing_read(&again->standing, kept.data, kept.len, 0);
    assert_int_equal(again->standing.count, 2);
    again->at = world->at;
    run(again, "/", NULL, true);
    assert_int_equal(again->told, 1); /* at once: nobody knows whether it was told before */
    assert_string_equal(again->last.key, world->standing.states[0].verdict.key);
    run(again, "/", NULL, true);
    assert_int_equal(again->told, 2);
    assert_int_equal(again->last.severity, SEVERITY_OK);
    assert_string_equal(again->last.device, "/var");
    AUTO_WORLD struct world *rebooted = world_new();
    standing_init(&rebooted->standing, "i-1", "boot-2");
    standing_read(&rebooted->standing, kept.data, kept.len, 0);
    assert_int_equal(rebooted->standing.count, 0);
}

/* Whoever is killed between two lines of standing_take begins with the list that is on disk. */
static void test_killed_in_between(void **state)
{
    AUTO_WORLD struct world *world = world_new(), *again = world_new();
    (void)state;
    run(world, "/", NULL, true);
    assert_int_equal(world->told_at_save, 0); /* it stands on disk before anybody hears of it */
    struct verdict begun = world->last;
    standing_read(&again->standing, world->kept.data, world->kept.len, world->at);
    again->at = world->at;
    run(again, "/", NULL, true);
    assert_string_equal(again->last.key, begun.key);
    run(world, NULL, NULL, true);
    run(world, NULL, NULL, true);
    assert_true(world->last.over);
    assert_int_equal(world->told_at_save, 2); /* that it is over is told first */
    run(again, NULL, NULL, true);             /* and by who did not hear of that once more */
    again->at += 5 * MS_PER_MIN;
    run(again, NULL, NULL, true);
    assert_true(again->last.over);
    assert_string_equal(again->last.key, world->last.key);
}

/* Somebody sets the clock, by hours: what lasts goes on, as long as it lasted. */
static void test_steps_of_the_wall_clock(void **state)
{
    (void)state;
    for (int64_t step = -5 * MS_PER_HOUR; step <= 5 * MS_PER_HOUR; step += 10 * MS_PER_HOUR) {
        AUTO_WORLD struct world *world = world_new();
        run(world, "/", NULL, true);
        struct verdict begun = world->last;
        world->skew = step;
        for (int i = 0; i < 10; i++)
            run(world, "/", NULL, true);
        assert_int_equal(world->told, 2);
        assert_string_equal(world->last.key, begun.key);
        assert_int_equal(world->last.count, 11);
        run(world, NULL, NULL, true);
        run(world, NULL, NULL, true);
        assert_true(world->last.over);
        assert_string_equal(world->last.raw_line, "over after 12m0s");
    }
}

static bool is_run(const char *source, void *arg)
{
    (void)arg;
    return strcmp(source, "disk") != 0;
}

/* A check that was removed, renamed or switched off finds nothing any more, and takes nothing back. */
static void test_a_check_that_is_not_run_any_more(void **state)
{
    AUTO_WORLD struct world *world = world_new();
    (void)state;
    run(world, "/", "/var", true);
    assert_true(standing_end_others(&world->standing, is_run, world->at + 1, START_MS + world->at + 1, tell, world));
    assert_int_equal(world->told, 4);
    assert_true(world->last.over);
    assert_string_equal(world->last.device, "/var");
    assert_non_null(strstr(world->last.raw_line, "not run any more"));
    assert_int_equal(world->standing.count, 0);
    assert_false(standing_end_others(&world->standing, is_run, world->at + 1, START_MS + world->at + 1, tell, world));
}

static void test_there_is_an_end_to_it(void **state)
{
    AUTO_WORLD struct world *world = world_new();
    char device[16];
    (void)state;
    for (int i = 0; i < STANDING_MAX + 5; i++) {
        snprintf(device, sizeof(device), "/%d", i);
        run(world, device, NULL, false);
    }
    assert_int_equal(world->standing.count, STANDING_MAX);
    assert_int_equal(world->told, STANDING_MAX);
}

static void test_what_is_renewed_is_told_again(void **state)
{
    AUTO_WORLD struct world *world = world_new();
    (void)state;
    run(world, "sda", NULL, true);
    int told = world->told;
    run(world, "sda", NULL, true);
    assert_int_equal(world->told, told); /* nothing new */
    standing_renew(&world->standing);
    run(world, "sda", NULL, true);
    assert_int_equal(world->told, told + 1);
    assert_int_equal(world->last.count, 3); /* it is seen further, which the server takes for a fault anew */
    run(world, "sda", NULL, true);
    assert_int_equal(world->told, told + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_renewed_is_told_again),
        cmocka_unit_test(test_it_begins_lasts_and_is_over),
        cmocka_unit_test(test_an_hour_makes_it_new),
        cmocka_unit_test(test_who_did_not_look_takes_nothing_back),
        cmocka_unit_test(test_events_are_not_its_business),
        cmocka_unit_test(test_it_is_known_after_a_restart),
        cmocka_unit_test(test_killed_in_between),
        cmocka_unit_test(test_steps_of_the_wall_clock),
        cmocka_unit_test(test_a_check_that_is_not_run_any_more),
        cmocka_unit_test(test_there_is_an_end_to_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
