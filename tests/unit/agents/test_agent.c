/* The agent on good days, and when it and the server do not agree on who it is. */
#include "tests/unit/agents/agent_world.h"

/* --- good days ----------------------------------------------------------------------------------------------- */

static void test_enrols_and_beats(void **state)
{
    struct world *world = *state;
    struct agent *agent = start(world);
    struct stat st;
    turn_until(world, agent, has_beaten);
    assert_true(agent_figures(agent).known);
    pthread_mutex_lock(&world->lock);
    assert_string_equal(world->last_credential, "hfn_17.1");
    assert_string_equal(world->last_boot, "boot-1");
    assert_string_equal(world->last_instance, "i-0123456789abcdef0");
    pthread_mutex_unlock(&world->lock);
    assert_int_equal(peek(world, &world->last_checks), 6); /* lifecycle, machine, settings, two deep checks, kmsg */
    autofree char *path = own_printf("%s/credential", world->state_dir);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    agent_free(agent);
    /* started again: the credential is still good, and the sequence goes on growing */
    poke(world, &world->heartbeats, 0);
    agent = start(world);
    turn_until(world, agent, has_beaten);
    assert_int_equal(peek(world, &world->enrolled), 1);
    assert_false(peek(world, &world->seq_went_back));
    agent_free(agent);
}

static bool has_told(struct world *world, struct agent *agent)
{
    (void)agent;
    return world->machines >= 1;
}

static bool has_told_again(struct world *world, struct agent *agent)
{
    (void)agent;
    return world->machines >= 2;
}

/* Once when it starts, and again when the server could not take it; not with every heartbeat. */
static void test_the_machine_is_told(void **state)
{
    struct world *world = *state;
    poke(world, &world->machine_status, 503);
    struct agent *agent = start(world);
    turn_until(world, agent, has_told);
    poke(world, &world->machine_status, 0);
    turn_until(world, agent, has_told_again);
    poke(world, &world->heartbeats, 0);
    turn_until(world, agent, has_beaten);
    assert_int_equal(peek(world, &world->machines), 2);
    agent_free(agent);
}

static bool has_beaten_twice(struct world *world, struct agent *agent)
{
    (void)agent;
    return world->heartbeats >= 2;
}

/* A connection within this machine says nothing that others could use; what a person says is told from the first on. */
static void test_the_address_that_is_told(void **state)
{
    struct world *world = *state;
    char url[64];
    struct agent_options options = options_of(world, url);
    struct agent *agent = start_with(&options);
    turn_until(world, agent, has_beaten_twice);
    pthread_mutex_lock(&world->lock);
    assert_string_equal(world->last_address, "");
    world->heartbeats = 0;
    pthread_mutex_unlock(&world->lock);
    agent_free(agent);
    options.address = "2001:db8::7";
    agent = start_with(&options);
    turn_until(world, agent, has_beaten);
    pthread_mutex_lock(&world->lock);
    assert_string_equal(world->last_address, "2001:db8::7");
    pthread_mutex_unlock(&world->lock);
    agent_free(agent);
}

static void test_a_flood_is_one_verdict(void **state)
{
    struct world *world = *state;
    struct text lines = {0};
    struct agent *agent = start(world);
    turn_until(world, agent, has_beaten);
    for (int i = 0; i < 672; i++)
        text_add(&lines, XID_79);
    log_lines(world, lines.data);
    text_free(&lines);
    turn_until(world, agent, has_delivered_one);
    assert_int_equal(only_delivery(world).count, 672);
    assert_int_equal(only_delivery(world).times, 1);
    agent_free(agent);
    /* the same lines are not reported again, neither by this life nor by the next */
    agent = start(world);
    poke(world, &world->heartbeats, 0);
    turn_until(world, agent, has_beaten);
    assert_int_equal(only_delivery(world).times, 1);
    agent_free(agent);
}

static void test_lines_from_before_the_start(void **state)
{
    struct world *world = *state;
    log_lines(world, XID_79 XID_48);
    struct agent *agent = start(world);
    turn_until(world, agent, has_delivered_two);
    assert_int_equal(peek(world, &world->reports), 1); /* both in one */
    agent_free(agent);
}

static void test_stops_when_asked(void **state)
{
    struct world *world = *state;
    struct agent *agent = start(world);
    int stop[2];
    turn_until(world, agent, has_beaten);
    assert_int_equal(pipe(stop), 0);
    assert_true(agent_turn(agent, stop[0], 0));
    assert_int_equal(write(stop[1], "x", 1), 1);
    assert_false(agent_turn(agent, stop[0], PATIENCE_MS));
    agent_free(agent);
    close(stop[0]);
    close(stop[1]);
}

static bool has_injected(struct world *world, struct agent *agent)
{
    return world->inject == NULL && (agent_figures(agent).spooled > 0 || world->heartbeats >= 6);
}

static void test_injection(void **state)
{
    struct world *world = *state;
    char url[64];
    struct agent_options options = options_of(world, url);
    world->inject = "NVRM: Xid (PCI:0000:b9:00): 79, injected";
    struct agent *agent = start(world);
    turn_until(world, agent, has_delivered_one);
    agent_free(agent);
    /* not allowed: nothing is written */
    options.allow_inject = false;
    autofree char *before = NULL, *after = NULL;
    size_t len;
    assert_int_equal(file_read(world->kmsg, 100000, &before, &len), 0);
    assert_non_null(strstr(before, "a harmless line\nNVRM: Xid (PCI:0000:b9:00): 79, injected\n"));
    pthread_mutex_lock(&world->lock);
    world->inject = "NVRM: Xid (PCI:0000:b9:00): 48, injected";
    world->heartbeats = 0;
    pthread_mutex_unlock(&world->lock);
    agent = start_with(&options);
    turn_until(world, agent, has_injected);
    assert_int_equal(file_read(world->kmsg, 100000, &after, &len), 0);
    assert_string_equal(before, after);
    agent_free(agent);
}

static bool has_beaten_without_checks(struct world *world, struct agent *agent)
{
    (void)agent;
    return world->heartbeats >= 1 && world->last_checks == 5;
}

static bool has_beaten_with_checks(struct world *world, struct agent *agent)
{
    (void)agent;
    return world->last_checks == 6;
}

/* What is not looked at is not claimed. */
static void test_a_log_that_is_not_there(void **state)
{
    struct world *world = *state;
    assert_int_equal(unlink(world->kmsg), 0);
    struct agent *agent = start(world);
    turn_until(world, agent, has_beaten_without_checks);
    log_lines(world, XID_79);
    turn_until(world, agent, has_delivered_one);
    turn_until(world, agent, has_beaten_with_checks);
    agent_free(agent);
}

/* --- standing ------------------------------------------------------------------------------------------------ */

static bool has_enrolled_twice(struct world *world, struct agent *agent)
{
    if (world->enrolled >= 2) {
        world->heartbeat_status = world->report_status = 0;
        struct agent_figures figures = agent_figures(agent); /* it has also read the answer to its report */
        return figures.known && figures.spooled == 0 && map_count(world->delivered) == 1;
    }
    return false;
}

static void test_enrols_again(void **state)
{
    static const struct {
        int status;
        const char *problem;
    } cases[] = {{401, "unauthenticated"}, {409, "stale-report"}};
    struct world *world = *state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct agent *agent = start(world);
        poke(world, &world->heartbeats, 0);
        turn_until(world, agent, has_beaten);
        poke(world, &world->enrolled, 1);
        refuse_all(world, cases[i].status, cases[i].problem);
        if (i == 0)
            log_lines(world, XID_79);
        turn_until(world, agent, has_enrolled_twice);
        assert_int_equal(only_delivery(world).times, 1);
        agent_free(agent);
    }
}

static bool has_asked_again(struct world *world, struct agent *agent)
{
    (void)agent;
    return world->heartbeats >= 4;
}

/* 401 and no token: it goes on spooling, tries the old credential now and then, and enrols as soon as it can. */
static void test_rejected_without_a_token(void **state)
{
    struct world *world = *state;
    struct agent *agent = start(world);
    turn_until(world, agent, has_beaten);
    assert_int_equal(unlink(world->token), 0);
    refuse_all(world, 401, "unauthenticated");
    turn_until(world, agent, has_asked_again);
    log_lines(world, XID_79);
    turn_until(world, agent, has_spooled);
    assert_false(agent_figures(agent).known);
    assert_int_equal(peek(world, &world->reports), 0);
    put(world->token, "hfe_fresh\n");
    turn_until(world, agent, has_enrolled_twice);
    agent_free(agent);
}

static bool is_rejected(struct world *world, struct agent *agent)
{
    (void)world;
    return !agent_figures(agent).known;
}

static bool is_known_again(struct world *world, struct agent *agent)
{
    (void)world;
    return agent_figures(agent).known;
}

/* A server that came back from a copy without us, and then with us. */
static void test_the_old_credential_is_good_again(void **state)
{
    struct world *world = *state;
    struct agent *agent = start(world);
    turn_until(world, agent, has_beaten);
    pthread_mutex_lock(&world->lock);
    world->heartbeat_status = 401;
    world->enroll_status = 401; /* the token was for once */
    world->heartbeats = 0;
    pthread_mutex_unlock(&world->lock);
    turn_until(world, agent, has_asked_again);
    assert_false(agent_figures(agent).known);
    pthread_mutex_lock(&world->lock);
    world->heartbeat_status = 0;
    pthread_mutex_unlock(&world->lock);
    poke(world, &world->machines, 0);
    turn_until(world, agent, is_known_again);
    assert_int_equal(peek(world, &world->enrolled), 1);
    turn_until(world, agent, has_told); /* that server may not have heard of the machine */
    agent_free(agent);
}

/* The refusal was of what is told of the machine itself, and that is told when the credential is good again. */
static void test_a_machine_that_was_refused_with_its_credential(void **state)
{
    struct world *world = *state;
    pthread_mutex_lock(&world->lock);
    world->machine_status = 401;
    pthread_mutex_unlock(&world->lock);
    struct agent *agent = start(world);
    turn_until(world, agent, has_told);
    poke(world, &world->enroll_status, 401);
    turn_until(world, agent, is_rejected);
    poke(world, &world->machine_status, 0);
    turn_until(world, agent, has_told_again);
    turn_until(world, agent, is_known_again);
    agent_free(agent);
}

static void test_stale_without_a_token_is_silent(void **state)
{
    struct world *world = *state;
    struct agent *agent = start(world);
    turn_until(world, agent, has_beaten);
    assert_int_equal(unlink(world->token), 0);
    refuse_all(world, 409, "stale-report");
    turn_until(world, agent, has_beaten_once);
    log_lines(world, XID_79);
    turn_until(world, agent, has_spooled);
    int64_t until = clock_mono_ms(clock_system()) + 3 * world->interval_ms + 200;
    while (clock_mono_ms(clock_system()) < until)
        assert_true(agent_turn(agent, -1, 20));
    assert_int_equal(peek(world, &world->heartbeats), 1); /* it was told once, and that is enough */
    assert_int_equal(peek(world, &world->reports), 0);
    agent_free(agent);
}

static void test_a_replayed_heartbeat_is_no_trouble(void **state)
{
    struct world *world = *state;
    struct agent *agent = start(world);
    refuse_all(world, 409, "replayed");
    turn_until(world, agent, has_beaten);
    assert_true(agent_figures(agent).known);
    assert_int_equal(peek(world, &world->enrolled), 1);
    assert_false(peek(world, &world->seq_went_back));
    agent_free(agent);
}

/* What an earlier boot saw is reported under that boot's id; what it wrote and nobody read is not reported as this boot's. */
static void test_evidence_keeps_its_boot(void **state)
{
    struct world *world = *state;
    struct agent *agent = start(world);
    turn_until(world, agent, has_beaten);
    server_down(world);
    log_lines(world, XID_79);
    turn_until(world, agent, has_spooled);
    agent_free(agent);
    log_lines(world, XID_79 XID_79); /* the last words of a machine that was being rebooted */
    put(world->boot, "boot-2\n");
    agent = start(world);
    log_lines(world, XID_48);
    server_up(world);
    turn_until(world, agent, has_delivered_two);
    assert_int_equal(map_count(world->delivered), 2);
    size_t cursor = 0, old = 0;
    const char *key;
    void *delivery;
    while (map_next(world->delivered, &cursor, &key, &delivery))
        old += strcmp(((struct delivery *)delivery)->boot, "boot-1") == 0;
    assert_int_equal(old, 1);
    assert_int_equal(agent_figures(agent).spooled, 0);
    agent_free(agent);
}

static void test_what_cannot_start(void **state)
{
    struct world *world = *state;
    char url[64], error[AGENT_ERROR_MAX] = "";
    struct agent_options options = options_of(world, url);
    struct agent *agent = start_with(&options), *second = NULL;
    assert_int_equal(agent_new(&options, &second, error), STATUS_CONFLICT);
    assert_non_null(strstr(error, "another agent"));
    agent_free(agent);
    options.boot_id_file = "/no/such/file";
    assert_int_equal(agent_new(&options, &second, error), STATUS_NOT_FOUND);
    options = options_of(world, url);
    options.url = "http://10.0.0.1:1";
    assert_int_equal(agent_new(&options, &second, error), STATUS_INVALID);
    options = options_of(world, url);
    options.instance_id = "i-far-too-long-to-be-one-of-ours";
    assert_int_not_equal(agent_new(&options, &second, error), 0);
    assert_null(second);
    agent_free(NULL);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, make_world, remove_world)
    const struct CMUnitTest tests[] = {
        CASE(test_enrols_and_beats),
        CASE(test_the_machine_is_told),
        CASE(test_the_address_that_is_told),
        CASE(test_a_flood_is_one_verdict),
        CASE(test_lines_from_before_the_start),
        CASE(test_stops_when_asked),
        CASE(test_injection),
        CASE(test_a_log_that_is_not_there),
        CASE(test_enrols_again),
        CASE(test_rejected_without_a_token),
        CASE(test_the_old_credential_is_good_again),
        CASE(test_a_machine_that_was_refused_with_its_credential),
        CASE(test_stale_without_a_token_is_silent),
        CASE(test_a_replayed_heartbeat_is_no_trouble),
        CASE(test_evidence_keeps_its_boot),
        CASE(test_what_cannot_start),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
