/* Who asks for a partner, and what it hears: in order, late, twice, and after a restart of the server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/text.h"
#include "server/live/pair_matching.h"

#include <stdio.h>
#include <string.h>

#define SESSION "1/p5.48xlarge/nccl"
#define AGENTS_MAX 4
#define LIMIT_MS 60000

struct agent {
    char name[16];
    struct deep_pair_ask ask;
    struct deep_pair_reply reply;
};
struct world {
    struct pair_matching *pair_matching;
    struct id_source ids;
    int64_t now_ms, settle_ms;
    struct agent agents[AGENTS_MAX];
};

static void open_world(struct world *world, size_t expected)
{
    const char *names[AGENTS_MAX];
    *world = (struct world){.pair_matching = pair_matching_new(), .now_ms = 1000000};
    id_source_seed(&world->ids, 7);
    for (int i = 0; i < AGENTS_MAX; i++) {
        struct agent *agent = &world->agents[i];
        snprintf(agent->name, sizeof(agent->name), "gpu-%d", i + 1);
        snprintf(agent->ask.key, sizeof(agent->ask.key), "run-%d", i + 1);
        snprintf(agent->ask.tool, sizeof(agent->ask.tool), "nccl");
        snprintf(agent->ask.address, sizeof(agent->ask.address), "10.0.0.%d", i + 1);
        agent->ask.port = 40001 + i;
        agent->ask.limit_ms = LIMIT_MS;
        names[i] = agent->name;
    }
    assert_true(pair_matching_asks_who(world->pair_matching, SESSION, world->now_ms));
    pair_matching_expect(world->pair_matching, SESSION, names, expected, world->now_ms);
    assert_false(pair_matching_asks_who(world->pair_matching, SESSION, world->now_ms));
}

static enum deep_pair_word ask(struct world *world, int agent)
{
    struct agent *own = &world->agents[agent];
    const struct pair_matching_node node = {.session = SESSION, .name = own->name, .settle_ms = world->settle_ms};
    pair_matching_answer(world->pair_matching, &node, &own->ask, &world->ids, world->now_ms, &own->reply);
    return own->reply.word;
}

static void say(struct world *world, int agent, enum deep_pair_result result)
{
    struct agent *own = &world->agents[agent];
    own->ask.said[own->ask.said_count] = own->reply.match;
    own->ask.said[own->ask.said_count++].result = result;
}

static void begin_pair(struct world *world)
{
    assert_int_equal(ask(world, 0), DEEP_PAIR_WORD_WAIT);
    assert_true(world->agents[0].reply.pause_ms > 0);
    assert_int_equal(ask(world, 1), DEEP_PAIR_WORD_MATCH);
    world->agents[0].ask.port = 50001; /* by now: the match has the port of before */
    assert_int_equal(ask(world, 0), DEEP_PAIR_WORD_MATCH);
    const struct deep_pair_reply *a = &world->agents[0].reply, *b = &world->agents[1].reply;
    assert_string_equal(a->match.match, b->match.match);
    assert_string_equal(a->match.partner, "gpu-2");
    assert_string_equal(b->match.partner, "gpu-1");
    assert_true(a->serves && !b->serves);
    assert_string_equal(b->address, "10.0.0.1");
    assert_int_equal(b->port, 40001);
    assert_int_equal(a->port, 40001);
}

static void test_two_that_pass(void **state)
{
    struct world world;
    (void)state;
    open_world(&world, 2);
    begin_pair(&world);
    assert_int_equal(ask(&world, 0), DEEP_PAIR_WORD_MATCH); /* it did not hear: the same once more */
    say(&world, 0, DEEP_PAIR_RESULT_PASSED);
    assert_int_equal(ask(&world, 0), DEEP_PAIR_WORD_WAIT); /* the other has not spoken */
    say(&world, 1, DEEP_PAIR_RESULT_PASSED);
    assert_int_equal(ask(&world, 1), DEEP_PAIR_WORD_END);
    assert_int_equal(world.agents[1].reply.state, DEEP_STATE_PASSED);
    assert_string_equal(world.agents[1].reply.detail, "");
    assert_int_equal(ask(&world, 0), DEEP_PAIR_WORD_END);
    assert_int_equal(ask(&world, 1), DEEP_PAIR_WORD_END); /* whose answer was lost */
    pair_matching_free(world.pair_matching);
}

static void test_the_bad_one_of_three(void **state)
{
    struct world world;
    (void)state;
    open_world(&world, 3);
    begin_pair(&world);
    assert_int_equal(ask(&world, 2), DEEP_PAIR_WORD_WAIT);
    say(&world, 0, DEEP_PAIR_RESULT_PASSED); /* one that failed is enough */
    say(&world, 1, DEEP_PAIR_RESULT_FAILED);
    for (int turn = 0; turn < 20; turn++)
        for (int i = 0; i < 3; i++)
            if (ask(&world, i) == DEEP_PAIR_WORD_MATCH) {
                bool bad = i == 1 || text_equal(world.agents[i].reply.match.partner, "gpu-2");
                say(&world, i, bad ? DEEP_PAIR_RESULT_FAILED : DEEP_PAIR_RESULT_PASSED);
            }
    const struct deep_pair_reply *ends[] = {&world.agents[0].reply, &world.agents[1].reply, &world.agents[2].reply};
    for (int i = 0; i < 3; i++)
        assert_int_equal(ends[i]->word, DEEP_PAIR_WORD_END);
    assert_int_equal(ends[1]->state, DEEP_STATE_FAILED);
    assert_string_equal(ends[1]->detail, "failed with gpu-1, gpu-3, which passed with others");
    assert_int_equal(ends[0]->state, DEEP_STATE_PASSED);
    assert_string_equal(ends[0]->detail, "failed with gpu-2, and passed with gpu-3: that is no fault of this node");
    pair_matching_free(world.pair_matching);
}

/* Another process knows nothing but what the agents tell it. */
static void test_a_restart_of_the_server_forgets_nothing(void **state)
{
    struct world world;
    const char *const names[] = {"gpu-1", "gpu-2", "gpu-3"};
    (void)state;
    open_world(&world, 3);
    begin_pair(&world);
    say(&world, 0, DEEP_PAIR_RESULT_FAILED);
    say(&world, 1, DEEP_PAIR_RESULT_FAILED);
    assert_int_equal(ask(&world, 0), DEEP_PAIR_WORD_WAIT);
    pair_matching_free(world.pair_matching);
    world.pair_matching = pair_matching_new();
    pair_matching_expect(world.pair_matching, SESSION, names, 3, world.now_ms);
    assert_int_equal(ask(&world, 0), DEEP_PAIR_WORD_WAIT);
    assert_int_equal(ask(&world, 1), DEEP_PAIR_WORD_WAIT); /* not with gpu-1 again */
    assert_int_equal(ask(&world, 2), DEEP_PAIR_WORD_MATCH);
    pair_matching_free(world.pair_matching);
}

/* Its partner was told its end before the server died, and never comes again: the others do not wait for it. */
static void test_who_had_ended_before_a_restart_holds_nobody_up(void **state)
{
    struct world world;
    const char *const names[] = {"gpu-1", "gpu-3"};
    (void)state;
    open_world(&world, 3);
    begin_pair(&world);
    say(&world, 0, DEEP_PAIR_RESULT_PASSED);
    say(&world, 1, DEEP_PAIR_RESULT_PASSED);
    assert_int_equal(ask(&world, 1), DEEP_PAIR_WORD_WAIT); /* gpu-3 may need it; say that it had ended */
    pair_matching_free(world.pair_matching);
    world.pair_matching = pair_matching_new();
    pair_matching_expect(world.pair_matching, SESSION, names, 2, world.now_ms);
    assert_int_equal(ask(&world, 0), DEEP_PAIR_WORD_WAIT);
    assert_int_equal(ask(&world, 2), DEEP_PAIR_WORD_WAIT);
    pair_matching_expect(world.pair_matching, SESSION, names, 2, world.now_ms);
    assert_int_equal(ask(&world, 2), DEEP_PAIR_WORD_MATCH);
    assert_string_equal(world.agents[2].reply.match.partner, "gpu-1");
    pair_matching_free(world.pair_matching);
}

/* It was told of the match, and the other was not when the server died: that says nothing of either. */
static void test_a_partner_that_never_took_part_is_not_held_against_anybody(void **state)
{
    struct world world;
    const char *const names[] = {"gpu-1", "gpu-2"};
    (void)state;
    open_world(&world, 2);
    assert_int_equal(ask(&world, 0), DEEP_PAIR_WORD_WAIT);
    assert_int_equal(ask(&world, 1), DEEP_PAIR_WORD_MATCH);
    say(&world, 1, DEEP_PAIR_RESULT_FAILED);
    pair_matching_free(world.pair_matching);
    world.pair_matching = pair_matching_new();
    pair_matching_expect(world.pair_matching, SESSION, names, 2, world.now_ms);
    assert_int_equal(ask(&world, 1), DEEP_PAIR_WORD_WAIT);
    assert_int_equal(ask(&world, 0), DEEP_PAIR_WORD_MATCH);
    assert_string_equal(world.agents[0].reply.match.partner, "gpu-2");
    pair_matching_free(world.pair_matching);
}

/* Its agent is gone, and with it its word. */
static void test_a_partner_that_vanishes_holds_nobody_up(void **state)
{
    struct world world;
    (void)state;
    open_world(&world, 3);
    begin_pair(&world);
    say(&world, 0, DEEP_PAIR_RESULT_FAILED);
    assert_int_equal(ask(&world, 0), DEEP_PAIR_WORD_WAIT);
    assert_int_equal(ask(&world, 2), DEEP_PAIR_WORD_WAIT); /* gpu-1 may pass yet */
    for (int i = 0; i < 12 && ask(&world, 2) == DEEP_PAIR_WORD_WAIT; i++) {
        world.now_ms += LIMIT_MS / 6;
        (void)ask(&world, 0);
    }
    assert_int_equal(world.agents[2].reply.word, DEEP_PAIR_WORD_MATCH);
    assert_string_equal(world.agents[2].reply.match.partner, "gpu-1");
    pair_matching_free(world.pair_matching);
}

static void test_who_waits_for_whom(void **state)
{
    struct world world;
    const char *const names[] = {"gpu-1"};
    (void)state;
    open_world(&world, 2);
    assert_int_equal(ask(&world, 0), DEEP_PAIR_WORD_WAIT); /* gpu-2's run has not ended */
    pair_matching_expect(world.pair_matching, SESSION, names, 1, world.now_ms);
    assert_int_equal(ask(&world, 0), DEEP_PAIR_WORD_END); /* it has: there is nobody */
    assert_int_equal(world.agents[0].reply.state, DEEP_STATE_SKIPPED);
    assert_non_null(strstr(world.agents[0].reply.detail, "there was no other node"));
    pair_matching_free(world.pair_matching);

    open_world(&world, 1);
    world.settle_ms = MS_PER_MIN; /* a new machine: others may be launched yet */
    assert_int_equal(ask(&world, 0), DEEP_PAIR_WORD_WAIT);
    world.now_ms += MS_PER_MIN;
    assert_int_equal(ask(&world, 0), DEEP_PAIR_WORD_END);
    pair_matching_free(world.pair_matching);

    open_world(&world, 2);
    assert_int_equal(ask(&world, 0), DEEP_PAIR_WORD_WAIT);
    world.now_ms += MS_PER_HOUR; /* nobody waits for ever for one who does not come */
    assert_int_equal(ask(&world, 0), DEEP_PAIR_WORD_END);
    pair_matching_free(world.pair_matching);
}

/* The same node in another run is tested anew; what it was told before is of before. */
static void test_another_run_of_the_same_node(void **state)
{
    struct world world;
    (void)state;
    open_world(&world, 2);
    begin_pair(&world);
    world.agents[1].ask.said_count = 0;
    snprintf(world.agents[1].ask.key, KEY_MAX_BYTES, "run-9");
    say(&world, 0, DEEP_PAIR_RESULT_VOID);
    assert_int_equal(ask(&world, 0), DEEP_PAIR_WORD_WAIT);
    assert_int_equal(ask(&world, 1), DEEP_PAIR_WORD_MATCH);
    pair_matching_free(world.pair_matching);
}

/* A node that tells of ever more matches is not believed for ever. */
static void test_what_is_told_is_bounded(void **state)
{
    struct world world;
    (void)state;
    open_world(&world, 2);
    for (int round = 0; round < 100; round++) {
        struct deep_pair_ask *told = &world.agents[0].ask;
        told->said_count = DEEP_PAIRS_MAX;
        for (int i = 0; i < DEEP_PAIRS_MAX; i++) {
            snprintf(told->said[i].match, ID_UUID_MAX, "m-%d-%d", round, i);
            snprintf(told->said[i].partner, NODE_NAME_MAX_BYTES, "x-%d-%d", round, i);
        }
        assert_int_equal(ask(&world, 0), DEEP_PAIR_WORD_WAIT);
        assert_true(world.agents[0].reply.pause_ms < 2000); /* which grows with those who are known */
    }
    pair_matching_free(world.pair_matching);
}

/* mpirun has no key for the other's sshd: two of one type, and more than two. */
static void test_what_cannot_be_started_ends_with_another_tool(void **state)
{
    struct world world;
    (void)state;
    open_world(&world, 2);
    begin_pair(&world);
    for (int turn = 0; turn < 2; turn++) {
        say(&world, 0, DEEP_PAIR_RESULT_VOID);
        say(&world, 1, DEEP_PAIR_RESULT_PASSED); /* it only stays out of the way */
        (void)ask(&world, 0);
        (void)ask(&world, 1);
        (void)ask(&world, 0);
    }
    for (int i = 0; i < 2; i++) {
        assert_int_equal(ask(&world, i), DEEP_PAIR_WORD_NEXT);
        assert_int_equal(world.agents[i].reply.state, DEEP_STATE_SKIPPED);
    }
    assert_string_equal(world.agents[0].reply.detail, "nothing was found out: it came to nothing with gpu-2");
    pair_matching_free(world.pair_matching);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_two_that_pass),
        cmocka_unit_test(test_the_bad_one_of_three),
        cmocka_unit_test(test_what_cannot_be_started_ends_with_another_tool),
        cmocka_unit_test(test_a_restart_of_the_server_forgets_nothing),
        cmocka_unit_test(test_who_had_ended_before_a_restart_holds_nobody_up),
        cmocka_unit_test(test_a_partner_that_never_took_part_is_not_held_against_anybody),
        cmocka_unit_test(test_a_partner_that_vanishes_holds_nobody_up),
        cmocka_unit_test(test_who_waits_for_whom),
        cmocka_unit_test(test_another_run_of_the_same_node),
        cmocka_unit_test(test_what_is_told_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
