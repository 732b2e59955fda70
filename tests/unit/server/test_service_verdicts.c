/* Verdicts: durable before acknowledged, once however often they come, never acted on when they are of another boot. */
#include "tests/support/service_world.h"

#include "policy/faults/faults.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/resource.h>

struct answer {
    sem_t came;
    int status, calls;
    struct problem problem;
};

static void note_answer(int status, const struct problem *problem, void *arg)
{
    struct answer *answer = arg;
    answer->status = status;
    answer->calls++;
    if (problem != NULL)
        answer->problem = *problem;
    sem_post(&answer->came);
}

static int report_sent_at(struct world *world, int64_t node_id, const struct verdict *verdicts, size_t count,
                          int64_t sent_at)
{
    struct answer answer = {0};
    sem_init(&answer.came, 0, 0);
    int status = service_agent_verdicts(&world->service, node_id, verdicts, count, sent_at, note_answer, &answer,
                                        &world->problem);
    if (status == 0) {
        while (sem_wait(&answer.came) != 0)
            ;
        status = answer.status;
        world->problem = answer.problem;
        assert_int_equal(answer.calls, 1);
    } else {
        assert_int_equal(answer.calls, 0);
    }
    sem_destroy(&answer.came);
    return status;
}

static int report(struct world *world, int64_t node_id, const struct verdict *verdicts, size_t count)
{
    return report_sent_at(world, node_id, verdicts, count, clock_wall_ms(&world->clock));
}

static int64_t open_with_node(struct world *world, unsigned flags)
{
    int64_t id = world_open_ready(world, flags, 2);
    assert_int_equal(world_beat(world, id, "i-1", WORLD_BOOT, 1), 0);
    world->events_heard = 0;
    return id;
}

struct stored {
    int count;
    struct verdict rows[8]; /* newest first */
};

static int note_row(const void *row, void *arg)
{
    struct stored *stored = arg;
    if (stored->count < (int)ARRAY_LEN(stored->rows))
        stored->rows[stored->count] = *(const struct verdict *)row;
    stored->count++;
    return 0;
}

static struct stored stored_of(struct world *world)
{
    struct stored stored = {0};
    assert_int_equal(service_verdict_list(&world->service, "ml", "gpu-1", -1, 0, 0, note_row, &stored, &world->problem),
                     0);
    return stored;
}

/* --- the ordinary case ----------------------------------------------------------------------------- */

static void test_a_verdict_is_stored_and_heard_of(void **state)
{
    (void)state;
    struct world world;
    struct event event;
    int64_t id = open_with_node(&world, 0);
    struct verdict verdict = world_verdict(&world, "i-1", "k1", "xid.79");
    verdict.id = 99;
    verdict.node_id = 99; /* who speaks is known from the credential, not from what is said */
    assert_int_equal(report(&world, id, &verdict, 1), 0);
    struct stored stored = stored_of(&world);
    assert_int_equal(stored.count, 1);
    assert_int_equal(stored.rows[0].node_id, id);
    assert_int_equal(stored.rows[0].state, VERDICT_STATE_OPEN);
    assert_int_equal(stored.rows[0].received_at, WORLD_T0);
    assert_string_equal(stored.rows[0].code, "xid.79");
    assert_int_equal(world.stored, 1);
    assert_int_equal(world.stored_node, id);
    assert_int_equal(world.stored_us, clock_mono_ms(&world.clock) * 1000);
    assert_int_equal(world_events(&world, EVENT_KIND_VERDICT, &event), 1);
    assert_int_equal(event.level, EVENT_LEVEL_ERROR);
    assert_non_null(strstr(event.message, "fallen off the bus"));
    assert_int_equal(world.events_heard, 1);
    world_close(&world);
}

/* The agent's word counts when it says critical, and the server's table when that asks for a repair. */
static void test_faults_of_the_node_are_known_as_such(void **state)
{
    static const struct {
        const char *code;
        enum severity severity;
        bool says, fault;
    } rows[] = {
        {"xid.79", SEVERITY_CRITICAL, false, true}, {"check.own", SEVERITY_CRITICAL, false, true},
        {"xid.63", SEVERITY_WARN, false, true},     {"xid.31", SEVERITY_WARN, true, false},
        {"xid.92", SEVERITY_WARN, false, false},
    };
    (void)state;
    struct world world;
    int64_t id = open_with_node(&world, DB_INLINE);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        struct verdict verdict = world_verdict(&world, "i-1", rows[i].code, rows[i].code);
        verdict.severity = rows[i].severity;
        verdict.node_fault = rows[i].says;
        verdict.raw_line[0] = '\0';
        assert_int_equal(report(&world, id, &verdict, 1), 0);
        assert_int_equal(stored_of(&world).rows[0].node_fault, rows[i].fault);
    }
    world_close(&world);
}

static void test_repeats_change_nothing_and_growth_is_heard(void **state)
{
    (void)state;
    struct world world;
    int64_t id = open_with_node(&world, DB_INLINE);
    struct verdict verdict = world_verdict(&world, "i-1", "k1", "xid.79");
    for (int i = 0; i < 3; i++) {
        assert_int_equal(report(&world, id, &verdict, 1), 0);
        clock_fake_advance(&world.clock, 1000);
    }
    assert_int_equal(world.stored, 1);
    verdict.count = 4;
    verdict.last_at = WORLD_T0 + 2000;
    assert_int_equal(report(&world, id, &verdict, 1), 0);
    assert_int_equal(world.stored, 2);
    struct stored stored = stored_of(&world);
    assert_int_equal(stored.count, 1);
    assert_int_equal(stored.rows[0].count, 4);
    assert_int_equal(stored.rows[0].first_at, WORLD_T0);
    assert_int_equal(stored.rows[0].last_at, WORLD_T0 + 2000);
    assert_int_equal(world_events(&world, EVENT_KIND_VERDICT, NULL), 1);
    world_close(&world);
}

static void test_only_news_is_heard_of(void **state)
{
    (void)state;
    struct world world;
    int64_t id = open_with_node(&world, DB_INLINE);
    struct verdict known = world_verdict(&world, "i-1", "k1", "xid.79");
    assert_int_equal(report(&world, id, &known, 1), 0);
    assert_int_equal(world.stored_news, 1);
    struct verdict mixed[4];
    mixed[0] = world_verdict(&world, "i-1", "k2", "xid.31");
    mixed[1] = known;
    mixed[2] = world_verdict(&world, "i-2", "k3", "xid.31"); /* of another instance: noted only */
    mixed[3] = known;
    mixed[3].count++;
    assert_int_equal(report(&world, id, mixed, ARRAY_LEN(mixed)), 0);
    assert_int_equal(world.stored_news, 1 | 1 << 3);
    world_close(&world);
}

static void test_the_timeline_is_not_flooded(void **state)
{
    (void)state;
    static const struct {
        int64_t advance_ms;
        const char *code;
        enum severity severity;
        int events;
    } table[] = {
        {0, "xid.79", SEVERITY_CRITICAL, 1},     {1000, "xid.79", SEVERITY_CRITICAL, 1},
        {0, "xid.48", SEVERITY_CRITICAL, 2},     {0, "xid.31", SEVERITY_WARN, 3},
        {0, "gpu.count", SEVERITY_OK, 3},        {0, "gpu.temp", SEVERITY_UNKNOWN, 3},
        {58999, "xid.79", SEVERITY_CRITICAL, 3}, {1, "xid.79", SEVERITY_WARN, 4},
    };
    struct world world;
    int64_t id = open_with_node(&world, DB_INLINE);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        char key[VERDICT_KEY_MAX_BYTES];
        clock_fake_advance(&world.clock, table[i].advance_ms);
        snprintf(key, sizeof(key), "key-%zu", i);
        struct verdict verdict = world_verdict(&world, "i-1", key, table[i].code);
        verdict.severity = table[i].severity;
        assert_int_equal(report(&world, id, &verdict, 1), 0);
        assert_int_equal(world_events(&world, EVENT_KIND_VERDICT, NULL), table[i].events);
    }
    assert_int_equal(stored_of(&world).count, (int)ARRAY_LEN(table)); /* every one is kept */
    world_close(&world);
}

/* --- what is over --- */

static struct verdict state_of(struct world *world, const char *key, const char *device, enum severity severity)
{
    struct verdict verdict = world_verdict(world, "i-1", key, "node.disk.full");
    snprintf(verdict.source, sizeof(verdict.source), "disk");
    snprintf(verdict.device, sizeof(verdict.device), "%s", device);
    verdict.severity = severity;
    verdict.over = severity == SEVERITY_OK;
    return verdict;
}

static int open_count(struct world *world)
{
    struct stored stored = stored_of(world);
    int count = 0;
    for (int i = 0; i < (int)stored.count; i++)
        count += stored.rows[i].state == VERDICT_STATE_OPEN;
    return count;
}

static void test_what_is_over_counts_no_longer(void **state)
{
    (void)state;
    struct world world;
    struct event event;
    int64_t id = open_with_node(&world, DB_INLINE);
    struct verdict begun[] = {state_of(&world, "k1", "/", SEVERITY_WARN), state_of(&world, "k2", "/", SEVERITY_WARN),
                              state_of(&world, "k3", "/var", SEVERITY_WARN),
                              world_verdict(&world, "i-1", "k4", "xid.79")};
    assert_int_equal(report(&world, id, begun, ARRAY_LEN(begun)), 0);
    assert_int_equal(open_count(&world), 4);
    struct verdict over = state_of(&world, "k5", "/", SEVERITY_OK);
    assert_int_equal(report(&world, id, &over, 1), 0);
    assert_int_equal(open_count(&world), 2); /* another device, and what the kernel said, stay */
    assert_int_equal(world.stored_news, 1);  /* the loop looks at the node again */
    int told = world_events(&world, EVENT_KIND_VERDICT, &event);
    assert_int_equal(event.level, EVENT_LEVEL_INFO);
    assert_int_equal(world.stored, 2);
    /* A repeat, and a late repeat of what it took back, change nothing. */
    assert_int_equal(report(&world, id, &over, 1), 0);
    assert_int_equal(world.stored, 2);
    begun[0].count++;
    assert_int_equal(report(&world, id, begun, 1), 0);
    assert_int_equal(open_count(&world), 2);
    assert_int_equal(world_events(&world, EVENT_KIND_VERDICT, NULL), told);
    /* It is there again: another key, and evidence. */
    struct verdict again = state_of(&world, "k6", "/", SEVERITY_WARN);
    assert_int_equal(report(&world, id, &again, 1), 0);
    assert_int_equal(open_count(&world), 3);
    /* Nothing was there that it could take back: no news. */
    struct verdict idle = state_of(&world, "k7", "/tmp", SEVERITY_OK);
    int stored = world.stored;
    assert_int_equal(report(&world, id, &idle, 1), 0);
    assert_int_equal(world.stored, stored);
    world_close(&world);
}

static void test_the_kernel_log_takes_nothing_back(void **state)
{
    (void)state;
    struct world world;
    int64_t id = open_with_node(&world, DB_INLINE);
    struct verdict seen = world_verdict(&world, "i-1", "k1", "xid.154"), ok = seen;
    snprintf(ok.key, sizeof(ok.key), "k2");
    ok.severity = SEVERITY_OK;
    assert_int_equal(report(&world, id, &seen, 1), 0);
    assert_int_equal(report(&world, id, &ok, 1), 0);
    assert_int_equal(open_count(&world), 2);
    ok.over = true;
    snprintf(ok.key, sizeof(ok.key), "k3");
    assert_int_equal(report(&world, id, &ok, 1), STATUS_INVALID);
    /* Nor is anything over because somebody says that it is well. */
    struct verdict full = state_of(&world, "k4", "/", SEVERITY_WARN), well = state_of(&world, "k5", "/", SEVERITY_OK);
    well.over = false;
    assert_int_equal(report(&world, id, &full, 1), 0);
    assert_int_equal(report(&world, id, &well, 1), 0);
    assert_int_equal(open_count(&world), 4);
    world_close(&world);
}

static void test_an_earlier_boot_takes_nothing_back(void **state)
{
    (void)state;
    struct world world;
    int64_t id = open_with_node(&world, DB_INLINE);
    struct verdict over = state_of(&world, "k2", "/", SEVERITY_OK), fresh = state_of(&world, "k1", "/", SEVERITY_WARN);
    assert_int_equal(world_beat(&world, id, "i-1", WORLD_BOOT_2, 1), 0);
    snprintf(fresh.boot_id, sizeof(fresh.boot_id), "%s", WORLD_BOOT_2);
    assert_int_equal(report(&world, id, &fresh, 1), 0);
    assert_int_equal(report(&world, id, &over, 1), 0);
    assert_int_equal(open_count(&world), 1);
    world_close(&world);
}

/* What the site says of a code is what is stored and told, whatever severity the agent's tables gave it. */
static void test_the_sites_word_counts(void **state)
{
    struct world world;
    struct fault_override here = {
        .code = "xid.79", .instance_type = "", .urgency = URGENCY_AFTER_JOBS, .why = "a test"};
    struct fault_overrides *overrides = fault_overrides_new("abcdef");
    const char *wrong;
    (void)state;
    int64_t id = open_with_node(&world, DB_INLINE);
    here.action = here.again = ACTION_CLASS_IGNORE;
    assert_int_equal(fault_overrides_add(overrides, &here, &wrong), 0);
    atomic_store(&world.service.fault_overrides, overrides);
    struct verdict seen[] = {world_verdict(&world, "i-1", "k1", "xid.79"),
                             world_verdict(&world, "i-1", "k2", "xid.48")};
    assert_int_equal(report(&world, id, seen, ARRAY_LEN(seen)), 0);
    assert_int_equal(stored_of(&world).rows[0].severity, SEVERITY_CRITICAL); /* the newest first */
    assert_int_equal(stored_of(&world).rows[1].severity, SEVERITY_OK);
    world_close(&world);
    fault_overrides_free(overrides);
}

/* --- whose boot ------------------------------------------------------------------------------------ */

static void test_of_another_instance_or_an_earlier_boot_is_only_noted(void **state)
{
    (void)state;
    struct world world;
    struct event event;
    int64_t id = open_with_node(&world, DB_INLINE);
    assert_int_equal(world_beat(&world, id, "i-1", WORLD_BOOT_2, 1), 0);
    struct verdict old_boot = world_verdict(&world, "i-1", "k1", "xid.79");
    struct verdict old_instance = world_verdict(&world, "i-0", "k2", "xid.79");
    struct verdict fresh = world_verdict(&world, "i-1", "k3", "xid.79");
    snprintf(fresh.boot_id, sizeof(fresh.boot_id), "%s", WORLD_BOOT_2);
    assert_int_equal(report(&world, id, &old_boot, 1), 0);
    assert_int_equal(report(&world, id, &old_instance, 1), 0);
    assert_int_equal(world.stored, 0);
    assert_int_equal(world_events(&world, EVENT_KIND_VERDICT, NULL), 0);
    assert_int_equal(world_events(&world, EVENT_KIND_VERDICT_STALE, &event), 1); /* one in a minute */
    assert_int_equal(event.level, EVENT_LEVEL_INFO);
    assert_int_equal(report(&world, id, &fresh, 1), 0);
    assert_int_equal(world.stored, 1);
    struct stored stored = stored_of(&world);
    assert_int_equal(stored.rows[2].state, VERDICT_STATE_STALE);
    assert_int_equal(stored.rows[1].state, VERDICT_STATE_STALE);
    assert_int_equal(stored.rows[0].state, VERDICT_STATE_OPEN);
    world_close(&world);
}

static void test_evidence_ahead_of_its_heartbeat_waits(void **state)
{
    (void)state;
    struct world world;
    int64_t id = open_with_node(&world, DB_INLINE);
    clock_fake_advance(&world.clock, 60000);
    struct verdict verdict = world_verdict(&world, "i-1", "k1", "xid.79");
    snprintf(verdict.boot_id, sizeof(verdict.boot_id), "%s", WORLD_BOOT_2);
    assert_int_equal(report(&world, id, &verdict, 1), STATUS_UNAVAILABLE);
    assert_problem(&world, PROBLEM_UNAVAILABLE);
    assert_int_equal(stored_of(&world).count, 0);
    assert_int_equal(world_beat(&world, id, "i-1", WORLD_BOOT_2, 1), 0);
    assert_int_equal(report(&world, id, &verdict, 1), 0);
    assert_int_equal(stored_of(&world).rows[0].state, VERDICT_STATE_OPEN);
    world_close(&world);
}

/* The current boot was heard after it: so it can only be of a boot before, which this server slept through. */
static void test_evidence_of_a_boot_nobody_heard_of_is_stale(void **state)
{
    (void)state;
    static const struct {
        int64_t last_at;
        int status;
    } table[] = {
        {WORLD_T0 + 59999, 0},
        {WORLD_T0 + 60000, 0},
        {WORLD_T0 + 60001, STATUS_UNAVAILABLE},
        {WORLD_T0 + 80000, 0}, /* from the future: says nothing about the order */
    };
    struct world world;
    int64_t id = open_with_node(&world, DB_INLINE);
    clock_fake_advance(&world.clock, 60000);
    assert_int_equal(world_beat(&world, id, "i-1", WORLD_BOOT, 2), 0);
    clock_fake_advance(&world.clock, 10000);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        char key[VERDICT_KEY_MAX_BYTES];
        snprintf(key, sizeof(key), "key-%zu", i);
        struct verdict verdict = world_verdict(&world, "i-1", key, "xid.79");
        verdict.first_at = verdict.last_at = table[i].last_at;
        snprintf(verdict.boot_id, sizeof(verdict.boot_id), "a-boot-in-between");
        assert_int_equal(report(&world, id, &verdict, 1), table[i].status);
    }
    struct stored stored = stored_of(&world);
    assert_int_equal(stored.count, 3);
    for (int i = 0; i < stored.count; i++)
        assert_int_equal(stored.rows[i].state, VERDICT_STATE_STALE);
    assert_int_equal(world.stored, 0);
    world_close(&world);
}

/* --- times ----------------------------------------------------------------------------------------- */

static void test_a_clock_an_hour_off_does_not_matter(void **state)
{
    (void)state;
    static const struct {
        int64_t skew_ms, first_at, last_at; /* the agent's clock, and what it says */
        int64_t expected_first, expected_last;
    } table[] = {
        /* right, or as good as right: taken as it is */
        {0, WORLD_T0 - 5000, WORLD_T0 - 1000, WORLD_T0 - 5000, WORLD_T0 - 1000},
        {4000, WORLD_T0 - 5000, WORLD_T0 - 1000, WORLD_T0 - 5000, WORLD_T0 - 1000},
        /* an hour ahead, an hour behind */
        {MS_PER_HOUR, WORLD_T0 + MS_PER_HOUR - 5000, WORLD_T0 + MS_PER_HOUR - 1000, WORLD_T0 - 5000, WORLD_T0 - 1000},
        {-MS_PER_HOUR, WORLD_T0 - MS_PER_HOUR - 5000, WORLD_T0 - MS_PER_HOUR - 1000, WORLD_T0 - 5000, WORLD_T0 - 1000},
        /* impossible orders: first ≤ last ≤ now */
        {0, WORLD_T0 + 9000, WORLD_T0 + 8000, WORLD_T0, WORLD_T0},
        {0, WORLD_T0 - 10, WORLD_T0 - 20, WORLD_T0 - 20, WORLD_T0 - 20},
        {0, 0, 0, 1, 1},
        {-WORLD_T0 + 10, INT64_MAX, INT64_MAX, WORLD_T0, WORLD_T0},
    };
    struct world world;
    int64_t id = open_with_node(&world, DB_INLINE);
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        char key[VERDICT_KEY_MAX_BYTES];
        snprintf(key, sizeof(key), "key-%zu", i);
        struct verdict verdict = world_verdict(&world, "i-1", key, "xid.79");
        verdict.first_at = table[i].first_at;
        verdict.last_at = table[i].last_at;
        assert_int_equal(report_sent_at(&world, id, &verdict, 1, WORLD_T0 + table[i].skew_ms), 0);
        struct verdict row = stored_of(&world).rows[0];
        assert_int_equal(row.first_at, table[i].expected_first);
        assert_int_equal(row.last_at, table[i].expected_last);
    }
    world_close(&world);
}

/* The way through the network takes a different time each time; the evidence stays the same. */
static void test_repeats_under_a_wrong_clock_change_nothing(void **state)
{
    (void)state;
    struct world world;
    int64_t id = open_with_node(&world, DB_INLINE);
    struct verdict verdict = world_verdict(&world, "i-1", "k1", "xid.79");
    verdict.first_at = verdict.last_at = WORLD_T0 + MS_PER_HOUR - 30000;
    for (int64_t latency = 0; latency < 4000; latency += 700)
        assert_int_equal(report_sent_at(&world, id, &verdict, 1, WORLD_T0 + MS_PER_HOUR - latency), 0);
    assert_int_equal(world.stored, 1);
    world_close(&world);
}

/* --- what is refused ------------------------------------------------------------------------------- */

static void test_reports_that_are_refused(void **state)
{
    (void)state;
    struct world world;
    int64_t id = open_with_node(&world, DB_INLINE);
    const struct verdict fine = world_verdict(&world, "i-1", "k1", "xid.79");
    autofree struct verdict *many = own_calloc(VERDICTS_PER_POST_MAX + 1, sizeof(*many));
    struct verdict bad[11];
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        bad[i] = fine;
    bad[0].key[0] = '\0';
    memcpy(bad[1].key, "a b", 4);
    bad[2].source[0] = '\0';
    memcpy(bad[3].source, "kmsg\"", 6);
    bad[4].code[0] = '\0';
    memcpy(bad[5].table_version, "\xff", 2);
    bad[6].severity = (enum severity)17;
    bad[7].count = 0;
    bad[8].first_at = bad[9].last_at = INT64_MIN;
    memcpy(bad[10].code, "Xid;79", 7);
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        const struct verdict pair[] = {fine, bad[i]};
        assert_int_equal(report(&world, id, pair, 2), STATUS_INVALID);
        assert_problem(&world, PROBLEM_INVALID_VALUE);
        assert_non_null(strstr(world.problem.detail, "verdicts[1]"));
    }
    assert_int_equal(report(&world, id, &fine, 0), STATUS_INVALID);
    assert_int_equal(report(&world, id, many, VERDICTS_PER_POST_MAX + 1), STATUS_INVALID);
    assert_int_equal(stored_of(&world).count, 0); /* nothing of a refused report is kept */
    world_close(&world);
}

static void test_a_line_cannot_play_with_a_terminal(void **state)
{
    (void)state;
    struct world world;
    int64_t id = open_with_node(&world, DB_INLINE);
    struct verdict verdict = world_verdict(&world, "i-1", "k1", "xid.79");
    snprintf(verdict.raw_line, sizeof(verdict.raw_line), "NVRM:\x1b[2J\tXid\x7f\nend \xc3\xa9");
    assert_int_equal(report(&world, id, &verdict, 1), 0);
    assert_string_equal(stored_of(&world).rows[0].raw_line, "NVRM: [2J Xid  end \xc3\xa9");
    world_close(&world);
}

static void test_a_full_report_is_one_write(void **state)
{
    (void)state;
    struct world world;
    struct db_stats before, after;
    int64_t id = open_with_node(&world, DB_INLINE);
    autofree struct verdict *many = own_calloc(VERDICTS_PER_POST_MAX, sizeof(*many));
    for (int i = 0; i < VERDICTS_PER_POST_MAX; i++) {
        char key[VERDICT_KEY_MAX_BYTES];
        snprintf(key, sizeof(key), "key-%d", i);
        many[i] = world_verdict(&world, "i-1", key, "xid.79");
        memset(many[i].raw_line, 'x', RAW_LINE_MAX_BYTES - 1);
    }
    db_stats(world.service.db, &before);
    assert_int_equal(report(&world, id, many, VERDICTS_PER_POST_MAX), 0);
    db_stats(world.service.db, &after);
    assert_int_equal(after.writes - before.writes, 1);
    assert_int_equal(stored_of(&world).count, VERDICTS_PER_POST_MAX);
    assert_int_equal(world.stored, 1);
    world_close(&world);
}

/* A node that is gone from the store: nothing is acknowledged, and the answer says so once. */
static void test_a_failing_write_is_not_acknowledged(void **state)
{
    (void)state;
    struct world world;
    (void)open_with_node(&world, 0);
    struct fleet_slot ghost = {.node_id = 4711, .instance_id = "i-ghost", .boot_id = WORLD_BOOT};
    fleet_put(world.service.fleet, &ghost);
    struct verdict verdict = world_verdict(&world, "i-ghost", "k1", "xid.79");
    assert_true(report(&world, 4711, &verdict, 1) < 0);
    assert_problem(&world, PROBLEM_INTERNAL);
    assert_int_equal(world.stored, 0);
    world_close(&world);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* What a full disk refused was not told, so it is told when the agent comes with it again, as new as ever. */
static void test_what_was_refused_is_told_when_it_is_stored(void **state)
{
    (void)state;
    struct world world;
    int64_t id = open_with_node(&world, DB_INLINE);
    struct verdict verdict = world_verdict(&world, "i-1", "k1", "xid.79");
    (void)signal(SIGXFSZ, SIG_IGN);
    limit_files(0);
    int refused = report(&world, id, &verdict, 1);
    limit_files(RLIM_INFINITY);
    assert_int_equal(refused, STATUS_FULL);
    assert_int_equal(world_events(&world, EVENT_KIND_VERDICT, NULL), 0);
    assert_int_equal(report(&world, id, &verdict, 1), 0);
    assert_int_equal(world_events(&world, EVENT_KIND_VERDICT, NULL), 1);
    world_close(&world);
}

/* --- the bound ------------------------------------------------------------------------------------- */

struct stop {
    sem_t entered, leave;
};

static int stop_write(struct db_tx *tx, void *arg)
{
    (void)tx;
    struct stop *stop = arg;
    sem_post(&stop->entered);
    while (sem_wait(&stop->leave) != 0)
        ;
    return 0;
}

static void stop_done(int status, void *arg)
{
    (void)status, (void)arg;
}

/* While the disk stands still only so many verdicts are kept in memory; the rest stay with their agents. */
static void test_memory_is_bounded_while_the_disk_stands_still(void **state)
{
    (void)state;
    struct world world;
    struct stop stop;
    struct answer answer = {0};
    int64_t id = open_with_node(&world, 0);
    sem_init(&stop.entered, 0, 0);
    sem_init(&stop.leave, 0, 0);
    sem_init(&answer.came, 0, 0);
    assert_int_equal(db_write_async(world.service.db, "test-stop", stop_write, stop_done, &stop), 0);
    while (sem_wait(&stop.entered) != 0)
        ;
    const struct verdict one = world_verdict(&world, "i-1", "k1", "xid.79");
    autofree struct verdict *many = own_calloc(VERDICTS_PER_POST_MAX, sizeof(*many));
    for (int i = 0; i < VERDICTS_PER_POST_MAX; i++)
        many[i] = one;
    int accepted = 0, status;
    while ((status = service_agent_verdicts(&world.service, id, many, VERDICTS_PER_POST_MAX, WORLD_T0, note_answer,
                                            &answer, &world.problem)) == 0 &&
           accepted < 10000)
        accepted++;
    assert_int_equal(status, STATUS_UNAVAILABLE);
    assert_problem(&world, PROBLEM_UNAVAILABLE);
    assert_int_equal(accepted, 16384 / VERDICTS_PER_POST_MAX);
    sem_post(&stop.leave);
    for (int i = 0; i < accepted; i++)
        while (sem_wait(&answer.came) != 0)
            ;
    assert_int_equal(answer.status, 0);
    assert_int_equal(report(&world, id, &one, 1), 0); /* there is room again */
    world_close(&world);
}

/* --- many at once ---------------------------------------------------------------------------------- */

#define HANDS 4
#define REPORTS 100

struct hand {
    struct world *world;
    int64_t node_id;
    int number, refused;
    struct answer answer;
};

static void *hand_reports(void *arg)
{
    struct hand *hand = arg;
    struct problem problem;
    for (int i = 0; i < REPORTS; i++) {
        char key[VERDICT_KEY_MAX_BYTES];
        snprintf(key, sizeof(key), "hand-%d-%d", hand->number % 2, i); /* two hands send the same */
        struct verdict verdict = world_verdict(hand->world, "i-1", key, "xid.79");
        if (service_agent_verdicts(&hand->world->service, hand->node_id, &verdict, 1, WORLD_T0, note_answer,
                                   &hand->answer, &problem) < 0)
            hand->refused++;
    }
    for (int i = 0; i < REPORTS; i++)
        while (sem_wait(&hand->answer.came) != 0)
            ;
    return NULL;
}

static void test_many_reports_at_once(void **state)
{
    (void)state;
    struct world world;
    struct hand hands[HANDS];
    pthread_t threads[HANDS];
    int64_t id = open_with_node(&world, 0);
    for (int i = 0; i < HANDS; i++) {
        hands[i] = (struct hand){.world = &world, .node_id = id, .number = i};
        sem_init(&hands[i].answer.came, 0, 0);
        assert_int_equal(pthread_create(&threads[i], NULL, hand_reports, &hands[i]), 0);
    }
    for (int i = 0; i < HANDS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(hands[i].refused, 0);
        assert_int_equal(hands[i].answer.status, 0);
    }
    assert_int_equal(stored_of(&world).count, 2 * REPORTS);
    assert_int_equal(world.stored, 2 * REPORTS);
    assert_int_equal(world_events(&world, EVENT_KIND_VERDICT, NULL), 1);
    world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_verdict_is_stored_and_heard_of),
        cmocka_unit_test(test_faults_of_the_node_are_known_as_such),
        cmocka_unit_test(test_repeats_change_nothing_and_growth_is_heard),
        cmocka_unit_test(test_only_news_is_heard_of),
        cmocka_unit_test(test_the_timeline_is_not_flooded),
        cmocka_unit_test(test_what_is_over_counts_no_longer),
        cmocka_unit_test(test_the_kernel_log_takes_nothing_back),
        cmocka_unit_test(test_an_earlier_boot_takes_nothing_back),
        cmocka_unit_test(test_the_sites_word_counts),
        cmocka_unit_test(test_of_another_instance_or_an_earlier_boot_is_only_noted),
        cmocka_unit_test(test_evidence_ahead_of_its_heartbeat_waits),
        cmocka_unit_test(test_evidence_of_a_boot_nobody_heard_of_is_stale),
        cmocka_unit_test(test_a_clock_an_hour_off_does_not_matter),
        cmocka_unit_test(test_repeats_under_a_wrong_clock_change_nothing),
        cmocka_unit_test(test_reports_that_are_refused),
        cmocka_unit_test(test_a_line_cannot_play_with_a_terminal),
        cmocka_unit_test(test_a_full_report_is_one_write),
        cmocka_unit_test(test_a_failing_write_is_not_acknowledged),
        cmocka_unit_test(test_what_was_refused_is_told_when_it_is_stored),
        cmocka_unit_test(test_memory_is_bounded_while_the_disk_stands_still),
        cmocka_unit_test(test_many_reports_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
